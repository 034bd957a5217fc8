//! How surfaces look.

use super::document::{self, Document, TextureInfo, Whole};
use super::glossiness::{self, Glossiness};
use super::warnings::Warnings;

/// A glTF material. Colours are linear.
#[derive(Debug, Clone, PartialEq)]
pub struct Material {
    /// Linear RGBA, multiplied with vertex colours and the base colour texture.
    pub base_color: [f32; 4],
    /// 0 to 1.
    pub metallic: f32,
    /// 0 to 1.
    pub roughness: f32,
    /// Linear RGB, multiplied with the emissive texture; may exceed 1.
    pub emissive: [f32; 3],
    /// What the alpha of the base colour means.
    pub alpha: Alpha,
    /// Whether back faces are shown.
    pub double_sided: bool,
    /// Whether light is left out of account (`KHR_materials_unlit`).
    pub unlit: bool,
    /// sRGB.
    pub base_color_texture: Option<TextureRef>,
    /// Green is roughness, blue is metallic; linear.
    pub metallic_roughness_texture: Option<TextureRef>,
    /// Tangent space normals; linear.
    pub normal_texture: Option<TextureRef>,
    /// Factor on x and y of the normal texture.
    pub normal_scale: f32,
    /// Red is occlusion; linear.
    pub occlusion_texture: Option<TextureRef>,
    /// 0 (none) to 1 (full).
    pub occlusion_strength: f32,
    /// sRGB.
    pub emissive_texture: Option<TextureRef>,
}

impl Default for Material {
    /// glTF's default material, for primitives without one.
    fn default() -> Self {
        Self {
            base_color: [1.0; 4],
            metallic: 1.0,
            roughness: 1.0,
            emissive: [0.0; 3],
            alpha: Alpha::Opaque,
            double_sided: false,
            unlit: false,
            base_color_texture: None,
            metallic_roughness_texture: None,
            normal_texture: None,
            normal_scale: 1.0,
            occlusion_texture: None,
            occlusion_strength: 1.0,
            emissive_texture: None,
        }
    }
}

/// What alpha means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Alpha {
    /// Nothing.
    Opaque,
    /// Shown where it is at least this.
    Mask(f32),
    /// Transparent by it.
    Blend,
}

/// A texture as a material uses it. Transforms of texture coordinates
/// (`KHR_texture_transform`) are already in the coordinates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextureRef {
    /// Index into [`DecodedModel::textures`](super::DecodedModel::textures).
    pub texture: usize,
    /// 0 for [`Primitive::uvs`](super::Primitive::uvs), 1 for
    /// [`Primitive::uvs_1`](super::Primitive::uvs_1).
    pub uv_set: u32,
}

/// Texture coordinates as a texture uses them: a set of the file and a transform.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Channel {
    /// Which TEXCOORD.
    pub(super) set: u32,
    offset: [f32; 2],
    rotation: f32,
    scale: [f32; 2],
}

impl Channel {
    fn of(info: &TextureInfo) -> Self {
        let transform = info.extensions.transform.as_ref();
        let moved = transform.and_then(|transform| transform.tex_coord);
        Self {
            set: u32::try_from(moved.unwrap_or(info.tex_coord).0).unwrap_or(u32::MAX),
            offset: transform.map_or([0.0; 2], |transform| transform.offset),
            rotation: transform.map_or(0.0, |transform| transform.rotation),
            scale: transform.and_then(|transform| transform.scale).unwrap_or([1.0; 2]),
        }
    }

    /// Whether coordinates stay as they are.
    pub(super) fn is_plain(&self) -> bool {
        self.offset == [0.0; 2] && self.rotation == 0.0 && self.scale == [1.0; 2]
    }

    /// Scaled, then turned counter-clockwise (as seen in an image, whose v points down), then moved.
    pub(super) fn apply(&self, uvs: &mut [[f32; 2]]) {
        let (sin, cos) = self.rotation.sin_cos();
        for uv in uvs {
            let [u, v] = [uv[0] * self.scale[0], uv[1] * self.scale[1]];
            *uv = [u * cos + v * sin + self.offset[0], v * cos - u * sin + self.offset[1]];
        }
    }
}

/// The coordinates that the material's textures use: the base colour's first, then
/// the first different ones. Those of a third kind are left out.
pub(super) fn channels(material: &document::Material) -> [Option<Channel>; 2] {
    let pbr = material.pbr_metallic_roughness.as_deref();
    let glossy = material.extensions.specular_glossiness.as_deref();
    let used = [
        glossy.and_then(|glossy| glossy.diffuse_texture.as_ref()),
        glossy.and_then(|glossy| glossy.specular_glossiness_texture.as_ref()),
        pbr.and_then(|pbr| pbr.base_color_texture.as_ref()).filter(|_| glossy.is_none()),
        pbr.and_then(|pbr| pbr.metallic_roughness_texture.as_ref()).filter(|_| glossy.is_none()),
        material.normal_texture.as_deref(),
        material.emissive_texture.as_deref(),
        material.occlusion_texture.as_deref(),
    ];
    let mut channels = used.into_iter().flatten().map(Channel::of);
    let first = channels.next();
    [first, channels.find(|channel| Some(*channel) != first)]
}

