//! Poses in room space: right-handed, y up, metres; people look along +z.

use glam::{Quat, Vec3};

use crate::wire::{
    coordinates::{position_from_wire, position_to_wire, rotation_from_wire, rotation_to_wire},
    message::{QuatJson, Vec3Json, WandPosition},
};

/// A position and a unit rotation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pose {
    /// In metres.
    pub position: Vec3,
    /// Of unit length.
    pub rotation: Quat,
}

impl Pose {
    /// At the origin, unturned.
    pub const IDENTITY: Self = Self { position: Vec3::ZERO, rotation: Quat::IDENTITY };

    /// From numbers that somebody else made: the rotation is normalised, or
    /// identity where it has no direction.
    pub fn new(position: Vec3, rotation: Quat) -> Self {
        Self { position, rotation: unit_or_identity(rotation) }
    }

    /// This pose seen from outside `parent`: parent * self.
    pub fn within(self, parent: Pose) -> Self {
        Self::new(parent.position + parent.rotation * self.position, parent.rotation * self.rotation)
    }

    /// The pose that undoes this one.
    pub fn inverse(self) -> Self {
        let rotation = self.rotation.conjugate();
        Self { position: rotation * -self.position, rotation }
    }
}

fn unit_or_identity(rotation: Quat) -> Quat {
    let length = rotation.length();
    if length.is_finite() && length > 1e-6 { (rotation / length).normalize() } else { Quat::IDENTITY }
}

/// A pose and a positive scale: `point -> position + rotation * (scale * point)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placement {
    /// In metres.
    pub position: Vec3,
    /// Of unit length.
    pub rotation: Quat,
    /// Positive.
    pub scale: f32,
}

impl Placement {
    /// Changes nothing.
    pub const IDENTITY: Self = Self { position: Vec3::ZERO, rotation: Quat::IDENTITY, scale: 1.0 };
    /// The scales that a model or the scene can have.
    pub const SCALES: std::ops::RangeInclusive<f32> = 1e-6..=1e6;

    /// A pose and a scale within [`Self::SCALES`].
    pub fn new(pose: Pose, scale: f32) -> Self {
        let scale =
            if scale.is_finite() { scale.clamp(*Self::SCALES.start(), *Self::SCALES.end()) } else { 1.0 };
        Self { position: pose.position, rotation: pose.rotation, scale }
    }

    /// Without the scale.
    pub fn pose(self) -> Pose {
        Pose { position: self.position, rotation: self.rotation }
    }

    /// self * child.
    pub fn compose(self, child: Placement) -> Placement {
        let position = self.position + self.rotation * (self.scale * child.position);
        Self::new(Pose::new(position, self.rotation * child.rotation), self.scale * child.scale)
    }

    /// The pose of `world` within this placement; its scale stays.
    pub fn local_from_world(self, world: Pose, scale: f32) -> Placement {
        let inverse = self.rotation.conjugate();
        let position = inverse * (world.position - self.position) / self.scale;
        Self::new(Pose::new(position, inverse * world.rotation), scale)
    }

    /// Whether all numbers are finite.
    pub fn is_finite(self) -> bool {
        self.position.is_finite() && self.rotation.is_finite() && self.scale.is_finite()
    }
}

/// Where a participant's hands and head are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Body {
    /// Centre of the left wand, which points along its +y.
    pub left: Pose,
    /// Centre of the right wand, which points along its +y.
    pub right: Pose,
    /// Between the eyes, looking along its +z.
    pub head: Pose,
}

impl Body {
    /// Somebody who stands at the origin and holds the wands in front of them.
    pub fn rest() -> Self {
        let forward = Quat::from_rotation_x(std::f32::consts::FRAC_PI_3);
        Self {
            left: Pose { position: Vec3::new(0.2, 1.1, 0.3), rotation: forward },
            right: Pose { position: Vec3::new(-0.2, 1.1, 0.3), rotation: forward },
            head: Pose { position: Vec3::new(0.0, 1.5, 0.0), rotation: Quat::IDENTITY },
        }
    }

