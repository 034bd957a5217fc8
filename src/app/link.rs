//! The link to the driver: the only file that touches [`Net`].
//!
//! In: the newest [`SessionView`] as the resource [`Meeting`], everything else
//! as [`Arrived`] messages. Out: [`Outgoing`] messages in their order, and this
//! participant's body, of which only the latest counts. Nothing here waits.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bevy::prelude::*;

use super::{AppState, AppSystems, input::Me, notices::Notify};
use crate::{
    net::{Net, NetCommand, NetEvent},
    notice::Notice,
    session::{Command, Phase, SessionView},
    wire::MEETING_PORT,
};

/// Shortest time between two bodies that are sent: 90 a second.
const BODY_INTERVAL: Duration = Duration::from_millis(11);
/// Commands that may wait for a busy driver.
const MAXIMUM_WAITING: usize = 512;
/// Events taken in one frame; what is more comes in the next.
const EVENTS_PER_FRAME: usize = 256;

pub(super) fn plugin(app: &mut App) {
    let view = app.world().resource::<Link>().net.view();
    app.insert_resource(Meeting(view))
        .add_message::<Arrived>()
        .add_message::<Outgoing>()
        .add_systems(Update, (receive, follow_phase).chain().in_set(AppSystems::Receive))
        .add_systems(Update, (send_commands, send_body).chain().in_set(AppSystems::Send));
}

/// The handle to the driver.
#[derive(Resource)]
pub struct Link {
    net: Net,
    /// Of the view that [`Meeting`] holds.
    view_number: Option<u64>,
    /// Not yet taken by the driver.
    waiting: VecDeque<NetCommand>,
    next_body: Duration,
}

impl Link {
    pub(super) fn new(net: Net) -> Self {
        Self { net, view_number: None, waiting: VecDeque::new(), next_body: Duration::ZERO }
    }

    /// What the meeting's clock says.
    pub fn now(&self) -> Duration {
        self.net.now()
    }

    /// The port of the meeting that we host.
    pub fn port(&self) -> Option<u16> {
        self.net.listening().map(|(_, port)| port)
    }

    /// Where others reach the meeting that we host, as they type it.
    pub fn address(&self) -> Option<String> {
        self.net.listening().map(|(address, port)| match port {
            MEETING_PORT => address.to_string(),
            _ if address.is_ipv6() => format!("[{address}]:{port}"),
            _ => format!("{address}:{port}"),
        })
    }
}

/// The meeting as the driver last published it. Changes only when that does.
#[derive(Resource, Debug, Clone, Deref)]
pub struct Meeting(Arc<SessionView>);

impl Meeting {
    /// The model with this id.
    pub fn model(&self, id: &str) -> Option<&crate::session::ModelView> {
        self.models.iter().find(|m| m.id == id)
    }
}

/// Something that happened, in the driver's order.
#[derive(Message, Debug, Deref)]
pub struct Arrived(pub NetEvent);

/// Something for the driver to do.
#[derive(Message, Debug, Clone)]
pub struct Outgoing(pub NetCommand);

impl From<Command> for Outgoing {
    fn from(command: Command) -> Self {
        Self(NetCommand::Session { seq: 0, command })
    }
}

pub(super) fn receive(
    mut link: ResMut<Link>,
    mut meeting: ResMut<Meeting>,
    mut arrived: MessageWriter<Arrived>,
) {
    arrived.write_batch(link.net.events().try_iter().take(EVENTS_PER_FRAME).map(Arrived));
    // The number is read before the view: a view that is newer is then taken twice, never missed.
    let number = link.net.view_number();
    if link.view_number != Some(number) {
        link.view_number = Some(number);
        meeting.0 = link.net.view();
    }
}

fn follow_phase(meeting: Res<Meeting>, state: Res<State<AppState>>, mut next: ResMut<NextState<AppState>>) {
    let now = match meeting.phase {
        Phase::Alone => AppState::Alone,
        Phase::Joining => AppState::Joining,
        Phase::Hosting | Phase::Guest => AppState::Meeting,
    };
    if *state.get() != now {
        next.set(now);
    }
}

fn send_commands(
    mut link: ResMut<Link>,
    mut outgoing: MessageReader<Outgoing>,
    mut notices: MessageWriter<Notify>,
) {
    for Outgoing(command) in outgoing.read() {
        if link.waiting.back().is_some_and(|last| replaces(command, last)) {
            link.waiting.pop_back();
        }
        if link.waiting.len() < MAXIMUM_WAITING {
            link.waiting.push_back(command.clone());
        } else {
            notices.write(Notify(Notice::warning(
                "The program is too busy to do that.",
                "Wait a moment and try again.",
            )));
        }
    }
    while let Some(command) = link.waiting.front() {
        if link.net.send(command.clone()).is_err() {
            break;
        }
        link.waiting.pop_front();
    }
}

/// Whether `command` makes `last`, which still waits, superfluous.
fn replaces(command: &NetCommand, last: &NetCommand) -> bool {
    match (command, last) {
        (NetCommand::Session { command: new, seq: 0 }, NetCommand::Session { command: old, seq: 0 }) => {
            match (new, old) {
                (Command::MoveModel { model_id: a, .. }, Command::MoveModel { model_id: b, .. }) => a == b,
                (Command::MoveScene { .. }, Command::MoveScene { .. }) => true,
                _ => false,
            }
        }
        _ => false,
    }
}

fn send_body(mut link: ResMut<Link>, me: Res<Me>, time: Res<Time<Real>>) {
    let now = time.elapsed();
    if now < link.next_body || !me.present {
        return;
    }
    // Kept to the grid, so that a frame that comes a little early is not lost.
    link.next_body = (link.next_body + BODY_INTERVAL).max(now.saturating_sub(BODY_INTERVAL / 2));
    let stamp = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
    link.net.set_body(me.body, stamp);
}

#[cfg(test)]
impl From<SessionView> for Meeting {
    fn from(view: SessionView) -> Self {
        Self(Arc::new(view))
    }
}
