//! From chunks to a standard GLB.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};

use super::{
    MeshError,
    chunk::{Decoded, Head},
    gltf,
    part::{Colors, Part},
    skeleton::REST_BYTES,
};

const ODD: MeshError = MeshError::Damaged("a description that does not fit its parts");
/// `bufferView.target` for vertices and for indices.
const ARRAY_BUFFER: u64 = 34962;
const ELEMENT_ARRAY_BUFFER: u64 = 34963;

/// The chunks of one model as they come, in any order: several threads add to it while
/// others look at what is here.
#[derive(Debug)]
pub struct Assembly {
    chunks: Box<[OnceLock<Arc<Decoded>>]>,
    held: AtomicUsize,
    bytes: AtomicUsize,
    limit: usize,
}

impl Assembly {
    /// Nothing yet of so many chunks, which hold at most `limit` bytes together.
    #[must_use]
    pub fn new(chunk_count: u32, limit: usize) -> Self {
        let chunks = (0..chunk_count).map(|_| OnceLock::new()).collect();
        Self { chunks, held: AtomicUsize::new(0), bytes: AtomicUsize::new(0), limit }
    }

    /// Adds a chunk; one that is here already changes nothing.
    ///
    /// # Errors
    /// If it cannot be the one of that number, or all together hold too much.
    pub fn insert(&self, index: u32, chunk: Arc<Decoded>) -> Result<(), MeshError> {
        let count = self.chunks.len();
        let slot = self.chunks.get(index as usize).ok_or(ODD)?;
        let fits = match &*chunk {
            Decoded::Head(head) => index == 0 && head.chunks() == Some(count),
            Decoded::Part(_) | Decoded::Rest(_) => index > 0,
        };
        if !fits {
            return Err(ODD);
        }
        if slot.get().is_some() {
            return Ok(());
        }
        let more = chunk.bytes();
        let bytes = self.bytes.fetch_add(more, Ordering::Relaxed).saturating_add(more);
        if bytes > self.limit {
            self.bytes.fetch_sub(more, Ordering::Relaxed);
            return Err(MeshError::TooLarge { count: bytes, limit: self.limit });
        }
        match slot.set(chunk) {
            Ok(()) => self.held.fetch_add(1, Ordering::Release),
            Err(_) => self.bytes.fetch_sub(more, Ordering::Relaxed),
        };
        Ok(())
    }

    /// Chunks of the model.
    #[must_use]
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// Chunks that are here.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Acquire)
    }

    /// A chunk, if it is here.
    #[must_use]
    pub fn chunk(&self, index: u32) -> Option<&Arc<Decoded>> {
        self.chunks.get(index as usize)?.get()
    }

    /// Whether this one is here.
    #[must_use]
    pub fn has(&self, index: u32) -> bool {
        self.chunk(index).is_some()
    }

    /// Whether all are.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.held() == self.chunks.len()
    }

    /// Chunks that are here, in their order.
    pub fn decoded(&self) -> impl Iterator<Item = &Arc<Decoded>> {
        self.chunks.iter().filter_map(OnceLock::get)
    }

    /// Parts that are here, in their order.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.decoded().filter_map(|chunk| match &**chunk {
            Decoded::Part(part) => Some(part),
            Decoded::Head(_) | Decoded::Rest(_) => None,
        })
    }

    /// The model as a standard GLB: parts become primitives of their own.
    ///
    /// # Errors
    /// If a chunk is missing, or they are not of one model.
    pub fn glb(&self) -> Result<Vec<u8>, MeshError> {
        let missing = MeshError::Damaged("a chunk is missing");
        let bytes = self.bytes.load(Ordering::Relaxed);
        let mut chunks =
            self.chunks.iter().map(|chunk| chunk.get().map(|chunk| &**chunk).ok_or(missing.clone()));
        let Some(Decoded::Head(head)) = chunks.next().transpose()? else { return Err(missing) };
        let json = gltf::parse(&head.json).map_err(MeshError::Damaged)?;
        let mut writer = Writer::new(json)?;
        let mut rest = Vec::with_capacity(head.rest_bytes.min(bytes));
        let mut parts = Vec::new();
        for (number, chunk) in chunks.enumerate() {
            match chunk? {
                Decoded::Part(part) if number < head.parts as usize => parts.push(part),
                Decoded::Rest(bytes) if number >= head.parts as usize => rest.extend_from_slice(bytes),
                _ => return Err(ODD),
            }
        }
        if rest.len() != head.rest_bytes {
            return Err(ODD);
        }
        writer.bin = rest;
        writer.bin.reserve(bytes + parts.len() * 32);
        for part in parts {
            writer.part(part)?;
        }
        writer.finish()
    }
}

impl Head {
    /// Chunks of the model, the head included.
    fn chunks(&self) -> Option<usize> {
        (self.parts as usize).checked_add(1)?.checked_add(self.rest_bytes.div_ceil(REST_BYTES))
    }
}

struct Writer {
    json: Value,
    bin: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
    /// Primitives in the model's own space.
    primitives: Vec<Value>,
}

