//! Pieces of a model as Bevy meshes. Runs on workers.
//!
//! Vertex colours keep the file's own bytes: Bevy's pipeline takes the format of
//! the colour attribute from the mesh, so that 8 and 16 bit colours need not
//! become floats, and the GPU's conversion of them is exact.

use bevy::{
    asset::RenderAssetUsages,
    mesh::{Indices, MeshVertexAttribute, PrimitiveTopology, VertexAttributeValues, VertexFormat},
    prelude::*,
};

use super::material::look_index;
use crate::model::{
    Bounds, Colors, Material, Primitive, Topology,
    split::{Piece, piece_bytes},
};

const COLOR_8: MeshVertexAttribute =
    MeshVertexAttribute { format: VertexFormat::Unorm8x4, ..Mesh::ATTRIBUTE_COLOR };
const COLOR_16: MeshVertexAttribute =
    MeshVertexAttribute { format: VertexFormat::Unorm16x4, ..Mesh::ATTRIBUTE_COLOR };

/// How far a transform may be from what its translation, rotation and scale
/// make, relative to its size, before it is put into the vertices instead.
const SHEAR_TOLERANCE: f32 = 1e-4;

/// One mesh and where it is shown.
pub(super) struct Part {
    /// None once uploaded.
    pub mesh: Option<Mesh>,
    pub bytes: usize,
    /// Which of the model's looks.
    pub look: usize,
    /// In the mesh's space.
    pub bounds: Bounds,
    pub transforms: Vec<Transform>,
}

/// Turns a piece into one part; into more where it is shown mirrored (the
/// winding must be turned round) or sheared (Bevy's transforms cannot say that).
pub(super) fn parts(mut piece: Piece, materials: &[Material], parts: &mut Vec<Part>) {
    if winding_contradicts_normals(&piece.primitive) {
        flip(&mut piece.primitive);
    }
    let mut straight = Vec::new();
    let mut mirrored = Vec::new();
    for transform in &piece.transforms {
        let (scale, rotation, translation) = transform.to_scale_rotation_translation();
        let simple = Transform { translation, rotation, scale };
        let difference = (simple.compute_affine().matrix3 - transform.matrix3).to_cols_array();
        let size = transform.matrix3.to_cols_array().iter().fold(0f32, |size, x| size.max(x.abs()));
        let sheared = difference.iter().any(|d| d.is_nan() || d.abs() > SHEAR_TOLERANCE * size);
        if sheared || !scale.is_finite() || !rotation.is_finite() {
            let mut baked = piece.primitive.clone();
            bake(&mut baked, transform);
            parts.push(part(baked, vec![Transform::IDENTITY], materials));
        } else if transform.matrix3.determinant() < 0.0 {
            mirrored.push(simple);
        } else {
            straight.push(simple);
        }
    }
    if !mirrored.is_empty() {
        let mut primitive = piece.primitive.clone();
        flip(&mut primitive);
        parts.push(part(primitive, mirrored, materials));
    }
    if !straight.is_empty() {
        parts.push(part(piece.primitive, straight, materials));
    }
}

fn part(primitive: Primitive, transforms: Vec<Transform>, materials: &[Material]) -> Part {
    let material = primitive.material.and_then(|m| materials.get(m));
    let needs_tangents = material.is_some_and(|m| m.normal_texture.is_some()) && primitive.uvs.is_some();
    Part {
        bytes: piece_bytes(&primitive),
        look: look_index(&primitive, materials),
        bounds: primitive.bounds,
        transforms,
        mesh: Some(mesh(primitive, needs_tangents)),
    }
}

fn mesh(primitive: Primitive, needs_tangents: bool) -> Mesh {
    let topology = match primitive.topology {
        Topology::Triangles => PrimitiveTopology::TriangleList,
        Topology::Lines => PrimitiveTopology::LineList,
        Topology::Points => PrimitiveTopology::PointList,
    };
    let mut mesh = Mesh::new(topology, RenderAssetUsages::RENDER_WORLD);
    mesh.insert_attribute(Mesh::ATTRIBUTE_POSITION, primitive.positions);
    if let Some(normals) = primitive.normals {
        mesh.insert_attribute(Mesh::ATTRIBUTE_NORMAL, normals);
    }
    if let Some(uvs) = primitive.uvs {
        mesh.insert_attribute(Mesh::ATTRIBUTE_UV_0, uvs);
    }
    match primitive.colors {
        Some(Colors::U8(c)) => mesh.insert_attribute(COLOR_8, VertexAttributeValues::Unorm8x4(c)),
        Some(Colors::U16(c)) => mesh.insert_attribute(COLOR_16, VertexAttributeValues::Unorm16x4(c)),
        Some(Colors::F32(c)) => mesh.insert_attribute(Mesh::ATTRIBUTE_COLOR, c),
        None => {}
    }
    // 16 bits suffice for the small meshes of molecules, and halve their indices.
    let few = primitive.indices.iter().all(|&index| index < u32::from(u16::MAX));
    mesh.insert_indices(if few {
        Indices::U16(primitive.indices.iter().map(|&index| index as u16).collect())
    } else {
        Indices::U32(primitive.indices)
    });
    // Without tangents the normal texture has no effect, which is better than no mesh.
    if needs_tangents && let Err(error) = mesh.generate_tangents() {
        debug!("no tangents: {error}");
    }
    mesh
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
        for [_, b, c] in primitive.indices.as_chunks_mut::<3>().0 {
            std::mem::swap(b, c);
        }
    }
}

