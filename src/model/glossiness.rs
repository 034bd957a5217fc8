//! `KHR_materials_pbrSpecularGlossiness`, an older way to describe surfaces, as
//! the newer one: what shines like a metal becomes one.

use std::sync::Arc;

use super::material::Material;
use super::texture::Texture;

/// What a surface that is no metal reflects, head on.
const DIELECTRIC: f32 = 0.04;
const LEAST: f32 = 1e-6;

/// Factors on textures that are to be converted. Linear.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Glossiness {
    pub(super) diffuse: [f32; 4],
    pub(super) specular: [f32; 3],
    pub(super) glossiness: f32,
}

/// Base colour and metalness for a diffuse and a specular colour; all linear.
pub(super) fn convert(diffuse: [f32; 3], specular: [f32; 3]) -> ([f32; 3], f32) {
    let strongest = specular.into_iter().fold(0.0, f32::max);
    let left = 1.0 - strongest;
    let metallic = metallic(brightness(diffuse), brightness(specular), left);
    let share = metallic * metallic;
    let color = std::array::from_fn(|i| {
        let (diffuse, specular) =
            (diffuse.get(i).copied().unwrap_or(0.0), specular.get(i).copied().unwrap_or(0.0));
        let as_plastic = diffuse * left / (1.0 - DIELECTRIC) / (1.0 - metallic).max(LEAST);
        let as_metal = (specular - DIELECTRIC * (1.0 - metallic)) / metallic.max(LEAST);
        (as_plastic + (as_metal - as_plastic) * share).clamp(0.0, 1.0)
    });
    (color, metallic)
}

/// As bright as eyes see a colour.
fn brightness([r, g, b]: [f32; 3]) -> f32 {
    (0.299 * r * r + 0.587 * g * g + 0.114 * b * b).sqrt()
}

/// The metalness at which both descriptions reflect as much.
fn metallic(diffuse: f32, specular: f32, left: f32) -> f32 {
    if specular < DIELECTRIC {
        return 0.0;
    }
    let b = diffuse * left / (1.0 - DIELECTRIC) + specular - 2.0 * DIELECTRIC;
    let root = (b * b - 4.0 * DIELECTRIC * (DIELECTRIC - specular)).max(0.0).sqrt();
    ((root - b) / (2.0 * DIELECTRIC)).clamp(0.0, 1.0)
}

/// Converts the textures of materials that need it; new ones are added to the list.
/// `left` is how many bytes they may take.
pub(super) fn convert_textures(
    materials: &mut [Material],
    glossiness: Vec<Option<Glossiness>>,
    textures: &mut Vec<Texture>,
    mut left: u64,
) -> bool {
    let mut all = true;
    for (material, factors) in materials.iter_mut().zip(glossiness) {
        let Some(factors) = factors else { continue };
        let glossy = material.metallic_roughness_texture;
        let base = material.base_color_texture;
        let found = glossy.and_then(|texture| textures.get(texture.texture)).cloned();
        let diffuse = base.and_then(|texture| textures.get(texture.texture)).cloned();
        let same = base.is_none_or(|base| glossy.is_some_and(|glossy| glossy.uv_set == base.uv_set));
        let fits = found.as_ref().and_then(|texture| left.checked_sub(2 * texture.rgba8.len() as u64));
        let (Some(found), true, Some(rest)) = (found, same, fits) else {
            // Colours as they are, without the highlights.
            material.metallic_roughness_texture = None;
            (material.base_color, material.metallic) = (factors.diffuse, 0.0);
            material.roughness = 1.0 - factors.glossiness;
            all = false;
            continue;
        };
        left = rest;
        let (base, rough) = convert_images(&found, diffuse.as_ref(), &factors);
        let number = textures.len();
        textures.push(Texture { rgba8: Arc::new(base), ..found.clone() });
        textures.push(Texture { rgba8: Arc::new(rough), ..found });
        material.base_color_texture = glossy.map(|texture| super::TextureRef { texture: number, ..texture });
        material.metallic_roughness_texture =
            glossy.map(|texture| super::TextureRef { texture: number + 1, ..texture });
        material.base_color = [1.0; 4];
    }
    all
}

