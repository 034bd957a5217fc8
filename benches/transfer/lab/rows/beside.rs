//! A model from the host to a guest beside the host's poses, over one link.

use std::{fs, path::Path, time::Duration};

use anyhow::Result;
use convene::threads;
use serde_json::{Value, json};

use super::{CONVENE, HZ, LOOKSEE, UNCONTROLLED, begin_of, set_poses, set_times};
use crate::lab::{
    Lab, pause,
    peer::{Peer, time_of},
    poses::{self, Sender},
    report::Row,
    rig::{Link, Rig},
};

const FAST: Link = Link::Routed { mbit: 50.0, queue_ms: 100.0 };
const FAR: Link = Link::Relayed { mbit: 20.0, rtt_ms: 40.0, queue_ms: 200.0, loss: 0.0 };
const LOSSY: Link = Link::Relayed { mbit: 30.0, rtt_ms: 6.0, queue_ms: 100.0, loss: 0.01 };

/// Before the model: the idle link, which a window tuner wants to know.
const SETTLE: Duration = Duration::from_millis(1200);
/// After it: poses of the end arrive.
const AFTER: Duration = Duration::from_millis(300);

/// What is sent over what, and how.
pub(super) struct Transfer<'a> {
    pub name: String,
    pub link: Link,
    pub options: &'a [&'a str],
    pub model: &'a Path,
    pub hz: f64,
}

pub(super) fn run(lab: &Lab, run: u64) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    // Where a link is slow, or made so by loss, less will do.
    let (medium, small) = (lab.models.noise(12_000_000)?, lab.models.noise(8_000_000)?);
    for (link, model) in [(FAST, &lab.models.surface), (FAR, &medium), (LOSSY, &small)] {
        for (name, options) in [LOOKSEE, UNCONTROLLED, CONVENE] {
            if !lab.wants(name, options) {
                continue;
            }
            let transfer = Transfer { name: name.into(), link, options, model, hz: HZ };
            rows.push(transfer.measure(lab, run)?);
        }
    }
    Ok(rows)
}

impl Transfer<'_> {
    pub fn measure(&self, lab: &Lab, run: u64) -> Result<Row> {
        let rig = Rig::new(self.link, 2, run)?;
        let mut host = Peer::host(rig.station(0), self.options)?;
        let mut guest = Peer::join(rig.station(1), rig.station(0), self.options)?;
        let sender = Sender::start(vec![host.commands()], self.hz)?;
        guest.wait_for_poses(1)?;
        let before = host.does(json!({ "command": "stats" }))?;
        pause(SETTLE)?;
        let idle = host.does(json!({ "command": "stats" }))?;
        let asked_ns = threads::monotonic_nanoseconds();
        let opened = host.open(self.model)?;
        while lab.trace.is_some() && guest.events("model_received").is_empty() {
            pause(Duration::from_millis(50))?;
            guest.does(json!({ "command": "stats" }))?;
        }
        let bytes = fs::metadata(self.model)?.len() as f64;
        let mut row = Row::new(&self.name, self.link);
        let begin_ns = begin_of(&opened, &guest)?;
        let last_byte_ns = set_times(&mut row, begin_ns, &guest, bytes, 1.0)?;
        let shown_ns = time_of(&guest.wait_for("model_opened")?)?;
        row.set("seconds_from_open", (shown_ns - asked_ns) as f64 / 1e9);
        pause(AFTER)?;
        let written = sender.stop()?;
        let arrivals = guest.arrivals();
        set_poses(&mut row, &written[0], &arrivals, begin_ns, last_byte_ns);
        let idle_delays =
            poses::delays(&written[0], &arrivals, time_of(&idle)? - 1_000_000_000, time_of(&idle)?);
        let idle_delays: Vec<f64> = idle_delays.into_iter().map(|(_, delay)| delay).collect();
        row.set("idle_pose_p50_ms", poses::percentile(&idle_delays, 0.5));
        row.set("idle_pose_p99_ms", poses::percentile(&idle_delays, 0.99));
        row.set("host_peak_mib", host.peak_mib());
        self.set_rest(&mut row, &host, &before, &idle, bytes);
        lab.trace(&row, run, &guest.events("stats"), begin_ns)?;
        Ok(row)
    }

    /// The share of what the poses leave of the link.
    fn set_rest(&self, row: &mut Row, host: &Peer, before: &Value, idle: &Value, bytes: f64) {
        let Some(mbit) = self.link.mbit() else { return };
        let at = |done: &Value| done["t"].as_f64().unwrap_or_default();
        let stats = host.events("stats");
        row.set("idle_rtt_ms", stats.last().and_then(|s| s["peers"][0]["round_trip_ms"].as_f64()));
        let sent: Vec<f64> = stats.iter().filter_map(|s| s["peers"][0]["sent_bytes"].as_f64()).collect();
        let ([first, second, ..], true) = (&sent[..], at(idle) > at(before)) else { return };
        let payload = (second - first) / (at(idle) - at(before));
        // Every pose is a packet of its own: 20 bytes of IP and 32 of TCP.
        let poses = payload + self.hz * 52.0;
        let Some(seconds) = row.get("seconds_to_last_byte") else { return };
        row.set("pose_kb_per_second", poses / 1e3);
        row.set("share_left_by_poses", bytes / seconds / (mbit * 1e6 / 8.0 - poses));
    }
}
