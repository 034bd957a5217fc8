//! Hands take models, move, turn and scale them, and a guest sees it.

use std::time::Duration;

use glam::{Quat, Vec2, Vec3};
use serde_json::{Value, json};

use super::{
    remote::{Hand, Pose},
    report::State,
    stage::{Guest, Headset, PATIENCE, Stage, asset},
};

/// Frames of a headset that a processor draws come a few times a second.
const SOON: Duration = Duration::from_secs(60);

fn vector(value: &Value) -> Vec3 {
    let numbers: Vec<f32> = value.as_array().unwrap().iter().map(|n| n.as_f64().unwrap() as f32).collect();
    Vec3::from_slice(&numbers)
}

fn rotation(value: &Value) -> Quat {
    let numbers: Vec<f32> = value.as_array().unwrap().iter().map(|n| n.as_f64().unwrap() as f32).collect();
    Quat::from_slice(&numbers)
}

/// From the headset's axes to the room's, for somebody without markers.
fn in_room(v: Vec3) -> Vec3 {
    Vec3::new(-v.x, v.y, -v.z)
}

/// A hand that points ahead.
fn hold(hand: &mut Hand, at: Vec3) {
    hand.pose = Pose { position: at, rotation: Quat::IDENTITY };
}

/// The app in a headset with these models, and a guest that has them all.
fn with_models(name: &str, models: &[&str]) -> Option<(Stage, Guest, State)> {
    let paths: Vec<String> = models.iter().map(|model| asset(&format!("models/{model}"))).collect();
    let arguments: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut stage = Stage::set(name, Headset::Ready, &arguments)?;
    stage.wait_for_focus();
    let guest = stage.guest("Guest");
    let all = models.len();
    let state = stage.app.wait_for("all models", PATIENCE, |state| {
        state.models.len() == all && state.models.iter().all(|model| model.ready)
    });
    for model in &state.models {
        guest.participant.wait_for("model_opened", |event| event["model_id"] == model.id.as_str());
    }
    Some((stage, guest, state))
}

/// The guest hears of a move that fits.
fn guest_sees(guest: &Guest, mark: usize, id: &str, fits: impl Fn(Vec3, Quat, f32) -> bool) {
    guest.participant.wait_after(mark, "model_moved", |event| {
        event["model_id"] == id
            && fits(
                vector(&event["position"]),
                rotation(&event["rotation"]),
                event["scale"].as_f64().unwrap() as f32,
            )
    });
}

#[test]
fn hands_move_turn_and_scale_a_model() {
    let Some((mut stage, guest, state)) = with_models("grab", &["brain-surface.glb"]) else { return };
    let (id, start) = (state.models[0].id.clone(), state.models[0].clone());
    let position = |model: &super::report::Model| Vec3::from(model.position);

    // One hand: point, pull, move 30 cm ahead.
    let from = Vec3::new(0.0, 1.5, -0.3);
    stage.remote().set(|remote| hold(&mut remote.right, from));
    stage.app.wait_for("the wand on the model", SOON, |state| {
        state.aim.right.as_ref().is_some_and(|aim| aim.model == id)
    });
    stage.remote().set(|remote| remote.right.trigger = 1.0);
    stage.app.wait_for("the model in the hand", SOON, |state| state.held == [id.clone()]);
    let by = Vec3::new(0.0, 0.0, -0.3);
    let mark = guest.participant.mark();
    stage.remote().set(|remote| hold(&mut remote.right, from + by));
    guest_sees(&guest, mark, &id, |at, _, scale| {
        at.distance(position(&start) + in_room(by)) < 0.002 && (scale / start.scale - 1.0).abs() < 1e-3
    });
    stage.remote().set(|remote| remote.right.trigger = 0.0);
    let moved = stage.app.wait_for("an open hand", SOON, |state| state.held.is_empty());
    let moved = moved.model(&id).unwrap().clone();
    assert!(position(&moved).distance(position(&start) + in_room(by)) < 0.002, "{moved:?}");

    // Back, then both hands: twice as far apart, and turned by 30 degrees.
    let middle = Vec3::new(0.0, 1.5, -0.45);
    let aside = Vec3::new(0.15, 0.0, 0.0);
    stage.remote().set(|remote| {
        hold(&mut remote.left, middle - aside);
        hold(&mut remote.right, middle + aside);
    });
    stage.app.wait_for("both wands on the model", SOON, |state| {
        [&state.aim.left, &state.aim.right].iter().all(|aim| aim.as_ref().is_some_and(|aim| aim.model == id))
    });
    stage.remote().set(|remote| (remote.left.trigger, remote.right.trigger) = (1.0, 1.0));
    // Both have it: one hand alone, moved, would carry it along.
    stage.app.wait_for("the model in both hands", SOON, |state| {
        let both = [state.input.left.trigger, state.input.right.trigger] == [1.0, 1.0];
        both && state.held == [id.clone()]
    });
    let turn = Quat::from_rotation_y(30f32.to_radians());
    let mark = guest.participant.mark();
    stage.remote().set(|remote| {
        for (hand, aside) in [(&mut remote.left, -aside), (&mut remote.right, aside)] {
            hand.pose = Pose { position: middle + turn * aside * 2.0, rotation: turn };
        }
    });
    let about = in_room(middle);
    let expected = about + turn * (position(&moved) - about) * 2.0;
    guest_sees(&guest, mark, &id, |at, rotation, scale| {
        at.distance(expected) < 0.005
            && (scale / moved.scale / 2.0 - 1.0).abs() < 0.005
            && rotation.angle_between(turn * Quat::from_array(moved.rotation)).to_degrees() < 0.2
    });
    stage.remote().set(|remote| (remote.left.trigger, remote.right.trigger) = (0.0, 0.0));
    stage.app.wait_for("open hands", SOON, |state| state.held.is_empty());
}

