//! Lower left: notices; a click takes one away.

use bevy::prelude::*;

use super::{Places, refill};
use crate::{
    app::{
        AppSystems,
        notices::Notices,
        theme::{self, colour, size},
    },
    notice::Severity,
};

const WIDTH: f32 = 460.0;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Startup, spawn)
        .add_systems(Update, update.run_if(resource_changed::<Notices>).in_set(AppSystems::Present));
}

#[derive(Component)]
struct NoticePanel;

fn spawn(mut commands: Commands, places: Res<Places>) {
    let node = Node {
        width: px(WIDTH),
        max_width: percent(100),
        flex_direction: FlexDirection::Column,
        row_gap: px(8),
        ..default()
    };
    let panel = commands.spawn((NoticePanel, node, Pickable::IGNORE, Name::new("notices"))).id();
    commands.entity(places.notices).add_child(panel);
}

fn update(notices: Res<Notices>, panel: Single<Entity, With<NoticePanel>>, mut commands: Commands) {
    refill(*panel, &mut commands, |panel| {
        for shown in notices.iter() {
            let edge = match shown.notice.severity {
                Severity::Info => colour::ACCENT,
                Severity::Warning => colour::WARNING,
                Severity::Error => colour::ERROR,
            };
            let times = if shown.times > 1 { format!(" ({} times)", shown.times) } else { String::new() };
            let number = shown.number;
            let node = Node {
                border: UiRect::left(px(4)),
                flex_direction: FlexDirection::Column,
                row_gap: px(4),
                ..default()
            };
            let dismiss = move |_: On<Pointer<Click>>, mut notices: ResMut<Notices>| notices.dismiss(number);
            panel.spawn((theme::panel(node), BorderColor::all(edge))).observe(dismiss).with_children(
                |lines| {
                    let text = format!("{}{times}", shown.notice.what_happened);
                    lines.spawn(theme::text(text, size::BODY, colour::TEXT));
                    if !shown.notice.what_to_do.is_empty() {
                        lines.spawn(theme::text(&shown.notice.what_to_do, size::SMALL, colour::DIM));
                    }
                },
            );
        }
    });
}
