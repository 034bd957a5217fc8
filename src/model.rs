//! Models: the bytes of a glTF file turned into plain arrays that can be shown.
//!
//! For everything between a file (opened here or received from somebody) and
//! whoever draws it: [`read_model_file`] makes one GLB out of a file and what
//! lies beside it, [`decode`] turns a GLB into arrays. Not for drawing, not for
//! sending, not for animations, skins or morph targets, which stay at rest.
//!
//! Everything here is heavy and runs on a worker thread. The bytes may come from
//! anybody: no file may cause a panic, or cost more than [`Limits`] say. A fault
//! costs as little of a model as it can, and becomes a line of
//! [`DecodedModel::warnings`]; an error is what leaves nothing to show.
//!
//! Decoding is done here rather than by Bevy's loader, which refuses quantized
//! files, triples the vertices of surfaces without normals, and gives up a whole
//! file for one primitive that it does not know.

mod accessor;
mod bounds;
mod buffers;
mod container;
mod decoded;
mod document;
mod error;
mod extensions;
mod geometry;
mod limits;
mod material;
mod normals;
mod scene;
mod texture;
mod topology;
mod uri;
mod warnings;

pub mod bvh;
pub mod check;
pub mod pack;
pub mod split;

#[cfg(test)]
#[allow(dead_code, reason = "shared with the integration tests, each of which uses a part")]
#[path = "../tests/common/glb.rs"]
mod testing;

pub use bounds::Bounds;
pub use decoded::{Colors, Counts, DecodedModel, Instance, Primitive, Topology};
pub use error::{ContainerError, DecodeError};
pub use limits::{Cancel, Limits};
pub use material::{Alpha, Material, TextureRef};
pub use pack::{PackError, Packed, read_model_file};
pub use texture::{Filter, Sampler, Texture, Wrap};

use buffers::Buffers;
use document::Document;
use geometry::{Failure, Reader, within};
use scene::Placed;
use texture::Textures;
use warnings::Warnings;

/// Decodes a GLB, or glTF text whose buffers and images are all embedded.
///
/// # Errors
/// If the file is damaged, needs what cannot be read, exceeds a limit, or leaves
/// nothing to show; and [`DecodeError::Cancelled`] soon after `cancel` is set.
pub fn decode(glb: &[u8], limits: &Limits, cancel: &Cancel) -> Result<DecodedModel, DecodeError> {
    let bytes = glb.len() as u64;
    if bytes > limits.max_bytes {
        return Err(DecodeError::TooLarge { bytes, limit: limits.max_bytes });
    }
    let mut warnings = Warnings::default();
    let container = container::parse(glb, &mut warnings)?;
    let document = document::parse(container.json, limits)?;
    check_version(&document, &mut warnings)?;
    extensions::check(&document, &mut warnings)?;
    let placed = scene::placements(&document, limits, &mut warnings)?;
    if cancel.is_cancelled() {
        return Err(DecodeError::Cancelled);
    }
    let buffers = Buffers::load(&document, container.bin, limits, &mut warnings);
    let mut model = geometry(&buffers, &placed, limits, cancel, &mut warnings)?;
    if model.instances.is_empty() {
        let reason = warnings.first_fault().unwrap_or("the scene of the file holds no meshes");
        return Err(DecodeError::Nothing(reason.to_owned()));
    }
    let mut used = vec![false; document.materials.len()];
    for material in model.primitives.iter().filter_map(|primitive| primitive.material) {
        if let Some(used) = used.get_mut(material) {
            *used = true;
        }
    }
    let mut textures = Textures::new(&buffers, limits, cancel);
    let texture = |index, warnings: &mut Warnings| textures.get(index, warnings);
    model.materials = material::read(&document, &used, texture, &mut warnings);
    model.textures = textures.textures;
    if cancel.is_cancelled() {
        return Err(DecodeError::Cancelled);
    }
    warn_of_rest_state(&document, &placed, &mut warnings);
    model.warnings = warnings.into_lines();
    Ok(model)
}

