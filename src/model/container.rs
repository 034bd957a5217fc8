//! The outermost layer: a GLB's chunks, or glTF text as it is.
//!
//! Read more tolerantly than the format allows, because files in use need it:
//! chunks without padding (old ChimeraX), a byte order mark, chunks of unknown
//! type, bytes after the end. A length that points outside the file is an error.

use super::error::ContainerError;
use super::warnings::Warnings;

const MAGIC: &[u8; 4] = b"glTF";
const CHUNK_JSON: &[u8; 4] = b"JSON";
const CHUNK_BIN: &[u8; 4] = b"BIN\0";
const BYTE_ORDER_MARK: &[u8; 3] = b"\xef\xbb\xbf";

/// The parts of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Container<'a> {
    pub(super) json: &'a [u8],
    /// The binary chunk of a GLB.
    pub(super) bin: Option<&'a [u8]>,
}

/// Whether the bytes claim to be a GLB.
pub(super) fn is_glb(file: &[u8]) -> bool {
    file.starts_with(MAGIC)
}

/// The text without a byte order mark in front.
pub(super) fn without_byte_order_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// Finds the description and the binary chunk in a file.
pub(super) fn parse<'a>(file: &'a [u8], warnings: &mut Warnings) -> Result<Container<'a>, ContainerError> {
    if !is_glb(file) {
        let text = without_byte_order_mark(file);
        return match text.trim_ascii_start().first() {
            Some(b'{') => Ok(Container { json: text, bin: None }),
            _ => Err(ContainerError::NotGltf),
        };
    }
    let truncated = |stated: u64| ContainerError::Truncated { stated, actual: file.len() as u64 };
    let Some(([_, version, length], _)) = words::<3>(file) else {
        return Err(truncated(12));
    };
    if version != 2 {
        return Err(ContainerError::Version(version));
    }
    let content = usize::try_from(length).ok().and_then(|length| file.get(..length));
    let content = content.ok_or_else(|| truncated(length.into()))?;
    if content.len() < file.len() {
        warnings.push(format_args!("{} bytes after the end of the GLB", file.len() - content.len()));
    }
    chunks(content, warnings)
}

fn chunks<'a>(content: &'a [u8], warnings: &mut Warnings) -> Result<Container<'a>, ContainerError> {
    let mut offset = 12;
    let mut json = None;
    let mut bin = None;
    while let Some(rest) = content.get(offset..).filter(|rest| !rest.is_empty()) {
        let Some(chunk) = Chunk::read(rest) else {
            if json.is_none() {
                return Err(ContainerError::NoJson);
            }
            warnings.push(format_args!("{} stray bytes at the end of the GLB", rest.len()));
            break;
        };
        let start = offset + Chunk::HEADER;
        let Some(data) = chunk.data else {
            let available = content.len().saturating_sub(start) as u64;
            let stated = u64::from(chunk.length);
            return Err(ContainerError::ChunkTooLong { stated, offset: start as u64, available });
        };
        match &chunk.kind {
            CHUNK_JSON if json.is_none() => json = Some(data),
            _ if json.is_none() => return Err(ContainerError::NoJson),
            CHUNK_BIN if bin.is_none() => bin = Some(data),
            CHUNK_JSON | CHUNK_BIN => warnings.push("the GLB has a second chunk of the same kind, left out"),
            _ => warnings.push("the GLB has a chunk of unknown kind, left out"),
        }
        offset = start + data.len();
        let padding = offset.wrapping_neg() % 4;
        if padding > 0 && offset < content.len() {
            warnings.push("the GLB has a chunk that is not padded to 4 bytes");
            // Either the next chunk follows at once, or the padding is there but not counted.
            let padded = content.get(offset + padding..).and_then(Chunk::read).filter(Chunk::is_known);
            let follows = content.get(offset..).and_then(Chunk::read).filter(Chunk::is_known);
            if follows.is_none() && padded.is_some() {
                offset += padding;
            }
        }
    }
    let json = json.ok_or(ContainerError::NoJson)?;
    let text = without_byte_order_mark(json);
    if text.len() < json.len() {
        warnings.push("the GLB's description begins with a byte order mark");
    }
    Ok(Container { json: text, bin })
}

