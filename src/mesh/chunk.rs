//! Chunks: the head, the parts of the geometry and the rest of a file, each
//! encoded on its own. `docs/protocol.md` has the format.

use super::{
    MeshError,
    geometry::{self, Geometry},
    meshopt::{triangles, vertices},
    part::{Colors, Encoding, Extra, MAX_EXTRAS, MAX_TRIANGLES, MAX_VERTICES, NO_INDEX, Part},
    plan::Plan,
    planes::{self, Shape},
    quantize::{Grid, NormalBits, from_octahedron},
    skeleton::REST_BYTES,
    squeeze::{Effort, expand, squeeze},
};

/// First byte of the head and of a chunk of the rest; parts have their encoding's.
const HEAD: u8 = 0;
const REST: u8 = 1;
/// Bytes of a part before the lengths of its extras.
const PART_HEAD_BYTES: usize = 60;
/// Bytes of a chunk once decoded, at most.
pub const MAX_DECODED_BYTES: usize = 96 << 20;
/// Bytes of a chunk as it travels, at most.
pub const MAX_CHUNK_BYTES: usize = 64 << 20;

/// A chunk as it travels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// Of the chunk.
    pub bytes: Vec<u8>,
    /// How many it stands for once it is decoded: see [`Decoded::bytes`].
    pub decoded_bytes: usize,
}

/// What stands first: the file's description without its plain geometry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// glTF's JSON.
    pub json: Vec<u8>,
    /// Bytes of its binary chunk that come last, in chunks of 1 MiB.
    pub rest_bytes: usize,
    /// Parts of geometry that come between.
    pub parts: u32,
}

/// A chunk that was decoded.
#[derive(Debug, Clone, PartialEq)]
pub enum Decoded {
    /// Chunk 0.
    Head(Head),
    /// One of the next.
    Part(Part),
    /// One of the last.
    Rest(Vec<u8>),
}

impl Decoded {
    /// Bytes of what it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Head(head) => head.json.len(),
            Self::Part(part) => part.bytes(),
            Self::Rest(bytes) => bytes.len(),
        }
    }
}

