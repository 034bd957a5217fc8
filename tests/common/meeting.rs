//! A meeting in memory: [`Session`]s and scripted peers, joined by links, on a
//! simulated clock. Every byte goes through an [`Outbox`], is cut at random and
//! put together again by a [`FrameAssembler`], as over a socket.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use convene::{
    mesh::{Encoding, Plan},
    session::{
        Assembled, Body, CloseCause, Command, Config, Event, Identity, LeaveReason, Measure, Move,
        ParticipantView, PeerId, Placement, Presence, Session, SessionError, SessionView, Stored, Transmit,
    },
    store::{DEFAULT_LIMIT, Store},
    transfer::{Holding, Inbound, Intercepted, Method, Outbox, WindowMode, intercept},
    wire::{Frame, FrameAssembler, Limits, MEETING_PREFIX, Message, encode_frame, message::OpenModel},
};
use glam::Vec3;

use super::rng::Rng;

/// How finely time passes.
pub const STEP: Duration = Duration::from_millis(5);

pub fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

pub fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Somebody on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Node(usize),
    Script(usize),
}

/// One direction of a link.
#[derive(Debug)]
struct Pipe {
    from: End,
    to: End,
    /// What each side calls this connection.
    from_peer: PeerId,
    to_peer: PeerId,
    outbox: Mutex<Outbox>,
    /// The receiver's end of transfers.
    inbound: Mutex<Inbound>,
    /// Bytes a second; none: as many as there are.
    rate: Option<usize>,
    /// Taken from the outbox, not on the way yet.
    sending: VecDeque<u8>,
    budget: usize,
    on_the_way: VecDeque<(Duration, Vec<u8>)>,
    /// Nothing arrives while this is set; nothing is lost either.
    frozen: bool,
    closing: bool,
    /// When the end arrives.
    closed_at: Option<Duration>,
    end_told: bool,
    assembler: FrameAssembler,
    broken: bool,
    sent_bytes: usize,
}

impl Pipe {
    fn new(
        (from, from_peer): (End, PeerId),
        (to, to_peer): (End, PeerId),
        limits: Limits,
        window: WindowMode,
    ) -> Self {
        Self {
            from,
            to,
            from_peer,
            to_peer,
            outbox: Mutex::new(Outbox::new()),
            inbound: Mutex::new(Inbound::new(window)),
            rate: None,
            sending: VecDeque::new(),
            budget: 0,
            on_the_way: VecDeque::new(),
            frozen: false,
            closing: false,
            closed_at: None,
            end_told: false,
            assembler: FrameAssembler::new(limits),
            broken: false,
            sent_bytes: 0,
        }
    }
}

/// A session and what came out of it.
#[derive(Debug)]
pub struct Node {
    pub session: Session,
    limits: Limits,
    window: WindowMode,
    store: Store,
    /// Its store does nothing while this is set.
    pub store_stands: bool,
    /// All events, in order.
    pub events: Vec<Event>,
    /// Frames that it handed to each connection, before the outbox: payloads.
    pub handed: Vec<(Duration, PeerId, Vec<u8>)>,
    /// Chunks that it made, and in which way.
    pub packed: Vec<Method>,
    open_peers: BTreeSet<PeerId>,
}

/// A peer that says what it is told to, and keeps what it hears.
#[derive(Debug, Default)]
pub struct Script {
    /// Everything that came, with the time of each payload's end.
    pub heard: Vec<(Duration, Vec<u8>)>,
    stream: Vec<u8>,
    parsed: usize,
    pub prefix: bool,
    /// The other side has closed.
    pub closed: Option<Duration>,
    /// Answers each show and hide with the same, like LookSee.
    pub echoes: bool,
}

/// Everybody, and the clock.
#[derive(Debug)]
pub struct World {
    pub now: Duration,
    pub latency: Duration,
    pub nodes: Vec<Node>,
    pub scripts: Vec<Script>,
    pipes: Vec<Pipe>,
    rng: Rng,
    next_peer: u32,
}

