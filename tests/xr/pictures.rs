//! Pictures of what an eye sees, for the documentation. Not tests: they are made
//! and looked at by hand, with
//! `cargo test --test xr -- --ignored pictures` (`CONVENE_XR_ROOT` names the root that
//! `scripts/test-xr` makes), and are left in the scenarios' folders.

use std::time::Duration;

use glam::{Quat, Vec3};
use serde_json::json;

use super::{
    panels::{open_panels, point_at, press, right},
    process::Participant,
    remote::Pose,
    report::Phase,
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

#[test]
#[ignore = "makes pictures for people to look at"]
fn pictures_of_the_room() {
    let shot = format!("12={}", inside("room.png"));
    let Some((mut stage, _guest)) = scene("picture-room", &["--eye-shot", &shot]) else { return };
    stage.app.wait_for("the wand on the model", SLOW, |state| state.aim.right.is_some());
    stage.picture("room.png");
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
    stage.picture("hands.png");
    stage.picture("window.png");
}

/// Between two of the pictures that are made all the time, in seconds.
const EVERY: usize = 3;

/// Arguments for a picture every few seconds.
fn all_the_time() -> Vec<String> {
    let shot = |number: usize| format!("{}={}", number * EVERY, inside(&format!("shot{number:03}.png")));
    (1..200).flat_map(|number| ["--eye-shot".to_owned(), shot(number)]).collect()
}

/// Keeps one of those: the second from now, which shows what is there now.
fn keep(stage: &Stage, name: &str) {
    let shot = |number: usize| stage.file(&format!("shot{number:03}.png"));
    let next = (1..200).rev().find(|number| shot(*number).exists()).unwrap_or(0) + 2;
    stage.picture(&format!("shot{next:03}.png"));
    std::fs::copy(shot(next), stage.file(name)).unwrap();
    println!("{}", stage.file(name).display());
}

#[test]
#[ignore = "makes pictures for people to look at"]
fn pictures_of_panels() {
    let shots = all_the_time();
    let mut arguments = vec!["--eye-size", SIZE];
    arguments.extend(shots.iter().map(String::as_str));
    let Some(mut stage) = Stage::without_meeting("picture-panels", &arguments) else { return };
    stage.remote().set(|remote| {
        remote.head = Pose::at(0.0, 1.5, 0.0);
        remote.right.pose = Pose::at(0.25, 1.15, -0.2);
        remote.left.pose = Pose::at(-0.35, 0.9, -0.1);
    });
    stage.wait_for_focus();
    stage.app.wait_for("panels by themselves", SLOW, |state| state.boards.contains_key("panels"));
    for page in ["Models", "Files", "Options", "Meeting"] {
        press(&mut stage, &format!("tab/{page}"));
        keep(&stage, &format!("{}.png", page.to_lowercase()));
    }
    press(&mut stage, "field/address");
    press(&mut stage, "pad/1");
    keep(&stage, "digits.png");
    press(&mut stage, "pad/done");
    stage.app.wait_for("a notice", SLOW, |state| !state.notices.is_empty());
    keep(&stage, "notice.png");
    press(&mut stage, "tab/Options");
    press(&mut stage, "field/name");
    keep(&stage, "letters.png");
    press(&mut stage, "tab/Meeting");
    press(&mut stage, "meeting/host");
    stage.app.wait_for("a meeting", SLOW, |state| state.phase == Phase::Hosting);
    keep(&stage, "hosting.png");
}

#[test]
#[ignore = "makes pictures for people to look at"]
fn pictures_of_a_transfer() {
    let shots = all_the_time();
    let mut arguments = vec!["--eye-size", SIZE];
    arguments.extend(shots.iter().map(String::as_str));
    let Some(mut stage) = Stage::set("picture-transfer", Headset::Ready, &arguments) else { return };
    stage.remote().set(|remote| {
        // Towards the model, which stands before whoever opens it.
        remote.head = Pose { rotation: Quat::from_rotation_y(0.65), ..Pose::at(0.0, 1.5, 0.0) };
        remote.right.pose = Pose::at(0.25, 1.15, -0.2);
    });
    stage.wait_for_focus();
    let port = stage.app.wait_for("the meeting", PATIENCE, |state| state.port.is_some()).port.unwrap();
    let mut guest = Participant::join(port, &["--name", "Ada", "--cache", "none", "--pace", "0.2"]);
    guest.does(json!({
        "command": "pose",
        "head": { "position": [1.6, 1.55, 2.2], "rotation": Quat::from_rotation_y(-2.4).to_array() },
        "right": { "position": [1.3, 1.1, 2.0], "rotation": [0.0, 0.0, 0.0, 1.0] },
        "left": { "position": [1.8, 1.1, 1.9], "rotation": [0.0, 0.0, 0.0, 1.0] },
    }));
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models/brain-surface.glb");
    let done = guest.does(json!({ "command": "open", "path": path }));
    point_at(&mut stage, right, &format!("transfer/cancel/{}", done["model_id"].as_str().unwrap()));
    keep(&stage, "transfer.png");
    open_panels(&mut stage);
    keep(&stage, "both.png");
}
