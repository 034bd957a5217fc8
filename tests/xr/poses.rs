//! Where the wearer is, is where the others see them.

use glam::{EulerRot, Quat, Vec3};

use super::{
    remote::Pose,
    stage::{Headset, PATIENCE, Stage, read},
};

/// As the headset's coordinate system lies in the room without markers: people
/// look along +z there, and the headset's wearer along -z. A pose turned half
/// around y, and so are the head's own axes.
fn head_in_room(head: Pose) -> Pose {
    let Vec3 { x, y, z } = head.position;
    let [i, j, k, w] = head.rotation.to_array();
    Pose { position: Vec3::new(-x, y, -z), rotation: Quat::from_xyzw(-i, j, -k, w) }
}

/// Within 1 mm and a tenth of a degree.
fn is_same(a: Pose, b: Pose) -> bool {
    a.position.distance(b.position) < 0.001 && a.rotation.angle_between(b.rotation).to_degrees() < 0.1
}

#[test]
fn the_head_is_where_the_headset_is() {
    let Some(mut stage) = Stage::set("head", Headset::Ready, &[]) else { return };
    stage.wait_for_focus();
    let mut guest = stage.guest("Guest");
    guest.watch_poses();

    let turned = Quat::from_euler(EulerRot::YXZ, 0.7, -0.3, 0.2);
    for head in [
        Pose::at(0.0, 1.6, 0.0),
        Pose { position: Vec3::new(0.5, 1.25, -0.75), rotation: turned },
        Pose { position: Vec3::new(-1.5, 1.8, 2.0), rotation: turned.inverse() },
    ] {
        stage.remote().set(|remote| remote.head = head);
        let expected = head_in_room(head);
        stage.app.wait_for("the head in the app's own report", PATIENCE, |state| {
            state.head.is_some_and(|seen| is_same(seen.into(), expected))
        });
        let mark = guest.participant.mark();
        guest.participant.wait_after(mark, "pose", |event| is_same(read(&event["head"]), expected));
    }
}

#[test]
fn who_recentres_stands_at_the_origin_and_looks_ahead() {
    let Some(mut stage) = Stage::set("recentre", Headset::Ready, &[]) else { return };
    stage.wait_for_focus();
    let turned = Quat::from_rotation_y(2.0);
    let head = Pose { position: Vec3::new(1.0, 1.7, -2.0), rotation: turned };
    stage.remote().set(|remote| remote.head = head);
    stage.app.wait_for("the head there", PATIENCE, |state| {
        state.head.is_some_and(|seen| is_same(seen.into(), head_in_room(head)))
    });
    stage.recentre();
    stage.app.wait_for("the head at the origin", PATIENCE, |state| {
        let wanted = Pose { position: Vec3::new(0.0, 1.7, 0.0), rotation: Quat::IDENTITY };
        state.head.is_some_and(|seen| is_same(seen.into(), wanted)) && state.says("recentred")
    });
}