/// An identity with a readable name: the id is the letter, 16 times.
pub fn identity(letter: char, name: &str) -> Identity {
    assert!(letter.is_ascii_hexdigit(), "ids are hexadecimal");
    let id: String = std::iter::repeat_n(letter, 16).collect();
    Identity { colour: convene::session::Colour::for_id(&id), id, name: name.to_owned() }
}

pub fn config(letter: char, name: &str) -> Config {
    // Files as they are, so that bytes can be counted.
    Config { methods: vec![Method::Raw], ..Config::new(identity(letter, name)) }
}

pub fn looksee_only(letter: char, name: &str) -> Config {
    Config { looksee_only: true, ..config(letter, name) }
}

/// A measure of a cube about the origin.
pub fn cube(side: f32) -> Measure {
    Measure { center: Vec3::ZERO, size: Vec3::splat(side) }
}

/// Bytes that stand for a GLB: sessions never look into them.
pub fn glb(mark: u8, bytes: usize) -> Bytes {
    let mut glb = b"glTF".to_vec();
    glb.resize(bytes.max(4), mark);
    glb.into()
}

pub fn open(model_id: &str, glb: &Bytes) -> Command {
    open_measured(model_id, glb, cube(1.0), false)
}

/// One that is sent in parts.
pub fn open_in_parts(model_id: &str, glb: &Bytes) -> Command {
    let Command::OpenModel { model_id, name, glb, content, measure, private, .. } = open(model_id, glb)
    else {
        unreachable!("it opens a model")
    };
    let plan = Some(Arc::new(Plan::new(&glb).expect("it is plain")));
    Command::OpenModel { model_id, name, glb, content, measure, private, plan }
}

pub fn open_measured(model_id: &str, glb: &Bytes, measure: Measure, private: bool) -> Command {
    Command::OpenModel {
        model_id: model_id.to_owned(),
        name: format!("{model_id}.glb"),
        glb: glb.clone(),
        content: *blake3::hash(glb).as_bytes(),
        measure,
        private,
        plan: None,
    }
}

pub fn move_to(model_id: &str, position: Vec3) -> Command {
    Command::MoveModel {
        model_id: model_id.to_owned(),
        to: Move { position: Some(position), ..Default::default() },
    }
}

pub fn show(model_id: &str, shown: bool) -> Command {
    Command::ShowModel { model_id: model_id.to_owned(), shown }
}

pub fn close(model_id: &str) -> Command {
    Command::CloseModel { model_id: model_id.to_owned() }
}

pub fn share(model_id: &str) -> Command {
    Command::ShareModel { model_id: model_id.to_owned() }
}

impl World {
    pub fn new(seed: u64) -> Self {
        Self {
            now: secs(100),
            latency: ms(10),
            nodes: Vec::new(),
            scripts: Vec::new(),
            pipes: Vec::new(),
            rng: Rng::new(seed),
            next_peer: 1,
        }
    }

    /// Adds a session that is in no meeting.
    pub fn add(&mut self, config: Config) -> usize {
        let limits = config.limits;
        let window = config.bulk.window;
        self.nodes.push(Node {
            session: Session::new(config),
            limits,
            window,
            store: Store::new(None, DEFAULT_LIMIT),
            store_stands: false,
            events: Vec::new(),
            handed: Vec::new(),
            packed: Vec::new(),
            open_peers: BTreeSet::new(),
        });
        self.nodes.len() - 1
    }

    /// Adds a session that hosts a meeting.
    pub fn add_host(&mut self, config: Config) -> usize {
        let host = self.add(config);
        let now = self.now;
        self.nodes[host].session.host(now);
        host
    }

    /// Connects a session to a host.
    pub fn join(&mut self, guest: usize, host: usize) {
        let (at_guest, at_host) = self.link(End::Node(guest), End::Node(host));
        let now = self.now;
        self.nodes[host].session.connect_guest(at_host, now);
        self.collect(host);
        self.nodes[guest].session.connect_host(at_guest, now);
        self.collect(guest);
    }

