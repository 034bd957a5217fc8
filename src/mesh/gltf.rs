//! The little of glTF that is needed to take plain geometry out of a file and to
//! put it back: where arrays lie, and where meshes stand.
//!
//! Not for showing models ([`crate::model`] is): whatever is unusual here makes a
//! file travel exactly as it is, so nothing is repaired or guessed.

use std::ops::Range;

use glam::{DAffine3, DMat4, DQuat, DVec3};
use serde_json::Value;

/// Bytes of a description that is looked into; larger ones travel exactly. Parsed
/// it takes some twenty times as much memory.
pub const MAX_JSON_BYTES: usize = 4 << 20;
/// Braces, brackets and commas in it, each of which stands for about 50 bytes.
const MAX_JSON_VALUES: usize = 500_000;

const MAGIC: &[u8; 4] = b"glTF";
const JSON_CHUNK: &[u8; 4] = b"JSON";
const BIN_CHUNK: &[u8; 4] = b"BIN\0";

/// The description, and where the binary chunk lies in the file.
pub(super) fn open(glb: &[u8]) -> Result<(Value, Range<usize>), &'static str> {
    let no_glb = "it is no GLB of version 2";
    let number = |at: usize| {
        let bytes = glb.get(at..).and_then(|bytes| bytes.first_chunk::<4>());
        bytes.map(|bytes| u32::from_le_bytes(*bytes) as usize).ok_or(no_glb)
    };
    if !glb.starts_with(MAGIC) || number(4)? != 2 || number(8)? != glb.len() {
        return Err(no_glb);
    }
    let chunk = |at: usize, kind: &[u8; 4]| {
        let range = at + 8..(at + 8).checked_add(number(at)?).ok_or(no_glb)?;
        if glb.get(at + 4..at + 8) == Some(&kind[..]) && range.end <= glb.len() {
            Ok(range)
        } else {
            Err(no_glb)
        }
    };
    let text = chunk(12, JSON_CHUNK)?;
    let bin = if text.end == glb.len() { text.end..text.end } else { chunk(text.end, BIN_CHUNK)? };
    Ok((parse(&glb[text])?, bin))
}

/// Reads a description of bounded cost.
pub(super) fn parse(text: &[u8]) -> Result<Value, &'static str> {
    let values = text.iter().filter(|byte| matches!(byte, b'{' | b'[' | b',')).count();
    if text.len() > MAX_JSON_BYTES || values > MAX_JSON_VALUES {
        return Err("its description is long");
    }
    let json: Value = serde_json::from_slice(text).map_err(|_error| "its description cannot be read")?;
    if json.is_object() { Ok(json) } else { Err("its description is no object") }
}

/// Bytes of a GLB's own head, and of a chunk's.
const HEAD_BYTES: usize = 12;
const CHUNK_HEAD_BYTES: usize = 8;

/// Where the binary chunk's bytes begin behind a description of that length.
pub(super) fn bin_start(text_bytes: usize) -> usize {
    HEAD_BYTES + CHUNK_HEAD_BYTES + text_bytes.next_multiple_of(4) + CHUNK_HEAD_BYTES
}

/// Writes what stands before the binary chunk of a GLB, which begins at `bin`: a
/// description that leaves room before it is padded. None beyond 4 GiB, or if there is
/// no room; `file` is a multiple of four long.
pub(super) fn fill(file: &mut [u8], text: &str, bin: usize) -> Option<()> {
    let text_start = HEAD_BYTES + CHUNK_HEAD_BYTES;
    let (text_end, bytes) = (bin.checked_sub(CHUNK_HEAD_BYTES)?, u32::try_from(file.len()).ok()?);
    let length = |bytes: usize| (bytes as u32).to_le_bytes();
    file.get_mut(text_end..bin)?.copy_from_slice(&[length(bytes as usize - bin), *BIN_CHUNK].concat());
    file[..HEAD_BYTES].copy_from_slice(&[*MAGIC, 2u32.to_le_bytes(), bytes.to_le_bytes()].concat());
    file[HEAD_BYTES..text_start].copy_from_slice(&[length(text_end - text_start), *JSON_CHUNK].concat());
    let (json, padding) = file[text_start..text_end].split_at_mut_checked(text.len())?;
    json.copy_from_slice(text.as_bytes());
    padding.fill(b' ');
    Some(())
}

/// A GLB around a description and its binary chunk; none beyond 4 GiB.
pub(super) fn build(text: &str, bin: &[u8]) -> Option<Vec<u8>> {
    let (text_bytes, bin_bytes) = (text.len().next_multiple_of(4), bin.len().next_multiple_of(4));
    if bin.is_empty() {
        let mut glb = vec![0; bin_start(text_bytes)];
        fill(&mut glb, text, bin_start(text_bytes))?;
        // An empty chunk is none.
        glb.truncate(bin_start(text_bytes) - CHUNK_HEAD_BYTES);
        let bytes = u32::try_from(glb.len()).ok()?;
        glb[8..HEAD_BYTES].copy_from_slice(&bytes.to_le_bytes());
        return Some(glb);
    }
    let start = bin_start(text_bytes);
    let mut glb = Vec::with_capacity(start + bin_bytes);
    glb.resize(start, 0);
    glb.extend_from_slice(bin);
    glb.resize(start + bin_bytes, 0);
    fill(&mut glb, text, start)?;
    Some(glb)
}

/// An array of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Array {
    /// Of the first element, from the start of the file.
    pub(super) start: usize,
    pub(super) count: usize,
    /// Bytes from one element to the next.
    pub(super) stride: usize,
    /// As glTF numbers it.
    pub(super) component: u64,
    /// Components of an element.
    pub(super) width: usize,
    pub(super) normalized: bool,
}

