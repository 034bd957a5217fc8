//! The headless participant as other programs use it: real processes, real
//! sockets on loopback.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

#[allow(dead_code, reason = "shared with other tests")]
#[path = "common/glb.rs"]
mod glb;
#[path = "common/process.rs"]
mod process;
#[path = "common/raw.rs"]
mod raw;

use std::{
    io::{Read, Write},
    net::TcpListener,
    path::{Path, PathBuf},
};

use convene::wire::{Message, message::ErrorText};
use process::{HERE, Participant, run, shared, thread, wait_until};
use raw::{RawPeer, looksee_version};
use serde_json::{Value, json};

/// A square in a file of that name.
fn quad(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, glb::Glb::quad().build()).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
}

fn is_near(value: &Value, expected: &[f64]) -> bool {
    let numbers = numbers(value);
    numbers.len() == expected.len() && numbers.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-4)
}

#[test]
fn a_large_model_reaches_a_guest_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let (file, triangles) = match shared("models/surface885k.glb") {
        Some(file) => (file, 885_832),
        None => (quad(folder.path(), "surface.glb"), 2),
    };
    let (host, port) = Participant::host(&[text(&file), "--name", "Ada"]);
    let mut guest = Participant::join(port, &["--name", "Bob", "--exact"]);
    let offered = guest.wait_for("model_offered", |_| true);
    assert_eq!(offered["name"], json!(file.file_name().unwrap().to_str().unwrap()));
    let opened = guest.wait_for("model_opened", |_| true);
    assert_eq!((&opened["triangles"], &opened["exact"]), (&json!(triangles), &json!(true)));
    assert_eq!(host.wait_for("model_opened", |_| true)["triangles"], triangles);

    let copy = folder.path().join("copy of it.glb");
    guest.does(json!({ "command": "save", "model_id": opened["model_id"], "path": copy }));
    let saved = guest.wait_for("saved", |_| true);
    assert_eq!((&saved["path"], &saved["exact"]), (&json!(copy), &json!(true)));
    assert!(std::fs::read(&file).unwrap() == std::fs::read(&copy).unwrap(), "the copy differs");

    for event in host.events().iter().chain(&guest.events()) {
        assert!(event["event"].is_string() && event["t"].is_f64() && event["mono_ns"].is_u64(), "{event}");
    }
    let stamps: Vec<u64> = guest.events().iter().map(|e| e["mono_ns"].as_u64().unwrap()).collect();
    assert!(stamps.is_sorted());
}

/// The model of one guest reaches the other through the host, and so does what
/// becomes of it.
#[test]
fn guests_reach_each_other_whatever_either_side_speaks() {
    let looksee: &[&str] = &["--protocol", "looksee"];
    for (host_speaks, guest_speaks) in
        [(&[][..], &[][..]), (looksee, &[]), (&[], looksee), (looksee, looksee)]
    {
        let folder = tempfile::tempdir().unwrap();
        let (host, port) = Participant::host(host_speaks);
        let mut first = Participant::join(port, guest_speaks);
        let second =
            Participant::join(port, &[&[text(&quad(folder.path(), "square.glb"))], guest_speaks].concat());
        let own = second.wait_for("model_opened", |_| true);
        for other in [&host, &first] {
            let opened = other.wait_for("model_opened", |e| e["model_id"] == own["model_id"]);
            assert_eq!((&opened["triangles"], &opened["name"]), (&json!(2), &json!("square.glb")));
        }
        let id = &own["model_id"];
        first.does(json!({ "command": "move", "model_id": id, "position": [1, 2, 3], "scale": 0.5 }));
        first.does(json!({ "command": "show", "model_id": id, "shown": false }));
        for other in [&host, &second] {
            let moved = other.wait_for("model_moved", |e| e["model_id"] == *id);
            assert!(is_near(&moved["position"], &[1.0, 2.0, 3.0]) && moved["scale"] == 0.5, "{moved}");
            other.wait_for("model_shown", |e| e["shown"] == json!(false));
        }
        first.does(json!({ "command": "close", "model_id": id }));
        for other in [&host, &second] {
            other.wait_for("model_closed", |e| e["model_id"] == *id);
        }
        // Of somebody without a pose LookSee peers know nothing.
        host.wait_for_many(0, "participant_joined", 2, |_| true);
        second.wait_for_many(0, "participant_joined", 2, |_| true);
        first.does(json!({ "command": "leave" }));
        for other in [&host, &second] {
            other.wait_for("participant_left", |_| true);
        }
    }
}

