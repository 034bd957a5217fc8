//! Convene and LookSee in one meeting: every model reaches everybody, and
//! everybody sees everybody where they are. Real processes and sockets; LookSee is
//! a script.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

#[allow(dead_code, reason = "shared with other tests")]
#[path = "common/glb.rs"]
mod glb;
#[path = "common/process.rs"]
mod process;
#[path = "common/raw.rs"]
mod raw;
#[path = "common/sheet.rs"]
mod sheet;

use std::{
    collections::BTreeMap,
    net::TcpListener,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use convene::wire::{Frame, Limits, Message, encode_frame};
use process::{HERE, Participant, thread};
use raw::{RawPeer, looksee_version, open_model, pose};
use serde_json::json;

/// A square with a name of its own in it, so that no two files are alike.
fn model(folder: &Path, name: &str) -> (PathBuf, Vec<u8>) {
    let mut quad = glb::Glb::quad();
    quad.json["asset"]["generator"] = json!(name);
    let bytes = quad.build();
    let path = folder.join(format!("{name}.glb"));
    std::fs::write(&path, &bytes).unwrap();
    (path, bytes)
}

/// A surface is sent in parts by default; a LookSee guest gets a standard GLB with
/// the same triangles, and a guest that wants it exactly the very file.
#[test]
fn a_surface_reaches_everybody_each_in_their_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("surface.glb");
    let file = sheet::sheet(200);
    std::fs::write(&path, &file).unwrap();
    let (mut host, port) = Participant::host(&["--name", "Ada"]);
    let mut opener = Participant::join(port, &["--name", "Bob"]);
    let reader = Participant::join(port, &["--name", "Cyd"]);
    let mut looksee = RawPeer::join(port, &looksee_version("17"));
    opener.does(json!({ "command": "open", "path": path }));
    let (triangles, _) = sheet::counts(&file);
    let mut received = Vec::new();
    for participant in [&host, &reader] {
        let told = participant.wait_for("model_received", |_| true);
        assert_eq!((&told["method"], &told["exact"]), (&json!("mesh"), &json!(false)), "{told}");
        assert!(told["wire_bytes"].as_u64().unwrap() * 4 < file.len() as u64, "{told}");
        assert!(told["max_error"].as_f64().unwrap() > 0.0 && told["decode_seconds"].as_f64().unwrap() > 0.0);
        assert!(participant.wait_for("model_part", |_| true)["vertices"].as_u64().unwrap() > 0);
        let opened = participant.wait_for("model_opened", |_| true);
        assert_eq!((&opened["triangles"], &opened["exact"]), (&json!(triangles), &json!(false)));
        received.push(opened["model_id"].clone());
    }
    let copy = folder.path().join("copy.glb");
    host.does(json!({ "command": "save", "model_id": received[0], "path": copy }));
    assert_eq!(host.wait_for("saved", |_| true)["exact"], json!(false));
    let saved = std::fs::read(&copy).unwrap();
    assert_eq!(sheet::counts(&saved).0, triangles);
    // One frame, the same file.
    let Frame::Model(got) = looksee.wait_for(|frame| matches!(frame, Frame::Model(_))) else {
        unreachable!()
    };
    assert!(got.glb == saved, "{} and {} bytes", got.glb.len(), saved.len());
}

/// What a LookSee peer knows of a meeting.
#[derive(Default)]
struct Seen {
    /// By model id.
    models: BTreeMap<String, Vec<u8>>,
    /// Where heads are, by device id.
    heads: BTreeMap<String, f32>,
}

impl Seen {
    fn see(&mut self, frame: &Frame) {
        match frame {
            Frame::Model(model) => {
                self.models.insert(model.open.model_id.clone(), model.glb.to_vec());
            }
            Frame::Message(payload) => {
                if let Ok(Some(Message::WandPosition(m))) = Message::decode(payload, &Limits::default()) {
                    assert_eq!(payload[0], 2, "a LookSee peer gets JSON");
                    self.heads.insert(m.device_id, m.head_position.x);
                }
            }
            _ => {}
        }
    }
}

