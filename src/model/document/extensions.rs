//! What extensions add to the description, for those that are read.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Text, TextureInfo, Whole};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct RootExtensions<'a> {
    #[serde(borrow, rename = "KHR_lights_punctual")]
    pub(in crate::model) lights: Option<Lights<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct Lights<'a> {
    #[serde(borrow)]
    pub(in crate::model) lights: Vec<Light<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct Light<'a> {
    #[serde(borrow, rename = "type")]
    pub(in crate::model) kind: Option<Text<'a>>,
    pub(in crate::model) color: Option<[f32; 3]>,
    pub(in crate::model) intensity: Option<f32>,
    pub(in crate::model) range: Option<f32>,
    pub(in crate::model) spot: Option<Spot>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::model) struct Spot {
    pub(in crate::model) inner_cone_angle: Option<f32>,
    pub(in crate::model) outer_cone_angle: Option<f32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct NodeExtensions {
    #[serde(rename = "KHR_lights_punctual")]
    pub(in crate::model) light: Option<NodeLight>,
    #[serde(rename = "EXT_mesh_gpu_instancing")]
    pub(in crate::model) instancing: Option<Instancing>,
    #[serde(rename = "KHR_node_visibility")]
    pub(in crate::model) visibility: Option<NodeVisibility>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct NodeVisibility {
    pub(in crate::model) visible: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct NodeLight {
    pub(in crate::model) light: Option<Whole>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct Instancing {
    pub(in crate::model) attributes: InstanceAttributes,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", default)]
pub(in crate::model) struct InstanceAttributes {
    pub(in crate::model) translation: Option<Whole>,
    pub(in crate::model) rotation: Option<Whole>,
    pub(in crate::model) scale: Option<Whole>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct PrimitiveExtensions {
    #[serde(rename = "KHR_draco_mesh_compression")]
    pub(in crate::model) draco: Option<Draco>,
}

/// Attributes by their numbers in the compressed data.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::model) struct Draco {
    pub(in crate::model) buffer_view: Option<Whole>,
    pub(in crate::model) attributes: super::Attributes,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct BufferViewExtensions<'a> {
    #[serde(borrow, rename = "EXT_meshopt_compression")]
    pub(in crate::model) ext_meshopt: Option<Box<MeshoptView<'a>>>,
    #[serde(borrow, rename = "KHR_meshopt_compression")]
    pub(in crate::model) khr_meshopt: Option<Box<MeshoptView<'a>>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::model) struct MeshoptView<'a> {
    pub(in crate::model) buffer: Whole,
    pub(in crate::model) byte_offset: Whole,
    pub(in crate::model) byte_length: Whole,
    pub(in crate::model) byte_stride: Whole,
    pub(in crate::model) count: Whole,
    #[serde(borrow)]
    pub(in crate::model) mode: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::model) filter: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct TextureExtensions {
    #[serde(rename = "EXT_texture_webp")]
    pub(in crate::model) webp: Option<TextureSource>,
    #[serde(rename = "KHR_texture_basisu")]
    pub(in crate::model) basisu: Option<IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct TextureSource {
    pub(in crate::model) source: Option<Whole>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct MaterialExtensions {
    #[serde(rename = "KHR_materials_unlit")]
    pub(in crate::model) unlit: Option<IgnoredAny>,
    #[serde(rename = "KHR_materials_emissive_strength")]
    pub(in crate::model) emissive_strength: Option<EmissiveStrength>,
    #[serde(rename = "KHR_materials_pbrSpecularGlossiness")]
    pub(in crate::model) specular_glossiness: Option<Box<SpecularGlossiness>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::model) struct EmissiveStrength {
    pub(in crate::model) emissive_strength: Option<f32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::model) struct SpecularGlossiness {
    pub(in crate::model) diffuse_factor: Option<[f32; 4]>,
    pub(in crate::model) diffuse_texture: Option<TextureInfo>,
    pub(in crate::model) specular_factor: Option<[f32; 3]>,
    pub(in crate::model) glossiness_factor: Option<f32>,
    pub(in crate::model) specular_glossiness_texture: Option<TextureInfo>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::model) struct TextureInfoExtensions {
    #[serde(rename = "KHR_texture_transform")]
    pub(in crate::model) transform: Option<TextureTransform>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::model) struct TextureTransform {
    pub(in crate::model) offset: [f32; 2],
    pub(in crate::model) rotation: f32,
    pub(in crate::model) scale: Option<[f32; 2]>,
    pub(in crate::model) tex_coord: Option<Whole>,
}