#[test]
fn every_command_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let file = quad(folder.path(), "square.glb");
    let (mut host, port) = Participant::host(&[]);
    let mut guest = Participant::join(port, &[]);

    let answer = host.does(json!({ "command": "open", "path": file }));
    let id = answer["model_id"].as_str().unwrap().to_owned();
    guest.wait_for("model_opened", |e| e["model_id"] == id);
    let private = host.does(json!({ "command": "open", "path": file, "private": true }))["model_id"].clone();
    host.does(json!({ "command": "share", "model_id": private }));
    let shared = guest.wait_for("model_opened", |e| e["model_id"] == private);
    // The private one was not given away before it was shared.
    let at = |e: &Value| guest.events().iter().position(|other| other == e).unwrap();
    assert!(at(&guest.wait_for("model_opened", |e| e["model_id"] == id)) < at(&shared));

    // What is not given stays.
    host.does(json!({ "command": "move", "model_id": id, "position": { "x": 1, "y": 2, "z": 3 }, "rotation": [0, 1, 0, 0], "scale": 2 }));
    let mark = guest.mark();
    host.does(json!({ "command": "move", "model_id": id, "position": [4, 5, 6] }));
    let moved = guest
        .wait_after(mark.saturating_sub(1), "model_moved", |e| is_near(&e["position"], &[4.0, 5.0, 6.0]));
    assert!(is_near(&moved["rotation"], &[0.0, 1.0, 0.0, 0.0]) && moved["scale"] == 2.0, "{moved}");
    host.does(json!({ "command": "move", "model_id": id, "rotation": [0, 0, 0, 2] }));
    let moved = guest.wait_for("model_moved", |e| is_near(&e["rotation"], &[0.0, 0.0, 0.0, 1.0]));
    assert!(is_near(&moved["position"], &[4.0, 5.0, 6.0]), "{moved}");
    host.does(json!({ "command": "move", "model_id": id, "scale": 0.25 }));
    guest.wait_for("model_moved", |e| e["scale"] == 0.25 && is_near(&e["position"], &[4.0, 5.0, 6.0]));

    guest.does(json!({ "command": "show", "model_id": id, "shown": false }));
    host.wait_for("model_shown", |e| e["model_id"] == id && e["shown"] == json!(false));
    guest.does(json!({ "command": "move_scene", "position": [0, 1, 0], "scale": 1.5 }));
    host.wait_for("scene_moved", |e| is_near(&e["position"], &[0.0, 1.0, 0.0]) && e["scale"] == 1.5);
    guest.does(json!({ "command": "keep_aligned", "on": true }));
    host.wait_for("keep_aligned", |e| e["on"] == json!(true));
    let mark = guest.mark();
    host.does(json!({ "command": "original_alignment" }));
    guest.wait_after(mark.saturating_sub(1), "model_moved", |_| true);

    let copy = folder.path().join("copy.glb");
    guest.does(json!({ "command": "save", "model_id": id, "path": copy }));
    assert_eq!(std::fs::read(&copy).unwrap(), std::fs::read(&file).unwrap());
    host.does(json!({ "command": "watch_poses", "on": true }));
    guest.does(json!({ "command": "pose_stream", "hz": 50 }));
    guest.does(json!({ "command": "pose" }));
    stats(&mut host, &mut guest);

    guest.does(json!({ "command": "close", "model_id": id }));
    host.wait_for("model_closed", |e| e["model_id"] == id);
    // Numbers may be anything; they come back as they were.
    guest.line(br#"{"command":"watch_poses","on":false,"seq":"a text"}"#);
    guest.wait_for("done", |e| e["seq"] == "a text");

    let nowhere = folder.path().join("no/such/folder/copy.glb");
    for (wrong, expected) in [
        (
            json!({ "command": "open", "path": folder.path().join("missing.glb") }),
            "missing.glb cannot be opened",
        ),
        (json!({ "command": "open", "path": folder.path() }), "cannot be opened"),
        (json!({ "command": "close", "model_id": "none" }), "no model with the id none"),
        (json!({ "command": "share", "model_id": "none" }), "no model"),
        (json!({ "command": "move", "model_id": "none", "scale": 1 }), "no model"),
        (json!({ "command": "move", "model_id": private, "scale": 1e30 }), "not a usable number"),
        (json!({ "command": "move", "model_id": private, "position": [1e60, 0, 0] }), "not a usable number"),
        (json!({ "command": "show", "model_id": "none", "shown": true }), "no model"),
        (json!({ "command": "move_scene", "scale": -1 }), "not a usable number"),
        (
            json!({ "command": "pose", "head": { "position": [1e60, 0, 0], "rotation": [0, 0, 0, 1] } }),
            "not a usable number",
        ),
        (json!({ "command": "save", "model_id": "none", "path": copy }), "no whole model"),
        (json!({ "command": "save", "model_id": private, "path": nowhere }), "cannot be written"),
    ] {
        let message = guest.fails(wrong.clone());
        assert!(message.contains(expected), "{wrong}: {message}");
    }
    guest.does(json!({ "command": "leave" }));
    assert_eq!(guest.exit_code(), Some(0));
    assert_eq!(guest.events().last().unwrap()["event"], "left");
    host.does(json!({ "command": "leave" }));
    assert_eq!(host.exit_code(), Some(0));
    assert_eq!(host.events().last().unwrap()["event"], "left");
}

