//! Notices: what happened and what to do, in a corner until read.
//!
//! For: keeping the few that are shown. `panels` draws them.

use std::time::Duration;

use bevy::prelude::*;

use super::{AppSystems, link::Arrived};
use crate::{
    net::NetEvent,
    notice::{Notice, Severity},
    session::{self, Event},
};

/// How long one stays.
const SHOWN_FOR: Duration = Duration::from_secs(12);
/// How long one stays that needs no action.
const INFORMATION_SHOWN_FOR: Duration = Duration::from_secs(5);
/// Shown at the same time at most.
const MAXIMUM: usize = 4;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Notices>()
        .add_message::<Notify>()
        .add_systems(Update, from_events.in_set(AppSystems::Receive).after(super::link::receive))
        .add_systems(Update, keep.in_set(AppSystems::Present));
}

/// Tell the person.
#[derive(Message, Debug, Clone, Deref)]
pub struct Notify(pub Notice);

/// A notice that is shown.
#[derive(Debug, Clone)]
pub struct Shown {
    /// Its number, never used twice.
    pub number: u64,
    /// What it says.
    pub notice: Notice,
    /// How often it came.
    pub times: u32,
    until: Duration,
}

/// The notices that are shown, oldest first.
#[derive(Resource, Debug, Default)]
pub struct Notices {
    shown: Vec<Shown>,
    numbers: u64,
}

impl Notices {
    /// Oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Shown> {
        self.shown.iter()
    }

    /// Takes one away before its time.
    pub fn dismiss(&mut self, number: u64) {
        self.shown.retain(|s| s.number != number);
    }

    /// One that is shown already is not shown twice.
    fn add(&mut self, notice: Notice, now: Duration) {
        let stays = if notice.severity == Severity::Info { INFORMATION_SHOWN_FOR } else { SHOWN_FOR };
        let until = now + stays;
        if let Some(same) = self.shown.iter_mut().find(|s| s.notice == notice) {
            same.until = until;
            same.times += 1;
            return;
        }
        if self.shown.len() >= MAXIMUM {
            self.shown.remove(0);
        }
        self.numbers += 1;
        self.shown.push(Shown { number: self.numbers, notice, times: 1, until });
    }

    fn expire(&mut self, now: Duration) {
        self.shown.retain(|s| s.until > now);
    }
}

fn keep(mut notices: ResMut<Notices>, mut new: MessageReader<Notify>, time: Res<Time<Real>>) {
    for Notify(notice) in new.read() {
        notices.add(notice.clone(), time.elapsed());
    }
    if notices.shown.iter().any(|s| s.until <= time.elapsed()) {
        notices.expire(time.elapsed());
    }
}

fn from_events(mut arrived: MessageReader<Arrived>, mut notices: MessageWriter<Notify>) {
    notices.write_batch(arrived.read().filter_map(|event| notice_of(event)).map(Notify));
}

/// What people are told of an event, if anything.
fn notice_of(event: &NetEvent) -> Option<Notice> {
    match event {
        NetEvent::Session(event) => session_notice(event),
        NetEvent::HostFailed(error) | NetEvent::JoinFailed(error) | NetEvent::ReceiveFailed(error) => {
            Some(Notice::from(error))
        }
        NetEvent::FileFailed { reason } => Some(Notice::warning(
            format!("A file that was sent here was not taken: {reason}."),
            "Send it again.",
        )),
        NetEvent::Answer { result: Err(error), .. } => {
            Some(Notice::warning(format!("That was not possible: {error}."), ""))
        }
        NetEvent::FileReceived { .. }
        | NetEvent::Answer { .. }
        | NetEvent::Listening { .. }
        | NetEvent::ReceivingFiles { .. }
        | NetEvent::Stats { .. } => None,
    }
}

fn session_notice(event: &Event) -> Option<Notice> {
    Some(match event {
        Event::Joined => Notice::info("You are in the meeting.", ""),
        Event::ParticipantJoined { id, name, .. } => {
            let name =
                if name.is_empty() { format!("LookSee {}", session::device_id_of(id)) } else { name.clone() };
            Notice::info(format!("{name} has joined."), "")
        }
        Event::ModelFailed { error, .. } => Notice::warning(
            format!("A model cannot be shown: {error}."),
            "Ask whoever opened it to check the file.",
        ),
        Event::PeerMessage { text } => Notice::warning(text.clone(), ""),
        Event::Left { reason } => Notice::from(reason),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_shown_once_and_goes_by_itself() {
        let mut notices = Notices::default();
        let at = Duration::from_secs;
        notices.add(Notice::warning("a", "b"), at(0));
        notices.add(Notice::warning("a", "b"), at(3));
        notices.add(Notice::warning("c", "d"), at(3));
        assert_eq!(notices.iter().map(|s| s.times).collect::<Vec<_>>(), [2, 1]);
        notices.expire(at(14));
        assert_eq!(notices.iter().count(), 2);
        notices.expire(at(15));
        assert_eq!(notices.iter().count(), 0);
    }

    #[test]
    fn only_the_newest_few_are_shown() {
        let mut notices = Notices::default();
        for i in 0..9 {
            notices.add(Notice::warning(i.to_string(), ""), Duration::ZERO);
        }
        assert_eq!(
            notices.iter().map(|s| s.notice.what_happened.as_str()).collect::<Vec<_>>(),
            ["5", "6", "7", "8"]
        );
        let first = notices.iter().next().unwrap().number;
        notices.dismiss(first);
        assert_eq!(notices.iter().count(), 3);
    }
}
