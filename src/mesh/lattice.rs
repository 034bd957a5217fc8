//! The lattice that a surface was computed on. Isosurfaces of volumes, most of
//! what is shown here, have every vertex on an edge between two voxels: two of its
//! three coordinates are the voxels'. A grid that has points there says them in a
//! fraction of the bytes.

/// Vertices that are looked at.
const SAMPLES: usize = 20_000;
/// Coordinates that must be on the lattice; by chance two in three are.
const MOST: f64 = 0.55;
/// How far from the lattice a coordinate may be, in its spacings.
const TOLERANCE: f64 = 0.004;

/// Where the lattice is along one axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lattice {
    /// A coordinate on it.
    pub(super) start: f64,
    /// From one to the next.
    pub(super) spacing: f64,
}

/// Looks for a lattice in coordinates of vertices along one axis, in their order.
pub(super) fn find(coordinates: impl Iterator<Item = f32>) -> Option<Lattice> {
    let sampled: Vec<f32> = coordinates.take(SAMPLES).filter(|value| value.is_finite()).collect();
    // Neighbours that share a coordinate to the bit have it from the lattice.
    let mut shared: Vec<f32> =
        sampled.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    shared.sort_by(f32::total_cmp);
    shared.dedup();
    let (first, last) = (f64::from(*shared.first()?), f64::from(*shared.last()?));
    let least = (last - first) / 5000.0;
    let gaps = shared.windows(2).map(|pair| f64::from(pair[1]) - f64::from(pair[0]));
    let gap = gaps.filter(|gap| *gap > least).fold(f64::INFINITY, f64::min);
    // Over the whole length, so that what is rounded at each end does not add up.
    let steps = ((last - first) / gap).round();
    if !(4.0..5000.0).contains(&steps) {
        return None;
    }
    let lattice = Lattice { start: first, spacing: (last - first) / steps };
    let is_on = |value: &&f32| {
        let at = (f64::from(**value) - lattice.start) / lattice.spacing;
        (at - at.round()).abs() < TOLERANCE
    };
    let on = sampled.iter().filter(is_on).count();
    (on as f64 >= MOST * sampled.len() as f64).then_some(lattice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lattice_is_found_and_nothing_else_is_taken_for_one() {
        // Two in three on multiples of 0.8, from -72.3 on.
        let voxel = |n: u32| -72.3 + 0.8 * (n / 6 % 200) as f32;
        let off = |n: u32| (n.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32;
        let surface = (0..10_000).map(|n| if n % 3 == 0 { voxel(n) + 0.8 * off(n) } else { voxel(n) });
        let lattice = find(surface).unwrap();
        assert!((lattice.spacing - 0.8).abs() < 1e-5, "{lattice:?}");
        assert!(((lattice.start + 72.3) / 0.8).fract().abs() < 1e-3, "{lattice:?}");
        assert_eq!(find((0..10_000).map(|n| off(n) * 100.0)), None);
        assert_eq!(find((0..10_000).map(|_| 7.0)), None);
        assert_eq!(find(std::iter::empty()), None);
        // Pairs alone make no lattice.
        assert_eq!(find((0..10_000).map(|n| off(n / 2) * 100.0)), None);
    }
}
