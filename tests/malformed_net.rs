//! A live host under attack: whatever bare sockets send, the meeting goes on for
//! everybody else, the log stays quiet, and it holds nobody's name.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

#[allow(dead_code, reason = "shared with other tests")]
#[path = "common/glb.rs"]
mod glb;
#[path = "common/process.rs"]
mod process;
#[path = "common/raw.rs"]
mod raw;

use std::{
    collections::BTreeMap,
    io::Write,
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use convene::wire::{Frame, MEETING_PREFIX, Message, encode_frame, file_push, message::ParticipantLeft};
use process::{HERE, Participant, thread, wait_until};
use raw::{RawPeer, convene_version, frame, looksee_version, open_model, pose};
use serde_json::json;

/// A host, and a guest that watches.
struct Meeting {
    host: Participant,
    port: u16,
    good: Participant,
    host_id: String,
    good_id: String,
}

impl Meeting {
    fn start(more: &[&str]) -> Self {
        let (mut host, port) =
            Participant::host(&[&["--log", "info", "--name", "Ada Lovelace"], more].concat());
        let mut good = Participant::join(port, &["--name", "Grace Hopper"]);
        let id = |e: serde_json::Value| e["id"].as_str().unwrap().to_owned();
        let host_id = id(good.wait_for("participant_joined", |e| e["name"] == "Ada Lovelace"));
        let good_id = id(host.wait_for("participant_joined", |e| e["name"] == "Grace Hopper"));
        good.does(json!({ "command": "watch_poses", "on": true }));
        host.does(json!({ "command": "pose_stream", "hz": 100 }));
        Self { host, port, good, host_id, good_id }
    }

    /// How many poses of the host the good guest has got since the mark.
    fn poses_since(&self, mark: usize) -> usize {
        self.good.events()[mark..]
            .iter()
            .filter(|e| e["event"] == "pose" && e["from"] == self.host_id)
            .count()
    }

    /// The good guest hears the host, and a fresh one can join.
    fn is_well_after(&self, what: &str) {
        let mark = self.good.mark();
        wait_until(&format!("poses after {what}"), || self.poses_since(mark) >= 3);
        let mut fresh = RawPeer::join(self.port, &looksee_version("17"));
        fresh.wait_for_type(2);
        fresh.finish();
    }

    /// The host lives, did not panic, and says each fault of a connection once;
    /// its log holds no address and no name.
    fn end(mut self) {
        assert!(self.host.is_running() && self.good.is_running());
        self.host.does(json!({ "command": "leave" }));
        assert_eq!(self.host.exit_code(), Some(0));
        let log = self.host.errors();
        assert!(!log.contains("panicked"), "{log}");
        assert!(log.contains("connection "), "nothing was logged at all");
        let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
        for line in log.lines().filter_map(|line| line.split_once("driver: ")).map(|(_, message)| message) {
            *lines.entry(line).or_default() += 1;
        }
        for (line, count) in lines.iter().filter(|(line, _)| line.starts_with("connection ")) {
            assert_eq!(*count, 1, "{line}");
            assert!(line.len() < 400, "{line}");
        }
        for private in [
            HERE,
            "::1",
            "Ada",
            "Grace",
            "Mallory",
            "evil-name",
            "pushed-name",
            &self.host_id,
            &self.good_id,
            "1111aaaa",
        ] {
            assert!(!log.contains(private), "the log holds {private}:\n{log}");
        }
        assert!(!self.good.errors().contains("panicked"), "{}", self.good.errors());
    }
}

fn greeting(version: &Message) -> Vec<u8> {
    [&MEETING_PREFIX[..], &encode_frame(&version.encode())].concat()
}

#[test]
fn wrong_bytes_end_only_their_own_connection() {
    let meeting = Meeting::start(&[]);
    let hello = greeting(&looksee_version("17"));
    let after = |bytes: &[u8]| [&hello[..], bytes].concat();
    let announced = |length: i32, type_byte: u8| [&length.to_le_bytes()[..], &[type_byte]].concat();
    let deep = [&b"{\"model_id\":\"a\",\"x\":"[..], &vec![b'['; 60_000]].concat();
    let long_json = [&announced(70_001, 2)[..], &vec![b' '; 70_000]].concat();
    let mut cut_json = frame(10, b"{\"keep_aligned\":true}");
    cut_json.truncate(14);
    let named = |field: &str| frame(5, format!("{{\"version\":\"17\",\"{field}\":\"Mallory\"}}").as_bytes());
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("another prefix", b"JookSeeMeeting".to_vec()),
        ("a web browser", b"GET / HTTP/1.1\r\nHost: Mallory\r\n\r\n".to_vec()),
        ("a pushed file", file_push::encode_head("evil-name.glb", 3).unwrap()),
        ("noise", (0..5000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect()),
        ("length zero", after(&[0; 4])),
        ("a negative length", after(&announced(-5, 2))),
        ("the most negative length", after(&announced(i32::MIN, 3))),
        ("a GiB of a model announced", after(&announced(1 << 30, 3))),
        ("2 GiB of a pose announced", after(&announced(i32::MAX, 2))),
        ("2 GiB of something unknown announced", after(&announced(i32::MAX, 77))),
        ("70 kB of JSON", after(&long_json)),
        ("no JSON", after(&frame(2, b"hello Mallory"))),
        ("nothing at all", after(&frame(2, b""))),
        ("deep JSON", after(&frame(4, &deep))),
        ("wrong kinds", after(&frame(1, b"{\"model_id\":\"a\",\"position\":\"Mallory\"}"))),
        ("numbers without end", after(&frame(9, b"{\"position\":{\"x\":1e999}}"))),
        ("a pose of nobody", after(&frame(2, b"{}"))),
        ("a NUL behind JSON", after(&frame(4, b"{\"model_id\":\"a\"}\0"))),
        ("a long id", after(&frame(4, format!("{{\"model_id\":\"{}\"}}", "x".repeat(65)).as_bytes()))),
        ("a model's JSON past its end", after(&frame(3, &[255, 255, 0, 0, b'{', b'}']))),
        ("a model's JSON of negative length", after(&frame(3, &[255, 255, 255, 255, b'{', b'}']))),
        ("a model's frame too short", after(&frame(3, &[0]))),
        (
            "a model before the version",
            [&MEETING_PREFIX[..], &open_model("m", "evil-name.glb", b"glTF")].concat(),
        ),
        (
            "a pose before the version",
            [&MEETING_PREFIX[..], &frame(2, b"{\"device_id\":\"1111aaaa\"}")].concat(),
        ),
        ("a version of another kind", [&MEETING_PREFIX[..], &named("ext")].concat()),
        ("no version", [&MEETING_PREFIX[..], &frame(5, b"{}")].concat()),
        (
            "a version that is no number",
            [&MEETING_PREFIX[..], &frame(5, b"{\"version\":\"Mallory\"}")].concat(),
        ),
        ("an old version", greeting(&looksee_version("11"))),
        ("an old version, long", greeting(&looksee_version(&format!("1.{}", "0".repeat(30_000))))),
    ];
    for (what, bytes) in &cases {
        let mut peer = RawPeer::connect(meeting.port);
        peer.try_bytes(bytes);
        peer.until_closed();
        meeting.is_well_after(what);
    }
    // Cut off in all places, with an orderly end and without.
    for (what, bytes) in [
        ("half a prefix", &MEETING_PREFIX[..7]),
        ("half a length", &after(&[5, 0])[..]),
        ("half a frame", &after(&cut_json)[..]),
        ("half a model", &after(&open_model("half", "evil-name.glb", &[1; 5000])[..3000])[..]),
        ("a model of which only the head came", &after(&announced(200 << 20, 3))[..]),
    ] {
        let mut peer = RawPeer::connect(meeting.port);
        peer.bytes(bytes);
        peer.finish();
        peer.until_closed();
        let mut peer = RawPeer::connect(meeting.port);
        peer.bytes(bytes);
        peer.reset();
        meeting.is_well_after(what);
    }
    meeting.end();
}

#[test]
fn odd_peers_are_borne() {
    let files = tempfile::tempdir().unwrap();
    let mut meeting = Meeting::start(&["--receive-files=0", "--files", files.path().to_str().unwrap()]);
    let port = meeting.port;

    // One byte at a time is slow and right.
    let mut slow = RawPeer::connect(port);
    for byte in greeting(&looksee_version("17")) {
        slow.bytes(&[byte]);
    }
    slow.wait_for_type(9);
    for byte in encode_frame(&pose("2222bbbb", 1.0).encode()) {
        slow.bytes(&[byte]);
    }
    meeting.good.wait_for("pose", |e| e["from"] == "2222bbbb");
    meeting.is_well_after("one byte at a time");

    // Of what was not announced nothing is done, and nothing ends.
    let mut peer = RawPeer::join(port, &looksee_version("17"));
    for _ in 0..50 {
        peer.send(&Message::Ping(7));
        peer.bytes(&frame(0x49, b"{\"number\":9,\"participants\":[{\"device_id\":\"1111aaaa\"}]}"));
    }
    meeting.host.wait_for("peer_fault", |e| e["fault"].as_str().unwrap().contains("without announcing"));
    peer.send(&pose("3333cccc", 2.0));
    meeting.good.wait_for("pose", |e| e["from"] == "3333cccc");
    // Types that nobody knows, empty and long ones.
    for type_byte in [0, 42, 77, 0x40 + 20, 255] {
        peer.bytes(&frame(type_byte, &vec![b'x'; 100_000]));
        peer.bytes(&frame(type_byte, b""));
    }
    meeting.is_well_after("unknown types");

    // A model that cannot be decoded is a model that failed, everywhere, and no more.
    peer.bytes(&open_model("broken", "evil-name.glb", b"this is no GLB at all"));
    peer.bytes(&open_model("empty", "evil-name.glb", b""));
    let mut cut = glb::Glb::quad().build();
    cut.truncate(cut.len() - 40);
    peer.bytes(&open_model("cut", "evil-name.glb", &cut));
    for id in ["broken", "empty", "cut"] {
        for participant in [&meeting.host, &meeting.good] {
            let failed = participant.wait_for("model_failed", |e| e["model_id"] == id);
            assert!(!failed["error"].as_str().unwrap().is_empty());
        }
    }
    meeting.host.does(json!({ "command": "move_scene", "position": [0, 0.5, 0] }));
    meeting.good.wait_for("scene_moved", |e| e["position"][1] == 0.5);
    peer.bytes(&open_model("whole", "good.glb", &glb::Glb::quad().build()));
    meeting.good.wait_for("model_opened", |e| e["model_id"] == "whole");

    // Nobody speaks for others.
    let (host_id, good_id) = (meeting.host_id.clone(), meeting.good_id.clone());
    let mark = meeting.good.mark();
    for spoofed in [&host_id, &good_id] {
        for _ in 0..20 {
            peer.send(&pose(spoofed, 50.0));
            peer.send(&Message::ParticipantLeft(ParticipantLeft { device_id: spoofed.clone() }));
        }
    }
    meeting.host.wait_for("peer_fault", |e| e["fault"].as_str().unwrap().contains("somebody left"));
    peer.send(&pose("3333cccc", 3.0));
    meeting.good.wait_after(mark, "pose", |e| e["from"] == "3333cccc");
    for event in &meeting.good.events()[mark..] {
        assert_ne!(event["event"], "participant_left", "{event}");
        assert!(
            event["event"] != "pose" || event["head"]["position"][0].as_f64().unwrap() > -10.0,
            "{event}"
        );
    }
    // An id in use.
    let mut thief = RawPeer::join(port, &looksee_version("17"));
    thief.bytes(&open_model("whole", "evil-name.glb", b"glTF"));
    thief.until_closed();
    meeting.is_well_after("spoofed ids");

    // Files, too, leave no names in the log.
    let receiver = meeting.host.wait_for("receiving_files", |_| true)["port"].as_u64().unwrap();
    let receiver = u16::try_from(receiver).unwrap();
    let head = file_push::encode_head("pushed-name.glb", 4).unwrap();
    for (bytes, event) in [
        ([&head[..], b"glTF"].concat(), "file_received"),
        ([&head[..], b"gl"].concat(), "error"),
        (file_push::encode_head("pushed-name.exe", 4).unwrap(), "error"),
        (b"hello".to_vec(), "error"),
    ] {
        let mark = meeting.host.mark();
        let mut sender = TcpStream::connect((HERE, receiver)).unwrap();
        sender.write_all(&bytes).unwrap();
        sender.shutdown(std::net::Shutdown::Write).unwrap();
        meeting.host.wait_after(mark, event, |_| true);
    }
    meeting.is_well_after("files");
    meeting.end();
}

/// Three hundred connections that say nothing keep nobody out.
#[test]
fn a_crowd_of_silent_connections_keeps_nobody_out() {
    let meeting = Meeting::start(&[]);
    let crowd: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect((HERE, meeting.port)).unwrap()).collect();
    for _ in 0..3 {
        meeting.is_well_after("300 connections");
    }
    drop(crowd);
    meeting.is_well_after("the end of 300 connections");
    let mut joined = Participant::join(meeting.port, &[]);
    joined.does(json!({ "command": "leave" }));
    // A fault, for the log to be looked at.
    RawPeer::connect(meeting.port).try_bytes(b"nonsense");
    meeting.host.wait_for("peer_fault", |_| true);
    meeting.end();
}

