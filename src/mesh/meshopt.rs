//! The meshopt bitstreams: what `EXT_meshopt_compression` and
//! `KHR_meshopt_compression` describe. Written after those extensions' text.
//!
//! For: small streams of quantized vertices (written as codec v0, read as v0 and v1)
//! and of triangles, both ways, and of plain indices, read only; in pure Rust, so
//! that a headset decodes without a line of C. Not for: files; see [`super::part`],
//! [`super::pack`] and, for compressed files, [`crate::model`].
//!
//! Decoders never read or write outside of what they are given and allocate only
//! what the caller asked for.

mod channels;
pub mod sequence;
pub mod triangles;
pub mod vertices;

/// A stream that cannot be decoded, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// It begins with another number than this codec's.
    #[error("a stream of another codec")]
    OtherCodec,
    /// It ends before all was said.
    #[error("a stream ends too early")]
    EndsEarly,
    /// It goes on after all was said.
    #[error("a stream goes on after its end")]
    GoesOn,
    /// It refers to an edge or a vertex that was not there yet.
    #[error("a stream refers to what was not there yet")]
    Unwritten,
    /// It says of a channel what no codec knows.
    #[error("a stream with an unknown channel mode")]
    UnknownMode,
    /// A number of more than 32 bits.
    #[error("a stream with a number without an end")]
    Endless,
}

/// What has not been read yet.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], StreamError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(StreamError::EndsEarly)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], StreamError> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(StreamError::EndsEarly)?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, StreamError> {
        let (&byte, rest) = self.0.split_first().ok_or(StreamError::EndsEarly)?;
        self.0 = rest;
        Ok(byte)
    }

    /// Seven bits per byte, the lowest first, at most five bytes.
    fn varint(&mut self) -> Result<u32, StreamError> {
        let mut value = 0u32;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            value |= u32::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(value);
            }
        }
        Err(StreamError::Endless)
    }
}
