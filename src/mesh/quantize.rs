//! Positions on a grid of 65,536 steps, normals on an octahedron.

use super::{MeshError, lattice::Lattice};

/// The largest number of a grid's point.
pub const GRID_MOST: u16 = u16::MAX;

/// A cubic grid that is laid over all of a model, so that what chunks share stays
/// shared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    /// The grid's first point, in the space of the positions.
    pub origin: [f32; 3],
    /// From one point to the next, along each axis. Zero: there is one point.
    pub step: [f32; 3],
}

impl Grid {
    /// A grid that covers a box, whose corners are finite: the finest with one step
    /// for all axes, or one a little coarser that has points wherever a lattice has.
    #[must_use]
    pub(super) fn covering(min: [f32; 3], max: [f32; 3], lattices: [Option<Lattice>; 3]) -> Self {
        let extent = (0..3).map(|axis| max[axis] - min[axis]).fold(0.0, f32::max);
        let finest = extent / f32::from(GRID_MOST);
        let mut grid = Self { origin: min, step: [finest; 3] };
        for (axis, lattice) in lattices.into_iter().enumerate() {
            let Some(lattice) = lattice else { continue };
            // Whole multiples of 256 leave the lower byte of a point as it is.
            let most = (lattice.spacing / f64::from(finest)).floor();
            let points = if most >= 256.0 { (most / 256.0).floor() * 256.0 } else { most };
            let before = ((lattice.start - f64::from(min[axis])) / lattice.spacing).ceil();
            let step = (lattice.spacing / points) as f32;
            let origin = (lattice.start - before * lattice.spacing) as f32;
            let reach = origin + step * f32::from(GRID_MOST);
            if points >= 8.0 && step.is_finite() && origin <= min[axis] && reach >= max[axis] {
                (grid.origin[axis], grid.step[axis]) = (origin, step);
            }
        }
        grid
    }

    /// One that came from somebody.
    ///
    /// # Errors
    /// If its points are not all finite.
    pub fn checked(origin: [f32; 3], step: [f32; 3]) -> Result<Self, MeshError> {
        let grid = Self { origin, step };
        let far = grid.position([GRID_MOST; 3]);
        let usable =
            step.iter().all(|step| *step >= 0.0) && origin.iter().chain(&far).all(|value| value.is_finite());
        if usable { Ok(grid) } else { Err(MeshError::Damaged("a grid that is nowhere")) }
    }

    /// The nearest point.
    #[must_use]
    pub fn point(&self, position: [f32; 3]) -> [u16; 3] {
        std::array::from_fn(|axis| {
            let steps = (position[axis] - self.origin[axis]) / self.step[axis];
            // `as` saturates, below at zero; without extent it is no number, and zero.
            (steps + 0.5) as u16
        })
    }

    /// Where a point is.
    #[must_use]
    pub fn position(&self, point: [u16; 3]) -> [f32; 3] {
        std::array::from_fn(|axis| f32::from(point[axis]) * self.step[axis] + self.origin[axis])
    }

    /// How far from where it was a position may come to lie, in the units of the
    /// positions: half a step along each axis, and what `f32` rounds there.
    #[must_use]
    pub fn max_error(&self) -> f32 {
        let along = |axis: usize| {
            let reach = self.origin[axis].abs() + self.step[axis] * f32::from(GRID_MOST);
            self.step[axis] * 0.5 + reach * f32::EPSILON * 2.0
        };
        (0..3).map(|axis| along(axis) * along(axis)).sum::<f32>().sqrt()
    }
}

/// Bits for each of the two numbers that a normal becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormalBits {
    /// 8: at most 1 degree off, a third on average.
    Eight,
    /// 10: at most a quarter of a degree off.
    Ten,
}

impl NormalBits {
    /// The number of bits.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Eight => 8,
            Self::Ten => 10,
        }
    }

    const fn most(self) -> f32 {
        match self {
            Self::Eight => 127.0,
            Self::Ten => 511.0,
        }
    }
}

