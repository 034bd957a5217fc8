//! A part of a model's geometry: about 64K vertices that are sent, decoded and
//! shown by themselves.

use super::quantize::Grid;

/// Indices into the lists of a file are below this; the number itself is none.
pub(super) const NO_INDEX: u32 = u32::MAX;
/// Vertices of a part at most.
pub const MAX_VERTICES: usize = 1 << 20;
/// Triangles of a part at most.
pub const MAX_TRIANGLES: usize = 1 << 20;
/// Sets of texture coordinates and tangents of a part at most.
pub(super) const MAX_EXTRAS: usize = 8;

/// How a part was made small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// In the file's order, meshopt, zstd's level 1.
    Fast,
    /// Triangles in a new order first, zstd's level 3: smaller by a third, five
    /// times the work for whoever encodes, none for whoever decodes.
    Strong,
    /// Differences in planes: for many alike small meshes, which zstd finds.
    Planes,
}

impl Encoding {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Fast, Self::Strong, Self::Planes];

    /// The word in events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Strong => "strong",
            Self::Planes => "planes",
        }
    }

    /// The first byte of a part.
    #[must_use]
    pub const fn byte(self) -> u8 {
        match self {
            Self::Fast => 2,
            Self::Strong => 3,
            Self::Planes => 4,
        }
    }

    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.byte() == byte)
    }
}

/// Vertex colours, linear RGBA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Colors {
    /// 255 is 1.
    U8(Vec<[u8; 4]>),
    /// 65,535 is 1.
    U16(Vec<[u16; 4]>),
}

impl Colors {
    /// Bytes of a colour.
    #[must_use]
    pub const fn stride(&self) -> usize {
        match self {
            Self::U8(_) => 4,
            Self::U16(_) => 8,
        }
    }
}

/// What else a vertex has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extra {
    /// `TEXCOORD_n`, two floats.
    TexCoord(u8),
    /// Four floats.
    Tangent,
}

impl Extra {
    pub(super) const fn byte(self) -> u8 {
        match self {
            Self::TexCoord(set) => set,
            Self::Tangent => 16,
        }
    }

    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0..=7 => Some(Self::TexCoord(byte)),
            16 => Some(Self::Tangent),
            _ => None,
        }
    }

    /// Reads an attribute's name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        if name == "TANGENT" {
            return Some(Self::Tangent);
        }
        let set: u8 = name.strip_prefix("TEXCOORD_")?.parse().ok()?;
        (set < 8).then_some(Self::TexCoord(set))
    }

    /// The attribute's name.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::TexCoord(set) => format!("TEXCOORD_{set}"),
            Self::Tangent => "TANGENT".to_owned(),
        }
    }

    /// Bytes of a vertex.
    #[must_use]
    pub const fn stride(self) -> usize {
        match self {
            Self::TexCoord(_) => 8,
            Self::Tangent => 16,
        }
    }
}

/// A part as it is shown. All arrays have one element for each vertex; every
/// index is below their number; positions are finite.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// How it came.
    pub encoding: Encoding,
    /// In which space it is: a mesh of the head's description, whose nodes place
    /// it; none: the model's own.
    pub mesh: Option<u32>,
    /// Index into the materials of the head's description.
    pub material: Option<u32>,
    /// One per vertex.
    pub positions: Vec<[f32; 3]>,
    /// One per vertex, of unit length.
    pub normals: Option<Vec<[f32; 3]>>,
    /// One per vertex, as in the opener's file.
    pub colors: Option<Colors>,
    /// Little-endian floats, as in the opener's file.
    pub extras: Vec<(Extra, Vec<u8>)>,
    /// Corners of triangles.
    pub indices: Vec<[u32; 3]>,
    /// What all parts of its space have their positions on: a box around them all.
    pub grid: Grid,
    /// How far a position may be from where it was, in the units of the positions.
    pub max_error: f32,
}

impl Part {
    /// Bytes of its arrays: 12 for a position, a normal or a triangle, the rest as
    /// it is.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let vertex = 12
            + self.normals.as_ref().map_or(0, |_| 12)
            + self.colors.as_ref().map_or(0, Colors::stride)
            + self.extras.iter().map(|(extra, _)| extra.stride()).sum::<usize>();
        self.positions.len() * vertex + self.indices.len() * 12
    }
}
