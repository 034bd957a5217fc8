//! Panels in the room: opened by the menu button, operated by rays and fingers.

use std::{
    f32::consts::{FRAC_PI_2, PI},
    time::Duration,
};

use glam::{Quat, Vec2, Vec3};

use super::{
    process::Participant,
    remote::{Hand, Pose, Remote},
    report::{Phase, State, Tracked},
    stage::{Headset, PATIENCE, Stage, asset, inside},
};

/// From the middle of a wand to its tip.
const TIP: f32 = 0.2;
/// Frames of a headset that a processor draws come a few times a second.
const SOON: Duration = Duration::from_secs(60);

/// A page that is pulled is so near to where the hand is, metres: two of the board's logical pixels.
const WITH_THE_HAND: f32 = 0.0024;

/// From the headset's axes to the room's, for somebody without markers, and back.
fn turned(v: Vec3) -> Vec3 {
    Vec3::new(-v.x, v.y, -v.z)
}
/// Which hand.
pub type Which = fn(&mut Remote) -> &mut Hand;
pub fn right(remote: &mut Remote) -> &mut Hand {
    &mut remote.right
}

/// The hand points at a place, in the headset's coordinates.
fn aim(hand: &mut Hand, at: Vec3) {
    let along = (at - hand.pose.position).normalize();
    hand.pose.rotation = Quat::from_rotation_arc(Vec3::NEG_Z, along);
}

/// Waits for a control that can be used, and has the hand's ray on it, also when
/// its page still moves.
pub fn point_at(stage: &mut Stage, hand: Which, id: &str) {
    let mut aimed = None;
    let place = |state: &State| state.controls.get(id).filter(|control| control.usable).map(|c| c.position);
    loop {
        let state = stage.app.wait_for(&format!("{id} on a board, where the ray is"), PATIENCE, |state| {
            state.pointed.iter().any(|at| at == id) || place(state).is_some_and(|at| Some(at) != aimed)
        });
        if state.pointed.iter().any(|at| at == id) && place(&state) == aimed {
            return;
        }
        if let Some(at) = place(&state) {
            let there = state.in_tracking(at.into());
            stage.remote().set(|remote| aim(hand(remote), there));
            aimed = Some(at);
        }
    }
}

/// Presses a control with ray and trigger.
pub fn press(stage: &mut Stage, id: &str) {
    point_at(stage, right, id);
    for trigger in [1.0, 0.0] {
        stage.remote().set(|remote| remote.right.trigger = trigger);
        stage.app.wait_for("the trigger", SOON, |state| state.input.right.trigger == trigger);
    }
}

/// The panels are shown by the left menu button, where the wand's tip is then: to
/// the left of the view and before it, so that the right hand can point at them.
pub fn open_panels(stage: &mut Stage) -> State {
    stage.remote().set(|remote| {
        remote.head = Pose::at(0.0, 1.5, 0.0);
        remote.left.pose = Pose::at(-0.1, 1.4, -0.45);
        remote.right.pose = Pose::at(0.25, 1.3, -0.2);
        remote.left.b = true;
    });
    let state = stage.app.wait_for("the panels", SOON, |state| state.boards.contains_key("panels"));
    stage.remote().set(|remote| remote.left.b = false);
    state
}

#[test]
fn the_menu_button_opens_the_panels_at_the_wands_tip() {
    let Some(mut stage) = Stage::set("menu", Headset::Ready, &[]) else { return };
    stage.wait_for_focus();
    assert!(!stage.app.state().panels, "in a meeting nothing appears by itself");
    let state = open_panels(&mut stage);
    let board = Pose::from(state.boards["panels"]);
    let tip = turned(Vec3::new(-0.1, 1.4, -0.45 - TIP));
    assert!(board.position.distance(tip) < 0.005, "{board:?}, not at {tip}");
    // Its face, +z, looks at the eyes.
    let eyes = Vec3::new(0.0, 1.5, 0.0);
    let facing = board.rotation * Vec3::Z;
    assert!(facing.angle_between(eyes - board.position).to_degrees() < 1.0, "{facing}");

    // A squeeze on it takes it along.
    point_at(&mut stage, right, "tab/Files");
    stage.remote().set(|remote| remote.right.squeeze = 1.0);
    stage.app.wait_for("a squeeze", SOON, |state| state.input.right.squeeze == 1.0);
    let by = Vec3::new(0.15, 0.1, -0.1);
    stage.remote().set(|remote| remote.right.pose.position += by);
    stage.app.wait_for("the board moved with the hand", SOON, |state| {
        let at = state.boards.get("panels").map(|board| Vec3::from(board.position));
        at.is_some_and(|at| at.distance(board.position + turned(by)) < 0.005)
    });
    stage.remote().set(|remote| remote.right.squeeze = 0.0);
    let state = stage.app.wait_for("an open hand", SOON, |state| state.input.right.squeeze == 0.0);
    carried_by_its_title(&mut stage, &state);

    stage.remote().set(|remote| remote.left.b = true);
    stage.app.wait_for("no panels", SOON, |state| state.boards.is_empty() && !state.panels);
}

