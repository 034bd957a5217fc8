//! Skins and animations out of a file.

use std::sync::Arc;

use glam::{Affine3A, Mat4, Quat, Vec3};

use super::clip::{Channel, Clip, Curve, Interpolation, Path};
use super::{Local, Motion, Node};
use crate::model::accessor::Elements;
use crate::model::buffers::Buffers;
use crate::model::document::{self, Whole};
use crate::model::error::Fault;
use crate::model::limits::Limits;
use crate::model::scene::Placements;
use crate::model::warnings::{Warnings, quoted};

/// Numbers of all keys together, at most.
const MAX_NUMBERS: u64 = 16 << 20;

/// Weights of morph targets of all nodes together, at most.
const MAX_WEIGHTS: usize = 1 << 20;

/// Joints of a mesh, and where they were when it was bound to them.
#[derive(Debug, Clone)]
pub(in crate::model) struct Skin {
    /// Nodes.
    pub(in crate::model) joints: Vec<usize>,
    /// joint_from_mesh, as many as joints.
    pub(in crate::model) inverse_bind: Vec<Affine3A>,
}

/// The file's skins; none in place of one that cannot be used, with a warning.
pub(in crate::model) fn skins(
    buffers: &Buffers,
    motion: &document::Motion,
    placed: &Placements,
    warnings: &mut Warnings,
) -> Vec<Option<Arc<Skin>>> {
    let mut skins = Vec::new();
    for (number, json) in motion.skins.iter().enumerate() {
        let skin = skin(buffers, json, placed);
        if let Err(fault) = &skin {
            warnings.push(format_args!("skin {number} is not shown: {fault}"));
        }
        skins.push(skin.ok().map(Arc::new));
    }
    skins
}

fn skin(buffers: &Buffers, json: &document::Skin, placed: &Placements) -> Result<Skin, Fault> {
    let joints: Vec<usize> = json.joints.iter().map(|joint| joint.index()).collect();
    if joints.is_empty() || joints.iter().any(|&joint| !matches!(placed.nodes.get(joint), Some(Some(_)))) {
        return Err(Fault::Joints);
    }
    let mut inverse_bind = vec![Affine3A::IDENTITY; joints.len()];
    if let Some(accessor) = json.inverse_bind_matrices {
        let elements = Elements::find(buffers, accessor)?;
        let matrices = elements.floats::<16>(0..elements.count.min(joints.len()), "matrices of a skin")?;
        if matrices.len() < joints.len() {
            let (found, wanted) = (matrices.len(), joints.len());
            return Err(Fault::CountMismatch { what: "matrices of a skin", found, wanted });
        }
        for (bind, matrix) in inverse_bind.iter_mut().zip(&matrices) {
            *bind = Affine3A::from_mat4(Mat4::from_cols_array(matrix));
        }
    }
    if inverse_bind.iter().all(|matrix| matrix.is_finite()) {
        Ok(Skin { joints, inverse_bind })
    } else {
        Err(Fault::NonFinite)
    }
}

/// The nodes and clips; rigs are added where meshes are placed.
pub(in crate::model) fn read(
    buffers: &Buffers,
    json: &document::Motion,
    placed: &Placements,
    limits: &Limits,
    warnings: &mut Warnings,
) -> Motion {
    let document = buffers.document();
    let mut weights_left = MAX_WEIGHTS;
    let nodes = document.nodes.iter().enumerate().map(|(number, node)| Node {
        parent: placed.parents.get(number).copied().flatten(),
        local: local(node),
        weights: weights(document, node, &mut weights_left, warnings),
    });
    let nodes = nodes.collect();
    let mut motion = Motion { nodes, order: placed.order.clone(), ..Motion::default() };
    let mut left = MAX_NUMBERS.min(limits.max_bytes);
    for (number, animation) in json.animations.iter().enumerate() {
        let mut channels = Vec::new();
        for json in &animation.channels {
            match channel(buffers, animation, json, &mut left) {
                Ok(Some(channel)) if matches!(placed.nodes.get(channel.node), Some(Some(_))) => {
                    channels.push(channel)
                }
                Ok(_) => {}
                Err(fault) => warnings.push(format_args!("animation {number}: {fault}")),
            }
        }
        let last = |channel: &Channel| channel.curve.times.last().copied().unwrap_or(0.0);
        let duration_secs = channels.iter().map(last).fold(0.0, f32::max);
        if !channels.is_empty() && duration_secs > 0.0 {
            let name = animation.name.as_ref().map_or_else(String::new, |name| quoted(&name.0));
            motion.clips.push(Clip { name, duration_secs, channels });
        }
    }
    motion.find_moved();
    motion
}

