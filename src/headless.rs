//! A participant without window or GPU: JSON commands in, JSON events out, one
//! object a line.
//!
//! For scripts, tests and other programs; `docs/headless.md` describes every
//! command and event. Runs on the calling thread; standard input is read by a
//! thread `stdin` that nobody waits for, because such a read cannot be
//! interrupted.

mod command;
mod output;
mod streamed;

use std::{
    collections::HashMap,
    io::{BufRead, Read, Write},
    path::{Path, PathBuf},
    time::Instant,
};

use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender, bounded, select_biased};
use serde_json::{Value, json};

use crate::{
    model::{Cancel, DecodeError, DecodedModel, Limits},
    motion::Motion,
    net::{Net, NetCommand, NetEvent},
    notice::Notice,
    opening::{self, OpenError, Opened},
    session::{Command, Event, LeaveReason, Measure, SessionError},
    threads,
    workers::Workers,
};
use command::{Line, Request};
use output::{Output, opened_json};
use streamed::Streamed;

/// Longest line of a command, in bytes.
const LINE_BYTES: u64 = 1 << 20;
/// How often a participant that nobody moves says where it is.
const REST_RATE_HZ: f64 = 10.0;

/// What was begun at the start.
#[derive(Debug, Clone)]
pub enum Start {
    /// No meeting.
    Alone,
    /// A meeting is hosted on this port.
    Host {
        /// TCP port; 0: the system picks one.
        port: u16,
    },
    /// The meeting there is joined.
    Join {
        /// As typed.
        address: String,
    },
}

/// Everything that a run needs.
#[derive(Debug)]
pub struct Options {
    /// What was begun at the start.
    pub start: Start,
    /// Models to open; once the meeting is on, where there is one.
    pub files: Vec<PathBuf>,
    /// Caps on models.
    pub limits: Limits,
    /// The network, with the commands for `start` sent.
    pub net: Net,
    /// For files and decoding.
    pub workers: Workers,
    /// Something that the person should know, from before the start.
    pub notice: Option<Notice>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// As asked, or because the host ended the meeting.
    Done,
    /// The meeting could not be opened or joined, or was lost.
    Failed,
}

/// What workers say.
enum Done {
    Opened { seq: Option<Value>, result: Box<Result<Opened, OpenError>> },
    Decoded { model_id: String, result: Result<Summary, DecodeError> },
    Saved { seq: Option<Value>, model_id: String, path: PathBuf, bytes: usize, result: std::io::Result<()> },
}

/// What is told of a decoded model.
#[derive(Debug, Clone, Copy)]
struct Summary {
    triangles: u64,
    vertices: u64,
    measure: Measure,
}

impl Summary {
    fn of(decoded: &DecodedModel) -> Self {
        Self {
            triangles: decoded.counts.triangles,
            vertices: decoded.counts.vertices,
            measure: opening::measure(decoded),
        }
    }
}

/// A model whose bytes are here.
struct Held {
    name: String,
    glb: Bytes,
    since: Instant,
    /// How far a position may be off; none: it is the opener's very file.
    max_error: Option<f32>,
}

/// A command that waits for the driver's answer.
enum Waiting {
    /// `done` with this number.
    Plain(Option<Value>),
    /// A model of ours; then it is told of.
    Open { seq: Option<Value>, name: String, glb: Bytes, model_id: String, summary: Summary, seconds: f64 },
}

struct Participant<W: Write> {
    net: Net,
    /// Dropped before the workers, which may wait to be heard.
    done: (Sender<Done>, Receiver<Done>),
    workers: Workers,
    limits: Limits,
    cancel: Cancel,
    output: Output<W>,
    models: HashMap<String, Held>,
    /// Models that are on their way in parts.
    streamed: HashMap<String, Streamed>,
    waiting: HashMap<u64, Waiting>,
    next_answer: u64,
    motion: Motion,
    /// Opened after joining.
    files: Vec<PathBuf>,
    stats_for: HashMap<u64, Option<Value>>,
    ending: Option<Ending>,
    started: bool,
}

/// Runs until the meeting ends, `leave` is read, or `stop` is closed.
pub fn run(
    options: Options,
    input: impl BufRead + Send + 'static,
    output: impl Write,
    stop: Receiver<()>,
) -> std::io::Result<Ending> {
    let lines = read_lines(input)?;
    let Options { start, files, limits, net, workers, notice } = options;
    let mut participant = Participant {
        net,
        workers,
        limits,
        cancel: Cancel::default(),
        output: Output::new(output),
        done: bounded(64),
        models: HashMap::new(),
        streamed: HashMap::new(),
        waiting: HashMap::new(),
        next_answer: 1,
        motion: Motion::new(Instant::now(), REST_RATE_HZ),
        files: Vec::new(),
        stats_for: HashMap::new(),
        ending: None,
        started: false,
    };
    if let Some(notice) = notice {
        participant.output.error(None, &notice.to_string());
    }
    if matches!(start, Start::Alone) {
        participant.started = true;
        files.into_iter().for_each(|file| participant.open(None, file));
    } else {
        participant.files = files;
    }
    let ending = participant.run(&lines, &stop);
    participant.cancel.cancel();
    participant.output.finish()?;
    Ok(ending)
}

