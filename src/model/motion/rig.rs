//! A mesh that changes its shape: morph targets, then a skin over joints.

use std::sync::Arc;

use glam::{Affine3A, Mat3A, Vec3, Vec3A};

use super::{Pose, unit};
use crate::model::array::Array;
use crate::model::decoded::normal_matrix;

/// A primitive that changes with a pose.
#[derive(Debug, Clone)]
pub struct Rig {
    /// Index into [`DecodedModel::primitives`](crate::model::DecodedModel::primitives),
    /// which holds its shape at rest.
    pub primitive: usize,
    pub(in crate::model) node: usize,
    pub(in crate::model) positions: Array<[f32; 3]>,
    pub(in crate::model) normals: Option<Array<[f32; 3]>>,
    /// Shared by all nodes that place the mesh.
    pub(in crate::model) data: Arc<RigData>,
    /// Shared by all nodes that use it.
    pub(in crate::model) skin: Option<Arc<super::Skin>>,
}

/// What a primitive has beyond its plain attributes.
#[derive(Debug, Clone, Default)]
pub(in crate::model) struct RigData {
    /// Of each vertex, as numbers into the skin's list.
    pub(in crate::model) joints: Vec<[u16; 4]>,
    pub(in crate::model) weights: Vec<[f32; 4]>,
    pub(in crate::model) targets: Vec<Target>,
}

/// What a morph target adds to each vertex; nothing if there is none.
#[derive(Debug, Clone, Default)]
pub(in crate::model) struct Target {
    pub(in crate::model) positions: Vec<[f32; 3]>,
    pub(in crate::model) normals: Vec<[f32; 3]>,
}

impl RigData {
    pub(in crate::model) fn is_empty(&self) -> bool {
        self.joints.is_empty() && self.targets.is_empty()
    }
}

/// Vertices in a pose.
#[derive(Debug, Clone, Default)]
pub struct Shape {
    /// As many as the primitive has; of a skin in model space.
    pub positions: Vec<[f32; 3]>,
    /// As many, if the primitive has normals.
    pub normals: Option<Vec<[f32; 3]>>,
}

impl Rig {
    /// How many vertices it has.
    #[must_use]
    pub fn vertices(&self) -> usize {
        self.positions.len()
    }

    /// Whether its vertices are in model space, not in its node's.
    #[must_use]
    pub fn is_skinned(&self) -> bool {
        self.skin.is_some() && !self.data.joints.is_empty()
    }

    /// Its vertices in a pose.
    #[must_use]
    pub fn shape(&self, pose: &Pose) -> Shape {
        let mut shape = Shape {
            positions: self.positions.to_vec(),
            normals: self.normals.as_ref().map(|normals| normals.to_vec()),
        };
        for (target, &weight) in self.data.targets.iter().zip(pose.weights(self.node)) {
            if weight == 0.0 || !weight.is_finite() {
                continue;
            }
            add(&mut shape.positions, &target.positions, weight);
            if let Some(normals) = &mut shape.normals {
                add(normals, &target.normals, weight);
            }
        }
        match &self.skin {
            Some(skin) if !self.data.joints.is_empty() => self.bend(skin, pose, &mut shape),
            _ => {
                for normal in shape.normals.iter_mut().flatten() {
                    *normal = unit(Vec3A::from(*normal), *normal);
                }
            }
        }
        shape
    }

    fn bend(&self, skin: &super::Skin, pose: &Pose, shape: &mut Shape) {
        let own = pose.node(self.node);
        let matrices: Vec<Affine3A> = skin
            .joints
            .iter()
            .zip(&skin.inverse_bind)
            .map(|(&joint, bind)| pose.node(joint) * *bind)
            .collect();
        let vertices = shape.positions.iter_mut().zip(&self.data.joints).zip(&self.data.weights);
        let mut normals = shape.normals.iter_mut().flatten();
        for ((position, joints), weights) in vertices {
            let sum: f32 = weights.iter().sum();
            let mut matrix = Mat3A::ZERO;
            let mut offset = Vec3A::ZERO;
            for (&joint, &weight) in joints.iter().zip(weights) {
                if let Some(joint) = matrices.get(usize::from(joint)).filter(|_| weight != 0.0) {
                    matrix += joint.matrix3 * (weight / sum);
                    offset += joint.translation * (weight / sum);
                }
            }
            let mut blended = Affine3A { matrix3: matrix, translation: offset };
            // Without any weight a vertex stays with its mesh's node.
            if sum <= 0.0 || !blended.is_finite() {
                blended = own;
            }
            *position = blended.transform_point3(Vec3::from(*position)).to_array();
            if let Some(normal) = normals.next() {
                *normal = unit(normal_matrix(&blended) * Vec3A::from(*normal), *normal);
            }
        }
    }
}

