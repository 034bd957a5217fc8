//! Smooth normals for triangles that come without.

use glam::Vec3;

/// One unit normal per vertex: the mean of the adjacent triangles' normals,
/// weighted by their areas. Vertices are never duplicated, so an indexed surface
/// becomes smooth and one without shared vertices stays faceted. `extent` is the
/// size of the whole, any length of its order.
pub(super) fn smooth(positions: &[[f32; 3]], indices: &[u32], extent: f32) -> Vec<[f32; 3]> {
    // Lengths about 1, so that areas of very small or large models do not under- or overflow.
    let scale = if extent > 0.0 && extent.is_finite() { extent.recip().min(f32::MAX) } else { 1.0 };
    let mut sums = vec![Vec3::ZERO; positions.len()];
    let (triangles, _) = indices.as_chunks::<3>();
    for triangle in triangles {
        let corners = triangle.map(|index| positions.get(index as usize).copied().unwrap_or_default());
        let [a, b, c] = corners.map(|corner| Vec3::from(corner) * scale);
        let area = (b - a).cross(c - a);
        for &index in triangle {
            if let Some(sum) = sums.get_mut(index as usize) {
                *sum += area;
            }
        }
    }
    sums.into_iter().map(|sum| normalized(sum).unwrap_or(Vec3::Z).to_array()).collect()
}

/// At unit length, also if the square of the length is no float.
fn normalized(sum: Vec3) -> Option<Vec3> {
    sum.try_normalize().or_else(|| (sum * sum.abs().max_element().recip()).try_normalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_point_out_of_counter_clockwise_triangles() {
        for size in [1e-30, 1.0, 1e30] {
            let positions = [[0.0; 3], [size, 0.0, 0.0], [0.0, size, 0.0], [0.0, 0.0, 0.0]];
            let normals = smooth(&positions, &[0, 1, 2], size);
            assert_eq!(normals[..3], [[0.0, 0.0, 1.0]; 3], "{size}");
            assert_eq!(normals[3], [0.0, 0.0, 1.0], "an unused vertex gets some normal");
        }
    }

    #[test]
    fn larger_triangles_weigh_more() {
        let positions = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0]];
        let [normal, ..] = smooth(&positions, &[0, 1, 2, 0, 2, 3], 3.0)[..] else { panic!() };
        assert!(normal[0] > normal[2] && normal[2] > 0.1, "{normal:?}");
    }
}