pub(super) const U8: u64 = 5121;
pub(super) const U16: u64 = 5123;
pub(super) const U32: u64 = 5125;
pub(super) const F32: u64 = 5126;

/// Bytes of a component.
pub(super) fn component_bytes(component: u64) -> Option<usize> {
    match component {
        5120 | U8 => Some(1),
        5122 | U16 => Some(2),
        U32 | F32 => Some(4),
        _ => None,
    }
}

impl Array {
    /// An accessor all of whose bytes are in the binary chunk.
    pub(super) fn find(json: &Value, bin: &Range<usize>, accessor: usize) -> Option<Self> {
        let accessor = json.get("accessors")?.get(accessor)?;
        if accessor.get("sparse").is_some() || accessor.get("extensions").is_some() {
            return None;
        }
        let view = json.get("bufferViews")?.get(whole(accessor.get("bufferView"))?)?;
        if view.get("extensions").is_some() || whole_or(view.get("buffer"), 0)? != 0 {
            return None;
        }
        let component = accessor.get("componentType")?.as_u64()?;
        let width = match accessor.get("type")?.as_str()? {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            _ => return None,
        };
        let size = component_bytes(component)? * width;
        let stride = match whole_or(view.get("byteStride"), 0)? {
            0 => size,
            stride if stride >= size && stride <= 256 => stride,
            _ => return None,
        };
        let count = whole(accessor.get("count")).filter(|&count| count > 0)?;
        let offset = whole_or(accessor.get("byteOffset"), 0)?;
        let needed = (count - 1).checked_mul(stride)?.checked_add(size)?.checked_add(offset)?;
        let view_start = bin.start.checked_add(whole_or(view.get("byteOffset"), 0)?)?;
        let view_end = view_start.checked_add(whole(view.get("byteLength"))?)?;
        let fits = view_end <= bin.end && needed <= view_end - view_start;
        let normalized = accessor.get("normalized").and_then(Value::as_bool).unwrap_or(false);
        fits.then_some(Self { start: view_start + offset, count, stride, component, width, normalized })
    }

    /// The bytes of an element; `file` is the one that it was found in.
    pub(super) fn element<'a>(&self, file: &'a [u8], index: usize) -> &'a [u8] {
        let at = self.start + index * self.stride;
        &file[at..]
    }
}

/// A whole number that an array can be indexed by.
pub(super) fn whole(value: Option<&Value>) -> Option<usize> {
    value?.as_u64().and_then(|value| usize::try_from(value).ok())
}

/// The same, or a default where there is none.
pub(super) fn whole_or(value: Option<&Value>, default: usize) -> Option<usize> {
    if value.is_none() { Some(default) } else { whole(value) }
}

pub(super) fn list<'a>(json: &'a Value, name: &str) -> &'a [Value] {
    json.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A mesh where a node puts it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub(super) mesh: usize,
    /// model_from_mesh.
    pub(super) transform: DAffine3,
}

/// Where the meshes of a file's one scene stand.
pub(super) fn placements(json: &Value) -> Result<Vec<Placed>, &'static str> {
    let odd = "its nodes are unusual";
    let nodes = list(json, "nodes");
    let [scene] = list(json, "scenes") else { return Err("it has not exactly one scene") };
    let mut seen = vec![false; nodes.len()];
    let mut waiting: Vec<(usize, DAffine3)> = Vec::new();
    for root in list(scene, "nodes") {
        waiting.push((whole(Some(root)).ok_or(odd)?, DAffine3::IDENTITY));
    }
    let mut placed = Vec::new();
    while let Some((number, model_from_parent)) = waiting.pop() {
        if seen.get_mut(number).is_none_or(|seen| std::mem::replace(seen, true)) {
            return Err(odd);
        }
        let node = &nodes[number];
        let transform = model_from_parent * local(node).ok_or(odd)?;
        if node.get("mesh").is_some() {
            placed.push(Placed { mesh: whole(node.get("mesh")).ok_or(odd)?, transform });
        }
        for child in list(node, "children") {
            waiting.push((whole(Some(child)).ok_or(odd)?, transform));
        }
    }
    Ok(placed)
}

fn local(node: &Value) -> Option<DAffine3> {
    let transform = if node.get("matrix").is_some() {
        let matrix = DMat4::from_cols_array(&numbers(node.get("matrix"))?);
        if matrix.row(3) != glam::DVec4::W {
            return None;
        }
        DAffine3::from_mat4(matrix)
    } else {
        let given = |name| node.get(name).is_some();
        let or = |name, default: [f64; 3]| if given(name) { numbers(node.get(name)) } else { Some(default) };
        let rotation = if given("rotation") { numbers(node.get("rotation"))? } else { [0.0, 0.0, 0.0, 1.0] };
        let rotation = DQuat::from_array(rotation);
        if (rotation.length() - 1.0).abs() > 1e-3 {
            return None;
        }
        let (scale, translation) = (or("scale", [1.0; 3])?, or("translation", [0.0; 3])?);
        DAffine3::from_scale_rotation_translation(
            DVec3::from(scale),
            rotation.normalize(),
            DVec3::from(translation),
        )
    };
    transform.is_finite().then_some(transform)
}

fn numbers<const N: usize>(value: Option<&Value>) -> Option<[f64; N]> {
    let list = value?.as_array().filter(|list| list.len() == N)?;
    let mut numbers = [0.0; N];
    for (number, value) in numbers.iter_mut().zip(list) {
        // As single precision has them, in which files are read to be shown.
        *number = f64::from(value.as_f64()? as f32);
    }
    Some(numbers)
}
