//! Platforms: what shows the app and tells it what the person does.
//!
//! They fill [`app::input`](crate::app::input); nothing depends on them but the
//! program's start.

#[cfg(target_os = "android")]
pub mod android;
pub mod desktop;
#[cfg(feature = "xr")]
pub mod standalone;
#[cfg(feature = "xr")]
mod xr;

use std::time::Duration;

use bevy::{
    ecs::error::warn,
    log::LogPlugin,
    prelude::*,
    render::RenderPlugin,
    window::ExitCondition,
    winit::{UpdateMode, WinitPlugin},
};

/// A frame after so long, or as soon as there is something new but a mouse's way.
const fn pace(wait: Duration) -> UpdateMode {
    UpdateMode::Reactive {
        wait,
        react_to_device_events: false,
        react_to_user_events: true,
        react_to_window_events: true,
    }
}

/// How Bevy draws.
fn renderer() -> RenderPlugin {
    RenderPlugin {
        // A pipeline that is not ready yet leaves its meshes out for some frames instead of stopping them all.
        synchronous_pipeline_compilation: false,
        ..default()
    }
}

/// Bevy, with a window or without. The process must have set up logging; Bevy's own
/// is not used.
fn bevy(render: RenderPlugin, window: Option<Window>, any_thread: bool) -> App {
    let mut app = App::new();
    app.set_error_handler(warn);
    let exit_condition = if window.is_some() { ExitCondition::OnAllClosed } else { ExitCondition::DontExit };
    app.add_plugins(
        DefaultPlugins
            .set(WindowPlugin { primary_window: window, exit_condition, ..default() })
            .set(render)
            .set(WinitPlugin { run_on_any_thread: any_thread })
            .disable::<LogPlugin>(),
    );
    app
}
