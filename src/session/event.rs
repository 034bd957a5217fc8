//! What goes into a [`Session`](super::Session) and what comes out of it.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use super::{Body, Client, Placement, Pose, Presence};
use crate::{
    mesh::{Decoded, Encoding, Part, Plan},
    transfer::{Holding, Method, Priority, RepresentationId},
    wire::{
        Progress,
        message::{Bounds, Vec3Json},
    },
};

/// A connection, numbered by whoever owns the sockets; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PeerId(pub u32);

pub use crate::transfer::ContentId;

/// What is known of a model's size, in its own units and axes (glTF).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measure {
    /// Centre of the bounding box.
    pub center: glam::Vec3,
    /// Sides of the bounding box.
    pub size: glam::Vec3,
}

impl Measure {
    /// As it is sent.
    pub(super) fn to_wire(self) -> Bounds {
        let vec = |v: glam::Vec3| Vec3Json { x: v.x, y: v.y, z: v.z };
        Bounds { center: vec(self.center), size: vec(self.size) }
    }

    /// As it came.
    pub(super) fn from_wire(bounds: Bounds) -> Self {
        let vec = |v: Vec3Json| glam::Vec3::new(v.x, v.y, v.z);
        Self { center: vec(bounds.center), size: vec(bounds.size).max(glam::Vec3::ZERO) }
    }

    /// The factor that makes the largest side one metre; 1 where there is no size.
    pub fn unit_scale(&self) -> f32 {
        let largest = self.size.max_element();
        if largest.is_finite() && largest > 0.0 { 1.0 / largest } else { 1.0 }
    }
}

/// A change of a model's placement; what is `None` stays.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Move {
    /// World position in room space, metres.
    pub position: Option<glam::Vec3>,
    /// World rotation in room space.
    pub rotation: Option<glam::Quat>,
    /// Scale within the scene (a model of scale 1 in a scene of scale 1 is 1 m).
    pub scale: Option<f32>,
}

/// What the person (or a script) wants.
#[derive(Debug, Clone)]
pub enum Command {
    /// Open a model from bytes that were read here.
    OpenModel {
        /// Made by [`super::new_model_id`].
        model_id: String,
        /// File name, with `.glb`.
        name: String,
        /// The opener's file.
        glb: Bytes,
        /// Its hash.
        content: ContentId,
        /// Its bounding box.
        measure: Measure,
        /// Keep it private even though a meeting is on.
        private: bool,
        /// How it can be sent in parts, if it can.
        plan: Option<Arc<Plan>>,
    },
    /// Send and take models exactly as they are in their files, from now on.
    Exact {
        /// On or off.
        on: bool,
    },
    /// Close a model for everybody (a private one: here).
    CloseModel {
        /// Which.
        model_id: String,
    },
    /// Give a private model to everybody.
    ShareModel {
        /// Which.
        model_id: String,
    },
    /// Move a model.
    MoveModel {
        /// Which.
        model_id: String,
        /// Where to.
        to: Move,
    },
    /// Show or hide a model.
    ShowModel {
        /// Which.
        model_id: String,
        /// Shown or hidden.
        shown: bool,
    },
    /// Move the scene and all models with it.
    MoveScene {
        /// Where to, in room space.
        to: Move,
    },
    /// Switch keep-aligned.
    KeepAligned {
        /// On or off.
        on: bool,
    },
    /// Put all models into the relative places of their files.
    OriginalAlignment,
    /// Where this participant is.
    Pose {
        /// In room space.
        body: Body,
        /// Monotonic nanoseconds when it was taken.
        stamp: u64,
    },
    /// The size of a model that came from elsewhere is known.
    ModelMeasured {
        /// Which.
        model_id: String,
        /// Its bounding box.
        measure: Measure,
    },
    /// A model that came from elsewhere cannot be shown here.
    ModelFailed {
        /// Which.
        model_id: String,
        /// Why.
        error: String,
    },
    /// A model that came from elsewhere is shown here.
    ModelLoaded {
        /// Which.
        model_id: String,
    },
    /// Take no more bytes of a model that is on its way here; a host closes it.
    CancelModel {
        /// Which.
        model_id: String,
    },
    /// Take a model after all whose bytes were cancelled.
    WantModel {
        /// Which.
        model_id: String,
    },
    /// A new name or colour.
    Rename {
        /// Name and colour; the id stays.
        identity: super::Identity,
    },
    /// End the meeting (host) or leave it (guest).
    Leave,
}

