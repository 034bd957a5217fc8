//! Where this participant starts.
//!
//! A host stands at the room's origin and looks along +z, as LookSee's does; a
//! model that it opens stands 1 m before it. A guest starts beyond it and beside
//! it, at a place that its id chooses, looking at it: people who join do not
//! stand inside each other, and nobody starts between the host and the model.
//! Who has moved already stays where they are.

use std::f32::consts::PI;

use bevy::{prelude::*, render::renderer::RenderAdapterInfo};

use super::{
    AppSystems,
    input::{Action, Headset},
    link::Meeting,
};
use crate::session::{OPENING_DISTANCE, Phase, Pose};

/// Eyes of a standing person, metres.
pub const EYE_HEIGHT: f32 = 1.5;
/// Guests start beyond the model and to its sides, so that host and guest have
/// each other in view: this far beside the host's line of sight, beginning where
/// a model of a metre no longer hides them...
const BESIDE_FROM: f32 = 28.0 * PI / 180.0;
/// ...up to where the host's view ends.
const BESIDE_TO: f32 = 38.0 * PI / 180.0;
/// As far as this ahead of the host, metres, so that many guests do not stand
/// inside each other.
const AHEAD: std::ops::RangeInclusive<f32> = 1.6..=2.6;
/// One step to somebody's side, metres.
const STEP: f32 = 0.7;
/// Nearer than this to somebody's head one stands inside them, metres.
const INSIDE: f32 = 0.45;

pub(super) fn plugin(app: &mut App) {
    app.add_message::<StartAt>()
        .add_systems(
            Update,
            choose
                .run_if(resource_changed::<Meeting>)
                .in_set(AppSystems::Receive)
                .after(super::link::receive),
        )
        .add_systems(Update, stand_beside.in_set(AppSystems::Update));
}

/// What adapters call themselves that are no hardware.
const SOFTWARE: [&str; 3] = ["llvmpipe", "SwiftShader", "Basic Render"];

/// Whether the processor draws: then smooth edges cost more than they give.
pub fn draws_by_processor(adapter: &RenderAdapterInfo) -> bool {
    SOFTWARE.iter().any(|name| adapter.name.contains(name))
}

/// The camera of the window, which shows the room while no headset is worn.
#[derive(Component, Debug, Default, Clone, Copy)]
pub struct WindowCamera;

/// Run condition: the person looks at the window, not through a headset.
pub fn at_the_window(headset: Res<Headset>) -> bool {
    !headset.is_worn()
}

/// Chosen by the person who started the program.
#[derive(Resource, Debug)]
pub(super) struct StartingHead(pub Option<Pose>);

/// The head is to be here, unless the person has moved.
#[derive(Message, Debug, Clone, Copy)]
pub struct StartAt {
    /// Between the eyes, looking along its +z.
    pub head: Pose,
    /// Whether it counts even then.
    pub asked: bool,
}

fn choose(
    meeting: Res<Meeting>,
    asked: Res<StartingHead>,
    mut chosen_for: Local<Option<Phase>>,
    mut start: MessageWriter<StartAt>,
) {
    let first = chosen_for.is_none();
    if *chosen_for == Some(meeting.phase) {
        return;
    }
    *chosen_for = Some(meeting.phase);
    match (asked.0, meeting.phase) {
        (Some(head), _) if first => {
            start.write(StartAt { head, asked: true });
        }
        (None, Phase::Guest) => {
            start.write(StartAt { head: guest_start(meeting.me.device_id()), asked: false });
        }
        _ => {}
    }
}

/// Without a headset people need no markers to be in the same room as others:
/// they go to somebody who is.
fn stand_beside(
    mut actions: MessageReader<Action>,
    meeting: Res<Meeting>,
    mut start: MessageWriter<StartAt>,
) {
    for action in actions.read() {
        let Action::StandBeside(device_id) = action else { continue };
        let heads = |is_them: bool| {
            let those = meeting.participants.iter().filter(move |p| (p.device_id == *device_id) == is_them);
            those.filter_map(|p| p.body).map(|body| body.head)
        };
        if let Some(head) = heads(true).next() {
            let others: Vec<Vec3> = heads(false).map(|head| head.position).collect();
            start.write(StartAt { head: beside(head, &others), asked: true });
        }
    }
}

