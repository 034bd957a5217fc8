//! Indices that are no triangles: each as the difference to one of two before it.

use super::{Cursor, StreamError};

const HEADER: u8 = 0xd1;
/// Zeros behind the last one.
const TAIL_BYTES: usize = 4;

/// The `count` indices, which are not checked against anything.
///
/// # Errors
/// If the stream is none of so many indices. Allocates 4 bytes for each: the stream
/// has at least one.
pub fn decode(data: &[u8], count: usize) -> Result<Vec<u32>, StreamError> {
    let data = data.strip_prefix(&[HEADER]).ok_or(StreamError::OtherCodec)?;
    let (body, _) = data.split_last_chunk::<TAIL_BYTES>().ok_or(StreamError::EndsEarly)?;
    if count > body.len() {
        return Err(StreamError::EndsEarly);
    }
    let mut cursor = Cursor(body);
    let mut last = [0u32; 2];
    let mut indices = Vec::with_capacity(count);
    for _ in 0..count {
        let value = cursor.varint()?;
        let [even, odd] = &mut last;
        let last = if value & 1 == 0 { even } else { odd };
        *last = last.wrapping_add((value >> 2) ^ (value >> 1 & 1).wrapping_neg());
        indices.push(*last);
    }
    if cursor.0.is_empty() { Ok(indices) } else { Err(StreamError::GoesOn) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_have_two_baselines() {
        let stream = [0xd1, 0b100, 0b101, 0b110, 0b1001, 0, 0, 0, 0];
        assert_eq!(decode(&stream, 4), Ok(vec![1, 1, 0u32.wrapping_sub(1), 3]));
        assert_eq!(decode(&stream, 5), Err(StreamError::EndsEarly));
        assert_eq!(decode(&stream, 3), Err(StreamError::GoesOn));
        assert_eq!(decode(&[0xe1; 9], 4), Err(StreamError::OtherCodec));
    }
}
