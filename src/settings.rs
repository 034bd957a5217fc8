//! The settings file: who I am, where I was, what I like.
//!
//! JSON, written to a temporary name and renamed, so that it is always whole. A
//! broken file is set aside, not overwritten. A lock file beside it tells
//! whether another process on this machine uses the same identity; the second
//! one takes a temporary id.

mod keeper;
mod rooms;

use std::{
    fs::{self, File},
    io::{self, ErrorKind, Write},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use serde::{Deserialize, Serialize};

pub use keeper::Keeper;
pub use rooms::{Place, Rooms};

use crate::session::{Colour, Identity};

/// Addresses that are remembered.
const ADDRESSES: usize = 8;

/// What the file holds. Unknown fields are kept out, missing ones are defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Participant id: 16 hexadecimal digits, made once.
    pub id: String,
    /// The name that others see.
    pub name: String,
    /// `#rrggbb`.
    pub colour: String,
    /// Hosts that were joined, the last one first.
    pub addresses: Vec<String>,
    /// Take files that others send, whenever the window is open.
    pub receive_files: bool,
    /// Open such files by themselves.
    pub open_new_files: bool,
    /// Send and take models exactly as they are in their files.
    pub exact_models: bool,
    /// Show how long frames take.
    pub frame_time: bool,
    /// See the real room behind the models, where the headset can show it.
    pub real_room: bool,
    /// Smooth edges in the headset.
    pub smooth_edges: bool,
    /// Percent of the pixels in each direction that the headset asks for.
    pub eye_scale: u8,
    /// Real rooms, and where they are for a headset.
    pub rooms: Rooms,
    /// Show the lights that model files bring along.
    pub file_lights: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let id = new_participant_id();
        let colour = Colour::for_id(&id).to_string();
        Self {
            id,
            name: default_name(),
            colour,
            addresses: Vec::new(),
            receive_files: false,
            open_new_files: true,
            exact_models: false,
            frame_time: false,
            real_room: true,
            smooth_edges: true,
            eye_scale: 100,
            rooms: Rooms::default(),
            file_lights: false,
        }
    }
}

impl Settings {
    /// Puts an address in front of the others.
    pub fn remember_address(&mut self, address: &str) {
        self.forget_address(address);
        self.addresses.insert(0, address.to_owned());
        self.addresses.truncate(ADDRESSES);
    }

    /// Takes an address out.
    pub fn forget_address(&mut self, address: &str) {
        self.addresses.retain(|a| a != address);
    }
}

/// The settings, where they are kept, and what was noticed while reading them.
#[derive(Debug)]
pub struct SettingsFile {
    /// What it holds.
    pub settings: Settings,
    /// Something that the person should know: the file was broken, or cannot be
    /// written.
    pub notice: Option<crate::notice::Notice>,
    path: PathBuf,
    /// Held while this process uses the identity.
    lock: Option<File>,
}

impl SettingsFile {
    /// Reads the file, or makes it.
    pub fn open(path: &Path) -> Self {
        let (mut settings, mut notice, mut is_new) = match read(path) {
            Ok(Some(settings)) => (settings, None, false),
            Ok(None) => (Settings::default(), None, true),
            Err(error) => (Settings::default(), Some(set_aside(path, &error)), true),
        };
        if !crate::wire::message::is_participant_id(&settings.id) {
            settings.id = new_participant_id();
            is_new = true;
        }
        let lock = lock(path);
        let mut file = Self { settings, notice: None, path: path.to_owned(), lock };
        // What is there is left alone: another process may be changing it.
        if is_new
            && let Err(error) = file.save()
            && notice.is_none()
        {
            notice = Some(crate::notice::Notice::warning(
                format!("The settings cannot be saved: {error}."),
                "Name and addresses are forgotten at the end; choose another place with --settings.",
            ));
        }
        file.notice = notice;
        file
    }

    /// Whether this process is the one that uses them; a second one changes
    /// nothing in the file.
    pub fn is_ours(&self) -> bool {
        self.lock.is_some()
    }

    /// Who this process is in a meeting.
    pub fn identity(&self) -> Identity {
        let id = if self.lock.is_some() { self.settings.id.clone() } else { new_participant_id() };
        let colour = Colour::parse(&self.settings.colour).unwrap_or_else(|| Colour::for_id(&id));
        Identity { id, name: self.settings.name.clone(), colour }
    }

