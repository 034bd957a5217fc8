//! Where this participant starts.
//!
//! A host stands at the room's origin and looks along +z, as LookSee's does; a
//! model that it opens stands 1 m before it. A guest starts on a circle around
//! that place, at an angle that its id chooses, looking at it: people who join do
//! not stand inside each other, and nobody starts between the host and the model.
//! Who has moved already stays where they are.

use std::f32::consts::PI;

use bevy::prelude::*;

use super::link::Meeting;
use crate::session::{OPENING_DISTANCE, Phase, Pose};

/// Eyes of a standing person, metres.
pub const EYE_HEIGHT: f32 = 1.5;
/// Of the circle on which guests start, metres.
const GUEST_DISTANCE: f32 = 1.2;
/// Guests start on two arcs of the circle, beyond the model and to its sides, so
/// that host and guest have each other in view: this far from the host's own
/// place...
const ARC_BEGINS: f32 = 112.0 * PI / 180.0;
/// ...up to this far; what is beyond is hidden behind the model.
const ARC_ENDS: f32 = 158.0 * PI / 180.0;

pub(super) fn plugin(app: &mut App) {
    app.add_message::<StartAt>().add_systems(
        Update,
        choose
            .run_if(resource_changed::<Meeting>)
            .in_set(super::AppSystems::Receive)
            .after(super::link::receive),
    );
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

/// The starting place of the guest with this id.
fn guest_start(device_id: &str) -> Pose {
    // FNV-1a: evenly spread, the same in every version.
    let hash = device_id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // Ids that differ in their last character only must not start side by side: it is in the low bits so far.
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = hash ^ (hash >> 33);
    let share = (hash >> 40) as f32 / (1u64 << 24) as f32;
    let (side, share) = if share < 0.5 { (1.0, share * 2.0) } else { (-1.0, share * 2.0 - 1.0) };
    let angle = side * (ARC_BEGINS + share * (ARC_ENDS - ARC_BEGINS));
    // At angle 0 is the host, who looks along +z; the pose at an angle is its pose turned about the model.
    let rotation = Quat::from_rotation_y(angle);
    let middle = Vec3::new(0.0, EYE_HEIGHT, OPENING_DISTANCE);
    Pose { position: middle - rotation * Vec3::Z * GUEST_DISTANCE, rotation }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_look_at_the_model_and_not_from_the_hosts_place() {
        let host = Vec3::new(0.0, EYE_HEIGHT, 0.0);
        let model = Vec3::new(0.0, EYE_HEIGHT, 1.0);
        for id in ["00000000", "0123abcd", "deadbeef", "ffffffff"] {
            let head = guest_start(id);
            assert!((head.position + head.rotation * Vec3::Z * GUEST_DISTANCE - model).length() < 1e-5);
            assert!(head.position.distance(host) > 0.5, "{id}: {head:?}");
            // Within the host's view, and not hidden by the model.
            let seen_at = (head.position.x.abs()).atan2(head.position.z).to_degrees();
            assert!((10.0..40.0).contains(&seen_at), "{id}: at {seen_at} degrees");
        }
        let starts: Vec<_> = (0..16).map(|i| guest_start(&format!("0000000{i:x}")).position.x).collect();
        let on_the_left = starts.iter().filter(|x| **x > 0.0).count();
        assert!((4..=12).contains(&on_the_left), "similar ids are spread: {starts:?}");
    }
}
