//! What becomes of a file: which of its geometry is plain and travels in parts,
//! and what stays of the file without it.

use std::{ops::Range, sync::OnceLock};

use bytes::Bytes;
use glam::{DAffine3, Vec3};
use serde_json::Value;

use super::{
    boxes::{self, Box3, Extent},
    chunk::Encoded,
    gltf::{self, Array, F32, U8, U16, U32},
    lattice,
    part::{Encoding, Extra, MAX_EXTRAS},
    quantize::{Grid, NormalBits},
    skeleton::{self, Skeleton},
};

/// Vertices of a part, about.
const PART_VERTICES: usize = 60_000;
/// Vertices of the first part of a model that has several, about: it is there
/// sooner, and tells how fast the link is.
const FIRST_VERTICES: usize = 12_000;
/// Triangles of a part at most, however few vertices they have.
const PART_TRIANGLES: usize = 250_000;
/// Parts of a model at most.
const MAX_PARTS: usize = 4096;
/// Meshes with fewer triangles than this on average are alike small ones: atoms.
const SMALL_TRIANGLES: usize = 4000;
/// A model with fewer triangles is not worth the parts.
const WORTH_TRIANGLES: usize = 500;
/// Vertices and indices that are looked at in all. Primitives may share theirs: a
/// small file could have any number.
const MAX_LOOKS: usize = 1 << 28;

/// Chunks that can be made ahead: the head and two parts.
pub const AHEAD: usize = 3;

/// Extensions that refer to no array and change no geometry. A file with others
/// travels exactly.
const HARMLESS: &[&str] =
    &["KHR_texture_transform", "KHR_texture_basisu", "EXT_texture_webp", "KHR_lights_punctual"];

/// A primitive of triangles with nothing unusual about it.
#[derive(Debug, Clone)]
pub(super) struct Plain {
    pub(super) positions: Array,
    pub(super) normals: Option<Array>,
    pub(super) colors: Option<Array>,
    pub(super) extras: Vec<(Extra, Array)>,
    pub(super) indices: Array,
    pub(super) material: Option<u32>,
    /// model_from_mesh, if it goes into the model's own space.
    pub(super) transform: Option<DAffine3>,
    /// In the mesh's space.
    pub(super) extent: Extent,
}

impl Plain {
    /// The box around what is shown of it, in the space that it goes into.
    fn shown(&self) -> Box3 {
        self.transform.map_or(self.extent.shown, |transform| self.extent.shown.placed(&transform))
    }

    pub(super) fn triangles(&self) -> usize {
        self.indices.count / 3
    }
}

/// Some triangles of a primitive.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    /// Index into [`Plan::plain`].
    pub(super) plain: usize,
    pub(super) triangles: Range<usize>,
}

/// A part to be encoded.
#[derive(Debug, Clone)]
pub(super) struct PartPlan {
    pub(super) pieces: Vec<Piece>,
    /// In the skeleton; none: the model's own space.
    pub(super) mesh: Option<u32>,
    pub(super) material: Option<u32>,
    pub(super) grid: Grid,
    /// Many alike small meshes.
    pub(super) small: bool,
    /// About.
    pub(super) vertices: usize,
    /// Vertices without a triangle that give it the box of what it is a part of, in
    /// its space.
    pub(super) anchors: Vec<[f32; 3]>,
}

/// How a file travels in parts.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) glb: Bytes,
    pub(super) plain: Vec<Plain>,
    pub(super) parts: Vec<PartPlan>,
    pub(super) skeleton: Skeleton,
    /// The first chunks, made before anybody asks for them.
    ahead: [OnceLock<Option<Encoded>>; AHEAD],
}

/// What primitives must have in common to be one part.
#[derive(Debug, Clone, PartialEq)]
struct Look {
    mesh: Option<u32>,
    /// It keeps its own box: the plain primitive that it is.
    alone: Option<usize>,
    material: Option<u32>,
    normals: bool,
    color_bytes: usize,
    extras: Vec<Extra>,
}

