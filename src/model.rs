//! Models: the bytes of a glTF file turned into plain arrays that can be shown.
//!
//! For everything between a file (opened here or received from somebody) and
//! whoever draws it: [`read_model_file`] makes one GLB out of a file and what
//! lies beside it, [`decode`] turns a GLB into arrays. Not for drawing, not for
//! sending. What moves is decoded too ([`Motion`]); what is shown without it is
//! the state of rest.
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
mod array;
mod assembly;
mod bounds;
mod buffers;
mod container;
mod decoded;
mod document;
mod draco;
mod error;
mod extensions;
mod geometry;
mod glossiness;
mod instancing;
mod lights;
mod limits;
mod material;
mod meshopt;
mod normals;
mod scene;
mod texture;
mod topology;
mod uri;
mod warnings;

pub mod bvh;
pub mod check;
pub mod compact;
pub mod motion;
pub mod outline;
pub mod pack;
pub mod parts;
pub mod reorder;
pub mod simplify;
pub mod split;

#[cfg(test)]
#[allow(dead_code, reason = "shared with the integration tests, each of which uses a part")]
#[path = "../tests/common/glb.rs"]
mod testing;

pub use array::Array;
pub use bounds::Bounds;
pub use decoded::{Colors, Counts, DecodedModel, Instance, Primitive, Topology};
pub use error::{ContainerError, DecodeError};
pub use lights::{Light, LightKind};
pub use limits::{Cancel, HEADSET_TRIANGLES, Limits};
pub use material::{Alpha, Material, TextureRef};
pub use pack::{PackError, Packed, read_model_file};
pub use texture::{Filter, Sampler, Texture, Wrap};

use std::sync::Arc;

use bytes::Bytes;

use assembly::Assembly;
use buffers::Buffers;
use document::Document;
use limits::Watch;
use motion::Motion;
use scene::Placements;
use texture::Textures;
use warnings::Warnings;

/// Decodes a GLB, or glTF text whose buffers and images are all embedded.
///
/// # Errors
/// If the file is damaged, needs what cannot be read, exceeds a limit, or leaves
/// nothing to show; and [`DecodeError::Cancelled`] soon after `cancel` is set.
pub fn decode(glb: &[u8], limits: &Limits, cancel: &Cancel) -> Result<DecodedModel, DecodeError> {
    decode_file(glb, None, limits, cancel)
}

/// The same without copies of what can stay in the file: its arrays share `glb`,
/// which then lives as long as they do.
///
/// # Errors
/// As [`decode`].
pub fn decode_shared(glb: &Bytes, limits: &Limits, cancel: &Cancel) -> Result<DecodedModel, DecodeError> {
    decode_file(glb, Some(glb), limits, cancel)
}

fn decode_file(
    glb: &[u8],
    shared: Option<&Bytes>,
    limits: &Limits,
    cancel: &Cancel,
) -> Result<DecodedModel, DecodeError> {
    let watch = Watch::new(cancel, limits);
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
    watch.check()?;
    let buffers = Buffers::load(&document, container.bin, shared, limits, &mut warnings);
    let motion = motion(container.json, &buffers, &placed, limits, &mut warnings);
    watch.check()?;
    let mut model = Assembly::new(&buffers, limits, &watch, &placed, motion).build(&mut warnings)?;
    if model.instances.is_empty() {
        let reason = warnings.first_fault().unwrap_or("the scene of the file holds no meshes");
        return Err(DecodeError::Nothing(reason.to_owned()));
    }
    model.lights = lights::read(&document, &placed.lights, &mut warnings);
    appearance(&mut model, &buffers, limits, &watch, &mut warnings)?;
    model.warnings = warnings.into_lines();
    Ok(model)
}

/// The materials that are used, and their textures.
fn appearance(
    model: &mut DecodedModel,
    buffers: &Buffers,
    limits: &Limits,
    watch: &Watch,
    warnings: &mut Warnings,
) -> Result<(), DecodeError> {
    let document = buffers.document();
    let mut used = vec![false; document.materials.len()];
    for material in model.primitives.iter().filter_map(|primitive| primitive.material) {
        if let Some(used) = used.get_mut(material) {
            *used = true;
        }
    }
    let mut textures = Textures::new(buffers, limits, watch);
    let texture = |index, warnings: &mut Warnings| textures.get(index, warnings);
    let (materials, glossiness) = material::read(document, &used, texture, warnings);
    model.materials = materials;
    watch.check()?;
    let left = textures.left;
    model.textures = textures.textures;
    if !glossiness::convert_textures(&mut model.materials, glossiness, &mut model.textures, left) {
        warnings.push("highlights of KHR_materials_pbrSpecularGlossiness are not shown");
    }
    watch.check()
}

/// What moves or is bent; nothing for most files, which are then not parsed again.
fn motion(
    json: &[u8],
    buffers: &Buffers,
    placed: &Placements,
    limits: &Limits,
    warnings: &mut Warnings,
) -> (Motion, Vec<Option<Arc<motion::Skin>>>) {
    let document = buffers.document();
    let bent = document.nodes.iter().any(|node| node.skin.is_some() && node.mesh.is_some());
    let parsed = match document.animations.is_some() || bent {
        true => document::parse_motion(json).unwrap_or_else(|error| {
            warnings.push(format_args!("animations and skins cannot be read: {}", error::json_text(&error)));
            document::Motion::default()
        }),
        false => document::Motion::default(),
    };
    let skins = motion::skins(buffers, &parsed, placed, warnings);
    (motion::read(buffers, &parsed, placed, limits, warnings), skins)
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
