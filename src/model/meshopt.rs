//! `EXT_meshopt_compression` and `KHR_meshopt_compression`: buffer views stored smaller.
//!
//! The bitstreams are those of [`crate::mesh::meshopt`]; here are the extensions'
//! parameters and filters. A stream that ends early, goes on too long or refers to
//! what it has not said is a fault of that view; nothing here allocates beyond the
//! `count * stride` bytes that the caller has checked against its limits and, while
//! indices are decoded, four more for each.

mod filters;

use super::document::MeshoptView;
use crate::mesh::meshopt::{
    StreamError, sequence, triangles,
    vertices::{self, MAX_STRIDE},
};

/// A stream that cannot be decoded, and why.
pub(super) type Damage = &'static str;

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
            let mut bytes = vertices::decode(data, count, stride).map_err(damage)?;
            filters::apply(filter, stride, &mut bytes)?;
            Ok(bytes)
        }
        "TRIANGLES" => {
            let stride = index_stride(stride)?;
            if !count.is_multiple_of(3) {
                return Err("its compressed triangles are not whole");
            }
            let triangles = triangles::decode(data, count / 3).map_err(damage)?;
            Ok(stored(triangles.as_flattened(), stride))
        }
        "INDICES" => {
            let stride = index_stride(stride)?;
            Ok(stored(&sequence::decode(data, count).map_err(damage)?, stride))
        }
        _ => Err("its compression mode is unknown"),
    }
}

fn index_stride(stride: usize) -> Result<usize, Damage> {
    if matches!(stride, 2 | 4) { Ok(stride) } else { Err("its compressed indices have an impossible size") }
}

/// Indices in so many bytes each.
fn stored(indices: &[u32], stride: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(indices.len() * stride);
    for index in indices {
        bytes.extend_from_slice(index.to_le_bytes().get(..stride).unwrap_or_default());
    }
    bytes
}

fn damage(error: StreamError) -> Damage {
    match error {
        StreamError::OtherCodec => "its compressed data has an unknown header",
        StreamError::EndsEarly => "its compressed data ends too early",
        StreamError::GoesOn => "its compressed data goes on after the end",
        StreamError::Unwritten => "its compressed triangles refer to what was not there yet",
        StreamError::UnknownMode => "its compressed attributes have an unknown channel mode",
        StreamError::Endless => "a compressed number has no end",
    }
}
