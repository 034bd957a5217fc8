//! Images of a model, decoded within limits.

use std::io::Cursor;
use std::sync::Arc;

use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, RgbaImage, imageops};

use super::buffers::Buffers;
use super::document::{self, Whole};
use super::error::Fault;
use super::limits::{Limits, Watch};
use super::uri::{self, Uri};
use super::warnings::{Warnings, quoted};

/// Bytes that may be decompressed for each byte that textures may take.
const MAX_WORK: u64 = 8;

/// An image with the way it is to be sampled. Textures with the same image share it.
#[derive(Debug, Clone)]
pub struct Texture {
    /// Pixels per row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Pixels, row by row from the top, 4 bytes each. Whether they are sRGB or
    /// linear depends on how a material uses them.
    pub rgba8: Arc<Vec<u8>>,
    /// How to sample it.
    pub sampler: Sampler,
}

/// How a texture is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sampler {
    /// Beyond 0 to 1 along u.
    pub wrap_u: Wrap,
    /// Beyond 0 to 1 along v.
    pub wrap_v: Wrap,
    /// When a texel covers more than a pixel.
    pub mag: Filter,
    /// When a texel covers less than a pixel.
    pub min: Filter,
    /// Between mip levels; none if only the full image is to be used.
    pub mipmap: Option<Filter>,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            wrap_u: Wrap::Repeat,
            wrap_v: Wrap::Repeat,
            mag: Filter::Linear,
            min: Filter::Linear,
            mipmap: Some(Filter::Linear),
        }
    }
}

/// What lies beyond the edge of a texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wrap {
    /// The texture again.
    Repeat,
    /// The texture mirrored.
    Mirror,
    /// Its edge.
    Clamp,
}

/// How neighbouring texels are mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The nearest one alone.
    Nearest,
    /// By distance.
    Linear,
}

impl Sampler {
    fn read(json: &document::Sampler) -> Self {
        let code = |value: Option<Whole>| value.map_or(0, |value| value.0);
        let wrap = |value| match code(value) {
            33071 => Wrap::Clamp,
            33648 => Wrap::Mirror,
            _ => Wrap::Repeat,
        };
        let (min, mipmap) = match code(json.min_filter) {
            9728 => (Filter::Nearest, None),
            9729 => (Filter::Linear, None),
            9984 => (Filter::Nearest, Some(Filter::Nearest)),
            9985 => (Filter::Linear, Some(Filter::Nearest)),
            9986 => (Filter::Nearest, Some(Filter::Linear)),
            _ => (Filter::Linear, Some(Filter::Linear)),
        };
        let mag = if code(json.mag_filter) == 9728 { Filter::Nearest } else { Filter::Linear };
        Self { wrap_u: wrap(json.wrap_s), wrap_v: wrap(json.wrap_t), mag, min, mipmap }
    }
}

/// Decodes textures when they are first asked for.
pub(super) struct Textures<'a> {
    buffers: &'a Buffers<'a>,
    limits: &'a Limits,
    watch: &'a Watch<'a>,
    /// Of the file's images: not asked for yet, or decoded, or failed.
    images: Vec<Option<Option<Pixels>>>,
    /// Of the file's textures: their place in `textures`.
    numbers: Vec<Option<usize>>,
    /// Bytes that textures may still take.
    pub(super) left: u64,
    /// Bytes that may still be decompressed, also for images that then fail or are
    /// scaled down: bounds the time.
    work_left: u64,
    pub(super) textures: Vec<Texture>,
}

/// A decoded image.
#[derive(Debug, Clone)]
struct Pixels {
    width: u32,
    height: u32,
    rgba8: Arc<Vec<u8>>,
}

impl<'a> Textures<'a> {
    pub(super) fn new(buffers: &'a Buffers<'a>, limits: &'a Limits, watch: &'a Watch<'a>) -> Self {
        let document = buffers.document();
        Self {
            buffers,
            limits,
            watch,
            images: vec![None; document.images.len()],
            numbers: vec![None; document.textures.len()],
            left: limits.max_texture_bytes,
            work_left: limits.max_texture_bytes.saturating_mul(MAX_WORK),
            textures: Vec::new(),
        }
    }

