//! Two markers say where the real room is, for everybody, and again after a
//! restart.

use std::time::Duration;

use glam::{Quat, Vec3};
use serde_json::json;

use super::{
    panels::{open_panels, press},
    remote::Pose,
    report::{Alignment, Marker, State, Tracked},
    stage::{Guest, Headset, PATIENCE, Stage, asset, inside, read},
};

/// Frames of a headset that a processor draws come a few times a second.
const SOON: Duration = Duration::from_secs(30);
/// From a controller to its wand's tip.
const TIP: f32 = 0.2;

/// Where a wand's tip is, in the headset's coordinates.
fn tip(hand: Pose) -> Vec3 {
    hand.position + hand.rotation * Vec3::NEG_Z * TIP
}

/// Where the headset's coordinates are in the room of these markers, from the
/// page about the wire and not from the program: the origin is between them, and
/// the room's -x (the wire's x) goes from the first to the second.
fn room(marker1: Vec3, marker2: Vec3) -> Pose {
    let along = marker2 - marker1;
    let minus_x = Vec3::new(along.x, 0.0, along.z).normalize();
    let back = Quat::from_mat3(&glam::Mat3::from_cols(-minus_x, Vec3::Y, (-minus_x).cross(Vec3::Y)));
    let rotation = back.inverse();
    Pose { position: rotation * -((marker1 + marker2) / 2.0), rotation }
}

fn head_in(room: Pose, head: Pose) -> Pose {
    let half_turn = Quat::from_rotation_y(std::f32::consts::PI);
    Pose {
        position: room.position + room.rotation * head.position,
        rotation: room.rotation * head.rotation * half_turn,
    }
}

/// Within 2 mm and a tenth of a degree.
fn is_same(a: Pose, b: Pose) -> bool {
    a.position.distance(b.position) < 0.002 && a.rotation.angle_between(b.rotation).to_degrees() < 0.1
}

fn markers(state: &State) -> (Marker, Marker) {
    (state.markers.left, state.markers.right)
}

/// The guest and the app have the host's head there.
fn head_is(stage: &mut Stage, guest: &Guest, expected: Pose) {
    stage.app.wait_for("the head there", SOON, |state| {
        state.head.is_some_and(|seen| is_same(seen.into(), expected))
    });
    let mark = guest.participant.mark();
    guest.participant.wait_after(mark, "pose", |event| is_same(read(&event["head"]), expected));
}

