//! A connection that breaks and comes back: seat, models and halves survive.

use super::meeting::*;
use convene::session::{Body, Command, Config, Event, LeaveReason, Phase};
use glam::Vec3;

fn rejoining(letter: char, name: &str) -> Config {
    Config { rejoin: true, ..config(letter, name) }
}

fn three(seed: u64) -> (World, [usize; 3]) {
    let mut world = World::new(seed);
    let host = world.add_host(Config { secret: [7; 32], ..config('a', "Ada") });
    let [bob, cid] = [('b', "Bob"), ('c', "Cid")].map(|(letter, name)| {
        let guest = world.add(rejoining(letter, name));
        world.join(guest, host);
        guest
    });
    world.run(ms(300));
    (world, [host, bob, cid])
}

fn events(world: &World, node: usize, fits: impl Fn(&Event) -> bool) -> usize {
    world.nodes[node].events.iter().filter(|event| fits(event)).count()
}

#[test]
fn what_everybody_has_stays_and_costs_nothing() {
    let (mut world, nodes) = three(1);
    let [host, bob, cid] = nodes;
    world.do_command(host, open("ours", &glb(1, 600_000)));
    world.do_command(bob, open("theirs", &glb(2, 600_000)));
    world.run(secs(2));
    world.break_link(End::Node(bob), End::Node(host));
    world.run(ms(200));
    let view = world.view(bob);
    assert_eq!(view.phase, Phase::Joining, "it is being restored");
    assert!(world.left(bob).is_empty() && view.models.iter().all(|m| m.shared));
    // Meanwhile one is moved and hidden, one is closed, one is opened.
    world.do_command(cid, move_to("ours", Vec3::new(3.0, 1.0, 0.0)));
    world.do_command(cid, show("ours", false));
    world.do_command(cid, close("theirs"));
    world.do_command(cid, open("new", &glb(3, 1000)));
    world.run(ms(300));
    let received = |e: &Event| matches!(e, Event::ModelReceived { .. });
    let before = events(&world, bob, received);
    world.join(bob, host);
    world.run(ms(500));
    assert_eq!(world.disagreement(&nodes), None);
    assert_eq!(world.model_ids(bob), ["new", "ours", "theirs"]);
    let theirs = world.view(bob).models.into_iter().find(|m| m.id == "theirs").unwrap();
    assert!(!theirs.shared, "closed meanwhile: it is Bob's own now");
    assert_eq!(events(&world, bob, received) - before, 1, "only what is new was sent and is loaded");
    let sent = world.sent_bytes(End::Node(host), End::Node(bob));
    assert!(sent < 10_000, "{sent} bytes");
    assert!(world.view(host).participants.len() == 2 && world.view(cid).participants.len() == 2);
}

#[test]
fn what_was_half_delivered_goes_on() {
    let (mut world, nodes) = three(2);
    let [host, bob, cid] = nodes;
    let file = glb(1, 1 << 20);
    world.set_rate(End::Node(bob), End::Node(host), 500_000);
    world.do_command(bob, open("m", &file));
    world.run(ms(1500));
    world.break_link(End::Node(bob), End::Node(host));
    world.run(secs(1));
    assert!(world.model_ids(host).is_empty(), "without its opener it is not the meeting's");
    world.join(bob, host);
    world.run(secs(3));
    for node in nodes {
        assert_eq!(world.view(node).models[0].glb.as_ref(), Some(&file), "node {node}");
    }
    assert_eq!(world.disagreement(&[host, bob, cid]), None);
    let sent = world.sent_bytes(End::Node(bob), End::Node(host));
    assert!(sent < file.len() * 3 / 4, "{sent}");
}

#[test]
fn the_token_takes_the_seat_at_once_and_nobody_elses() {
    let (mut world, [host, bob, cid]) = three(3);
    let pose = |world: &mut World, node: usize, stamp: u64| {
        let body = Body::rest();
        world.do_command(node, Command::Pose { body, stamp: stamp * 20_000_000 });
        world.run(ms(20));
    };
    for stamp in 1..5 {
        pose(&mut world, bob, stamp);
    }
    // The guest notices a break that the host does not: the old connection is
    // half open, and was heard a moment ago.
    let old = world.peer(host, End::Node(bob));
    let now = world.now;
    let peer = world.peer(bob, End::Node(host));
    let cause = convene::session::CloseCause::Broken("reset".into());
    world.nodes[bob].session.handle_closed(peer, cause, now);
    world.join(bob, host);
    world.run(ms(60));
    for stamp in 5..10 {
        pose(&mut world, bob, stamp);
    }
    let view = world.view(host);
    assert!(!view.peers.iter().any(|p| p.peer == old), "the old connection is replaced");
    assert_eq!(view.participants.len(), 2, "nobody is there twice");
    let left = |e: &Event| matches!(e, Event::ParticipantLeft { id } if id == "bbbbbbbb");
    assert_eq!(events(&world, cid, left), 0, "and nobody has left");
    // The id alone does not.
    let thief = world.add(config('b', "Thief"));
    world.join(thief, host);
    world.run(ms(60));
    pose(&mut world, thief, 1);
    pose(&mut world, bob, 11);
    assert_eq!(world.participant(host, "bbbbbbbb").map(|p| p.label).as_deref(), Some("Bob"));
}

#[test]
fn a_host_that_ended_is_not_tried_again() {
    let (mut world, [host, bob, _]) = three(4);
    world.do_command(host, Command::Leave);
    world.run(ms(300));
    assert_eq!(world.left(bob), [LeaveReason::HostEnded]);
    let (mut world, [host, bob, _]) = three(5);
    world.do_command(bob, open("m", &glb(1, 1000)));
    world.run(ms(300));
    world.break_link(End::Node(bob), End::Node(host));
    world.run(ms(100));
    let now = world.now;
    world.nodes[bob].session.give_up(LeaveReason::Lost("long enough".into()), now);
    world.run(ms(100));
    assert_eq!(world.view(bob).phase, Phase::Alone);
    assert_eq!(world.left(bob).len(), 1);
    assert!(!world.view(bob).models[0].shared, "its models are its own");
}