    /// The place in `textures` of a texture of the file; a warning and none if it
    /// cannot be had.
    pub(super) fn get(&mut self, texture: Whole, warnings: &mut Warnings) -> Option<usize> {
        let document = self.buffers.document();
        let index = texture.index();
        let Some(json) = document.textures.get(index) else {
            let count = document.textures.len();
            warnings.push(Fault::Unresolved { what: "texture", index, count });
            return None;
        };
        if let Some(&Some(number)) = self.numbers.get(index) {
            return Some(number);
        }
        // The one of an extension first: the other is for those who do not read it.
        let webp = json.extensions.webp.as_ref().and_then(|webp| webp.source);
        let Some(source) = webp.or(json.source) else {
            let of = if json.extensions.basisu.is_some() { ", but one of KHR_texture_basisu" } else { "" };
            warnings.push(format_args!("texture {index} has no PNG, JPEG or WebP image{of}"));
            return None;
        };
        let mut pixels = self.image(source.index(), warnings);
        if let (None, Some(_), Some(plain)) = (&pixels, webp, json.source) {
            pixels = self.image(plain.index(), warnings);
        }
        let pixels = pixels?;
        let sampler = json.sampler.and_then(|sampler| match document.samplers.get(sampler.index()) {
            Some(sampler) => Some(Sampler::read(sampler)),
            None => {
                let (index, count) = (sampler.index(), document.samplers.len());
                warnings.push(Fault::Unresolved { what: "sampler", index, count });
                None
            }
        });
        let number = self.textures.len();
        let Pixels { width, height, rgba8 } = pixels;
        self.textures.push(Texture { width, height, rgba8, sampler: sampler.unwrap_or_default() });
        if let Some(place) = self.numbers.get_mut(index) {
            *place = Some(number);
        }
        Some(number)
    }

    fn image(&mut self, index: usize, warnings: &mut Warnings) -> Option<Pixels> {
        match self.images.get(index) {
            Some(Some(decoded)) => return decoded.clone(),
            Some(None) if self.watch.check().is_err() => return None,
            Some(None) => {}
            None => {
                warnings.push(Fault::Unresolved { what: "image", index, count: self.images.len() });
                return None;
            }
        }
        let decoded = match self.decode(index) {
            Ok((pixels, shrunk)) => {
                if let Some((width, height)) = shrunk {
                    let Pixels { width: w, height: h, .. } = pixels;
                    warnings.push(format_args!(
                        "image {index} of {width} x {height} pixels is scaled down to {w} x {h}"
                    ));
                }
                Some(pixels)
            }
            Err(fault) => {
                warnings.push(format_args!("image {index}: {fault}"));
                None
            }
        };
        if let Some(place) = self.images.get_mut(index) {
            *place = Some(decoded.clone());
        }
        decoded
    }

    fn decode(&mut self, index: usize) -> Result<(Pixels, Option<(u32, u32)>), Fault> {
        let unfit = |reason: &str| Fault::Image(reason.to_owned());
        let json = self.buffers.document().images.get(index).ok_or_else(|| unfit("it does not exist"))?;
        let embedded;
        let bytes = match (&json.uri, json.buffer_view) {
            (_, Some(view)) => self.buffers.view(view)?.bytes,
            (Some(uri), None) => match Uri::parse(&uri.0) {
                Uri::Data(data) => {
                    embedded = uri::decode_data(data).map_err(Fault::Image)?;
                    &embedded
                }
                Uri::Scheme(_) => return Err(unfit("it is at an address, which is not fetched")),
                Uri::File(name) => {
                    return Err(Fault::Image(format!(
                        "it is in another file ({}), which is not here",
                        quoted(name)
                    )));
                }
            },
            (None, None) => return Err(unfit("it has no data")),
        };
        let image = decode_image(bytes, self.limits.max_image_bytes, &mut self.work_left)?;
        let size = image.dimensions();
        let image = shrink(image, self.limits.max_texture_side);
        let (width, height) = image.dimensions();
        let rgba8 = image.into_raw();
        let left = self.left.checked_sub(rgba8.len() as u64);
        self.left = left.ok_or_else(|| {
            Fault::Image(format!(
                "all textures have more than the limit of {} bytes",
                self.limits.max_texture_bytes
            ))
        })?;
        let shrunk = (size != (width, height)).then_some(size);
        Ok((Pixels { width, height, rgba8: Arc::new(rgba8) }, shrunk))
    }
}

