//! How a model moves: nodes that turn, bones that bend, shapes that change.
//!
//! Everything is decoded once, on a worker; [`Motion::pose`] then says where the
//! nodes are at a time, and [`Rig::shape`] what a bent mesh looks like then.

mod clip;
mod read;
mod rig;

use glam::{Affine3A, Quat, Vec3, Vec3A};

pub use clip::Clip;
pub(super) use read::{Skin, read, skins};
pub use rig::{Rig, Shape};
pub(super) use rig::{RigData, Target};

/// All that moves in a model. There is something to play only if there are clips.
#[derive(Debug, Clone, Default)]
pub struct Motion {
    /// The file's nodes, with its numbering.
    pub(super) nodes: Vec<Node>,
    /// Nodes of the scene, parents before their children.
    pub(super) order: Vec<usize>,
    /// Of each node, whether some clip moves it, by itself or by one of its parents.
    pub(super) moved: Vec<bool>,
    /// What can be played, one at a time.
    pub clips: Vec<Clip>,
    /// The meshes that change their shape.
    pub rigs: Vec<Rig>,
}

/// A node at rest.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) parent: Option<usize>,
    pub(super) local: Local,
    /// Of its mesh's morph targets.
    pub(super) weights: Vec<f32>,
}

/// parent_from_node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Local {
    pub(super) translation: Vec3,
    pub(super) rotation: Quat,
    pub(super) scale: Vec3,
    /// In place of the others: such a node is not moved.
    pub(super) matrix: Option<Affine3A>,
}

impl Local {
    fn transform(&self) -> Affine3A {
        self.matrix.unwrap_or_else(|| {
            Affine3A::from_scale_rotation_translation(self.scale, self.rotation, self.translation)
        })
    }
}

/// Where everything is at one moment.
#[derive(Debug, Clone, Default)]
pub struct Pose {
    /// model_from_node, with the file's numbering.
    pub(super) nodes: Vec<Affine3A>,
    /// Weights of morph targets of each node.
    pub(super) weights: Vec<Vec<f32>>,
}

impl Pose {
    /// model_from_node; the identity for a node that is not there.
    #[must_use]
    pub fn node(&self, node: usize) -> Affine3A {
        self.nodes.get(node).copied().unwrap_or(Affine3A::IDENTITY)
    }

    pub(super) fn weights(&self, node: usize) -> &[f32] {
        self.weights.get(node).map_or(&[], Vec::as_slice)
    }
}

impl Motion {
    /// Where everything is without anything playing.
    #[must_use]
    pub fn rest(&self) -> Pose {
        self.pose_of(self.nodes.clone())
    }

    /// Where everything is `seconds` after a clip's beginning; it is played again and
    /// again. At rest if there is no such clip.
    #[must_use]
    pub fn pose(&self, clip: usize, seconds: f32) -> Pose {
        let mut nodes = self.nodes.clone();
        if let Some(clip) = self.clips.get(clip) {
            let length = clip.duration_secs.max(f32::MIN_POSITIVE);
            clip.apply(seconds.rem_euclid(length), &mut nodes);
        }
        self.pose_of(nodes)
    }

    fn pose_of(&self, nodes: Vec<Node>) -> Pose {
        let mut globals = vec![Affine3A::IDENTITY; nodes.len()];
        for &number in &self.order {
            let Some(node) = nodes.get(number) else { continue };
            let parent =
                node.parent.and_then(|parent| globals.get(parent)).copied().unwrap_or(Affine3A::IDENTITY);
            let global = parent * node.local.transform();
            if let Some(place) = globals.get_mut(number)
                && global.is_finite()
            {
                *place = global;
            }
        }
        Pose { nodes: globals, weights: nodes.into_iter().map(|node| node.weights).collect() }
    }

    /// Where an instance that stands at `rest` when its node does is in a pose.
    #[must_use]
    pub fn moved(&self, rest: &Pose, pose: &Pose, node: usize, transform: Affine3A) -> Affine3A {
        let back = rest.node(node).inverse();
        let moved = pose.node(node) * back * transform;
        // A node that is flat at rest cannot be undone.
        if moved.is_finite() { moved } else { transform }
    }

    /// Whether some clip moves a node, by itself or by one of its parents.
    pub(super) fn is_moved(&self, node: usize) -> bool {
        self.moved.get(node).copied().unwrap_or(false)
    }

    /// Looks at all clips once, however many nodes ask later.
    pub(super) fn find_moved(&mut self) {
        let mut moved = vec![false; self.nodes.len()];
        for node in self.clips.iter().flat_map(Clip::moved) {
            if let Some(moved) = moved.get_mut(node) {
                *moved = true;
            }
        }
        for &number in &self.order {
            let parent = self.nodes.get(number).and_then(|node| node.parent);
            let carried = parent.is_some_and(|parent| moved.get(parent).copied().unwrap_or(false));
            if let Some(moved) = moved.get_mut(number) {
                *moved |= carried;
            }
        }
        self.moved = moved;
    }
}

/// At unit length; `or` if it has none.
pub(super) fn unit(vector: Vec3A, or: [f32; 3]) -> [f32; 3] {
    vector.try_normalize().map_or(or, |unit| unit.to_array())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(parent: Option<usize>, translation: Vec3) -> Node {
        let local = Local { translation, rotation: Quat::IDENTITY, scale: Vec3::ONE, matrix: None };
        Node { parent, local, weights: Vec::new() }
    }

    #[test]
    fn children_move_with_their_parents() {
        let nodes = vec![node(Some(1), Vec3::Y), node(None, Vec3::X)];
        let clip = Clip::turning(1, 2.0);
        let mut motion = Motion { nodes, order: vec![1, 0], clips: vec![clip], ..Motion::default() };
        motion.find_moved();
        let rest = motion.rest();
        assert_eq!(rest.node(0).translation, Vec3A::new(1.0, 1.0, 0.0));
        // Half of the clip: a quarter turn about z.
        let pose = motion.pose(0, 3.0);
        assert!(pose.node(0).translation.abs_diff_eq(Vec3A::ZERO, 1e-6), "{:?}", pose.node(0));
        assert!(motion.is_moved(0) && motion.is_moved(1) && !motion.is_moved(9));
        let moved = motion.moved(&rest, &pose, 0, rest.node(0));
        assert!(moved.abs_diff_eq(pose.node(0), 1e-6));
        assert_eq!(motion.pose(7, 1.0).node(0), rest.node(0));
    }
}
