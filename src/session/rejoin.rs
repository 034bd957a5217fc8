//! A connection that broke and comes back: what is kept meanwhile, and what
//! becomes of it.
//!
//! The guest keeps its models as the meeting's. When it is back the host says
//! what it has: that stands as it was, and costs no bytes. What the guest had not
//! delivered whole is offered again; the rest was closed meanwhile and stays here
//! as the guest's own. The seat is the guest's by a token that only this host can
//! have made.

use super::{
    Content, ContentId, Delivery, Event, LeaveReason, Move, PeerId, Role, Session, Transmit,
    messages::given_place_of,
};
use crate::wire::{
    Message,
    message::{Offer, Seat},
};

impl Session {
    /// The connection to the host is lost, and whoever owns the sockets is to try
    /// again; see [`Event::ConnectionLost`].
    pub(super) fn suspend(&mut self, reason: &LeaveReason) {
        for (peer, _) in std::mem::take(&mut self.peers) {
            self.transmits.push_back(Transmit::Close { peer });
        }
        for participant in self.participants.drain() {
            self.events.push_back(Event::ParticipantLeft { id: participant.device_id });
        }
        self.arrivals.clear();
        let arriving = self.stage.models().iter().filter(|m| m.glb().is_none()).map(|m| m.id.clone());
        for model_id in arriving.collect::<Vec<_>>() {
            // It stands again as soon as the host offers it, with what has come of it.
            self.stage.remove(&model_id);
            let from = self.config.identity.device_id().to_owned();
            self.events.push_back(Event::ModelClosed { model_id, from });
        }
        let host = self.host_device.clone();
        for model in self.stage.iter_mut().filter(|m| m.shared && !m.kept) {
            model.kept = true;
            let at_host = self.deliveries.of(&model.id).find(|(device_id, _)| *device_id == host);
            model.undelivered =
                at_host.is_some_and(|(_, s)| matches!(s.state, Delivery::Waiting | Delivery::Receiving));
        }
        self.deliveries.clear();
        self.role = Role::Alone;
        self.rejoining = true;
        self.events.push_back(Event::ConnectionLost { reason: reason.clone() });
    }

    /// Whether a lost connection is being restored.
    pub fn is_rejoining(&self) -> bool {
        self.rejoining
    }

    /// The lost connection cannot be restored.
    pub fn give_up(&mut self, reason: LeaveReason, now: std::time::Duration) {
        self.now = now;
        if self.rejoining && self.role == Role::Alone {
            self.leave(reason);
        }
    }

    /// The host offers what is here already as the meeting's. Whether that was so.
    pub(super) fn offered_again(&mut self, peer: PeerId, offer: &Offer, content: ContentId) -> bool {
        let Some(model) = self.stage.get_mut(&offer.model_id) else { return false };
        if !model.kept || !matches!(model.content, Content::Here { id, .. } if id == content) {
            return false;
        }
        model.kept = false;
        model.undelivered = false;
        let changed = model.shown != offer.shown;
        model.shown = offer.shown;
        let from = self.label(peer);
        let model_id = offer.model_id.clone();
        let to: Move = given_place_of(offer.position, offer.rotation, offer.scale);
        // It is here: it was found just now.
        let _ = self.stage.move_model(&model_id, to);
        self.push_moved(&model_id, from.clone());
        if changed {
            self.events.push_back(Event::ModelShown { model_id: model_id.clone(), shown: offer.shown, from });
        }
        self.tell_own_state(&model_id, Delivery::Shown);
        true
    }

    /// The end of a host's greeting: what it did not offer is not the meeting's.
    pub(super) fn seated(&mut self, peer: PeerId, seat: &Seat) {
        if self.role != Role::Guest(peer) && self.role != Role::Joining(peer) {
            return;
        }
        if !seat.token.is_empty() {
            self.seat_token = Some(seat.token.clone());
        }
        self.settle_kept(Some(peer));
    }

    /// What was kept of a lost meeting is the host's again, or our own.
    pub(super) fn settle_kept(&mut self, peer: Option<PeerId>) {
        self.rejoining = false;
        let mut again = Vec::new();
        for model in self.stage.iter_mut().filter(|m| m.kept) {
            model.kept = false;
            model.shared = model.undelivered && peer.is_some();
            if std::mem::take(&mut model.undelivered) && model.shared {
                again.push(model.id.clone());
            }
        }
        if let Some(peer) = peer {
            for model_id in again {
                self.send_model(&model_id, &[peer]);
            }
        }
    }

    /// What proves that a seat is a participant's: only we can make it.
    pub(super) fn token_for(&self, participant_id: &str) -> String {
        let hash = blake3::keyed_hash(&self.config.secret, participant_id.as_bytes());
        hash.to_hex().chars().take(32).collect()
    }

    pub(super) fn send_seat(&mut self, peer: PeerId) {
        let Some(id) = self.peers.get(&peer).and_then(|p| p.participant_id.clone()) else { return };
        let token = self.token_for(&id);
        self.send(peer, &Message::Seat(Seat { token }));
    }
}
