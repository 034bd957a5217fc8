//! Vertices: blocks of elements, byte by byte of an element, each as differences
//! to the element before, in groups of 16 of 0, 2, 4 or 8 bits. What codec v1 adds
//! when reading is in [`super::channels`].

use super::{Cursor, StreamError, channels};

const HEADER: u8 = 0xa0;
/// Of codec v1, which is only read.
const HEADER_V1: u8 = 0xa1;
pub(super) const GROUP: usize = 16;
const BLOCK_BYTES: usize = 8192;
pub(super) const BLOCK_ELEMENTS: usize = 256;
/// Bits of a group's values, by the two bits that its block's head has for it.
const BITS: [u8; 4] = [0, 2, 4, 8];
/// The first element stands at the end, behind zeros up to this length.
const TAIL_BYTES: usize = 32;
/// Bytes of an element at most.
pub const MAX_STRIDE: usize = 256;

pub(super) fn block_elements(stride: usize) -> usize {
    (BLOCK_BYTES / stride / GROUP * GROUP).min(BLOCK_ELEMENTS)
}

fn is_usable(stride: usize) -> bool {
    stride > 0 && stride <= MAX_STRIDE && stride.is_multiple_of(4)
}

/// Encodes elements of `stride` bytes (a multiple of 4, at most [`MAX_STRIDE`]).
/// What does not fit the stride is left out.
#[must_use]
pub fn encode(elements: &[u8], stride: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(elements.len() / 2 + 64);
    out.push(HEADER);
    if !is_usable(stride) {
        return out;
    }
    let first = elements.get(..stride).unwrap_or_default();
    let mut last = [0; MAX_STRIDE];
    last[..first.len()].copy_from_slice(first);
    let whole = elements.len() / stride * stride;
    for block in elements[..whole].chunks(block_elements(stride) * stride) {
        // The usual strides are compiled for themselves.
        match stride {
            4 => encode_block::<4>(block, 4, &mut last, &mut out),
            8 => encode_block::<8>(block, 8, &mut last, &mut out),
            12 => encode_block::<12>(block, 12, &mut last, &mut out),
            _ => encode_block::<0>(block, stride, &mut last, &mut out),
        }
    }
    out.resize(out.len() + TAIL_BYTES.max(stride) - first.len(), 0);
    out.extend_from_slice(first);
    out
}

fn encode_block<const STRIDE: usize>(
    block: &[u8],
    stride: usize,
    last: &mut [u8; MAX_STRIDE],
    out: &mut Vec<u8>,
) {
    let stride = if STRIDE > 0 { STRIDE } else { stride };
    let count = block.len() / stride;
    let mut deltas = [0u8; BLOCK_ELEMENTS];
    for (byte, last) in last.iter_mut().enumerate().take(stride) {
        let mut before = *last;
        for (delta, element) in deltas.iter_mut().zip(block.chunks_exact(stride)) {
            let value = element[byte];
            *delta = zigzag(value.wrapping_sub(before));
            before = value;
        }
        *last = before;
        let padded = count.next_multiple_of(GROUP);
        deltas[count..padded].fill(0);
        encode_groups(&deltas[..padded], out);
    }
}

fn encode_groups(deltas: &[u8], out: &mut Vec<u8>) {
    let (groups, _) = deltas.as_chunks::<GROUP>();
    let heads = out.len();
    out.resize(heads + groups.len().div_ceil(4), 0);
    for (number, group) in groups.iter().enumerate() {
        let over = |limit: u8| group.iter().map(|&value| u8::from(value >= limit)).sum::<u8>() as usize;
        let mode: u8 = if over(1) == 0 {
            0
        } else {
            let (two, four) = (4 + over(3), 8 + over(15));
            match () {
                () if two <= four && two < GROUP => 1,
                () if four < GROUP => 2,
                () => 3,
            }
        };
        out[heads + number / 4] |= mode << (number % 4 * 2);
        match mode {
            1 => {
                let (quads, _) = group.as_chunks::<4>();
                for &[a, b, c, d] in quads {
                    out.push(a.min(3) << 6 | b.min(3) << 4 | c.min(3) << 2 | d.min(3));
                }
                put_from(3, group, out);
            }
            2 => {
                let (pairs, _) = group.as_chunks::<2>();
                for &[a, b] in pairs {
                    out.push(a.min(15) << 4 | b.min(15));
                }
                put_from(15, group, out);
            }
            3 => out.extend_from_slice(group),
            _ => {}
        }
    }
}

