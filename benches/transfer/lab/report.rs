//! Rows, their medians, and how they are told.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::lab::rig::Link;

/// Every row has these in JSON, null where they mean nothing.
const KEYS: [&str; 8] = [
    "seconds_to_last_byte",
    "seconds_to_opened",
    "link_share",
    "pose_p50_ms",
    "pose_p99_ms",
    "pose_max_ms",
    "pose_longest_gap_ms",
    "host_peak_mib",
];

/// One line of the table: a run's, or the median of several.
#[derive(Debug, Clone)]
pub struct Row {
    pub name: String,
    pub link: Link,
    pub runs: usize,
    values: BTreeMap<&'static str, f64>,
    /// When a pose was taken, seconds since the transfer began, and its delay in
    /// milliseconds; of the first run.
    pub series: Vec<(f64, f64)>,
}

impl Row {
    pub fn new(name: impl Into<String>, link: Link) -> Self {
        Self { name: name.into(), link, runs: 1, values: BTreeMap::new(), series: Vec::new() }
    }

    pub fn set(&mut self, key: &'static str, value: impl Into<Option<f64>>) {
        if let Some(value) = value.into() {
            self.values.insert(key, value);
        }
    }

    pub fn get(&self, key: &str) -> Option<f64> {
        self.values.get(key).copied()
    }

    fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("row".into(), json!(self.name));
        object.insert("rate_mbit".into(), json!(self.link.mbit()));
        object.insert("rtt_ms".into(), json!(self.link.rtt_ms()));
        object.insert("queue_ms".into(), json!(self.link.queue_ms()));
        object.insert("loss".into(), json!(self.link.loss()));
        object.insert("runs".into(), json!(self.runs));
        for key in KEYS {
            object.insert(key.into(), Value::Null);
        }
        object.extend(self.values.iter().map(|(key, value)| ((*key).to_owned(), json!(value))));
        Value::Object(object)
    }
}

/// Medians of the runs of each row, in the order in which rows first came.
pub fn medians(runs: &[Row]) -> Vec<Row> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    for row in runs {
        match groups.iter_mut().find(|g| g[0].name == row.name && g[0].link == row.link) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
        .into_iter()
        .map(|group| {
            let mut result = group[0].clone();
            result.runs = group.len();
            for (key, value) in &mut result.values {
                *value = median(group.iter().filter_map(|row| row.get(key)).collect());
            }
            result
        })
        .collect()
}

/// Of an even number: the lower of the two in the middle. Of none: 0.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

pub fn to_json(rows: &[Row]) -> String {
    let rows: Vec<Value> = rows.iter().map(Row::to_json).collect();
    let lines: Vec<String> = rows.iter().map(Value::to_string).collect();
    format!("[\n{}\n]\n", lines.join(",\n"))
}

/// A table in Markdown.
pub fn to_markdown(rows: &[Row]) -> String {
    let head = [
        "row",
        "Mbit/s",
        "RTT ms",
        "queue ms",
        "loss",
        "last byte s",
        "opened s",
        "link share",
        "pose p50 ms",
        "p99",
        "max",
        "longest gap",
        "host MiB",
        "more",
    ];
    let mut lines = vec![format!("| {} |", head.join(" | "))];
    lines.push(format!("|{}", " --- |".repeat(head.len())));
    for row in rows {
        let number = |value: Option<f64>, decimals: usize| {
            value.map_or_else(String::new, |value| format!("{value:.decimals$}"))
        };
        let decimals = [2, 2, 3, 1, 1, 1, 1, 0];
        let mut cells = vec![
            row.name.clone(),
            row.link.mbit().map_or("-".into(), |mbit| format!("{mbit}")),
            number(Some(row.link.rtt_ms()).filter(|rtt| *rtt > 0.0), 0),
            number(row.link.queue_ms(), 0),
            number(Some(row.link.loss()).filter(|loss| *loss > 0.0), 2),
        ];
        cells.extend(KEYS.iter().zip(decimals).map(|(key, decimals)| number(row.get(key), decimals)));
        let more = row.values.iter().filter(|(key, _)| !KEYS.contains(key));
        let more: Vec<String> =
            more.map(|(key, value)| format!("{} {}", key.replace('_', " "), brief(*value))).collect();
        cells.push(more.join(", "));
        lines.push(format!("| {} |", cells.join(" | ")));
    }
    lines.join("\n") + "\n"
}

fn brief(value: f64) -> String {
    if value.fract() == 0.0 || value.abs() >= 1000.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}
