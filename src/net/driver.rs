//! The thread `meeting`: owns the session and carries out what it says.

use std::{
    collections::BTreeMap,
    net::TcpStream,
    sync::{Arc, PoisonError, atomic::Ordering},
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, Sender, bounded, select_biased};

use super::{
    EVENTS, Input, NetCommand, NetConfig, NetError, NetEvent, Shared, Stats,
    address::HostAddress,
    canonical,
    connect::Connecting,
    inbox::Inbox,
    listener::Listener,
    pace::Pace,
    packing::Packing,
    peer::{ArrivingBytes, PeerHandle, Surroundings},
    rejoin::Rejoin,
    storing::Storing,
    unpacking::Unpacking,
};
use crate::{
    session::{CloseCause, Event, LeaveReason, PeerId, Phase, Session, Stored, Transmit},
    threads,
    transfer::Holding,
    wire::MEETING_PORT,
};

/// Bytes of models that may be arriving at once, over all connections.
const ARRIVING_BYTES: usize = 1 << 30;
/// Connections that may be open at once, those before their handshake included.
/// A meeting has at most 100 persons, a connection needs six file handles, and
/// many systems give a process 1,024.
const MAXIMUM_CONNECTIONS: usize = 128;
/// The app is told of a change at most this often.
const PUBLISH_INTERVAL: Duration = Duration::from_millis(4);
/// How long connections may take to send what is queued when all ends.
const LAST_FLUSH: Duration = Duration::from_millis(400);

pub(super) struct Driver {
    config: NetConfig,
    session: Session,
    shared: Arc<Shared>,
    commands: Receiver<NetCommand>,
    woken: Receiver<()>,
    events: Sender<NetEvent>,
    inputs: Receiver<Input>,
    to_driver: Sender<Input>,
    storing: Storing,
    packing: Packing,
    /// Kept for its threads.
    _unpacking: Unpacking,
    rejoin: Rejoin,
    peers: BTreeMap<PeerId, PeerHandle>,
    /// Connections that the session has given up and whose threads still run.
    closing: Vec<PeerHandle>,
    next_peer: u32,
    listener: Option<Listener>,
    connecting: Option<(u64, Connecting)>,
    attempts: u64,
    inbox: Option<Inbox>,
    arriving: Arc<ArrivingBytes>,
    dirty: bool,
    published_at: Duration,
    lost_events: u64,
}

impl Driver {
    pub fn new(
        config: NetConfig,
        session: Session,
        shared: Arc<Shared>,
        commands: Receiver<NetCommand>,
        woken: Receiver<()>,
        events: Sender<NetEvent>,
    ) -> std::io::Result<Self> {
        let (to_driver, inputs) = bounded(256);
        let (unpacking, unpacker) = Unpacking::start(to_driver.clone())?;
        let storing = Storing::start(config.cache.clone(), to_driver.clone(), unpacker)?;
        let packing = Packing::start(to_driver.clone())?;
        Ok(Self {
            config,
            session,
            shared,
            commands,
            woken,
            events,
            inputs,
            to_driver,
            storing,
            packing,
            _unpacking: unpacking,
            peers: BTreeMap::new(),
            closing: Vec::new(),
            next_peer: 1,
            listener: None,
            connecting: None,
            attempts: 0,
            inbox: None,
            arriving: Arc::new(ArrivingBytes::new(ARRIVING_BYTES)),
            rejoin: Rejoin::default(),
            dirty: true,
            published_at: Duration::ZERO,
            lost_events: 0,
        })
    }

    fn now(&self) -> Duration {
        self.shared.start.elapsed()
    }

    pub fn run(mut self) {
        while !self.shared.stop.load(Ordering::Acquire) {
            self.wait();
            self.timeouts();
            self.pump();
            self.publish();
            self.reap();
        }
        self.end();
    }

