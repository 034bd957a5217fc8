//! What is in a folder, for people who look for a model in it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// More than this are not listed.
const MOST: usize = 200;
/// Looked at in one folder, whatever they are.
const MOST_LOOKED_AT: usize = 20_000;

/// A folder's subfolders and model files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The folder.
    pub folder: PathBuf,
    /// Names of its folders, in the order of the alphabet.
    pub folders: Vec<String>,
    /// Its model files, the newest first.
    pub files: Vec<ModelFile>,
    /// Whether there were more than are listed.
    pub more: bool,
}

/// A file that may hold a model, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFile {
    /// Without the folder.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last written.
    pub modified: SystemTime,
}

impl Listing {
    /// Looks into a folder. What is hidden is left out.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let mut listing = Self { folder: folder.to_owned(), ..Self::default() };
        for (number, entry) in fs::read_dir(folder)?.enumerate() {
            if number >= MOST_LOOKED_AT {
                listing.more = true;
                break;
            }
            // One that goes while it is looked at is not there.
            let Ok(entry) = entry else { continue };
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Ok(metadata) = fs::metadata(entry.path()) else { continue };
            if name.starts_with('.') {
                continue;
            }
            if metadata.is_dir() {
                listing.folders.push(name);
            } else if metadata.is_file() && is_model_name(&name) {
                let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                listing.files.push(ModelFile { name, bytes: metadata.len(), modified });
            }
        }
        listing.folders.sort_by_key(|name| name.to_lowercase());
        listing.files.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.name.cmp(&b.name)));
        listing.more |= listing.folders.len() > MOST || listing.files.len() > MOST;
        listing.folders.truncate(MOST);
        listing.files.truncate(MOST);
        Ok(listing)
    }
}

/// Whether a file of this name may hold a model.
pub fn is_model_name(name: &str) -> bool {
    let extension = Path::new(name).extension().map(|e| e.to_ascii_lowercase());
    extension.is_some_and(|e| e == "glb" || e == "gltf")
}

/// Deletes a model file.
///
/// # Errors
/// If the name is not that of a model, or the system does not allow it.
pub fn delete_model(path: &Path) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if !is_model_name(&name) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no model file"));
    }
    fs::remove_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn models_newest_first_and_folders() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, age_secs: u64| {
            let path = dir.path().join(name);
            fs::write(&path, name).unwrap();
            let then = SystemTime::now() - Duration::from_secs(age_secs);
            fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
        };
        put("old.glb", 900);
        put("NEW.GLB", 1);
        put("middle.gltf", 60);
        put("notes.txt", 2);
        put(".hidden.glb", 2);
        for folder in ["zebra", "Apes", ".git"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let listing = Listing::read(dir.path()).unwrap();
        assert_eq!(listing.folders, ["Apes", "zebra"]);
        let names: Vec<_> = listing.files.iter().map(|f| (f.name.as_str(), f.bytes)).collect();
        assert_eq!(names, [("NEW.GLB", 7), ("middle.gltf", 11), ("old.glb", 7)]);
        assert!(!listing.more);
        assert!(Listing::read(&dir.path().join("nowhere")).is_err());
    }

    #[test]
    fn only_models_are_deleted() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.glb", "a.txt"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        assert!(delete_model(&dir.path().join("a.txt")).is_err());
        assert!(delete_model(&dir.path().join("b.glb")).is_err());
        delete_model(&dir.path().join("a.glb")).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
