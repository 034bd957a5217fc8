//! Materials of a model as Bevy's. Made on workers, but for handles.
//!
//! Decisions about how scientific models look:
//! - Surfaces without textures are shown and lit from both sides, whatever the
//!   file says. Surfaces from maps are open where the map ends or where somebody
//!   cut them, and people put their heads into models; a side that vanishes there
//!   is taken for a hole in the data. Textured (made by artists) and transparent
//!   surfaces (whose far side would shine through the near one) follow the file.
//! - A transparent surface with two sides is drawn twice: its far sides before, its
//!   near sides after those of all surfaces inside it. So isosurfaces of several
//!   levels, one in the other, blend in the right order at the cost of twice their
//!   vertices. Folds of one surface over itself are not sorted.
//! - Roughness 1 and metallic 0, which ChimeraX writes for everything, have no
//!   highlight at all and look like paper: they get the sheen of matte plastic.
//! - glTF's default for files without a material is a metal, which is black in a
//!   room without reflections: here it is no metal.

use std::sync::Arc;

use bevy::{
    asset::RenderAssetUsages,
    image::{ImageAddressMode, ImageFilterMode, ImageSampler, ImageSamplerDescriptor},
    mesh::UvChannel,
    platform::collections::HashMap,
    prelude::*,
    render::render_resource::{Extent3d, Face, TextureDimension, TextureFormat},
};

use crate::model::{Alpha, Filter, Material, Sampler, Texture, TextureRef, Topology, Wrap, parts::Part};

/// Of surfaces that the file calls perfectly rough.
const MATTE_ROUGHNESS: f32 = 0.6;

/// How far, in metres of a model of one metre, sorting is moved at most: below 1, so
/// that nothing is moved in depth.
const MOST_BIAS: f32 = 0.5;
/// Sizes of transparent surfaces that are told apart; each has materials of its own.
const SIZES: f32 = 64.0;

/// Which look of a model: parts with the same are drawn with the same material.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct LookKey {
    /// Of the model's materials; that of files without any if there is none.
    material: Option<usize>,
    lit: bool,
    side: Side,
    /// Of a transparent surface, in steps.
    size: u32,
}

/// Which sides of triangles are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    /// As the material says.
    Any,
    Far,
    Near,
}

impl LookKey {
    /// The looks in which a part is drawn, one after the other. `scale`: metres per unit
    /// of the model, as it is shown at first.
    pub fn of(part: &Part, materials: &[Material], scale: f32) -> Vec<Self> {
        let material = part.mesh.material.filter(|&number| number < materials.len());
        let known = material.and_then(|number| materials.get(number));
        // Lines and points, and what has no normals, are unlit.
        let lit = part.mesh.topology == Topology::Triangles && part.mesh.normals.is_some();
        let blends = known.is_some_and(|m| m.alpha == Alpha::Blend);
        if !blends || part.mesh.topology != Topology::Triangles {
            return vec![Self { material, lit, side: Side::Any, size: 0 }];
        }
        let widest = part.places.iter().map(|place| place.scale.abs().max_element()).fold(0.0, f32::max);
        let size = part.mesh.grid.size().length() * part.mesh.scale * widest * scale;
        let size = (size.min(1.0) * SIZES).ceil() as u32;
        let near = Self { material, lit, side: Side::Near, size };
        if known.is_some_and(|m| m.double_sided) {
            return vec![Self { side: Side::Far, ..near }, near];
        }
        vec![near]
    }
}

/// Whether tangents are needed: where a normal texture is.
pub(super) fn needs_tangents(part: &Part, materials: &[Material]) -> bool {
    let material = part.mesh.material.and_then(|m| materials.get(m));
    let uvs = part.mesh.uvs.first().is_some_and(Option::is_some);
    uvs && material.is_some_and(|m| m.normal_texture.is_some())
}

/// A material whose textures are numbers of images.
#[derive(Debug, Clone)]
pub(super) struct Look {
    material: Material,
    lit: bool,
    side: Side,
    /// Nearer for sorting by this, in metres.
    bias: f32,
    base_color: Option<usize>,
    metallic_roughness: Option<usize>,
    normal: Option<usize>,
    occlusion: Option<usize>,
    emissive: Option<usize>,
}

/// The looks that a model's parts have, made as they are asked for.
pub(super) struct Looks<'a> {
    materials: &'a [Material],
    images: Images,
    looks: HashMap<LookKey, Look>,
}

impl<'a> Looks<'a> {
    pub fn new(materials: &'a [Material], textures: Vec<Texture>) -> Self {
        let images = Images { textures, made: HashMap::new(), wanted: Vec::new() };
        Self { materials, images, looks: HashMap::new() }
    }

    /// It is going to be used.
    pub fn need(&mut self, key: LookKey) {
        let (materials, images) = (self.materials, &mut self.images);
        self.looks
            .entry(key)
            .or_insert_with(|| Look::new(key, materials, |texture, srgb| images.get(texture, srgb)));
    }

    pub fn done(self) -> (HashMap<LookKey, Look>, Vec<Image>) {
        (self.looks, self.images.done())
    }
}