impl Plan {
    /// Looks at a file.
    ///
    /// # Errors
    /// Why it is to travel exactly as it is, for a person who asks.
    pub fn new(glb: &Bytes) -> Result<Self, &'static str> {
        let (json, bin) = gltf::open(glb)?;
        check(&json)?;
        let places = places(&json)?;
        let mut sorter = Sorter::new(&json, bin, glb);
        let taken = sorter.take_plain(&places)?;
        let Sorter { bin, plain, looks, .. } = sorter;
        let triangles: usize = plain.iter().map(Plain::triangles).sum();
        if triangles < WORTH_TRIANGLES {
            return Err("it has hardly any plain geometry");
        }
        let (skeleton, meshes) = skeleton::without(&json, &bin, &taken)?;
        let parts = parts(glb, &plain, &looks, &meshes)?;
        Ok(Self { glb: glb.clone(), plain, parts, skeleton, ahead: Default::default() })
    }

    /// Makes a chunk and, of the first [`AHEAD`], keeps it: who asks for it later, in
    /// whatever encoding, gets it as it is. Whoever asks meanwhile waits for it.
    #[must_use]
    pub fn encode_once(&self, index: u32, encoding: Encoding, bits: NormalBits) -> Option<Encoded> {
        match self.ahead.get(index as usize) {
            Some(made) => made.get_or_init(|| self.encode(index, encoding, bits)).clone(),
            None => self.encode(index, encoding, bits),
        }
    }

    /// Whether [`Self::encode_once`] has made this chunk.
    #[must_use]
    pub fn is_made(&self, index: u32) -> bool {
        self.ahead.get(index as usize).is_some_and(|made| made.get().is_some())
    }

    /// Chunks in all: the head, the parts, the rest.
    #[must_use]
    pub fn chunk_count(&self) -> u32 {
        // Bounded far below by the limits on parts and files.
        (1 + self.parts.len() + self.skeleton.rest_chunks()) as u32
    }

    /// Parts of geometry; they are chunks 1 and on.
    #[must_use]
    pub fn part_count(&self) -> u32 {
        self.parts.len() as u32
    }

    /// Vertices of the part that is this chunk, about; none if it is no part.
    #[must_use]
    pub fn part_vertices(&self, chunk: u32) -> usize {
        let part = (chunk as usize).checked_sub(1).and_then(|number| self.parts.get(number));
        part.map_or(0, |part| part.vertices)
    }

    /// How far a position may come to lie from where it was, at most, in the units
    /// of the space that its part is in.
    #[must_use]
    pub fn max_error(&self) -> f32 {
        self.parts.iter().map(|part| part.grid.max_error()).fold(0.0, f32::max)
    }
}

/// Whether nothing else in a file depends on where its geometry is and in which order.
fn check(json: &Value) -> Result<(), &'static str> {
    for (name, why) in [("animations", "it has animations"), ("skins", "it has skins")] {
        if !gltf::list(json, name).is_empty() {
            return Err(why);
        }
    }
    if gltf::list(json, "buffers").len() != 1 || json["buffers"][0].get("uri").is_some() {
        return Err("its buffers are unusual");
    }
    for name in ["extensionsUsed", "extensionsRequired"] {
        let listed = gltf::list(json, name).iter();
        if !listed.map(|name| name.as_str().unwrap_or_default()).all(is_harmless) {
            return Err(EXTENSION);
        }
    }
    // They count where they stand, listed or not.
    if has_only_harmless(json) { Ok(()) } else { Err(EXTENSION) }
}

const EXTENSION: &str = "it uses an extension that may refer to its geometry";

fn is_harmless(extension: &str) -> bool {
    HARMLESS.contains(&extension) || extension.starts_with("KHR_materials_")
}

/// Whether nothing in a description, however deep, has other extensions. Its depth is
/// bounded by the parser.
fn has_only_harmless(json: &Value) -> bool {
    match json {
        Value::Array(list) => list.iter().all(has_only_harmless),
        Value::Object(object) => object.iter().all(|(name, value)| {
            let harmless = name != "extensions"
                || value.as_object().is_some_and(|all| all.keys().all(|name| is_harmless(name)));
            harmless && has_only_harmless(value)
        }),
        _ => true,
    }
}