/// Weights of morph targets: the node's own, or its mesh's. A mesh's few bytes of them
/// are there again for each node that places it, so `left` bounds all of them together.
fn weights(
    document: &document::Document,
    node: &document::Node,
    left: &mut usize,
    warnings: &mut Warnings,
) -> Vec<f32> {
    let Some(mesh) = node.mesh.and_then(|mesh| document.meshes.get(mesh.index())) else { return Vec::new() };
    let targets = mesh.primitives.iter().map(|primitive| primitive.targets.len()).max().unwrap_or(0);
    let all = node.weights.as_ref().unwrap_or(&mesh.weights);
    let weights = all.get(..targets.min(all.len())).unwrap_or_default();
    match left.checked_sub(weights.len()) {
        Some(rest) => {
            *left = rest;
            weights.to_vec()
        }
        None => {
            warnings.push(format_args!(
                "nodes have more than the limit of {MAX_WEIGHTS} weights of morph targets: the others are 0"
            ));
            Vec::new()
        }
    }
}

fn local(node: &document::Node) -> Local {
    let rotation = Quat::from_array(node.rotation.unwrap_or([0.0, 0.0, 0.0, 1.0]));
    Local {
        translation: node.translation.map_or(Vec3::ZERO, Vec3::from),
        rotation: if rotation.length() > 0.0 { rotation.normalize() } else { Quat::IDENTITY },
        scale: node.scale.map_or(Vec3::ONE, Vec3::from),
        matrix: node.matrix.map(|matrix| Affine3A::from_mat4(Mat4::from_cols_array(&matrix))),
    }
}

/// None for what is not played: properties that extensions name.
fn channel(
    buffers: &Buffers,
    animation: &document::Animation,
    json: &document::Channel,
    left: &mut u64,
) -> Result<Option<Channel>, Fault> {
    let (path, width) = match json.target.path.as_ref().map_or("", |path| path.0.as_ref()) {
        "translation" => (Path::Translation, Some(3)),
        "scale" => (Path::Scale, Some(3)),
        "rotation" => (Path::Rotation, Some(4)),
        "weights" => (Path::Weights, None),
        _ => return Ok(None),
    };
    let Some(node) = json.target.node.map(Whole::index) else { return Ok(None) };
    let (index, count) = (json.sampler.map_or(usize::MAX, Whole::index), animation.samplers.len());
    let sampler =
        animation.samplers.get(index).ok_or(Fault::Unresolved { what: "animation sampler", index, count })?;
    let interpolation = match sampler.interpolation.as_ref().map_or("LINEAR", |name| name.0.as_ref()) {
        "STEP" => Interpolation::Step,
        "CUBICSPLINE" => Interpolation::Spline,
        _ => Interpolation::Linear,
    };
    let none = Fault::Keys;
    let input = Elements::find(buffers, sampler.input.ok_or(none)?)?;
    let output = Elements::find(buffers, sampler.output.ok_or(Fault::Keys)?)?;
    let numbers = output.scalars().saturating_add(input.scalars());
    *left = left.checked_sub(numbers).ok_or(Fault::TooManyKeys { limit: MAX_NUMBERS })?;
    let times = input.floats::<1>(0..input.count, "times")?.into_flattened();
    if !times.is_sorted() || !times.iter().all(|time| time.is_finite()) {
        return Err(Fault::Keys);
    }
    let values = match output.width {
        1 => output.floats::<1>(0..output.count, "keys")?.into_flattened(),
        3 => output.floats::<3>(0..output.count, "keys")?.into_flattened(),
        4 => output.floats::<4>(0..output.count, "keys")?.into_flattened(),
        _ => return Err(output.unfit("keys")),
    };
    let parts = if interpolation == Interpolation::Spline { 3 } else { 1 };
    let width = width.unwrap_or(values.len() / (times.len() * parts).max(1));
    if width == 0
        || values.len() < width * parts * times.len()
        || !values.iter().all(|value| value.is_finite())
    {
        return Err(Fault::Keys);
    }
    Ok(Some(Channel { node, path, curve: Curve { times, values, width, interpolation } }))
}
