//! A Bevy app whose frames take 200 ms, for the laboratory's row `slow-frames`.
//!
//! ```text
//! cargo build --release --example slow_frames
//! slow_frames host FILE --port PORT --bind ADDRESS | slow_frames join ADDRESS:PORT
//! ```
//!
//! Tells of the model by JSON lines, as a headless participant does. A thread of
//! its own looks at the meeting: the frames are too slow to measure anything by.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "helpers of tests")]

#[path = "../tests/common/nets.rs"]
mod nets;

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use bevy::prelude::*;
use clap::Parser;
use convene::{
    app::{self, AppOptions},
    cli::{Cli, CliCommand},
    net::{NetCommand, Viewer},
    threads,
    workers::Workers,
};
use serde_json::json;

const FRAME: Duration = Duration::from_millis(200);
const LOOK: Duration = Duration::from_micros(500);

fn main() -> Result<()> {
    let cli = Cli::parse();
    let net = nets::net(None);
    let (open, joining): (Vec<PathBuf>, Option<String>) = match cli.command {
        Some(CliCommand::Host { files, port }) => {
            net.send(NetCommand::Host { bind: cli.common.bind, port })?;
            (files, None)
        }
        Some(CliCommand::Join { address, .. }) => {
            net.send(NetCommand::Join { address: address.clone() })?;
            (Vec::new(), Some(address))
        }
        _ => bail!("host or join"),
    };
    let (viewer, is_guest) = (net.viewer(), joining.is_some());
    threads::spawn("watch", move || watch(&viewer, is_guest)).context("no thread")?;

    let mut app = App::new();
    app::headless_plugins(&mut app);
    let options = AppOptions { open, joining, ..AppOptions::new(net, Workers::with_threads(1)?) };
    app::core(&mut app, options);
    app.add_systems(Last, || std::thread::sleep(FRAME));
    ensure!(app.run().is_success(), "the app failed");
    Ok(())
}

/// Tells when a model is offered and when it is whole.
fn watch(viewer: &Viewer, is_guest: bool) {
    let tell = |event: &str| {
        println!("{}", json!({ "event": event, "mono_ns": threads::monotonic_nanoseconds() }));
    };
    let wait = |fits: &dyn Fn() -> bool| {
        while !fits() {
            std::thread::sleep(LOOK);
        }
    };
    wait(&|| !viewer.view().models.is_empty());
    tell(if is_guest { "model_offered" } else { "model_opening" });
    wait(&|| viewer.view().models.iter().any(|model| model.glb.is_some()));
    tell(if is_guest { "model_received" } else { "model_opened" });
}