/// A mesh that is plain as a whole.
#[derive(Debug, Clone)]
pub(super) struct MeshPlan {
    /// In the file.
    pub(super) number: usize,
    pub(super) plain: Vec<Plain>,
    /// In the mesh's own space, the same along all axes.
    pub(super) grid: Grid,
    /// The model's units in one of the mesh's, at most.
    pub(super) scale: f64,
}

/// The meshes of a file that are plain as a whole.
#[derive(Debug, Clone)]
pub(super) struct Meshes {
    pub(super) meshes: Vec<MeshPlan>,
    pub(super) taken: Vec<skeleton::Taken>,
    /// Of the box around all that is shown of them, in the model's units.
    pub(super) diagonal: f64,
}

/// Looks for meshes that can be packed where they are.
pub(super) fn meshes_of(glb: &Bytes) -> Result<Meshes, &'static str> {
    let (json, bin) = gltf::open(glb)?;
    check(&json)?;
    let places = places(&json)?;
    let mut sorter = Sorter::new(&json, bin, glb);
    let mut found = Meshes { meshes: Vec::new(), taken: Vec::new(), diagonal: 0.0 };
    let (mut min, mut max) = (glam::DVec3::INFINITY, glam::DVec3::NEG_INFINITY);
    for (number, mesh) in gltf::list(&json, "meshes").iter().enumerate() {
        let primitives = gltf::list(mesh, "primitives");
        let mut plain = Some(Vec::new());
        for primitive in primitives {
            let found = sorter.plain(primitive, None)?.map(|(found, _)| found);
            plain = plain.zip(found).map(|(mut plain, found)| {
                plain.push(found);
                plain
            });
        }
        let usual = !["weights", "extensions"].iter().any(|name| mesh.get(name).is_some());
        let plain = plain.filter(|plain| usual && !plain.is_empty() && !places[number].is_empty());
        let taken = plain.is_some();
        found.taken.push(skeleton::Taken { primitives: vec![taken; primitives.len()], local: taken });
        let Some(plain) = plain else { continue };
        let around = around(plain.iter())?.ok_or("a mesh is empty")?;
        let grid = Grid::covering(around.min.to_array(), around.max.to_array(), [None; 3]);
        let mut scale = 0.0f64;
        for place in &places[number] {
            let axes = [place.matrix3.x_axis, place.matrix3.y_axis, place.matrix3.z_axis];
            scale = axes.iter().fold(scale, |most, axis| most.max(axis.length()));
            for corner in around.corners() {
                let corner = place.transform_point3(corner.as_dvec3());
                (min, max) = (min.min(corner), max.max(corner));
            }
        }
        found.meshes.push(MeshPlan { number, plain, grid, scale });
    }
    if found.meshes.is_empty() {
        return Err("it has no plain geometry");
    }
    found.diagonal = (max - min).length();
    Ok(found)
}

/// Where each mesh is shown.
fn places(json: &Value) -> Result<Vec<Vec<DAffine3>>, &'static str> {
    let mut places = vec![Vec::new(); gltf::list(json, "meshes").len()];
    for placed in gltf::placements(json)? {
        places.get_mut(placed.mesh).ok_or("a node shows a mesh that is not there")?.push(placed.transform);
    }
    Ok(places)
}

/// Whether single precision rounds away more than a thousandth of a mesh where it is
/// put: there its own space is finer.
fn is_lost_far_away(shown: Box3) -> bool {
    let side = (shown.max - shown.min).max_element();
    shown.min.abs().max(shown.max.abs()).max_element() * f32::EPSILON > side / 1000.0
}

/// Whether axes stay axes: then the box of a primitive is the same wherever it is
/// taken, and with it the size at which a meeting shows a model.
fn keeps_axes(transform: &DAffine3) -> bool {
    let columns = [transform.matrix3.x_axis, transform.matrix3.y_axis, transform.matrix3.z_axis];
    let rows = [transform.matrix3.row(0), transform.matrix3.row(1), transform.matrix3.row(2)];
    columns.iter().chain(&rows).all(|axis| axis.to_array().iter().filter(|value| **value != 0.0).count() == 1)
}

