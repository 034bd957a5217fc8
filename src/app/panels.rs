//! Panels over the picture.
//!
//! On the left a column: what kind of meeting this is, what the network does (if
//! asked for), notices. On the right the dock with its pages. Both are one
//! layout, so that nothing overlaps at any size of the window; the dock is one
//! tree, which stands on a screen here and can stand in the room.

mod board;
mod debugging;
mod dock;
mod files;
mod help;
mod meeting;
mod models;
mod notice_board;
mod notices;
mod options;
mod pad;
mod status;

use bevy::{input_focus::tab_navigation::TabNavigationPlugin, prelude::*};

pub use dock::{Dock, Open};
pub use help::Keys;

use super::theme::GAP;

pub(super) fn plugin(app: &mut App) {
    app.add_plugins(TabNavigationPlugin).add_systems(PreStartup, lay_out).add_plugins((
        dock::plugin,
        board::plugin,
        pad::plugin,
        models::plugin,
        files::plugin,
        meeting::plugin,
        options::plugin,
        status::plugin,
        debugging::plugin,
        notices::plugin,
        notice_board::plugin,
        help::plugin,
    ));
}

/// Where panels go.
#[derive(Resource, Debug, Clone, Copy)]
struct Places {
    /// Top of the left column.
    status: Entity,
    /// Below it; takes what height is left.
    debugging: Entity,
    /// Bottom of the left column.
    notices: Entity,
    /// The right side.
    dock: Entity,
}

fn lay_out(mut commands: Commands) {
    let whole = Node {
        position_type: PositionType::Absolute,
        width: percent(100),
        height: percent(100),
        padding: UiRect::all(px(GAP)),
        column_gap: px(GAP),
        ..default()
    };
    let left = Node {
        flex_direction: FlexDirection::Column,
        flex_grow: 1.0,
        flex_basis: px(0),
        min_width: px(0),
        row_gap: px(GAP),
        ..default()
    };
    let part = |grow: f32| Node {
        flex_direction: FlexDirection::Column,
        align_items: AlignItems::FlexStart,
        flex_grow: grow,
        flex_basis: if grow > 0.0 { px(0) } else { auto() },
        flex_shrink: if grow > 0.0 { 1.0 } else { 0.0 },
        min_height: px(0),
        min_width: px(0),
        row_gap: px(GAP),
        ..default()
    };
    let [status, debugging, notices] =
        [0.0, 1.0, 0.0].map(|grow| commands.spawn((part(grow), Pickable::IGNORE)).id());
    let left = commands.spawn((left, Pickable::IGNORE)).add_children(&[status, debugging, notices]).id();
    let right = Node {
        flex_direction: FlexDirection::Column,
        align_items: AlignItems::FlexEnd,
        height: percent(100),
        flex_shrink: 0.0,
        row_gap: px(GAP),
        ..default()
    };
    let dock = commands.spawn((right, Pickable::IGNORE)).id();
    commands.spawn((whole, Pickable::IGNORE, Name::new("panels"))).add_children(&[left, dock]);
    commands.insert_resource(Places { status, debugging, notices, dock });
}

/// Replaces what is in a panel.
fn refill(panel: Entity, commands: &mut Commands, fill: impl FnOnce(&mut ChildSpawnerCommands)) {
    commands.entity(panel).despawn_children().with_children(fill);
}
