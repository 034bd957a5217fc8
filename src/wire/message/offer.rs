//! The JSON messages of transfers, and of coming back.

use serde::{Deserialize, Serialize};

use super::{QuatJson, Vec3Json};

/// Type 0x43, ours. A model is there to be asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Offer {
    /// Made by whoever opened it; base64 of six random bytes.
    pub model_id: String,
    /// The file name, with `.glb`.
    pub model_name: String,
    /// As in type 3.
    pub position: Vec3Json,
    /// As in type 3.
    pub rotation: QuatJson,
    /// As in type 3.
    pub scale: f32,
    /// Shown or hidden.
    pub shown: bool,
    /// The device id of whoever opened it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opener: Option<String>,
    /// Bytes of the opener's file.
    pub bytes: u64,
    /// BLAKE3 of the opener's file, in hexadecimal digits.
    pub content: String,
    /// Its bounding box in its own units and axes, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// The ways in which it can be sent.
    pub representations: Vec<Representation>,
}

/// A bounding box, in a model's own units and axes (glTF).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bounds {
    /// Its middle.
    pub center: Vec3Json,
    /// Its sides.
    pub size: Vec3Json,
}

/// A way in which a model can be sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Representation {
    /// As in the version message's `methods`.
    pub method: String,
    /// Of the method.
    pub version: u8,
    /// Chunks, where the bytes of the file do not say how many there are.
    #[serde(skip_serializing_if = "is_zero")]
    pub chunks: u32,
    /// What else the method needs to be known by.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub parameters: String,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Type 0x44, ours. Asks for chunks of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Want {
    /// Which model.
    pub model_id: String,
    /// Over which channel; the receiver numbers them and uses none twice.
    pub channel: u16,
    /// In which way.
    pub method: String,
    /// First and count of each run of chunks.
    pub missing: Vec<(u32, u32)>,
}

/// Type 0x4B, ours: the end of a host's greeting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Seat {
    /// Reclaims the seat, in a later version message. Only this host can make it.
    pub token: String,
}