fn stats(host: &mut Participant, guest: &mut Participant) {
    host.does(json!({ "command": "stats" }));
    let stats = host.wait_for("stats", |_| true);
    let peer = &stats["peers"][0];
    for field in [
        "peer",
        "silent_ms",
        "send_bytes_per_second",
        "receive_bytes_per_second",
        "queued_bytes",
        "dropped_poses",
        "sent_bytes",
        "received_bytes",
        "window_bytes",
        "step_bytes",
    ] {
        assert!(peer[field].is_number(), "{field}: {stats}");
    }
    assert!(peer["id"].is_string() && peer["client"] == "convene", "{stats}");
    assert!(peer.as_object().unwrap().contains_key("round_trip_ms"), "{stats}");
    assert!(peer["sent_bytes"].as_u64().unwrap() > 1000 && stats["lost_events"] == 0, "{stats}");
    assert_eq!(stats["pose_age_ms"].as_object().unwrap().len(), 1, "{stats}");
    let late = stats["pose_latency_ms"].as_object().unwrap().values().next().unwrap();
    assert!(late["wire_p99"].is_number() && late["display"].as_f64().unwrap() <= 40.0, "{stats}");
    let names = |stats: &Value| -> Vec<String> {
        stats["threads"].as_array().unwrap().iter().map(|n| n.as_str().unwrap().to_owned()).collect()
    };
    for name in [
        "meeting",
        "meeting-accept",
        "peer-1-read",
        "peer-1-write",
        "stdin",
        "store",
        "pack-1",
        "unpack-1",
        "work-1",
    ] {
        assert!(names(&stats).iter().any(|n| n == name), "{name}: {stats}");
    }
    guest.does(json!({ "command": "stats" }));
    let names = names(&guest.wait_for("stats", |_| true));
    assert!(!names.iter().any(|n| n == "meeting-accept" || n == "meeting-connect"), "{names:?}");
}

#[test]
fn wrong_lines_are_told_and_end_nothing() {
    let (mut host, _port) = Participant::host(&[]);
    let mut seq = 0;
    let long = format!("{{\"command\":\"close\",\"model_id\":\"{}\"}}", "x".repeat(2 << 20));
    let deep = "[".repeat(100_000);
    for wrong in [
        "{",
        "hello",
        "[]",
        "null",
        "7",
        "\u{0}\u{1}",
        "{\"command\":7}",
        "{\"command\":\"fly\"}",
        "{\"seq\":1}",
        "{\"command\":\"open\"}",
        "{\"command\":\"show\",\"model_id\":\"a\"}",
        "{\"command\":\"move\",\"model_id\":\"a\",\"position\":[1,2]}",
        "{\"command\":\"pose\",\"head\":{\"position\":[0,0,0]}}",
        "{\"command\":\"pose_stream\",\"hz\":\"fast\"}",
        &deep,
        &long,
    ] {
        let mark = host.mark();
        host.line(wrong.as_bytes());
        let error = host.wait_after(mark, "error", |_| true);
        let message = error["message"].as_str().unwrap();
        assert!(!message.is_empty() && message.len() < 1000, "{} bytes for a wrong line", message.len());
        // The one after it is read as before.
        seq += 1;
        host.line(
            json!({ "command": "keep_aligned", "on": seq % 2 == 0, "seq": seq }).to_string().as_bytes(),
        );
        host.wait_for("done", |e| e["seq"] == seq);
    }
    host.line(b"{\"command\":\"fly\",\"seq\":[1]}");
    host.wait_for("error", |e| e["seq"] == json!([1]));
    host.line(b"\xff\xfe");
    host.line(b"");
    host.line(b"   ");
    host.does(json!({ "command": "stats" }));
    assert!(host.is_running());
}

