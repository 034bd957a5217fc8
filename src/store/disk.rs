//! The folder of received models. One file for each representation: a head, then
//! chunks with their headers in the order in which they came, as on the wire. So a
//! file that was cut off is as good as its whole chunks, and every chunk carries
//! what proves it.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::{self, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use bytes::Bytes;

use crate::transfer::{Chunk, ChunkHeader, HEADER_BYTES, Holding, RepresentationId};

/// Bytes that the folder may hold.
pub const DEFAULT_LIMIT: u64 = 2 << 30;
const MAGIC: &[u8; 8] = b"CvChunk2";
/// Magic, bytes of the opener's file, chunks.
const HEAD_BYTES: u64 = 20;
const EXTENSION: &str = "chunks";

#[derive(Debug)]
pub(super) struct Disk {
    folder: PathBuf,
    limit: u64,
    /// Half-received ones that are being added to.
    open: HashMap<RepresentationId, File>,
    used: u64,
    /// Held while this process uses the folder.
    _lock: File,
}

impl Disk {
    pub fn open(folder: &Path, limit: u64) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(folder.join("lock"))?;
        lock.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => io::Error::other("another process uses the folder"),
            fs::TryLockError::Error(error) => error,
        })?;
        let mut disk = Self { folder: folder.to_owned(), limit, open: HashMap::new(), used: 0, _lock: lock };
        disk.used = disk.files().iter().map(|(_, _, bytes)| bytes).sum();
        disk.make_room();
        Ok(disk)
    }

    fn path(&self, id: RepresentationId) -> PathBuf {
        let content: String = id.content.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{content}-{}-{}.{EXTENSION}", id.method.as_str(), id.version))
    }

    /// Fills a holding with what lies here of it.
    pub fn load(&mut self, holding: &Holding) {
        match self.try_load(holding) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                tracing::info!("a kept model cannot be used: {error}");
                self.remove(&self.path(holding.id()));
            }
        }
    }

    fn try_load(&mut self, holding: &Holding) -> io::Result<()> {
        let mut file = OpenOptions::new().read(true).write(true).open(self.path(holding.id()))?;
        // What was used last is given up last.
        file.set_modified(SystemTime::now())?;
        let mut reader = BufReader::with_capacity(1 << 20, &file);
        let mut head = [0; HEAD_BYTES as usize];
        reader.read_exact(&mut head)?;
        if head != self::head(holding) {
            return Err(io::Error::other("it is of another file"));
        }
        let mut good_until = HEAD_BYTES;
        let mut bytes = [0; HEADER_BYTES];
        while reader.read_exact(&mut bytes).is_ok() {
            let Some(header) = ChunkHeader::decode(&bytes).filter(|header| holding.check(header).is_ok())
            else {
                break;
            };
            // At most about a chunk: the header was checked.
            let mut chunk = vec![0; header.stored_bytes as usize];
            if reader.read_exact(&mut chunk).is_err() {
                break;
            }
            good_until += (HEADER_BYTES + chunk.len()) as u64;
            let chunk = Bytes::from(chunk);
            if blake3::hash(&chunk).as_bytes() == &header.hash {
                holding.insert(Chunk { header, bytes: chunk });
            } else {
                tracing::warn!("a kept chunk is damaged; it will be asked for again");
            }
        }
        let length = file.metadata()?.len();
        if good_until < length {
            file.set_len(good_until)?;
            self.used = self.used.saturating_sub(length - good_until);
        }
        if !holding.is_complete() {
            file.seek(SeekFrom::End(0))?;
            self.open.insert(holding.id(), file);
        }
        Ok(())
    }

    /// Keeps a chunk. Where that fails the model is in memory alone.
    pub fn append(&mut self, holding: &Holding, chunk: &Chunk) {
        if let Err(error) = self.try_append(holding, chunk) {
            tracing::warn!("a received chunk cannot be kept: {error}");
            self.open.remove(&holding.id());
        }
    }

    fn try_append(&mut self, holding: &Holding, chunk: &Chunk) -> io::Result<()> {
        let id = holding.id();
        if !self.open.contains_key(&id) {
            let path = self.path(id);
            let mut file = match OpenOptions::new().append(true).open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let mut file = OpenOptions::new().create_new(true).append(true).open(&path)?;
                    file.write_all(&head(holding))?;
                    self.used += HEAD_BYTES;
                    file
                }
                Err(error) => return Err(error),
            };
            file.flush()?;
            self.open.insert(id, file);
        }
        let Some(file) = self.open.get_mut(&id) else { return Ok(()) };
        file.write_all(&chunk.header.encode())?;
        file.write_all(&chunk.bytes)?;
        self.used += (HEADER_BYTES + chunk.bytes.len()) as u64;
        if self.used > self.limit {
            self.make_room();
        }
        Ok(())
    }

    /// Nothing more is added to it; what is no good goes.
    pub fn finish(&mut self, id: RepresentationId, good: bool) {
        self.open.remove(&id);
        if !good {
            self.remove(&self.path(id));
        }
    }

    /// Path, last use and bytes of each.
    fn files(&self) -> Vec<(PathBuf, SystemTime, u64)> {
        let Ok(entries) = fs::read_dir(&self.folder) else { return Vec::new() };
        entries
            .filter_map(Result::ok)
            .filter(|entry| entry.path().extension().is_some_and(|extension| extension == EXTENSION))
            .filter_map(|entry| {
                let metadata = entry.metadata().ok()?;
                Some((entry.path(), metadata.modified().ok()?, metadata.len()))
            })
            .collect()
    }

    /// Gives up what was used longest ago, until the limit is kept.
    fn make_room(&mut self) {
        if self.used <= self.limit {
            return;
        }
        let in_use: Vec<PathBuf> = self.open.keys().map(|id| self.path(*id)).collect();
        let mut files = self.files();
        files.sort_by_key(|(_, used, _)| *used);
        self.used = files.iter().map(|(_, _, bytes)| bytes).sum();
        for (path, ..) in files {
            if self.used <= self.limit {
                break;
            }
            if !in_use.contains(&path) {
                self.remove(&path);
            }
        }
    }

    fn remove(&mut self, path: &Path) {
        let bytes = fs::metadata(path).map_or(0, |metadata| metadata.len());
        match fs::remove_file(path) {
            Ok(()) => self.used = self.used.saturating_sub(bytes),
            Err(error) => tracing::debug!("a kept model cannot be removed: {error}"),
        }
    }
}