struct Sorter<'a> {
    json: &'a Value,
    bin: Range<usize>,
    glb: &'a Bytes,
    plain: Vec<Plain>,
    /// Of each plain one; its mesh as the file numbers it.
    looks: Vec<Look>,
    /// Vertices and indices that may still be looked at.
    left: usize,
}

impl<'a> Sorter<'a> {
    fn new(json: &'a Value, bin: Range<usize>, glb: &'a Bytes) -> Self {
        Self { json, bin, glb, plain: Vec::new(), looks: Vec::new(), left: MAX_LOOKS }
    }

    /// Takes what is plain; for each mesh which of its primitives that are, and
    /// whether they stay in its space.
    fn take_plain(&mut self, places: &[Vec<DAffine3>]) -> Result<Vec<skeleton::Taken>, &'static str> {
        let mut taken = Vec::new();
        for (number, mesh) in gltf::list(self.json, "meshes").iter().enumerate() {
            let primitives = gltf::list(mesh, "primitives");
            let mut taken_here = skeleton::Taken { primitives: vec![false; primitives.len()], local: false };
            let unusual = ["weights", "extensions", "extras"].iter().any(|name| mesh.get(name).is_some());
            if !unusual && let Some(first) = places[number].first() {
                let once = places[number].len() == 1;
                let boxed = places[number].iter().all(keeps_axes);
                for (primitive, taken) in primitives.iter().zip(&mut taken_here.primitives) {
                    let mut free = once && boxed && !self.is_blended(primitive);
                    let Some((mut plain, mut look)) = self.plain(primitive, free.then_some(*first))? else {
                        continue;
                    };
                    if free && is_lost_far_away(plain.shown()) {
                        let Some(local) = self.plain(primitive, None)? else { continue };
                        ((plain, look), free) = (local, false);
                    }
                    // Those that are made up at the other end would be of positions
                    // on a grid.
                    if plain.normals.is_none() {
                        continue;
                    }
                    let mesh = (!free).then_some(number as u32);
                    let alone = (!boxed).then_some(self.plain.len());
                    taken_here.local |= mesh.is_some();
                    self.plain.push(plain);
                    self.looks.push(Look { mesh, alone, ..look });
                    *taken = true;
                }
            }
            taken.push(taken_here);
        }
        Ok(taken)
    }

    /// Transparent meshes are sorted by distance each: they are not put together.
    fn is_blended(&self, primitive: &Value) -> bool {
        let material = gltf::whole(primitive.get("material"));
        let material = material.and_then(|material| gltf::list(self.json, "materials").get(material));
        material.and_then(|material| material.get("alphaMode")).is_some_and(|mode| mode == "BLEND")
    }

    /// A primitive as far as it is plain, which goes where `transform` puts it; none
    /// if it is not.
    ///
    /// # Errors
    /// If its numbers are not what they should be.
    fn plain(
        &mut self,
        primitive: &Value,
        transform: Option<DAffine3>,
    ) -> Result<Option<(Plain, Look)>, &'static str> {
        let Some((mut plain, look)) = self.usual(primitive, transform) else { return Ok(None) };
        let looks = plain.positions.count + plain.indices.count;
        self.left = self.left.checked_sub(looks).ok_or("its primitives share their vertices")?;
        plain.extent = boxes::extent(self.glb, &plain.positions, plain.normals.as_ref(), &plain.indices)?;
        // Where one normal is none, all are made up.
        Ok(plain.extent.normals.then_some((plain, look)))
    }

    /// The same, by its description.
    fn usual(&self, primitive: &Value, transform: Option<DAffine3>) -> Option<(Plain, Look)> {
        let known = ["attributes", "indices", "material", "mode"];
        if !primitive.as_object()?.keys().all(|key| known.contains(&key.as_str()))
            || gltf::whole_or(primitive.get("mode"), 4)? != 4
        {
            return None;
        }
        let find = |accessor| Array::find(self.json, &self.bin, accessor);
        let indices = find(gltf::whole(primitive.get("indices"))?)?;
        if !matches!(indices.component, U8 | U16 | U32)
            || indices.width != 1
            || !indices.count.is_multiple_of(3)
            || indices.stride != gltf::component_bytes(indices.component)?
        {
            return None;
        }
        let attributes = primitive.get("attributes")?.as_object()?;
        let positions = find(gltf::whole(attributes.get("POSITION"))?)?;
        let floats = |array: &Array, width| {
            array.component == F32 && array.width == width && array.count == positions.count
        };
        let mut plain = Plain {
            positions: Some(positions).filter(|array| floats(array, 3))?,
            normals: None,
            colors: None,
            extras: Vec::new(),
            indices,
            material: None,
            transform,
            extent: Extent::NONE,
        };
        for (name, accessor) in attributes {
            let array = find(gltf::whole(Some(accessor))?)?;
            match (name.as_str(), Extra::from_name(name)) {
                ("POSITION", _) => {}
                ("NORMAL", _) => plain.normals = Some(array).filter(|array| floats(array, 3)),
                ("COLOR_0", _) => plain.colors = Some(array).filter(|array| is_color(array, &positions)),
                // Tangents would have to be turned with the mesh.
                (_, Some(Extra::Tangent))
                    if transform.is_some_and(|t| t.matrix3 != glam::DMat3::IDENTITY) =>
                {
                    return None;
                }
                (_, Some(extra)) if floats(&array, extra.stride() / 4) => plain.extras.push((extra, array)),
                _ => return None,
            }
        }
        let lost = (attributes.contains_key("NORMAL") && plain.normals.is_none())
            || (attributes.contains_key("COLOR_0") && plain.colors.is_none());
        // Normals that are made up would differ where a surface is cut.
        let cut = plain.normals.is_none() && positions.count > FIRST_VERTICES;
        if lost || cut || plain.extras.len() > MAX_EXTRAS {
            return None;
        }
        plain.extras.sort_by_key(|(extra, _)| extra.byte());
        let material = match primitive.get("material") {
            Some(material) => Some(u32::try_from(material.as_u64()?).ok()?),
            None => None,
        };
        plain.material = material;
        let look = Look {
            mesh: None,
            alone: None,
            material,
            normals: plain.normals.is_some(),
            color_bytes: plain
                .colors
                .map_or(0, |colors| gltf::component_bytes(colors.component).unwrap_or(0)),
            extras: plain.extras.iter().map(|(extra, _)| *extra).collect(),
        };
        Some((plain, look))
    }
}

