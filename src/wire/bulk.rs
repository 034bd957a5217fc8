//! The binary messages of transfers: data, credit, cancel, done.
//!
//! ```text
//! data   = u8 0x45 | u16 channel | u64 offset | bytes of the channel's stream
//! credit = u8 0x46 | u16 channel | u64 max_offset
//! cancel = u8 0x47 | u16 channel | u8 by           0: the receiver, 1: the sender
//! done   = u8 0x48 | u16 channel | u32 chunks | content id (32 bytes)
//! ```

use bytes::{BufMut, Bytes, BytesMut};

use super::{MessageType, encode_frame};

/// Bytes of a data message before the model's.
pub const DATA_HEAD_BYTES: usize = 11;
/// The same with the frame's length.
pub const DATA_FRAME_HEAD_BYTES: usize = 4 + DATA_HEAD_BYTES;
/// Longest part of a stream in one data message, bytes.
pub const MAXIMUM_STEP: usize = 256 << 10;

/// Writes the head of a data frame of `bytes` bytes.
pub fn put_data_head(out: &mut BytesMut, channel: u16, offset: u64, bytes: usize) {
    // A step is at most 256 KiB.
    out.put_i32_le((DATA_HEAD_BYTES + bytes) as i32);
    out.put_u8(MessageType::Data as u8);
    out.put_u16_le(channel);
    out.put_u64_le(offset);
}

/// Reads channel and offset of a data message.
pub fn decode_data_head(payload: &[u8]) -> Option<(u16, u64)> {
    Some((u16::from_le_bytes(array(payload, 1)?), u64::from_le_bytes(array(payload, 3)?)))
}

/// A credit message.
pub fn encode_credit(channel: u16, max_offset: u64) -> Vec<u8> {
    let mut payload = vec![MessageType::Credit as u8];
    payload.extend_from_slice(&channel.to_le_bytes());
    payload.extend_from_slice(&max_offset.to_le_bytes());
    payload
}

/// Reads channel and offset of a credit message.
pub fn decode_credit(payload: &[u8]) -> Option<(u16, u64)> {
    decode_data_head(payload).filter(|_| payload.len() == DATA_HEAD_BYTES)
}

/// Type 0x47. A channel is closed before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancel {
    /// Which.
    pub channel: u16,
    /// The sender cannot go on; else the receiver does not want more.
    pub by_sender: bool,
}

impl Cancel {
    /// The payload.
    pub fn encode(&self) -> Vec<u8> {
        let [a, b] = self.channel.to_le_bytes();
        vec![MessageType::Cancel as u8, a, b, u8::from(self.by_sender)]
    }

    /// Reads a payload.
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let channel = u16::from_le_bytes(array(payload, 1)?);
        let by = *payload.get(3).filter(|&&by| by <= 1 && payload.len() == 4)?;
        Some(Self { channel, by_sender: by == 1 })
    }
}

/// Type 0x48. All that was asked for has been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// Over which channel.
    pub channel: u16,
    /// How many chunks.
    pub chunks: u32,
    /// Of the opener's file.
    pub content: [u8; 32],
}

impl Done {
    /// The payload.
    pub fn encode(&self) -> Vec<u8> {
        let mut payload = vec![MessageType::Done as u8];
        payload.extend_from_slice(&self.channel.to_le_bytes());
        payload.extend_from_slice(&self.chunks.to_le_bytes());
        payload.extend_from_slice(&self.content);
        payload
    }

    /// Reads a payload.
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let done = Self {
            channel: u16::from_le_bytes(array(payload, 1)?),
            chunks: u32::from_le_bytes(array(payload, 3)?),
            content: array(payload, 7)?,
        };
        (payload.len() == 39).then_some(done)
    }
}

/// A frame around a payload.
pub fn frame(payload: &[u8]) -> Bytes {
    encode_frame(payload)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk::<N>().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut frame = BytesMut::new();
        put_data_head(&mut frame, 0x1234, 0x0102_0304_0506_0708, 5);
        assert_eq!(frame[..4], 16i32.to_le_bytes());
        assert_eq!(decode_data_head(&frame[4..]), Some((0x1234, 0x0102_0304_0506_0708)));
        assert_eq!(decode_credit(&encode_credit(7, u64::MAX)), Some((7, u64::MAX)));
        for by_sender in [false, true] {
            let cancel = Cancel { channel: 9, by_sender };
            assert_eq!(Cancel::decode(&cancel.encode()), Some(cancel));
        }
        let done = Done { channel: 1, chunks: 70_000, content: [9; 32] };
        assert_eq!(Done::decode(&done.encode()), Some(done));
    }

    #[test]
    fn wrong_lengths_are_nothing() {
        let credit = encode_credit(7, 1);
        assert_eq!(decode_credit(&credit[..10]), None);
        assert_eq!(decode_credit(&[&credit[..], &[0]].concat()), None);
        let done = Done { channel: 1, chunks: 2, content: [9; 32] }.encode();
        assert_eq!(Done::decode(&done[..38]), None);
        assert_eq!(Done::decode(&[&done[..], &[0]].concat()), None);
        assert_eq!(Cancel::decode(&[0x47, 1, 0]), None);
        assert_eq!(Cancel::decode(&[0x47, 1, 0, 2]), None);
        assert_eq!(decode_data_head(&[0x45, 1, 0]), None);
    }
}
