//! What a frame costs, apart from drawing: our own systems, and the making of meshes and
//! images for the GPU.
//!
//! For: the page about the network (F3) and `cargo bench --bench frames`, which hold them
//! to a budget. Both are times by the clock, so what other programs do to the machine is in
//! them. Not spans: those of Bevy's systems are compiled out, and timing two moments of a
//! frame costs nothing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bevy::{
    prelude::*,
    render::{Render, RenderApp, RenderSystems},
};

use super::AppSystems;

pub(super) fn plugin(app: &mut App) {
    let costs = Costs::default();
    if let Some(render) = app.get_sub_app_mut(RenderApp) {
        let begin = begin_making.after(RenderSystems::ExtractCommands).before(RenderSystems::PrepareAssets);
        let end = end_making.after(RenderSystems::PrepareAssets).before(RenderSystems::PrepareMeshes);
        render
            .insert_resource(Making { began: Instant::now(), took: costs.making.clone() })
            .add_systems(Render, (begin, end));
    }
    app.insert_resource(costs)
        .add_systems(Update, (begin.before(AppSystems::Receive), end.after(AppSystems::Send)));
}

/// What the last frame cost.
#[derive(Resource, Debug, Clone)]
pub struct Costs {
    began: Instant,
    /// From the first of our systems to the last.
    pub systems: Duration,
    /// Nanoseconds.
    making: Arc<AtomicU64>,
}

impl Default for Costs {
    fn default() -> Self {
        Self { began: Instant::now(), systems: Duration::ZERO, making: Arc::default() }
    }
}

impl Costs {
    /// Time in which all assets that had changed were made for the GPU, in the last frame
    /// that was drawn. That is one frame before, where frames are drawn beside others.
    pub fn making(&self) -> Duration {
        Duration::from_nanos(self.making.load(Ordering::Relaxed))
    }
}

fn begin(mut costs: ResMut<Costs>) {
    costs.began = Instant::now();
}

fn end(mut costs: ResMut<Costs>) {
    costs.systems = costs.began.elapsed();
}

/// On the GPU's side.
#[derive(Resource)]
struct Making {
    began: Instant,
    took: Arc<AtomicU64>,
}

fn begin_making(mut making: ResMut<Making>) {
    making.began = Instant::now();
}

fn end_making(making: Res<Making>) {
    let took = u64::try_from(making.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    making.took.store(took, Ordering::Relaxed);
}
