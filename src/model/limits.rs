//! What a model may cost at most, and how its decoding is stopped early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::error::DecodeError;

/// Upper limits on what one model file may make the decoder read, allocate or
/// produce. Beyond one of them decoding ends with an error that names it.
///
/// [`Limits::default`] is for desktops; [`Limits::headset`] for a headset's own
/// processor and memory. The limits bound each other loosely: with the default
/// ones a file made for the purpose can cost about 2 GB for a moment, an honest
/// 23 MB surface costs 23 MB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the file, and of any buffer or packed file made from it. 256 MiB.
    pub max_bytes: u64,
    /// JSON objects in the file's description, each of which costs up to some
    /// 300 bytes of memory. 1,048,576: a file with one mesh per node spends
    /// about 12 on each.
    pub max_json_objects: usize,
    /// JSON array items and object members, objects included. 16,777,216.
    pub max_json_values: usize,
    /// Vertices stored, over all primitives. 12 million.
    pub max_vertices: u64,
    /// Triangles (or lines, or points) stored, over all primitives, and also
    /// drawn, over all instances. 24 million.
    pub max_triangles: u64,
    /// Nodes in the file. 100,000.
    pub max_nodes: usize,
    /// Levels of nodes below a scene's root. 256.
    pub max_depth: usize,
    /// Times that a primitive is placed by a node. 200,000.
    pub max_instances: usize,
    /// Pixels along a texture's longer side; a larger image is scaled down. 8192.
    pub max_texture_side: u32,
    /// Bytes of one image once decompressed, before it is scaled down. 512 MiB.
    pub max_image_bytes: u64,
    /// Bytes of all textures together, 4 per pixel, after scaling down. 1 GiB.
    pub max_texture_bytes: u64,
    /// Bytes that compressed buffer views (meshopt) may unpack to, all together. 1 GiB.
    pub max_unpacked_bytes: u64,
    /// Time that decoding may take, looked at where it looks at [`Cancel`]. 60 s.
    pub max_time: Duration,
}

/// Triangles that a headset draws of one model, if nobody says otherwise: twice each
/// frame, once for each eye, they are what it just can.
pub const HEADSET_TRIANGLES: u64 = 1_000_000;

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_bytes: 256 << 20,
            max_json_objects: 1 << 20,
            max_json_values: 1 << 24,
            max_vertices: 12_000_000,
            max_triangles: 24_000_000,
            max_nodes: 100_000,
            max_depth: 256,
            max_instances: 200_000,
            max_texture_side: 8192,
            max_image_bytes: 512 << 20,
            max_texture_bytes: 1 << 30,
            max_unpacked_bytes: 1 << 30,
            max_time: Duration::from_secs(60),
        }
    }
}

impl Limits {
    /// Limits for a standalone headset: a quarter of the desktop's geometry and
    /// textures of at most 2048 pixels a side.
    #[must_use]
    pub fn headset() -> Self {
        Self {
            max_vertices: 3_000_000,
            max_triangles: 6_000_000,
            max_instances: 50_000,
            max_texture_side: 2048,
            max_image_bytes: 256 << 20,
            max_texture_bytes: 256 << 20,
            max_unpacked_bytes: 256 << 20,
            ..Self::default()
        }
    }
}

/// A request to stop decoding, shared between whoever asked for the model and
/// the worker that decodes it. The decoder looks at it between primitives and
/// between images.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks for the work to stop; there is no way back.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Cancel::cancel`] was called on this or any clone of it.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a decoder looks at now and then to know whether to go on.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    cancel: &'a Cancel,
    start: Instant,
    limit: Duration,
}

impl<'a> Watch<'a> {
    pub(super) fn new(cancel: &'a Cancel, limits: &Limits) -> Self {
        Self { cancel, start: Instant::now(), limit: limits.max_time }
    }

    /// An error if the work is to stop.
    pub(super) fn check(&self) -> Result<(), DecodeError> {
        let spent = self.start.elapsed();
        if self.cancel.is_cancelled() {
            return Err(DecodeError::Cancelled);
        }
        if spent > self.limit {
            return Err(DecodeError::TooSlow { spent: spent.as_secs_f64(), limit: self.limit.as_secs_f64() });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_of_cancel_is_the_same_request() {
        let cancel = Cancel::default();
        let other = cancel.clone();
        assert!(!other.is_cancelled());
        cancel.cancel();
        assert!(other.is_cancelled());
    }

    #[test]
    fn the_watch_says_why() {
        let cancel = Cancel::default();
        let late = Limits { max_time: Duration::ZERO, ..Limits::default() };
        let watch = Watch::new(&cancel, &late);
        std::thread::sleep(Duration::from_millis(1));
        assert!(watch.check().unwrap_err().to_string().ends_with("more than the limit of 0.0 s"));
        assert!(Watch::new(&cancel, &Limits::default()).check().is_ok());
        cancel.cancel();
        assert!(matches!(watch.check(), Err(DecodeError::Cancelled)));
    }
}
