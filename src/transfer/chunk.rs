//! Chunks: pieces of a model's file that are sent, verified, stored and passed on
//! one by one.
//!
//! A channel's stream is a sequence of headers of [`HEADER_BYTES`], each with its
//! chunk behind it:
//!
//! ```text
//! header = u32 index | u8 method | u8 version | u16 0 | u32 stored bytes | u32 decoded bytes | BLAKE3 of the stored bytes
//! ```

use bytes::{Bytes, BytesMut};

use super::{Holding, Method};

/// Bytes of the file that a chunk covers; the last may cover fewer.
pub const CHUNK_BYTES: usize = 256 << 10;
/// Bytes of a chunk's header.
pub const HEADER_BYTES: usize = 48;

/// How many chunks a file of that size has.
pub fn chunk_count(source_bytes: u64) -> u32 {
    u32::try_from(source_bytes.div_ceil(CHUNK_BYTES as u64)).unwrap_or(u32::MAX)
}

/// Bytes of the file that this chunk covers; zero behind the last.
pub fn chunk_bytes(index: u32, source_bytes: u64) -> usize {
    let start = u64::from(index) * CHUNK_BYTES as u64;
    source_bytes.saturating_sub(start).min(CHUNK_BYTES as u64) as usize
}

/// Why a chunk cannot be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkFault {
    /// The header is none, or does not fit the model: the sender is at fault.
    #[error("the header of chunk {index} does not fit its model")]
    WrongHeader {
        /// Which chunk it says it is.
        index: u32,
    },
    /// The bytes are not those that the header names.
    #[error("chunk {index} arrived damaged")]
    Damaged {
        /// Which.
        index: u32,
    },
}

/// What stands before a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkHeader {
    /// Which part of the file, in chunks.
    pub index: u32,
    /// Of its representation.
    pub method: Method,
    /// Of the method.
    pub version: u8,
    /// Bytes that follow.
    pub stored_bytes: u32,
    /// Bytes of the file that they stand for.
    pub decoded_bytes: u32,
    /// BLAKE3 of the bytes that follow.
    pub hash: [u8; 32],
}

impl ChunkHeader {
    /// As it is sent and stored.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&self.index.to_le_bytes());
        bytes[4] = self.method.byte();
        bytes[5] = self.version;
        bytes[8..12].copy_from_slice(&self.stored_bytes.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.decoded_bytes.to_le_bytes());
        bytes[16..].copy_from_slice(&self.hash);
        bytes
    }

    /// Reads one; none for a method that we do not know.
    pub fn decode(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let number = |at: usize| {
            bytes.get(at..at + 4).and_then(|b| b.first_chunk::<4>()).map(|b| u32::from_le_bytes(*b))
        };
        Some(Self {
            index: number(0)?,
            method: Method::from_byte(bytes[4])?,
            version: bytes[5],
            stored_bytes: number(8)?,
            decoded_bytes: number(12)?,
            hash: *bytes.last_chunk::<32>()?,
        })
    }
}

/// A chunk with its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// What it is.
    pub header: ChunkHeader,
    /// As it is sent and stored.
    pub bytes: Bytes,
}

impl Chunk {
    /// A piece of a file as it is.
    pub fn raw(index: u32, bytes: Bytes) -> Self {
        Self::packed(index, Method::Raw, bytes.len(), bytes)
    }

    /// A piece of a file of `decoded_bytes`, packed.
    pub fn packed(index: u32, method: Method, decoded_bytes: usize, bytes: Bytes) -> Self {
        let header = ChunkHeader {
            index,
            method,
            version: method.version(),
            // Both are about a chunk's size.
            stored_bytes: bytes.len() as u32,
            decoded_bytes: decoded_bytes as u32,
            hash: *blake3::hash(&bytes).as_bytes(),
        };
        Self { header, bytes }
    }
}

/// Puts the chunks of a channel's stream together.
#[derive(Debug, Default)]
pub struct ChunkAssembler {
    head: Vec<u8>,
    body: Option<Body>,
}

#[derive(Debug)]
struct Body {
    header: ChunkHeader,
    bytes: BytesMut,
    hasher: Box<blake3::Hasher>,
}

