//! The command line as other programs and people at terminals meet it: help,
//! completions, manual pages, exit codes, and what is written where.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

#[path = "common/process.rs"]
mod process;

use std::{
    fs,
    io::Read,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use process::{HERE, convene, run, thread};

fn file(folder: &Path, name: &str, bytes: usize) -> String {
    let path = folder.join(name);
    fs::write(&path, vec![7; bytes]).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A receiver that takes so many files, slowly if asked, and says how many bytes
/// came with each.
fn receiver(files: usize, pause: Duration) -> (SocketAddr, mpsc::Receiver<usize>) {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, heard) = mpsc::sync_channel(files);
    thread(move || {
        for _ in 0..files {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut bytes, mut buffer) = (0, vec![0; 64 << 10]);
            while let Ok(n @ 1..) = stream.read(&mut buffer) {
                bytes += n;
                std::thread::sleep(pause);
            }
            tell.send(bytes).unwrap();
        }
    });
    (address, heard)
}

const COMMANDS: [&str; 8] = ["host", "join", "demo", "send", "check", "pack", "completions", "man"];

#[test]
fn help_goes_to_standard_output_without_colours() {
    for arguments in [&["--help"][..], &["-h"], &["help"], &["join", "--help"], &["help", "send"]] {
        let (code, output, errors) = run(arguments);
        assert_eq!((code, errors.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(output.contains("Examples:") && output.contains("Usage: convene"), "{output}");
        assert!(!output.contains('\x1b'), "{output:?}");
    }
    let (_, output, _) = run(&["--help"]);
    assert!(COMMANDS.iter().all(|command| output.contains(&format!("  {command} "))), "{output}");
    for heading in ["Meeting:", "Models:", "Files:", "Headless:", "Output:", "Exit codes:", "Environment:"] {
        assert!(output.lines().any(|line| line == heading), "{heading} {output}");
    }
    let (code, output, _) = run(&["--version"]);
    assert!(code == Some(0) && output.starts_with("convene "), "{output}");
}

#[test]
fn wrong_usage_is_2_and_says_what_is_right() {
    for (arguments, expected) in [
        (&["join"][..], "192.168.1.20:5000 or lab-pc.local"),
        (&["jion", "10.0.0.1"], "'join'"),
        (&["host", "--headles"], "'--headless'"),
        (&["host", "--log", "nonsense"], "possible values: off, error, warn"),
        (&["host", "--pace", "abc"], "a number of Mbit/s"),
        (&["host", "--name", &"x".repeat(41)], "41 characters"),
        (&["completions", "tcsh"], "possible values: bash"),
        (&["check"], "<FILE>..."),
    ] {
        let (code, output, errors) = run(arguments);
        assert_eq!((code, output.as_str()), (Some(2), ""), "{arguments:?} {errors}");
        assert!(errors.starts_with("error: ") && errors.contains(expected), "{expected}: {errors}");
        assert!(!errors.contains('\x1b') && !errors.contains("panicked"), "{errors:?}");
    }
}

#[test]
fn completions_and_manual_pages() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (code, output, errors) = run(&["completions", shell]);
        assert_eq!((code, errors.as_str()), (Some(0), ""), "{shell}");
        let option = if shell == "fish" { "-l headless" } else { "--headless" };
        assert!(output.contains(option) && output.contains("join"), "{shell}: {output}");
    }
    let (code, page, _) = run(&["man"]);
    assert!(code == Some(0) && page.contains(".SH EXAMPLES"), "{page}");

    let own = tempfile::tempdir().unwrap();
    let folder = own.path().join("share/man1");
    let (code, output, _) = run(&["man", "--dir", folder.to_str().unwrap()]);
    assert_eq!((code, output.lines().count()), (Some(0), 1 + COMMANDS.len()), "{output}");
    assert_eq!(fs::read_to_string(folder.join("convene.1")).unwrap(), page);
    for command in COMMANDS {
        let page = fs::read_to_string(folder.join(format!("convene-{command}.1"))).unwrap();
        assert!(page.contains(&format!("convene {command}")) && page.contains(".SH EXAMPLES"), "{page}");
    }
    let in_the_way = file(own.path(), "a file", 1);
    let (code, _, errors) = run(&["man", "--dir", &in_the_way]);
    assert!(code == Some(1) && errors.contains("a file cannot be made"), "{code:?} {errors}");
    read_with_man(&folder.join("convene-send.1"));
}

/// Whether `man` understands it, where there is one.
fn read_with_man(page: &Path) {
    let read = Command::new("man")
        .args(["--warnings", "-l"])
        .arg(page)
        .env("MANWIDTH", "100")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output();
    match read {
        Ok(read) if read.status.success() => {
            let text = String::from_utf8_lossy(&read.stdout);
            assert!(text.contains("EXAMPLES") && text.contains("EXIT STATUS"), "{text}");
            assert_eq!(String::from_utf8_lossy(&read.stderr), "");
        }
        _ => println!("there is no man here that reads a file: skipped"),
    }
}

