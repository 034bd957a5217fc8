//! Geometry as a GPU takes it, in as few bytes as are enough.
//!
//! Plain arrays, in formats that GPUs read by themselves: positions as 16-bit
//! fractions of a cube, normals as signed bytes, colours as they are in the file (floats
//! as 16 bits), texture coordinates as 16-bit fractions where they lie within the
//! texture, indices of 16 bits where they suffice. A vertex with a normal and byte
//! colours takes 16 bytes instead of 28. Positions are off by at most 8e-6 of the
//! model's longest side, normals by half a degree.

use glam::{Affine3A, Vec3};

use super::array::Array;
use super::bounds::Bounds;
use super::decoded::{Colors, Primitive, Topology};

/// Edges of fewer steps of the grid than this would be seen to be bent: then floats are kept.
const LEAST_STEPS: f32 = 24.0;
const STEPS: f32 = 65535.0;
/// Elements that are looked at to see how long edges are.
const SAMPLES: usize = 1000;

/// One mesh.
#[derive(Debug, Clone)]
pub struct Compact {
    /// What the indices make.
    pub topology: Topology,
    /// One per vertex.
    pub positions: Positions,
    /// One per vertex: signed fractions of 127; the fourth is nothing.
    pub normals: Option<Normals>,
    /// One per vertex, never floats.
    pub colors: Option<Colors>,
    /// One per vertex, for each set.
    pub uvs: [Option<Uvs>; 2],
    /// Three, two or one per triangle, line or point.
    pub indices: Indices,
    /// Index into the model's materials.
    pub material: Option<usize>,
    /// Box around the positions as they are stored.
    pub bounds: Bounds,
    /// The same around all that this was cut from: one surface, one middle to sort by.
    pub grid: Bounds,
    /// primitive_from_stored: the same scale along all axes.
    pub scale: f32,
    /// Added after scaling.
    pub offset: Vec3,
}

/// How positions are stored.
#[derive(Debug, Clone)]
pub enum Positions {
    /// Fractions of 65535; the fourth is nothing.
    U16(Vec<[u16; 4]>),
    /// In the primitive's units.
    F32(Vec<[f32; 3]>),
}

/// How normals are stored.
#[derive(Debug, Clone)]
pub enum Normals {
    /// Fractions of 127; the fourth is nothing.
    I8(Vec<[i8; 4]>),
    /// Of unit length.
    F32(Vec<[f32; 3]>),
}

/// How texture coordinates are stored.
#[derive(Debug, Clone)]
pub enum Uvs {
    /// Fractions of 65535.
    U16(Vec<[u16; 2]>),
    /// Beyond the texture's edges.
    F32(Vec<[f32; 2]>),
}

/// How indices are stored.
#[derive(Debug, Clone)]
pub enum Indices {
    /// All below 65535, which begins new strips on some GPUs.
    U16(Vec<u16>),
    /// Any.
    U32(Vec<u32>),
}

impl Compact {
    /// Stores a primitive. `grid` is a box around it and everything that it touches, so
    /// that what was one surface stays one where it was cut.
    #[must_use]
    pub fn of(primitive: Primitive, grid: &Bounds) -> Self {
        let side = grid.union(primitive.bounds).largest_side();
        let origin = grid.union(primitive.bounds).min;
        let step = side / STEPS;
        let fine = !(step.is_normal() && mean_edge(&primitive) >= LEAST_STEPS * step);
        if fine {
            return Self { grid: grid.union(primitive.bounds), ..Self::plain(primitive) };
        }
        let quantized = |&[x, y, z]: &[f32; 3]| {
            let at = |v: f32, from: f32| ((v - from) / step).round().clamp(0.0, STEPS) as u16;
            [at(x, origin.x), at(y, origin.y), at(z, origin.z), 0]
        };
        let positions: Vec<[u16; 4]> = primitive.positions.iter().map(quantized).collect();
        let corner = |v: [u16; 4]| Vec3::new(f32::from(v[0]), f32::from(v[1]), f32::from(v[2])) / STEPS;
        let bounds = positions.iter().fold(Bounds::empty(), |bounds, &v| bounds.with(corner(v)));
        let normals = primitive.normals.as_ref().map(|list| Normals::I8(list.iter().map(signed).collect()));
        let uvs = [&primitive.uvs, &primitive.uvs_1].map(|uvs| uvs.as_ref().map(|uvs| fractions(uvs)));
        Self {
            positions: Positions::U16(positions),
            normals,
            uvs,
            bounds,
            grid: Bounds { min: Vec3::ZERO, max: (grid.union(primitive.bounds).max - origin) / side },
            scale: side,
            offset: origin,
            ..Self::plain(Primitive {
                positions: Array::default(),
                normals: None,
                uvs: None,
                uvs_1: None,
                ..primitive
            })
        }
    }

