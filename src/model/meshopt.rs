//! `EXT_meshopt_compression` and `KHR_meshopt_compression`: buffer views stored smaller.
//!
//! Written after the bitstream in the extensions' own text. A stream that ends
//! early, goes on too long or refers to what it has not said is a fault of that
//! view; nothing here allocates beyond the `count * stride` bytes that the caller
//! has checked against its limits.

mod attributes;
mod filters;
mod indices;

use super::document::MeshoptView;

/// Bytes of an element at most, as the extension says.
const MAX_STRIDE: usize = 256;

/// A stream that cannot be decoded, and why.
pub(super) type Damage = &'static str;

const ENDS_EARLY: Damage = "its compressed data ends too early";
const GOES_ON: Damage = "its compressed data goes on after the end";

/// The `count * stride` bytes that the extension describes, after checking its parameters.
///
/// # Errors
/// If the parameters contradict each other or the stream is damaged.
pub(super) fn decode(
    json: &MeshoptView,
    count: usize,
    stride: usize,
    data: &[u8],
) -> Result<Vec<u8>, Damage> {
    let filter = json.filter.as_ref().map_or("NONE", |filter| filter.0.as_ref());
    match json.mode.as_ref().map_or("", |mode| mode.0.as_ref()) {
        "ATTRIBUTES" => {
            if stride == 0 || stride > MAX_STRIDE || !stride.is_multiple_of(4) {
                return Err("its compressed elements have an impossible size");
            }
            let mut bytes = attributes::decode(data, count, stride)?;
            filters::apply(filter, stride, &mut bytes)?;
            Ok(bytes)
        }
        "TRIANGLES" => indices::triangles(data, count, index_stride(stride)?),
        "INDICES" => indices::sequence(data, count, index_stride(stride)?),
        _ => Err("its compression mode is unknown"),
    }
}

fn index_stride(stride: usize) -> Result<usize, Damage> {
    if matches!(stride, 2 | 4) { Ok(stride) } else { Err("its compressed indices have an impossible size") }
}

/// What has not been read yet.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(ENDS_EARLY)?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Damage> {
        let (&byte, rest) = self.0.split_first().ok_or(ENDS_EARLY)?;
        self.0 = rest;
        Ok(byte)
    }

    /// Seven bits per byte, the lowest first, at most five bytes.
    fn varint(&mut self) -> Result<u32, Damage> {
        let mut value = 0u32;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("a compressed number has no end")
    }
}
