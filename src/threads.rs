//! Threads with names, and a list of those that run.
//!
//! Every thread of ours is started here, so that `stats` and the debugging view
//! can show what is alive, and a test can prove that nothing stays behind.

use std::{
    cell::Cell,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, PoisonError},
    thread::{Builder, JoinHandle},
};

thread_local! {
    static PANIC_EXPECTED: Cell<bool> = const { Cell::new(false) };
}

static RUNNING: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn running() -> std::sync::MutexGuard<'static, Vec<String>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a name off the list when its thread ends, by a panic too.
struct Entry(String);

impl Drop for Entry {
    fn drop(&mut self) {
        let mut running = running();
        if let Some(at) = running.iter().position(|name| *name == self.0) {
            running.swap_remove(at);
        }
    }
}

/// Starts a thread under a name.
pub fn spawn<T: Send + 'static>(
    name: impl Into<String>,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let entry = Entry(name.into());
    let builder = Builder::new().name(entry.0.clone());
    running().push(entry.0.clone());
    builder.spawn(move || {
        let _entry = entry;
        run()
    })
}

/// Runs what may panic because of somebody's file or bytes: that is one more way
/// to say that they are broken, and no fault of the program's. None: it panicked.
pub fn expect_panic<T>(run: impl FnOnce() -> T) -> Option<T> {
    let outer = PANIC_EXPECTED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(run)).ok();
    PANIC_EXPECTED.set(outer);
    result
}

/// Whether this thread is within [`expect_panic`].
pub fn panic_is_expected() -> bool {
    PANIC_EXPECTED.get()
}

/// Names of our threads that run, sorted.
pub fn names() -> Vec<String> {
    let mut names = running().clone();
    names.sort();
    names
}

/// How much nicer heavy work is than the rest of the program.
#[cfg(any(target_os = "linux", target_os = "android"))]
const NICER: i32 = 10;

/// Whether [`lower_priority`] does anything on this system.
pub const HAS_PRIORITIES: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// Makes the calling thread yield to others of the program: heavy work must not delay
/// those that serve sockets and frames. Does nothing on other systems than Linux and
/// Android. Beside other programs it stays what the
/// program is to them, less a step.
pub fn lower_priority() {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        // On Linux a nice value belongs to a thread; beyond 19 it stays there.
        let thread = Some(rustix::thread::gettid());
        let result = rustix::process::getpriority_process(thread)
            .and_then(|nice| rustix::process::setpriority_process(thread, nice + NICER));
        if let Err(error) = result {
            tracing::debug!("the priority of a worker could not be lowered: {error}");
        }
    }
}

/// CLOCK_MONOTONIC in nanoseconds, the same for all processes of a machine.
pub fn monotonic_nanoseconds() -> u64 {
    #[cfg(unix)]
    {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
        seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or_default()
    }
    #[cfg(not(unix))]
    {
        use std::{sync::LazyLock, time::Instant};
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        u64::try_from(START.elapsed().as_nanos()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_thread_is_listed_while_it_runs() {
        let (stop, wait) = crossbeam_channel::bounded::<()>(0);
        let thread = super::spawn("listed-test", move || wait.recv()).unwrap();
        assert!(super::names().contains(&"listed-test".to_owned()));
        drop(stop);
        thread.join().unwrap().unwrap_err();
        assert!(!super::names().contains(&"listed-test".to_owned()));
    }

    #[test]
    fn an_expected_panic_ends_where_it_was_expected() {
        assert_eq!(super::expect_panic(|| super::expect_panic(|| 7)), Some(Some(7)));
        let broken = super::expect_panic(|| {
            assert!(super::panic_is_expected());
            assert!(std::hint::black_box(false), "broken bytes");
        });
        assert!(broken.is_none() && !super::panic_is_expected());
    }

    #[test]
    fn the_clock_goes_on() {
        let first = super::monotonic_nanoseconds();
        assert!(first > 0 && super::monotonic_nanoseconds() >= first);
    }
}
