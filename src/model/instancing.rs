//! `EXT_mesh_gpu_instancing`: a node that places its mesh many times.

use glam::{Affine3A, Quat, Vec3};

use super::accessor::Elements;
use super::buffers::Buffers;
use super::document::{Instancing, Whole};
use super::error::Fault;

/// node_from_instance of each; `most` is how many are allowed.
pub(super) fn read(buffers: &Buffers, json: &Instancing, most: usize) -> Result<Vec<Affine3A>, Fault> {
    let attributes = &json.attributes;
    let find =
        |accessor: Option<Whole>| accessor.map(|accessor| Elements::find(buffers, accessor)).transpose();
    let (translation, rotation, scale) =
        (find(attributes.translation)?, find(attributes.rotation)?, find(attributes.scale)?);
    let counts =
        [&translation, &rotation, &scale].map(|elements| elements.as_ref().map(|elements| elements.count));
    let mut counts = counts.into_iter().flatten();
    let Some(count) = counts.next() else { return Ok(vec![Affine3A::IDENTITY]) };
    if let Some(found) = counts.find(|&other| other != count) {
        return Err(Fault::CountMismatch { what: "attributes of instances", found, wanted: count });
    }
    // Without a buffer view a count costs the file nothing; whoever places them names the limit.
    let range = 0..count.min(most.saturating_add(1));
    let vectors = |elements: Option<Elements>, or: [f32; 3]| match elements {
        Some(elements) => elements.floats::<3>(range.clone(), "places of instances"),
        None => Ok(vec![or; range.len()]),
    };
    let translations = vectors(translation, [0.0; 3])?;
    let scales = vectors(scale, [1.0; 3])?;
    let rotations = match rotation {
        Some(elements) => elements.floats::<4>(range, "rotations of instances")?,
        None => vec![[0.0, 0.0, 0.0, 1.0]; translations.len()],
    };
    let all = translations.into_iter().zip(rotations).zip(scales);
    Ok(all
        .map(|((translation, rotation), scale)| {
            let rotation = Quat::from_array(rotation);
            let rotation = if rotation.length() > 0.0 { rotation.normalize() } else { Quat::IDENTITY };
            Affine3A::from_scale_rotation_translation(Vec3::from(scale), rotation, Vec3::from(translation))
        })
        .collect())
}
