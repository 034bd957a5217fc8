//! A runtime that crashes, stalls or was never there takes the headset away,
//! not the meeting.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{
    report::Vr,
    stage::{Guest, Headset, PATIENCE, Stage},
};

/// By then the person knows, though the processor draws: alone it takes half a
/// second.
const SOON: Duration = Duration::from_secs(20);

/// Frames go on: a model that a guest opens is shown.
fn the_app_works(stage: &mut Stage, guest: &mut Guest) {
    let id = guest.open("molecule.glb");
    stage.app.wait_for("the guest's model", PATIENCE, |state| state.model(&id).is_some_and(|m| m.ready));
    stage.app.must_run();
}

#[test]
fn a_crash_of_the_runtime_leaves_the_meeting_alone() {
    let Some(mut stage) = Stage::set("crash", Headset::Ready, &[]) else { return };
    let before = stage.wait_for_focus();
    let mut guest = stage.guest("Guest");
    let mark = guest.participant.mark();
    guest.is_undisturbed_for(mark, Duration::from_secs(1));

    let crashed = Instant::now();
    stage.runtime().crash();
    stage.app.wait_for("word of the loss", SOON, |state| {
        matches!(state.vr, Vr::Lost | Vr::Unavailable)
            && state.notices != before.notices
            && !state.notices.is_empty()
    });
    println!("known after {:.1} s", crashed.elapsed().as_secs_f64());
    guest.is_undisturbed_for(mark, Duration::from_secs(4));
    the_app_works(&mut stage, &mut guest);

    // Once it is there again, the headset goes on by itself.
    stage.start_runtime();
    let frames = stage.wait_for_focus().frames;
    stage.app.wait_for("more frames", PATIENCE, |state| state.frames > frames);
    // (A processor that draws the first pictures anew may take longer than a person may stand still.)
    guest.hears_the_host_for(mark, Duration::ZERO);
}

#[test]
fn a_runtime_that_stalls_stalls_the_headset_alone() {
    /// So long as to be seen as somebody who is not there.
    const STALL: Duration = Duration::from_secs(12);
    let Some(mut stage) = Stage::set("stall", Headset::Ready, &[]) else { return };
    stage.wait_for_focus();
    let mut guest = stage.guest("Guest");
    guest.watch_poses();
    let mark = guest.participant.mark();
    guest.participant.wait_for_many(mark, "pose", 20, |_| true);

    stage.runtime().stall();
    // The person is away, and yet the connection is as good as ever.
    guest.hears_the_host_for(mark, STALL);
    let state = |name: &'static str| move |event: &Value| event["state"] == name;
    guest.participant.wait_after(mark, "participant_state", state("stale"));
    guest.participant.wait_after(mark, "participant_state", state("away"));
    let mark = guest.participant.mark();
    stage.runtime().go_on();
    guest.participant.wait_after(mark, "participant_state", state("live"));
    let frames = stage.app.state().frames;
    // The app says something when something has changed.
    stage.remote().set(|remote| remote.head.position.y += 0.01);
    // It did not take the stall for a loss.
    stage.app.wait_for("more frames", PATIENCE, |state| state.vr == Vr::Focused && state.frames > frames);
    the_app_works(&mut stage, &mut guest);
}

#[test]
fn without_a_runtime_the_app_is_flat() {
    let cases: [(&str, Headset, &[&str]); 3] = [
        ("asleep", Headset::Asleep, &[]),
        ("missing", Headset::Missing, &[]),
        // Somewhere one must be able to read why.
        ("standalone-missing", Headset::Missing, &["--no-window"]),
    ];
    for (name, headset, arguments) in cases {
        let Some(mut stage) = Stage::set(name, headset, arguments) else { return };
        let started = Instant::now();
        stage.app.wait_for("word of the missing headset", PATIENCE, |state| {
            state.vr == Vr::Unavailable && !state.notices.is_empty()
        });
        println!("{name}: known after {:.1} s", started.elapsed().as_secs_f64());
        let mut guest = stage.guest("Guest");
        the_app_works(&mut stage, &mut guest);
    }
}
