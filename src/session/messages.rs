//! What a message from a peer does, alike for host and guest but for the relay.

use bytes::Bytes;

use super::{
    Body, Client, CloseCause, Content, Delivery, Event, Measure, Model, Move, Participant, PeerId, Placement,
    Pose, Presence, Role, Session, peer::Handshake,
};
use crate::wire::{
    Frame, Message, ModelFrame, ModelHeader, Progress,
    coordinates::{position_from_wire, rotation_from_wire},
    message::{CloseModel, ModelShown, OpenModel, QuatJson, Vec3Json, WandPosition},
};

/// A LookSee peer that comes back gives all its models again, under new ids.
/// A model that begins within this time of its coming may be such a copy.
const RETURN_WINDOW: std::time::Duration = std::time::Duration::from_secs(10);

impl Session {
    pub(super) fn receive(&mut self, peer: PeerId, frame: Frame) {
        let Some(p) = self.peers.get_mut(&peer) else { return };
        match (p.handshake, frame) {
            (Handshake::AwaitPrefix, Frame::Prefix) => p.handshake = Handshake::AwaitVersion,
            (Handshake::AwaitVersion, Frame::Message(payload)) => {
                match Message::decode(&payload, &self.config.limits) {
                    Ok(Some(Message::Version(version))) => self.accept(peer, version),
                    Ok(_) => self.fault(peer, "its first message is not its version"),
                    Err(error) => self.fault(peer, &error.to_string()),
                }
            }
            (Handshake::Done, Frame::Message(payload)) => {
                match Message::decode(&payload, &self.config.limits) {
                    Ok(Some(message)) => self.apply(peer, message, payload),
                    Ok(None) => {}
                    Err(error) => self.fault(peer, &error.to_string()),
                }
            }
            (Handshake::Done, Frame::ModelStarted(header)) => self.model_started(peer, header),
            (Handshake::Done, Frame::Model(model)) => self.model_arrived(peer, model),
            // Types that nobody here knows.
            (Handshake::Done, Frame::Skipped { .. }) => {}
            _ => self.fault(peer, "its first message is not its version"),
        }
    }

    /// Ends a connection that broke the rules.
    pub(super) fn fault(&mut self, peer: PeerId, fault: &str) {
        self.transmits.push_back(super::Transmit::Close { peer });
        let cause = CloseCause::Fault(fault.to_owned());
        match self.role {
            Role::Joining(host) | Role::Guest(host) if host == peer => self.host_closed(cause),
            _ => self.guest_closed(peer, cause),
        }
    }

    /// Tells once of each kind of message that a peer's connection may not send.
    fn ignored(&mut self, peer: PeerId, fault: &'static str) {
        if self.peers.get_mut(&peer).is_some_and(|p| p.tell_once(fault)) {
            self.events.push_back(Event::PeerFault { peer, fault: fault.to_owned() });
        }
    }

    pub(super) fn label(&self, peer: PeerId) -> String {
        self.peers.get(&peer).map(super::Peer::label).unwrap_or_default()
    }

