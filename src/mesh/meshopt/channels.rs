//! Vertices as codec v1 has them: a byte of each block says for four bytes of an
//! element how wide their groups are, and a byte behind the stream whether the four
//! are bytes, pairs, or one number. Read only.

use super::{
    Cursor, StreamError,
    vertices::{BLOCK_ELEMENTS, GROUP, MAX_STRIDE, block_elements, decode_groups, unzigzag},
};

/// What stands behind the blocks is at least this long.
const TAIL_BYTES: usize = 24;

/// One byte of each element of a block.
type Plane = [u8; BLOCK_ELEMENTS];

/// What follows the header. The stride is one that the codec knows.
pub(super) fn decode(data: &[u8], count: usize, stride: usize) -> Result<Vec<u8>, StreamError> {
    let channels = stride / 4;
    let tail = stride + channels;
    let padded = tail.max(TAIL_BYTES);
    let start = data.len().checked_sub(padded).ok_or(StreamError::EndsEarly)?;
    let (blocks, end) = data.split_at(start);
    let (baseline, modes) = end[padded - tail..].split_at(stride);
    let mut last = [0u8; MAX_STRIDE];
    last[..stride].copy_from_slice(baseline);
    let block = block_elements(stride);
    // Nothing is allocated for what cannot be there: each block has at least its control bytes.
    if count.div_ceil(block).saturating_mul(channels) > blocks.len() {
        return Err(StreamError::EndsEarly);
    }
    let mut cursor = Cursor(blocks);
    let mut bytes = vec![0u8; count * stride];
    let mut planes = [[0u8; BLOCK_ELEMENTS]; 4];
    for elements in bytes.chunks_mut(block * stride) {
        let size = elements.len() / stride;
        let control = cursor.take(channels)?;
        let each = control.iter().zip(modes).zip(last.as_chunks_mut::<4>().0).enumerate();
        for (channel, ((control, &mode), last)) in each {
            for (byte, plane) in planes.iter_mut().enumerate() {
                read_plane(&mut cursor, plane, size, control >> (2 * byte) & 3)?;
            }
            undo_deltas(mode, &planes, last, elements, stride, channel * 4)?;
        }
    }
    if cursor.0.is_empty() { Ok(bytes) } else { Err(StreamError::GoesOn) }
}

/// Reads one byte of all elements of a block: stored differences.
fn read_plane(
    cursor: &mut Cursor<'_>,
    plane: &mut Plane,
    size: usize,
    control: u8,
) -> Result<(), StreamError> {
    let groups = &mut plane[..size.next_multiple_of(GROUP)];
    match control {
        0 => decode_groups(groups, [0, 1, 2, 4], cursor),
        1 => decode_groups(groups, [1, 2, 4, 8], cursor),
        2 => {
            plane.fill(0);
            Ok(())
        }
        _ => {
            // The bytes themselves; unlike groups not rounded up.
            plane[..size].copy_from_slice(cursor.take(size)?);
            Ok(())
        }
    }
}

/// Turns four planes of differences into four bytes of each element, from `offset` on.
fn undo_deltas(
    mode: u8,
    planes: &[Plane; 4],
    last: &mut [u8; 4],
    elements: &mut [u8],
    stride: usize,
    offset: usize,
) -> Result<(), StreamError> {
    let [p0, p1, p2, p3] = planes;
    let stored = p0.iter().zip(p1).zip(p2).zip(p3).map(|(((&a, &b), &c), &d)| [a, b, c, d]);
    let targets = elements
        .chunks_exact_mut(stride)
        .filter_map(|element| element.get_mut(offset..)?.first_chunk_mut::<4>());
    let mut now = *last;
    match (mode & 15, mode >> 4) {
        (0, 0) => {
            for (to, delta) in targets.zip(stored) {
                for (now, delta) in now.iter_mut().zip(delta) {
                    *now = now.wrapping_add(unzigzag(delta));
                }
                *to = now;
            }
        }
        (1, 0) => {
            for (to, [a, b, c, d]) in targets.zip(stored) {
                let step = |from: [u8; 2], delta: [u8; 2]| {
                    let delta = u16::from_le_bytes(delta);
                    u16::from_le_bytes(from)
                        .wrapping_add((delta >> 1) ^ (delta & 1).wrapping_neg())
                        .to_le_bytes()
                };
                let [w, x, y, z] = now;
                let ([w, x], [y, z]) = (step([w, x], [a, b]), step([y, z], [c, d]));
                now = [w, x, y, z];
                *to = now;
            }
        }
        (2, turn) => {
            for (to, delta) in targets.zip(stored) {
                let delta = u32::from_le_bytes(delta).rotate_left(turn.into());
                now = (u32::from_le_bytes(now) ^ delta).to_le_bytes();
                *to = now;
            }
        }
        _ => return Err(StreamError::UnknownMode),
    }
    *last = now;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::vertices;
    use super::*;

    #[test]
    fn each_channel_mode() {
        // One element, its control says literal bytes.
        let one = |mode: u8, planes: [u8; 4]| {
            let mut stream = vec![0xa1, 0xff];
            stream.extend(planes);
            stream.extend([0; 19]);
            stream.extend([10, 0, 20, 0, mode]);
            vertices::decode(&stream, 1, 4)
        };
        assert_eq!(one(0, [1, 0, 2, 0]).unwrap(), [9, 0, 21, 0]);
        // As 16 bits, 10 - 11 borrows from the second byte.
        assert_eq!(one(1, [21, 0, 0, 2]).unwrap(), [0xff, 0xff, 20, 1]);
        assert_eq!(one(2 | 8 << 4, [1, 0, 0, 0]).unwrap(), [10, 1, 20, 0]);
        assert_eq!(one(3, [0; 4]), Err(StreamError::UnknownMode));
        assert_eq!(one(0x10, [0; 4]), Err(StreamError::UnknownMode));
    }
}
