//! The list of keys, over everything else while it is asked for.

use bevy::prelude::*;

use crate::app::{
    AppSystems,
    input::Action,
    theme::{self, colour, size},
};

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Keys>().add_systems(Update, toggle.in_set(AppSystems::Present));
}

/// What keys and buttons do here: filled by the platform, by group.
#[derive(Resource, Debug, Default)]
pub struct Keys(pub &'static [(&'static str, &'static [(&'static str, &'static str)])]);

#[derive(Component)]
struct HelpPanel;

fn toggle(
    mut actions: MessageReader<Action>,
    panel: Query<Entity, With<HelpPanel>>,
    keys: Res<Keys>,
    mut commands: Commands,
) {
    let was_open = !panel.is_empty();
    let open = actions.read().fold(was_open, |open, action| match action {
        Action::ToggleHelp => !open,
        Action::Dismiss => false,
        _ => open,
    });
    match (was_open, open) {
        (false, true) => spawn(&mut commands, &keys),
        (true, false) => panel.iter().for_each(|panel| commands.entity(panel).despawn()),
        _ => {}
    }
}

fn spawn(commands: &mut Commands, keys: &Keys) {
    let cover = Node {
        position_type: PositionType::Absolute,
        width: percent(100),
        height: percent(100),
        justify_content: JustifyContent::Center,
        align_items: AlignItems::Center,
        ..default()
    };
    let list = Node {
        flex_direction: FlexDirection::Column,
        row_gap: px(3),
        padding: UiRect::all(px(18)),
        border_radius: BorderRadius::all(px(10)),
        max_width: percent(92),
        ..default()
    };
    commands
        .spawn((HelpPanel, cover, GlobalZIndex(10), Name::new("help")))
        .observe(|_: On<Pointer<Click>>, mut actions: MessageWriter<Action>| {
            actions.write(Action::ToggleHelp);
        })
        .with_children(|cover| {
            cover.spawn((list, BackgroundColor(colour::PANEL.with_alpha(0.98)))).with_children(|list| {
                for (group, lines) in keys.0 {
                    let heading = (Node { margin: UiRect::top(px(4)), ..default() }, Pickable::IGNORE);
                    list.spawn(heading).with_child(theme::text(*group, size::BODY, colour::ACCENT));
                    for (key, what) in *lines {
                        let row = Node { column_gap: px(14), ..default() };
                        let column = Node { width: px(230), flex_shrink: 0.0, ..default() };
                        list.spawn((row, Pickable::IGNORE)).with_children(|row| {
                            row.spawn((column, Pickable::IGNORE)).with_child(theme::text(
                                *key,
                                size::SMALL,
                                colour::TEXT,
                            ));
                            row.spawn(theme::text(*what, size::SMALL, colour::DIM));
                        });
                    }
                }
            });
        });
}