/// Decodes PNG, JPEG or WebP, looking at its size before anything is allocated for it.
fn decode_image(bytes: &[u8], max_bytes: u64, work_left: &mut u64) -> Result<RgbaImage, Fault> {
    let unreadable = |error: image::ImageError| Fault::Image(format!("it cannot be decoded: {error}"));
    let format = match image::guess_format(bytes) {
        Ok(format @ (ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::WebP)) => format,
        Ok(other) => {
            let name = other.extensions_str().first().copied().unwrap_or("another format");
            return Err(Fault::Image(format!("it is {name}, only PNG, JPEG and WebP are shown")));
        }
        Err(_) => return Err(Fault::Image("it is neither PNG, JPEG nor WebP".to_owned())),
    };
    if format == ImageFormat::WebP {
        return decode_webp(bytes, max_bytes, work_left);
    }
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = image::Limits::default();
    limits.max_alloc = Some(max_bytes);
    reader.limits(limits);
    let decoder = reader.into_decoder().map_err(unreadable)?;
    let (width, height) = decoder.dimensions();
    pay(width, height, decoder.total_bytes(), max_bytes, work_left)?;
    DynamicImage::from_decoder(decoder).map(DynamicImage::into_rgba8).map_err(unreadable)
}

/// Takes what an image needs from what is left, before it is needed.
fn pay(width: u32, height: u32, bytes: u64, max_bytes: u64, work_left: &mut u64) -> Result<(), Fault> {
    let needed = bytes.max(u64::from(width) * u64::from(height) * 4);
    if needed > max_bytes {
        return Err(Fault::Image(format!(
            "{width} x {height} pixels take {needed} bytes, more than the limit of {max_bytes}"
        )));
    }
    *work_left = work_left
        .checked_sub(needed)
        .ok_or_else(|| Fault::Image("the images before it took all the time there is".to_owned()))?;
    Ok(())
}

fn decode_webp(bytes: &[u8], max_bytes: u64, work_left: &mut u64) -> Result<RgbaImage, Fault> {
    let unreadable =
        |error: image_webp::DecodingError| Fault::Image(format!("it cannot be decoded: {error}"));
    let mut decoder = image_webp::WebPDecoder::new(Cursor::new(bytes)).map_err(unreadable)?;
    decoder.set_memory_limit(usize::try_from(max_bytes).unwrap_or(usize::MAX));
    let (width, height) = decoder.dimensions();
    let needed = decoder.output_buffer_size().map_or(u64::MAX, |bytes| bytes as u64);
    pay(width, height, needed, max_bytes, work_left)?;
    let mut pixels = vec![0; usize::try_from(needed).unwrap_or(0)];
    decoder.read_image(&mut pixels).map_err(unreadable)?;
    let rgba = match decoder.has_alpha() {
        true => pixels,
        false => pixels.as_chunks::<3>().0.iter().flat_map(|&[r, g, b]| [r, g, b, 255]).collect(),
    };
    RgbaImage::from_raw(width, height, rgba)
        .ok_or_else(|| Fault::Image("it is not as large as it says".to_owned()))
}

