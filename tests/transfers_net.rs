//! Transfers when something goes wrong, over real sockets: cuts, restarts, damage,
//! peers that stop, both sides at once.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

#[allow(dead_code, reason = "shared with other tests")]
#[path = "common/glb.rs"]
mod glb;
#[path = "common/process.rs"]
mod process;
#[path = "common/raw.rs"]
mod raw;
#[allow(dead_code, reason = "shared with other tests")]
#[path = "common/sheet.rs"]
mod sheet;

use std::{
    io::{ErrorKind, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use convene::{
    mesh::{Encoding, NORMAL_BITS, Plan},
    transfer::{Chunk, Method},
    wire::{
        Frame, Message, bulk,
        message::{Offer, Representation, Version},
    },
};
use process::{HERE, Participant, thread, wait_until};
use raw::RawPeer;
use serde_json::{Value, json};

/// A square in a file of about that many MiB that nothing makes smaller.
fn large(folder: &Path, name: &str, mebibytes: usize) -> (PathBuf, Vec<u8>) {
    let mut quad = glb::Glb::quad();
    let mut state = name.len() as u64 + 12345;
    let mut random = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as u8
    };
    quad.bin.extend((0..mebibytes << 20).map(|_| random()));
    let bytes = quad.build();
    let path = folder.join(name);
    std::fs::write(&path, &bytes).unwrap();
    (path, bytes)
}

fn received_bytes(participant: &mut Participant) -> u64 {
    let mark = participant.mark();
    participant.does(json!({ "command": "stats" }));
    let stats = participant.wait_after(mark, "stats", |_| true);
    stats["peers"].as_array().unwrap().iter().map(|p| p["received_bytes"].as_u64().unwrap()).sum()
}

fn progress(event: &Value) -> u64 {
    event["received"].as_u64().unwrap()
}

fn check_file(participant: &mut Participant, opened: &Value, bytes: &[u8]) {
    let copy = participant.folder().join("copy.glb");
    participant.does(json!({ "command": "save", "model_id": opened["model_id"], "path": copy }));
    assert!(std::fs::read(copy).unwrap() == bytes, "the very file");
}

/// Between a host and its guests: it can cut every connection, or let nothing
/// through.
struct Proxy {
    port: u16,
    cut: Arc<AtomicU32>,
    frozen: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    to_guests: Arc<AtomicU64>,
}

impl Proxy {
    fn start(to: u16) -> Self {
        let listener = TcpListener::bind((HERE, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let proxy = Self {
            port: listener.local_addr().unwrap().port(),
            cut: Arc::default(),
            frozen: Arc::default(),
            stop: Arc::default(),
            to_guests: Arc::default(),
        };
        let (cut, frozen, stop, count) =
            (proxy.cut.clone(), proxy.frozen.clone(), proxy.stop.clone(), proxy.to_guests.clone());
        thread(move || {
            while !stop.load(Ordering::Relaxed) {
                let Ok((guest, _)) = listener.accept() else {
                    std::thread::sleep(Duration::from_millis(5));
                    continue;
                };
                let host = TcpStream::connect((HERE, to)).unwrap();
                for (from, into, counted) in
                    [(guest.try_clone().unwrap(), host.try_clone().unwrap(), false), (host, guest, true)]
                {
                    let (cut, frozen, stop, count) =
                        (cut.clone(), frozen.clone(), stop.clone(), count.clone());
                    thread(move || pipe(from, into, counted, &cut, &frozen, &stop, &count));
                }
            }
        });
        proxy
    }

    fn cut(&self) {
        self.cut.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn pipe(
    mut from: TcpStream,
    mut into: TcpStream,
    counted: bool,
    cut: &AtomicU32,
    frozen: &AtomicBool,
    stop: &AtomicBool,
    count: &AtomicU64,
) {
    let generation = cut.load(Ordering::Relaxed);
    from.set_nonblocking(false).unwrap();
    from.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    let mut buffer = vec![0; 32 << 10];
    while !stop.load(Ordering::Relaxed) {
        if cut.load(Ordering::Relaxed) != generation {
            for stream in [&from, &into] {
                let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
            }
            return;
        }
        if frozen.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        match from.read(&mut buffer) {
            Ok(0) => {
                let _ = into.shutdown(std::net::Shutdown::Write);
                return;
            }
            Ok(n) => {
                if into.write_all(&buffer[..n]).is_err() {
                    return;
                }
                if counted {
                    count.fetch_add(n as u64, Ordering::Relaxed);
                }
            }
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                ) => {}
            Err(_) => return,
        }
    }
}

/// Failure modes 6 to 8: the connection breaks at half of a model.
#[test]
fn a_cut_connection_comes_back_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = large(folder.path(), "large.glb", 8);
    let (host, port) = Participant::host(&["--pace", "40", path.to_str().unwrap()]);
    host.wait_for("model_opened", |_| true);
    let proxy = Proxy::start(port);
    let mut guest = Participant::join(proxy.port, &["--window", "262144"]);
    guest.wait_for("model_progress", |e| progress(e) > 3 << 20);
    let mark = guest.mark();
    proxy.cut();
    guest.wait_after(mark, "connection_lost", |_| true);
    guest.wait_after(mark, "joined", |_| true);
    let again = guest.wait_after(mark, "model_progress", |_| true);
    assert!(progress(&again) > 2 << 20, "it goes on where it was: {again}");
    let opened = guest.wait_after(mark, "model_opened", |_| true);
    check_file(&mut guest, &opened, &bytes);
    let sent = proxy.to_guests.load(Ordering::Relaxed) as usize;
    // A window, a chunk, what lay in the proxy's sockets, and all else that is said.
    let again = sent.saturating_sub(bytes.len());
    println!("{again} bytes were sent again");
    assert!(again < (256 << 10) * 2 + (200 << 10), "{again} bytes were sent again");
    assert!(guest.is_running() && guest.events().iter().all(|e| e["event"] != "left"));
}

/// Failure mode 8 and 9: the program is killed at half of a model; what it had
/// kept is damaged in one place.
#[test]
fn a_killed_guest_finds_its_half_again() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let (path, bytes) = large(folder.path(), "large.glb", 8);
    let (host, port) = Participant::host(&["--pace", "60", path.to_str().unwrap()]);
    host.wait_for("model_opened", |_| true);
    let cached: &[&str] = &["--cache", cache.to_str().unwrap()];
    let guest = Participant::join(port, cached);
    guest.wait_for("model_progress", |e| progress(e) > 5 << 20);
    // Killed.
    drop(guest);
    let kept = std::fs::read_dir(&cache).unwrap().map(|e| e.unwrap().path());
    let kept = kept.filter(|p| p.extension().is_some_and(|e| e == "chunks")).collect::<Vec<_>>();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let mut half = std::fs::read(&kept[0]).unwrap();
    assert!(half.len() > 4 << 20);
    half[1 << 20] ^= 1;
    std::fs::write(&kept[0], half).unwrap();
    let mut guest = Participant::join(port, cached);
    let opened = guest.wait_for("model_opened", |_| true);
    check_file(&mut guest, &opened, &bytes);
    let received = received_bytes(&mut guest);
    println!("{received} bytes for the other half of {}", bytes.len());
    assert!(received < (8 << 20) - (4 << 20) + (700 << 10), "{received}");
    drop(guest);
    // Now it has all of it.
    let mut guest = Participant::join(port, cached);
    guest.wait_for("model_opened", |_| true);
    let received = received_bytes(&mut guest);
    assert!(received < 20_000, "{received} bytes for what is there");
}

/// Failure mode 5: one guest is stopped during a transfer.
#[cfg(unix)]
#[test]
fn a_stopped_guest_delays_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = large(folder.path(), "large.glb", 16);
    let (mut host, port) = Participant::host(&["--pace", "200"]);
    let (stopped, mut other) = (Participant::join(port, &[]), Participant::join(port, &[]));
    other.does(json!({ "command": "watch_poses", "on": true }));
    host.does(json!({ "command": "pose_stream", "hz": 90 }));
    host.does(json!({ "command": "open", "path": path }));
    stopped.wait_for("model_progress", |e| progress(e) > 1 << 20);
    signal(&stopped, rustix::process::Signal::STOP);
    let mark = other.mark();
    other.wait_for("model_opened", |_| true);
    let mut late: Vec<f64> = other.events()[mark..]
        .iter()
        .filter(|e| e["event"] == "pose")
        .map(|e| (e["mono_ns"].as_f64().unwrap() - e["stamp"].as_f64().unwrap()) / 1e6)
        .collect();
    late.sort_by(f64::total_cmp);
    host.does(json!({ "command": "stats" }));
    let stats = host.wait_for("stats", |_| true);
    let queued = stats["peers"].as_array().unwrap().iter().map(|p| p["queued_bytes"].as_u64().unwrap());
    let queued = queued.max().unwrap();
    println!("median {:.1} ms of {} poses; {queued} bytes wait", late[late.len() / 2], late.len());
    assert!(late[late.len() / 2] < 50.0, "poses of others wait");
    assert!(queued < 1 << 20, "{queued} bytes wait for the stopped one");
    signal(&stopped, rustix::process::Signal::CONT);
    stopped.wait_for("model_opened", |_| true);
}

#[cfg(unix)]
fn signal(participant: &Participant, signal: rustix::process::Signal) {
    let id = rustix::process::Pid::from_raw(participant.process_id().try_into().unwrap()).unwrap();
    rustix::process::kill_process(id, signal).unwrap();
}

/// Failure mode 20: both sides stand still for longer than anybody may be silent,
/// in the middle of a transfer, as on a machine that sleeps.
#[cfg(unix)]
#[test]
fn who_both_slept_go_on() {
    use rustix::process::Signal;
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = large(folder.path(), "large.glb", 8);
    let (mut host, port) = Participant::host(&["--pace", "40"]);
    let mut guest = Participant::join(port, &[]);
    host.does(json!({ "command": "open", "path": path }));
    guest.wait_for("model_progress", |e| progress(e) > 1 << 20);
    [&host, &guest].into_iter().for_each(|participant| signal(participant, Signal::STOP));
    std::thread::sleep(Duration::from_secs(12));
    let marks = [host.mark(), guest.mark()];
    [&host, &guest].into_iter().for_each(|participant| signal(participant, Signal::CONT));
    let opened = guest.wait_for("model_opened", |_| true);
    check_file(&mut guest, &opened, &bytes);
    // Nobody was judged by a silence that was everybody's.
    for (participant, mark) in [&host, &guest].into_iter().zip(marks) {
        let told = participant.events()[mark..].to_vec();
        let judged = ["participant_left", "participant_state", "connection_lost", "left"];
        let judged: Vec<_> = told.iter().filter(|e| judged.iter().any(|name| e["event"] == *name)).collect();
        assert!(judged.is_empty(), "{judged:?}");
    }
}

/// Failure mode 13: both sides send models at once through small sockets.
#[test]
fn both_sides_send_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, our_bytes) = large(folder.path(), "ours.glb", 6);
    let (theirs, their_bytes) = large(folder.path(), "the other.glb", 6);
    for window in ["auto", "8192", "none"] {
        let more = ["--window", window, "--step", "2048"];
        let (mut host, port) = Participant::host(&more);
        let mut guest = Participant::join(port, &more);
        let at_host = host.does(json!({ "command": "open", "path": ours }))["model_id"].clone();
        let at_guest = guest.does(json!({ "command": "open", "path": theirs }))["model_id"].clone();
        let opened = guest.wait_for("model_opened", |e| e["model_id"] == at_host);
        check_file(&mut guest, &opened, &our_bytes);
        let opened = host.wait_for("model_opened", |e| e["model_id"] == at_guest);
        check_file(&mut host, &opened, &their_bytes);
        guest.does(json!({ "command": "stats" }));
        let stats = guest.wait_for("stats", |_| true);
        assert_eq!(stats["peers"][0]["step_bytes"], json!(2048), "{window}");
        if window == "8192" {
            assert_eq!(stats["peers"][0]["window_bytes"], json!(8192));
        }
    }
}