/// What happened, in order.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    missing_docs,
    reason = "fields are named after what they hold; docs/headless.md describes each event"
)]
pub enum Event {
    /// The host took us.
    Joined,
    ParticipantJoined {
        id: String,
        name: String,
        client: Client,
    },
    ParticipantState {
        id: String,
        state: Presence,
    },
    ParticipantLeft {
        id: String,
    },
    /// `seq` and `stamp_ms` are the sender's own: none from LookSee. `late` is how
    /// much longer it took than the fastest of the last ten seconds.
    Pose {
        from: String,
        seq: Option<u32>,
        stamp_ms: Option<u32>,
        late: Option<Duration>,
        body: Body,
    },
    /// A model is on its way.
    ModelOffered {
        model_id: String,
        name: String,
        bytes: usize,
        from: String,
    },
    ModelProgress {
        model_id: String,
        progress: Progress,
    },
    /// A chunk of a model in parts is decoded; `index` is its place among them. It
    /// can be shown before the others come.
    ModelPart {
        model_id: String,
        index: u32,
        part: Arc<Decoded>,
    },
    /// All bytes of a model are here, it can be decoded.
    ModelReceived {
        model_id: String,
        name: String,
        glb: Bytes,
        from: String,
        way: Way,
    },
    ModelMoved {
        model_id: String,
        pose: Pose,
        scale: f32,
        from: String,
    },
    ModelShown {
        model_id: String,
        shown: bool,
        from: String,
    },
    ModelClosed {
        model_id: String,
        from: String,
    },
    /// The transfer of a model ended before it was whole.
    ModelFailed {
        model_id: String,
        error: String,
    },
    /// The person here did not want a model that was on its way.
    ModelCancelled {
        model_id: String,
    },
    SceneMoved {
        scene: Placement,
        from: String,
    },
    KeepAligned {
        on: bool,
        from: String,
    },
    /// A private model is now the meeting's.
    ModelIsShared {
        model_id: String,
    },
    /// Something that a peer wants people to read.
    PeerMessage {
        text: String,
    },
    /// A connection did something wrong and was ended or ignored.
    PeerFault {
        peer: PeerId,
        fault: String,
    },
    /// The connection to the host is lost; it is tried again.
    ConnectionLost {
        reason: LeaveReason,
    },
    /// The meeting is over for us.
    Left {
        reason: LeaveReason,
    },
}

/// How a model came.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Way {
    /// In which way.
    pub method: Method,
    /// Bytes that travelled, headers of chunks included; none if it was here.
    pub wire_bytes: u64,
    /// Whether it is the opener's very file.
    pub exact: bool,
    /// How far a position may be from where it was, in the model's units.
    pub max_error: f32,
    /// Parts that came in each of [`Encoding::ALL`].
    pub parts: [u32; 3],
    /// What it took to decode its chunks, on one thread.
    pub decoding: Duration,
}

impl Way {
    /// The opener's very file.
    pub fn exact(method: Method, wire_bytes: u64) -> Self {
        Self { method, wire_bytes, exact: true, max_error: 0.0, parts: [0; 3], decoding: Duration::ZERO }
    }

    /// Adds a part.
    pub fn add(&mut self, part: &Part) {
        self.max_error = self.max_error.max(part.max_error);
        let encodings = Encoding::ALL.iter().zip(&mut self.parts);
        encodings.filter(|(encoding, _)| **encoding == part.encoding).for_each(|(_, count)| *count += 1);
    }
}

/// Why a meeting ended for us.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaveReason {
    /// We wanted to.
    #[error("left the meeting")]
    Asked,
    /// The host ended it.
    #[error("the host ended the meeting")]
    HostEnded,
    /// The host did not take us.
    #[error("the host refused: {0}")]
    Refused(String),
    /// What answered is no meeting.
    #[error("what answered there is not a meeting")]
    NotAMeeting,
    /// The host's version is too old.
    #[error("the host uses version {0}, which is too old; this program needs version 12 or newer")]
    HostTooOld(String),
    /// Nothing came for too long.
    #[error("nothing was heard from the host for {} s", .0.as_secs())]
    HostSilent(Duration),
    /// The connection broke.
    #[error("the connection to the host was lost: {0}")]
    Lost(String),
    /// The host broke the rules of the wire.
    #[error("the host sent something that cannot be understood: {0}")]
    Fault(String),
}

