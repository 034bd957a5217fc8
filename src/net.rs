//! The network: named OS threads that serve sockets, and one that runs the meeting.
//!
//! For: everything between [`crate::session`] and the system's sockets. Not
//! for: decoding, showing. The app and the headless participant talk to it
//! through [`Net`], which never blocks them.
//!
//! | thread | does | woken by |
//! | --- | --- | --- |
//! | `meeting` | owns the [`Session`](crate::session::Session), relays, answers | its channels, its deadlines |
//! | `meeting-accept` | takes guests | its socket |
//! | `meeting-connect` | reaches a host, once | its socket |
//! | `peer-N-read`, `peer-N-write` | one connection | its socket; its outbox |
//! | `store` | verifies and keeps what comes of models | its channel |
//! | `pack-N` | makes models smaller for the way | their channel |
//! | `unpack-N` | decodes models that come in parts | their channel |
//! | `file-inbox` | takes pushed files | its sockets |
//!
//! Channels, all bounded: readers to driver 256 frames (a reader that finds it
//! full stops reading, which slows its peer and no other); commands 256 (a full
//! one is told, not waited for); events 8,192 (a full one drops the event and
//! counts it: the state in [`SessionView`] is complete without it; poses and
//! progress are dropped first).

mod address;
mod connect;
mod driver;
mod error;
mod inbox;
mod listener;
mod pace;
mod packing;
mod peer;
mod push;
mod rejoin;
mod storing;
mod unpacking;

use std::{
    io,
    net::{IpAddr, SocketAddr, TcpStream},
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use bytes::Bytes;
use crossbeam_channel::{Receiver, SendTimeoutError, Sender, TrySendError, bounded};

pub use address::{HostAddress, address_to_give};
pub use error::NetError;
pub use peer::Traffic;
pub use push::{PushError, push_file};

use crate::{
    mesh::Decoded,
    session::{self, Assembled, Body, CloseCause, PeerId, SessionError, SessionView, Stored},
    threads,
    transfer::Holding,
    wire::{Frame, Progress},
};

/// Events that may wait to be taken.
const EVENTS: usize = 8192;

/// What the network needs to know from the start.
#[derive(Debug, Clone)]
pub struct NetConfig {
    /// The meeting's own settings.
    pub session: session::Config,
    /// Throttle models to so many million bits a second.
    pub pace_megabits: Option<f64>,
    /// Where received models are kept for later; none: in memory alone.
    pub cache: Option<PathBuf>,
}

impl NetConfig {
    /// Not throttled, nothing on disk.
    pub fn new(session: session::Config) -> Self {
        Self { session, pace_megabits: None, cache: None }
    }
}

/// What the app wants.
#[derive(Debug, Clone)]
pub enum NetCommand {
    /// Something about the meeting. A number other than 0 is answered by
    /// [`NetEvent::Answer`]; an error is told in any case.
    Session {
        /// To tell answers apart.
        seq: u64,
        /// What.
        command: session::Command,
    },
    /// Host a meeting; port 0: the system picks one. Answered by
    /// [`NetEvent::Listening`] or [`NetEvent::HostFailed`].
    Host {
        /// On this address only.
        bind: Option<IpAddr>,
        /// TCP port.
        port: u16,
    },
    /// Join a meeting. Ends with [`session::Event::Joined`],
    /// [`NetEvent::JoinFailed`] or [`session::Event::Left`].
    Join {
        /// As typed.
        address: String,
    },
    /// Take pushed files. Answered by [`NetEvent::ReceivingFiles`] or
    /// [`NetEvent::ReceiveFailed`].
    ReceiveFiles {
        /// On this address only.
        bind: Option<IpAddr>,
        /// TCP port.
        port: u16,
        /// Where they are kept.
        folder: PathBuf,
    },
    /// Take no more pushed files.
    StopReceivingFiles,
    /// Whether poses of others are to come as events.
    WatchPoses(bool),
    /// Ask for [`NetEvent::Stats`].
    Stats {
        /// Comes back with the answer.
        seq: u64,
    },
}

/// What happened.
#[derive(Debug)]
pub enum NetEvent {
    /// In the meeting.
    Session(session::Event),
    /// What became of a numbered command.
    Answer {
        /// Its number.
        seq: u64,
        /// Done, or why not.
        result: Result<(), SessionError>,
    },
    /// We host.
    Listening {
        /// The address to give to others.
        address: IpAddr,
        /// TCP port.
        port: u16,
    },
    /// We cannot host.
    HostFailed(NetError),
    /// The host cannot be reached.
    JoinFailed(NetError),
    /// Pushed files are taken.
    ReceivingFiles {
        /// TCP port.
        port: u16,
    },
    /// Pushed files cannot be taken.
    ReceiveFailed(NetError),
    /// A pushed file is whole.
    FileReceived {
        /// Where it is.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// A pushed file was refused or could not be kept.
    FileFailed {
        /// Why, for people.
        reason: String,
    },
    /// The answer to [`NetCommand::Stats`].
    Stats {
        /// From the command.
        seq: u64,
        /// The numbers.
        stats: Stats,
    },
}

/// What the network is doing.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    /// Each accepted connection.
    pub peers: Vec<(session::PeerView, Traffic)>,
    /// Age of each participant's latest pose, by device id.
    pub pose_ages: Vec<(String, Option<Duration>)>,
    /// How late each participant's poses are, by device id.
    pub pose_latencies: Vec<(String, session::PoseLatency)>,
    /// Names of our threads.
    pub threads: Vec<String>,
    /// Events that nobody took in time.
    pub lost_events: u64,
}

/// More commands wait than the driver takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the meeting's thread is too busy to take a command")]
pub struct NetBusy;

/// What threads tell the driver.
#[derive(Debug)]
enum Input {
    Accepted(TcpStream),
    Connected(u64, TcpStream),
    ConnectFailed(u64, NetError),
    Frame(PeerId, Frame),
    Progress(PeerId, Progress),
    Closed(PeerId, CloseCause),
    /// Something in its bytes that only the store could find out.
    Fault(PeerId, String),
    Found(String, Arc<Holding>, Option<Bytes>),
    Stored(PeerId, u16, Stored),
    /// A chunk is packed.
    Packed,
    /// A chunk of a model in parts is decoded.
    Part(Arc<Holding>, u32, Arc<Decoded>),
    /// All of them are, or one cannot be.
    Assembled(Arc<Holding>, Result<Assembled, String>),
    File(NetEvent),
}

/// How many threads of one kind help with heavy work: as many as there are cores where
/// their low priority keeps them from making sockets late; elsewhere one less, so that
/// a core is left to those.
fn helpers(most: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get());
    let free = if threads::HAS_PRIORITIES { cores } else { cores - 1 };
    free.clamp(1, most)
}

