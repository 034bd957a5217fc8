//! Pieces of a size that can be uploaded to the GPU within a frame.
//!
//! A large surface is cut, so that no frame waits for all of it; many small
//! meshes of one look (a ChimeraX molecule has hundreds) are merged, so that
//! they are not hundreds of draws. Pieces keep every triangle, in the file's order.

use std::collections::HashMap;

use glam::{Affine3A, Vec3, Vec3A};

use super::array::Array;
use super::bounds::Bounds;
use super::decoded::{Colors, DecodedModel, Instance, Primitive, Topology, flips_winding, normal_matrix};
use super::material::Alpha;

/// Geometry for one GPU mesh.
#[derive(Debug, Clone)]
pub struct Piece {
    /// The geometry, of the same form as in the model.
    pub primitive: Primitive,
    /// model_from_primitive, once for each place where it is shown. May mirror:
    /// see [`Instance::flips_winding`](super::Instance::flips_winding).
    pub transforms: Vec<Affine3A>,
    /// The node of the model's [`Motion`](super::motion::Motion) that moves all of them.
    pub node: Option<usize>,
    /// The rig of the model's motion that changes the vertices, which are then all in
    /// one piece and in their own order.
    pub rig: Option<usize>,
    /// Box around all of the primitive that this was cut from, or of this one.
    pub grid: Bounds,
}

/// Bytes per vertex as it is uploaded: position 12, normal 12, colour 4, 8 or 16
/// by its type, each set of texture coordinates 8, each if there is one.
#[must_use]
pub fn vertex_bytes(primitive: &Primitive) -> usize {
    12 + primitive.normals.as_ref().map_or(0, |_| 12)
        + primitive.colors.as_ref().map_or(0, Colors::stride)
        + primitive.uvs.as_ref().map_or(0, |_| 8)
        + primitive.uvs_1.as_ref().map_or(0, |_| 8)
}

/// Bytes of a GPU mesh made of a primitive: [`vertex_bytes`] for each vertex and 4
/// for each index.
#[must_use]
pub fn piece_bytes(primitive: &Primitive) -> usize {
    primitive.positions.len() * vertex_bytes(primitive) + primitive.indices.len() * INDEX_BYTES
}

const INDEX_BYTES: usize = 4;

/// Vertices of a piece, so that 16 bits suffice for its indices.
const MAX_VERTICES: usize = 65_535;

/// Cuts and merges a model's primitives into pieces of at most `max_mesh_bytes`
/// as [`piece_bytes`] counts them (but of one triangle, line or point at least) and
/// of at most 65,535 vertices.
///
/// Primitives are merged if they are shown once, have the same material,
/// topology and attributes, and are not transparent: those are sorted by
/// distance, which works for separate meshes only. Their transforms are baked in.
#[must_use]
pub fn split(model: &DecodedModel, max_mesh_bytes: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    split_into(&mut model.clone(), max_mesh_bytes, |piece| pieces.push(piece));
    pieces
}

/// The same, one by one: takes the primitives out of the model, so that not all
/// are in memory twice. Those that are merged come last.
pub fn split_into(model: &mut DecodedModel, max_mesh_bytes: usize, mut emit: impl FnMut(Piece)) {
    let mut transforms: Vec<Vec<Affine3A>> = vec![Vec::new(); model.primitives.len()];
    for piece in moving(model, &mut transforms) {
        emit(piece);
    }
    // The piece of each look that can still grow.
    let mut growing: HashMap<Look, Piece> = HashMap::new();
    let primitives = std::mem::take(&mut model.primitives);
    for (primitive, transforms) in primitives.into_iter().zip(transforms) {
        let bytes = piece_bytes(&primitive);
        let whole = |primitive: Primitive, transforms| Piece {
            grid: primitive.bounds,
            primitive,
            transforms,
            node: None,
            rig: None,
        };
        match &transforms[..] {
            [] => {}
            _ if bytes > max_mesh_bytes || primitive.positions.len() > MAX_VERTICES => {
                cut(&primitive, max_mesh_bytes, |part| {
                    emit(Piece { grid: primitive.bounds, ..whole(part, transforms.clone()) });
                })
            }
            [transform] if is_mergeable(&primitive, model) => {
                let look = Look::of(&primitive);
                let vertices = primitive.positions.len();
                let room = |piece: &Piece| {
                    piece_bytes(&piece.primitive) + bytes <= max_mesh_bytes
                        && piece.primitive.positions.len() + vertices <= MAX_VERTICES
                };
                match growing.get_mut(&look) {
                    Some(piece) if room(piece) => append(piece, &primitive, transform),
                    _ => {
                        if let Some(full) = growing.insert(look, whole(primitive, transforms)) {
                            emit(full);
                        }
                    }
                }
            }
            _ => emit(whole(primitive, transforms)),
        }
    }
    // In the file's order of materials, so that the same file gives the same pieces.
    let mut rest: Vec<Piece> = growing.into_values().collect();
    rest.sort_by_key(|piece| {
        (piece.primitive.material, piece.primitive.topology.corners(), piece.primitive.positions.len())
    });
    rest.into_iter().for_each(emit);
}

