//! The Meeting page: start one, join one, see who is here, leave.

mod room;

use bevy::{ecs::system::SystemParam, prelude::*};

use super::dock::Pages;
use crate::{
    app::{
        AppSystems,
        alignment::{Alignment, Markers},
        attendance::Joining,
        input::{Action, Hands, Headset, Page},
        labels,
        link::{Link, Meeting},
        preferences::Preferences,
        ui::{self, Drafts, Element, FieldId, Size, Tone},
    },
    session::{Client, Colour, ParticipantView, Phase, Presence},
};

use room::RoomState;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Update, update.in_set(AppSystems::Present));
}

/// Of the real room.
#[derive(SystemParam)]
struct RealRoom<'w> {
    headset: Res<'w, Headset>,
    alignment: Res<'w, Alignment>,
    markers: Res<'w, Markers>,
    hands: Res<'w, Hands>,
}

fn update(
    meeting: Res<Meeting>,
    link: Res<Link>,
    joining: Res<Joining>,
    preferences: Res<Preferences>,
    drafts: Res<Drafts>,
    real: RealRoom,
    mut pages: Pages,
) {
    if !pages.shows(Page::Meeting) {
        return;
    }
    let state = State {
        meeting: &meeting,
        address: link.address(),
        joining: &joining,
        addresses: &preferences.get().addresses,
        typed: drafts.get(FieldId::Address),
        room: RoomState {
            headset: &real.headset,
            alignment: *real.alignment,
            markers: &real.markers,
            hands: &real.hands,
            rooms: &preferences.get().rooms,
        },
    };
    pages.show(Page::Meeting, page(&state));
}

struct State<'a> {
    meeting: &'a Meeting,
    /// Where others reach the meeting that we host.
    address: Option<String>,
    joining: &'a Joining,
    /// Hosts that were joined before.
    addresses: &'a [String],
    typed: &'a str,
    room: RoomState<'a>,
}

fn page(state: &State<'_>) -> Vec<Element> {
    let waiting = state.joining.waiting || state.meeting.phase == Phase::Joining;
    match state.meeting.phase {
        _ if waiting => reaching(state),
        Phase::Alone | Phase::Joining => alone(state),
        Phase::Hosting => hosting(state),
        Phase::Guest => guest(state),
    }
}

fn alone(state: &State<'_>) -> Vec<Element> {
    let start = ui::button("meeting/host", "Start a meeting", Action::Host).toned(Tone::Accent).wide();
    let join = ui::button("meeting/join", "Join", Action::Join(state.typed.to_owned()))
        .enabled_if(!state.typed.trim().is_empty());
    let mut page = room::part(&state.room);
    page.extend([
        start.into(),
        ui::text("Others see the models that are open here.", Size::Small, Tone::Dim),
    ]);
    if state.joining.port_taken {
        let text = "Another program, maybe a second window, has the port at which meetings are found.";
        page.push(ui::text(text, Size::Small, Tone::Warning));
        let anywhere = ui::button("meeting/host-anywhere", "Start at another port", Action::HostAtAnyPort);
        page.push(ui::row([anywhere.into()]));
        page.push(ui::text("The address then has a number behind a colon.", Size::Small, Tone::Dim));
    }
    page.extend([
        ui::line(),
        ui::text("Join a meeting", Size::Body, Tone::Plain),
        ui::field(FieldId::Address, state.typed, "address of the host"),
        ui::row([join.into()]),
    ]);
    if state.addresses.is_empty() {
        let hint = "The host sees the address on its Meeting page, such as 192.168.1.20.";
        page.push(ui::text(hint, Size::Small, Tone::Dim));
    } else {
        page.push(ui::text("Joined before", Size::Small, Tone::Dim));
    }
    for address in state.addresses {
        let again = ui::button(format!("meeting/again/{address}"), "Join", Action::Join(address.clone()));
        let forget =
            ui::button(format!("meeting/forget/{address}"), "Forget", Action::ForgetAddress(address.clone()));
        let parts = [ui::name(&**address, Size::Body, Tone::Plain), again.into(), forget.into()];
        page.push(ui::row(parts).keyed(format!("address {address}")));
    }
    page
}

fn reaching(state: &State<'_>) -> Vec<Element> {
    let whom = state.joining.address.as_deref().unwrap_or("the host");
    vec![
        ui::text(format!("Reaching {whom} \u{2026}"), Size::Body, Tone::Plain),
        ui::text("It must be in the same network, with a meeting started.", Size::Small, Tone::Dim),
        ui::row([ui::button("meeting/stop", "Stop", Action::Leave).into()]),
    ]
}

fn hosting(state: &State<'_>) -> Vec<Element> {
    let mut page = Vec::new();
    if let Some(address) = &state.address {
        page.push(ui::text("Give this address to the others:", Size::Small, Tone::Dim));
        page.push(ui::row([
            ui::name(&**address, Size::Title, Tone::Accent),
            ui::button("meeting/copy", "Copy", Action::Copy(address.clone())).into(),
        ]));
        page.push(ui::line());
    }
    page.extend(room::part(&state.room));
    page.extend(people(state));
    page.push(ui::line());
    page.push(ui::button("meeting/leave", "End the meeting", Action::Leave).toned(Tone::Error).wide().into());
    page.push(ui::text("The models stay open here.", Size::Small, Tone::Dim));
    page
}

