//! Panels over the picture: status, models, notices, keys.
//!
//! Each has its own corner, so that none covers another from 800x600 up: status
//! at the upper left, models at the upper right, notices at the lower left, the
//! hint at the lower right; the list of keys is in the middle while it is asked
//! for.

mod help;
mod model_list;
mod notices;
mod status;

use bevy::prelude::*;

pub use help::Keys;

pub(super) fn plugin(app: &mut App) {
    app.add_plugins((status::plugin, model_list::plugin, notices::plugin, help::plugin));
}

/// Replaces what is in a panel.
fn refill(panel: Entity, commands: &mut Commands, fill: impl FnOnce(&mut ChildSpawnerCommands)) {
    commands.entity(panel).despawn_children().with_children(fill);
}
