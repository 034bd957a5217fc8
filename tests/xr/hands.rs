//! Controllers and bare hands come and go, and bare hands grab with a pinch.

use glam::{Quat, Vec3};

use super::{
    remote::{Pose, Remote},
    report::Tracked::{self, Controller, Hand, None},
    stage::{Headset, PATIENCE, Stage, asset},
};

#[test]
fn controllers_are_put_down_and_taken_up() {
    type Change = fn(&mut Remote);
    let steps: [(&str, Change, [Tracked; 2]); 5] = [
        ("both controllers", |_| (), [Controller, Controller]),
        ("the right hand bare", |remote| remote.right.bare(), [Controller, Hand]),
        ("both hands bare", |remote| remote.left.bare(), [Hand, Hand]),
        ("the left hand out of sight", |remote| remote.left.tracked = false, [None, Hand]),
        (
            "the controllers again",
            |remote| {
                remote.left.take_controller();
                remote.right.take_controller();
            },
            [Controller, Controller],
        ),
    ];

    let Some(mut stage) = Stage::set("hands", Headset::Ready, &[]) else { return };
    stage.wait_for_focus();
    for (what, change, [left, right]) in steps {
        stage.remote().set(change);
        stage
            .app
            .wait_for(what, PATIENCE, |state| (state.tracked.left, state.tracked.right) == (left, right));
    }
}

#[test]
fn a_bare_hand_takes_what_is_behind_it_with_a_pinch() {
    let model = asset("models/brain-surface.glb");
    let Some(mut stage) = Stage::set("pinch", Headset::Ready, &[&model]) else { return };
    stage.wait_for_focus();
    let guest = stage.guest("Guest");
    let state =
        stage.app.wait_for("the model", PATIENCE, |state| state.models.iter().any(|model| model.ready));
    let model = state.models[0].clone();
    guest.participant.wait_for("model_opened", |event| event["model_id"] == model.id.as_str());

    // Seen from the eyes the hand is before the model.
    let at = Vec3::new(0.05, 1.4, -0.3);
    stage.remote().set(|remote| {
        remote.head = Pose::at(0.0, 1.5, 0.0);
        remote.right.bare();
        remote.right.pinch(false);
        remote.right.pose = Pose { position: at, rotation: Quat::IDENTITY };
    });
    stage.app.wait_for("the model behind the hand", PATIENCE, |state| {
        state.tracked.right == Hand && state.aim.right.as_ref().is_some_and(|aim| aim.model == model.id)
    });
    stage.remote().set(|remote| remote.right.pinch(true));
    stage.app.wait_for("the model in the hand", PATIENCE, |state| state.held == [model.id.clone()]);
    let by = Vec3::new(-0.1, 0.2, 0.05);
    stage.remote().set(|remote| remote.right.pose.position = at + by);
    // The room's x and z are the headset's turned round.
    let expected = Vec3::from(model.position) + Vec3::new(-by.x, by.y, -by.z);
    stage.app.wait_for("the model moved with the hand", PATIENCE, |state| {
        state.model(&model.id).is_some_and(|now| Vec3::from(now.position).distance(expected) < 0.003)
    });
    stage.remote().set(|remote| remote.right.pinch(false));
    stage.app.wait_for("an open hand", PATIENCE, |state| state.held.is_empty());
}
