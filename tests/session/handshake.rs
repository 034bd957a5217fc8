//! How two peers find out who the other is.

use super::meeting::*;
use convene::session::{Client, Config, Event, LeaveReason, Phase};
use convene::wire::{MEETING_PREFIX, Message, message::Roster};

const TOO_OLD: &str =
    r#"{"error":"Joining this meeting requires LookSee version 12 or higher.  You are using version 11"}"#;

#[test]
fn convene_and_convene() {
    let mut world = World::new(1);
    let host = world.add_host(config('a', "Ada"));
    let guest = world.add(config('b', "Bob"));
    world.join(guest, host);
    world.run(ms(200));
    assert_eq!(world.view(guest).phase, Phase::Guest, "the guest was taken");
    assert!(world.nodes[guest].events.contains(&Event::Joined), "and says so");
    let bob = world.participant(host, "bbbbbbbb").expect("the host knows its guest");
    assert_eq!((bob.label.as_str(), bob.client), ("Bob", Client::Convene));
    let ada = world.participant(guest, "aaaaaaaa").expect("the guest knows its host");
    assert_eq!((ada.label.as_str(), ada.client), ("Ada", Client::Convene));
    assert!(world.faults(host).is_empty() && world.faults(guest).is_empty(), "nobody did wrong");
}

#[test]
fn a_convene_host_and_a_looksee_guest() {
    let mut world = World::new(2);
    let host = world.add_host(config('a', "Ada"));
    let script = world.script_joins(host);
    world.run(ms(100));
    assert!(world.scripts[script].prefix, "the host greets without waiting");
    assert_eq!(world.types_heard(script), [5], "prefix and version, no more");
    world.say_hello(script, "17");
    world.say_pose(script, "joinBBBB");
    world.run(ms(100));
    assert_eq!(world.types_heard(script), [5, 9, 10], "scene and keep-aligned after its version");
    let p = world.participant(host, "joinBBBB").expect("known by its first pose");
    assert_eq!((p.label.as_str(), p.client), ("LookSee joinBBBB", Client::LookSee));
    world.run_posing(secs(20), &[(script, "joinBBBB")]);
    let strange: Vec<u8> =
        world.scripts[script].heard.iter().map(|(_, p)| p[0]).filter(|&t| t > 10).collect();
    assert!(strange.is_empty(), "no extension message to LookSee: {strange:?}");
    assert!(world.scripts[script].closed.is_none(), "it stays");
}

#[test]
fn a_looksee_host_and_a_convene_guest() {
    let mut world = World::new(3);
    let guest = world.add(config('b', "Bob"));
    let script = world.script_hosts(guest);
    world.run(ms(100));
    assert_eq!(world.types_heard(script), [5], "the guest greets without waiting");
    assert_eq!(world.view(guest).phase, Phase::Joining);
    world.say_hello(script, "17");
    world.say_json(
        script,
        9,
        r#"{"position":{"x":0,"y":0,"z":0},"rotation":{"x":0,"y":0,"z":0,"w":1},"scale":1}"#,
    );
    world.run(ms(100));
    assert_eq!(world.view(guest).phase, Phase::Guest, "taken");
    assert!(world.heard(script, 2).len() == 1, "its pose follows");
    world.say_pose(script, "hostAAAA");
    world.run(ms(100));
    assert_eq!(world.participant(guest, "hostAAAA").map(|p| p.client), Some(Client::LookSee));
    world.run_posing(secs(20), &[(script, "hostAAAA")]);
    assert!(world.scripts[script].heard.iter().all(|(_, p)| p[0] <= 10), "only LookSee's messages");
    assert!(world.left(guest).is_empty(), "it stays");
}