/// The trigger at the bar above the pages takes the board along, and lets it go.
fn carried_by_its_title(stage: &mut Stage, state: &State) {
    let board = Pose::from(state.boards["panels"]);
    let close = Vec3::from(state.controls["panels/close"].position);
    // In the middle of the bar, as high as its button.
    let up = board.rotation * Vec3::Y;
    let bar = turned(board.position + up * (close - board.position).dot(up));
    stage.remote().set(|remote| aim(&mut remote.right, bar));
    stage.app.wait_for("a ray on no control", SOON, |state| state.pointed.is_empty());
    frames_go_by(stage);
    stage.remote().set(|remote| remote.right.trigger = 1.0);
    stage.app.wait_for("the trigger", SOON, |state| state.input.right.trigger == 1.0);
    frames_go_by(stage);
    let by = Vec3::new(-0.1, -0.05, 0.08);
    stage.remote().set(|remote| remote.right.pose.position += by);
    let is_there = |state: &State| {
        let at = state.boards.get("panels").map(|board| Vec3::from(board.position));
        at.is_some_and(|at| at.distance(board.position + turned(by)) < 0.005)
    };
    stage.app.wait_for("the board moved with the hand", SOON, is_there);
    stage.remote().set(|remote| remote.right.trigger = 0.0);
    stage.app.wait_for("an open hand", SOON, |state| state.input.right.trigger == 0.0);
    frames_go_by(stage);
    stage.remote().set(|remote| remote.right.pose.position += by);
    frames_go_by(stage);
    assert!(is_there(&stage.app.state()), "it stays where it was let go");
}

/// Thumb and middle finger of the left hand. Bent as fingers bend, the driver's
/// thumb stays 22 mm from the middle finger's tip, and 18 mm are a pinch; bent
/// backwards it comes within 15 mm, and the headset's joints are where a pinch has
/// them.
fn middle_pinch(hand: &mut Hand, closed: bool) {
    const BACKWARDS: f32 = -3.0;
    hand.curls = [0.0, 0.0, if closed { 0.95 } else { 0.0 }, 0.0, BACKWARDS];
}

#[test]
fn a_pinch_of_the_left_hand_shows_the_panels_and_puts_them_away() {
    let Some(mut stage) = Stage::set("menu-pinch", Headset::Ready, &[]) else { return };
    stage.wait_for_focus();
    // Its palm is below a hand that points ahead.
    let to_the_face = Quat::from_rotation_z(PI) * Quat::from_rotation_x(-FRAC_PI_2);
    let away = Quat::from_rotation_y(PI) * to_the_face;
    stage.remote().set(|remote| {
        remote.head = Pose::at(0.0, 1.5, 0.0);
        remote.left.bare();
        middle_pinch(&mut remote.left, false);
        remote.left.pose = Pose { position: Vec3::new(-0.1, 1.4, -0.4), rotation: away };
    });
    stage.app.wait_for("a bare hand", SOON, |state| state.tracked.left == Tracked::Hand);
    let pinch = |stage: &mut Stage, rotation: Quat| {
        stage.remote().set(|remote| {
            remote.left.pose.rotation = rotation;
            middle_pinch(&mut remote.left, false);
        });
        frames_go_by(stage);
        stage.remote().set(|remote| middle_pinch(&mut remote.left, true));
    };
    pinch(&mut stage, away);
    frames_go_by(&mut stage);
    assert!(!stage.app.state().panels, "a palm that looks away asks for nothing");

    pinch(&mut stage, to_the_face);
    let state = stage.app.wait_for("the panels", SOON, |state| state.boards.contains_key("panels"));
    // 20 cm behind the hand, as one sees it.
    let (hand, eyes) = (Vec3::from(state.left.unwrap().position), Vec3::new(0.0, 1.5, 0.0));
    let behind = hand + (hand - eyes).normalize() * 0.2;
    let board = Vec3::from(state.boards["panels"].position);
    assert!(board.distance(behind) < 0.01, "{board}, not at {behind}");
    frames_go_by(&mut stage);
    assert!(stage.app.state().panels, "one pinch asks once");

    pinch(&mut stage, to_the_face);
    stage.app.wait_for("no panels", SOON, |state| !state.panels && state.boards.is_empty());
}

