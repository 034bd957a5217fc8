//! What is held of a representation of a model's content: all of it, or some
//! chunks. Shared by everybody who shows it, sends it or adds to it.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;

use super::chunk::{CHUNK_BYTES, Chunk, ChunkFault, ChunkHeader, chunk_bytes, chunk_count};
use crate::mesh::{self, Assembly, Decoded, GlbBuilder, MeshError, Plan, exact::Layout};

/// The BLAKE3 hash of the opener's file.
pub type ContentId = [u8; 32];

/// A way of sending a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// The file as it is.
    Raw,
    /// Each chunk of the file as a gzip member of its own.
    Gzip,
    /// The file's arrays as planes: see [`mesh::exact`].
    Exact,
    /// Not the file, but what it shows within a stated error: its plain geometry in
    /// parts, each encoded by itself. See [`mesh`].
    Mesh,
}

/// Chunks that a model in parts may have.
pub const MAX_PARTS: u32 = 1 << 14;
/// What a receiver's window is larger after the first bytes than at the start, bytes,
/// as far as that matters: see [`Holding::note_allowed`].
const WINDOW_GROWS: u64 = 48 << 10;
/// Bytes that a model in parts may be decoded to, beyond four times its file: small
/// indices and colours grow.
const DECODED_BEYOND: u64 = 1 << 20;

impl Method {
    /// All that this build can send and receive.
    pub const ALL: [Self; 4] = [Self::Raw, Self::Gzip, Self::Exact, Self::Mesh];

    /// The word in version messages and offers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Gzip => "gzip",
            Self::Exact => "exact",
            Self::Mesh => "mesh",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == word)
    }

    /// The byte in a chunk's header.
    pub fn byte(self) -> u8 {
        match self {
            Self::Raw => 0,
            Self::Gzip => 1,
            Self::Exact => 2,
            Self::Mesh => 3,
        }
    }

    /// Reads the byte.
    pub fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.byte() == byte)
    }

    /// The version of the method, which changes with its output.
    pub fn version(self) -> u8 {
        1
    }
}

/// What travels of a content: neither method here has parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RepresentationId {
    /// Of the opener's file.
    pub content: ContentId,
    /// How it is packed.
    pub method: Method,
    /// Of the method.
    pub version: u8,
}

impl RepresentationId {
    /// The one that this build makes.
    pub fn new(content: ContentId, method: Method) -> Self {
        Self { content, method, version: method.version() }
    }
}

/// The chunks of a representation that are here.
#[derive(Debug)]
pub struct Holding {
    id: RepresentationId,
    source_bytes: u64,
    state: Mutex<State>,
    /// Of what is made here: where the file's arrays are, and how it is cut.
    layout: OnceLock<Layout>,
    plan: Option<Arc<Plan>>,
    /// Of what comes in parts: those that are decoded.
    assembly: Mutex<Option<Arc<Assembly>>>,
    /// What is made of them, or why nothing can be.
    builder: Mutex<Result<GlbBuilder, MeshError>>,
    flow: Flow,
}

/// How the chunks of a holding come and go.
#[derive(Debug, Default)]
struct Flow {
    /// Bytes that the receiver who is furthest has taken, and its bytes a second.
    taken: AtomicU64,
    rate: AtomicU64,
    /// Microseconds that its chunks took to encode here, or to decode.
    work: AtomicU64,
}

#[derive(Debug)]
struct State {
    /// The whole file, of which raw chunks are slices.
    file: Option<Bytes>,
    chunks: Vec<Option<Chunk>>,
    held: u32,
    covered: u64,
    /// Bytes of the chunks as they travel, headers included.
    stored: u64,
    /// The next chunk to be made here.
    next: u32,
    /// Whether it is being made here, or has been.
    packing: bool,
}

impl Holding {
    /// Nothing yet of a file of that size.
    pub fn empty(id: RepresentationId, source_bytes: u64) -> Self {
        Self::of_chunks(id, source_bytes, chunk_count(source_bytes))
    }

    /// The same in so many chunks, which only a model in parts has a say in.
    pub fn of_chunks(id: RepresentationId, source_bytes: u64, chunks: u32) -> Self {
        let in_parts = id.method == Method::Mesh;
        let count = if in_parts { chunks.min(MAX_PARTS) } else { chunk_count(source_bytes) };
        let chunks = vec![None; count as usize];
        let state = State { file: None, chunks, held: 0, covered: 0, stored: 0, next: 0, packing: false };
        let holding = Self {
            id,
            source_bytes,
            state: Mutex::new(state),
            layout: OnceLock::new(),
            plan: None,
            assembly: Mutex::new(None),
            builder: Mutex::new(Ok(GlbBuilder::default())),
            flow: Flow::default(),
        };
        if in_parts {
            let limit = usize::try_from(holding.decoded_limit()).unwrap_or(usize::MAX);
            *holding.lock_assembly() = Some(Arc::new(Assembly::new(count, limit)));
        }
        holding
    }