impl Writer {
    fn new(mut json: Value) -> Result<Self, MeshError> {
        let mut take = |name: &str| match json.get_mut(name).map(Value::take) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(list)) => Ok(list),
            Some(_) => Err(ODD),
        };
        let (views, accessors) = (take("bufferViews")?, take("accessors")?);
        Ok(Self { json, bin: Vec::new(), views, accessors, primitives: Vec::new() })
    }

    /// Appends an array of numbers; its accessor.
    fn array<const N: usize>(
        &mut self,
        target: u64,
        (component, kind): (u64, &str),
        count: usize,
        numbers: impl ExactSizeIterator<Item = [u8; N]>,
    ) -> usize {
        let start = self.bin.len().next_multiple_of(4);
        let length = numbers.len() * N;
        self.bin.resize(start + length, 0);
        // Chunk by chunk, which compiles to a copy.
        for (bytes, number) in self.bin[start..].as_chunks_mut::<N>().0.iter_mut().zip(numbers) {
            *bytes = number;
        }
        self.views.push(json!({ "buffer": 0, "byteOffset": start, "byteLength": length, "target": target }));
        let view = self.views.len() - 1;
        self.accessors.push(json!({
            "bufferView": view, "componentType": component, "count": count, "type": kind,
        }));
        self.accessors.len() - 1
    }

    fn part(&mut self, part: &Part) -> Result<(), MeshError> {
        let count = part.positions.len();
        let vector = (gltf::F32, "VEC3");
        let floats = |list| <[[f32; 3]]>::as_flattened(list).iter().map(|value| value.to_le_bytes());
        let positions = self.array(ARRAY_BUFFER, vector, count, floats(&part.positions));
        let (mut min, mut max) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
        for position in &part.positions {
            for axis in 0..3 {
                min[axis] = min[axis].min(position[axis]);
                max[axis] = max[axis].max(position[axis]);
            }
        }
        if let Some(accessor) = self.accessors.last_mut().filter(|_| count > 0) {
            (accessor["min"], accessor["max"]) = (json!(min), json!(max));
        }
        let mut attributes = json!({ "POSITION": positions });
        if let Some(normals) = &part.normals {
            attributes["NORMAL"] = self.array(ARRAY_BUFFER, vector, count, floats(normals)).into();
        }
        if let Some(colors) = &part.colors {
            let accessor = match colors {
                Colors::U8(colors) => {
                    self.array(ARRAY_BUFFER, (gltf::U8, "VEC4"), count, colors.iter().copied())
                }
                Colors::U16(colors) => {
                    let channels = colors.as_flattened().iter().map(|channel| channel.to_le_bytes());
                    self.array(ARRAY_BUFFER, (gltf::U16, "VEC4"), count, channels)
                }
            };
            self.accessors[accessor]["normalized"] = true.into();
            attributes["COLOR_0"] = accessor.into();
        }
        for (extra, bytes) in &part.extras {
            let kind = if extra.stride() == 8 { "VEC2" } else { "VEC4" };
            let floats = bytes.as_chunks::<4>().0.iter().copied();
            attributes[extra.name()] = self.array(ARRAY_BUFFER, (gltf::F32, kind), count, floats).into();
        }
        let corners = part.indices.as_flattened().iter().map(|corner| corner.to_le_bytes());
        let scalar = (gltf::U32, "SCALAR");
        let indices = self.array(ELEMENT_ARRAY_BUFFER, scalar, part.indices.len() * 3, corners);
        let mut primitive = json!({ "attributes": attributes, "indices": indices, "mode": 4 });
        if let Some(material) = part.material {
            primitive["material"] = material.into();
        }
        match part.mesh {
            None => self.primitives.push(primitive),
            Some(mesh) => {
                let mesh = self.json.get_mut("meshes").and_then(|meshes| meshes.get_mut(mesh as usize));
                let list = mesh.and_then(|mesh| mesh.get_mut("primitives")).and_then(Value::as_array_mut);
                list.ok_or(ODD)?.push(primitive);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<u8>, MeshError> {
        if !self.primitives.is_empty() {
            let mesh = self.push("meshes", json!({ "primitives": self.primitives }))?;
            let node = self.push("nodes", json!({ "mesh": mesh }))?;
            let scene = self.json.get_mut("scenes").and_then(|scenes| scenes.get_mut(0)).ok_or(ODD)?;
            match scene.get_mut("nodes") {
                Some(nodes) => nodes.as_array_mut().ok_or(ODD)?.push(node.into()),
                None => {
                    scene.as_object_mut().ok_or(ODD)?.insert("nodes".into(), json!([node])).map_or((), drop)
                }
            }
        }
        self.json["buffers"] = json!([{ "byteLength": self.bin.len() }]);
        self.json["bufferViews"] = self.views.into();
        self.json["accessors"] = self.accessors.into();
        // Empty lists are not allowed.
        if let Some(object) = self.json.as_object_mut() {
            object.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
        }
        gltf::build(&self.json, &self.bin).ok_or(MeshError::Damaged("a model of more than 4 GiB"))
    }

    fn push(&mut self, name: &str, value: Value) -> Result<usize, MeshError> {
        let object = self.json.as_object_mut().ok_or(ODD)?;
        let list = object.entry(name).or_insert_with(|| json!([])).as_array_mut().ok_or(ODD)?;
        list.push(value);
        Ok(list.len() - 1)
    }
}