    /// Handles what has come, or waits until something does or is due.
    fn wait(&mut self) {
        let now = self.now();
        let mut due = Duration::from_millis(500);
        if let Some(at) = self.session.poll_timeout() {
            due = due.min(at.saturating_sub(now));
        }
        if let Some(at) = self.rejoin.due() {
            due = due.min(at.saturating_sub(now));
        }
        if self.dirty {
            due = due.min((self.published_at + PUBLISH_INTERVAL).saturating_sub(now));
        }
        if !self.closing.is_empty() {
            due = due.min(Duration::from_millis(50));
        }
        let (inputs, commands, woken) = (self.inputs.clone(), self.commands.clone(), self.woken.clone());
        select_biased! {
            recv(woken) -> _ => {}
            recv(commands) -> command => {
                if let Ok(command) = command {
                    self.command(command);
                }
            }
            recv(inputs) -> input => {
                if let Ok(input) = input {
                    self.input(input);
                }
            }
            default(due) => {}
        }
        // What else is here already, so that one round of sending serves all of it.
        for _ in 0..64 {
            let Ok(input) = inputs.try_recv() else { break };
            self.input(input);
        }
        for _ in 0..64 {
            let Ok(command) = commands.try_recv() else { break };
            self.command(command);
        }
        let body = self.shared.body.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((body, stamp)) = body {
            let now = self.now();
            let command = crate::session::Command::Pose { body, stamp };
            if let Err(error) = self.session.handle_command(command, now) {
                tracing::debug!("a pose of our own is not usable: {error}");
            }
        }
    }

    fn timeouts(&mut self) {
        let now = self.now();
        if self.session.poll_timeout().is_some_and(|at| at <= now) {
            self.session.handle_timeout(now);
            self.dirty = true;
        }
        if !self.session.is_rejoining() {
            self.rejoin.done();
        } else if self.rejoin.is_over(now) {
            self.rejoin.done();
            self.connecting = None;
            let reason = LeaveReason::Lost("it could not be reached again".into());
            self.session.give_up(reason, now);
        } else if self.rejoin.take_due(now) && self.connecting.is_none() {
            let address = self.rejoin.address.clone();
            if let Err(error) = self.connect(&address) {
                tracing::info!("the host cannot be reached again yet: {error}");
                self.rejoin.again(now);
            }
        }
    }

    fn connect(&mut self, address: &str) -> Result<(), NetError> {
        self.attempts += 1;
        let address = HostAddress::parse(address, MEETING_PORT)?;
        let connecting = Connecting::start(self.attempts, address, self.to_driver.clone())?;
        self.connecting = Some((self.attempts, connecting));
        Ok(())
    }

    fn input(&mut self, input: Input) {
        self.dirty = true;
        let now = self.now();
        match input {
            Input::Accepted(stream) => {
                let full = |open: usize| open >= MAXIMUM_CONNECTIONS;
                if full(self.closing.len()) || (full(self.peers.len()) && !self.make_room(now)) {
                    tracing::debug!("a guest was turned away: {MAXIMUM_CONNECTIONS} connections are open");
                    return;
                }
                match self.start_peer(stream) {
                    Ok(peer) => self.session.connect_guest(peer, now),
                    Err(error) => tracing::warn!("a guest could not be served: {error}"),
                }
            }
            Input::Connected(attempt, stream) => {
                if self.connecting.as_ref().is_none_or(|(current, _)| *current != attempt) {
                    return;
                }
                self.connecting = None;
                match self.start_peer(stream) {
                    Ok(peer) => self.session.connect_host(peer, now),
                    Err(error) if self.session.is_rejoining() => {
                        tracing::warn!("a connection could not be served: {error}");
                        self.rejoin.again(now);
                    }
                    Err(error) => self.tell(NetEvent::JoinFailed(NetError::threads(&error))),
                }
            }
            Input::ConnectFailed(attempt, error) => {
                if self.connecting.as_ref().is_some_and(|(current, _)| *current == attempt) {
                    self.connecting = None;
                    tracing::info!("joining failed: {error}");
                    if self.session.is_rejoining() {
                        self.rejoin.again(now);
                    } else {
                        self.tell(NetEvent::JoinFailed(error));
                    }
                }
            }
            Input::Frame(peer, frame) => self.session.handle_frame(peer, frame, now),
            Input::Progress(peer, progress) => self.session.handle_progress(peer, progress, now),
            Input::Closed(peer, cause) => {
                self.session.handle_closed(peer, cause, now);
                if let Some(handle) = self.peers.remove(&peer) {
                    self.let_go(handle);
                }
            }
            Input::Fault(peer, fault) => self.end_faulty(peer, fault),
            Input::Found(model_id, holding, file) => {
                self.session.handle_found(&model_id, holding, file, now);
            }
            Input::Stored(peer, channel, stored) => {
                let fresh = matches!(stored, Stored::Covered(_) | Stored::Whole(_));
                self.session.handle_stored(peer, channel, stored, now);
                if fresh {
                    // Somebody may be waiting for just this chunk.
                    self.peers.values_mut().for_each(PeerHandle::wake_if_serving);
                }
            }
            Input::Part(holding, index, part) => self.session.handle_part(&holding, index, &part),
            Input::Assembled(holding, result) => {
                let good = result.is_ok();
                self.session.handle_assembled(&holding, result, now);
                self.storing.assembled(holding, good);
            }
            Input::Packed => self.peers.values_mut().for_each(PeerHandle::wake_if_serving),
            Input::File(event) => self.tell(event),
        }
    }

