//! What stays of a file without its plain geometry: the description, and the
//! bytes that it still refers to (textures, lines, points, the unusual).

use std::{collections::BTreeMap, ops::Range};

use serde_json::{Value, json};

use super::gltf;

/// Bytes of the rest that one chunk covers.
pub(super) const REST_BYTES: usize = 1 << 20;
/// Where arrays begin in a binary chunk.
const ALIGNMENT: usize = 4;

/// Which primitives of a mesh were taken out.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    /// Of each of its primitives.
    pub(super) primitives: Vec<bool>,
    /// They stay in the mesh's space, so the mesh stays to place them.
    pub(super) local: bool,
}

/// A file without its plain geometry.
#[derive(Debug, Clone)]
pub(super) struct Skeleton {
    /// The description.
    pub(super) json: Vec<u8>,
    /// Where what it refers to lies in the file: one behind the other, each from
    /// a multiple of [`ALIGNMENT`].
    pub(super) rest: Vec<Range<usize>>,
    pub(super) rest_bytes: usize,
}

impl Skeleton {
    pub(super) fn rest_chunks(&self) -> usize {
        self.rest_bytes.div_ceil(REST_BYTES)
    }

    /// A piece of the rest.
    pub(super) fn rest_chunk(&self, glb: &[u8], number: usize) -> Vec<u8> {
        let wanted = number * REST_BYTES..self.rest_bytes.min((number + 1) * REST_BYTES);
        let mut bytes = vec![0; wanted.len()];
        let mut at = 0usize;
        for range in &self.rest {
            let here = at.max(wanted.start)..(at + range.len()).min(wanted.end);
            if !here.is_empty() {
                let from = range.start + here.start - at;
                bytes[here.start - wanted.start..here.end - wanted.start]
                    .copy_from_slice(&glb[from..from + here.len()]);
            }
            at += range.len().next_multiple_of(ALIGNMENT);
        }
        bytes
    }
}

/// The skeleton, and for each mesh of the file its number there.
pub(super) fn without(
    json: &Value,
    bin: &Range<usize>,
    taken: &[Taken],
) -> Result<(Skeleton, Vec<Option<u32>>), &'static str> {
    let odd = "its description is unusual";
    let mut json = json.clone();
    let mut meshes = Vec::new();
    let mut new_meshes = Vec::new();
    for (mesh, taken) in gltf::list(&json, "meshes").iter().zip(taken) {
        let left: Vec<Value> = gltf::list(mesh, "primitives")
            .iter()
            .zip(&taken.primitives)
            .filter(|(_, taken)| !**taken)
            .map(|(primitive, _)| primitive.clone())
            .collect();
        let stays = taken.local || !left.is_empty() || taken.primitives.is_empty();
        meshes.push(stays.then_some(new_meshes.len() as u32));
        if stays {
            let mut mesh = mesh.clone();
            mesh["primitives"] = left.into();
            new_meshes.push(mesh);
        }
    }
    for node in json.get_mut("nodes").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(old) = node.get("mesh") else { continue };
        let new = gltf::whole(Some(old)).and_then(|mesh| meshes.get(mesh)).ok_or(odd)?;
        match *new {
            Some(new) => node["mesh"] = new.into(),
            None => drop(node.as_object_mut().and_then(|node| node.remove("mesh"))),
        }
    }
    // Only primitives refer to accessors in a file without animations and skins,
    // and only accessors and images to views.
    let mut accessors = Numbers::default();
    for primitive in new_meshes.iter_mut().flat_map(|mesh| mesh["primitives"].as_array_mut()).flatten() {
        let targets = primitive.get_mut("targets").and_then(Value::as_array_mut);
        let targets: Vec<&mut Value> = targets.into_iter().flatten().collect();
        for attributes in targets {
            renumber_all(attributes, &mut accessors).ok_or(odd)?;
        }
        if let Some(attributes) = primitive.get_mut("attributes") {
            renumber_all(attributes, &mut accessors).ok_or(odd)?;
        }
        if let Some(indices) = primitive.get_mut("indices") {
            accessors.renumber(indices).ok_or(odd)?;
        }
    }
    let mut new_accessors = accessors.pick(gltf::list(&json, "accessors")).ok_or(odd)?;
    let mut views = Numbers::default();
    for accessor in &mut new_accessors {
        if let Some(view) = accessor.get_mut("bufferView") {
            views.renumber(view).ok_or(odd)?;
        }
        for part in ["indices", "values"] {
            if let Some(view) =
                accessor.get_mut("sparse").and_then(|s| s.get_mut(part)?.get_mut("bufferView"))
            {
                views.renumber(view).ok_or(odd)?;
            }
        }
    }
    for image in json.get_mut("images").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(view) = image.get_mut("bufferView") {
            views.renumber(view).ok_or(odd)?;
        }
    }
    let mut new_views = views.pick(gltf::list(&json, "bufferViews")).ok_or(odd)?;
    let mut skeleton = Skeleton { json: Vec::new(), rest: Vec::new(), rest_bytes: 0 };
    for view in &mut new_views {
        let start =
            gltf::whole_or(view.get("byteOffset"), 0).and_then(|offset| bin.start.checked_add(offset));
        let start = start.ok_or(odd)?;
        let end = gltf::whole(view.get("byteLength")).and_then(|length| start.checked_add(length));
        let range = start..end.filter(|&end| end <= bin.end).ok_or(odd)?;
        view["byteOffset"] = skeleton.rest_bytes.into();
        skeleton.rest_bytes = (skeleton.rest_bytes + range.len()).next_multiple_of(ALIGNMENT);
        skeleton.rest.push(range);
    }
    json["buffers"] = json!([{ "byteLength": skeleton.rest_bytes }]);
    for (name, list) in [("meshes", new_meshes), ("accessors", new_accessors), ("bufferViews", new_views)] {
        json[name] = list.into();
    }
    skeleton.json = json.to_string().into_bytes();
    Ok((skeleton, meshes))
}

fn renumber_all(attributes: &mut Value, numbers: &mut Numbers) -> Option<()> {
    attributes.as_object_mut()?.values_mut().try_for_each(|accessor| numbers.renumber(accessor))
}

/// New numbers for what is still referred to, in the order of reference.
#[derive(Default)]
struct Numbers {
    new: BTreeMap<usize, usize>,
    order: Vec<usize>,
}

impl Numbers {
    fn renumber(&mut self, value: &mut Value) -> Option<()> {
        let old = gltf::whole(Some(value))?;
        let new = *self.new.entry(old).or_insert_with(|| {
            self.order.push(old);
            self.order.len() - 1
        });
        *value = new.into();
        Some(())
    }

    fn pick(&self, list: &[Value]) -> Option<Vec<Value>> {
        self.order.iter().map(|&old| list.get(old).cloned()).collect()
    }
}
