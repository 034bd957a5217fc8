//! The arrows between the layers, checked against what the sources say: which
//! module names which, and what of the system each may touch.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Each module of the crate and those that it may name besides itself.
///
/// `main -> lib -> platform -> app -> {net, workers, model} -> {gestures -> session, transfer} -> {mesh, wire}`,
/// `headless -> {net, workers, model}`; the small modules of layer 1 help each other.
const ARROWS: &[(&str, &[&str])] = &[
    // Layer 0: pure.
    ("wire", &[]),
    ("mesh", &[]),
    ("transfer", &["mesh", "wire"]),
    ("session", &["mesh", "transfer", "wire"]),
    ("gestures", &["session"]),
    // Layer 1: threads and heavy work.
    ("threads", &[]),
    ("logbook", &[]),
    ("workers", &["threads"]),
    ("files", &[]),
    ("model", &["mesh", "threads"]),
    ("store", &["transfer"]),
    ("net", &["files", "mesh", "notice", "session", "store", "threads", "transfer", "wire"]),
    ("notice", &["net", "opening", "session"]),
    ("settings", &["notice", "session", "threads", "wire"]),
    ("opening", &["mesh", "model", "notice", "session", "settings", "threads"]),
    ("motion", &["session"]),
    ("crash", &["logbook", "notice", "threads"]),
    ("cli", &["transfer", "wire"]),
    ("demo", LAYER_1),
    ("headless", LAYER_1),
    // Layer 2 and the edges.
    ("app", LAYER_1),
    ("platform", LAYER_1_AND_APP),
    ("android", EVERYTHING),
    ("lib", EVERYTHING),
    ("main", EVERYTHING),
];
const LAYER_1: &[&str] = &[
    "crash", "demo", "files", "gestures", "logbook", "mesh", "model", "motion", "net", "notice", "opening",
    "session", "settings", "store", "threads", "transfer", "wire", "workers",
];
const LAYER_1_AND_APP: &[&str] = &[
    "app", "crash", "demo", "files", "gestures", "logbook", "mesh", "model", "motion", "net", "notice",
    "opening", "session", "settings", "store", "threads", "transfer", "wire", "workers",
];
const EVERYTHING: &[&str] = &[
    "android", "app", "cli", "crash", "demo", "files", "gestures", "headless", "logbook", "mesh", "model",
    "motion", "net", "notice", "opening", "platform", "session", "settings", "store", "threads", "transfer",
    "wire", "workers",
];

/// Paths that a layer may not name, as prefixes.
const PURE_BANS: &[&str] =
    &["std::net", "std::thread", "std::fs", "std::time::Instant", "std::time::SystemTime"];
const SCREEN_BANS: &[&str] = &["std::net", "std::fs", "mio", "socket2"];
/// Numbers to be shown; no socket can be opened with them alone.
const ADDRESSES: &[&str] =
    &["std::net::IpAddr", "std::net::Ipv4Addr", "std::net::Ipv6Addr", "std::net::SocketAddr"];
const BEVY: &[&str] = &["bevy", "winit"];

/// More lines than this are too many; more than [`MANY_LINES`] are listed.
const TOO_MANY_LINES: usize = 800;
const MANY_LINES: usize = 500;

fn bans(module: &str) -> Vec<&'static str> {
    let mut bans = Vec::new();
    match module {
        "wire" | "mesh" | "session" | "transfer" | "gestures" => bans.extend(PURE_BANS),
        "app" | "platform" => bans.extend(SCREEN_BANS),
        _ => {}
    }
    if !matches!(module, "app" | "platform" | "lib" | "main") {
        bans.extend(BEVY);
    }
    bans
}

