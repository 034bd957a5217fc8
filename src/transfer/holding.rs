//! What is held of a representation of a model's content: all of it, or some
//! chunks. Shared by everybody who shows it, sends it or adds to it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::chunk::{CHUNK_BYTES, Chunk, ChunkFault, ChunkHeader, chunk_bytes, chunk_count};

/// The BLAKE3 hash of the opener's file.
pub type ContentId = [u8; 32];

/// A way of sending a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// The file as it is.
    Raw,
    /// Each chunk of the file as a gzip member of its own.
    Gzip,
}

impl Method {
    /// All that this build can send and receive.
    pub const ALL: [Self; 2] = [Self::Raw, Self::Gzip];

    /// The word in version messages and offers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Gzip => "gzip",
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
}

#[derive(Debug)]
struct State {
    /// The whole file, of which raw chunks are slices.
    file: Option<Bytes>,
    chunks: Vec<Option<Chunk>>,
    held: u32,
    covered: u64,
    /// Whether it is being made here, or has been.
    packing: bool,
}

impl Holding {
    /// Nothing yet of a file of that size.
    pub fn empty(id: RepresentationId, source_bytes: u64) -> Self {
        let count = chunk_count(source_bytes) as usize;
        let state = State { file: None, chunks: vec![None; count], held: 0, covered: 0, packing: false };
        Self { id, source_bytes, state: Mutex::new(state) }
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
        chunk_count(self.source_bytes)
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
        let fits = header.index < self.chunk_count()
            && header.method == self.id.method
            && header.version == self.id.version
            && header.decoded_bytes as usize == expected
            && match header.method {
                Method::Raw => header.stored_bytes == header.decoded_bytes,
                // What does not shrink grows by a few bytes.
                Method::Gzip => (header.stored_bytes as usize) <= expected + 1024,
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
        let Some(slot) = state.chunks.get_mut(chunk.header.index as usize) else { return false };
        if slot.is_some() {
            return false;
        }
        *slot = Some(chunk);
        state.held += 1;
        state.covered += decoded;
        true
    }

    /// Gives up a chunk that turned out to be wrong.
    pub fn remove(&self, index: u32) {
        let mut state = self.state();
        if let Some(chunk) = state.chunks.get_mut(index as usize).and_then(Option::take) {
            state.held -= 1;
            state.covered -= u64::from(chunk.header.decoded_bytes);
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

    /// Bytes of the file that the chunks here cover.
    pub fn covered(&self) -> u64 {
        self.state().covered
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
