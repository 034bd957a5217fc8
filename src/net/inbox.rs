//! The thread `file-inbox`: takes pushed files, several at a time.

use std::{
    collections::HashMap,
    io::{self, ErrorKind, Read, Write},
    net::IpAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crossbeam_channel::Sender;
use mio::{Events, Interest, Poll, Token, Waker};
use tempfile::NamedTempFile;

use super::{Input, NetError, NetEvent, listener, tell_driver};
use crate::{
    files::FilesFolder,
    threads,
    wire::{
        Limits,
        file_push::{FilePushItem, FilePushReader},
    },
};

const LISTENER: Token = Token(0);
const WAKE: Token = Token(1);
/// Files that may arrive at the same time.
const MAXIMUM_SENDERS: usize = 16;
/// A sender that is silent for this long is given up.
const SILENCE: Duration = Duration::from_secs(30);
/// One that is silent for this long makes room for another.
const YIELD_AFTER: Duration = Duration::from_secs(2);
const READ_BYTES: usize = 256 << 10;
/// Bytes that one sender gets through before the others have their turn.
const TURN_BYTES: usize = 4 << 20;

/// The receiver of files; stopped and joined when it is dropped.
#[derive(Debug)]
pub(super) struct Inbox {
    pub port: u16,
    stop: Arc<AtomicBool>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
}

impl Inbox {
    pub fn start(
        bind: Option<IpAddr>,
        port: u16,
        folder: PathBuf,
        limits: Limits,
        inputs: Sender<Input>,
    ) -> Result<Self, NetError> {
        let folder =
            FilesFolder::open(&folder).map_err(|error| NetError::Folder { reason: error.to_string() })?;
        let listener = listener::bind(bind, port)?;
        let failed = |error: io::Error| NetError::listen(&error, "", port);
        let local = listener.local_addr().map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let poll = Poll::new().map_err(failed)?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKE).map_err(failed)?);
        let mut listener = mio::net::TcpListener::from_std(listener);
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE).map_err(failed)?;
        let stop = Arc::new(AtomicBool::new(false));
        let server = Server {
            listener,
            poll,
            stop: stop.clone(),
            folder,
            limits,
            inputs,
            senders: HashMap::new(),
            next: 2,
            buffer: vec![0; READ_BYTES],
        };
        let thread =
            threads::spawn("file-inbox", move || server.run()).map_err(|error| NetError::threads(&error))?;
        Ok(Self { port: local.port(), stop, waker, thread: Some(thread) })
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Err(error) = self.waker.wake() {
            tracing::debug!("the file inbox could not be woken: {error}");
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Server {
    listener: mio::net::TcpListener,
    poll: Poll,
    stop: Arc<AtomicBool>,
    folder: FilesFolder,
    limits: Limits,
    inputs: Sender<Input>,
    senders: HashMap<Token, FileSender>,
    next: usize,
    buffer: Vec<u8>,
}

/// Somebody who sends a file.
struct FileSender {
    stream: mio::net::TcpStream,
    reader: FilePushReader,
    file: Option<(NamedTempFile, String)>,
    last_byte: Instant,
    /// There may be more to read without the system saying so again.
    ready: bool,
}

/// What one turn of reading came to.
enum Turn {
    /// More later.
    Waiting,
    /// More now, after the others.
    More,
    /// The sender has closed; its file is whole.
    Whole,
}

impl Server {
    fn run(mut self) {
        let mut events = Events::with_capacity(64);
        loop {
            let more = self.senders.values().any(|s| s.ready);
            let timeout = if more { Duration::ZERO } else { Duration::from_secs(1) };
            // A signal may end the wait early.
            let _ = self.poll.poll(&mut events, Some(timeout));
            if self.stop.load(Ordering::Acquire) {
                return;
            }
            self.accept();
            for event in &events {
                if let Some(sender) = self.senders.get_mut(&event.token()) {
                    sender.ready = true;
                }
            }
            let ready: Vec<Token> = self.senders.iter().filter(|(_, s)| s.ready).map(|(t, _)| *t).collect();
            for token in ready {
                self.serve(token);
            }
            self.senders.retain(|_, sender| {
                let silent = sender.last_byte.elapsed() >= SILENCE;
                if silent {
                    tracing::info!("a sender of a file was silent for too long");
                }
                !silent
            });
        }
    }

    fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok((mut stream, _)) => {
                    if self.senders.len() >= MAXIMUM_SENDERS && !self.make_room() {
                        tracing::warn!("a file was turned away: {MAXIMUM_SENDERS} are arriving");
                        continue;
                    }
                    let token = Token(self.next);
                    self.next += 1;
                    if let Err(error) = self.poll.registry().register(&mut stream, token, Interest::READABLE)
                    {
                        tracing::warn!("a sender of a file cannot be served: {error}");
                        continue;
                    }
                    let sender = FileSender {
                        stream,
                        reader: FilePushReader::new(&self.limits),
                        file: None,
                        last_byte: Instant::now(),
                        ready: true,
                    };
                    self.senders.insert(token, sender);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    tracing::debug!("a sender of a file could not be taken: {error}");
                    return;
                }
            }
        }
    }

    /// Gives up the sender that has been silent longest, if it was silent for a
    /// while, so that a crowd of silent ones keeps nobody out.
    fn make_room(&mut self) -> bool {
        let longest = self.senders.iter().min_by_key(|(_, sender)| sender.last_byte);
        let silent = longest.filter(|(_, sender)| sender.last_byte.elapsed() >= YIELD_AFTER);
        let Some(token) = silent.map(|(token, _)| *token) else { return false };
        self.senders.remove(&token).is_some()
    }

    fn serve(&mut self, token: Token) {
        let Some(sender) = self.senders.get_mut(&token) else { return };
        match sender.read(&self.folder, &mut self.buffer) {
            Ok(Turn::Waiting) => sender.ready = false,
            Ok(Turn::More) => {}
            Ok(Turn::Whole) => {
                let Some(sender) = self.senders.remove(&token) else { return };
                let event = match sender.finish(&self.folder) {
                    Ok((path, bytes)) => NetEvent::FileReceived { path, bytes },
                    Err(reason) => NetEvent::FileFailed { reason },
                };
                tell_driver(&self.inputs, Input::File(event), &self.stop);
            }
            Err(reason) => {
                self.senders.remove(&token);
                tracing::info!("a pushed file was refused: {reason}");
                tell_driver(&self.inputs, Input::File(NetEvent::FileFailed { reason }), &self.stop);
            }
        }
    }
}

