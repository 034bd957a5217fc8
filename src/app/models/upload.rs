//! Uploading over several frames, so that opening a model makes no frame late.
//!
//! A mesh that enters [`Assets`] is sent to the GPU in the same frame; so only
//! [`BYTES_PER_FRAME`] enter in one, and spawning stops after [`TIME_PER_FRAME`]: of all
//! models together, those that come in parts ([`super::stream`]) among them.
//! Everything has [`RenderAssetUsages::RENDER_WORLD`](bevy::asset::RenderAssetUsages):
//! no copy stays in memory. The model appears once all of it is there, in place of what
//! was shown of it until then.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use bevy::{
    camera::{primitives::Aabb, visibility::NoFrustumCulling},
    platform::collections::HashMap,
    prelude::*,
};

use super::{
    Detail, Model, ModelState,
    animate::{Bends, Motions, Moves},
    decode::{Prepared, Shape, Waiting},
    lights,
    material::{Look, LookKey},
    mesh::Part,
    moments::Moments,
    stream,
};
use crate::{
    app::{
        AppSystems,
        input::Action,
        link::{Meeting, Outgoing},
    },
    session::Command,
};

/// Bytes of meshes and images that enter per frame; at least one of them.
const BYTES_PER_FRAME: usize = 4 << 20;
/// Time for spawning per frame.
const TIME_PER_FRAME: Duration = Duration::from_millis(2);
/// Entities spawned between two looks at the clock.
const ENTITIES_PER_LOOK: usize = 64;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Allowance>().add_systems(
        Update,
        (change_detail, begin, renew, stream::upload, upload).chain().in_set(AppSystems::Update),
    );
}

/// What may still be uploaded in this frame.
#[derive(Resource)]
pub(super) struct Allowance {
    bytes: usize,
    until: Instant,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { bytes: BYTES_PER_FRAME, until: Instant::now() + TIME_PER_FRAME }
    }
}

impl Allowance {
    pub fn is_left(&self) -> bool {
        self.bytes > 0 && Instant::now() < self.until
    }

