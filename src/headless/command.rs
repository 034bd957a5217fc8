//! Lines of JSON to requests.

use std::path::PathBuf;

use glam::{Quat, Vec3};
use serde::{Deserialize, de::Error as _};
use serde_json::Value;

use crate::session::{Body, Command, Move, Pose};

/// A line that could be read.
#[derive(Debug)]
pub(super) struct Line {
    /// Comes back with the answer.
    pub seq: Option<Value>,
    pub request: Request,
}

#[derive(Debug)]
pub(super) enum Request {
    Open { path: PathBuf, private: bool },
    Session(Command),
    Pose(Body),
    PoseStream { hz: f64 },
    WatchPoses { on: bool },
    Save { model_id: String, path: PathBuf },
    Stats,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
enum Text {
    Open {
        path: PathBuf,
        #[serde(default)]
        private: bool,
    },
    Close {
        model_id: String,
    },
    Share {
        model_id: String,
    },
    Cancel {
        model_id: String,
    },
    Want {
        model_id: String,
    },
    Move {
        model_id: String,
        #[serde(flatten)]
        to: MoveText,
    },
    Show {
        model_id: String,
        shown: bool,
    },
    MoveScene {
        #[serde(flatten)]
        to: MoveText,
    },
    KeepAligned {
        on: bool,
    },
    OriginalAlignment,
    Pose {
        left: Option<PoseText>,
        right: Option<PoseText>,
        head: Option<PoseText>,
    },
    PoseStream {
        hz: f64,
    },
    WatchPoses {
        on: bool,
    },
    Save {
        model_id: String,
        path: PathBuf,
    },
    Stats,
    Leave,
}

#[derive(Debug, Deserialize)]
struct MoveText {
    position: Option<Vec3Text>,
    rotation: Option<QuatText>,
    scale: Option<f32>,
}

#[derive(Debug, Deserialize)]
struct PoseText {
    position: Vec3Text,
    rotation: QuatText,
}

/// `[x, y, z]` or `{"x":, "y":, "z":}`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Vec3Text {
    List([f32; 3]),
    Named { x: f32, y: f32, z: f32 },
}

/// `[x, y, z, w]` or `{"x":, "y":, "z":, "w":}`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
enum QuatText {
    List([f32; 4]),
    Named { x: f32, y: f32, z: f32, w: f32 },
}

impl From<Vec3Text> for Vec3 {
    fn from(text: Vec3Text) -> Self {
        match text {
            Vec3Text::List(v) => v.into(),
            Vec3Text::Named { x, y, z } => Vec3::new(x, y, z),
        }
    }
}

impl From<QuatText> for Quat {
    fn from(text: QuatText) -> Self {
        match text {
            QuatText::List(q) => Quat::from_array(q),
            QuatText::Named { x, y, z, w } => Quat::from_xyzw(x, y, z, w),
        }
    }
}

impl From<MoveText> for Move {
    fn from(text: MoveText) -> Self {
        Move {
            position: text.position.map(Vec3::from),
            rotation: text.rotation.map(Quat::from),
            scale: text.scale,
        }
    }
}

impl From<PoseText> for Pose {
    fn from(text: PoseText) -> Self {
        Pose::new(text.position.into(), text.rotation.into())
    }
}

impl Line {
    /// Reads a line; an error comes with the line's `seq`, if that could be read.
    pub fn parse(line: &str) -> Result<Self, (Option<Value>, String)> {
        let value: Value =
            serde_json::from_str(line).map_err(|error| (None, format!("the line is no JSON: {error}")))?;
        let seq = value.get("seq").cloned();
        let text = match value {
            Value::Object(_) => Text::deserialize(value),
            _ => Err(serde_json::Error::custom("it is no object")),
        };
        let text =
            text.map_err(|error| (seq.clone(), format!("the command cannot be understood: {error}")))?;
        Ok(Self { seq, request: text.into() })
    }
}

impl From<Text> for Request {
    fn from(text: Text) -> Self {
        Self::Session(match text {
            Text::Open { path, private } => return Self::Open { path, private },
            Text::Save { model_id, path } => return Self::Save { model_id, path },
            Text::PoseStream { hz } => return Self::PoseStream { hz },
            Text::WatchPoses { on } => return Self::WatchPoses { on },
            Text::Stats => return Self::Stats,
            Text::Pose { left, right, head } => {
                let rest = Body::rest();
                return Self::Pose(Body {
                    left: left.map_or(rest.left, Pose::from),
                    right: right.map_or(rest.right, Pose::from),
                    head: head.map_or(rest.head, Pose::from),
                });
            }
            Text::Close { model_id } => Command::CloseModel { model_id },
            Text::Cancel { model_id } => Command::CancelModel { model_id },
            Text::Want { model_id } => Command::WantModel { model_id },
            Text::Share { model_id } => Command::ShareModel { model_id },
            Text::Move { model_id, to } => Command::MoveModel { model_id, to: to.into() },
            Text::Show { model_id, shown } => Command::ShowModel { model_id, shown },
            Text::MoveScene { to } => Command::MoveScene { to: to.into() },
            Text::KeepAligned { on } => Command::KeepAligned { on },
            Text::OriginalAlignment => Command::OriginalAlignment,
            Text::Leave => Command::Leave,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_vectors() {
        let list = r#"{"command":"move","seq":7,"model_id":"a","position":[1,2,3],"rotation":[0,0,0,1]}"#;
        let named = r#"{"command":"move","model_id":"a","position":{"x":1,"y":2,"z":3}}"#;
        for line in [list, named] {
            let Request::Session(Command::MoveModel { to, .. }) = Line::parse(line).unwrap().request else {
                panic!("not a move")
            };
            assert_eq!(to.position, Some(Vec3::new(1.0, 2.0, 3.0)));
            assert_eq!(to.scale, None);
        }
        assert_eq!(Line::parse(list).unwrap().seq, Some(7.into()));
    }

    #[test]
    fn wrong_lines_are_told() {
        for (line, seq) in [
            ("{", None),
            ("[]", None),
            (r#"{"command":"fly","seq":3}"#, Some(3)),
            (r#"{"command":"open","seq":4}"#, Some(4)),
            (r#"{"command":"move","seq":5,"model_id":"a","position":[1,2]}"#, Some(5)),
            (r#"{"seq":6}"#, Some(6)),
        ] {
            let (got, message) = Line::parse(line).unwrap_err();
            assert_eq!(got, seq.map(Value::from), "{line}: {message}");
        }
    }
}
