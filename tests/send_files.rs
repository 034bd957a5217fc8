//! Pushed files, from `convene send` and from whoever speaks the format, to a
//! participant that takes them; and `convene check`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

#[allow(dead_code, reason = "shared with other tests")]
#[path = "common/glb.rs"]
mod glb;
#[path = "common/process.rs"]
mod process;

use std::{
    fs,
    io::Write,
    net::{Shutdown, TcpListener, TcpStream},
    path::Path,
};

use convene::wire::file_push;
use process::{HERE, Participant, run, shared, thread, wait_until};
use serde_json::{Value, json};

/// A participant that takes files into a folder of its own.
struct Receiver {
    participant: Participant,
    folder: tempfile::TempDir,
    port: u16,
}

impl Receiver {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let participant = Participant::start(&[
            "--bind",
            HERE,
            "--receive-files=0",
            "--files",
            folder.path().to_str().unwrap(),
        ]);
        let port = participant.wait_for("receiving_files", |_| true)["port"].as_u64().unwrap();
        Self { participant, folder, port: port.try_into().unwrap() }
    }

    fn address(&self) -> String {
        format!("{HERE}:{}", self.port)
    }

    fn send(&self, file: &Path) -> (Option<i32>, String, String) {
        run(&["send", &self.address(), file.to_str().unwrap()])
    }

    /// Sends these bytes as they are, then closes; the next event of that name.
    fn push(&self, bytes: &[u8], event: &str) -> Value {
        let mark = self.participant.mark();
        let mut stream = TcpStream::connect((HERE, self.port)).unwrap();
        // It may be refused before all is sent.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        self.participant.wait_after(mark, event, |_| true)
    }

    fn names(&self) -> Vec<String> {
        let entries = self.folder.path().read_dir().unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| name != ".received.json");
        names.sort();
        names
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

