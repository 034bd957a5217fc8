//! The thread `peer-N-write`: empties an outbox into a socket, models step by step
//! when nothing else waits.

use std::{
    io::{self, ErrorKind, IoSlice, Write},
    net::Shutdown,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use mio::{Events, Poll};

use super::{super::pace::Pace, CUT, FLUSH, FLUSH_TIME, Link};
use crate::transfer::Lane;

/// Small frames are put together up to this many bytes for one write.
const BATCH_BYTES: usize = 64 << 10;
/// Bytes of a model that one write offers to the system.
const STEP_BYTES: usize = 128 << 10;
/// The same for a Convene peer: within these, as its link needs it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const UNSENT_LEAST: u32 = 8 << 10;
#[cfg(any(target_os = "linux", target_os = "android"))]
const UNSENT_MOST: u32 = 256 << 10;
/// A Convene peer answers pings whatever else it does.
#[cfg(any(target_os = "linux", target_os = "android"))]
const EXTENDED_USER_TIMEOUT: Duration = Duration::from_secs(15);

/// Whether the system holds so little unsent that more may follow. A write would
/// not tell: the kernel fills a segment of up to 64 KiB that it has begun,
/// whatever the mark says; asking whether it is writable heeds the mark.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn has_room(stream: &mio::net::TcpStream) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut asked = [PollFd::new(stream, PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    !matches!(poll(&mut asked, Some(&now)), Ok(0))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn has_room(_: &mio::net::TcpStream) -> bool {
    true
}

pub(super) struct Writer {
    pub stream: mio::net::TcpStream,
    pub poll: Poll,
    pub shared: Arc<Link>,
    pub pace: Option<Pace>,
    /// Whole small frames, and the head of a model's.
    pub batch: Vec<u8>,
    pub batch_sent: usize,
    /// What is left of a model's bytes.
    pub tail: Bytes,
    /// The pace has counted them already.
    pub tail_is_paced: bool,
    /// What the pace asks to wait for, though bulk is ready.
    pub pause: Option<Duration>,
    pub extended: bool,
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub unsent_limit: u32,
}

impl Writer {
    pub fn run(mut self) -> io::Result<()> {
        let result = self.write();
        // Also wakes the reader, which shares the socket.
        let _ = self.stream.shutdown(match result {
            Ok(()) => Shutdown::Write,
            Err(_) => Shutdown::Both,
        });
        if self.shared.state() == CUT {
            let _ = self.stream.shutdown(Shutdown::Both);
        }
        result
    }

