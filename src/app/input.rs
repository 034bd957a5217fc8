//! The vocabulary that platforms fill: where the person is, and what they want.
//!
//! For: the desktop window and headsets to say the same things. Not for keys or
//! buttons, which only the platforms know. Written in
//! [`AppSystems::Input`](super::AppSystems::Input).

use std::path::PathBuf;

use bevy::prelude::*;

use crate::session::{Body, Colour, Placement};

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
#[derive(Message, Debug, Clone, PartialEq)]
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
    /// Close a model for everybody.
    CloseModel(String),
    /// Take no more bytes of a model that is on its way.
    CancelModel(String),
    /// Take a model after all that was cancelled.
    WantModel(String),
    /// Show all triangles of a model that was simplified, or the simplified ones again; here only.
    ToggleDetail(String),
    /// Play a model's animation, or stop it; here only.
    ToggleAnimation(String),
    /// Give a private model to everybody.
    Share(String),
    /// Put all models into the relative places of their files.
    OriginalAlignment,
    /// Show or hide the list of keys.
    ToggleHelp,
    /// Hide the list of keys, and notices.
    Dismiss,
    /// Show this page of the panels.
    ShowPage(Page),
    /// Show or hide the panels.
    TogglePanels,
    /// The other state of a switch.
    Toggle(Switch),
    /// A switch to this state.
    Set(Switch, bool),
    /// Open a model file.
    OpenFile(PathBuf),
    /// Delete a received file; asked twice.
    DeleteFile(PathBuf),
    /// Look into this folder.
    Browse(PathBuf),
    /// Host a meeting.
    Host,
    /// Host a meeting at any port that is free.
    HostAtAnyPort,
    /// Join the meeting at this address.
    Join(String),
    /// Leave the meeting, or end it, or stop trying to join.
    Leave,
    /// Do not offer this address any more.
    ForgetAddress(String),
    /// Put this on the clipboard.
    Copy(String),
    /// The name that others see.
    Rename(String),
    /// The colour of one's wands.
    Recolour(Colour),
}

/// Pages of the panels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Page {
    /// Open models.
    #[default]
    Models,
    /// Files to open.
    Files,
    /// Who is here; host, join, leave.
    Meeting,
    /// Name, colour and the like.
    Options,
}

impl Page {
    /// In this order.
    pub const ALL: [Self; 4] = [Self::Models, Self::Files, Self::Meeting, Self::Options];

    /// As people read it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Models => "Models",
            Self::Files => "Files",
            Self::Meeting => "Meeting",
            Self::Options => "Options",
        }
    }
}

/// What is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Switch {
    /// Models keep their places relative to each other; the meeting's.
    KeepAligned,
    /// Take files that others send.
    ReceiveFiles,
    /// Open them by themselves.
    OpenNewFiles,
    /// Send and take models exactly as they are in their files.
    ExactModels,
    /// Show how long frames take.
    FrameTime,
    /// Show the lights that model files bring along.
    FileLights,
    /// Show what the network does.
    Debugging,
}

impl Switch {
    /// In ids of controls.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::KeepAligned => "keep-aligned",
            Self::ReceiveFiles => "receive-files",
            Self::OpenNewFiles => "open-new-files",
            Self::ExactModels => "exact-models",
            Self::FrameTime => "frame-time",
            Self::FileLights => "file-lights",
            Self::Debugging => "debugging",
        }
    }
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
