//! A standard glTF in fewer bytes, for other programs: quantized
//! (`KHR_mesh_quantization`), or quantized and compressed
//! (`EXT_meshopt_compression`, whose vertex codec must be v0).
//!
//! Unlike parts on their way between peers, meshes, nodes and names stay as they
//! are: each mesh gets a child node that puts its grid where the mesh was.

use bytes::Bytes;
use glam::{DVec3, Vec3};
use serde_json::{Value, json};

use super::{
    geometry::{Geometry, gather_mesh},
    gltf,
    meshopt::{triangles, vertices},
    part::Colors,
    plan::{Plain, floats3, meshes_of},
    quantize::{Grid, NormalBits, to_octahedron},
    skeleton,
};

/// What a packed file is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Integers: every program that knows `KHR_mesh_quantization` reads them as they are.
    Quantized,
    /// The same, compressed.
    Meshopt,
}

/// A packed file, and what it lost.
#[derive(Debug, Clone)]
pub struct Packed {
    /// The file.
    pub glb: Vec<u8>,
    /// Triangles that were packed.
    pub triangles: u64,
    /// Largest distance of a position from where it was, in diagonals of the model.
    pub position_error: f64,
    /// Largest angle between a normal and what it was, degrees.
    pub normal_max_degrees: f64,
    /// Mean of these angles, degrees.
    pub normal_mean_degrees: f64,
}

const MESHOPT: &str = "EXT_meshopt_compression";
const QUANTIZATION: &str = "KHR_mesh_quantization";
const I16: u64 = 5122;
const NORMAL_MOST: f32 = 32767.0;
/// What 1 is for a normal's numbers of 10 bits.
const NORMAL_ONE: i16 = 511;

/// Packs a GLB.
///
/// # Errors
/// Why its geometry cannot be packed, for a person.
pub fn pack(glb: &Bytes, format: Format) -> Result<Packed, &'static str> {
    let (json, bin) = gltf::open(glb)?;
    let plan = meshes_of(glb)?;
    let (skeleton, numbers) = skeleton::without(&json, &bin, &plan.taken)?;
    let rest = (0..skeleton.rest_chunks()).flat_map(|chunk| skeleton.rest_chunk(glb, chunk)).collect();
    let json = gltf::parse(&skeleton.json)?;
    let mut writer = Writer { json, bin: rest, unpacked: 0, format, errors: Errors::default() };
    for mesh in &plan.meshes {
        let number = numbers.get(mesh.number).copied().flatten().ok_or("a mesh is missing")?;
        let mut primitives = Vec::new();
        for plain in &mesh.plain {
            let geometry = gather_mesh(glb, plain, mesh.grid, format == Format::Meshopt);
            let geometry = geometry.ok_or("a mesh is empty")?;
            writer.errors.measure(glb, plain, mesh.grid, mesh.scale);
            primitives.push(writer.primitive(&geometry, plain.material)?);
        }
        writer.json["meshes"][number as usize]["primitives"] = primitives.into();
        writer.put_under_nodes(number, mesh.grid)?;
    }
    let Errors { position, angle_max, angle_sum, normals, triangles } = writer.errors;
    Ok(Packed {
        triangles,
        position_error: if plan.diagonal > 0.0 { position / plan.diagonal } else { 0.0 },
        normal_max_degrees: angle_max,
        normal_mean_degrees: if normals > 0 { angle_sum / normals as f64 } else { 0.0 },
        glb: writer.finish()?,
    })
}

#[derive(Debug, Default)]
struct Errors {
    position: f64,
    angle_max: f64,
    angle_sum: f64,
    normals: u64,
    triangles: u64,
}

impl Errors {
    fn measure(&mut self, glb: &[u8], plain: &Plain, grid: Grid, scale: f64) {
        self.triangles += plain.triangles() as u64;
        for vertex in 0..plain.positions.count {
            let was = floats3(plain.positions.element(glb, vertex));
            let is = grid.position(grid.point(was));
            let error = Vec3::from(was).as_dvec3().distance(Vec3::from(is).as_dvec3());
            self.position = self.position.max(error * scale);
        }
        let Some(normals) = plain.normals else { return };
        for vertex in 0..normals.count {
            let was = Vec3::from(floats3(normals.element(glb, vertex))).as_dvec3();
            let is = packed_normal(to_octahedron(was.as_vec3().to_array(), NormalBits::Ten));
            let is = DVec3::from_array(is.map(f64::from));
            if was.length_squared() > 0.0 {
                let angle = was.angle_between(is).to_degrees();
                self.angle_max = self.angle_max.max(angle);
                self.angle_sum += angle;
                self.normals += 1;
            }
        }
    }
}

