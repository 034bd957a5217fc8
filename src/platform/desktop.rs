//! The desktop: a window, a mouse and a keyboard.
//!
//! The camera is this participant's head, the mouse its right wand. Runs on the
//! main thread, as windows want it.

mod camera;
mod clipboard;
mod drag;
mod hands;
mod keys;

use std::time::Duration;

use bevy::{
    ecs::error::warn,
    log::LogPlugin,
    prelude::*,
    render::RenderPlugin,
    window::{FileDragAndDrop, PresentMode},
    winit::{UpdateMode, WinitPlugin, WinitSettings},
};

use crate::app::{self, AppOptions, AppSystems, input::OpenFile};

/// Opens the window and runs until it is closed.
///
/// The process must have set up logging; Bevy's own is not used.
pub fn run(options: AppOptions) -> AppExit {
    app(options).run()
}

/// The app with its window, not running yet: for tests and tools that add to it.
pub fn app(options: AppOptions) -> App {
    let mut app = App::new();
    app.set_error_handler(warn);
    let mut render = RenderPlugin {
        // A pipeline that is not ready yet leaves its meshes out for some frames instead of stopping them all.
        synchronous_pipeline_compilation: false,
        ..default()
    };
    #[cfg(feature = "xr")]
    let headset = options.headset.clone().map(|headset| (headset, super::xr::find(&mut render)));
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
    app.add_plugins(
        DefaultPlugins
            .set(WindowPlugin { primary_window: Some(window), ..default() })
            .set(render)
            .set(WinitPlugin { run_on_any_thread: options.any_thread })
            .disable::<LogPlugin>(),
    );
    // In the background frames are still drawn, for others move; but not more than are useful.
    app.insert_resource(WinitSettings {
        focused_mode: UpdateMode::Continuous,
        unfocused_mode: UpdateMode::reactive_low_power(Duration::from_millis(33)),
    });
    app::core(&mut app, options);
    app::presentation(&mut app);
    app.add_plugins((camera::plugin, clipboard::plugin, hands::plugin, drag::plugin, keys::plugin))
        .add_systems(Update, open_dropped_files.in_set(AppSystems::Input));
    #[cfg(feature = "xr")]
    if let Some((headset, found)) = headset {
        super::xr::add(&mut app, found, headset);
    }
    app
}

fn open_dropped_files(mut drops: MessageReader<FileDragAndDrop>, mut files: MessageWriter<OpenFile>) {
    files.write_batch(drops.read().filter_map(|drop| match drop {
        FileDragAndDrop::DroppedFile { path_buf, .. } => Some(path_buf.clone().into()),
        _ => None,
    }));
}