#[test]
fn two_markers_turn_the_room_for_everybody_and_again_after_a_restart() {
    let model = asset("models/brain-surface.glb");
    let Some(mut stage) = Stage::set("alignment", Headset::Ready, &[&model]) else { return };
    stage.wait_for_focus();
    let mut guest = stage.guest("Guest");
    guest.watch_poses();
    let state =
        stage.app.wait_for("the model", PATIENCE, |state| state.models.iter().any(|model| model.ready));
    let model = state.models[0].clone();
    assert_eq!(state.alignment, Alignment::None);

    // The left wand is on the model, so that it would be taken.
    let right = Pose { position: Vec3::new(0.9, 1.1, 0.3), rotation: Quat::from_rotation_y(-1.0) };
    let left = Pose { position: Vec3::new(0.0, 1.5, -0.3), rotation: Quat::IDENTITY };
    let head = Pose { position: Vec3::new(0.1, 1.6, 0.2), rotation: Quat::from_rotation_y(0.4) };
    stage.remote().set(|remote| (remote.head, remote.left.pose, remote.right.pose) = (head, left, right));
    stage.app.wait_for("the wand on the model", SOON, |state| state.aim.left.is_some());

    // The right one by its button, the left one by its trigger.
    stage.remote().set(|remote| remote.right.a = true);
    stage.app.wait_for("one marker", SOON, |state| markers(state) == (Marker::Hand, Marker::Dropped));
    stage.remote().set(|remote| remote.right.a = false);
    let mark = stage.app.mark();
    stage.remote().set(|remote| remote.left.trigger = 1.0);
    let aligned = stage.app.wait_for("the room", SOON, |state| state.alignment == Alignment::Aligned);
    let distance = tip(right).distance(tip(left));
    assert!((aligned.marker_distance.unwrap() - distance).abs() < 0.001, "{aligned:?}");
    let told = format!("{:.0} cm apart", distance * 100.0);
    stage.app.wait_for("word of the distance", SOON, |state| state.says(&told));
    let expected = head_in(room(tip(right), tip(left)), head);
    head_is(&mut stage, &guest, expected);
    stage.remote().set(|remote| remote.left.trigger = 0.0);
    let after = stage.app.wait_for("an open hand", SOON, |state| state.input.left.trigger == 0.0);
    assert_eq!(markers(&after), (Marker::None, Marker::None));
    // The model is where it was in the room, so it has moved for whoever stands still.
    assert_eq!(after.model(&model.id).unwrap().position, model.position);
    let taken = |state: &State| !state.held.is_empty();
    assert!(!stage.app.has_been(mark, taken), "a trigger that drops a marker takes nothing");

    // Another day.
    drop(guest);
    let settings = stage.file("settings.json");
    super::process::wait_until("kept settings", || {
        std::fs::read_to_string(&settings).is_ok_and(|text| text.contains("marker_distance"))
    });
    stage.restart_app(&[]);
    stage.wait_for_focus();
    let mut guest = stage.guest("Guest");
    guest.watch_poses();
    head_is(&mut stage, &guest, expected);
    let again = stage.app.wait_for("the room as before", SOON, |state| state.says("Aligned as before"));
    assert_eq!((again.alignment, again.real_room.as_str()), (Alignment::Aligned, "Room"));

    // The headset measures as before, but the person thought that something was not right.
    stage.recentre();
    stage.app.wait_for("doubt", SOON, |state| {
        state.alignment == Alignment::Doubtful && state.says("may not be where it was")
    });
    head_is(&mut stage, &guest, expected);

    // Aligned anew: a wand on the one side, a bare finger on the other.
    stage.remote().set(|remote| {
        remote.left.bare();
        remote.left.pinch(false);
        remote.left.pose = Pose::at(-0.5, 1.2, -0.4);
        remote.right.a = true;
    });
    stage.app.wait_for("a marker on the finger", SOON, |state| {
        markers(state) == (Marker::Hand, Marker::Dropped) && state.tracked.left == Tracked::Hand
    });
    stage.remote().set(|remote| remote.left.pinch(true));
    let anew = stage.app.wait_for("the room", SOON, |state| state.alignment == Alignment::Aligned);
    let from_wrist = tip(right).distance(Vec3::new(-0.5, 1.2, -0.4));
    assert!((anew.marker_distance.unwrap() - from_wrist).abs() < 0.25, "{anew:?}");
}

#[test]
fn markers_are_put_away_and_dropped_again() {
    let Some(mut stage) = Stage::set("markers", Headset::Ready, &[]) else { return };
    stage.wait_for_focus();
    let at = |x: f32| Pose::at(x, 1.2, -0.3);
    let press = |stage: &mut Stage, what: &str, left: bool, fits: fn(&State) -> bool| {
        stage.remote().set(|remote| (remote.left.a, remote.right.a) = (left, !left));
        let state = stage.app.wait_for(what, SOON, fits);
        stage.remote().set(|remote| (remote.left.a, remote.right.a) = (false, false));
        // A press is seen when a frame sees it.
        std::thread::sleep(Duration::from_secs(1));
        state
    };
    stage.remote().set(|remote| (remote.left.pose, remote.right.pose) = (at(-0.01), at(0.01)));
    press(&mut stage, "a marker", true, |state| markers(state) == (Marker::Dropped, Marker::Hand));
    // Nothing is said by markers two centimetres apart.
    press(&mut stage, "both again", false, |state| {
        markers(state) == (Marker::Hand, Marker::Hand) && state.says("too close")
    });
    stage.remote().set(|remote| remote.right.b = true);
    stage.app.wait_for("no markers", SOON, |state| markers(state) == (Marker::None, Marker::None));
    stage.remote().set(|remote| {
        remote.right.b = false;
        (remote.left.pose, remote.right.pose) = (at(-0.3), at(0.3));
    });
    press(&mut stage, "a marker", false, |state| markers(state) == (Marker::Hand, Marker::Dropped));
    let state = press(&mut stage, "the room", true, |state| state.alignment == Alignment::Aligned);
    assert!((state.marker_distance.unwrap() - 0.6).abs() < 0.001);
    // The origin is between the markers, half a metre ahead: who has the right one on the right looks along -z.
    stage.app.wait_for("the head before the origin", SOON, |state| {
        let head = state.head.map(|head| Vec3::from(head.position));
        head.is_some_and(|head| head.distance(Vec3::new(0.0, 0.4, 0.5)) < 0.002)
    });
}