/// Pieces for what moves, which is neither cut nor merged; where the rest is goes
/// into the lists of each primitive.
fn moving(model: &DecodedModel, rest: &mut [Vec<Affine3A>]) -> Vec<Piece> {
    let rigs = model.motion.as_ref().map_or(&[][..], |motion| &motion.rigs);
    let rigs: HashMap<usize, usize> =
        rigs.iter().enumerate().map(|(rig, data)| (data.primitive, rig)).collect();
    let mut pieces: Vec<Piece> = Vec::new();
    let mut known: HashMap<(usize, Option<usize>), usize> = HashMap::new();
    for &Instance { primitive: number, transform, node } in &model.instances {
        let (Some(primitive), Some(list)) = (model.primitives.get(number), rest.get_mut(number)) else {
            continue;
        };
        let rig = rigs.get(&number).copied();
        if node.is_none() && rig.is_none() {
            list.push(transform);
            continue;
        }
        let piece = known.get(&(number, node)).and_then(|&piece| pieces.get_mut(piece));
        match piece {
            Some(piece) => piece.transforms.push(transform),
            None => {
                known.insert((number, node), pieces.len());
                let (primitive, grid) = (primitive.clone(), primitive.bounds);
                pieces.push(Piece { primitive, transforms: vec![transform], node, rig, grid });
            }
        }
    }
    pieces
}

/// What primitives must have in common to become one.
#[derive(PartialEq, Eq, Hash)]
struct Look {
    material: Option<usize>,
    topology: Topology,
    normals: bool,
    color_stride: usize,
    uvs: [bool; 2],
}

impl Look {
    fn of(primitive: &Primitive) -> Self {
        Self {
            material: primitive.material,
            topology: primitive.topology,
            normals: primitive.normals.is_some(),
            color_stride: primitive.colors.as_ref().map_or(0, Colors::stride),
            uvs: [primitive.uvs.is_some(), primitive.uvs_1.is_some()],
        }
    }
}

fn is_mergeable(primitive: &Primitive, model: &DecodedModel) -> bool {
    let material = primitive.material.and_then(|material| model.materials.get(material));
    material.is_none_or(|material| material.alpha != Alpha::Blend)
}

/// Appends a primitive, placed by `transform`, to a piece of the same look.
fn append(piece: &mut Piece, primitive: &Primitive, transform: &Affine3A) {
    bake(piece);
    let to = &mut piece.primitive;
    let start = u32::try_from(to.positions.len()).unwrap_or(u32::MAX);
    let from = to.indices.len();
    let vertex = to.positions.len();
    to.positions.to_mut().extend_from_slice(&primitive.positions);
    if let (Some(to), Some(normals)) = (&mut to.normals, &primitive.normals) {
        to.to_mut().extend_from_slice(normals);
    }
    for (to, from) in [(&mut to.uvs, &primitive.uvs), (&mut to.uvs_1, &primitive.uvs_1)] {
        if let (Some(to), Some(from)) = (to, from) {
            to.to_mut().extend_from_slice(from);
        }
    }
    match (&mut to.colors, &primitive.colors) {
        (Some(Colors::U8(to)), Some(Colors::U8(colors))) => to.to_mut().extend_from_slice(colors),
        (Some(Colors::U16(to)), Some(Colors::U16(colors))) => to.to_mut().extend_from_slice(colors),
        (Some(Colors::F32(to)), Some(Colors::F32(colors))) => to.to_mut().extend_from_slice(colors),
        _ => {}
    }
    to.indices.to_mut().extend(primitive.indices.iter().map(|index| index.saturating_add(start)));
    let bounds = transform_vertices(to, vertex, from, transform);
    to.bounds = to.bounds.union(bounds);
    piece.grid = to.bounds;
}

/// Puts a piece's only transform into its vertices.
fn bake(piece: &mut Piece) {
    if let [transform] = &mut piece.transforms[..] {
        let transform = std::mem::replace(transform, Affine3A::IDENTITY);
        piece.primitive.bounds = transform_vertices(&mut piece.primitive, 0, 0, &transform);
    }
}

