//! Pictures of the window, taken by the program itself.
//!
//! For tests of real windows and for documentation: no other program is needed
//! to look at what is on the screen.

use std::{path::PathBuf, time::Duration};

use bevy::{
    prelude::*,
    render::view::screenshot::{Screenshot, ScreenshotCaptured, save_to_disk},
};

/// What is taken when.
#[derive(Resource, Debug, Default, Clone)]
pub struct Snapshots {
    /// Time since start, and where the picture goes (a `.png`).
    pub shots: Vec<(Duration, PathBuf)>,
    /// End the program after this, once all pictures are written.
    pub exit_after: Option<Duration>,
}

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Update, (take, exit).chain().run_if(|snapshots: Res<Snapshots>| !snapshots.is_done()));
}

impl Snapshots {
    fn is_done(&self) -> bool {
        self.shots.is_empty() && self.exit_after.is_none()
    }
}

/// A picture that is not written yet.
#[derive(Component)]
struct Pending;

/// One at a time: of two in a frame Bevy takes only one.
fn take(
    mut snapshots: ResMut<Snapshots>,
    pending: Query<(), With<Pending>>,
    mut commands: Commands,
    time: Res<Time<Real>>,
) {
    if !pending.is_empty() {
        return;
    }
    let now = time.elapsed();
    let Some(due) = snapshots.shots.iter().position(|(at, _)| *at <= now) else { return };
    let (_, path) = snapshots.shots.remove(due);
    commands.spawn((Screenshot::primary_window(), Pending)).observe(save_to_disk(path)).observe(
        |written: On<ScreenshotCaptured>, mut commands: Commands| {
            commands.entity(written.entity).remove::<Pending>();
        },
    );
}

fn exit(
    snapshots: Res<Snapshots>,
    pending: Query<(), With<Pending>>,
    time: Res<Time<Real>>,
    mut exit: MessageWriter<AppExit>,
) {
    let over = snapshots.exit_after.is_some_and(|at| time.elapsed() >= at);
    if over && snapshots.shots.is_empty() && pending.is_empty() {
        exit.write(AppExit::Success);
    }
}