/// The image with its longer side at most `max_side`.
fn shrink(image: RgbaImage, max_side: u32) -> RgbaImage {
    let (width, height) = image.dimensions();
    let longer = width.max(height);
    if longer <= max_side {
        return image;
    }
    let scaled = |side: u32| {
        let side = u64::from(side) * u64::from(max_side) / u64::from(longer);
        u32::try_from(side).unwrap_or(max_side).max(1)
    };
    imageops::thumbnail(&image, scaled(width), scaled(height))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        let image = RgbaImage::from_fn(width, height, |x, y| image::Rgba([x as u8, y as u8, 7, 255]));
        image.write_to(&mut bytes, ImageFormat::Png).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn images_are_decoded_and_shrunk() {
        let image = decode_image(&png(40, 10), 1 << 20, &mut { u64::MAX }).unwrap();
        assert_eq!(image.get_pixel(3, 2).0, [3, 2, 7, 255]);
        assert_eq!(shrink(image.clone(), 20).dimensions(), (20, 5));
        assert_eq!(shrink(image, 2).dimensions(), (2, 1));
    }

    #[test]
    fn webp_with_and_without_alpha() {
        for (color, pixels, expected) in [
            (image_webp::ColorType::Rgba8, &[1, 2, 3, 4, 5, 6, 7, 8][..], [5, 6, 7, 8]),
            (image_webp::ColorType::Rgb8, &[1, 2, 3, 5, 6, 7][..], [5, 6, 7, 255]),
        ] {
            let mut bytes = Vec::new();
            image_webp::WebPEncoder::new(&mut bytes).encode(pixels, 2, 1, color).unwrap();
            let image = decode_image(&bytes, 1 << 20, &mut { u64::MAX }).unwrap();
            assert_eq!((image.dimensions(), image.get_pixel(1, 0).0), ((2, 1), expected));
            let error = decode_image(&bytes, 5, &mut { u64::MAX }).unwrap_err().to_string();
            assert!(error.contains("2 x 1 pixels take 8 bytes"), "{error}");
        }
    }

    #[test]
    fn an_image_that_would_be_too_large_is_refused_by_its_header() {
        // The header is changed to say 60000 x 60000, with the right checksum for it.
        let mut bytes = png(1, 1);
        bytes[16..24].copy_from_slice(&[0, 0, 0xEA, 0x60, 0, 0, 0xEA, 0x60]);
        let mut crc = flate2::Crc::new();
        crc.update(&bytes[12..29]);
        bytes[29..33].copy_from_slice(&crc.sum().to_be_bytes());
        let error = decode_image(&bytes, 1 << 20, &mut { u64::MAX }).unwrap_err().to_string();
        assert!(error.contains("60000 x 60000") || error.contains("imit"), "{error}");
    }

    #[test]
    fn work_is_paid_for_by_what_an_image_decompresses_to() {
        let mut left = 40 * 10 * 4 + 1;
        assert!(decode_image(&png(40, 10), 1 << 20, &mut left).is_ok());
        assert_eq!(left, 1);
        assert!(decode_image(&png(1, 1), 1 << 20, &mut left).is_err());
    }

    #[test]
    fn other_formats_are_named() {
        let error = |bytes: &[u8]| decode_image(bytes, 1 << 20, &mut { u64::MAX }).unwrap_err().to_string();
        assert_eq!(error(b"GIF89a"), "it is gif, only PNG, JPEG and WebP are shown");
        assert_eq!(error(b"hello"), "it is neither PNG, JPEG nor WebP");
        assert!(error(&png(4, 4)[..50]).starts_with("it cannot be decoded"));
    }

    #[test]
    fn samplers_are_read() {
        let json = r#"{"magFilter":9728,"minFilter":9985,"wrapS":33071,"wrapT":33648}"#;
        let sampler = Sampler::read(&serde_json::from_str(json).unwrap());
        let expected = Sampler {
            wrap_u: Wrap::Clamp,
            wrap_v: Wrap::Mirror,
            mag: Filter::Nearest,
            min: Filter::Linear,
            mipmap: Some(Filter::Nearest),
        };
        assert_eq!(sampler, expected);
        assert_eq!(Sampler::read(&document::Sampler::default()), Sampler::default());
    }
}
