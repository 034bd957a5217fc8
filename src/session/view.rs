//! What the app is told: not a queue of changes but the whole present state,
//! which it compares with what it has shown.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use super::{
    Body, Client, Colour, Content, ContentId, Delivery, Identity, Measure, Participant, PeerId, Placement,
    Pose, Presence, Role, Session,
};
use crate::{
    transfer::{Holding, Playout},
    wire::Progress,
};

/// Where we stand in a meeting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// No meeting.
    #[default]
    Alone,
    /// We host one.
    Hosting,
    /// A host is being reached or has not taken us yet.
    Joining,
    /// We are a guest.
    Guest,
}

/// The state of a meeting at one moment.
#[derive(Debug, Clone)]
pub struct SessionView {
    /// Ourselves.
    pub me: Identity,
    /// Where we stand.
    pub phase: Phase,
    /// Everybody else.
    pub participants: Vec<ParticipantView>,
    /// In the order in which they were opened.
    pub models: Vec<ModelView>,
    /// The common parent of all models, room space.
    pub scene: Placement,
    /// Whether models keep their places relative to each other.
    pub keep_aligned: bool,
    /// The connections.
    pub peers: Vec<PeerView>,
    /// What the session's clock said when this was made.
    pub at: Duration,
}

/// Somebody else.
#[derive(Debug, Clone, PartialEq)]
pub struct ParticipantView {
    /// The id in its poses, which tells participants apart.
    pub device_id: String,
    /// What people read.
    pub label: String,
    /// Of wands and label.
    pub colour: Colour,
    /// Which program it uses.
    pub client: Client,
    /// Whether it is still there.
    pub presence: Presence,
    /// In room space; none before its first pose.
    pub body: Option<Body>,
    /// The latest poses, each with the moment when it is to be shown.
    pub playout: Playout<Body>,
    /// How many poses came: changes whenever `body` is newer.
    pub poses: u64,
    /// Age of the pose.
    pub pose_age: Option<Duration>,
}

/// An open model.
#[derive(Debug, Clone)]
pub struct ModelView {
    /// Its id in the meeting.
    pub id: String,
    /// File name.
    pub name: String,
    /// World pose, room space.
    pub pose: Pose,
    /// Scale within the scene, the number that is sent.
    pub local_scale: f32,
    /// Scene's scale times `local_scale`: metres of the largest side.
    pub world_scale: f32,
    /// Shown or hidden.
    pub shown: bool,
    /// Whether it is the meeting's.
    pub shared: bool,
    /// Its bytes, once all are here.
    pub glb: Option<Bytes>,
    /// Whether they are the opener's very file.
    pub exact: bool,
    /// How far a position may be from where it was in that file, in the model's own
    /// units; zero where it is exact.
    pub max_error: f32,
    /// While it arrives in parts: those that are decoded are its
    /// [`Holding::parts`].
    pub in_parts: Option<Arc<Holding>>,
    /// Their hash.
    pub content: Option<ContentId>,
    /// Bytes, here or announced.
    pub bytes: usize,
    /// While it arrives: how far it is, and since when.
    pub arriving: Option<(Progress, Duration)>,
    /// Whether the person here did not want it: none of its bytes are taken.
    pub cancelled: bool,
    /// Who else does not have it yet, and how far it is there. Whoever is not
    /// listed has it.
    pub deliveries: Vec<DeliveryView>,
    /// Its bounding box, once known.
    pub measure: Option<Measure>,
    /// Why it cannot be shown here, if so.
    pub failed: Option<String>,
    /// Label of who opened it, where known.
    pub opener: Option<String>,
}

/// How far a model has come at somebody else.
#[derive(Debug, Clone, PartialEq)]
pub struct DeliveryView {
    /// At whom.
    pub device_id: String,
    /// What people read.
    pub label: String,
    /// How far it is.
    pub state: Delivery,
    /// Bytes that are there.
    pub progress: Progress,
    /// When the first came, or when it was queued.
    pub since: Duration,
}

/// A connection.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerView {
    /// Its number.
    pub peer: PeerId,
    /// Device id of who speaks over it, empty before it is known.
    pub device_id: String,
    /// Which program the other side uses.
    pub client: Client,
    /// Time for a message there and back, where the other side answers pings.
    pub round_trip: Option<Duration>,
    /// Since the last byte.
    pub silent_for: Duration,
}

impl Session {
    /// The present state, for the app.
    pub fn view(&self, now: Duration) -> SessionView {
        let label_of = |device_id: &str| {
            if device_id == self.config.identity.device_id() {
                self.config.identity.name.clone()
            } else {
                self.participants.get(device_id).map_or_else(|| device_id.to_owned(), Participant::label)
            }
        };
        SessionView {
            me: self.config.identity.clone(),
            phase: match self.role {
                Role::Alone if self.rejoining => Phase::Joining,
                Role::Alone => Phase::Alone,
                Role::Host => Phase::Hosting,
                Role::Joining(_) => Phase::Joining,
                Role::Guest(_) => Phase::Guest,
            },
            participants: self
                .participants
                .iter()
                .map(|p| ParticipantView {
                    device_id: p.device_id.clone(),
                    label: p.label(),
                    colour: p.colour,
                    client: p.client,
                    presence: p.presence,
                    body: p.body,
                    poses: p.poses,
                    playout: p.playout.clone(),
                    pose_age: p.last_pose.map(|at| now.saturating_sub(at)),
                })
                .collect(),
            models: self
                .stage
                .models()
                .iter()
                .map(|m| ModelView {
                    id: m.id.clone(),
                    name: m.name.clone(),
                    pose: self.stage.world_pose(m),
                    local_scale: m.local.scale,
                    world_scale: m.local.scale * self.stage.scene.scale,
                    shown: m.shown,
                    shared: m.shared,
                    glb: m.glb().cloned(),
                    exact: m.is_exact(),
                    max_error: m.max_error,
                    in_parts: m.arriving_in_parts(),
                    content: m.content_id(),
                    bytes: m.bytes(),
                    arriving: match m.content {
                        Content::Arriving { progress, since, .. } if !m.cancelled => Some((progress, since)),
                        Content::Arriving { .. } | Content::Here { .. } => None,
                    },
                    cancelled: m.cancelled,
                    deliveries: self
                        .deliveries
                        .of(&m.id)
                        .map(|(device_id, status)| DeliveryView {
                            device_id: device_id.to_owned(),
                            label: label_of(device_id),
                            state: status.state,
                            progress: status.progress,
                            since: status.since,
                        })
                        .collect(),
                    measure: m.measure,
                    failed: m.failed.clone(),
                    opener: m.opener.as_deref().map(label_of),
                })
                .collect(),
            scene: self.stage.scene,
            keep_aligned: self.stage.keep_aligned,
            peers: self
                .peers
                .values()
                .filter(|p| p.is_accepted())
                .map(|p| PeerView {
                    peer: p.id,
                    device_id: p.label(),
                    client: p.client,
                    round_trip: p.round_trip,
                    silent_for: now.saturating_sub(p.last_byte),
                })
                .collect(),
            at: now,
        }
    }
}
