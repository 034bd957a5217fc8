//! How far each model has come at each participant, so that whoever opened it
//! and the host see who has it.
//!
//! Every Convene receiver says how far it is ([`ModelStatus`]); a host passes
//! that on to everybody who speaks the extension. Whoever is not listed has the
//! model: what is complete is forgotten, so that a long meeting keeps nothing.
//! A LookSee receiver says nothing; that its bytes were queued is all that is
//! known of it.

use std::{collections::BTreeMap, time::Duration};

use super::{Model, PeerId, Role, Session};
use crate::wire::{Message, Progress, encode_frame, message::ModelStatus};

/// A receiver says how far it is at most this often.
const STATUS_INTERVAL: Duration = Duration::from_millis(100);

/// Statuses that are kept of what is not known yet, and told to a newcomer.
const MOST: usize = 1000;

/// How far a model has come at one receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It is queued for them.
    Waiting,
    /// Its bytes are arriving there.
    Receiving,
    /// All bytes are there; it is decoded and prepared.
    Loading,
    /// They see it.
    Shown,
    /// It cannot be shown there.
    Failed,
    /// They did not want it.
    Cancelled,
}

impl Delivery {
    /// As on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Receiving => "receiving",
            Self::Loading => "loading",
            Self::Shown => "shown",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// From the wire; what nobody here knows is nothing.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Waiting, Self::Receiving, Self::Loading, Self::Shown, Self::Failed, Self::Cancelled]
            .into_iter()
            .find(|state| state.as_str() == text)
    }
}

/// One receiver's state of one model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Status {
    pub state: Delivery,
    pub progress: Progress,
    /// When its first byte came, or when it was queued.
    pub since: Duration,
}

impl Status {
    fn message(&self, model_id: &str, device_id: &str) -> Message {
        Message::ModelStatus(ModelStatus {
            model_id: model_id.to_owned(),
            device_id: device_id.to_owned(),
            state: self.state.as_str().to_owned(),
            received: self.progress.received as u64,
            total: self.progress.total as u64,
        })
    }
}

/// By model and by the receiver's device id.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    statuses: BTreeMap<(String, String), Status>,
    /// When we last told how far a model is here.
    told: BTreeMap<String, Duration>,
}

