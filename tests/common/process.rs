//! Headless participants as real processes.
#![allow(dead_code, reason = "shared between tests, each of which uses a part")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Generous: the tests run without optimisation on busy machines.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// The address of all sockets here.
pub const HERE: &str = "127.0.0.1";

/// `../shared`'s file, if it is there.
pub fn shared(path: &str) -> Option<PathBuf> {
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")).join(path);
    if !file.exists() {
        println!("../shared/{path} is missing: small files made in the test are used instead");
    }
    file.exists().then_some(file)
}

/// Starts a thread of the test's own.
pub fn thread<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new().name("test".into()).spawn(run).unwrap()
}

/// Looks again and again until it is so.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < until, "it did not come to: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The program, with no settings of the machine's own.
pub fn convene(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_convene"));
    command.args(args).env_remove("RUST_LOG").env_remove("NO_COLOR");
    command
}

#[derive(Default)]
struct Heard {
    events: Mutex<Vec<Value>>,
    /// There will be no more.
    ended: AtomicBool,
    more: Condvar,
}

/// A headless participant. Its process ends with it.
pub struct Participant {
    child: Child,
    input: Option<ChildStdin>,
    heard: Arc<Heard>,
    errors: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
    next_seq: u64,
    folder: tempfile::TempDir,
}

impl Participant {
    /// Runs `convene ARGS --headless`.
    pub fn start(args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let settings = folder.path().join("settings.json");
        let mut child = convene(args)
            .args(["--headless", "--settings"])
            .arg(&settings)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let heard = Arc::new(Heard::default());
        let errors = Arc::new(Mutex::new(String::new()));
        let (output, error_output) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let readers = vec![
            thread({
                let heard = heard.clone();
                move || {
                    for line in BufReader::new(output).lines().map_while(Result::ok) {
                        let event = serde_json::from_str(&line).unwrap_or_else(
                            |error| json!({ "event": "NO JSON", "line": line, "error": error.to_string() }),
                        );
                        heard.events.lock().unwrap().push(event);
                        heard.more.notify_all();
                    }
                    let _events = heard.events.lock().unwrap();
                    heard.ended.store(true, Ordering::Release);
                    heard.more.notify_all();
                }
            }),
            thread({
                let errors = errors.clone();
                move || {
                    for line in BufReader::new(error_output).lines().map_while(Result::ok) {
                        errors.lock().unwrap().push_str(&(line + "\n"));
                    }
                }
            }),
        ];
        Self { input: child.stdin.take(), child, heard, errors, readers, next_seq: 100, folder }
    }

    /// Hosts on a port that the system picks; waits until it listens.
    pub fn host(more: &[&str]) -> (Self, u16) {
        let host = Self::start(&[&["host", "--port", "0", "--bind", HERE], more].concat());
        let port = host.wait_for("listening", |_| true)["port"].as_u64().unwrap();
        (host, port.try_into().unwrap())
    }

    /// Joins and waits until it has.
    pub fn join(port: u16, more: &[&str]) -> Self {
        let guest = Self::joining(port, more);
        guest.wait_for("joined", |_| true);
        guest
    }

    /// Joins.
    pub fn joining(port: u16, more: &[&str]) -> Self {
        Self::start(&[&["join", &format!("{HERE}:{port}")], more].concat())
    }

    /// A folder of its own.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote to standard error so far.
    pub fn errors(&self) -> String {
        self.errors.lock().unwrap().clone()
    }

    pub fn events(&self) -> Vec<Value> {
        self.heard.events.lock().unwrap().clone()
    }

    /// How many events came so far; for [`Self::wait_after`].
    pub fn mark(&self) -> usize {
        self.heard.events.lock().unwrap().len()
    }

    /// The first event of that name that fits, since the start.
    pub fn wait_for(&self, name: &str, fits: impl Fn(&Value) -> bool) -> Value {
        self.wait_after(0, name, fits)
    }

    /// The first event of that name that fits, since the mark.
    pub fn wait_after(&self, mark: usize, name: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + TIMEOUT;
        let mut events = self.heard.events.lock().unwrap();
        let mut at = mark;
        loop {
            while let Some(event) = events.get(at) {
                if event["event"] == name && fits(event) {
                    return event.clone();
                }
                at += 1;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.heard.ended.load(Ordering::Acquire) {
                let last: Vec<&Value> =
                    events.iter().rev().filter(|e| e["event"] != "pose").take(20).collect();
                let errors = self.errors();
                panic!("no {name} that fits; the last events, newest first: {last:#?}\n{errors}");
            }
            events = self.heard.more.wait_timeout(events, left).unwrap().0;
        }
    }

    /// That many events of that name that fit came after the mark.
    pub fn wait_for_many(
        &self,
        mark: usize,
        name: &str,
        count: usize,
        fits: impl Fn(&Value) -> bool,
    ) -> Vec<Value> {
        let found = || -> Vec<Value> {
            let events = self.heard.events.lock().unwrap();
            events[mark..].iter().filter(|e| e["event"] == name && fits(e)).cloned().collect()
        };
        wait_until(&format!("{count} times {name}"), || found().len() >= count);
        found()
    }

    /// Writes a line as it is.
    pub fn line(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line).and_then(|()| input.write_all(b"\n")).and_then(|()| input.flush()).unwrap();
    }

    /// Sends a command under a new number and waits for its `done` or `error`.
    pub fn command(&mut self, mut command: Value) -> Value {
        self.next_seq += 1;
        let seq = self.next_seq;
        command["seq"] = json!(seq);
        let mark = self.mark();
        self.line(command.to_string().as_bytes());
        let until = Instant::now() + TIMEOUT;
        loop {
            let answer = self.events()[mark..]
                .iter()
                .find(|e| e["seq"] == seq && (e["event"] == "done" || e["event"] == "error"))
                .cloned();
            if let Some(answer) = answer {
                return answer;
            }
            assert!(Instant::now() < until, "no answer to {command}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Sends a command that must work.
    pub fn does(&mut self, command: Value) -> Value {
        let answer = self.command(command.clone());
        assert_eq!(answer["event"], "done", "{command}: {answer}");
        answer
    }

    /// Sends a command that must not work; why.
    pub fn fails(&mut self, command: Value) -> String {
        let answer = self.command(command.clone());
        assert_eq!(answer["event"], "error", "{command}: {answer}");
        answer["message"].as_str().unwrap().to_owned()
    }

    /// Ends its standard input.
    pub fn end_input(&mut self) {
        self.input = None;
    }

    /// SIGTERM.
    #[cfg(unix)]
    pub fn terminate(&self) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end; the exit code. All of its output has been read then.
    pub fn exit_code(&mut self) -> Option<i32> {
        let mut status: Option<ExitStatus> = None;
        wait_until("the end of the process", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        status.and_then(|s| s.code())
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            println!("standard error of a participant:\n{}", self.errors());
        }
    }
}

/// Runs a command that ends by itself: exit code, standard output, standard error.
pub fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let mut child =
        convene(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let read = |mut from: Box<dyn Read + Send>| {
        thread(move || {
            let mut text = Vec::new();
            from.read_to_end(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let output = read(Box::new(child.stdout.take().unwrap()));
    let errors = read(Box::new(child.stderr.take().unwrap()));
    let mut status = None;
    wait_until("the end of the command", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    (status.unwrap().code(), output.join().unwrap(), errors.join().unwrap())
}
