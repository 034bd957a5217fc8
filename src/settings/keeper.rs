//! The thread `settings`: writes the settings, the latest only, so that nobody
//! who changes them waits for a disk.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::{Settings, SettingsFile};
use crate::{notice::Notice, threads};

/// Keeps the settings file, and this process's claim to its identity. Dropped, it
/// writes what is still to be written.
#[derive(Debug)]
pub struct Keeper {
    latest: Arc<Mutex<Option<Settings>>>,
    wake: Option<Sender<()>>,
    failed: Receiver<Notice>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Takes the file over.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn start(mut file: SettingsFile) -> io::Result<Self> {
        let latest = Arc::new(Mutex::new(None));
        let (wake, woken) = bounded(1);
        let (failing, failed) = bounded(1);
        let slot: Arc<Mutex<Option<Settings>>> = latest.clone();
        let thread = threads::spawn("settings", move || {
            let mut write = || {
                let Some(settings) = slot.lock().unwrap_or_else(PoisonError::into_inner).take() else {
                    return;
                };
                if !file.is_ours() {
                    return;
                }
                file.settings = settings;
                if let Err(error) = file.save() {
                    let notice = Notice::warning(
                        format!("The settings cannot be saved: {error}."),
                        "They hold until the end; free some space, or check the folder's rights.",
                    );
                    // One that waits to be read is enough.
                    let _ = failing.try_send(notice);
                }
            };
            for () in woken {
                write();
            }
            write();
        })?;
        Ok(Self { latest, wake: Some(wake), failed, thread: Some(thread) })
    }

    /// Has these written soon; never blocks.
    pub fn save(&self, settings: &Settings) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(settings.clone());
        if let Some(wake) = &self.wake {
            // Full: it is woken already.
            let _ = wake.try_send(());
        }
    }

    /// What went wrong since this was last asked.
    pub fn failure(&self) -> Option<Notice> {
        self.failed.try_recv().ok()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that writes the settings panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_written_and_the_identity_stays_ours() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let file = SettingsFile::open(&path);
        let id = file.identity().id;
        let mut settings = file.settings.clone();
        let keeper = Keeper::start(file).unwrap();
        for name in ["Ada", "Barbara", "Grace"] {
            settings.name = name.into();
            keeper.save(&settings);
        }
        assert_ne!(SettingsFile::open(&path).identity().id, id, "it is in use");
        drop(keeper);
        let again = SettingsFile::open(&path);
        assert_eq!((again.settings.name.as_str(), again.identity().id), ("Grace", id));
    }

    #[test]
    fn a_disk_that_takes_nothing_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("folder/settings.json");
        let file = SettingsFile::open(&path);
        let settings = file.settings.clone();
        std::fs::remove_dir_all(dir.path().join("folder")).unwrap();
        std::fs::write(dir.path().join("folder"), "in the way").unwrap();
        let keeper = Keeper::start(file).unwrap();
        keeper.save(&settings);
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while keeper.failure().is_none() {
            assert!(std::time::Instant::now() < until, "nobody was told");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}
