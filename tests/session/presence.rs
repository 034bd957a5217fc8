//! Who is still there.

use super::meeting::*;
use convene::session::{Body, Client, Command, LeaveReason, Presence};
use convene::wire::message::Roster;

fn rosters(world: &World, from: usize, to: convene::session::PeerId) -> Vec<Roster> {
    let sent = world.nodes[from].handed.iter().filter(|(_, peer, p)| *peer == to && p[0] == 0x49);
    sent.map(|(_, _, p)| serde_json::from_slice(&p[1..]).expect("a roster")).collect()
}

#[test]
fn a_convene_guest_turns_stale_and_away_and_keeps_its_seat() {
    let mut world = World::new(1);
    let host = world.add_host(config('a', "Ada"));
    let (b, c) = (world.add(config('b', "Bob")), world.add(config('c', "Cid")));
    let script = world.script_joins(host);
    world.say_hello(script, "17");
    world.join(b, host);
    world.join(c, host);
    world.run(ms(200));
    world.do_command(b, Command::Pose { body: Body::rest(), stamp: 1 });
    world.run(secs(1));
    assert_eq!(world.presence(host, "bbbbbbbb"), Some(Presence::Live));
    world.freeze(End::Node(b), End::Node(host), true);
    world.run(ms(1700));
    assert_eq!(world.presence(host, "bbbbbbbb"), Some(Presence::Live), "pings are twice a second");
    world.run(ms(900));
    assert_eq!(world.presence(host, "bbbbbbbb"), Some(Presence::Stale), "after two seconds");
    assert_eq!(world.presence(c, "bbbbbbbb"), Some(Presence::Stale), "the roster says it to others");
    // It is heard again.
    world.freeze(End::Node(b), End::Node(host), false);
    world.run(ms(400));
    assert_eq!(world.presence(host, "bbbbbbbb"), Some(Presence::Live));
    assert_eq!(world.presence(c, "bbbbbbbb"), Some(Presence::Live));

    world.freeze(End::Node(b), End::Node(host), true);
    world.run(secs(9));
    assert_eq!(world.presence(host, "bbbbbbbb"), Some(Presence::Stale));
    assert_eq!(world.view(host).peers.len(), 3, "still connected");
    world.run(secs(2));
    assert_eq!(world.presence(host, "bbbbbbbb"), Some(Presence::Away), "after ten seconds");
    assert_eq!(world.presence(c, "bbbbbbbb"), Some(Presence::Away));
    assert_eq!(world.view(host).peers.len(), 2, "its connection is closed");
    assert!(world.heard(script, 8).is_empty(), "it has not left");
    world.run(secs(580));
    assert_eq!(world.presence(host, "bbbbbbbb"), Some(Presence::Away), "its seat is kept");
    world.run(secs(20));
    assert_eq!(world.presence(host, "bbbbbbbb"), None, "for ten minutes");
    assert_eq!(world.presence(c, "bbbbbbbb"), None);
    assert_eq!(world.heard(script, 8), [r#"{"device_id":"bbbbbbbb"}"#], "now it has left");
}

#[test]
fn who_comes_back_has_the_seat_again() {
    let mut world = World::new(2);
    let host = world.add_host(config('a', "Ada"));
    let b = world.add(config('b', "Bob"));
    world.join(b, host);
    world.run(ms(200));
    world.freeze(End::Node(b), End::Node(host), true);
    world.freeze(End::Node(host), End::Node(b), true);
    world.run(secs(11));
    assert_eq!(world.presence(host, "bbbbbbbb"), Some(Presence::Away));
    assert_eq!(world.left(b), [LeaveReason::HostSilent(secs(10))], "the guest noticed, too");
    assert!(world.left(b)[0].should_retry());
    world.join(b, host);
    world.run(ms(300));
    assert_eq!(world.presence(host, "bbbbbbbb"), Some(Presence::Live));
    assert_eq!(world.view(host).participants.len(), 1, "once");
    assert_eq!(world.participant(host, "bbbbbbbb").map(|p| p.label), Some("Bob".into()));
    world.run(secs(700));
    assert_eq!(world.presence(host, "bbbbbbbb"), Some(Presence::Live), "the old seat's time does not count");
}

#[test]
fn a_quiet_meeting_stays() {
    let mut world = World::new(3);
    let host = world.add_host(config('a', "Ada"));
    let b = world.add(config('b', "Bob"));
    world.join(b, host);
    world.run(secs(120));
    assert_eq!(world.presence(host, "bbbbbbbb"), Some(Presence::Live), "pings keep it alive");
    assert_eq!(world.presence(b, "aaaaaaaa"), Some(Presence::Live));
    assert!(world.left(b).is_empty());
}

#[test]
fn a_host_that_falls_silent() {
    let mut world = World::new(4);
    let host = world.add_host(config('a', "Ada"));
    let b = world.add(config('b', "Bob"));
    world.join(b, host);
    world.run(secs(1));
    world.freeze(End::Node(host), End::Node(b), true);
    world.run(ms(2600));
    assert_eq!(world.presence(b, "aaaaaaaa"), Some(Presence::Stale));
    world.run(secs(8));
    assert_eq!(world.left(b), [LeaveReason::HostSilent(secs(10))]);
}

#[test]
fn looksee_is_hidden_but_never_dropped() {
    let mut world = World::new(5);
    let host = world.add_host(config('a', "Ada"));
    let c = world.add(config('c', "Cid"));
    let script = world.script_joins(host);
    world.join(c, host);
    world.say_hello(script, "17");
    world.run_posing(secs(1), &[(script, "joinBBBB")]);
    assert_eq!(world.presence(host, "joinBBBB"), Some(Presence::Live));
    world.run(ms(2700));
    assert_eq!(world.presence(host, "joinBBBB"), Some(Presence::Live), "a model may be loading there");
    world.run(ms(600));
    assert_eq!(world.presence(host, "joinBBBB"), Some(Presence::Stale), "after three seconds");
    assert_eq!(world.presence(c, "joinBBBB"), Some(Presence::Stale));
    world.run(secs(900));
    assert!(world.scripts[script].closed.is_none(), "never dropped for silence");
    assert_eq!(world.presence(host, "joinBBBB"), Some(Presence::Stale));
    world.do_command(host, open("box", &glb(1, 900)));
    world.run(ms(200));
    assert_eq!(world.heard(script, 3).len(), 1, "models still reach it");
    world.say_pose(script, "joinBBBB");
    world.run(ms(200));
    assert_eq!(world.presence(host, "joinBBBB"), Some(Presence::Live), "back with its next pose");
    assert_eq!(world.presence(c, "joinBBBB"), Some(Presence::Live));
}

#[test]
fn nothing_optional_goes_to_a_silent_looksee_peer() {
    let mut world = World::new(6);
    let host = world.add_host(config('a', "Ada"));
    let c = world.add(config('c', "Cid"));
    let script = world.script_joins(host);
    world.join(c, host);
    world.say_hello(script, "17");
    world.run_posing(ms(500), &[(script, "joinBBBB")]);
    let pose = |world: &mut World, stamp: u64| {
        for node in [host, c] {
            world.do_command(node, Command::Pose { body: Body::rest(), stamp });
        }
        world.run(ms(50));
    };
    world.forget(script);
    for stamp in 1..20 {
        pose(&mut world, stamp);
    }
    assert!(world.heard(script, 2).len() >= 30, "poses while it is heard: {}", world.heard(script, 2).len());
    world.run(ms(1200));
    world.forget(script);
    for stamp in 20..60 {
        pose(&mut world, stamp);
    }
    assert_eq!(world.heard(script, 2).len(), 0, "two seconds without a byte: no poses");
    world.do_command(c, Command::KeepAligned { on: true });
    world.run(ms(100));
    assert_eq!(world.types_heard(script), [10], "what matters goes on");
    world.say_pose(script, "joinBBBB");
    world.run(ms(50));
    pose(&mut world, 61);
    assert!(!world.heard(script, 2).is_empty(), "poses again");
}

#[test]
fn rosters_rise_and_say_who_is_here() {
    let mut world = World::new(7);
    let host = world.add_host(config('a', "Ada"));
    let b = world.add(config('b', "Bob"));
    world.join(b, host);
    world.run(ms(200));
    let script = world.script_joins(host);
    world.say_hello(script, "17");
    world.run_posing(ms(300), &[(script, "joinDDDD")]);
    let c = world.add(config('c', "Cid"));
    world.join(c, host);
    world.run(ms(200));
    world.script_closes(script);
    world.run(ms(200));
    world.do_command(c, Command::Leave);
    world.run(ms(200));
    let to_b = world.peer(host, End::Node(b));
    let rosters = rosters(&world, host, to_b);
    assert!(
        rosters.windows(2).all(|w| w[0].number < w[1].number),
        "numbers rise: {:?}",
        rosters.iter().map(|r| r.number).collect::<Vec<_>>()
    );
    let ids = |r: &Roster| r.participants.iter().map(|p| p.device_id.clone()).collect::<Vec<_>>();
    let mut steps: Vec<Vec<String>> = rosters.iter().map(ids).collect();
    steps.dedup();
    let (a, b_id, c_id, d) = ("aaaaaaaa", "bbbbbbbb", "cccccccc", "joinDDDD");
    assert_eq!(
        steps,
        [vec![a, b_id], vec![a, b_id, d], vec![a, b_id, d, c_id], vec![a, b_id, c_id], vec![a, b_id]]
    );
    let full = rosters.iter().find(|r| r.participants.len() == 4).expect("all four");
    let of = |id: &str| full.participants.iter().find(|p| p.device_id == id).expect("listed");
    assert_eq!(
        (of(a).name.as_str(), of(a).client.as_str(), of(a).state.as_str()),
        ("Ada", "convene", "live")
    );
    assert_eq!((of(a).id.as_str(), of(c_id).id.len()), ("aaaaaaaaaaaaaaaa", 16));
    assert_eq!((of(d).id.as_str(), of(d).name.as_str(), of(d).client.as_str()), ("", "", "looksee"));
    assert_eq!(world.view(b).participants.len(), 1, "only the host is left");
    assert!(world.view(host).participants.iter().all(|p| p.client == Client::Convene));
}

#[test]
fn a_late_joiner_believes_the_roster_about_who_is_silent() {
    let mut world = World::new(8);
    let host = world.add_host(config('a', "Ada"));
    let script = world.script_joins(host);
    world.say_hello(script, "17");
    world.run_posing(ms(300), &[(script, "joinDDDD")]);
    world.run(secs(5));
    let c = world.add(config('c', "Cid"));
    world.join(c, host);
    world.run(ms(300));
    assert_eq!(world.presence(c, "joinDDDD"), Some(Presence::Stale), "hidden here, too");
    let before = world.nodes[c].events.len();
    world.run(secs(3));
    let flips: Vec<_> = world.nodes[c].events[before..].iter().collect();
    assert!(flips.is_empty(), "and it stays so: {flips:?}");
}

#[test]
fn a_new_name_reaches_everybody() {
    let mut world = World::new(9);
    let host = world.add_host(config('a', "Ada"));
    let b = world.add(config('b', "Bob"));
    world.join(b, host);
    world.run(ms(200));
    world.do_command(host, Command::Rename { identity: identity('a', "  Countess\n Lovelace ") });
    world.run(ms(200));
    assert_eq!(world.participant(b, "aaaaaaaa").map(|p| p.label), Some("Countess Lovelace".into()));
}

#[test]
fn a_new_name_and_colour_reach_everybody() {
    let mut world = World::new(77);
    let host = world.add_host(config('a', "Ada"));
    let guests = world.add_guests(host, [config('b', "Bob"), config('c', "Cid")]);
    world.run(ms(500));
    for (node, letter) in [(guests[0], 'b'), (host, 'a')] {
        let mut new = identity(letter, "Grace  \n Hopper");
        new.colour = convene::session::Colour([1, 2, 3]);
        world.do_command(node, convene::session::Command::Rename { identity: new });
    }
    world.run(ms(500));
    for (seen_by, device_id) in
        [(host, "bbbbbbbb"), (guests[1], "bbbbbbbb"), (guests[0], "aaaaaaaa"), (guests[1], "aaaaaaaa")]
    {
        let seen = world.participant(seen_by, device_id).unwrap();
        assert_eq!((seen.label.as_str(), seen.colour.0), ("Grace Hopper", [1, 2, 3]), "seen by {seen_by}");
    }
}

#[test]
fn a_name_that_is_changed_while_joining_counts() {
    let mut world = World::new(78);
    let host = world.add_host(config('a', "Ada"));
    let guest = world.add(config('b', "Bob"));
    world.join(guest, host);
    world.do_command(guest, convene::session::Command::Rename { identity: identity('b', "Robert") });
    world.run(ms(500));
    assert_eq!(world.participant(host, "bbbbbbbb").unwrap().label, "Robert");
}

#[test]
fn who_stood_still_asks_before_judging() {
    let mut world = World::new(79);
    let host = world.add_host(config('a', "Ada"));
    let [bob, cid] = world.add_guests(host, [config('b', "Bob"), config('c', "Cid")]);
    // Poses are coming from everybody.
    for step in 0..20 {
        for node in [host, bob, cid] {
            world.do_command(node, Command::Pose { body: Body::rest(), stamp: (step + 1) * 25_000_000 });
        }
        world.run(ms(25));
    }
    // The whole machine sleeps: nobody's clock ticks, and all find half a minute gone.
    world.now += secs(30);
    world.run(ms(1500));
    for node in [host, bob, cid] {
        assert_eq!(world.left(node), [], "node {node}");
        assert_eq!(world.view(node).participants.len(), 2, "node {node}");
        assert!(world.view(node).participants.iter().all(|p| p.presence == Presence::Live));
    }
    // Who really is silent is found out as ever.
    world.freeze(End::Node(cid), End::Node(host), true);
    for step in 0..48 {
        world.do_command(bob, Command::Pose { body: Body::rest(), stamp: (step + 100) * 250_000_000 });
        world.run(ms(250));
    }
    assert_eq!(world.presence(host, "cccccccc"), Some(Presence::Away));
    assert_eq!(world.presence(host, "bbbbbbbb"), Some(Presence::Live));
}

#[test]
fn whose_poses_stop_is_away_though_the_connection_lives() {
    let mut world = World::new(80);
    let host = world.add_host(config('a', "Ada"));
    let [bob, cid] = world.add_guests(host, [config('b', "Bob"), config('c', "Cid")]);
    world.run(ms(500));
    // Cid says once where he stands; Bob wears a headset.
    world.do_command(cid, Command::Pose { body: Body::rest(), stamp: 1 });
    let walk = |world: &mut World, from: u64| {
        for step in 0..20 {
            world.do_command(bob, Command::Pose { body: Body::rest(), stamp: (from + step) * 50_000_000 });
            world.run(ms(50));
        }
    };
    walk(&mut world, 1);
    let of_bob = |world: &World| (world.presence(host, "bbbbbbbb"), world.presence(cid, "bbbbbbbb"));
    assert_eq!(of_bob(&world), (Some(Presence::Live), Some(Presence::Live)));
    // He takes it off: its frames stop, the meeting's threads go on.
    world.run(ms(1700));
    assert_eq!(of_bob(&world).0, Some(Presence::Live));
    world.run(ms(700));
    assert_eq!(of_bob(&world), (Some(Presence::Stale), Some(Presence::Stale)));
    world.run(secs(8));
    assert_eq!(of_bob(&world), (Some(Presence::Away), Some(Presence::Away)));
    assert_eq!(world.view(host).peers.len(), 2, "he is still connected");
    assert_eq!(world.presence(host, "cccccccc"), Some(Presence::Live), "who never moved is no less there");
    // And puts it on again.
    walk(&mut world, 400);
    assert_eq!(of_bob(&world), (Some(Presence::Live), Some(Presence::Live)));
    // A slow frame before it goes for good changes nothing.
    world.run(ms(1500));
    world.do_command(bob, Command::Pose { body: Body::rest(), stamp: 999 * 50_000_000 });
    world.run(ms(1500));
    assert_eq!(of_bob(&world).0, Some(Presence::Live));
    world.run(secs(9));
    assert_eq!(of_bob(&world), (Some(Presence::Away), Some(Presence::Away)));
}
