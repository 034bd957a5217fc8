//! Host and guest are Bevy apps whose frames take 200 ms; beside them headless
//! participants. The guest joins a meeting with an open model in both cases.
//!
//! The apps are `examples/slow_frames.rs`, which this build, without Bevy, does
//! not make.

use std::path::Path;

use anyhow::{Context, Result};

use crate::lab::{
    Lab,
    peer::{PORT, Peer, built, time_of},
    report::Row,
    rig::{Link, Rig, Station},
};

const LINK: Link = Link::Routed { mbit: 50.0, queue_ms: 100.0 };
const EXAMPLE: &str = "examples/slow_frames";

pub(super) fn run(lab: &Lab, run: u64) -> Result<Vec<Row>> {
    let apps = built(EXAMPLE).context(
        "the row slow-frames needs the apps: `cargo build --release --example slow_frames` (with Bevy)",
    )?;
    let headless = Path::new(crate::lab::peer::PROGRAM);
    Ok(vec![
        measure(lab, run, "slow-frames, headless", headless, &["--headless"])?,
        measure(lab, run, "slow-frames", &apps, &[])?,
    ])
}

fn measure(lab: &Lab, run: u64, name: &str, program: &Path, options: &[&str]) -> Result<Row> {
    let rig = Rig::new(LINK, 2, run)?;
    let start = |station: &Station, args: &[&str]| {
        Peer::start(program, station, &[args, options, &["--exact"]].concat())
    };
    let (address, port) = (&rig.station(0).address, PORT.to_string());
    let model = lab.models.surface.to_str().context("a path in UTF-8")?;
    let host = start(rig.station(0), &["host", model, "--port", &port, "--bind", address])?;
    host.wait_for("model_opened")?;
    let guest = start(rig.station(1), &["join", &format!("{address}:{port}")])?;
    let begin_ns = time_of(&guest.wait_for("model_offered")?)?;
    let last_byte_ns = time_of(&guest.wait_for("model_received")?)?;
    let mut row = Row::new(name, LINK);
    let seconds = (last_byte_ns - begin_ns) as f64 / 1e9;
    row.set("seconds_to_last_byte", seconds);
    row.set("link_share", lab.models.surface_bytes()? * 8e-6 / seconds / 50.0);
    row.set("host_peak_mib", host.peak_mib());
    Ok(row)
}
