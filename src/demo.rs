//! The demonstration's guest: somebody simulated who joins over TCP, looks
//! around, and opens a model of their own, slowly enough that its way can be
//! watched.
//!
//! It is a participant like any other: a [`Net`] of its own, on a thread
//! `demo-guest`. Not for tests of speed: it is paced on purpose.

use std::{
    io,
    path::PathBuf,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, select};
use glam::{Quat, Vec3};

use crate::{
    model::{Cancel, Limits},
    motion::moving,
    net::{Net, NetCommand, NetConfig, NetEvent},
    opening,
    session::{self, Move},
    settings, threads,
};

/// What its pictures show, in this order.
pub const PICTURES: [&str; 4] = ["room", "on-its-way", "arrived", "participant"];
/// How long its model is to be on the way.
const TRANSFER: Duration = Duration::from_secs(3);
/// Poses a second.
const RATE_HZ: f64 = 60.0;
/// When it comes, so that the room is seen before.
const JOINS_AFTER: Duration = Duration::from_millis(1500);
/// When it opens its model, after it has come.
const OPENS_AFTER: Duration = Duration::from_secs(2);
/// Where it stands: beyond the host's model, a step to the side, facing it.
const STANDS_AT: Vec3 = Vec3::new(1.25, 0.0, 2.1);

/// Where its model stands: beside the host's, room space.
const MODEL_AT: Vec3 = Vec3::new(-0.85, 1.45, 1.7);
/// How large that is: metres of its largest side.
const MODEL_SCALE: f32 = 0.6;

/// The models of the demonstration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DemoModels {
    /// The host's.
    pub host: PathBuf,
    /// The guest's, larger.
    pub guest: PathBuf,
}

/// Finds the models that come with the program.
///
/// # Errors
/// If they are nowhere near.
pub fn models() -> io::Result<DemoModels> {
    let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned()));
    let places = [
        std::env::var_os("BEVY_ASSET_ROOT").map(PathBuf::from),
        beside,
        Some(PathBuf::from(".")),
        Some(PathBuf::from(env!("CARGO_MANIFEST_DIR"))),
    ];
    let folders = places.into_iter().flatten().map(|place| place.join("assets").join("models"));
    for folder in folders {
        let models =
            DemoModels { host: folder.join("molecule.glb"), guest: folder.join("brain-surface.glb") };
        if models.host.is_file() && models.guest.is_file() {
            return Ok(models);
        }
    }
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        "the models of the demonstration were not found; start it from the project's folder",
    ))
}

/// The guest; dropped, it leaves.
#[derive(Debug)]
pub struct DemoGuest {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl DemoGuest {
    /// Joins the meeting on this machine's `port` and opens `model` there, paced
    /// at `pace_megabits` (none: so that it takes about three seconds).
    /// With a `cue` it waits for that before it comes.
    pub fn start(
        port: u16,
        model: Option<PathBuf>,
        pace_megabits: Option<f64>,
        cue: Option<Receiver<()>>,
    ) -> io::Result<Self> {
        let (stop, stopped) = bounded(0);
        let thread = threads::spawn("demo-guest", move || {
            if let Err(error) = run(port, model, pace_megabits, cue.as_ref(), &stopped) {
                tracing::warn!("the demonstration's guest could not take part: {error}");
            }
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for DemoGuest {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(
    port: u16,
    model: Option<PathBuf>,
    pace_megabits: Option<f64>,
    cue: Option<&Receiver<()>>,
    stopped: &Receiver<()>,
) -> anyhow::Result<()> {
    let bytes = model.as_ref().and_then(|path| std::fs::metadata(path).ok()).map_or(0, |m| m.len());
    let pace = pace_megabits.unwrap_or((bytes as f64 * 8e-6 / TRANSFER.as_secs_f64()).max(0.1));
    let id = settings::new_participant_id();
    let colour = session::Colour::PALETTE[1];
    let identity = session::Identity { id, name: "Simulated guest".to_owned(), colour };
    // As the file is, so that it takes as long as its bytes do.
    let session = session::Config { exact: true, ..session::Config::new(identity) };
    let net = Net::start(NetConfig { pace_megabits: Some(pace), ..NetConfig::new(session) })?;
    let after_a_while = crossbeam_channel::after(JOINS_AFTER);
    let come = match cue {
        Some(cue) => select! { recv(cue) -> told => told.is_ok(), recv(stopped) -> _ => false },
        None => select! { recv(after_a_while) -> _ => true, recv(stopped) -> _ => false },
    };
    if !come {
        return Ok(());
    }
    net.send(NetCommand::Join { address: format!("127.0.0.1:{port}") })?;
    let start = Instant::now();
    let mut model = model;
    loop {
        match stopped.recv_timeout(Duration::from_secs_f64(1.0 / RATE_HZ)) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        let t = start.elapsed();
        net.set_body(standing_there(t.as_secs_f32()), threads::monotonic_nanoseconds());
        for event in net.events().try_iter() {
            // It looks at every model as soon as that is there.
            if let NetEvent::Session(session::Event::ModelReceived { model_id, .. }) = event {
                let command = session::Command::ModelLoaded { model_id };
                net.send(NetCommand::Session { seq: 0, command })?;
            }
        }
        if t >= OPENS_AFTER
            && let Some(path) = model.take()
        {
            let mut opened = opening::open_file(&path, &Limits::default(), &Cancel::default())?;
            // Put aside before anybody gets it: in front of the eyes there is the host's.
            opened.private = true;
            let model_id = opened.model_id.clone();
            let to = Move { position: Some(MODEL_AT), rotation: None, scale: Some(MODEL_SCALE) };
            let commands = [
                opened.command(),
                session::Command::MoveModel { model_id: model_id.clone(), to },
                session::Command::ShareModel { model_id },
            ];
            for command in commands {
                net.send(NetCommand::Session { seq: 0, command })?;
            }
        }
    }
}

fn standing_there(t: f32) -> session::Body {
    // Towards the model, which stands a metre in front of the host.
    let to_model = Vec3::new(0.0, 0.0, 1.0) - STANDS_AT;
    let turn = Quat::from_rotation_y(to_model.x.atan2(to_model.z));
    let there = session::Pose { position: STANDS_AT, rotation: turn };
    let body = moving(t);
    session::Body {
        left: body.left.within(there),
        right: body.right.within(there),
        head: body.head.within(there),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_faces_the_model() {
        let body = standing_there(0.0);
        let to_model = Vec3::new(0.0, 1.5, 1.0) - body.head.position;
        let looks = body.head.rotation * Vec3::Z;
        assert!(looks.dot(to_model.normalize()) > 0.9, "looks along {looks}");
    }
}
