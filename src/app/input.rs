//! The vocabulary that platforms fill: where the person is, and what they want.
//!
//! For: the desktop window and headsets to say the same things. Not for keys or
//! buttons, which only the platforms know. Written in
//! [`AppSystems::Input`](super::AppSystems::Input).

use std::path::PathBuf;

use bevy::prelude::*;

use crate::{
    gestures::{PerSide, Side},
    session::{Body, Colour, Placement, Pose},
};

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Me>()
        .init_resource::<Hands>()
        .init_resource::<Headset>()
        .add_message::<Action>()
        .add_message::<OpenFile>()
        .add_message::<Hold>()
        .add_message::<Pulse>();
}

/// This participant's head and hands, in room space.
#[derive(Resource, Debug, Clone, Copy)]
pub struct Me {
    /// Sent to everybody.
    pub body: Body,
    /// Whether the body is somebody's: not of a headset that lies on a table. Only
    /// then it is sent, and others see the person away otherwise.
    pub present: bool,
}

impl Default for Me {
    fn default() -> Self {
        Self { body: Body::rest(), present: true }
    }
}

/// Both hands as the platform tracks them. On a desktop neither is there.
#[derive(Resource, Debug, Default, Clone, Copy, Deref, DerefMut)]
pub struct Hands(PerSide<HandInput>);

/// What is known of one hand.
#[derive(Debug, Clone, Copy)]
pub struct HandInput {
    /// How it is tracked.
    pub device: HandDevice,
    /// The wand: its middle, pointing along its +y, as in [`Body`].
    pub aim: Pose,
    /// What is held moves and turns with this.
    pub grip: Pose,
    /// 0 to 1; of a bare hand the pinch.
    pub trigger: f32,
    /// 0 to 1.
    pub squeeze: f32,
    /// Right and up positive, at most 1.
    pub stick: Vec2,
    /// The tip of the index finger of a bare hand.
    pub fingertip: Option<Vec3>,
}

impl Default for HandInput {
    fn default() -> Self {
        Self {
            device: HandDevice::None,
            aim: Pose::IDENTITY,
            grip: Pose::IDENTITY,
            trigger: 0.0,
            squeeze: 0.0,
            stick: Vec2::ZERO,
            fingertip: None,
        }
    }
}

impl HandInput {
    /// Whether its poses are known now.
    pub fn is_there(&self) -> bool {
        self.device != HandDevice::None
    }
}

/// How a hand is tracked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HandDevice {
    /// It is not seen.
    #[default]
    None,
    /// It holds a controller.
    Controller,
    /// It is bare, and the headset sees it.
    Bare,
}

impl HandDevice {
    /// In reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Controller => "controller",
            Self::Bare => "hand",
        }
    }
}

/// A tick that a hand is to feel. Where it cannot, nothing happens.
#[derive(Message, Debug, Clone, Copy, PartialEq)]
pub struct Pulse {
    /// Which hand.
    pub side: Side,
    /// 0 to 1.
    pub strength: f32,
    /// How long, seconds.
    pub duration_secs: f32,
}

impl Pulse {
    /// A model was taken.
    pub fn grab(side: Side) -> Self {
        Self { side, strength: 0.6, duration_secs: 0.03 }
    }

    /// It was let go.
    pub fn release(side: Side) -> Self {
        Self { side, strength: 0.25, duration_secs: 0.02 }
    }

    /// A button was pressed.
    pub fn press(side: Side) -> Self {
        Self { side, strength: 0.4, duration_secs: 0.02 }
    }

    /// A hand has come over a button.
    pub fn hover(side: Side) -> Self {
        Self { side, strength: 0.12, duration_secs: 0.01 }
    }
}

/// The headset, as the platform last saw it.
#[derive(Resource, Debug, Clone, PartialEq)]
pub struct Headset {
    /// Of its session.
    pub state: HeadsetState,
    /// Whether the person wants to look through it.
    pub wanted: bool,
    /// Pixels of the picture of one eye that are drawn now.
    pub eye_size: Option<UVec2>,
    /// Frames that were drawn for it.
    pub frames: u64,
    /// How the real room is shown behind the models now.
    pub passthrough: Passthrough,
    /// How it can be shown, if at all.
    pub offers: Passthrough,
    /// Where tracking space is in the room: tracking space is what the headset
    /// measures in, right-handed, y up from the floor, metres.
    pub room_from_tracking: Pose,
    /// What it calls itself; empty while nobody has asked.
    pub name: String,
    /// Whether it measures from the same point of the real room after it was off.
    pub keeps_coordinates: bool,
    /// Whether it is all there is: no window beside it, and its session's end is the
    /// program's.
    pub standalone: bool,
}

