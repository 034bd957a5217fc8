//! One primitive of a mesh: vertices, indices and what is made up if missing.

use std::ops::Range;

use super::accessor::{Component, Elements};
use super::array::Array;
use super::bounds::Bounds;
use super::buffers::Buffers;
use super::decoded::{Colors, Primitive, Topology};
use super::document::{self, Whole};
use super::draco::Draco;
use super::error::{DecodeError, Fault, counted};
use super::limits::Limits;
use super::motion::RigData;
use super::topology::Mode;
use super::warnings::Warnings;
use super::{material, normals};

mod deform;

/// How far a normal's squared length may be from 1 before it is worth a warning:
/// signed bytes are about 1 % off.
const UNIT_TOLERANCE: f32 = 0.1;

/// Why a primitive was not read.
pub(super) enum Failure {
    /// It is left out, the others are read.
    Skip(Fault),
    /// The whole file is given up.
    Stop(DecodeError),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Skip(fault)
    }
}

/// What was read so far. Never given back, also for what is left out later, so
/// that it bounds the time as well as the memory.
#[derive(Debug, Default)]
pub(super) struct Spent {
    vertices: u64,
    elements: u64,
}

impl Spent {
    pub(super) fn vertices(&mut self, count: usize, limits: &Limits) -> Result<(), Failure> {
        self.vertices = self.vertices.saturating_add(count as u64);
        within("vertices", self.vertices, limits.max_vertices).map_err(Failure::Stop)
    }

    fn elements(&mut self, mode: Mode, indices: u64, limits: &Limits) -> Result<(), Failure> {
        self.elements = self.elements.saturating_add(mode.elements(indices));
        let what = match mode.topology() {
            Topology::Triangles => "triangles",
            Topology::Lines => "lines",
            Topology::Points => "points",
        };
        within(what, self.elements, limits.max_triangles).map_err(Failure::Stop)
    }
}

/// An error if there are more than the limit.
pub(super) fn within(what: &'static str, count: u64, limit: u64) -> Result<(), DecodeError> {
    if count > limit { Err(DecodeError::TooMany { what, count, limit }) } else { Ok(()) }
}

/// Reads primitives of one file.
pub(super) struct Reader<'a> {
    pub(super) buffers: &'a Buffers<'a>,
    pub(super) limits: &'a Limits,
    pub(super) spent: Spent,
}