    /// Ends the oldest connection that has not said who it is, so that a crowd of
    /// silent ones keeps nobody out. Whether there was one.
    fn make_room(&mut self, now: Duration) -> bool {
        let accepted: Vec<PeerId> = self.session.view(now).peers.iter().map(|p| p.peer).collect();
        let silent = self.peers.keys().find(|peer| !accepted.contains(peer)).copied();
        let Some(handle) = silent.and_then(|peer| self.peers.remove(&peer)) else { return false };
        self.session.handle_closed(handle.id, CloseCause::Finished, now);
        handle.cut();
        self.closing.push(handle);
        true
    }

    fn start_peer(&mut self, stream: TcpStream) -> std::io::Result<PeerId> {
        let id = PeerId(self.next_peer);
        self.next_peer += 1;
        let pace = self.config.pace_megabits.map(|megabits| Pace::new(megabits, Instant::now()));
        let around = Surroundings {
            limits: self.config.session.limits,
            bulk: self.config.session.bulk,
            arriving: self.arriving.clone(),
            pace,
            inputs: self.to_driver.clone(),
            store: self.storing.jobs(),
            start: self.shared.start,
        };
        let handle = PeerHandle::start(id, stream, around)?;
        self.peers.insert(id, handle);
        Ok(id)
    }

    fn command(&mut self, command: NetCommand) {
        self.dirty = true;
        let now = self.now();
        match command {
            NetCommand::Session { seq, command } => {
                let leaving = matches!(command, crate::session::Command::Leave);
                let mut gave_up = false;
                let mut result = self.session.handle_command(command, now);
                if leaving {
                    self.stop_listening();
                    // Giving up on a host that was not reached yet is leaving, too.
                    if self.connecting.take().is_some() && result.is_err() {
                        result = Ok(());
                        gave_up = true;
                    }
                }
                if seq != 0 || result.is_err() {
                    // What the command itself did is told before its answer; but
                    // that the meeting is over is the last that is told of it.
                    if !leaving {
                        self.pump();
                    }
                    self.tell(NetEvent::Answer { seq, result });
                }
                if gave_up {
                    self.event(Event::Left { reason: LeaveReason::Asked });
                }
            }
            NetCommand::Host { bind, port } => {
                self.connecting = None;
                if self.listener.is_some() || !self.peers.is_empty() {
                    let _ = self.session.handle_command(crate::session::Command::Leave, now);
                    self.stop_listening();
                }
                match Listener::start(bind, port, self.to_driver.clone()) {
                    Ok(listener) => {
                        self.session.host(now);
                        let (address, port) = canonical(listener.local);
                        self.listener = Some(listener);
                        self.set_listening(Some((address, port)));
                        tracing::info!("a meeting is open on port {port}");
                        self.tell(NetEvent::Listening { address, port });
                    }
                    Err(error) => {
                        tracing::info!("hosting failed: {error}");
                        self.tell(NetEvent::HostFailed(error));
                    }
                }
            }
            NetCommand::Join { address } => {
                self.stop_listening();
                self.connecting = None;
                // Without a meeting there is nothing to leave.
                let _ = self.session.handle_command(crate::session::Command::Leave, now);
                self.rejoin.done();
                self.rejoin.address.clone_from(&address);
                if let Err(error) = self.connect(&address) {
                    self.tell(NetEvent::JoinFailed(error));
                }
            }
            NetCommand::ReceiveFiles { bind, port, folder } => {
                self.inbox = None;
                match Inbox::start(bind, port, folder, self.config.session.limits, self.to_driver.clone()) {
                    Ok(inbox) => {
                        let port = inbox.port;
                        self.inbox = Some(inbox);
                        self.tell(NetEvent::ReceivingFiles { port });
                    }
                    Err(error) => {
                        tracing::info!("receiving files failed: {error}");
                        self.tell(NetEvent::ReceiveFailed(error));
                    }
                }
            }
            NetCommand::StopReceivingFiles => self.inbox = None,
            NetCommand::WatchPoses(on) => self.shared.watch_poses.store(on, Ordering::Relaxed),
            NetCommand::Stats { seq } => {
                let stats = self.stats();
                self.tell(NetEvent::Stats { seq, stats });
            }
        }
    }

