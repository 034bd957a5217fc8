//! Meshes made small for the way between two peers, and whole again.
//!
//! For: what a file's plain geometry becomes on its way ([`Plan`]: a head, parts
//! of about 64K vertices, a rest; each a chunk that is encoded and decoded on its
//! own), the standard GLB that a receiver makes of it ([`Assembly`]), and the
//! opener's very file in fewer bytes ([`exact`]). Not for: sockets and windows
//! ([`crate::transfer`]), reading models to show them ([`crate::model`]).
//!
//! Pure: bytes go in, bytes come out; the work is heavy and is done on threads of
//! low priority. Chunks may come from anybody: none can cause a panic, or cost
//! more memory than [`MAX_DECODED_BYTES`] a few times over.
//!
//! What is not plain (skins, morph targets, animations, extensions that may refer
//! to the geometry, lines, points, textures) travels as it is in the file.

mod assemble;
mod boxes;
mod chunk;
mod geometry;
mod gltf;
mod lattice;
mod part;
mod plan;
mod planes;
mod quantize;
mod reorder;
mod skeleton;
mod squeeze;

pub mod exact;
pub mod meshopt;
pub mod pack;

pub use assemble::{Assembly, GlbBuilder};
pub use chunk::{Decoded, Encoded, Head, MAX_CHUNK_BYTES, MAX_DECODED_BYTES, decode, decode_announced};
pub use part::{Colors, Encoding, Extra, MAX_TRIANGLES, MAX_VERTICES, Part};
pub use plan::{AHEAD, Plan};
pub use quantize::{GRID_MOST, Grid, NormalBits};

/// Bits of a normal's two numbers in what is sent. A small highlight that is moved over
/// a surface looks the same with 8, 10 and all bits: `docs/images/normals-*.png`.
pub const NORMAL_BITS: NormalBits = NormalBits::Eight;

/// Why a chunk is none, or not one of this model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MeshError {
    /// Its bytes are not what they should be.
    #[error("{0}")]
    Damaged(&'static str),
    /// It holds more than it may.
    #[error("a chunk of {count} elements, more than the limit of {limit}")]
    TooLarge {
        /// How many it says.
        count: usize,
        /// The limit.
        limit: usize,
    },
    /// One of its streams is damaged.
    #[error("{0}")]
    Stream(#[from] meshopt::StreamError),
}
