//! A scenario's company: the app in its world, with or without an OpenXR
//! runtime, and those who meet it.

use std::{
    fs::File,
    os::{fd::AsRawFd, unix::net::UnixStream},
    path::Path,
    time::{Duration, Instant},
};

use glam::{Quat, Vec3};
use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

use super::{
    process::Participant,
    remote::{Pose, Remote},
    report::{Report, State, Vr},
    runtime::Runtime,
    world::{ASSETS, PROGRAM, Process, SCENARIO, World, debian_root},
};

/// For what takes as long as the processor needs for it: an unoptimised Bevy
/// that draws with it.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Ends in this order: the app before what it stands on.
pub struct Stage {
    pub app: App,
    pub runtime: Option<Runtime>,
    _display: Process,
    world: World,
    _turn: File,
}

/// What an app finds that is started for a headset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Headset {
    /// It is there.
    Ready,
    /// A runtime is installed, its service is not running.
    Asleep,
    /// No runtime is installed.
    Missing,
}

impl Stage {
    /// The app hosts a meeting: `convene --vr host ARGUMENTS`. None where no
    /// scenario can be played, which has been said.
    pub fn set(name: &str, headset: Headset, arguments: &[&str]) -> Option<Self> {
        Self::play(name, headset, &["host", "--port", "0"], arguments)
    }

    /// The app alone, for a headset that is there: `convene --vr ARGUMENTS`.
    pub fn without_meeting(name: &str, arguments: &[&str]) -> Option<Self> {
        Self::play(name, Headset::Ready, &[], arguments)
    }

    fn play(name: &str, headset: Headset, command: &[&str], arguments: &[&str]) -> Option<Self> {
        let root = debian_root()?;
        let folders = Path::new(env!("CARGO_TARGET_TMPDIR")).join("xr");
        std::fs::create_dir_all(&folders).unwrap();
        // One scenario at a time, also of several runs: each needs the whole processor.
        let turn = File::create(folders.join("lock")).unwrap();
        flock(&turn, FlockOperation::LockExclusive).unwrap();
        let folder = folders.join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let world = World::new(&root, &folder);
        let display = display(&world);
        let runtime = (headset == Headset::Ready).then(|| Runtime::start(&world));
        let environment: &[&str] = match headset {
            Headset::Missing => &["XR_RUNTIME_JSON=/mnt/no-runtime.json"],
            Headset::Ready | Headset::Asleep => &[],
        };
        let app = App::start(&world, environment, command, arguments);
        Some(Self { app, runtime, _display: display, world, _turn: turn })
    }

    /// Starts the runtime that is not there yet, or again.
    #[allow(dead_code, reason = "for scenarios in which a headset comes")]
    pub fn start_runtime(&mut self) {
        // The service locks a file while it runs: first the one that is there ends.
        self.runtime = None;
        self.runtime = Some(Runtime::start(&self.world));
    }

    /// Ends the app on the spot and starts it again, with the same settings.
    pub fn restart_app(&mut self, arguments: &[&str]) {
        self.app.process.kill();
        // What it said is not to be taken for what it says now.
        std::fs::remove_file(self.file("report.jsonl")).unwrap();
        self.app = App::start(&self.world, &[], &["host", "--port", "0"], arguments);
    }

    pub fn runtime(&mut self) -> &mut Runtime {
        self.runtime.as_mut().expect("there is no runtime in this scenario")
    }

    pub fn remote(&mut self) -> &mut Remote {
        &mut self.runtime().remote
    }

    /// The person recentres with the headset's own button.
    pub fn recentre(&self) {
        assert!(self.world.command(&[], "monado-ctl").arg("-c").status().unwrap().success());
    }

    /// A file of the scenario, as the test sees it.
    pub fn file(&self, name: &str) -> std::path::PathBuf {
        self.world.folder().join(name)
    }

