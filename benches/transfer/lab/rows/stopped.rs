//! One of three guests stops (SIGSTOP) during a transfer. What do the others see
//! of each other? Alternated with transfers in which nobody stops.

use std::time::Duration;

use anyhow::Result;
use rustix::process::Signal;

use super::{HZ, begin_of, set_poses, set_times};
use crate::lab::{
    Lab, pause,
    peer::{Peer, time_of},
    poses::Sender,
    report::Row,
    rig::{Link, Rig},
};

const LINK: Link = Link::Routed { mbit: 50.0, queue_ms: 100.0 };
/// Two pairs a run are six or more in all.
const PAIRS: u64 = 2;

pub(super) fn run(lab: &Lab, run: u64) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for pair in 0..PAIRS {
        for stop in [pair % 2 == 0, pair % 2 != 0] {
            rows.push(measure(lab, stop, run)?);
        }
    }
    Ok(rows)
}

fn measure(lab: &Lab, stop: bool, run: u64) -> Result<Row> {
    let model = lab.models.noise(16_000_000)?;
    let rig = Rig::new(LINK, 4, run)?;
    let at_host = rig.station(0);
    let mut host = Peer::host(at_host, &[])?;
    let mover = Peer::join(rig.station(1), at_host, &[])?;
    let watcher = Peer::join(rig.station(2), at_host, &[])?;
    let third = Peer::join(rig.station(3), at_host, &[])?;
    let poses = Sender::start(vec![mover.commands()], HZ)?;
    watcher.wait_for_poses(1)?;
    pause(Duration::from_millis(1000))?;
    let opened = host.open(&model)?;
    let begin_ns = begin_of(&opened, &watcher)?;
    pause(Duration::from_millis(300))?;
    if stop {
        third.signal(Signal::STOP)?;
    }
    let from_ns = convene::threads::monotonic_nanoseconds();
    let name = if stop { "one of three guests stopped" } else { "none of three guests stopped" };
    let mut row = Row::new(name, LINK);
    let last_byte_ns = set_times(&mut row, begin_ns, &watcher, 16e6, 1.0)?;
    let end_ns = last_byte_ns.min(time_of(&mover.wait_for("model_received")?)?);
    pause(Duration::from_millis(300))?;
    let written = poses.stop()?;
    set_poses(&mut row, &written[0], &watcher.arrivals(), from_ns, end_ns);
    row.set("host_peak_mib", host.peak_mib());
    Ok(row)
}