    fn apply(&mut self, peer: PeerId, message: Message, mut payload: Bytes) {
        if message.message_type().is_extension() && !self.peers.get(&peer).is_some_and(|p| p.is_convene()) {
            return self.ignored(peer, "it sent an extension message without announcing the extension");
        }
        let relayed = match &message {
            Message::ModelPosition(m) => {
                let to = Move {
                    position: given_position(m.position),
                    rotation: given_rotation(m.rotation),
                    scale: given_scale(m.scale),
                };
                self.model_moved(peer, &m.model_id, to)
            }
            Message::WandPosition(m) => {
                if self.posed(peer, m, None) && self.role == Role::Host {
                    self.pass_plain_pose(peer, m, payload.clone());
                }
                false
            }
            Message::CloseModel(m) => {
                self.model_closed(peer, &m.model_id);
                true
            }
            Message::ModelShown(m) => self.model_shown(peer, &m.model_id, m.shown),
            Message::ParticipantLeft(m) => self.participant_left(peer, &m.device_id),
            Message::ScenePosition(m) => {
                let to = Move {
                    position: Some(position_from_wire(m.position)),
                    rotation: given_rotation(m.rotation),
                    scale: given_scale(m.scale),
                };
                if to.is_usable() {
                    self.stage.move_scene(to);
                    if to.scale.is_none() || to.rotation.is_none() {
                        // LookSee peers would take a missing scale for zero.
                        payload = self.scene_message().encode().into();
                    }
                    let (scene, from) = (self.stage.scene, self.label(peer));
                    self.events.push_back(Event::SceneMoved { scene, from });
                } else {
                    self.ignored(peer, "it moved the scene out of the world");
                }
                to.is_usable()
            }
            Message::KeepAligned(m) => {
                self.stage.keep_aligned = m.keep_aligned;
                let (on, from) = (m.keep_aligned, self.label(peer));
                self.events.push_back(Event::KeepAligned { on, from });
                true
            }
            Message::Error(m) => {
                let text: String = m.error.chars().take(500).collect();
                if let Some(p) = self.peers.get_mut(&peer) {
                    p.last_error = Some(text.clone());
                }
                self.events.push_back(Event::PeerMessage { text });
                false
            }
            Message::Version(version) => {
                self.renamed(peer, version);
                false
            }
            Message::Ping(value) => {
                let pong = Message::Pong(*value);
                self.send(peer, &pong);
                false
            }
            Message::Pong(value) => {
                self.ponged(peer, *value);
                false
            }
            Message::Roster(roster) => {
                if self.role == Role::Guest(peer) || self.role == Role::Joining(peer) {
                    self.read_roster(peer, roster);
                }
                false
            }
            Message::ModelStatus(status) => {
                self.read_status(peer, status);
                false
            }
            Message::Poses(entries) => {
                for entry in entries {
                    let stamp = Some((entry.seq, entry.stamp_ms));
                    if self.posed(peer, &entry.wand, stamp) && self.role == Role::Host {
                        self.pass_pose(Some(peer), entry);
                    }
                }
                false
            }
            Message::Offer(offer) => {
                self.offered(peer, offer);
                false
            }
            Message::Want(want) => {
                self.wanted(peer, want);
                false
            }
            Message::Cancel(cancel) => {
                self.cancelled_by_sender(peer, *cancel);
                false
            }
            Message::Seat(seat) => {
                self.seated(peer, seat);
                false
            }
        };
        if !matches!(message, Message::Error(_) | Message::Ping(_) | Message::Pong(_)) {
            self.joined_by(peer);
        }
        if self.role == Role::Host {
            self.note_received(peer, &message);
            if relayed {
                self.relay(peer, &message, payload);
            }
        }
    }

    /// Whether it is to be relayed.
    fn model_moved(&mut self, peer: PeerId, model_id: &str, to: Move) -> bool {
        if !to.is_usable() {
            self.ignored(peer, "it moved a model out of the world");
            return false;
        }
        if self.stage.move_model(model_id, to).is_ok() {
            let from = self.label(peer);
            self.push_moved(model_id, from);
        }
        true
    }

    pub(super) fn push_moved(&mut self, model_id: &str, from: String) {
        if let Some(model) = self.stage.get(model_id) {
            let (pose, scale) = (self.stage.world_pose(model), model.local.scale);
            self.events.push_back(Event::ModelMoved { model_id: model_id.to_owned(), pose, scale, from });
        }
    }

    /// Whether it is to be relayed.
    fn model_shown(&mut self, peer: PeerId, model_id: &str, shown: bool) -> bool {
        let now = self.now;
        let Some(p) = self.peers.get_mut(&peer) else { return false };
        p.forget_doubt(model_id);
        if p.is_echo(model_id, shown, now) {
            // Not what holds now: a late echo, or somebody's wish that looks like one.
            if self.stage.get(model_id).is_some_and(|m| m.shown != shown) {
                p.doubt(model_id, shown, now);
            }
            return false;
        }
        self.note_shown_received(peer, model_id);
        self.set_shown(peer, model_id, shown)
    }