    /// Guests that join a host, one after the other.
    pub fn add_guests<const N: usize>(&mut self, host: usize, configs: [Config; N]) -> [usize; N] {
        configs.map(|config| {
            let guest = self.add(config);
            self.join(guest, host);
            guest
        })
    }

    /// Connects a scripted guest to a host. It says nothing by itself.
    pub fn script_joins(&mut self, host: usize) -> usize {
        self.scripts.push(Script::default());
        let script = self.scripts.len() - 1;
        let (_, at_host) = self.link(End::Script(script), End::Node(host));
        let now = self.now;
        self.nodes[host].session.connect_guest(at_host, now);
        self.collect(host);
        script
    }

    /// Connects a session to a scripted host. It says nothing by itself.
    pub fn script_hosts(&mut self, guest: usize) -> usize {
        self.scripts.push(Script::default());
        let script = self.scripts.len() - 1;
        let (at_guest, _) = self.link(End::Node(guest), End::Script(script));
        let now = self.now;
        self.nodes[guest].session.connect_host(at_guest, now);
        self.collect(guest);
        script
    }

    fn link(&mut self, a: End, b: End) -> (PeerId, PeerId) {
        let (at_a, at_b) = (PeerId(self.next_peer), PeerId(self.next_peer + 1));
        self.next_peer += 2;
        for (end, peer) in [(a, at_a), (b, at_b)] {
            if let End::Node(node) = end {
                self.nodes[node].open_peers.insert(peer);
            }
        }
        let limits = |end: End| match end {
            End::Node(node) => self.nodes[node].limits,
            End::Script(_) => Limits::default(),
        };
        let window = |end: End| match end {
            End::Node(node) => self.nodes[node].window,
            End::Script(_) => WindowMode::Auto,
        };
        let to_b = Pipe::new((a, at_a), (b, at_b), limits(b), window(b));
        let to_a = Pipe::new((b, at_b), (a, at_a), limits(a), window(a));
        self.pipes.extend([to_b, to_a]);
        (at_a, at_b)
    }

    fn pipe_mut(&mut self, from: End, to: End) -> &mut Pipe {
        let found = self.pipes.iter_mut().rev().find(|p| p.from == from && p.to == to);
        found.unwrap_or_else(|| panic!("no link from {from:?} to {to:?}"))
    }

    /// Limits what goes from one to the other, bytes a second.
    pub fn set_rate(&mut self, from: End, to: End, rate: usize) {
        self.pipe_mut(from, to).rate = Some(rate);
    }

    /// Holds back what goes from one to the other.
    pub fn freeze(&mut self, from: End, to: End, frozen: bool) {
        self.pipe_mut(from, to).frozen = frozen;
    }

    fn pipe_of(&mut self, peer: PeerId) -> &mut Pipe {
        self.pipes.iter_mut().find(|p| p.from_peer == peer).expect("a connection has a pipe")
    }

    /// The pipe over which a node hears a connection.
    fn incoming(&self, peer: PeerId) -> usize {
        self.pipes.iter().position(|p| p.to_peer == peer).expect("a connection has a pipe")
    }

    /// The number that a node has for its latest connection to somebody.
    pub fn peer(&mut self, node: usize, other: End) -> PeerId {
        self.pipe_mut(End::Node(node), other).from_peer
    }

    /// Bytes that went from one to the other.
    pub fn sent_bytes(&mut self, from: End, to: End) -> usize {
        self.pipe_mut(from, to).sent_bytes
    }

    /// Does what a person wants, now.
    pub fn command(&mut self, node: usize, command: Command) -> Result<(), SessionError> {
        let now = self.now;
        let result = self.nodes[node].session.handle_command(command, now);
        self.collect(node);
        result
    }

    pub fn do_command(&mut self, node: usize, command: Command) {
        let told = format!("{command:?}");
        self.command(node, command).unwrap_or_else(|error| panic!("{error}: {told}"));
    }

