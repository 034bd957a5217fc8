//! No link at all: what the program itself can do.

use std::time::Duration;

use anyhow::{Context, Result};

use super::{HZ, begin_of, set_times};
use crate::lab::{
    Lab, pause,
    peer::{Peer, time_of},
    poses::{self, Sender},
    report::Row,
    rig::{Link, Rig},
};

const GUESTS: usize = 8;
/// How many of them have their eyes open: reading all would be work beside what is measured.
const WATCHERS: usize = 2;
const LARGE: usize = 200_000_000;
const MEDIUM: usize = 48_000_000;

pub(super) fn run(lab: &Lab, _run: u64) -> Result<Vec<Row>> {
    Ok(vec![one_guest(lab)?, eight_guests(lab, false)?, eight_guests(lab, true)?])
}

fn one_guest(lab: &Lab) -> Result<Row> {
    let model = lab.models.noise(LARGE)?;
    let rig = Rig::new(Link::Loopback, 1, 0)?;
    let mut host = Peer::host(rig.station(0), &[])?;
    let guest = Peer::join(rig.station(0), rig.station(0), &[])?;
    pause(Duration::from_millis(1200))?;
    let opened = host.open(&model)?;
    let mut row = Row::new("loopback, one guest", Link::Loopback);
    let begin_ns = begin_of(&opened, &guest)?;
    set_times(&mut row, begin_ns, &guest, LARGE as f64, 1.0)?;
    let seconds = row.get("seconds_to_last_byte").context("a time")?;
    row.set("gbit_per_second", LARGE as f64 * 8e-9 / seconds);
    row.set("host_peak_mib", host.peak_mib());
    Ok(row)
}

/// All send poses through the host; with a model for everybody or without.
fn eight_guests(lab: &Lab, bulk: bool) -> Result<Row> {
    let model = lab.models.noise(MEDIUM)?;
    let rig = Rig::new(Link::Loopback, 1, 0)?;
    let mut host = Peer::host(rig.station(0), &[])?;
    let mut guests = Vec::new();
    for number in 0..GUESTS {
        let guest = Peer::join(rig.station(0), rig.station(0), &["--name", &format!("guest {number}")])?;
        if number >= WATCHERS {
            guest.send(&serde_json::json!({ "command": "watch_poses", "on": false }))?;
        }
        guests.push(guest);
    }
    let sender = Sender::start(guests.iter().map(Peer::commands).collect(), HZ)?;
    guests[0].wait_for_poses(GUESTS)?;
    pause(Duration::from_millis(1000))?;
    let name = if bulk { "loopback, eight guests and a model" } else { "loopback, eight guests" };
    let mut row = Row::new(name, Link::Loopback);
    let (from_ns, to_ns) = if bulk {
        let opened = host.open(&model)?;
        let begin_ns = begin_of(&opened, &guests[0])?;
        let mut last_ns = 0;
        for guest in &guests {
            last_ns = last_ns.max(time_of(&guest.wait_for("model_received")?)?);
        }
        let seconds = (last_ns - begin_ns) as f64 / 1e9;
        row.set("seconds_to_last_byte", seconds);
        row.set("gbit_per_second", (GUESTS * MEDIUM) as f64 * 8e-9 / seconds);
        (begin_ns, last_ns)
    } else {
        let from_ns = convene::threads::monotonic_nanoseconds();
        pause(Duration::from_secs(4))?;
        (from_ns, convene::threads::monotonic_nanoseconds())
    };
    pause(Duration::from_millis(300))?;
    let written = sender.stop()?;
    let (mut delays, mut gap) = (Vec::new(), 0f64);
    for (watcher, guest) in guests.iter().take(WATCHERS).enumerate() {
        let arrivals = guest.arrivals();
        for number in (0..GUESTS).filter(|number| *number != watcher) {
            let id = guest.id_of(&format!("guest {number}"))?;
            let theirs: Vec<_> = arrivals.iter().filter(|a| a.from == id).cloned().collect();
            delays.extend(poses::delays(&written[number], &theirs, from_ns, to_ns).iter().map(|(_, d)| *d));
            gap = gap.max(poses::longest_gap(&theirs, from_ns, to_ns));
        }
    }
    row.set("pose_p50_ms", poses::percentile(&delays, 0.5));
    row.set("pose_p99_ms", poses::percentile(&delays, 0.99));
    row.set("pose_max_ms", poses::percentile(&delays, 1.0));
    row.set("pose_longest_gap_ms", gap);
    row.set("host_peak_mib", host.peak_mib());
    Ok(row)
}
