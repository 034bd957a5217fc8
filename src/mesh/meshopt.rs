//! The meshopt bitstreams, codec v0 for vertices and v1 for triangles: what
//! `EXT_meshopt_compression` describes. Written after that extension's text.
//!
//! For: small streams of quantized vertices and of triangles, both ways, in pure
//! Rust, so that a headset decodes without a line of C. Not for: files; see
//! [`super::part`] and [`super::pack`].
//!
//! Decoders never read or write outside of what they are given and allocate only
//! what the caller asked for.

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
}
