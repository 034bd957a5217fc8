//! Showing and hiding: no echo of ours, and calm in a storm made by others.

use super::meeting::*;
use convene::session::Event;

fn shown_events(world: &World, node: usize) -> usize {
    world.nodes[node].events.iter().filter(|e| matches!(e, Event::ModelShown { .. })).count()
}

#[test]
fn convene_never_echoes() {
    let mut world = World::new(1);
    let guest = world.add(config('b', "Bob"));
    let script = world.script_hosts(guest);
    world.say_hello(script, "17");
    let open = convene::wire::message::OpenModel {
        model_id: "box".into(),
        scale: 1.0,
        rotation: convene::wire::message::QuatJson { w: 1.0, ..Default::default() },
        ..Default::default()
    };
    world.say_model(script, &open, &glb(1, 900));
    world.run(ms(200));
    for shown in [false, true, false] {
        world.say_json(script, 7, &format!(r#"{{"model_id":"box","shown":{shown}}}"#));
        world.run(ms(20));
    }
    world.run(secs(2));
    assert!(!world.is_shown(guest, "box"), "it did what it was told");
    assert!(!world.types_heard(script).contains(&7), "and said nothing back");
}

#[test]
fn one_toggle_is_one_message_however_many_echo() {
    let mut world = World::new(2);
    let host = world.add_host(config('a', "Ada"));
    let guest = world.add(config('b', "Bob"));
    world.do_command(host, open("box", &glb(1, 900)));
    world.join(guest, host);
    let scripts = [world.script_joins(host), world.script_joins(host), world.script_joins(host)];
    for &script in &scripts {
        world.scripts[script].echoes = true;
        world.say_hello(script, "17");
    }
    world.run(ms(300));
    world.do_command(host, show("box", false));
    world.run(secs(1));
    for &script in &scripts {
        assert_eq!(world.heard(script, 7), [r#"{"model_id":"box","shown":false}"#], "once each");
    }
    assert_eq!(shown_events(&world, guest), 1);
    assert!(!world.is_shown(host, "box") && !world.is_shown(guest, "box"));
    // One of the LookSee guests shows it again.
    world.say_json(scripts[0], 7, r#"{"model_id":"box","shown":true}"#);
    world.run(secs(1));
    assert!(world.is_shown(host, "box") && world.is_shown(guest, "box"));
    assert_eq!(world.heard(scripts[0], 7).len(), 1, "the one that did it hears nothing");
    assert_eq!(world.heard(scripts[1], 7).len(), 2);
    world.run(secs(3));
    let last = world.heard(scripts[0], 7).split_off(1);
    assert!(last.len() <= 1 && last.iter().all(|j| j.contains("true")), "but for how it is in the end");
}

#[test]
fn hide_and_show_within_a_round_trip_end_right() {
    for gap in [0, 5, 15, 30, 60, 150] {
        let mut world = World::new(3);
        world.latency = ms(25);
        let host = world.add_host(config('a', "Ada"));
        let guest = world.add(config('b', "Bob"));
        world.do_command(host, open("box", &glb(1, 900)));
        world.join(guest, host);
        let scripts = [world.script_joins(host), world.script_joins(host)];
        for &script in &scripts {
            world.scripts[script].echoes = true;
            world.say_hello(script, "17");
        }
        world.run(ms(300));
        for (n, node) in [host, guest, host].into_iter().enumerate() {
            let before: usize = scripts.iter().map(|&s| world.heard(s, 7).len()).sum();
            world.do_command(node, show("box", false));
            world.run(ms(gap));
            world.do_command(node, show("box", true));
            world.run(secs(3));
            let case = format!("{gap} ms, round {n}");
            assert!(world.is_shown(host, "box") && world.is_shown(guest, "box"), "{case}: shown in the end");
            let after: usize = scripts.iter().map(|&s| world.heard(s, 7).len()).sum();
            // Hide, show, and how it is in the end, to each.
            assert!(after - before <= 6, "{case}: {} messages", after - before);
            for &script in &scripts {
                let last = world.heard(script, 7).pop();
                assert_eq!(last.as_deref(), Some(r#"{"model_id":"box","shown":true}"#), "{case}");
            }
        }
    }
}

#[test]
fn a_storm_of_others_is_damped() {
    let mut world = World::new(4);
    let host = world.add_host(config('a', "Ada"));
    world.do_command(host, open("box", &glb(1, 900)));
    let (noisy, quiet) = (world.script_joins(host), world.script_joins(host));
    world.scripts[quiet].echoes = true;
    for script in [noisy, quiet] {
        world.say_hello(script, "17");
    }
    world.run(ms(300));
    // LookSee guests repeat what they were told: nothing new, nothing relayed.
    for _ in 0..100 {
        world.say_json(noisy, 7, r#"{"model_id":"box","shown":true}"#);
        world.run(ms(10));
    }
    assert!(world.heard(quiet, 7).is_empty(), "a repetition goes no further");
    assert_eq!(shown_events(&world, host), 0);
    for n in 0..20 {
        world.say_json(noisy, 7, &format!(r#"{{"model_id":"box","shown":{}}}"#, n % 2 == 1));
        world.run(ms(15));
    }
    world.run(secs(2));
    assert!(world.is_shown(host, "box"), "the last writer wins");
    let heard = world.heard(quiet, 7);
    assert!(heard.len() <= 22, "each change once, and how it is in the end: {}", heard.len());
    assert_eq!(heard.last().map(String::as_str), Some(r#"{"model_id":"box","shown":true}"#));
    assert!(world.heard(noisy, 7).is_empty(), "the echoes of the quiet one stop at the host");
}

#[test]
fn a_guest_ignores_the_echo_of_its_own_change() {
    let mut world = World::new(5);
    world.latency = ms(30);
    let guest = world.add(config('b', "Bob"));
    let script = world.script_hosts(guest);
    world.scripts[script].echoes = true;
    world.say_hello(script, "17");
    let open = convene::wire::message::OpenModel {
        model_id: "box".into(),
        rotation: convene::wire::message::QuatJson { w: 1.0, ..Default::default() },
        ..Default::default()
    };
    world.say_model(script, &open, &glb(1, 900));
    world.run(ms(300));
    world.do_command(guest, show("box", false));
    world.run(ms(15));
    world.do_command(guest, show("box", true));
    for _ in 0..40 {
        world.run(ms(50));
        assert!(world.is_shown(guest, "box"), "no flicker");
    }
    assert_eq!(world.heard(script, 7).len(), 2);
    assert_eq!(shown_events(&world, guest), 2, "its own two changes");
}

/// A guest of a scripted LookSee host with one model.
fn guest_with_box(seed: u64) -> (World, usize, usize) {
    let mut world = World::new(seed);
    let guest = world.add(config('b', "Bob"));
    let script = world.script_hosts(guest);
    world.say_hello(script, "17");
    let open = convene::wire::message::OpenModel {
        model_id: "box".into(),
        rotation: convene::wire::message::QuatJson { w: 1.0, ..Default::default() },
        ..Default::default()
    };
    world.say_model(script, &open, &glb(1, 900));
    world.run(ms(200));
    (world, guest, script)
}

#[test]
fn a_wish_that_looks_like_an_echo_is_believed_in_the_end() {
    let (mut world, guest, script) = guest_with_box(6);
    // Both within one frame of the host, which therefore echoes neither.
    world.do_command(guest, show("box", false));
    world.do_command(guest, show("box", true));
    world.run(ms(300));
    // Then somebody there hides it.
    world.say_json(script, 7, r#"{"model_id":"box","shown":false}"#);
    world.run(ms(1500));
    assert!(!world.is_shown(guest, "box"), "hidden a second later at the latest");
    assert_eq!(world.heard(script, 7).len(), 2, "and nothing is said back");
    // A wish that comes after the time of echoes is believed at once.
    world.run(secs(2));
    world.say_json(script, 7, r#"{"model_id":"box","shown":true}"#);
    world.run(ms(50));
    assert!(world.is_shown(guest, "box"));
}

#[test]
fn a_doubt_is_lifted_by_what_comes_next() {
    let (mut world, guest, script) = guest_with_box(7);
    world.do_command(guest, show("box", false));
    world.run(ms(30));
    world.do_command(guest, show("box", true));
    world.run(ms(30));
    for shown in [false, true] {
        world.say_json(script, 7, &format!(r#"{{"model_id":"box","shown":{shown}}}"#));
        world.run(ms(30));
    }
    for _ in 0..60 {
        world.run(ms(50));
        assert!(world.is_shown(guest, "box"), "both were echoes");
    }
}

#[test]
fn a_looksee_guest_that_toggles_at_once_is_followed_by_all() {
    let mut world = World::new(8);
    let host = world.add_host(config('a', "Ada"));
    let guest = world.add(config('b', "Bob"));
    world.do_command(host, open("box", &glb(1, 900)));
    world.join(guest, host);
    let script = world.script_joins(host);
    world.say_hello(script, "17");
    world.run(ms(300));
    // The host toggles twice within one of its frames: no echo; then its person hides it.
    world.do_command(host, show("box", false));
    world.do_command(host, show("box", true));
    world.run(ms(200));
    world.say_json(script, 7, r#"{"model_id":"box","shown":false}"#);
    world.run(secs(4));
    assert!(!world.is_shown(host, "box") && !world.is_shown(guest, "box"), "its wish holds for all");
    let last = world.heard(script, 7).pop();
    assert_eq!(last.as_deref(), Some(r#"{"model_id":"box","shown":false}"#), "and it is told so");
}