    /// What looked like an echo and was the last word about a model was a wish.
    pub(super) fn believe_doubts(&mut self, now: std::time::Duration) {
        let due: Vec<(PeerId, Vec<(String, bool)>)> =
            self.peers.values_mut().map(|p| (p.id, p.take_doubts(now))).collect();
        for (peer, doubts) in due {
            for (model_id, shown) in doubts {
                self.note_shown_received(peer, &model_id);
                if self.set_shown(peer, &model_id, shown) && self.role == Role::Host {
                    let message = Message::ModelShown(ModelShown { model_id, shown });
                    self.relay(peer, &message, message.encode().into());
                }
            }
        }
    }

    /// Whether it is to be relayed.
    fn set_shown(&mut self, peer: PeerId, model_id: &str, shown: bool) -> bool {
        let from = self.label(peer);
        match self.stage.get_mut(model_id) {
            Some(model) if model.shown == shown => false,
            Some(model) => {
                model.shown = shown;
                self.events.push_back(Event::ModelShown { model_id: model_id.to_owned(), shown, from });
                true
            }
            // Like LookSee: unknown here, maybe known to others.
            None => true,
        }
    }

    fn model_closed(&mut self, peer: PeerId, model_id: &str) {
        let from = self.label(peer);
        if self.stage.get(model_id).is_some_and(|m| m.shared || m.glb().is_none()) {
            self.stage.remove(model_id);
            self.stop_arriving(model_id);
            self.deliveries.forget_model(model_id);
            self.events.push_back(Event::ModelClosed { model_id: model_id.to_owned(), from });
        }
    }

    /// If the model is arriving, its bytes are not wanted any more.
    pub(super) fn stop_arriving(&mut self, model_id: &str) {
        self.stop_receiving(model_id);
        self.stop_serving(model_id);
        for p in self.peers.values_mut() {
            if p.arriving.as_ref().is_some_and(|(id, _)| id == model_id) {
                p.discard_arriving = true;
            }
        }
    }

    /// Whether it is to be relayed.
    fn participant_left(&mut self, peer: PeerId, device_id: &str) -> bool {
        if self.participants.get(device_id).is_some_and(|p| p.peer == Some(peer)) {
            self.participants.remove(device_id);
            self.deliveries.forget_participant(device_id);
            if self.role == Role::Host
                && let Some(p) = self.peers.get_mut(&peer)
            {
                p.device_id = None;
            }
            self.events.push_back(Event::ParticipantLeft { id: device_id.to_owned() });
            self.roster_dirty = true;
            true
        } else {
            // A host may speak of somebody whom we have not seen.
            if self.role == Role::Host {
                self.ignored(peer, "it said that somebody left who is not its own to speak for");
            }
            false
        }
    }

    /// Whether it is to be relayed.
    fn posed(&mut self, peer: PeerId, m: &WandPosition, stamp: Option<(u32, u32)>) -> bool {
        let device_id = &m.device_id;
        if device_id == self.config.identity.device_id() {
            self.ignored(peer, "it sent poses under our own id");
            return false;
        }
        if !self.may_speak_for(peer, device_id) {
            self.ignored(peer, "it sent poses of somebody who is not its own to speak for");
            return false;
        }
        if self.participants.get(device_id).is_none() {
            let newcomer = match self.peers.get(&peer) {
                Some(p) if self.role == Role::Host => Participant::introduced(device_id, p),
                _ => Participant::new(device_id, peer),
            };
            if !self.participants.insert(newcomer) {
                self.ignored(peer, "it brings more participants than a meeting can have");
                return false;
            }
            if self.role == Role::Host
                && let Some(p) = self.peers.get_mut(&peer)
            {
                p.device_id = Some(device_id.clone());
            }
            self.announce(device_id);
        }
        let now = self.now;
        let Some(participant) = self.participants.get_mut(device_id) else { return false };
        let body = Body::from_wire(m);
        participant.body = Some(body);
        let (seq, stamp_ms) = stamp.unzip();
        participant.playout.push(stamp_ms, body, now);
        let late = stamp_ms.map(|_| participant.playout.latency());
        if let Some(late) = late {
            participant.note_late(late);
        }
        participant.note_pose(now);
        if participant.client == Client::LookSee && participant.presence != Presence::Live {
            participant.presence = Presence::Live;
            self.events.push_back(Event::ParticipantState { id: device_id.clone(), state: Presence::Live });
            self.roster_dirty = true;
        }
        self.events.push_back(Event::Pose { from: device_id.clone(), seq, stamp_ms, late, body });
        true
    }

