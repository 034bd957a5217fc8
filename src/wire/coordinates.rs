//! The flip between wire coordinates and room space.
//!
//! The wire uses Unity's axes: left-handed, x right, y up, z forward. Room space
//! is right-handed, y up; people look along +z at rest. The flip of the x axis
//! takes one to the other and back; it is its own inverse.

use glam::{Quat, Vec3};

use super::message::{QuatJson, Vec3Json};

/// Wire position to room position, in metres.
pub fn position_from_wire(v: Vec3Json) -> Vec3 {
    Vec3::new(-v.x, v.y, v.z)
}

/// Room position to wire position, in metres.
pub fn position_to_wire(v: Vec3) -> Vec3Json {
    Vec3Json { x: zero_unsigned(-v.x), y: v.y, z: v.z }
}

/// Wire rotation to room rotation. Not normalised, as on the wire.
pub fn rotation_from_wire(q: QuatJson) -> Quat {
    Quat::from_xyzw(q.x, -q.y, -q.z, q.w)
}

/// Room rotation to wire rotation.
pub fn rotation_to_wire(q: Quat) -> QuatJson {
    QuatJson { x: q.x, y: zero_unsigned(-q.y), z: zero_unsigned(-q.z), w: q.w }
}

/// LookSee never writes `-0.0`.
fn zero_unsigned(value: f32) -> f32 {
    value + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flip_is_its_own_inverse() {
        let v = Vec3Json { x: 0.25, y: -1.5, z: 3.0 };
        assert_eq!(position_to_wire(position_from_wire(v)), v);
        let q = QuatJson { x: 0.1, y: 0.2, z: 0.3, w: 0.9 };
        assert_eq!(rotation_to_wire(rotation_from_wire(q)), q);
    }

    #[test]
    fn flip_mirrors_what_a_rotation_does() {
        // A quarter turn about y in Unity takes forward (+z) to right (+x);
        // seen in room space the same turn takes +z to -x, the right hand's side.
        let s = std::f32::consts::FRAC_1_SQRT_2;
        let q = rotation_from_wire(QuatJson { x: 0.0, y: s, z: 0.0, w: s });
        let right = q * Vec3::Z;
        assert!((right - position_from_wire(Vec3Json { x: 1.0, y: 0.0, z: 0.0 })).length() < 1e-6);
    }

    #[test]
    fn no_negative_zero_leaves() {
        assert!(position_to_wire(Vec3::ZERO).x.is_sign_positive());
        assert!(rotation_to_wire(Quat::IDENTITY).y.is_sign_positive());
    }
}
