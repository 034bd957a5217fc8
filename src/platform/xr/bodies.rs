//! Head, hands and buttons: from the headset's coordinates into the room, in the
//! app's vocabulary.

use std::{
    f32::consts::{FRAC_PI_2, PI},
    time::Duration,
};

use bevy::prelude::*;

use super::{
    session::{Recentred, Vr, recentred_room},
    tracker::HandSnapshot,
};
use crate::{
    app::{
        AppSystems,
        alignment::{Alignment, Recentring},
        bare_hands::{INDEX_TIP, Joints, KNUCKLE, THUMB_TIP, WRIST},
        input::{Action, HandDevice, HandInput, Hands, Headset, Me},
        viewer::StartAt,
    },
    gestures::{Button, PerSide, Pinch, Side, aim_from_eye},
    session::{Body, Pose},
};

/// Somebody of whom nothing is known for so long is not there.
const MISSED: Duration = Duration::from_secs(1);

pub(super) fn plugin(app: &mut App) {
    app.add_systems(
        Update,
        (recentre, start, fill, press).chain().in_set(AppSystems::Input).before(crate::app::wands::point),
    );
}

/// The head on the wire and in the room looks along +z, OpenXR's along -z.
pub(super) fn head_in_room(head: Pose, room_from_tracking: Pose) -> Pose {
    let head = head.within(room_from_tracking);
    Pose { rotation: head.rotation * Quat::from_rotation_y(PI), ..head }
}

/// A wand points along its +y, OpenXR's aim along -z. Its other axes are turned
/// with the room's, as LookSee has them.
pub(super) fn wand_in_room(aim: Pose, room_from_tracking: Pose) -> Pose {
    let aim = aim.within(room_from_tracking);
    let turn = Quat::from_rotation_x(-FRAC_PI_2) * Quat::from_rotation_y(PI);
    Pose { rotation: aim.rotation * turn, ..aim }
}

fn recentre(
    mut recentred: MessageReader<Recentred>,
    mut waiting: Local<bool>,
    vr: Res<Vr>,
    mut headset: ResMut<Headset>,
    mut alignment: ResMut<Alignment>,
    mut tell: MessageWriter<Recentring>,
) {
    for recentring in recentred.read() {
        if !alignment.is_aligned() {
            *waiting = true;
            continue;
        }
        match recentred_room(headset.room_from_tracking, **recentring) {
            // The headset says how its coordinates have moved: the room stays where it is.
            Some(room) => headset.room_from_tracking = room,
            // Whoever recentres what poses are not given in thinks that something is not right.
            None => alignment.doubt(),
        }
        tell.write(Recentring);
    }
    // Nobody shares the real room: who recentres wants to stand at the room's origin and look ahead.
    let head = vr.snapshot().and_then(|snapshot| snapshot.head);
    if let Some(head) = head.filter(|_| std::mem::take(&mut *waiting)) {
        headset.room_from_tracking = at_origin(head);
        tell.write(Recentring);
    }
}

/// Who comes into a meeting without sharing the host's real room stands where
/// guests start, not inside the host.
fn start(
    mut starts: MessageReader<StartAt>,
    mut waiting: Local<Option<Pose>>,
    vr: Res<Vr>,
    alignment: Res<Alignment>,
    mut headset: ResMut<Headset>,
) {
    if let Some(start) = starts.read().last() {
        *waiting = Some(start.head);
    }
    if alignment.is_aligned() {
        *waiting = None;
    }
    let Some(head) = vr.snapshot().and_then(|snapshot| snapshot.head) else { return };
    if let Some(start) = waiting.take() {
        // Turned about the vertical only, on the same floor.
        let ahead = start.rotation * Vec3::Z;
        let place = Pose {
            position: Vec3::new(start.position.x, 0.0, start.position.z),
            rotation: Quat::from_rotation_y(ahead.x.atan2(ahead.z)),
        };
        headset.room_from_tracking = at_origin(head).within(place);
    }
}

/// The room whose origin is below this head, and whose +z is ahead of it.
fn at_origin(head: Pose) -> Pose {
    let ahead = head.rotation * Vec3::NEG_Z;
    let flat = Vec3::new(ahead.x, 0.0, ahead.z);
    // Who looks straight up or down has the crown or the chin ahead.
    let flat = if flat.length() > 0.1 { flat } else { (head.rotation * Vec3::Y) * -ahead.y.signum() };
    let yaw = flat.x.atan2(flat.z);
    let turn = Quat::from_rotation_y(-yaw);
    let below = Vec3::new(head.position.x, 0.0, head.position.z);
    Pose { position: -(turn * below), rotation: turn }
}

