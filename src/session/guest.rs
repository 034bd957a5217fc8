//! What only a guest does: join, read the roster, leave.

use super::{
    Client, CloseCause, Colour, Event, LeaveReason, Participant, PeerId, Presence, Role, Session, Transmit,
    device_id_of, host::visible_name, peer::Handshake,
};
use crate::wire::{
    MINIMUM_VERSION,
    message::{Roster, Version},
};

impl Session {
    pub(super) fn accept_host(&mut self, peer: PeerId, number: f32, text: &str, version: &Version) {
        if number < MINIMUM_VERSION {
            let text: String = text.chars().take(20).collect();
            self.transmits.push_back(Transmit::Close { peer });
            self.peers.remove(&peer);
            return self.leave(LeaveReason::HostTooOld(text));
        }
        self.accepted(peer, version);
        // A Convene host is known by its version; a LookSee host by its first pose.
        let Some(id) =
            self.peers.get(&peer).filter(|p| p.is_convene()).and_then(|p| p.participant_id.clone())
        else {
            return;
        };
        let device_id = device_id_of(&id).to_owned();
        if device_id == self.config.identity.device_id() {
            return;
        }
        self.host_device.clone_from(&device_id);
        let mut host = Participant::new(&device_id, peer);
        host.id = id;
        host.client = Client::Convene;
        if let Some(p) = self.peers.get_mut(&peer) {
            host.name = p.name.clone();
            host.colour = p.colour.unwrap_or(host.colour);
            p.device_id = Some(device_id.clone());
        }
        if self.participants.insert(host) {
            self.announce(&device_id);
        }
    }

    /// The host said something that only hosts say to those that they took.
    pub(super) fn joined_by(&mut self, peer: PeerId) {
        if self.role == Role::Joining(peer) {
            self.role = Role::Guest(peer);
            self.events.push_back(Event::Joined);
            if self.renamed_while_joining {
                self.tell_identity();
            }
            self.send_own_pose(peer);
        }
    }

    /// The connection to the host ended.
    pub(super) fn host_closed(&mut self, cause: CloseCause) {
        let (Role::Joining(peer) | Role::Guest(peer)) = self.role else { return };
        let p = self.peers.remove(&peer);
        let handshake = p.as_ref().map_or(Handshake::AwaitPrefix, |p| p.handshake);
        let joined = matches!(self.role, Role::Guest(_));
        let reason = match (handshake, cause) {
            (Handshake::AwaitPrefix, CloseCause::Finished | CloseCause::NotAMeeting) => {
                LeaveReason::NotAMeeting
            }
            (_, CloseCause::NotAMeeting) => LeaveReason::NotAMeeting,
            (_, CloseCause::Fault(fault)) => LeaveReason::Fault(fault),
            (Handshake::AwaitPrefix, CloseCause::Broken(why)) => LeaveReason::Lost(why),
            // The text of a refusal is often lost in the close.
            (_, CloseCause::Finished | CloseCause::Broken(_)) if !joined => {
                let text = p.and_then(|p| p.last_error);
                LeaveReason::Refused(
                    text.unwrap_or_else(|| "it gave no reason; the meeting may be full".into()),
                )
            }
            (_, CloseCause::Finished) => LeaveReason::HostEnded,
            (_, CloseCause::Broken(why)) => LeaveReason::Lost(why),
        };
        self.lose(reason);
    }

    /// The meeting is over for us, or it is only the connection that is.
    pub(super) fn lose(&mut self, reason: LeaveReason) {
        let joined = matches!(self.role, Role::Guest(_));
        let again =
            if self.rejoining { reason.should_retry_again() } else { joined && reason.should_retry() };
        if self.config.rejoin && again {
            self.suspend(&reason);
        } else {
            self.leave(reason);
        }
    }

    /// Everyone in the meeting, as the host sees it.
    pub(super) fn read_roster(&mut self, peer: PeerId, roster: &Roster) {
        if roster.number < self.roster_seen {
            return;
        }
        self.roster_seen = roster.number;
        let own = self.config.identity.device_id().to_owned();
        for entry in &roster.participants {
            if entry.device_id.is_empty() || entry.device_id == own {
                continue;
            }
            let known = self.participants.get(&entry.device_id).is_some();
            if !known && !self.participants.insert(Participant::new(&entry.device_id, peer)) {
                continue;
            }
            let Some(p) = self.participants.get_mut(&entry.device_id) else { continue };
            p.in_roster = true;
            p.id.clone_from(&entry.id);
            p.name = visible_name(&entry.name);
            p.client = Client::parse(&entry.client);
            p.colour = Colour::parse(&entry.colour).unwrap_or_else(|| Colour::for_id(&entry.device_id));
            let state = Presence::parse(&entry.state);
            let changed = p.presence != state;
            p.presence = state;
            if !known {
                self.announce(&entry.device_id);
            }
            if changed || (!known && state != Presence::Live) {
                self.events.push_back(Event::ParticipantState { id: entry.device_id.clone(), state });
            }
        }
        let gone: Vec<String> = self
            .participants
            .iter()
            .filter(|p| p.in_roster && !roster.participants.iter().any(|e| e.device_id == p.device_id))
            .map(|p| p.device_id.clone())
            .collect();
        for device_id in gone {
            self.participants.remove(&device_id);
            self.deliveries.forget_participant(&device_id);
            self.events.push_back(Event::ParticipantLeft { id: device_id });
        }
    }
}
