//! Events to lines of JSON.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::Summary;
use crate::{
    mesh::{Decoded, Encoding},
    net::Stats,
    session::{Body, Event, Placement, Pose, Way},
    threads,
};

/// Where events go. A reader that has gone away breaks it, nothing else.
pub(super) struct Output<W: Write> {
    to: std::io::BufWriter<W>,
    start: Instant,
    broken: bool,
}

impl<W: Write> Output<W> {
    pub fn new(to: W) -> Self {
        Self { to: std::io::BufWriter::new(to), start: Instant::now(), broken: false }
    }

    /// `body` is an object; event, time and clock are put in front.
    pub fn event(&mut self, event: &str, body: Value) {
        let mut line = serde_json::Map::new();
        line.insert("event".into(), event.into());
        line.insert("t".into(), json!(self.start.elapsed().as_secs_f64()));
        line.insert("mono_ns".into(), json!(threads::monotonic_nanoseconds()));
        if let Value::Object(body) = body {
            line.extend(body);
        }
        let written = serde_json::to_writer(&mut self.to, &line).map_err(std::io::Error::from);
        if written.and_then(|()| self.to.write_all(b"\n")).is_err() {
            self.broken = true;
        }
    }

    pub fn done(&mut self, seq: Option<&Value>, mut body: Value) {
        if let (Some(seq), Value::Object(body)) = (seq, &mut body) {
            body.insert("seq".into(), seq.clone());
            self.event("done", Value::Object(std::mem::take(body)));
        }
    }

    pub fn error(&mut self, seq: Option<&Value>, message: &str) {
        let mut body = json!({ "message": message });
        if let Some(seq) = seq {
            body["seq"] = seq.clone();
        }
        self.event("error", body);
    }