#[test]
fn looksee_only_says_nothing_of_the_extension() {
    for (host_only, guest_only) in [(true, false), (false, true), (true, true)] {
        let mut world = World::new(4);
        let choose =
            |only, letter, name| if only { looksee_only(letter, name) } else { config(letter, name) };
        let host = world.add_host(choose(host_only, 'a', "Ada"));
        let guest = world.add(choose(guest_only, 'b', "Bob"));
        world.do_command(host, open("box", &glb(1, 900)));
        world.join(guest, host);
        world.run(ms(200));
        let body = convene::session::Body::rest();
        for node in [host, guest] {
            world.do_command(node, convene::session::Command::Pose { body, stamp: 5 });
        }
        world.run(secs(3));
        let case = format!("host only {host_only}, guest only {guest_only}");
        assert_eq!(world.disagreement(&[host, guest]), None, "{case}");
        assert_eq!(world.model_ids(guest), ["box"], "{case}");
        for (node, only, other) in [(host, host_only, "bbbbbbbb"), (guest, guest_only, "aaaaaaaa")] {
            assert_eq!(world.participant(node, other).map(|p| p.client), Some(Client::LookSee), "{case}");
            let handed = &world.nodes[node].handed;
            assert!(handed.iter().all(|(_, _, p)| p[0] <= 10), "{case}: only LookSee's types");
            let own = ["\"ext\"", "\"seq\"", "\"opener\""];
            let told = handed.iter().any(|(_, _, p)| {
                let text = String::from_utf8_lossy(p);
                own.iter().any(|field| text.contains(field))
            });
            assert_eq!(told, !only, "{case}: own fields");
        }
    }
}

#[test]
fn an_old_version_is_refused_with_looksees_text() {
    let mut world = World::new(5);
    let host = world.add_host(config('a', "Ada"));
    let script = world.script_joins(host);
    world.say_hello(script, "11");
    world.run(ms(200));
    assert_eq!(world.types_heard(script), [5, 6]);
    assert_eq!(world.heard(script, 6), [TOO_OLD]);
    assert!(world.scripts[script].closed.is_some(), "and the connection is closed");
    assert!(world.view(host).peers.is_empty() && world.view(host).participants.is_empty());

    for (version, good) in [("12", true), ("17.5", true), ("100", true), ("9", false), ("11.9", false)] {
        let script = world.script_joins(host);
        world.say_hello(script, version);
        world.run(ms(200));
        assert_eq!(world.scripts[script].closed.is_none(), good, "version {version}");
    }
    for version in ["seventeen", "", "NaN", "inf"] {
        let script = world.script_joins(host);
        world.say_hello(script, version);
        world.run(ms(200));
        assert!(world.scripts[script].closed.is_some(), "version {version:?}");
        assert_eq!(world.types_heard(script), [5], "version {version:?}: no text");
    }
}

#[test]
fn a_host_that_is_too_old_is_left() {
    let mut world = World::new(6);
    let guest = world.add(config('b', "Bob"));
    let script = world.script_hosts(guest);
    world.say_hello(script, "11");
    world.run(ms(200));
    assert_eq!(world.left(guest), [LeaveReason::HostTooOld("11".into())]);
    assert!(world.scripts[script].closed.is_some());
    assert_eq!(world.view(guest).phase, Phase::Alone);
}