    /// A scripted peer sends bytes.
    pub fn say(&mut self, script: usize, bytes: &[u8]) {
        let from = End::Script(script);
        let pipe = self.pipes.iter_mut().rev().find(|p| p.from == from).expect("a script has a link");
        pipe.sending.extend(bytes);
    }

    pub fn say_message(&mut self, script: usize, message: &Message) {
        self.say(script, &encode_frame(&message.encode()));
    }

    pub fn say_json(&mut self, script: usize, type_byte: u8, json: &str) {
        self.say(script, &encode_frame(&[&[type_byte], json.as_bytes()].concat()));
    }

    /// Prefix and version, as LookSee says them.
    pub fn say_hello(&mut self, script: usize, version: &str) {
        self.say(script, MEETING_PREFIX);
        self.say_json(script, 5, &format!(r#"{{"version":"{version}"}}"#));
    }

    pub fn say_pose(&mut self, script: usize, device_id: &str) {
        self.say_message(script, &Message::WandPosition(Body::rest().to_wire(device_id)));
    }

    pub fn say_model(&mut self, script: usize, open: &OpenModel, glb: &[u8]) {
        self.say(script, &encode_frame(&[&open.encode_head(), glb].concat()));
    }

    /// A scripted peer closes its side (after what it has said).
    pub fn script_closes(&mut self, script: usize) {
        let from = End::Script(script);
        let pipe = self.pipes.iter_mut().rev().find(|p| p.from == from).expect("a script has a link");
        pipe.closing = true;
    }

    /// A connection breaks, both ways, at once.
    pub fn break_link(&mut self, a: End, b: End) {
        for (from, to) in [(a, b), (b, a)] {
            let now = self.now;
            let pipe = self.pipe_mut(from, to);
            pipe.sending.clear();
            pipe.on_the_way.clear();
            pipe.outbox = Mutex::new(Outbox::new());
            pipe.frozen = false;
            pipe.closed_at = Some(now);
            pipe.closing = true;
            pipe.broken = true;
        }
    }

    /// Lets time pass.
    pub fn run(&mut self, for_how_long: Duration) {
        let end = self.now + for_how_long;
        while self.now < end {
            self.now = (self.now + STEP).min(end);
            self.step();
        }
    }

    /// Time passes while somebody poses, twenty times a second.
    pub fn run_posing(&mut self, for_how_long: Duration, scripts: &[(usize, &str)]) {
        let end = self.now + for_how_long;
        while self.now < end {
            for (script, device_id) in scripts {
                self.say_pose(*script, device_id);
            }
            self.run(ms(50).min(end - self.now));
        }
    }

    fn step(&mut self) {
        for at in 0..self.pipes.len() {
            self.pump(at);
        }
        for at in 0..self.pipes.len() {
            self.deliver(at);
        }
        for node in 0..self.nodes.len() {
            let now = self.now;
            let session = &mut self.nodes[node].session;
            if session.poll_timeout().is_some_and(|due| due <= now) {
                session.handle_timeout(now);
            }
            self.collect(node);
        }
    }

    fn pump(&mut self, at: usize) {
        let (now, latency) = (self.now, self.latency);
        let pipe = &mut self.pipes[at];
        if pipe.closed_at.is_some() {
            return;
        }
        let mut allowed = match pipe.rate {
            None => usize::MAX,
            Some(rate) => {
                let each = rate * STEP.as_millis() as usize / 1000;
                pipe.budget = (pipe.budget + each).min(2 * each.max(1));
                pipe.budget
            }
        };
        let mut chunk = Vec::new();
        while allowed > 0 {
            if pipe.sending.is_empty() {
                let Some(next) = pipe.outbox.get_mut().unwrap().next(usize::MAX, now) else { break };
                pipe.sending.extend(&next.head);
                pipe.sending.extend(&next.tail);
            }
            let taken = allowed.min(pipe.sending.len());
            chunk.extend(pipe.sending.drain(..taken));
            allowed -= taken;
        }
        if pipe.rate.is_some() {
            pipe.budget -= chunk.len();
        }
        pipe.sent_bytes += chunk.len();
        if !chunk.is_empty() {
            pipe.on_the_way.push_back((now + latency, chunk));
        }
        if pipe.closing && pipe.sending.is_empty() && pipe.outbox.get_mut().unwrap().is_empty() {
            pipe.closed_at = Some(now + latency);
        }
    }

    fn deliver(&mut self, at: usize) {
        let now = self.now;
        loop {
            let pipe = &mut self.pipes[at];
            if pipe.frozen {
                return;
            }
            let Some((due, _)) = pipe.on_the_way.front() else { break };
            if *due > now {
                break;
            }
            let Some((_, chunk)) = pipe.on_the_way.pop_front() else { break };
            let mut rest = &chunk[..];
            while !rest.is_empty() {
                let size = match self.rng.below(4) {
                    0 => 1 + self.rng.below(7),
                    1 => 1 + self.rng.below(200),
                    _ => 1 + self.rng.below(5000),
                };
                let (piece, more) = rest.split_at(size.min(rest.len()));
                rest = more;
                self.arrive(at, piece);
            }
        }
        let pipe = &mut self.pipes[at];
        if pipe.closed_at.is_some_and(|at| at <= now) && pipe.on_the_way.is_empty() && !pipe.end_told {
            pipe.end_told = true;
            let (to, peer, broken) = (pipe.to, pipe.to_peer, pipe.broken);
            match to {
                End::Script(script) => {
                    self.scripts[script].closed.get_or_insert(now);
                }
                End::Node(node) => {
                    let cause =
                        if broken { CloseCause::Broken("reset".into()) } else { CloseCause::Finished };
                    self.end(node, peer, cause);
                }
            }
        }
    }

    fn end(&mut self, node: usize, peer: PeerId, cause: CloseCause) {
        let now = self.now;
        if !self.nodes[node].open_peers.remove(&peer) {
            return;
        }
        self.nodes[node].session.handle_closed(peer, cause, now);
        self.collect(node);
        self.pipe_of(peer).closing = true;
    }

    fn arrive(&mut self, at: usize, piece: &[u8]) {
        let now = self.now;
        let (to, peer) = (self.pipes[at].to, self.pipes[at].to_peer);
        let node = match to {
            End::Script(script) => return self.script_hears(script, piece),
            End::Node(node) => node,
        };
        let mut input = piece;
        loop {
            if !self.nodes[node].open_peers.contains(&peer) {
                return;
            }
            match self.pipes[at].assembler.push(&mut input) {
                Ok(Some(frame)) => match self.intercept(at, node, &frame) {
                    Ok(true) => {}
                    Ok(false) => {
                        self.nodes[node].session.handle_frame(peer, frame, now);
                        self.collect(node);
                    }
                    Err(fault) => return self.end(node, peer, CloseCause::Fault(fault)),
                },
                Ok(None) => break,
                Err(error) => {
                    let cause = match error {
                        convene::wire::WireError::WrongPrefix => CloseCause::NotAMeeting,
                        error => CloseCause::Fault(error.to_string()),
                    };
                    return self.end(node, peer, cause);
                }
            }
        }
        if let Some(progress) = self.pipes[at].assembler.progress() {
            self.nodes[node].session.handle_progress(peer, progress, now);
            self.collect(node);
        }
    }

    /// Whether a frame was about a transfer's bytes.
    fn intercept(&mut self, at: usize, node: usize, frame: &Frame) -> Result<bool, String> {
        let Frame::Message(payload) = frame else { return Ok(false) };
        // Links are made in pairs.
        let (inbound, outbox) = (&self.pipes[at].inbound, &self.pipes[at ^ 1].outbox);
        match intercept(payload, inbound, outbox, self.now).map_err(|error| error.to_string())? {
            Intercepted::Not => return Ok(false),
            Intercepted::Handled | Intercepted::Writer => {}
            Intercepted::Store => self.store(at, node)?,
        }
        Ok(true)
    }

    /// The store of a node takes what came over a link.
    fn store(&mut self, at: usize, node: usize) -> Result<(), String> {
        let (now, peer) = (self.now, self.pipes[at].to_peer);
        while !self.nodes[node].store_stands {
            let Some(piece) = self.pipes[at].inbound.get_mut().unwrap().take() else { break };
            let mut told = Vec::new();
            let taken = piece.bytes.as_ref().map_or(0, Bytes::len);
            match piece.bytes {
                None => told.push(Stored::Ended),
                Some(mut bytes) => {
                    let mut assembler = piece.assembler.lock().unwrap();
                    loop {
                        match assembler.push(&mut bytes, &piece.holding) {
                            Ok(Some(chunk)) => {
                                let index = chunk.header.index;
                                let store = &mut self.nodes[node].store;
                                let is_new = store.insert(&piece.holding, chunk);
                                if piece.holding.id().method == Method::Mesh {
                                    if is_new {
                                        self.unpack(node, &piece.holding, index);
                                    }
                                } else if piece.holding.is_complete() {
                                    let file = store.assemble(&piece.holding);
                                    told.push(file.map_or(Stored::Wrong, Stored::Whole));
                                }
                            }
                            Ok(None) => break,
                            Err(convene::transfer::ChunkFault::Damaged { .. }) => {}
                            Err(fault) => return Err(fault.to_string()),
                        }
                    }
                    let covered = piece.holding.covered() + assembler.partly_covered();
                    told.insert(0, Stored::Covered(covered));
                }
            }
            for stored in told {
                self.nodes[node].session.handle_stored(peer, piece.channel, stored, now);
                self.collect(node);
            }
            let inbound = self.pipes[at].inbound.get_mut().unwrap();
            inbound.consumed(piece.channel, taken, now);
            self.grant(at);
        }
        Ok(())
    }

    /// Decodes a part as soon as it is here.
    fn unpack(&mut self, node: usize, holding: &Arc<Holding>, index: u32) {
        let session = &mut self.nodes[node].session;
        let result = match holding.decode_part(index) {
            Ok(part) => {
                session.handle_part(holding, index, &part);
                holding.assemble().map(|file| file.map_err(|error| error.to_string()))
            }
            Err(error) => Some(Err(error.to_string())),
        };
        let Some(result) = result else { return };
        let assembled = result.map(|file| Assembled { own: *blake3::hash(&file).as_bytes(), file });
        session.handle_assembled(holding, assembled, self.now);
    }

    fn grant(&mut self, at: usize) {
        let credits = self.pipes[at].inbound.get_mut().unwrap().grants(self.now);
        let outbox = self.pipes[at ^ 1].outbox.get_mut().unwrap();
        credits.into_iter().for_each(|credit| outbox.push_credit(credit));
    }

    /// A store that stood goes on.
    pub fn let_store_go_on(&mut self, node: usize) {
        self.nodes[node].store_stands = false;
        for at in 0..self.pipes.len() {
            if self.pipes[at].to == End::Node(node) {
                self.store(at, node).unwrap();
            }
        }
    }

    fn script_hears(&mut self, script: usize, piece: &[u8]) {
        let now = self.now;
        let mut answers = Vec::new();
        let s = &mut self.scripts[script];
        s.stream.extend_from_slice(piece);
        if !s.prefix && s.stream.len() >= 14 {
            assert_eq!(&s.stream[..14], MEETING_PREFIX, "we always begin with the prefix");
            s.prefix = true;
            s.parsed = 14;
        }
        while let Some(length) = s.stream.get(s.parsed..s.parsed + 4).filter(|_| s.prefix) {
            let length = i32::from_le_bytes(length.try_into().expect("four bytes"));
            assert!(length > 0, "we never send a frame of length {length}");
            let body = s.parsed + 4..s.parsed + 4 + length as usize;
            let Some(payload) = s.stream.get(body.clone()) else { break };
            if s.echoes && payload[0] == 7 {
                answers.push(payload.to_vec());
            }
            s.heard.push((now, payload.to_vec()));
            s.parsed = body.end;
        }
        for answer in answers {
            self.say(script, &encode_frame(&answer));
        }
    }

    /// Takes what a session has to say.
    fn collect(&mut self, node: usize) {
        loop {
            let now = self.now;
            let mut too_slow = Vec::new();
            while let Some(transmit) = self.nodes[node].session.poll_transmit() {
                match transmit {
                    Transmit::Send { peer, outgoing } => {
                        if !self.nodes[node].open_peers.contains(&peer) {
                            continue;
                        }
                        let bytes = [&outgoing.head[..], &outgoing.tail].concat();
                        let prefix = if bytes.starts_with(MEETING_PREFIX) { 14 } else { 0 };
                        self.nodes[node].handed.push((now, peer, bytes[prefix + 4..].to_vec()));
                        if self.pipe_of(peer).outbox.get_mut().unwrap().push(outgoing).is_err() {
                            too_slow.push(peer);
                        }
                    }
                    Transmit::Close { peer } => {
                        if self.nodes[node].open_peers.remove(&peer) {
                            self.pipe_of(peer).closing = true;
                        }
                    }
                    Transmit::Extended { .. } => {}
                    Transmit::Pack { from, into } => {
                        while let Some(index) = into.claim() {
                            assert!(into.pack(&from, index, Encoding::Strong));
                            self.nodes[node].packed.push(into.id().method);
                        }
                    }
                    Transmit::Lookup { model_id, representation, source_bytes, chunks } => {
                        let store = &mut self.nodes[node].store;
                        let (holding, file) = store.lookup(representation, source_bytes, chunks);
                        self.nodes[node].session.handle_found(&model_id, holding.clone(), file, now);
                        if representation.method == Method::Mesh {
                            for index in (0..holding.chunk_count()).filter(|&index| holding.has(index)) {
                                self.unpack(node, &holding, index);
                            }
                        }
                    }
                    Transmit::RoundTrip { peer, round_trip } => {
                        let at = self.incoming(peer);
                        self.pipes[at].inbound.get_mut().unwrap().round_trip(round_trip, now);
                        self.grant(at);
                    }
                    Transmit::Receive { peer, channel, holding, priority } => {
                        let at = self.incoming(peer);
                        self.pipes[at].inbound.get_mut().unwrap().open(channel, holding, priority, now);
                        self.grant(at);
                    }
                    Transmit::StopReceiving { peer, channel } => {
                        let at = self.incoming(peer);
                        self.pipes[at].inbound.get_mut().unwrap().close(channel);
                        self.grant(at);
                    }
                    Transmit::Serve { peer, channel, model_id, holding, chunks, priority } => {
                        let outbox = self.pipe_of(peer).outbox.get_mut().unwrap();
                        outbox.bulk().open(channel, model_id, holding, chunks, priority).unwrap();
                    }
                    Transmit::StopServing { peer, model_id } => {
                        self.pipe_of(peer).outbox.get_mut().unwrap().bulk().stop_model(&model_id);
                    }
                    Transmit::Shown { peer, model_id, shown } => {
                        self.pipe_of(peer).outbox.get_mut().unwrap().bulk().set_shown(&model_id, shown);
                    }
                }
            }
            while let Some(event) = self.nodes[node].session.poll_event() {
                self.nodes[node].events.push(event);
            }
            if too_slow.is_empty() {
                return;
            }
            for peer in too_slow {
                self.nodes[node].session.handle_too_slow(peer, now);
            }
        }
    }

    pub fn view(&self, node: usize) -> SessionView {
        self.nodes[node].session.view(self.now)
    }

    /// The state of somebody at a node, if it knows them.
    pub fn participant(&self, node: usize, device_id: &str) -> Option<ParticipantView> {
        self.view(node).participants.into_iter().find(|p| p.device_id == device_id)
    }

    pub fn presence(&self, node: usize, device_id: &str) -> Option<Presence> {
        self.participant(node, device_id).map(|p| p.presence)
    }

    /// Ids of a node's models.
    pub fn model_ids(&self, node: usize) -> Vec<String> {
        let mut ids: Vec<String> = self.view(node).models.into_iter().map(|m| m.id).collect();
        ids.sort();
        ids
    }

    /// World placement of a model at a node, its scale within the scene.
    pub fn place(&self, node: usize, model_id: &str) -> Placement {
        let model = self.view(node).models.into_iter().find(|m| m.id == model_id);
        let model = model.unwrap_or_else(|| panic!("node {node} has no model {model_id}"));
        Placement { position: model.pose.position, rotation: model.pose.rotation, scale: model.local_scale }
    }

    pub fn is_shown(&self, node: usize, model_id: &str) -> bool {
        let model = self.view(node).models.into_iter().find(|m| m.id == model_id);
        model.unwrap_or_else(|| panic!("node {node} has no model {model_id}")).shown
    }

    /// Why a node left, as often as it did.
    pub fn left(&self, node: usize) -> Vec<LeaveReason> {
        let reason = |event: &Event| match event {
            Event::Left { reason } => Some(reason.clone()),
            _ => None,
        };
        self.nodes[node].events.iter().filter_map(reason).collect()
    }

    pub fn faults(&self, node: usize) -> Vec<String> {
        let fault = |event: &Event| match event {
            Event::PeerFault { fault, .. } => Some(fault.clone()),
            _ => None,
        };
        self.nodes[node].events.iter().filter_map(fault).collect()
    }

    /// Types of what a script heard, without poses.
    pub fn types_heard(&self, script: usize) -> Vec<u8> {
        self.scripts[script].heard.iter().map(|(_, p)| p[0]).filter(|&t| t != 2).collect()
    }

    /// JSON of each message of a type that a script heard.
    pub fn heard(&self, script: usize, type_byte: u8) -> Vec<String> {
        let of_type = self.scripts[script].heard.iter().filter(|(_, p)| p[0] == type_byte);
        of_type.map(|(_, p)| super::recording::json_of(p).0).collect()
    }

    /// Forgets what a script has heard so far.
    pub fn forget(&mut self, script: usize) {
        self.scripts[script].heard.clear();
    }

    /// Sessions that have a meeting and agree about it, or why not.
    pub fn disagreement(&self, nodes: &[usize]) -> Option<String> {
        let (&first, others) = nodes.split_first()?;
        let a = self.view(first);
        for &other in others {
            let b = self.view(other);
            if a.keep_aligned != b.keep_aligned {
                return Some(format!("keep aligned: {} and {}", a.keep_aligned, b.keep_aligned));
            }
            if !near(a.scene, b.scene) {
                return Some(format!("scene: {:?} and {:?}", a.scene, b.scene));
            }
            let shared = |view: &SessionView| -> BTreeMap<String, _> {
                view.models.iter().filter(|m| m.shared).map(|m| (m.id.clone(), m.clone())).collect()
            };
            let (a, b) = (shared(&a), shared(&b));
            if !a.keys().eq(b.keys()) {
                return Some(format!("models: {:?} and {:?}", a.keys(), b.keys()));
            }
            for (x, y) in a.values().zip(b.values()) {
                let placement = |m: &convene::session::ModelView| Placement {
                    position: m.pose.position,
                    rotation: m.pose.rotation,
                    scale: m.local_scale,
                };
                if !near(placement(x), placement(y)) {
                    return Some(format!("{}: {:?} and {:?}", x.id, placement(x), placement(y)));
                }
                if x.shown != y.shown || x.content != y.content || x.name != y.name {
                    return Some(format!("{}: shown {} and {}, or content or name", x.id, x.shown, y.shown));
                }
            }
        }
        None
    }
}

/// Whether two placements are one, within a millimetre or a thousandth.
pub fn near(a: Placement, b: Placement) -> bool {
    let size = 1.0 + a.position.length().max(b.position.length());
    (a.position - b.position).length() < 1e-3 * size
        && a.rotation.dot(b.rotation).abs() > 1.0 - 1e-5
        && (a.scale / b.scale - 1.0).abs() < 1e-3
}