#[test]
fn sending_without_a_terminal_is_a_line_for_each_file() {
    let own = tempfile::tempdir().unwrap();
    let (a, b) = (file(own.path(), "a.glb", 3_000_000), file(own.path(), "b.glb", 10));
    let missing = own.path().join("missing.glb").to_str().unwrap().to_owned();
    let (address, heard) = receiver(2, Duration::ZERO);
    let (code, output, errors) = run(&["send", &address.to_string(), &a, &missing, &b]);
    assert_eq!(code, Some(1));
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("a.glb sent: 3.0 MB in "), "{output}");
    assert!(lines[1].starts_with("b.glb sent: 0.0 MB in "), "{output}");
    let expected = "convene: missing.glb was not sent: It cannot be read: there is no such file. \
                    Check the name and the folder.\n";
    assert_eq!(errors, expected);
    assert!(heard.recv().unwrap() > 3_000_000);
    assert!(heard.recv().unwrap() > 10);
}

#[test]
fn reports_and_logs_have_no_colours_in_pipes() {
    let own = tempfile::tempdir().unwrap();
    let bad = file(own.path(), "bad.glb", 10);
    let (code, output, _) = run(&["check", &bad, &bad]);
    assert!(code == Some(1) && output.contains("bad.glb: cannot be shown"), "{output}");
    assert!(
        output.ends_with("2 files: 0 can be shown, 2 cannot\n") && !output.contains('\x1b'),
        "{output:?}"
    );

    let mut command = convene(&["join", &format!("{HERE}:1"), "--headless", "--log", "trace", "--settings"]);
    let output = command.arg(own.path().join("settings.json")).stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(!errors.contains('\x1b'), "{errors:?}");
}

/// What it writes on a terminal of 100 columns: exit code and everything that
/// came, or nothing where `script` is not there to make the terminal.
#[cfg(target_os = "linux")]
fn on_a_terminal(arguments: &[&str], environment: &[(&str, &str)]) -> Option<(Option<i32>, String)> {
    let mut line = format!("stty cols 100; exec {}", quoted(env!("CARGO_BIN_EXE_convene")));
    for argument in arguments {
        line = format!("{line} {}", quoted(argument));
    }
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command", &line, "/dev/null"])
        .env_remove("RUST_LOG")
        .env_remove("NO_COLOR")
        // Where it is set any terminal is taken for one of colours.
        .env_remove("CI")
        .env("TERM", "xterm")
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) => Some((output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())),
        Err(error) => {
            println!("there is no `script` here ({error}): skipped");
            None
        }
    }
}

#[cfg(target_os = "linux")]
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(target_os = "linux")]
#[test]
fn colours_on_a_terminal_unless_they_are_unwanted() {
    let own = tempfile::tempdir().unwrap();
    let bad = file(own.path(), "bad.glb", 10);
    for arguments in [&["check", bad.as_str()][..], &["--help"], &["join"]] {
        for (environment, coloured) in [
            (&[][..], true),
            (&[("NO_COLOR", "")], true),
            (&[("NO_COLOR", "1")], false),
            (&[("TERM", "dumb")], false),
        ] {
            let Some((_, text)) = on_a_terminal(arguments, environment) else { return };
            assert_eq!(text.contains('\x1b'), coloured, "{arguments:?} {environment:?} {text:?}");
        }
    }
    let Some((_, text)) = on_a_terminal(&["check", "--json", &bad], &[]) else { return };
    assert!(!text.contains('\x1b'), "{text:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn bars_on_a_terminal() {
    let own = tempfile::tempdir().unwrap();
    let long = format!("{}.glb", "a long name ".repeat(5).trim_end());
    let files = [file(own.path(), &long, 12_000_000), file(own.path(), "b.glb", 3_000_000)];
    let missing: PathBuf = own.path().join("missing.glb");
    for (environment, bars, colours) in
        [(&[][..], true, true), (&[("NO_COLOR", "1")], true, false), (&[("TERM", "dumb")], false, false)]
    {
        // Long enough for a rate where it is looked for.
        let slow = bars && colours;
        let (address, heard) = receiver(2, Duration::from_millis(if slow { 12 } else { 0 }));
        let address = address.to_string();
        let arguments = ["send", &address, &files[0], missing.to_str().unwrap(), &files[1]];
        let Some((code, text)) = on_a_terminal(&arguments, environment) else { return };
        assert_eq!(code, Some(1), "{text:?}");
        assert!(heard.recv().unwrap() > 12_000_000 && heard.recv().unwrap() > 3_000_000);
        assert!(text.contains(&format!("{long} sent: 12.0 MB in ")), "{text:?}");
        assert!(text.contains("convene: missing.glb was not sent: "), "{text:?}");
        assert_eq!(text.contains("a long na…"), bars, "{text:?}");
        assert_eq!(text.contains("a long name") && text.contains(" % ["), bars, "{text:?}");
        assert_eq!(text.contains("all 3 files") && text.contains(" of 15.0 MB"), bars, "{text:?}");
        assert!(!slow || text.contains(" MB/s  ") && text.contains(" s left"), "{text:?}");
        assert_eq!(text.contains("\x1b[36m"), colours, "{text:?}");
        assert!(bars || !text.contains('\x1b'), "{text:?}");
    }
}

/// As Ctrl-C does.
#[cfg(unix)]
#[test]
fn stopping_it_is_a_failure_that_is_told() {
    let own = tempfile::tempdir().unwrap();
    let (a, b) = (file(own.path(), "a.glb", 30_000_000), file(own.path(), "b.glb", 10));
    // Takes the connection and then nothing.
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let child = convene(&["send", &address, &a, &b])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _stream = listener.accept().unwrap();
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors, "convene: stopped: a.glb was not sent whole, nor the file after it.\n");
}
