//! What came of models, kept: by content and representation, chunk by chunk, in
//! memory and on disk.
//!
//! For: finding out what of a model lies here already, keeping what comes, putting
//! whole files together. A half-received model survives a lost connection and a
//! restart; a model that was here before costs no bytes. Not for: sockets, and who
//! wants what. Runs on the thread `store` of [`crate::net`], which owns the one
//! [`Store`] of a process; it may be slow without delaying anybody's poses.

mod disk;

use std::{
    collections::{HashMap, VecDeque},
    path::Path,
    sync::{Arc, Weak},
};

use bytes::Bytes;

pub use disk::DEFAULT_LIMIT;

use crate::transfer::{Chunk, Holding, Method, RepresentationId, unpack};
use disk::Disk;

/// Half-received models that are kept in memory where there is no disk.
const RECENT: usize = 8;
/// They cover at most so many bytes together.
const RECENT_BYTES: u64 = 256 << 20;

/// All chunks of a model are here, but they do not make what was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the chunks of a model do not make the file that was offered")]
pub struct WrongContent;

/// The store.
#[derive(Debug)]
pub struct Store {
    disk: Option<Disk>,
    known: HashMap<RepresentationId, Weak<Holding>>,
    recent: VecDeque<Arc<Holding>>,
}

impl Store {
    /// Keeps files in `folder`, at most `limit` bytes of them; without a folder, or
    /// where it cannot be used or another process uses it, in memory alone.
    pub fn new(folder: Option<&Path>, limit: u64) -> Self {
        let disk = folder.and_then(|folder| match Disk::open(folder, limit) {
            Ok(disk) => Some(disk),
            Err(error) => {
                tracing::info!("received models are not kept on disk: {error}");
                None
            }
        });
        Self { disk, known: HashMap::new(), recent: VecDeque::new() }
    }

    /// What of a model lies here; and its whole file, if all of it does.
    ///
    /// `chunks` matter to a model in parts only, whose file is never given: its
    /// chunks are to be decoded first.
    pub fn lookup(
        &mut self,
        id: RepresentationId,
        source_bytes: u64,
        chunks: u32,
    ) -> (Arc<Holding>, Option<Bytes>) {
        self.known.retain(|_, holding| holding.strong_count() > 0);
        let known = self.known.get(&id).and_then(Weak::upgrade);
        let empty = Holding::of_chunks(id, source_bytes, chunks);
        let alike =
            |h: &Arc<Holding>| h.source_bytes() == source_bytes && h.chunk_count() == empty.chunk_count();
        // One in parts that was whole once has given its parts up: it is read again.
        let known = known.filter(|h| alike(h) && (id.method != Method::Mesh || !h.is_complete()));
        let holding = known.unwrap_or_else(|| {
            let holding = Arc::new(empty);
            if let Some(disk) = &mut self.disk {
                disk.load(&holding);
            }
            self.known.insert(id, Arc::downgrade(&holding));
            holding
        });
        if !holding.is_complete() {
            self.remember(&holding);
            return (holding, None);
        }
        if id.method == Method::Mesh {
            return (holding, None);
        }
        match self.assemble(&holding) {
            Ok(file) => (holding, Some(file)),
            Err(WrongContent) => {
                let holding = Arc::new(Holding::empty(id, source_bytes));
                self.known.insert(id, Arc::downgrade(&holding));
                (holding, None)
            }
        }
    }

    /// Without a disk, what is half here stays in memory for a while.
    fn remember(&mut self, holding: &Arc<Holding>) {
        if self.disk.is_some() {
            return;
        }
        self.recent.retain(|recent| !Arc::ptr_eq(recent, holding));
        self.recent.push_back(holding.clone());
        let covered = |recent: &VecDeque<Arc<Holding>>| recent.iter().map(|h| h.covered()).sum::<u64>();
        while self.recent.len() > RECENT || (self.recent.len() > 1 && covered(&self.recent) > RECENT_BYTES) {
            self.recent.pop_front();
        }
    }

    /// Keeps a verified chunk. Whether it is new.
    pub fn insert(&mut self, holding: &Holding, chunk: Chunk) -> bool {
        let is_new = holding.insert(chunk.clone());
        if is_new && let Some(disk) = &mut self.disk {
            disk.append(holding, &chunk);
        }
        is_new
    }

