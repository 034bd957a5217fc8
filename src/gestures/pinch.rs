//! Thumb and index finger together: what bare hands press with.

use glam::{Quat, Vec3};

use crate::session::Pose;

/// Tips nearer than this touch: they are about a finger's thickness apart then,
/// metres...
const TOUCH: f32 = 0.018;
/// ...until they are farther apart than this.
const APART: f32 = 0.032;

/// Whether thumb and index finger are together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pinch(bool);

impl Pinch {
    /// Where the tips are now; none: the hand is not seen. A hand that gets out of
    /// sight with something in it keeps holding it: cameras lose hands often, for
    /// moments. Whether they are together.
    pub fn update(&mut self, tips: Option<(Vec3, Vec3)>) -> bool {
        if let Some((thumb, index)) = tips {
            let distance = thumb.distance(index);
            self.0 = if self.0 { distance < APART } else { distance < TOUCH };
        }
        self.0
    }

    /// The hand is gone for good.
    pub fn forget(&mut self) {
        self.0 = false;
    }
}

/// The wand of a bare hand: along the ray from the eye through the hand, its
/// middle in the hand, its +y away from the eye.
#[must_use]
pub fn aim_from_eye(eye: Vec3, hand: Vec3) -> Pose {
    let along = (hand - eye).try_normalize().unwrap_or(Vec3::Z);
    Pose { position: hand, rotation: Quat::from_rotation_arc(Vec3::Y, along) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinch_holds_until_the_fingers_are_well_apart() {
        let mut pinch = Pinch::default();
        let mut at = |millimetres: f32| pinch.update(Some((Vec3::ZERO, Vec3::X * millimetres / 1000.0)));
        assert!(!at(60.0) && !at(20.0));
        assert!(at(15.0) && at(25.0) && at(31.0));
        assert!(!at(33.0) && !at(20.0));
    }

    #[test]
    fn a_hand_out_of_sight_keeps_what_it_holds() {
        let mut pinch = Pinch::default();
        assert!(!pinch.update(None));
        assert!(pinch.update(Some((Vec3::ZERO, Vec3::ZERO))));
        assert!(pinch.update(None));
        pinch.forget();
        assert!(!pinch.update(None));
    }

    #[test]
    fn the_ray_goes_on_from_the_eye_through_the_hand() {
        let (eye, hand) = (Vec3::new(0.0, 1.6, 0.0), Vec3::new(-0.2, 1.3, 0.4));
        let wand = aim_from_eye(eye, hand);
        assert!((wand.rotation * Vec3::Y).dot((hand - eye).normalize()) > 0.9999);
        assert!(aim_from_eye(eye, eye).rotation.is_finite());
    }
}
