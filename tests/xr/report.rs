//! What the app says of itself: the lines that `--report` writes.
#![allow(dead_code, reason = "scenarios look at a part, failures print all of it")]

use std::{
    collections::BTreeMap,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use glam::{Quat, Vec3};
use serde::Deserialize;

use super::remote::Pose;

/// One line: how things are. Poses are in room space.
#[derive(Debug, Clone, Deserialize)]
pub struct State {
    /// Seconds since the start.
    pub t: f64,
    pub vr: Vr,
    /// Drawn for the headset so far.
    pub frames: u64,
    /// Width and height of an eye's picture.
    pub eye: Option<[u32; 2]>,
    /// Where the headset's coordinates are in the room.
    pub room: Place,
    pub head: Option<Place>,
    pub left: Option<Place>,
    pub right: Option<Place>,
    pub tracked: Sides<Tracked>,
    /// What the hands do.
    pub input: Sides<Input>,
    pub aim: Sides<Option<Aim>>,
    /// The ids of the models that are held.
    pub held: Vec<String>,
    pub phase: Phase,
    pub port: Option<u16>,
    pub keep_aligned: bool,
    pub models: Vec<Model>,
    pub passthrough: Passthrough,
    pub alignment: Alignment,
    /// The name of the room that markers say the place of.
    pub real_room: String,
    pub markers: Sides<Marker>,
    /// Between the two that hold, in metres.
    pub marker_distance: Option<f32>,
    /// What can be pressed on boards in the room, by id.
    pub controls: BTreeMap<String, Control>,
    /// The ids of those that hands are at.
    pub pointed: Vec<String>,
    /// Boards in the room, by name; of some there are several.
    pub boards: BTreeMap<String, Place>,
    /// Whether the pages are shown.
    pub panels: bool,
    /// What happened, for people.
    pub notices: Vec<String>,
}

impl State {
    pub fn model(&self, id: &str) -> Option<&Model> {
        self.models.iter().find(|model| model.id == id)
    }

    /// A point of the room in the headset's coordinates.
    pub fn in_tracking(&self, point: Vec3) -> Vec3 {
        let room = Pose::from(self.room);
        room.rotation.inverse() * (point - room.position)
    }

    pub fn says(&self, text: &str) -> bool {
        self.notices.iter().any(|notice| notice.contains(text))
    }
}

/// How far the headset's session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vr {
    Unavailable,
    Available,
    Idle,
    Ready,
    Synchronized,
    Visible,
    Focused,
    Stopping,
    Lost,
    Exiting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tracked {
    Controller,
    Hand,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Input {
    pub trigger: f32,
    pub squeeze: f32,
    pub stick: [f32; 2],
    /// Of a bare hand's index finger.
    pub fingertip: Option<[f32; 3]>,
}

/// Something to press, switch or fill in.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Control {
    /// Of its middle.
    pub position: [f32; 3],
    pub usable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Alone,
    Joining,
    Hosting,
    Guest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Passthrough {
    Off,
    AlphaBlend,
    Fb,
}

/// Whether markers say where the real room is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Alignment {
    None,
    Aligned,
    Doubtful,
}

/// Where a hand's alignment marker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Marker {
    None,
    Hand,
    Dropped,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub struct Sides<T> {
    pub left: T,
    pub right: T,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Place {
    pub position: [f32; 3],
    pub rotation: [f32; 4],
}

impl From<Place> for Pose {
    fn from(place: Place) -> Self {
        Self { position: Vec3::from(place.position), rotation: Quat::from_array(place.rotation) }
    }
}

/// What a hand points at.
#[derive(Debug, Clone, Deserialize)]
pub struct Aim {
    /// The model's id.
    pub model: String,
    pub point: [f32; 3],
}

#[derive(Debug, Clone, Deserialize)]
pub struct Model {
    pub id: String,
    pub name: String,
    /// It can be drawn.
    pub ready: bool,
    pub shown: bool,
    pub position: [f32; 3],
    pub rotation: [f32; 4],
    pub scale: f32,
}

/// Follows the file.
pub struct Report {
    path: PathBuf,
    file: Option<File>,
    /// The beginning of a line whose end is not written yet.
    unfinished: Vec<u8>,
    states: Vec<State>,
}

impl Report {
    /// The file need not be there yet.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), file: None, unfinished: Vec::new(), states: Vec::new() }
    }

    /// All states so far, after reading what is new.
    pub fn states(&mut self) -> &[State] {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        if let Some(file) = &mut self.file {
            file.read_to_end(&mut self.unfinished).unwrap();
        }
        while let Some(end) = self.unfinished.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.unfinished.drain(..=end).collect();
            let state = serde_json::from_slice(&line).unwrap_or_else(|error| {
                panic!("a line of the report is not understood: {error}\n{}", String::from_utf8_lossy(&line))
            });
            self.states.push(state);
        }
        &self.states
    }
}
