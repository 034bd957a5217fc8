//! Animations of models: off at first, switched by model, seen here only.
//!
//! Nodes move their pieces; meshes with bones or morph targets are bent on the
//! processor and uploaded again each frame, as long as they are small enough.

use std::sync::Arc;

use bevy::prelude::*;

use super::{Model, ModelState};
use crate::{
    app::{AppSystems, input::Action},
    model::motion::{Motion, Pose},
};

/// Vertices of a model that are bent each frame at most; with more of them only nodes move.
const MOST_BENT: usize = 200_000;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(
        Update,
        (switch.in_set(AppSystems::Update), (play, bend).chain().in_set(AppSystems::Present)),
    );
}

/// How a model moves.
#[derive(Component)]
pub struct Motions {
    motion: Arc<Motion>,
    rest: Pose,
    pose: Pose,
    /// Seconds since it was switched on.
    playing: Option<f32>,
}

impl Motions {
    pub(super) fn new(motion: Arc<Motion>) -> Self {
        let rest = motion.rest();
        Self { motion, pose: rest.clone(), rest, playing: None }
    }

    /// Whether it moves now.
    pub fn is_playing(&self) -> bool {
        self.playing.is_some()
    }
}

/// A piece that a node moves.
#[derive(Component)]
pub(super) struct Moves {
    pub model: Entity,
    pub node: usize,
    /// Where it is at rest, below the model's content.
    pub rest: bevy::math::Affine3A,
}

/// A piece that is bent.
#[derive(Component)]
pub(super) struct Bends {
    pub model: Entity,
    pub rig: usize,
}

fn switch(mut actions: MessageReader<Action>, mut models: Query<(&Model, &ModelState, &mut Motions)>) {
    for action in actions.read() {
        let Action::ToggleAnimation(id) = action else { continue };
        for (model, state, mut motions) in &mut models {
            if model.id == *id && *state == ModelState::Ready {
                motions.playing = if motions.playing.is_some() { None } else { Some(0.0) };
                // Switched off, it goes back to rest at once.
                motions.pose = motions.rest.clone();
            }
        }
    }
}

fn play(time: Res<Time>, mut models: Query<&mut Motions>, mut pieces: Query<(&Moves, &mut Transform)>) {
    for mut motions in &mut models {
        // Without a change nothing is bent or moved anew.
        let Some(seconds) = motions.playing else { continue };
        motions.pose = motions.motion.pose(0, seconds);
        motions.playing = Some(seconds + time.delta_secs());
    }
    for (moves, mut transform) in &mut pieces {
        let Ok(motions) = models.get_mut(moves.model) else { continue };
        if motions.is_changed() {
            let moved = motions.motion.moved(&motions.rest, &motions.pose, moves.node, moves.rest);
            *transform = Transform::from_matrix(moved.into());
        }
    }
}

fn bend(models: Query<Ref<Motions>>, pieces: Query<(&Bends, &Mesh3d)>, mut meshes: ResMut<Assets<Mesh>>) {
    for (bends, mesh) in &pieces {
        let Ok(motions) = models.get(bends.model) else { continue };
        let bent: usize = motions.motion.rigs.iter().map(|rig| rig.vertices()).sum();
        if !motions.is_changed() || motions.is_added() || bent > MOST_BENT {
            continue;
        }
        let (Some(rig), Some(mut mesh)) = (motions.motion.rigs.get(bends.rig), meshes.get_mut(&mesh.0))
        else {
            continue;
        };
        let shape = rig.shape(&motions.pose);
        mesh.insert_attribute(Mesh::ATTRIBUTE_POSITION, shape.positions);
        if let Some(normals) = shape.normals {
            mesh.insert_attribute(Mesh::ATTRIBUTE_NORMAL, normals);
        }
    }
}
