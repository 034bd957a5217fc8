//! Wi-Fi: everybody shares one token bucket. A guest opens, the host relays, a
//! third receives; and somebody joins when the model is open already.

use std::time::Duration;

use anyhow::Result;

use super::{CONVENE, HZ, LOOKSEE, begin_of, set_poses, set_times};
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
    let begin_ns = time_of(&opened)?;
    // From opener to host and from host to receiver: two copies through the air.
    let last_byte_ns = set_times(&mut relayed, begin_ns, &receiver, bytes, 2.0)?;
    pause(Duration::from_millis(300))?;
    let written = poses.stop()?;
    set_poses(&mut relayed, &written[0], &receiver.arrivals(), begin_ns, last_byte_ns);
    relayed.set("host_peak_mib", host.peak_mib());
    set_ideal(&mut relayed, bytes, mbit, 2.0);

    let late = Peer::joining(rig.station(3), at_host, options)?;
    let poses = Sender::start(vec![host.commands()], HZ)?;
    let mut late_row = Row::new(format!("air, late joiner, {name}"), link);
    let offered = late.wait_for("model_offered")?;
    let begin_ns = begin_of(&offered, &late)?;
    let last_byte_ns = set_times(&mut late_row, begin_ns, &late, bytes, 1.0)?;
    pause(Duration::from_millis(300))?;
    let written = poses.stop()?;
    set_poses(&mut late_row, &written[0], &late.arrivals(), begin_ns, last_byte_ns);
    late_row.set("host_peak_mib", host.peak_mib());
    set_ideal(&mut late_row, bytes, mbit, 1.0);
    Ok([relayed, late_row])
}

/// The time beside that of all copies' bytes at the air's rate.
fn set_ideal(row: &mut Row, bytes: f64, mbit: f64, copies: f64) {
    let ideal = copies * bytes * 8e-6 / mbit;
    row.set("times_ideal", row.get("seconds_to_last_byte").map(|seconds| seconds / ideal));
}
