//! The boxes of primitives, which tell at which size a meeting shows a model.
//!
//! [`crate::model`] takes the box of a primitive around all of its vertices, also
//! those that no triangle uses, and where a node turns it, around the corners of
//! that box. What is made of parts has to have the same boxes, or it would be
//! shown at another size. Where triangles alone do not make them, two vertices
//! without a triangle do: a part's anchors.

use glam::{DAffine3, Vec3};

use super::{
    gltf::{Array, U8, U16},
    plan::floats3,
};

/// Least and greatest along each axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Box3 {
    pub(super) min: Vec3,
    pub(super) max: Vec3,
}

impl Box3 {
    const EMPTY: Self = Self { min: Vec3::INFINITY, max: Vec3::NEG_INFINITY };

    fn add(&mut self, position: Vec3) {
        (self.min, self.max) = (self.min.min(position), self.max.max(position));
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    pub(super) fn corners(self) -> impl Iterator<Item = Vec3> {
        (0..8).map(move |corner| {
            let pick = |axis: usize| if corner >> axis & 1 == 0 { self.min[axis] } else { self.max[axis] };
            Vec3::new(pick(0), pick(1), pick(2))
        })
    }

    /// The box around its corners elsewhere.
    pub(super) fn placed(self, transform: &DAffine3) -> Self {
        let mut placed = Self::EMPTY;
        self.corners().for_each(|corner| placed.add(transform.transform_point3(corner.as_dvec3()).as_vec3()));
        placed
    }
}

/// What the triangles of a primitive take of its vertices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Extent {
    /// The primitive's box, as it is shown from the file.
    pub(super) shown: Box3,
    /// The box of the vertices that triangles use.
    pub(super) used: Box3,
    /// Whether all of its normals are directions; true without normals.
    pub(super) normals: bool,
}

impl Extent {
    /// Not looked at yet.
    pub(super) const NONE: Self = Self { shown: Box3::EMPTY, used: Box3::EMPTY, normals: true };
}

/// Looks at all indices and the vertices that they need.
///
/// # Errors
/// If an index is beyond the vertices, or a position is no finite number.
pub(super) fn extent(
    glb: &[u8],
    positions: &Array,
    normals: Option<&Array>,
    indices: &Array,
) -> Result<Extent, &'static str> {
    let mut is_used = vec![false; positions.count];
    let (mut first, mut last) = (usize::MAX, 0);
    let mut beyond = false;
    each_index(glb, indices, |index| {
        (first, last) = (first.min(index), last.max(index));
        match is_used.get_mut(index) {
            Some(is_used) => *is_used = true,
            None => beyond = true,
        }
    });
    if beyond {
        return Err("an index is beyond its vertices");
    }
    // As a file is read: if triangles need less than half of a list of vertices,
    // only the span that they need is looked at.
    let span = last.saturating_sub(first) + 1;
    let range = if span > positions.count / 2 { 0..positions.count } else { first..last + 1 };
    let (mut shown, mut used) = (Box3::EMPTY, Box3::EMPTY);
    let mut finite = true;
    for vertex in range.clone() {
        let position = Vec3::from(floats3(positions.element(glb, vertex)));
        finite &= position.is_finite();
        shown.add(position);
        if is_used[vertex] {
            used.add(position);
        }
    }
    if !finite {
        return Err("a position is not a finite number");
    }
    let is_direction = |array: &Array| {
        range
            .clone()
            .all(|vertex| Vec3::from(floats3(array.element(glb, vertex))).length_squared().is_finite())
    };
    Ok(Extent { shown, used, normals: normals.is_none_or(is_direction) })
}

fn each_index(glb: &[u8], indices: &Array, mut each: impl FnMut(usize)) {
    let bytes = &glb[indices.start..indices.start + indices.count * indices.stride];
    match indices.component {
        U8 => bytes.iter().for_each(|&index| each(usize::from(index))),
        U16 => bytes.as_chunks::<2>().0.iter().for_each(|b| each(usize::from(u16::from_le_bytes(*b)))),
        _ => bytes.as_chunks::<4>().0.iter().for_each(|b| each(u32::from_le_bytes(*b) as usize)),
    }
}
