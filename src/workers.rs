//! A pool of named threads for heavy work: reading files, decoding, encoding.
//!
//! For: anything that takes longer than a frame. Not for: sockets. Jobs run at
//! low priority and on at most as many threads as there are cores but one, so
//! that socket threads are never late. A job that panics ends alone.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    thread::JoinHandle,
};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

/// Jobs that may wait.
const QUEUE: usize = 1024;

type Job = Box<dyn FnOnce() + Send>;

/// More jobs wait than the pool takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{QUEUE} jobs are waiting already")]
pub struct QueueFull;

/// The pool. Clones share it; the last one to go stops and joins the threads,
/// after the jobs that run (not those that wait) have ended.
#[derive(Debug, Clone)]
pub struct Workers(Arc<Pool>);

#[derive(Debug)]
struct Pool {
    jobs: Option<Sender<Job>>,
    waiting: Receiver<Job>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// As many threads as there are cores but one, at least one.
    pub fn start() -> io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(2, |n| n.get());
        Self::with_threads((cores - 1).clamp(1, 8))
    }

    /// That many threads.
    pub fn with_threads(threads: usize) -> io::Result<Self> {
        let (jobs, waiting) = bounded::<Job>(QUEUE);
        let mut pool = Pool { jobs: Some(jobs), waiting: waiting.clone(), threads: Vec::new() };
        for n in 1..=threads {
            let waiting = waiting.clone();
            pool.threads.push(crate::threads::spawn(format!("work-{n}"), move || run(&waiting))?);
        }
        Ok(Self(Arc::new(pool)))
    }

    /// Queues a job; never blocks.
    pub fn submit(&self, job: impl FnOnce() + Send + 'static) -> Result<(), QueueFull> {
        let Some(jobs) = &self.0.jobs else { return Err(QueueFull) };
        jobs.try_send(Box::new(job)).map_err(|error| match error {
            TrySendError::Full(_) | TrySendError::Disconnected(_) => QueueFull,
        })
    }
}

fn run(waiting: &Receiver<Job>) {
    crate::threads::lower_priority();
    for job in waiting {
        // The hook has written the message; whoever waits for the job sees its
        // channel close.
        if catch_unwind(AssertUnwindSafe(job)).is_err() {
            tracing::error!("a job of the worker pool panicked");
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        drop(self.jobs.take());
        // Jobs that have not begun are not worth waiting for.
        while self.waiting.try_recv().is_ok() {}
        let own = std::thread::current().id();
        for thread in self.threads.drain(..) {
            // The last clone may go within a job.
            if thread.thread().id() != own {
                let _ = thread.join();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_run_and_a_panic_ends_only_its_own() {
        let workers = Workers::with_threads(1).unwrap();
        let (sender, receiver) = bounded(2);
        workers.submit(|| panic!("a job that fails on purpose")).unwrap();
        let again = sender.clone();
        workers.submit(move || again.send(1).unwrap()).unwrap();
        assert_eq!(receiver.recv(), Ok(1));
        drop(workers);
        assert!(receiver.try_recv().is_err());
    }

    #[test]
    fn a_full_queue_is_told() {
        let workers = Workers::with_threads(1).unwrap();
        let (hold, held) = bounded::<()>(0);
        let mut results = Vec::new();
        for _ in 0..QUEUE + 2 {
            let held = held.clone();
            results.push(workers.submit(move || {
                let _ = held.recv();
            }));
        }
        assert_eq!(results.last(), Some(&Err(QueueFull)));
        drop(hold);
    }
}
