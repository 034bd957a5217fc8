//! The vocabulary that platforms fill: where the person is, and what they want.
//!
//! For: the desktop window and headsets to say the same things. Not for keys or
//! buttons, which only the platforms know. Written in
//! [`AppSystems::Input`](super::AppSystems::Input).

use std::path::PathBuf;

use bevy::prelude::*;

use crate::session::{Body, Placement};

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Me>().add_message::<Action>().add_message::<OpenFile>().add_message::<Hold>();
}

/// This participant's head and hands, in room space.
#[derive(Resource, Debug, Clone, Copy)]
pub struct Me {
    /// Sent to everybody.
    pub body: Body,
}

impl Default for Me {
    fn default() -> Self {
        Self { body: Body::rest() }
    }
}

/// Something that is done once, by a key or a button.
#[derive(Message, Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// This model is the one that further actions are about.
    Select(String),
    /// Hide all models but the one after the shown one.
    NextModel,
    /// Hide all models but the one before the shown one.
    PreviousModel,
    /// Hide or show the selected model.
    ToggleSelected,
    /// Hide or show a model.
    ToggleModel(String),
    /// Close the selected model for everybody.
    CloseSelected,
    /// Give a private model to everybody.
    Share(String),
    /// Switch keep-aligned.
    ToggleKeepAligned,
    /// Put all models into the relative places of their files.
    OriginalAlignment,
    /// Show or hide the list of keys.
    ToggleHelp,
    /// Hide the list of keys.
    CloseHelp,
}

/// A model file to open.
#[derive(Message, Debug, Clone, PartialEq, Eq)]
pub struct OpenFile {
    /// Where it is.
    pub path: PathBuf,
    /// Only here, until it is shared.
    pub private: bool,
}

impl From<PathBuf> for OpenFile {
    fn from(path: PathBuf) -> Self {
        Self { path, private: false }
    }
}

/// A model in a hand (or under a mouse). At most one at a time.
#[derive(Message, Debug, Clone, PartialEq)]
pub enum Hold {
    /// It is taken, where it is.
    Take {
        /// Which.
        model_id: String,
    },
    /// It is to be there: world pose, and metres of its largest side as scale.
    To(Placement),
    /// It is let go.
    Release,
}