impl Plan {
    /// Makes one chunk; none where there are not so many. Parts of many alike small
    /// meshes are encoded in planes whatever is asked for.
    #[must_use]
    pub fn encode(&self, index: u32, encoding: Encoding, bits: NormalBits) -> Option<Encoded> {
        let index = index as usize;
        if index == 0 {
            let mut bytes = vec![HEAD, 0, 0, 0];
            for number in [self.skeleton.json.len(), self.skeleton.rest_bytes, self.parts.len()] {
                bytes.extend_from_slice(&u32::try_from(number).ok()?.to_le_bytes());
            }
            bytes.extend_from_slice(&squeeze(&self.skeleton.json, Effort::More));
            return Some(Encoded { bytes, decoded_bytes: self.skeleton.json.len() });
        }
        if let Some(part) = self.parts.get(index - 1) {
            let encoding = if part.small { Encoding::Planes } else { encoding };
            let geometry = geometry::gather(self, index - 1, bits, encoding == Encoding::Strong)?;
            let place = Place { mesh: part.mesh, material: part.material, grid: part.grid };
            return Some(encode_part(&geometry, &place, encoding, bits));
        }
        let number = index - 1 - self.parts.len();
        if number >= self.skeleton.rest_chunks() {
            return None;
        }
        let rest = self.skeleton.rest_chunk(&self.glb, number);
        let squeezed = squeeze(&rest, Effort::Little);
        // Pictures are compressed already.
        let packed = squeezed.len() < rest.len();
        let mut bytes = vec![REST, u8::from(packed), 0, 0];
        bytes.extend_from_slice(&(rest.len() as u32).to_le_bytes());
        bytes.extend_from_slice(if packed { &squeezed } else { &rest });
        Some(Encoded { bytes, decoded_bytes: rest.len() })
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Place {
    mesh: Option<u32>,
    material: Option<u32>,
    grid: Grid,
}

fn encode_part(geometry: &Geometry, place: &Place, encoding: Encoding, bits: NormalBits) -> Encoded {
    let streams = match encoding {
        Encoding::Planes => in_planes(geometry, bits),
        Encoding::Fast | Encoding::Strong => in_meshopt(geometry, bits),
    };
    let colors = geometry.colors.as_ref().map_or(0, Colors::stride);
    let mut bytes = vec![
        encoding.byte(),
        if geometry.normals.is_some() { bits.number() } else { 0 },
        colors as u8,
        geometry.extras.len() as u8,
    ];
    let mut number = |number: u32| bytes.extend_from_slice(&number.to_le_bytes());
    number(place.mesh.unwrap_or(NO_INDEX));
    number(place.material.unwrap_or(NO_INDEX));
    number(geometry.points.len() as u32);
    number(geometry.triangles.len() as u32);
    place.grid.origin.iter().chain(&place.grid.step).for_each(|value| number(value.to_bits()));
    let [triangles, points, normals, colors] = &streams.usual;
    [triangles, points, normals, colors].iter().for_each(|stream| number(stream.len() as u32));
    for ((extra, _), stream) in geometry.extras.iter().zip(&streams.extras) {
        bytes.push(extra.byte());
        bytes.extend_from_slice(&(stream.len() as u32).to_le_bytes());
    }
    let all = streams.usual.concat();
    let all = [&all[..], &streams.extras.concat()].concat();
    let effort = if encoding == Encoding::Strong { Effort::More } else { Effort::Little };
    bytes.extend_from_slice(&squeeze(&all, effort));
    Encoded { bytes, decoded_bytes: decoded_bytes(geometry) }
}

fn decoded_bytes(geometry: &Geometry) -> usize {
    let vertex = 12
        + geometry.normals.as_ref().map_or(0, |_| 12)
        + geometry.colors.as_ref().map_or(0, Colors::stride)
        + geometry.extras.iter().map(|(extra, _)| extra.stride()).sum::<usize>();
    geometry.points.len() * vertex + geometry.triangles.len() * 12
}

/// Triangles, points, normals, colours; then the extras.
struct Streams {
    usual: [Vec<u8>; 4],
    extras: Vec<Vec<u8>>,
}

fn in_meshopt(geometry: &Geometry, bits: NormalBits) -> Streams {
    let points = geometry.points.iter().flat_map(|&[x, y, z]| [x, y, z, 0]);
    let points: Vec<u8> = points.flat_map(u16::to_le_bytes).collect();
    let stream =
        |bytes: &[u8], stride| if bytes.is_empty() { Vec::new() } else { vertices::encode(bytes, stride) };
    let stride = geometry.colors.as_ref().map_or(4, Colors::stride);
    Streams {
        usual: [
            triangles::encode(&geometry.triangles),
            stream(&points, 8),
            normals_in_planes(geometry, bits),
            stream(&color_bytes(geometry), stride),
        ],
        extras: geometry.extras.iter().map(|(extra, bytes)| stream(bytes, extra.stride())).collect(),
    }
}

/// In planes whatever the rest is in: that is a tenth smaller.
fn normals_in_planes(geometry: &Geometry, bits: NormalBits) -> Vec<u8> {
    let normals = geometry.normals.iter().flatten().flatten();
    let normals: Vec<u8> = match bits {
        NormalBits::Eight => normals.map(|value| *value as i8 as u8).collect(),
        NormalBits::Ten => normals.flat_map(|value| value.to_le_bytes()).collect(),
    };
    split(&normals, normal_shape(bits))
}

fn split(bytes: &[u8], shape: Shape) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    planes::split(bytes, shape, &mut out);
    out
}

const POINTS: Shape = Shape { stride: 6, lane: 2 };
const TRIANGLES: Shape = Shape { stride: 12, lane: 4 };

fn normal_shape(bits: NormalBits) -> Shape {
    match bits {
        NormalBits::Eight => Shape { stride: 2, lane: 1 },
        NormalBits::Ten => Shape { stride: 4, lane: 2 },
    }
}

fn in_planes(geometry: &Geometry, bits: NormalBits) -> Streams {
    let points: Vec<u8> = geometry.points.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    let corners: Vec<u8> =
        geometry.triangles.iter().flatten().flat_map(|corner| corner.to_le_bytes()).collect();
    Streams {
        usual: [
            split(&corners, TRIANGLES),
            split(&points, POINTS),
            normals_in_planes(geometry, bits),
            split(&color_bytes(geometry), color_shape(geometry.colors.as_ref().map_or(4, Colors::stride))),
        ],
        extras: geometry.extras.iter().map(|(extra, bytes)| split(bytes, extra_shape(*extra))).collect(),
    }
}

const fn color_shape(stride: usize) -> Shape {
    Shape { stride, lane: stride / 4 }
}

const fn extra_shape(extra: Extra) -> Shape {
    Shape { stride: extra.stride(), lane: 4 }
}

fn color_bytes(geometry: &Geometry) -> Vec<u8> {
    match &geometry.colors {
        Some(Colors::U8(colors)) => colors.as_flattened().to_vec(),
        Some(Colors::U16(colors)) => colors.as_flattened().iter().flat_map(|v| v.to_le_bytes()).collect(),
        None => Vec::new(),
    }
}

/// Decodes a chunk. It costs memory for what it stands for, at most
/// [`MAX_DECODED_BYTES`], and about as much again while it works.
///
/// # Errors
/// If it is damaged, or lies about itself.
pub fn decode(chunk: &[u8]) -> Result<Decoded, MeshError> {
    decode_as(chunk, None)
}

/// The same, of which was said before how many bytes it holds: if that is not so, it
/// costs nothing to find out.
///
/// # Errors
/// The same, and if it holds more or fewer.
pub fn decode_announced(chunk: &[u8], decoded_bytes: usize) -> Result<Decoded, MeshError> {
    decode_as(chunk, Some(decoded_bytes))
}

fn decode_as(chunk: &[u8], expected: Option<usize>) -> Result<Decoded, MeshError> {
    let kind = *chunk.first().ok_or(MeshError::Damaged("an empty chunk"))?;
    let is_expected = |length: usize| expected.is_none_or(|expected| expected == length);
    match kind {
        HEAD => decode_head(chunk, is_expected).map(Decoded::Head),
        REST => {
            let mut reader = Reader(chunk);
            let [_, packed, ..] = *reader.array::<4>()?;
            let length = reader.length(REST_BYTES)?;
            if !is_expected(length) {
                return Err(LIES);
            }
            let bytes = match packed {
                0 => reader.0.to_vec(),
                1 => expand(reader.0, length).ok_or(LIES)?,
                _ => return Err(MeshError::Damaged("a chunk of an unknown kind")),
            };
            if bytes.len() == length { Ok(Decoded::Rest(bytes)) } else { Err(LIES) }
        }
        _ => decode_part(chunk, expected).map(Decoded::Part),
    }
}

const LIES: MeshError = MeshError::Damaged("a chunk that stands for something else than it says");

fn decode_head(chunk: &[u8], is_expected: impl Fn(usize) -> bool) -> Result<Head, MeshError> {
    let mut reader = Reader(chunk);
    reader.array::<4>()?;
    let length = reader.length(super::gltf::MAX_JSON_BYTES)?;
    if !is_expected(length) {
        return Err(LIES);
    }
    let (rest_bytes, parts) = (reader.number()?, reader.number()?);
    Ok(Head { json: expand(reader.0, length).ok_or(LIES)?, rest_bytes: rest_bytes as usize, parts })
}

fn decode_part(chunk: &[u8], expected: Option<usize>) -> Result<Part, MeshError> {
    let mut reader = Reader(chunk);
    let [encoding, bits, color_stride, extras] = *reader.array::<4>()?;
    let unknown = MeshError::Damaged("a chunk of an unknown kind");
    let encoding = Encoding::from_byte(encoding).ok_or(unknown.clone())?;
    let bits = match bits {
        0 => None,
        8 => Some(NormalBits::Eight),
        10 => Some(NormalBits::Ten),
        _ => return Err(unknown),
    };
    let color_stride = usize::from(color_stride);
    if !matches!(color_stride, 0 | 4 | 8) || usize::from(extras) > MAX_EXTRAS {
        return Err(unknown);
    }
    let (mesh, material) = (reader.number()?, reader.number()?);
    let (count, faces) = (reader.length(MAX_VERTICES)?, reader.length(MAX_TRIANGLES)?);
    let mut floats = [0.0; 6];
    for float in &mut floats {
        *float = f32::from_bits(reader.number()?);
    }
    let [x, y, z, steps @ ..] = floats;
    let grid = Grid::checked([x, y, z], steps)?;
    let mut lengths = [0; 4];
    for length in &mut lengths {
        *length = reader.length(MAX_CHUNK_BYTES)?;
    }
    let mut extra_lengths = Vec::new();
    for _ in 0..extras {
        let [kind] = *reader.array::<1>()?;
        extra_lengths.push((Extra::from_byte(kind).ok_or(unknown.clone())?, reader.length(MAX_CHUNK_BYTES)?));
    }
    // No stream is much longer than what it stands for.
    let whole: usize = lengths.iter().chain(extra_lengths.iter().map(|(_, length)| length)).sum();
    let vertex = 12 + color_stride + extra_lengths.iter().map(|(extra, _)| extra.stride()).sum::<usize>();
    let most = 4096 + faces * 20 + count * (vertex + vertex / 8);
    let decoded = count * (vertex + if bits.is_some() { 12 } else { 0 }) + faces * 12;
    if decoded > MAX_DECODED_BYTES {
        return Err(MeshError::TooLarge { count: decoded, limit: MAX_DECODED_BYTES });
    }
    if whole > most || expected.is_some_and(|expected| expected != decoded) {
        return Err(LIES);
    }
    let all = expand(reader.0, whole).ok_or(LIES)?;
    let mut all = Reader(&all);
    let [corners, points, normals, colors] = lengths.map(|length| all.bytes(length));
    let mut streams = StreamReader { encoding, count };
    let triangles = streams.triangles(corners?, faces)?;
    if triangles.as_flattened().iter().any(|&corner| corner as usize >= count) {
        return Err(MeshError::Damaged("an index is beyond its vertices"));
    }
    let positions = streams.points(points?, grid)?;
    let normals = match bits {
        Some(bits) => Some(streams.normals(normals?, bits)?),
        None => None,
    };
    let colors = colors?;
    let colors = match color_stride {
        0 => None,
        4 => Some(Colors::U8(streams.elements(colors, color_shape(4))?.as_chunks::<4>().0.to_vec())),
        _ => {
            let bytes = streams.elements(colors, color_shape(8))?;
            let color = |bytes: &[u8; 8]| {
                let channels = bytes.as_chunks::<2>().0;
                [0, 1, 2, 3].map(|at| u16::from_le_bytes(channels[at]))
            };
            Some(Colors::U16(bytes.as_chunks::<8>().0.iter().map(color).collect()))
        }
    };
    let mut extras = Vec::new();
    for (extra, length) in extra_lengths {
        extras.push((extra, streams.elements(all.bytes(length)?, extra_shape(extra))?));
    }
    let index = |index: u32| (index != NO_INDEX).then_some(index);
    Ok(Part {
        encoding,
        mesh: index(mesh),
        material: index(material),
        positions,
        normals,
        colors,
        extras,
        indices: triangles,
        grid,
        max_error: grid.max_error(),
    })
}

struct StreamReader {
    encoding: Encoding,
    /// Vertices.
    count: usize,
}

impl StreamReader {
    fn triangles(&mut self, stream: &[u8], faces: usize) -> Result<Vec<[u32; 3]>, MeshError> {
        if self.encoding != Encoding::Planes {
            return Ok(triangles::decode(stream, faces)?);
        }
        let bytes = joined(stream, TRIANGLES, faces)?;
        let triangle = |bytes: &[u8; 12]| {
            let corners = bytes.as_chunks::<4>().0;
            [0, 1, 2].map(|at| u32::from_le_bytes(corners[at]))
        };
        Ok(bytes.as_chunks::<12>().0.iter().map(triangle).collect())
    }