    /// Writes the file, whole or not at all.
    pub fn save(&self) -> io::Result<()> {
        let folder = self.path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&mut file, &self.settings)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

fn read(path: &Path) -> io::Result<Option<Settings>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn set_aside(path: &Path, error: &io::Error) -> crate::notice::Notice {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".broken");
    let what_to_do = match fs::rename(path, &aside) {
        Ok(()) => format!("The broken file was kept as {}.", Path::new(&aside).display()),
        Err(_) => "Check the file's rights.".to_owned(),
    };
    crate::notice::Notice::warning(
        format!("The settings could not be read and were set to their defaults: {error}."),
        what_to_do,
    )
}

fn lock(path: &Path) -> Option<File> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).ok()?;
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file = File::create(name).ok()?;
    match file.try_lock() {
        Ok(()) => Some(file),
        Err(_) => None,
    }
}

/// Where the settings are when nobody says otherwise.
pub fn default_path() -> PathBuf {
    dirs::config_dir().unwrap_or_else(|| PathBuf::from(".")).join("convene").join("settings.json")
}

/// Where received models are kept for later, unless the command line says
/// otherwise; none where the system has no place for such files.
pub fn default_cache_folder() -> Option<PathBuf> {
    Some(dirs::cache_dir()?.join("convene").join("models"))
}

/// Where received files go when nobody says otherwise.
pub fn default_files_folder() -> PathBuf {
    dirs::document_dir()
        .or_else(dirs::data_dir)
        .or_else(dirs::home_dir)
        .unwrap_or_else(|| PathBuf::from("."))
        .join("Convene")
}

/// 16 random hexadecimal digits.
pub fn new_participant_id() -> String {
    format!("{:016x}", u64::from_le_bytes(random()))
}

/// Bytes that nobody can guess.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    if let Err(error) = getrandom::fill(&mut bytes) {
        // Ids must differ, not be secret: the clock and the process do.
        tracing::warn!("the system gives no random numbers: {error}");
        let hash = blake3::Hasher::new()
            .update(&crate::threads::monotonic_nanoseconds().to_le_bytes())
            .update(&std::process::id().to_le_bytes())
            .finalize();
        for (to, from) in bytes.iter_mut().zip(hash.as_bytes()) {
            *to = *from;
        }
    }
    bytes
}

static SUGGESTED: OnceLock<String> = OnceLock::new();

/// The name of who has chosen none, where the system has no user's name.
pub fn suggest_name(name: &str) {
    // The first stays.
    let _ = SUGGESTED.set(name.to_owned());
}

fn default_name() -> String {
    if let Some(name) = SUGGESTED.get() {
        return name.clone();
    }
    let user = ["USER", "USERNAME", "LOGNAME"].iter().find_map(|key| std::env::var(key).ok());
    user.filter(|name| !name.trim().is_empty() && name != "root").unwrap_or_else(|| "Somebody".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_stays_and_a_second_process_takes_another() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/settings.json");
        let first = SettingsFile::open(&path);
        let id = first.identity().id;
        let second = SettingsFile::open(&path);
        assert_ne!(second.identity().id, id);
        assert_eq!(second.settings.id, id);
        drop((first, second));
        assert_eq!(SettingsFile::open(&path).identity().id, id);
    }

    #[test]
    fn a_broken_file_is_set_aside_and_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        fs::write(&path, "{ \"name\": \"Ada\", ").unwrap();
        let file = SettingsFile::open(&path);
        assert!(file.notice.is_some());
        assert!(fs::read_to_string(dir.path().join("settings.json.broken")).unwrap().contains("Ada"));
        drop(file);
        let file = SettingsFile::open(&path);
        assert!(file.notice.is_none());
    }

    #[test]
    fn addresses_are_remembered_once_each() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let mut file = SettingsFile::open(&path);
        for address in ["a", "b", "a", "c", "d", "e", "f", "g", "h", "i"] {
            file.settings.remember_address(address);
        }
        file.settings.forget_address("h");
        file.save().unwrap();
        drop(file);
        let addresses = SettingsFile::open(&path).settings.addresses;
        assert_eq!(addresses, ["i", "g", "f", "e", "d", "c", "a"]);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_told() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        let file = SettingsFile::open(&dir.path().join("file/settings.json"));
        assert!(file.notice.is_some());
        assert_eq!(file.identity().id.len(), 16);
    }
}