    fn stop_listening(&mut self) {
        self.listener = None;
        self.set_listening(None);
    }

    fn set_listening(&self, to: Option<(std::net::IpAddr, u16)>) {
        *self.shared.listening.lock().unwrap_or_else(PoisonError::into_inner) = to;
    }

    fn stats(&mut self) -> Stats {
        let view = self.session.view(self.now());
        let mut peers = Vec::new();
        for peer in view.peers {
            if let Some(handle) = self.peers.get_mut(&peer.peer) {
                peers.push((peer, handle.traffic()));
            }
        }
        Stats {
            peers,
            pose_ages: view.participants.into_iter().map(|p| (p.device_id, p.pose_age)).collect(),
            pose_latencies: self.session.pose_latencies(),
            threads: threads::names(),
            lost_events: self.lost_events,
        }
    }

    /// Carries out what the session says.
    fn pump(&mut self) {
        while let Some(transmit) = self.session.poll_transmit() {
            match transmit {
                Transmit::Send { peer, outgoing } => {
                    let sent = self.peers.get_mut(&peer).map(|handle| handle.push(outgoing));
                    if let Some(Err(error)) = sent {
                        tracing::warn!("connection {} is ended: {error}", peer.0);
                        let now = self.now();
                        self.session.handle_too_slow(peer, now);
                        if let Some(handle) = self.peers.remove(&peer) {
                            handle.cut();
                            self.closing.push(handle);
                        }
                    }
                }
                Transmit::Close { peer } => {
                    if let Some(handle) = self.peers.remove(&peer) {
                        self.let_go(handle);
                    }
                }
                Transmit::Lookup { model_id, representation, source_bytes, chunks } => {
                    if !self.storing.lookup(model_id.clone(), representation, source_bytes, chunks) {
                        // Nothing is looked for then: all of it is asked for.
                        let holding = Arc::new(Holding::of_chunks(representation, source_bytes, chunks));
                        let now = self.now();
                        self.session.handle_found(&model_id, holding, None, now);
                    }
                }
                Transmit::Pack { from, into } => self.packing.pack(&from, &into),
                Transmit::Extended { peer } => self.with(peer, PeerHandle::extended),
                Transmit::RoundTrip { peer, round_trip } => {
                    self.with(peer, |handle| handle.round_trip(round_trip));
                }
                Transmit::Receive { peer, channel, holding, priority } => {
                    self.with(peer, |handle| handle.receive(channel, holding, priority));
                }
                Transmit::StopReceiving { peer, channel } => {
                    self.with(peer, |handle| handle.stop_receiving(channel));
                }
                Transmit::Serve { peer, channel, model_id, holding, chunks, priority } => {
                    let handle = self.peers.get_mut(&peer);
                    let served = handle.map(|h| h.serve(channel, model_id, holding, chunks, priority));
                    if let Some(Err(error)) = served {
                        self.end_faulty(peer, error.to_string());
                    }
                }
                Transmit::StopServing { peer, model_id } => {
                    self.with(peer, |handle| handle.stop_serving(&model_id));
                }
                Transmit::Shown { peer, model_id, shown } => {
                    self.with(peer, |handle| handle.set_shown(&model_id, shown));
                }
            }
        }
        while let Some(event) = self.session.poll_event() {
            self.event(event);
        }
        for handle in self.peers.values_mut() {
            handle.wake();
        }
    }