    /// A model that will be cut into parts here: nothing of it yet.
    pub fn in_parts(content: ContentId, source_bytes: u64, plan: Arc<Plan>) -> Self {
        let id = RepresentationId::new(content, Method::Mesh);
        let holding = Self::of_chunks(id, source_bytes, plan.chunk_count());
        // What is made here need not be decoded here.
        *holding.lock_assembly() = None;
        Self { plan: Some(plan), ..holding }
    }

    fn lock_assembly(&self) -> MutexGuard<'_, Option<Arc<Assembly>>> {
        self.assembly.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes that all chunks together may stand for.
    fn decoded_limit(&self) -> u64 {
        match self.id.method {
            Method::Mesh => self.source_bytes.saturating_mul(4).saturating_add(DECODED_BEYOND),
            Method::Raw | Method::Gzip | Method::Exact => self.source_bytes,
        }
    }

    /// All of a file, as it is. Its chunks are hashed when they are first asked for.
    pub fn whole(content: ContentId, file: Bytes) -> Self {
        let holding = Self::empty(RepresentationId::new(content, Method::Raw), file.len() as u64);
        holding.become_whole(file);
        holding
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it is of what.
    pub fn id(&self) -> RepresentationId {
        self.id
    }

    /// Bytes of the opener's file.
    pub fn source_bytes(&self) -> u64 {
        self.source_bytes
    }

    /// Chunks in all.
    pub fn chunk_count(&self) -> u32 {
        // Counted when it was made; far below the largest number.
        self.state().chunks.len() as u32
    }

    /// Whether this chunk can be sent.
    pub fn has(&self, index: u32) -> bool {
        let state = self.state();
        state.file.is_some() || state.chunks.get(index as usize).is_some_and(Option::is_some)
    }

    /// A chunk, if it is here. The first to ask for one of a whole file hashes it.
    pub fn chunk(&self, index: u32) -> Option<Chunk> {
        let bytes = {
            let state = self.state();
            let slot = state.chunks.get(index as usize)?;
            if let Some(chunk) = slot {
                return Some(chunk.clone());
            }
            let start = index as usize * CHUNK_BYTES;
            let file = state.file.as_ref()?;
            file.slice(start..start + chunk_bytes(index, self.source_bytes))
        };
        // Not under the lock: it takes a while.
        let chunk = Chunk::raw(index, bytes);
        if let Some(slot) = self.state().chunks.get_mut(index as usize) {
            *slot = Some(chunk.clone());
        }
        Some(chunk)
    }

    /// Whether a chunk with this header can be part of it.
    pub fn check(&self, header: &ChunkHeader) -> Result<(), ChunkFault> {
        let expected = chunk_bytes(header.index, self.source_bytes);
        let (stored, decoded) = (header.stored_bytes as usize, header.decoded_bytes as usize);
        let (held, count) = {
            let state = self.state();
            (state.covered, state.chunks.len())
        };
        let fits = (header.index as usize) < count
            && header.method == self.id.method
            && header.version == self.id.version
            && match header.method {
                Method::Raw => decoded == expected && stored == decoded,
                // What does not shrink grows by a few bytes.
                Method::Gzip | Method::Exact => {
                    decoded == expected && stored <= expected + expected / 2 + 1024
                }
                Method::Mesh => {
                    decoded <= mesh::MAX_DECODED_BYTES
                        && stored <= mesh::MAX_CHUNK_BYTES.min(decoded + decoded / 2 + 4096)
                        && held + decoded as u64 <= self.decoded_limit()
                }
            };
        if fits { Ok(()) } else { Err(ChunkFault::WrongHeader { index: header.index }) }
    }

    /// Adds a chunk that was verified. Whether it is new.
    pub fn insert(&self, chunk: Chunk) -> bool {
        let mut state = self.state();
        if state.file.is_some() {
            return false;
        }
        let decoded = u64::from(chunk.header.decoded_bytes);
        let stored = (super::chunk::HEADER_BYTES + chunk.bytes.len()) as u64;
        let Some(slot) = state.chunks.get_mut(chunk.header.index as usize) else { return false };
        if slot.is_some() {
            return false;
        }
        *slot = Some(chunk);
        state.held += 1;
        state.covered += decoded;
        state.stored += stored;
        true
    }

    /// Gives up a chunk that turned out to be wrong.
    pub fn remove(&self, index: u32) {
        let mut state = self.state();
        if let Some(chunk) = state.chunks.get_mut(index as usize).and_then(Option::take) {
            state.held -= 1;
            state.covered -= u64::from(chunk.header.decoded_bytes);
            state.stored -= (super::chunk::HEADER_BYTES + chunk.bytes.len()) as u64;
        }
    }

    /// The whole file is here: chunks become slices of it, so that it lies in
    /// memory once. Of other methods the chunks stay as they are.
    pub fn become_whole(&self, file: Bytes) {
        let mut state = self.state();
        if self.id.method == Method::Raw && file.len() as u64 == self.source_bytes {
            for (index, slot) in state.chunks.iter_mut().enumerate() {
                let start = index * CHUNK_BYTES;
                let end = (start + CHUNK_BYTES).min(file.len());
                if let Some(chunk) = slot {
                    chunk.bytes = file.slice(start..end);
                }
            }
            state.held = state.chunks.len() as u32;
            state.covered = self.source_bytes;
            state.file = Some(file);
        }
    }

    /// Whether every chunk is here.
    pub fn is_complete(&self) -> bool {
        let state = self.state();
        state.held as usize == state.chunks.len()
    }

    /// Bytes of the file that the chunks here cover; of a model in parts, about.
    pub fn covered(&self) -> u64 {
        let state = self.state();
        match self.id.method {
            Method::Raw | Method::Gzip | Method::Exact => state.covered,
            Method::Mesh if state.held as usize == state.chunks.len() => self.source_bytes,
            // Vertices at the edges of parts are there twice.
            Method::Mesh => state.covered.min(self.source_bytes - self.source_bytes / 50),
        }
    }

    /// Bytes of the chunks that are here as they travel, headers included.
    pub fn stored_bytes(&self) -> u64 {
        self.state().stored
    }

    /// Time that the chunks took to encode here, or to decode, on one thread.
    pub fn work(&self) -> Duration {
        Duration::from_micros(self.flow.work.load(Ordering::Relaxed))
    }

    /// Adds to [`Self::work`].
    pub fn note_work(&self, took: Duration) {
        self.flow.work.fetch_add(u64::try_from(took.as_micros()).unwrap_or(0), Ordering::Relaxed);
    }

    /// A receiver has allowed so many bytes more of a channel in so much time in which
    /// there was something to send, and was sent so many.
    pub fn note_allowed(&self, bytes: u64, sent: u64, busy: Duration) {
        // It allows what it has taken, and at first as much again: its window grows.
        // It may allow more than there was, but has taken no more than was sent.
        let bytes = (bytes - (bytes / 2).min(WINDOW_GROWS)).min(sent);
        if bytes > 0 && self.flow.taken.fetch_max(bytes, Ordering::Relaxed) <= bytes {
            let rate = bytes as f64 / busy.as_secs_f64().max(1e-4);
            self.flow.rate.store(rate as u64, Ordering::Relaxed);
        }
    }

    /// How long the receiver who is furthest has to do with the chunks that are
    /// here and as many bytes more; none before it has taken `sample` bytes, or all
    /// that there are: the first few arrive at once, however slow a link is.
    pub fn lead(&self, more: u64, sample: u64) -> Option<Duration> {
        let rate = self.flow.rate.load(Ordering::Relaxed);
        let (stored, taken) = (self.stored_bytes(), self.flow.taken.load(Ordering::Relaxed));
        let left = stored.saturating_sub(taken).saturating_add(more);
        (rate > 0 && taken >= sample.min(stored)).then(|| Duration::from_secs_f64(left as f64 / rate as f64))
    }

    /// How it is cut, if it is made here.
    pub fn plan(&self) -> Option<&Arc<Plan>> {
        self.plan.as_ref()
    }

    /// Where the arrays of the file are, looked for once.
    pub(super) fn layout(&self, file: &[u8]) -> &Layout {
        self.layout.get_or_init(|| Layout::of(file))
    }

    /// The next chunk to be made here, for one thread alone.
    pub fn claim(&self) -> Option<u32> {
        let mut state = self.state();
        while let Some(slot) = state.chunks.get(state.next as usize) {
            let (index, free) = (state.next, slot.is_none());
            state.next += 1;
            if free {
                return Some(index);
            }
        }
        None
    }

    /// Decodes one chunk of a model in parts.
    ///
    /// # Errors
    /// If it is damaged, or does not fit the others.
    pub fn decode_part(&self, index: u32) -> Result<Arc<Decoded>, MeshError> {
        let chunk = self.chunk(index).ok_or(MeshError::Damaged("a chunk is missing"))?;
        let announced = chunk.header.decoded_bytes as usize;
        let decoded = Arc::new(mesh::decode_announced(&chunk.bytes, announced)?);
        if let Some(assembly) = self.parts() {
            assembly.insert(index, decoded.clone())?;
        }
        Ok(decoded)
    }

    /// Writes those parts that come next into the standard GLB, as far as they are
    /// decoded. While another thread does, that one does it.
    pub fn lay_down(&self) {
        let Ok(mut built) = self.builder.try_lock() else { return };
        while let Ok(builder) = &mut *built {
            // Not under the lock of the parts, which are looked at while it is written.
            let next = self.parts().and_then(|parts| parts.chunk(builder.next()).cloned());
            let Some(next) = next else { return };
            if let Err(error) = builder.push(&next) {
                *built = Err(error);
            }
        }
    }

    /// The standard GLB of a model in parts, once all are decoded. Only once: the
    /// parts are given up here then, but stay with whoever has asked for them before.
    pub fn assemble(&self) -> Option<Result<Bytes, MeshError>> {
        let assembly = {
            let mut assembly = self.lock_assembly();
            assembly.as_ref().filter(|assembly| assembly.is_complete())?;
            assembly.take()?
        };
        let mut built = self.builder.lock().unwrap_or_else(PoisonError::into_inner);
        let builder = std::mem::replace(&mut *built, Ok(GlbBuilder::default()));
        let finish = |mut builder: GlbBuilder| {
            builder.advance(&assembly)?;
            builder.finish()
        };
        Some(builder.and_then(finish).map(Bytes::from))
    }

    /// The parts as they are decoded, until the model is whole. Whoever holds them sees
    /// all that come later, the last ones too.
    pub fn parts(&self) -> Option<Arc<Assembly>> {
        self.lock_assembly().clone()
    }

    /// The whole file, if it lies here in one piece.
    pub fn file(&self) -> Option<Bytes> {
        self.state().file.clone()
    }

    /// The chunks that are lacking: first and count of each run.
    pub fn missing(&self) -> Vec<(u32, u32)> {
        let state = self.state();
        let mut runs: Vec<(u32, u32)> = Vec::new();
        if state.file.is_some() {
            return runs;
        }
        for (index, slot) in (0u32..).zip(&state.chunks) {
            if slot.is_some() {
                continue;
            }
            match runs.last_mut() {
                Some((first, count)) if *first + *count == index => *count += 1,
                _ => runs.push((index, 1)),
            }
        }
        runs
    }

    /// Whether it is being made here, or has been.
    pub fn is_packing(&self) -> bool {
        self.state().packing
    }

    /// It is to be made here now. Whether that is news.
    pub fn begin_packing(&self) -> bool {
        !std::mem::replace(&mut self.state().packing, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: usize) -> Bytes {
        (0..bytes).map(|n| (n % 251) as u8).collect::<Vec<u8>>().into()
    }

    #[test]
    fn a_whole_file_goes_over_chunk_by_chunk() {
        let file = file(CHUNK_BYTES * 2 + 5);
        let content = *blake3::hash(&file).as_bytes();
        let whole = Holding::whole(content, file.clone());
        assert_eq!((whole.chunk_count(), whole.missing(), whole.is_complete()), (3, vec![], true));
        let other = Holding::empty(whole.id(), whole.source_bytes());
        assert_eq!(other.missing(), [(0, 3)]);
        assert!(other.chunk(0).is_none() && !other.has(0));
        assert!(other.insert(whole.chunk(1).unwrap()));
        assert!(!other.insert(whole.chunk(1).unwrap()), "twice is once");
        assert_eq!((other.missing(), other.covered()), (vec![(0, 1), (2, 1)], CHUNK_BYTES as u64));
        for index in [2, 0] {
            let chunk = whole.chunk(index).unwrap();
            assert_eq!(other.check(&chunk.header), Ok(()));
            assert!(other.insert(chunk));
        }
        assert!(other.is_complete() && other.file().is_none());
        assert_eq!(other.covered(), file.len() as u64);
        other.become_whole(file.clone());
        assert_eq!(other.chunk(2).unwrap().bytes, file.slice(CHUNK_BYTES * 2..));
        assert!(whole.chunk(3).is_none());
    }

    #[test]
    fn headers_that_do_not_fit() {
        let whole = Holding::whole([0; 32], file(CHUNK_BYTES + 5));
        let good = whole.chunk(1).unwrap().header;
        assert_eq!(whole.check(&good), Ok(()));
        for bad in [
            ChunkHeader { index: 2, ..good },
            ChunkHeader { index: 0, ..good },
            ChunkHeader { stored_bytes: 6, ..good },
            ChunkHeader { decoded_bytes: 4, ..good },
            ChunkHeader { method: Method::Gzip, ..good },
            ChunkHeader { version: 9, ..good },
        ] {
            assert!(whole.check(&bad).is_err(), "{bad:?}");
        }
    }
}