#[test]
fn poses_arrive_as_they_were_sent() {
    let (mut host, port) = Participant::host(&[]);
    let mut guest = Participant::join(port, &[]);
    host.does(json!({ "command": "watch_poses", "on": true }));
    let mark = host.mark();

    // At rest ten times a second; the clocks of both are the same machine's.
    let resting = host.wait_for_many(mark, "pose", 12, |_| true);
    let seconds =
        |a: &Value, b: &Value| (b["mono_ns"].as_f64().unwrap() - a["mono_ns"].as_f64().unwrap()) / 1e9;
    let rate = 11.0 / seconds(&resting[0], &resting[11]);
    assert!((1.0..40.0).contains(&rate), "{rate} poses a second at rest");
    let rest = &resting[0];
    assert!(is_near(&rest["head"]["position"], &[0.0, 1.5, 0.0]), "{rest}");
    assert!(is_near(&rest["head"]["rotation"], &[0.0, 0.0, 0.0, 1.0]), "{rest}");

    let (c, s) = ((0.3f64).cos(), (0.3f64).sin());
    let body = json!({
        "left": { "position": [-0.3, 1.25, 0.4], "rotation": [s, 0, 0, c] },
        "right": { "position": { "x": 0.3, "y": 1.0, "z": -0.4 }, "rotation": { "x": 0, "y": s, "z": 0, "w": c } },
        "head": { "position": [0.125, 1.7, -0.0625], "rotation": [0, 0, -s, c] },
    });
    let mut command = body.clone();
    command["command"] = json!("pose");
    guest.does(command);
    let got = host.wait_for("pose", |e| is_near(&e["head"]["position"], &[0.125, 1.7, -0.0625]));
    for (part, position, rotation) in [
        ("left", [-0.3, 1.25, 0.4], [s, 0.0, 0.0, c]),
        ("right", [0.3, 1.0, -0.4], [0.0, s, 0.0, c]),
        ("head", [0.125, 1.7, -0.0625], [0.0, 0.0, -s, c]),
    ] {
        assert!(is_near(&got[part]["position"], &position), "{got}");
        assert!(is_near(&got[part]["rotation"], &rotation), "{got}");
    }

    guest.does(json!({ "command": "pose_stream", "hz": 100 }));
    let mark = host.mark();
    let stream = host.wait_for_many(mark, "pose", 100, |_| true);
    let sent = |e: &Value| e["stamp"].as_u64().unwrap();
    let number = |e: &Value| e["seq"].as_u64().unwrap();
    for pair in stream.windows(2) {
        assert!(number(&pair[0]) < number(&pair[1]) && sent(&pair[0]) < sent(&pair[1]), "{pair:?}");
        assert_eq!(pair[0]["from"], pair[1]["from"]);
    }
    assert!(stream.iter().all(|e| sent(e) <= e["mono_ns"].as_u64().unwrap()));

    host.does(json!({ "command": "watch_poses", "on": false }));
    let count = host.events().iter().filter(|e| e["event"] == "pose").count();
    for _ in 0..20 {
        host.does(json!({ "command": "stats" }));
    }
    assert_eq!(host.events().iter().filter(|e| e["event"] == "pose").count(), count);
}

#[cfg(unix)]
#[test]
fn it_ends_when_asked_and_not_with_its_input() {
    let (mut host, port) = Participant::host(&[]);
    let mut guest = Participant::join(port, &[]);
    guest.does(json!({ "command": "watch_poses", "on": true }));
    host.end_input();
    let mark = guest.mark();
    guest.wait_for_many(mark, "pose", 5, |_| true);
    assert!(host.is_running());

    host.terminate();
    assert_eq!(host.exit_code(), Some(0));
    assert_eq!(host.events().last().unwrap()["event"], "left");
    // Its host's end is a guest's end, and no failure.
    assert_eq!(guest.exit_code(), Some(0));
    let left = guest.events().pop().unwrap();
    assert_eq!((&left["event"], &left["reason"]), (&json!("left"), &json!("the host ended the meeting")));
    assert_eq!(host.errors() + &guest.errors(), "");
}

/// Leaving ends a join that has not come to anything yet.
#[test]
fn an_attempt_to_join_can_be_given_up() {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut guest = Participant::joining(port, &[]);
    let (_silent, _) = listener.accept().unwrap();
    guest.does(json!({ "command": "leave" }));
    assert_eq!(guest.exit_code(), Some(0));
}