fn fill(
    vr: Res<Vr>,
    headset: Res<Headset>,
    mut me: ResMut<Me>,
    mut hands: ResMut<Hands>,
    mut joints: ResMut<Joints>,
    mut pinches: Local<PerSide<Pinch>>,
    mut was_worn: Local<bool>,
    mut seen_at: Local<Duration>,
    time: Res<Time<Real>>,
) {
    if !headset.is_worn() {
        if std::mem::take(&mut *was_worn) {
            **hands = PerSide::default();
            joints.0 = PerSide::default();
        }
        // The window takes over; a headset without one is put down.
        let present = !headset.standalone;
        if me.present != present {
            me.present = present;
        }
        return;
    }
    *was_worn = true;
    let room = headset.room_from_tracking;
    let seen = vr.snapshot().and_then(|snapshot| Some((snapshot, snapshot.head?)));
    let Some((snapshot, head)) = seen else {
        // The runtime stands still: nobody is there until it goes on.
        me.present &= time.elapsed() < *seen_at + MISSED;
        return;
    };
    *seen_at = time.elapsed();
    me.present = true;
    me.body.head = head_in_room(head, room);
    for side in Side::BOTH {
        let hand = snapshot.hands.get(side);
        let input = input_of(hand, room, me.body.head.position, pinches.get_mut(side));
        let in_room = hand
            .joints
            .as_ref()
            .filter(|_| input.device == HandDevice::Bare)
            .map(|joints| joints.map(|(joint, radius)| (joint.within(room).position, radius)));
        if joints.get(side).is_some() || in_room.is_some() {
            *joints.get_mut(side) = in_room;
        }
        let wand = if input.is_there() { input.aim } else { resting(side, me.body.head) };
        match side {
            Side::Left => me.body.left = wand,
            Side::Right => me.body.right = wand,
        }
        *hands.get_mut(side) = input;
    }
}

fn input_of(hand: &HandSnapshot, room: Pose, eye: Vec3, pinch: &mut Pinch) -> HandInput {
    if let Some(aim) = hand.aim {
        pinch.forget();
        return HandInput {
            device: HandDevice::Controller,
            aim: wand_in_room(aim, room),
            grip: hand.grip.unwrap_or(aim).within(room),
            trigger: hand.trigger,
            squeeze: hand.squeeze,
            stick: hand.stick,
            fingertip: None,
        };
    }
    let Some(joints) = &hand.joints else {
        pinch.update(None);
        return HandInput::default();
    };
    let at = |joint: usize| joints.get(joint).map_or(Pose::IDENTITY, |(pose, _)| pose.within(room));
    let pinching = pinch.update(Some((at(THUMB_TIP).position, at(INDEX_TIP).position)));
    HandInput {
        device: HandDevice::Bare,
        // The knuckle stays where it is while the fingers close.
        aim: aim_from_eye(eye, at(KNUCKLE).position),
        grip: at(WRIST),
        trigger: f32::from(u8::from(pinching)),
        squeeze: 0.0,
        stick: Vec2::ZERO,
        fingertip: Some(at(INDEX_TIP).position),
    }
}

/// Where a hand hangs that is not seen.
fn resting(side: Side, head: Pose) -> Pose {
    let rest = Body::rest();
    let hand = match side {
        Side::Left => rest.left,
        Side::Right => rest.right,
    };
    // Down beside the body, whatever way the head nods.
    let ahead = head.rotation * Vec3::Z;
    let body = Pose { position: head.position, rotation: Quat::from_rotation_y(ahead.x.atan2(ahead.z)) };
    let hanging = Pose { rotation: Quat::from_rotation_x(PI * 0.9), ..hand };
    hanging.within(rest.head.inverse()).within(body)
}