impl FileSender {
    fn read(&mut self, folder: &FilesFolder, buffer: &mut [u8]) -> Result<Turn, String> {
        let mut left = TURN_BYTES;
        while left > 0 {
            match self.stream.read(buffer) {
                Ok(0) => {
                    self.reader.finish().map_err(|error| error.to_string())?;
                    return Ok(Turn::Whole);
                }
                Ok(n) => {
                    self.last_byte = Instant::now();
                    left = left.saturating_sub(n);
                    self.take(&buffer[..n], folder)?;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Turn::Waiting),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("the sender's connection broke: {error}")),
            }
        }
        Ok(Turn::More)
    }

    fn take(&mut self, mut input: &[u8], folder: &FilesFolder) -> Result<(), String> {
        let not_kept = |error: io::Error| format!("it could not be stored: {error}");
        while let Some(item) = self.reader.push(&mut input).map_err(|error| error.to_string())? {
            match item {
                FilePushItem::Begin { name, .. } => {
                    self.file = Some((folder.begin().map_err(not_kept)?, name));
                }
                FilePushItem::Data(bytes) => {
                    if let Some((file, _)) = &mut self.file {
                        file.write_all(bytes).map_err(not_kept)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn finish(self, folder: &FilesFolder) -> Result<(PathBuf, u64), String> {
        let bytes = self.reader.received();
        let (file, name) = self.file.ok_or_else(|| "it never began".to_owned())?;
        let path = folder.finish(file, &name).map_err(|error| format!("it could not be stored: {error}"))?;
        Ok((path, bytes))
    }
}