/// Stands where the head's x is this (in room space, which is mirrored on the wire).
fn stand(participant: &mut Participant, x: f64) {
    let at = |x: f64| json!({ "position": [x, 1.5, 0.0], "rotation": [0, 0, 0, 1] });
    participant.does(json!({ "command": "pose", "head": at(x) }));
    participant.does(json!({ "command": "watch_poses", "on": true }));
}

/// All of these models are open there, each the very file.
fn has_all(participant: &mut Participant, files: &BTreeMap<String, Vec<u8>>) {
    for (id, bytes) in files {
        let opened = participant.wait_for("model_opened", |e| e["model_id"] == json!(id));
        assert_eq!(opened["exact"], json!(true));
        let path = participant.folder().join("copy.glb");
        participant.does(json!({ "command": "save", "model_id": id, "path": path }));
        assert!(std::fs::read(&path).unwrap() == *bytes, "model {id} is the opener's file");
    }
}

fn sees(participant: &Participant, device_id: &str, x: f64) {
    participant.wait_for("pose", |e| {
        e["from"] == device_id && (e["head"]["position"][0].as_f64().unwrap() - x).abs() < 1e-3
    });
}

fn id_of(participant: &mut Participant, other: &Participant, name: &str) -> String {
    let _ = participant;
    let joined = other.wait_for("participant_joined", |e| e["name"] == name);
    joined["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_convene_host_with_a_guest_of_each_kind() {
    let folder = tempfile::tempdir().unwrap();
    let (hosts, hosts_bytes) = model(folder.path(), "host");
    let (guests, guests_bytes) = model(folder.path(), "guest");
    let (_, looksees_bytes) = model(folder.path(), "looksee");
    let (mut host, port) = Participant::host(&["--name", "Ada"]);
    let mut guest = Participant::join(port, &["--name", "Bob"]);
    let mut looksee = RawPeer::join(port, &looksee_version("17"));
    let mut files = BTreeMap::new();
    for (participant, path, bytes) in [(&mut host, &hosts, hosts_bytes), (&mut guest, &guests, guests_bytes)]
    {
        let done = participant.does(json!({ "command": "open", "path": path }));
        files.insert(done["model_id"].as_str().unwrap().to_owned(), bytes);
    }
    looksee.bytes(&open_model("looksees", "looksee.glb", &looksees_bytes));
    files.insert("looksees".into(), looksees_bytes);
    stand(&mut host, 1.0);
    stand(&mut guest, 2.0);
    let (ada, bob) = (id_of(&mut host, &guest, "Ada"), id_of(&mut guest, &host, "Bob"));

    let mut seen = Seen::default();
    let until = Instant::now() + process::TIMEOUT;
    // On the wire x points the other way.
    let expected = [(ada.clone(), -1.0), (bob.clone(), -2.0)];
    let all_seen = |seen: &Seen| {
        let heads =
            expected.iter().all(|(id, x)| seen.heads.get(id).is_some_and(|got| (got - x).abs() < 1e-3));
        heads && seen.models.len() == 2
    };
    while !all_seen(&seen) {
        assert!(Instant::now() < until, "LookSee saw {:?} and {:?}", seen.heads, seen.models.keys());
        looksee.send(&pose("joinLOOK", 3.0));
        while let Some(frame) = looksee.next_within(Duration::from_millis(20)) {
            seen.see(&frame);
        }
    }
    for (id, bytes) in &seen.models {
        assert!(files[id] == *bytes, "LookSee has the very file of {id}");
    }
    has_all(&mut host, &files);
    has_all(&mut guest, &files);
    for (participant, others) in [(&host, [(&bob, 2.0)]), (&guest, [(&ada, 1.0)])] {
        for (id, x) in others {
            sees(participant, id, x);
        }
        sees(participant, "joinLOOK", -3.0);
    }
}

/// A LookSee host: passes everything on to everybody but the sender, and gives
/// late joiners what is open.
fn looksee_host(listener: &TcpListener, opens: &[u8], stop: &AtomicBool) -> Seen {
    listener.set_nonblocking(true).unwrap();
    let mut guests: Vec<RawPeer> = Vec::new();
    let mut seen = Seen::default();
    while !stop.load(Ordering::Acquire) {
        if let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(false).unwrap();
            let mut guest = RawPeer::on(stream);
            guest.greet(&looksee_version("17"));
            guest.bytes(&raw::frame(
                9,
                br#"{"position":{"x":0,"y":0,"z":0},"rotation":{"x":0,"y":0,"z":0,"w":1},"scale":1}"#,
            ));
            guest.bytes(&raw::frame(10, br#"{"keep_aligned":false}"#));
            guest.bytes(opens);
            guests.push(guest);
        }
        for at in 0..guests.len() {
            while let Some(frame) = guests[at].next_within(Duration::from_millis(2)) {
                seen.see(&frame);
                let payload = match &frame {
                    Frame::Message(payload) if payload[0] <= 10 && payload[0] != 5 => payload,
                    Frame::Model(model) => &model.payload,
                    _ => continue,
                };
                let bytes = encode_frame(payload);
                for (other, guest) in guests.iter_mut().enumerate() {
                    if other != at {
                        guest.try_bytes(&bytes);
                    }
                }
            }
        }
        for guest in &mut guests {
            guest.try_bytes(&encode_frame(&pose("hostLOOK", 3.0).encode()));
        }
    }
    seen
}

#[test]
fn a_looksee_host_with_two_convene_guests() {
    let folder = tempfile::tempdir().unwrap();
    let (first_path, first_bytes) = model(folder.path(), "first");
    let (second_path, second_bytes) = model(folder.path(), "second");
    let (_, hosts_bytes) = model(folder.path(), "host");
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let stop = Arc::new(AtomicBool::new(false));
    let host = thread({
        let (stop, opens) = (stop.clone(), open_model("hosts", "host.glb", &hosts_bytes));
        move || looksee_host(&listener, &opens, &stop)
    });
    let mut first = Participant::join(port, &["--name", "Ada"]);
    let mut second = Participant::join(port, &["--name", "Bob"]);
    stand(&mut first, 1.0);
    stand(&mut second, 2.0);
    let mut files = BTreeMap::from([("hosts".to_owned(), hosts_bytes)]);
    for (participant, path, bytes) in
        [(&mut first, &first_path, first_bytes), (&mut second, &second_path, second_bytes)]
    {
        let done = participant.does(json!({ "command": "open", "path": path }));
        files.insert(done["model_id"].as_str().unwrap().to_owned(), bytes);
    }
    has_all(&mut first, &files);
    has_all(&mut second, &files);
    for participant in [&first, &second] {
        sees(participant, "hostLOOK", -3.0);
    }
    for (participant, x) in [(&first, 2.0), (&second, 1.0)] {
        // LookSee tells no names: the other is known by where it is.
        participant.wait_for("pose", |e| {
            e["from"] != "hostLOOK" && (e["head"]["position"][0].as_f64().unwrap() - x).abs() < 1e-3
        });
    }
    // The host reads what the guests have read already.
    std::thread::sleep(Duration::from_millis(300));
    stop.store(true, Ordering::Release);
    let seen = host.join().unwrap();
    assert_eq!(seen.models.len(), 2, "the host has both");
    assert!(seen.models.iter().all(|(id, bytes)| files[id] == *bytes));
    let heads: Vec<f32> = seen.heads.values().copied().collect();
    assert!([-1.0, -2.0].iter().all(|x| heads.iter().any(|got| (got - x).abs() < 1e-3)), "{heads:?}");
}
