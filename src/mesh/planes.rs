//! Arrays as planes: of each element the difference to the one before, number by
//! number, the sign in the lowest bit; then all first bytes, all second bytes and
//! so on. What varies little stands together, which zstd likes.

/// How the elements of an array are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of an element.
    pub stride: usize,
    /// Bytes of each of its numbers: 1, 2 or 4.
    pub lane: usize,
}

impl Shape {
    /// Elements of `stride` bytes that consist of numbers of `lane` bytes; none if
    /// there are no such elements.
    #[must_use]
    pub fn new(stride: usize, lane: usize) -> Option<Self> {
        let fits = matches!(lane, 1 | 2 | 4) && stride > 0 && stride <= 256 && stride.is_multiple_of(lane);
        fits.then_some(Self { stride, lane })
    }
}

/// Appends the planes of whole elements; a rest of less than one is left out.
pub fn split(elements: &[u8], shape: Shape, out: &mut Vec<u8>) {
    let Shape { stride, lane } = shape;
    let count = elements.len() / stride;
    let start = out.len();
    out.resize(start + count * stride, 0);
    for (number, planes) in out[start..].chunks_exact_mut((count * lane).max(1)).enumerate() {
        match lane {
            1 => split_lane::<1>(elements, stride, number, planes),
            2 => split_lane::<2>(elements, stride, number * 2, planes),
            _ => split_lane::<4>(elements, stride, number * 4, planes),
        }
    }
}

fn split_lane<const LANE: usize>(elements: &[u8], stride: usize, offset: usize, planes: &mut [u8]) {
    let mut planes = split_planes::<LANE>(planes);
    let mut before = 0u32;
    for (at, element) in elements.chunks_exact(stride).enumerate() {
        let value = read::<LANE>(&element[offset..]);
        let delta = zigzag::<LANE>(value.wrapping_sub(before)).to_le_bytes();
        before = value;
        for (plane, byte) in planes.iter_mut().zip(delta) {
            plane[at] = byte;
        }
    }
}

/// Appends the elements whose planes these are; a rest that fills no plane is
/// left out.
pub fn join(planes: &[u8], shape: Shape, out: &mut Vec<u8>) {
    let Shape { stride, lane } = shape;
    let count = planes.len() / stride;
    let start = out.len();
    out.resize(start + count * stride, 0);
    let elements = &mut out[start..];
    for (number, planes) in planes.chunks_exact((count * lane).max(1)).take(stride / lane).enumerate() {
        match lane {
            1 => join_lane::<1>(elements, stride, number, planes),
            2 => join_lane::<2>(elements, stride, number * 2, planes),
            _ => join_lane::<4>(elements, stride, number * 4, planes),
        }
    }
}

fn join_lane<const LANE: usize>(elements: &mut [u8], stride: usize, offset: usize, planes: &[u8]) {
    let count = planes.len() / LANE;
    let planes: [&[u8]; LANE] = std::array::from_fn(|n| &planes[n * count..(n + 1) * count]);
    let mut before = 0u32;
    for (at, element) in elements.chunks_exact_mut(stride).enumerate() {
        let mut delta = [0; 4];
        for (byte, plane) in delta.iter_mut().zip(planes) {
            *byte = plane[at];
        }
        let delta = u32::from_le_bytes(delta);
        before = before.wrapping_add((delta >> 1) ^ (delta & 1).wrapping_neg());
        element[offset..offset + LANE].copy_from_slice(&before.to_le_bytes()[..LANE]);
    }
}

/// Small ones of either sign become small: the sign goes into the lowest bit.
fn zigzag<const LANE: usize>(delta: u32) -> u32 {
    let unused = 32 - 8 * LANE as u32;
    let delta = (delta << unused).cast_signed() >> unused;
    (delta << 1 ^ delta >> 31).cast_unsigned()
}

fn read<const LANE: usize>(bytes: &[u8]) -> u32 {
    let mut value = [0; 4];
    value[..LANE].copy_from_slice(&bytes[..LANE]);
    u32::from_le_bytes(value)
}

fn split_planes<const LANE: usize>(planes: &mut [u8]) -> [&mut [u8]; LANE] {
    let count = planes.len() / LANE;
    let mut parts = planes.chunks_exact_mut(count.max(1));
    std::array::from_fn(|_| parts.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden() {
        let elements = [1u16, 0x0203, 3, 0x0202].map(u16::to_le_bytes).concat();
        let mut planes = Vec::new();
        split(&elements, Shape { stride: 4, lane: 2 }, &mut planes);
        assert_eq!(planes, [2, 4, 0, 0, 6, 1, 4, 0]);
    }

    #[test]
    fn shapes() {
        for (stride, lane) in [(0, 1), (6, 4), (4, 3), (4, 0), (260, 4)] {
            assert_eq!(Shape::new(stride, lane), None);
        }
        assert!(Shape::new(12, 4).is_some());
    }

    proptest! {
        #[test]
        fn what_is_split_is_joined(
            mut elements in prop::collection::vec(any::<u8>(), 0..500), lanes in 1usize..9, lane in 0usize..3,
        ) {
            let shape = Shape { stride: lanes << lane, lane: 1 << lane };
            elements.truncate(elements.len() / shape.stride * shape.stride);
            let (mut planes, mut back) = (Vec::new(), Vec::new());
            split(&elements, shape, &mut planes);
            prop_assert_eq!(planes.len(), elements.len());
            join(&planes, shape, &mut back);
            prop_assert_eq!(back, elements);
        }
    }
}