/// Buttons that are pressed once.
fn press(vr: Res<Vr>, mut buttons: Local<PerSide<(Button, Button)>>, mut actions: MessageWriter<Action>) {
    let Some(snapshot) = vr.snapshot() else { return };
    for side in Side::BOTH {
        let hand = snapshot.hands.get(side);
        let (menu, mark) = buttons.get_mut(side);
        menu.update(f32::from(u8::from(hand.menu)));
        mark.update(f32::from(u8::from(hand.mark)));
        if menu.just_pressed() {
            actions.write(Action::Menu(side));
        }
        if mark.just_pressed() {
            actions.write(Action::Mark(side));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::room_from_tracking_unaligned;

    #[test]
    fn heads_and_wands_go_out_as_looksee_shows_them() {
        // Somebody at OpenXR's origin who looks along -z and points ahead: on LookSee's wire a head without turn, and
        // a wand that points along the wire's +z.
        let room = room_from_tracking_unaligned();
        let eyes = Pose::new(Vec3::new(0.0, 1.5, 0.0), Quat::IDENTITY);
        let aim = Pose::new(Vec3::new(0.2, 1.1, -0.3), Quat::IDENTITY);
        let wand = wand_in_room(aim, room);
        let body = Body { head: head_in_room(eyes, room), left: Body::rest().left, right: wand };
        let wire = body.to_wire("abcdefgh");
        assert_eq!((wire.head_position.x, wire.head_position.y, wire.head_position.z), (0.0, 1.5, 0.0));
        assert!((wire.head_rotation.w.abs() - 1.0).abs() < 1e-5, "{:?}", wire.head_rotation);
        // To the right of the body and ahead of it, in the wire's axes: x right, z forward.
        let at = wire.right_position;
        assert!((Vec3::new(at.x, at.y, at.z) - Vec3::new(0.2, 1.1, 0.3)).length() < 1e-5, "{at:?}");
        let turn = wire.right_rotation;
        let along = Quat::from_xyzw(turn.x, turn.y, turn.z, turn.w) * Vec3::Y;
        assert!((along - Vec3::Z).length() < 1e-5, "{along}");
    }

    #[test]
    fn the_same_pose_is_the_same_on_the_wire_as_in_a_recording_of_looksee() {
        let recorded = include_str!("../../../tests/data/looksee.txt");
        let hex = recorded.lines().find_map(|line| line.strip_prefix("wand_position ")).unwrap();
        let bytes: Vec<u8> =
            (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect();
        let theirs: crate::wire::message::WandPosition = serde_json::from_slice(&bytes[5..]).unwrap();
        // Its head looks ahead, its wands point ahead and up by 30 degrees: Unity's y axis, turned by 60 degrees about x.
        let room = room_from_tracking_unaligned();
        let at = |x: f32| Pose::new(Vec3::new(x, 1.1, -0.3), Quat::from_rotation_x(30f32.to_radians()));
        let body = Body {
            head: head_in_room(Pose::new(Vec3::new(0.0, 1.5, 0.0), Quat::IDENTITY), room),
            left: wand_in_room(at(-0.2), room),
            right: wand_in_room(at(0.2), room),
        };
        let ours = body.to_wire(&theirs.device_id);
        let near = |a: crate::wire::message::Vec3Json, b: crate::wire::message::Vec3Json| {
            Vec3::new(a.x - b.x, a.y - b.y, a.z - b.z).length() < 1e-5
        };
        let same = |a: crate::wire::message::QuatJson, b: crate::wire::message::QuatJson| {
            (a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w).abs() > 0.999_999
        };
        assert!(
            near(ours.head_position, theirs.head_position) && same(ours.head_rotation, theirs.head_rotation)
        );
        assert!(near(ours.left_position, theirs.left_position), "{ours:?}");
        assert!(near(ours.right_position, theirs.right_position), "{ours:?}");
        assert!(same(ours.left_rotation, theirs.left_rotation), "{ours:?}");
        assert!(same(ours.right_rotation, theirs.right_rotation), "{ours:?}");
    }

    #[test]
    fn who_recentres_stands_at_the_origin_and_looks_ahead() {
        for turn in [0.0, 0.7, PI, -2.0] {
            let head = Pose::new(
                Vec3::new(0.4, 1.7, -1.2),
                Quat::from_rotation_y(turn) * Quat::from_rotation_x(-0.4),
            );
            let seen = head_in_room(head, at_origin(head));
            assert!((seen.position - Vec3::new(0.0, 1.7, 0.0)).length() < 1e-5, "{seen:?}");
            let ahead = seen.rotation * Vec3::Z;
            assert!(ahead.x.abs() < 1e-5 && ahead.z > 0.9, "{ahead}");
        }
    }

    #[test]
    fn a_bare_hand_points_from_the_eye_and_grabs_with_a_pinch() {
        let mut joints = Box::new([(Pose::IDENTITY, 0.01); crate::app::bare_hands::JOINTS]);
        let at = |x: f32| (Pose::new(Vec3::new(x, 1.2, -0.5), Quat::IDENTITY), 0.008);
        joints[KNUCKLE] = at(0.2);
        (joints[THUMB_TIP], joints[INDEX_TIP]) = (at(0.20), at(0.28));
        let mut hand = HandSnapshot { joints: Some(joints), ..HandSnapshot::default() };
        let (room, eye) = (room_from_tracking_unaligned(), Vec3::new(0.0, 1.6, 0.0));
        let mut pinch = Pinch::default();
        let open = input_of(&hand, room, eye, &mut pinch);
        assert_eq!((open.device, open.trigger), (HandDevice::Bare, 0.0));
        let along = open.aim.rotation * Vec3::Y;
        assert!(along.dot((Vec3::new(-0.2, 1.2, 0.5) - eye).normalize()) > 0.9999, "{along}");
        if let Some(joints) = &mut hand.joints {
            joints[INDEX_TIP] = at(0.21);
        }
        assert_eq!(input_of(&hand, room, eye, &mut pinch).trigger, 1.0);
        // A controller that is taken up counts at once.
        hand.aim = Some(Pose::IDENTITY);
        let input = input_of(&hand, room, eye, &mut pinch);
        assert_eq!((input.device, input.trigger), (HandDevice::Controller, 0.0));
    }
}
