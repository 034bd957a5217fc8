//! Mode 0: elements of any size, byte by byte as differences to the element before.

use super::{Cursor, Damage, ENDS_EARLY, GOES_ON, MAX_STRIDE};

/// Elements of a block at most.
const MAX_BLOCK: usize = 256;
const GROUP: usize = 16;

/// One byte of each element of a block.
type Plane = [u8; MAX_BLOCK];

pub(super) fn decode(data: &[u8], count: usize, stride: usize) -> Result<Vec<u8>, Damage> {
    let channels = stride / 4;
    let (&header, data) = data.split_first().ok_or(ENDS_EARLY)?;
    let (tail, padded) = match header {
        0xa0 => (stride, stride.max(32)),
        0xa1 => (stride + channels, (stride + channels).max(24)),
        _ => return Err("its compressed attributes have an unknown header"),
    };
    let version = header & 1;
    let start = data.len().checked_sub(padded).ok_or(ENDS_EARLY)?;
    let (blocks, end) = data.split_at(start);
    let (baseline, modes) = end.get(padded - tail..).ok_or(ENDS_EARLY)?.split_at(stride);
    let mut last = [0u8; MAX_STRIDE];
    for (last, &byte) in last.iter_mut().zip(baseline) {
        *last = byte;
    }
    let mut cursor = Cursor(blocks);
    let block = ((8192 / stride) & !15).min(MAX_BLOCK);
    // Nothing is allocated for what cannot be there: each block has at least its control bytes.
    let least = if version == 1 { channels } else { stride };
    if count.div_ceil(block).saturating_mul(least) > blocks.len() {
        return Err(ENDS_EARLY);
    }
    let mut bytes = vec![0u8; count * stride];
    let mut planes = [[0u8; MAX_BLOCK]; 4];
    for elements in bytes.chunks_mut(block * stride) {
        let size = elements.len() / stride;
        let control = if version == 1 { cursor.take(channels)? } else { &[] };
        for channel in 0..channels {
            let control = control.get(channel).copied();
            for (byte, plane) in planes.iter_mut().enumerate() {
                read_plane(&mut cursor, plane, size, control.map(|control| control >> (2 * byte) & 3))?;
            }
            let mode = modes.get(channel).copied().unwrap_or(0);
            let last =
                last.get_mut(channel * 4..).and_then(|rest| rest.first_chunk_mut::<4>()).ok_or(ENDS_EARLY)?;
            undo_deltas(mode, &planes, last, elements, stride, channel * 4)?;
        }
    }
    if cursor.0.is_empty() { Ok(bytes) } else { Err(GOES_ON) }
}

/// Reads one byte of all elements of a block: stored differences.
fn read_plane(
    cursor: &mut Cursor,
    plane: &mut Plane,
    size: usize,
    control: Option<u8>,
) -> Result<(), Damage> {
    let bits: [u8; 4] = match control {
        None => [0, 2, 4, 8],
        Some(0) => [0, 1, 2, 4],
        Some(1) => [1, 2, 4, 8],
        Some(2) => {
            plane.fill(0);
            return Ok(());
        }
        Some(_) => {
            // The bytes themselves; unlike groups not rounded up.
            for (to, &from) in plane.iter_mut().zip(cursor.take(size)?) {
                *to = from;
            }
            return Ok(());
        }
    };
    let groups = size.div_ceil(GROUP);
    let header = cursor.take(groups.div_ceil(4))?;
    let (chunks, _) = plane.as_chunks_mut::<GROUP>();
    for (number, group) in chunks.iter_mut().take(groups).enumerate() {
        let selector = header.get(number / 4).copied().unwrap_or(0) >> (2 * (number % 4)) & 3;
        match bits.get(usize::from(selector)).copied().unwrap_or(0) {
            0 => group.fill(0),
            8 => group.copy_from_slice(cursor.take(GROUP)?),
            1 => {
                let packed: [u8; 2] = take(cursor)?;
                let value = |i: usize| packed.get(i / 8).copied().unwrap_or(0) >> (i % 8) & 1;
                sentinels(cursor, group, 1, std::array::from_fn(value))?;
            }
            2 => {
                let packed: [u8; 4] = take(cursor)?;
                let value = |i: usize| packed.get(i / 4).copied().unwrap_or(0) >> (6 - 2 * (i % 4)) & 3;
                sentinels(cursor, group, 3, std::array::from_fn(value))?;
            }
            _ => {
                let packed: [u8; 8] = take(cursor)?;
                let value = |i: usize| packed.get(i / 2).copied().unwrap_or(0) >> (4 - 4 * (i % 2)) & 15;
                sentinels(cursor, group, 15, std::array::from_fn(value))?;
            }
        }
    }
    Ok(())
}

