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
    pub fn chunk(&self, index: usize) -> Option<&Arc<Decoded>> {
        self.chunks.get(index)?.get()
    }

    /// Whether this one is here.
    #[must_use]
    pub fn has(&self, index: u32) -> bool {
        self.chunk(index as usize).is_some()
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
        let mut builder = GlbBuilder::default();
        builder.advance(self)?;
        builder.finish()
    }
}

/// Makes a standard GLB of chunks while they come: each is written to its place as
/// soon as all before it are there, so that little is left to do after the last.
///
/// The description, whose length is not known before, gets room at the start.
#[derive(Debug, Default)]
pub struct GlbBuilder {
    writer: Option<Writer>,
    /// The chunk that comes next.
    next: usize,
}

impl GlbBuilder {
    /// Takes the chunks that are there and come next.
    ///
    /// # Errors
    /// If they are not of one model.
    pub fn advance(&mut self, assembly: &Assembly) -> Result<(), MeshError> {
        while let Some(chunk) = assembly.chunk(self.next) {
            self.push(chunk)?;
        }
        Ok(())
    }

    /// The number of the chunk that comes next.
    #[must_use]
    pub fn next(&self) -> usize {
        self.next
    }

    /// Takes the next chunk.
    ///
    /// # Errors
    /// If it cannot be that.
    pub fn push(&mut self, chunk: &Decoded) -> Result<(), MeshError> {
        match (chunk, self.writer.as_mut()) {
            (Decoded::Head(head), None) => self.writer = Some(Writer::new(head)?),
            (Decoded::Part(part), Some(writer)) if self.next <= writer.parts => writer.part(part)?,
            (Decoded::Rest(bytes), Some(writer)) if self.next > writer.parts => writer.rest(bytes),
            _ => return Err(ODD),
        }
        self.next += 1;
        Ok(())
    }

    /// The file.
    ///
    /// # Errors
    /// If chunks are missing.
    pub fn finish(self) -> Result<Vec<u8>, MeshError> {
        let missing = MeshError::Damaged("a chunk is missing");
        let writer = self.writer.filter(|writer| self.next > writer.parts).ok_or(missing.clone())?;
        if writer.rest_start.map_or(0, |start| writer.file.len() - start) != writer.rest_bytes {
            return Err(missing);
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

/// Room that is kept for what a description says of a part.
const PART_ROOM: usize = 1500;
/// And in all; a longer one costs a copy of the file.
const MOST_ROOM: usize = 4 << 20;
/// Copying a smaller file costs nothing, and saves the room.
const WORTH_ROOM: usize = 1 << 20;

#[derive(Debug)]
struct Writer {
    json: Value,
    /// The file: its head and room for the description, then the arrays.
    file: Vec<u8>,
    /// Where the arrays begin.
    bin: usize,
    /// Where the rest begins, once it has.
    rest_start: Option<usize>,
    rest_bytes: usize,
    parts: usize,
    /// Of the description; offsets in the rest.
    rest_views: usize,
    views: Vec<Value>,
    accessors: Vec<Value>,
    /// Primitives in the model's own space.
    primitives: Vec<Value>,
}

impl Writer {
    fn new(head: &Head) -> Result<Self, MeshError> {
        let mut json = gltf::parse(&head.json).map_err(MeshError::Damaged)?;
        let mut take = |name: &str| match json.get_mut(name).map(Value::take) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(list)) => Ok(list),
            Some(_) => Err(ODD),
        };
        let (views, accessors) = (take("bufferViews")?, take("accessors")?);
        let parts = head.parts as usize;
        let room = (head.json.len() + 2048).saturating_add(parts.saturating_mul(PART_ROOM)).min(MOST_ROOM);
        let bin = gltf::bin_start(room);
        Ok(Self {
            json,
            file: vec![0; bin],
            bin,
            rest_start: None,
            rest_bytes: head.rest_bytes,
            parts,
            rest_views: views.len(),
            views,
            accessors,
            primitives: Vec::new(),
        })
    }

    fn align(&mut self) -> usize {
        let start = self.file.len().next_multiple_of(4);
        self.file.resize(start, 0);
        start
    }

    /// Appends a piece of the rest.
    fn rest(&mut self, bytes: &[u8]) {
        if self.rest_start.is_none() {
            self.rest_start = Some(self.align());
        }
        self.file.extend_from_slice(bytes);
    }

    /// Appends an array of numbers; its accessor.
    fn array<const N: usize>(
        &mut self,
        target: u64,
        (component, kind): (u64, &str),
        count: usize,
        numbers: impl ExactSizeIterator<Item = [u8; N]>,
    ) -> usize {
        let start = self.align();
        let length = numbers.len() * N;
        self.file.resize(start + length, 0);
        // Chunk by chunk, which compiles to a copy.
        for (bytes, number) in self.file[start..].as_chunks_mut::<N>().0.iter_mut().zip(numbers) {
            *bytes = number;
        }
        let offset = start - self.bin;
        self.views.push(json!({ "buffer": 0, "byteOffset": offset, "byteLength": length, "target": target }));
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
        // The description counts from the start of the rest.
        let before = self.rest_start.map_or(0, |start| start - self.bin);
        for view in self.views.iter_mut().take(self.rest_views) {
            let offset =
                gltf::whole_or(view.get("byteOffset"), 0).and_then(|offset| offset.checked_add(before));
            let view = view.as_object_mut().ok_or(ODD)?;
            view.insert("byteOffset".into(), offset.ok_or(ODD)?.into());
        }
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
        self.align();
        let length = self.file.len() - self.bin;
        self.json["buffers"] = json!([{ "byteLength": length }]);
        self.json["bufferViews"] = self.views.into();
        self.json["accessors"] = self.accessors.into();
        // Empty lists are not allowed.
        if let Some(object) = self.json.as_object_mut() {
            object.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
        }
        let large = MeshError::Damaged("a model of more than 4 GiB");
        let text = self.json.to_string();
        if length < WORTH_ROOM || gltf::bin_start(text.len()) > self.bin {
            return gltf::build(&text, &self.file[self.bin..]).ok_or(large);
        }
        gltf::fill(&mut self.file, &text, self.bin).ok_or(large)?;
        self.file.shrink_to_fit();
        Ok(self.file)
    }

    fn push(&mut self, name: &str, value: Value) -> Result<usize, MeshError> {
        let object = self.json.as_object_mut().ok_or(ODD)?;
        let list = object.entry(name).or_insert_with(|| json!([])).as_array_mut().ok_or(ODD)?;
        list.push(value);
        Ok(list.len() - 1)
    }
}
