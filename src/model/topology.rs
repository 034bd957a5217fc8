//! Strips, fans and loops as plain lists of triangles and lines.

use super::array::Array;
use super::decoded::Topology;
use super::error::Fault;

/// A primitive's mode in glTF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Points,
    Lines,
    LineLoop,
    LineStrip,
    Triangles,
    TriangleStrip,
    TriangleFan,
}

impl Mode {
    pub(super) fn from_gltf(mode: u64) -> Result<Self, Fault> {
        Ok(match mode {
            0 => Self::Points,
            1 => Self::Lines,
            2 => Self::LineLoop,
            3 => Self::LineStrip,
            4 => Self::Triangles,
            5 => Self::TriangleStrip,
            6 => Self::TriangleFan,
            _ => return Err(Fault::Mode(u32::try_from(mode).unwrap_or(u32::MAX))),
        })
    }

    pub(super) const fn topology(self) -> Topology {
        match self {
            Self::Points => Topology::Points,
            Self::Lines | Self::LineLoop | Self::LineStrip => Topology::Lines,
            Self::Triangles | Self::TriangleStrip | Self::TriangleFan => Topology::Triangles,
        }
    }

    /// Triangles, lines or points at most that this many indices make.
    pub(super) const fn elements(self, indices: u64) -> u64 {
        match self {
            Self::Points | Self::LineLoop => indices,
            Self::Lines => indices / 2,
            Self::LineStrip => indices.saturating_sub(1),
            Self::Triangles => indices / 3,
            Self::TriangleStrip | Self::TriangleFan => indices.saturating_sub(2),
        }
    }

    /// What one element is called.
    pub(super) const fn element_name(self) -> &'static str {
        match self.topology() {
            Topology::Points => "point",
            Topology::Lines => "line",
            Topology::Triangles => "triangle",
        }
    }

    /// Rewrites the indices so that each group of [`Topology::corners`] is one element.
    /// Returns how many indices at the end make no whole element.
    pub(super) fn to_list(self, indices: &mut Array<u32>) -> usize {
        let list = match self {
            Self::Points | Self::Lines | Self::Triangles => {
                let rest = indices.len() % self.topology().corners();
                indices.truncate(indices.len() - rest);
                return rest;
            }
            Self::LineStrip => pairs(indices),
            Self::LineLoop => {
                let mut list = pairs(indices);
                if let (Some(&first), Some(&last), 3..) = (indices.first(), indices.last(), indices.len()) {
                    list.extend([last, first]);
                }
                list
            }
            Self::TriangleStrip => {
                let mut list = Vec::with_capacity(indices.len().saturating_sub(2) * 3);
                for (i, window) in indices.array_windows().enumerate() {
                    let &[a, b, c] = window;
                    // Every other triangle of a strip is wound the other way; empty ones join strips.
                    if a != b && b != c && a != c {
                        list.extend(if i % 2 == 0 { [a, b, c] } else { [b, a, c] });
                    }
                }
                list
            }
            Self::TriangleFan => match indices.split_first() {
                Some((&center, rim)) => rim.array_windows().flat_map(|&[a, b]| [a, b, center]).collect(),
                None => Vec::new(),
            },
        };
        *indices = list.into();
        0
    }
}

fn pairs(indices: &[u32]) -> Vec<u32> {
    let mut list = Vec::with_capacity(indices.len() * 2);
    for &[a, b] in indices.array_windows() {
        list.extend([a, b]);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(mode: Mode, indices: &[u32]) -> Vec<u32> {
        let mut indices = Array::from(indices.to_vec());
        let elements = mode.elements(indices.len() as u64);
        mode.to_list(&mut indices);
        assert!((indices.len() / mode.topology().corners()) as u64 <= elements);
        indices.into_vec()
    }

    #[test]
    fn strips_fans_and_loops() {
        assert_eq!(list(Mode::TriangleStrip, &[0, 1, 2, 3]), [0, 1, 2, 2, 1, 3]);
        assert_eq!(list(Mode::TriangleStrip, &[0, 1, 2, 2, 3]), [0, 1, 2]);
        assert_eq!(list(Mode::TriangleFan, &[0, 1, 2, 3]), [1, 2, 0, 2, 3, 0]);
        assert_eq!(list(Mode::LineStrip, &[0, 1, 2]), [0, 1, 1, 2]);
        assert_eq!(list(Mode::LineLoop, &[0, 1, 2]), [0, 1, 1, 2, 2, 0]);
        assert_eq!(list(Mode::LineLoop, &[0, 1]), [0, 1]);
        for mode in [Mode::TriangleStrip, Mode::TriangleFan, Mode::LineStrip, Mode::LineLoop, Mode::Triangles]
        {
            assert!(list(mode, &[]).is_empty() && list(mode, &[0]).is_empty());
        }
    }

    #[test]
    fn incomplete_elements_are_cut() {
        let mut indices = Array::from(vec![0, 1, 2, 3, 4]);
        assert_eq!(Mode::Triangles.to_list(&mut indices), 2);
        assert_eq!(indices, [0, 1, 2]);
    }
}
