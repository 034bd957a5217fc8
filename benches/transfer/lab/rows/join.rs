//! From the start of a guest's process to the first pose that it sees, in an
//! empty meeting and in one with an open model.

use std::time::Duration;

use anyhow::{Context, Result};

use super::{HZ, set_poses, set_times};
use crate::lab::{
    Lab, pause,
    peer::{Peer, time_of},
    poses::Sender,
    report::Row,
    rig::{Link, Rig},
};

const LINK: Link = Link::Routed { mbit: 50.0, queue_ms: 100.0 };

pub(super) fn run(lab: &Lab, run: u64) -> Result<Vec<Row>> {
    let rig = Rig::new(LINK, 3, run)?;
    let mut host = Peer::host(rig.station(0), &[])?;
    let poses = Sender::start(vec![host.commands()], HZ)?;
    pause(Duration::from_millis(300))?;

    let early = Peer::joining(rig.station(1), rig.station(0), &[])?;
    early.wait_for_poses(1)?;
    let mut empty = Row::new("join", LINK);
    empty.set("first_pose_ms", first_pose_ms(&early)?);
    drop(early);

    host.open(&lab.models.surface)?;
    pause(Duration::from_millis(300))?;
    let late = Peer::joining(rig.station(2), rig.station(0), &[])?;
    let mut full = Row::new("join, model open", LINK);
    let begin_ns = time_of(&late.wait_for("joined")?)?;
    let last_byte_ns = set_times(&mut full, begin_ns, &late, lab.models.surface_bytes()?, 1.0)?;
    pause(Duration::from_millis(300))?;
    let written = poses.stop()?;
    set_poses(&mut full, &written[0], &late.arrivals(), begin_ns, last_byte_ns);
    full.set("first_pose_ms", first_pose_ms(&late)?);
    full.set("host_peak_mib", host.peak_mib());
    Ok(vec![empty, full])
}

fn first_pose_ms(guest: &Peer) -> Result<f64> {
    let first = guest.arrivals().first().context("a pose")?.at_ns;
    Ok(first.saturating_sub(guest.started_ns) as f64 / 1e6)
}