/// Transforms the vertices from number `vertex` on, whose indices begin at `index`.
fn transform_vertices(
    primitive: &mut Primitive,
    vertex: usize,
    index: usize,
    transform: &Affine3A,
) -> Bounds {
    if *transform == Affine3A::IDENTITY {
        return Bounds::of_points(primitive.positions.get(vertex..).unwrap_or_default());
    }
    let positions = primitive.positions.to_mut().get_mut(vertex..).unwrap_or_default();
    let mut bounds = Bounds::empty();
    for position in positions {
        let moved = transform.transform_point3(Vec3::from(*position));
        bounds = bounds.with(moved);
        *position = moved.to_array();
    }
    let turn = normal_matrix(transform);
    for normal in
        primitive.normals.as_mut().and_then(|list| list.to_mut().get_mut(vertex..)).unwrap_or_default()
    {
        *normal = (turn * Vec3A::from(*normal)).normalize_or(Vec3A::Z).to_array();
    }
    if flips_winding(transform) && primitive.topology == Topology::Triangles {
        let (triangles, _) =
            primitive.indices.to_mut().get_mut(index..).unwrap_or_default().as_chunks_mut::<3>();
        for [_, b, c] in triangles {
            std::mem::swap(b, c);
        }
    }
    bounds
}

/// Cuts a primitive, element by element in order, into parts that fit.
fn cut(primitive: &Primitive, max_mesh_bytes: usize, mut emit: impl FnMut(Primitive)) {
    let corners = primitive.topology.corners();
    let per_vertex = vertex_bytes(primitive);
    // For each vertex: which part it was last used in, and its number there. Faster than a map.
    let mut places = vec![(0u32, 0u32); primitive.positions.len()];
    let mut part = 1u32;
    let mut vertices: Vec<u32> = Vec::new();
    let mut indices: Vec<u32> = Vec::new();
    for element in primitive.indices.chunks_exact(corners) {
        let place = |index: u32| places.get(index as usize).is_some_and(|&(used_in, _)| used_in == part);
        // Counts a vertex twice that the element itself has twice: harmless.
        let new = element.iter().filter(|&&index| !place(index)).count();
        let bytes = (vertices.len() + new) * per_vertex + (indices.len() + corners) * INDEX_BYTES;
        if (bytes > max_mesh_bytes || vertices.len() + new > MAX_VERTICES) && !indices.is_empty() {
            emit(gather(primitive, &vertices, std::mem::take(&mut indices)));
            vertices.clear();
            part += 1;
        }
        for &index in element {
            let Some(place) = places.get_mut(index as usize) else { continue };
            if place.0 != part {
                *place = (part, u32::try_from(vertices.len()).unwrap_or(u32::MAX));
                vertices.push(index);
            }
            indices.push(place.1);
        }
    }
    if !indices.is_empty() {
        emit(gather(primitive, &vertices, indices));
    }
}

