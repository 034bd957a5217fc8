//! The thread `peer-N-read`: a connection's bytes to frames. Bytes of models go to
//! the store, credit to the outbox, the rest to the driver.

use std::{
    io::{ErrorKind, Read},
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use crossbeam_channel::Sender;
use mio::{Events, Poll};

use super::{
    super::{Input, storing::Job},
    ArrivingBytes, CUT, FLUSH, FLUSH_TIME, Link,
};
use crate::{
    session::{CloseCause, PeerId},
    transfer::{Intercepted, intercept},
    wire::{Frame, FrameAssembler, WireError},
};

/// Bytes that one read takes at most.
const READ_BYTES: usize = 256 << 10;
/// How often the driver hears how far a model has come.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(50);
/// How long it then waits for the other side to close, so that what was sent
/// last is read and not destroyed by a reset.
const LINGER_TIME: Duration = Duration::from_millis(500);

pub(super) struct Reader {
    pub id: PeerId,
    pub stream: mio::net::TcpStream,
    pub poll: Poll,
    pub shared: Arc<Link>,
    pub arriving: Arc<ArrivingBytes>,
    /// Of those, ours.
    pub reserved: usize,
    pub assembler: FrameAssembler,
    pub inputs: Sender<Input>,
    pub store: Option<Sender<Job>>,
    pub last_progress: Instant,
}

impl Reader {
    pub fn run(mut self) {
        let cause = self.read();
        // Nobody waits for it any more if the driver has ended.
        let _ = self.inputs.send(Input::Closed(self.id, cause));
    }

    fn read(&mut self) -> CloseCause {
        let mut buffer = vec![0; READ_BYTES];
        let mut events = Events::with_capacity(4);
        let mut discard_until: Option<Instant> = None;
        loop {
            match self.shared.state() {
                CUT => return CloseCause::Finished,
                FLUSH => {
                    let until =
                        *discard_until.get_or_insert_with(|| Instant::now() + FLUSH_TIME + LINGER_TIME);
                    if Instant::now() >= until {
                        return CloseCause::Finished;
                    }
                }
                _ => {}
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return CloseCause::Finished,
                Ok(n) => {
                    self.shared.received_bytes.fetch_add(n as u64, Ordering::Relaxed);
                    if discard_until.is_none()
                        && let Err(cause) = self.take(&buffer[..n])
                    {
                        return cause;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let wait = self.poll.poll(&mut events, Some(Duration::from_millis(250)));
                    if let Err(error) = wait
                        && error.kind() != ErrorKind::Interrupted
                    {
                        return CloseCause::Broken(error.to_string());
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return CloseCause::Broken(error.to_string()),
            }
        }
    }

    fn take(&mut self, mut bytes: &[u8]) -> Result<(), CloseCause> {
        let gone = |_error| CloseCause::Finished;
        loop {
            let frame = self.assembler.push(&mut bytes).map_err(|error| match error {
                WireError::WrongPrefix => CloseCause::NotAMeeting,
                // How a LookSee peer ends its session.
                WireError::ZeroLength => CloseCause::Finished,
                error => CloseCause::Fault(error.to_string()),
            })?;
            match &frame {
                None => break,
                Some(Frame::ModelStarted(header)) => {
                    if !self.arriving.reserve(header.glb_bytes) {
                        return Err(CloseCause::Fault(
                            "too many bytes of models are arriving at once".into(),
                        ));
                    }
                    self.reserved = header.glb_bytes;
                }
                Some(Frame::Model(_)) => self.release(),
                Some(Frame::Message(payload)) if self.shared.extended.load(Ordering::Acquire) => {
                    if self.intercept(payload)? {
                        continue;
                    }
                }
                Some(_) => {}
            }
            if let Some(frame) = frame {
                self.inputs.send(Input::Frame(self.id, frame)).map_err(gone)?;
            }
        }
        if let Some(progress) = self.assembler.progress()
            && self.last_progress.elapsed() >= PROGRESS_INTERVAL
        {
            self.last_progress = Instant::now();
            self.inputs.send(Input::Progress(self.id, progress)).map_err(gone)?;
        }
        Ok(())
    }

    /// Whether it was about a transfer's bytes, which the session need not see.
    fn intercept(&self, payload: &Bytes) -> Result<bool, CloseCause> {
        let link = &self.shared;
        let intercepted = intercept(payload, &link.inbound, &link.outbox, link.now())
            .map_err(|error| CloseCause::Fault(error.to_string()))?;
        match intercepted {
            Intercepted::Not => return Ok(false),
            Intercepted::Handled => {}
            Intercepted::Writer => link.wake_writer(),
            Intercepted::Store => {
                if let Some(store) = &self.store
                    && !link.store_called.swap(true, Ordering::AcqRel)
                    // Full: far more connections than there can be.
                    && store.try_send(Job::Arrived(link.clone())).is_err()
                {
                    link.store_called.store(false, Ordering::Release);
                }
                while link.inbound().is_crowded() && link.state() == super::RUN {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
        Ok(true)
    }

    fn release(&mut self) {
        self.arriving.release(std::mem::take(&mut self.reserved));
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.release();
    }
}
