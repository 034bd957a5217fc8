//! Pictures of what an eye sees, for the documentation. Not tests: they are made
//! and looked at by hand, with
//! `cargo test --test xr -- --ignored pictures` (`CONVENE_XR_ROOT` names the root that
//! `scripts/test-xr` makes), and are left in the scenarios' folders.

use std::time::Duration;

use glam::{Quat, Vec3};
use serde_json::json;

use super::{
    remote::Pose,
    stage::{Guest, Headset, PATIENCE, Stage, asset, inside},
};

/// Pixels of an eye, and of its picture.
const SIZE: &str = "1440x1440";
/// A processor takes seconds for such a picture.
const SLOW: Duration = Duration::from_secs(120);

/// The app in a headset with a model, somebody beside it who points at it.
fn scene(name: &str, more: &[&str]) -> Option<(Stage, Guest)> {
    let model = asset("models/brain-surface.glb");
    let mut arguments = vec!["--eye-size", SIZE, &model];
    arguments.extend(more);
    let mut stage = Stage::set(name, Headset::Ready, &arguments)?;
    stage.remote().set(|remote| {
        remote.head = Pose::at(0.0, 1.5, 0.0);
        remote.right.pose = Pose {
            position: Vec3::new(0.2, 1.2, -0.25),
            rotation: Quat::from_rotation_y(0.25) * Quat::from_rotation_x(0.35),
        };
        remote.left.pose =
            Pose { position: Vec3::new(-0.2, 1.2, -0.3), rotation: Quat::from_rotation_y(-0.9) };
    });
    stage.wait_for_focus();
    let mut guest = stage.guest("Grace Hopper");
    stage.app.wait_for("the model", PATIENCE, |state| state.models.iter().any(|model| model.ready));
    let place =
        |position: [f32; 3], rotation: Quat| json!({ "position": position, "rotation": rotation.to_array() });
    guest.participant.does(json!({
        "command": "pose",
        "head": place([0.95, 1.55, 1.5], Quat::from_rotation_y(-2.2)),
        "right": place([0.7, 1.3, 1.25], Quat::from_rotation_arc(Vec3::Y, Vec3::new(-0.8, 0.25, -0.25).normalize())),
        "left": place([1.2, 1.0, 1.3], Quat::from_rotation_x(2.8)),
    }));
    Some((stage, guest))
}

/// Waits for a picture, and says where it is.
fn picture(stage: &Stage, name: &str) {
    let path = stage.file(name);
    // A PNG is whole with its last chunk.
    let is_whole = || std::fs::read(&path).is_ok_and(|bytes| bytes.ends_with(b"IEND\xaeB`\x82"));
    super::process::wait_until(&format!("{}", path.display()), is_whole);
    println!("{}", path.display());
}

#[test]
#[ignore = "makes pictures for people to look at"]
fn pictures_of_the_room() {
    let shot = format!("12={}", inside("room.png"));
    let Some((mut stage, _guest)) = scene("picture-room", &["--eye-shot", &shot]) else { return };
    stage.app.wait_for("the wand on the model", SLOW, |state| state.aim.right.is_some());
    picture(&stage, "room.png");
}

#[test]
#[ignore = "makes pictures for people to look at"]
fn pictures_of_bare_hands() {
    let shot = format!("15={}", inside("hands.png"));
    let window = format!("25={}", inside("window.png"));
    let arguments = ["--eye-shot", &shot, "--screenshot", &window, "--size", "1280x800"];
    let Some((mut stage, _guest)) = scene("picture-hands", &arguments) else { return };
    stage.remote().set(|remote| {
        for hand in [&mut remote.left, &mut remote.right] {
            hand.bare();
            hand.pinch(false);
        }
        remote.right.pinch(true);
        remote.left.pose = Pose {
            position: Vec3::new(-0.2, 1.3, -0.3),
            rotation: Quat::from_rotation_y(-0.4) * Quat::from_rotation_x(0.5),
        };
        remote.right.pose =
            Pose { position: Vec3::new(0.12, 1.3, -0.3), rotation: Quat::from_rotation_x(0.4) };
    });
    stage.app.wait_for("a pinch", SLOW, |state| !state.held.is_empty());
    picture(&stage, "hands.png");
    picture(&stage, "window.png");
}