/// What the octahedral filter makes of a normal: integers of 16 bits.
fn packed_normal([u, v]: [i16; 2]) -> [i16; 3] {
    let one = f32::from(NORMAL_ONE);
    let (mut x, mut y) = (f32::from(u), f32::from(v));
    let z = one - x.abs() - y.abs();
    let fold = z.min(0.0);
    x += if x >= 0.0 { fold } else { -fold };
    y += if y >= 0.0 { fold } else { -fold };
    let scale = NORMAL_MOST / (x * x + y * y + z * z).sqrt();
    [x, y, z].map(|value| (value * scale).round() as i16)
}

struct Writer {
    json: Value,
    bin: Vec<u8>,
    /// Bytes of the views once they are decompressed.
    unpacked: usize,
    format: Format,
    errors: Errors,
}

/// What a buffer view is to hold.
struct View {
    bytes: Vec<u8>,
    stride: usize,
    /// As `EXT_meshopt_compression` has it, with the stream of that mode.
    compressed: Option<(&'static str, Option<&'static str>, Vec<u8>)>,
    target: u64,
}

impl View {
    fn vertices(bytes: Vec<u8>, stride: usize, format: Format, filter: Option<&'static str>) -> Self {
        let compressed =
            (format == Format::Meshopt).then(|| ("ATTRIBUTES", filter, vertices::encode(&bytes, stride)));
        Self { bytes, stride, compressed, target: 34962 }
    }

    fn triangles(list: &[[u32; 3]], count: usize, format: Format) -> Self {
        // The last number of 16 bits is kept for others' purposes.
        let small = count < usize::from(u16::MAX);
        let corners = list.as_flattened().iter();
        let bytes = if small {
            corners.flat_map(|&corner| (corner as u16).to_le_bytes()).collect()
        } else {
            corners.flat_map(|corner| corner.to_le_bytes()).collect()
        };
        let compressed = (format == Format::Meshopt).then(|| ("TRIANGLES", None, triangles::encode(list)));
        Self { bytes, stride: if small { 2 } else { 4 }, compressed, target: 34963 }
    }
}

