//! What is measured. A group gives its rows of one run.

mod air;
mod beside;
mod join;
mod loopback;
mod parts;
mod slow_frames;
mod stopped;
mod window;

use anyhow::{Result, ensure};

use crate::lab::{
    Lab,
    peer::{Peer, time_of},
    poses::{self, Arrival},
    report::Row,
};

/// Poses a second where nothing else is said.
const HZ: f64 = 90.0;

/// A group of rows that are measured together.
pub struct Group {
    pub name: &'static str,
    pub run: fn(&Lab, u64) -> Result<Vec<Row>>,
}

pub const GROUPS: [Group; 8] = [
    Group { name: "beside", run: beside::run },
    Group { name: "parts", run: parts::run },
    Group { name: "window", run: window::run },
    Group { name: "air", run: air::run },
    Group { name: "loopback", run: loopback::run },
    Group { name: "join", run: join::run },
    Group { name: "stopped", run: stopped::run },
    Group { name: "slow-frames", run: slow_frames::run },
];

/// The ways of sending a model that are compared, and the options that choose them.
pub const LOOKSEE: (&str, &[&str]) = ("looksee", &["--protocol", "looksee"]);
pub const UNCONTROLLED: (&str, &[&str]) = ("uncontrolled", &["--window", "none"]);
pub const CONVENE: (&str, &[&str]) = ("convene", &[]);
/// Ways of making a model smaller.
pub const GZIP: (&str, &[&str]) = ("gzip", &["--methods", "gzip"]);
pub const EXACT: (&str, &[&str]) = ("exact", &["--methods", "exact"]);
pub const PARTS: (&str, &[&str]) = ("parts", &["--methods", "mesh,raw"]);

/// When a model began to travel, by the opener's answer and the receiver's offer,
/// whichever came first.
fn begin_of(opened: &serde_json::Value, receiver: &Peer) -> Result<u64> {
    Ok(time_of(opened)?.min(time_of(&receiver.wait_for("model_offered")?)?))
}

/// The figures of a model that came whole.
fn set_times(row: &mut Row, begin_ns: u64, receiver: &Peer, bytes: f64, copies: f64) -> Result<u64> {
    let received = receiver.wait_for("model_received")?;
    let last_byte_ns = time_of(&received)?;
    // Made smaller, or as it is.
    let bytes = received["wire_bytes"].as_f64().filter(|bytes| *bytes > 0.0).unwrap_or(bytes);
    row.set("wire_mbytes", bytes / 1e6);
    for (key, encoding) in [("parts_fast", "fast"), ("parts_strong", "strong"), ("parts_planes", "planes")] {
        row.set(key, received["parts"][encoding].as_f64());
    }
    row.set("decode_seconds", received["decode_seconds"].as_f64());
    let opened_ns = time_of(&receiver.wait_for("model_opened")?)?;
    ensure!(last_byte_ns > begin_ns, "the model was there before it was sent");
    let seconds = (last_byte_ns - begin_ns) as f64 / 1e9;
    row.set("seconds_to_last_byte", seconds);
    row.set("seconds_to_opened", (opened_ns - begin_ns) as f64 / 1e9);
    row.set("link_share", row.link.mbit().map(|mbit| copies * bytes * 8e-6 / seconds / mbit));
    Ok(last_byte_ns)
}

/// The figures of the poses that were taken within a span.
fn set_poses(row: &mut Row, written: &[u64], arrivals: &[Arrival], from_ns: u64, to_ns: u64) {
    let delays = poses::delays(written, arrivals, from_ns, to_ns);
    row.series = delays.iter().map(|(at, delay)| ((at - from_ns) as f64 / 1e9, *delay)).collect();
    let values: Vec<f64> = delays.into_iter().map(|(_, delay)| delay).collect();
    row.set("pose_p50_ms", poses::percentile(&values, 0.5));
    row.set("pose_p99_ms", poses::percentile(&values, 0.99));
    row.set("pose_max_ms", poses::percentile(&values, 1.0));
    row.set("pose_longest_gap_ms", poses::longest_gap(arrivals, from_ns, to_ns));
}
