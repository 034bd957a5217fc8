//! A decoded model: plain arrays in glTF's own space and units.

use glam::{Affine3A, Mat3A, Vec3};

use super::array::Array;
use super::bounds::Bounds;
use super::lights::Light;
use super::material::Material;
use super::motion::Motion;
use super::texture::Texture;

/// Everything of a file that is shown.
///
/// Positions are in glTF's space (right-handed, y up, nominally metres, but
/// Ångström in what ChimeraX writes). [`DecodedModel::unit_scale`] brings it to
/// the size at which a meeting shows a newly opened model.
#[derive(Debug, Clone, Default)]
pub struct DecodedModel {
    /// Geometry, each used by at least one instance.
    pub primitives: Vec<Primitive>,
    /// Where the primitives are, in the order of the file's nodes.
    pub instances: Vec<Instance>,
    /// The file's materials, with the file's numbering.
    pub materials: Vec<Material>,
    /// The textures that the materials of the primitives use.
    pub textures: Vec<Texture>,
    /// The file's own lights; a meeting's room has others.
    pub lights: Vec<Light>,
    /// How it moves, if it does. What is shown without it is the state of rest.
    pub motion: Option<Box<Motion>>,
    /// Union of every instance's transformed box, in model space.
    pub bounds: Bounds,
    /// What was left out or repaired, for a person to read.
    pub warnings: Vec<String>,
    /// How much there is.
    pub counts: Counts,
}

impl DecodedModel {
    /// The factor, about the glTF origin, that makes the longest side of
    /// [`DecodedModel::bounds`] 1 m, as LookSee scales what it loads. 1 for a
    /// model without extent.
    #[must_use]
    pub fn unit_scale(&self) -> f32 {
        let scale = self.bounds.largest_side().recip();
        if scale.is_finite() && scale > 0.0 { scale } else { 1.0 }
    }
}

/// How much a model holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Triangles drawn: those of each primitive times its instances.
    pub triangles: u64,
    /// Vertices stored, once per primitive.
    pub vertices: u64,
    /// Lines drawn.
    pub lines: u64,
    /// Points drawn.
    pub points: u64,
    /// Nodes in the file, shown or not.
    pub nodes: u64,
    /// Meshes in the file that a shown node places.
    pub meshes: u64,
}

/// What each group of indices makes. Strips, fans and loops are converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Topology {
    /// Three indices each.
    Triangles,
    /// Two indices each.
    Lines,
    /// One index each.
    Points,
}

impl Topology {
    /// Indices per triangle, line or point.
    #[must_use]
    pub const fn corners(self) -> usize {
        match self {
            Self::Triangles => 3,
            Self::Lines => 2,
            Self::Points => 1,
        }
    }
}

/// One drawable piece of geometry with one material, in its own local space.
///
/// All vertex arrays have the length of `positions`; every index is below it;
/// `indices` holds whole triangles, lines or points; positions are finite.
#[derive(Debug, Clone)]
pub struct Primitive {
    /// What the indices make.
    pub topology: Topology,
    /// One per vertex.
    pub positions: Array<[f32; 3]>,
    /// One per vertex. Always there for triangles; lines and points without
    /// normals are drawn unlit.
    pub normals: Option<Array<[f32; 3]>>,
    /// One per vertex, to be multiplied with the material's base colour.
    pub colors: Option<Colors>,
    /// One per vertex: the set that the material's base colour texture uses, or
    /// that its other textures use if it has none. Not there without textures.
    pub uvs: Option<Array<[f32; 2]>>,
    /// One per vertex: the second set, for textures of the material that use another
    /// set or another transform of it than the first.
    pub uvs_1: Option<Array<[f32; 2]>>,
    /// Three, two or one per triangle, line or point.
    pub indices: Array<u32>,
    /// Index into [`DecodedModel::materials`]; glTF's default material if none.
    pub material: Option<usize>,
    /// Box around the positions, in the primitive's space.
    pub bounds: Bounds,
}

impl Primitive {
    /// Number of triangles, lines or points.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.indices.len() / self.topology.corners()
    }
}

/// Vertex colours, bit for bit as in the file, linear, RGBA; alpha is opaque where the
/// file has only RGB. Integers are fractions of their largest value.
#[derive(Debug, Clone, PartialEq)]
pub enum Colors {
    /// Bytes, 255 is 1.0.
    U8(Array<[u8; 4]>),
    /// 16 bits, 65535 is 1.0: what ChimeraX writes.
    U16(Array<[u16; 4]>),
    /// Floats within 0 to 1.
    F32(Array<[f32; 4]>),
}

