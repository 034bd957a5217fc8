//! Convene: a meeting around 3D models.
//!
//! People in VR headsets and on desktops look at the same glTF models, move them,
//! point at them, see each other's heads and hands. Convene joins and hosts
//! LookSee's meetings on the wire, unchanged.
//!
//! The layers, arrows pointing down only (`tests/layering.rs` checks them):
//!
//! ```text
//! main -> lib -> platform -> app -> {net, workers, model} -> {gestures -> session, transfer} -> {mesh, wire}
//!                            headless -> {net, workers, model}
//! ```
//!
//! - Layer 0, pure: [`wire`], [`mesh`], [`session`], [`transfer`], [`gestures`].
//! - Layer 1, threads and heavy work: [`net`], [`model`], [`workers`],
//!   [`settings`], [`files`], [`opening`], [`logbook`], [`headless`].
//! - Layer 2, Bevy: `app` (feature `app`). Layer 3, edges: `platform`.
//!
//! `docs/architecture.md` is the map, `docs/protocol.md` the wire.

#[cfg(all(target_os = "android", feature = "xr"))]
mod android;
#[cfg(feature = "app")]
pub mod app;
pub mod cli;
pub mod crash;
pub mod demo;
pub mod files;
pub mod gestures;
pub mod headless;
pub mod logbook;
pub mod mesh;
pub mod model;
pub mod motion;
pub mod net;
pub mod notice;
pub mod opening;
#[cfg(feature = "app")]
pub mod platform;
pub mod session;
pub mod settings;
pub mod store;
pub mod threads;
pub mod transfer;
pub mod wire;
pub mod workers;

use std::{
    io::{self, BufReader},
    path::PathBuf,
    time::{Duration, Instant},
};

use cli::{CliCommand, Common, ProtocolChoice};
use demo::DemoGuest;
use headless::{Ending, Start};
use net::{Net, NetCommand, NetConfig};
use settings::SettingsFile;
use workers::Workers;

/// Takes part in a meeting as the command line says: `command` is none of
/// `send` and `check`, which no meeting is needed for.
///
/// # Errors
/// If a thread cannot be started, or there is no window in this build.
pub fn run(command: Option<CliCommand>, files: Vec<PathBuf>, common: Common) -> io::Result<Ending> {
    let settings_path = common.settings.clone().unwrap_or_else(settings::default_path);
    let crash_notice = settings_path.parent().and_then(|folder| {
        crash::watch(folder);
        crash::told(folder)
    });
    let mut settings = SettingsFile::open(&settings_path);
    let mut identity = settings.identity();
    if let Some(name) = &common.name {
        identity.name.clone_from(name);
    }
    let mut session = session::Config::new(identity);
    session.looksee_only = common.protocol == ProtocolChoice::Looksee;
    session.rejoin = true;
    if !common.methods.is_empty() {
        session.methods.clone_from(&common.methods);
    }
    session.exact = common.exact || settings.settings.exact_models;
    session.bulk = transfer::BulkConfig { window: common.window, step: common.step };
    let cache = match &common.cache {
        Some(folder) if folder.as_os_str() == "none" => None,
        Some(folder) => Some(folder.clone()),
        // Beside settings of one's own, so that several participants do not share one.
        None => match &common.settings {
            Some(settings) => settings.parent().map(|folder| folder.join("received-models")),
            None => settings::default_cache_folder(),
        },
    };
    let mut pace_megabits = common.pace;
    let (mut demo, mut pictures) = (None, None);
    let (start, files) = match command {
        Some(CliCommand::Host { files, port }) => (Start::Host { port }, files),
        Some(CliCommand::Join { address, files }) => (Start::Join { address }, files),
        Some(CliCommand::Demo { pictures: folder }) => {
            let models = demo::models()?;
            if let Some(folder) = &folder {
                std::fs::create_dir_all(folder)?;
            }
            pictures = folder;
            // The pace is the guest's.
            demo = Some((models.guest, pace_megabits.take()));
            (Start::Host { port: 0 }, vec![models.host])
        }
        _ => (Start::Alone, files),
    };
    let is_demo = demo.is_some();
    // In the demonstration the guest's model is to be seen on its way, each time.
    let cache = cache.filter(|_| !is_demo);
    let net = Net::start(NetConfig { session, pace_megabits, cache })?;
    let bind = if is_demo { Some(std::net::Ipv4Addr::LOCALHOST.into()) } else { common.bind };
    let begun = match &start {
        Start::Alone => Ok(()),
        Start::Host { port } => net.send(NetCommand::Host { bind, port: *port }),
        Start::Join { address } => net.send(NetCommand::Join { address: address.clone() }),
    };
    begun.map_err(io::Error::other)?;
    let (cue, cued) = crossbeam_channel::bounded(1);
    let _guest = match demo {
        Some((model, pace)) => {
            let cued = pictures.is_some().then_some(cued);
            Some(DemoGuest::start(demo_port(&net)?, Some(model), pace, cued)?)
        }
        None => None,
    };
    let workers = Workers::start()?;
    let folder = common.received_folder.clone().unwrap_or_else(settings::default_files_folder);
    if common.headless {
        if let Some(port) = common.receive_files {
            let command = NetCommand::ReceiveFiles { bind: common.bind, port, folder };
            net.send(command).map_err(io::Error::other)?;
        }
        let (limits, notice) = (model::Limits::default(), settings.notice.take().or(crash_notice));
        let options = headless::Options { start, files, limits, net, workers, notice };
        headless::run(options, BufReader::new(io::stdin()), io::stdout(), stop_signal())
    } else {
        let pictures = pictures.map(|folder| (folder, cue));
        window(Window { start, files, folder, net, workers, settings, pictures, crash_notice, common })
    }
}

