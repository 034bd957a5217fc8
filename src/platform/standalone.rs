//! A standalone headset: it is the whole of what there is, without a window.
//!
//! As desktops with a headset, but: who takes it off has left, until it is put on
//! again; the program ends when the headset's session does; there is a button to
//! quit. Where no headset is found, the window of a desktop says why.

use std::time::Duration;

use bevy::{
    prelude::*,
    window::AppLifecycle,
    winit::{UpdateMode, WinitSettings},
};

use super::{desktop, pace, xr};
use crate::app::{
    self, AppOptions, AppSystems,
    input::{Action, Headset, Me},
};

/// While it is worn the headset's frames set the pace.
const WORN: UpdateMode = pace(Duration::ZERO);
/// While it lies on a table: soon enough to see it put on.
const PUT_DOWN: UpdateMode = pace(Duration::from_millis(33));
/// While the system has put the program aside, and no frame is drawn.
const ASIDE: UpdateMode = pace(Duration::from_secs(1));

/// Runs until the headset's session ends or the person quits.
///
/// The process must have set up logging; Bevy's own is not used.
pub fn run(options: AppOptions) -> AppExit {
    app(options).run()
}

/// The app, not running yet.
pub fn app(options: AppOptions) -> App {
    let mut headset = options.headset.clone().unwrap_or_default();
    let mut render = super::renderer();
    let found = xr::find(&mut render);
    headset.standalone = found.is_there();
    if !headset.standalone {
        let mut app = desktop::shown(options, render);
        xr::add(&mut app, found, headset);
        return app;
    }
    let mut app = super::bevy(render, None, options.any_thread);
    app.insert_resource(WinitSettings { focused_mode: PUT_DOWN, unfocused_mode: PUT_DOWN });
    app::core(&mut app, options);
    app::presentation(&mut app);
    app.init_resource::<Aside>()
        .add_systems(First, put_aside)
        .add_systems(Update, (leave.run_if(is_aside), quit).in_set(AppSystems::Update))
        .add_systems(Update, keep_pace.in_set(AppSystems::Present));
    #[cfg(target_os = "android")]
    app.add_plugins(super::android::plugin);
    xr::add(&mut app, found, headset);
    app
}

/// Whether the system has put the program aside.
#[derive(Resource, Debug, Default)]
struct Aside(bool);

fn is_aside(aside: Res<Aside>) -> bool {
    aside.0
}

/// The last frame before the system stops frames is the last chance to say so.
fn put_aside(mut changes: MessageReader<AppLifecycle>, mut aside: ResMut<Aside>) {
    for change in changes.read() {
        tracing::info!("the system says: {change:?}");
        aside.0 = !change.is_active();
    }
}

/// Others see the person away; the meeting's threads go on as long as they may, and
/// join again when they could not.
fn leave(mut me: ResMut<Me>) {
    me.present = false;
}

fn keep_pace(headset: Res<Headset>, aside: Res<Aside>, mut settings: ResMut<WinitSettings>) {
    let pace = match (aside.0, headset.has_frames()) {
        (true, _) => ASIDE,
        (false, true) => WORN,
        (false, false) => PUT_DOWN,
    };
    if settings.focused_mode != pace {
        settings.focused_mode = pace;
        settings.unfocused_mode = pace;
    }
}

fn quit(mut actions: MessageReader<Action>, mut exit: MessageWriter<AppExit>) {
    if actions.read().any(|action| matches!(action, Action::Quit)) {
        exit.write(AppExit::Success);
    }
}