    /// A participant is new: an event, and a new roster.
    pub(super) fn announce(&mut self, device_id: &str) {
        if let Some(p) = self.participants.get(device_id) {
            let (id, name, client) = (p.device_id.clone(), p.name.clone(), p.client);
            self.events.push_back(Event::ParticipantJoined { id, name, client });
        }
        self.roster_dirty = true;
    }

    fn model_started(&mut self, peer: PeerId, header: ModelHeader) {
        self.joined_by(peer);
        let mut id = header.open.model_id.clone();
        if id.is_empty() {
            // LookSee lets every peer make up an id of its own, so that nothing
            // about the model matches anywhere; a host of ours makes one for all.
            let mut free = (0..).map(|n| format!("noid{n:04}")).filter(|id| self.stage.get(id).is_none());
            id = free.next().unwrap_or_default();
        }
        let in_use = self.stage.get(&id).is_some_and(|m| (m.shared && !m.kept) || m.glb().is_none());
        if in_use {
            return self.fault(peer, "it opened a model under an id that is in use");
        }
        let (now, from) = (self.now, self.label(peer));
        let total = self.stage.bytes() + header.glb_bytes as u64;
        let Some(p) = self.peers.get_mut(&peer) else { return };
        p.arriving = Some((id.clone(), now));
        p.discard_arriving = false;
        let refused = if total > self.config.max_model_bytes {
            Some("the models of this meeting are too large together")
        } else if self.stage.models().len() >= self.config.max_models {
            Some("too many models are open in this meeting")
        } else {
            None
        };
        if let Some(why) = refused {
            p.discard_arriving = true;
            self.refuse_model(peer, &id, why);
            return;
        }
        // A private copy from an earlier meeting stays until the new one is whole.
        if self.stage.get(&id).is_some() {
            return;
        }
        let name = header.open.model_name.clone();
        let progress = Progress { received: 0, total: header.glb_bytes };
        let content = Content::Arriving { peer, progress, since: now };
        self.insert_received(peer, id.clone(), &header.open, content);
        self.events.push_back(Event::ModelOffered {
            model_id: id.clone(),
            name,
            bytes: header.glb_bytes,
            from,
        });
        self.tell_own_status(&id, Delivery::Receiving, progress);
    }

    /// A model that we do not take. A guest that shared it closes it again; a
    /// host's model is for the others to keep.
    pub(super) fn refuse_model(&mut self, peer: PeerId, model_id: &str, why: &str) {
        if self.role == Role::Host {
            let close = Message::CloseModel(CloseModel { model_id: model_id.to_owned() });
            self.send(peer, &close);
        }
        self.events.push_back(Event::ModelFailed { model_id: model_id.to_owned(), error: why.to_owned() });
    }

    pub(super) fn insert_received(&mut self, peer: PeerId, id: String, open: &OpenModel, content: Content) {
        // What is not given is as for a model that is opened here.
        let unit = Measure { center: glam::Vec3::ZERO, size: glam::Vec3::ONE };
        let usual = self.stage.scene.compose(self.stage.opening_placement(self.body.head, &unit));
        let given = given_place(open);
        let pose =
            Pose::new(given.position.unwrap_or(usual.position), given.rotation.unwrap_or(usual.rotation));
        let scale = given.scale.unwrap_or(1.0);
        let sender = self.peers.get(&peer).filter(|_| self.role == Role::Host);
        let opener = open.opener.clone().filter(|o| !o.is_empty());
        let opener = opener.or_else(|| sender.and_then(|p| p.device_id.clone()));
        let name = if open.model_name.is_empty() { "model.glb".to_owned() } else { open.model_name.clone() };
        self.stage.insert(Model {
            local: self.stage.scene.local_from_world(pose, Placement::new(pose, scale).scale),
            shared: true,
            opener,
            received: true,
            ..Model::new(id, name, content)
        });
    }