/// One step to the right of this head, to its left or behind it: where nobody
/// stands; as high, and looking the same way.
fn beside(head: Pose, others: &[Vec3]) -> Pose {
    let ahead = head.rotation * Vec3::Z;
    // Who looks straight up or down has the crown or the chin ahead.
    let flat = if ahead.y.abs() < 0.99 { ahead } else { head.rotation * Vec3::Y * -ahead.y.signum() };
    let ahead = Vec3::new(flat.x, 0.0, flat.z).normalize_or(Vec3::Z);
    // Of somebody who looks along +z, left is +x.
    let left = Vec3::Y.cross(ahead);
    let places = [-left, left, -ahead].map(|aside| head.position + aside * STEP);
    let is_free = |at: &Vec3| others.iter().all(|other| other.distance(*at) > INSIDE);
    let position = places.into_iter().find(is_free).unwrap_or(head.position - left * STEP);
    Pose { position, ..head }
}

/// The starting place of the guest with this id.
fn guest_start(device_id: &str) -> Pose {
    // FNV-1a: evenly spread, the same in every version.
    let hash = device_id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // Ids that differ in their last character only must not start side by side: it is in the low bits so far.
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = hash ^ (hash >> 33);
    let share = |bits: u32| (hash >> bits & 0xffff) as f32 / f32::from(u16::MAX);
    let side = if hash & 1 == 0 { 1.0 } else { -1.0 };
    let beside = side * (BESIDE_FROM + share(16) * (BESIDE_TO - BESIDE_FROM));
    let ahead = AHEAD.start() + share(32) * (AHEAD.end() - AHEAD.start());
    let position = Vec3::new(ahead * beside.tan(), EYE_HEIGHT, ahead);
    let to_model = Vec3::new(0.0, EYE_HEIGHT, OPENING_DISTANCE) - position;
    Pose { position, rotation: Quat::from_rotation_y(to_model.x.atan2(to_model.z)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_stands_beside_somebody_sees_what_they_see_and_stands_in_nobody() {
        for yaw in [0.0, 1.1, -2.5] {
            let rotation = Quat::from_rotation_y(yaw) * Quat::from_rotation_x(0.5);
            let head = Pose { position: Vec3::new(1.0, 1.6, -2.0), rotation };
            let at = |x: f32, z: f32| head.position + Quat::from_rotation_y(yaw) * Vec3::new(x, 0.0, z);
            let (right, left, behind) = (at(-STEP, 0.0), at(STEP, 0.0), at(0.0, -STEP));
            for (others, expected) in [
                (vec![], right),
                (vec![right], left),
                (vec![right, left + Vec3::Y * 0.3], behind),
                (vec![right, left, behind], right),
            ] {
                let place = beside(head, &others);
                assert!(place.position.abs_diff_eq(expected, 1e-4), "{yaw} {others:?}: {place:?}");
                assert_eq!(place.rotation, head.rotation);
            }
        }
    }

    #[test]
    fn guests_look_at_the_model_and_not_from_the_hosts_place() {
        let host = Vec3::new(0.0, EYE_HEIGHT, 0.0);
        let model = Vec3::new(0.0, EYE_HEIGHT, 1.0);
        for id in ["00000000", "0123abcd", "deadbeef", "ffffffff"] {
            let head = guest_start(id);
            let to_model = model - head.position;
            assert!((head.rotation * Vec3::Z).dot(to_model.normalize()) > 0.9999, "{id}: {head:?}");
            assert!((0.8..3.0).contains(&to_model.length()), "{id}: {head:?}");
            assert!(head.position.distance(host) > 0.5, "{id}: {head:?}");
            // Within the host's view, and not hidden by the model.
            let seen_at = (head.position.x.abs()).atan2(head.position.z).to_degrees();
            assert!((27.9..38.1).contains(&seen_at), "{id}: at {seen_at} degrees");
        }
        let starts: Vec<_> = (0..16).map(|i| guest_start(&format!("0000000{i:x}")).position.x).collect();
        let on_the_left = starts.iter().filter(|x| **x > 0.0).count();
        assert!((4..=12).contains(&on_the_left), "similar ids are spread: {starts:?}");
    }
}
