//! What somebody who comes late, or again, finds.

use super::meeting::*;
use convene::session::{
    Command, Content, Event, LeaveReason, Measure, Move, Phase, Placement, Pose, SessionError,
};
use convene::wire::message::{OpenModel, QuatJson, Vec3Json};
use glam::{Quat, Vec3};

fn looksee_open(model_id: &str) -> OpenModel {
    OpenModel {
        model_id: model_id.into(),
        model_name: format!("{model_id}.glb"),
        position: Vec3Json { x: 0.5, y: 1.0, z: 0.5 },
        rotation: QuatJson { w: 1.0, ..Default::default() },
        scale: 1.0,
        opener: None,
    }
}

/// A host with two models, one of them moved and hidden, in a moved scene.
fn busy_host(world: &mut World) -> usize {
    let host = world.add_host(config('a', "Ada"));
    world.do_command(host, open("first", &glb(1, 30_000)));
    world.do_command(host, open("second", &glb(2, 20_000)));
    world.do_command(host, Command::KeepAligned { on: true });
    let to = Move {
        position: Some(Vec3::new(0.5, 1.0, -2.0)),
        rotation: Some(Quat::from_rotation_z(0.7)),
        scale: Some(3.0),
    };
    world.do_command(host, Command::MoveModel { model_id: "first".into(), to });
    let to = Move {
        position: Some(Vec3::new(0.1, 0.2, 0.3)),
        rotation: Some(Quat::from_rotation_y(1.0)),
        scale: Some(1.5),
    };
    world.do_command(host, Command::MoveScene { to });
    world.do_command(host, show("first", false));
    host
}

#[test]
fn a_late_joiner_finds_everything() {
    let mut world = World::new(1);
    let host = busy_host(&mut world);
    let guests = [(config('b', "Bob"), "Ada"), (looksee_only('c', "Cid"), "LookSee aaaaaaaa")];
    for (guest_config, opened_by) in guests {
        let guest = world.add(guest_config);
        world.join(guest, host);
        world.run(ms(500));
        assert_eq!(world.disagreement(&[host, guest]), None);
        assert_eq!(world.model_ids(guest), ["first", "second"]);
        assert!(!world.is_shown(guest, "first"), "what is hidden is hidden");
        assert!(world.is_shown(guest, "second"));
        assert!(world.view(guest).keep_aligned);
        let opener = world.view(guest).models[0].opener.clone();
        assert_eq!(opener.as_deref(), Some(opened_by), "it was the host who opened it");
    }
}

