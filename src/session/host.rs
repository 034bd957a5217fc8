//! What only a host does: take guests, relay, keep the roster.

use bytes::Bytes;

use super::{
    Client, CloseCause, Colour, Event, Participant, PeerId, Presence, Role, Session, Transmit,
    messages::not_zero, peer::Handshake,
};
use crate::{
    transfer::{Lane, Method},
    wire::{
        MINIMUM_VERSION, Message,
        coordinates::{position_to_wire, rotation_to_wire},
        message::{
            ErrorText, KeepAligned, ModelShown, ParticipantLeft, Roster, RosterEntry, ScenePosition, Version,
        },
    },
};

/// How long a connection must have been silent before a newer one may speak for
/// its participant.
const TAKE_OVER_AFTER: std::time::Duration = std::time::Duration::from_secs(1);

impl Session {
    /// The other side's version was read: take it or not.
    pub(super) fn accept(&mut self, peer: PeerId, version: Version) {
        let number = match version.number() {
            Ok(number) => number,
            Err(error) => return self.fault(peer, &error.to_string()),
        };
        let text = version.version.clone().unwrap_or_default();
        if self.role != Role::Host {
            return self.accept_host(peer, number, &text, &version);
        }
        if number < MINIMUM_VERSION {
            let shown: String = text.chars().take(20).collect();
            return self.refuse(
                peer,
                format!("Joining this meeting requires LookSee version 12 or higher.  You are using version {shown}"),
            );
        }
        let persons = 1 + self.peers.values().filter(|p| p.is_accepted()).count();
        if persons >= self.config.max_participants {
            let limit = self.config.max_participants;
            return self.refuse(peer, format!("Meetings currently only allow {limit} persons."));
        }
        self.accepted(peer, &version);
        let scene = self.scene_message();
        self.send(peer, &scene);
        let keep_aligned = self.keep_aligned_message();
        self.send(peer, &keep_aligned);
        let convene = self.peers.get(&peer).filter(|p| p.is_convene());
        if let Some(device_id) = convene.and_then(super::Peer::introduced_as).map(str::to_owned) {
            self.seat(peer, &device_id);
        }
        let (mut open, mut hidden) = (Vec::new(), Vec::new());
        let takes_chunks = self.peers.get(&peer).is_some_and(|p| p.takes_chunks());
        for model in self.stage.models().iter().filter(|m| m.shared) {
            // Of what is still arriving, chunks can be had already.
            if model.glb().is_some() || (takes_chunks && self.arrivals.contains_key(&model.id)) {
                open.push(model.id.clone());
                // An offer says it by itself.
                if !model.shown && !takes_chunks {
                    hidden.push(model.id.clone());
                }
            }
        }
        if self.peers.get(&peer).is_some_and(|p| p.is_convene()) {
            // Names first: models can take a while.
            let roster = self.roster_message();
            self.send(peer, &roster);
        }
        for model_id in open {
            self.send_model(&model_id, &[peer]);
        }
        for model_id in hidden {
            self.send(peer, &Message::ModelShown(ModelShown { model_id, shown: false }));
        }
        self.send_own_pose(peer);
        if self.peers.get(&peer).is_some_and(|p| p.is_convene()) {
            self.send_seat(peer);
            self.tell_all_statuses(peer);
        }
        self.roster_dirty = true;
    }

    /// Takes over what the version message says.
    pub(super) fn accepted(&mut self, peer: PeerId, version: &Version) {
        let (now, extension) = (self.now, !self.config.looksee_only && version.speaks_extension());
        let Some(p) = self.peers.get_mut(&peer) else { return };
        p.handshake = Handshake::Done;
        p.accepted_at = now;
        if extension {
            p.client = Client::Convene;
            p.participant_id = version.id.clone();
            p.name = visible_name(version.name.as_deref().unwrap_or_default());
            p.colour = version.colour.as_deref().and_then(Colour::parse);
            let methods = version.methods.as_deref().unwrap_or_default();
            let proof = version.seat.clone().zip(p.participant_id.clone());
            p.methods = methods.split(',').filter_map(|word| Method::parse(word.trim())).collect();
            self.transmits.push_back(Transmit::Extended { peer });
            let proved = proof.is_some_and(|(token, id)| token == self.token_for(&id));
            if let Some(p) = self.peers.get_mut(&peer) {
                p.seat_proved = proved;
            }
        }
    }

