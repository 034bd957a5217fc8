//! A decoded model as meshes that a GPU can take, and where each is shown.
//!
//! Everything that renderers differ about is settled here: pieces of a size that
//! can be uploaded within a frame, triangles wound the way their normals point,
//! mirrored and sheared copies made, orders that GPUs like, few bytes. The model
//! is used up on the way, so that it is not in memory twice.

use glam::{Affine3A, Quat, Vec3};

use super::array::Array;
use super::bounds::Bounds;
use super::compact::Compact;
use super::decoded::{DecodedModel, Primitive, Topology, flips_winding, normal_matrix};
use super::motion::unit;
use super::reorder::reorder;
use super::split::{Piece, split_into};

/// How far a transform may be from what its translation, rotation and scale
/// make, relative to its size, before it is put into the vertices instead.
const SHEAR_TOLERANCE: f32 = 1e-4;

/// One mesh and where it is shown.
#[derive(Debug, Clone)]
pub struct Part {
    /// The mesh.
    pub mesh: Compact,
    /// model_from_primitive, each made of a scale, then a rotation, then a translation;
    /// to be put before the mesh's own [`Compact::transform`].
    pub places: Vec<Place>,
    /// The node of the model's motion that moves all places.
    pub node: Option<usize>,
    /// The rig of the model's motion that changes the vertices.
    pub rig: Option<usize>,
}

impl Part {
    /// model_from_stored for one of the places.
    #[must_use]
    pub fn transform(&self, place: &Place) -> Place {
        Place {
            translation: place.translation + place.rotation * (place.scale * self.mesh.offset),
            rotation: place.rotation,
            scale: place.scale * self.mesh.scale,
        }
    }
}

/// A transform without shear.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    /// In model space.
    pub translation: Vec3,
    /// Of unit length.
    pub rotation: Quat,
    /// Along the primitive's axes; may be negative.
    pub scale: Vec3,
}

impl Place {
    const HERE: Self = Self { translation: Vec3::ZERO, rotation: Quat::IDENTITY, scale: Vec3::ONE };

    /// None if it shears.
    fn of(transform: &Affine3A) -> Option<Self> {
        let (scale, rotation, translation) = transform.to_scale_rotation_translation();
        let simple = Affine3A::from_scale_rotation_translation(scale, rotation, translation);
        let difference = (simple.matrix3 - transform.matrix3).to_cols_array();
        let size = transform.matrix3.to_cols_array().iter().fold(0f32, |size, x| size.max(x.abs()));
        let sheared = difference.iter().any(|d| d.is_nan() || d.abs() > SHEAR_TOLERANCE * size);
        let fits = !sheared && scale.is_finite() && rotation.is_finite();
        fits.then_some(Self { translation, rotation, scale })
    }
}

/// Makes parts of at most `max_mesh_bytes` before they are made smaller. Meshes whose
/// materials have a normal texture keep floats: tangents are computed from them.
pub fn parts(model: &mut DecodedModel, max_mesh_bytes: usize) -> Vec<Part> {
    cut(model, max_mesh_bytes, None)
}

/// The same of a piece of a model whose pieces were cut apart before: all have their
/// vertices on one grid, in the space of their primitives, and stay closed where they meet.
pub fn parts_on(model: &mut DecodedModel, grid: &Bounds, max_mesh_bytes: usize) -> Vec<Part> {
    cut(model, max_mesh_bytes, Some(grid))
}

fn cut(model: &mut DecodedModel, max_mesh_bytes: usize, grid: Option<&Bounds>) -> Vec<Part> {
    let floats: Vec<bool> =
        model.materials.iter().map(|material| material.normal_texture.is_some()).collect();
    let mut parts = Vec::new();
    split_into(model, max_mesh_bytes, |mut piece| {
        piece.grid = grid.copied().unwrap_or(piece.grid);
        let keep = piece.primitive.material.is_some_and(|m| floats.get(m).copied().unwrap_or(false));
        make(piece, keep, &mut parts);
    });
    parts
}

/// One part; more where it is shown mirrored (the winding must be turned round) or sheared.
fn make(mut piece: Piece, keep_floats: bool, parts: &mut Vec<Part>) {
    if winding_contradicts_normals(&piece.primitive) {
        flip(&mut piece.primitive);
    }
    let (node, rig) = (piece.node, piece.rig);
    let keep_floats = keep_floats || rig.is_some();
    if rig.is_none() {
        reorder(&mut piece.primitive);
    }
    let mut push = |primitive: Primitive, grid: &Bounds, places: Vec<Place>| {
        let mesh = if keep_floats { Compact::plain(primitive) } else { Compact::of(primitive, grid) };
        parts.push(Part { mesh, places, node, rig });
    };
    let (mut straight, mut mirrored) = (Vec::new(), Vec::new());
    for transform in &piece.transforms {
        match Place::of(transform) {
            // Vertices that change cannot be baked: better a little askew.
            None if rig.is_some() => {
                let (scale, rotation, translation) = transform.to_scale_rotation_translation();
                straight.push(Place { translation, rotation: rotation.normalize(), scale });
            }
            None => {
                let mut baked = piece.primitive.clone();
                bake(&mut baked, transform);
                push(baked, &piece.grid.transformed(transform), vec![Place::HERE]);
            }
            Some(place) if flips_winding(transform) => mirrored.push(place),
            Some(place) => straight.push(place),
        }
    }
    if !mirrored.is_empty() {
        let mut primitive = piece.primitive.clone();
        flip(&mut primitive);
        push(primitive, &piece.grid, mirrored);
    }
    if !straight.is_empty() {
        push(piece.primitive, &piece.grid, straight);
    }
}