    /// Waits for a picture, and says where it is.
    pub fn picture(&self, name: &str) {
        let path = self.file(name);
        // A PNG is whole with its last chunk.
        let is_whole = || std::fs::read(&path).is_ok_and(|bytes| bytes.ends_with(b"IEND\xaeB`\x82"));
        super::process::wait_until(&format!("{}", path.display()), is_whole);
        println!("{}", path.display());
    }

    /// The app is what the headset shows and listens to.
    pub fn wait_for_focus(&mut self) -> State {
        self.app.wait_for("the headset's focus", PATIENCE, |state| state.vr == Vr::Focused)
    }

    /// Somebody joins the app's meeting, and is in it.
    pub fn guest(&mut self, name: &str) -> Guest {
        let port = self.app.wait_for("the meeting", PATIENCE, |state| state.port.is_some()).port.unwrap();
        Guest { participant: Participant::join(port, &["--name", name, "--cache", "none"]) }
    }
}

/// A pose in an event of a headless participant.
pub fn read(pose: &Value) -> Pose {
    let numbers =
        |of: &str| pose[of].as_array().unwrap().iter().map(|n| n.as_f64().unwrap() as f32).collect();
    let (position, rotation): (Vec<f32>, Vec<f32>) = (numbers("position"), numbers("rotation"));
    Pose { position: Vec3::from_slice(&position), rotation: Quat::from_slice(&rotation) }
}

/// A display in memory, and nobody else's: its number is free in this world.
fn display(world: &World) -> Process {
    let arguments = [":0", "-screen", "0", "1280x800x24", "-nolisten", "tcp", "-noreset"];
    let mut display = world.start("display", world.command(&[], "Xvfb").args(arguments));
    let until = Instant::now() + PATIENCE;
    while !is_answered(&world.outside("/tmp/.X11-unix")) {
        display.must_run();
        assert!(Instant::now() < until, "the display does not answer");
        std::thread::sleep(LOOK);
    }
    display
}

/// Does the display whose socket is in that folder take connections?
fn is_answered(folder: &Path) -> bool {
    // A socket's path is short, and a home may be anywhere.
    let Ok(folder) = File::open(folder) else { return false };
    UnixStream::connect(format!("/proc/self/fd/{}/X0", folder.as_raw_fd())).is_ok()
}

/// How often it is looked whether something came.
const LOOK: Duration = Duration::from_millis(10);

/// The program, for a headset.
pub struct App {
    process: Process,
    report: Report,
}

impl App {
    fn start(world: &World, environment: &[&str], meeting: &[&str], arguments: &[&str]) -> Self {
        let environment = [&["RUST_BACKTRACE=1"], environment].concat();
        let mut command = world.command(&environment, PROGRAM);
        command.arg("--vr").args(meeting);
        command.args(["--bind", "127.0.0.1", "--name", "Host", "--cache", "none"]);
        command.args(["--log", "info"]);
        if !arguments.contains(&"--size") {
            command.args(["--size", "320x240"]);
        }
        command.args(["--settings", &inside("settings.json"), "--report", &inside("report.jsonl")]);
        let process = world.start("app", command.args(arguments));
        let report = Report::new(&world.folder().join("report.jsonl"));
        Self { process, report }
    }

    /// How things are now.
    pub fn state(&mut self) -> State {
        self.wait_for("any report", PATIENCE, |_| true)
    }

    /// How many states it reported so far; for [`Self::wait_after`].
    pub fn mark(&mut self) -> usize {
        self.report.states().len()
    }

    /// Whether any state after the mark fits, of those that have come.
    pub fn has_been(&mut self, mark: usize, fits: impl Fn(&State) -> bool) -> bool {
        let states = self.report.states();
        states[mark.min(states.len())..].iter().any(fits)
    }

    /// The first state that fits, of the newest and those to come.
    pub fn wait_for(&mut self, what: &str, timeout: Duration, fits: impl Fn(&State) -> bool) -> State {
        let newest = self.mark().saturating_sub(1);
        self.wait_after(newest, what, timeout, fits)
    }

