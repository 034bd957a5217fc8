//! What panels are made of: a page says what it shows as [`Element`]s, and the
//! entities that show it are brought in line with that.
//!
//! For: text, buttons, switches, fields and bars with one look, on a screen and
//! on a panel in the room alike. Not for: what a page says (`panels`), or what a
//! button does (it writes an [`Action`](super::input::Action)).
//!
//! Only what differs is touched, so a button keeps its focus and a field its
//! cursor while the rest of a page changes many times a second. Behaviour comes
//! from Bevy's own widgets, looks from [`theme`](super::theme).

mod build;
mod controls;
mod element;
mod ellipsis;
mod scroll;
mod style;

use bevy::prelude::*;

pub use build::{Tree, show};
pub use controls::{ByPad, Drafts, Typing, is_typing};
pub use element::{
    Button, Element, Field, FieldId, Size, Tone, bar, button, card, column, dot, field, line, name, row,
    swatch, switch, text, tight_row,
};
pub use scroll::scrolling;

/// What people can press, switch or fill in: known by an id that says where it
/// is, such as `models/hide/0RMIPDpN`.
#[derive(Component, Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// Unique among all that are there.
    pub id: String,
}

/// On a control that a hand points at, or has a finger before.
#[derive(Component, Debug, Clone, Copy)]
pub(super) struct Pointed;

pub(super) fn plugin(app: &mut App) {
    app.add_plugins((controls::plugin, ellipsis::plugin, scroll::plugin, style::plugin));
}
