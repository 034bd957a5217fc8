//! The meeting: who is here, which models are open, where everything is.
//!
//! For: the rules of a meeting, as host and as guest, with LookSee peers and
//! with our own. Not for: sockets, clocks, threads, decoding. Pure: bytes
//! (as [`Frame`]s), [`Command`]s and the time go in, [`Transmit`]s and
//! [`Event`]s come out. The meeting's driver thread in [`crate::net`] owns the one
//! [`Session`] of a process; tests run several on a simulated clock.
//!
//! Call order: any `handle_*` or `connect_*` with the present time; then
//! [`Session::poll_transmit`] and [`Session::poll_event`] until both are empty;
//! then, not later than [`Session::poll_timeout`] says, [`Session::handle_timeout`].

mod alignment;
mod arrivals;
mod commands;
mod deliveries;
mod event;
mod guest;
mod host;
mod identity;
mod messages;
mod participants;
mod peer;
mod pose;
mod poses;
mod presence;
mod rejoin;
mod settle;
mod stage;
mod view;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use bytes::Bytes;

pub use alignment::{
    AlignmentError, MINIMUM_MARKER_DISTANCE, room_from_tracking, room_from_tracking_unaligned,
};
pub use arrivals::{Assembled, Stored};
pub use deliveries::Delivery;
pub use event::{
    CloseCause, Command, ContentId, Event, LeaveReason, Measure, Move, PeerId, SessionError, Transmit, Way,
};
pub use host::visible_name;
pub use identity::{Client, Colour, Identity, Presence, device_id_of};
pub use participants::{Participant, PoseLatency};
pub use pose::{Body, Placement, Pose};
pub use presence::{
    AWAY_AFTER, HANDSHAKE_TIMEOUT, HIDE_LOOKSEE_AFTER, PING_INTERVAL, SEAT_KEPT, STALE_AFTER,
};
pub use stage::{Content, Model, OPENING_DISTANCE, Stage};
pub use view::{DeliveryView, ModelView, ParticipantView, PeerView, Phase, SessionView};

use crate::{
    transfer::{BulkConfig, Lane, Method, Outgoing},
    wire::{
        EXTENSION, Frame, Limits, MEETING_PREFIX, Message, VERSION, encode_frame,
        message::{OpenModel, PoseEntry, QuatJson, Vec3Json, Version},
    },
};
use participants::Participants;
use peer::Peer;

/// What a session needs to know from the start.
#[derive(Debug, Clone)]
pub struct Config {
    /// Ourselves.
    pub identity: Identity,
    /// Speak only LookSee, announce no extension.
    pub looksee_only: bool,
    /// Program and version, announced to others.
    pub app: String,
    /// Caps on what peers may send.
    pub limits: Limits,
    /// Persons that a meeting of ours takes, ourselves included.
    pub max_participants: usize,
    /// Cap on the bytes of all open models together.
    pub max_model_bytes: u64,
    /// Cap on the number of open models; a late joiner's queue holds them all.
    pub max_models: usize,
    /// Windows and steps of transfers.
    pub bulk: BulkConfig,
    /// Ways of sending models that we take from others, the best first.
    pub methods: Vec<Method>,
    /// Send and take models exactly as they are in their files.
    pub exact: bool,
    /// Whether a lost connection to a host is to be restored.
    pub rejoin: bool,
    /// What a host's seat tokens are made from; random, and kept to itself.
    pub secret: [u8; 32],
}

impl Config {
    /// LookSee's own limit of 100 persons, and 500 models of 2 GiB together.
    pub fn new(identity: Identity) -> Self {
        Self {
            identity,
            looksee_only: false,
            app: concat!("convene ", env!("CARGO_PKG_VERSION")).to_owned(),
            limits: Limits::default(),
            max_participants: 100,
            max_model_bytes: 2 << 30,
            max_models: 500,
            bulk: BulkConfig::default(),
            methods: Method::ALL.to_vec(),
            exact: false,
            rejoin: false,
            secret: [0; 32],
        }
    }
}

/// A new model id: LookSee's form, base64 of six random bytes.
pub fn new_model_id(random: [u8; 6]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(random)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Alone,
    Host,
    /// Connected to a host that has not taken us yet.
    Joining(PeerId),
    Guest(PeerId),
}

