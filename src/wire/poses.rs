//! Poses between peers that both speak the extension: binary, several in one
//! message.
//!
//! ```text
//! poses = u8 0x42 | entry*
//! entry = u8 n | device id of n bytes | u32 seq | u32 stamp | left | right | head
//! part  = 3 x f32 position | 4 x i16 rotation in 1/32767
//! ```

use super::message::{QuatJson, Vec3Json, WandPosition};

const PART_BYTES: usize = 20;
const FIXED_BYTES: usize = 8 + 3 * PART_BYTES;
const UNIT: f32 = 32767.0;

/// One participant's pose.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PoseEntry {
    /// Where everything is; without `seq` and `stamp`.
    pub wand: WandPosition,
    /// A running number of the sender's poses, wrapping.
    pub seq: u32,
    /// The sender's monotonic clock when it took the pose, milliseconds, wrapping.
    pub stamp_ms: u32,
}

impl PoseEntry {
    /// The bytes of the entry.
    pub fn encode(&self) -> Vec<u8> {
        let wand = &self.wand;
        // Ids are capped at 64 bytes where they are read.
        let id = wand.device_id.as_bytes();
        let id = id.get(..64).unwrap_or(id);
        let mut out = Vec::with_capacity(1 + id.len() + FIXED_BYTES);
        out.push(id.len() as u8);
        out.extend_from_slice(id);
        out.extend_from_slice(&self.seq.to_le_bytes());
        out.extend_from_slice(&self.stamp_ms.to_le_bytes());
        for (position, rotation) in [
            (wand.left_position, wand.left_rotation),
            (wand.right_position, wand.right_rotation),
            (wand.head_position, wand.head_rotation),
        ] {
            for number in [position.x, position.y, position.z] {
                out.extend_from_slice(&number.to_le_bytes());
            }
            for number in [rotation.x, rotation.y, rotation.z, rotation.w] {
                let steps = (number.clamp(-1.0, 1.0) * UNIT).round() as i16;
                out.extend_from_slice(&steps.to_le_bytes());
            }
        }
        out
    }

    /// Reads the first entry of `bytes`; and how long it is.
    fn decode(bytes: &[u8]) -> Option<(Self, usize)> {
        let (&length, rest) = bytes.split_first()?;
        let (id, rest) = rest.split_at_checked(length.into())?;
        let (fixed, _) = rest.split_at_checked(FIXED_BYTES)?;
        let (numbers, parts) = fixed.split_at_checked(8)?;
        let number = |at: usize| numbers.get(at..)?.first_chunk::<4>().map(|b| u32::from_le_bytes(*b));
        let mut parts = parts.chunks_exact(PART_BYTES).map(part);
        let (left, right, head) = (parts.next()??, parts.next()??, parts.next()??);
        let wand = WandPosition {
            device_id: String::from_utf8_lossy(id).into_owned(),
            left_position: left.0,
            left_rotation: left.1,
            right_position: right.0,
            right_rotation: right.1,
            head_position: head.0,
            head_rotation: head.1,
            seq: None,
            stamp: None,
        };
        let entry = Self { wand, seq: number(0)?, stamp_ms: number(4)? };
        Some((entry, 1 + id.len() + FIXED_BYTES))
    }
}

fn part(bytes: &[u8]) -> Option<(Vec3Json, QuatJson)> {
    let float = |at: usize| bytes.get(at..)?.first_chunk::<4>().map(|b| f32::from_le_bytes(*b));
    let unit =
        |at: usize| bytes.get(at..)?.first_chunk::<2>().map(|b| f32::from(i16::from_le_bytes(*b)) / UNIT);
    let position = Vec3Json { x: float(0)?, y: float(4)?, z: float(8)? };
    let rotation = QuatJson { x: unit(12)?, y: unit(14)?, z: unit(16)?, w: unit(18)? };
    Some((position, rotation))
}

/// Reads the entries of a message (without its type byte), each with its bytes;
/// none if they do not fit.
pub fn decode_entries(mut body: &[u8]) -> Option<Vec<PoseEntry>> {
    let mut entries = Vec::new();
    while !body.is_empty() {
        let (entry, length) = PoseEntry::decode(body)?;
        entries.push(entry);
        body = body.get(length..)?;
    }
    Some(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: &str) -> PoseEntry {
        PoseEntry {
            wand: WandPosition {
                device_id: id.into(),
                left_position: Vec3Json { x: -1.5, y: 1e-7, z: 3.0e5 },
                head_rotation: QuatJson { x: 0.5, y: -0.5, z: 0.5, w: -1.0 },
                ..Default::default()
            },
            seq: u32::MAX,
            stamp_ms: 0x0102_0304,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let (a, b) = (entry("aaaaaaaa"), entry("é"));
        assert_eq!(a.encode().len(), 77, "about a hundred bytes with everything around it");
        let body = [a.encode(), b.encode()].concat();
        let read = decode_entries(&body).unwrap();
        assert_eq!(read.len(), 2);
        for (read, written) in read.iter().zip([&a, &b]) {
            assert_eq!((read.seq, read.stamp_ms), (written.seq, written.stamp_ms));
            assert_eq!(read.wand.left_position, written.wand.left_position);
            assert!((read.wand.head_rotation.x - 0.5).abs() < 2e-5);
            assert_eq!(read.encode(), written.encode(), "passed on it is the same");
        }
    }

    #[test]
    fn cut_ones_are_nothing() {
        let body = entry("aaaaaaaa").encode();
        for end in 1..body.len() {
            assert_eq!(decode_entries(&body[..end]), None, "{end}");
        }
        assert_eq!(decode_entries(&[]), Some(Vec::new()));
    }
}
