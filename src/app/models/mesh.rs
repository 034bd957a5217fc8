//! Parts of a model as Bevy meshes. Runs on workers.
//!
//! Bevy's pipeline takes the format of each attribute from the mesh, and a GPU turns
//! whole numbers into fractions by itself and exactly: so nothing need become floats.

use bevy::{
    asset::RenderAssetUsages,
    math::bounding::Aabb3d,
    mesh::{MeshVertexAttribute, PrimitiveTopology, VertexAttributeValues, VertexFormat},
    prelude::*,
};

use super::material::LookKey;
use crate::model::{
    Bounds, Colors, Topology,
    compact::{Compact, Indices, Normals, Positions, Uvs},
    parts,
};

const fn stored_as(attribute: MeshVertexAttribute, format: VertexFormat) -> MeshVertexAttribute {
    MeshVertexAttribute { format, ..attribute }
}

const POSITION_16: MeshVertexAttribute = stored_as(Mesh::ATTRIBUTE_POSITION, VertexFormat::Unorm16x4);
const NORMAL_8: MeshVertexAttribute = stored_as(Mesh::ATTRIBUTE_NORMAL, VertexFormat::Snorm8x4);
const COLOR_8: MeshVertexAttribute = stored_as(Mesh::ATTRIBUTE_COLOR, VertexFormat::Unorm8x4);
const COLOR_16: MeshVertexAttribute = stored_as(Mesh::ATTRIBUTE_COLOR, VertexFormat::Unorm16x4);

/// One mesh and where it is shown.
pub(super) struct Part {
    /// None once uploaded.
    pub mesh: Option<Mesh>,
    pub bytes: usize,
    /// Which of the model's looks, each drawn once.
    pub looks: Vec<LookKey>,
    /// In the mesh's space.
    pub bounds: Bounds,
    pub transforms: Vec<Transform>,
    /// Of the model's motion: what moves it, what bends it.
    pub node: Option<usize>,
    pub rig: Option<usize>,
}

pub(super) fn part(part: parts::Part, looks: Vec<LookKey>, needs_tangents: bool) -> Part {
    let place = |place: &parts::Place| {
        let parts::Place { translation, rotation, scale } = part.transform(place);
        Transform { translation, rotation, scale }
    };
    Part {
        transforms: part.places.iter().map(place).collect(),
        bytes: part.mesh.bytes(),
        looks,
        bounds: part.mesh.bounds,
        node: part.node,
        rig: part.rig,
        mesh: Some(mesh(part.mesh, needs_tangents, part.rig.is_some())),
    }
}

/// `bends`: its vertices are changed later, so a copy stays in memory.
fn mesh(compact: Compact, needs_tangents: bool, bends: bool) -> Mesh {
    let topology = match compact.topology {
        Topology::Triangles => PrimitiveTopology::TriangleList,
        Topology::Lines => PrimitiveTopology::LineList,
        Topology::Points => PrimitiveTopology::PointList,
    };
    let usages = if bends { RenderAssetUsages::default() } else { RenderAssetUsages::RENDER_WORLD };
    let mut mesh = Mesh::new(topology, usages);
    match compact.positions {
        Positions::U16(p) => mesh.insert_attribute(POSITION_16, VertexAttributeValues::Unorm16x4(p)),
        Positions::F32(p) => mesh.insert_attribute(Mesh::ATTRIBUTE_POSITION, p),
    }
    match compact.normals {
        Some(Normals::I8(n)) => mesh.insert_attribute(NORMAL_8, VertexAttributeValues::Snorm8x4(n)),
        Some(Normals::F32(n)) => mesh.insert_attribute(Mesh::ATTRIBUTE_NORMAL, n),
        None => {}
    }
    for (uvs, attribute) in compact.uvs.into_iter().zip([Mesh::ATTRIBUTE_UV_0, Mesh::ATTRIBUTE_UV_1]) {
        match uvs {
            Some(Uvs::U16(uvs)) => {
                let attribute = stored_as(attribute, VertexFormat::Unorm16x2);
                mesh.insert_attribute(attribute, VertexAttributeValues::Unorm16x2(uvs));
            }
            Some(Uvs::F32(uvs)) => mesh.insert_attribute(attribute, uvs),
            None => {}
        }
    }
    match compact.colors {
        Some(Colors::U8(c)) => mesh.insert_attribute(COLOR_8, VertexAttributeValues::Unorm8x4(c.into_vec())),
        Some(Colors::U16(c)) => {
            mesh.insert_attribute(COLOR_16, VertexAttributeValues::Unorm16x4(c.into_vec()))
        }
        Some(Colors::F32(c)) => mesh.insert_attribute(Mesh::ATTRIBUTE_COLOR, c.into_vec()),
        None => {}
    }
    mesh.insert_indices(match compact.indices {
        Indices::U16(indices) => bevy::mesh::Indices::U16(indices),
        Indices::U32(indices) => bevy::mesh::Indices::U32(indices),
    });
    // Without tangents the normal texture has no effect, which is better than no mesh.
    if needs_tangents && let Err(error) = mesh.generate_tangents() {
        debug!("no tangents: {error}");
    }
    // What transparent surfaces are sorted by.
    mesh.final_aabb = Some(Aabb3d::from_min_max(compact.grid.min, compact.grid.max));
    mesh
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Primitive;

    fn triangle() -> Primitive {
        let positions = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        Primitive {
            topology: Topology::Triangles,
            bounds: Bounds::of_points(&positions),
            positions: positions.into(),
            normals: Some(vec![[0.0, 0.0, 1.0]; 3].into()),
            colors: Some(Colors::U16(vec![[1, 2, 3, 65535]; 3].into())),
            uvs: Some(vec![[0.0, 1.0]; 3].into()),
            uvs_1: None,
            indices: vec![0, 1, 2].into(),
            material: None,
        }
    }

    #[test]
    fn numbers_go_to_the_gpu_as_they_are_stored() {
        let primitive = triangle();
        let bounds = primitive.bounds;
        let mesh = mesh(Compact::of(primitive, &bounds), false, false);
        let Some(VertexAttributeValues::Unorm16x4(colours)) = mesh.attribute(Mesh::ATTRIBUTE_COLOR) else {
            panic!("the colours were converted");
        };
        assert_eq!(colours[0], [1, 2, 3, 65535]);
        let Some(VertexAttributeValues::Unorm16x4(positions)) = mesh.attribute(Mesh::ATTRIBUTE_POSITION)
        else {
            panic!("the positions were converted");
        };
        assert_eq!(positions[1], [65535, 0, 0, 0]);
        assert_eq!(mesh.asset_usage, RenderAssetUsages::RENDER_WORLD);
        // 8 for the position, 4 for the normal, 8 for the colour, 4 for the coordinates.
        assert_eq!(mesh.get_vertex_buffer_size(), 3 * 24);
    }

    #[test]
    fn what_bends_stays_in_memory_in_floats() {
        let mesh = mesh(Compact::plain(triangle()), false, true);
        assert_eq!(mesh.asset_usage, RenderAssetUsages::default());
        assert!(matches!(
            mesh.attribute(Mesh::ATTRIBUTE_POSITION),
            Some(VertexAttributeValues::Float32x3(_))
        ));
    }
}