    /// Stores a primitive in floats: for what is computed with later.
    #[must_use]
    pub fn plain(primitive: Primitive) -> Self {
        let colors = primitive.colors.map(|colors| match colors {
            Colors::F32(list) => {
                Colors::U16(list.iter().map(|c| c.map(|v| (v * 65535.0).round() as u16)).collect())
            }
            other => other,
        });
        let few = primitive.indices.iter().all(|&index| index < u32::from(u16::MAX));
        Self {
            topology: primitive.topology,
            positions: Positions::F32(primitive.positions.into_vec()),
            normals: primitive.normals.map(|normals| Normals::F32(normals.into_vec())),
            colors,
            uvs: [primitive.uvs, primitive.uvs_1].map(|uvs| uvs.map(|uvs| Uvs::F32(uvs.into_vec()))),
            indices: match few {
                true => Indices::U16(primitive.indices.iter().map(|&index| index as u16).collect()),
                false => Indices::U32(primitive.indices.into_vec()),
            },
            material: primitive.material,
            bounds: primitive.bounds,
            grid: primitive.bounds,
            scale: 1.0,
            offset: Vec3::ZERO,
        }
    }

    /// primitive_from_stored.
    #[must_use]
    pub fn transform(&self) -> Affine3A {
        Affine3A::from_scale_rotation_translation(Vec3::splat(self.scale), glam::Quat::IDENTITY, self.offset)
    }

    /// Bytes on the GPU.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let positions = match &self.positions {
            Positions::U16(list) => size_of_val(&list[..]),
            Positions::F32(list) => size_of_val(&list[..]),
        };
        let normals = self.normals.as_ref().map_or(0, |normals| match normals {
            Normals::I8(list) => size_of_val(&list[..]),
            Normals::F32(list) => size_of_val(&list[..]),
        });
        let colors = self.colors.as_ref().map_or(0, |colors| colors.len() * colors.stride());
        let uvs = self.uvs.iter().flatten().map(|uvs| match uvs {
            Uvs::U16(list) => size_of_val(&list[..]),
            Uvs::F32(list) => size_of_val(&list[..]),
        });
        let indices = match &self.indices {
            Indices::U16(list) => size_of_val(&list[..]),
            Indices::U32(list) => size_of_val(&list[..]),
        };
        positions + normals + colors + uvs.sum::<usize>() + indices
    }
}

/// Mean length of some edges; without end where there are none.
fn mean_edge(primitive: &Primitive) -> f32 {
    let corners = primitive.topology.corners();
    let elements = primitive.elements();
    if corners < 2 || elements == 0 {
        return f32::INFINITY;
    }
    let every = elements.div_ceil(SAMPLES);
    let point = |index: Option<&u32>| {
        index.and_then(|&i| primitive.positions.get(i as usize)).copied().map(Vec3::from).unwrap_or_default()
    };
    let lengths = primitive.indices.chunks_exact(corners).step_by(every);
    let lengths = lengths.map(|element| point(element.first()).distance(point(element.get(1))));
    let (mut sum, mut count) = (0.0, 0.0);
    // Edges without any length are of no shape that could be bent.
    for length in lengths.filter(|&length| length > 0.0) {
        sum += length;
        count += 1.0;
    }
    if count > 0.0 { sum / count } else { f32::INFINITY }
}

