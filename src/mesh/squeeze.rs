//! zstd, the last step of every method: repeated shapes become one.

use ruzstd::decoding::FrameDecoder;

/// Memory that a stream may ask its reader to look back over, bytes.
const MAX_WINDOW_BYTES: u64 = 8 << 20;

/// How much time is spent on finding repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// zstd's level 1.
    Little,
    /// zstd's level 3.
    More,
}

/// What [`expand`] gives back.
#[cfg(not(target_os = "android"))]
#[must_use]
pub fn squeeze(bytes: &[u8], effort: Effort) -> Vec<u8> {
    let level = match effort {
        Effort::Little => 1,
        Effort::More => 3,
    };
    // It cannot fail for memory that is large enough, which it allocates itself.
    zstd::bulk::compress(bytes, level).unwrap_or_default()
}

/// What [`expand`] gives back. The pure encoder knows one level.
#[cfg(target_os = "android")]
#[must_use]
pub fn squeeze(bytes: &[u8], _: Effort) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

/// The `length` bytes that a stream stands for; none if it stands for more, for
/// less or for nothing. Allocates them and [`MAX_WINDOW_BYTES`] at most: the
/// caller has checked `length` against its limits.
#[must_use]
pub fn expand(stream: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(MAX_WINDOW_BYTES);
    let mut bytes = vec![0; length];
    let written = decoder.decode_all(stream, &mut bytes).ok()?;
    (written == length).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_squeezed_is_expanded_to_its_length_alone() {
        let bytes: Vec<u8> = (0..100_000u32).map(|n| (n / 7 % 31) as u8).collect();
        for effort in [Effort::Little, Effort::More] {
            let stream = squeeze(&bytes, effort);
            assert!(stream.len() * 10 < bytes.len());
            assert_eq!(expand(&stream, bytes.len()).as_ref(), Some(&bytes));
            for wrong in [0, 1, bytes.len() - 1, bytes.len() + 1] {
                assert_eq!(expand(&stream, wrong), None);
            }
            assert_eq!(expand(&stream[..stream.len() - 1], bytes.len()), None);
        }
        assert_eq!(expand(&squeeze(&[], Effort::Little), 0), Some(Vec::new()));
        assert_eq!(expand(b"neither", 7), None);
    }

    /// What a headset writes.
    #[test]
    fn the_pure_encoder_is_read_as_well() {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        let bytes: Vec<u8> = (0..300_000u32).map(|n| (n.wrapping_mul(n) / 991 % 61) as u8).collect();
        let stream = compress_to_vec(&bytes[..], CompressionLevel::Fastest);
        assert!(stream.len() < bytes.len());
        assert_eq!(expand(&stream, bytes.len()), Some(bytes));
    }

    #[test]
    fn a_bomb_is_not_blown_up() {
        // 64 MiB of zeros in some kilobytes, announced as a little.
        let bomb = squeeze(&vec![0; 64 << 20], Effort::Little);
        assert!(bomb.len() < 16 << 10);
        assert_eq!(expand(&bomb, 1000), None);
    }
}