/// The file's materials, with its numbering, and the factors of those whose textures
/// are still to be converted from `KHR_materials_pbrSpecularGlossiness`. `texture` gives the number of a
/// texture of the file among those decoded, and decodes it the first time.
pub(super) fn read(
    document: &Document,
    used: &[bool],
    mut texture: impl FnMut(Whole, &mut Warnings) -> Option<usize>,
    warnings: &mut Warnings,
) -> (Vec<Material>, Vec<Option<Glossiness>>) {
    let mut materials = Vec::with_capacity(document.materials.len());
    let mut glossy_ones = vec![None; document.materials.len()];
    for (number, json) in document.materials.iter().enumerate() {
        if used.get(number).copied().unwrap_or(false) {
            let channels = channels(json);
            let mut find = |info: &TextureInfo| {
                let channel = Some(Channel::of(info));
                let Some(uv_set) = channels.iter().position(|known| *known == channel) else {
                    warnings.push(format_args!(
                        "material {number} uses more than two sets of texture coordinates: two are shown"
                    ));
                    return None;
                };
                let texture = texture(info.index?, warnings)?;
                Some(TextureRef { texture, uv_set: u32::try_from(uv_set).unwrap_or(0) })
            };
            let mut material = read_one(json, &mut find);
            if let Some(glossy) = json.extensions.specular_glossiness.as_deref()
                && let Some(place) = glossy_ones.get_mut(number)
            {
                *place = specular_glossiness(glossy, &mut material, find);
            }
            materials.push(material);
            if let Some(mode) = json.alpha_mode.as_ref().map(|mode| mode.0.as_ref())
                && !matches!(mode, "OPAQUE" | "MASK" | "BLEND")
            {
                warnings.push(format_args!("material {number} has an unknown alpha mode"));
            }
        } else {
            materials.push(read_one(json, |_| None));
        }
    }
    (materials, glossy_ones)
}

fn read_one(
    json: &document::Material,
    mut texture: impl FnMut(&TextureInfo) -> Option<TextureRef>,
) -> Material {
    let default = Material::default();
    let mut optional = |info: Option<&TextureInfo>| info.and_then(&mut texture);
    let mut material = Material {
        emissive_texture: optional(json.emissive_texture.as_deref()),
        normal_texture: optional(json.normal_texture.as_deref()),
        normal_scale: finite(json.normal_texture.as_ref().and_then(|info| info.scale), 1.0),
        occlusion_texture: optional(json.occlusion_texture.as_deref()),
        occlusion_strength: fraction(json.occlusion_texture.as_ref().and_then(|info| info.strength)),
        alpha: match json.alpha_mode.as_ref().map(|mode| mode.0.as_ref()) {
            Some("BLEND") => Alpha::Blend,
            Some("MASK") => Alpha::Mask(finite(json.alpha_cutoff, 0.5)),
            _ => Alpha::Opaque,
        },
        double_sided: json.double_sided,
        unlit: json.extensions.unlit.is_some(),
        ..default
    };
    let strength = json.extensions.emissive_strength.as_ref().and_then(|strength| strength.emissive_strength);
    let bounded = |v: f32| v.clamp(0.0, MAX_EMISSIVE);
    let strength = bounded(strength.unwrap_or(1.0));
    material.emissive = json.emissive_factor.unwrap_or_default().map(|v| bounded(bounded(v) * strength));
    // Who writes both means the second: it is what its own program shows.
    if json.extensions.specular_glossiness.is_some() {
        return material;
    }
    if let Some(pbr) = &json.pbr_metallic_roughness {
        material.base_color = pbr.base_color_factor.unwrap_or([1.0; 4]).map(|v| fraction(Some(v)));
        material.metallic = fraction(pbr.metallic_factor);
        material.roughness = fraction(pbr.roughness_factor);
        material.base_color_texture = optional(pbr.base_color_texture.as_ref());
        material.metallic_roughness_texture = optional(pbr.metallic_roughness_texture.as_ref());
    }
    material
}

/// The older way to describe surfaces, as the newer one. Its texture is not
/// converted here: see [`super::glossiness`].
fn specular_glossiness(
    json: &document::SpecularGlossiness,
    material: &mut Material,
    mut texture: impl FnMut(&TextureInfo) -> Option<TextureRef>,
) -> Option<Glossiness> {
    let diffuse = json.diffuse_factor.unwrap_or([1.0; 4]).map(|v| fraction(Some(v)));
    let specular = json.specular_factor.unwrap_or([1.0; 3]).map(|v| fraction(Some(v)));
    let glossiness = fraction(json.glossiness_factor);
    material.base_color_texture = json.diffuse_texture.as_ref().and_then(&mut texture);
    material.metallic_roughness_texture = json.specular_glossiness_texture.as_ref().and_then(&mut texture);
    if material.metallic_roughness_texture.is_some() {
        // The factors go into the textures, which are converted together.
        (material.metallic, material.roughness) = (1.0, 1.0);
        return Some(Glossiness { diffuse, specular, glossiness });
    }
    let [r, g, b, alpha] = diffuse;
    let (color, metallic) = match material.base_color_texture {
        // What the texture makes of it is not known here: its colours are what a model is known by.
        Some(_) => ([r, g, b], 0.0),
        None => glossiness::convert([r, g, b], specular),
    };
    let [r, g, b] = color;
    material.base_color = [r, g, b, alpha];
    material.metallic = metallic;
    material.roughness = 1.0 - glossiness;
    None
}

