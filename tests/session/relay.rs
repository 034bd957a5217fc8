//! A host passes on what its guests say, unchanged, and does it itself.

use super::meeting::*;
use super::recording::json_of;
use convene::session::{Body, Command, Event, Move, Pose};
use convene::wire::message::{OpenModel, QuatJson, Vec3Json};
use glam::{Quat, Vec3};

/// A host, two Convene guests, and a LookSee guest that listens.
fn four(seed: u64) -> (World, [usize; 3], usize) {
    let mut world = World::new(seed);
    let host = world.add_host(config('a', "Ada"));
    let (b, c) = (world.add(config('b', "Bob")), world.add(config('c', "Cid")));
    let script = world.script_joins(host);
    world.say_hello(script, "17");
    world.say_pose(script, "joinDDDD");
    world.join(b, host);
    world.join(c, host);
    world.run(ms(300));
    world.forget(script);
    (world, [host, b, c], script)
}

#[test]
fn poses_reach_everybody() {
    let (mut world, nodes, script) = four(1);
    for (n, &node) in nodes.iter().enumerate() {
        let head = Pose::new(Vec3::new(n as f32, 1.5, -1.0), Quat::from_rotation_y(0.3));
        world.do_command(node, Command::Pose { body: Body { head, ..Body::rest() }, stamp: 42_000_000 });
    }
    world.run(ms(200));
    for &node in &nodes {
        for (n, id) in ["aaaaaaaa", "bbbbbbbb", "cccccccc"].iter().enumerate() {
            if nodes[n] == node {
                assert!(world.participant(node, id).is_none(), "nobody sees themselves");
                continue;
            }
            let body = world.participant(node, id).and_then(|p| p.body);
            let body = body.unwrap_or_else(|| panic!("{node} sees {id}"));
            assert!((body.head.position - Vec3::new(n as f32, 1.5, -1.0)).length() < 1e-4, "{body:?}");
            assert!(body.head.rotation.dot(Quat::from_rotation_y(0.3)).abs() > 0.9999);
        }
        let script_seen = world.participant(node, "joinDDDD");
        assert!(script_seen.is_some_and(|p| node != nodes[0] || p.body.is_some()), "LookSee is seen, too");
    }
    let seen = world.heard(script, 2);
    let stamps = seen.iter().filter(|json| json.contains(r#""stamp":42000000"#)).count();
    assert_eq!(stamps, 3, "number and stamp go through every kind of peer: {seen:?}");
}

#[test]
fn what_any_guest_does_reaches_everybody() {
    let (mut world, nodes, script) = four(2);
    let [host, b, c] = nodes;
    let file = glb(1, 70_000);
    world.do_command(b, open("box", &file));
    world.run(ms(300));
    assert_eq!(world.disagreement(&nodes), None);
    let seen = world.scripts[script].heard.iter().find(|(_, p)| p[0] == 3).expect("LookSee got it").1.clone();
    assert_eq!(json_of(&seen).1, &file[..], "the same bytes");
    assert!(!world.nodes[b].handed.iter().any(|(_, _, p)| p[0] == 3), "Bob sent it in chunks");
    for node in [host, c] {
        let glb = world.view(node).models[0].glb.clone();
        assert_eq!(glb.as_deref(), Some(&file[..]), "node {node} has the same bytes");
        assert_eq!(world.view(node).models[0].opener.as_deref(), Some("Bob"), "node {node}");
    }

    let to = Move {
        position: Some(Vec3::new(1.0, 1.25, -0.5)),
        rotation: Some(Quat::from_rotation_x(0.5)),
        scale: Some(2.5),
    };
    world.do_command(c, Command::MoveModel { model_id: "box".into(), to });
    world.do_command(b, Command::KeepAligned { on: true });
    world.do_command(c, show("box", false));
    let to = Move { position: Some(Vec3::X), scale: Some(0.5), ..Default::default() };
    world.do_command(b, Command::MoveScene { to });
    world.run(secs(2));
    assert_eq!(world.disagreement(&nodes), None);
    assert!(world.view(host).keep_aligned && !world.is_shown(b, "box"));
    assert!((world.view(c).scene.scale - 0.5).abs() < 1e-6);
    let mut types = world.types_heard(script);
    types.sort_unstable();
    assert_eq!(types, [1, 3, 7, 9, 10], "LookSee hears each once");
    world.do_command(host, close("box"));
    world.run(ms(300));
    assert!(nodes.iter().all(|&node| world.model_ids(node).is_empty()), "closed everywhere");
}

#[test]
fn a_relay_is_the_same_bytes() {
    let (mut world, nodes, script) = four(3);
    let sender = world.script_joins(nodes[0]);
    world.say_hello(sender, "17");
    world.run(ms(100));
    world.forget(script);
    let odd = "{ \"extra\": {\"q\":[1]}, \"model_id\":\"nobody\",\n\"position\":{\"x\":1e0,\"y\":2,\"z\":3.0},\"rotation\":{\"x\":0,\"y\":0,\"z\":0,\"w\":1},\"scale\":1}";
    world.say_json(sender, 1, odd);
    world.say_json(sender, 4, r#"{"model_id":"nob\u006fdy"}"#);
    world.say_json(sender, 7, r#"{"shown":false,"model_id":"nobody"}"#);
    world.say_json(sender, 10, r#"{ "keep_aligned" : true }"#);
    world.run(ms(200));
    assert_eq!(world.heard(script, 1), [odd], "unknown ids, too");
    assert_eq!(world.heard(script, 4), [r#"{"model_id":"nob\u006fdy"}"#]);
    assert_eq!(world.heard(script, 7), [r#"{"shown":false,"model_id":"nobody"}"#]);
    assert_eq!(world.heard(script, 10), [r#"{ "keep_aligned" : true }"#]);
    assert!(world.types_heard(sender).iter().all(|t| [5, 9, 10].contains(t)), "nothing back to the sender");
    assert_eq!(world.heard(sender, 10).len(), 1, "only the greeting's");
    world.forget(script);
    world.say_json(sender, 6, r#"{"error":"for the host only"}"#);
    world.say_json(sender, 5, r#"{"version":"17"}"#);
    world.say(sender, &[3, 0, 0, 0, 77, b'{', b'}', 1, 0, 0, 0, 0]);
    world.run(ms(200));
    assert!(world.types_heard(script).is_empty(), "errors, versions and unknown types go no further");
    let told = Event::PeerMessage { text: "for the host only".into() };
    assert!(world.nodes[nodes[0]].events.contains(&told), "the host reads it");
    assert!(world.scripts[sender].closed.is_none());
}

#[test]
fn zeros_mean_unchanged_and_the_origin_is_reached_all_the_same() {
    let (mut world, nodes, script) = four(4);
    let [host, b, c] = nodes;
    world.do_command(host, open("box", &glb(1, 900)));
    let to = Move {
        position: Some(Vec3::new(1.0, 2.0, 3.0)),
        rotation: Some(Quat::from_rotation_y(1.0)),
        scale: Some(2.0),
    };
    world.do_command(host, Command::MoveModel { model_id: "box".into(), to });
    world.run(ms(200));
    let before = world.place(b, "box");
    let zero =
        r#"{"model_id":"box","position":{"x":0,"y":0,"z":0},"rotation":{"x":0,"y":0,"z":0,"w":0},"scale":0}"#;
    world.say_json(script, 1, zero);
    world.say_json(script, 1, r#"{"model_id":"box"}"#);
    world.run(ms(200));
    for node in nodes {
        assert!(near(world.place(node, "box"), before), "node {node}: nothing changed");
    }
    world.say_json(script, 1, r#"{"model_id":"box","scale":0.25}"#);
    world.run(ms(200));
    for node in nodes {
        let place = world.place(node, "box");
        assert!((place.scale - 0.25).abs() < 1e-6 && (place.position - before.position).length() < 1e-4);
    }
    for (mover, others) in [(host, [b, c]), (b, [host, c])] {
        world.do_command(mover, move_to("box", Vec3::new(1.0, 1.0, 1.0)));
        world.run(ms(200));
        world.forget(script);
        world.do_command(mover, move_to("box", Vec3::ZERO));
        world.run(ms(200));
        for node in others {
            let at = world.place(node, "box").position;
            assert!(at.length() < 1e-5, "node {node} has it at {at}");
        }
        let json = &world.heard(script, 1)[0];
        assert!(!json.contains(r#""position":{"x":0.0,"y":0.0,"z":0.0}"#), "LookSee must move it: {json}");
    }
    // A scene may well be put back to the origin.
    let to = Move { position: Some(Vec3::ONE), ..Default::default() };
    world.do_command(b, Command::MoveScene { to });
    world.run(ms(200));
    let to = Move { position: Some(Vec3::ZERO), ..Default::default() };
    world.do_command(b, Command::MoveScene { to });
    world.run(ms(200));
    assert!(world.view(c).scene.position.length() < 1e-6);
    assert_eq!(world.disagreement(&nodes), None);
}

#[test]
fn a_guest_that_leaves_is_gone_everywhere_and_its_models_stay() {
    let (mut world, nodes, script) = four(5);
    let [host, b, c] = nodes;
    world.do_command(b, Command::Pose { body: Body::rest(), stamp: 1 });
    world.do_command(b, open("box", &glb(1, 900)));
    world.run(ms(200));
    world.forget(script);
    // A pose that is still on its way must not bring the leaver back.
    world.do_command(b, Command::Pose { body: Body::rest(), stamp: 2 });
    world.do_command(b, Command::Leave);
    world.run(ms(300));
    assert_eq!(world.heard(script, 8), [r#"{"device_id":"bbbbbbbb"}"#]);
    let last = world.scripts[script].heard.iter().rposition(|(_, p)| p[0] == 8);
    let poses = world.scripts[script].heard[last.unwrap_or(0)..].iter();
    assert!(
        !poses.clone().any(|(_, p)| json_of(p).0.contains(r#""bbbbbbbb","left"#)),
        "no pose behind the goodbye"
    );
    for node in [host, c] {
        assert!(world.participant(node, "bbbbbbbb").is_none(), "node {node}");
        assert_eq!(world.model_ids(node), ["box"], "its model stays at node {node}");
    }
    let times = |node: usize| {
        let left = |e: &&Event| matches!(e, Event::ParticipantLeft { id } if id == "bbbbbbbb");
        world.nodes[node].events.iter().filter(left).count()
    };
    assert_eq!((times(host), times(c)), (1, 1), "told once");
}

#[test]
fn somebody_who_never_posed_is_not_said_to_have_left() {
    let (mut world, nodes, script) = four(6);
    let silent = world.script_joins(nodes[0]);
    world.say_hello(silent, "17");
    world.run(ms(100));
    world.forget(script);
    world.script_closes(silent);
    world.run(ms(100));
    assert!(world.types_heard(script).is_empty(), "as LookSee does it");
}

#[test]
fn a_pose_that_waits_does_not_outlive_its_owner() {
    let (mut world, nodes, script) = four(7);
    let [host, b, c] = nodes;
    world.do_command(b, Command::Pose { body: Body::rest(), stamp: 1 });
    world.run(ms(100));
    world.forget(script);
    // The links to the others are busy with a model while Bob poses and leaves.
    for to in [End::Node(c), End::Script(script)] {
        world.set_rate(End::Node(host), to, 100_000);
    }
    world.do_command(host, open("large", &glb(1, 100_000)));
    world.run(ms(100));
    for stamp in 2..6 {
        world.do_command(b, Command::Pose { body: Body::rest(), stamp });
        world.run(ms(20));
    }
    world.do_command(b, Command::Leave);
    world.run(secs(3));
    let bobs = |p: &[u8]| json_of(p).0.contains("bbbbbbbb");
    let last = world.scripts[script].heard.iter().rfind(|(_, p)| bobs(p));
    assert_eq!(last.map(|(_, p)| p[0]), Some(8), "the goodbye is the last word about Bob");
    assert!(world.participant(c, "bbbbbbbb").is_none(), "no ghost at a Convene guest");
}

#[test]
fn a_model_without_id_or_place_is_the_same_for_everybody() {
    let (mut world, nodes, script) = four(8);
    let [host, b, _] = nodes;
    let rest = QuatJson { w: 1.0, ..Default::default() };
    let noid = OpenModel { model_name: "noid.glb".into(), scale: 1.0, rotation: rest, ..Default::default() };
    let listener = world.script_joins(host);
    world.say_hello(listener, "17");
    world.run(ms(100));
    world.say_model(script, &noid, &glb(1, 900));
    world.run(ms(200));
    assert_eq!(world.disagreement(&nodes), None, "one id for all");
    let [id] = &world.model_ids(host)[..] else { panic!("one model") };
    assert!(!id.is_empty() && world.heard(listener, 3)[0].contains(id.as_str()), "LookSee gets that id");
    let id = id.clone();
    world.do_command(b, move_to(&id, Vec3::new(1.0, 1.0, 1.0)));
    world.run(ms(200));
    assert_eq!(world.disagreement(&nodes), None);
    // Many of them, with others closed in between, never get one id twice.
    for mark in 2..6 {
        world.say_model(script, &noid, &glb(mark, 900));
        world.run(ms(100));
        world.do_command(host, close(&world.model_ids(host)[0].clone()));
        world.say_model(script, &noid, &glb(mark + 10, 900));
        world.run(ms(100));
    }
    assert!(world.scripts[script].closed.is_none(), "{:?}", world.faults(host));
    assert_eq!(world.model_ids(host).len(), 5);
    assert_eq!(world.disagreement(&nodes), None);

    let nowhere = OpenModel { model_id: "nowhere".into(), model_name: "n.glb".into(), ..Default::default() };
    world.say_model(script, &nowhere, &glb(30, 900));
    world.run(ms(200));
    assert_eq!(world.disagreement(&nodes), None, "a model without a place has one place for all");
    let at = world.place(b, "nowhere");
    assert!((at.position - Vec3::new(0.0, 1.5, 1.0)).length() < 1e-4, "before the host's eyes: {at:?}");
    assert_eq!(at.scale, 1.0);
}

#[test]
fn a_model_of_looksee_has_no_wrong_opener() {
    let (mut world, nodes, script) = four(9);
    let open = OpenModel {
        model_id: "theirs".into(),
        model_name: "theirs.glb".into(),
        position: Vec3Json { x: 0.5, y: 1.0, z: 0.5 },
        rotation: QuatJson { w: 1.0, ..Default::default() },
        scale: 1.0,
        opener: None,
    };
    world.say_model(script, &open, &glb(1, 900));
    world.run(ms(200));
    let opener = |node: usize| world.view(node).models[0].opener.clone();
    assert_eq!(opener(nodes[0]).as_deref(), Some("LookSee joinDDDD"), "the host knows who sent it");
    assert_ne!(opener(nodes[1]).as_deref(), Some("Ada"), "a guest does not take the host for the opener");
}