/// Reads the meshes that are placed, each once, and places them.
fn geometry(
    buffers: &Buffers,
    placed: &[Placed],
    limits: &Limits,
    cancel: &Cancel,
    warnings: &mut Warnings,
) -> Result<DecodedModel, DecodeError> {
    let document = buffers.document();
    let mut model = DecodedModel::default();
    model.counts.nodes = document.nodes.len() as u64;
    let mut reader = Reader { buffers, limits, spent: geometry::Spent::default() };
    // Of each mesh, the primitives that could be read; none before it is asked for.
    let mut meshes: Vec<Option<std::ops::Range<usize>>> = vec![None; document.meshes.len()];
    for &Placed { mesh, transform } in placed {
        let Some(primitives) = meshes.get_mut(mesh) else {
            let count = document.meshes.len();
            warnings.fault(error::Fault::Unresolved { what: "mesh", index: mesh, count });
            continue;
        };
        let primitives = match primitives {
            Some(range) => range.clone(),
            None => {
                let start = model.primitives.len();
                let list = document.meshes.get(mesh).map_or(&[][..], |mesh| &mesh.primitives);
                if list.is_empty() {
                    warnings.fault(format_args!("mesh {mesh} is empty"));
                }
                for (number, json) in list.iter().enumerate() {
                    if cancel.is_cancelled() {
                        return Err(DecodeError::Cancelled);
                    }
                    match reader.read(json, warnings) {
                        Ok(primitive) => model.primitives.push(primitive),
                        Err(Failure::Stop(error)) => return Err(error),
                        Err(Failure::Skip(fault)) => {
                            warnings
                                .fault(format_args!("mesh {mesh}, primitive {number} is left out: {fault}"));
                        }
                    }
                }
                let range = start..model.primitives.len();
                model.counts.meshes += u64::from(!range.is_empty());
                primitives.insert(range).clone()
            }
        };
        for primitive in primitives {
            place(&mut model, Instance { primitive, transform }, limits, warnings)?;
        }
    }
    // A primitive may have been read for nothing, if it is only placed beyond all numbers.
    model.counts.vertices = model.primitives.iter().map(|primitive| primitive.positions.len() as u64).sum();
    Ok(model)
}

fn place(
    model: &mut DecodedModel,
    instance: Instance,
    limits: &Limits,
    warnings: &mut Warnings,
) -> Result<(), DecodeError> {
    let Some(primitive) = model.primitives.get(instance.primitive) else { return Ok(()) };
    let bounds = primitive.bounds.transformed(&instance.transform);
    if !bounds.is_finite() || !bounds.size().is_finite() {
        warnings.fault("a mesh is placed beyond the range of numbers and left out");
        return Ok(());
    }
    let counts = &mut model.counts;
    let (what, drawn) = match primitive.topology {
        Topology::Triangles => ("triangles drawn", &mut counts.triangles),
        Topology::Lines => ("lines drawn", &mut counts.lines),
        Topology::Points => ("points drawn", &mut counts.points),
    };
    *drawn = drawn.saturating_add(primitive.elements() as u64);
    within(what, *drawn, limits.max_triangles)?;
    within("instances", model.instances.len() as u64 + 1, limits.max_instances as u64)?;
    model.bounds = model.bounds.union(bounds);
    model.instances.push(instance);
    Ok(())
}

/// glTF 2.x can be read; a file may say that it needs more than 2.0.
fn check_version(document: &Document, warnings: &mut Warnings) -> Result<(), DecodeError> {
    let Some(asset) = &document.asset else {
        warnings.push("the file does not say which version of glTF it is");
        return Ok(());
    };
    let (version, min) = (asset.version.as_ref(), asset.min_version.as_ref());
    if let Some(min) = min.map(|min| min.0.as_ref()).filter(|&min| min != "2.0") {
        return Err(DecodeError::Version(warnings::quoted(min)));
    }
    match version.map(|version| version.0.as_ref()) {
        Some("2.0") => {}
        Some(newer) if newer.starts_with("2.") => {
            warnings
                .push(format_args!("the file is of glTF version {}, read as 2.0", warnings::quoted(newer)));
        }
        Some(other) => return Err(DecodeError::Version(warnings::quoted(other))),
        None => warnings.push("the file does not say which version of glTF it is"),
    }
    Ok(())
}

/// What moves in other programs stands still here, and a person should know.
fn warn_of_rest_state(document: &Document, placed: &[Placed], warnings: &mut Warnings) {
    let shown = placed.iter().filter_map(|placed| document.meshes.get(placed.mesh));
    if shown.flat_map(|mesh| &mesh.primitives).any(|primitive| primitive.targets.is_some()) {
        warnings.push("morph targets are not shown");
    }
    if document.nodes.iter().any(|node| node.skin.is_some() && node.mesh.is_some()) {
        warnings.push("skins are not shown: the mesh is at rest");
    }
}
