//! A model with fewer triangles, for whoever cannot draw all of them.
//!
//! Edges are collapsed onto one of their ends, the least visible first: those
//! whose removal moves the surface least (squared distances to the planes of the
//! triangles that met there) and changes its colours least. No vertex is made up:
//! positions and colours of what is left are the file's own. Open borders keep
//! their shape; so do seams, where two vertices with other attributes share a place.
//!
//! Takes about 3 s for a million triangles removed on one core; on a worker.

mod collapse;
mod quadric;
mod weld;

use bytemuck::Pod;

use super::array::Array;
use super::decoded::{Colors, DecodedModel, Primitive, Topology};
use super::limits::Cancel;

/// What was made of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Simplified {
    /// Triangles that the file draws.
    pub from: u64,
    /// Triangles that are drawn now.
    pub to: u64,
}

/// Brings a model to at most `budget` triangles drawn, as far as it can; nothing if
/// it has no more than that. What changes its shape while it moves stays as it is.
/// Ends early, with what it has, when cancelled.
pub fn simplify(model: &mut DecodedModel, budget: u64, cancel: &Cancel) -> Option<Simplified> {
    let from = model.counts.triangles;
    if from <= budget {
        return None;
    }
    let mut shown = vec![0u64; model.primitives.len()];
    for instance in &model.instances {
        if let Some(shown) = shown.get_mut(instance.primitive) {
            *shown += 1;
        }
    }
    let bent = model.motion.as_ref().map_or(&[][..], |motion| &motion.rigs);
    for rig in bent {
        if let Some(shown) = shown.get_mut(rig.primitive) {
            *shown = 0;
        }
    }
    let mut to = from;
    for (primitive, shown) in model.primitives.iter_mut().zip(shown) {
        if shown == 0 || primitive.topology != Topology::Triangles || cancel.is_cancelled() {
            continue;
        }
        let before = primitive.elements();
        // Each gives up the same share; what one could not, the others do not make up for.
        let target = (before as u128 * u128::from(budget) / u128::from(from)) as usize;
        reduce(primitive, target.max(MIN_TRIANGLES), cancel);
        to = to.saturating_sub((before - primitive.elements()) as u64 * shown);
    }
    model.counts.triangles = to;
    model.counts.vertices = model.primitives.iter().map(|primitive| primitive.positions.len() as u64).sum();
    Some(Simplified { from, to })
}

/// A shape of fewer is not worth the name.
const MIN_TRIANGLES: usize = 8;

/// Fewer than this share of what was to be left, or another way is tried.
const ENOUGH: f32 = 1.2;

fn reduce(primitive: &mut Primitive, target: usize, cancel: &Cancel) {
    if primitive.elements() <= target {
        return;
    }
    let welded = weld::equal(primitive);
    collapse::run(primitive, &welded, target, cancel);
    // Triangles with corners of their own have seams all over: there, corners at the same place become one.
    if primitive.elements() as f32 > target as f32 * ENOUGH && !cancel.is_cancelled() {
        weld::merge_places(primitive);
        let welded = weld::equal(primitive);
        collapse::run(primitive, &welded, target, cancel);
    }
}

/// Keeps the vertices that the indices use, in the order of their first use.
pub(super) fn drop_unused(primitive: &mut Primitive) {
    let mut places = vec![u32::MAX; primitive.positions.len()];
    let mut kept: Vec<u32> = Vec::new();
    for index in primitive.indices.to_mut() {
        let Some(place) = places.get_mut(*index as usize) else { continue };
        if *place == u32::MAX {
            *place = u32::try_from(kept.len()).unwrap_or(u32::MAX);
            kept.push(*index);
        }
        *index = *place;
    }
    fn pick<T: Pod>(list: &mut Array<T>, kept: &[u32]) {
        *list = kept.iter().filter_map(|&vertex| list.get(vertex as usize).copied()).collect();
    }
    pick(&mut primitive.positions, &kept);
    if let Some(list) = &mut primitive.normals {
        pick(list, &kept);
    }
    match &mut primitive.colors {
        Some(Colors::U8(list)) => pick(list, &kept),
        Some(Colors::U16(list)) => pick(list, &kept),
        Some(Colors::F32(list)) => pick(list, &kept),
        None => {}
    }
    for list in [&mut primitive.uvs, &mut primitive.uvs_1].into_iter().flatten() {
        pick(list, &kept);
    }
}

#[cfg(test)]
mod tests;