    /// Ends a connection that broke the rules of transfers.
    fn end_faulty(&mut self, peer: PeerId, fault: String) {
        let now = self.now();
        self.session.handle_closed(peer, CloseCause::Fault(fault), now);
        if let Some(handle) = self.peers.remove(&peer) {
            handle.cut();
            self.closing.push(handle);
        }
    }

    fn with(&mut self, peer: PeerId, act: impl FnOnce(&mut PeerHandle)) {
        if let Some(handle) = self.peers.get_mut(&peer) {
            act(handle);
        }
    }

    fn let_go(&mut self, mut handle: PeerHandle) {
        handle.wake();
        handle.close();
        self.closing.push(handle);
    }

    fn event(&mut self, event: Event) {
        match &event {
            Event::Pose { .. } if !self.shared.watch_poses.load(Ordering::Relaxed) => return,
            Event::Pose { .. } | Event::ModelProgress { .. } | Event::ModelPart { .. } => {}
            Event::ConnectionLost { reason } => {
                tracing::info!("the connection is tried again: {reason}");
                let now = self.now();
                self.rejoin.again(now);
            }
            Event::PeerFault { peer, fault } => tracing::warn!("connection {}: {fault}", peer.0),
            // A host's own words may hold names: they are for the person, not for the log.
            Event::Left { reason: LeaveReason::Refused(_) } => {
                tracing::info!("the meeting is over: the host refused");
            }
            Event::Left { reason } => tracing::info!("the meeting is over: {reason}"),
            _ => {}
        }
        self.tell(NetEvent::Session(event));
    }

    fn tell(&mut self, event: NetEvent) {
        // The last quarter is kept for what is told only once.
        let often = matches!(
            event,
            NetEvent::Session(
                Event::Pose { .. }
                    | Event::ModelProgress { .. }
                    | Event::ModelMoved { .. }
                    | Event::SceneMoved { .. }
            )
        );
        let crowded = often && self.events.len() >= EVENTS / 4 * 3;
        if crowded || self.events.try_send(event).is_err() {
            self.lost_events += 1;
            if self.lost_events.is_power_of_two() {
                tracing::debug!("{} events were not taken in time", self.lost_events);
            }
        }
    }

    fn publish(&mut self) {
        let now = self.now();
        if !self.dirty || now < self.published_at + PUBLISH_INTERVAL {
            return;
        }
        self.dirty = false;
        self.published_at = now;
        let mut view = self.session.view(now);
        if self.connecting.is_some() && view.phase == Phase::Alone {
            view.phase = Phase::Joining;
        }
        let view = Arc::new(view);
        *self.shared.view.lock().unwrap_or_else(PoisonError::into_inner) = view;
        self.shared.view_number.fetch_add(1, Ordering::Release);
    }

    fn reap(&mut self) {
        for mut handle in self.closing.extract_if(.., |handle| handle.has_ended()) {
            handle.join();
        }
    }

    /// Sends what is queued, then stops and joins every thread.
    fn end(mut self) {
        let now = self.now();
        // Alone already: nothing to leave.
        let _ = self.session.handle_command(crate::session::Command::Leave, now);
        self.pump();
        self.listener = None;
        self.connecting = None;
        self.inbox = None;
        for handle in std::mem::take(&mut self.peers).into_values() {
            self.let_go(handle);
        }
        // The readers' channel is emptied meanwhile, so that none waits for it.
        let until = Instant::now() + LAST_FLUSH;
        while Instant::now() < until && !self.closing.iter().all(PeerHandle::has_ended) {
            let _ = self.inputs.recv_timeout(Duration::from_millis(5));
        }
        drop(self.inputs);
        for handle in &self.closing {
            handle.cut();
        }
        for handle in &mut self.closing {
            handle.join();
        }
    }
}
