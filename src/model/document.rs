//! The part of glTF's JSON that is read, as loosely as can be.
//!
//! Not `gltf::json::Root`: that refuses a whole file for what a viewer never
//! looks at (an animation, a camera), for enum values it does not know, and for
//! whole numbers written as `5.0`, which glTF allows. It also reads animations,
//! which are what is slow in files with thousands of channels; here unknown
//! members are skipped without being stored. Everything is optional: what is
//! missing is found out where it is needed, and costs one primitive, not the file.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, Visitor};

use super::error::DecodeError;
use super::limits::Limits;

mod extensions;
mod motion;

pub(super) use extensions::*;
pub(super) use motion::{Animation, Channel, Motion, Skin, parse_motion};

/// A whole number that may be written as a float without a fraction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Whole(pub(super) u64);

impl Whole {
    /// As an index; one too large for this machine exists in no list.
    pub(super) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WholeVisitor;
        impl Visitor<'_> for WholeVisitor {
            type Value = Whole;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number that is not negative")
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Whole, E> {
                Ok(Whole(value))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Whole, E> {
                // Up to 2^53 a float is exact; no file is that long.
                if (0.0..=9_007_199_254_740_992.0).contains(&value) && value.fract() == 0.0 {
                    Ok(Whole(value as u64))
                } else {
                    Err(E::invalid_value(de::Unexpected::Float(value), &self))
                }
            }
        }
        deserializer.deserialize_any(WholeVisitor)
    }
}

