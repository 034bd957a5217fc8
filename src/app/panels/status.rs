//! Upper left: what kind of meeting this is, its address, and who is here.

use bevy::prelude::*;

use super::refill;
use crate::{
    app::{
        AppSystems, labels,
        link::{Link, Meeting},
        theme::{self, GAP, colour, size},
    },
    session::{Colour, Phase, Presence},
};

/// People listed by name; of the rest the number is told.
const NAMES: usize = 12;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Startup, spawn).add_systems(Update, update.in_set(AppSystems::Present));
}

#[derive(Component)]
struct StatusPanel;

/// What the panel shows.
#[derive(Default, PartialEq, Clone)]
struct Content {
    title: String,
    detail: String,
    people: Vec<(String, Colour, bool)>,
    more: usize,
}

fn spawn(mut commands: Commands) {
    let node = Node {
        position_type: PositionType::Absolute,
        left: px(GAP),
        top: px(GAP),
        max_width: percent(48),
        flex_direction: FlexDirection::Column,
        row_gap: px(4),
        ..default()
    };
    commands.spawn((StatusPanel, theme::panel(node), Pickable::IGNORE));
}

fn update(
    meeting: Res<Meeting>,
    link: Res<Link>,
    panel: Single<Entity, With<StatusPanel>>,
    mut last: Local<Option<Content>>,
    mut commands: Commands,
) {
    let content = content(&meeting, link.address());
    if last.as_ref() == Some(&content) {
        return;
    }
    refill(*panel, &mut commands, |panel| {
        panel.spawn(theme::text(&content.title, size::BODY, colour::TEXT));
        if !content.detail.is_empty() {
            panel.spawn(theme::text(&content.detail, size::SMALL, colour::DIM));
        }
        for (name, tint, dim) in &content.people {
            let dot = Node {
                width: px(10),
                height: px(10),
                flex_shrink: 0.0,
                border_radius: BorderRadius::all(px(5)),
                ..default()
            };
            let text = if *dim { colour::DIM } else { colour::TEXT };
            panel.spawn((
                Node { column_gap: px(8), align_items: AlignItems::Center, ..default() },
                children![
                    (dot, BackgroundColor(labels::colour(*tint))),
                    theme::text(name, size::SMALL, text)
                ],
            ));
        }
        if content.more > 0 {
            panel.spawn(theme::text(format!("and {} more", content.more), size::SMALL, colour::DIM));
        }
    });
    *last = Some(content);
}

fn content(meeting: &Meeting, address: Option<String>) -> Content {
    let here = meeting.participants.iter().filter(|p| p.presence != Presence::Away).count() + 1;
    let people = if here == 1 { "only you here".to_owned() } else { format!("{here} people here") };
    let (title, detail) = match meeting.phase {
        Phase::Alone => ("No meeting".to_owned(), String::new()),
        Phase::Joining => ("Joining a meeting".to_owned(), String::new()),
        Phase::Guest => (format!("In a meeting, {people}"), String::new()),
        Phase::Hosting => {
            let address = address.map_or_else(String::new, |address| format!("Others join at {address}"));
            (format!("Hosting a meeting, {people}"), address)
        }
    };
    let list = meeting.phase != Phase::Alone && meeting.phase != Phase::Joining;
    let me = (format!("{} (you)", meeting.me.name), meeting.me.colour, false);
    let others = meeting.participants.iter().map(|p| {
        let state = match p.presence {
            Presence::Live => "",
            Presence::Stale => ", not responding",
            Presence::Away => ", away",
        };
        (format!("{}{state}", p.label), p.colour, p.presence != Presence::Live)
    });
    let everybody = meeting.participants.len() + 1;
    Content {
        title,
        detail,
        people: std::iter::once(me).chain(others).filter(|_| list).take(NAMES).collect(),
        more: if list { everybody.saturating_sub(NAMES) } else { 0 },
    }
}
