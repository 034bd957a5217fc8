//! What is known of a model in parts once all of them are decoded: they were looked
//! at as they came, so that the file which is made of them need not be read again.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Summary;
use crate::{
    mesh::{Decoded, Head, Part},
    model::{Bounds, Limits},
    session::Measure,
};

/// The parts of one model on its way.
#[derive(Debug, Default)]
pub(super) struct Streamed {
    /// How many parts there are, if they are all that is shown of the model.
    all: Option<usize>,
    /// What each has.
    seen: BTreeMap<u32, Seen>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    triangles: u64,
    vertices: u64,
    bounds: Bounds,
    /// It stands in the model's own space, where nothing places it again.
    placed: bool,
}

impl Streamed {
    /// A chunk was decoded.
    pub fn add(&mut self, index: u32, chunk: &Decoded) {
        match chunk {
            Decoded::Head(head) => self.all = (!shows_more(head)).then_some(head.parts as usize),
            Decoded::Part(part) => drop(self.seen.insert(index, Seen::of(part))),
            Decoded::Rest(_) => {}
        }
    }

    /// What the model is, unless there is more to it than its parts, or it is beyond
    /// the limits: then its file tells.
    pub fn summary(&self, limits: &Limits) -> Option<Summary> {
        if self.all != Some(self.seen.len()) || self.seen.values().any(|seen| !seen.placed) {
            return None;
        }
        let sum = |number: fn(&Seen) -> u64| self.seen.values().map(number).sum::<u64>();
        let (triangles, vertices) = (sum(|seen| seen.triangles), sum(|seen| seen.vertices));
        let bounds = self.seen.values().map(|seen| seen.bounds).reduce(Bounds::union)?;
        let measure = Measure { center: bounds.center(), size: bounds.size() };
        let within = triangles <= limits.max_triangles && vertices <= limits.max_vertices;
        (within && measure.size.is_finite()).then_some(Summary { triangles, vertices, measure })
    }
}

impl Seen {
    fn of(part: &Part) -> Self {
        Self {
            triangles: part.indices.len() as u64,
            vertices: part.positions.len() as u64,
            bounds: Bounds::of_points(&part.positions),
            placed: part.mesh.is_none(),
        }
    }
}

/// Whether a description shows something that is in no part, or with a picture on it.
fn shows_more(head: &Head) -> bool {
    let Ok(json) = serde_json::from_slice::<Value>(&head.json) else { return true };
    let list = |json: &Value, name: &str| json.get(name).and_then(Value::as_array).cloned();
    let more = |name: &str| list(&json, name).is_some_and(|list| !list.is_empty());
    let meshes = list(&json, "meshes").unwrap_or_default();
    more("images")
        || more("extensionsRequired")
        || meshes.iter().any(|mesh| list(mesh, "primitives").is_none_or(|list| !list.is_empty()))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{
        mesh::{Encoding, NORMAL_BITS, Plan, decode},
        model::{self, Cancel},
        opening,
    };

    /// Strips of triangles, and a description around them.
    fn file(change: impl FnOnce(&mut Value)) -> Bytes {
        let count = 2000usize;
        let positions = (0..count).flat_map(|n| [n as f32, (n % 2) as f32, 1.0]).flat_map(f32::to_le_bytes);
        let normals = (0..count).flat_map(|_| [0.0f32, 0.0, 1.0]).flat_map(f32::to_le_bytes);
        let corners = (0..count as u32 - 2).flat_map(|n| [n, n + 1, n + 2]).flat_map(u32::to_le_bytes);
        let bin: Vec<u8> = positions.chain(normals).chain(corners).collect();
        let indices = (count - 2) * 3;
        let view = |offset: usize, length: usize| serde_json::json!({ "buffer": 0, "byteOffset": offset, "byteLength": length });
        let array = |view: usize, count: usize, component: u32, kind: &str| serde_json::json!({ "bufferView": view, "count": count, "componentType": component, "type": kind });
        let vectors = count * 12;
        let mut json = serde_json::json!({
            "asset": { "version": "2.0" }, "scenes": [{ "nodes": [0] }],
            "nodes": [{ "mesh": 0, "translation": [3, 0, 0] }],
            "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0, "NORMAL": 1 }, "indices": 2 }] }],
            "buffers": [{ "byteLength": bin.len() }],
            "bufferViews": [view(0, vectors), view(vectors, vectors), view(2 * vectors, indices * 4)],
            "accessors": [
                array(0, count, 5126, "VEC3"), array(1, count, 5126, "VEC3"), array(2, indices, 5125, "SCALAR"),
            ],
        });
        change(&mut json);
        let mut text = json.to_string();
        text.extend(std::iter::repeat_n(' ', text.len().next_multiple_of(4) - text.len()));
        let word = |number: usize| (number as u32).to_le_bytes();
        let head = [*b"glTF", word(2), word(28 + text.len() + bin.len()), word(text.len()), *b"JSON"];
        [head.as_flattened(), text.as_bytes(), &word(bin.len()), b"BIN\0", &bin].concat().into()
    }

    fn streamed(file: &Bytes) -> Option<Summary> {
        let plan = Plan::new(file).unwrap();
        let mut streamed = Streamed::default();
        for index in 0..plan.chunk_count() {
            assert!(streamed.summary(&Limits::default()).is_none(), "not all are there");
            let chunk = plan.encode(index, Encoding::Fast, NORMAL_BITS).unwrap();
            streamed.add(index, &decode(&chunk.bytes).unwrap());
        }
        streamed.summary(&Limits::default())
    }

    #[test]
    fn parts_tell_what_the_file_would() {
        let file = file(|_| {});
        let (told, read) =
            (streamed(&file).unwrap(), model::decode(&file, &Limits::default(), &Cancel::default()).unwrap());
        assert_eq!((told.triangles, told.vertices), (read.counts.triangles, read.counts.vertices));
        let measure = opening::measure(&read);
        assert!(told.measure.center.abs_diff_eq(measure.center, 0.1), "{:?} {measure:?}", told.measure);
        assert!(told.measure.size.abs_diff_eq(measure.size, 0.1));
    }

    #[test]
    fn what_shows_more_is_read() {
        let textured = file(|json| json["images"] = serde_json::json!([{ "uri": "x.png" }]));
        assert!(streamed(&textured).is_none());
        let turned =
            file(|json| json["nodes"][0] = serde_json::json!({ "mesh": 0, "rotation": [0.6, 0, 0, 0.8] }));
        assert!(streamed(&turned).is_none(), "a node places it");
        let lines = file(|json| {
            let line = serde_json::json!({ "attributes": { "POSITION": 0 }, "mode": 1 });
            json["meshes"][0]["primitives"].as_array_mut().unwrap().push(line);
        });
        assert!(streamed(&lines).is_none());
    }

    #[test]
    fn limits_hold() {
        let file = file(|_| {});
        let plan = Plan::new(&file).unwrap();
        let mut streamed = Streamed::default();
        for index in 0..plan.chunk_count() {
            let chunk = plan.encode(index, Encoding::Fast, NORMAL_BITS).unwrap();
            streamed.add(index, &decode(&chunk.bytes).unwrap());
        }
        let few = Limits { max_triangles: 100, ..Limits::default() };
        assert!(streamed.summary(&few).is_none());
    }
}