impl Reader<'_> {
    /// Reads a primitive. Attributes of a wrong format are left out with a
    /// warning; what would show something else than was meant fails.
    pub(super) fn read(
        &mut self,
        json: &document::Primitive,
        warnings: &mut Warnings,
    ) -> Result<(Primitive, RigData), Failure> {
        let draco = match &json.extensions.draco {
            Some(draco) => match Draco::decode(self.buffers, draco, self.limits) {
                Ok(decoded) => Some((decoded, &draco.attributes)),
                // A file may have a plain copy for those who cannot decompress.
                Err(fault) => {
                    self.plain_copy(json).ok_or(fault)?;
                    warnings.push("Draco data is damaged: the plain copy beside it is shown");
                    None
                }
            },
            None => None,
        };
        let mode = if draco.is_some() {
            Mode::Triangles
        } else {
            Mode::from_gltf(json.mode.map_or(4, |mode| mode.0))?
        };
        let mut source = Attributes { buffers: self.buffers, draco: draco.as_ref(), count: 0, range: 0..0 };
        let position = source.locate(json, |all| all.position)?.ok_or(Fault::NoPositions)?;
        source.count = position.count;
        let (mut indices, range) = match &draco {
            Some((draco, _)) => {
                self.spent.elements(mode, draco.indices.len() as u64, self.limits)?;
                (draco.indices.clone().into(), 0..draco.vertices)
            }
            None => self.indices(json.indices, mode, position.count, warnings)?,
        };
        let rest = mode.to_list(&mut indices);
        if rest > 0 {
            let (rest, element) = (counted(rest, "vertex", "vertices"), mode.element_name());
            warnings.push(format_args!("{rest} at the end: not enough for a {element}"));
        }
        if indices.is_empty() {
            return Err(Fault::TooFew(mode.element_name()).into());
        }
        if let Some(&index) = indices.iter().max().filter(|&&max| max as usize >= range.len()) {
            return Err(Fault::IndexOutOfRange { index, count: range.len() }.into());
        }
        self.spent.vertices(range.len().saturating_mul(1 + json.targets.len()), self.limits)?;
        source.range = range.clone();
        let attributes = source;
        let material = self.material(json, warnings);
        let positions: Array<[f32; 3]> = position.float_array(range, "positions")?;
        if !all_finite(positions.as_flattened()) {
            return Err(Fault::NonFinite.into());
        }
        if position.component != Component::F32 && !declares_quantization(self.buffers) {
            warnings.push("positions are integers, but KHR_mesh_quantization is not declared");
        }
        let bounds = Bounds::of_points(&positions);
        let mut normals = attributes.normals(json, warnings)?;
        if normals.is_none() && mode.topology() == Topology::Triangles {
            normals = Some(normals::smooth(&positions, &indices, bounds.largest_side()).into());
        }
        let rig = attributes.rig(json, warnings)?;
        let [uvs, uvs_1] = attributes.uvs(json, warnings)?;
        let primitive = Primitive {
            topology: mode.topology(),
            normals,
            colors: attributes.colors(json, warnings)?,
            uvs,
            uvs_1,
            positions,
            indices,
            material,
            bounds,
        };
        Ok((primitive, rig))
    }

    /// Whether there is something to fall back to.
    fn plain_copy(&self, json: &document::Primitive) -> Option<()> {
        let accessors = &self.buffers.document().accessors;
        let stored =
            |accessor: Whole| accessors.get(accessor.index()).is_some_and(|a| a.buffer_view.is_some());
        (stored(json.attributes.position?) && json.indices.is_none_or(stored)).then_some(())
    }

    /// The indices, and the range of vertices that they need. Many primitives may
    /// share one array of vertices: then each reads its part only.
    fn indices(
        &mut self,
        accessor: Option<Whole>,
        mode: Mode,
        vertices: usize,
        warnings: &mut Warnings,
    ) -> Result<(Array<u32>, Range<usize>), Failure> {
        let Some(accessor) = accessor else {
            self.spent.elements(mode, vertices as u64, self.limits)?;
            // Before there is an array of them: without a buffer view they cost the file nothing.
            within("vertices", vertices as u64, self.limits.max_vertices).map_err(Failure::Stop)?;
            let end = u32::try_from(vertices).unwrap_or(u32::MAX);
            return Ok(((0..end).collect(), 0..vertices));
        };
        let elements = Elements::find(self.buffers, accessor)?;
        let count = elements.scalars();
        self.spent.elements(mode, count, self.limits)?;
        let mut indices = elements.indices()?;
        let (min, max) = indices.iter().fold((u32::MAX, 0), |(min, max), &i| (min.min(i), max.max(i)));
        let (first, last) = (min as usize, max as usize);
        if last >= vertices {
            return Err(Fault::IndexOutOfRange { index: max, count: vertices }.into());
        }
        if elements.is_largest(max) {
            // Elsewhere it begins a new strip, but glTF has no such thing.
            warnings.push(format_args!("index {max} is reserved: taken as an ordinary one"));
        }
        let used = last.saturating_sub(first).saturating_add(1);
        // Worth it only if much is saved; else everything stays as in the file.
        if used > vertices / 2 {
            return Ok((indices, 0..vertices));
        }
        for index in indices.to_mut() {
            *index -= min;
        }
        Ok((indices, first..first.saturating_add(used)))
    }

    fn material(&self, json: &document::Primitive, warnings: &mut Warnings) -> Option<usize> {
        let index = json.material?.index();
        let count = self.buffers.document().materials.len();
        if index >= count {
            warnings.push(format_args!("material {index} does not exist, the file has {count}"));
        }
        (index < count).then_some(index)
    }
}

/// Where a primitive's attributes come from.
struct Attributes<'a> {
    buffers: &'a Buffers<'a>,
    /// Decompressed ones come first, by the numbers that the extension gives.
    draco: Option<&'a (Draco, &'a document::Attributes)>,
    /// Vertices in the file.
    count: usize,
    /// Those that are wanted.
    range: Range<usize>,
}

/// Picks one attribute of a list of them.
type Pick = fn(&document::Attributes) -> Option<Whole>;