fn read_lines(mut input: impl BufRead + Send + 'static) -> std::io::Result<Receiver<String>> {
    let (sender, lines) = bounded(64);
    threads::spawn("stdin", move || {
        loop {
            let mut line = Vec::new();
            match (&mut input).take(LINE_BYTES).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if line.last() != Some(&b'\n') && line.len() as u64 == LINE_BYTES {
                // Too long: the rest goes unread, the start is no JSON.
                let _ = input.skip_until(b'\n');
            }
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    })?;
    Ok(lines)
}

impl<W: Write> Participant<W> {
    fn run(&mut self, lines: &Receiver<String>, stop: &Receiver<()>) -> Ending {
        let events = self.net.events().clone();
        let done = self.done.1.clone();
        // Once standard input has ended, commands are over, the meeting is not.
        let mut lines = lines.clone();
        loop {
            let wait = self.motion.due().saturating_duration_since(Instant::now());
            select_biased! {
                recv(stop) -> _ => {
                    self.leave();
                    return Ending::Done;
                }
                recv(events) -> event => match event {
                    Ok(event) => self.event(event),
                    Err(_) => return Ending::Failed,
                },
                recv(done) -> done => {
                    if let Ok(done) = done {
                        self.done(done);
                    }
                }
                recv(lines) -> line => match line {
                    Ok(line) => self.line(&line),
                    Err(_) => lines = crossbeam_channel::never(),
                },
                default(wait) => {}
            }
            let now = Instant::now();
            if let Some(body) = self.motion.body_if_due(now) {
                self.net.set_body(body, threads::monotonic_nanoseconds());
            }
            if events.is_empty() {
                self.output.flush();
            }
            if let Some(ending) = self.ending {
                return ending;
            }
            if self.output.is_broken() {
                self.leave();
                return Ending::Done;
            }
        }
    }

    /// The end, by a signal or because nobody reads any more.
    fn leave(&mut self) {
        self.output.event("left", json!({ "reason": LeaveReason::Asked.to_string() }));
    }

    fn command(&mut self, command: NetCommand) {
        if let Err(error) = self.net.send(command) {
            self.output.error(None, &error.to_string());
        }
    }

    fn session(&mut self, waiting: Waiting, command: Command) {
        let seq = self.next_answer;
        self.next_answer += 1;
        match self.net.send(NetCommand::Session { seq, command }) {
            Ok(()) => {
                self.waiting.insert(seq, waiting);
            }
            Err(error) => {
                let (Waiting::Plain(user_seq) | Waiting::Open { seq: user_seq, .. }) = waiting;
                self.output.error(user_seq.as_ref(), &error.to_string());
            }
        }
    }

    fn line(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        match Line::parse(line) {
            Ok(Line { seq, request }) => self.request(seq, request),
            Err((seq, message)) => self.output.error(seq.as_ref(), &message),
        }
    }

    fn request(&mut self, seq: Option<Value>, request: Request) {
        match request {
            Request::Open { path, private } => self.open_as(seq, path, private),
            Request::Session(command) => self.session(Waiting::Plain(seq), command),
            Request::Pose(body) if !body.is_finite() => {
                self.output.error(seq.as_ref(), &SessionError::BadNumber.to_string());
            }
            Request::Pose(body) => {
                self.motion.stand(body);
                self.net.set_body(body, threads::monotonic_nanoseconds());
                self.output.done(seq.as_ref(), json!({}));
            }
            Request::PoseStream { hz } => {
                self.motion.stream(hz, REST_RATE_HZ, Instant::now());
                self.output.done(seq.as_ref(), json!({}));
            }
            Request::WatchPoses { on } => match self.net.send(NetCommand::WatchPoses(on)) {
                Ok(()) => self.output.done(seq.as_ref(), json!({})),
                Err(error) => self.output.error(seq.as_ref(), &error.to_string()),
            },
            Request::Save { model_id, path } => self.save(seq, model_id, path),
            Request::Stats => {
                let number = self.next_answer;
                self.next_answer += 1;
                match self.net.send(NetCommand::Stats { seq: number }) {
                    Ok(()) => drop(self.stats_for.insert(number, seq)),
                    Err(error) => self.output.error(seq.as_ref(), &error.to_string()),
                }
            }
        }
    }

    fn open(&mut self, seq: Option<Value>, path: PathBuf) {
        self.open_as(seq, path, false);
    }

    fn open_as(&mut self, seq: Option<Value>, path: PathBuf, private: bool) {
        let (sender, limits, cancel) = (self.done.0.clone(), self.limits.clone(), self.cancel.clone());
        let again = seq.clone();
        let submitted = self.workers.submit(move || {
            let mut result = opening::open_file(&path, &limits, &cancel);
            if let Ok(opened) = &mut result {
                opened.private = private;
            }
            // Nobody waits any more after the end.
            let _ = sender.send(Done::Opened { seq, result: Box::new(result) });
        });
        if let Err(error) = submitted {
            self.output.error(again.as_ref(), &error.to_string());
        }
    }

    fn save(&mut self, seq: Option<Value>, model_id: String, path: PathBuf) {
        let Some(held) = self.models.get(&model_id).filter(|held| !held.glb.is_empty()) else {
            return self
                .output
                .error(seq.as_ref(), &format!("there is no whole model with the id {model_id}"));
        };
        let (glb, sender) = (held.glb.clone(), self.done.0.clone());
        let again = seq.clone();
        let submitted = self.workers.submit(move || {
            let result = write_whole(&path, &glb);
            let _ = sender.send(Done::Saved { seq, model_id, path, bytes: glb.len(), result });
        });
        if let Err(error) = submitted {
            self.output.error(again.as_ref(), &error.to_string());
        }
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Opened { seq, result } => match *result {
                Ok(opened) => {
                    // Their texts may hold names out of the file.
                    if !opened.warnings.is_empty() {
                        tracing::info!("a model was opened with {} warnings", opened.warnings.len());
                    }
                    let waiting = Waiting::Open {
                        seq,
                        name: opened.name.clone(),
                        glb: opened.glb.clone(),
                        model_id: opened.model_id.clone(),
                        summary: Summary::of(&opened.decoded),
                        seconds: opened.seconds,
                    };
                    self.session(waiting, opened.command());
                }
                Err(error) => self.output.error(seq.as_ref(), &Notice::from(&error).to_string()),
            },
            Done::Decoded { model_id, result } => self.decoded(model_id, result),
            Done::Saved { seq, model_id, path, bytes, result } => match result {
                Ok(()) => {
                    let exact = self.models.get(&model_id).is_none_or(|held| held.max_error.is_none());
                    let saved = json!({ "model_id": model_id, "path": path, "bytes": bytes, "exact": exact });
                    self.output.event("saved", saved);
                    self.output.done(seq.as_ref(), json!({ "model_id": model_id }));
                }
                Err(error) => {
                    let message = format!("{} cannot be written: {error}", path.display());
                    self.output.error(seq.as_ref(), &message);
                }
            },
        }
    }

    /// A model that came is decoded, or is none.
    fn decoded(&mut self, model_id: String, result: Result<Summary, DecodeError>) {
        let Some(held) = self.models.get(&model_id) else { return };
        match result {
            Ok(summary) => {
                let seconds = held.since.elapsed().as_secs_f64();
                let opened =
                    opened_json(&model_id, &held.name, summary, held.glb.len(), seconds, held.max_error);
                self.output.event("model_opened", opened);
                let measure = summary.measure;
                self.tell(Command::ModelMeasured { model_id: model_id.clone(), measure });
                self.tell(Command::ModelLoaded { model_id });
            }
            Err(error) => self.tell(Command::ModelFailed { model_id, error: error.to_string() }),
        }
    }

    /// A command of our own; the model may be closed already.
    fn tell(&mut self, command: Command) {
        self.command(NetCommand::Session { seq: 0, command });
    }

    fn event(&mut self, event: NetEvent) {
        match event {
            NetEvent::Session(event) => self.session_event(event),
            NetEvent::Answer { seq, result } => self.answer(seq, result),
            NetEvent::Listening { address, port } => {
                self.output.event("listening", json!({ "address": address.to_string(), "port": port }));
                self.start_files();
            }
            NetEvent::HostFailed(error) | NetEvent::JoinFailed(error) => {
                self.output.error(None, &Notice::from(&error).to_string());
                self.ending = Some(Ending::Failed);
            }
            NetEvent::ReceivingFiles { port } => {
                self.output.event("receiving_files", json!({ "port": port }))
            }
            NetEvent::ReceiveFailed(error) => {
                self.output.error(None, &Notice::from(&error).to_string());
                self.ending = Some(Ending::Failed);
            }
            NetEvent::FileReceived { path, bytes } => {
                let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
                self.output.event("file_received", json!({ "path": path, "name": name, "bytes": bytes }));
            }
            NetEvent::FileFailed { reason } => {
                self.output.error(None, &format!("a file that somebody sent was not kept: {reason}"));
            }
            NetEvent::Stats { seq, stats } => {
                let user_seq = self.stats_for.remove(&seq).flatten();
                self.output.event("stats", output::stats_json(&stats));
                self.output.done(user_seq.as_ref(), json!({}));
            }
        }
    }

    /// The models of the command line, once a meeting is on.
    fn start_files(&mut self) {
        if !std::mem::replace(&mut self.started, true) {
            for file in std::mem::take(&mut self.files) {
                self.open(None, file);
            }
        }
    }

    fn answer(&mut self, seq: u64, result: Result<(), SessionError>) {
        let Some(waiting) = self.waiting.remove(&seq) else {
            if let Err(error) = result {
                tracing::debug!("a command of our own had no effect: {error}");
            }
            return;
        };
        match (waiting, result) {
            (Waiting::Plain(seq), Ok(())) => self.output.done(seq.as_ref(), json!({})),
            (Waiting::Plain(seq) | Waiting::Open { seq, .. }, Err(error)) => {
                self.output.error(seq.as_ref(), &error.to_string());
            }
            (Waiting::Open { seq, name, glb, model_id, summary, seconds }, Ok(())) => {
                let opened = opened_json(&model_id, &name, summary, glb.len(), seconds, None);
                let held = Held { name, glb, since: Instant::now(), max_error: None };
                self.models.insert(model_id.clone(), held);
                self.output.event("model_opened", opened);
                self.output.done(seq.as_ref(), json!({ "model_id": model_id }));
            }
        }
    }

    fn session_event(&mut self, event: Event) {
        match &event {
            Event::ModelOffered { model_id, name, .. } => {
                let held =
                    Held { name: name.clone(), glb: Bytes::new(), since: Instant::now(), max_error: None };
                self.models.insert(model_id.clone(), held);
            }
            Event::ModelReceived { model_id, name, glb, way, .. } => {
                let held = self.models.entry(model_id.clone()).or_insert_with(|| Held {
                    name: name.clone(),
                    glb: Bytes::new(),
                    since: Instant::now(),
                    max_error: None,
                });
                held.glb = glb.clone();
                held.max_error = (!way.exact).then_some(way.max_error);
                let received = output::received_json(model_id, glb.len(), way);
                self.output.event("model_received", received);
                let streamed = self.streamed.remove(model_id).filter(|_| !way.exact);
                match streamed.and_then(|streamed| streamed.summary(&self.limits)) {
                    Some(summary) => self.decoded(model_id.clone(), Ok(summary)),
                    None => self.decode(model_id.clone(), glb.clone()),
                }
                return;
            }
            Event::ModelPart { model_id, index, part } => {
                self.streamed.entry(model_id.clone()).or_default().add(*index, part);
            }
            Event::ModelCancelled { model_id } => drop(self.streamed.remove(model_id)),
            Event::ModelClosed { model_id, .. } => {
                self.models.remove(model_id);
                self.streamed.remove(model_id);
            }
            // It ended on its way here.
            Event::ModelFailed { model_id, .. } => {
                self.streamed.remove(model_id);
                self.models.retain(|id, held| id != model_id || !held.glb.is_empty());
            }
            _ => {}
        }
        let joined = event == Event::Joined;
        if let Some((name, body)) = output::event_json(&event) {
            self.output.event(name, body);
        }
        if joined {
            self.start_files();
        }
        if let Event::Left { reason } = event {
            let done = matches!(reason, LeaveReason::Asked | LeaveReason::HostEnded);
            if !done {
                self.output.error(None, &Notice::from(&reason).to_string());
            }
            self.ending = Some(if done { Ending::Done } else { Ending::Failed });
        }
    }

    fn decode(&mut self, model_id: String, glb: Bytes) {
        let (sender, limits, cancel) = (self.done.0.clone(), self.limits.clone(), self.cancel.clone());
        let again = model_id.clone();
        let submitted = self.workers.submit(move || {
            let result =
                crate::model::decode_shared(&glb, &limits, &cancel).map(|decoded| Summary::of(&decoded));
            let _ = sender.send(Done::Decoded { model_id, result });
        });
        if let Err(error) = submitted {
            self.tell(Command::ModelFailed { model_id: again, error: error.to_string() });
        }
    }
}

/// Writes a file whole or not at all.
fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