    fn points(&mut self, stream: &[u8], grid: Grid) -> Result<Vec<[f32; 3]>, MeshError> {
        let number = |bytes: &[u8], axis: usize| u16::from_le_bytes(bytes.as_chunks::<2>().0[axis]);
        let position = |bytes: &[u8]| grid.position([0, 1, 2].map(|axis| number(bytes, axis)));
        if self.encoding == Encoding::Planes {
            let bytes = joined(stream, POINTS, self.count)?;
            return Ok(bytes.as_chunks::<6>().0.iter().map(|point| position(point)).collect());
        }
        let bytes = self.vertices(stream, 8)?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|point| position(point)).collect())
    }

    fn normals(&mut self, stream: &[u8], bits: NormalBits) -> Result<Vec<[f32; 3]>, MeshError> {
        let bytes = joined(stream, normal_shape(bits), self.count)?;
        Ok(match bits {
            NormalBits::Eight => {
                let numbers =
                    bytes.as_chunks::<2>().0.iter().map(|pair| pair.map(|byte| i16::from(byte as i8)));
                numbers.map(|pair| from_octahedron(pair, bits)).collect()
            }
            NormalBits::Ten => {
                let pair = |bytes: &[u8; 4]| {
                    let numbers = bytes.as_chunks::<2>().0;
                    [0, 1].map(|at| i16::from_le_bytes(numbers[at]))
                };
                bytes.as_chunks::<4>().0.iter().map(|bytes| from_octahedron(pair(bytes), bits)).collect()
            }
        })
    }

    fn elements(&mut self, stream: &[u8], shape: Shape) -> Result<Vec<u8>, MeshError> {
        if self.encoding == Encoding::Planes {
            joined(stream, shape, self.count)
        } else {
            self.vertices(stream, shape.stride)
        }
    }

    fn vertices(&self, stream: &[u8], stride: usize) -> Result<Vec<u8>, MeshError> {
        if stream.is_empty() && self.count == 0 {
            return Ok(Vec::new());
        }
        Ok(vertices::decode(stream, self.count, stride)?)
    }
}

fn joined(stream: &[u8], shape: Shape, count: usize) -> Result<Vec<u8>, MeshError> {
    if stream.len() != shape.stride * count {
        return Err(LIES);
    }
    let mut bytes = Vec::with_capacity(stream.len());
    planes::join(stream, shape, &mut bytes);
    Ok(bytes)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], MeshError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], MeshError> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, MeshError> {
        self.array().map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// A number of bytes or elements within a limit.
    fn length(&mut self, limit: usize) -> Result<usize, MeshError> {
        let length = self.number()? as usize;
        if length <= limit { Ok(length) } else { Err(MeshError::TooLarge { count: length, limit }) }
    }
}

const SHORT: MeshError = MeshError::Damaged("a chunk that ends too early");

const _: () = assert!(PART_HEAD_BYTES == 4 + 4 * 14);

#[cfg(test)]
mod tests;
