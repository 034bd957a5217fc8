//! What the app shows and does, as JSON lines for tests and other programs: one
//! whenever something has changed, twenty a second at most.

use std::{
    io::Write,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use bevy::prelude::*;
use serde_json::{Value, json};

use super::{
    AppSystems,
    alignment::{self, Alignment, Markers},
    grab::Held,
    input::{Hands, Headset, Me},
    link::{Link, Meeting},
    models::{Model, ModelState, Moments},
    notices::Notices,
    preferences::Preferences,
    surface::OnBoards,
    wands::Wands,
};
use crate::{
    gestures::Side,
    session::{Phase, Placement, Pose},
};

/// Between two lines.
const INTERVAL: Duration = Duration::from_millis(50);

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Update, report.in_set(AppSystems::Send).run_if(resource_exists::<Report>));
}

/// Where the lines go.
#[derive(Resource)]
pub struct Report {
    to: Mutex<Box<dyn Write + Send>>,
    next: Duration,
    last: Value,
}

impl Report {
    /// Lines to there.
    pub fn new(to: Box<dyn Write + Send>) -> Self {
        Self { to: Mutex::new(to), next: Duration::ZERO, last: Value::Null }
    }
}

fn vector(v: Vec3) -> Value {
    json!([v.x, v.y, v.z])
}

fn pose(pose: Pose) -> Value {
    let q = pose.rotation;
    json!({ "position": vector(pose.position), "rotation": [q.x, q.y, q.z, q.w] })
}

fn model(name: &str, id: &str, ready: bool, shown: bool, world: Placement, moments: Moments) -> Value {
    let q = world.rotation;
    json!({
        "id": id, "name": name, "ready": ready, "shown": shown,
        "first_secs": moments.first().map(|at| at.as_secs_f64()),
        "whole_secs": moments.whole().map(|at| at.as_secs_f64()),
        "position": vector(world.position), "rotation": [q.x, q.y, q.z, q.w], "scale": world.scale,
    })
}

fn report(
    mut report: ResMut<Report>,
    time: Res<Time<Real>>,
    (headset, hands, wands, me, held): (Res<Headset>, Res<Hands>, Res<Wands>, Res<Me>, Res<Held>),
    (meeting, link, notices): (Res<Meeting>, Res<Link>, Res<Notices>),
    (alignment, markers, preferences): (Res<Alignment>, Res<Markers>, Res<Preferences>),
    models: Query<(&Model, &ModelState, &Moments)>,
    pages: Option<Res<super::Open>>,
    on_boards: OnBoards,
) {
    let now = time.elapsed();
    if now < report.next {
        return;
    }
    let state_of = |id: &str| {
        let found = models.iter().find(|(model, ..)| model.id == id);
        found.map(|(_, state, moments)| (*state, *moments)).unwrap_or_default()
    };
    let aim = |side: Side| {
        let hit = wands.get(side).hit.as_ref();
        hit.map(|hit| json!({ "model": hit.model_id, "point": vector(hit.point) }))
    };
    let input = |side: Side| {
        let hand = hands.get(side);
        json!({
            "trigger": hand.trigger, "squeeze": hand.squeeze, "stick": [hand.stick.x, hand.stick.y],
            "fingertip": hand.fingertip.map(vector),
        })
    };
    let marker = |side: Side| match markers.dropped(side) {
        Some(_) => "dropped",
        None if markers.is_on() && alignment::tip(hands.get(side)).is_some() => "hand",
        None => "none",
    };
    let rooms = &preferences.get().rooms;
    let phase = match meeting.phase {
        Phase::Alone => "alone",
        Phase::Joining => "joining",
        Phase::Hosting => "hosting",
        Phase::Guest => "guest",
    };
    let line = json!({
        "vr": headset.state.as_str(),
        "eye": headset.eye_size.map(|size| [size.x, size.y]),
        "passthrough": headset.passthrough.as_str(),
        "room": pose(headset.room_from_tracking),
        "alignment": alignment.as_str(),
        "real_room": rooms.name(),
        "markers": { "left": marker(Side::Left), "right": marker(Side::Right) },
        "marker_distance": rooms.place(&headset.name).map(|place| place.marker_distance),
        "present": me.present,
        "head": pose(me.body.head), "left": pose(me.body.left), "right": pose(me.body.right),
        "tracked": { "left": hands.left.device.as_str(), "right": hands.right.device.as_str() },
        "input": { "left": input(Side::Left), "right": input(Side::Right) },
        "aim": { "left": aim(Side::Left), "right": aim(Side::Right) },
        "held": held.model_ids().collect::<Vec<_>>(),
        "phase": phase,
        "port": link.port(),
        "keep_aligned": meeting.keep_aligned,
        "participants": meeting.participants.iter().map(|p| json!({
            "id": p.device_id, "name": p.label, "state": p.presence.as_str(),
        })).collect::<Vec<_>>(),
        "models": meeting.models.iter().map(|view| {
            let (state, moments) = state_of(&view.id);
            let (world, _) = held.place(view, &meeting);
            model(&view.name, &view.id, state == ModelState::Ready, view.shown, world, moments)
        }).collect::<Vec<_>>(),
        "controls": on_boards.iter().map(|(id, middle, usable)| {
            (id.to_owned(), json!({ "position": vector(middle), "usable": usable }))
        }).collect::<serde_json::Map<_, _>>(),
        "pointed": on_boards.pointed().collect::<Vec<_>>(),
        "boards": on_boards.boards().map(|(name, place)| (name.to_owned(), pose(place)))
            .collect::<serde_json::Map<_, _>>(),
        "panels": pages.is_some_and(|open| open.dock),
        "notices": notices.texts(),
    });
    if line == report.last {
        return;
    }
    report.next = now + INTERVAL;
    let mut text = line.clone();
    if let Some(fields) = text.as_object_mut() {
        fields.insert("t".to_owned(), json!(now.as_secs_f64()));
        fields.insert("frames".to_owned(), json!(headset.frames));
    }
    let report = &mut *report;
    let to = report.to.get_mut().unwrap_or_else(PoisonError::into_inner);
    // A reader that has gone away is no failure of ours.
    let _ = writeln!(to, "{text}").and_then(|()| to.flush());
    report.last = line;
}
