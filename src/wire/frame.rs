//! Frames: any split of a byte stream into whole payloads, with capped lengths.
//!
//! A model's frame can take seconds to arrive, so the assembler tells of it as
//! soon as its JSON is whole ([`Frame::ModelStarted`]) and counts its bytes.

use bytes::Bytes;

use super::{Limits, MEETING_PREFIX, MessageType, WireError, message::OpenModel};

/// Grow a payload's memory in steps of this many bytes as they arrive, so that
/// an announced length alone costs nothing.
const GROWTH_BYTES: usize = 4 << 20;

/// What the assembler found in the stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// The other side's prefix was right.
    Prefix,
    /// A whole payload, type byte first; every type but OpenModel.
    Message(Bytes),
    /// The JSON of an OpenModel message is here, its GLB is on the way.
    ModelStarted(ModelHeader),
    /// A whole OpenModel message.
    Model(ModelFrame),
    /// A whole frame of a type that we do not know; its bytes are gone.
    Skipped {
        /// The type byte of the message.
        type_byte: u8,
    },
}

/// The head of a model's frame.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelHeader {
    /// Its JSON.
    pub open: OpenModel,
    /// Bytes of GLB that follow.
    pub glb_bytes: usize,
}

/// A whole OpenModel message.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFrame {
    /// Its JSON.
    pub open: OpenModel,
    /// The payload as it came, type byte first, for passing on unchanged.
    pub payload: Bytes,
    /// The GLB within the payload; shares its memory.
    pub glb: Bytes,
    /// The BLAKE3 hash of the GLB, made here because a reader's thread can spare
    /// the time and the meeting's driver cannot.
    pub content: [u8; 32],
}

/// How far the model that is arriving has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of GLB here.
    pub received: usize,
    /// Bytes of GLB in all.
    pub total: usize,
}

/// A frame's bytes: the length and the payload.
pub fn encode_frame(payload: &[u8]) -> Bytes {
    let mut frame = Vec::with_capacity(4 + payload.len());
    // Payloads are capped far below 2 GiB.
    frame.extend_from_slice(&(payload.len() as i32).to_le_bytes());
    frame.extend_from_slice(payload);
    frame.into()
}

/// Turns a stream, split anywhere, into [`Frame`]s.
///
/// Call [`push`](Self::push) until it has taken all bytes. After an error the
/// stream has no meaning any more.
#[derive(Debug)]
pub struct FrameAssembler {
    limits: Limits,
    state: State,
    buffer: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq)]
enum State {
    Prefix,
    /// Four bytes of length and the type byte.
    Head,
    Body {
        length: usize,
    },
    Model {
        length: usize,
        /// Bytes before the GLB: type, JSON length, JSON.
        head: Option<(usize, OpenModel)>,
    },
    Skip {
        type_byte: u8,
        left: usize,
    },
}

impl FrameAssembler {
    /// Waits for the prefix, then for frames.
    pub fn new(limits: Limits) -> Self {
        Self { limits, state: State::Prefix, buffer: Vec::new() }
    }

    /// Takes bytes from the front of `input` up to the end of the next frame.
    /// `None`: all were taken and no frame has ended.
    pub fn push(&mut self, input: &mut &[u8]) -> Result<Option<Frame>, WireError> {
        loop {
            match &mut self.state {
                State::Prefix => {
                    self.fill(input, MEETING_PREFIX.len());
                    if !MEETING_PREFIX.starts_with(&self.buffer) {
                        return Err(WireError::WrongPrefix);
                    }
                    if self.buffer.len() < MEETING_PREFIX.len() {
                        return Ok(None);
                    }
                    self.buffer.clear();
                    self.state = State::Head;
                    return Ok(Some(Frame::Prefix));
                }
                State::Head => {
                    self.fill(input, 5);
                    if self.buffer.len() >= 4 {
                        self.check_length()?;
                    }
                    if self.buffer.len() < 5 {
                        return Ok(None);
                    }
                    self.begin_payload()?;
                }
                State::Body { length } => {
                    let length = *length;
                    self.fill(input, length);
                    if self.buffer.len() < length {
                        return Ok(None);
                    }
                    self.state = State::Head;
                    return Ok(Some(Frame::Message(std::mem::take(&mut self.buffer).into())));
                }
                State::Model { length, head } => {
                    let length = *length;
                    match head {
                        None => {
                            if let Some(started) = self.read_model_head(input, length)? {
                                return Ok(Some(started));
                            }
                            return Ok(None);
                        }
                        Some((head_bytes, _)) => {
                            let head_bytes = *head_bytes;
                            self.fill(input, length);
                            if self.buffer.len() < length {
                                return Ok(None);
                            }
                            let payload: Bytes = std::mem::take(&mut self.buffer).into();
                            let glb = payload.slice(head_bytes..);
                            let State::Model { head: Some((_, open)), .. } =
                                std::mem::replace(&mut self.state, State::Head)
                            else {
                                return Ok(None);
                            };
                            let content = *blake3::hash(&glb).as_bytes();
                            return Ok(Some(Frame::Model(ModelFrame { open, payload, glb, content })));
                        }
                    }
                }
                State::Skip { type_byte, left } => {
                    let taken = input.len().min(*left);
                    *input = &input[taken..];
                    *left -= taken;
                    if *left > 0 {
                        return Ok(None);
                    }
                    let type_byte = *type_byte;
                    self.state = State::Head;
                    return Ok(Some(Frame::Skipped { type_byte }));
                }
            }
        }
    }