/// Appends those values that are at least so large. Which they are is hard to foresee
/// for a processor: this has no branches.
fn put_from(least: u8, group: &[u8; GROUP], out: &mut Vec<u8>) {
    let (mut large, mut count) = ([0; GROUP], 0);
    for &value in group {
        large[count % GROUP] = value;
        count += usize::from(value >= least);
    }
    out.extend_from_slice(&large[..count]);
}

/// The `count` elements of `stride` bytes.
///
/// # Errors
/// If the stream is none of such elements. Allocates `count * stride` bytes: the
/// caller has checked that against its limits.
pub fn decode(data: &[u8], count: usize, stride: usize) -> Result<Vec<u8>, StreamError> {
    let mut cursor = Cursor(data);
    let header = cursor.byte()?;
    if !is_usable(stride) {
        return Err(StreamError::OtherCodec);
    }
    match header {
        HEADER => {}
        HEADER_V1 => return channels::decode(cursor.0, count, stride),
        _ => return Err(StreamError::OtherCodec),
    }
    let tail = data.len().checked_sub(stride.max(TAIL_BYTES)).filter(|&at| at > 0);
    let tail = tail.ok_or(StreamError::EndsEarly)?;
    cursor.0 = &data[1..tail];
    // Every group of 16 costs a quarter of a byte at least: no stream stands for
    // much more than itself.
    if (count / BLOCK_ELEMENTS).saturating_mul(stride) > cursor.0.len() {
        return Err(StreamError::EndsEarly);
    }
    let mut last = [0; MAX_STRIDE];
    last[..stride].copy_from_slice(&data[data.len() - stride..]);
    let mut elements = vec![0; count * stride];
    for block in elements.chunks_mut(block_elements(stride) * stride) {
        match stride {
            4 => decode_block::<4>(block, 4, &mut last, &mut cursor)?,
            8 => decode_block::<8>(block, 8, &mut last, &mut cursor)?,
            12 => decode_block::<12>(block, 12, &mut last, &mut cursor)?,
            _ => decode_block::<0>(block, stride, &mut last, &mut cursor)?,
        }
    }
    if cursor.0.is_empty() { Ok(elements) } else { Err(StreamError::GoesOn) }
}

fn decode_block<const STRIDE: usize>(
    block: &mut [u8],
    stride: usize,
    last: &mut [u8; MAX_STRIDE],
    cursor: &mut Cursor<'_>,
) -> Result<(), StreamError> {
    let stride = if STRIDE > 0 { STRIDE } else { stride };
    let padded = (block.len() / stride).next_multiple_of(GROUP);
    let mut deltas = [0u8; BLOCK_ELEMENTS];
    for (byte, last) in last.iter_mut().enumerate().take(stride) {
        decode_groups(&mut deltas[..padded], BITS, cursor)?;
        let mut before = *last;
        for (delta, element) in deltas.iter().zip(block.chunks_exact_mut(stride)) {
            before = before.wrapping_add(unzigzag(*delta));
            element[byte] = before;
        }
        *last = before;
    }
    Ok(())
}

/// Groups of values of so many bits, by what the head says of each: 0, 1, 2, 4 or 8.
#[inline]
pub(super) fn decode_groups(
    deltas: &mut [u8],
    bits: [u8; 4],
    cursor: &mut Cursor<'_>,
) -> Result<(), StreamError> {
    let (groups, _) = deltas.as_chunks_mut::<GROUP>();
    let heads = cursor.take(groups.len().div_ceil(4))?;
    for (number, group) in groups.iter_mut().enumerate() {
        match bits[usize::from(heads[number / 4] >> (number % 4 * 2) & 3)] {
            0 => group.fill(0),
            1 => {
                // Other than the wider ones, the lowest bit comes first.
                let packed = cursor.array::<2>()?;
                for (values, byte) in group.as_chunks_mut::<8>().0.iter_mut().zip(packed) {
                    *values = std::array::from_fn(|bit| byte >> bit & 1);
                }
                replace(group, 1, cursor)?;
            }
            2 => {
                let packed = cursor.array::<4>()?;
                for (values, byte) in group.as_chunks_mut::<4>().0.iter_mut().zip(packed) {
                    *values = [byte >> 6, byte >> 4 & 3, byte >> 2 & 3, byte & 3];
                }
                replace(group, 3, cursor)?;
            }
            4 => {
                let packed = cursor.array::<8>()?;
                for (values, byte) in group.as_chunks_mut::<2>().0.iter_mut().zip(packed) {
                    *values = [byte >> 4, byte & 15];
                }
                replace(group, 15, cursor)?;
            }
            _ => *group = *cursor.array::<GROUP>()?,
        }
    }
    Ok(())
}

