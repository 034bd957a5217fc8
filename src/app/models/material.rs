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

/// Which sides of triangles are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Side {
    /// As the material says.
    Any,
    Far,
    Near,
}

/// The looks that a model's parts have, made as they are asked for.
pub(super) struct Looks {
    materials: Vec<Material>,
    images: Images,
    made: HashMap<(usize, bool, Side, u32), usize>,
    looks: Vec<Look>,
    /// Metres per unit of the model.
    scale: f32,
}

impl Looks {
    /// `scale`: metres per unit of the model, as it is shown at first.
    pub fn new(materials: Vec<Material>, textures: Vec<Texture>, scale: f32) -> Self {
        let none = Material { metallic: 0.0, ..Material::default() };
        Self {
            materials: materials.into_iter().chain([none]).collect(),
            images: Images { textures, made: HashMap::new(), wanted: Vec::new() },
            made: HashMap::new(),
            looks: Vec::new(),
            scale,
        }
    }

    /// The looks in which a part is drawn, one after the other.
    pub fn of(&mut self, part: &Part) -> Vec<usize> {
        let last = self.materials.len() - 1;
        let number = part.mesh.material.filter(|&m| m < last).unwrap_or(last);
        // Lines and points, and what has no normals, are unlit.
        let lit = part.mesh.topology == Topology::Triangles && part.mesh.normals.is_some();
        let blends = self.materials.get(number).is_some_and(|m| m.alpha == Alpha::Blend);
        if !blends || part.mesh.topology != Topology::Triangles {
            return vec![self.look(number, lit, Side::Any, 0)];
        }
        let widest = part.places.iter().map(|place| place.scale.abs().max_element()).fold(0.0, f32::max);
        let size = part.mesh.grid.size().length() * part.mesh.scale * widest * self.scale;
        let size = (size.min(1.0) * SIZES).ceil() as u32;
        let near = self.look(number, lit, Side::Near, size);
        if self.materials.get(number).is_some_and(|m| m.double_sided) {
            return vec![self.look(number, lit, Side::Far, size), near];
        }
        vec![near]
    }

    /// Whether tangents are needed: where a normal texture is.
    pub fn needs_tangents(&self, part: &Part) -> bool {
        let material = part.mesh.material.and_then(|m| self.materials.get(m));
        let uvs = part.mesh.uvs.first().is_some_and(Option::is_some);
        uvs && material.is_some_and(|m| m.normal_texture.is_some())
    }

    fn look(&mut self, number: usize, lit: bool, side: Side, size: u32) -> usize {
        if let Some(&look) = self.made.get(&(number, lit, side, size)) {
            return look;
        }
        let material = self.materials.get(number).cloned().unwrap_or_default();
        let images = &mut self.images;
        let mut image = |texture: Option<TextureRef>, srgb| texture.and_then(|t| images.get(t.texture, srgb));
        let bias = size as f32 / SIZES * MOST_BIAS;
        let look = Look {
            base_color: image(material.base_color_texture, true),
            metallic_roughness: image(material.metallic_roughness_texture, false),
            normal: image(material.normal_texture, false),
            occlusion: image(material.occlusion_texture, false),
            emissive: image(material.emissive_texture, true),
            material,
            lit,
            side,
            bias: if side == Side::Far { -bias } else { bias },
        };
        self.made.insert((number, lit, side, size), self.looks.len());
        self.looks.push(look);
        self.looks.len() - 1
    }

    pub fn done(self) -> (Vec<Look>, Vec<Image>) {
        (self.looks, self.images.done())
    }
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
