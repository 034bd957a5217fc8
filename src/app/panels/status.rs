//! Top of the left column: what kind of meeting this is, its address, and how
//! long frames take if somebody wants to know.

use bevy::prelude::*;

use super::Places;
use crate::{
    app::{
        AppSystems,
        attendance::Joining,
        labels,
        link::{Link, Meeting},
        preferences::Preferences,
        statistics::{Frames, Statistics},
        theme,
        ui::{self, Element, Size, Tone, Tree},
    },
    session::{Phase, Presence},
};

/// People listed by name; of the rest the number is told.
const NAMES: usize = 8;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Startup, spawn).add_systems(Update, update.in_set(AppSystems::Present));
}

#[derive(Component)]
struct StatusPanel;

fn spawn(mut commands: Commands, places: Res<Places>) {
    let node =
        Node { max_width: percent(100), flex_direction: FlexDirection::Column, row_gap: px(4), ..default() };
    let panel = commands
        .spawn((StatusPanel, theme::panel(node), Tree::default(), Pickable::IGNORE, Name::new("status")))
        .id();
    commands.entity(places.status).add_child(panel);
}

fn update(
    meeting: Res<Meeting>,
    link: Res<Link>,
    joining: Res<Joining>,
    preferences: Res<Preferences>,
    statistics: Res<Statistics>,
    mut panel: Single<(Entity, &mut Tree), With<StatusPanel>>,
    mut commands: Commands,
) {
    let frames = preferences.get().frame_time.then_some(statistics.frames);
    let (entity, tree) = &mut *panel;
    let elements = page(&meeting, link.address(), joining.waiting, frames);
    ui::show(&mut commands, *entity, tree, elements);
}

fn page(meeting: &Meeting, address: Option<String>, joining: bool, frames: Option<Frames>) -> Vec<Element> {
    let here = meeting.participants.iter().filter(|p| p.presence != Presence::Away).count() + 1;
    let people = if here == 1 { "only you here".to_owned() } else { format!("{here} people here") };
    let title = match meeting.phase {
        _ if joining => "Joining a meeting".to_owned(),
        Phase::Alone => "No meeting".to_owned(),
        Phase::Joining => "Joining a meeting".to_owned(),
        Phase::Guest => format!("In a meeting, {people}"),
        Phase::Hosting => format!("Hosting a meeting, {people}"),
    };
    let mut page = vec![ui::text(title, Size::Body, Tone::Plain)];
    if let Some(address) = address.filter(|_| meeting.phase == Phase::Hosting) {
        page.push(ui::text(format!("Others join at {address}"), Size::Small, Tone::Dim));
    }
    if matches!(meeting.phase, Phase::Hosting | Phase::Guest) {
        let me = (&meeting.me.name, meeting.me.colour, true, "you");
        let others = meeting.participants.iter().map(|p| {
            let state = match p.presence {
                Presence::Live => "",
                Presence::Stale => "not responding",
                Presence::Away => "away",
            };
            (&p.label, p.colour, p.presence == Presence::Live, state)
        });
        for (label, colour, live, state) in std::iter::once(me).chain(others).take(NAMES) {
            let tone = if live { Tone::Plain } else { Tone::Dim };
            let text = if state.is_empty() { label.clone() } else { format!("{label} ({state})") };
            page.push(ui::row([ui::dot(labels::colour(colour)), ui::text(text, Size::Small, tone)]));
        }
        let more = (meeting.participants.len() + 1).saturating_sub(NAMES);
        if more > 0 {
            page.push(ui::text(format!("and {more} more"), Size::Small, Tone::Dim));
        }
    }
    if let Some(frames) = frames {
        let milliseconds = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        let (usual, longest) = (milliseconds(frames.median), milliseconds(frames.longest));
        let text = format!("{usual:.1} ms a frame, {longest:.0} ms the longest");
        page.push(ui::text(text, Size::Small, Tone::Dim));
    }
    page
}