fn bake(primitive: &mut Primitive, transform: &bevy::math::Affine3A) {
    for position in &mut primitive.positions {
        *position = transform.transform_point3(Vec3::from(*position)).to_array();
    }
    // The cofactors turn normals like the inverse transpose, and are there for flat transforms too.
    let m = transform.matrix3;
    let sign = if m.determinant() < 0.0 { -1.0 } else { 1.0 };
    let cofactors = [m.y_axis.cross(m.z_axis), m.z_axis.cross(m.x_axis), m.x_axis.cross(m.y_axis)];
    for normal in primitive.normals.iter_mut().flatten() {
        let [x, y, z] = *normal;
        let turned = (cofactors[0] * x + cofactors[1] * y + cofactors[2] * z) * sign;
        *normal = Vec3::from(turned).normalize_or(Vec3::Y).to_array();
    }
    if sign < 0.0 {
        flip(primitive);
    }
    primitive.bounds = Bounds::of_points(&primitive.positions);
}

#[cfg(test)]
mod tests {
    use bevy::math::Affine3A;

    use super::*;

    fn triangle(normal: [f32; 3]) -> Primitive {
        let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        Primitive {
            topology: Topology::Triangles,
            bounds: Bounds::of_points(&positions),
            positions,
            normals: Some(vec![normal; 3]),
            colors: Some(Colors::U16(vec![[1, 2, 3, 65535]; 3])),
            uvs: None,
            uvs_1: None,
            indices: vec![0, 1, 2],
            material: None,
        }
    }

    fn made_of(primitive: Primitive, transforms: Vec<Affine3A>) -> Vec<Part> {
        let mut made = Vec::new();
        parts(Piece { primitive, transforms }, &[], &mut made);
        made
    }

    fn indices(part: &Part) -> Vec<usize> {
        part.mesh.as_ref().unwrap().indices().unwrap().iter().collect()
    }

    #[test]
    fn colours_keep_their_bits() {
        let made = made_of(triangle([0.0, 0.0, 1.0]), vec![Affine3A::IDENTITY]);
        let mesh = made[0].mesh.as_ref().unwrap();
        let Some(VertexAttributeValues::Unorm16x4(colours)) = mesh.attribute(Mesh::ATTRIBUTE_COLOR) else {
            panic!("the colours were converted");
        };
        assert_eq!(colours[0], [1, 2, 3, 65535]);
        assert_eq!(mesh.asset_usage, RenderAssetUsages::RENDER_WORLD);
    }

    #[test]
    fn mirrored_and_wrongly_wound_triangles_face_right() {
        let mirror = Affine3A::from_scale(Vec3::new(-1.0, 1.0, 1.0));
        let made = made_of(triangle([0.0, 0.0, 1.0]), vec![Affine3A::IDENTITY, mirror]);
        assert_eq!(made.iter().map(indices).collect::<Vec<_>>(), [[0, 2, 1], [0, 1, 2]]);
        let made = made_of(triangle([0.0, 0.0, -1.0]), vec![Affine3A::IDENTITY]);
        assert_eq!(indices(&made[0]), [0, 2, 1]);
    }

    #[test]
    fn a_sheared_instance_is_baked() {
        let shear = Affine3A::from_mat3(Mat3::from_cols(Vec3::X, Vec3::new(1.0, 1.0, 0.0), Vec3::Z));
        let made = made_of(triangle([0.0, 0.0, 1.0]), vec![shear]);
        assert_eq!(made[0].transforms, [Transform::IDENTITY]);
        assert_eq!(made[0].bounds.max, Vec3::new(1.0, 1.0, 0.0));
    }
}
