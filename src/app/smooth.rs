//! Smooth ways from one received pose to the next.
//!
//! Poses of others come 10 to 72 times a second and not in step with frames.
//! What is shown runs after them with a short time constant, which hides the
//! steps and adds about as much delay as one pose of a slow sender.

use std::time::Duration;

use crate::session::Placement;

/// After this long two thirds of the way are done.
const TIME_CONSTANT_SECS: f32 = 0.04;
/// Further is a jump and not a movement, metres.
const JUMP_METRES: f32 = 1.5;

/// The part of the way to go in a frame of this length.
pub(super) fn share(frame: Duration) -> f32 {
    1.0 - (-frame.as_secs_f32() / TIME_CONSTANT_SECS).exp()
}

/// The next step from `from` to `to`.
pub(super) fn step(from: Placement, to: Placement, share: f32) -> Placement {
    if from.position.distance_squared(to.position) > JUMP_METRES * JUMP_METRES {
        return to;
    }
    Placement {
        position: from.position.lerp(to.position, share),
        rotation: from.rotation.slerp(to.rotation, share).normalize(),
        scale: from.scale + (to.scale - from.scale) * share,
    }
}

#[cfg(test)]
mod tests {
    use bevy::math::Vec3;

    use super::*;

    #[test]
    fn arrives_soon_and_jumps_far() {
        let at = |x: f32| Placement { position: Vec3::X * x, ..Placement::IDENTITY };
        let mut now = at(0.0);
        for _ in 0..20 {
            now = step(now, at(1.0), share(Duration::from_millis(11)));
        }
        assert!((now.position.x - 1.0).abs() < 0.01, "{now:?}");
        assert_eq!(step(at(0.0), at(9.0), share(Duration::from_millis(1))), at(9.0));
    }
}