/// The most that a picture in half floats can hold: more would be no number there.
const MAX_EMISSIVE: f32 = 65_504.0;

/// As given; something else where that is none or without end.
fn finite(value: Option<f32>, or: f32) -> f32 {
    value.filter(|value| value.is_finite()).unwrap_or(or)
}

/// Within 0 and 1; 1 if not given.
fn fraction(value: Option<f32>) -> f32 {
    value.map_or(1.0, |value| value.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Limits;

    fn read_json(json: &str) -> (Vec<Material>, Vec<String>) {
        let mut warnings = Warnings::default();
        let json = format!("{{\"materials\":[{json}]}}");
        let document = document::parse(json.as_bytes(), &Limits::default()).unwrap();
        let (materials, _) = read(&document, &[true], |texture, _| Some(texture.index() + 10), &mut warnings);
        (materials, warnings.into_lines())
    }

    #[test]
    fn defaults_are_those_of_gltf() {
        assert_eq!(read_json("{}").0, [Material::default()]);
        assert_eq!(read_json(r#"{"pbrMetallicRoughness":{}}"#).0, [Material::default()]);
    }

    #[test]
    fn everything_is_read() {
        let (materials, warnings) = read_json(
            r#"{"pbrMetallicRoughness":{"baseColorFactor":[1,0.5,0,0.25],"metallicFactor":0,"roughnessFactor":0.5,
            "baseColorTexture":{"index":1,"texCoord":1,"extensions":{"KHR_texture_transform":{"scale":[2,3]}}}},
            "normalTexture":{"index":2,"texCoord":1,"scale":0.5},"occlusionTexture":{"index":3},
            "emissiveFactor":[1,1,1],"alphaMode":"MASK","doubleSided":true,
            "extensions":{"KHR_materials_unlit":{},"KHR_materials_emissive_strength":{"emissiveStrength":3}}}"#,
        );
        let [material] = &materials[..] else { panic!() };
        assert_eq!(material.base_color, [1.0, 0.5, 0.0, 0.25]);
        assert_eq!((material.metallic, material.roughness), (0.0, 0.5));
        assert_eq!(material.alpha, Alpha::Mask(0.5));
        assert!(material.double_sided && material.unlit);
        assert_eq!(material.emissive, [3.0; 3]);
        assert_eq!(material.base_color_texture, Some(TextureRef { texture: 11, uv_set: 0 }));
        // The same coordinates without the transform are others.
        assert_eq!(material.normal_texture, Some(TextureRef { texture: 12, uv_set: 1 }));
        // And those of another set would be a third kind.
        assert_eq!(material.occlusion_texture, None);
        assert_eq!(warnings.len(), 1);
    }

    #[test]
    fn numbers_without_end_do_not_reach_the_screen() {
        let (materials, _) = read_json(
            r#"{"emissiveFactor":[0,1e300,1],"alphaMode":"MASK","alphaCutoff":1e300,
            "normalTexture":{"index":2,"scale":1e300},
            "extensions":{"KHR_materials_emissive_strength":{"emissiveStrength":1e300}}}"#,
        );
        assert_eq!(materials[0].emissive, [0.0, MAX_EMISSIVE, MAX_EMISSIVE]);
        assert_eq!((materials[0].normal_scale, materials[0].alpha), (1.0, Alpha::Mask(0.5)));
    }

    #[test]
    fn coordinates_are_scaled_turned_and_moved() {
        let info = r#"{"extensions":{"KHR_texture_transform":
            {"offset":[0.5,0.25],"rotation":1.5707964,"scale":[2,1],"texCoord":3}}}"#;
        let channel = Channel::of(&serde_json::from_str(info).unwrap());
        assert!(channel.set == 3 && !channel.is_plain());
        let mut uvs = [[1.0, 0.0], [0.0, 1.0]];
        channel.apply(&mut uvs);
        for (found, expected) in uvs.as_flattened().iter().zip([0.5, -1.75, 1.5, 0.25]) {
            assert!((found - expected).abs() < 1e-6, "{uvs:?}");
        }
    }

    #[test]
    fn specular_glossiness_keeps_its_colour() {
        let (materials, _) = read_json(
            r#"{"extensions":{"KHR_materials_pbrSpecularGlossiness":{"diffuseFactor":[1,0,0,1],"diffuseTexture":{"index":0}}}}"#,
        );
        assert_eq!(materials[0].base_color, [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(materials[0].base_color_texture.unwrap().texture, 10);
    }
}