fn pushed(name: &str, text: &str) -> Vec<u8> {
    let mut bytes = file_push::encode_head(name, text.len() as u64).unwrap();
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

#[test]
fn a_file_arrives_unchanged() {
    let own = tempfile::tempdir().unwrap();
    let file = shared("models/surface885k.glb").unwrap_or_else(|| {
        let file = own.path().join("surface885k.glb");
        fs::write(&file, glb::Glb::quad().build()).unwrap();
        file
    });
    let receiver = Receiver::start();
    let (code, output, errors) = receiver.send(&file);
    assert!(code == Some(0) && output.contains("surface885k.glb sent"), "{output} {errors}");
    let received = receiver.participant.wait_for("file_received", |_| true);
    let there = receiver.folder.path().join("surface885k.glb");
    assert_eq!((&received["path"], &received["name"]), (&json!(there), &json!("surface885k.glb")));
    assert_eq!(received["bytes"], fs::metadata(&file).unwrap().len());
    assert!(fs::read(&file).unwrap() == fs::read(&there).unwrap(), "the copy differs");
    assert_eq!(receiver.names(), ["surface885k.glb"]);
}

#[test]
fn pushes_replace_pushes_and_nothing_else() {
    let own = tempfile::tempdir().unwrap();
    let file = own.path().join("a.glb");
    let mut receiver = Receiver::start();
    for text in ["one", "two", "three"] {
        fs::write(&file, text).unwrap();
        let (code, _, errors) = receiver.send(&file);
        assert_eq!(code, Some(0), "{errors}");
    }
    wait_until("three files", || {
        receiver.participant.events().iter().filter(|e| e["event"] == "file_received").count() == 3
    });
    assert_eq!(receiver.names(), ["a (previous).glb", "a.glb"]);
    assert_eq!((receiver.text("a.glb"), receiver.text("a (previous).glb")), ("three".into(), "two".into()));

    fs::write(receiver.folder.path().join("mine.glb"), "mine").unwrap();
    let received = receiver.push(&pushed("mine.glb", "pushed"), "file_received");
    assert_eq!(received["name"], "mine 2.glb");
    assert_eq!((receiver.text("mine.glb"), receiver.text("mine 2.glb")), ("mine".into(), "pushed".into()));

    // Names out of the folder lose their folder, others are refused.
    for (name, stored) in [
        ("../up.glb", "up.glb"),
        ("/tmp/absolute.glb", "absolute.glb"),
        ("..\\..\\windows.glb", "windows.glb"),
        ("sub/protéine β 蛋.gltf", "protéine β 蛋.gltf"),
        ("empty.glb", "empty.glb"),
    ] {
        let text = if name == "empty.glb" { "" } else { "text" };
        let received = receiver.push(&pushed(name, text), "file_received");
        assert_eq!(received["name"], stored, "{name}");
        assert_eq!(receiver.text(stored), text);
        let parent = receiver.folder.path().parent().unwrap();
        assert!(!parent.join("up.glb").exists() && !Path::new("/tmp/absolute.glb").exists());
    }
    let before = receiver.names();
    let mut short = pushed("short.glb", "text");
    short.pop();
    let mut long = pushed("long.glb", "text");
    long.push(b'x');
    let mut no_length = pushed("none.glb", "");
    no_length.truncate(20);
    let mut negative = file_push::encode_head("n.glb", 0).unwrap();
    negative.truncate(negative.len() - 4);
    negative.extend_from_slice(&(-1i32).to_le_bytes());
    let mut huge = file_push::encode_head("h.glb", 0).unwrap();
    huge.truncate(huge.len() - 4);
    huge.extend_from_slice(&i32::MAX.to_le_bytes());
    for (bytes, expected) in [
        (pushed("program.exe", "text"), ".glb"),
        (pushed("..", "text"), ".glb"),
        (pushed(".glb", "text"), "nothing before the dot"),
        (pushed(".hidden.glb", "text"), "begins with a dot"),
        (pushed("con.glb", "text"), "device"),
        (pushed(&format!("{}.glb", "x".repeat(300)), "text"), "longer than"),
        (pushed("", "text"), "0 bytes"),
        (short, "after 3 of 4 bytes"),
        (long, "more bytes"),
        (no_length, "before the file began"),
        (negative, "-1 bytes"),
        (huge, "the limit is"),
        (b"HTTP/1.1 GET /".to_vec(), "not a pushed file"),
        (b"".to_vec(), "before the file began"),
    ] {
        let error = receiver.push(&bytes, "error");
        assert!(error["message"].as_str().unwrap().contains(expected), "{expected}: {error}");
    }
    assert_eq!(receiver.names(), before);
    // All this was one participant's day.
    receiver.participant.does(json!({ "command": "stats" }));
    assert!(!receiver.participant.errors().contains("panicked"));
}

#[test]
fn silent_senders_keep_nobody_out_and_several_send_at_once() {
    let receiver = Receiver::start();
    let mut silent: Vec<TcpStream> = Vec::new();
    for n in 0..20 {
        let mut stream = TcpStream::connect((HERE, receiver.port)).unwrap();
        // Some stop amid the file.
        if n % 2 == 0 {
            let _ = stream.write_all(&file_push::encode_head(&format!("silent{n}.glb"), 1000).unwrap());
        }
        silent.push(stream);
        if n == 10 {
            // Fewer than there may be.
            receiver.push(&pushed("first.glb", "text"), "file_received");
        }
    }
    // More than there may be: those that have been silent for longest give way.
    wait_until("a place", || {
        let mark = receiver.participant.mark();
        let mut stream = TcpStream::connect((HERE, receiver.port)).unwrap();
        let sent = stream.write_all(&pushed("second.glb", "text")).is_ok();
        let _ = stream.shutdown(Shutdown::Write);
        // Closed by the other side, either way.
        let _ = std::io::Read::read(&mut stream, &mut [0]);
        drop(stream);
        let _ = mark;
        sent && receiver.names().contains(&"second.glb".to_owned())
    });
    drop(silent);

    let big = "x".repeat(3 << 20);
    let senders: Vec<_> = (0..6)
        .map(|n| {
            let (bytes, port) = (pushed(&format!("at once {n}.glb"), &big), receiver.port);
            thread(move || {
                let mut stream = TcpStream::connect((HERE, port)).unwrap();
                for piece in bytes.chunks(100_000) {
                    stream.write_all(piece).unwrap();
                }
                stream.shutdown(Shutdown::Write).unwrap();
                let _ = std::io::Read::read(&mut stream, &mut [0]);
            })
        })
        .collect();
    senders.into_iter().for_each(|s| s.join().unwrap());
    for n in 0..6 {
        let name = format!("at once {n}.glb");
        receiver.participant.wait_for("file_received", |e| e["name"] == name);
        assert_eq!(receiver.text(&name).len(), big.len());
    }
    // Nothing half is left.
    wait_until("no half files", || !receiver.names().iter().any(|n| n.starts_with(".incoming")));
}

#[test]
fn folders_that_cannot_be_used_are_told() {
    let own = tempfile::tempdir().unwrap();
    let file = own.path().join("a file");
    fs::write(&file, "").unwrap();
    let mut folders = vec![file.clone(), file.join("below")];
    if cfg!(target_os = "linux") {
        // Read-only for everybody.
        folders.push("/proc/self".into());
    }
    for folder in folders {
        let folder = folder.to_str().unwrap();
        let mut host = Participant::start(&[
            "host",
            "--port",
            "0",
            "--bind",
            HERE,
            "--receive-files=0",
            "--files",
            folder,
        ]);
        let error = host.wait_for("error", |_| true);
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("folder for received files cannot be used") && message.contains("--files"),
            "{message}"
        );
        assert_eq!(host.exit_code(), Some(1));
        assert!(!host.errors().contains("panicked"), "{}", host.errors());
    }
    // The port is somebody else's.
    let taken = TcpListener::bind((HERE, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let option = format!("--receive-files={port}");
    let mut host = Participant::start(&[
        "host",
        "--port",
        "0",
        "--bind",
        HERE,
        &option,
        "--files",
        own.path().to_str().unwrap(),
    ]);
    let error = host.wait_for("error", |_| true);
    assert!(error["message"].as_str().unwrap().contains(&format!("Port {port} is in use")), "{error}");
    assert_eq!(host.exit_code(), Some(1));
}

#[test]
fn what_cannot_be_sent_is_told() {
    let own = tempfile::tempdir().unwrap();
    let path = |name: &str| own.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("a.glb"), "text").unwrap();
    fs::write(path("a.txt"), "text").unwrap();
    fs::create_dir(path("folder.glb")).unwrap();
    let receiver = Receiver::start();
    let free = TcpListener::bind((HERE, 0)).unwrap().local_addr().unwrap().port();
    for (address, file, expected) in [
        (format!("{HERE}:{free}"), path("a.glb"), "nobody takes files there"),
        ("no-such-host.invalid".to_owned(), path("a.glb"), "is not known"),
        ("1.2.3".to_owned(), path("a.glb"), "is no address"),
        (receiver.address(), path("missing.glb"), "cannot be read"),
        (receiver.address(), path("folder.glb"), "cannot be read"),
        (receiver.address(), path("a.txt"), ".glb"),
    ] {
        let (code, output, errors) = run(&["send", &address, &file]);
        assert!(code == Some(1) && errors.contains(expected), "{expected}: {code:?} {errors}");
        assert!(
            output.is_empty() && errors.contains("was not sent") && !errors.contains("panicked"),
            "{errors}"
        );
    }
    // One that cannot be sent stops no other.
    let (code, output, _) = run(&["send", &receiver.address(), &path("missing.glb"), &path("a.glb")]);
    assert!(code == Some(1) && output.contains("a.glb sent"), "{output}");
    receiver.participant.wait_for("file_received", |e| e["name"] == "a.glb");
}

#[test]
fn files_are_checked() {
    let own = tempfile::tempdir().unwrap();
    let path = |name: &str| own.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("good.glb"), glb::Glb::quad().build()).unwrap();
    fs::write(path("bad.glb"), "this is no GLB").unwrap();
    let (code, output, errors) = run(&["check", &path("good.glb")]);
    assert!(code == Some(0) && output.contains("good.glb"), "{output} {errors}");
    let (code, output, _) =
        run(&["check", &path("good.glb"), &path("bad.glb"), &path("missing.glb"), "--json"]);
    assert_eq!(code, Some(1));
    let lines: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ok: Vec<bool> = lines.iter().map(|line| line["ok"].as_bool().unwrap()).collect();
    assert_eq!(ok, [true, false, false], "{output}");
    assert_eq!((&lines[0]["triangles"], &lines[0]["vertices"]), (&json!(2), &json!(4)));
    assert!(lines[1]["error"].is_string() && lines[2]["error"].is_string(), "{output}");
}

/// Whoever reads the report may stop: no panic.
#[cfg(unix)]
#[test]
fn a_report_that_nobody_reads_is_no_panic() {
    let mut child = process::convene(&["check", "--json", "missing.glb"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && !errors.contains("panicked"), "{:?} {errors}", output.status);
}