/// A primitive of some vertices of another, and indices into them.
fn gather(primitive: &Primitive, vertices: &[u32], indices: Vec<u32>) -> Primitive {
    fn pick<T: Copy + Default>(from: &[T], vertices: &[u32]) -> Array<T> {
        vertices.iter().map(|&vertex| from.get(vertex as usize).copied().unwrap_or_default()).collect()
    }
    let positions = pick(&primitive.positions, vertices);
    Primitive {
        topology: primitive.topology,
        normals: primitive.normals.as_ref().map(|normals| pick(normals, vertices)),
        colors: primitive.colors.as_ref().map(|colors| match colors {
            Colors::U8(colors) => Colors::U8(pick(colors, vertices)),
            Colors::U16(colors) => Colors::U16(pick(colors, vertices)),
            Colors::F32(colors) => Colors::F32(pick(colors, vertices)),
        }),
        uvs: primitive.uvs.as_ref().map(|uvs| pick(uvs, vertices)),
        uvs_1: primitive.uvs_1.as_ref().map(|uvs| pick(uvs, vertices)),
        bounds: Bounds::of_points(&positions),
        positions,
        indices: indices.into(),
        material: primitive.material,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn primitive(vertices: usize, indices: Vec<u32>) -> Primitive {
        let positions: Array<_> =
            (0..vertices).map(|i| [i as f32, (i * i % 7) as f32, (i % 3) as f32]).collect();
        Primitive {
            topology: Topology::Triangles,
            normals: Some(vec![[0.0, 0.0, 1.0]; vertices].into()),
            colors: Some(Colors::U8((0..vertices).map(|i| [i as u8; 4]).collect())),
            uvs: None,
            uvs_1: None,
            bounds: Bounds::of_points(&positions),
            positions,
            indices: indices.into(),
            material: None,
        }
    }

    fn model(primitives: Vec<Primitive>, transforms: &[(usize, Affine3A)]) -> DecodedModel {
        let instances = transforms
            .iter()
            .map(|&(primitive, transform)| Instance { primitive, transform, node: None })
            .collect();
        DecodedModel { primitives, instances, ..DecodedModel::default() }
    }

    /// All triangles as shown: positions rounded, with their colours, in a canonical order.
    fn triangles<'a>(
        parts: impl Iterator<Item = (&'a Primitive, Affine3A)>,
    ) -> Vec<[(i64, i64, i64, u8); 3]> {
        let mut all = Vec::new();
        for (primitive, transform) in parts {
            let Some(Colors::U8(colors)) = &primitive.colors else { panic!() };
            for triangle in primitive.indices.as_chunks::<3>().0 {
                let mut corners = triangle.map(|i| {
                    let moved = transform.transform_point3(primitive.positions[i as usize].into());
                    let [x, y, z] = moved.to_array().map(|v| (v * 1000.0).round() as i64);
                    (x, y, z, colors[i as usize][0])
                });
                if flips_winding(&transform) {
                    corners.swap(1, 2);
                }
                all.push(corners);
            }
        }
        all.sort_unstable();
        all
    }

    fn shown(model: &DecodedModel) -> Vec<[(i64, i64, i64, u8); 3]> {
        triangles(model.instances.iter().map(|i| (&model.primitives[i.primitive], i.transform)))
    }

    fn shown_pieces(pieces: &[Piece]) -> Vec<[(i64, i64, i64, u8); 3]> {
        triangles(pieces.iter().flat_map(|p| p.transforms.iter().map(|&transform| (&p.primitive, transform))))
    }

    proptest! {
        #[test]
        fn pieces_hold_every_triangle_and_fit(
            indices in prop::collection::vec((0u32..40, 0u32..40, 0u32..40), 1..120),
            max in 200usize..3000,
        ) {
            let indices = indices.into_iter().flat_map(|(a, b, c)| [a, b, c]).collect();
            let model = model(vec![primitive(40, indices)], &[(0, Affine3A::IDENTITY)]);
            let pieces = split(&model, max);
            prop_assert_eq!(shown(&model), shown_pieces(&pieces));
            for piece in &pieces {
                prop_assert!(piece_bytes(&piece.primitive) <= max);
                prop_assert_eq!(piece.primitive.bounds, Bounds::of_points(&piece.primitive.positions));
            }
        }
    }

    #[test]
    fn small_primitives_are_merged_where_they_are() {
        let moves = [
            Affine3A::from_translation(Vec3::X * 100.0),
            Affine3A::from_scale(Vec3::new(-2.0, 1.0, 1.0)),
            Affine3A::from_rotation_x(1.0),
        ];
        let parts: Vec<_> = (0..3).map(|_| primitive(6, vec![0, 1, 2, 3, 4, 5])).collect();
        let model = model(parts, &[(0, moves[0]), (1, moves[1]), (2, moves[2])]);
        let pieces = split(&model, 1 << 20);
        assert_eq!(pieces.len(), 1);
        assert_eq!(shown(&model), shown_pieces(&pieces));
        let normals = pieces[0].primitive.normals.as_ref().unwrap();
        assert_eq!(normals[0], [0.0, 0.0, 1.0]);
        assert_eq!(normals[6], [0.0, 0.0, 1.0], "mirrored along x");
        assert!(Vec3::from(normals[12]).abs_diff_eq(moves[2].transform_vector3(Vec3::Z), 1e-6));
    }

    #[test]
    fn what_is_shown_twice_or_looks_different_stays_apart() {
        let mut other = primitive(3, vec![0, 1, 2]);
        other.material = Some(0);
        let parts = vec![
            primitive(3, vec![0, 1, 2]),
            primitive(3, vec![0, 1, 2]),
            other,
            primitive(3, vec![0, 1, 2]),
        ];
        let one = Affine3A::IDENTITY;
        let model =
            model(parts, &[(0, one), (0, Affine3A::from_scale(Vec3::splat(3.0))), (1, one), (2, one)]);
        let pieces = split(&model, 1 << 20);
        assert_eq!(pieces.iter().map(|piece| piece.transforms.len()).collect::<Vec<_>>(), [2, 1, 1]);
        assert_eq!(shown(&model), shown_pieces(&pieces));
    }

    #[test]
    fn merging_stops_at_the_limit() {
        let parts: Vec<_> = (0..10).map(|_| primitive(3, vec![0, 1, 2])).collect();
        let bytes = piece_bytes(&parts[0]);
        assert_eq!(bytes, 3 * (12 + 12 + 4) + 3 * 4);
        let places: Vec<_> = (0..10).map(|i| (i, Affine3A::IDENTITY)).collect();
        let pieces = split(&model(parts, &places), bytes * 4);
        assert_eq!(pieces.len(), 3);
    }
}