fn guest(state: &State<'_>) -> Vec<Element> {
    let mut page = Vec::new();
    if let Some(address) = &state.joining.address {
        page.push(ui::row([
            ui::text("At", Size::Small, Tone::Dim),
            ui::name(&**address, Size::Body, Tone::Plain),
        ]));
        page.push(ui::line());
    }
    page.extend(room::part(&state.room));
    page.extend(people(state));
    page.push(ui::line());
    page.push(
        ui::button("meeting/leave", "Leave the meeting", Action::Leave).toned(Tone::Error).wide().into(),
    );
    page
}

/// Everybody, ourselves first.
fn people(state: &State<'_>) -> Vec<Element> {
    let meeting = state.meeting;
    let count = meeting.participants.iter().filter(|p| p.presence != Presence::Away).count() + 1;
    let title = if count == 1 { "Only you are here".to_owned() } else { format!("{count} people here") };
    let mut people = vec![ui::text(title, Size::Body, Tone::Plain)];
    if count == 1 && meeting.phase == Phase::Hosting {
        let hint = "Others join with Convene or with LookSee, in the same network.";
        people.push(ui::text(hint, Size::Small, Tone::Dim));
    }
    let me = &meeting.me;
    people.push(person(me.device_id(), &format!("{} (you)", me.name), me.colour, "Convene", true, None));
    for p in &meeting.participants {
        let peer = meeting.peers.iter().find(|peer| peer.device_id == p.device_id);
        // A guest's only connection is the host's.
        let client = match (p.client, meeting.phase == Phase::Guest && peer.is_some()) {
            (Client::Convene, false) => "Convene",
            (Client::Convene, true) => "host, Convene",
            (Client::LookSee, false) => "LookSee",
            (Client::LookSee, true) => "host, LookSee",
        };
        let how = match p.presence {
            Presence::Live => match peer.and_then(|peer| peer.round_trip) {
                Some(trip) => format!("{client}, {:.0} ms", trip.as_secs_f64() * 1e3),
                None => client.to_owned(),
            },
            Presence::Stale => format!("{client}, not responding"),
            Presence::Away => format!("{client}, away"),
        };
        let beside = can_stand_beside(state.room.headset, p).then(|| {
            ui::button(
                format!("meeting/beside/{}", p.device_id),
                "Stand beside",
                Action::StandBeside(p.device_id.clone()),
            )
            .into()
        });
        people.push(person(&p.device_id, &p.label, p.colour, &how, p.presence == Presence::Live, beside));
    }
    people
}

/// Who sits at a desk can be anywhere; whoever wears a headset is where they are.
fn can_stand_beside(headset: &Headset, other: &ParticipantView) -> bool {
    !headset.is_worn() && other.presence == Presence::Live && other.body.is_some()
}

fn person(key: &str, label: &str, colour: Colour, state: &str, live: bool, more: Option<Element>) -> Element {
    let tone = if live { Tone::Plain } else { Tone::Dim };
    let parts = [
        ui::dot(labels::colour(colour)),
        ui::name(label, Size::Body, tone),
        ui::text(state, Size::Small, Tone::Dim),
    ];
    // In a line of its own: the state's width changes with every round trip.
    ui::column(6.0, [ui::row(parts)].into_iter().chain(more.map(|more| ui::row([more])))).keyed(key)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::session::{Config, Identity, Session};

    fn lines(
        phase: Phase,
        joining: &Joining,
        typed: &str,
        addresses: &[String],
    ) -> (Vec<String>, Vec<String>) {
        let identity = Identity { id: "a".repeat(16), name: "Ada".into(), colour: Colour([9; 3]) };
        let view = Session::new(Config::new(identity)).view(Duration::ZERO);
        let meeting = Meeting::from(crate::session::SessionView { phase, ..view });
        let (headset, hands) = (Headset::default(), Hands::default());
        let (markers, rooms) = (Markers::default(), crate::settings::Rooms::default());
        let room = RoomState {
            headset: &headset,
            alignment: Alignment::None,
            markers: &markers,
            hands: &hands,
            rooms: &rooms,
        };
        let state =
            State { meeting: &meeting, address: Some("10.0.0.1".into()), joining, addresses, typed, room };
        let page = page(&state);
        let lines = page.iter().flat_map(Element::lines).collect();
        (lines, page.iter().flat_map(Element::controls).collect())
    }

    #[test]
    fn what_can_be_done_in_each_phase() {
        let none = Joining::default();
        let (_, controls) = lines(Phase::Alone, &none, " ", &[]);
        assert_eq!(controls, ["meeting/host", "field/address"], "nothing to join yet");
        let (_, controls) = lines(Phase::Alone, &none, "10.0.0.2", &["lab".into()]);
        assert_eq!(
            controls,
            ["meeting/host", "field/address", "meeting/join", "meeting/again/lab", "meeting/forget/lab"]
        );
        let taken = Joining { port_taken: true, ..Joining::default() };
        assert!(lines(Phase::Alone, &taken, "", &[]).1.contains(&"meeting/host-anywhere".to_owned()));
        let waiting = Joining { address: Some("lab".into()), waiting: true, port_taken: false };
        let (said, controls) = lines(Phase::Alone, &waiting, "", &[]);
        assert!(said[0].contains("Reaching lab"), "{said:?}");
        assert_eq!(controls, ["meeting/stop"]);
        let (said, controls) = lines(Phase::Hosting, &none, "", &[]);
        assert!(said.contains(&"10.0.0.1".to_owned()) && said.contains(&"Only you are here".to_owned()));
        assert_eq!(controls, ["meeting/copy", "meeting/leave"]);
    }
}