fn head(holding: &Holding) -> [u8; HEAD_BYTES as usize] {
    let mut head = [0; HEAD_BYTES as usize];
    head[..8].copy_from_slice(MAGIC);
    head[8..16].copy_from_slice(&holding.source_bytes().to_le_bytes());
    head[16..].copy_from_slice(&holding.chunk_count().to_le_bytes());
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::CHUNK_BYTES;

    fn holding(mark: u8, bytes: usize) -> Holding {
        let file = Bytes::from(vec![mark; bytes]);
        Holding::whole(*blake3::hash(&file).as_bytes(), file)
    }

    fn empty(of: &Holding) -> Holding {
        Holding::empty(of.id(), of.source_bytes())
    }

    fn file_of(disk: &Disk, holding: &Holding) -> PathBuf {
        disk.path(holding.id())
    }

    #[test]
    fn damage_and_cuts_cost_their_own_chunks_only() {
        let folder = tempfile::tempdir().unwrap();
        let mut disk = Disk::open(folder.path(), DEFAULT_LIMIT).unwrap();
        let whole = holding(5, CHUNK_BYTES * 3);
        for index in 0..3 {
            disk.append(&whole, &whole.chunk(index).unwrap());
        }
        let path = file_of(&disk, &whole);
        drop(disk);
        let mut bytes = fs::read(&path).unwrap();
        let record = HEADER_BYTES + CHUNK_BYTES;
        bytes[20 + record + HEADER_BYTES + 9] ^= 1;
        bytes.truncate(bytes.len() - 1);
        fs::write(&path, &bytes).unwrap();
        let mut disk = Disk::open(folder.path(), DEFAULT_LIMIT).unwrap();
        let read = empty(&whole);
        disk.load(&read);
        assert_eq!(read.missing(), [(1, 2)], "one damaged, one cut off");
        assert_eq!(fs::metadata(&path).unwrap().len() as usize, 20 + 2 * record);
        for index in [2, 1] {
            disk.append(&read, &whole.chunk(index).unwrap());
        }
        drop(disk);
        let mut disk = Disk::open(folder.path(), DEFAULT_LIMIT).unwrap();
        let read = empty(&whole);
        disk.load(&read);
        assert!(read.is_complete());
    }

    #[test]
    fn garbage_is_no_model() {
        let folder = tempfile::tempdir().unwrap();
        let whole = holding(5, CHUNK_BYTES);
        for garbage in [&b""[..], b"CvChunk2", &[0; 4000]] {
            let mut disk = Disk::open(folder.path(), DEFAULT_LIMIT).unwrap();
            let path = file_of(&disk, &whole);
            fs::write(&path, garbage).unwrap();
            let read = empty(&whole);
            disk.load(&read);
            assert_eq!(read.missing(), [(0, 1)]);
            assert!(!path.exists());
        }
    }

    #[test]
    fn the_limit_is_kept_and_the_oldest_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut disk = Disk::open(folder.path(), 3 * CHUNK_BYTES as u64).unwrap();
        let models: Vec<Holding> = (0..4).map(|mark| holding(mark, CHUNK_BYTES)).collect();
        for (age, model) in models.iter().enumerate() {
            disk.append(model, &model.chunk(0).unwrap());
            disk.finish(model.id(), true);
            let file = OpenOptions::new().write(true).open(file_of(&disk, model));
            if let Ok(file) = file {
                let seconds = 1_000_000 + age as u64;
                file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds)).unwrap();
            }
        }
        let left: Vec<bool> = models.iter().map(|model| file_of(&disk, model).exists()).collect();
        assert_eq!(left, [false, false, true, true]);
    }

    #[test]
    fn a_folder_has_one_user() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::open(folder.path(), 1000).unwrap();
        assert!(Disk::open(folder.path(), 1000).is_err());
        drop(disk);
        assert!(Disk::open(folder.path(), 1000).is_ok());
    }
}