impl Default for Headset {
    fn default() -> Self {
        Self {
            state: HeadsetState::Unavailable,
            wanted: false,
            eye_size: None,
            frames: 0,
            passthrough: Passthrough::Off,
            offers: Passthrough::Off,
            room_from_tracking: crate::session::room_from_tracking_unaligned(),
            name: String::new(),
            keeps_coordinates: false,
            standalone: false,
        }
    }
}

impl Headset {
    /// Whether the person sees the room through it.
    pub fn is_worn(&self) -> bool {
        matches!(self.state, HeadsetState::Visible | HeadsetState::Focused)
    }

    /// Whether the real room is seen behind the models.
    pub fn sees_real_room(&self) -> bool {
        self.is_worn() && self.passthrough != Passthrough::Off
    }

    /// Whether it wants pictures.
    pub fn has_frames(&self) -> bool {
        use HeadsetState::{Focused, Ready, Synchronized, Visible};
        matches!(self.state, Ready | Synchronized | Visible | Focused)
    }

    /// Whether the person has come with it, worn at the moment or not.
    pub fn is_in_use(&self) -> bool {
        !matches!(self.state, HeadsetState::Unavailable | HeadsetState::Available | HeadsetState::Lost)
    }
}

/// The states of a headset's session, after OpenXR's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeadsetState {
    /// There is no runtime, or it was not asked for.
    #[default]
    Unavailable,
    /// There is one, and no session.
    Available,
    /// The session is there; the headset is not worn, say.
    Idle,
    /// It is about to begin.
    Ready,
    /// It runs, and the person does not see it.
    Synchronized,
    /// The person sees it, and something else has the controllers.
    Visible,
    /// The person sees it and acts in it.
    Focused,
    /// It is about to end.
    Stopping,
    /// The runtime is gone.
    Lost,
    /// The person has left it.
    Exiting,
}

impl HeadsetState {
    /// In reports and the log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Available => "available",
            Self::Idle => "idle",
            Self::Ready => "ready",
            Self::Synchronized => "synchronized",
            Self::Visible => "visible",
            Self::Focused => "focused",
            Self::Stopping => "stopping",
            Self::Lost => "lost",
            Self::Exiting => "exiting",
        }
    }
}

/// How the real room is shown behind the models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Passthrough {
    /// Not at all.
    #[default]
    Off,
    /// The runtime blends by the picture's alpha.
    AlphaBlend,
    /// By a layer of XR_FB_passthrough below the picture.
    Layer,
}

impl Passthrough {
    /// In reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::AlphaBlend => "alpha-blend",
            Self::Layer => "fb",
        }
    }
}

/// Something that is done once, by a key or a button.
#[derive(Message, Debug, Clone, PartialEq)]
pub enum Action {
    /// End the program, where no window can be closed.
    Quit,
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
    /// Draw so many percent of the pixels in each direction that the headset asks for.
    EyeScale(u8),
    /// Put an alignment marker on each tip.
    Align,
    /// Drop this hand's alignment marker at its tip; without markers, begin with that.
    Mark(Side),
    /// Put the markers away.
    StopAligning,
    /// Go back to the alignment before.
    UndoAlignment,
    /// The alignment still holds, whatever the headset did.
    TrustAlignment,
    /// Be in the real room of this name, known or new.
    ChooseRoom(String),
    /// Call the real room this.
    RenameRoom(String),
    /// Do not know the real room of this name any more.
    ForgetRoom(String),
    /// Go to one side of this participant, by its id, and look the same way.
    StandBeside(String),
    /// Show the panels at this hand, or put them away.
    Menu(Side),
    /// A key of the panels' own keyboard.
    Type(PadKey),
    /// Take this notice away.
    DismissNotice(u64),
}

/// Keys of the panels' own keyboard, which writes into the field that it was
/// opened for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PadKey {
    /// Behind what is there.
    Text(String),
    /// The last character away.
    Delete,
    /// All of it away.
    Clear,
    /// Capital letters, or small ones.
    Shift,
    /// Letters, or digits.
    Layer,
    /// What was typed holds.
    Done,
    /// Put the keyboard away.
    Close,
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
    /// Look through the headset.
    Headset,
    /// See the real room behind the models.
    RealRoom,
    /// Smooth edges in the headset.
    SmoothEdges,
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
            Self::Headset => "headset",
            Self::RealRoom => "real-room",
            Self::SmoothEdges => "smooth-edges",
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

/// A model in a hand, or in both, or under a mouse. Each hand holds one at most.
#[derive(Message, Debug, Clone, PartialEq)]
pub enum Hold {
    /// It is taken, where it is.
    Take {
        /// Which.
        model_id: String,
    },
    /// It is to be there.
    To {
        /// Which.
        model_id: String,
        /// World pose, and metres of its largest side as scale.
        world: Placement,
    },
    /// It is let go.
    Release {
        /// Which.
        model_id: String,
    },
}
