//! Headsets, through OpenXR: a session, its frames, controllers and hands.
//!
//! bevy_mod_openxr makes Bevy's device from what the runtime asks for; session,
//! frames and input are ours, since its own systems stop the program where the
//! runtime does. No error of the runtime ends the program here: the window goes
//! on, and a session begins anew when it can.
//!
//! The thread `xr` waits for frames, polls events and reads poses ([`tracker`]),
//! the main world hears of it once a frame ([`session`]), the render world hands
//! pictures over ([`compositor`]). Where the thread is stuck in the runtime, the
//! main world goes on without it; where the render world is, the picture stands
//! still, and nobody else: the meeting has threads of its own.

mod actions;
mod bodies;
mod compositor;
mod eyes;
mod runtime;
mod session;
mod spectator;
mod tracker;

use std::time::Duration;

use bevy::{prelude::*, render::RenderPlugin};

use crate::{
    app::{
        HeadsetOptions,
        input::{Headset, HeadsetState},
        notices::Notify,
    },
    notice::Notice,
};

use runtime::Runtime;

/// A frame that has not begun so long after the one before was drawn is not
/// waited for any more: the window is drawn without it.
const PATIENCE: Duration = Duration::from_millis(150);

/// A runtime with a headset, or what the person is to be told.
pub(super) struct Found(Result<Runtime, Notice>);

impl Found {
    /// Whether there is a headset.
    pub fn is_there(&self) -> bool {
        self.0.is_ok()
    }
}

/// Looks for a runtime and a headset, and has Bevy draw with what they ask for.
pub(super) fn find(plugin: &mut RenderPlugin) -> Found {
    Found(match Runtime::load() {
        Ok((runtime, render)) => {
            plugin.render_creation = render;
            Ok(runtime)
        }
        Err(error) => {
            tracing::info!("no headset: {error}");
            Err(error.notice())
        }
    })
}

/// Adds the headset to an app that draws with what [`find`] found.
pub(super) fn add(app: &mut App, found: Found, options: HeadsetOptions) {
    match found.0 {
        Err(notice) => {
            app.world_mut().write_message(Notify(notice));
        }
        Ok(runtime) => {
            let state = HeadsetState::Available;
            app.insert_resource(session::Vr::new(runtime))
                .insert_resource(Headset { state, standalone: options.standalone, ..default() })
                .add_plugins((session::plugin, compositor::plugin, eyes::plugin, bodies::plugin));
            if !options.standalone || !options.eye_shots.is_empty() {
                app.add_plugins(spectator::plugin)
                    .insert_resource(spectator::EyeShots(options.eye_shots.clone()));
            }
            app.insert_resource(options);
        }
    }
}
