//! Materials of a model as Bevy's. Made on workers, but for handles.
//!
//! Decisions about how scientific models look:
//! - Surfaces without textures are shown and lit from both sides, whatever the
//!   file says. Surfaces from maps are open where the map ends or where somebody
//!   cut them, and people put their heads into models; a side that vanishes there
//!   is taken for a hole in the data. Textured (made by artists) and transparent
//!   surfaces (whose far side would shine through the near one) follow the file.
//! - Roughness 1 and metallic 0, which ChimeraX writes for everything, have no
//!   highlight at all and look like paper: they get the sheen of matte plastic.
//! - glTF's default for files without a material is a metal, which is black in a
//!   room without reflections: here it is no metal.

use bevy::{
    asset::RenderAssetUsages,
    image::{ImageAddressMode, ImageFilterMode, ImageSampler, ImageSamplerDescriptor},
    math::Affine2,
    platform::collections::HashMap,
    prelude::*,
    render::render_resource::{Extent3d, TextureDimension, TextureFormat},
};

use crate::model::{
    Alpha, DecodedModel, Filter, Material, Primitive, Sampler, Texture, TextureRef, Topology, Wrap,
};

/// Of surfaces that the file calls perfectly rough.
const MATTE_ROUGHNESS: f32 = 0.6;

/// A material whose textures are numbers of images.
#[derive(Debug, Clone)]
pub(super) struct Look {
    material: Material,
    lit: bool,
    base_color: Option<usize>,
    metallic_roughness: Option<usize>,
    normal: Option<usize>,
    occlusion: Option<usize>,
    emissive: Option<usize>,
}

/// Of each material a lit and an unlit look, the file's materials first, then
/// the one for primitives without.
pub(super) fn looks(model: &DecodedModel) -> (Vec<Look>, Vec<Image>) {
    let mut images = Images { textures: &model.textures, made: HashMap::new(), images: Vec::new() };
    let none = Material { metallic: 0.0, ..Material::default() };
    let mut looks = Vec::new();
    for material in model.materials.iter().chain([&none]) {
        let mut image = |texture: Option<TextureRef>, srgb| texture.and_then(|t| images.get(t.texture, srgb));
        let look = Look {
            base_color: image(material.base_color_texture, true),
            metallic_roughness: image(material.metallic_roughness_texture, false),
            normal: image(material.normal_texture, false),
            occlusion: image(material.occlusion_texture, false),
            emissive: image(material.emissive_texture, true),
            material: material.clone(),
            lit: true,
        };
        looks.extend([look.clone(), Look { lit: false, ..look }]);
    }
    (looks, images.images)
}

/// The look of a primitive: lines and points, and what has no normals, are unlit.
pub(super) fn look_index(primitive: &Primitive, materials: &[Material]) -> usize {
    let material = primitive.material.filter(|&m| m < materials.len()).unwrap_or(materials.len());
    let lit = primitive.topology == Topology::Triangles && primitive.normals.is_some();
    material * 2 + usize::from(!lit)
}

impl Look {
    /// With the handles of all images.
    pub fn material(&self, images: &[Handle<Image>]) -> StandardMaterial {
        let m = &self.material;
        let image = |index: Option<usize>| index.and_then(|i| images.get(i)).cloned();
        let textured =
            self.base_color.is_some() || self.normal.is_some() || self.metallic_roughness.is_some();
        let paper = m.roughness >= 1.0 && m.metallic <= 0.0 && !textured;
        let both_sides = m.double_sided || (!textured && m.alpha != Alpha::Blend);
        let [r, g, b, a] = m.base_color;
        let [er, eg, eb] = m.emissive;
        StandardMaterial {
            base_color: Color::linear_rgba(r, g, b, a),
            base_color_texture: image(self.base_color),
            metallic: m.metallic,
            perceptual_roughness: if paper { MATTE_ROUGHNESS } else { m.roughness },
            metallic_roughness_texture: image(self.metallic_roughness),
            normal_map_texture: image(self.normal),
            occlusion_texture: image(self.occlusion),
            emissive: LinearRgba::rgb(er, eg, eb),
            // glTF's emission is added to the picture as it is, not as a light of so many candela.
            emissive_exposure_weight: 0.0,
            emissive_texture: image(self.emissive),
            alpha_mode: match m.alpha {
                Alpha::Opaque => AlphaMode::Opaque,
                Alpha::Mask(cutoff) => AlphaMode::Mask(cutoff),
                Alpha::Blend => AlphaMode::Blend,
            },
            unlit: m.unlit || !self.lit,
            double_sided: both_sides,
            cull_mode: (!both_sides).then_some(bevy::render::render_resource::Face::Back),
            uv_transform: m.base_color_texture.map_or(Affine2::IDENTITY, uv_transform),
            ..default()
        }
    }
}

fn uv_transform(texture: TextureRef) -> Affine2 {
    Affine2::from_scale_angle_translation(texture.scale.into(), -texture.rotation, texture.offset.into())
}

/// Images by texture and by whether their numbers are sRGB, made when asked for.
struct Images<'a> {
    textures: &'a [Texture],
    made: HashMap<(usize, bool), usize>,
    images: Vec<Image>,
}

impl Images<'_> {
    fn get(&mut self, texture: usize, srgb: bool) -> Option<usize> {
        if let Some(&index) = self.made.get(&(texture, srgb)) {
            return Some(index);
        }
        let t = self.textures.get(texture)?;
        let format = if srgb { TextureFormat::Rgba8UnormSrgb } else { TextureFormat::Rgba8Unorm };
        let size = Extent3d { width: t.width, height: t.height, depth_or_array_layers: 1 };
        let mut image = Image::new(
            size,
            TextureDimension::D2,
            t.rgba8.as_ref().clone(),
            format,
            RenderAssetUsages::RENDER_WORLD,
        );
        image.sampler = sampler(t.sampler);
        let index = self.images.len();
        self.images.push(image);
        self.made.insert((texture, srgb), index);
        Some(index)
    }
}

fn sampler(s: Sampler) -> ImageSampler {
    let wrap = |w| match w {
        Wrap::Repeat => ImageAddressMode::Repeat,
        Wrap::Mirror => ImageAddressMode::MirrorRepeat,
        Wrap::Clamp => ImageAddressMode::ClampToEdge,
    };
    let filter = |f| match f {
        Filter::Nearest => ImageFilterMode::Nearest,
        Filter::Linear => ImageFilterMode::Linear,
    };
    ImageSampler::Descriptor(ImageSamplerDescriptor {
        address_mode_u: wrap(s.wrap_u),
        address_mode_v: wrap(s.wrap_v),
        mag_filter: filter(s.mag),
        min_filter: filter(s.min),
        mipmap_filter: filter(s.mipmap.unwrap_or(Filter::Nearest)),
        ..default()
    })
}
