//! When what of a model was there: for measuring, in `--report` and in tests.
//!
//! A mesh counts when the GPU's side of the program has it, not when it is handed over;
//! without such a side (tests) when it is handed over.

use std::time::{Duration, Instant};

use bevy::{
    asset::AssetId,
    prelude::*,
    render::{Render, RenderApp, RenderSystems, mesh::RenderMesh, render_asset::RenderAssets},
};
use crossbeam_channel::{Receiver, Sender, bounded};

use super::Model;
use crate::app::AppSystems;

/// Models whose first mesh is waited for at the same time.
const WAITING: usize = 256;

/// On the entity of a model, from when it was first heard of.
#[derive(Component, Debug, Clone, Copy)]
pub struct Moments {
    heard: Instant,
    asked: bool,
    first: Option<Instant>,
    ready: Option<Instant>,
}

impl Default for Moments {
    fn default() -> Self {
        Self { heard: Instant::now(), asked: false, first: None, ready: None }
    }
}

impl Moments {
    /// Until something of it could be drawn.
    pub fn first(&self) -> Option<Duration> {
        self.first.or(self.ready).map(|at| at.saturating_duration_since(self.heard))
    }

    /// Until all of it could.
    pub fn whole(&self) -> Option<Duration> {
        self.ready.map(|at| at.saturating_duration_since(self.heard))
    }

    /// All of it is there now; the first time counts.
    pub(super) fn ready(&mut self) {
        self.ready.get_or_insert_with(Instant::now);
    }
}

/// Asks the GPU's side when it has a mesh.
#[derive(Resource)]
pub(super) struct Watch {
    wanted: Option<Sender<(Entity, AssetId<Mesh>)>>,
    seen: Receiver<(Entity, Instant)>,
}

impl Watch {
    /// A mesh of a model was handed over; of its first one the moment is told.
    pub fn first(&self, model: Entity, mesh: AssetId<Mesh>, moments: &mut Moments) {
        if std::mem::replace(&mut moments.asked, true) {
            return;
        }
        match &self.wanted {
            // A moment that is not measured harms nobody.
            Some(wanted) => drop(wanted.try_send((model, mesh))),
            None => moments.first = Some(Instant::now()),
        }
    }
}

/// On the GPU's side.
#[derive(Resource)]
struct Watcher {
    wanted: Receiver<(Entity, AssetId<Mesh>)>,
    waiting: Vec<(Entity, AssetId<Mesh>)>,
    seen: Sender<(Entity, Instant)>,
}

pub(super) fn plugin(app: &mut App) {
    let ((wanted, asked), (told, seen)) = (bounded(WAITING), bounded(WAITING));
    let mut watch = Watch { wanted: None, seen };
    if let Some(render) = app.get_sub_app_mut(RenderApp) {
        watch.wanted = Some(wanted);
        render
            .insert_resource(Watcher { wanted: asked, waiting: Vec::new(), seen: told })
            .add_systems(Render, look.in_set(RenderSystems::Cleanup));
    }
    app.insert_resource(watch).add_systems(Update, note.in_set(AppSystems::Receive));
}

fn look(mut watcher: ResMut<Watcher>, meshes: Res<RenderAssets<RenderMesh>>) {
    let watcher = &mut *watcher;
    watcher.waiting.extend(watcher.wanted.try_iter());
    watcher.waiting.retain(|(model, mesh)| {
        let there = meshes.get(*mesh).is_some();
        if there {
            let _ = watcher.seen.try_send((*model, Instant::now()));
        }
        !there
    });
    // Those of models that were closed before never come.
    let much = watcher.waiting.len().saturating_sub(WAITING);
    watcher.waiting.drain(..much);
}

fn note(watch: Res<Watch>, mut models: Query<&mut Moments, With<Model>>) {
    for (model, at) in watch.seen.try_iter() {
        if let Ok(mut moments) = models.get_mut(model) {
            moments.first.get_or_insert(at);
        }
    }
}