#[test]
fn panels_are_there_again_when_the_headset_is_put_on_again() {
    let Some(mut stage) = Stage::set("put-on", Headset::Ready, &[]) else { return };
    stage.wait_for_focus();
    let board = open_panels(&mut stage).boards["panels"];
    press(&mut stage, "tab/Options");
    stage.app.wait_for("the page", SOON, |state| state.controls.contains_key("field/name"));
    // The window has them meanwhile.
    stage.runtime().crash();
    stage.app.wait_for("the window", SOON, |state| state.boards.is_empty());
    stage.start_runtime();
    stage.remote().set(|remote| {
        remote.head = Pose::at(0.0, 1.5, 0.0);
        remote.right.pose = Pose::at(0.25, 1.3, -0.2);
    });
    stage.wait_for_focus();
    let state = stage.app.wait_for("the panels", SOON, |state| state.boards.contains_key("panels"));
    let before = Vec3::from(board.position);
    assert!(before.distance(state.boards["panels"].position.into()) < 0.005, "{:?}", state.boards);
    press(&mut stage, "tab/Meeting");
    stage.app.wait_for("the page", SOON, |state| !state.controls.contains_key("field/name"));
}

#[test]
fn a_name_is_typed_on_the_panel_and_others_hear_it() {
    let Some(mut stage) = Stage::set("name", Headset::Ready, &[]) else { return };
    stage.wait_for_focus();
    open_panels(&mut stage);
    press(&mut stage, "tab/Options");
    press(&mut stage, "field/name");
    press(&mut stage, "pad/clear");
    press(&mut stage, "pad/shift");
    for key in ["A", "d", "a", "done"] {
        press(&mut stage, &format!("pad/{key}"));
    }
    stage.app.wait_for("no keys", SOON, |state| !state.controls.contains_key("pad/a"));
    // It goes to the meeting in the frame in which it is kept.
    let settings = stage.file("settings.json");
    super::process::wait_until("a kept name", || {
        std::fs::read_to_string(&settings).is_ok_and(|text| text.contains("\"Ada\""))
    });
    frames_go_by(&mut stage);
    let guest = stage.guest("Guest");
    guest.participant.wait_for("participant_joined", |event| event["name"] == "Ada");
}

#[test]
fn a_meeting_is_started_by_ray() {
    let Some(mut stage) = Stage::without_meeting("start", &[]) else { return };
    stage.remote().set(|remote| {
        remote.head = Pose::at(0.0, 1.5, 0.0);
        remote.right.pose = Pose::at(0.25, 1.2, -0.2);
    });
    stage.wait_for_focus();
    let state = stage.app.wait_for("panels by themselves", SOON, |state| state.boards.contains_key("panels"));
    let away = Vec3::from(state.boards["panels"].position) - Vec3::from(state.head.unwrap().position);
    assert!((Vec3::new(away.x, 0.0, away.z).length() - 0.8).abs() < 0.01, "{away}");
    press(&mut stage, "tab/Meeting");
    press(&mut stage, "meeting/host");
    let state = stage.app.wait_for("a meeting", SOON, |state| state.phase == Phase::Hosting);
    let guest = Participant::join(state.port.unwrap(), &["--name", "Guest", "--cache", "none"]);
    stage.app.wait_for("the guest", SOON, |state| state.says("Guest has joined"));
    drop(guest);
}

#[test]
fn an_address_is_typed_on_the_panel() {
    let Some(mut stage) = Stage::without_meeting("pad", &[]) else { return };
    let (host, port) = Participant::host(&["--name", "Far", "--cache", "none"]);
    stage.remote().set(|remote| {
        remote.head = Pose::at(0.0, 1.5, 0.0);
        remote.right.pose = Pose::at(0.25, 1.2, -0.2);
    });
    stage.wait_for_focus();
    press(&mut stage, "tab/Meeting");
    press(&mut stage, "field/address");
    // A slip is taken back.
    press(&mut stage, "pad/9");
    press(&mut stage, "pad/delete");
    for character in format!("127.0.0.1:{port}").chars() {
        press(&mut stage, &format!("pad/{character}"));
    }
    press(&mut stage, "pad/done");
    stage.app.wait_for("the far meeting", SOON, |state| state.phase == Phase::Guest);
    host.wait_for("participant_joined", |event| event["name"] == "Host");
    assert!(!stage.app.state().controls.contains_key("pad/1"), "the keys have gone");
}