fn take<const N: usize>(cursor: &mut Cursor) -> Result<[u8; N], Damage> {
    cursor.take(N)?.try_into().map_err(|_| ENDS_EARLY)
}

/// Small values as they are; a value of all ones stands for a byte that follows the group.
fn sentinels(
    cursor: &mut Cursor,
    group: &mut [u8; GROUP],
    sentinel: u8,
    values: [u8; GROUP],
) -> Result<(), Damage> {
    *group = values;
    let large = values.iter().filter(|&&value| value == sentinel).count();
    if large > 0 {
        let mut stored = cursor.take(large)?.iter();
        for value in group.iter_mut().filter(|value| **value == sentinel) {
            *value = stored.next().copied().unwrap_or(0);
        }
    }
    Ok(())
}

/// Turns four planes of differences into four bytes of each element, from `offset` on.
fn undo_deltas(
    mode: u8,
    planes: &[Plane; 4],
    last: &mut [u8; 4],
    elements: &mut [u8],
    stride: usize,
    offset: usize,
) -> Result<(), Damage> {
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
                    *now = now.wrapping_add((delta >> 1) ^ (delta & 1).wrapping_neg());
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
        _ => return Err("its compressed attributes have an unknown channel mode"),
    }
    *last = now;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_extensions_text() {
        let bytes = [0x17, 0x5f, 0xf0, 0xbc, 0x77, 0xa9, 0x21, 0x00, 0x34, 0xb5];
        let mut cursor = Cursor(&bytes);
        let mut group = [0; GROUP];
        let packed: [u8; 8] = take(&mut cursor).unwrap();
        let values = std::array::from_fn(|i| packed[i / 2] >> (4 - 4 * (i % 2)) & 15);
        sentinels(&mut cursor, &mut group, 15, values).unwrap();
        let deltas = group.map(|v| (v >> 1) as i8 ^ -((v & 1) as i8));
        assert_eq!(deltas, [-1, -4, -3, 26, -91, 0, -6, 6, -4, -4, 5, -5, 1, -1, 0, 0]);
        assert!(cursor.0.is_empty());
    }

    #[test]
    fn zero_deltas_repeat_the_baseline() {
        // Version 0, 20 elements of 4 bytes: four planes of two groups, all zero.
        let mut stream = vec![0xa0, 0, 0, 0, 0];
        stream.extend([0; 28]);
        stream.extend([1, 2, 3, 4]);
        assert_eq!(decode(&stream, 20, 4).unwrap(), [1, 2, 3, 4].repeat(20));
        assert_eq!(decode(&stream[..30], 20, 4), Err(ENDS_EARLY));
        stream.insert(1, 0);
        assert_eq!(decode(&stream, 20, 4), Err(GOES_ON));
    }

    #[test]
    fn each_channel_mode_of_version_1() {
        // One element, its control says literal bytes.
        let one = |mode: u8, planes: [u8; 4]| {
            let mut stream = vec![0xa1, 0xff];
            stream.extend(planes);
            stream.extend([0; 19]);
            stream.extend([10, 0, 20, 0, mode]);
            decode(&stream, 1, 4)
        };
        assert_eq!(one(0, [1, 0, 2, 0]).unwrap(), [9, 0, 21, 0]);
        // As 16 bits, 10 - 11 borrows from the second byte.
        assert_eq!(one(1, [21, 0, 0, 2]).unwrap(), [0xff, 0xff, 20, 1]);
        assert_eq!(one(2 | 8 << 4, [1, 0, 0, 0]).unwrap(), [10, 1, 20, 0]);
        assert!(one(3, [0; 4]).is_err() && one(0x10, [0; 4]).is_err());
    }
}
