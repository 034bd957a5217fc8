//! The demonstration's pictures: taken when there is something to be seen, not
//! after so many seconds, for nobody knows how fast this machine draws.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use bevy::{
    prelude::*,
    render::{
        Render, RenderApp, RenderSystems,
        render_resource::PipelineCache,
        view::screenshot::{Screenshot, ScreenshotCaptured, save_to_disk},
    },
};

use crossbeam_channel::Sender;

use super::{
    AppSystems,
    link::Meeting,
    models::{Model, ModelState},
    participants::{BodyPart, Participant},
    viewer::StartAt,
};
use crate::{demo::PICTURES, session::Pose};

/// What does not happen within this time does not happen.
const PATIENCE: Duration = Duration::from_secs(120);
/// Frames between what is to be seen and its picture.
const SETTLES: u32 = 4;
/// From a face, to look at it, metres.
const FACE_TO_FACE: f32 = 1.1;

pub(super) fn plugin(app: &mut App) {
    // Any other window has nothing to do with it.
    if !app.world().contains_resource::<Tour>() {
        return;
    }
    let drawn = Drawn::default();
    if let Some(render) = app.get_sub_app_mut(RenderApp) {
        render.insert_resource(drawn.clone()).add_systems(Render, tell.in_set(RenderSystems::Cleanup));
    }
    app.insert_resource(drawn)
        .add_systems(Update, walk.in_set(AppSystems::Present).after(super::participants::follow));
}

/// Whether all that is to be drawn can be: what waits for its shaders is left out
/// of the picture.
#[derive(Resource, Clone, Default)]
struct Drawn(Arc<AtomicBool>);

fn tell(drawn: Res<Drawn>, pipelines: Res<PipelineCache>) {
    drawn.0.store(pipelines.waiting_pipelines().next().is_none(), Ordering::Relaxed);
}

/// The pictures that are still to be taken, and where they go.
#[derive(Resource, Debug)]
pub struct Tour {
    folder: PathBuf,
    stop: usize,
    settled: u32,
    begun: Instant,
    /// A picture that is not written yet.
    pending: bool,
    /// Told when the first picture is taken: the guest may come.
    cue: Option<Sender<()>>,
}

impl Tour {
    /// Pictures go into this folder, which is there; `cue` is told when the guest
    /// may come.
    pub fn new(folder: PathBuf, cue: Sender<()>) -> Self {
        Self { folder, stop: 0, settled: 0, begun: Instant::now(), pending: false, cue: Some(cue) }
    }
}

fn walk(
    mut tour: ResMut<Tour>,
    drawn: Res<Drawn>,
    meeting: Res<Meeting>,
    models: Query<(&Model, &ModelState)>,
    participants: Query<&Children, With<Participant>>,
    heads: Query<(&BodyPart, &Transform)>,
    mut start: MessageWriter<StartAt>,
    mut commands: Commands,
    mut exit: MessageWriter<AppExit>,
) {
    if tour.begun.elapsed() > PATIENCE {
        error!(
            "the demonstration did not come to the picture \"{}\"",
            PICTURES.get(tour.stop).unwrap_or(&"")
        );
        exit.write(AppExit::error());
        return;
    }
    let Some(stop) = PICTURES.get(tour.stop) else {
        if !tour.pending {
            exit.write(AppExit::Success);
        }
        return;
    };
    let ready =
        |count: usize| models.iter().filter(|(_, state)| **state == ModelState::Ready).count() >= count;
    let there = match *stop {
        "room" => ready(1),
        "on-its-way" => meeting.models.iter().filter_map(|m| m.arriving).any(|(progress, _)| {
            // Not so late that it is over before the picture is taken.
            (0.1..0.8).contains(&(progress.received as f64 / progress.total.max(1) as f64))
        }),
        "arrived" => ready(2),
        _ => {
            let head = participants.iter().flatten().find_map(|&part| match heads.get(part) {
                Ok((BodyPart::Head(_), transform)) => Some(*transform),
                _ => None,
            });
            if let Some(head) = head.filter(|_| tour.settled == 0) {
                start.write(StartAt { head: face_to_face(head), asked: true });
            }
            head.is_some()
        }
    };
    if !there || tour.pending {
        return;
    }
    // What is on its way does not wait for that.
    if *stop != "on-its-way" && !drawn.0.load(Ordering::Relaxed) {
        tour.settled = 0;
        return;
    }
    tour.settled += 1;
    // On its way things do not settle.
    if tour.settled < SETTLES && *stop != "on-its-way" {
        return;
    }
    let path = tour.folder.join(stop).with_extension("png");
    commands.spawn(Screenshot::primary_window()).observe(save_to_disk(path)).observe(
        |_: On<ScreenshotCaptured>, mut tour: ResMut<Tour>| {
            tour.pending = false;
            if let Some(cue) = tour.cue.take() {
                // It may have ended.
                let _ = cue.send(());
            }
        },
    );
    (tour.pending, tour.settled) = (true, 0);
    tour.stop += 1;
}

/// Where to stand to look somebody in the face, a little from the side.
fn face_to_face(head: Transform) -> Pose {
    let aside = Quat::from_rotation_y(0.45);
    let ahead = (head.rotation * Vec3::Z).with_y(0.0).try_normalize().unwrap_or(Vec3::Z);
    let position = head.translation + aside * ahead * FACE_TO_FACE;
    let back = head.translation - position;
    Pose { position, rotation: Quat::from_rotation_y(back.x.atan2(back.z)) }
}