struct Chunk<'a> {
    length: u32,
    kind: [u8; 4],
    /// None if the length reaches beyond the end.
    data: Option<&'a [u8]>,
}

impl<'a> Chunk<'a> {
    const HEADER: usize = 8;

    fn read(bytes: &'a [u8]) -> Option<Self> {
        let ([length, kind], rest) = words::<2>(bytes)?;
        let data = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        Some(Self { length, kind: kind.to_le_bytes(), data })
    }

    fn is_known(&self) -> bool {
        self.data.is_some() && (&self.kind == CHUNK_JSON || &self.kind == CHUNK_BIN)
    }
}

/// The first little-endian words, and what follows them.
fn words<const N: usize>(bytes: &[u8]) -> Option<([u32; N], &[u8])> {
    let (head, rest) = bytes.split_at_checked(4 * N)?;
    let (words, _) = head.as_chunks::<4>();
    let words: &[[u8; 4]; N] = words.try_into().ok()?;
    Some((words.map(u32::from_le_bytes), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let mut bytes = (data.len() as u32).to_le_bytes().to_vec();
        bytes.extend(kind);
        bytes.extend(data);
        bytes
    }

    fn glb(chunks: &[&[u8]]) -> Vec<u8> {
        let body: Vec<u8> = chunks.concat();
        let mut file = b"glTF\x02\0\0\0".to_vec();
        file.extend((12 + body.len() as u32).to_le_bytes());
        file.extend(body);
        file
    }

    fn read(file: &[u8]) -> (Result<Container<'_>, ContainerError>, Vec<String>) {
        let mut warnings = Warnings::default();
        let container = parse(file, &mut warnings);
        (container, warnings.into_lines())
    }

    #[test]
    fn chunks_are_found() {
        let file = glb(&[&chunk(CHUNK_JSON, b"{}  "), &chunk(CHUNK_BIN, b"abcd")]);
        let (container, warnings) = read(&file);
        assert_eq!(container, Ok(Container { json: b"{}  ", bin: Some(b"abcd") }));
        assert!(warnings.is_empty());
    }

    #[test]
    fn unpadded_chunks_are_found_both_ways() {
        for (gap, json) in [(&b""[..], &b"{ }"[..]), (b"\0", b"{ }")] {
            let file = glb(&[&chunk(CHUNK_JSON, json), gap, &chunk(CHUNK_BIN, b"abcd")]);
            let (container, warnings) = read(&file);
            assert_eq!(container.unwrap().bin, Some(&b"abcd"[..]));
            assert_eq!(warnings.len(), 1, "{warnings:?}");
        }
    }

    #[test]
    fn bytes_after_the_end_and_odd_chunks_are_warnings() {
        let mut file = glb(&[&chunk(CHUNK_JSON, b"\xef\xbb\xbf{} "), &chunk(b"ABCD", b"")]);
        file.extend(b"more");
        let (container, warnings) = read(&file);
        assert_eq!(container.unwrap().json, b"{} ");
        assert_eq!(warnings.len(), 4, "{warnings:?}");
    }

    #[test]
    fn lengths_that_lie_are_errors() {
        let file = glb(&[&chunk(CHUNK_JSON, b"{}  ")]);
        assert!(matches!(read(&file[..20]).0, Err(ContainerError::Truncated { stated: 24, actual: 20 })));
        let mut long = file.clone();
        long[12] = 200;
        assert!(matches!(read(&long).0, Err(ContainerError::ChunkTooLong { stated: 200, available: 4, .. })));
        assert_eq!(read(&glb(&[&chunk(CHUNK_BIN, b"")])).0, Err(ContainerError::NoJson));
        assert_eq!(read(&glb(&[])).0, Err(ContainerError::NoJson));
        assert_eq!(read(b"glTF\x01\0\0\0aaaa").0, Err(ContainerError::Version(1)));
        assert!(matches!(read(b"glTF").0, Err(ContainerError::Truncated { .. })));
    }

    #[test]
    fn text_is_told_from_other_things() {
        assert_eq!(read(b"\xef\xbb\xbf {}").0.unwrap().json, b" {}");
        assert_eq!(read(b"PK\x03\x04").0, Err(ContainerError::NotGltf));
        assert_eq!(read(b"").0, Err(ContainerError::NotGltf));
    }
}
