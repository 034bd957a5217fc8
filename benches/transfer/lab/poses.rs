//! Numbered poses: how old a participant is in the eyes of another.
//!
//! One way for all rows and protocols: the laboratory writes `pose` commands at a
//! fixed rate and notes when; the head's place holds the number, which survives
//! any wire; the receiver's event has the time at which it came. A pose that was
//! replaced by a newer one on its way counts until that newer one is there, so
//! that dropping poses makes no delay look better.

use std::{
    io::Write,
    process::ChildStdin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use anyhow::{Context, Result};
use convene::threads::{self, monotonic_nanoseconds};
use serde_json::Value;

/// Where a participant's commands go; poses come from a thread of their own.
pub type Commands = Arc<Mutex<ChildStdin>>;

/// Numbers lie this far apart in space: exact as `f32`, and in four decimals.
const PER_METRE: f64 = 64.0;

/// A pose that came.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrival {
    pub at_ns: u64,
    pub number: usize,
    pub from: String,
}

impl Arrival {
    /// None for a pose without a number.
    pub fn read(event: &Value) -> Option<Self> {
        let number = (event["head"]["position"][0].as_f64()? * PER_METRE).round();
        (number >= 1.0).then_some(Self {
            at_ns: event["mono_ns"].as_u64()?,
            number: number as usize,
            from: event["from"].as_str()?.to_owned(),
        })
    }
}

/// A thread that writes poses to participants.
pub struct Sender {
    stop: Arc<AtomicBool>,
    /// When each was written; number 1 is the first.
    thread: Option<JoinHandle<Vec<Vec<u64>>>>,
}

impl Sender {
    /// Each participant sends at that rate, one after the other within the interval.
    pub fn start(participants: Vec<Commands>, hz: f64) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = threads::spawn("lab-poses", {
            let stop = stop.clone();
            move || write_poses(&participants, hz, &stop)
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }

    pub fn stop(mut self) -> Result<Vec<Vec<u64>>> {
        self.stop.store(true, Ordering::Relaxed);
        let written = self.thread.take().and_then(|thread| thread.join().ok());
        written.context("the poses' thread broke")
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn write_poses(participants: &[Commands], hz: f64, stop: &AtomicBool) -> Vec<Vec<u64>> {
    let mut written = vec![Vec::new(); participants.len()];
    let interval_ns = 1e9 / hz / participants.len().max(1) as f64;
    let start = monotonic_nanoseconds();
    for turn in 0u64.. {
        let due = start + (turn as f64 * interval_ns) as u64;
        let now = monotonic_nanoseconds();
        std::thread::sleep(Duration::from_nanos(due.saturating_sub(now)));
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let who = turn as usize % participants.len();
        let place = (written[who].len() + 1) as f64 / PER_METRE;
        let line = format!(
            "{{\"command\":\"pose\",\"head\":{{\"position\":[{place},1.6,0],\"rotation\":[0,0,0,1]}}}}\n"
        );
        let mut input = participants[who].lock().unwrap_or_else(PoisonError::into_inner);
        let time = monotonic_nanoseconds();
        if input.write_all(line.as_bytes()).is_err() {
            // It has ended; the row will find out.
            break;
        }
        written[who].push(time);
    }
    written
}

/// When a pose was written and how long it, or a newer one, took, in milliseconds.
pub fn delays(written: &[u64], arrivals: &[Arrival], from_ns: u64, to_ns: u64) -> Vec<(u64, f64)> {
    let (mut delays, mut seen) = (Vec::new(), 0);
    for arrival in arrivals {
        for number in seen + 1..=arrival.number.min(written.len()) {
            delays
                .push((written[number - 1], arrival.at_ns.saturating_sub(written[number - 1]) as f64 / 1e6));
        }
        seen = seen.max(arrival.number);
    }
    // Never: so long at least.
    let end = arrivals.last().map_or(to_ns, |last| last.at_ns.max(to_ns));
    for &time in written.iter().skip(seen) {
        delays.push((time, end.saturating_sub(time) as f64 / 1e6));
    }
    delays.retain(|(time, _)| (from_ns..=to_ns).contains(time));
    delays
}

/// The longest time without a new pose that touches the span, in milliseconds.
pub fn longest_gap(arrivals: &[Arrival], from_ns: u64, to_ns: u64) -> f64 {
    let (mut longest, mut seen, mut last) = (0, 0, None);
    for arrival in arrivals.iter().filter(|arrival| {
        let newer = arrival.number > seen;
        seen = seen.max(arrival.number);
        newer
    }) {
        if let Some(before) = last.filter(|&before| before <= to_ns)
            && arrival.at_ns >= from_ns
        {
            longest = longest.max(arrival.at_ns.saturating_sub(before));
        }
        last = Some(arrival.at_ns);
    }
    if let Some(last) = last.filter(|&last| last < to_ns) {
        longest = longest.max(to_ns - last);
    }
    longest as f64 / 1e6
}

/// The value below which that part of them lies.
pub fn percentile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() as f64 * part) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied()
}
