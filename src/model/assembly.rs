//! The scene put together: each mesh read once, and placed where nodes say.

use std::ops::Range;
use std::sync::Arc;

use glam::Affine3A;

use super::array::Array;
use super::bounds::Bounds;
use super::buffers::Buffers;
use super::decoded::{DecodedModel, Instance, Primitive, Topology};
use super::error::{DecodeError, Fault};
use super::geometry::{Failure, Reader, Spent, within};
use super::instancing;
use super::limits::{Limits, Watch};
use super::motion::{Motion, Pose, Rig, RigData, Skin};
use super::scene::{Placed, Placements};
use super::warnings::Warnings;

/// A mesh that was read.
#[derive(Clone, Default)]
struct Mesh {
    /// Its primitives in the model.
    shared: Range<usize>,
    /// Those that change their shape: each node that places them has its own.
    bent: Vec<(Primitive, Arc<RigData>)>,
}

impl Mesh {
    fn is_empty(&self) -> bool {
        self.shared.is_empty() && self.bent.is_empty()
    }
}

/// A model in the making.
pub(super) struct Assembly<'a> {
    reader: Reader<'a>,
    watch: &'a Watch<'a>,
    placed: &'a [Placed],
    meshes: Vec<Option<Mesh>>,
    motion: Motion,
    rest: Pose,
    skins: Vec<Option<Arc<Skin>>>,
    /// Instances so far, those included that are beyond all numbers.
    tried: u64,
    model: DecodedModel,
}

impl<'a> Assembly<'a> {
    pub(super) fn new(
        buffers: &'a Buffers<'a>,
        limits: &'a Limits,
        watch: &'a Watch<'a>,
        placed: &'a Placements,
        (motion, skins): (Motion, Vec<Option<Arc<Skin>>>),
    ) -> Self {
        let document = buffers.document();
        let mut model = DecodedModel::default();
        model.counts.nodes = document.nodes.len() as u64;
        Self {
            reader: Reader { buffers, limits, spent: Spent::default() },
            watch,
            placed: &placed.meshes,
            meshes: vec![None; document.meshes.len()],
            rest: motion.rest(),
            motion,
            skins,
            tried: 0,
            model,
        }
    }

    pub(super) fn build(mut self, warnings: &mut Warnings) -> Result<DecodedModel, DecodeError> {
        for &placed in self.placed {
            self.watch.check()?;
            self.place(placed, warnings)?;
        }
        let mut model = self.model;
        // A primitive may have been read for nothing, if it is only placed beyond all numbers.
        model.counts.vertices =
            model.primitives.iter().map(|primitive| primitive.positions.len() as u64).sum();
        if !self.motion.clips.is_empty() {
            model.motion = Some(Box::new(self.motion));
        }
        Ok(model)
    }

    fn place(&mut self, placed: Placed, warnings: &mut Warnings) -> Result<(), DecodeError> {
        let Some(mesh) = self.mesh(placed.mesh, warnings)? else { return Ok(()) };
        if !mesh.is_empty() {
            self.place_mesh(&mesh, placed, warnings)?;
        }
        if let Some(place) = self.meshes.get_mut(placed.mesh) {
            *place = Some(mesh);
        }
        Ok(())
    }

    fn place_mesh(
        &mut self,
        mesh: &Mesh,
        placed: Placed,
        warnings: &mut Warnings,
    ) -> Result<(), DecodeError> {
        let node = placed.node.filter(|&node| self.motion.is_moved(node));
        let document = self.reader.buffers.document();
        let json = placed.node.and_then(|node| document.nodes.get(node));
        let transforms = match json.and_then(|node| node.extensions.instancing.as_ref()) {
            None => vec![placed.transform],
            Some(json) => match instancing::read(self.reader.buffers, json, self.reader.limits.max_instances)
            {
                Ok(instances) => instances.into_iter().map(|instance| placed.transform * instance).collect(),
                Err(fault) => {
                    warnings.fault(format_args!("a node's instances cannot be read, one is shown: {fault}"));
                    vec![placed.transform]
                }
            },
        };
        for primitive in mesh.shared.clone() {
            for &transform in &transforms {
                self.add(Instance { primitive, transform, node }, warnings)?;
            }
        }
        let skin = json.and_then(|node| node.skin).map(super::document::Whole::index);
        for (primitive, data) in &mesh.bent {
            self.bent(primitive, data, placed, skin, &transforms, warnings)?;
        }
        Ok(())
    }