#[test]
fn a_file_is_opened_by_ray_and_reaches_the_guest() {
    let folder = inside("files");
    let Some(mut stage) = Stage::set("files", Headset::Ready, &["--files", &folder]) else { return };
    let files = stage.file("files");
    std::fs::create_dir_all(&files).unwrap();
    let model = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models/molecule.glb");
    for number in 0..12 {
        std::fs::copy(&model, files.join(format!("molecule {number:02}.glb"))).unwrap();
    }
    stage.wait_for_focus();
    let guest = stage.guest("Guest");
    open_panels(&mut stage);
    press(&mut stage, "tab/Files");
    let state = stage
        .app
        .wait_for("the files", SOON, |state| state.controls.keys().any(|id| id.starts_with("files/open/")));
    let names: fn(&State) -> Vec<String> =
        |state| state.controls.keys().filter(|id| id.starts_with("files/open/")).cloned().collect();
    let before = names(&state);
    assert!(before.len() < 12, "more than there is room for: {before:?}");

    // The stick scrolls.
    point_at(&mut stage, right, &before[0]);
    stage.remote().set(|remote| remote.right.stick = Vec2::new(0.0, -1.0));
    stage.app.wait_for("the rest of the list", SOON, |state| {
        let now = names(state);
        !now.is_empty() && now.iter().all(|name| !before.contains(name))
    });
    stage.remote().set(|remote| remote.right.stick = Vec2::ZERO);
    stage.app.wait_for("a still stick", SOON, |state| state.input.right.stick == [0.0, 0.0]);
    // The page comes to rest with the frame after.
    frames_go_by(&mut stage);
    a_pull_moves_the_page(&mut stage, names);

    let id = names(&stage.app.state())[0].clone();
    press(&mut stage, &id);
    let name = id.strip_prefix("files/open/").unwrap().to_owned();
    guest.participant.wait_for("model_opened", |event| event["name"] == name.as_str());
}

/// Pulls at a button of a page that has been scrolled: the page goes with the hand
/// at every step, stays where it is let go, and nothing is pressed.
fn a_pull_moves_the_page(stage: &mut Stage, names: fn(&State) -> Vec<String>) {
    const STEP: f32 = 0.03;
    // The highest, so that there is room below it.
    let state = stage.app.state();
    let by_height = |a: &String, b: &String| {
        let height = |id: &String| state.controls[id].position[1];
        height(a).total_cmp(&height(b))
    };
    let first = names(&state).into_iter().max_by(by_height).unwrap();
    let height = |state: &State| state.controls.get(&first).map(|control| control.position[1]);
    point_at(stage, right, &first);
    stage.remote().set(|remote| remote.right.trigger = 1.0);
    let state = stage.app.wait_for("the trigger", SOON, |state| state.input.right.trigger == 1.0);
    let at = Vec3::from(state.controls[&first].position);
    // Down along the board, which is tilted.
    let down = Pose::from(state.boards["panels"]).rotation * Vec3::NEG_Y;
    for step in 1..=4 {
        let there = at + down * STEP * step as f32;
        stage.remote().set(|remote| aim(&mut remote.right, turned(there)));
        stage.app.wait_for("the page at the ray", SOON, |state| {
            height(state).is_some_and(|now| (now - there.y).abs() < WITH_THE_HAND)
        });
    }
    let let_go = at + down * STEP * 4.0;
    let mark = stage.app.mark();
    stage.remote().set(|remote| remote.right.trigger = 0.0);
    stage.app.wait_for("a released trigger", SOON, |state| state.input.right.trigger == 0.0);
    frames_go_by(stage);
    let strays = |state: &State| height(state).is_none_or(|now| (now - let_go.y).abs() >= WITH_THE_HAND);
    assert!(!stage.app.has_been(mark, strays), "the page stays where it is let go");
    assert!(stage.app.state().models.is_empty(), "a pull opens nothing");
}

