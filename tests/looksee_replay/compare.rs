//! Comparing what we said with what was recorded.

use std::collections::BTreeSet;

use serde_json::Value;

/// A deliberate deviation; named in `docs/protocol.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    VersionFields,
    OpenerField,
    NoEcho,
    HiddenState,
    Settling,
    KeepAlignedOnce,
    PrivateModels,
    ReturningCopies,
    Truncated,
    LengthCaps,
    UnreadableVersion,
    OwnDeviceId,
    NoId,
    NoPlace,
    SceneScale,
    UnitRotations,
    BadModelListed,
    FileNames,
    Relay,
}

/// A message: its type, its JSON, and the length and hash of what is behind.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    pub type_byte: u8,
    pub json: String,
    pub tail: (usize, [u8; 32]),
}

impl Said {
    pub fn from_payload(payload: &[u8]) -> Self {
        let (json, tail) = super::recording::json_of(payload);
        Self { type_byte: payload[0], json, tail: (tail.len(), *blake3::hash(tail).as_bytes()) }
    }

    pub fn value(&self) -> Value {
        serde_json::from_str(&self.json).unwrap_or(Value::Null)
    }
}

/// Without poses.
pub fn said<'a>(payloads: impl IntoIterator<Item = &'a [u8]>) -> Vec<Said> {
    payloads.into_iter().filter(|p| p[0] != 2).map(Said::from_payload).collect()
}

/// Equal but for rounding; fields that only `ours` has are collected.
fn same(theirs: &Value, ours: &Value, extra: &mut BTreeSet<String>) -> bool {
    match (theirs, ours) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN));
            // A position that is exactly zero goes out as a thousandth of a millimetre.
            (a - b).abs() <= 2e-6 * (1.0 + a.abs())
        }
        (Value::Object(a), Value::Object(b)) => {
            extra.extend(b.keys().filter(|key| !a.contains_key(*key)).cloned());
            a.iter().all(|(key, value)| b.get(key).is_some_and(|ours| same(value, ours, extra)))
        }
        _ => theirs == ours,
    }
}

/// The rows that explain how two messages differ, if they are the same message.
pub fn pair(theirs: &Said, ours: &Said) -> Option<BTreeSet<Row>> {
    let mut extra = BTreeSet::new();
    let equal = theirs.type_byte == ours.type_byte
        && theirs.tail == ours.tail
        && (theirs.json == ours.json || same(&theirs.value(), &ours.value(), &mut extra));
    let row = |key: &String| match (theirs.type_byte, key.as_str()) {
        (5, "ext" | "id" | "name" | "colour" | "app" | "methods") => Some(Row::VersionFields),
        (3, "opener") => Some(Row::OpenerField),
        _ => None,
    };
    if equal { extra.iter().map(row).collect() } else { None }
}

/// Which side said something that the other did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    Recorded,
    Ours,
}

/// Lines two sequences up and has each leftover explained.
pub fn compare(
    what: &str,
    theirs: &[Said],
    ours: &[Said],
    mut explain: impl FnMut(Only, &Said) -> Option<Row>,
) -> BTreeSet<Row> {
    // Longest common subsequence.
    let mut longest = vec![vec![0usize; ours.len() + 1]; theirs.len() + 1];
    for i in (0..theirs.len()).rev() {
        for j in (0..ours.len()).rev() {
            longest[i][j] = if pair(&theirs[i], &ours[j]).is_some() {
                1 + longest[i + 1][j + 1]
            } else {
                longest[i + 1][j].max(longest[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut rows) = (0, 0, BTreeSet::new());
    let context = || {
        let list =
            |all: &[Said]| all.iter().map(|s| format!("  {} {}\n", s.type_byte, s.json)).collect::<String>();
        format!("{what}\nrecorded:\n{}ours:\n{}", list(theirs), list(ours))
    };
    while i < theirs.len() || j < ours.len() {
        let matched = (i < theirs.len() && j < ours.len()).then(|| pair(&theirs[i], &ours[j])).flatten();
        if let Some(by) = matched {
            rows.extend(by);
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let skip_theirs = j == ours.len() || i < theirs.len() && longest[i + 1][j] >= longest[i][j + 1];
        let (only, message) = if skip_theirs { (Only::Recorded, &theirs[i]) } else { (Only::Ours, &ours[j]) };
        let row = explain(only, message).unwrap_or_else(|| {
            panic!("only in {only:?}: {} {}\n{}", message.type_byte, message.json, context())
        });
        rows.insert(row);
        if skip_theirs {
            i += 1;
        } else {
            j += 1;
        }
    }
    rows
}