    /// Whether all numbers are finite.
    pub fn is_finite(&self) -> bool {
        [self.left, self.right, self.head].iter().all(|p| p.position.is_finite() && p.rotation.is_finite())
    }

    /// From a message.
    pub fn from_wire(m: &WandPosition) -> Self {
        let pose = |p: Vec3Json, q: QuatJson| Pose::new(position_from_wire(p), rotation_from_wire(q));
        Self {
            left: pose(m.left_position, m.left_rotation),
            right: pose(m.right_position, m.right_rotation),
            head: pose(m.head_position, m.head_rotation),
        }
    }

    /// To a message. Rounded to a hundredth of a millimetre and a millionth of a
    /// quaternion, which makes the text a third shorter.
    pub fn to_wire(self, device_id: &str) -> WandPosition {
        let position = |pose: Pose| {
            let v = position_to_wire(pose.position);
            Vec3Json { x: round(v.x, 1e5), y: round(v.y, 1e5), z: round(v.z, 1e5) }
        };
        let rotation = |pose: Pose| {
            let q = rotation_to_wire(pose.rotation);
            QuatJson { x: round(q.x, 1e6), y: round(q.y, 1e6), z: round(q.z, 1e6), w: round(q.w, 1e6) }
        };
        WandPosition {
            device_id: device_id.to_owned(),
            left_position: position(self.left),
            right_position: position(self.right),
            head_position: position(self.head),
            left_rotation: rotation(self.left),
            right_rotation: rotation(self.right),
            head_rotation: rotation(self.head),
            seq: None,
            stamp: None,
        }
    }
}

fn round(value: f32, steps: f64) -> f32 {
    ((f64::from(value) * steps).round() / steps + 0.0) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn placements() -> impl Strategy<Value = Placement> {
        let n = -5f32..5.0;
        (n.clone(), n.clone(), n.clone(), n.clone(), n.clone(), n, 0.05f32..20.0).prop_map(
            |(x, y, z, i, j, k, scale)| {
                Placement::new(Pose::new(Vec3::new(x, y, z), Quat::from_xyzw(i, j, k, 1.0)), scale)
            },
        )
    }

    proptest! {
        #[test]
        fn local_undoes_compose(parent in placements(), child in placements()) {
            let world = parent.compose(child);
            let back = parent.local_from_world(world.pose(), child.scale);
            prop_assert!((back.position - child.position).length() < 1e-3 * (1.0 + 1.0 / parent.scale));
            prop_assert!(back.rotation.dot(child.rotation).abs() > 0.9999);
            prop_assert_eq!(back.scale, child.scale);
        }

        #[test]
        fn inverse_undoes(p in placements()) {
            let back = p.pose().within(p.pose().inverse());
            prop_assert!(back.position.length() < 1e-4);
            prop_assert!(back.rotation.w.abs() > 0.9999);
        }
    }

    #[test]
    fn rest_is_what_looksee_shows() {
        let m = Body::rest().to_wire("abcdefgh");
        assert_eq!((m.left_position.x, m.right_position.x), (-0.2, 0.2));
        assert_eq!((m.head_position.y, m.head_rotation.w), (1.5, 1.0));
        assert_eq!((m.left_rotation.x, m.left_rotation.w), (0.5, 0.866025));
        let back = Body::from_wire(&m);
        assert!((back.left.position - Body::rest().left.position).length() < 1e-5);
    }

    #[test]
    fn a_rotation_without_direction_is_identity() {
        for bad in [Quat::from_xyzw(0.0, 0.0, 0.0, 0.0), Quat::from_xyzw(f32::NAN, 0.0, 0.0, 1.0)] {
            assert_eq!(Pose::new(Vec3::ZERO, bad).rotation, Quat::IDENTITY);
        }
        let long = Pose::new(Vec3::ZERO, Quat::from_xyzw(0.0, 2.0, 0.0, 2.0)).rotation;
        assert!((long.length() - 1.0).abs() < 1e-6);
    }
}