/// The code: without comments, texts, characters and the tests at the end.
fn code_of(source: &str) -> String {
    let source = source.split("\n#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let bytes: Vec<char> = source.chars().collect();
    let at = |i: usize| bytes.get(i).copied().unwrap_or('\0');
    let (mut code, mut i) = (String::new(), 0);
    while i < bytes.len() {
        match at(i) {
            '/' if at(i + 1) == '/' => {
                while i < bytes.len() && at(i) != '\n' {
                    i += 1;
                }
            }
            '/' if at(i + 1) == '*' => {
                i += 2;
                while i < bytes.len() && !(at(i) == '*' && at(i + 1) == '/') {
                    i += 1;
                }
                i += 2;
            }
            'r' if (at(i + 1) == '"' || (at(i + 1) == '#' && matches!(at(i + 2), '"' | '#')))
                && !is_word(at(i.wrapping_sub(1))) =>
            {
                let hashes = (i + 1..).take_while(|&k| at(k) == '#').count();
                i += 2 + hashes;
                while i < bytes.len() && !(at(i) == '"' && (1..=hashes).all(|k| at(i + k) == '#')) {
                    i += 1;
                }
                i += 1 + hashes;
                code.push_str("\"\"");
            }
            '"' => {
                i += 1;
                while i < bytes.len() && at(i) != '"' {
                    i += if at(i) == '\\' { 2 } else { 1 };
                }
                i += 1;
                code.push_str("\"\"");
            }
            // A character, not a lifetime.
            '\'' if at(i + 1) == '\\' || at(i + 2) == '\'' => {
                i += if at(i + 1) == '\\' { 3 } else { 2 };
                while i < bytes.len() && at(i) != '\'' {
                    i += 1;
                }
                i += 1;
            }
            c => {
                code.push(c);
                i += 1;
            }
        }
    }
    code
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Every path that the code names, groups in braces taken apart:
/// `use a::{b, c::d}` names `a::b` and `a::c::d`.
fn paths_of(code: &str) -> BTreeSet<String> {
    let words: Vec<&str> = {
        let mut words = Vec::new();
        let mut rest = code.trim_start();
        while let Some(first) = rest.chars().next() {
            let length = if is_word(first) {
                rest.find(|c| !is_word(c)).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            words.push(&rest[..length]);
            rest = rest[length..].trim_start();
        }
        words
    };
    let mut paths = BTreeSet::new();
    let mut at = 0;
    while at < words.len() {
        if words[at].starts_with(is_word) {
            read_path(&words, &mut at, "", &mut paths);
        } else {
            at += 1;
        }
    }
    paths
}

fn read_path(words: &[&str], at: &mut usize, before: &str, paths: &mut BTreeSet<String>) {
    let mut path = before.to_owned();
    while let Some(word) = words.get(*at).filter(|word| word.starts_with(is_word) || **word == "*") {
        path = if path.is_empty() { (*word).to_owned() } else { format!("{path}::{word}") };
        *at += 1;
        if words.get(*at) != Some(&"::") {
            break;
        }
        *at += 1;
        if words.get(*at) == Some(&"{") {
            *at += 1;
            while words.get(*at).is_some_and(|word| *word != "}") {
                if words[*at].starts_with(is_word) {
                    read_path(words, at, &path, paths);
                } else {
                    *at += 1;
                }
            }
            *at += 1;
            break;
        }
    }
    paths.insert(path);
}

/// What a module's source does against the arrows and the bans.
fn violations(module: &str, source: &str) -> Vec<String> {
    let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == module) else {
        return vec![format!("{module} is in no layer: give it a place in tests/layering.rs")];
    };
    let known: Vec<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    let mut found = Vec::new();
    for path in paths_of(&code_of(source)) {
        let inner = path.strip_prefix("crate::").or_else(|| path.strip_prefix("convene::"));
        // In the crate's root its modules have no prefix.
        let inner = inner.or_else(|| (module == "lib").then_some(path.as_str()));
        if let Some(first) = inner.and_then(|inner| inner.split("::").next())
            && first != module
            && known.contains(&first)
            && !allowed.contains(&first)
        {
            found.push(format!("{module} names {path}"));
        }
        for ban in bans(module) {
            let named = path == ban || path.strip_prefix(ban).is_some_and(|rest| rest.starts_with("::"));
            let is_number = matches!(module, "app" | "platform") && ADDRESSES.contains(&path.as_str());
            if named && !is_number {
                found.push(format!("{module} names {path}"));
            }
        }
    }
    found
}

/// Every source file, by its path within `src`.
fn sources() -> BTreeMap<String, String> {
    fn walk(folder: &Path, prefix: &str, found: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{prefix}{}", path.file_name().unwrap().to_string_lossy());
            if path.is_dir() {
                walk(&path, &format!("{name}/"), found);
            } else if name.ends_with(".rs") {
                found.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut found);
    assert!(found.len() > 30, "the sources were not found");
    found
}

#[test]
fn the_arrows_point_down() {
    let mut found = Vec::new();
    for (name, source) in sources() {
        let module = name.split(['/', '.']).next().unwrap();
        found.extend(violations(module, &source).into_iter().map(|v| format!("src/{name}: {v}")));
    }
    assert!(found.is_empty(), "against the arrows:\n{}", found.join("\n"));
}

#[test]
fn files_are_short() {
    let mut long: Vec<(usize, String)> =
        sources().into_iter().map(|(name, source)| (source.lines().count(), name)).collect();
    long.retain(|(lines, _)| *lines > MANY_LINES);
    long.sort();
    for (lines, name) in &long {
        println!("src/{name} has {lines} lines");
    }
    assert!(long.iter().all(|(lines, _)| *lines <= TOO_MANY_LINES), "too long: {long:?}");
    assert!(!sources().keys().any(|name| name.ends_with("mod.rs")), "foo.rs beside foo/, no mod.rs");
}

#[test]
fn planted_violations_are_caught() {
    let caught = |module: &str, source: &str| violations(module, source).len();
    for (module, source) in [
        ("wire", "use crate::session::Event;"),
        ("wire", "use std::net::TcpStream;"),
        ("wire", "fn f() { let now = std::time::Instant::now(); }"),
        ("session", "use std::{collections::BTreeMap, time::{Duration, Instant}};"),
        ("session", "use crate::{transfer::Lane, net::Net};"),
        ("session", "use crate::notice::Notice;"),
        ("transfer", "fn f() { std::thread::sleep(d) }"),
        ("transfer", "use std::{fs, io};"),
        ("net", "use bevy::prelude::*;"),
        ("net", "use crate::headless::run;"),
        ("model", "use crate::net;"),
        ("headless", "fn f() { crate::app::run() }"),
        ("app", "use std::net::TcpStream;"),
        ("app", "use std::{fs::File, time::Duration};"),
        ("app", "use std::net::{IpAddr, TcpStream};"),
        ("app", "use std::net;"),
        ("app", "use crate::platform::desktop;"),
        ("app", "use crate :: headless;"),
        ("platform", "use mio::Poll;"),
        ("unheard_of", ""),
        ("net", "const A: char = '\"'; use bevy::prelude::*; const B: char = '\"';"),
        ("net", "fn f<'a>(x: &'a str) -> &'a str { bevy::f(x) }"),
    ] {
        assert!(caught(module, source) > 0, "{module}: {source}");
    }
    for (module, source) in [
        (
            "wire",
            "//! [`crate::session`]\n/* crate::net */ const A: &str = \"crate::net\"; use super::Limits;",
        ),
        (
            "wire",
            "const A: &str = r#\"use \"crate::net\"\"#;\n\n#[cfg(test)]\nmod tests { use crate::net::Net; }",
        ),
        ("session", "use crate::{transfer::{Lane, Outbox}, wire::Frame}; use std::time::Duration;"),
        ("session", "fn net(thread: u32) { let fs = thread; }"),
        ("app", "use bevy::prelude::*; use crate::{net::Net, session::Event}; use std::time::Instant;"),
        ("app", "use std::net::IpAddr;"),
        ("headless", "use crate::{net::Net, workers::Workers};"),
        ("main", "use convene::{net::push_file, model::check::check_file};"),
    ] {
        assert_eq!(violations(module, source), Vec::<String>::new(), "{module}: {source}");
    }
}