    pub fn flush(&mut self) {
        if self.to.flush().is_err() {
            self.broken = true;
        }
    }

    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// The last flush; a reader that has gone away is no failure of ours.
    pub fn finish(&mut self) -> std::io::Result<()> {
        match self.to.flush() {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }
}

pub(super) fn pose_json(pose: Pose) -> Value {
    json!({ "position": pose.position.to_array(), "rotation": pose.rotation.to_array() })
}

fn body_json(body: &Body) -> [Value; 3] {
    [body.left, body.right, body.head].map(pose_json)
}

fn placement_json(placement: Placement) -> Value {
    let mut json = pose_json(placement.pose());
    json["scale"] = json!(placement.scale);
    json
}

/// All bytes of a model are here: which way they came, how many travelled, and what
/// that lost.
pub(super) fn received_json(model_id: &str, bytes: usize, way: &Way) -> Value {
    let parts: serde_json::Map<String, Value> = Encoding::ALL
        .iter()
        .zip(way.parts)
        .filter(|(_, count)| *count > 0)
        .map(|(encoding, count)| (encoding.as_str().to_owned(), json!(count)))
        .collect();
    json!({
        "model_id": model_id, "bytes": bytes, "method": way.method.as_str(), "wire_bytes": way.wire_bytes,
        "exact": way.exact, "max_error": way.max_error, "parts": parts,
        "decode_seconds": way.decoding.as_secs_f64(),
    })
}

/// A model is whole and decoded.
pub(super) fn opened_json(
    model_id: &str,
    name: &str,
    summary: Summary,
    bytes: usize,
    seconds: f64,
    max_error: Option<f32>,
) -> Value {
    json!({
        "model_id": model_id,
        "name": name,
        "triangles": summary.triangles,
        "vertices": summary.vertices,
        "bytes": bytes,
        "exact": max_error.is_none(),
        "max_error": max_error.unwrap_or(0.0),
        "seconds": seconds,
    })
}

/// The answer to `stats`.
pub(super) fn stats_json(stats: &Stats) -> Value {
    let milliseconds = |d: Duration| d.as_secs_f64() * 1e3;
    let peers: Vec<Value> = stats
        .peers
        .iter()
        .map(|(peer, traffic)| {
            json!({
                "peer": peer.peer.0,
                "id": peer.device_id,
                "client": peer.client.as_str(),
                "round_trip_ms": peer.round_trip.map(milliseconds),
                "silent_ms": milliseconds(peer.silent_for),
                "send_bytes_per_second": traffic.send_rate,
                "receive_bytes_per_second": traffic.receive_rate,
                "queued_bytes": traffic.queued_bytes,
                "dropped_poses": traffic.dropped_poses,
                "sent_bytes": traffic.sent_bytes,
                "received_bytes": traffic.received_bytes,
                "window_bytes": traffic.window_bytes,
                "step_bytes": traffic.step_bytes,
            })
        })
        .collect();
    let pose_latencies: serde_json::Map<String, Value> = stats
        .pose_latencies
        .iter()
        .map(|(id, late)| {
            let late = json!({
                "wire_median": milliseconds(late.wire_median),
                "wire_p99": milliseconds(late.wire_p99),
                "display": milliseconds(late.display),
            });
            (id.clone(), late)
        })
        .collect();
    let pose_ages: serde_json::Map<String, Value> =
        stats.pose_ages.iter().map(|(id, age)| (id.clone(), json!(age.map(milliseconds)))).collect();
    json!({
        "peers": peers,
        "pose_age_ms": pose_ages,
        "pose_latency_ms": pose_latencies,
        "threads": stats.threads,
        "lost_events": stats.lost_events,
    })
}

/// The name and the fields of an event; none for those that are told otherwise.
pub(super) fn event_json(event: &Event) -> Option<(&'static str, Value)> {
    Some(match event {
        Event::Joined => ("joined", json!({})),
        Event::ParticipantJoined { id, name, client } => {
            ("participant_joined", json!({ "id": id, "name": name, "client": client.as_str() }))
        }
        Event::ParticipantState { id, state } => {
            ("participant_state", json!({ "id": id, "state": state.as_str() }))
        }
        Event::ParticipantLeft { id } => ("participant_left", json!({ "id": id })),
        Event::Pose { from, seq, stamp_ms, late, body } => {
            let [left, right, head] = body_json(body);
            let stamp = stamp_ms.map(|ms| u64::from(ms) * 1_000_000);
            let late = late.map(|late| late.as_secs_f64() * 1e3);
            let pose = json!({
                "from": from, "seq": seq, "stamp": stamp, "stamp_ms": stamp_ms, "wire_latency_ms": late,
                "left": left, "right": right, "head": head,
            });
            ("pose", pose)
        }
        Event::ModelOffered { model_id, name, bytes, from } => {
            ("model_offered", json!({ "model_id": model_id, "name": name, "bytes": bytes, "from": from }))
        }
        Event::ModelProgress { model_id, progress } => (
            "model_progress",
            json!({ "model_id": model_id, "received": progress.received, "total": progress.total }),
        ),
        // What it is comes with `model_received`, which is told elsewhere.
        Event::ModelReceived { .. } => return None,
        Event::ModelPart { model_id, index, part } => {
            let Decoded::Part(part) = &**part else { return None };
            let told = json!({
                "model_id": model_id, "index": index, "encoding": part.encoding.as_str(),
                "vertices": part.positions.len(), "triangles": part.indices.len(), "max_error": part.max_error,
            });
            ("model_part", told)
        }
        Event::ModelMoved { model_id, pose, scale, from } => {
            let mut json = pose_json(*pose);
            json["model_id"] = json!(model_id);
            json["scale"] = json!(scale);
            json["from"] = json!(from);
            ("model_moved", json)
        }
        Event::ModelShown { model_id, shown, from } => {
            ("model_shown", json!({ "model_id": model_id, "shown": shown, "from": from }))
        }
        Event::ModelClosed { model_id, from } => {
            ("model_closed", json!({ "model_id": model_id, "from": from }))
        }
        Event::ModelFailed { model_id, error } => {
            ("model_failed", json!({ "model_id": model_id, "error": error }))
        }
        Event::ModelCancelled { model_id } => ("model_cancelled", json!({ "model_id": model_id })),
        Event::SceneMoved { scene, from } => {
            let mut json = placement_json(*scene);
            json["from"] = json!(from);
            ("scene_moved", json)
        }
        Event::KeepAligned { on, from } => ("keep_aligned", json!({ "on": on, "from": from })),
        Event::ModelIsShared { model_id } => ("model_shared", json!({ "model_id": model_id })),
        Event::PeerMessage { text } => ("peer_message", json!({ "text": text })),
        Event::PeerFault { peer, fault } => ("peer_fault", json!({ "peer": peer.0, "fault": fault })),
        Event::ConnectionLost { reason } => ("connection_lost", json!({ "reason": reason.to_string() })),
        Event::Left { reason } => ("left", json!({ "reason": reason.to_string() })),
    })
}