    /// What is left of an earlier meeting and is the same file gives way.
    pub(super) fn drop_leftovers(
        &mut self,
        peer: PeerId,
        model_id: &str,
        content: super::ContentId,
    ) -> Option<Model> {
        let leftovers: Vec<String> = self
            .stage
            .models()
            .iter()
            .filter(|m| !m.shared && (m.id == model_id || m.received && m.content_id() == Some(content)))
            .map(|m| m.id.clone())
            .collect();
        let mut known = None;
        for old in leftovers {
            let old_model = self.stage.remove(&old);
            known = known.or(old_model.filter(|m| m.content_id() == Some(content)));
            let from = self.label(peer);
            self.events.push_back(Event::ModelClosed { model_id: old, from });
        }
        known
    }

    fn model_arrived(&mut self, peer: PeerId, frame: ModelFrame) {
        let from = self.label(peer);
        let Some(p) = self.peers.get_mut(&peer) else { return };
        let Some((model_id, since)) = p.arriving.take() else { return };
        if std::mem::take(&mut p.discard_arriving) {
            return;
        }
        let ModelFrame { open, payload, glb, content } = frame;
        let maybe_returning =
            p.client == Client::LookSee && since.saturating_sub(p.accepted_at) < RETURN_WINDOW;
        let copy = |m: &&Model| m.shared && m.content_id() == Some(content);
        if self.role == Role::Host && maybe_returning && self.stage.models().iter().any(|m| copy(&m)) {
            self.stage.remove(&model_id);
            self.deliveries.forget_model(&model_id);
            self.events.push_back(Event::ModelClosed { model_id: model_id.clone(), from });
            let close = Message::CloseModel(CloseModel { model_id });
            return self.send(peer, &close);
        }
        let known = self.drop_leftovers(peer, &model_id, content);
        match self.stage.get_mut(&model_id) {
            Some(model) => model.become_whole(glb.clone(), content),
            None => {
                let here = Content::Here { glb: glb.clone(), id: content };
                self.insert_received(peer, model_id.clone(), &open, here);
                if let Some(model) = self.stage.get_mut(&model_id) {
                    model.become_whole(glb.clone(), content);
                }
                let (name, bytes) = (open.model_name.clone(), glb.len());
                self.events.push_back(Event::ModelOffered {
                    model_id: model_id.clone(),
                    name,
                    bytes,
                    from: from.clone(),
                });
            }
        }
        if let (Some(known), Some(model)) = (known, self.stage.get_mut(&model_id)) {
            // The same bytes: what was found out about them is still true.
            model.measure = known.measure;
            model.failed = known.failed;
            model.loaded = known.loaded && known.id == model_id;
        }
        let name = self.stage.get(&model_id).map(|m| m.name.clone()).unwrap_or_default();
        if self.role == Role::Host {
            let given = given_place(&open);
            let placed = given.position.is_some() && given.rotation.is_some() && given.scale.is_some();
            let complete = placed && !open.model_id.is_empty();
            self.note_model_received(peer, &model_id);
            self.relay_model(peer, &model_id, payload, !complete);
        }
        self.tell_own_arrival(&model_id);
        let way = super::Way::exact(crate::transfer::Method::Raw, glb.len() as u64);
        self.events.push_back(Event::ModelReceived { model_id, name, glb, from, way });
    }
}

/// All zeros mean 'not given'.
fn given_position(v: Vec3Json) -> Option<glam::Vec3> {
    (v != Vec3Json::default()).then(|| position_from_wire(v))
}

fn given_rotation(q: QuatJson) -> Option<glam::Quat> {
    (q != QuatJson::default()).then(|| rotation_from_wire(q))
}

fn given_scale(scale: f32) -> Option<f32> {
    (scale != 0.0).then_some(scale)
}

/// What an open model says of its place; nothing if that is out of the world.
fn given_place(open: &OpenModel) -> Move {
    given_place_of(open.position, open.rotation, open.scale)
}

pub(super) fn given_place_of(position: Vec3Json, rotation: QuatJson, scale: f32) -> Move {
    let given = Move {
        position: given_position(position),
        rotation: given_rotation(rotation),
        scale: given_scale(scale),
    };
    if given.is_usable() { given } else { Move::default() }
}

/// A position that peers do not take for 'unchanged'.
pub(super) fn not_zero(v: Vec3Json) -> Vec3Json {
    if v == Vec3Json::default() { Vec3Json { x: 1e-6, ..v } } else { v }
}