    /// Places a primitive in the shape that it has at rest.
    fn bent(
        &mut self,
        primitive: &Primitive,
        data: &Arc<RigData>,
        placed: Placed,
        skin: Option<usize>,
        transforms: &[Affine3A],
        warnings: &mut Warnings,
    ) -> Result<(), DecodeError> {
        self.watch.check()?;
        // As many as are looked at to bend it.
        let vertices = primitive.positions.len().saturating_mul(1 + data.targets.len());
        let spent = self.reader.spent.vertices(vertices + data.targets.len(), self.reader.limits);
        if let Err(Failure::Stop(error)) = spent {
            return Err(error);
        }
        let number = self.model.primitives.len();
        let rig = Rig {
            primitive: number,
            node: placed.node.unwrap_or(usize::MAX),
            positions: primitive.positions.clone(),
            normals: primitive.normals.clone(),
            data: Arc::clone(data),
            skin: skin.and_then(|skin| self.skins.get(skin)).cloned().flatten(),
        };
        let shape = rig.shape(&self.rest);
        let bounds = Bounds::of_points(&shape.positions);
        // A box passes over what is no number.
        let finite = shape.positions.as_flattened().iter().all(|v| v.is_finite());
        if !finite || !bounds.is_finite() {
            warnings.fault("a mesh is bent beyond the range of numbers and left out");
            return Ok(());
        }
        let node = placed.node.filter(|&node| self.motion.is_moved(node) && !rig.is_skinned());
        let skinned = rig.is_skinned();
        self.model.primitives.push(Primitive {
            positions: shape.positions.into(),
            normals: shape.normals.map(Array::from),
            bounds,
            ..primitive.clone()
        });
        if !self.motion.clips.is_empty() {
            self.motion.rigs.push(rig);
        }
        // Joints place a skin, wherever its node is.
        let here = [Affine3A::IDENTITY];
        for &transform in if skinned { &here[..] } else { transforms } {
            self.add(Instance { primitive: number, transform, node }, warnings)?;
        }
        Ok(())
    }

    /// A mesh, read the first time; taken out until it is put back.
    fn mesh(&mut self, number: usize, warnings: &mut Warnings) -> Result<Option<Mesh>, DecodeError> {
        let Some(place) = self.meshes.get_mut(number) else {
            warnings.fault(Fault::Unresolved { what: "mesh", index: number, count: self.meshes.len() });
            return Ok(None);
        };
        if let Some(mesh) = place.take() {
            return Ok(Some(mesh));
        }
        let json = self.reader.buffers.document().meshes.get(number);
        let list = json.map_or(&[][..], |mesh| &mesh.primitives);
        if list.is_empty() {
            warnings.fault(format_args!("mesh {number} is empty"));
        }
        let start = self.model.primitives.len();
        let mut bent = Vec::new();
        for (part, json) in list.iter().enumerate() {
            self.watch.check()?;
            match self.reader.read(json, warnings) {
                Ok((primitive, rig)) if rig.is_empty() => self.model.primitives.push(primitive),
                Ok((primitive, rig)) => bent.push((primitive, Arc::new(rig))),
                Err(Failure::Stop(error)) => return Err(error),
                Err(Failure::Skip(fault)) => {
                    warnings.fault(format_args!("mesh {number}, primitive {part} is left out: {fault}"));
                }
            }
        }
        let shared = start..self.model.primitives.len();
        self.model.counts.meshes += u64::from(!shared.is_empty() || !bent.is_empty());
        Ok(Some(Mesh { shared, bent }))
    }

    fn add(&mut self, instance: Instance, warnings: &mut Warnings) -> Result<(), DecodeError> {
        let (model, limits) = (&mut self.model, self.reader.limits);
        let Some(primitive) = model.primitives.get(instance.primitive) else { return Ok(()) };
        self.tried += 1;
        within("instances", self.tried, limits.max_instances as u64)?;
        let bounds = primitive.bounds.transformed(&instance.transform);
        if !instance.transform.is_finite() || !bounds.is_finite() || !bounds.size().is_finite() {
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
        model.bounds = model.bounds.union(bounds);
        model.instances.push(instance);
        Ok(())
    }
}