/// Values that did not fit stand behind the group.
fn replace(group: &mut [u8; GROUP], sentinel: u8, cursor: &mut Cursor<'_>) -> Result<(), StreamError> {
    for value in group.iter_mut().filter(|value| **value == sentinel) {
        *value = cursor.byte()?;
    }
    Ok(())
}

fn zigzag(value: u8) -> u8 {
    (value.cast_signed() >> 7).cast_unsigned() ^ (value << 1)
}

pub(super) fn unzigzag(value: u8) -> u8 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden() {
        // Two elements: differences 0, 1, 2 and 255 from byte to byte.
        let elements = [10, 20, 30, 40, 10, 21, 32, 39];
        let stream = encode(&elements, 4);
        let mut expected = vec![0xa0, 0];
        expected.extend([1, 0x20, 0, 0, 0]);
        expected.extend([1, 0x30, 0, 0, 0, 4]);
        expected.extend([1, 0x10, 0, 0, 0]);
        expected.extend([0; 28]);
        expected.extend([10, 20, 30, 40]);
        assert_eq!(stream, expected);
        assert_eq!(decode(&stream, 2, 4), Ok(elements.to_vec()));
    }

    #[test]
    fn the_example_of_the_extensions_text() {
        // One group of four bits, as its head says.
        let bytes = [2, 0x17, 0x5f, 0xf0, 0xbc, 0x77, 0xa9, 0x21, 0x00, 0x34, 0xb5];
        let (mut cursor, mut group) = (Cursor(&bytes), [0; GROUP]);
        decode_groups(&mut group, BITS, &mut cursor).unwrap();
        let deltas = group.map(|value| unzigzag(value).cast_signed());
        assert_eq!(deltas, [-1, -4, -3, 26, -91, 0, -6, 6, -4, -4, 5, -5, 1, -1, 0, 0]);
        assert!(cursor.0.is_empty());
    }

    #[test]
    fn zero_deltas_repeat_the_baseline() {
        // 20 elements of 4 bytes: four planes of two groups, all zero.
        let mut stream = vec![0xa0, 0, 0, 0, 0];
        stream.extend([0; 28]);
        stream.extend([1, 2, 3, 4]);
        assert_eq!(decode(&stream, 20, 4), Ok([1, 2, 3, 4].repeat(20)));
        assert_eq!(decode(&stream[..30], 20, 4), Err(StreamError::EndsEarly));
        stream.insert(1, 0);
        assert_eq!(decode(&stream, 20, 4), Err(StreamError::GoesOn));
    }

    #[test]
    fn a_stream_that_lies_is_refused() {
        let elements: Vec<u8> = (0..4000u32).flat_map(|n| (n * n).to_le_bytes()).collect();
        let stream = encode(&elements, 8);
        assert_eq!(decode(&stream, 2000, 8), Ok(elements));
        assert_eq!(decode(&stream, 1_000_000_000, 8), Err(StreamError::EndsEarly));
        assert_eq!(decode(&stream, 1500, 8), Err(StreamError::GoesOn));
        assert_eq!(decode(&stream, 2000, 6), Err(StreamError::OtherCodec));
        assert_eq!(decode(&[0xa0], 0, 4), Err(StreamError::EndsEarly));
        for end in 0..stream.len() {
            assert!(decode(&stream[..end], 2000, 8).is_err(), "{end}");
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            quarter in 1usize..=64,
            steps in prop::collection::vec(prop_oneof![4 => 0u8..4, 2 => 0u8..16, 1 => any::<u8>()], 0..6000),
        ) {
            let stride = quarter * 4;
            let mut elements = steps;
            for at in stride..elements.len() {
                elements[at] = elements[at].wrapping_add(elements[at - stride]);
            }
            elements.truncate(elements.len() / stride * stride);
            let stream = encode(&elements, stride);
            prop_assert_eq!(decode(&stream, elements.len() / stride, stride), Ok(elements));
        }

        #[test]
        fn anything_is_decoded_or_refused(
            mut stream in prop::collection::vec(any::<u8>(), 0..600), count in 0usize..400, quarter in 0usize..70,
            header in HEADER..=HEADER_V1,
        ) {
            if let Some(first) = stream.first_mut() {
                *first = header;
            }
            if let Ok(elements) = decode(&stream, count, quarter * 4) {
                prop_assert_eq!(elements.len(), count * quarter * 4);
            }
        }
    }
}
