//! Which vertices are one.

use std::collections::HashMap;

use glam::Vec3;

use super::{Colors, Primitive, drop_unused};

/// What a vertex is, bit for bit.
#[derive(PartialEq, Eq, Hash)]
struct Key([u32; 15]);

/// Of each place where the primitive has vertices.
pub(super) struct Welded {
    /// Of each vertex the number of its place.
    pub(super) places: Vec<u32>,
    /// Of each place: one of its vertices.
    pub(super) vertices: Vec<u32>,
    /// Of each place: whether vertices that differ meet there.
    pub(super) seams: Vec<bool>,
}

/// Makes indices of vertices that are equal in everything the same, and finds the
/// places where unequal ones meet.
pub(super) fn equal(primitive: &mut Primitive) -> Welded {
    let count = primitive.positions.len();
    let mut firsts: HashMap<Key, u32> = HashMap::with_capacity(count);
    let mut same = Vec::with_capacity(count);
    for vertex in 0..count {
        let number = u32::try_from(vertex).unwrap_or(u32::MAX);
        same.push(*firsts.entry(key(primitive, vertex)).or_insert(number));
    }
    drop(firsts);
    for index in primitive.indices.to_mut() {
        *index = same.get(*index as usize).copied().unwrap_or(*index);
    }
    drop_unused(primitive);
    let mut known: HashMap<[u32; 3], u32> = HashMap::with_capacity(primitive.positions.len());
    let mut welded = Welded { places: Vec::new(), vertices: Vec::new(), seams: Vec::new() };
    for (vertex, position) in primitive.positions.iter().enumerate() {
        let next = u32::try_from(welded.vertices.len()).unwrap_or(u32::MAX);
        let place = *known.entry(bits(position)).or_insert(next);
        welded.places.push(place);
        if place == next {
            welded.vertices.push(u32::try_from(vertex).unwrap_or(u32::MAX));
            welded.seams.push(false);
        } else if let Some(seam) = welded.seams.get_mut(place as usize) {
            *seam = true;
        }
    }
    welded
}

/// Makes one vertex of all at a place, with the mean of their normals; colours and
/// texture coordinates are those of the first.
pub(super) fn merge_places(primitive: &mut Primitive) {
    let mut known: HashMap<[u32; 3], u32> = HashMap::with_capacity(primitive.positions.len());
    let mut same = Vec::with_capacity(primitive.positions.len());
    for (vertex, position) in primitive.positions.iter().enumerate() {
        same.push(*known.entry(bits(position)).or_insert(u32::try_from(vertex).unwrap_or(u32::MAX)));
    }
    if let Some(normals) = &mut primitive.normals {
        let mut sums = vec![Vec3::ZERO; normals.len()];
        for (normal, &first) in normals.iter().zip(&same) {
            if let Some(sum) = sums.get_mut(first as usize) {
                *sum += Vec3::from(*normal);
            }
        }
        for (normal, sum) in normals.to_mut().iter_mut().zip(sums) {
            *normal = sum.try_normalize().map_or(*normal, |unit| unit.to_array());
        }
    }
    for index in primitive.indices.to_mut() {
        *index = same.get(*index as usize).copied().unwrap_or(*index);
    }
    drop_unused(primitive);
}

/// Two zeros are one number.
fn bits(position: &[f32; 3]) -> [u32; 3] {
    position.map(|v| (v + 0.0).to_bits())
}

fn key(primitive: &Primitive, vertex: usize) -> Key {
    let mut words = [0u32; 15];
    let mut next = words.iter_mut();
    let mut put = |values: &[u32]| {
        for &value in values {
            if let Some(word) = next.next() {
                *word = value;
            }
        }
    };
    put(&primitive.positions.get(vertex).map(bits).unwrap_or_default());
    let normal = primitive.normals.as_ref().and_then(|list| list.get(vertex));
    put(&normal.map(bits).unwrap_or_default());
    put(&match &primitive.colors {
        Some(Colors::U8(list)) => list.get(vertex).map(|c| [u32::from_le_bytes(*c), 0, 0, 0]),
        Some(Colors::U16(list)) => list.get(vertex).map(|c| c.map(u32::from)),
        Some(Colors::F32(list)) => list.get(vertex).map(|c| c.map(f32::to_bits)),
        None => None,
    }
    .unwrap_or_default());
    for uvs in [&primitive.uvs, &primitive.uvs_1] {
        let uv = uvs.as_ref().and_then(|list| list.get(vertex));
        put(&uv.map(|uv| uv.map(f32::to_bits)).unwrap_or_default());
    }
    Key(words)
}