#[test]
fn a_full_meeting() {
    let mut world = World::new(7);
    let host = world.add_host(Config { max_participants: 3, ..config('a', "Ada") });
    let (first, second) = (world.script_joins(host), world.script_joins(host));
    world.say_hello(first, "17");
    world.say_hello(second, "17");
    world.run(ms(100));
    let third = world.script_joins(host);
    world.say_hello(third, "17");
    world.run(ms(100));
    assert_eq!(world.heard(third, 6), [r#"{"error":"Meetings currently only allow 3 persons."}"#]);
    assert!(world.scripts[third].closed.is_some(), "refused");
    assert!(world.scripts[first].closed.is_none() && world.scripts[second].closed.is_none());
    let guest = world.add(config('b', "Bob"));
    world.join(guest, host);
    world.run(ms(200));
    assert_eq!(world.left(guest), [LeaveReason::Refused("Meetings currently only allow 3 persons.".into())]);
    world.script_closes(first);
    world.run(ms(100));
    world.join(guest, host);
    world.run(ms(200));
    assert_eq!(world.view(guest).phase, Phase::Guest, "a seat is free again");
}

#[test]
fn a_refusal_without_text_is_a_refusal() {
    let mut world = World::new(8);
    let guest = world.add(config('b', "Bob"));
    let script = world.script_hosts(guest);
    world.say_hello(script, "17");
    world.script_closes(script);
    world.run(ms(200));
    assert!(matches!(world.left(guest)[..], [LeaveReason::Refused(_)]), "{:?}", world.left(guest));
}

#[test]
fn something_else_that_answers_is_no_meeting() {
    let mut world = World::new(9);
    let guest = world.add(config('b', "Bob"));
    let script = world.script_hosts(guest);
    world.say(script, b"SSH-2.0-OpenSSH_9.9\r\n");
    world.run(ms(200));
    assert_eq!(world.left(guest), [LeaveReason::NotAMeeting]);
    let script = world.script_hosts(guest);
    world.run(secs(11));
    assert_eq!(world.left(guest), [LeaveReason::NotAMeeting, LeaveReason::NotAMeeting], "nor is silence");
    assert!(world.scripts[script].closed.is_some());
}

#[test]
fn a_guest_that_never_says_who_it_is_is_closed() {
    let mut world = World::new(10);
    let host = world.add_host(config('a', "Ada"));
    let silent = world.script_joins(host);
    let half = world.script_joins(host);
    world.say(half, MEETING_PREFIX);
    world.run(secs(9));
    assert!(world.scripts[silent].closed.is_none(), "there is time");
    world.run(secs(2));
    assert!(world.scripts[silent].closed.is_some() && world.scripts[half].closed.is_some());
    assert_eq!(world.types_heard(silent), [5], "it got nothing but the greeting");
}

#[test]
fn the_first_message_is_the_version() {
    let mut world = World::new(11);
    let host = world.add_host(config('a', "Ada"));
    world.do_command(host, open("box", &glb(1, 900)));
    let script = world.script_joins(host);
    world.say(script, MEETING_PREFIX);
    world.say_pose(script, "joinBBBB");
    world.run(ms(100));
    assert!(world.scripts[script].closed.is_some(), "closed");
    assert_eq!(world.types_heard(script), [5]);
    assert!(world.participant(host, "joinBBBB").is_none(), "it is nobody");
}

#[test]
fn nothing_of_ours_before_the_others_version() {
    let mut world = World::new(12);
    let host = world.add_host(config('a', "Ada"));
    world.do_command(host, open("box", &glb(1, 90_000)));
    let guest = world.add(config('b', "Bob"));
    world.do_command(guest, open("private", &glb(2, 90_000)));
    world.join(guest, host);
    // Nothing arrives on either side.
    world.freeze(End::Node(host), End::Node(guest), true);
    world.freeze(End::Node(guest), End::Node(host), true);
    world.run(secs(5));
    for node in [host, guest] {
        let types: Vec<u8> = world.nodes[node].handed.iter().map(|(_, _, p)| p[0]).collect();
        assert_eq!(types, [5], "only the greeting while the other's version is unread");
    }
    // A guest learns the version of a Convene host before it says anything of ours to it.
    world.freeze(End::Node(guest), End::Node(host), false);
    world.run(ms(100));
    let types: Vec<u8> = world.nodes[guest].handed.iter().map(|(_, _, p)| p[0]).collect();
    assert_eq!(types, [5], "the guest has read nothing yet");
    world.freeze(End::Node(host), End::Node(guest), false);
    world.run(ms(500));
    assert_eq!(world.model_ids(guest), ["box", "private"]);
}

#[test]
fn extension_messages_need_the_announcement() {
    let mut world = World::new(13);
    let host = world.add_host(config('a', "Ada"));
    let script = world.script_joins(host);
    world.say_hello(script, "17");
    world.say_message(script, &Message::Ping(7));
    world.say_message(script, &Message::Roster(Roster { number: 99, participants: vec![] }));
    world.run(ms(200));
    assert!(!world.types_heard(script).contains(&0x41), "no pong");
    assert!(world.scripts[script].closed.is_none(), "ignored, not refused");
    assert_eq!(world.faults(host).len(), 1, "told once: {:?}", world.faults(host));
}

#[test]
fn round_trip_is_measured() {
    let mut world = World::new(14);
    world.latency = ms(40);
    let host = world.add_host(config('a', "Ada"));
    let guest = world.add(config('b', "Bob"));
    world.join(guest, host);
    world.run(secs(3));
    for node in [host, guest] {
        let view = world.view(node);
        let [peer] = &view.peers[..] else { panic!("one connection each") };
        let round_trip = peer.round_trip.expect("pings are answered");
        assert!((ms(80)..=ms(100)).contains(&round_trip), "{round_trip:?}");
    }
    world.latency = ms(5);
    world.run(secs(3));
    let round_trip = world.view(host).peers[0].round_trip.expect("measured again");
    assert!(round_trip < ms(30), "{round_trip:?} follows the link");
}
