//! The threads `pack-N`: make chunks of models smaller that somebody wants so, each
//! content once, at low priority.
//!
//! Parts of a model are encoded as fast as can be, or smaller by two fifths with
//! twice the work, each as the link and this machine make it worth: see [`Worker::choose`].

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::{Input, tell_driver};
use crate::{
    mesh::Encoding,
    threads,
    transfer::{Holding, Method},
};

/// More models than a meeting has, once for each thread.
const JOBS: usize = 4096;
/// Threads at most.
const THREADS: usize = 4;
/// What a vertex costs to encode strongly before it was measured, nanoseconds.
const STRONG_COST: u64 = 450;
/// How long the first bytes of a model are waited for, which tell of the link.
const PATIENCE: Duration = Duration::from_millis(60);
/// What takes no longer is not worth waiting to learn how fast the link is.
const WORTH_WAITING: Duration = Duration::from_millis(2);
/// Vertices of the smallest part whose cost tells of others: of a few, it is what
/// starting takes.
const TELLING: u64 = 4096;

/// Bytes that tell: what routers and radios let through at once is less.
const SAMPLE: u64 = 32 << 10;
/// What a vertex and its triangles take on the link if they are encoded strongly,
/// bytes, for parts that are not made yet.
const STRONG_BYTES: u64 = 5;

/// A file, and what it is packed into.
type Job = (Arc<Holding>, Arc<Holding>);

/// The threads' handle; dropped, they are stopped and joined.
#[derive(Debug)]
pub(super) struct Packing {
    jobs: Option<Sender<Job>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// What the threads have in common.
#[derive(Debug, Clone)]
struct Worker {
    jobs: Receiver<Job>,
    inputs: Sender<Input>,
    stop: Arc<AtomicBool>,
    /// Nanoseconds a vertex costs to encode strongly, as measured last.
    strong_cost: Arc<AtomicU64>,
    threads: u32,
}

impl Packing {
    /// As many threads as there are cores.
    pub fn start(inputs: Sender<Input>) -> io::Result<Self> {
        let (jobs, taken) = bounded(JOBS);
        let stop = Arc::new(AtomicBool::new(false));
        let threads = super::helpers(THREADS);
        let worker = Worker {
            jobs: taken,
            inputs,
            stop: stop.clone(),
            strong_cost: Arc::new(AtomicU64::new(STRONG_COST)),
            threads: threads as u32,
        };
        let mut packing = Self { jobs: Some(jobs), stop, threads: Vec::new() };
        for number in 1..=threads {
            let worker = worker.clone();
            packing.threads.push(threads::spawn(format!("pack-{number}"), move || {
                threads::lower_priority();
                worker.run();
            })?);
        }
        Ok(packing)
    }

    /// Packs a file, all threads together. Where they are too busy, whoever wants it
    /// waits in vain until it is offered again: there are fewer models than jobs.
    pub fn pack(&self, from: &Arc<Holding>, into: &Arc<Holding>) {
        let Some(jobs) = &self.jobs else { return };
        for _ in &self.threads {
            if jobs.try_send((from.clone(), into.clone())).is_err() {
                tracing::warn!("too many models are to be packed at once");
            }
        }
    }
}

impl Worker {
    fn run(&self) {
        while !self.stop.load(Ordering::Acquire) {
            let Ok((from, into)) = self.jobs.recv_timeout(Duration::from_millis(100)) else { continue };
            // Alone with it, but for the other threads: the model is closed, nobody
            // wants it any more.
            while Arc::strong_count(&into) > self.threads as usize && !self.stop.load(Ordering::Acquire) {
                let Some(index) = into.claim() else { break };
                let encoding = self.choose(&into, index);
                let start = Instant::now();
                let made = into.pack(&from, index, encoding);
                let took = start.elapsed();
                into.note_work(took);
                let vertices = into.part_vertices(index) as u64;
                if encoding == Encoding::Strong && vertices >= TELLING {
                    let cost = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX) / vertices;
                    self.strong_cost.store(cost, Ordering::Relaxed);
                }
                if !made {
                    tracing::warn!("a chunk of a model could not be made");
                    break;
                }
                tell_driver(&self.inputs, Input::Packed, &self.stop);
            }
        }
    }

    /// How the next part is to be encoded: strongly, if the link has so much to do
    /// with those before it that it will not wait for it; else fast. The first
    /// tells how fast the link is, however it is encoded: what was made when the file
    /// was opened is taken as it is. What a receiver needs to decode does not matter:
    /// both are one bitstream, and strongly encoded ones take it less time. Where no
    /// credit comes at all the link has at least as long to do as was waited for it.
    fn choose(&self, into: &Holding, index: u32) -> Encoding {
        let vertices = |part: u32| into.part_vertices(part) as u64;
        let own = vertices(index);
        if into.id().method != Method::Mesh || own == 0 || index <= 1 || into.is_made(index) {
            return Encoding::Fast;
        }
        let cost = Duration::from_nanos(self.strong_cost.load(Ordering::Relaxed).saturating_mul(own));
        let patience = if cost < WORTH_WAITING { Duration::ZERO } else { PATIENCE };
        let start = Instant::now();
        let lead = loop {
            // Other threads are at some of them.
            let coming: u64 = (1..index).filter(|&part| !into.has(part)).map(vertices).sum();
            let coming = coming.saturating_mul(STRONG_BYTES);
            match into.lead(coming, SAMPLE) {
                Some(lead) => break lead,
                None if start.elapsed() >= patience || self.stop.load(Ordering::Acquire) => {
                    break into.lead(coming, 0).unwrap_or(PATIENCE);
                }
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        if lead > cost { Encoding::Strong } else { Encoding::Fast }
    }
}

impl Drop for Packing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.jobs = None;
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a packing thread panicked");
            }
        }
    }
}
