//! What frames cost while a large model opens: our own systems, and the making of its
//! meshes for the GPU.
//!
//! `scripts/with-display cargo bench --bench frames` (where there is no screen: Xvfb and a
//! processor that draws). A window opens the model from a file, then gets it in parts
//! from a host in the same process, several times each. The model is not part of the
//! repository: see `MODEL`. Times are by the clock: what else the machine does is in them,
//! such as a processor that draws. So on Linux the time of processors that our systems took
//! stands beside, with what else their threads did meanwhile: it says what they cost where
//! a GPU draws and nobody waits for a processor.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs, reason = "a benchmark")]

#[path = "../tests/common/display.rs"]
mod display;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use bevy::prelude::*;
use convene::{
    app::{
        AppOptions, AppSystems,
        costs::Costs,
        input::{Action, OpenFile},
        models::{Model, ModelState, Moments},
    },
    mesh::Plan,
    model::{Cancel, Limits},
    net::{Net, NetCommand, NetConfig, NetEvent},
    opening::open_file,
    platform::desktop,
    session::{Colour, Command, Config, Identity},
    workers::Workers,
};

/// Where the model lies: 23 MB, 885,832 triangles, in ChimeraX's layout.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/models");
const MODEL: &str = "surface885k.glb";
/// Frames without a model, before the first one and between two.
const IDLE_FRAMES: usize = 30;
/// Frames that still count once it is there.
const FRAMES_AFTER: usize = 5;
const PATIENCE: Duration = Duration::from_secs(600);

fn main() {
    // `cargo test --benches` wants to know that it runs, not how fast it is.
    let path = Path::new(FOLDER).join(MODEL);
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    if !path.is_file() {
        println!("{} is missing: nothing is measured", path.display());
        return;
    }
    if !display::has_display() {
        println!("there is no display: scripts/with-display cargo bench --bench frames");
        return;
    }
    let rounds = std::env::var("CONVENE_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(10);
    let host = net("0a0a0a0a00000000", "Host");
    host.send(NetCommand::Host { bind: Some([127, 0, 0, 1].into()), port: 0 }).unwrap();
    let port = loop {
        match host.events().recv_timeout(PATIENCE).unwrap() {
            NetEvent::Listening { port, .. } => break port,
            _ => continue,
        }
    };
    let guest = net("0b0b0b0b00000000", "Guest");
    guest.send(NetCommand::Join { address: format!("127.0.0.1:{port}") }).unwrap();
    let options = AppOptions {
        size: Some((640, 480)),
        any_thread: true,
        joining: Some(format!("127.0.0.1:{port}")),
        ..AppOptions::new(guest, Workers::start().unwrap())
    };
    let mut app = desktop::app(options);
    app.insert_resource(Course::new(path, host, rounds))
        .init_resource::<Work>()
        .add_systems(Update, (Work::begin.before(AppSystems::Receive), Work::end.after(AppSystems::Send)))
        .add_systems(Last, step);
    app.run();
}

fn net(id: &str, name: &str) -> Net {
    let identity = Identity { id: id.into(), name: name.into(), colour: Colour([1, 2, 3]) };
    Net::start(NetConfig::new(Config::new(identity))).unwrap()
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    Idle,
    FromFile,
    InParts,
}

impl Row {
    const ALL: [Self; 3] = [Self::Idle, Self::FromFile, Self::InParts];

    const fn name(self) -> &'static str {
        match self {
            Self::Idle => "no model",
            Self::FromFile => "opened from a file",
            Self::InParts => "coming in parts",
        }
    }
}

/// What our systems had of processors in the last frame: what the threads that run systems
/// had between the first of ours and the last. Zero where it cannot be known.
#[derive(Resource, Default)]
struct Work {
    /// The kernel's account of each of these threads.
    #[cfg(target_os = "linux")]
    accounts: Vec<std::fs::File>,
    before: Duration,
    systems: Duration,
}

impl Work {
    fn begin(mut work: ResMut<Self>) {
        work.before = work.so_far();
    }

    fn end(mut work: ResMut<Self>) {
        work.systems = work.so_far().saturating_sub(work.before);
    }

    #[cfg(target_os = "linux")]
    fn so_far(&mut self) -> Duration {
        use std::{fs, os::unix::fs::FileExt};
        if self.accounts.is_empty() {
            let main = std::process::id().to_string();
            for thread in fs::read_dir("/proc/self/task").unwrap().map(|entry| entry.unwrap().path()) {
                let name = fs::read_to_string(thread.join("comm")).unwrap();
                if thread.ends_with(&main) || name.starts_with("Compute Task") {
                    self.accounts.push(fs::File::open(thread.join("schedstat")).unwrap());
                }
            }
        }
        let nanos = |account: &fs::File| -> u64 {
            let mut text = [0; 96];
            let length = account.read_at(&mut text, 0).unwrap();
            let text = std::str::from_utf8(&text[..length]).unwrap();
            text.split(' ').next().unwrap().parse().unwrap()
        };
        Duration::from_nanos(self.accounts.iter().map(nanos).sum())
    }

