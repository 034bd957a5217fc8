//! Upper right: the open models; a click shows or hides one.

use bevy::prelude::*;

use super::refill;
use crate::{
    app::{
        AppSystems,
        actions::Selected,
        input::Action,
        link::Meeting,
        models::Opening,
        theme::{self, GAP, Pressable, colour, size},
    },
    session::Phase,
};

/// Longer names lose their middle.
const NAME_CHARS: usize = 24;
/// Models listed; of the rest the number is told.
const ROWS: usize = 12;
const WIDTH: f32 = 280.0;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Startup, spawn).add_systems(Update, update.in_set(AppSystems::Present));
}

#[derive(Component)]
struct ModelPanel;

#[derive(PartialEq, Clone)]
struct Row {
    id: String,
    name: String,
    state: &'static str,
    shown: bool,
    selected: bool,
    private: bool,
}

/// What the panel shows.
#[derive(PartialEq, Clone)]
struct Content {
    rows: Vec<Row>,
    more: usize,
    /// Files that are being read.
    opening: Vec<String>,
    keep_aligned: bool,
}

fn spawn(mut commands: Commands) {
    let node = Node {
        position_type: PositionType::Absolute,
        right: px(GAP),
        top: px(GAP),
        width: px(WIDTH),
        flex_direction: FlexDirection::Column,
        row_gap: px(4),
        ..default()
    };
    commands.spawn((ModelPanel, theme::panel(node)));
}

fn update(
    meeting: Res<Meeting>,
    selected: Res<Selected>,
    opening: Res<Opening>,
    panel: Single<Entity, With<ModelPanel>>,
    mut last: Local<Option<Content>>,
    mut commands: Commands,
) {
    let content = content(&meeting, &selected, &opening);
    if last.as_ref() == Some(&content) {
        return;
    }
    refill(*panel, &mut commands, |panel| {
        panel.spawn(theme::text("Models", size::BODY, colour::TEXT));
        if content.rows.is_empty() && content.opening.is_empty() {
            panel.spawn(theme::text("Drop a .glb or .gltf file here to open it", size::SMALL, colour::DIM));
        }
        for row in &content.rows {
            spawn_row(panel, row);
        }
        for name in &content.opening {
            panel.spawn(theme::text(format!("opening {name}"), size::SMALL, colour::DIM));
        }
        if content.more > 0 {
            panel.spawn(theme::text(format!("and {} more", content.more), size::SMALL, colour::DIM));
        }
        if content.keep_aligned {
            panel.spawn(theme::text("Kept aligned: all move together", size::SMALL, colour::ACCENT));
        }
    });
    *last = Some(content);
}

fn spawn_row(panel: &mut ChildSpawnerCommands, row: &Row) {
    let node = Node {
        padding: UiRect::axes(px(8), px(5)),
        column_gap: px(8),
        justify_content: JustifyContent::SpaceBetween,
        align_items: AlignItems::Center,
        border: UiRect::left(px(3)),
        border_radius: BorderRadius::all(px(4)),
        ..default()
    };
    let mark = if row.selected { colour::ACCENT } else { Color::NONE };
    let text = if row.shown { colour::TEXT } else { colour::DIM };
    let id = row.id.clone();
    let toggle = move |_: On<Pointer<Click>>, mut actions: MessageWriter<Action>| {
        actions.write(Action::Select(id.clone()));
        actions.write(Action::ToggleModel(id.clone()));
    };
    let mut entity = panel.spawn((node, Pressable, BorderColor::all(mark)));
    entity.observe(toggle).with_children(|parts| {
        parts.spawn(theme::text(&row.name, size::SMALL, text));
        if row.private {
            let id = row.id.clone();
            let share = move |mut click: On<Pointer<Click>>, mut actions: MessageWriter<Action>| {
                click.propagate(false);
                actions.write(Action::Share(id.clone()));
            };
            let node = Node {
                padding: UiRect::axes(px(8), px(2)),
                border_radius: BorderRadius::all(px(4)),
                ..default()
            };
            parts
                .spawn((node, Pressable, children![theme::text("share", size::SMALL, colour::ACCENT)]))
                .observe(share);
        } else {
            parts.spawn(theme::text(row.state, size::SMALL, colour::DIM));
        }
    });
}

fn content(meeting: &Meeting, selected: &Selected, opening: &Opening) -> Content {
    let selected = selected.id(meeting);
    let in_meeting = matches!(meeting.phase, Phase::Hosting | Phase::Guest);
    let row = |m: &crate::session::ModelView| Row {
        id: m.id.clone(),
        name: shortened(m.name.strip_suffix(".glb").unwrap_or(&m.name), NAME_CHARS),
        state: match (m.failed.is_some(), m.glb.is_some(), m.shown) {
            (true, ..) => "failed",
            (_, false, _) => "on its way",
            (_, _, true) => "shown",
            (_, _, false) => "hidden",
        },
        shown: m.shown,
        selected: selected == Some(m.id.as_str()),
        private: in_meeting && !m.shared,
    };
    Content {
        rows: meeting.models.iter().take(ROWS).map(row).collect(),
        more: meeting.models.len().saturating_sub(ROWS),
        opening: opening.iter().take(ROWS).map(|name| shortened(name, NAME_CHARS)).collect(),
        keep_aligned: meeting.keep_aligned,
    }
}

/// A name of at most so many characters; beginnings and ends tell files apart.
fn shortened(name: &str, most: usize) -> String {
    let count = name.chars().count();
    if count <= most {
        return name.to_owned();
    }
    let (head, tail) = (most * 2 / 3, most - most * 2 / 3 - 3);
    let start: String = name.chars().take(head).collect();
    let end: String = name.chars().skip(count - tail).collect();
    format!("{start}...{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shortened("brain", 24), "brain");
        let long = shortened("emd_11638_postprocessed_map_ångström_v2", 24);
        assert_eq!(long, "emd_11638_postpr...öm_v2");
        assert_eq!(long.chars().count(), 24);
    }
}