fn add(to: &mut [[f32; 3]], deltas: &[[f32; 3]], weight: f32) {
    for (to, delta) in to.iter_mut().zip(deltas) {
        for (to, delta) in to.iter_mut().zip(delta) {
            *to += delta * weight;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rig() -> Rig {
        Rig {
            primitive: 0,
            node: 0,
            positions: vec![[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]].into(),
            normals: Some(vec![[0.0, 0.0, 1.0]; 2].into()),
            data: Arc::default(),
            skin: None,
        }
    }

    #[test]
    fn targets_are_added_by_weight() {
        let mut rig = rig();
        let target = |x| Target { positions: vec![[x, 0.0, 0.0]; 2], normals: vec![[0.0, 1.0, -1.0]; 2] };
        let targets = vec![target(10.0), target(100.0)];
        rig.data = Arc::new(RigData { targets, ..RigData::default() });
        let pose = Pose { nodes: vec![], weights: vec![vec![0.5, 0.0]] };
        let shape = rig.shape(&pose);
        assert_eq!(shape.positions, [[6.0, 0.0, 0.0], [7.0, 0.0, 0.0]]);
        let [x, y, z] = shape.normals.unwrap()[0];
        assert!(x == 0.0 && (y - z).abs() < 1e-6 && (y * y + z * z - 1.0).abs() < 1e-5);
    }

    #[test]
    fn vertices_follow_their_joints() {
        let mut rig = rig();
        rig.skin = Some(Arc::new(crate::model::motion::Skin {
            joints: vec![1, 2],
            inverse_bind: vec![Affine3A::IDENTITY, Affine3A::from_translation(Vec3::NEG_X)],
        }));
        rig.data = Arc::new(RigData {
            joints: vec![[0, 1, 0, 0], [1, 0, 0, 9]],
            weights: vec![[0.5, 0.5, 0.0, 0.0], [0.0; 4]],
            targets: Vec::new(),
        });
        let pose = Pose {
            nodes: vec![
                Affine3A::from_translation(Vec3::Z),
                Affine3A::from_translation(Vec3::Y),
                Affine3A::from_rotation_z(std::f32::consts::FRAC_PI_2),
            ],
            weights: vec![],
        };
        let shape = rig.shape(&pose);
        // Half of (1, 1, 0) and half of the turned origin; and one without weights at its node.
        assert!(Vec3::from(shape.positions[0]).abs_diff_eq(Vec3::new(0.5, 0.5, 0.0), 1e-6), "{shape:?}");
        assert_eq!(shape.positions[1], [2.0, 0.0, 1.0]);
        assert!(rig.is_skinned());
    }

    #[test]
    fn normals_of_a_mirrored_joint_still_point_outwards() {
        for size in [1.0, 1e-12] {
            let mut rig = rig();
            let skin = super::super::Skin { joints: vec![0], inverse_bind: vec![Affine3A::IDENTITY] };
            rig.skin = Some(Arc::new(skin));
            rig.data = Arc::new(RigData {
                joints: vec![[0; 4]; 2],
                weights: vec![[1.0, 0.0, 0.0, 0.0]; 2],
                targets: Vec::new(),
            });
            let mirror = Affine3A::from_scale(Vec3::new(-size, size, size));
            let shape = rig.shape(&Pose { nodes: vec![mirror], weights: vec![] });
            assert_eq!(shape.normals.unwrap()[0], [0.0, 0.0, 1.0], "{size}");
        }
    }
}
