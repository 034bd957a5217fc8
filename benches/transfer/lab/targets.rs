//! What the figures should be, and whether they are.

use crate::lab::{report::Row, rig::Link};

/// A figure beside what it should be.
#[derive(Debug)]
pub struct Verdict {
    pub what: String,
    pub value: f64,
    pub limit: f64,
    /// Whether more is better.
    at_least: bool,
}

impl Verdict {
    pub fn met(&self) -> bool {
        if self.at_least { self.value >= self.limit } else { self.value <= self.limit }
    }
}

/// A row on a link of that rate; none: whichever.
fn row<'a>(rows: &'a [Row], name: &str, mbit: Option<f64>) -> Option<&'a Row> {
    rows.iter().find(|row| row.name == name && (mbit.is_none() || row.link.mbit() == mbit))
}

/// Verdicts on what was measured; rows that were not have none.
pub fn verdicts(rows: &[Row]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    let mut judge = |what: &str, value: Option<f64>, limit: f64, at_least: bool| {
        if let Some(value) = value {
            verdicts.push(Verdict { what: what.to_owned(), value, limit, at_least });
        }
    };
    let get = |name: &str, mbit: f64, key: &str| row(rows, name, Some(mbit))?.get(key);
    let any = |name: &str, key: &str| row(rows, name, None)?.get(key);
    let beside =
        |mbit: f64| Some(get("convene", mbit, "link_share")? / get("uncontrolled", mbit, "link_share")?);
    let ratio = |key: &str, a: &str, b: &str| Some(any(a, key)? / any(b, key)?);

    judge("50 Mbit/s: pose p50, ms", get("convene", 50.0, "pose_p50_ms"), 12.0, false);
    judge("50 Mbit/s: pose p99, ms", get("convene", 50.0, "pose_p99_ms"), 16.0, false);
    judge("50 Mbit/s: link share beside uncontrolled", beside(50.0), 0.97, true);
    judge("20 Mbit/s, 40 ms: pose p99, ms", get("convene", 20.0, "pose_p99_ms"), 60.0, false);
    judge("20 Mbit/s, 40 ms: link share beside uncontrolled", beside(20.0), 0.94, true);
    judge("30 Mbit/s, 1 % lost: pose p99, ms", get("convene", 30.0, "pose_p99_ms"), 40.0, false);
    judge("55 KB/s: share of what poses leave", get("convene", 0.44, "share_left_by_poses"), 0.85, true);
    judge("55 KB/s: pose p50, ms", get("convene", 0.44, "pose_p50_ms"), 300.0, false);
    for (what, mbit, limit) in [
        ("50 Mbit/s: longest gap, ms", 50.0, 60.0),
        ("20 Mbit/s, 40 ms: longest gap, ms", 20.0, 60.0),
        ("30 Mbit/s, 1 % lost: longest gap, ms", 30.0, 500.0),
    ] {
        judge(what, get("convene", mbit, "pose_longest_gap_ms"), limit, false);
    }
    for (mbit, limit, times) in
        [(20.0, 1.3, Some(6.0)), (50.0, 0.65, Some(5.0)), (166.0, 0.35, Some(3.0)), (320.0, 0.28, None)]
    {
        let shown = |way: &str| get(&format!("sizes, {way}"), mbit, "seconds_from_open");
        judge(&format!("{mbit} Mbit/s, parts: from open to opened, s"), shown("parts"), limit, false);
        if let Some(times) = times {
            let faster = shown("looksee").zip(shown("parts")).map(|(looksee, parts)| looksee / parts);
            judge(&format!("{mbit} Mbit/s, parts: times as fast as looksee"), faster, times, true);
        }
        let gap = get("sizes, parts", mbit, "pose_longest_gap_ms");
        judge(&format!("{mbit} Mbit/s, parts: longest gap, ms"), gap, 60.0, false);
    }
    // With encoders and decoders busy beside them, poses are as fast as without.
    for (mbit, p50, p99) in [(20.0, 14.0, 20.0), (50.0, 12.0, 16.0)] {
        for (figure, limit) in [("p50", p50), ("p99", p99)] {
            let delay = get("sizes, parts", mbit, &format!("pose_{figure}_ms"));
            judge(&format!("{mbit} Mbit/s, encoding and decoding: pose {figure}, ms"), delay, limit, false);
        }
    }
    judge("loopback: Gbit/s to one guest", any("loopback, one guest", "gbit_per_second"), 2.0, true);
    judge("loopback: eight guests, pose p99, ms", any("loopback, eight guests", "pose_p99_ms"), 3.0, false);
    for mbit in [50.0, 166.0] {
        for name in ["air, relayed, convene", "air, late joiner, convene"] {
            judge(
                &format!("{name}, {mbit} Mbit/s: last byte beside the ideal"),
                get(name, mbit, "times_ideal"),
                1.15,
                false,
            );
            let gap = get(name, mbit, "pose_longest_gap_ms");
            judge(&format!("{name}, {mbit} Mbit/s: longest gap, ms"), gap, 60.0, false);
        }
    }
    for name in ["join", "join, model open"] {
        judge(&format!("{name}: first pose, ms"), any(name, "first_pose_ms"), 150.0, false);
    }
    for name in ["join, model open", "one of three guests stopped"] {
        judge(&format!("{name}: longest gap, ms"), any(name, "pose_longest_gap_ms"), 60.0, false);
    }
    let (with, without) = ("one of three guests stopped", "none of three guests stopped");
    if let (Some(with), Some(without)) = (any(with, "pose_p99_ms"), any(without, "pose_p99_ms")) {
        let limit = without + (without * 0.1).max(2.0);
        judge("one of three guests stopped: others' pose p99, ms", Some(with), limit, false);
    }
    let slow = ratio("seconds_to_last_byte", "slow-frames", "slow-frames, headless");
    judge("frames of 200 ms: last byte beside headless", slow, 1.03, false);
    verdicts
}

/// A table in Markdown.
pub fn to_markdown(verdicts: &[Verdict]) -> String {
    let mut text = "| target | measured | limit | |\n| --- | --- | --- | --- |\n".to_owned();
    for verdict in verdicts {
        text += &format!(
            "| {} | {:.2} | {} {:.2} | {} |\n",
            verdict.what,
            verdict.value,
            if verdict.at_least { "at least" } else { "at most" },
            verdict.limit,
            if verdict.met() { "met" } else { "MISSED" },
        );
    }
    text
}

/// Whether a row is of the line with the tables of windows.
pub fn is_dsl(row: &Row) -> bool {
    matches!(row.link, Link::Relayed { rtt_ms, .. } if rtt_ms > 100.0)
}
