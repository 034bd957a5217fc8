//! A peer of a meeting made of a bare socket: it says what the test wants.
#![allow(dead_code, reason = "shared between tests, each of which uses a part")]

use std::{
    collections::VecDeque,
    io::{ErrorKind, Read, Write},
    net::{Shutdown, TcpStream},
    time::{Duration, Instant},
};

use convene::wire::{
    Frame, FrameAssembler, Limits, MEETING_PREFIX, Message, encode_frame,
    message::{OpenModel, Vec3Json, Version, WandPosition},
};

const TIMEOUT: Duration = Duration::from_secs(60);

pub struct RawPeer {
    pub stream: TcpStream,
    assembler: FrameAssembler,
    frames: VecDeque<Frame>,
    ended: bool,
}

/// A frame of that type with that text.
pub fn frame(type_byte: u8, body: &[u8]) -> Vec<u8> {
    encode_frame(&[&[type_byte], body].concat()).to_vec()
}

/// A version message as LookSee sends it.
pub fn looksee_version(version: &str) -> Message {
    Message::Version(Version { version: Some(version.into()), ..Default::default() })
}

/// A version message of a Convene peer.
pub fn convene_version(id: &str) -> Message {
    Message::Version(Version {
        version: Some("17".into()),
        ext: Some(1),
        id: Some(id.into()),
        name: Some("Raw".into()),
        ..Default::default()
    })
}

/// A pose whose head is at (`x`, 1, 2) on the wire.
pub fn pose(device_id: &str, x: f32) -> Message {
    Message::WandPosition(WandPosition {
        device_id: device_id.into(),
        head_position: Vec3Json { x, y: 1.0, z: 2.0 },
        ..Default::default()
    })
}

/// A whole OpenModel frame.
pub fn open_model(model_id: &str, name: &str, glb: &[u8]) -> Vec<u8> {
    let open =
        OpenModel { model_id: model_id.into(), model_name: name.into(), scale: 1.0, ..Default::default() };
    let mut payload = open.encode_head();
    payload.extend_from_slice(glb);
    encode_frame(&payload).to_vec()
}

impl RawPeer {
    /// Connects and says nothing.
    pub fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        Self::on(stream)
    }

    pub fn on(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        stream.set_write_timeout(Some(TIMEOUT)).unwrap();
        Self {
            stream,
            assembler: FrameAssembler::new(Limits::default()),
            frames: VecDeque::new(),
            ended: false,
        }
    }

    /// Connects, says prefix and version, and waits until it was taken.
    pub fn join(port: u16, version: &Message) -> Self {
        let mut peer = Self::connect(port);
        peer.greet(version);
        peer.wait_for(|frame| matches!(frame, Frame::Message(m) if m[0] == 9));
        peer
    }

    pub fn greet(&mut self, version: &Message) {
        self.bytes(MEETING_PREFIX);
        self.send(version);
    }

    pub fn send(&mut self, message: &Message) {
        self.bytes(&encode_frame(&message.encode()));
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Sends as long as the other side takes it; whether it took all.
    pub fn try_bytes(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// The next frame; none after the end or when the time is over.
    pub fn next_within(&mut self, time: Duration) -> Option<Frame> {
        let until = Instant::now() + time;
        let mut buffer = vec![0; 1 << 16];
        while self.frames.is_empty() && !self.ended {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.stream.set_read_timeout(Some(left)).unwrap();
            match self.stream.read(&mut buffer) {
                Ok(0) => self.ended = true,
                Ok(n) => {
                    let mut input = &buffer[..n];
                    while let Some(frame) = self.assembler.push(&mut input).unwrap() {
                        self.frames.push_back(frame);
                    }
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) => {}
                Err(_) => self.ended = true,
            }
        }
        self.frames.pop_front()
    }

    pub fn wait_for(&mut self, fits: impl Fn(&Frame) -> bool) -> Frame {
        let until = Instant::now() + TIMEOUT;
        let mut seen = Vec::new();
        while let Some(frame) = self.next_within(until.saturating_duration_since(Instant::now())) {
            if fits(&frame) {
                return frame;
            }
            seen.push(match frame {
                Frame::Message(m) => format!("type {}", m[0]),
                Frame::Model(m) => format!("model {}", m.open.model_id),
                other => format!("{other:?}").chars().take(60).collect(),
            });
        }
        panic!("no such frame, ended: {}, seen: {seen:?}", self.ended)
    }

    /// The next message of that type.
    pub fn wait_for_type(&mut self, type_byte: u8) -> Message {
        let frame = self.wait_for(|frame| matches!(frame, Frame::Message(m) if m[0] == type_byte));
        let Frame::Message(payload) = frame else { unreachable!() };
        Message::decode(&payload, &Limits::default()).unwrap().unwrap()
    }

    /// Waits until the other side has closed; what it had said before.
    pub fn until_closed(&mut self) -> Vec<Frame> {
        let until = Instant::now() + TIMEOUT;
        let mut frames = Vec::new();
        while let Some(frame) = self.next_within(until.saturating_duration_since(Instant::now())) {
            frames.push(frame);
        }
        assert!(self.ended, "the other side did not close");
        frames
    }

    /// Reads, whatever it is, until the other side has gone.
    pub fn until_guest_gone(&mut self) {
        self.stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut buffer = [0; 4096];
        while self.stream.read(&mut buffer).is_ok_and(|n| n > 0) {}
    }

    /// FIN.
    pub fn finish(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// RST.
    pub fn reset(self) {
        socket2::SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)).unwrap();
    }
}