    /// The first state that fits, of those after the mark.
    pub fn wait_after(
        &mut self,
        mark: usize,
        what: &str,
        timeout: Duration,
        fits: impl Fn(&State) -> bool,
    ) -> State {
        let until = Instant::now() + timeout;
        let mut next = mark;
        loop {
            // Before the report is read: what it said last counts.
            let runs = self.process.is_running();
            let states = self.report.states();
            if let Some(found) = states[next.min(states.len())..].iter().find(|state| fits(state)) {
                return found.clone();
            }
            next = states.len();
            let last = states.last().cloned();
            let failure = match () {
                () if !runs => "the app ended",
                () if Instant::now() >= until => "it took too long",
                () => {
                    std::thread::sleep(LOOK);
                    continue;
                }
            };
            let last = last.map_or("nothing was reported".to_owned(), |state| format!("{state:#?}"));
            panic!("no {what}: {failure}; the last state: {last}");
        }
    }

    /// Fails if it has ended.
    pub fn must_run(&mut self) {
        self.process.must_run();
    }

    /// It ends by itself, and well.
    pub fn wait_for_end(&mut self, timeout: Duration) {
        let until = Instant::now() + timeout;
        while self.process.is_running() {
            assert!(Instant::now() < until, "the app does not end");
            std::thread::sleep(LOOK);
        }
        assert!(self.process.ended_well(), "the app ended with a failure");
    }
}

/// A path of the scenario's folder, as the programs in the world see it.
pub fn inside(file: &str) -> String {
    format!("{SCENARIO}/{file}")
}

/// A path of the project's assets, as the app sees it.
#[allow(dead_code, reason = "for scenarios in which the app opens models itself")]
pub fn asset(file: &str) -> String {
    format!("{ASSETS}/{file}")
}

/// A headless participant of the app's meeting.
pub struct Guest {
    pub participant: Participant,
}

impl Guest {
    /// Says what it sees of others' poses from now on.
    pub fn watch_poses(&mut self) {
        self.participant.does(json!({ "command": "watch_poses", "on": true }));
    }

    /// Opens one of the project's models; its id.
    pub fn open(&mut self, model: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models").join(model);
        let done = self.participant.does(json!({ "command": "open", "path": path }));
        done["model_id"].as_str().unwrap().to_owned()
    }

    /// For so long its host is there for it, as if nothing were the matter: it
    /// answers all the time, and nobody calls it slow or gone.
    pub fn is_undisturbed_for(&mut self, mark: usize, time: Duration) {
        self.hears_the_host_for(mark, time);
        let events = self.participant.events();
        let bad = |event: &&Value| event["event"] == "participant_state" && event["state"] != "live";
        let noticed: Vec<&Value> = events[mark..].iter().filter(bad).collect();
        assert!(noticed.is_empty(), "the guest noticed something: {noticed:#?}");
    }

    /// For so long its host answers all the time, whoever is at it.
    pub fn hears_the_host_for(&mut self, mark: usize, time: Duration) {
        /// Pings come more often than this; a host is called stale after 2 s.
        const SILENT_MS: f64 = 1500.0;
        let until = Instant::now() + time;
        loop {
            let before = self.participant.mark();
            self.participant.does(json!({ "command": "stats" }));
            let stats = self.participant.wait_after(before, "stats", |_| true);
            let silent = stats["peers"][0]["silent_ms"].as_f64();
            assert!(silent.is_some_and(|ms| ms < SILENT_MS), "the host was not heard for a while: {stats}");
            if Instant::now() >= until {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let bad = |event: &&Value| {
            matches!(
                event["event"].as_str(),
                Some("connection_lost" | "participant_left" | "left" | "peer_fault")
            )
        };
        let events = self.participant.events();
        let noticed: Vec<&Value> = events[mark..].iter().filter(bad).collect();
        assert!(noticed.is_empty(), "the guest noticed something: {noticed:#?}");
    }
}