#[test]
fn a_late_looksee_joiner_is_told_what_is_hidden() {
    let mut world = World::new(2);
    let host = busy_host(&mut world);
    let script = world.script_joins(host);
    world.scripts[script].echoes = true;
    world.say_hello(script, "17");
    world.run(secs(1));
    assert_eq!(world.types_heard(script), [5, 9, 10, 3, 3, 7], "hidden state behind the models");
    assert_eq!(world.heard(script, 7), [r#"{"model_id":"first","shown":false}"#]);
    assert_eq!(world.heard(script, 10), [r#"{"keep_aligned":true}"#]);
    assert!(world.heard(script, 9)[0].contains(r#""scale":1.5"#), "a scene's scale is always sent");
}

#[test]
fn hosting_later_shares_what_is_open() {
    let mut world = World::new(3);
    let host = world.add(config('a', "Ada"));
    world.do_command(host, open("box", &glb(1, 900)));
    assert!(!world.view(host).models[0].shared, "there is no meeting yet");
    let now = world.now;
    world.nodes[host].session.host(now);
    assert!(world.view(host).models[0].shared, "now it is the meeting's");
    let guest = world.add(config('b', "Bob"));
    world.join(guest, host);
    world.run(ms(200));
    assert_eq!(world.model_ids(guest), ["box"]);
}

#[test]
fn private_models_stay_private_until_shared() {
    let mut world = World::new(4);
    let host = world.add_host(config('a', "Ada"));
    let guest = world.add(config('b', "Bob"));
    let script = world.script_joins(host);
    world.say_hello(script, "17");
    world.do_command(guest, open("mine", &glb(1, 900)));
    world.join(guest, host);
    world.run(ms(300));
    world.do_command(host, open_measured("secret", &glb(2, 900), cube(1.0), true));
    world.do_command(guest, show("mine", false));
    world.do_command(guest, move_to("mine", Vec3::new(1.0, 1.0, 1.0)));
    world.do_command(host, move_to("secret", Vec3::new(2.0, 1.0, 1.0)));
    world.do_command(host, Command::OriginalAlignment);
    world.run(ms(300));
    assert_eq!(world.model_ids(host), ["secret"]);
    assert_eq!(world.model_ids(guest), ["mine"]);
    assert_eq!(world.types_heard(script), [5, 9, 10], "nobody hears of private models");

    world.do_command(guest, share("mine"));
    world.do_command(guest, share("mine"));
    world.do_command(host, share("secret"));
    world.run(ms(300));
    assert_eq!(world.disagreement(&[host, guest]), None);
    assert_eq!(world.model_ids(host), ["mine", "secret"]);
    assert!(!world.is_shown(host, "mine"), "shared as it is: hidden");
    assert!(near(
        world.place(host, "mine"),
        Placement { position: Vec3::ONE, rotation: Quat::IDENTITY, scale: 1.0 }
    ));
    let mut types = world.types_heard(script);
    types.sort_unstable();
    assert_eq!(types, [3, 3, 5, 7, 9, 10], "once each, and the hidden state");

    world.do_command(host, open_measured("secret 2", &glb(3, 900), cube(1.0), true));
    world.forget(script);
    world.do_command(host, close("secret 2"));
    world.run(ms(200));
    assert!(world.types_heard(script).is_empty(), "its end is private, too");
}

#[test]
fn a_convene_guest_that_comes_again_duplicates_nothing() {
    let mut world = World::new(5);
    let host = world.add_host(config('a', "Ada"));
    let (guest, other) = (world.add(config('b', "Bob")), world.add(config('c', "Cid")));
    world.do_command(host, open("host's", &glb(1, 900)));
    world.join(guest, host);
    world.join(other, host);
    world.run(ms(300));
    world.do_command(guest, open("guest's", &glb(2, 900)));
    world.run(ms(300));
    for round in 0..3 {
        if round == 1 {
            world.break_link(End::Node(guest), End::Node(host));
        } else {
            world.do_command(guest, Command::Leave);
        }
        world.run(ms(300));
        assert_eq!(world.view(guest).phase, Phase::Alone);
        assert_eq!(world.model_ids(guest), ["guest's", "host's"], "models stay, as private ones");
        assert!(world.view(guest).models.iter().all(|m| !m.shared));
        assert_eq!(world.disagreement(&[host, other]), None);
        world.do_command(host, move_to("guest's", Vec3::new(1.0, round as f32, 2.0)));
        world.join(guest, host);
        world.run(ms(300));
        assert_eq!(world.model_ids(guest), ["guest's", "host's"], "the same ids, once each");
        assert_eq!(world.disagreement(&[host, guest, other]), None);
        assert_eq!(world.view(host).participants.len(), 2, "nobody is there twice");
        assert!(world.view(guest).models.iter().all(|m| m.shared));
    }
}

#[test]
fn what_was_closed_meanwhile_stays_private() {
    let mut world = World::new(6);
    let host = world.add_host(config('a', "Ada"));
    let guest = world.add(config('b', "Bob"));
    world.do_command(host, open("box", &glb(1, 900)));
    world.join(guest, host);
    world.run(ms(300));
    world.do_command(guest, Command::Leave);
    world.run(ms(100));
    world.do_command(host, close("box"));
    world.join(guest, host);
    world.run(ms(300));
    assert_eq!(world.model_ids(guest), ["box"]);
    assert!(!world.view(guest).models[0].shared, "it is the guest's own now");
    assert!(world.model_ids(host).is_empty());
    assert_eq!(world.disagreement(&[host, guest]), None);
}

#[test]
fn a_looksee_guest_that_comes_again_does_not_double_its_models() {
    let mut world = World::new(7);
    let host = world.add_host(config('a', "Ada"));
    let other = world.add(config('c', "Cid"));
    world.do_command(host, open("host's", &glb(1, 900)));
    world.join(other, host);
    let script = world.script_joins(host);
    world.say_hello(script, "17");
    world.say_pose(script, "joinBBBB");
    world.run(ms(100));
    world.say_model(script, &looksee_open("theirs"), &glb(2, 900));
    world.run(ms(300));
    assert_eq!(world.model_ids(other), ["host's", "theirs"]);
    world.script_closes(script);
    world.run(ms(300));

    // LookSee gives all its models again, under new ids.
    let again = world.script_joins(host);
    world.say_hello(again, "17");
    world.say_pose(again, "joinBBBB");
    world.say_model(again, &looksee_open("copy 1"), &glb(1, 900));
    world.say_model(again, &looksee_open("copy 2"), &glb(2, 900));
    world.say_model(again, &looksee_open("new"), &glb(3, 900));
    world.run(ms(500));
    assert_eq!(world.model_ids(host), ["host's", "new", "theirs"]);
    assert_eq!(world.disagreement(&[host, other]), None, "and nobody else saw the copies");
    let closes = world.heard(again, 4);
    assert_eq!(closes, [r#"{"model_id":"copy 1"}"#, r#"{"model_id":"copy 2"}"#], "its copies are closed");
    let seen =
        |event: &Event| matches!(event, Event::ModelOffered { model_id, .. } if model_id.starts_with("copy"));
    assert!(!world.nodes[other].events.iter().any(seen), "the other guest never heard of them");
    // Later it may open the same file once more, on purpose.
    world.run_posing(secs(11), &[(again, "joinBBBB")]);
    world.say_model(again, &looksee_open("on purpose"), &glb(1, 900));
    world.run(ms(300));
    assert!(world.model_ids(other).contains(&"on purpose".to_owned()));
}

#[test]
fn the_host_ends_the_meeting() {
    let mut world = World::new(8);
    let host = world.add_host(config('a', "Ada"));
    let guest = world.add(config('b', "Bob"));
    let script = world.script_joins(host);
    world.say_hello(script, "17");
    world.do_command(host, open("box", &glb(1, 900)));
    world.join(guest, host);
    world.run(ms(300));
    world.do_command(host, Command::Leave);
    world.run(ms(300));
    assert_eq!(world.left(guest), [LeaveReason::HostEnded]);
    assert_eq!(world.left(host), [LeaveReason::Asked]);
    assert!(world.scripts[script].closed.is_some());
    for node in [host, guest] {
        assert_eq!(world.view(node).phase, Phase::Alone);
        assert!(world.view(node).participants.is_empty() && world.view(node).peers.is_empty());
        assert_eq!(world.model_ids(node), ["box"], "models stay open");
    }
    assert_eq!(world.command(host, Command::Leave), Err(SessionError::NoMeeting));
    // A guest can go on as a host of what it has.
    let now = world.now;
    world.nodes[guest].session.host(now);
    world.join(host, guest);
    world.run(ms(300));
    assert_eq!(world.model_ids(host), ["box"], "still once");
    assert_eq!(world.disagreement(&[guest, host]), None);
}

#[test]
fn joining_while_hosting_ends_the_own_meeting() {
    let mut world = World::new(9);
    let (a, b) = (world.add_host(config('a', "Ada")), world.add_host(config('b', "Bob")));
    let script = world.script_joins(b);
    world.say_hello(script, "17");
    world.do_command(b, open("bobs", &glb(1, 900)));
    world.run(ms(100));
    world.join(b, a);
    world.run(ms(300));
    assert!(world.scripts[script].closed.is_some(), "its guests are let go");
    assert_eq!(world.view(b).phase, Phase::Guest);
    assert!(world.model_ids(a).is_empty(), "its models are not given away unasked");
}

#[test]
fn a_model_that_was_arriving_when_the_meeting_ended_is_gone() {
    let mut world = World::new(10);
    let host = world.add_host(config('a', "Ada"));
    let guest = world.add(config('b', "Bob"));
    world.join(guest, host);
    world.run(ms(300));
    world.set_rate(End::Node(host), End::Node(guest), 100_000);
    world.do_command(host, open("large", &glb(1, 400_000)));
    world.run(secs(1));
    let view = world.view(guest);
    let (progress, _) = view.models[0].arriving.expect("on its way");
    assert!(progress.received > 50_000 && progress.received < 150_000, "{progress:?}");
    assert_eq!(progress.total, 400_000);
    assert_eq!(
        world.command(guest, move_to("large", Vec3::ONE)),
        Err(SessionError::StillArriving("large".into()))
    );
    world.break_link(End::Node(host), End::Node(guest));
    world.run(ms(100));
    assert!(world.model_ids(guest).is_empty(), "half a model is no model");
    let failed = |event: &Event| matches!(event, Event::ModelFailed { model_id, .. } if model_id == "large");
    assert!(world.nodes[guest].events.iter().any(failed), "and it is told");
    assert!(matches!(world.left(guest)[..], [LeaveReason::Lost(_)]));
}

#[test]
fn a_model_can_be_closed_while_it_arrives() {
    let mut world = World::new(11);
    let host = world.add_host(config('a', "Ada"));
    let (guest, other) = (world.add(config('b', "Bob")), world.add(config('c', "Cid")));
    world.join(guest, host);
    world.join(other, host);
    world.run(ms(300));
    world.set_rate(End::Node(host), End::Node(guest), 100_000);
    world.do_command(host, open("large", &glb(1, 200_000)));
    world.run(secs(1));
    assert_eq!(world.model_ids(other), ["large"], "whole at the fast one");
    world.do_command(guest, close("large"));
    world.run(secs(3));
    for node in [host, guest, other] {
        assert!(world.model_ids(node).is_empty(), "closed for everybody, and it does not come back");
    }
    world.do_command(host, open("next", &glb(2, 900)));
    world.run(ms(300));
    assert_eq!(world.disagreement(&[host, guest, other]), None, "the connection goes on");
    assert_eq!(world.model_ids(guest), ["next"]);
}

#[test]
fn somebody_who_joins_while_a_model_arrives_gets_what_is_there() {
    let mut world = World::new(12);
    let host = world.add_host(config('a', "Ada"));
    let (guest, late) = (world.add(config('b', "Bob")), world.add(config('c', "Cid")));
    world.join(guest, host);
    world.run(ms(300));
    world.set_rate(End::Node(guest), End::Node(host), 100_000);
    world.do_command(guest, open("large", &glb(1, 200_000)));
    world.run(secs(1));
    assert!(matches!(
        world.nodes[host].session.stage().get("large").map(|m| &m.content),
        Some(Content::Arriving { .. })
    ));
    world.join(late, host);
    let script = world.script_joins(host);
    world.say_hello(script, "17");
    world.run(ms(300));
    let view = world.view(late);
    assert!(view.models[0].arriving.is_some(), "a Convene guest sees its box and gets chunks as they come");
    assert_eq!(world.types_heard(script), [5, 9, 10], "a LookSee guest gets it once it is whole");
    world.run(secs(3));
    assert_eq!(world.model_ids(late), ["large"]);
    assert_eq!(world.types_heard(script), [5, 9, 10, 3]);
    assert_eq!(world.disagreement(&[host, guest, late]), None);
}

#[test]
fn original_alignment_reaches_everybody() {
    let mut world = World::new(13);
    let host = world.add_host(config('a', "Ada"));
    let guest = world.add(config('b', "Bob"));
    let script = world.script_joins(host);
    world.say_hello(script, "17");
    world.join(guest, host);
    world.run(ms(300));
    world.do_command(host, open_measured("a", &glb(1, 900), cube(2.0), false));
    world.do_command(host, open_measured("b", &glb(2, 900), cube(8.0), false));
    world.do_command(host, move_to("a", Vec3::new(1.0, 1.0, 2.0)));
    world.run(ms(300));
    world.forget(script);
    world.do_command(host, Command::OriginalAlignment);
    world.run(ms(300));
    assert_eq!(world.types_heard(script), [1], "a position for the one that moved");
    let (a, b) = (world.place(guest, "a"), world.place(guest, "b"));
    assert!((a.position - b.position).length() < 1e-5, "{a:?} {b:?}");
    assert!((b.scale - 4.0).abs() < 1e-5, "side 8 beside side 2: {}", b.scale);
    assert_eq!(world.disagreement(&[host, guest]), None);
}

#[test]
fn keep_aligned_opens_in_the_first_ones_frame() {
    let mut world = World::new(14);
    let host = world.add_host(config('a', "Ada"));
    let guest = world.add(config('b', "Bob"));
    world.join(guest, host);
    world.run(ms(300));
    world.do_command(host, Command::KeepAligned { on: true });
    let measure = Measure { center: Vec3::ZERO, size: Vec3::new(1.0, 2.0, 1.5) };
    world.do_command(host, open_measured("box", &glb(1, 900), measure, false));
    world.do_command(host, move_to("box", Vec3::new(-0.3, 1.1, 0.4)));
    let measure = Measure { center: Vec3::new(9.0, 0.0, 0.0), size: Vec3::new(1.0, 3.0, 1.5) };
    world.do_command(host, open_measured("tall", &glb(2, 900), measure, false));
    world.run(ms(300));
    let tall = world.place(guest, "tall");
    let expected = Placement { position: Vec3::new(-0.3, 1.1, 0.4), rotation: Quat::IDENTITY, scale: 1.5 };
    assert!(near(tall, expected), "{tall:?}");
    assert_eq!(world.disagreement(&[host, guest]), None);
}

#[test]
fn a_model_opens_before_the_eyes() {
    let mut world = World::new(15);
    let host = world.add_host(config('a', "Ada"));
    let head = Pose::new(Vec3::new(1.0, 1.6, 1.0), Quat::from_rotation_y(std::f32::consts::FRAC_PI_2));
    let body = convene::session::Body { head, ..convene::session::Body::rest() };
    world.do_command(host, Command::Pose { body, stamp: 1 });
    world.do_command(host, open("box", &glb(1, 900)));
    let expected = Vec3::new(2.0, 1.6, 1.0);
    assert!((world.place(host, "box").position - expected).length() < 1e-5, "{:?}", world.place(host, "box"));
}