/// What the window needs.
#[cfg_attr(not(feature = "app"), expect(dead_code, reason = "without a window nobody reads it"))]
struct Window {
    start: Start,
    files: Vec<PathBuf>,
    folder: PathBuf,
    net: Net,
    workers: Workers,
    settings: SettingsFile,
    /// Of what failed the last time.
    crash_notice: Option<notice::Notice>,
    /// Where pictures of the demonstration go, and who is told that its guest may come.
    pictures: Option<(PathBuf, crossbeam_channel::Sender<()>)>,
    common: Common,
}

#[cfg(feature = "app")]
fn window(window: Window) -> io::Result<Ending> {
    use app::{attendance::HostOptions, preferences::ReceiveOptions};

    let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let Window { start, files, folder, net, workers, settings, pictures, crash_notice, common } = window;
    let host_port = match start {
        Start::Host { port } => port,
        _ => wire::MEETING_PORT,
    };
    let report = match common.report {
        Some(path) => Some(app::report::Report::new(Box::new(std::fs::File::create(path)?))),
        None => None,
    };
    let shots =
        |shots: Vec<(f64, PathBuf)>| shots.into_iter().map(|(at, path)| (seconds(at), path)).collect();
    let headset = app::HeadsetOptions {
        eye_size: common.eye_size,
        eye_shots: shots(common.eye_shot),
        ..Default::default()
    };
    let standalone = cfg!(target_os = "android") || common.no_window;
    let options = app::AppOptions {
        settings: Some(settings),
        host: HostOptions { bind: common.bind, port: host_port },
        receive: ReceiveOptions {
            bind: common.bind,
            port: common.receive_files.unwrap_or(wire::FILE_PORT),
            folder,
            asked: common.receive_files.is_some(),
        },
        open: files,
        joining: match start {
            Start::Join { address } => Some(address),
            _ => None,
        },
        size: common.size,
        snapshots: app::Snapshots {
            shots: shots(common.screenshot),
            exit_after: common.exit_after.map(seconds),
        },
        headset: (common.vr || standalone).then_some(headset),
        notice: crash_notice,
        report,
        tour: pictures.map(|(folder, cue)| app::tour::Tour::new(folder, cue)),
        limits: default_limits(),
        triangle_budget: common.triangle_budget.or(default_budget()),
        ..app::AppOptions::new(net, workers)
    };
    let exit = if standalone { run_standalone(options) } else { platform::desktop::run(options) };
    Ok(if exit.is_success() { Ending::Done } else { Ending::Failed })
}

#[cfg(feature = "xr")]
fn run_standalone(options: app::AppOptions) -> bevy::app::AppExit {
    platform::standalone::run(options)
}

/// A build without headsets shows the window.
#[cfg(all(feature = "app", not(feature = "xr")))]
fn run_standalone(options: app::AppOptions) -> bevy::app::AppExit {
    platform::desktop::run(options)
}

/// What a standalone headset can draw; desktops draw what there is.
#[cfg(feature = "app")]
const fn default_budget() -> Option<u64> {
    if cfg!(target_os = "android") { Some(model::HEADSET_TRIANGLES) } else { None }
}

/// What a model may cost at most: less in a standalone headset's memory.
#[cfg(feature = "app")]
fn default_limits() -> model::Limits {
    if cfg!(target_os = "android") { model::Limits::headset() } else { model::Limits::default() }
}

#[cfg(not(feature = "app"))]
fn window(_: Window) -> io::Result<Ending> {
    Err(io::Error::other("this build has no window; add --headless, or build it with the feature `app`"))
}

/// The port of the meeting that is being opened.
fn demo_port(net: &Net) -> io::Result<u16> {
    let until = Instant::now() + Duration::from_secs(5);
    while Instant::now() < until {
        if let Some((_, port)) = net.listening() {
            return Ok(port);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(io::Error::other("the demonstration's meeting could not be opened"))
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