/// Whether most triangles are wound against the normals of their corners. Some
/// exporters do not care about winding; a surface that is lit on both sides by
/// it would be lit from the wrong one.
fn winding_contradicts_normals(primitive: &Primitive) -> bool {
    let Some(normals) = &primitive.normals else { return false };
    if primitive.topology != Topology::Triangles {
        return false;
    }
    let (mut with, mut against) = (0usize, 0usize);
    for corners in primitive.indices.as_chunks::<3>().0 {
        let at = |list: &[[f32; 3]], i: u32| list.get(i as usize).copied().map(Vec3::from);
        let position = corners.map(|i| at(&primitive.positions, i).unwrap_or_default());
        let normal = corners.map(|i| at(normals, i).unwrap_or_default());
        let [a, b, c] = position;
        let sum = normal[0] + normal[1] + normal[2];
        let along = (b - a).cross(c - a).dot(sum);
        with += usize::from(along > 0.0);
        against += usize::from(along < 0.0);
    }
    against > with
}

fn flip(primitive: &mut Primitive) {
    if primitive.topology == Topology::Triangles {
        for [_, b, c] in primitive.indices.to_mut().as_chunks_mut::<3>().0 {
            std::mem::swap(b, c);
        }
    }
}

fn bake(primitive: &mut Primitive, transform: &Affine3A) {
    for position in primitive.positions.to_mut() {
        *position = transform.transform_point3(Vec3::from(*position)).to_array();
    }
    let turn = normal_matrix(transform);
    for normal in primitive.normals.iter_mut().flat_map(Array::to_mut) {
        *normal = unit(turn * glam::Vec3A::from(*normal), [0.0, 1.0, 0.0]);
    }
    if flips_winding(transform) {
        flip(primitive);
    }
    primitive.bounds = Bounds::of_points(&primitive.positions);
}

#[cfg(test)]
mod tests {
    use glam::Mat3;

    use super::*;
    use crate::model::compact::Indices;
    use crate::model::{Colors, Instance};

    fn triangle(normal: [f32; 3]) -> Primitive {
        let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        Primitive {
            topology: Topology::Triangles,
            bounds: Bounds::of_points(&positions),
            positions: positions.into(),
            normals: Some(vec![normal; 3].into()),
            colors: Some(Colors::U16(vec![[1, 2, 3, 65535]; 3].into())),
            uvs: None,
            uvs_1: None,
            indices: vec![0, 1, 2].into(),
            material: None,
        }
    }

    fn made_of(primitive: Primitive, transforms: Vec<Affine3A>) -> Vec<Part> {
        let place = |transform| Instance { primitive: 0, transform, node: None };
        let instances = transforms.into_iter().map(place).collect();
        parts(
            &mut DecodedModel { primitives: vec![primitive], instances, ..DecodedModel::default() },
            1 << 20,
        )
    }

    fn indices(part: &Part) -> Vec<u16> {
        let Indices::U16(indices) = &part.mesh.indices else { panic!() };
        indices.clone()
    }

    #[test]
    fn colours_keep_their_bits() {
        let made = made_of(triangle([0.0, 0.0, 1.0]), vec![Affine3A::IDENTITY]);
        assert_eq!(made[0].mesh.colors, Some(Colors::U16(vec![[1, 2, 3, 65535]; 3].into())));
    }

    #[test]
    fn mirrored_and_wrongly_wound_triangles_face_right() {
        let mirror = Affine3A::from_scale(Vec3::new(-1.0, 1.0, 1.0));
        let made = made_of(triangle([0.0, 0.0, 1.0]), vec![Affine3A::IDENTITY, mirror]);
        assert_eq!(made.iter().map(indices).collect::<Vec<_>>(), [[0, 2, 1], [0, 1, 2]]);
        let made = made_of(triangle([0.0, 0.0, -1.0]), vec![Affine3A::IDENTITY]);
        // Its vertices are in the order of their use.
        let (made, places) = (&made[0].mesh, [0, 2, 1]);
        let crate::model::compact::Positions::U16(positions) = &made.positions else { panic!() };
        let expected = [[0, 0, 0, 0], [65535, 0, 0, 0], [0, 65535, 0, 0]];
        assert_eq!(positions.to_vec(), places.map(|i| expected[i]));
    }

    #[test]
    fn a_sheared_instance_is_baked() {
        let shear = Affine3A::from_mat3(Mat3::from_cols(Vec3::X, Vec3::new(1.0, 1.0, 0.0), Vec3::Z));
        let made = made_of(triangle([0.0, 0.0, 1.0]), vec![shear]);
        assert_eq!(made[0].places, [Place::HERE]);
        let place = made[0].transform(&made[0].places[0]);
        let corner = place.translation + place.rotation * (place.scale * made[0].mesh.bounds.max);
        assert!(corner.abs_diff_eq(Vec3::new(1.0, 1.0, 0.0), 1e-4), "{corner}");
    }
}
