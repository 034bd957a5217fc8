//! Notices: what happened and what to do, in a corner until read.
//!
//! For: keeping the few that are shown. `panels` draws them.

use std::time::Duration;

use bevy::{platform::collections::HashMap, prelude::*};

use super::{
    AppSystems,
    input::Action,
    link::{Arrived, Meeting},
};
use crate::{
    net::NetEvent,
    notice::{Notice, Severity},
    session::{self, Event, LeaveReason, Phase, SessionError},
};

/// How long one stays.
const SHOWN_FOR: Duration = Duration::from_secs(12);
/// How long one stays that needs no action.
const INFORMATION_SHOWN_FOR: Duration = Duration::from_secs(5);
/// After this much time in a meeting everybody who was there before is known.
const OTHERS_KNOWN_AFTER: Duration = Duration::from_millis(1500);
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

    /// What they say.
    pub fn texts(&self) -> Vec<String> {
        self.shown.iter().map(|shown| shown.notice.to_string()).collect()
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

fn keep(
    mut notices: ResMut<Notices>,
    mut new: MessageReader<Notify>,
    mut actions: MessageReader<Action>,
    time: Res<Time<Real>>,
) {
    for action in actions.read() {
        match action {
            Action::Dismiss if !notices.shown.is_empty() => notices.shown.clear(),
            Action::DismissNotice(number) => notices.dismiss(*number),
            Action::Copy(_) => {
                notices.add(Notice::info("The address is on the clipboard.", ""), time.elapsed());
            }
            _ => {}
        }
    }
    for Notify(notice) in new.read() {
        notices.add(notice.clone(), time.elapsed());
    }
    if notices.shown.iter().any(|s| s.until <= time.elapsed()) {
        notices.expire(time.elapsed());
    }
}

/// What is known of the others, to tell who came and who went.
#[derive(Default)]
struct Company {
    names: HashMap<String, String>,
    /// Since when we are in this meeting; none while a host is being reached.
    since: Option<Duration>,
}

fn from_events(
    mut arrived: MessageReader<Arrived>,
    meeting: Res<Meeting>,
    time: Res<Time<Real>>,
    mut company: Local<Company>,
    mut notices: MessageWriter<Notify>,
) {
    for event in arrived.read() {
        let notice = match &event.0 {
            NetEvent::Session(event) => company.notice(event, meeting.phase, time.elapsed()),
            event => notice_of(event),
        };
        notices.write_batch(notice.map(Notify));
    }
}

/// What people are told of an event, if anything.
fn notice_of(event: &NetEvent) -> Option<Notice> {
    match event {
        NetEvent::HostFailed(error) | NetEvent::JoinFailed(error) | NetEvent::ReceiveFailed(error) => {
            Some(Notice::from(error))
        }
        NetEvent::FileFailed { reason } => Some(Notice::warning(
            format!("A file that was sent here was not taken: {reason}."),
            "Send it again.",
        )),
        // Somebody else was faster; what was wanted is so.
        NetEvent::Answer {
            result: Err(SessionError::NoSuchModel(_) | SessionError::AlreadyHere(_)), ..
        } => None,
        NetEvent::Answer { result: Err(error), .. } => {
            Some(Notice::warning(format!("That was not possible: {error}."), ""))
        }
        _ => None,
    }
}

impl Company {
    fn notice(&mut self, event: &Event, phase: Phase, now: Duration) -> Option<Notice> {
        Some(match event {
            Event::Joined => {
                self.since = Some(now);
                Notice::info("You are in the meeting.", "")
            }
            Event::ParticipantJoined { id, name, .. } => {
                let name = if name.is_empty() {
                    format!("LookSee {}", session::device_id_of(id))
                } else {
                    name.clone()
                };
                self.names.insert(id.clone(), name.clone());
                // Who was there before us has not joined.
                let settled = |since: Duration| now.saturating_sub(since) >= OTHERS_KNOWN_AFTER;
                let new = phase == Phase::Hosting || self.since.is_some_and(settled);
                return new.then(|| Notice::info(format!("{name} has joined."), ""));
            }
            Event::ParticipantLeft { id } => {
                let name = self.names.remove(id)?;
                // When all is over, nobody has left.
                let on = matches!(phase, Phase::Hosting | Phase::Guest);
                return on.then(|| Notice::info(format!("{name} has left."), ""));
            }
            Event::ModelFailed { error, .. } => Notice::warning(
                format!("A model cannot be shown: {error}."),
                "Ask whoever opened it to check the file.",
            ),
            Event::PeerMessage { text } => Notice::warning(text.clone(), ""),
            Event::ConnectionLost { .. } => {
                self.since = None;
                self.names.clear();
                Notice::warning(
                    "The connection to the host was lost.",
                    "It is being restored; your models stay open meanwhile.",
                )
            }
            Event::Left { reason } => {
                let was_in = self.since.take().is_some();
                self.names.clear();
                if *reason == LeaveReason::Asked && !was_in {
                    return None;
                }
                Notice::from(reason)
            }
            _ => return None,
        })
    }
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
