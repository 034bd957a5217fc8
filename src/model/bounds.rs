//! Axis-aligned boxes.

use glam::{Affine3A, Vec3};

/// An axis-aligned box, in whatever space and unit its points were given in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Smallest corner; larger than `max` on some axis if the box is empty.
    pub min: Vec3,
    /// Largest corner.
    pub max: Vec3,
}

impl Default for Bounds {
    fn default() -> Self {
        Self::empty()
    }
}

impl Bounds {
    /// The box that holds nothing: the neutral element of [`Bounds::union`].
    #[must_use]
    pub const fn empty() -> Self {
        Self { min: Vec3::INFINITY, max: Vec3::NEG_INFINITY }
    }

    /// The smallest box around the points. A point with a coordinate that is not
    /// a number counts on its other axes only.
    #[must_use]
    pub fn of_points<'a>(points: impl IntoIterator<Item = &'a [f32; 3]>) -> Self {
        points.into_iter().fold(Self::empty(), |bounds, &point| bounds.with(Vec3::from(point)))
    }

    /// This box grown to hold `point`.
    #[must_use]
    pub fn with(self, point: Vec3) -> Self {
        Self { min: self.min.min(point), max: self.max.max(point) }
    }

    /// The smallest box around both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Whether the box holds no point at all. A box around one point is not empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.min.cmple(self.max).all()
    }

    /// Whether every corner is a finite number; an empty box is not.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.min.is_finite() && self.max.is_finite()
    }

    /// The middle of the box; the origin if it is empty.
    #[must_use]
    pub fn center(&self) -> Vec3 {
        // Halved before adding, so that corners near f32::MAX do not overflow.
        if self.is_empty() { Vec3::ZERO } else { self.min * 0.5 + self.max * 0.5 }
    }

    /// Length along each axis; zero if the box is empty.
    #[must_use]
    pub fn size(&self) -> Vec3 {
        if self.is_empty() { Vec3::ZERO } else { self.max - self.min }
    }

    /// Length of the longest side; 0 if the box is empty.
    #[must_use]
    pub fn largest_side(&self) -> f32 {
        self.size().max_element()
    }

    /// The eight corners; of no use for an empty box.
    #[must_use]
    pub fn corners(&self) -> [Vec3; 8] {
        let Self { min, max } = *self;
        [
            Vec3::new(min.x, min.y, min.z),
            Vec3::new(max.x, min.y, min.z),
            Vec3::new(min.x, max.y, min.z),
            Vec3::new(max.x, max.y, min.z),
            Vec3::new(min.x, min.y, max.z),
            Vec3::new(max.x, min.y, max.z),
            Vec3::new(min.x, max.y, max.z),
            Vec3::new(max.x, max.y, max.z),
        ]
    }

    /// The box around this box's transformed corners: what Unity's
    /// `Renderer.bounds` is, and larger than the box around the transformed
    /// content if the transform rotates.
    #[must_use]
    pub fn transformed(&self, transform: &Affine3A) -> Self {
        if self.is_empty() {
            return *self;
        }
        self.corners()
            .into_iter()
            .fold(Self::empty(), |bounds, corner| bounds.with(transform.transform_point3(corner)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_box_is_neutral() {
        let one = Bounds::of_points(&[[1.0, 2.0, 3.0]]);
        assert!(Bounds::empty().is_empty() && !one.is_empty());
        assert_eq!(Bounds::empty().union(one), one);
        assert_eq!(Bounds::empty().size(), Vec3::ZERO);
        assert_eq!(Bounds::empty().center(), Vec3::ZERO);
        assert_eq!(one.largest_side(), 0.0);
    }

    #[test]
    fn a_rotated_box_grows() {
        let cube = Bounds { min: Vec3::splat(-1.0), max: Vec3::splat(1.0) };
        let turned = cube.transformed(&Affine3A::from_rotation_y(std::f32::consts::FRAC_PI_4));
        assert!((turned.largest_side() - 2.0 * 2f32.sqrt()).abs() < 1e-5);
        assert!((turned.size().y - 2.0).abs() < 1e-6);
        assert!(Bounds::empty().transformed(&Affine3A::IDENTITY).is_empty());
    }
}