impl LeaveReason {
    /// Whether trying again can help.
    pub fn should_retry(&self) -> bool {
        matches!(self, Self::HostSilent(_) | Self::Lost(_))
    }

    /// The same while a lost connection is being restored: who does not answer
    /// now may answer later.
    pub(super) fn should_retry_again(&self) -> bool {
        self.should_retry() || matches!(self, Self::NotAMeeting)
    }
}

/// Why a command had no effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// There is no such model.
    #[error("there is no model with the id {0}")]
    NoSuchModel(String),
    /// The model is not whole yet.
    #[error("the model {0} is still arriving")]
    StillArriving(String),
    /// There is nothing left to cancel.
    #[error("the model {0} is here already")]
    AlreadyHere(String),
    /// The id is taken.
    #[error("there already is a model with the id {0}")]
    ModelIdInUse(String),
    /// Numbers that are no placement.
    #[error("a position, rotation or scale is not a usable number")]
    BadNumber,
    /// There is no meeting.
    #[error("there is no meeting to leave or share with")]
    NoMeeting,
    /// Too many are open.
    #[error("{limit} models are open, which is the limit")]
    TooMany {
        /// The cap.
        limit: usize,
    },
    /// Too much is open.
    #[error("the open models would have {bytes} bytes together, the limit is {limit}")]
    TooMuch {
        /// Bytes with the new one.
        bytes: u64,
        /// The cap.
        limit: u64,
    },
}

/// How a connection ended, told by whoever owns the socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CloseCause {
    /// The other side closed in an orderly way.
    Finished,
    /// It broke.
    Broken(String),
    /// The other side's bytes are no meeting's.
    NotAMeeting,
    /// The other side broke the rules of the wire.
    Fault(String),
}

/// What is to be done with a connection.
#[derive(Debug, Clone)]
pub enum Transmit {
    /// Queue these bytes.
    Send {
        /// To whom.
        peer: PeerId,
        /// What.
        outgoing: crate::transfer::Outgoing,
    },
    /// Send what is queued, then close.
    Close {
        /// Which connection.
        peer: PeerId,
    },
    /// The other side speaks our extension: it answers pings, so a connection
    /// over which nothing goes for long is dead.
    Extended {
        /// Which connection.
        peer: PeerId,
    },
    /// A ping was answered.
    RoundTrip {
        /// By whom.
        peer: PeerId,
        /// After this time.
        round_trip: Duration,
    },
    /// Find out what of a model lies here; answered by [`super::Session::handle_found`].
    Lookup {
        /// Which model it is for.
        model_id: String,
        /// What is looked for.
        representation: RepresentationId,
        /// Bytes of the opener's file.
        source_bytes: u64,
        /// Chunks of a model in parts.
        chunks: u32,
    },
    /// Pack a model, chunk by chunk: somebody waits for it.
    Pack {
        /// The file.
        from: Arc<Holding>,
        /// What it becomes.
        into: Arc<Holding>,
    },
    /// Take chunks over a channel; [`super::Session::handle_stored`] tells of them.
    Receive {
        /// From whom.
        peer: PeerId,
        /// Over which channel.
        channel: u16,
        /// Where they go.
        holding: Arc<Holding>,
        /// Its turn.
        priority: Priority,
    },
    /// Take no more over a channel.
    StopReceiving {
        /// From whom.
        peer: PeerId,
        /// Over which channel.
        channel: u16,
    },
    /// Send chunks over a channel.
    Serve {
        /// To whom.
        peer: PeerId,
        /// Over which channel.
        channel: u16,
        /// Of which model.
        model_id: String,
        /// Where they come from.
        holding: Arc<Holding>,
        /// Which.
        chunks: Vec<u32>,
        /// Its turn.
        priority: Priority,
    },
    /// Send nothing more of a model.
    StopServing {
        /// To whom.
        peer: PeerId,
        /// Of which model.
        model_id: String,
    },
    /// A model was shown or hidden: its turn among others changes.
    Shown {
        /// For whom.
        peer: PeerId,
        /// Which model.
        model_id: String,
        /// Shown or hidden.
        shown: bool,
    },
}