impl Writer {
    fn primitive(&mut self, geometry: &Geometry, material: Option<u32>) -> Result<Value, &'static str> {
        let (format, count) = (self.format, geometry.points.len());
        let vertices = |bytes: Vec<u8>, stride| View::vertices(bytes, stride, format, None);
        let points = geometry.points.iter().flat_map(|&[x, y, z]| [x, y, z, 0]);
        let points = vertices(points.flat_map(u16::to_le_bytes).collect(), 8);
        let positions = self.accessor(points, gltf::U16, "VEC3", count, false)?;
        let (mut min, mut max) = ([u16::MAX; 3], [0; 3]);
        for point in &geometry.points {
            for axis in 0..3 {
                min[axis] = min[axis].min(point[axis]);
                max[axis] = max[axis].max(point[axis]);
            }
        }
        let accessor = &mut self.json["accessors"][positions];
        (accessor["min"], accessor["max"]) = (json!(min), json!(max));
        let mut attributes = json!({ "POSITION": positions });
        if let Some(normals) = &geometry.normals {
            let numbers = |&[u, v]: &[i16; 2]| match format {
                Format::Quantized => {
                    let [x, y, z] = packed_normal([u, v]);
                    [x, y, z, 0]
                }
                Format::Meshopt => [u, v, NORMAL_ONE, 0],
            };
            let bytes = normals.iter().flat_map(numbers).flat_map(i16::to_le_bytes).collect();
            let view = View::vertices(bytes, 8, format, Some("OCTAHEDRAL"));
            attributes["NORMAL"] = self.accessor(view, I16, "VEC3", count, true)?.into();
        }
        if let Some(colors) = &geometry.colors {
            let (bytes, component) = match colors {
                Colors::U8(colors) => (colors.as_flattened().to_vec(), gltf::U8),
                Colors::U16(colors) => {
                    (colors.as_flattened().iter().flat_map(|v| v.to_le_bytes()).collect(), gltf::U16)
                }
            };
            let view = vertices(bytes, colors.stride());
            attributes["COLOR_0"] = self.accessor(view, component, "VEC4", count, true)?.into();
        }
        for (extra, bytes) in &geometry.extras {
            let kind = if extra.stride() == 8 { "VEC2" } else { "VEC4" };
            let view = vertices(bytes.clone(), extra.stride());
            attributes[extra.name()] = self.accessor(view, gltf::F32, kind, count, false)?.into();
        }
        let view = View::triangles(&geometry.triangles, count, format);
        let component = if view.stride == 2 { gltf::U16 } else { gltf::U32 };
        let indices = self.accessor(view, component, "SCALAR", geometry.triangles.len() * 3, false)?;
        let mut primitive = json!({ "attributes": attributes, "indices": indices, "mode": 4 });
        if let Some(material) = material {
            primitive["material"] = material.into();
        }
        Ok(primitive)
    }

    fn accessor(
        &mut self,
        view: View,
        component: u64,
        kind: &str,
        count: usize,
        normalized: bool,
    ) -> Result<usize, &'static str> {
        self.bin.resize(self.bin.len().next_multiple_of(4), 0);
        let (start, length) = (self.bin.len(), view.bytes.len());
        let mut json =
            json!({ "buffer": 0, "byteOffset": start, "byteLength": length, "target": view.target });
        if view.target == 34962 {
            json["byteStride"] = view.stride.into();
        }
        match view.compressed {
            None => self.bin.extend_from_slice(&view.bytes),
            Some((mode, filter, stream)) => {
                // The view speaks of a buffer that nobody has: how it would be.
                (json["buffer"], json["byteOffset"]) = (1.into(), self.unpacked.into());
                self.unpacked = (self.unpacked + length).next_multiple_of(4);
                json["extensions"][MESHOPT] = json!({
                    "buffer": 0, "byteOffset": start, "byteLength": stream.len(), "byteStride": view.stride,
                    "count": length / view.stride, "mode": mode,
                });
                if let Some(filter) = filter {
                    json["extensions"][MESHOPT]["filter"] = filter.into();
                }
                self.bin.extend_from_slice(&stream);
            }
        }
        let view = push(&mut self.json, "bufferViews", json)?;
        let mut accessor =
            json!({ "bufferView": view, "componentType": component, "count": count, "type": kind });
        if normalized {
            accessor["normalized"] = true.into();
        }
        push(&mut self.json, "accessors", accessor)
    }

    /// Gives each node that shows a mesh a child that shows it in its place.
    fn put_under_nodes(&mut self, mesh: u32, grid: Grid) -> Result<(), &'static str> {
        for number in 0..gltf::list(&self.json, "nodes").len() {
            let node = &mut self.json["nodes"][number];
            if gltf::whole(node.get("mesh")) != Some(mesh as usize) {
                continue;
            }
            node.as_object_mut().and_then(|node| node.remove("mesh"));
            let child = json!({ "mesh": mesh, "translation": grid.origin, "scale": grid.step });
            let child = push(&mut self.json, "nodes", child)?;
            push(&mut self.json["nodes"][number], "children", child.into())?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<u8>, &'static str> {
        let mut buffers = json!([{ "byteLength": self.bin.len() }]);
        let mut extensions = vec![QUANTIZATION];
        if self.format == Format::Meshopt {
            extensions.push(MESHOPT);
        }
        if let Some(list) = buffers.as_array_mut().filter(|_| self.format == Format::Meshopt) {
            list.push(
                json!({ "byteLength": self.unpacked, "extensions": { MESHOPT: { "fallback": true } } }),
            );
        }
        self.json["buffers"] = buffers;
        for extension in extensions {
            for list in ["extensionsUsed", "extensionsRequired"] {
                push(&mut self.json, list, extension.into())?;
            }
        }
        if let Some(object) = self.json.as_object_mut() {
            object.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
        }
        gltf::build(&self.json.to_string(), &self.bin).ok_or("it has more than 4 GiB")
    }
}

/// Appends to a list of an object; its number there.
fn push(json: &mut Value, name: &str, value: Value) -> Result<usize, &'static str> {
    let odd = "its description is unusual";
    let object = json.as_object_mut().ok_or(odd)?;
    let list = object.entry(name).or_insert_with(|| json!([])).as_array_mut().ok_or(odd)?;
    list.push(value);
    Ok(list.len() - 1)
}