impl Look {
    /// Made of one of a model's materials; `image` gives the number of a texture as an
    /// image, sRGB or not.
    pub fn new(
        key: LookKey,
        materials: &[Material],
        mut image: impl FnMut(usize, bool) -> Option<usize>,
    ) -> Self {
        let material = key.material.and_then(|number| materials.get(number)).cloned();
        let material = material.unwrap_or_else(|| Material { metallic: 0.0, ..Material::default() });
        let mut image = |texture: Option<TextureRef>, srgb| texture.and_then(|t| image(t.texture, srgb));
        let bias = key.size as f32 / SIZES * MOST_BIAS;
        Self {
            base_color: image(material.base_color_texture, true),
            metallic_roughness: image(material.metallic_roughness_texture, false),
            normal: image(material.normal_texture, false),
            occlusion: image(material.occlusion_texture, false),
            emissive: image(material.emissive_texture, true),
            material,
            lit: key.lit,
            side: key.side,
            bias: if key.side == Side::Far { -bias } else { bias },
        }
    }

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
            base_color_channel: channel(m.base_color_texture),
            metallic: m.metallic,
            perceptual_roughness: if paper { MATTE_ROUGHNESS } else { m.roughness },
            metallic_roughness_texture: image(self.metallic_roughness),
            metallic_roughness_channel: channel(m.metallic_roughness_texture),
            normal_map_texture: image(self.normal),
            normal_map_channel: channel(m.normal_texture),
            occlusion_texture: image(self.occlusion),
            occlusion_channel: channel(m.occlusion_texture),
            emissive: LinearRgba::rgb(er, eg, eb),
            // glTF's emission is added to the picture as it is, not as a light of so many candela.
            emissive_exposure_weight: 0.0,
            emissive_texture: image(self.emissive),
            emissive_channel: channel(m.emissive_texture),
            alpha_mode: match m.alpha {
                Alpha::Opaque => AlphaMode::Opaque,
                Alpha::Mask(cutoff) => AlphaMode::Mask(cutoff),
                Alpha::Blend => AlphaMode::Blend,
            },
            unlit: m.unlit || !self.lit,
            double_sided: both_sides,
            cull_mode: match self.side {
                Side::Any => (!both_sides).then_some(Face::Back),
                Side::Far => Some(Face::Front),
                Side::Near => Some(Face::Back),
            },
            depth_bias: self.bias,
            ..default()
        }
    }
}

fn channel(texture: Option<TextureRef>) -> UvChannel {
    if texture.is_some_and(|t| t.uv_set == 1) { UvChannel::Uv1 } else { UvChannel::Uv0 }
}

/// Images by their pixels, how they are sampled and whether their numbers are sRGB: a
/// file may have very many textures of one image.
struct Images {
    textures: Vec<Texture>,
    /// By the address of the pixels.
    made: HashMap<(usize, Sampler, bool), usize>,
    /// What becomes images in the end.
    wanted: Vec<(Texture, bool)>,
}

impl Images {
    fn get(&mut self, texture: usize, srgb: bool) -> Option<usize> {
        let texture = self.textures.get(texture)?;
        let key = (Arc::as_ptr(&texture.rgba8).addr(), texture.sampler, srgb);
        Some(*self.made.entry(key).or_insert_with(|| {
            self.wanted.push((texture.clone(), srgb));
            self.wanted.len() - 1
        }))
    }

    /// The images; pixels are copied only for those that share them with others.
    fn done(self) -> Vec<Image> {
        drop(self.textures);
        self.wanted.into_iter().map(|(texture, srgb)| image(texture, srgb)).collect()
    }
}

fn image(texture: Texture, srgb: bool) -> Image {
    let format = if srgb { TextureFormat::Rgba8UnormSrgb } else { TextureFormat::Rgba8Unorm };
    let size = Extent3d { width: texture.width, height: texture.height, depth_or_array_layers: 1 };
    let pixels = Arc::unwrap_or_clone(texture.rgba8);
    let mut image = Image::new(size, TextureDimension::D2, pixels, format, RenderAssetUsages::RENDER_WORLD);
    image.sampler = sampler(texture.sampler);
    image
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_image_is_made_of_textures_with_the_same_pixels() {
        let pixels = Arc::new(vec![255u8; 4]);
        let sampler = Sampler::default();
        let texture = |sampler| Texture { width: 1, height: 1, rgba8: Arc::clone(&pixels), sampler };
        let clamped = Sampler { wrap_u: Wrap::Clamp, ..sampler };
        let textures = vec![texture(sampler), texture(sampler), texture(clamped)];
        let mut images = Images { textures, made: HashMap::new(), wanted: Vec::new() };
        let wanted = [(0, true), (1, true), (2, true), (1, false), (9, true)];
        let numbers = wanted.map(|(texture, srgb)| images.get(texture, srgb));
        assert_eq!(numbers, [Some(0), Some(0), Some(1), Some(2), None]);
        let images = images.done();
        assert_eq!(images.len(), 3);
        assert!(images.iter().all(|image| image.data.as_ref().is_some_and(|data| data[..] == pixels[..])));
    }
}
