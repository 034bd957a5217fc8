//! Sums of squared distances to planes.

use glam::Vec3;

/// A symmetric form whose value at a point is the sum of the squared distances to
/// the planes that were added, each times its weight.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Quadric {
    xx: f32,
    yy: f32,
    zz: f32,
    xy: f32,
    xz: f32,
    yz: f32,
    x: f32,
    y: f32,
    z: f32,
    one: f32,
}

impl Quadric {
    /// Of a plane through a point, with a unit normal.
    pub(super) fn plane(normal: Vec3, point: Vec3, weight: f32) -> Self {
        let distance = -normal.dot(point);
        let scaled = normal * weight;
        Self {
            xx: scaled.x * normal.x,
            yy: scaled.y * normal.y,
            zz: scaled.z * normal.z,
            xy: scaled.x * normal.y,
            xz: scaled.x * normal.z,
            yz: scaled.y * normal.z,
            x: scaled.x * distance,
            y: scaled.y * distance,
            z: scaled.z * distance,
            one: weight * distance * distance,
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.xx += other.xx;
        self.yy += other.yy;
        self.zz += other.zz;
        self.xy += other.xy;
        self.xz += other.xz;
        self.yz += other.yz;
        self.x += other.x;
        self.y += other.y;
        self.z += other.z;
        self.one += other.one;
    }

    /// Never below zero, whatever rounding makes of it.
    pub(super) fn at(&self, p: Vec3) -> f32 {
        let x = self.xx * p.x + self.xy * p.y + self.xz * p.z + 2.0 * self.x;
        let y = self.xy * p.x + self.yy * p.y + self.yz * p.z + 2.0 * self.y;
        let z = self.xz * p.x + self.yz * p.y + self.zz * p.z + 2.0 * self.z;
        (x * p.x + y * p.y + z * p.z + self.one).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_squared_weighted_and_added() {
        let mut sum = Quadric::plane(Vec3::X, Vec3::new(1.0, 5.0, 5.0), 2.0);
        sum.add(&Quadric::plane(Vec3::Z, Vec3::ZERO, 1.0));
        assert_eq!(sum.at(Vec3::new(4.0, 7.0, 3.0)), 2.0 * 9.0 + 9.0);
        assert_eq!(sum.at(Vec3::new(1.0, -3.0, 0.0)), 0.0);
    }
}