/// Failure mode 15: whoever sends closes the model, or leaves, at half of it.
#[test]
fn a_sender_that_stops_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = large(folder.path(), "large.glb", 8);
    let (mut host, port) = Participant::host(&["--pace", "20"]);
    let mut guest = Participant::join(port, &[]);
    let id = host.does(json!({ "command": "open", "path": path }))["model_id"].clone();
    guest.wait_for("model_progress", |e| progress(e) > 200_000);
    host.does(json!({ "command": "close", "model_id": id }));
    guest.wait_for("model_closed", |e| e["model_id"] == id);
    std::thread::sleep(Duration::from_millis(300));
    let before = received_bytes(&mut guest);
    std::thread::sleep(Duration::from_millis(500));
    let after = received_bytes(&mut guest);
    assert!(after - before < 20_000, "{} bytes of a closed model", after - before);
    let mark = guest.mark();
    host.does(json!({ "command": "open", "path": path }));
    guest.wait_after(mark, "model_progress", |e| progress(e) > 200_000);
    host.does(json!({ "command": "leave" }));
    guest.wait_for("left", |_| true);
    assert_eq!(guest.exit_code(), Some(0));
}

/// Failure mode 10: more than was allowed, over a real socket.
#[test]
fn who_exceeds_a_window_is_cut_alone() {
    let (mut host, port) = Participant::host(&[]);
    let guest = Participant::join(port, &[]);
    let version = Message::Version(Version {
        version: Some("17".into()),
        ext: Some(1),
        id: Some("7777aaaa7777aaaa".into()),
        methods: Some("raw".into()),
        ..Default::default()
    });
    let mut bad = RawPeer::join(port, &version);
    let offer = convene::wire::message::Offer {
        model_id: "bad".into(),
        bytes: 64 << 20,
        content: "00".repeat(32),
        shown: true,
        representations: vec![convene::wire::message::Representation {
            method: "raw".into(),
            version: 1,
            ..Default::default()
        }],
        ..Default::default()
    };
    bad.send(&Message::Offer(offer));
    let Message::Want(want) = bad.wait_for_type(0x44) else { panic!("no want") };
    host.wait_for("model_offered", |e| e["model_id"] == "bad");
    guest.wait_for("model_offered", |e| e["model_id"] == "bad");
    let mut frame = bytes::BytesMut::new();
    for n in 0..100u64 {
        bulk::put_data_head(&mut frame, want.channel, n * 200_000, 200_000);
        frame.extend_from_slice(&[0; 200_000]);
    }
    bad.try_bytes(&frame);
    let fault = host.wait_for("peer_fault", |_| true);
    println!("{fault}");
    bad.until_closed();
    guest.wait_for("model_closed", |e| e["model_id"] == "bad");
    let start = Instant::now();
    host.does(json!({ "command": "stats" }));
    assert!(start.elapsed() < Duration::from_secs(5));
    wait_until("only the guest is left", || {
        let mark = host.mark();
        host.does(json!({ "command": "stats" }));
        host.wait_after(mark, "stats", |_| true)["peers"].as_array().unwrap().len() == 1
    });
}