    fn write(&mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(4);
        let mut flush_until: Option<Instant> = None;
        loop {
            match self.shared.state() {
                CUT => return Ok(()),
                FLUSH => {
                    let until = *flush_until.get_or_insert_with(|| Instant::now() + FLUSH_TIME);
                    if Instant::now() >= until {
                        return Ok(());
                    }
                }
                _ => {}
            }
            if self.is_done() {
                self.adapt();
                self.fill();
            }
            if self.is_done() {
                if flush_until.is_some() {
                    return Ok(());
                }
                let pause = self.pause;
                self.wait(&mut events, pause)?;
                continue;
            }
            match self.write_some() {
                Ok(None) => {}
                Ok(Some(pause)) => self.wait(&mut events, Some(pause))?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait(&mut events, Some(Duration::from_millis(250)))?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn is_done(&self) -> bool {
        self.batch_sent == self.batch.len() && self.tail.is_empty()
    }

    /// Takes what is next from the outbox.
    fn fill(&mut self) {
        self.batch.clear();
        self.batch_sent = 0;
        self.tail_is_paced = false;
        self.pause = None;
        let now = self.shared.now();
        let upcoming = self.shared.outbox().bulk().upcoming();
        if let Some((holding, index)) = upcoming {
            // Hashed here, if it was not yet, and not under the lock.
            holding.chunk(index);
        }
        let mut outbox = self.shared.outbox();
        let starves = outbox.bulk_starves(now);
        while self.batch.len() < BATCH_BYTES && !starves {
            let Some(next) = outbox.pop() else { break };
            self.batch.extend_from_slice(&next.head);
            let is_model = matches!(next.lane, Lane::Model { .. });
            if is_model || next.tail.len() > BATCH_BYTES {
                self.tail = next.tail;
                return;
            }
            self.batch.extend_from_slice(&next.tail);
        }
        if self.batch.len() >= BATCH_BYTES || !outbox.bulk().is_ready() {
            return;
        }
        if !has_room(&self.stream) {
            // The next writability wakes us; the time is for systems that would not.
            self.pause = Some(Duration::from_millis(20));
            return;
        }
        let mut limit = usize::MAX;
        if let Some(pace) = &mut self.pace {
            match pace.allow(STEP_BYTES, Instant::now()) {
                Ok(allowed) => limit = allowed,
                Err(wait) => {
                    self.pause = Some(wait);
                    return;
                }
            }
        }
        if let Some(step) = outbox.pop_bulk(limit, now) {
            if let Some(pace) = &mut self.pace {
                pace.spend(step.len());
            }
            self.batch.extend_from_slice(&step.head);
            self.tail = step.tail;
            self.tail_is_paced = true;
        }
    }

    /// Socket options that depend on who is at the other end and how fast it is.
    fn adapt(&mut self) {
        let extended = self.shared.extended.load(Ordering::Acquire);
        let begins = extended && !std::mem::replace(&mut self.extended, extended);
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if extended {
            // What lies unsent in the system cannot be overtaken any more: four
            // milliseconds of the link are enough to keep it busy.
            let rate = self.shared.outbox().bulk().rate();
            // Before the rate is known the first windows are limit enough.
            let wanted = if rate > 0.0 {
                ((rate * 0.004) as u32).clamp(UNSENT_LEAST, UNSENT_MOST)
            } else {
                UNSENT_MOST
            };
            if begins || wanted >= 2 * self.unsent_limit || wanted * 2 <= self.unsent_limit {
                self.unsent_limit = wanted;
                let socket = socket2::SockRef::from(&self.stream);
                let results = [
                    socket.set_tcp_notsent_lowat(wanted),
                    if begins { socket.set_tcp_user_timeout(Some(EXTENDED_USER_TIMEOUT)) } else { Ok(()) },
                ];
                for error in results.into_iter().filter_map(Result::err) {
                    tracing::debug!("a socket option could not be set: {error}");
                }
            }
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        let _ = begins;
    }

    /// Writes once. Some: the pace asks to wait.
    fn write_some(&mut self) -> io::Result<Option<Duration>> {
        let written = if self.tail_is_paced {
            // Small frames and a step of a model at once.
            let batch = &self.batch[self.batch_sent..];
            let written = self.stream.write_vectored(&[IoSlice::new(batch), IoSlice::new(&self.tail)])?;
            let of_batch = written.min(batch.len());
            self.batch_sent += of_batch;
            self.tail = self.tail.slice(written - of_batch..);
            written
        } else if self.batch_sent < self.batch.len() {
            let written = self.stream.write(&self.batch[self.batch_sent..])?;
            self.batch_sent += written;
            written
        } else {
            let mut step = self.tail.len().min(STEP_BYTES);
            if let Some(pace) = &mut self.pace {
                match pace.allow(step, Instant::now()) {
                    Ok(allowed) => step = allowed,
                    Err(wait) => return Ok(Some(wait)),
                }
            }
            let written = self.stream.write(&self.tail[..step])?;
            if let Some(pace) = &mut self.pace {
                pace.spend(written);
            }
            self.tail = self.tail.slice(written..);
            written
        };
        if written == 0 {
            return Err(ErrorKind::WriteZero.into());
        }
        self.shared.sent_bytes.fetch_add(written as u64, Ordering::Relaxed);
        Ok(None)
    }

    fn wait(&mut self, events: &mut Events, timeout: Option<Duration>) -> io::Result<()> {
        match self.poll.poll(events, timeout) {
            Err(error) if error.kind() != ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }
}