/// Tells the driver something, unless it wants the asking thread to stop: while
/// the driver joins that thread it takes nothing, and a full channel would hold
/// both for ever. Whether it was told.
fn tell_driver(inputs: &Sender<Input>, mut input: Input, stop: &AtomicBool) -> bool {
    while !stop.load(Ordering::Acquire) {
        match inputs.send_timeout(input, Duration::from_millis(50)) {
            Ok(()) => return true,
            Err(SendTimeoutError::Timeout(back)) => input = back,
            Err(SendTimeoutError::Disconnected(_)) => return false,
        }
    }
    false
}

/// What app and driver share without a queue.
#[derive(Debug)]
struct Shared {
    view: Mutex<Arc<SessionView>>,
    view_number: AtomicU64,
    body: Mutex<Option<(Body, u64)>>,
    listening: Mutex<Option<(IpAddr, u16)>>,
    watch_poses: AtomicBool,
    stop: AtomicBool,
    /// When the session's clock was zero.
    start: Instant,
}

impl Shared {
    fn view(&self) -> Arc<SessionView> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Shows the state of the meeting, on any thread, for as long as one likes.
#[derive(Debug, Clone)]
pub struct Viewer(Arc<Shared>);

impl Viewer {
    /// The present state of the meeting; the last one, once it is over.
    pub fn view(&self) -> Arc<SessionView> {
        self.0.view()
    }
}

/// The app's end. Dropped, it stops and joins every thread within a second.
#[derive(Debug)]
pub struct Net {
    shared: Arc<Shared>,
    commands: Sender<NetCommand>,
    wake: Sender<()>,
    events: Receiver<NetEvent>,
    driver: Option<JoinHandle<()>>,
}

impl Net {
    /// Starts the driver. No socket is opened yet.
    pub fn start(mut config: NetConfig) -> io::Result<Self> {
        getrandom::fill(&mut config.session.secret).map_err(io::Error::other)?;
        let session = session::Session::new(config.session.clone());
        let shared = Arc::new(Shared {
            view: Mutex::new(Arc::new(session.view(Duration::ZERO))),
            view_number: AtomicU64::new(0),
            body: Mutex::new(None),
            listening: Mutex::new(None),
            watch_poses: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            start: Instant::now(),
        });
        let (commands, commands_taken) = bounded(256);
        let (wake, woken) = bounded(1);
        let (events_sent, events) = bounded(EVENTS);
        let driver =
            driver::Driver::new(config, session, shared.clone(), commands_taken, woken, events_sent)?;
        let driver = threads::spawn("meeting", move || driver.run())?;
        Ok(Self { shared, commands, wake, events, driver: Some(driver) })
    }

    /// Changes whenever [`Self::view`] does.
    pub fn view_number(&self) -> u64 {
        self.shared.view_number.load(Ordering::Acquire)
    }

    /// The present state of the meeting.
    pub fn view(&self) -> Arc<SessionView> {
        self.shared.view()
    }

    /// The session's clock, which views and play-out go by.
    pub fn now(&self) -> Duration {
        self.shared.start.elapsed()
    }

    /// Something that shows the view to others than the owner of this handle.
    pub fn viewer(&self) -> Viewer {
        Viewer(self.shared.clone())
    }

    /// What happened since it was last emptied.
    pub fn events(&self) -> &Receiver<NetEvent> {
        &self.events
    }

    /// Asks for something; never blocks.
    pub fn send(&self, command: NetCommand) -> Result<(), NetBusy> {
        self.commands.try_send(command).map_err(|error| match error {
            TrySendError::Full(_) | TrySendError::Disconnected(_) => NetBusy,
        })
    }

    /// Where others can reach the meeting that we host: the address to give to
    /// them, and the port.
    pub fn listening(&self) -> Option<(IpAddr, u16)> {
        *self.shared.listening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where this participant is, taken at `stamp` (monotonic nanoseconds). The
    /// latest wins.
    pub fn set_body(&self, body: Body, stamp: u64) {
        *self.shared.body.lock().unwrap_or_else(PoisonError::into_inner) = Some((body, stamp));
        self.wake_driver();
    }

    fn wake_driver(&self) {
        // Full: it is woken already.
        let _ = self.wake.try_send(());
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.wake_driver();
        if let Some(driver) = self.driver.take()
            && driver.join().is_err()
        {
            tracing::error!("the meeting's thread panicked");
        }
    }
}

/// The local address of something that listens, as others see it.
fn canonical(address: SocketAddr) -> (IpAddr, u16) {
    (address_to_give(address), address.port())
}
