//! The threads `unpack-N`: decode the parts of models while others still arrive,
//! at low priority, and make a standard GLB of them when all are here.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::{Input, tell_driver};
use crate::{session::Assembled, threads, transfer::Holding};

/// Chunks that may wait to be decoded: those of many models. They lie in memory
/// already; a job is a number and a reference.
const JOBS: usize = 1 << 15;
/// Threads at most.
const THREADS: usize = 4;

/// A chunk that has come.
type Job = (Arc<Holding>, u32);

/// The threads' handle; dropped, they are stopped and joined.
#[derive(Debug)]
pub(super) struct Unpacking {
    jobs: Option<Sender<Job>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// For whoever has chunks to be decoded.
#[derive(Debug, Clone)]
pub(super) struct Unpacker {
    jobs: Sender<Job>,
    inputs: Sender<Input>,
    stop: Arc<AtomicBool>,
}

impl Unpacking {
    /// As many threads as there are cores.
    pub fn start(inputs: Sender<Input>) -> io::Result<(Self, Unpacker)> {
        let (jobs, taken) = bounded::<Job>(JOBS);
        let stop = Arc::new(AtomicBool::new(false));
        let unpacker = Unpacker { jobs: jobs.clone(), inputs: inputs.clone(), stop: stop.clone() };
        let mut unpacking = Self { jobs: Some(jobs), stop: stop.clone(), threads: Vec::new() };
        for number in 1..=super::helpers(THREADS) {
            let (taken, inputs, stop) = (taken.clone(), inputs.clone(), stop.clone());
            unpacking.threads.push(threads::spawn(format!("unpack-{number}"), move || {
                threads::lower_priority();
                run(&taken, &inputs, &stop);
            })?);
        }
        Ok((unpacking, unpacker))
    }
}

impl Unpacker {
    /// Decodes a chunk, soon.
    pub fn unpack(&self, holding: &Arc<Holding>, index: u32) {
        if self.jobs.try_send((holding.clone(), index)).is_err() {
            let why = "too many parts wait to be read".to_owned();
            tell_driver(&self.inputs, Input::Assembled(holding.clone(), Err(why)), &self.stop);
        }
    }
}

fn run(jobs: &Receiver<Job>, inputs: &Sender<Input>, stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) {
        let Ok((holding, index)) = jobs.recv_timeout(Duration::from_millis(100)) else { continue };
        // Alone with it: the model is closed, nobody wants it any more.
        if Arc::strong_count(&holding) <= 1 {
            continue;
        }
        let start = Instant::now();
        let decoded = holding.decode_part(index);
        holding.note_work(start.elapsed());
        match decoded {
            Ok(part) => {
                tell_driver(inputs, Input::Part(holding.clone(), index, part), stop);
                holding.lay_down();
                // The one thread that finds all of them makes the file.
                if let Some(result) = holding.assemble() {
                    let result = result.map_err(|error| error.to_string()).map(|file| {
                        let own = *blake3::hash(&file).as_bytes();
                        Assembled { file, own }
                    });
                    tell_driver(inputs, Input::Assembled(holding, result), stop);
                }
            }
            Err(error) => {
                tell_driver(inputs, Input::Assembled(holding, Err(error.to_string())), stop);
            }
        }
    }
}

impl Drop for Unpacking {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.jobs = None;
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread that reads parts panicked");
            }
        }
    }
}
