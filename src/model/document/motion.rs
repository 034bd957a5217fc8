//! Skins and animations.

use serde::Deserialize;

use super::{Text, Whole};

/// What moves, or is bent by what moves.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct Motion<'a> {
    pub(in crate::model) skins: Vec<Skin>,
    #[serde(borrow)]
    pub(in crate::model) animations: Vec<Animation<'a>>,
}

/// Parses a description once more, for this part of it: a fault in it leaves the
/// rest as it is, and files without it are spared the time.
pub(in crate::model) fn parse_motion(json: &[u8]) -> serde_json::Result<Motion<'_>> {
    serde_json::from_slice(super::without_padding(json))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::model) struct Skin {
    pub(in crate::model) inverse_bind_matrices: Option<Whole>,
    pub(in crate::model) joints: Vec<Whole>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct Animation<'a> {
    #[serde(borrow)]
    pub(in crate::model) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::model) channels: Vec<Channel<'a>>,
    #[serde(borrow)]
    pub(in crate::model) samplers: Vec<AnimationSampler<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct Channel<'a> {
    pub(in crate::model) sampler: Option<Whole>,
    #[serde(borrow)]
    pub(in crate::model) target: Target<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct Target<'a> {
    pub(in crate::model) node: Option<Whole>,
    #[serde(borrow)]
    pub(in crate::model) path: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct AnimationSampler<'a> {
    pub(in crate::model) input: Option<Whole>,
    pub(in crate::model) output: Option<Whole>,
    #[serde(borrow)]
    pub(in crate::model) interpolation: Option<Text<'a>>,
}