/// A direction as a point of an unfolded octahedron. What is no direction is the
/// z axis.
#[must_use]
pub fn to_octahedron(normal: [f32; 3], bits: NormalBits) -> [i16; 2] {
    let [x, y, z] = normal;
    let sum = x.abs() + y.abs() + z.abs();
    let per = if sum > 0.0 && sum.is_finite() { sum.recip() } else { 0.0 };
    let (mut u, mut v) = (x * per, y * per);
    if z < 0.0 {
        (u, v) = ((1.0 - v.abs()).copysign(u), (1.0 - u.abs()).copysign(v));
    }
    let most = bits.most();
    // To the nearest; `round` is a call on processors before SSE 4.1.
    [u, v].map(|w| (w * most + 0.5f32.copysign(w)) as i16)
}

/// The direction, of unit length, whatever the numbers.
#[must_use]
pub fn from_octahedron([u, v]: [i16; 2], bits: NormalBits) -> [f32; 3] {
    let most = bits.most();
    let (mut x, mut y) = (f32::from(u) / most, f32::from(v) / most);
    let z = 1.0 - x.abs() - y.abs();
    let fold = (-z).max(0.0);
    x -= fold.copysign(x);
    y -= fold.copysign(y);
    // At least a third, in whichever direction: never zero.
    let per = (x * x + y * y + z * z).sqrt().recip();
    [x * per, y * per, z * per]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn grids_that_are_nowhere_are_refused() {
        for (origin, step) in [
            ([0.0; 3], [1.0, 1.0, -1.0]),
            ([0.0; 3], [f32::NAN, 1.0, 1.0]),
            ([f32::INFINITY, 0.0, 0.0], [1.0; 3]),
            ([0.0; 3], [f32::MAX; 3]),
            ([0.0, f32::NAN, 0.0], [0.0; 3]),
        ] {
            assert!(Grid::checked(origin, step).is_err(), "{origin:?} {step:?}");
        }
        let point = Grid::covering([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [None; 3]);
        assert_eq!(point.position(point.point([1.0, 2.0, 3.0])), [1.0, 2.0, 3.0]);
    }

    fn angle(a: [f32; 3], b: [f32; 3]) -> f64 {
        let [a, b] = [a, b].map(|v| glam::Vec3::from(v).as_dvec3());
        a.angle_between(b).to_degrees()
    }

    proptest! {
        #[test]
        fn positions_stay_within_the_stated_error(
            a in prop::array::uniform3(-1e6f32..1e6), size in 1e-6f32..1e6, t in prop::array::uniform3(0f32..=1.0),
            cells in 1f64..3000.0,
        ) {
            let max = a.map(|value| value + size);
            let lattice = Lattice { start: f64::from(a[0]) + 0.3 * f64::from(size), spacing: f64::from(size) / cells };
            let grid = Grid::covering(a, max, [Some(lattice), None, Some(Lattice { start: 1e9, ..lattice })]);
            let position: [f32; 3] = std::array::from_fn(|axis| a[axis] + (max[axis] - a[axis]) * t[axis]);
            let back = grid.position(grid.point(position));
            let error = glam::Vec3::from(position).distance(back.into());
            prop_assert!(error <= grid.max_error(), "{error} > {}", grid.max_error());
        }

        #[test]
        fn normals_stay_within_their_angle(n in prop::array::uniform3(-1f32..=1.0)) {
            prop_assume!(glam::Vec3::from(n).length() > 1e-3);
            for (bits, most) in [(NormalBits::Eight, 1.0), (NormalBits::Ten, 0.25)] {
                let back = from_octahedron(to_octahedron(n, bits), bits);
                prop_assert!(angle(n, back) <= most, "{}", angle(n, back));
            }
        }

        #[test]
        fn any_numbers_are_a_direction(u in any::<i16>(), v in any::<i16>()) {
            for bits in [NormalBits::Eight, NormalBits::Ten] {
                let length = glam::Vec3::from(from_octahedron([u, v], bits)).length();
                prop_assert!((length - 1.0).abs() < 1e-3);
            }
        }
    }
}
