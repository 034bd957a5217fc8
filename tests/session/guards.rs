//! What a peer may not do to others.

use super::meeting::*;
use super::rng::Rng;
use convene::session::{Client, Command, Config, Event, Phase, SessionError};
use convene::wire::message::{OpenModel, QuatJson, Vec3Json};
use convene::wire::{Limits, MEETING_PREFIX, Message, encode_frame, message::ParticipantLeft};
use glam::Vec3;
use proptest::prelude::*;

fn opening(model_id: &str) -> OpenModel {
    OpenModel {
        model_id: model_id.into(),
        model_name: format!("{model_id}.glb"),
        position: Vec3Json { x: 0.5, y: 1.0, z: 0.5 },
        rotation: QuatJson { w: 1.0, ..Default::default() },
        scale: 1.0,
        opener: None,
    }
}

#[test]
fn nobody_speaks_for_another() {
    let mut world = World::new(1);
    let host = world.add_host(config('a', "Ada"));
    let b = world.add(config('b', "Bob"));
    let (honest, liar, witness) =
        (world.script_joins(host), world.script_joins(host), world.script_joins(host));
    world.join(b, host);
    for script in [honest, liar, witness] {
        world.say_hello(script, "17");
    }
    world.run_posing(ms(300), &[(honest, "honest00"), (liar, "liar0000")]);
    world.forget(witness);
    let far = convene::session::Body {
        head: convene::session::Pose::new(Vec3::splat(50.0), glam::Quat::IDENTITY),
        ..convene::session::Body::rest()
    };
    for device_id in ["honest00", "aaaaaaaa", "bbbbbbbb"] {
        world.say_message(liar, &Message::WandPosition(far.to_wire(device_id)));
        let left = ParticipantLeft { device_id: device_id.into() };
        world.say_message(liar, &Message::ParticipantLeft(left));
    }
    world.run_posing(ms(300), &[(honest, "honest00"), (liar, "liar0000")]);
    let lies: Vec<String> = world.heard(witness, 2).into_iter().filter(|j| j.contains("50.0")).collect();
    assert!(lies.is_empty(), "no false pose is relayed: {lies:?}");
    assert!(world.heard(witness, 8).is_empty(), "nor a false goodbye");
    let body = world.participant(host, "honest00").and_then(|p| p.body).expect("still there");
    assert!(body.head.position.length() < 3.0);
    assert!(world.participant(host, "bbbbbbbb").is_some() && world.participant(b, "honest00").is_some());
    assert!(world.scripts[liar].closed.is_none(), "ignored, not thrown out");
    assert!(world.faults(host).len() <= 3, "told once of each kind: {:?}", world.faults(host));
    // Its own goodbye is believed, and passed on.
    let left = ParticipantLeft { device_id: "liar0000".into() };
    world.say_message(liar, &Message::ParticipantLeft(left));
    world.run_posing(ms(100), &[(honest, "honest00")]);
    assert_eq!(world.heard(witness, 8), [r#"{"device_id":"liar0000"}"#]);
    assert!(world.participant(host, "liar0000").is_none());
}

#[test]
fn a_newer_connection_takes_over_after_a_second_of_silence() {
    let mut world = World::new(2);
    let host = world.add_host(config('a', "Ada"));
    let (old, witness) = (world.script_joins(host), world.script_joins(host));
    world.say_hello(old, "17");
    world.say_hello(witness, "17");
    world.run_posing(ms(300), &[(old, "joinBBBB")]);
    let new = world.script_joins(host);
    world.say_hello(new, "17");
    world.run_posing(ms(600), &[(new, "joinBBBB")]);
    assert!(world.scripts[old].closed.is_none(), "the old one was heard less than a second ago");
    world.forget(witness);
    world.run_posing(ms(900), &[(new, "joinBBBB")]);
    assert!(world.scripts[old].closed.is_some(), "now the new one has the place");
    assert_eq!(world.view(host).participants.len(), 1);
    assert!(world.heard(witness, 8).is_empty(), "nobody has left");
    assert!(!world.heard(witness, 2).is_empty(), "its poses are passed on");
    // An older connection does not take it back from a newer one.
    let mut world = World::new(3);
    let host = world.add_host(config('a', "Ada"));
    let (older, newer) = (world.script_joins(host), world.script_joins(host));
    world.say_hello(older, "17");
    world.run(ms(50));
    world.say_hello(newer, "17");
    world.run_posing(ms(300), &[(newer, "joinBBBB")]);
    let latest = world.script_joins(host);
    world.say_hello(latest, "17");
    world.run(secs(2));
    world.run_posing(ms(300), &[(latest, "joinBBBB")]);
    assert!(world.scripts[newer].closed.is_some() && world.scripts[latest].closed.is_none());
}

#[test]
fn what_was_arriving_over_a_replaced_connection_is_given_up() {
    let mut world = World::new(5);
    let host = world.add_host(config('a', "Ada"));
    let old = world.script_joins(host);
    world.say_hello(old, "17");
    world.run_posing(ms(100), &[(old, "joinBBBB")]);
    let mut payload = OpenModel { model_id: "half".into(), ..Default::default() }.encode_head();
    payload.extend_from_slice(&[7; 1000]);
    let frame = encode_frame(&payload);
    world.say(old, &frame[..frame.len() - 500]);
    world.run(ms(100));
    assert_eq!(world.model_ids(host), ["half"], "it is on its way");
    let new = world.script_joins(host);
    world.say_hello(new, "17");
    world.run(ms(1500));
    world.run_posing(ms(200), &[(new, "joinBBBB")]);
    assert!(world.scripts[old].closed.is_some(), "the new one has the place");
    assert!(world.model_ids(host).is_empty(), "nothing waits for the rest of it");
    world.say(new, &frame);
    world.run(ms(200));
    assert_eq!(world.model_ids(host), ["half"], "it can be shared again");
    assert!(world.scripts[new].closed.is_none());
}

#[test]
fn a_convene_guest_whose_old_connection_lingers() {
    let mut world = World::new(4);
    let host = world.add_host(config('a', "Ada"));
    let c = world.add(config('c', "Cid"));
    world.join(c, host);
    // The same person on two sessions: the first link is dead, but nobody knows yet.
    let (first, second) = (world.add(config('b', "Bob")), world.add(config('b', "Bob")));
    world.join(first, host);
    world.run(ms(300));
    world.freeze(End::Node(first), End::Node(host), true);
    world.freeze(End::Node(host), End::Node(first), true);
    world.run(ms(300));
    world.join(second, host);
    world.run(ms(300));
    for stamp in 1..80 {
        let body = convene::session::Body::rest();
        world.do_command(second, Command::Pose { body, stamp });
        world.run(ms(50));
    }
    for node in [host, c] {
        let bob = world.participant(node, "bbbbbbbb").expect("Bob is here");
        assert_eq!((bob.label.as_str(), bob.client), ("Bob", Client::Convene), "node {node}");
        assert!(bob.body.is_some() && bob.poses > 10, "node {node} sees him move");
    }
    assert_eq!(world.view(host).participants.len(), 2);
}

#[test]
fn a_convene_guest_that_came_too_early_is_itself_all_the_same() {
    let mut world = World::new(5);
    let host = world.add_host(config('a', "Ada"));
    let c = world.add(config('c', "Cid"));
    world.join(c, host);
    let (first, second) = (world.add(config('b', "Bob")), world.add(config('b', "Bob")));
    world.join(first, host);
    world.run(ms(300));
    world.join(second, host);
    world.run(ms(200));
    // The first connection ends in an orderly way, a moment later.
    world.do_command(first, Command::Leave);
    world.run(ms(200));
    for stamp in 1..10 {
        let body = convene::session::Body::rest();
        world.do_command(second, Command::Pose { body, stamp });
        world.run(ms(50));
    }
    for node in [host, c] {
        let bob = world.participant(node, "bbbbbbbb").expect("Bob is here");
        assert_eq!((bob.label.as_str(), bob.client), ("Bob", Client::Convene), "node {node}");
    }
    // Nor does somebody who does not move have to wait for a place for ever.
    let third = world.add(config('b', "Bob"));
    world.join(third, host);
    world.run(ms(100));
    world.do_command(second, Command::Leave);
    world.run(ms(500));
    for node in [host, c] {
        assert!(world.participant(node, "bbbbbbbb").is_some(), "node {node} knows the third");
    }
}

#[test]
fn a_broken_message_ends_that_connection_only() {
    let mut world = World::new(6);
    let host = world.add_host(config('a', "Ada"));
    let b = world.add(config('b', "Bob"));
    world.join(b, host);
    world.run(ms(200));
    let faults: [&[u8]; 8] = [
        &[0, 0, 0, 0],
        &[251, 255, 255, 255],
        &[0, 0, 0, 64, 3],
        &[1, 0, 0, 0, 1],
        b"\x02\x00\x00\x00\x02{",
        b"\x03\x00\x00\x00\x07{}",
        b"\x06\x00\x00\x00\x03\x40\x00\x00\x00{",
        b"\x03\x00\x00\x00\x02{}",
    ];
    for (n, fault) in faults.iter().enumerate() {
        let script = world.script_joins(host);
        world.say_hello(script, "17");
        world.run(ms(50));
        world.say(script, fault);
        world.run(ms(100));
        let open = world.scripts[script].closed.is_none();
        // A show without an id or a value is read as LookSee reads it.
        assert_eq!(open, n == 5, "fault {n}: {:?}", world.faults(host));
    }
    assert!(world.left(b).is_empty(), "nobody else is disturbed");
    assert_eq!(world.view(b).participants.len(), 1);
}

#[test]
fn an_id_in_use_ends_the_connection() {
    let mut world = World::new(7);
    let host = world.add_host(config('a', "Ada"));
    let b = world.add(config('b', "Bob"));
    world.join(b, host);
    let script = world.script_joins(host);
    world.say_hello(script, "17");
    world.do_command(host, open("box", &glb(1, 900)));
    world.run(ms(200));
    world.say_model(script, &opening("box"), &glb(2, 900));
    world.run(ms(200));
    assert!(world.scripts[script].closed.is_some(), "closed, as LookSee does");
    let content = world.view(host).models[0].content;
    assert_eq!(content, Some(*blake3::hash(&glb(1, 900)).as_bytes()), "the first stays");
    assert_eq!(world.disagreement(&[host, b]), None);
    assert_eq!(
        world.command(b, open("box", &glb(3, 900))),
        Err(SessionError::ModelIdInUse("box".into())),
        "nor may we"
    );
}

#[test]
fn the_host_caps_all_models_together() {
    let mut world = World::new(8);
    let host = world.add_host(Config { max_model_bytes: 100_000, ..config('a', "Ada") });
    let b = world.add(config('b', "Bob"));
    world.join(b, host);
    world.run(ms(200));
    world.do_command(b, open("first", &glb(1, 60_000)));
    world.run(ms(200));
    world.do_command(b, open("second", &glb(2, 60_000)));
    world.run(ms(400));
    assert_eq!(world.model_ids(host), ["first"], "the second is too much");
    let failed = |e: &Event| matches!(e, Event::ModelFailed { model_id, .. } if model_id == "second");
    assert!(world.nodes[host].events.iter().any(failed));
    assert_eq!(world.disagreement(&[host, b]), None, "its sender is told, too");
    world.do_command(b, open("third", &glb(3, 30_000)));
    world.run(ms(400));
    assert_eq!(world.model_ids(host), ["first", "third"], "the connection goes on");
    assert_eq!(
        world.command(host, open("fourth", &glb(4, 20_000))),
        Err(SessionError::TooMuch { bytes: 110_000, limit: 100_000 })
    );
}

#[test]
fn a_guest_with_less_room_does_not_close_it_for_others() {
    let mut world = World::new(9);
    let host = world.add_host(config('a', "Ada"));
    let small = world.add(Config { max_model_bytes: 50_000, ..config('b', "Bob") });
    let c = world.add(config('c', "Cid"));
    world.join(small, host);
    world.join(c, host);
    world.run(ms(200));
    world.do_command(host, open("large", &glb(1, 60_000)));
    world.run(ms(500));
    assert_eq!(world.model_ids(host), ["large"], "the host's model stays");
    assert_eq!(world.model_ids(c), ["large"]);
    assert!(world.model_ids(small).is_empty());
    let failed = |e: &Event| matches!(e, Event::ModelFailed { model_id, .. } if model_id == "large");
    assert!(world.nodes[small].events.iter().any(failed), "it is told why");
    assert!(world.left(small).is_empty(), "and stays");
}

#[test]
fn a_model_over_the_limit_ends_the_connection_before_it_is_stored() {
    let mut world = World::new(10);
    let limits = Limits { model_bytes: 10_000, ..Limits::default() };
    let host = world.add_host(Config { limits, ..config('a', "Ada") });
    let script = world.script_joins(host);
    world.say_hello(script, "17");
    world.run(ms(100));
    world.say_model(script, &opening("fits"), &glb(1, 10_000));
    world.run(ms(200));
    assert_eq!(world.model_ids(host), ["fits"]);
    world.say_model(script, &opening("large"), &glb(1, 10_001));
    world.run(ms(200));
    assert!(world.scripts[script].closed.is_some(), "closed");
    assert_eq!(world.model_ids(host), ["fits"]);
    assert!(world.faults(host).iter().any(|f| f.contains("limit")), "{:?}", world.faults(host));
}

#[test]
fn numbers_that_are_no_place() {
    let mut world = World::new(11);
    let host = world.add_host(config('a', "Ada"));
    let b = world.add(config('b', "Bob"));
    let (script, witness) = (world.script_joins(host), world.script_joins(host));
    world.say_hello(script, "17");
    world.say_hello(witness, "17");
    world.join(b, host);
    world.do_command(host, open("box", &glb(1, 900)));
    world.run(ms(300));
    let before = world.place(host, "box");
    world.forget(witness);
    for json in [
        r#"{"model_id":"box","position":{"x":1e30,"y":0,"z":0}}"#,
        r#"{"model_id":"box","scale":-1}"#,
        r#"{"model_id":"box","scale":1e-20}"#,
    ] {
        world.say_json(script, 1, json);
    }
    world.say_json(script, 9, r#"{"position":{"x":1e30,"y":0,"z":0},"rotation":{"w":1},"scale":1}"#);
    world.run(ms(200));
    assert!(near(world.place(host, "box"), before), "no effect");
    assert!(world.types_heard(witness).is_empty(), "and not passed on: {:?}", world.types_heard(witness));
    assert!(world.scripts[script].closed.is_none());
    let nan = convene::session::Move { position: Some(Vec3::NAN), ..Default::default() };
    let bad = Command::MoveModel { model_id: "box".into(), to: nan };
    assert_eq!(world.command(host, bad), Err(SessionError::BadNumber));
    let bad = Command::MoveScene { to: nan };
    assert_eq!(world.command(host, bad), Err(SessionError::BadNumber));
    // A scene without a scale keeps its own.
    world.say_json(script, 9, r#"{"position":{"x":1,"y":0,"z":0},"rotation":{"w":1}}"#);
    world.run(ms(200));
    assert_eq!(world.view(b).scene.scale, 1.0);
    assert_eq!(world.disagreement(&[host, b]), None);
}

#[test]
fn a_truncated_message_has_no_effect() {
    let mut world = World::new(12);
    let host = world.add_host(config('a', "Ada"));
    let (script, witness) = (world.script_joins(host), world.script_joins(host));
    world.say_hello(script, "17");
    world.say_hello(witness, "17");
    world.run(ms(100));
    world.forget(witness);
    let json = br#"{"keep_aligned":true}"#;
    world.say(script, &[&500i32.to_le_bytes()[..], &[10], json].concat());
    world.script_closes(script);
    world.run(ms(200));
    assert!(!world.view(host).keep_aligned, "half a message says nothing");
    assert!(world.types_heard(witness).is_empty());
}

#[test]
fn a_peer_that_reads_nothing_is_let_go() {
    let mut world = World::new(13);
    let host = world.add_host(config('a', "Ada"));
    let b = world.add(config('b', "Bob"));
    let script = world.script_joins(host);
    world.say_hello(script, "17");
    world.join(b, host);
    world.run(ms(200));
    world.set_rate(End::Node(host), End::Script(script), 0);
    for n in 0..1100 {
        world.do_command(host, Command::KeepAligned { on: n % 2 == 0 });
        if n % 100 == 0 {
            world.run(ms(10));
        }
    }
    world.run(ms(500));
    assert_eq!(world.view(host).peers.len(), 1, "only Bob is left");
    assert!(world.left(b).is_empty(), "he was fast enough");
    assert_eq!(world.disagreement(&[host, b]), None);
}

#[test]
fn a_stranger_gets_nothing() {
    let mut world = World::new(14);
    let host = world.add_host(config('a', "Ada"));
    world.do_command(host, open("box", &glb(1, 90_000)));
    for hello in [&b"GET / HTTP/1.0\r\n\r\n"[..], b"LookSeeMeetinX", b"LookSee"] {
        let script = world.script_joins(host);
        world.say(script, hello);
        world.script_closes(script);
        world.run(ms(200));
        assert_eq!(world.types_heard(script), [5], "{}", String::from_utf8_lossy(hello));
        assert!(world.scripts[script].closed.is_some());
    }
    assert!(world.view(host).peers.is_empty());
    let script = world.script_joins(host);
    world.say(script, MEETING_PREFIX);
    world.say_json(script, 5, r#"{"version":17}"#);
    world.run(ms(200));
    assert!(world.scripts[script].closed.is_some(), "a number is no version");
}

/// Numbers at the edges of what a place can be.
const NUMBERS: [&str; 14] = [
    "0", "-0.0", "1", "-1.5", "1e-45", "1e-20", "1e-6", "999999", "-999999", "1e6", "1e20", "3.4e38",
    "-1e300", "null",
];

fn odd_message(rng: &mut Rng) -> Vec<u8> {
    let mut n = || NUMBERS[rng.below(NUMBERS.len())];
    let position = format!(r#"{{"x":{},"y":{},"z":{}}}"#, n(), n(), n());
    let rotation = format!(r#"{{"x":{},"y":{},"z":{},"w":{}}}"#, n(), n(), n(), n());
    let scale = n();
    let place = format!(r#""position":{position},"rotation":{rotation},"scale":{scale}"#);
    let id = ["a", "b", "box", "", "nobody"][rng.below(5)];
    let (type_byte, json) = match rng.below(14) {
        0..4 => (1, format!(r#"{{"model_id":"{id}",{place}}}"#)),
        4..7 => (9, format!("{{{place}}}")),
        7 => (2, format!(r#"{{"device_id":"{id}","head_position":{position},"head_rotation":{rotation}}}"#)),
        8 => (4, format!(r#"{{"model_id":"{id}"}}"#)),
        9 => (7, format!(r#"{{"model_id":"{id}","shown":{}}}"#, rng.below(2) == 0)),
        10 => (8, format!(r#"{{"device_id":"{id}"}}"#)),
        11 => (10, format!(r#"{{"keep_aligned":{}}}"#, rng.below(2) == 0)),
        12 => (6, format!(r#"{{"error":"{id}"}}"#)),
        _ => {
            let json = format!(r#"{{"model_id":"{id}","model_name":"{id}.glb",{place}}}"#);
            let glb = [b'g', rng.below(3) as u8];
            return [&[3], &(json.len() as i32).to_le_bytes()[..], json.as_bytes(), &glb].concat();
        }
    };
    [&[type_byte], json.as_bytes()].concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_peer_says_others_go_on(seed in any::<u64>()) {
        let mut rng = Rng::new(seed);
        let mut world = World::new(seed);
        let host = world.add_host(config('a', "Ada"));
        let b = world.add(config('b', "Bob"));
        world.join(b, host);
        world.do_command(host, open("box", &glb(1, 900)));
        world.run(ms(100));
        for _ in 0..12 {
            let script = world.script_joins(host);
            world.say_hello(script, "17");
            for _ in 0..rng.below(20) {
                world.say(script, &encode_frame(&odd_message(&mut rng)));
                world.run(ms(5 * rng.below(20) as u64));
            }
            if rng.below(2) == 0 {
                world.do_command(host, Command::OriginalAlignment);
            }
            world.run(ms(200));
        }
        world.run(secs(3));
        prop_assert!(world.left(b).is_empty(), "Bob left: {:?}", world.left(b));
        // A scene that was made huge can carry a model so far that its place is no place.
        let faults = world.faults(b);
        let far = |fault: &String| fault == "it moved a model out of the world";
        prop_assert!(faults.iter().all(far), "Bob's view of the host: {faults:?}");
        prop_assert_eq!(world.view(host).phase, Phase::Hosting);
        for node in [host, b] {
            let view = world.view(node);
            prop_assert!(view.scene.is_finite(), "{:?}", view.scene);
            for model in &view.models {
                let finite = model.pose.position.is_finite() && model.pose.rotation.is_finite();
                prop_assert!(finite && model.local_scale.is_finite(), "{}: {:?}", model.id, model.pose);
            }
        }
    }
}