#[test]
fn an_alignment_is_undone_by_ray() {
    let Some(mut stage) = Stage::set("undo", Headset::Ready, &[]) else { return };
    stage.wait_for_focus();
    let mut guest = stage.guest("Guest");
    guest.watch_poses();
    let head = Pose::at(0.0, 1.5, 0.0);
    let place = |x: f32| Pose { position: Vec3::new(x, 1.2, -0.4), rotation: Quat::from_rotation_y(x) };
    let (right, left) = (place(0.5), place(-0.3));
    stage.remote().set(|remote| {
        (remote.head, remote.left.pose, remote.right.pose) = (head, left, right);
        remote.right.a = true;
    });
    let half_turn = Pose { position: Vec3::ZERO, rotation: Quat::from_rotation_y(std::f32::consts::PI) };
    stage.app.wait_for("a marker", SOON, |state| markers(state) == (Marker::Hand, Marker::Dropped));
    head_is(&mut stage, &guest, head_in(half_turn, head));
    stage.remote().set(|remote| remote.left.a = true);
    stage.app.wait_for("the room", SOON, |state| state.alignment == Alignment::Aligned);
    stage.remote().set(|remote| (remote.left.a, remote.right.a) = (false, false));
    head_is(&mut stage, &guest, head_in(room(tip(right), tip(left)), head));

    let before = open_panels(&mut stage);
    let board_at = |state: &State| state.in_tracking(state.boards["panels"].position.into());
    press(&mut stage, "tab/Meeting");
    press(&mut stage, "meeting/undo-alignment");
    let undone = stage.app.wait_for("no alignment", SOON, |state| state.alignment == Alignment::None);
    head_is(&mut stage, &guest, head_in(half_turn, head));
    // What stands before the person has not moved for them.
    let (was, is) = (board_at(&before), board_at(&undone));
    assert!(was.distance(is) < 0.002, "{was} {is}");
}

/// For the documentation; made and looked at by hand, with
/// `scripts/test-xr --ignored pictures_of_markers`.
#[test]
#[ignore = "makes pictures for people to look at"]
fn pictures_of_markers() {
    let shots = [("35", "markers.png"), ("60", "fingers.png")];
    let shots = shots.map(|(at, file)| (format!("{at}={}", inside(file)), file));
    let model = asset("models/brain-surface.glb");
    let mut arguments = vec!["--eye-size", "1440x1440", &*model];
    for (shot, _) in &shots {
        arguments.extend(["--eye-shot", shot]);
    }
    let Some(mut stage) = Stage::set("picture-markers", Headset::Ready, &arguments) else { return };
    stage.remote().set(|remote| {
        remote.head = Pose { position: Vec3::new(0.0, 1.5, 0.0), rotation: Quat::from_rotation_x(-0.25) };
        remote.right.pose = Pose {
            position: Vec3::new(0.22, 1.15, -0.3),
            rotation: Quat::from_rotation_y(0.15) * Quat::from_rotation_x(0.3),
        };
        remote.left.pose = Pose {
            position: Vec3::new(-0.22, 1.1, -0.3),
            rotation: Quat::from_rotation_y(0.1) * Quat::from_rotation_x(0.1),
        };
    });
    stage.wait_for_focus();
    let mut guest = stage.guest("Grace Hopper");
    stage.app.wait_for("the model", PATIENCE, |state| state.models.iter().any(|model| model.ready));
    let place =
        |position: [f32; 3], rotation: Quat| json!({ "position": position, "rotation": rotation.to_array() });
    guest.participant.does(json!({
        "command": "pose",
        "head": place([0.95, 1.55, 1.5], Quat::from_rotation_y(-2.2)),
        "right": place([0.7, 1.3, 1.25], Quat::from_rotation_x(1.2)),
        "left": place([1.2, 1.0, 1.3], Quat::from_rotation_x(2.8)),
    }));
    // The right marker is dropped in the middle of the model, and the hand goes back.
    let held = stage.remote().right.pose;
    stage.remote().set(|remote| {
        remote.right.pose = Pose::at(0.15, 1.35, -0.75);
        remote.right.a = true;
    });
    stage.app.wait_for("a marker", PATIENCE, |state| state.markers.right == Marker::Dropped);
    stage.remote().set(|remote| {
        remote.right.pose = held;
        remote.right.a = false;
    });
    stage.picture(shots[0].1);
    stage.remote().set(|remote| {
        for hand in [&mut remote.left, &mut remote.right] {
            hand.bare();
            hand.pinch(false);
        }
        remote.left.pose =
            Pose { position: Vec3::new(-0.2, 1.3, -0.3), rotation: Quat::from_rotation_x(0.5) };
        remote.right.pose =
            Pose { position: Vec3::new(0.12, 1.3, -0.3), rotation: Quat::from_rotation_x(0.4) };
    });
    stage.picture(shots[1].1);
}
