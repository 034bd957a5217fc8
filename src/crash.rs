//! What is left of a fault of the program itself, a panic, for the next start.
//!
//! [`watch`] makes the process write a file when a thread panics: what the fault
//! was, where, and the last lines of the log. At the next start [`told`] makes a
//! notice of it, once. A panic of a worker's job is caught and costs that job alone;
//! it is written down as well, since it is a fault. What somebody's bytes may do to
//! a decoder is none ([`threads::expect_panic`]).

use std::{
    backtrace::Backtrace,
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    panic::{PanicHookInfo, set_hook, take_hook},
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::{logbook, notice::Notice, threads};

/// The file's name, in the folder of the settings.
pub const FILE: &str = "crash.txt";
/// Its name once the person was told.
const TOLD: &str = "crash-told.txt";
/// A file that is longer gets no more.
const MOST_BYTES: u64 = 256 << 10;
/// Lines of the log that go into it.
const LINES: usize = 100;

/// From now on panics are written into `folder`, which is made. What was done about
/// them before is done as well.
pub fn watch(folder: &Path) {
    if let Err(error) = fs::create_dir_all(folder) {
        tracing::debug!("no folder for {FILE}: {error}");
    }
    let path = folder.join(FILE);
    let before = take_hook();
    set_hook(Box::new(move |fault| {
        if threads::panic_is_expected() {
            return;
        }
        // Nothing can be done where it cannot be written.
        let _ = write(&path, &text(fault));
        before(fault);
    }));
}

/// What happened the last time, if it was a fault that the person has not been
/// told of yet.
pub fn told(folder: &Path) -> Option<Notice> {
    let (path, aside) = (folder.join(FILE), folder.join(TOLD));
    match fs::rename(&path, &aside) {
        Ok(()) => Some(Notice::warning(
            "Something in the program failed the last time.",
            format!("What is known of it is in {}; please send that to its makers.", aside.display()),
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            tracing::warn!("{FILE} cannot be put aside: {error}");
            None
        }
    }
}

fn text(fault: &PanicHookInfo) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let thread = std::thread::current();
    let mut text = format!(
        "Convene {} on {} ({})\n{} s after 1970-01-01 00:00 UTC\n\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        since.as_secs(),
    );
    // Writing to a string cannot fail.
    let _ = writeln!(text, "thread '{}': {fault}\n", thread.name().unwrap_or("?"));
    let _ = writeln!(text, "{}", Backtrace::force_capture());
    for line in logbook::last_unless_busy(LINES) {
        let _ =
            writeln!(text, "{:>5} {:>9.3} s ago  {}", line.level, line.at.elapsed().as_secs_f64(), line.text);
    }
    text
}

/// Below what is there: the first of several faults says most.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path)?;
    if file.metadata()?.len() < MOST_BYTES { file.write_all(text.as_bytes()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test: the hook is the process's, and other tests' panics are written down
    /// as well.
    #[test]
    fn a_fault_is_told_once_and_an_expected_one_never() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("deep");
        assert!(told(&folder).is_none());
        watch(&folder);
        let written = || fs::read_to_string(folder.join(FILE)).unwrap_or_default();
        let broken = threads::expect_panic(|| assert!(std::hint::black_box(false), "somebody's bytes"));
        assert!(broken.is_none());
        assert!(!written().contains("somebody's bytes"));

        let fault = || assert!(std::hint::black_box(false), "a fault of ours");
        std::thread::Builder::new().name("faulty".to_owned()).spawn(fault).unwrap().join().unwrap_err();
        for part in ["Convene ", "thread 'faulty'", "a fault of ours", "crash.rs"] {
            assert!(written().contains(part), "{part} is not in\n{}", written());
        }
        let notice = told(&folder).unwrap();
        assert!(notice.what_to_do.contains(TOLD), "{notice}");
        assert!(fs::read_to_string(folder.join(TOLD)).unwrap().contains("a fault of ours"));
        assert!(!written().contains("a fault of ours"));
    }

    #[test]
    fn a_file_does_not_grow_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        for _ in 0..3 {
            write(&path, &"x".repeat(MOST_BYTES as usize)).unwrap();
        }
        assert_eq!(fs::metadata(&path).unwrap().len(), MOST_BYTES);
    }
}