    /// A second version message: a guest of ours has a new name or colour. All
    /// else in it was settled by the first.
    pub(super) fn renamed(&mut self, peer: PeerId, version: &Version) {
        let Some(p) = self.peers.get_mut(&peer).filter(|p| p.is_convene()) else { return };
        if self.role != Role::Host || version.id != p.participant_id {
            return;
        }
        p.name = visible_name(version.name.as_deref().unwrap_or_default());
        p.colour = version.colour.as_deref().and_then(Colour::parse).or(p.colour);
        let (name, colour) = (p.name.clone(), p.colour);
        let device_id = p.device_id.clone();
        if let Some(participant) = device_id.and_then(|id| self.participants.get_mut(&id)) {
            participant.name = name;
            participant.colour = colour.unwrap_or(participant.colour);
            self.roster_dirty = true;
        }
    }

    fn refuse(&mut self, peer: PeerId, error: String) {
        self.events.push_back(Event::PeerFault { peer, fault: format!("refused: {error}") });
        self.send(peer, &Message::Error(ErrorText { error }));
        self.transmits.push_back(Transmit::Close { peer });
        self.peers.remove(&peer);
    }

    /// Gives a Convene guest its place among the participants, unless somebody
    /// who is still heard has it.
    fn seat(&mut self, peer: PeerId, device_id: &str) {
        if device_id == self.config.identity.device_id() || !self.may_speak_for(peer, device_id) {
            return;
        }
        self.participants.remove(device_id);
        let Some(p) = self.peers.get_mut(&peer) else { return };
        p.device_id = Some(device_id.to_owned());
        let participant = Participant::introduced(device_id, p);
        if self.participants.insert(participant) {
            self.announce(device_id);
        }
    }

    /// Those whose place was still taken when they came.
    pub(super) fn seat_the_unseated(&mut self) {
        let unseated = self.peers.values().filter(|p| p.is_convene() && p.device_id.is_none());
        let unseated: Vec<(PeerId, String)> =
            unseated.filter_map(|p| Some((p.id, p.introduced_as()?.to_owned()))).collect();
        for (peer, device_id) in unseated {
            self.seat(peer, &device_id);
        }
    }

    /// A device id belongs to the connection that introduced it, until that one
    /// has been silent for a second and a newer one speaks for it.
    pub(super) fn may_speak_for(&mut self, peer: PeerId, device_id: &str) -> bool {
        if self.role != Role::Host {
            // A guest hears everybody through its host.
            return true;
        }
        let Some(p) = self.peers.get(&peer) else { return false };
        if p.device_id.as_deref().is_some_and(|own| own != device_id) {
            return false;
        }
        if p.introduced_as().is_some_and(|id| id != device_id) {
            return false;
        }
        let Some(owner) = self.participants.get(device_id).map(|owner| owner.peer) else { return true };
        if owner == Some(peer) {
            return true;
        }
        let silent = owner.and_then(|o| self.peers.get(&o)).is_none_or(|o| {
            // Who has the token is who had the seat, even if the old
            // connection seems to live.
            let silent = self.now.saturating_sub(o.last_byte) >= TAKE_OVER_AFTER;
            o.since <= p.since && (silent || p.seat_proved)
        });
        if !silent {
            return false;
        }
        // The newer connection takes the place, without anybody leaving.
        if let Some(old) = owner {
            self.transmits.push_back(Transmit::Close { peer: old });
            if let Some(gone) = self.peers.remove(&old) {
                self.forget_arriving(&gone, "its sender came back over another connection");
            }
        }
        if let Some(p) = self.peers.get_mut(&peer) {
            p.device_id = Some(device_id.to_owned());
            if let Some(participant) = self.participants.get_mut(device_id) {
                let Participant { body, last_pose, poses, .. } = *participant;
                *participant =
                    Participant { body, last_pose, poses, ..Participant::introduced(device_id, p) };
            }
        }
        self.roster_dirty = true;
        true
    }

    /// A guest's connection ended.
    pub(super) fn guest_closed(&mut self, peer: PeerId, cause: CloseCause) {
        let Some(gone) = self.peers.remove(&peer) else { return };
        self.forget_arriving(&gone, "its sender left before all of it had arrived");
        let fault = match cause {
            CloseCause::Fault(fault) => Some(fault),
            CloseCause::NotAMeeting => Some("it does not speak the meeting's protocol".to_owned()),
            CloseCause::Finished | CloseCause::Broken(_) => None,
        };
        if let Some(fault) = fault {
            self.events.push_back(Event::PeerFault { peer, fault });
        }
        let Some(device_id) = gone.device_id else { return };
        self.remove_participant(&device_id);
    }