    /// How far the model that is arriving has come, if one is.
    pub fn progress(&self) -> Option<Progress> {
        let State::Model { length, head: Some((head_bytes, _)) } = &self.state else { return None };
        Some(Progress { received: self.buffer.len().saturating_sub(*head_bytes), total: length - head_bytes })
    }

    /// Whether the stream stands at the border of two frames.
    pub fn is_between_frames(&self) -> bool {
        self.state == State::Head && self.buffer.is_empty()
    }

    /// Takes bytes until the buffer holds `wanted`.
    fn fill(&mut self, input: &mut &[u8], wanted: usize) {
        let missing = wanted.saturating_sub(self.buffer.len());
        let taken = missing.min(input.len());
        if self.buffer.capacity() < self.buffer.len() + taken {
            // Whole at once where it is small, by steps that double where it is large.
            let step = missing.min(GROWTH_BYTES.max(self.buffer.len())).max(taken);
            self.buffer.reserve_exact(step);
        }
        self.buffer.extend_from_slice(&input[..taken]);
        *input = &input[taken..];
    }

    fn length(&self) -> i32 {
        let bytes = self.buffer.first_chunk::<4>().copied().unwrap_or_default();
        i32::from_le_bytes(bytes)
    }

    fn check_length(&self) -> Result<(), WireError> {
        match self.length() {
            0 => Err(WireError::ZeroLength),
            length if length < 0 => Err(WireError::NegativeLength(length)),
            _ => Ok(()),
        }
    }

    fn begin_payload(&mut self) -> Result<(), WireError> {
        let length = usize::try_from(self.length()).unwrap_or(0);
        let type_byte = self.buffer.get(4).copied().unwrap_or(0);
        let limit = self.limits.payload_bytes(type_byte);
        if length > limit {
            return Err(WireError::TooLong { type_byte, length, limit });
        }
        self.buffer = Vec::with_capacity(length.min(GROWTH_BYTES));
        self.state = match MessageType::from_byte(type_byte) {
            None => State::Skip { type_byte, left: length - 1 },
            Some(MessageType::OpenModel) => State::Model { length, head: None },
            Some(_) => State::Body { length },
        };
        if !matches!(self.state, State::Skip { .. }) {
            self.buffer.push(type_byte);
        }
        Ok(())
    }

    fn read_model_head(&mut self, input: &mut &[u8], length: usize) -> Result<Option<Frame>, WireError> {
        self.fill(input, length.min(5));
        if self.buffer.len() < 5 {
            if length < 5 {
                return Err(self.model_json_length(0, 0));
            }
            return Ok(None);
        }
        let announced = self.buffer[1..].first_chunk::<4>().copied().unwrap_or_default();
        let json_bytes = i32::from_le_bytes(announced);
        let available = length - 5;
        let json_bytes = usize::try_from(json_bytes)
            .ok()
            .filter(|&n| n <= available && n <= self.limits.json_bytes)
            .ok_or_else(|| self.model_json_length(json_bytes.into(), available))?;
        let head_bytes = 5 + json_bytes;
        self.fill(input, head_bytes);
        if self.buffer.len() < head_bytes {
            return Ok(None);
        }
        let glb_bytes = length - head_bytes;
        if glb_bytes > self.limits.model_bytes {
            return Err(WireError::TooLong {
                type_byte: MessageType::OpenModel as u8,
                length: glb_bytes,
                limit: self.limits.model_bytes,
            });
        }
        let open = OpenModel::decode(&self.buffer[5..head_bytes], &self.limits)?;
        self.state = State::Model { length, head: Some((head_bytes, open.clone())) };
        Ok(Some(Frame::ModelStarted(ModelHeader { open, glb_bytes })))
    }