impl<'a> Attributes<'a> {
    /// An attribute, if the primitive has it.
    fn locate(&self, json: &document::Primitive, pick: Pick) -> Result<Option<Elements<'a>>, Fault> {
        let Some(accessor) = pick(&json.attributes) else { return Ok(None) };
        if let Some((draco, numbers)) = self.draco
            && let Some(number) = pick(numbers)
        {
            let json = self.buffers.document().accessors.get(accessor.index());
            let normalized = json.is_some_and(|json| json.normalized);
            return draco.elements(number.0, accessor.index(), normalized).map(Some);
        }
        Elements::find(self.buffers, accessor).map(Some)
    }

    /// One with as many elements as there are vertices.
    fn find(
        &self,
        json: &document::Primitive,
        pick: Pick,
        what: &'static str,
    ) -> Result<Option<Elements<'a>>, Fault> {
        match self.locate(json, pick)? {
            Some(elements) if elements.count != self.count => {
                Err(Fault::CountMismatch { what, found: elements.count, wanted: self.count })
            }
            found => Ok(found),
        }
    }

    fn normals(
        &self,
        json: &document::Primitive,
        warnings: &mut Warnings,
    ) -> Result<Option<Array<[f32; 3]>>, Fault> {
        let Some(elements) = self.find(json, |all| all.normal, "normals")? else { return Ok(None) };
        let read = elements.float_array(self.range.clone(), "normals");
        let Some(normals) = or_warn(read, warnings)? else { return Ok(None) };
        if !all_finite(normals.as_flattened()) {
            warnings.push("a normal is not a finite number: normals are computed");
            return Ok(None);
        }
        let off = |n: &&[f32; 3]| !(n.iter().map(|v| v * v).sum::<f32>() - 1.0).abs().le(&UNIT_TOLERANCE);
        // Unnormalized integers have a direction all the same.
        if elements.component == Component::F32 || elements.normalized {
            let count = normals.iter().filter(off).count();
            if count > 0 {
                let normals = counted(count, "normal is", "normals are");
                warnings.push(format_args!("{normals} not of unit length"));
            }
        }
        Ok(Some(normals))
    }

    fn colors(&self, json: &document::Primitive, warnings: &mut Warnings) -> Result<Option<Colors>, Fault> {
        let Some(elements) = self.find(json, |all| all.color_0, "colours")? else { return Ok(None) };
        let Some(mut colors) = or_warn(elements.colors(self.range.clone()), warnings)? else {
            return Ok(None);
        };
        let signed = matches!(elements.component, Component::I8 | Component::I16);
        if elements.component != Component::F32 && (signed || !elements.normalized) {
            warnings.push("colours are not declared as unsigned normalized numbers: taken as such");
        }
        if let Colors::F32(colors) = &mut colors
            && !colors.as_flattened().iter().all(|value| (0.0..=1.0).contains(value))
        {
            for value in colors.to_mut().as_flattened_mut() {
                *value = if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) };
            }
            warnings.push("colours are not within 0 and 1: clamped");
        }
        Ok(Some(colors))
    }

    /// The coordinates that the material's textures use, transformed as they say.
    fn uvs(
        &self,
        json: &document::Primitive,
        warnings: &mut Warnings,
    ) -> Result<[Option<Array<[f32; 2]>>; 2], Fault> {
        let materials = &self.buffers.document().materials;
        let material = json.material.and_then(|material| materials.get(material.index()));
        let [first, second] = material.map_or([None; 2], material::channels);
        Ok([self.channel(json, first, warnings)?, self.channel(json, second, warnings)?])
    }

    fn channel(
        &self,
        json: &document::Primitive,
        channel: Option<material::Channel>,
        warnings: &mut Warnings,
    ) -> Result<Option<Array<[f32; 2]>>, Fault> {
        let Some(channel) = channel else { return Ok(None) };
        let pick: Pick = match channel.set {
            0 => |all| all.texcoord_0,
            1 => |all| all.texcoord_1,
            2 => |all| all.texcoord_2,
            3 => |all| all.texcoord_3,
            _ => |_| None,
        };
        let Some(elements) = self.find(json, pick, "texture coordinates")? else {
            warnings.push(format_args!("a texture needs TEXCOORD_{}, which the mesh has not", channel.set));
            return Ok(None);
        };
        let uvs = elements.float_array(self.range.clone(), "texture coordinates");
        let Some(mut uvs) = or_warn(uvs, warnings)? else { return Ok(None) };
        if !channel.is_plain() {
            channel.apply(uvs.to_mut());
        }
        if !all_finite(uvs.as_flattened()) {
            warnings.push("a texture coordinate is not a finite number");
            for value in uvs.to_mut().as_flattened_mut().iter_mut().filter(|value| !value.is_finite()) {
                *value = 0.0;
            }
        }
        Ok(Some(uvs))
    }
}

/// An attribute of a wrong format is left out; other faults are of the primitive.
fn or_warn<T>(read: Result<T, Fault>, warnings: &mut Warnings) -> Result<Option<T>, Fault> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(fault @ Fault::Format { .. }) => {
            warnings.push(fault);
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}

fn declares_quantization(buffers: &Buffers) -> bool {
    let document = buffers.document();
    let mut names = document.extensions_used.iter().chain(&document.extensions_required);
    names.any(|name| name.0 == "KHR_mesh_quantization")
}

/// Without branches, so that it runs as fast as memory is read.
fn all_finite(values: &[f32]) -> bool {
    let exponent = f32::INFINITY.to_bits();
    values.iter().fold(true, |finite, value| finite & (value.to_bits() & exponent != exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finite_is_finite() {
        assert!(all_finite(&[0.0, -1.0, f32::MAX, f32::MIN_POSITIVE / 2.0]));
        for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(!all_finite(&[1.0, odd]));
        }
    }
}
