//! The opener's very file in pieces: its arrays as planes, every other byte as it
//! is, and zstd over both.

use std::ops::Range;

use super::{
    MeshError, gltf,
    meshopt::triangles,
    planes::{self, Shape},
    squeeze::{Effort, expand, squeeze},
};

/// Arrays of a file at most; what is beyond stays as it is.
const MAX_RUNS: usize = 100_000;
/// Runs of one chunk at most.
const MAX_CHUNK_RUNS: usize = 65_535;
/// Of a run: its bytes in the file, its bytes in the stream, its kind.
const HEAD_BYTES: usize = 10;

/// What stands in the place of a shape's number of bytes for triangles.
const TRIANGLES: u8 = 3;
/// A triangle of 32-bit indices.
const TRIANGLE_BYTES: usize = 12;

/// What lies somewhere in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Elements(Shape),
    Triangles,
}

impl Kind {
    fn stride(self) -> usize {
        match self {
            Self::Elements(shape) => shape.stride,
            Self::Triangles => TRIANGLE_BYTES,
        }
    }
}

/// Where a file's arrays lie.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    /// Sorted, apart from each other.
    arrays: Vec<(Range<usize>, Kind)>,
}

impl Layout {
    /// Looks for the arrays of a file. None are found in what is no GLB.
    #[must_use]
    pub fn of(glb: &[u8]) -> Self {
        let Ok((json, bin)) = gltf::open(glb) else { return Self::default() };
        let mut arrays = Vec::new();
        for number in 0..gltf::list(&json, "accessors").len().min(MAX_RUNS) {
            let Some(array) = gltf::Array::find(&json, &bin, number) else { continue };
            let lane = gltf::component_bytes(array.component).unwrap_or(1);
            let Some(shape) = Shape::new(array.stride, lane) else { continue };
            let end = array.start + (array.count - 1) * array.stride + lane * array.width;
            // Numbers that are no triangles come back as well, only in more bytes.
            let triangles = (array.component, array.width, array.stride) == (gltf::U32, 1, 4);
            let triangles = triangles && array.count.is_multiple_of(3);
            let kind = if triangles { Kind::Triangles } else { Kind::Elements(shape) };
            arrays.push((array.start..end, kind));
        }
        arrays.sort_by_key(|(range, _)| (range.start, range.end));
        let mut end = 0;
        arrays.retain(|(range, _)| {
            let apart = range.start >= end;
            end = if apart { range.end } else { end };
            apart
        });
        Self { arrays }
    }

    /// The runs of a piece of the file, one behind the other.
    fn runs(&self, piece: &Range<usize>) -> Vec<(usize, Option<Kind>)> {
        let mut runs = Vec::new();
        let mut at = piece.start;
        let first = self.arrays.partition_point(|(range, _)| range.end <= piece.start);
        for &(ref range, kind) in &self.arrays[first..] {
            if range.start >= piece.end || runs.len() + 3 > MAX_CHUNK_RUNS {
                break;
            }
            // Whole elements alone.
            let skipped = at.max(range.start) - range.start;
            let start = range.start + skipped.next_multiple_of(kind.stride());
            let count = range.end.min(piece.end).saturating_sub(start) / kind.stride();
            if count > 0 {
                if start > at {
                    runs.push((start - at, None));
                }
                runs.push((count * kind.stride(), Some(kind)));
                at = start + count * kind.stride();
            }
        }
        if at < piece.end {
            runs.push((piece.end - at, None));
        }
        runs
    }
}

/// Encodes a piece of a file.
#[must_use]
pub fn encode(file: &[u8], layout: &Layout, piece: Range<usize>) -> Vec<u8> {
    let runs = layout.runs(&piece);
    let mut heads = Vec::with_capacity(runs.len() * HEAD_BYTES);
    let mut all = Vec::with_capacity(piece.len());
    let mut at = piece.start;
    for (length, kind) in runs {
        let run = &file[at..at + length];
        let before = all.len();
        let (lane, stride) = match kind {
            None => {
                all.extend_from_slice(run);
                (0, 1)
            }
            Some(Kind::Elements(shape)) => {
                planes::split(run, shape, &mut all);
                (shape.lane as u8, shape.stride)
            }
            Some(Kind::Triangles) => {
                put_triangles(run, &mut all);
                (TRIANGLES, TRIANGLE_BYTES)
            }
        };
        // A piece is some hundred kilobytes, a stride at most 256.
        for number in [length, all.len() - before] {
            heads.extend_from_slice(&(number as u32).to_le_bytes());
        }
        heads.extend([lane, (stride - 1) as u8]);
        at += length;
    }
    let mut bytes = ((heads.len() / HEAD_BYTES) as u16).to_le_bytes().to_vec();
    bytes.extend_from_slice(&heads);
    bytes.extend_from_slice(&squeeze(&all, Effort::More));
    bytes
}

