//! Convene: a meeting around 3D models.
//!
//! People in VR headsets and on desktops look at the same glTF models, move them,
//! point at them, see each other's heads and hands. Convene joins and hosts
//! LookSee's meetings on the wire, unchanged.
//!
//! The layers, arrows pointing down only (`tests/layering.rs` checks them):
//!
//! ```text
//! main -> lib -> platform -> app -> {net, workers, model} -> {session, transfer} -> wire
//!                            headless -> {net, workers, model}
//! ```
//!
//! - Layer 0, pure: [`wire`], [`session`], [`transfer`].
//! - Layer 1, threads and heavy work: [`net`], [`model`], [`workers`],
//!   [`settings`], [`files`], [`opening`], [`headless`].
//! - Layer 2, Bevy: `app` (feature `app`). Layer 3, edges: `platform`.
//!
//! `docs/architecture.md` is the map, `docs/protocol.md` the wire.

pub mod cli;
pub mod demo;
pub mod files;
pub mod headless;
pub mod model;
pub mod motion;
pub mod net;
pub mod notice;
pub mod opening;
pub mod session;
pub mod settings;
pub mod threads;
pub mod transfer;
pub mod wire;
pub mod workers;

use std::{io::BufReader, path::PathBuf};

use cli::{CliCommand, Common, ProtocolChoice};
use headless::Ending;
use net::{Net, NetConfig};
use settings::SettingsFile;
use workers::Workers;

/// Takes part in a meeting as the command line says: `command` is none of
/// `send` and `check`, which no meeting is needed for.
///
/// # Errors
/// If a thread cannot be started, or the window cannot be opened.
pub fn run(command: Option<CliCommand>, files: Vec<PathBuf>, common: Common) -> std::io::Result<Ending> {
    let settings_path = common.settings.clone().unwrap_or_else(settings::default_path);
    let mut settings = SettingsFile::open(&settings_path);
    let mut identity = settings.identity();
    if let Some(name) = &common.name {
        identity.name.clone_from(name);
    }
    let mut session = session::Config::new(identity);
    session.looksee_only = common.protocol == ProtocolChoice::Looksee;
    let net = Net::start(NetConfig { session, pace_megabits: common.pace })?;
    let workers = Workers::start()?;
    let (start, files) = match command {
        Some(CliCommand::Host { files, port }) => (headless::Start::Host { port }, files),
        Some(CliCommand::Join { address, files }) => (headless::Start::Join { address }, files),
        _ => (headless::Start::Alone, files),
    };
    let folder = common.received_folder.clone().unwrap_or_else(settings::default_files_folder);
    let options = headless::Options {
        start,
        files,
        bind: common.bind,
        receive_files: common.receive_files.map(|port| (port, folder)),
        limits: model::Limits::default(),
        net,
        workers,
        notice: settings.notice.take(),
    };
    let stop = stop_signal();
    let ending = headless::run(options, BufReader::new(std::io::stdin()), std::io::stdout(), stop)?;
    Ok(ending)
}

/// Closed by Ctrl-C, SIGTERM or SIGHUP.
fn stop_signal() -> crossbeam_channel::Receiver<()> {
    let (sender, stop) = crossbeam_channel::bounded(1);
    let handler = ctrlc::set_handler(move || {
        // Full: it was asked for before.
        let _ = sender.try_send(());
    });
    if let Err(error) = handler {
        tracing::debug!("signals end the program at once: {error}");
        return crossbeam_channel::never();
    }
    stop
}
