//! The thread `meeting-connect`: reaches a host without ever blocking where it
//! cannot be stopped. Names are looked up on a thread `resolve` that nobody
//! waits for, because the system's lookup cannot be interrupted.

use std::{
    io::{self, ErrorKind},
    net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use mio::{Events, Interest, Poll, Token};

use super::{Input, NetError, address::HostAddress, tell_driver};
use crate::threads;

const RESOLVE_TIME: Duration = Duration::from_secs(8);
const CONNECT_TIME: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// An attempt to reach a host; dropped, it is given up.
#[derive(Debug)]
pub(super) struct Connecting {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Connecting {
    /// Ends with [`Input::Connected`] or [`Input::ConnectFailed`].
    pub fn start(number: u64, address: HostAddress, inputs: Sender<Input>) -> Result<Self, NetError> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = threads::spawn("meeting-connect", move || {
            let input = match connect(&address, &stopped) {
                Ok(stream) => Input::Connected(number, stream),
                Err(error) => Input::ConnectFailed(number, error),
            };
            // Nobody waits for it any more if the attempt was given up.
            tell_driver(&inputs, input, &stopped);
        })
        .map_err(|error| NetError::threads(&error))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Connecting {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn connect(address: &HostAddress, stop: &AtomicBool) -> Result<TcpStream, NetError> {
    let text = address.to_string();
    let addresses = resolve(address, stop)?;
    let mut last = NetError::NameNotKnown { address: text.clone() };
    for socket_address in addresses {
        match connect_one(socket_address, stop) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = NetError::connect(&error, &text),
        }
    }
    Err(last)
}

fn resolve(address: &HostAddress, stop: &AtomicBool) -> Result<Vec<SocketAddr>, NetError> {
    if let Ok(ip) = address.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, address.port)]);
    }
    let text = address.to_string();
    let (sender, receiver) = bounded(1);
    let (host, port) = (address.host.clone(), address.port);
    threads::spawn("resolve", move || {
        let found = (host.as_str(), port).to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        // Whoever asked may have given up.
        let _ = sender.send(found);
    })
    .map_err(|error| NetError::threads(&error))?;
    let until = Instant::now() + RESOLVE_TIME;
    loop {
        match receiver.recv_timeout(LOOK_AGAIN) {
            Ok(Ok(addresses)) if !addresses.is_empty() => return Ok(addresses),
            Ok(_) | Err(RecvTimeoutError::Disconnected) => {
                return Err(NetError::NameNotKnown { address: text });
            }
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Acquire) || Instant::now() >= until => {
                return Err(NetError::NameNotKnown { address: text });
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn connect_one(address: SocketAddr, stop: &AtomicBool) -> io::Result<TcpStream> {
    let mut stream = mio::net::TcpStream::connect(address)?;
    let mut poll = Poll::new()?;
    poll.registry().register(&mut stream, Token(0), Interest::WRITABLE)?;
    let mut events = Events::with_capacity(2);
    let until = Instant::now() + CONNECT_TIME;
    loop {
        if stop.load(Ordering::Acquire) {
            return Err(ErrorKind::Interrupted.into());
        }
        if Instant::now() >= until {
            return Err(ErrorKind::TimedOut.into());
        }
        match poll.poll(&mut events, Some(LOOK_AGAIN)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            other => other?,
        }
        if let Some(error) = stream.take_error()? {
            return Err(error);
        }
        match stream.peer_addr() {
            Ok(_) => {
                poll.registry().deregister(&mut stream)?;
                return Ok(stream.into());
            }
            Err(error) if error.kind() == ErrorKind::NotConnected => {}
            Err(error) => return Err(error),
        }
    }
}
