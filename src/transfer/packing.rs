//! Making chunks of a file smaller, and whether that is worth it.

use std::io::{Read, Write};

use bytes::Bytes;
use flate2::{Compression, read::GzDecoder, write::GzEncoder};

use super::{CHUNK_BYTES, Chunk, ChunkHeader, Holding, Method, RepresentationId};
use crate::mesh::{Encoding, NORMAL_BITS, exact};

/// A file under this size is sent as it is.
const WORTH_BYTES: usize = 64 << 10;
/// What is looked at to find out: so many pieces of so many bytes. Together they
/// take a fraction of a millisecond.
const SAMPLES: usize = 3;
const SAMPLE_BYTES: usize = 8 << 10;

/// Whether packing saves a tenth of a file, as far as a few samples tell.
pub fn is_worth_packing(file: &[u8]) -> bool {
    if file.len() < WORTH_BYTES {
        return false;
    }
    let stride = (file.len() - SAMPLE_BYTES) / (SAMPLES - 1);
    let samples = (0..SAMPLES).filter_map(|n| file.get(n * stride..n * stride + SAMPLE_BYTES));
    let packed: usize = samples.map(|sample| pack(sample, Compression::fast()).len()).sum();
    packed * 10 <= SAMPLES * SAMPLE_BYTES * 9
}

fn pack(bytes: &[u8], level: Compression) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 2), level);
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

impl Holding {
    /// What a file that is whole becomes in a way that gives the same file back:
    /// nothing of it yet.
    pub fn packed_of(raw: &Holding, method: Method) -> Self {
        Self::empty(RepresentationId::new(raw.id().content, method), raw.source_bytes())
    }

    /// Makes one chunk; false where it cannot be made. Parts of a model are encoded
    /// as `encoding` says.
    pub fn pack(&self, raw: &Holding, index: u32, encoding: Encoding) -> bool {
        let method = self.id().method;
        let made = match method {
            Method::Mesh => {
                let encoded = self.plan().and_then(|plan| plan.encode_once(index, encoding, NORMAL_BITS));
                encoded.map(|encoded| (encoded.bytes, encoded.decoded_bytes))
            }
            Method::Gzip => {
                raw.chunk(index).map(|chunk| (pack(&chunk.bytes, Compression::new(6)), chunk.bytes.len()))
            }
            Method::Exact => raw.file().map(|file| {
                let start = (index as usize * CHUNK_BYTES).min(file.len());
                let piece = start..(start + CHUNK_BYTES).min(file.len());
                (exact::encode(&file, self.layout(&file), piece.clone()), piece.len())
            }),
            Method::Raw => None,
        };
        made.is_some_and(|(bytes, decoded)| self.insert(Chunk::packed(index, method, decoded, bytes.into())))
    }

    /// Whether a part was made when its file was opened, before anybody asked for it.
    pub fn is_made(&self, index: u32) -> bool {
        self.plan().is_some_and(|plan| plan.is_made(index))
    }

    /// Vertices of a part that is made here; of anything else none.
    pub fn part_vertices(&self, index: u32) -> usize {
        self.plan().map_or(0, |plan| plan.part_vertices(index))
    }
}

/// Appends what a chunk stands for. False if it cannot be unpacked, or stands for
/// more or less than it says: no more than that is unpacked.
pub fn unpack(header: &ChunkHeader, bytes: &Bytes, file: &mut Vec<u8>) -> bool {
    match header.method {
        Method::Raw => file.extend_from_slice(bytes),
        Method::Gzip => {
            let decoded = u64::from(header.decoded_bytes);
            let before = file.len() as u64;
            let mut decoder = GzDecoder::new(&bytes[..]).take(decoded + 1);
            if decoder.read_to_end(file).is_err() || file.len() as u64 != before + decoded {
                return false;
            }
        }
        Method::Exact => {
            return exact::decode(bytes, header.decoded_bytes as usize, file).is_ok();
        }
        // No piece of the file.
        Method::Mesh => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::CHUNK_BYTES;

    fn noise(bytes: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut next = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as u8
        };
        (0..bytes).map(|_| next()).collect()
    }

    #[test]
    fn what_saves_nothing_is_not_packed() {
        assert!(!is_worth_packing(&noise(300_000)));
        assert!(!is_worth_packing(&[7; 1000]), "too small");
        let floats: Vec<u8> = (0..100_000u32).flat_map(|n| (n as f32 * 0.25).to_le_bytes()).collect();
        assert!(is_worth_packing(&floats));
    }

    #[test]
    fn packed_chunks_are_read_back() {
        let file: Bytes = (0..CHUNK_BYTES + 5000).map(|n| (n / 100) as u8).collect::<Vec<u8>>().into();
        let raw = Holding::whole(*blake3::hash(&file).as_bytes(), file.clone());
        for method in [Method::Gzip, Method::Exact] {
            let packed = Holding::packed_of(&raw, method);
            while let Some(index) = packed.claim() {
                assert!(packed.pack(&raw, index, Encoding::Fast));
            }
            assert!(packed.is_complete());
            let mut read = Vec::new();
            for index in 0..2 {
                let chunk = packed.chunk(index).unwrap();
                assert_eq!(packed.check(&chunk.header), Ok(()));
                assert!(chunk.bytes.len() < CHUNK_BYTES / 10);
                assert!(unpack(&chunk.header, &chunk.bytes, &mut read));
            }
            assert_eq!(read, file);
        }
    }

    #[test]
    fn a_bomb_does_not_go_off() {
        let bomb = Bytes::from(pack(&vec![0; 50 << 20], Compression::best()));
        let header = Chunk::packed(0, Method::Gzip, 1000, bomb.clone()).header;
        let mut file = Vec::new();
        assert!(!unpack(&header, &bomb, &mut file));
        assert!(file.capacity() < 100_000, "{}", file.capacity());
        let header = ChunkHeader { decoded_bytes: 4, ..header };
        assert!(!unpack(&header, &Bytes::from_static(b"no gzip"), &mut file));
    }
}