fn is_color(array: &Array, positions: &Array) -> bool {
    array.count == positions.count
        && matches!(array.width, 3 | 4)
        && array.normalized
        && matches!(array.component, U8 | U16)
}

const TOO_MANY: &str = "it would have too many parts";

/// Cuts and merges: parts of one look with about as many vertices each.
fn parts(
    glb: &[u8],
    plain: &[Plain],
    looks: &[Look],
    meshes: &[Option<u32>],
) -> Result<Vec<PartPlan>, &'static str> {
    // In the order of their first appearance.
    let mut groups: Vec<(&Look, Vec<usize>)> = Vec::new();
    for (number, look) in looks.iter().enumerate() {
        match groups.iter_mut().find(|(other, _)| *other == look) {
            Some((_, group)) => group.push(number),
            None => groups.push((look, vec![number])),
        }
        if groups.len() > MAX_PARTS {
            return Err(TOO_MANY);
        }
    }
    let model = grid(glb, plain.iter().filter(|plain| plain.transform.is_some()))?;
    let total: usize = plain.iter().map(|plain| plain.positions.count).sum();
    let mut room = if total > 2 * FIRST_VERTICES { FIRST_VERTICES } else { PART_VERTICES };
    let mut parts: Vec<PartPlan> = Vec::new();
    for (look, group) in groups {
        let members = || group.iter().map(|&number| &plain[number]);
        let grid = if look.mesh.is_some() { grid(glb, members())? } else { model };
        let triangles: usize = members().map(Plain::triangles).sum();
        let mut part = PartPlan {
            pieces: Vec::new(),
            mesh: look.mesh.and_then(|mesh| meshes.get(mesh as usize).copied().flatten()),
            material: look.material,
            grid,
            small: group.len() > 1 && triangles / group.len() < SMALL_TRIANGLES,
            vertices: 0,
            anchors: Vec::new(),
        };
        let (mut vertices, mut held) = (0, 0);
        for &number in &group {
            let (count, in_all) = (plain[number].positions.count, plain[number].triangles());
            let mut from = 0;
            let parts_before = parts.len();
            while from < in_all {
                let left = room.saturating_sub(vertices);
                // As many triangles as have so many vertices on the average.
                let fit = (left as u64 * in_all as u64 / count as u64) as usize;
                let fit = fit.max(usize::from(held == 0)).min(PART_TRIANGLES - held).min(in_all - from);
                let whole = fit == in_all - from;
                // Small meshes are not cut, nor is a sliver begun.
                if fit == 0 || (!whole && held > 0 && (count < room || left < room / 4)) {
                    room = PART_VERTICES;
                    parts.push(PartPlan {
                        pieces: std::mem::take(&mut part.pieces),
                        anchors: std::mem::take(&mut part.anchors),
                        vertices,
                        ..part.clone()
                    });
                    (vertices, held) = (0, 0);
                    continue;
                }
                part.pieces.push(Piece { plain: number, triangles: from..from + fit });
                vertices += (fit as u64 * count as u64 / in_all as u64) as usize + 1;
                held += fit;
                from += fit;
            }
            // A box that is turned is that of all of it together.
            let cut = look.alone.is_some() && parts.len() > parts_before;
            let extent = plain[number].extent;
            if cut || extent.used != extent.shown {
                let shown = plain[number].shown();
                part.anchors.extend([shown.min.to_array(), shown.max.to_array()]);
            }
        }
        if !part.pieces.is_empty() {
            part.vertices = vertices;
            parts.push(part);
        }
        parts.retain(|part| !part.pieces.is_empty());
        if parts.len() > MAX_PARTS {
            return Err(TOO_MANY);
        }
    }
    Ok(parts)
}

