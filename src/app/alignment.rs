//! Where the real room is in the meeting's room.
//!
//! People in one real room must agree on its coordinates, or they walk into each
//! other: two markers on two points of it say where it is.

use bevy::prelude::*;

use super::{AppSystems, notices::Notify};
use crate::notice::Notice;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Alignment>()
        .add_message::<Recentring>()
        .add_systems(Update, tell.in_set(AppSystems::Update));
}

/// How well the real room is known.
#[derive(Resource, Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Alignment {
    /// Nobody has said where it is.
    #[default]
    None,
    /// Markers say where it is.
    Aligned,
    /// They did, and the headset has changed its coordinates since.
    Doubtful,
}

impl Alignment {
    /// Whether markers have said where the room is, surely or not.
    pub fn is_aligned(self) -> bool {
        self != Self::None
    }

    /// The headset's coordinates have changed.
    pub fn doubt(&mut self) {
        *self = Self::Doubtful;
    }
}

/// The headset has changed its coordinates, or the person has recentred it.
#[derive(Message, Debug, Clone, Copy)]
pub struct Recentring;

fn tell(
    mut recentrings: MessageReader<Recentring>,
    alignment: Res<Alignment>,
    mut notices: MessageWriter<Notify>,
) {
    if recentrings.read().count() == 0 {
        return;
    }
    notices.write(Notify(if *alignment == Alignment::Doubtful {
        Notice::warning(
            "The headset was recentred, so the room may not be where it was.",
            "Align again, so that everybody in the real room sees things in the same place.",
        )
    } else {
        Notice::info("The headset was recentred.", "")
    }));
}