/// Memory of a process, in bytes.
#[cfg(target_os = "linux")]
fn memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() * 1024
}

#[cfg(not(target_os = "linux"))]
fn memory(_process: u32) -> u64 {
    0
}

/// Somebody who reads nothing and somebody who sends too much cost neither
/// memory nor the others' poses.
#[test]
fn neither_silence_nor_floods_slow_the_others() {
    const SECONDS: u64 = 2;
    let mut meeting = Meeting::start(&[]);
    // Warm: buffers that every flood needs once are there.
    let mut never_reads = RawPeer::join(meeting.port, &convene_version("4444dddd4444dddd"));
    let before = memory(meeting.host.process_id());
    // It waits for a model that all share, and poses wait behind it.
    let big = open_model("big", "big.glb", &vec![7; 32 << 20]);
    let mut opener = RawPeer::join(meeting.port, &looksee_version("17"));
    opener.bytes(&big);
    drop(big);
    meeting.host.wait_for("model_failed", |e| e["model_id"] == "big");

    let stop = Arc::new(AtomicBool::new(false));
    let flood = |mut peer: RawPeer, bytes: Vec<u8>, pause: Duration| {
        let stop = stop.clone();
        thread(move || {
            let mut count = 0;
            while !stop.load(Ordering::Relaxed) && peer.try_bytes(&bytes) {
                count += 1;
                std::thread::sleep(pause);
            }
            (peer, count)
        })
    };
    // 5,000 poses a second; pings without end, the answers unread.
    let poses = RawPeer::join(meeting.port, &looksee_version("17"));
    let poses =
        flood(poses, encode_frame(&pose("5555eeee", 1.0).encode()).repeat(25), Duration::from_millis(5));
    let pings = RawPeer::join(meeting.port, &convene_version("6666ffff6666ffff"));
    let pings = flood(pings, encode_frame(&Message::Ping(1).encode()).repeat(500), Duration::from_millis(5));
    let mark = meeting.good.mark();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(SECONDS) {
        // Alive, all the same.
        never_reads.send(&Message::Pong(1));
        std::thread::sleep(Duration::from_millis(50));
    }
    let got = meeting.poses_since(mark);
    meeting.host.does(json!({ "command": "stats" }));
    let stats = meeting.host.wait_for("stats", |_| true);
    let after = memory(meeting.host.process_id());
    stop.store(true, Ordering::Relaxed);
    let ((_, poses), (_, pings)) = (poses.join().unwrap(), pings.join().unwrap());
    println!(
        "{got} poses in {SECONDS} s beside {} poses and {} pings; memory {} MB, then {} MB",
        poses * 25,
        pings * 500,
        before >> 20,
        after >> 20
    );
    // Of 200; a busy machine may be slow.
    assert!(got >= 20, "{got} poses in {SECONDS} s");
    // The model itself, once as it arrived and once more as it grew, and a little.
    assert!(after < before + (120 << 20), "{before} bytes, then {after}");
    let peers = stats["peers"].as_array().unwrap();
    let silent = peers.iter().find(|p| p["id"] == "4444dddd").unwrap();
    assert!(silent["dropped_poses"].as_u64().unwrap() > 0, "{stats}");
    assert!(silent["queued_bytes"].as_u64().unwrap() < (33 << 20), "{stats}");

    meeting.is_well_after("floods");
    RawPeer::connect(meeting.port).try_bytes(b"nonsense");
    meeting.host.wait_for("peer_fault", |_| true);
    // Once it reads, everything is there, the latest pose too.
    let model = never_reads.wait_for(|f| matches!(f, Frame::Model(_)));
    assert!(matches!(model, Frame::Model(m) if m.glb.len() == 32 << 20));
    never_reads.wait_for_type(0x42);
    meeting.end();
}
