//! What of a primitive's vertices changes with a pose: joints and morph targets.

use super::{Attributes, Fault, all_finite};
use crate::model::accessor::Elements;
use crate::model::document::{self, Whole};
use crate::model::motion::{RigData, Target};
use crate::model::warnings::Warnings;

impl Attributes<'_> {
    /// Joints and morph targets. What is wrong with them costs only them: the mesh
    /// is shown as it is without.
    pub(super) fn rig(&self, json: &document::Primitive, warnings: &mut Warnings) -> Result<RigData, Fault> {
        let mut rig = RigData::default();
        match self.joints(json) {
            Ok(Some((joints, weights))) => (rig.joints, rig.weights) = (joints, weights),
            Ok(None) => {}
            Err(fault) => warnings.push(format_args!("joints are not shown: {fault}")),
        }
        for (number, target) in json.targets.iter().enumerate() {
            let read = (|| {
                Ok(Target { positions: self.deltas(target.position)?, normals: self.deltas(target.normal)? })
            })();
            match read {
                Ok(target) => rig.targets.push(target),
                Err::<_, Fault>(fault) => {
                    warnings.push(format_args!("morph target {number} is not shown: {fault}"));
                    // Numbers of the others stay what they are.
                    rig.targets.push(Target::default());
                }
            }
        }
        Ok(rig)
    }

    fn joints(&self, json: &document::Primitive) -> Result<Option<(Vec<[u16; 4]>, Vec<[f32; 4]>)>, Fault> {
        let Some(joints) = self.find(json, |all| all.joints_0, "joints")? else { return Ok(None) };
        let Some(weights) = self.find(json, |all| all.weights_0, "weights of joints")? else {
            return Ok(None);
        };
        let numbers = joints.numbers(self.range.clone(), "joints")?;
        let weights: Vec<[f32; 4]> = weights.floats(self.range.clone(), "weights of joints")?;
        if !all_finite(weights.as_flattened()) {
            return Err(Fault::NonFinite);
        }
        Ok(Some((numbers, weights)))
    }

    /// None at all for an attribute that a target does not change.
    fn deltas(&self, accessor: Option<Whole>) -> Result<Vec<[f32; 3]>, Fault> {
        let Some(accessor) = accessor else { return Ok(Vec::new()) };
        let elements = Elements::find(self.buffers, accessor)?;
        if elements.count != self.count {
            return Err(Fault::CountMismatch {
                what: "a morph target",
                found: elements.count,
                wanted: self.count,
            });
        }
        let deltas = elements.floats(self.range.clone(), "a morph target")?;
        if all_finite(deltas.as_flattened()) { Ok(deltas) } else { Err(Fault::NonFinite) }
    }
}
