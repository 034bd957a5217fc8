//! Room alignment: two markers on two points of the real room give everybody in
//! it the same room coordinates.

use glam::{Quat, Vec2, Vec3};

use super::Pose;

/// Markers nearer to each other than this say nothing about a direction, metres.
pub const MINIMUM_MARKER_DISTANCE: f32 = 0.05;

/// Why two markers make no room.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum AlignmentError {
    /// Seen from above they are (nearly) one point.
    #[error("the markers are {distance_m:.2} m apart seen from above, they need {MINIMUM_MARKER_DISTANCE} m")]
    TooClose {
        /// Horizontal distance in metres.
        distance_m: f32,
    },
}

/// Without markers: people look along +z in the room and along -z in their
/// tracking space, so the room is a half turn about y.
pub fn room_from_tracking_unaligned() -> Pose {
    Pose { position: Vec3::ZERO, rotation: Quat::from_rotation_y(std::f32::consts::PI) }
}

/// The room of two markers placed at `marker1` (right hand) and `marker2` (left
/// hand), in tracking space (OpenXR's axes: right-handed, y up, metres).
///
/// The origin is their midpoint, y stays up, and the direction from marker 1 to
/// marker 2, flattened to the horizontal, is the wire's x axis, which is the
/// room's -x.
pub fn room_from_tracking(marker1: Vec3, marker2: Vec3) -> Result<Pose, AlignmentError> {
    let along = marker2 - marker1;
    let flat = Vec2::new(along.x, along.z);
    let distance_m = flat.length();
    if distance_m.is_nan() || distance_m < MINIMUM_MARKER_DISTANCE {
        return Err(AlignmentError::TooClose { distance_m });
    }
    // A turn by `a` about y takes (1, 0, 0) to (cos a, 0, -sin a); the room's -x
    // axis is the turned (-1, 0, 0).
    let angle = flat.y.atan2(-flat.x);
    let tracking_from_room =
        Pose { position: (marker1 + marker2) / 2.0, rotation: Quat::from_rotation_y(angle) };
    Ok(tracking_from_room.inverse())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{
        coordinates::{position_from_wire, position_to_wire},
        message::Vec3Json,
    };
    use proptest::prelude::*;

    /// Markers as Unity sees them (left-handed). `position_from_wire` also takes
    /// Unity's tracking space to a right-handed one.
    fn unity(x: f32, y: f32, z: f32) -> Vec3 {
        position_from_wire(Vec3Json { x, y, z })
    }

    #[test]
    fn golden_aligned_1() {
        // The recorded host puts its markers at (1, .9, 1) and (1, 1.1, 3); its box,
        // at (0, 1.5, 1) in the room, is then at (0, 2.5, 2) in its own space, and
        // what it moves to its own (1, 1, 3) goes out as (1, 0, 0).
        let room = room_from_tracking(unity(1.0, 0.9, 1.0), unity(1.0, 1.1, 3.0)).unwrap();
        let place = |v| Pose { position: v, rotation: Quat::IDENTITY }.within(room).position;
        let moved = position_to_wire(place(unity(1.0, 1.0, 3.0)));
        assert!((Vec3::new(moved.x, moved.y, moved.z) - Vec3::X).length() < 1e-5, "{moved:?}");
        let box_in_room = position_to_wire(place(unity(0.0, 2.5, 2.0)));
        let expected = Vec3::new(0.0, 1.5, 1.0);
        assert!((Vec3::new(box_in_room.x, box_in_room.y, box_in_room.z) - expected).length() < 1e-5);
        // The host's wand at its own (-0.2, 1.1, 0.3) was sent as (-1.7, 0.1, 1.2).
        let wand = position_to_wire(place(unity(-0.2, 1.1, 0.3)));
        let expected = Vec3::new(-1.7, 0.1, 1.2);
        assert!((Vec3::new(wand.x, wand.y, wand.z) - expected).length() < 1e-5, "{wand:?}");
    }

    #[test]
    fn one_point_is_no_room() {
        let error = room_from_tracking(Vec3::ZERO, Vec3::new(0.0, 1.0, 0.01)).unwrap_err();
        assert!(matches!(error, AlignmentError::TooClose { .. }));
        assert!(room_from_tracking(Vec3::NAN, Vec3::ZERO).is_err());
    }

    proptest! {
        #[test]
        fn markers_land_on_the_axis(x in -3f32..3.0, y in 0f32..2.0, z in -3f32..3.0, angle in 0f32..std::f32::consts::TAU, d in 0.1f32..4.0) {
            let m1 = Vec3::new(x, y, z);
            let m2 = m1 + Vec3::new(d * angle.cos(), 0.3, d * angle.sin());
            let room = room_from_tracking(m1, m2).unwrap();
            let a = Pose { position: m1, rotation: Quat::IDENTITY }.within(room).position;
            let b = Pose { position: m2, rotation: Quat::IDENTITY }.within(room).position;
            prop_assert!((a - Vec3::new(d / 2.0, -0.15, 0.0)).length() < 1e-4, "{}", a);
            prop_assert!((b - Vec3::new(-d / 2.0, 0.15, 0.0)).length() < 1e-4, "{}", b);
            prop_assert!(((room.rotation * Vec3::Y) - Vec3::Y).length() < 1e-5);
        }
    }
}
