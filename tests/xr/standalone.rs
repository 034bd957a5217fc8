//! The app as on a standalone headset: without a window.

use std::time::Duration;

use serde_json::Value;

use super::{
    panels,
    remote::Pose,
    report::Vr,
    stage::{Headset, PATIENCE, Stage},
};

const SOON: Duration = Duration::from_secs(60);

#[test]
fn without_a_window_people_meet_and_quit() {
    let Some(mut stage) = Stage::set("standalone", Headset::Ready, &["--no-window"]) else { return };
    stage.wait_for_focus();
    let mut guest = stage.guest("Guest");
    guest.watch_poses();
    let mark = guest.participant.mark();
    stage.remote().set(|remote| remote.head = Pose::at(0.3, 1.4, -0.2));
    let height = |event: &Value| event["head"]["position"][1].as_f64();
    guest
        .participant
        .wait_after(mark, "pose", |event| height(event).is_some_and(|y| (y - 1.4).abs() < 0.001));

    panels::open_panels(&mut stage);
    panels::press(&mut stage, "tab/Options");
    let state = stage.app.wait_for("the page", SOON, |state| state.controls.contains_key("options/quit"));
    for of_a_window in ["switch/headset", "options/keys"] {
        assert!(!state.controls.contains_key(of_a_window), "{of_a_window}");
    }
    panels::press(&mut stage, "options/quit");
    stage.app.wait_for_end(SOON);
    guest.participant.wait_after(mark, "left", |_| true);
}

#[test]
fn who_has_no_window_is_away_while_the_headset_is() {
    let Some(mut stage) = Stage::set("put-down", Headset::Ready, &["--no-window"]) else { return };
    stage.wait_for_focus();
    let mut guest = stage.guest("Guest");
    guest.watch_poses();
    let mark = guest.participant.mark();
    // A stream, whose end says something: the first frames may be seconds apart.
    guest.participant.wait_for_many(mark, "pose", 20, |_| true);

    stage.runtime().crash();
    stage.app.wait_for("the loss", SOON, |state| matches!(state.vr, Vr::Lost | Vr::Unavailable));
    let state = |name: &'static str| move |event: &Value| event["state"] == name;
    guest.participant.wait_after(mark, "participant_state", state("away"));
    guest.hears_the_host_for(mark, Duration::from_secs(1));

    let mark = guest.participant.mark();
    stage.start_runtime();
    stage.wait_for_focus();
    guest.participant.wait_after(mark, "participant_state", state("live"));
    let frames = stage.app.state().frames;
    // Only what changes is reported.
    stage.remote().set(|remote| remote.head = Pose::at(0.1, 1.6, 0.0));
    stage.app.wait_for("more frames", PATIENCE, |state| state.frames > frames);
}
