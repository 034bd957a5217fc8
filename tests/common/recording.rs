//! Recorded LookSee connections: the whole set beside the repository where it
//! is present, and the essential messages in `tests/data/looksee.txt`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

/// Bytes of each named golden.
pub fn goldens() -> BTreeMap<String, Vec<u8>> {
    include_str!("../data/looksee.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let (name, hex) = line.split_once(' ').expect("a golden is a name and its bytes");
            (name.to_owned(), from_hex(hex))
        })
        .collect()
}

pub fn from_hex(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2), "hex digits come in pairs");
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex digits"))
        .collect()
}

/// The folder of recordings, if it is here.
pub fn folder() -> Option<PathBuf> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/looksee"));
    if folder.is_dir() {
        return Some(folder.to_owned());
    }
    println!("../shared is missing: only the essential goldens in tests/data are used");
    None
}

/// Which way a chunk went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    ToHost,
    ToGuest,
}

/// One recorded connection.
#[derive(Debug, Clone)]
pub struct Recording {
    pub name: String,
    /// Joiner to host.
    pub to_host: Vec<u8>,
    /// Host to joiner.
    pub to_guest: Vec<u8>,
    /// When which bytes went.
    pub chunks: Vec<(Duration, Direction, std::ops::Range<usize>)>,
    /// When and how each side ended.
    pub ends: Vec<(Duration, Direction, String)>,
}

impl Recording {
    pub fn load(folder: &Path, name: &str) -> Self {
        let read = |ending: &str| {
            fs::read(folder.join(format!("{name}.{ending}")))
                .unwrap_or_else(|e| panic!("{name}.{ending}: {e}"))
        };
        let (to_host, to_guest) = (read("c2s.bin"), read("s2c.bin"));
        let lines = String::from_utf8(read("jsonl")).expect("times are text");
        let (mut chunks, mut ends) = (Vec::new(), Vec::new());
        for line in lines.lines() {
            let line: Value = serde_json::from_str(line).expect("a line of times is JSON");
            let at = Duration::from_secs_f64(line["t"].as_f64().expect("a time"));
            let direction = if line["dir"] == "c2s" { Direction::ToHost } else { Direction::ToGuest };
            match (line["off"].as_u64(), line["len"].as_u64()) {
                (Some(off), Some(len)) => chunks.push((at, direction, off as usize..(off + len) as usize)),
                _ => ends.push((at, direction, line["end"].as_str().unwrap_or_default().to_owned())),
            }
        }
        Self { name: name.to_owned(), to_host, to_guest, chunks, ends }
    }

    pub fn bytes(&self, direction: Direction) -> &[u8] {
        match direction {
            Direction::ToHost => &self.to_host,
            Direction::ToGuest => &self.to_guest,
        }
    }
}

/// The names of all recordings whose names begin so.
pub fn names(folder: &Path, prefix: &str) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("the folder can be read")
        .filter_map(|entry| entry.expect("an entry").file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned))
        .filter(|name| name != "results" && name.starts_with(prefix))
        .collect();
    names.sort();
    names
}

/// Payloads of a recorded stream, and how many bytes behind them are no whole
/// message. Independent of the code under test, on purpose.
pub fn split(stream: &[u8]) -> (Vec<&[u8]>, usize) {
    let (mut at, mut payloads) = (stream.len().min(14), Vec::new());
    while let Some(length) = stream.get(at..at + 4) {
        let length = i32::from_le_bytes(length.try_into().expect("four bytes"));
        let Ok(length) = usize::try_from(length) else { break };
        let Some(payload) = stream.get(at + 4..at + 4 + length).filter(|p| !p.is_empty()) else { break };
        payloads.push(payload);
        at += 4 + length;
    }
    (payloads, stream.len() - at)
}

/// The JSON of a payload (which may be none), and the bytes behind it.
pub fn json_of(payload: &[u8]) -> (String, &[u8]) {
    if payload[0] == 3 && payload.len() >= 5 {
        let length = i32::from_le_bytes(payload[1..5].try_into().expect("four bytes"));
        let end = 5usize.saturating_add(length.max(0) as usize).min(payload.len());
        return (String::from_utf8_lossy(&payload[5..end]).into_owned(), &payload[end..]);
    }
    (String::from_utf8_lossy(&payload[1..]).into_owned(), &[])
}

/// Whether two JSON texts are the same: fields and their order, with numbers
/// compared as `f32`.
pub fn same_json(a: &str, b: &str) -> bool {
    let (mut a, mut b) = (Tokens(a), Tokens(b));
    loop {
        match (a.next(), b.next()) {
            (None, None) => return true,
            (Some(Token::Number(x)), Some(Token::Number(y))) if x == y || (x == 0.0 && y == 0.0) => {}
            (Some(x), Some(y)) if x == y => {}
            _ => return false,
        }
    }
}

#[derive(Debug, PartialEq)]
enum Token<'a> {
    Text(String),
    Number(f32),
    Other(&'a str),
}

struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let text = self.0.trim_start();
        let first = text.chars().next()?;
        let length = match first {
            '"' => {
                let mut escaped = false;
                let end = text[1..].find(|c| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                end.expect("a text ends") + 2
            }
            '-' | '0'..='9' => text
                .find(|c: char| !matches!(c, '-' | '+' | '.' | '0'..='9' | 'e' | 'E'))
                .unwrap_or(text.len()),
            'a'..='z' => text.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(text.len()),
            _ => first.len_utf8(),
        };
        let (token, rest) = text.split_at(length);
        self.0 = rest;
        Some(match first {
            '"' => Token::Text(serde_json::from_str(token).expect("a JSON text")),
            '-' | '0'..='9' => Token::Number(token.parse().expect("a JSON number")),
            _ => Token::Other(token),
        })
    }
}