    /// A model in parts turned out to be none.
    pub fn give_up(&mut self, holding: &Holding) {
        if let Some(disk) = &mut self.disk {
            disk.finish(holding.id(), false);
        }
        self.known.remove(&holding.id());
    }

    /// Nothing more comes of a model in parts.
    pub fn close(&mut self, holding: &Arc<Holding>) {
        self.recent.retain(|recent| !Arc::ptr_eq(recent, holding));
        if let Some(disk) = &mut self.disk {
            disk.finish(holding.id(), true);
        }
    }

    /// The whole file of a model all of whose chunks are here.
    ///
    /// # Errors
    /// If it is not the file that was offered; its chunks are given up.
    pub fn assemble(&mut self, holding: &Arc<Holding>) -> Result<Bytes, WrongContent> {
        self.recent.retain(|recent| !Arc::ptr_eq(recent, holding));
        if let Some(file) = holding.file() {
            return Ok(file);
        }
        let file = unpack_all(holding).filter(|file| *blake3::hash(file).as_bytes() == holding.id().content);
        if let Some(disk) = &mut self.disk {
            disk.finish(holding.id(), file.is_some());
        }
        match file {
            Some(file) => {
                holding.become_whole(file.clone());
                Ok(file)
            }
            None => {
                (0..holding.chunk_count()).for_each(|index| holding.remove(index));
                self.known.remove(&holding.id());
                Err(WrongContent)
            }
        }
    }
}

/// The file that the chunks stand for; none if they cannot be unpacked.
fn unpack_all(holding: &Holding) -> Option<Bytes> {
    let mut file = Vec::with_capacity(usize::try_from(holding.source_bytes()).ok()?);
    for index in 0..holding.chunk_count() {
        let chunk = holding.chunk(index)?;
        if !unpack(&chunk.header, &chunk.bytes, &mut file) {
            return None;
        }
    }
    Some(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::CHUNK_BYTES;

    fn file() -> (Bytes, Holding) {
        let file: Bytes = (0..CHUNK_BYTES * 3 + 100).map(|n| (n % 253) as u8).collect::<Vec<u8>>().into();
        (file.clone(), Holding::whole(*blake3::hash(&file).as_bytes(), file))
    }

    fn lookup(store: &mut Store, whole: &Holding) -> (Arc<Holding>, Option<Bytes>) {
        store.lookup(whole.id(), whole.source_bytes(), 0)
    }

    #[test]
    fn a_half_received_model_survives() {
        let (file, whole) = file();
        let folder = tempfile::tempdir().unwrap();
        for folder in [Some(folder.path()), None] {
            let mut store = Store::new(folder, DEFAULT_LIMIT);
            let (holding, none) = lookup(&mut store, &whole);
            assert!(none.is_none() && holding.missing() == [(0, 4)]);
            for index in [2, 0] {
                store.insert(&holding, whole.chunk(index).unwrap());
            }
            drop(holding);
            if folder.is_some() {
                // A new process.
                drop(store);
                store = Store::new(folder, DEFAULT_LIMIT);
            }
            let (holding, none) = lookup(&mut store, &whole);
            assert!(none.is_none());
            assert_eq!(holding.missing(), [(1, 1), (3, 1)]);
            for index in [1, 3] {
                store.insert(&holding, whole.chunk(index).unwrap());
            }
            assert_eq!(store.assemble(&holding), Ok(file.clone()));
            if folder.is_some() {
                drop(store);
                let mut store = Store::new(folder, DEFAULT_LIMIT);
                assert_eq!(lookup(&mut store, &whole).1, Some(file.clone()), "it costs no bytes again");
            }
        }
    }

    #[test]
    fn a_file_that_is_not_what_was_offered_is_given_up() {
        let (_, whole) = file();
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::new(Some(folder.path()), DEFAULT_LIMIT);
        let id = RepresentationId { content: [9; 32], ..whole.id() };
        let (holding, _) = store.lookup(id, whole.source_bytes(), 0);
        for index in 0..4 {
            store.insert(&holding, whole.chunk(index).unwrap());
        }
        assert_eq!(store.assemble(&holding), Err(WrongContent));
        let (holding, none) = store.lookup(id, whole.source_bytes(), 0);
        assert!(none.is_none() && holding.missing() == [(0, 4)]);
    }
}
