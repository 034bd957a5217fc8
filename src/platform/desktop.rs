//! The desktop: a window, a mouse and a keyboard.
//!
//! The camera is this participant's head, the mouse its right wand. Runs on the
//! main thread, as windows want it.

mod camera;
#[cfg(not(target_os = "android"))]
mod clipboard;
mod drag;
mod hands;
mod keys;

use std::time::Duration;

use bevy::{
    prelude::*,
    render::RenderPlugin,
    window::{FileDragAndDrop, PresentMode, PrimaryWindow},
    winit::{UpdateMode, WinitSettings},
};

use crate::app::{
    self, AppOptions, AppSystems,
    input::{Headset, OpenFile},
};

/// In the background frames are still drawn, for others move; but not more than
/// are useful.
const IN_BACKGROUND: UpdateMode = super::pace(Duration::from_millis(33));

/// Opens the window and runs until it is closed.
///
/// The process must have set up logging; Bevy's own is not used.
pub fn run(options: AppOptions) -> AppExit {
    app(options).run()
}

/// The app with its window, not running yet: for tests and tools that add to it.
pub fn app(options: AppOptions) -> App {
    #[cfg(feature = "xr")]
    if let Some(headset) = options.headset.clone() {
        let mut render = super::renderer();
        let found = super::xr::find(&mut render);
        let mut app = shown(options, render);
        super::xr::add(&mut app, found, headset);
        return app;
    }
    shown(options, super::renderer())
}

/// The window, with what draws it.
pub(super) fn shown(options: AppOptions, render: RenderPlugin) -> App {
    let resolution = options
        .size
        .map_or_else(default, |(width, height)| bevy::window::WindowResolution::new(width, height));
    let window = Window {
        resolution,
        title: "Convene".to_owned(),
        name: Some("convene".to_owned()),
        present_mode: PresentMode::AutoVsync,
        resize_constraints: bevy::window::WindowResizeConstraints {
            min_width: 640.0,
            min_height: 480.0,
            ..default()
        },
        ..default()
    };
    let mut app = super::bevy(render, Some(window), options.any_thread);
    app.insert_resource(WinitSettings {
        focused_mode: UpdateMode::Continuous,
        unfocused_mode: IN_BACKGROUND,
    });
    app::core(&mut app, options);
    app::presentation(&mut app);
    #[cfg(not(target_os = "android"))]
    app.add_plugins(clipboard::plugin);
    app.add_plugins((camera::plugin, hands::plugin, drag::plugin, keys::plugin))
        .add_systems(Update, open_dropped_files.in_set(AppSystems::Input))
        .add_systems(Update, keep_pace.in_set(AppSystems::Present).run_if(resource_changed::<Headset>));
    app
}

/// A headset's frames are its own: neither the monitor nor a window in the
/// background slows them.
fn keep_pace(
    headset: Res<Headset>,
    mut settings: ResMut<WinitSettings>,
    mut window: Single<&mut Window, With<PrimaryWindow>>,
) {
    let (pace, present) = if headset.is_in_use() {
        (UpdateMode::Continuous, PresentMode::AutoNoVsync)
    } else {
        (IN_BACKGROUND, PresentMode::AutoVsync)
    };
    if settings.unfocused_mode != pace {
        settings.unfocused_mode = pace;
    }
    if window.present_mode != present {
        window.present_mode = present;
    }
}

fn open_dropped_files(mut drops: MessageReader<FileDragAndDrop>, mut files: MessageWriter<OpenFile>) {
    files.write_batch(drops.read().filter_map(|drop| match drop {
        FileDragAndDrop::DroppedFile { path_buf, .. } => Some(path_buf.clone().into()),
        _ => None,
    }));
}
