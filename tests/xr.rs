//! The app in a real OpenXR runtime, without a headset: Monado, whose headset
//! and controllers are moved by the scenarios.
//!
//! The runtime is not that of the machine: it is in a Debian root, which
//! `scripts/test-xr` makes, and which `CONVENE_XR_ROOT` names. Without that
//! the scenarios are skipped, and in CI they fail. What a scenario leaves, logs
//! and reports, is in the target folder's `tmp/xr`.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test, its helpers included"
)]

#[path = "common/process.rs"]
mod process;

// What scenarios are made of, from the ground up.
#[path = "xr/remote.rs"]
mod remote;
#[path = "xr/report.rs"]
mod report;
#[path = "xr/runtime.rs"]
mod runtime;
#[path = "xr/stage.rs"]
mod stage;
#[path = "xr/world.rs"]
mod world;

#[path = "xr/alignment.rs"]
mod alignment;
#[path = "xr/hands.rs"]
mod hands;
#[path = "xr/losses.rs"]
mod losses;
#[path = "xr/models.rs"]
mod models;
#[path = "xr/panels.rs"]
mod panels;
#[path = "xr/pictures.rs"]
mod pictures;
#[path = "xr/poses.rs"]
mod poses;
#[path = "xr/standalone.rs"]
mod standalone;
