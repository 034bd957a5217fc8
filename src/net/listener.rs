//! The thread `meeting-accept`: takes guests' connections.

use std::{
    io::{self, ErrorKind},
    net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use crossbeam_channel::Sender;
use mio::{Events, Interest, Poll, Token, Waker};
use socket2::{Domain, Protocol, Socket, Type};

use super::{Input, NetError, tell_driver};
use crate::threads;

/// A listener that is stopped and joined when it is dropped.
#[derive(Debug)]
pub(super) struct Listener {
    pub local: SocketAddr,
    stop: Arc<AtomicBool>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
}

/// Opens a port: on `bind`, else on all addresses, IPv6 and IPv4.
pub(super) fn bind(bind: Option<IpAddr>, port: u16) -> Result<TcpListener, NetError> {
    let open = |ip: IpAddr| -> io::Result<TcpListener> {
        let address = SocketAddr::new(ip, port);
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        if ip == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
            socket.set_only_v6(false)?;
        }
        // A host that restarts gets its port at once. (On Windows the option would
        // let two programs share a port.)
        #[cfg(unix)]
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(64)?;
        Ok(socket.into())
    };
    let result = match bind {
        Some(ip) => open(ip),
        None => open(Ipv6Addr::UNSPECIFIED.into()).or_else(|error| match error.kind() {
            ErrorKind::AddrInUse | ErrorKind::PermissionDenied => Err(error),
            // No IPv6 here.
            _ => open(IpAddr::from([0, 0, 0, 0])),
        }),
    };
    result.map_err(|error| NetError::listen(&error, &bind.map(|ip| ip.to_string()).unwrap_or_default(), port))
}

impl Listener {
    pub fn start(bind_to: Option<IpAddr>, port: u16, inputs: Sender<Input>) -> Result<Self, NetError> {
        let listener = bind(bind_to, port)?;
        let failed = |error: io::Error| NetError::listen(&error, "", port);
        let local = listener.local_addr().map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let poll = Poll::new().map_err(failed)?;
        let waker = Arc::new(Waker::new(poll.registry(), Token(1)).map_err(failed)?);
        let mut listener = mio::net::TcpListener::from_std(listener);
        poll.registry().register(&mut listener, Token(0), Interest::READABLE).map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = threads::spawn("meeting-accept", move || accept(&listener, poll, &stopped, &inputs))
            .map_err(|error| NetError::threads(&error))?;
        Ok(Self { local, stop, waker, thread: Some(thread) })
    }
}

fn accept(listener: &mio::net::TcpListener, mut poll: Poll, stop: &AtomicBool, inputs: &Sender<Input>) {
    let mut events = Events::with_capacity(4);
    while !stop.load(Ordering::Acquire) {
        match listener.accept() {
            Ok((stream, _)) => {
                if !tell_driver(inputs, Input::Accepted(stream.into()), stop) {
                    return;
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                // A signal may end the wait early.
                let _ = poll.poll(&mut events, Some(Duration::from_secs(1)));
            }
            // The guest is gone again already.
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
            Err(error) => {
                // No file handles are left, say: the meeting goes on, and tries again.
                tracing::warn!("a guest could not be taken: {error}");
                let _ = poll.poll(&mut events, Some(Duration::from_millis(200)));
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Err(error) = self.waker.wake() {
            tracing::debug!("the listener could not be woken: {error}");
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