/// How each triangle was turned, then the stream of triangles.
fn put_triangles(run: &[u8], out: &mut Vec<u8>) {
    let number = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
    let list: Vec<[u32; 3]> = run
        .as_chunks::<TRIANGLE_BYTES>()
        .0
        .iter()
        .map(|triangle| [0, 1, 2].map(|corner| number(&triangle.as_chunks::<4>().0[corner])))
        .collect();
    let stream = triangles::encode(&list);
    // Ours: it can be decoded.
    let turned = triangles::decode(&stream, list.len()).unwrap_or_default();
    let turns = list.iter().zip(&turned).map(|(triangle, turned)| {
        (0..2).find(|&turn| turn_back(*turned, turn) == Some(*triangle)).unwrap_or(2)
    });
    out.extend(turns);
    out.extend_from_slice(&stream);
}

fn turn_back([a, b, c]: [u32; 3], turn: u8) -> Option<[u32; 3]> {
    match turn {
        0 => Some([a, b, c]),
        1 => Some([b, c, a]),
        2 => Some([c, a, b]),
        _ => None,
    }
}

/// Appends the `length` bytes of the file that a chunk stands for.
///
/// # Errors
/// If it is damaged, or stands for another number of bytes. Allocates a few times
/// `length`, which the caller has checked.
pub fn decode(chunk: &[u8], length: usize, out: &mut Vec<u8>) -> Result<(), MeshError> {
    let damaged = || MeshError::Damaged("a chunk that stands for something else than it says");
    let (count, rest) = chunk.split_first_chunk::<2>().ok_or_else(damaged)?;
    let count = usize::from(u16::from_le_bytes(*count));
    let (heads, stream) = rest.split_at_checked(count * HEAD_BYTES).ok_or_else(damaged)?;
    let heads = heads.as_chunks::<HEAD_BYTES>().0;
    let number = |head: &[u8; HEAD_BYTES], at: usize| {
        u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize
    };
    let (mut decoded, mut encoded) = (0usize, 0usize);
    for head in heads {
        decoded = decoded.saturating_add(number(head, 0));
        encoded = encoded.saturating_add(number(head, 4));
    }
    // Triangles grow by less than a half where they do not shrink.
    if decoded != length || encoded > length * 2 + count * 64 {
        return Err(damaged());
    }
    let all = expand(stream, encoded).ok_or_else(damaged)?;
    let mut all = &all[..];
    for head in heads {
        let run;
        (run, all) = all.split_at_checked(number(head, 4)).ok_or_else(damaged)?;
        let start = out.len();
        match (head[8], usize::from(head[9]) + 1) {
            (0, 1) => out.extend_from_slice(run),
            (TRIANGLES, TRIANGLE_BYTES) => take_triangles(run, number(head, 0) / TRIANGLE_BYTES, out)?,
            (lane, stride) => {
                let shape = Shape::new(stride, usize::from(lane)).ok_or_else(damaged)?;
                planes::join(run, shape, out);
            }
        }
        if out.len() - start != number(head, 0) {
            return Err(damaged());
        }
    }
    Ok(())
}

fn take_triangles(run: &[u8], count: usize, out: &mut Vec<u8>) -> Result<(), MeshError> {
    let damaged = MeshError::Damaged("triangles that are turned in no way");
    let (turns, stream) = run.split_at_checked(count).ok_or(damaged.clone())?;
    for (triangle, turn) in triangles::decode(stream, count)?.into_iter().zip(turns) {
        let triangle = turn_back(triangle, *turn).ok_or(damaged.clone())?;
        out.extend(triangle.into_iter().flat_map(u32::to_le_bytes));
    }
    Ok(())
}