/// A few more frames, in which the app reports something.
fn frames_go_by(stage: &mut Stage) {
    for _ in 0..3 {
        let frames = stage.app.state().frames;
        stage.remote().set(|remote| remote.left.pose.position.y += 0.001);
        stage.app.wait_for("another frame", SOON, |state| state.frames > frames);
    }
}

#[test]
fn a_transfer_is_cancelled_by_ray() {
    let Some(mut stage) = Stage::set("cancel", Headset::Ready, &[]) else { return };
    stage.remote().set(|remote| {
        remote.head = Pose::at(0.0, 1.5, 0.0);
        remote.right.pose = Pose::at(0.25, 1.2, -0.2);
    });
    stage.wait_for_focus();
    let port = stage.app.wait_for("the meeting", PATIENCE, |state| state.port.is_some()).port.unwrap();
    // So slow that it takes minutes.
    let mut guest = Participant::join(port, &["--name", "Guest", "--cache", "none", "--pace", "0.05"]);
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models/brain-surface.glb");
    let done = guest.does(serde_json::json!({ "command": "open", "path": path }));
    let id = done["model_id"].as_str().unwrap().to_owned();
    press(&mut stage, &format!("transfer/cancel/{id}"));
    stage.app.wait_for("no model", SOON, |state| state.models.is_empty() && state.boards.len() < 2);
    guest.wait_for("model_closed", |event| event["model_id"] == id.as_str());
}

/// Moves the right hand so that its index finger's tip is there, in the room.
pub fn put_finger(stage: &mut Stage, at: Vec3) {
    let state = stage.app.wait_for("a finger", SOON, |state| state.input.right.fingertip.is_some());
    let tip = Vec3::from(state.input.right.fingertip.unwrap());
    stage.remote().set(|remote| remote.right.pose.position += turned(at - tip));
    stage.app.wait_for("the finger there", SOON, |state| {
        state.input.right.fingertip.is_some_and(|tip| Vec3::from(tip).distance(at) < 0.002)
    });
}

#[test]
fn a_fingertip_presses() {
    let Some(mut stage) = Stage::set("fingertip", Headset::Ready, &[]) else { return };
    stage.wait_for_focus();
    let state = open_panels(&mut stage);
    stage.remote().set(|remote| {
        remote.left.pose = Pose::at(-0.4, 0.9, -0.1);
        remote.right.bare();
        remote.right.pose = Pose::at(0.3, 1.2, -0.1);
    });
    let board = Pose::from(state.boards["panels"]);
    let outwards = board.rotation * Vec3::Z;
    let button = stage.app.wait_for("the tabs", SOON, |state| state.controls.contains_key("tab/Options"));
    let button = Vec3::from(button.controls["tab/Options"].position);
    put_finger(&mut stage, button + outwards * 0.03);
    stage.app.wait_for("a finger before it", SOON, |state| state.pointed == ["tab/Options"]);
    put_finger(&mut stage, button - outwards * 0.001);
    assert!(!stage.app.state().controls.contains_key("field/name"), "not yet through");
    put_finger(&mut stage, button - outwards * 0.01);
    put_finger(&mut stage, button + outwards * 0.02);
    stage.app.wait_for("the page", SOON, |state| state.controls.contains_key("field/name"));
}

#[test]
fn nothing_is_grabbed_through_the_panels() {
    let model = asset("models/brain-surface.glb");
    let Some(mut stage) = Stage::set("through", Headset::Ready, &[&model]) else { return };
    stage.wait_for_focus();
    let state =
        stage.app.wait_for("the model", PATIENCE, |state| state.models.iter().any(|model| model.ready));
    let model = state.models[0].clone();
    open_panels(&mut stage);
    // Through the board's middle the model would be met.
    stage.remote().set(|remote| {
        remote.right.pose.position = Vec3::new(0.0, 1.5, -0.1);
        aim(&mut remote.right, turned(model.position.into()));
    });
    stage.app.wait_for("a ray that would meet the model", SOON, |state| {
        state.aim.right.as_ref().is_some_and(|aim| aim.model == model.id)
    });
    stage.remote().set(|remote| remote.right.trigger = 1.0);
    stage.app.wait_for("the trigger", SOON, |state| state.input.right.trigger == 1.0);
    stage.remote().set(|remote| remote.right.trigger = 0.0);
    let state = stage.app.wait_for("no trigger", SOON, |state| state.input.right.trigger == 0.0);
    assert!(state.held.is_empty() && state.panels, "{state:#?}");
}
