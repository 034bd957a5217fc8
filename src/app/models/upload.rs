//! Uploading over several frames, so that opening a model makes no frame late.
//!
//! A mesh that enters [`Assets`] is sent to the GPU in the same frame; so only
//! [`BYTES_PER_FRAME`] enter in one, and spawning stops after [`TIME_PER_FRAME`].
//! Everything has [`RenderAssetUsages::RENDER_WORLD`](bevy::asset::RenderAssetUsages):
//! no copy stays in memory. The model appears once all of it is there.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use bevy::{
    camera::{primitives::Aabb, visibility::NoFrustumCulling},
    prelude::*,
};

use super::{
    Detail, Model, ModelState,
    animate::{Bends, Motions, Moves},
    decode::{Prepared, Waiting},
    lights,
    material::Look,
    mesh::Part,
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
    app.add_systems(Update, (change_detail, begin, upload).chain().in_set(AppSystems::Update));
}

/// What is still to be uploaded.
#[derive(Component)]
struct Upload {
    images: VecDeque<Image>,
    handles: Vec<Handle<Image>>,
    looks: Vec<Look>,
    materials: Vec<Handle<StandardMaterial>>,
    parts: VecDeque<Part>,
    /// Of the first part, once its mesh is uploaded.
    mesh: Option<Handle<Mesh>>,
    /// What the pieces hang from.
    content: Entity,
}

/// What the pieces of a model hang from.
#[derive(Component)]
struct Content(Entity);

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

fn begin(mut commands: Commands, models: Query<(Entity, &mut Waiting, Option<&Content>)>) {
    for (entity, mut waiting, before) in models {
        let Some(prepared) = waiting.0.take() else { continue };
        let Prepared { parts, looks, images, measure, shape, motion, lights, .. } = *prepared;
        if let Some(Content(before)) = before {
            commands.entity(*before).despawn();
        }
        let scale = Transform::from_scale(Vec3::splat(measure.unit_scale()));
        let content = commands.spawn((scale, Visibility::Inherited, ChildOf(entity))).id();
        lights::spawn(&mut commands, content, &lights, measure);
        match motion {
            Some(motion) => commands.entity(entity).insert(Motions::new(motion)),
            None => commands.entity(entity).remove::<Motions>(),
        };
        let upload = Upload {
            images: images.into(),
            handles: Vec::new(),
            looks,
            materials: Vec::new(),
            parts: parts.into(),
            mesh: None,
            content,
        };
        commands.entity(entity).remove::<Waiting>().insert((upload, shape, Content(content)));
    }
}

fn upload(
    mut commands: Commands,
    mut models: Query<(Entity, &Model, &mut Upload, &mut ModelState, &Detail)>,
    mut outgoing: MessageWriter<Outgoing>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut images: ResMut<Assets<Image>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    let mut bytes_left = BYTES_PER_FRAME;
    let end = Instant::now() + TIME_PER_FRAME;
    for (entity, model, mut upload, mut state, detail) in &mut models {
        while bytes_left > 0 && Instant::now() < end {
            let upload = &mut *upload;
            if let Some(image) = upload.images.pop_front() {
                bytes_left = bytes_left.saturating_sub(image.data.as_ref().map_or(0, Vec::len));
                upload.handles.push(images.add(image));
                continue;
            }
            if upload.materials.len() < upload.looks.len() {
                let handles = &upload.handles;
                upload.materials = upload.looks.iter().map(|l| materials.add(l.material(handles))).collect();
            }
            let Some(part) = upload.parts.front_mut() else {
                *state = ModelState::Ready;
                if !detail.again {
                    outgoing.write(Command::ModelLoaded { model_id: model.id.clone() }.into());
                }
                commands.entity(entity).remove::<Upload>();
                break;
            };
            if let Some(mesh) = part.mesh.take() {
                bytes_left = bytes_left.saturating_sub(part.bytes);
                upload.mesh = Some(meshes.add(mesh));
            }
            let Some(mesh) = upload.mesh.clone() else {
                upload.parts.pop_front();
                continue;
            };
            let some = part.transforms.len().saturating_sub(ENTITIES_PER_LOOK);
            let bounds = Aabb::from_min_max(part.bounds.min, part.bounds.max);
            for transform in part.transforms.drain(some..) {
                for look in &part.looks {
                    let Some(material) = upload.materials.get(*look) else { continue };
                    let drawn = (Mesh3d(mesh.clone()), MeshMaterial3d(material.clone()), bounds);
                    let mut piece = commands.spawn((drawn, transform, ChildOf(upload.content)));
                    if let Some(node) = part.node {
                        piece.insert(Moves { model: entity, node, rest: transform.compute_affine() });
                    }
                    if let Some(rig) = part.rig {
                        // Where it bends to is not known beforehand.
                        piece.insert((Bends { model: entity, rig }, NoFrustumCulling));
                    }
                }
            }
            if part.transforms.is_empty() {
                upload.parts.pop_front();
                upload.mesh = None;
            }
        }
    }
}