/// One grid over some primitives, each in the space that it goes into.
fn grid<'a>(glb: &[u8], plain: impl Iterator<Item = &'a Plain> + Clone) -> Result<Grid, &'static str> {
    let Some(around) = around(plain.clone())? else {
        return Ok(Grid::covering([0.0; 3], [0.0; 3], [None; 3]));
    };
    let largest = plain.max_by_key(|plain| plain.positions.count);
    let lattice = |axis: usize| {
        let largest = largest?;
        // From the middle: a surface may begin with anything.
        let from = largest.positions.count / 3;
        let place = |index: usize| {
            let position = floats3(largest.positions.element(glb, index));
            largest.transform.map_or(position, |t| place(&t, position))[axis]
        };
        lattice::find((from..largest.positions.count).map(place))
    };
    Ok(Grid::covering(around.min.to_array(), around.max.to_array(), [0, 1, 2].map(lattice)))
}

/// The box around some primitives, each in the space that it goes into; none if
/// there are none.
fn around<'a>(plain: impl Iterator<Item = &'a Plain>) -> Result<Option<Box3>, &'static str> {
    match plain.map(Plain::shown).reduce(Box3::union) {
        Some(around) if !(around.max - around.min).is_finite() => Err("it is beyond all numbers"),
        around => Ok(around),
    }
}

/// A position where its primitive is put.
pub(super) fn place(transform: &DAffine3, position: [f32; 3]) -> [f32; 3] {
    if *transform == DAffine3::IDENTITY {
        return position;
    }
    transform.transform_point3(Vec3::from(position).as_dvec3()).as_vec3().to_array()
}

/// The first three floats; the array was checked to have them.
pub(super) fn floats3(bytes: &[u8]) -> [f32; 3] {
    let (numbers, _) = bytes.as_chunks::<4>();
    [0, 1, 2].map(|axis| f32::from_le_bytes(numbers[axis]))
}