fn signed(normal: &[f32; 3]) -> [i8; 4] {
    let [x, y, z] = normal.map(|v| (v.clamp(-1.0, 1.0) * 127.0).round() as i8);
    [x, y, z, 0]
}

fn fractions(uvs: &[[f32; 2]]) -> Uvs {
    if uvs.as_flattened().iter().all(|v| (0.0..=1.0).contains(v)) {
        Uvs::U16(uvs.iter().map(|uv| uv.map(|v| (v * STEPS).round() as u16)).collect())
    } else {
        Uvs::F32(uvs.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triangle(size: f32, at: f32) -> Primitive {
        let positions = vec![[at, 0.0, 0.0], [at + size, 0.0, 0.0], [at, size, 0.0]];
        Primitive {
            topology: Topology::Triangles,
            bounds: Bounds::of_points(&positions),
            positions: positions.into(),
            normals: Some(vec![[0.6, -0.8, 0.0]; 3].into()),
            colors: Some(Colors::F32(vec![[0.5, 0.0, 1.0, 1.0]; 3].into())),
            uvs: Some(vec![[0.0, 1.0]; 3].into()),
            uvs_1: Some(vec![[0.0, 1.5]; 3].into()),
            indices: vec![0, 1, 2].into(),
            material: Some(3),
        }
    }

    #[test]
    fn what_is_stored_is_what_was() {
        let primitive = triangle(2.0, 100.0);
        let grid = primitive.bounds.with(Vec3::new(50.0, 0.0, 0.0));
        let compact = Compact::of(primitive.clone(), &grid);
        let Positions::U16(stored) = &compact.positions else { panic!() };
        for (stored, position) in stored.iter().zip(&primitive.positions) {
            let stored = Vec3::new(stored[0].into(), stored[1].into(), stored[2].into()) / 65535.0;
            let found = compact.transform().transform_point3(stored);
            assert!(found.distance((*position).into()) < 52.0 / 65535.0, "{found} {position:?}");
            assert!(compact.bounds.min.cmple(stored).all() && compact.bounds.max.cmpge(stored).all());
        }
        let Some(Normals::I8(normals)) = &compact.normals else { panic!() };
        assert_eq!(normals[0], [76, -102, 0, 0]);
        assert_eq!(compact.colors, Some(Colors::U16(vec![[32768, 0, 65535, 65535]; 3].into())));
        assert!(matches!(compact.uvs, [Some(Uvs::U16(_)), Some(Uvs::F32(_))]));
        assert!(matches!(&compact.indices, Indices::U16(list) if list[..] == [0, 1, 2]));
        // 8 + 4 + 8 + 4 + 8 per vertex, 2 per index.
        assert_eq!((compact.bytes(), compact.material), (3 * 32 + 3 * 2, Some(3)));
    }

    #[test]
    fn what_is_too_fine_for_the_grid_stays_in_floats() {
        let primitive = triangle(0.001, 100.0);
        let grid = primitive.bounds.with(Vec3::ZERO);
        assert!(matches!(Compact::of(primitive.clone(), &grid).positions, Positions::F32(_)));
        let own = primitive.bounds;
        assert!(matches!(Compact::of(primitive, &own).positions, Positions::U16(_)));
        let flat = Bounds { min: Vec3::ONE, max: Vec3::ONE };
        let mut dot = triangle(0.0, 1.0);
        dot.positions = vec![[1.0; 3]; 3].into();
        dot.bounds = flat;
        assert!(matches!(Compact::of(dot, &flat).positions, Positions::F32(_)));
    }
}