impl Colors {
    /// Number of colours.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::U8(colors) => colors.len(),
            Self::U16(colors) => colors.len(),
            Self::F32(colors) => colors.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes per vertex.
    #[must_use]
    pub const fn stride(&self) -> usize {
        match self {
            Self::U8(_) => 4,
            Self::U16(_) => 8,
            Self::F32(_) => 16,
        }
    }

    /// Colour number `i` as linear RGBA from 0 to 1; white beyond the end.
    #[must_use]
    pub fn linear(&self, i: usize) -> [f32; 4] {
        match self {
            Self::U8(colors) => colors.get(i).map(|c| c.map(|v| f32::from(v) / 255.0)),
            Self::U16(colors) => colors.get(i).map(|c| c.map(|v| f32::from(v) / 65535.0)),
            Self::F32(colors) => colors.get(i).copied(),
        }
        .unwrap_or([1.0; 4])
    }
}

/// A primitive placed in the model.
#[derive(Debug, Clone, Copy)]
pub struct Instance {
    /// Index into [`DecodedModel::primitives`].
    pub primitive: usize,
    /// model_from_primitive, in glTF's space. Finite; may mirror, shear or be singular.
    pub transform: Affine3A,
    /// The node of [`DecodedModel::motion`] that moves it; none if nothing does.
    pub node: Option<usize>,
}

impl Instance {
    /// Whether the transform mirrors, so that triangles appear wound the other
    /// way round and their other side is the front.
    #[must_use]
    pub fn flips_winding(&self) -> bool {
        flips_winding(&self.transform)
    }
}

/// Whether the transform mirrors.
pub(super) fn flips_winding(transform: &Affine3A) -> bool {
    // Each axis at unit length, so that the product of three small scales does not underflow.
    let axes = transform.matrix3;
    let [x, y, z] = [axes.x_axis, axes.y_axis, axes.z_axis].map(|axis| Vec3::from(axis).normalize_or_zero());
    x.cross(y).dot(z) < 0.0
}

/// The cofactor matrix, which turns normals as the inverse transpose does, mirrors
/// included, and is also there for a singular transform.
pub(super) fn normal_matrix(transform: &Affine3A) -> Mat3A {
    let Mat3A { x_axis: x, y_axis: y, z_axis: z } = transform.matrix3;
    // At unit size, so that products do not under- or overflow.
    let size = x.abs().max(y.abs()).max(z.abs()).max_element();
    let scale = if size > 0.0 { size.recip().min(f32::MAX) } else { 1.0 };
    let [x, y, z] = [x * scale, y * scale, z * scale];
    let sign = if flips_winding(transform) { -1.0 } else { 1.0 };
    Mat3A::from_cols(y.cross(z) * sign, z.cross(x) * sign, x.cross(y) * sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_are_linear_fractions() {
        assert_eq!(Colors::U8(vec![[255, 0, 51, 255]].into()).linear(0), [1.0, 0.0, 0.2, 1.0]);
        assert_eq!(Colors::U16(vec![[65535, 0, 0, 0]].into()).linear(0), [1.0, 0.0, 0.0, 0.0]);
        assert_eq!(Colors::F32(vec![[0.5; 4]].into()).linear(7), [1.0; 4]);
    }

    #[test]
    fn an_odd_number_of_negative_scales_flips_the_winding() {
        let placed =
            |scale: Vec3| Instance { primitive: 0, transform: Affine3A::from_scale(scale), node: None };
        assert!(placed(Vec3::new(-1.0, 1.0, 1.0)).flips_winding());
        assert!(!placed(Vec3::new(-1.0, -1.0, 1.0)).flips_winding());
        assert!(placed(Vec3::splat(-1e-15)).flips_winding());
        assert!(!placed(Vec3::ZERO).flips_winding());
    }

    #[test]
    fn unit_scale_makes_the_largest_side_a_metre() {
        let mut model = DecodedModel::default();
        assert_eq!(model.unit_scale(), 1.0);
        model.bounds = Bounds { min: Vec3::ZERO, max: Vec3::new(1.0, 4.0, 2.0) };
        assert_eq!(model.unit_scale(), 0.25);
        model.bounds = Bounds { min: Vec3::ONE, max: Vec3::ONE };
        assert_eq!(model.unit_scale(), 1.0);
    }
}
