//! Headless participants as processes in a namespace, by JSON lines.

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use convene::threads;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::lab::{
    interrupted,
    poses::{Arrival, Commands},
    rig::Station,
};

pub const PORT: u16 = 21213;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_convene");

#[derive(Debug, Default)]
struct Heard {
    events: Vec<Value>,
    arrivals: Vec<Arrival>,
    ended: bool,
}

#[derive(Debug, Default)]
struct Ear {
    heard: Mutex<Heard>,
    more: Condvar,
}

impl Ear {
    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A participant. Its process ends with it.
pub struct Peer {
    child: Child,
    commands: Commands,
    ear: Arc<Ear>,
    errors: Arc<Mutex<String>>,
    stopped: AtomicBool,
    /// When it was started.
    pub started_ns: u64,
    next_seq: u64,
    _folder: tempfile::TempDir,
}

impl Peer {
    /// Runs a program that speaks the headless participant's JSON lines.
    pub fn start(program: &Path, station: &Station, args: &[&str]) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut command = station.namespace.command(program);
        command.args(args).arg("--settings").arg(folder.path().join("settings.json"));
        command.arg("--files").arg(folder.path()).env_remove("RUST_LOG");
        // Nobody has a model from before.
        command.arg("--cache").arg(folder.path().join("cache"));
        let started_ns = threads::monotonic_nanoseconds();
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let commands = child.stdin.take().context("a participant has an input")?;
        let output = child.stdout.take().context("a participant has an output")?;
        let error_output = child.stderr.take().context("a participant has an error output")?;
        let (ear, errors) = (Arc::new(Ear::default()), Arc::new(Mutex::new(String::new())));
        threads::spawn("lab-events", {
            let ear = ear.clone();
            move || listen(&ear, output)
        })?;
        threads::spawn("lab-errors", {
            let errors = errors.clone();
            move || {
                for line in BufReader::new(error_output).lines().map_while(Result::ok) {
                    errors.lock().unwrap_or_else(PoisonError::into_inner).push_str(&(line + "\n"));
                }
            }
        })?;
        Ok(Self {
            child,
            commands: Arc::new(Mutex::new(commands)),
            ear,
            errors,
            stopped: AtomicBool::new(false),
            started_ns,
            next_seq: 0,
            _folder: folder,
        })
    }

    /// Hosts; waits until it listens.
    pub fn host(station: &Station, args: &[&str]) -> Result<Self> {
        let port = PORT.to_string();
        let mut all = vec!["host", "--headless", "--port", &port, "--bind", &station.address];
        all.extend(exactly(args));
        all.extend(args);
        let host = Self::start(Path::new(PROGRAM), station, &all)?;
        host.wait_for("listening")?;
        Ok(host)
    }

    /// Begins to join, and to watch poses from the first one on.
    pub fn joining(station: &Station, host: &Station, args: &[&str]) -> Result<Self> {
        let address = format!("{}:{PORT}", host.address);
        let mut all = vec!["join", &address, "--headless"];
        all.extend(exactly(args));
        all.extend(args);
        let guest = Self::start(Path::new(PROGRAM), station, &all)?;
        guest.send(&json!({ "command": "watch_poses", "on": true }))?;
        Ok(guest)
    }

    /// Joins.
    pub fn join(station: &Station, host: &Station, args: &[&str]) -> Result<Self> {
        let guest = Self::joining(station, host, args)?;
        guest.wait_for("joined")?;
        Ok(guest)
    }

    pub fn commands(&self) -> Commands {
        self.commands.clone()
    }

    pub fn send(&self, command: &Value) -> Result<()> {
        let mut input = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(input, "{command}").context("a participant does not listen any more")
    }

    /// Sends a command and waits for its `done`.
    pub fn does(&mut self, mut command: Value) -> Result<Value> {
        self.next_seq += 1;
        let seq = json!(self.next_seq);
        command["seq"] = seq.clone();
        self.send(&command)?;
        let answer = self.wait_within(WAIT, &format!("answer to {command}"), |event| event["seq"] == seq)?;
        ensure!(answer["event"] == "done", "{command} was answered by {answer}");
        Ok(answer)
    }

    pub fn open(&mut self, model: &Path) -> Result<Value> {
        self.does(json!({ "command": "open", "path": model }))
    }

    /// The first event of that name since the start.
    pub fn wait_for(&self, name: &str) -> Result<Value> {
        self.wait_within(WAIT, name, |event| event["event"] == name)
    }

    pub fn wait_within(&self, time: Duration, what: &str, fits: impl Fn(&Value) -> bool) -> Result<Value> {
        let until = Instant::now() + time;
        let (mut heard, mut at) = (self.ear.lock(), 0);
        loop {
            if let Some(found) = heard.events[at..].iter().find(|event| fits(event)) {
                return Ok(found.clone());
            }
            at = heard.events.len();
            interrupted()?;
            if heard.ended || Instant::now() > until {
                let last = heard.events.iter().rev().find(|e| e["event"] != "model_progress").cloned();
                let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
                bail!("no {what}; the last event: {last:?}; {errors}");
            }
            let slice = Duration::from_millis(100);
            heard = self.ear.more.wait_timeout(heard, slice).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until so many poses of others have come.
    pub fn wait_for_poses(&self, count: usize) -> Result<()> {
        let until = Instant::now() + WAIT;
        while self.ear.lock().arrivals.len() < count {
            interrupted()?;
            ensure!(Instant::now() < until, "no poses come");
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }

    /// The `id` of the participant of that name, from the roster.
    pub fn id_of(&self, name: &str) -> Result<String> {
        let joined = |event: &Value| event["event"] == "participant_joined" && event["name"] == name;
        let event = self.wait_within(WAIT, &format!("participant {name}"), joined)?;
        Ok(event["id"].as_str().unwrap_or_default().to_owned())
    }

    /// Events of that name.
    pub fn events(&self, name: &str) -> Vec<Value> {
        self.ear.lock().events.iter().filter(|e| e["event"] == name).cloned().collect()
    }

    /// Numbered poses of others that came so far.
    pub fn arrivals(&self) -> Vec<Arrival> {
        self.ear.lock().arrivals.clone()
    }

    pub fn signal(&self, signal: Signal) -> Result<()> {
        self.stopped.store(signal == Signal::STOP, Ordering::Relaxed);
        kill_process(Pid::from_child(&self.child), signal).context("a participant is gone")
    }

    /// The most memory that it has had, MiB.
    pub fn peak_mib(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Models go as they are in their files, unless a row chooses the ways.
fn exactly<'a>(args: &[&str]) -> Option<&'a str> {
    (!args.contains(&"--methods")).then_some("--exact")
}

/// Far longer than any row takes.
const WAIT: Duration = Duration::from_secs(180);

fn listen(ear: &Ear, output: impl Read) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        let Ok(event) = serde_json::from_str::<Value>(&line) else { continue };
        let mut heard = ear.lock();
        if event["event"] == "pose" {
            heard.arrivals.extend(Arrival::read(&event));
        } else {
            heard.events.push(event);
        }
        drop(heard);
        ear.more.notify_all();
    }
    ear.lock().ended = true;
    ear.more.notify_all();
}

/// When an event happened, by the clock that all processes share.
pub fn time_of(event: &Value) -> Result<u64> {
    event["mono_ns"].as_u64().with_context(|| format!("{event} has no time"))
}

/// A program that `cargo build` has left beside this one's folder.
pub fn built(profile_path: &str) -> Option<PathBuf> {
    let path = Path::new(PROGRAM).parent()?.join(profile_path);
    path.is_file().then_some(path)
}