/// One process's side of a meeting. See the module's page for the order of calls.
#[derive(Debug)]
pub struct Session {
    config: Config,
    role: Role,
    peers: BTreeMap<PeerId, Peer>,
    participants: Participants,
    stage: Stage,
    deliveries: deliveries::Deliveries,
    /// Models that come in chunks, by id.
    arrivals: BTreeMap<String, arrivals::Arrival>,
    body: Body,
    pose_seq: u32,
    /// The connection is lost and is to be restored.
    rejoining: bool,
    /// Our name or colour changed after the host was told.
    renamed_while_joining: bool,
    /// Device id of the host that we joined last, if it speaks the extension.
    host_device: String,
    /// What the host gave to reclaim our seat by.
    seat_token: Option<String>,
    /// Our latest pose, as it was sent.
    last_pose: Option<PoseEntry>,
    roster_number: u64,
    roster_dirty: bool,
    /// The newest roster that was read.
    roster_seen: u64,
    tick: Option<Duration>,
    transmits: VecDeque<Transmit>,
    events: VecDeque<Event>,
    now: Duration,
}

impl Session {
    /// No meeting yet, no models.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            role: Role::Alone,
            peers: BTreeMap::new(),
            participants: Participants::default(),
            stage: Stage::default(),
            deliveries: deliveries::Deliveries::default(),
            arrivals: BTreeMap::new(),
            body: Body::rest(),
            pose_seq: 0,
            rejoining: false,
            renamed_while_joining: false,
            host_device: String::new(),
            seat_token: None,
            last_pose: None,
            roster_number: 0,
            roster_dirty: false,
            roster_seen: 0,
            tick: None,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
            now: Duration::ZERO,
        }
    }

    /// From now on connections are guests. All open models are the meeting's.
    pub fn host(&mut self, now: Duration) {
        self.now = now;
        self.settle_kept(None);
        self.role = Role::Host;
        for model in self.stage.iter_mut().filter(|m| m.glb().is_some()) {
            model.shared = true;
        }
    }

    /// A guest has connected to us.
    pub fn connect_guest(&mut self, peer: PeerId, now: Duration) {
        self.now = now;
        if self.role != Role::Host {
            self.transmits.push_back(Transmit::Close { peer });
            return;
        }
        self.peers.insert(peer, Peer::new(peer, now));
        self.greet(peer);
        self.finish();
    }

    /// We have connected to a host. Connections to guests are ended first.
    pub fn connect_host(&mut self, peer: PeerId, now: Duration) {
        self.now = now;
        if self.role != Role::Alone {
            self.leave(LeaveReason::Asked);
        }
        self.role = Role::Joining(peer);
        self.roster_seen = 0;
        self.peers.insert(peer, Peer::new(peer, now));
        self.greet(peer);
        self.finish();
    }

    /// What a reader found in a connection's stream.
    pub fn handle_frame(&mut self, peer: PeerId, frame: Frame, now: Duration) {
        self.now = now;
        if let Some(p) = self.peers.get_mut(&peer) {
            p.last_byte = now;
            self.receive(peer, frame);
        }
        self.finish();
    }

    /// Bytes of a model are arriving.
    pub fn handle_progress(&mut self, peer: PeerId, progress: crate::wire::Progress, now: Duration) {
        self.now = now;
        let Some(p) = self.peers.get_mut(&peer) else { return };
        p.last_byte = now;
        let Some((model_id, _)) = p.arriving.clone() else { return };
        if let Some(model) = self.stage.get_mut(&model_id)
            && !model.cancelled
            && let Content::Arriving { progress: here, .. } = &mut model.content
        {
            *here = progress;
            self.events.push_back(Event::ModelProgress { model_id: model_id.clone(), progress });
            self.tell_own_status(&model_id, Delivery::Receiving, progress);
        }
    }

    /// A connection ended, or its bytes made no sense.
    pub fn handle_closed(&mut self, peer: PeerId, cause: CloseCause, now: Duration) {
        self.now = now;
        if self.peers.contains_key(&peer) {
            match self.role {
                Role::Joining(host) | Role::Guest(host) if host == peer => self.host_closed(cause),
                _ => self.guest_closed(peer, cause),
            }
        }
        self.finish();
    }

    /// A connection's outgoing queue is full: it is too slow to stay.
    pub fn handle_too_slow(&mut self, peer: PeerId, now: Duration) {
        let cause = CloseCause::Broken("too many messages wait for it, it is too slow".into());
        self.transmits.retain(|t| !matches!(t, Transmit::Send { peer: to, .. } if *to == peer));
        self.transmits.push_back(Transmit::Close { peer });
        self.handle_closed(peer, cause, now);
    }

    /// The next thing to do with a connection.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`Self::handle_timeout`] is due, at the latest.
    pub fn poll_timeout(&self) -> Option<Duration> {
        let anything = !self.peers.is_empty() || self.participants.iter().next().is_some();
        anything.then(|| self.tick.map_or(self.now, |tick| tick + presence::TICK))
    }

    /// Our participant id, name and colour.
    pub fn identity(&self) -> &Identity {
        &self.config.identity
    }

    /// How late everybody's poses are, by device id.
    pub fn pose_latencies(&self) -> Vec<(String, PoseLatency)> {
        self.participants.iter().filter_map(|p| Some((p.device_id.clone(), p.latency()?))).collect()
    }

    /// All models, and the scene they stand in.
    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Prefix and version, which both sides send at once.
    fn greet(&mut self, peer: PeerId) {
        let mut bytes = MEETING_PREFIX.to_vec();
        bytes.extend_from_slice(&encode_frame(&self.version_message().encode()));
        // Nothing may overtake it, a ping neither.
        self.send_bytes(peer, Lane::Urgent, bytes.into(), Bytes::new());
    }

    fn version_message(&self) -> Message {
        let mut version = Version { version: Some(VERSION.to_owned()), ..Default::default() };
        if !self.config.looksee_only {
            let me = &self.config.identity;
            version.ext = Some(EXTENSION);
            version.id = Some(me.id.clone());
            version.name = Some(me.name.clone());
            version.colour = Some(me.colour.to_string());
            version.app = Some(self.config.app.clone());
            let methods: Vec<&str> = self.config.methods.iter().map(|m| m.as_str()).collect();
            version.methods = Some(methods.join(","));
            version.seat = self.seat_token.clone();
        }
        Message::Version(version)
    }

    fn send_bytes(&mut self, peer: PeerId, lane: Lane, head: Bytes, tail: Bytes) {
        let outgoing = Outgoing { lane, head, tail };
        self.transmits.push_back(Transmit::Send { peer, outgoing });
    }

    fn send(&mut self, peer: PeerId, message: &Message) {
        if let Message::ModelShown(m) = message {
            self.expect_echo(peer, &m.model_id, m.shown);
        }
        self.note_sent(peer, message);
        let frame = encode_frame(&message.encode());
        self.send_bytes(peer, lane_of(message), frame, Bytes::new());
    }

    /// To every accepted connection, encoded once.
    fn broadcast(&mut self, message: &Message) {
        let frame = encode_frame(&message.encode());
        self.broadcast_bytes(None, message, frame, Bytes::new());
    }

    /// The payload as it came, to every accepted connection but one.
    fn relay(&mut self, from: PeerId, message: &Message, payload: Bytes) {
        let length = (payload.len() as i32).to_le_bytes();
        self.broadcast_bytes(Some(from), message, Bytes::copy_from_slice(&length), payload);
    }

    fn broadcast_bytes(&mut self, except: Option<PeerId>, message: &Message, head: Bytes, tail: Bytes) {
        let to: Vec<PeerId> =
            self.accepted_peers().into_iter().filter(|peer| Some(*peer) != except).collect();
        for peer in to {
            if let Message::ModelShown(m) = message {
                self.expect_echo(peer, &m.model_id, m.shown);
                let (model_id, shown) = (m.model_id.clone(), m.shown);
                self.transmits.push_back(Transmit::Shown { peer, model_id, shown });
            }
            self.note_sent(peer, message);
            self.send_bytes(peer, lane_of(message), head.clone(), tail.clone());
        }
    }

    fn expect_echo(&mut self, peer: PeerId, model_id: &str, shown: bool) {
        let now = self.now;
        if let Some(p) = self.peers.get_mut(&peer) {
            p.expect_echo(model_id, shown, now);
        }
    }

    /// An OpenModel frame, its bytes shared with everybody who gets it.
    fn model_frame(&self, model: &Model) -> Option<(Lane, Bytes, Bytes)> {
        let glb = model.glb()?.clone();
        let (position, rotation, scale) = self.place_on_wire(model);
        let open = OpenModel {
            model_id: model.id.clone(),
            model_name: model.name.clone(),
            position,
            rotation,
            scale,
            opener: if self.config.looksee_only { None } else { model.opener.clone() },
        };
        let head = open.encode_head();
        let length = i32::try_from(head.len() + glb.len()).ok()?;
        let mut frame = length.to_le_bytes().to_vec();
        frame.extend_from_slice(&head);
        Some((Lane::Model { model_id: model.id.clone() }, frame.into(), glb))
    }

    /// World position and rotation of a model and its scale within the scene.
    fn place_on_wire(&self, model: &Model) -> (Vec3Json, QuatJson, f32) {
        use crate::wire::coordinates::{position_to_wire, rotation_to_wire};
        let pose = self.stage.world_pose(model);
        let position = messages::not_zero(position_to_wire(pose.position));
        (position, rotation_to_wire(pose.rotation), model.local.scale)
    }

    /// A model that is whole: an offer to those that take chunks, all of it to the
    /// others.
    fn send_model(&mut self, model_id: &str, to: &[PeerId]) {
        self.offer_model(model_id, to);
        let plain = |peer: &&PeerId| self.peers.get(peer).is_some_and(|p| !p.takes_chunks());
        let to: Vec<PeerId> = to.iter().filter(plain).copied().collect();
        if to.is_empty() {
            return;
        }
        let Some(model) = self.stage.get(model_id) else { return };
        let Some((lane, head, tail)) = self.model_frame(model) else { return };
        for peer in to {
            self.note_model_sent(peer, model_id);
            self.send_bytes(peer, lane.clone(), head.clone(), tail.clone());
            self.note_delivery(peer, model_id);
        }
    }

    fn accepted_peers(&self) -> Vec<PeerId> {
        self.peers.values().filter(|p| p.is_accepted()).map(|p| p.id).collect()
    }

    fn finish(&mut self) {
        if std::mem::take(&mut self.roster_dirty) && self.role == Role::Host {
            self.send_roster();
        }
    }

    /// The end of a meeting for us; models stay open here, as private ones.
    fn leave(&mut self, reason: LeaveReason) {
        for (peer, _) in std::mem::take(&mut self.peers) {
            self.transmits.push_back(Transmit::Close { peer });
        }
        for participant in self.participants.drain() {
            self.events.push_back(Event::ParticipantLeft { id: participant.device_id });
        }
        self.arrivals.clear();
        let unfinished: Vec<String> =
            self.stage.models().iter().filter(|m| m.glb().is_none()).map(|m| m.id.clone()).collect();
        self.deliveries.clear();
        for model_id in unfinished {
            if self.stage.remove(&model_id).is_some_and(|m| m.cancelled) {
                let from = self.config.identity.device_id().to_owned();
                self.events.push_back(Event::ModelClosed { model_id, from });
                continue;
            }
            let error = "the meeting ended before all of it had arrived".to_owned();
            self.events.push_back(Event::ModelFailed { model_id, error });
        }
        self.settle_kept(None);
        self.stage.iter_mut().for_each(|m| m.shared = false);
        self.seat_token = None;
        self.role = Role::Alone;
        self.events.push_back(Event::Left { reason });
    }
}

fn lane_of(message: &Message) -> Lane {
    match message {
        Message::ModelPosition(m) => Lane::Position { model_id: m.model_id.clone() },
        Message::ScenePosition(_) => Lane::Position { model_id: String::new() },
        Message::WandPosition(m) => Lane::Pose { device_id: m.device_id.clone() },
        Message::ParticipantLeft(m) => Lane::Left { device_id: m.device_id.clone() },
        Message::ModelStatus(m) => {
            Lane::Status { model_id: m.model_id.clone(), device_id: m.device_id.clone() }
        }
        Message::CloseModel(m) => Lane::Closed { model_id: m.model_id.clone() },
        Message::Ping(_) | Message::Pong(_) => Lane::Urgent,
        Message::Poses(entries) => Lane::Pose {
            device_id: entries.first().map(|entry| entry.wand.device_id.clone()).unwrap_or_default(),
        },
        _ => Lane::Ordered,
    }
}
