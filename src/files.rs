//! The folder of received files.
//!
//! A pushed file replaces an earlier push of its name, of which one is kept as
//! `NAME (previous)`. A file that the person put there is never touched: the
//! pushed one gets a number. Which files were pushed stands in `.received.json`
//! beside them, with size and time, so that a file that was changed since
//! counts as the person's.

mod listing;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

pub use listing::{Listing, ModelFile, delete_model, is_model_name};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

const RECORD: &str = ".received.json";

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Record {
    files: BTreeMap<String, Stamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Stamp {
    bytes: u64,
    modified_ns: u64,
}

/// The folder.
#[derive(Debug, Clone)]
pub struct FilesFolder {
    path: PathBuf,
}

impl FilesFolder {
    /// Makes the folder if it is not there, and proves that it can be written.
    pub fn open(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        tempfile::tempfile_in(path)?;
        Ok(Self { path: path.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file that nobody sees until it is whole.
    pub fn begin(&self) -> io::Result<NamedTempFile> {
        tempfile::Builder::new().prefix(".incoming-").suffix(".tmp").tempfile_in(&self.path)
    }

    /// Gives a whole file its name (a base name, checked before); where it went.
    pub fn finish(&self, file: NamedTempFile, name: &str) -> io::Result<PathBuf> {
        file.as_file().sync_all()?;
        let mut record = self.read_record();
        let mut target = self.path.join(name);
        let mut target_name = name.to_owned();
        if let Some(there) = stamp(&target)? {
            if record.files.get(name) == Some(&there) {
                let previous = with_suffix(name, " (previous)");
                // The one before the previous one goes, if it was a push as well.
                let previous_path = self.path.join(&previous);
                let replaceable = match stamp(&previous_path)? {
                    None => true,
                    Some(stamp) => record.files.get(&previous) == Some(&stamp),
                };
                if replaceable {
                    fs::rename(&target, &previous_path)?;
                    record.files.insert(previous, there);
                }
            } else {
                (target_name, target) = self.free_name(name)?;
            }
        }
        // Not `persist`: between the look and the rename somebody may have put a
        // file there; a push of ours may be replaced, another file may not.
        if record.files.contains_key(&target_name) {
            file.persist(&target).map_err(|error| error.error)?;
        } else {
            file.persist_noclobber(&target).map_err(|error| error.error)?;
        }
        if let Some(stamp) = stamp(&target)? {
            record.files.insert(target_name, stamp);
        }
        record.files.retain(|name, _| self.path.join(name).exists());
        self.write_record(&record)?;
        Ok(target)
    }

    fn free_name(&self, name: &str) -> io::Result<(String, PathBuf)> {
        for number in 2..10_000 {
            let candidate = with_suffix(name, &format!(" {number}"));
            let path = self.path.join(&candidate);
            if !path.try_exists()? {
                return Ok((candidate, path));
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "there are too many files of that name"))
    }

    fn read_record(&self) -> Record {
        let text = fs::read_to_string(self.path.join(RECORD)).unwrap_or_default();
        // A broken record makes every file the person's: nothing is replaced.
        serde_json::from_str(&text).unwrap_or_default()
    }

    fn write_record(&self, record: &Record) -> io::Result<()> {
        let file = self.begin()?;
        serde_json::to_writer_pretty(file.as_file(), record)?;
        file.persist(self.path.join(RECORD)).map_err(|error| error.error)?;
        Ok(())
    }
}

fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => {
            let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
            let modified_ns = u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX);
            Ok(Some(Stamp { bytes: metadata.len(), modified_ns }))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// `a.glb` -> `a SUFFIX.glb`
fn with_suffix(name: &str, suffix: &str) -> String {
    match name.rsplit_once('.') {
        Some((stem, extension)) => format!("{stem}{suffix}.{extension}"),
        None => format!("{name}{suffix}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn push(folder: &FilesFolder, name: &str, text: &str) -> PathBuf {
        let mut file = folder.begin().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        folder.finish(file, name).unwrap()
    }

    fn read(folder: &FilesFolder, name: &str) -> String {
        fs::read_to_string(folder.path().join(name)).unwrap()
    }

    #[test]
    fn a_push_replaces_a_push_and_keeps_one() {
        let dir = tempfile::tempdir().unwrap();
        let folder = FilesFolder::open(&dir.path().join("new")).unwrap();
        for text in ["one", "two", "three"] {
            assert!(push(&folder, "a.glb", text).ends_with("a.glb"));
        }
        assert_eq!(read(&folder, "a.glb"), "three");
        assert_eq!(read(&folder, "a (previous).glb"), "two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_persons_file_is_never_touched() {
        let dir = tempfile::tempdir().unwrap();
        let folder = FilesFolder::open(dir.path()).unwrap();
        fs::write(dir.path().join("a.glb"), "mine").unwrap();
        assert!(push(&folder, "a.glb", "pushed").ends_with("a 2.glb"));
        assert!(push(&folder, "a.glb", "again").ends_with("a 3.glb"));
        assert_eq!(read(&folder, "a.glb"), "mine");
        // A push that the person changed is the person's.
        push(&folder, "b.glb", "pushed");
        fs::write(dir.path().join("b.glb"), "changed since").unwrap();
        assert!(push(&folder, "b.glb", "again").ends_with("b 2.glb"));
        assert_eq!(read(&folder, "b.glb"), "changed since");
    }

    #[test]
    fn a_broken_record_loses_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = FilesFolder::open(dir.path()).unwrap();
        push(&folder, "a.glb", "one");
        fs::write(dir.path().join(RECORD), "{ broken").unwrap();
        assert!(push(&folder, "a.glb", "two").ends_with("a 2.glb"));
        assert_eq!(read(&folder, "a.glb"), "one");
    }

    #[test]
    fn an_unfinished_file_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = FilesFolder::open(dir.path()).unwrap();
        drop(folder.begin().unwrap());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