    #[cfg(not(target_os = "linux"))]
    fn so_far(&mut self) -> Duration {
        Duration::ZERO
    }
}

/// Times of frames, of one kind.
#[derive(Default)]
struct Times {
    systems: Vec<Duration>,
    work: Vec<Duration>,
    making: Vec<Duration>,
    frames: Vec<Duration>,
}

#[derive(Resource)]
struct Course {
    path: PathBuf,
    host: Net,
    /// The same for all rounds in parts.
    command: Option<Command>,
    rounds: usize,
    /// Openings that are over.
    done: usize,
    /// Frames since something began or ended.
    frames: usize,
    opening: bool,
    closing: bool,
    last_frame: Instant,
    begun: Instant,
    times: [Times; 3],
    moments: Vec<(Row, Duration, Duration)>,
}

impl Course {
    fn new(path: PathBuf, host: Net, rounds: usize) -> Self {
        Self {
            path,
            host,
            command: None,
            rounds,
            done: 0,
            frames: 0,
            opening: false,
            closing: false,
            last_frame: Instant::now(),
            begun: Instant::now(),
            times: Default::default(),
            moments: Vec::new(),
        }
    }

    /// From a file first, then in parts.
    fn row(&self) -> Row {
        if self.done < self.rounds { Row::FromFile } else { Row::InParts }
    }

    fn host_opens(&mut self) {
        let command = self.command.get_or_insert_with(|| {
            let opened = open_file(&self.path, &Limits::default(), &Cancel::default()).unwrap();
            let plan = Some(Arc::new(Plan::new(&opened.glb).unwrap()));
            convene::opening::Opened { plan, ..opened }.command()
        });
        self.host.send(NetCommand::Session { seq: 1, command: command.clone() }).unwrap();
    }

    fn print(&self) {
        let ms = |time: &Duration| time.as_secs_f64() * 1e3;
        println!("{MODEL}, {} times each; milliseconds: median / p99 / longest", self.rounds);
        for (row, times) in Row::ALL.iter().zip(&self.times) {
            let figures = [&times.systems, &times.work, &times.making, &times.frames].map(|list| {
                let mut list = list.clone();
                list.sort_unstable();
                let at = |share: f64| {
                    list.get(((list.len() as f64 * share).ceil() as usize).max(1) - 1).map_or(0.0, ms)
                };
                format!("{:.2} / {:.2} / {:.2}", at(0.5), at(0.99), at(1.0))
            });
            let [systems, work, making, frames] = figures;
            println!(
                "{:>20}: {} frames; our systems {systems}, of processors {work}; Bevy makes assets {making}; frames {frames}",
                row.name(),
                times.frames.len(),
            );
        }
        for (row, first, whole) in &self.moments {
            println!(
                "{:>20}: something after {:.0} ms, all of it after {:.0} ms",
                row.name(),
                ms(first),
                ms(whole)
            );
        }
    }
}

fn step(
    mut course: ResMut<Course>,
    (costs, work): (Res<Costs>, Res<Work>),
    models: Query<(&Model, &ModelState, &Moments)>,
    mut files: MessageWriter<OpenFile>,
    mut actions: MessageWriter<Action>,
    mut exit: MessageWriter<AppExit>,
) {
    let course = &mut *course;
    let row = if course.opening { course.row() } else { Row::Idle };
    let (now, times) = (Instant::now(), &mut course.times[row as usize]);
    // The frame in which the host reads its file is not one of ours.
    if !course.closing && course.frames > 0 {
        times.systems.push(costs.systems);
        times.work.push(work.systems);
        times.making.push(costs.making());
        times.frames.push(now - course.last_frame);
    }
    course.last_frame = now;
    course.frames += 1;
    if course.begun.elapsed() > PATIENCE {
        println!("it takes too long: what there is");
        course.print();
        exit.write(AppExit::error());
        return;
    }
    let model = models.iter().next();
    if course.closing {
        if model.is_none() {
            (course.closing, course.frames) = (false, 0);
        }
        return;
    }
    if !course.opening {
        if course.frames < IDLE_FRAMES {
            return;
        }
        if course.done == 2 * course.rounds {
            course.print();
            exit.write(AppExit::Success);
            return;
        }
        (course.opening, course.frames) = (true, 0);
        match course.row() {
            Row::InParts => course.host_opens(),
            _ => drop(files.write(OpenFile { path: course.path.clone(), private: true })),
        }
        course.last_frame = Instant::now();
        return;
    }
    let Some((model, ModelState::Ready, moments)) = model else {
        // It counts from when it is there.
        course.frames = 1;
        return;
    };
    if course.frames > FRAMES_AFTER {
        let moment = (course.row(), moments.first().unwrap_or_default(), moments.whole().unwrap_or_default());
        course.moments.push(moment);
        course.done += 1;
        (course.opening, course.closing) = (false, true);
        actions.write(Action::CloseModel(model.id.clone()));
    }
}
