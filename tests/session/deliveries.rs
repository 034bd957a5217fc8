//! Who has a model and how far it is at the others, as each of them sees it.

use super::meeting::*;
use convene::session::{Command, Delivery, Event};
use convene::wire::{Message, message::ModelStatus};

/// How far a model is at everybody, as `node` sees it.
fn seen_by(world: &World, node: usize, model_id: &str) -> Vec<(String, Delivery, usize)> {
    let view = world.view(node);
    let model = view.models.iter().find(|m| m.id == model_id).expect("it is open");
    model.deliveries.iter().map(|d| (d.label.clone(), d.state, d.progress.received)).collect()
}

/// A host, a guest who opens a model, and a third who gets it over a slow link.
fn three(world: &mut World) -> [usize; 3] {
    let host = world.add_host(config('a', "Ada"));
    let [bob, cid] = world.add_guests(host, [config('b', "Bob"), config('c', "Cid")]);
    world.run(ms(300));
    world.set_rate(End::Node(host), End::Node(cid), 100_000);
    [host, bob, cid]
}

#[test]
fn sender_and_host_see_how_far_each_is() {
    let mut world = World::new(41);
    let [host, bob, cid] = three(&mut world);
    world.do_command(bob, open("m", &glb(1, 200_000)));
    world.run(secs(1));
    // The host has it whole and waits for its decoder; the third is half way.
    for (node, who) in [(bob, "the sender"), (host, "the host")] {
        let seen = seen_by(&world, node, "m");
        let at_cid = seen.iter().find(|(label, ..)| label == "Cid");
        let Some((_, Delivery::Receiving, received)) = at_cid else { panic!("{who} sees {seen:?}") };
        assert!((50_000..150_000).contains(received), "{who} sees {seen:?}");
    }
    assert_eq!(seen_by(&world, bob, "m")[0], ("Ada".into(), Delivery::Loading, 200_000));
    world.do_command(host, Command::ModelLoaded { model_id: "m".into() });
    world.run(secs(3));
    assert_eq!(seen_by(&world, bob, "m"), [("Cid".into(), Delivery::Loading, 200_000)]);
    world.do_command(cid, Command::ModelLoaded { model_id: "m".into() });
    world.run(ms(500));
    for node in [host, bob, cid] {
        assert_eq!(seen_by(&world, node, "m"), [], "whoever has it is not listed");
    }
}

#[test]
fn what_fails_or_is_not_wanted_is_told() {
    let mut world = World::new(42);
    let [host, bob, cid] = three(&mut world);
    world.do_command(bob, open("m", &glb(1, 200_000)));
    world.run(ms(700));
    world.do_command(cid, Command::CancelModel { model_id: "m".into() });
    assert!(world.command(cid, Command::CancelModel { model_id: "x".into() }).is_err());
    let error = "no meshes".to_owned();
    world.do_command(host, Command::ModelFailed { model_id: "m".into(), error });
    world.run(secs(4));
    let seen: Vec<_> =
        seen_by(&world, bob, "m").into_iter().map(|(label, state, _)| (label, state)).collect();
    assert_eq!(seen, [("Ada".into(), Delivery::Failed), ("Cid".into(), Delivery::Cancelled)]);
    let view = world.view(cid);
    assert!(view.models[0].cancelled && view.models[0].glb.is_none() && view.models[0].arriving.is_none());
    let cancelled = |event: &&Event| matches!(event, Event::ModelCancelled { .. });
    assert_eq!(world.nodes[cid].events.iter().filter(cancelled).count(), 1);
    let received = |event: &&Event| matches!(event, Event::ModelReceived { .. });
    assert_eq!(world.nodes[cid].events.iter().filter(received).count(), 0, "nothing of it is used");
    // The others go on with it, and it can still be closed for all.
    world.do_command(bob, close("m"));
    world.run(secs(1));
    assert_eq!(world.disagreement(&[host, bob, cid]), None);
    assert_eq!(world.model_ids(cid), Vec::<String>::new());
}

#[test]
fn a_host_that_does_not_want_it_closes_it() {
    let mut world = World::new(43);
    let [host, bob, cid] = three(&mut world);
    world.set_rate(End::Node(bob), End::Node(host), 100_000);
    world.do_command(bob, open("m", &glb(1, 200_000)));
    world.run(ms(500));
    world.do_command(host, Command::CancelModel { model_id: "m".into() });
    world.run(secs(3));
    for node in [host, bob, cid] {
        assert_eq!(world.model_ids(node), Vec::<String>::new());
    }
}

