//! The thread `store`: takes what readers have received of models, verifies it,
//! keeps it, and lets the sender send more. Only this thread consumes bulk, so a
//! slow disk slows models and nothing else.

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender, bounded};

use super::{Input, peer::Link, tell_driver, unpacking::Unpacker};
use crate::{
    session::Stored,
    store::{DEFAULT_LIMIT, Store},
    threads,
    transfer::{ChunkFault, Holding, Method, Piece, RepresentationId},
};

/// Connections whose bytes wait, and questions of the driver.
const JOBS: usize = 2048;
/// Pieces of one connection before others have their turn.
const TURN: usize = 64;
/// How often the driver hears how far a chunk has come.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(50);

/// What the thread is to do.
#[derive(Debug)]
pub(super) enum Job {
    /// Find out what of a model lies here.
    Lookup { model_id: String, representation: RepresentationId, source_bytes: u64, chunks: u32 },
    /// All parts of a model were decoded, or they are no good.
    Assembled { holding: Arc<Holding>, good: bool },
    /// A connection has received something.
    Arrived(Arc<Link>),
}

/// The thread's handle; dropped, it is stopped and joined.
#[derive(Debug)]
pub(super) struct Storing {
    jobs: Option<Sender<Job>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Storing {
    pub fn start(folder: Option<PathBuf>, inputs: Sender<Input>, unpacker: Unpacker) -> io::Result<Self> {
        let (jobs, taken) = bounded(JOBS);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let again = jobs.clone();
        let thread = threads::spawn("store", move || {
            let store = Store::new(folder.as_deref(), DEFAULT_LIMIT);
            Worker { store, inputs, unpacker, stop: stopped, again, told: Instant::now() }.run(&taken);
        })?;
        Ok(Self { jobs: Some(jobs), stop, thread: Some(thread) })
    }

    /// For readers.
    pub fn jobs(&self) -> Option<Sender<Job>> {
        self.jobs.clone()
    }

    /// Asks what of a model lies here. False: the thread is too busy to be asked.
    pub fn lookup(
        &self,
        model_id: String,
        representation: RepresentationId,
        source_bytes: u64,
        chunks: u32,
    ) -> bool {
        let job = Job::Lookup { model_id, representation, source_bytes, chunks };
        self.jobs.as_ref().is_some_and(|jobs| jobs.try_send(job).is_ok())
    }

    /// All parts of a model were decoded, or they are no good.
    pub fn assembled(&self, holding: Arc<Holding>, good: bool) {
        let job = Job::Assembled { holding, good };
        if self.jobs.as_ref().is_none_or(|jobs| jobs.try_send(job).is_err()) {
            tracing::debug!("the store is too busy to hear that a model is whole");
        }
    }
}

impl Drop for Storing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's thread panicked");
        }
    }
}

struct Worker {
    store: Store,
    inputs: Sender<Input>,
    unpacker: Unpacker,
    stop: Arc<AtomicBool>,
    again: Sender<Job>,
    told: Instant,
}

impl Worker {
    fn run(mut self, jobs: &Receiver<Job>) {
        while !self.stop.load(Ordering::Acquire) {
            match jobs.recv_timeout(Duration::from_millis(100)) {
                Ok(Job::Lookup { model_id, representation, source_bytes, chunks }) => {
                    let (holding, file) = self.store.lookup(representation, source_bytes, chunks);
                    self.tell(Input::Found(model_id, holding.clone(), file));
                    if representation.method == Method::Mesh {
                        let here = (0..holding.chunk_count()).filter(|index| holding.has(*index));
                        here.for_each(|index| self.unpacker.unpack(&holding, index));
                    }
                }
                Ok(Job::Assembled { holding, good: true }) => self.store.close(&holding),
                Ok(Job::Assembled { holding, good: false }) => self.store.give_up(&holding),
                Ok(Job::Arrived(link)) => self.arrived(&link),
                Err(_) => {}
            }
        }
    }

    fn tell(&self, input: Input) {
        tell_driver(&self.inputs, input, &self.stop);
    }

    /// A turn of one connection, and as many more as there is no room to wait in.
    fn arrived(&mut self, link: &Arc<Link>) {
        loop {
            link.store_called.store(false, Ordering::Release);
            if self.turn(link) || link.store_called.swap(true, Ordering::AcqRel) {
                return;
            }
            // Others first; full: they are many, so this one goes on.
            if self.again.try_send(Job::Arrived(link.clone())).is_ok() {
                return;
            }
        }
    }

    /// Whether nothing more waits.
    fn turn(&mut self, link: &Arc<Link>) -> bool {
        for _ in 0..TURN {
            let Some(piece) = link.inbound().take() else { return true };
            let bytes = piece.bytes.as_ref().map_or(0, Bytes::len);
            let channel = piece.channel;
            self.piece(link, piece);
            let credits = {
                let mut inbound = link.inbound();
                let now = link.now();
                if bytes > 0 {
                    inbound.consumed(channel, bytes, now);
                }
                inbound.grants(now)
            };
            if !credits.is_empty() {
                let mut outbox = link.outbox();
                credits.into_iter().for_each(|credit| outbox.push_credit(credit));
                drop(outbox);
                link.wake_writer();
            }
        }
        false
    }

    fn piece(&mut self, link: &Link, piece: Piece) {
        let Piece { channel, holding, assembler, bytes } = piece;
        let Some(mut bytes) = bytes else {
            return self.tell(Input::Stored(link.id, channel, Stored::Ended));
        };
        let mut assembler = assembler.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match assembler.push(&mut bytes, &holding) {
                Ok(Some(chunk)) => {
                    let index = chunk.header.index;
                    let is_new = self.store.insert(&holding, chunk);
                    self.told = Instant::now();
                    self.tell(Input::Stored(link.id, channel, Stored::Covered(holding.covered())));
                    if holding.id().method == Method::Mesh {
                        if is_new {
                            self.unpacker.unpack(&holding, index);
                        }
                    } else if holding.is_complete() {
                        let whole = self.whole(&holding);
                        self.tell(Input::Stored(link.id, channel, whole));
                    }
                }
                Ok(None) => break,
                Err(fault @ ChunkFault::Damaged { .. }) => {
                    tracing::warn!("connection {}: {fault}", link.id.0);
                }
                Err(fault) => return self.tell(Input::Fault(link.id, fault.to_string())),
            }
        }
        if self.told.elapsed() >= PROGRESS_INTERVAL {
            self.told = Instant::now();
            let covered = holding.covered() + assembler.partly_covered();
            self.tell(Input::Stored(link.id, channel, Stored::Covered(covered)));
        }
    }

    fn whole(&mut self, holding: &Arc<Holding>) -> Stored {
        match self.store.assemble(holding) {
            Ok(file) => Stored::Whole(file),
            Err(error) => {
                tracing::warn!("{error}");
                Stored::Wrong
            }
        }
    }
}