impl Deliveries {
    /// Who does not have a model yet: device id and state, in a steady order.
    pub fn of<'a>(&'a self, model_id: &str) -> impl Iterator<Item = (&'a str, Status)> {
        let from = (model_id.to_owned(), String::new());
        let model_id = model_id.to_owned();
        self.statuses
            .range(from..)
            .take_while(move |((id, _), _)| *id == model_id)
            .map(|((_, device_id), status)| (device_id.as_str(), *status))
    }

    fn set(&mut self, model_id: &str, device_id: &str, state: Delivery, progress: Progress, now: Duration) {
        let key = (model_id.to_owned(), device_id.to_owned());
        if state == Delivery::Shown {
            self.statuses.remove(&key);
            return;
        }
        let begun = |status: &&Status| status.state == Delivery::Receiving;
        let since = match (state, self.statuses.get(&key)) {
            (Delivery::Receiving, before) => before.filter(begun).map_or(now, |status| status.since),
            (_, Some(status)) => status.since,
            (_, None) => now,
        };
        self.statuses.insert(key, Status { state, progress, since });
    }

    pub fn forget_model(&mut self, model_id: &str) {
        self.statuses.retain(|(id, _), _| id != model_id);
        self.told.remove(model_id);
    }

    pub fn forget_participant(&mut self, device_id: &str) {
        self.statuses.retain(|(_, id), _| id != device_id);
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Session {
    /// A model was queued for a peer.
    pub(super) fn note_delivery(&mut self, peer: PeerId, model_id: &str) {
        let Some(p) = self.peers.get(&peer).filter(|p| p.is_convene()) else { return };
        // A guest's peer is the host; at the host each peer is one participant.
        let Some(device_id) = p.device_id.as_deref().or(p.introduced_as()).map(str::to_owned) else { return };
        let total = self.stage.get(model_id).map_or(0, Model::bytes);
        self.pass_status(
            Some(peer),
            model_id,
            &device_id,
            Delivery::Waiting,
            Progress { received: 0, total },
        );
    }

    /// How far a model is here; told to everybody, progress only now and then.
    pub(super) fn tell_own_status(&mut self, model_id: &str, state: Delivery, progress: Progress) {
        if !matches!(self.role, Role::Host | Role::Guest(_) | Role::Joining(_)) {
            return;
        }
        if state == Delivery::Receiving {
            let last = self.deliveries.told.get(model_id);
            if last.is_some_and(|last| self.now.saturating_sub(*last) < STATUS_INTERVAL) {
                return;
            }
            self.deliveries.told.insert(model_id.to_owned(), self.now);
        } else {
            self.deliveries.told.remove(model_id);
        }
        let own = self.config.identity.device_id().to_owned();
        self.send_status(None, model_id, &own, state, progress);
    }

    /// Something about a model that is whole here.
    pub(super) fn tell_own_state(&mut self, model_id: &str, state: Delivery) {
        let Some(model) = self.stage.get(model_id) else { return };
        // A private model is nobody's concern; our own files were never on their way.
        if model.shared && model.received {
            let total = model.bytes();
            self.tell_own_status(model_id, state, Progress { received: total, total });
        }
    }

    /// A model is whole here. What is shown of the same bytes already is shown.
    pub(super) fn tell_own_arrival(&mut self, model_id: &str) {
        let state = match self.stage.get(model_id) {
            Some(model) if model.failed.is_some() => Delivery::Failed,
            Some(model) if model.loaded => Delivery::Shown,
            _ => Delivery::Loading,
        };
        self.tell_own_state(model_id, state);
    }

    /// A guest that has just come learns how far all is at the others.
    pub(super) fn tell_all_statuses(&mut self, peer: PeerId) {
        let all = self.deliveries.statuses.iter().take(MOST);
        let all: Vec<Message> = all.map(|((model, device), status)| status.message(model, device)).collect();
        for message in all {
            self.send(peer, &message);
        }
    }

    /// A peer says how far a model is at somebody.
    pub(super) fn read_status(&mut self, peer: PeerId, m: &ModelStatus) {
        let Some(state) = Delivery::parse(&m.state) else { return };
        let host = self.role == Role::Host;
        // It may overtake the model, or the roster, that it is about.
        let known = self.stage.get(&m.model_id).is_some() && self.participants.get(&m.device_id).is_some();
        let its_own = || self.participants.get(&m.device_id).is_some_and(|p| p.peer == Some(peer));
        let is_convene = self.peers.get(&peer).is_some_and(super::Peer::is_convene);
        if m.device_id == self.config.identity.device_id()
            || !is_convene
            || (host && !(known && its_own()))
            || (!known && self.deliveries.statuses.len() >= MOST)
        {
            return;
        }
        let clamp = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let total = clamp(m.total);
        let progress = Progress { received: clamp(m.received).min(total), total };
        self.pass_status(Some(peer), &m.model_id, &m.device_id, state, progress);
    }

    /// Keeps a status, and passes it on if we host.
    fn pass_status(
        &mut self,
        from: Option<PeerId>,
        model_id: &str,
        device_id: &str,
        state: Delivery,
        progress: Progress,
    ) {
        self.deliveries.set(model_id, device_id, state, progress, self.now);
        if self.role == Role::Host {
            self.send_status(from, model_id, device_id, state, progress);
        }
    }

    fn send_status(
        &mut self,
        except: Option<PeerId>,
        model_id: &str,
        device_id: &str,
        state: Delivery,
        progress: Progress,
    ) {
        let message = Status { state, progress, since: self.now }.message(model_id, device_id);
        let frame = encode_frame(&message.encode());
        let to: Vec<PeerId> =
            self.peers.values().filter(|p| p.is_convene() && Some(p.id) != except).map(|p| p.id).collect();
        for peer in to {
            self.send_bytes(peer, super::lane_of(&message), frame.clone(), bytes::Bytes::new());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_one_word_each() {
        for state in ["waiting", "receiving", "loading", "shown", "failed", "cancelled"] {
            assert_eq!(Delivery::parse(state).map(Delivery::as_str), Some(state));
        }
        assert_eq!(Delivery::parse("asleep"), None);
    }

    #[test]
    fn who_has_it_is_not_listed() {
        let mut deliveries = Deliveries::default();
        let at = Duration::from_secs;
        let some = Progress { received: 1, total: 9 };
        deliveries.set("m", "a", Delivery::Waiting, some, at(1));
        deliveries.set("m", "b", Delivery::Receiving, some, at(2));
        deliveries.set("n", "a", Delivery::Loading, some, at(2));
        assert_eq!(
            deliveries.of("m").map(|(id, s)| (id, s.since)).collect::<Vec<_>>(),
            [("a", at(1)), ("b", at(2))]
        );
        // The rate counts from the first byte, not from when it was queued.
        deliveries.set("m", "a", Delivery::Receiving, some, at(5));
        deliveries.set("m", "a", Delivery::Receiving, some, at(7));
        assert_eq!(deliveries.of("m").next().map(|(_, s)| s.since), Some(at(5)));
        deliveries.set("m", "a", Delivery::Shown, some, at(8));
        assert_eq!(deliveries.of("m").count(), 1);
        deliveries.forget_participant("b");
        assert_eq!((deliveries.of("m").count(), deliveries.of("n").count()), (0, 1));
        deliveries.forget_model("n");
        assert!(deliveries.statuses.is_empty());
    }
}