/// Sends a channel's stream as far as credit goes; whether all of it went.
fn say_stream(peer: &mut RawPeer, channel: u16, stream: &[u8]) -> bool {
    let (mut sent, mut allowed) = (0, 0);
    while sent < stream.len() {
        let to = allowed.min(stream.len());
        if to > sent {
            let mut frame = bytes::BytesMut::new();
            bulk::put_data_head(&mut frame, channel, sent as u64, to - sent);
            frame.extend_from_slice(&stream[sent..to]);
            if !peer.try_bytes(&frame) {
                return false;
            }
            sent = to;
            continue;
        }
        let Some(frame) = peer.next_within(Duration::from_secs(20)) else { return false };
        if let Frame::Message(payload) = frame
            && let Some((of, max)) = bulk::decode_credit(&payload)
            && of == channel
        {
            allowed = allowed.max(usize::try_from(max).unwrap());
        }
    }
    true
}

/// The most memory that a process has had, MiB.
#[cfg(target_os = "linux")]
fn peak_mib(participant: &Participant) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", participant.process_id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1024.0
}

/// Failure mode 22: chunks of parts that would become a thousand times what was
/// offered. Each costs its model, and nobody any memory.
#[cfg(all(target_os = "linux", not(target_os = "android")))]
#[test]
fn bombs_in_parts_cost_their_model_alone() {
    let (mut host, port) = Participant::host(&[]);
    let good = Participant::join(port, &[]);
    let file = bytes::Bytes::from(sheet::sheet(60));
    let plan = Plan::new(&file).unwrap();
    let (head, part) = (
        plan.encode(0, Encoding::Fast, NORMAL_BITS).unwrap(),
        plan.encode(1, Encoding::Fast, NORMAL_BITS).unwrap(),
    );
    let zeros = zstd::bulk::compress(&vec![0; 256 << 20], 1).unwrap();
    assert!(zeros.len() < 64 << 10);
    let word = |number: usize| (number as u32).to_le_bytes();
    let with_bomb = |start: &[u8]| [start, &zeros].concat();
    // A part's description, then what it should be; a head of brackets; a rest.
    let inside = with_bomb(&part.bytes[..60]);
    let large = 4 << 20;
    let mut many = part.bytes.clone();
    // A million vertices and triangles, which nothing backs.
    many[12..16].copy_from_slice(&word(1 << 20));
    many[16..20].copy_from_slice(&word(1 << 20));
    let brackets = zstd::bulk::compress(&vec![b'['; large], 1).unwrap();
    let json = [&[0, 0, 0, 0][..], &word(large), &word(0), &word(1), &brackets].concat();
    let rest = with_bomb(&[&[1, 1, 0, 0][..], &word(1 << 20)].concat());
    let chunk = |index: u32, decoded: usize, bytes: &[u8]| {
        let chunk = Chunk::packed(index, Method::Mesh, decoded, bytes::Bytes::copy_from_slice(bytes));
        [&chunk.header.encode()[..], bytes].concat()
    };
    let honest = chunk(0, head.decoded_bytes, &head.bytes);
    let streams = [
        ("a part", [honest.clone(), chunk(1, part.decoded_bytes, &inside)].concat()),
        ("many vertices", [honest.clone(), chunk(1, part.decoded_bytes, &many)].concat()),
        ("brackets", [chunk(0, large, &json), chunk(1, part.decoded_bytes, &part.bytes)].concat()),
        ("a rest", [honest, chunk(1, 1 << 20, &rest)].concat()),
    ];
    let before = peak_mib(&host);
    for (number, (what, stream)) in streams.into_iter().enumerate() {
        let id = format!("b0b0aaaa0000000{number}");
        let version = Message::Version(Version {
            version: Some("17".into()),
            ext: Some(1),
            id: Some(id),
            methods: Some("mesh,raw".into()),
            ..Default::default()
        });
        let mut bad = RawPeer::join(port, &version);
        let model_id = format!("bomb{number}");
        bad.send(&Message::Offer(Offer {
            model_id: model_id.clone(),
            model_name: "bomb.glb".into(),
            scale: 1.0,
            bytes: 2 << 20,
            content: format!("{number:02x}").repeat(32),
            shown: true,
            representations: vec![Representation {
                method: "mesh".into(),
                version: 1,
                chunks: 2,
                ..Default::default()
            }],
            ..Default::default()
        }));
        let Message::Want(want) = bad.wait_for_type(0x44) else { panic!("no want") };
        say_stream(&mut bad, want.channel, &stream);
        let failed = host.wait_for("model_failed", |e| e["model_id"] == *model_id);
        println!("{what}: {}", failed["error"]);
        assert!(failed["error"].as_str().unwrap().contains("parts cannot be read"), "{what}: {failed}");
        // A part that was passed on fails there by itself.
        let gone = |e: &Value| {
            e["model_id"] == *model_id && matches!(e["event"].as_str(), Some("model_closed" | "model_failed"))
        };
        wait_until("the others are rid of it", || good.events().iter().any(gone));
    }
    let grown = peak_mib(&host) - before;
    assert!(grown < 64.0, "{grown} MiB, where 256 would have been");
    host.does(json!({ "command": "leave" }));
    assert_eq!(host.exit_code(), Some(0));
}
