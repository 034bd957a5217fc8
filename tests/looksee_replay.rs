//! Recorded LookSee connections, replayed against our own sessions on a
//! simulated clock: what the recorded joiners said, to our host; what the
//! recorded hosts said, to our guest. Our answers are compared with the recorded
//! ones: every message but poses, its JSON, and how the connection ends.
//!
//! Where we differ on purpose, the difference names its row of [`DEVIATIONS`];
//! any other difference fails.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and tells what it leaves out"
)]

#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/meeting.rs"]
mod meeting;
#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/recording.rs"]
mod recording;
#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/rng.rs"]
mod rng;

#[path = "looksee_replay/compare.rs"]
mod compare;
#[path = "looksee_replay/files.rs"]
mod files;
#[path = "looksee_replay/guest.rs"]
mod guest;
#[path = "looksee_replay/host.rs"]
mod host;
#[path = "looksee_replay/player.rs"]
mod player;

use compare::Row;

/// The rows of the table of deliberate deviations in `docs/protocol.md`, as far
/// as a replay can show them.
const DEVIATIONS: [(Row, &str); 19] = [
    (Row::VersionFields, "version fields"),
    (Row::OpenerField, "opener"),
    (Row::NoEcho, "no echo"),
    (Row::HiddenState, "hidden state"),
    (Row::Settling, "settling"),
    (Row::KeepAlignedOnce, "keep-aligned once"),
    (Row::PrivateModels, "private models"),
    (Row::ReturningCopies, "returning copies"),
    (Row::Truncated, "truncated messages"),
    (Row::LengthCaps, "caps on lengths"),
    (Row::UnreadableVersion, "unreadable version"),
    (Row::OwnDeviceId, "own device id"),
    (Row::NoId, "model without id"),
    (Row::NoPlace, "model without place"),
    (Row::SceneScale, "scene without scale"),
    (Row::UnitRotations, "unit rotations"),
    (Row::BadModelListed, "bad model stays listed"),
    (Row::FileNames, "file names"),
    (Row::Relay, "relay does not wait"),
];

#[test]
fn the_table_of_deviations_has_all_rows() {
    let docs = ["docs/protocol.md"].into_iter();
    let read = |name| std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/").to_owned() + name);
    let table: String = docs.filter_map(|name| read(name).ok()).collect();
    for (row, name) in DEVIATIONS {
        let begin = format!("| {name} |");
        assert!(table.lines().any(|line| line.starts_with(&begin)), "{row:?}: no row begins with {begin:?}");
    }
    let Some(folder) = recording::folder() else { return };
    let mut used = host::replay_all(&folder);
    used.extend(guest::replay_all(&folder));
    used.extend(files::replay_all(&folder));
    for (row, name) in DEVIATIONS {
        assert!(used.contains(&row), "nothing differs by {name:?} any more: the row can go");
    }
}