    fn spend(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

fn renew(mut allowance: ResMut<Allowance>) {
    *allowance = Allowance::default();
}

/// What is still to be uploaded.
#[derive(Component)]
struct Upload {
    images: VecDeque<Image>,
    handles: Vec<Handle<Image>>,
    looks: HashMap<LookKey, Look>,
    materials: HashMap<LookKey, Handle<StandardMaterial>>,
    pieces: Pieces,
    /// What the pieces hang from; hidden until all are there.
    content: Entity,
    /// What else appears then.
    shape: Option<Shape>,
    motion: Option<Motions>,
}

/// Parts that become pieces of a model, one after the other.
#[derive(Default)]
pub(super) struct Pieces {
    parts: VecDeque<Part>,
    /// Of the first part, once its mesh is uploaded.
    mesh: Option<Handle<Mesh>>,
}

impl Pieces {
    pub fn push(&mut self, parts: impl IntoIterator<Item = Part>) {
        self.parts.extend(parts);
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Uploads a mesh or spawns some of its pieces below `content`. The mesh that was
    /// uploaded, if one was.
    pub fn step(
        &mut self,
        (model, content): (Entity, Entity),
        mut material: impl FnMut(LookKey) -> Option<Handle<StandardMaterial>>,
        allowance: &mut Allowance,
        commands: &mut Commands,
        meshes: &mut Assets<Mesh>,
    ) -> Option<AssetId<Mesh>> {
        let part = self.parts.front_mut()?;
        let mut uploaded = None;
        if let Some(mesh) = part.mesh.take() {
            allowance.spend(part.bytes);
            let mesh = meshes.add(mesh);
            uploaded = Some(mesh.id());
            self.mesh = Some(mesh);
        }
        let Some(mesh) = &self.mesh else {
            self.parts.pop_front();
            return None;
        };
        let some = part.transforms.len().saturating_sub(ENTITIES_PER_LOOK);
        let bounds = Aabb::from_min_max(part.bounds.min, part.bounds.max);
        for transform in part.transforms.drain(some..) {
            for material in part.looks.iter().filter_map(|&look| material(look)) {
                let drawn = (Mesh3d(mesh.clone()), MeshMaterial3d(material), bounds);
                let mut piece = commands.spawn((drawn, transform, ChildOf(content)));
                if let Some(node) = part.node {
                    piece.insert(Moves { model, node, rest: transform.compute_affine() });
                }
                if let Some(rig) = part.rig {
                    // Where it bends to is not known beforehand.
                    piece.insert((Bends { model, rig }, NoFrustumCulling));
                }
            }
        }
        if part.transforms.is_empty() {
            self.parts.pop_front();
            self.mesh = None;
        }
        uploaded
    }
}

/// What the pieces of a model hang from that is shown.
#[derive(Component)]
pub(in crate::app) struct Content(pub Entity);

/// Another detail is decoded anew: what is shown stays in the file's bytes only.
fn change_detail(
    mut actions: MessageReader<Action>,
    meeting: Res<Meeting>,
    mut models: Query<(&Model, &mut ModelState, &mut Detail)>,
) {
    for action in actions.read() {
        let Action::ToggleDetail(id) = action else { continue };
        let Some((_, mut state, mut detail)) = models.iter_mut().find(|(model, ..)| model.id == *id) else {
            continue;
        };
        if *state == ModelState::Ready && meeting.model(id).is_some_and(|model| model.glb.is_some()) {
            *detail = Detail { full: !detail.full, again: true };
            *state = ModelState::Arriving;
        }
    }
}

fn begin(mut commands: Commands, models: Query<(Entity, &mut Waiting)>) {
    for (entity, mut waiting) in models {
        let Some(prepared) = waiting.0.take() else { continue };
        let Prepared { parts, looks, images, measure, shape, motion, lights, .. } = *prepared;
        let scale = Transform::from_scale(Vec3::splat(measure.unit_scale()));
        let content = commands.spawn((scale, Visibility::Hidden, ChildOf(entity))).id();
        lights::spawn(&mut commands, content, &lights, measure);
        let mut pieces = Pieces::default();
        pieces.push(parts);
        let upload = Upload {
            images: images.into(),
            handles: Vec::new(),
            looks,
            materials: HashMap::new(),
            pieces,
            content,
            shape: Some(shape),
            motion: motion.map(Motions::new),
        };
        commands.entity(entity).remove::<Waiting>().insert(upload);
    }
}

fn upload(
    mut commands: Commands,
    mut models: Query<(
        Entity,
        &Model,
        &mut Upload,
        &mut ModelState,
        &mut Moments,
        &Detail,
        Option<&Content>,
    )>,
    mut allowance: ResMut<Allowance>,
    mut outgoing: MessageWriter<Outgoing>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut images: ResMut<Assets<Image>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    for (entity, model, mut upload, mut state, mut moments, detail, before) in &mut models {
        while allowance.is_left() {
            let upload = &mut *upload;
            if let Some(image) = upload.images.pop_front() {
                allowance.spend(image.data.as_ref().map_or(0, Vec::len));
                upload.handles.push(images.add(image));
                continue;
            }
            if upload.materials.len() < upload.looks.len() {
                let handles = &upload.handles;
                let made =
                    upload.looks.iter().map(|(&key, look)| (key, materials.add(look.material(handles))));
                upload.materials = made.collect();
            }
            if !upload.pieces.is_empty() {
                let known = |key| upload.materials.get(&key).cloned();
                upload.pieces.step(
                    (entity, upload.content),
                    known,
                    &mut allowance,
                    &mut commands,
                    &mut meshes,
                );
                continue;
            }
            // In one frame, so that nothing is seen twice and nothing vanishes.
            if let Some(Content(before)) = before {
                commands.entity(*before).despawn();
            }
            commands.entity(upload.content).insert(Visibility::Inherited);
            let mut entity = commands.entity(entity);
            entity.remove::<Upload>().insert(Content(upload.content));
            if let Some(shape) = upload.shape.take() {
                entity.insert(shape);
            }
            match upload.motion.take() {
                Some(motion) => entity.insert(motion),
                None => entity.remove::<Motions>(),
            };
            *state = ModelState::Ready;
            moments.ready();
            if !detail.again {
                outgoing.write(Command::ModelLoaded { model_id: model.id.clone() }.into());
            }
            break;
        }
    }
}