/// The right stick rests, and the app has seen it.
fn rest(stage: &mut Stage) {
    stage.remote().set(|remote| remote.right.stick = Vec2::ZERO);
    stage.app.wait_for("a still stick", SOON, |state| state.input.right.stick == [0.0, 0.0]);
}

#[test]
fn sticks_scale_and_step_to_the_next_model() {
    let models = ["brain-surface.glb", "molecule.glb"];
    let Some((mut stage, guest, state)) = with_models("sticks", &models) else { return };
    let shown = |state: &State| -> Vec<String> {
        state.models.iter().filter(|model| model.shown).map(|model| model.id.clone()).collect()
    };
    assert_eq!(shown(&state).len(), 2);
    stage.remote().set(|remote| remote.right.stick = Vec2::new(1.0, 0.0));
    let first = shown(&stage.app.wait_for("one model alone", SOON, |state| shown(state).len() == 1));
    // A little back and forth again is no other step.
    for x in [0.8, 1.0] {
        stage.remote().set(|remote| remote.right.stick = Vec2::new(x, 0.0));
        stage.app.wait_for("the stick there", SOON, |state| state.input.right.stick == [x, 0.0]);
    }
    assert_eq!(shown(&stage.app.state()), first);
    rest(&mut stage);
    let mark = guest.participant.mark();
    stage.remote().set(|remote| remote.right.stick = Vec2::new(1.0, 0.0));
    let next = shown(&stage.app.wait_for("the next model", SOON, |state| {
        let now = shown(state);
        now.len() == 1 && now != first
    }));
    guest.participant.wait_after(mark, "model_shown", |event| {
        event["model_id"] == next[0].as_str() && event["shown"] == true
    });
    rest(&mut stage);

    let before = stage.app.state().model(&next[0]).unwrap().scale;
    let mark = guest.participant.mark();
    stage.remote().set(|remote| {
        hold(&mut remote.right, Vec3::new(0.0, 1.5, -0.3));
        remote.right.stick = Vec2::new(0.0, 1.0);
    });
    stage.app.wait_for("a larger model", SOON, |state| {
        state.model(&next[0]).is_some_and(|model| model.scale > before * 1.3)
    });
    guest.participant.wait_after(mark, "model_moved", |event| {
        event["model_id"] == next[0].as_str() && event["scale"].as_f64().unwrap() > f64::from(before) * 1.3
    });
    stage.remote().set(|remote| remote.right.stick = Vec2::new(0.0, -1.0));
    stage.app.wait_for("a smaller model", SOON, |state| {
        state.model(&next[0]).is_some_and(|model| model.scale < before * 0.8)
    });
}

#[test]
fn kept_aligned_models_move_as_one_scene() {
    let models = ["brain-surface.glb", "molecule.glb"];
    let Some((mut stage, mut guest, state)) = with_models("aligned", &models) else { return };
    guest.participant.does(json!({ "command": "keep_aligned", "on": true }));
    stage.app.wait_for("word of it", SOON, |state| state.keep_aligned);
    let from = Vec3::new(0.1, 1.4, -0.3);
    stage.remote().set(|remote| {
        hold(&mut remote.left, from);
        remote.left.squeeze = 1.0;
    });
    stage.app.wait_for("the scene in the hand", SOON, |state| state.held.len() == 1);
    let by = Vec3::new(0.2, 0.1, 0.0);
    let mark = guest.participant.mark();
    stage.remote().set(|remote| hold(&mut remote.left, from + by));
    guest
        .participant
        .wait_after(mark, "scene_moved", |event| vector(&event["position"]).distance(in_room(by)) < 0.002);
    stage.app.wait_for("both models there", SOON, |now| {
        state.models.iter().all(|before| {
            now.model(&before.id).is_some_and(|model| {
                let (before, now) = (Vec3::from(before.position), Vec3::from(model.position));
                now.distance(before + in_room(by)) < 0.002
            })
        })
    });
    stage.remote().set(|remote| remote.left.squeeze = 0.0);
    stage.app.wait_for("an open hand", SOON, |state| state.held.is_empty());
}