/// What a guest says at its end, having tried to join there.
fn joining_says(address: &str) -> String {
    let mut guest = Participant::start(&["join", address]);
    guest.end_input();
    assert_eq!(guest.exit_code(), Some(1), "{:?}", guest.events());
    assert!(!guest.errors().contains("panicked"), "{}", guest.errors());
    let errors = guest.events().into_iter().filter(|e| e["event"] == "error");
    errors.map(|e| e["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join("\n")
}

/// What a guest says of a host that does so.
fn scripted_host_says(script: impl FnOnce(RawPeer) + Send + 'static) -> String {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let host = thread(move || script(RawPeer::on(listener.accept().unwrap().0)));
    let message = joining_says(&format!("{HERE}:{port}"));
    host.join().unwrap();
    message
}

#[test]
fn what_went_wrong_is_told_apart() {
    let taken = TcpListener::bind((HERE, 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut host = Participant::start(&["host", "--port", &port, "--bind", HERE]);
    assert_eq!(host.exit_code(), Some(1));
    let message = host.wait_for("error", |_| true)["message"].clone();
    assert!(message.as_str().unwrap().contains(&format!("Port {port} is in use")), "{message}");

    let free = TcpListener::bind((HERE, 0)).unwrap().local_addr().unwrap().port();
    let refused = joining_says(&format!("{HERE}:{free}"));
    assert!(refused.contains("no meeting is open there"), "{refused}");
    let unknown = joining_says("no-such-host.invalid");
    assert!(unknown.contains("is not known"), "{unknown}");
    let no_address = joining_says("192.168.1");
    assert!(no_address.contains("is no address"), "{no_address}");
    let no_route = joining_says("255.255.255.255:1");
    assert!(no_route.contains("cannot be reached"), "{no_route}");

    let web = scripted_host_says(|mut peer| {
        let mut request = [0; 14];
        peer.stream.read_exact(&mut request).unwrap();
        peer.stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        peer.until_guest_gone();
    });
    assert!(web.contains("not a meeting"), "{web}");
    let closed = scripted_host_says(|mut peer| {
        peer.finish();
        peer.until_guest_gone();
    });
    assert!(closed.contains("not a meeting"), "{closed}");
    let old = scripted_host_says(|mut peer| {
        peer.greet(&looksee_version("11"));
        peer.until_guest_gone();
    });
    assert!(old.contains("version 11, which is too old"), "{old}");
    let full = scripted_host_says(|mut peer| {
        peer.greet(&looksee_version("17"));
        peer.send(&Message::Error(ErrorText { error: "Meetings currently only allow 2 persons.".into() }));
        peer.wait_for_type(5);
        peer.finish();
        peer.until_guest_gone();
    });
    assert!(full.contains("refused") && full.contains("only allow 2 persons"), "{full}");
    // A reset may destroy what was said before it.
    let reset = scripted_host_says(|mut peer| {
        peer.greet(&looksee_version("17"));
        peer.wait_for_type(5);
        peer.reset();
    });
    assert!(reset.contains("refused") || reset.contains("was lost"), "{reset}");
    let nonsense = scripted_host_says(|mut peer| {
        peer.greet(&looksee_version("17"));
        peer.bytes(&raw::frame(10, b"{\"keep_aligned\":false}"));
        peer.bytes(&raw::frame(9, b"{ no JSON"));
        peer.until_guest_gone();
    });
    assert!(nonsense.contains("cannot be understood"), "{nonsense}");

    let all = [refused, unknown, no_address, no_route, web, old, full, nonsense];
    for (n, message) in all.iter().enumerate() {
        assert!(
            !all[..n].contains(message) && message.contains(' ') && !message.contains("Error"),
            "{message}"
        );
    }
}

#[test]
fn wrong_usage_is_exit_code_2() {
    for wrong in [
        &["join"][..],
        &["send", "here"],
        &["host", "--port", "70000"],
        &["--pace", "0"],
        &["--no-such-option"],
    ] {
        let (code, _, errors) = run(wrong);
        assert!(code == Some(2) && errors.contains("error:"), "{wrong:?}: {code:?} {errors}");
    }
    assert_eq!(run(&["--version"]).0, Some(0));
}

/// Whoever reads the events has gone: the participant ends.
#[test]
fn it_ends_when_nobody_reads_its_events() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = process::convene(&["host", "--port", "0", "--bind", HERE, "--headless", "--settings"])
        .arg(folder.path().join("settings.json"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    let mut status = None;
    wait_until("the end", || {
        let _ = input.write_all(b"{\"command\":\"stats\",\"seq\":1}\n");
        status = child.try_wait().unwrap();
        status.is_some()
    });
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert!(status.unwrap().code() == Some(0) && errors.is_empty(), "{status:?} {errors}");
}