/// A text that stays in the file where it can: a data URI may be most of it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Document<'a> {
    #[serde(borrow)]
    pub(super) asset: Option<Asset<'a>>,
    pub(super) extensions_used: Vec<Text<'a>>,
    pub(super) extensions_required: Vec<Text<'a>>,
    pub(super) scene: Option<Whole>,
    pub(super) scenes: Vec<Scene>,
    pub(super) nodes: Vec<Node>,
    pub(super) meshes: Vec<Mesh>,
    pub(super) accessors: Vec<Accessor<'a>>,
    #[serde(borrow)]
    pub(super) buffer_views: Vec<BufferView<'a>>,
    /// None in old ChimeraX files, whose only buffer is the binary chunk.
    pub(super) buffers: Option<Vec<Buffer<'a>>>,
    pub(super) materials: Vec<Material<'a>>,
    pub(super) textures: Vec<Texture>,
    pub(super) images: Vec<Image<'a>>,
    pub(super) samplers: Vec<Sampler>,
    /// Only whether there are any; read by [`parse_motion`].
    pub(super) animations: Option<IgnoredAny>,
    #[serde(borrow)]
    pub(super) extensions: RootExtensions<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Asset<'a> {
    #[serde(borrow)]
    pub(super) version: Option<Text<'a>>,
    pub(super) min_version: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Scene {
    pub(super) nodes: Vec<Whole>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Node {
    pub(super) children: Vec<Whole>,
    pub(super) mesh: Option<Whole>,
    pub(super) skin: Option<Whole>,
    /// Of the mesh's morph targets, in place of the mesh's own.
    pub(super) weights: Option<Vec<f32>>,
    pub(super) extensions: NodeExtensions,
    pub(super) matrix: Option<[f32; 16]>,
    pub(super) translation: Option<[f32; 3]>,
    pub(super) rotation: Option<[f32; 4]>,
    pub(super) scale: Option<[f32; 3]>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Mesh {
    pub(super) primitives: Vec<Primitive>,
    pub(super) weights: Vec<f32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Primitive {
    pub(super) attributes: Attributes,
    pub(super) indices: Option<Whole>,
    pub(super) material: Option<Whole>,
    pub(super) mode: Option<Whole>,
    pub(super) targets: Vec<Attributes>,
    pub(super) extensions: PrimitiveExtensions,
}

/// Only the attributes that are shown; further sets are left out quietly.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", default)]
pub(super) struct Attributes {
    pub(super) position: Option<Whole>,
    pub(super) normal: Option<Whole>,
    pub(super) color_0: Option<Whole>,
    pub(super) texcoord_0: Option<Whole>,
    pub(super) texcoord_1: Option<Whole>,
    pub(super) texcoord_2: Option<Whole>,
    pub(super) texcoord_3: Option<Whole>,
    pub(super) joints_0: Option<Whole>,
    pub(super) weights_0: Option<Whole>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Accessor<'a> {
    pub(super) buffer_view: Option<Whole>,
    pub(super) byte_offset: Whole,
    pub(super) component_type: Option<Whole>,
    pub(super) normalized: bool,
    pub(super) count: Whole,
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    pub(super) sparse: Option<Box<Sparse>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Sparse {
    pub(super) count: Whole,
    pub(super) indices: SparsePart,
    pub(super) values: SparsePart,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SparsePart {
    pub(super) buffer_view: Option<Whole>,
    pub(super) byte_offset: Whole,
    pub(super) component_type: Option<Whole>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct BufferView<'a> {
    pub(super) buffer: Whole,
    pub(super) byte_offset: Whole,
    pub(super) byte_length: Option<Whole>,
    pub(super) byte_stride: Option<Whole>,
    #[serde(borrow)]
    pub(super) extensions: BufferViewExtensions<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Buffer<'a> {
    #[serde(borrow)]
    pub(super) uri: Option<Text<'a>>,
    pub(super) byte_length: Option<Whole>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Image<'a> {
    #[serde(borrow)]
    pub(super) uri: Option<Text<'a>>,
    pub(super) buffer_view: Option<Whole>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Texture {
    pub(super) sampler: Option<Whole>,
    pub(super) source: Option<Whole>,
    pub(super) extensions: TextureExtensions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Sampler {
    pub(super) mag_filter: Option<Whole>,
    pub(super) min_filter: Option<Whole>,
    pub(super) wrap_s: Option<Whole>,
    pub(super) wrap_t: Option<Whole>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Material<'a> {
    pub(super) pbr_metallic_roughness: Option<Box<MetallicRoughness>>,
    pub(super) normal_texture: Option<Box<TextureInfo>>,
    pub(super) occlusion_texture: Option<Box<TextureInfo>>,
    pub(super) emissive_texture: Option<Box<TextureInfo>>,
    pub(super) emissive_factor: Option<[f32; 3]>,
    #[serde(borrow)]
    pub(super) alpha_mode: Option<Text<'a>>,
    pub(super) alpha_cutoff: Option<f32>,
    pub(super) double_sided: bool,
    pub(super) extensions: MaterialExtensions,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MetallicRoughness {
    pub(super) base_color_factor: Option<[f32; 4]>,
    pub(super) base_color_texture: Option<TextureInfo>,
    pub(super) metallic_factor: Option<f32>,
    pub(super) roughness_factor: Option<f32>,
    pub(super) metallic_roughness_texture: Option<TextureInfo>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct TextureInfo {
    pub(super) index: Option<Whole>,
    pub(super) tex_coord: Whole,
    /// Of a normal texture.
    pub(super) scale: Option<f32>,
    /// Of an occlusion texture.
    pub(super) strength: Option<f32>,
    pub(super) extensions: TextureInfoExtensions,
}

/// Refuses a description that would cost much more memory parsed than as text.
pub(super) fn check_size(json: &[u8], limits: &Limits) -> Result<(), DecodeError> {
    // Braces and commas inside texts are counted too: the price of not parsing twice.
    let (mut objects, mut values) = (0usize, 0usize);
    for &byte in json {
        objects += usize::from(byte == b'{');
        values += usize::from(matches!(byte, b'{' | b'[' | b','));
    }
    for (what, count, limit) in
        [("JSON objects", objects, limits.max_json_objects), ("JSON values", values, limits.max_json_values)]
    {
        if count > limit {
            return Err(DecodeError::TooMany { what, count: count as u64, limit: limit as u64 });
        }
    }
    Ok(())
}

/// Parses the description after [`check_size`]. Depth is bounded by serde_json (128).
pub(super) fn parse<'a>(json: &'a [u8], limits: &Limits) -> Result<Document<'a>, DecodeError> {
    check_size(json, limits)?;
    Ok(serde_json::from_slice(without_padding(json))?)
}

/// GLB pads with spaces, but zeros are seen too.
fn without_padding(json: &[u8]) -> &[u8] {
    let end = json.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    json.get(..end).unwrap_or(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_may_be_floats() {
        let read = |text| serde_json::from_str::<Whole>(text);
        assert_eq!(read("30e-1").unwrap(), Whole(3));
        assert_eq!(read("7").unwrap(), Whole(7));
        for bad in ["-1", "1.5", "1e300", "\"1\"", "null"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_not_shown_may_be_anything() {
        let json = br#"{"animations": 3, "cameras": [null], "asset": {"version": "2.0"}, "nodes": [{}]}"#;
        let document = parse(json, &Limits::default()).unwrap();
        assert_eq!(document.nodes.len(), 1);
        assert!(document.buffers.is_none());
    }

    #[test]
    fn a_text_that_would_grow_is_refused() {
        let limits = Limits { max_json_objects: 10, ..Limits::default() };
        let json = format!("{{\"nodes\":[{}{{}}]}}", "{},".repeat(20));
        assert!(matches!(
            parse(json.as_bytes(), &limits),
            Err(DecodeError::TooMany { what: "JSON objects", count: 22, limit: 10 })
        ));
        let deep = format!("{{\"x\":{}", "[".repeat(100_000));
        assert!(matches!(parse(deep.as_bytes(), &Limits::default()), Err(DecodeError::Json(_))));
    }
}
