//! The thread `pack`: packs the chunks of models that somebody wants packed, each
//! content once, at low priority.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::{Input, tell_driver};
use crate::{threads, transfer::Holding};

/// More models than a meeting has.
const JOBS: usize = 1024;

/// A file, and what it is packed into.
type Job = (Arc<Holding>, Arc<Holding>);

/// The thread's handle; dropped, it is stopped and joined.
#[derive(Debug)]
pub(super) struct Packing {
    jobs: Option<Sender<Job>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Packing {
    pub fn start(inputs: Sender<Input>) -> io::Result<Self> {
        let (jobs, taken) = bounded(JOBS);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = threads::spawn("pack", move || {
            threads::lower_priority();
            run(&taken, &inputs, &stopped);
        })?;
        Ok(Self { jobs: Some(jobs), stop, thread: Some(thread) })
    }

    /// Packs a file. Where the thread is too busy, whoever wants it waits in vain
    /// until it is offered again: there are fewer models than jobs.
    pub fn pack(&self, from: Arc<Holding>, into: Arc<Holding>) {
        if self.jobs.as_ref().is_none_or(|jobs| jobs.try_send((from, into)).is_err()) {
            tracing::warn!("too many models are to be packed at once");
        }
    }
}

fn run(jobs: &Receiver<Job>, inputs: &Sender<Input>, stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) {
        let Ok((from, into)) = jobs.recv_timeout(Duration::from_millis(100)) else { continue };
        // Alone with it: the model is closed, nobody wants it any more.
        while Arc::strong_count(&into) > 1 && !stop.load(Ordering::Acquire) && into.pack_next(&from) {
            tell_driver(inputs, Input::Packed, stop);
        }
    }
}

impl Drop for Packing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the packing thread panicked");
        }
    }
}