#[test]
fn nobody_speaks_for_others_or_of_what_is_not_there() {
    let mut world = World::new(44);
    let [host, bob, _] = three(&mut world);
    world.do_command(bob, open("m", &glb(1, 2_000)));
    world.run(secs(1));
    let before = seen_by(&world, host, "m");
    let peer = world.peer(host, End::Node(bob));
    let now = world.now;
    for (model_id, device_id, state) in [
        ("m", "cccccccc", "failed"),
        ("m", "aaaaaaaa", "failed"),
        ("m", "ffffffff", "failed"),
        ("x", "bbbbbbbb", "failed"),
        ("m", "bbbbbbbb", "asleep"),
    ] {
        let status = ModelStatus {
            model_id: model_id.into(),
            device_id: device_id.into(),
            state: state.into(),
            received: u64::MAX,
            total: 1,
        };
        let payload = Message::ModelStatus(status).encode().into();
        world.nodes[host].session.handle_frame(peer, convene::wire::Frame::Message(payload), now);
    }
    assert_eq!(seen_by(&world, host, "m"), before);
}

#[test]
fn looksee_peers_hear_nothing_of_it() {
    let mut world = World::new(45);
    let [host, bob, _] = three(&mut world);
    let script = world.script_joins(host);
    world.say_hello(script, "17");
    world.run(ms(300));
    world.forget(script);
    world.do_command(bob, open("m", &glb(1, 2_000)));
    world.run(secs(2));
    assert!(world.types_heard(script).iter().all(|&t| t < 0x40), "{:?}", world.types_heard(script));
}

#[test]
fn what_was_cancelled_can_be_had_after_all() {
    let mut world = World::new(46);
    let [_, bob, cid] = three(&mut world);
    let file = noise(200_000);
    world.do_command(bob, open("m", &file));
    world.run(ms(1000));
    world.do_command(cid, Command::CancelModel { model_id: "m".into() });
    world.run(secs(3));
    assert!(world.view(cid).models[0].glb.is_none());
    world.do_command(cid, Command::WantModel { model_id: "m".into() });
    world.run(secs(4));
    assert_eq!(world.view(cid).models[0].glb.as_ref(), Some(&file));
    let at_cid = |world: &World| {
        seen_by(world, bob, "m").into_iter().find(|(label, ..)| label == "Cid").map(|(_, state, _)| state)
    };
    assert_eq!(at_cid(&world), Some(Delivery::Loading));
    assert!(world.command(cid, Command::WantModel { model_id: "m".into() }).is_err(), "it is here");
    world.do_command(cid, Command::ModelLoaded { model_id: "m".into() });
    world.run(ms(300));
    assert_eq!(at_cid(&world), None);
}

/// Bytes that cannot be packed.
fn noise(bytes: usize) -> bytes::Bytes {
    let mut noise = vec![0; bytes];
    blake3::Hasher::new().finalize_xof().fill(&mut noise);
    noise.into()
}

#[test]
fn who_comes_again_has_what_is_shown_already() {
    let mut world = World::new(47);
    let [host, bob, _] = three(&mut world);
    world.do_command(host, open("m", &noise(20_000)));
    world.run(secs(2));
    world.do_command(bob, Command::ModelLoaded { model_id: "m".into() });
    world.run(ms(300));
    world.do_command(bob, Command::Leave);
    world.run(ms(500));
    world.join(bob, host);
    world.run(secs(1));
    assert_eq!(world.model_ids(bob), ["m"]);
    let at_bob = |world: &World| seen_by(world, host, "m").into_iter().any(|(label, ..)| label == "Bob");
    assert!(!at_bob(&world), "it is on the screen there: {:?}", seen_by(&world, host, "m"));
}

#[test]
fn who_comes_late_learns_how_far_the_others_are() {
    let mut world = World::new(48);
    let [host, bob, _] = three(&mut world);
    world.do_command(bob, open("m", &noise(200_000)));
    world.run(ms(700));
    let late = world.add(config('d', "Dora"));
    world.join(late, host);
    world.run(ms(300));
    let seen = seen_by(&world, late, "m");
    assert!(seen.iter().any(|(label, state, _)| label == "Cid" && *state == Delivery::Receiving), "{seen:?}");
}
