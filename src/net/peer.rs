//! One connection's two threads: `peer-N-read` and `peer-N-write`.
//!
//! Each has its own poller, so neither blocks where it cannot be woken. The
//! reader hands frames to the driver through a bounded channel; the writer
//! empties an [`Outbox`] that the driver fills under a lock held for a copy.

mod reader;
mod writer;

use std::{
    io,
    net::TcpStream,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use bytes::Bytes;
use crossbeam_channel::Sender;
use mio::{Interest, Poll, Token, Waker};

use super::{Input, pace::Pace, storing::Job};
use crate::{
    session::{CloseCause, PeerId},
    threads,
    transfer::{
        BulkConfig, Credit, Holding, Inbound, Outbox, Outgoing, Priority, TooSlow, WindowError,
        automatic_step,
    },
    wire::{FrameAssembler, Limits},
};
use reader::Reader;
use writer::Writer;

const SOCKET: Token = Token(0);
const WAKE: Token = Token(1);
/// How long a connection that is being closed may take to send what is queued.
const FLUSH_TIME: Duration = Duration::from_secs(2);
/// Unsent bytes that the system may hold; what is beyond waits in the outbox,
/// where a newer pose replaces an older one.
#[cfg(any(target_os = "linux", target_os = "android"))]
const NOT_SENT_BYTES: u32 = 128 << 10;
/// LookSee loads models within its read loop: it may read nothing for minutes.
#[cfg(any(target_os = "linux", target_os = "android"))]
const USER_TIMEOUT: Duration = Duration::from_secs(600);

const RUN: u8 = 0;
/// Send what is queued, then close.
const FLUSH: u8 = 1;
/// Close now.
const CUT: u8 = 2;

/// Bytes of models that are arriving over all connections together.
#[derive(Debug)]
pub(super) struct ArrivingBytes {
    now: AtomicUsize,
    limit: usize,
}

impl ArrivingBytes {
    pub fn new(limit: usize) -> Self {
        Self { now: AtomicUsize::new(0), limit }
    }

    fn reserve(&self, bytes: usize) -> bool {
        let reserve = |now: usize| now.checked_add(bytes).filter(|&sum| sum <= self.limit);
        self.now.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve).is_ok()
    }

    fn release(&self, bytes: usize) {
        self.now.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What the threads of a connection, the driver and the store share.
#[derive(Debug)]
pub(super) struct Link {
    pub id: PeerId,
    outbox: Mutex<Outbox>,
    inbound: Mutex<Inbound>,
    /// The store knows already that something has come.
    pub store_called: AtomicBool,
    /// The other side speaks our extension.
    extended: AtomicBool,
    start: Instant,
    state: AtomicU8,
    reader: Waker,
    writer: Waker,
    sent_bytes: AtomicU64,
    received_bytes: AtomicU64,
}

impl Link {
    fn set_state(&self, state: u8) {
        self.state.fetch_max(state, Ordering::AcqRel);
        for waker in [&self.reader, &self.writer] {
            if let Err(error) = waker.wake() {
                tracing::debug!("a peer's thread could not be woken: {error}");
            }
        }
    }

    fn state(&self) -> u8 {
        self.state.load(Ordering::Acquire)
    }

    pub fn outbox(&self) -> MutexGuard<'_, Outbox> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn inbound(&self) -> MutexGuard<'_, Inbound> {
        self.inbound.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session's clock.
    pub fn now(&self) -> Duration {
        self.start.elapsed()
    }

    pub fn wake_writer(&self) {
        if let Err(error) = self.writer.wake() {
            tracing::debug!("a writer could not be woken: {error}");
        }
    }
}

/// The driver's end of a connection.
#[derive(Debug)]
pub(super) struct PeerHandle {
    pub id: PeerId,
    shared: Arc<Link>,
    threads: Vec<JoinHandle<()>>,
    needs_wake: bool,
    last_count: (Instant, u64, u64),
}

/// What `stats` says about a connection's traffic.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Traffic {
    /// Bytes that wait to be sent.
    pub queued_bytes: usize,
    /// Poses that were replaced by newer ones before they were sent.
    pub dropped_poses: u64,
    /// Bytes sent since the connection began.
    pub sent_bytes: u64,
    /// Bytes received since the connection began.
    pub received_bytes: u64,
    /// Bytes a second sent since the last `stats`.
    pub send_rate: f64,
    /// Bytes a second received since the last `stats`.
    pub receive_rate: f64,
    /// Bytes of models that the other side may have on its way to us.
    pub window_bytes: u64,
    /// Bytes of a model in the latest frame that we sent.
    pub step_bytes: usize,
}

/// What a connection works with.
#[derive(Debug)]
pub(super) struct Surroundings {
    pub limits: Limits,
    pub bulk: BulkConfig,
    pub arriving: Arc<ArrivingBytes>,
    pub pace: Option<Pace>,
    pub inputs: Sender<Input>,
    pub store: Option<Sender<Job>>,
    /// When the session's clock was zero.
    pub start: Instant,
}

impl PeerHandle {
    /// Starts both threads for a connected socket.
    pub fn start(id: PeerId, stream: TcpStream, around: Surroundings) -> io::Result<Self> {
        let Surroundings { limits, bulk, arriving, pace, inputs, store, start } = around;
        prepare(&stream)?;
        let mut outbox = Outbox::new();
        match bulk.step {
            Some(step) => outbox.bulk().steps().set_connection(Some(Arc::new(move |_| step))),
            None => outbox.bulk().steps().set_connection(Some(Arc::new(automatic_step))),
        }
        let reader_poll = Poll::new()?;
        let writer_poll = Poll::new()?;
        let shared = Arc::new(Link {
            id,
            outbox: Mutex::new(outbox),
            inbound: Mutex::new(Inbound::new(bulk.window)),
            store_called: AtomicBool::new(false),
            extended: AtomicBool::new(false),
            start,
            state: AtomicU8::new(RUN),
            reader: Waker::new(reader_poll.registry(), WAKE)?,
            writer: Waker::new(writer_poll.registry(), WAKE)?,
            sent_bytes: AtomicU64::new(0),
            received_bytes: AtomicU64::new(0),
        });
        let mut writing = mio::net::TcpStream::from_std(stream.try_clone()?);
        writer_poll.registry().register(&mut writing, SOCKET, Interest::WRITABLE)?;
        let mut reading = mio::net::TcpStream::from_std(stream);
        reader_poll.registry().register(&mut reading, SOCKET, Interest::READABLE)?;

        let mut handle =
            Self { id, shared, threads: Vec::new(), needs_wake: false, last_count: (Instant::now(), 0, 0) };
        let reader = Reader {
            id,
            stream: reading,
            poll: reader_poll,
            shared: handle.shared.clone(),
            arriving,
            reserved: 0,
            assembler: FrameAssembler::new(limits),
            inputs: inputs.clone(),
            store,
            last_progress: Instant::now(),
        };
        let writer = Writer {
            stream: writing,
            poll: writer_poll,
            shared: handle.shared.clone(),
            pace,
            batch: Vec::new(),
            batch_sent: 0,
            tail: Bytes::new(),
            tail_is_paced: false,
            pause: None,
            extended: false,
            #[cfg(any(target_os = "linux", target_os = "android"))]
            unsent_limit: NOT_SENT_BYTES,
        };
        handle.threads.push(threads::spawn(format!("peer-{}-read", id.0), move || reader.run())?);
        let started = threads::spawn(format!("peer-{}-write", id.0), move || {
            if let Err(error) = writer.run() {
                let cause = CloseCause::Broken(error.to_string());
                // The driver may have ended already.
                let _ = inputs.send(Input::Closed(id, cause));
            }
        });
        match started {
            Ok(thread) => handle.threads.push(thread),
            Err(error) => {
                // Not joined: the reader may wait for the driver, which is here.
                handle.cut();
                return Err(error);
            }
        }
        Ok(handle)
    }

    /// Queues a frame. [`Self::wake`] must follow.
    pub fn push(&mut self, outgoing: Outgoing) -> Result<(), TooSlow> {
        self.needs_wake = true;
        self.shared.outbox().push(outgoing)
    }

    /// Tells the writer that something was queued.
    pub fn wake(&mut self) {
        if std::mem::take(&mut self.needs_wake) {
            self.shared.wake_writer();
        }
    }

    /// Something may be there now that the other side has asked for.
    pub fn wake_if_serving(&mut self) {
        if !self.shared.outbox().bulk().is_empty() {
            self.needs_wake = true;
        }
    }

    /// The other side speaks our extension.
    pub fn extended(&mut self) {
        self.shared.extended.store(true, Ordering::Release);
        self.needs_wake = true;
    }

    /// A ping was answered. Also the moment to see which channels have stalled, so
    /// that others get their credit.
    pub fn round_trip(&mut self, round_trip: Duration) {
        let credits = {
            let mut inbound = self.shared.inbound();
            let now = self.shared.now();
            inbound.round_trip(round_trip, now);
            inbound.grants(now)
        };
        self.push_credits(credits);
    }

    fn push_credits(&mut self, credits: Vec<Credit>) {
        if !credits.is_empty() {
            let mut outbox = self.shared.outbox();
            credits.into_iter().for_each(|credit| outbox.push_credit(credit));
            self.needs_wake = true;
        }
    }

    /// Takes chunks over a channel that is being asked for.
    pub fn receive(&mut self, channel: u16, holding: Arc<Holding>, priority: Priority) {
        let now = self.shared.now();
        let credits = {
            let mut inbound = self.shared.inbound();
            inbound.open(channel, holding, priority, now);
            inbound.grants(now)
        };
        self.push_credits(credits);
    }

    /// Takes no more over a channel.
    pub fn stop_receiving(&mut self, channel: u16) {
        let credits = {
            let mut inbound = self.shared.inbound();
            inbound.close(channel);
            inbound.grants(self.shared.now())
        };
        self.shared.outbox().drop_credit(channel);
        self.push_credits(credits);
    }

    /// Sends chunks over a channel.
    pub fn serve(
        &mut self,
        channel: u16,
        model_id: String,
        holding: Arc<Holding>,
        chunks: Vec<u32>,
        priority: Priority,
    ) -> Result<(), WindowError> {
        self.needs_wake = true;
        self.shared.outbox().bulk().open(channel, model_id, holding, chunks, priority)
    }

    /// Sends nothing more of a model.
    pub fn stop_serving(&mut self, model_id: &str) {
        self.shared.outbox().bulk().stop_model(model_id);
    }

    /// A model was shown or hidden.
    pub fn set_shown(&mut self, model_id: &str, shown: bool) {
        self.shared.outbox().bulk().set_shown(model_id, shown);
    }

    /// Sends what is queued, then closes.
    pub fn close(&self) {
        self.shared.set_state(FLUSH);
    }

    /// Closes now.
    pub fn cut(&self) {
        self.shared.set_state(CUT);
    }

    /// Whether both threads have ended.
    pub fn has_ended(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Waits for both threads.
    pub fn join(&mut self) {
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of connection {} panicked", self.id.0);
            }
        }
    }

    /// What `stats` says.
    pub fn traffic(&mut self) -> Traffic {
        let sent_bytes = self.shared.sent_bytes.load(Ordering::Relaxed);
        let received_bytes = self.shared.received_bytes.load(Ordering::Relaxed);
        let (since, sent_then, received_then) = self.last_count;
        let seconds = since.elapsed().as_secs_f64().max(1e-3);
        self.last_count = (Instant::now(), sent_bytes, received_bytes);
        let window_bytes = self.shared.inbound().window_bytes();
        let mut outbox = self.shared.outbox();
        Traffic {
            window_bytes,
            step_bytes: outbox.bulk().last_step(),
            queued_bytes: outbox.waiting_bytes(),
            dropped_poses: outbox.dropped_poses(),
            sent_bytes,
            received_bytes,
            send_rate: (sent_bytes - sent_then) as f64 / seconds,
            receive_rate: (received_bytes - received_then) as f64 / seconds,
        }
    }
}

/// Options that help; none is needed.
fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let socket = socket2::SockRef::from(stream);
    let keepalive =
        socket2::TcpKeepalive::new().with_time(Duration::from_secs(10)).with_interval(Duration::from_secs(5));
    let mut results = vec![socket.set_tcp_nodelay(true), socket.set_tcp_keepalive(&keepalive)];
    #[cfg(any(target_os = "linux", target_os = "android"))]
    results.extend([
        socket.set_tcp_notsent_lowat(NOT_SENT_BYTES),
        socket.set_tcp_user_timeout(Some(USER_TIMEOUT)),
    ]);
    for error in results.drain(..).filter_map(Result::err) {
        tracing::debug!("a socket option could not be set: {error}");
    }
    Ok(())
}