impl ChunkAssembler {
    /// Takes bytes from the front of `input` up to the end of the next chunk.
    /// `None`: all were taken and no chunk has ended. A damaged chunk does not
    /// disturb those behind it; after a wrong header the stream has no meaning.
    pub fn push(&mut self, input: &mut Bytes, holding: &Holding) -> Result<Option<Chunk>, ChunkFault> {
        loop {
            let Some(body) = &mut self.body else {
                let taken = (HEADER_BYTES - self.head.len()).min(input.len());
                self.head.extend_from_slice(&input.split_to(taken));
                let Some(head) = self.head.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
                let index = head.first_chunk::<4>().map_or(0, |index| u32::from_le_bytes(*index));
                let header = ChunkHeader::decode(head).ok_or(ChunkFault::WrongHeader { index })?;
                holding.check(&header)?;
                self.head.clear();
                // A part may be large: memory grows with what comes, not with what is said.
                let bytes = BytesMut::with_capacity((header.stored_bytes as usize).min(2 * CHUNK_BYTES));
                self.body = Some(Body { header, bytes, hasher: Box::default() });
                continue;
            };
            let missing = body.header.stored_bytes as usize - body.bytes.len();
            let piece = input.split_to(missing.min(input.len()));
            body.hasher.update(&piece);
            body.bytes.extend_from_slice(&piece);
            if piece.len() < missing {
                return Ok(None);
            }
            let Some(Body { header, bytes, hasher }) = self.body.take() else { return Ok(None) };
            if hasher.finalize().as_bytes() != &header.hash {
                return Err(ChunkFault::Damaged { index: header.index });
            }
            return Ok(Some(Chunk { header, bytes: bytes.freeze() }));
        }
    }

    /// Bytes of the file that the unfinished chunk covers so far, about.
    pub fn partly_covered(&self) -> u64 {
        self.body.as_ref().map_or(0, |body| {
            let stored = u64::from(body.header.stored_bytes.max(1));
            body.bytes.len() as u64 * u64::from(body.header.decoded_bytes) / stored
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(holding: &Holding) -> Vec<u8> {
        let chunks = (0..holding.chunk_count()).filter_map(|index| holding.chunk(index));
        chunks.flat_map(|chunk| [&chunk.header.encode()[..], &chunk.bytes].concat()).collect()
    }

    #[test]
    fn any_pieces_give_the_same_chunks() {
        let file: Bytes = vec![3; CHUNK_BYTES + 70_000].into();
        let holding = Holding::whole([1; 32], file);
        let stream = Bytes::from(stream(&holding));
        for size in [1usize, 47, 48, 49, 5000, 1 << 20] {
            let size = if size == 1 { 13 } else { size };
            let mut assembler = ChunkAssembler::default();
            let mut chunks = Vec::new();
            for piece in stream.chunks(size) {
                let mut piece = stream.slice_ref(piece);
                while let Some(chunk) = assembler.push(&mut piece, &holding).unwrap() {
                    chunks.push(chunk);
                }
                assert!(piece.is_empty());
            }
            assert_eq!(chunks, [holding.chunk(0).unwrap(), holding.chunk(1).unwrap()], "{size}");
            assert_eq!(assembler.partly_covered(), 0);
        }
    }

    #[test]
    fn damage_is_found_and_does_not_spread() {
        let holding = Holding::whole([1; 32], vec![3; CHUNK_BYTES + 9].into());
        let mut bytes = stream(&holding);
        bytes[HEADER_BYTES + 100] ^= 1;
        let mut assembler = ChunkAssembler::default();
        let mut input = Bytes::from(bytes.clone());
        assert_eq!(assembler.push(&mut input, &holding), Err(ChunkFault::Damaged { index: 0 }));
        assert_eq!(assembler.push(&mut input, &holding), Ok(holding.chunk(1)));
        bytes[8] ^= 1;
        let mut input = Bytes::from(bytes);
        let mut assembler = ChunkAssembler::default();
        assert_eq!(assembler.push(&mut input, &holding), Err(ChunkFault::WrongHeader { index: 0 }));
    }
}