    fn model_json_length(&self, length: i64, available: usize) -> WireError {
        WireError::ModelJsonLength { length, available, limit: self.limits.json_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream() -> Vec<u8> {
        let open = OpenModel { model_id: "abc".into(), model_name: "é.glb".into(), ..Default::default() };
        let mut model = open.encode_head();
        model.extend_from_slice(&[7; 1000]);
        [
            &MEETING_PREFIX[..],
            &encode_frame(b"\x05{\"version\":\"17\"}"),
            &encode_frame(&[77, 1, 2, 3]),
            &encode_frame(&[0]),
            &encode_frame(&model),
            &encode_frame(b"\x0a{\"keep_aligned\":true}"),
        ]
        .concat()
    }

    fn read_all(chunks: &[&[u8]]) -> Result<Vec<Frame>, WireError> {
        let mut assembler = FrameAssembler::new(Limits::default());
        let mut frames = Vec::new();
        for chunk in chunks {
            let mut input = *chunk;
            while let Some(frame) = assembler.push(&mut input)? {
                frames.push(frame);
            }
            assert!(input.is_empty());
        }
        Ok(frames)
    }

    #[test]
    fn every_single_split_gives_the_same_frames() {
        let stream = stream();
        let whole = read_all(&[&stream]).unwrap();
        assert_eq!(whole.len(), 7);
        assert!(matches!(&whole[5], Frame::Model(m) if m.glb[..] == [7; 1000] && m.open.model_id == "abc"));
        for at in 0..=stream.len() {
            assert_eq!(read_all(&[&stream[..at], &stream[at..]]).unwrap(), whole, "split at {at}");
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(read_all(&bytes).unwrap(), whole);
    }

    #[test]
    fn progress_counts_the_glb_only() {
        let mut assembler = FrameAssembler::new(Limits::default());
        let stream = stream();
        let mut input = &stream[..stream.len() - 26 - 500];
        while assembler.push(&mut input).unwrap().is_some() {}
        assert_eq!(assembler.progress(), Some(Progress { received: 500, total: 1000 }));
        assert!(!assembler.is_between_frames());
    }

    #[test]
    fn bad_lengths() {
        let with = |bytes: &[u8]| read_all(&[MEETING_PREFIX, bytes]);
        assert_eq!(with(&[0; 4]), Err(WireError::ZeroLength));
        assert_eq!(with(&(-5i32).to_le_bytes()), Err(WireError::NegativeLength(-5)));
        let huge = [&(1i32 << 30).to_le_bytes()[..], &[3]].concat();
        assert!(matches!(with(&huge), Err(WireError::TooLong { type_byte: 3, .. })));
        let long_json = [&(70_000i32).to_le_bytes()[..], &[2]].concat();
        assert!(matches!(with(&long_json), Err(WireError::TooLong { type_byte: 2, limit: 65_537, .. })));
        assert_eq!(read_all(&[b"GET / HTTP/1.1"]), Err(WireError::WrongPrefix));
        assert_eq!(read_all(&[b"L", b"X"]), Err(WireError::WrongPrefix));
        for json_bytes in [-1i32, 10, 1 << 30] {
            let payload = [&[3u8][..], &json_bytes.to_le_bytes(), b"{}"].concat();
            assert!(matches!(with(&encode_frame(&payload)), Err(WireError::ModelJsonLength { .. })));
        }
        assert!(matches!(with(&encode_frame(&[3, 0])), Err(WireError::ModelJsonLength { .. })));
    }

    #[test]
    fn an_announced_length_alone_costs_little() {
        let mut assembler = FrameAssembler::new(Limits::default());
        let mut input: &[u8] = MEETING_PREFIX;
        assembler.push(&mut input).unwrap();
        let mut input: &[u8] = &[&(200i32 << 20).to_le_bytes()[..], &[3]].concat();
        assert_eq!(assembler.push(&mut input), Ok(None));
        assert!(assembler.buffer.capacity() <= GROWTH_BYTES);
    }

    proptest! {
        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400), flip in 0usize..1100, bit in 0u8..8) {
            let _ = read_all(&[&[&MEETING_PREFIX[..], &bytes].concat()]);
            let mut stream = stream();
            let at = flip % stream.len();
            stream[at] ^= 1 << bit;
            let _ = read_all(&[&stream]);
        }

        #[test]
        fn any_chunking(cuts in proptest::collection::vec(1usize..90, 1..60)) {
            let stream = stream();
            let mut chunks = Vec::new();
            let mut rest = &stream[..];
            for cut in cuts {
                let (chunk, tail) = rest.split_at(cut.min(rest.len()));
                chunks.push(chunk);
                rest = tail;
            }
            chunks.push(rest);
            prop_assert_eq!(read_all(&chunks).unwrap(), read_all(&[&stream]).unwrap());
        }
    }
}