/// A base colour image and a metallic-roughness image of the size of `glossy`.
fn convert_images(glossy: &Texture, diffuse: Option<&Texture>, factors: &Glossiness) -> (Vec<u8>, Vec<u8>) {
    let linear: [f32; 256] = std::array::from_fn(|byte| linear(byte as f32 / 255.0));
    let linear = |byte: u8| linear.get(usize::from(byte)).copied().unwrap_or(0.0);
    let mut base = Vec::with_capacity(glossy.rgba8.len());
    let mut rough = Vec::with_capacity(glossy.rgba8.len());
    for (number, &[r, g, b, shine]) in glossy.rgba8.as_chunks::<4>().0.iter().enumerate() {
        let [dr, dg, db, da] = match diffuse {
            Some(diffuse) => pixel_at(diffuse, number, glossy),
            None => [255; 4],
        };
        let times = |byte: u8, factor: f32| linear(byte) * factor;
        let [fr, fg, fb, fa] = factors.diffuse;
        let [sr, sg, sb] = factors.specular;
        let (color, metallic) = convert(
            [times(dr, fr), times(dg, fg), times(db, fb)],
            [times(r, sr), times(g, sg), times(b, sb)],
        );
        let byte = |value: f32| (value.clamp(0.0, 1.0) * 255.0).round() as u8;
        base.extend(color.map(|value| byte(encoded(value))));
        base.push(byte(f32::from(da) / 255.0 * fa));
        let roughness = 1.0 - f32::from(shine) / 255.0 * factors.glossiness;
        rough.extend([255, byte(roughness), byte(metallic), 255]);
    }
    (base, rough)
}

/// The pixel of another image at the place of a pixel of this one.
fn pixel_at(from: &Texture, number: usize, here: &Texture) -> [u8; 4] {
    let (width, height) = (here.width.max(1) as usize, here.height.max(1) as usize);
    let (x, y) = (number % width, number / width);
    let (x, y) = (x * from.width as usize / width, y * from.height as usize / height);
    let (pixels, _) = from.rgba8.as_chunks::<4>();
    pixels.get(y * from.width as usize + x).copied().unwrap_or([255; 4])
}

fn linear(value: f32) -> f32 {
    if value > 0.04045 { ((value + 0.055) / 1.055).powf(2.4) } else { value / 12.92 }
}

fn encoded(value: f32) -> f32 {
    if value > 0.003_130_8 { 1.055 * value.powf(1.0 / 2.4) - 0.055 } else { value * 12.92 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plastic_stays_plastic_and_gold_becomes_metal() {
        let (color, metallic) = convert([0.8, 0.1, 0.1], [0.04; 3]);
        assert!(
            metallic < 0.01 && (color[0] - 0.8).abs() < 0.02 && (color[1] - 0.1).abs() < 0.02,
            "{color:?}"
        );
        let gold = [1.0, 0.77, 0.34];
        let (color, metallic) = convert([0.0; 3], gold);
        assert!(metallic > 0.95, "{metallic}");
        for (found, expected) in color.into_iter().zip(gold) {
            assert!((found - expected).abs() < 0.03, "{color:?}");
        }
    }

    #[test]
    fn images_are_converted_pixel_by_pixel() {
        let texture = |width, height, rgba8: &[u8]| Texture {
            width,
            height,
            rgba8: Arc::new(rgba8.to_vec()),
            sampler: super::super::Sampler::default(),
        };
        let diffuse = texture(2, 1, &[200, 0, 0, 255, 0, 0, 0, 128]);
        let glossy = texture(2, 1, &[0, 0, 0, 255, 255, 255, 255, 0]);
        let factors = Glossiness { diffuse: [1.0; 4], specular: [1.0; 3], glossiness: 1.0 };
        let (base, rough) = convert_images(&glossy, Some(&diffuse), &factors);
        assert_eq!(base[1..4], [0, 0, 255]);
        assert!(base[0].abs_diff(200) < 6, "{}", base[0]);
        assert_eq!(base[4..], [255, 255, 255, 128]);
        assert_eq!(rough, [255, 0, 0, 255, 255, 255, 255, 255]);
    }
}
