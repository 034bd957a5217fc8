//! Wi-Fi: everybody shares one token bucket. A guest opens, the host relays, a
//! third receives; and somebody joins when the model is open already.

use std::time::Duration;

use anyhow::Result;

use super::{CONVENE, HZ, LOOKSEE, set_poses, set_times};
use crate::lab::{
    Lab, pause,
    peer::{Peer, time_of},
    poses::Sender,
    report::Row,
    rig::{Link, Rig},
};
pub(super) fn run(lab: &Lab, run: u64) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for mbit in [50.0, 166.0] {
        for (name, options) in [LOOKSEE, CONVENE] {
            if lab.wants(name, options) && (lab.full || name == CONVENE.0) {
                rows.extend(measure(lab, mbit, name, options, run)?);
            }
        }
    }
    Ok(rows)
}

fn measure(lab: &Lab, mbit: f64, name: &str, options: &[&str], run: u64) -> Result<[Row; 2]> {
    let link = Link::Air { mbit, queue_ms: 100.0 };
    let rig = Rig::new(link, 4, run)?;
    let (at_host, bytes) = (rig.station(0), lab.models.surface_bytes()?);
    let host = Peer::host(at_host, options)?;
    let mut opener = Peer::join(rig.station(1), at_host, options)?;
    let receiver = Peer::join(rig.station(2), at_host, options)?;
    let poses = Sender::start(vec![opener.commands()], HZ)?;
    receiver.wait_for_poses(1)?;
    pause(Duration::from_millis(1200))?;
    let opened = opener.open(&lab.models.surface)?;
    let mut relayed = Row::new(format!("air, relayed, {name}"), link);
    let relayed_ns = time_of(&opened)?;
    // From opener to host and from host to receiver: two copies through the air.
    let relayed_end_ns = set_times(&mut relayed, relayed_ns, &receiver, bytes, 2.0)?;
    pause(Duration::from_millis(300))?;

    let late = Peer::joining(rig.station(3), at_host, options)?;
    let mut later = Row::new(format!("air, late joiner, {name}"), link);
    let later_ns = time_of(&late.wait_for("model_offered")?)?;
    let later_end_ns = set_times(&mut later, later_ns, &late, bytes, 1.0)?;
    pause(Duration::from_millis(300))?;

    let written = poses.stop()?;
    set_poses(&mut relayed, &written[0], &receiver.arrivals(), relayed_ns, relayed_end_ns);
    set_poses(&mut later, &written[0], &late.arrivals(), later_ns, later_end_ns);
    for (row, copies) in [(&mut relayed, 2.0), (&mut later, 1.0)] {
        set_ideal(row, bytes, mbit, copies);
        row.set("host_peak_mib", host.peak_mib());
    }
    Ok([relayed, later])
}

/// The time beside that of all copies' bytes at the air's rate.
fn set_ideal(row: &mut Row, bytes: f64, mbit: f64, copies: f64) {
    let ideal = copies * bytes * 8e-6 / mbit;
    row.set("times_ideal", row.get("seconds_to_last_byte").map(|seconds| seconds / ideal));
}