    /// What was arriving over a connection that is gone will never be whole.
    pub(super) fn forget_arriving(&mut self, gone: &super::Peer, why: &str) {
        if let Some((model_id, _)) = &gone.arriving
            && self.stage.get(model_id).is_some_and(|m| m.glb().is_none())
        {
            self.stage.remove(model_id);
            let (model_id, error) = (model_id.clone(), why.to_owned());
            self.events.push_back(Event::ModelFailed { model_id, error });
        }
        self.forget_arrivals(gone.id, why);
    }

    /// A participant is gone: everybody is told.
    pub(super) fn remove_participant(&mut self, device_id: &str) {
        let Some(participant) = self.participants.remove(device_id) else { return };
        self.deliveries.forget_participant(device_id);
        if participant.poses > 0 {
            self.broadcast(&Message::ParticipantLeft(ParticipantLeft { device_id: device_id.to_owned() }));
        }
        self.events.push_back(Event::ParticipantLeft { id: device_id.to_owned() });
        self.roster_dirty = true;
    }

    /// A guest's model goes on to the others as it came; only where it had no id
    /// or no place it gets ours.
    pub(super) fn relay_model(&mut self, from: PeerId, model_id: &str, payload: Bytes, rewrite: bool) {
        let to: Vec<PeerId> = self.accepted_peers().into_iter().filter(|&p| p != from).collect();
        if rewrite {
            return self.send_model(model_id, &to);
        }
        let length = Bytes::copy_from_slice(&(payload.len() as i32).to_le_bytes());
        self.offer_model(model_id, &to);
        let plain = |peer: &PeerId| self.peers.get(peer).is_some_and(|p| !p.takes_chunks());
        let to: Vec<PeerId> = to.into_iter().filter(plain).collect();
        for peer in to {
            let lane = Lane::Model { model_id: model_id.to_owned() };
            self.note_model_sent(peer, model_id);
            self.send_bytes(peer, lane, length.clone(), payload.clone());
            self.note_delivery(peer, model_id);
        }
    }

    pub(super) fn scene_message(&self) -> Message {
        let scene = self.stage.scene;
        Message::ScenePosition(ScenePosition {
            position: position_to_wire(scene.position),
            rotation: rotation_to_wire(scene.rotation),
            scale: scene.scale,
        })
    }

    pub(super) fn keep_aligned_message(&self) -> Message {
        Message::KeepAligned(KeepAligned { keep_aligned: self.stage.keep_aligned })
    }

    pub(super) fn model_position_message(&self, model_id: &str) -> Option<Message> {
        let model = self.stage.get(model_id)?;
        let pose = self.stage.world_pose(model);
        Some(Message::ModelPosition(crate::wire::message::ModelPosition {
            model_id: model_id.to_owned(),
            position: not_zero(position_to_wire(pose.position)),
            rotation: rotation_to_wire(pose.rotation),
            scale: model.local.scale,
        }))
    }

    pub(super) fn send_roster(&mut self) {
        self.roster_number += 1;
        let roster = self.roster_message();
        let guests: Vec<PeerId> = self.peers.values().filter(|p| p.is_convene()).map(|p| p.id).collect();
        for peer in guests {
            self.send(peer, &roster);
        }
    }

    fn roster_message(&mut self) -> Message {
        let me = &self.config.identity;
        let host = RosterEntry {
            id: me.id.clone(),
            device_id: me.device_id().to_owned(),
            name: me.name.clone(),
            colour: me.colour.to_string(),
            client: Client::Convene.as_str().to_owned(),
            state: Presence::Live.as_str().to_owned(),
        };
        let others = self.participants.iter().map(|p| RosterEntry {
            id: p.id.clone(),
            device_id: p.device_id.clone(),
            name: p.name.clone(),
            colour: if p.client == Client::Convene { p.colour.to_string() } else { String::new() },
            client: p.client.as_str().to_owned(),
            state: p.presence.as_str().to_owned(),
        });
        let participants = std::iter::once(host).chain(others).collect();
        Message::Roster(Roster { number: self.roster_number, participants })
    }
}

/// A name as it can be shown: one line, at most 40 characters.
pub fn visible_name(name: &str) -> String {
    let clean: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    clean.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(40).collect()
}
