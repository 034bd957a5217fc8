//! `KHR_draco_mesh_compression`: a primitive's geometry stored smaller.
//!
//! The decoding itself is `draco-core`'s, which is plain Rust without `unsafe` and
//! takes limits; here its result becomes arrays as accessors would give them.

use draco_core::{DataType, DecodeLimits, DecoderBuffer, Mesh, MeshDecoder, PointAttribute, PointIndex};

use super::accessor::{Component, Elements};
use super::buffers::Buffers;
use super::document;
use super::error::Fault;
use super::limits::Limits;
use crate::threads;

/// A primitive's decompressed geometry.
pub(super) struct Draco {
    pub(super) indices: Vec<u32>,
    /// By their numbers in the compressed data.
    attributes: Vec<(u64, Attribute)>,
    pub(super) vertices: usize,
}

struct Attribute {
    bytes: Vec<u8>,
    component: Component,
    width: usize,
}

impl Draco {
    /// Decompresses within what is left of the limits.
    pub(super) fn decode(buffers: &Buffers, json: &document::Draco, limits: &Limits) -> Result<Self, Fault> {
        let view = json.buffer_view.ok_or_else(|| fault("it has no buffer view"))?;
        let bytes = buffers.view(view)?.bytes;
        let ceiling = DecodeLimits::default()
            .with_max_points(limits.max_vertices)
            .with_max_faces(limits.max_triangles)
            .with_max_decoded_bytes(limits.max_vertices.saturating_mul(MAX_VERTEX_BYTES));
        // Its own fuzzing found no panic; a newer one would otherwise cost the whole file.
        let decoded = threads::expect_panic(|| {
            let mut mesh = Mesh::new();
            let mut buffer = DecoderBuffer::new(bytes).with_limits(ceiling);
            MeshDecoder::new().decode(&mut buffer, &mut mesh).map(|()| mesh)
        });
        let mesh = decoded
            .ok_or_else(|| fault("it broke the decoder"))?
            .map_err(|error| fault(&error.to_string()))?;
        let vertices = mesh.num_points();
        let indices = mesh.faces().iter().flat_map(|face| face.iter().map(|point| point.0)).collect();
        let mut attributes = Vec::new();
        for id in 0..mesh.num_attributes() {
            let Ok(attribute) = mesh.try_attribute(id) else { continue };
            if let Some(read) = read(attribute, vertices) {
                attributes.push((attribute.unique_id().into(), read));
            }
        }
        Ok(Self { indices, attributes, vertices })
    }

    /// An attribute by its number in the compressed data; `normalized` is what its
    /// accessor `index` says.
    pub(super) fn elements(
        &self,
        number: u64,
        index: usize,
        normalized: bool,
    ) -> Result<Elements<'_>, Fault> {
        let found = self.attributes.iter().find(|(id, _)| *id == number);
        let (_, attribute) = found.ok_or_else(|| fault("it lacks an attribute"))?;
        Ok(Elements::of_bytes(index, &attribute.bytes, attribute.component, attribute.width, normalized))
    }
}

/// More than a vertex with every attribute has.
const MAX_VERTEX_BYTES: u64 = 128;

fn fault(reason: &str) -> Fault {
    Fault::Draco(reason.to_owned())
}

/// One element per vertex, in the vertices' order.
fn read(attribute: &PointAttribute, vertices: usize) -> Option<Attribute> {
    let component = match attribute.data_type() {
        DataType::Int8 => Component::I8,
        DataType::Uint8 => Component::U8,
        DataType::Int16 => Component::I16,
        DataType::Uint16 => Component::U16,
        DataType::Uint32 => Component::U32,
        DataType::Float32 => Component::F32,
        _ => return None,
    };
    let width = usize::from(attribute.num_components());
    let size = width * component.bytes();
    let stride =
        usize::try_from(attribute.byte_stride()).ok().filter(|&stride| stride >= size && size > 0)?;
    let data = attribute.buffer().data();
    let mut bytes = Vec::with_capacity(vertices * size);
    for point in 0..u32::try_from(vertices).ok()? {
        let value = attribute.mapped_index(PointIndex(point)).0 as usize;
        let start = value.checked_mul(stride)?;
        bytes.extend_from_slice(data.get(start..start.checked_add(size)?)?);
    }
    Some(Attribute { bytes, component, width })
}
