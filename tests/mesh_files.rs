//! What a guest sees of a model in parts is what the host sees of its file: for every
//! file that lies here or beside the checkout, and for files made to be misread.
//! Whatever could be misread travels exactly.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

#[allow(dead_code, reason = "shared with other tests, each of which uses a part")]
#[path = "common/glb.rs"]
mod glb;
#[path = "common/same.rs"]
mod same;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use convene::{
    mesh::{self, Assembly, Encoding, NORMAL_BITS, Plan},
    model::{self, Cancel, DecodedModel, Limits, read_model_file},
};
use glb::{F32, Glb, I8, U8, U16};
use same::{Tolerance, difference};
use serde_json::{Value, json};

/// What 8 bits for each of two numbers may turn a normal by, and what single precision
/// adds where a node stretches it.
const DEGREES: f32 = 1.3;

fn decode(glb: &[u8]) -> Option<DecodedModel> {
    model::decode(glb, &Limits::default(), &Cancel::default()).ok()
}

/// The GLB that a receiver makes of the parts.
fn through(plan: &Plan, encoding: Encoding) -> Vec<u8> {
    let assembly = Assembly::new(plan.chunk_count(), 1 << 30);
    for index in 0..plan.chunk_count() {
        let chunk = plan.encode(index, encoding, NORMAL_BITS).unwrap();
        assembly.insert(index, mesh::decode(&chunk.bytes).unwrap().into()).unwrap();
    }
    assembly.glb().unwrap()
}

/// The largest factor by which a node stretches what is in the space of a mesh.
fn stretch(model: &DecodedModel) -> f32 {
    let axes = |m: glam::Mat3A| [m.x_axis, m.y_axis, m.z_axis].map(glam::Vec3A::length);
    let all = model.instances.iter().flat_map(|instance| axes(instance.transform.matrix3));
    all.fold(1.0, f32::max)
}

/// Whether the file can travel in parts; if so, that nothing else comes of them.
fn check(name: &str, file: &Bytes) -> Option<bool> {
    let before = decode(file)?;
    let Ok(plan) = Plan::new(file) else { return Some(false) };
    for encoding in [Encoding::Fast, Encoding::Strong] {
        let after = decode(&through(&plan, encoding)).unwrap();
        // What single precision rounds where nodes put it, too.
        let reach = before.bounds.min.abs().max(before.bounds.max.abs()).max_element();
        let position = plan.max_error() * stretch(&before) * 1.8 + reach * 4.0 * f32::EPSILON;
        let tolerance = Tolerance { position, degrees: DEGREES };
        if let Some(difference) = difference(&before, &after, tolerance) {
            panic!("{name}, {encoding:?}: {difference}");
        }
    }
    Some(true)
}

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, into);
        } else if matches!(path.extension().and_then(OsStr::to_str), Some("glb" | "gltf")) {
            into.push(path);
        }
    }
}

#[test]
fn real_files_are_the_same_in_parts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for folder in ["assets", "../shared/files", "../shared/models"] {
        files(&root.join(folder), &mut all);
    }
    all.sort();
    let (mut in_parts, mut exactly) = (0, 0);
    for path in &all {
        let Ok(packed) = read_model_file(path, &Limits::default()) else { continue };
        match check(&path.display().to_string(), &Bytes::from(packed.glb)) {
            Some(true) => {
                println!("in parts: {}", path.display());
                in_parts += 1;
            }
            Some(false) => exactly += 1,
            None => {}
        }
    }
    println!("{in_parts} in parts, {exactly} exactly, of {} files", all.len());
    assert!(in_parts >= 2, "the two that come with the program");
}

/// A curved sheet of 30 x 30 vertices as a primitive: 1682 triangles.
fn sheet(glb: &mut Glb) -> Value {
    curved(glb, 30)
}

fn curved(glb: &mut Glb, side: usize) -> Value {
    let mut primitive = glb.sheet(side, |n, x, y| {
        let normal = glam::Vec3::new(-0.6 * (x * 0.3).cos(), -0.1, 1.0).normalize();
        let position = [x, y, (x * 0.3).sin() * 2.0 + y * 0.1];
        (position, normal.to_array(), [(n % 251) as u8, (n / 7) as u8, 200, 255])
    });
    primitive["material"] = json!(0);
    primitive
}

/// A file with one sheet, changed.
fn with(change: impl FnOnce(&mut Glb)) -> Glb {
    let mut glb = Glb::new();
    let primitive = sheet(&mut glb);
    glb.mesh(json!([primitive]));
    glb.json["materials"] = json!([{ "name": "plain" }, { "alphaMode": "BLEND" }]);
    change(&mut glb);
    glb
}

fn attribute(glb: &mut Glb, name: &str, accessor: usize) {
    glb.json["meshes"][0]["primitives"][0]["attributes"][name] = json!(accessor);
}

/// A picture on the sheet, through these coordinates.
fn texture(glb: &mut Glb, info: Value) {
    let mut png = std::io::Cursor::new(Vec::new());
    let picture = image::RgbImage::from_fn(4, 4, |x, y| image::Rgb([x as u8 * 60, y as u8 * 60, 7]));
    picture.write_to(&mut png, image::ImageFormat::Png).unwrap();
    let view = glb.view(&png.into_inner());
    glb.json["images"] = json!([{ "bufferView": view, "mimeType": "image/png" }]);
    glb.json["textures"] = json!([{ "source": 0 }]);
    glb.json["materials"][0]["pbrMetallicRoughness"] = json!({ "baseColorTexture": info });
}

fn coordinates(glb: &mut Glb, name: &str, step: f32) {
    let uvs: Vec<f32> = (0..1800).map(|n| n as f32 * step).collect();
    let uvs = glb.floats("VEC2", &uvs);
    attribute(glb, name, uvs);
}

/// More vertices of the sheet's arrays than its triangles use, far away.
fn unused_vertices(glb: &mut Glb, before: bool) {
    let far = [[500.0f32, -40.0, 3.0]; 20].concat();
    for (name, value) in [("POSITION", far), ("NORMAL", [[0.0f32, 0.0, 1.0]; 20].concat())] {
        let old = glb.json["meshes"][0]["primitives"][0]["attributes"][name].as_u64().unwrap() as usize;
        let view = glb.json["accessors"][old]["bufferView"].as_u64().unwrap() as usize;
        let start = glb.json["bufferViews"][view]["byteOffset"].as_u64().unwrap() as usize;
        let mine = glb.bin[start..start + 900 * 12].as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b));
        let mine: Vec<f32> = mine.collect();
        let all = if before { [value, mine].concat() } else { [mine, value].concat() };
        let accessor = glb.floats("VEC3", &all);
        attribute(glb, name, accessor);
    }
    let attributes = glb.json["meshes"][0]["primitives"][0]["attributes"].as_object_mut().unwrap();
    attributes.remove("COLOR_0");
}

/// Interleaved positions, normals and colours of three bytes.
fn interleaved(glb: &mut Glb) {
    let mut bytes = Vec::new();
    for n in 0..900u32 {
        let (x, y) = ((n % 30) as f32, (n / 30) as f32);
        for value in [x, y, x * y * 0.01, 0.0, 0.6, 0.8] {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend([n as u8, 5, (n / 9) as u8, 77]);
    }
    let view = glb.view(&bytes);
    glb.json["bufferViews"][view]["byteStride"] = json!(28);
    for (name, offset, component, normalized) in
        [("POSITION", 0, F32, false), ("NORMAL", 12, F32, false), ("COLOR_0", 24, U8, true)]
    {
        let accessor = json!({
            "bufferView": view, "byteOffset": offset, "componentType": component, "type": "VEC3",
            "count": 900, "normalized": normalized,
        });
        let list = glb.json["accessors"].as_array_mut().unwrap();
        list.push(accessor);
        let accessor = list.len() - 1;
        attribute(glb, name, accessor);
    }
}

fn colors(glb: &mut Glb, component: u32, kind: &str, normalized: bool) {
    let (width, size) = (
        if kind == "VEC3" { 3 } else { 4 },
        match component {
            F32 => 4,
            U16 => 2,
            _ => 1,
        },
    );
    let bytes: Vec<u8> = if component == F32 {
        (0..900 * width).flat_map(|n| ((n % 97) as f32 / 97.0).to_le_bytes()).collect()
    } else {
        (0..900 * width * size).map(|n| (n % 127) as u8).collect()
    };
    let accessor = glb.accessor(component, kind, 900, &bytes);
    glb.accessor_mut(accessor)["normalized"] = json!(normalized);
    attribute(glb, "COLOR_0", accessor);
}

fn first_normal(glb: &mut Glb, value: f32) {
    let accessor = glb.json["meshes"][0]["primitives"][0]["attributes"]["NORMAL"].as_u64().unwrap() as usize;
    let view = glb.json["accessors"][accessor]["bufferView"].as_u64().unwrap() as usize;
    let start = glb.json["bufferViews"][view]["byteOffset"].as_u64().unwrap() as usize;
    for at in 0..3 {
        glb.bin[start + at * 4..][..4].copy_from_slice(&value.to_le_bytes());
    }
}

/// A rotation by an odd angle about an odd axis.
const TURN: [f32; 4] = [0.182_574_2, 0.365_148_4, 0.547_722_6, 0.730_296_7];

/// Name, whether it can travel in parts, and the file.
fn odd_files() -> Vec<(&'static str, bool, Glb)> {
    let instanced = |listed: bool| {
        move |glb: &mut Glb| {
            let places = glb.floats("VEC3", &[0.0, 0.0, 0.0, 50.0, 0.0, 0.0, 0.0, 70.0, 0.0]);
            glb.json["nodes"][0]["extensions"] =
                json!({ "EXT_mesh_gpu_instancing": { "attributes": { "TRANSLATION": places } } });
            if listed {
                glb.json["extensionsUsed"] = json!(["EXT_mesh_gpu_instancing"]);
            }
        }
    };
    let transformed = |node: Value| move |glb: &mut Glb| glb.json["nodes"][0] = node;
    let mut large = Glb::new();
    let primitive = curved(&mut large, 180);
    large.mesh(json!([primitive]));
    large.json["materials"] = json!([{}]);
    large.json["nodes"][0]["rotation"] = json!(TURN);
    let mut mirrored_large = large.clone();
    mirrored_large.json["nodes"][0] = json!({ "mesh": 0, "rotation": TURN, "scale": [-2, 1, 0.5] });
    vec![
        ("nothing unusual", true, with(|_| {})),
        ("instances", false, with(instanced(true))),
        ("instances that are not listed", false, with(instanced(false))),
        (
            "an unlisted extension of a buffer view",
            false,
            with(|glb| {
                glb.json["bufferViews"][1]["extensions"] = json!({ "EXT_meshopt_compression": {} });
            }),
        ),
        ("extensions that are no object", false, with(|glb| glb.json["extensions"] = json!([]))),
        (
            "variants",
            false,
            with(|glb| {
                glb.json["extensionsUsed"] = json!(["KHR_materials_variants"]);
                glb.json["extensions"] =
                    json!({ "KHR_materials_variants": { "variants": [{ "name": "a" }] } });
                glb.json["meshes"][0]["primitives"][0]["extensions"] =
                    json!({ "KHR_materials_variants": { "mappings": [{ "material": 1, "variants": [0] }] } });
            }),
        ),
        (
            "variants that no mesh has",
            true,
            with(|glb| {
                glb.json["extensions"] =
                    json!({ "KHR_materials_variants": { "variants": [{ "name": "a" }] } });
            }),
        ),
        (
            "lights",
            true,
            with(|glb| {
                glb.json["extensions"] =
                    json!({ "KHR_lights_punctual": { "lights": [{ "type": "point" }] } });
                glb.json["nodes"][0]["extensions"] = json!({ "KHR_lights_punctual": { "light": 0 } });
            }),
        ),
        ("weights at the node", true, with(|glb| glb.json["nodes"][0]["weights"] = json!([1.0]))),
        ("weights at the mesh", false, with(|glb| glb.json["meshes"][0]["weights"] = json!([1.0]))),
        (
            "a morph target",
            false,
            with(|glb| {
                glb.json["meshes"][0]["primitives"][0]["targets"] = json!([{ "POSITION": 0 }]);
                glb.json["meshes"][0]["weights"] = json!([1.0]);
            }),
        ),
        (
            "sparse positions",
            false,
            with(|glb| {
                let (at, to) = (glb.view(&[3, 0]), glb.view(&[0; 12]));
                glb.json["accessors"][0]["sparse"] = json!({
                    "count": 1, "indices": { "bufferView": at, "componentType": U16 },
                    "values": { "bufferView": to },
                });
            }),
        ),
        ("interleaved", true, with(interleaved)),
        (
            "two scenes",
            false,
            with(|glb| {
                glb.json["scenes"] = json!([{ "nodes": [] }, { "nodes": [0] }]);
                glb.json["scene"] = json!(1);
            }),
        ),
        ("a scene that is not there", true, with(|glb| glb.json["scene"] = json!(7))),
        (
            "a node that is in the scene twice",
            false,
            with(|glb| {
                glb.json["scenes"][0]["nodes"] = json!([0, 0]);
            }),
        ),
        (
            "shown twice",
            true,
            with(|glb| {
                glb.node(json!({ "mesh": 0, "translation": [90, 0, 0] }));
            }),
        ),
        (
            "shown twice, once turned",
            true,
            with(|glb| {
                glb.node(json!({ "mesh": 0, "translation": [90, 0, 0], "rotation": TURN }));
            }),
        ),
        ("turned", true, with(transformed(json!({ "mesh": 0, "rotation": TURN })))),
        ("turned and cut", true, large),
        ("turned, mirrored, stretched and cut", true, mirrored_large),
        (
            "turned by a right angle",
            true,
            with(transformed(json!({
                "mesh": 0, "rotation": [0.707_106_77, 0, 0, 0.707_106_77],
            }))),
        ),
        ("mirrored", true, with(transformed(json!({ "mesh": 0, "scale": [-1, 1, 3] })))),
        ("mirrored thrice", true, with(transformed(json!({ "mesh": 0, "scale": [-1, -2, -1] })))),
        ("flat", true, with(transformed(json!({ "mesh": 0, "scale": [1, 1, 0] })))),
        (
            "sheared",
            true,
            with(|glb| {
                glb.json["nodes"] =
                    json!([{ "mesh": 0, "rotation": TURN }, { "children": [0], "scale": [1, 5, 1] }]);
                glb.json["scenes"][0]["nodes"] = json!([1]);
            }),
        ),
        (
            "a matrix with perspective",
            false,
            with(transformed(json!({
                "mesh": 0, "matrix": [1, 0, 0, 0.5, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1],
            }))),
        ),
        ("a rotation that is none", false, with(transformed(json!({ "mesh": 0, "rotation": [0, 0, 0, 0] })))),
        (
            "far away and back",
            true,
            with(|glb| {
                glb.json["nodes"] = json!([{ "mesh": 0, "translation": [12345678.9, 0, 0] },
                       { "children": [0], "translation": [-12345678.9, 0, 0] }]);
                glb.json["scenes"][0]["nodes"] = json!([1]);
            }),
        ),
        (
            "two turned primitives of one mesh",
            true,
            with(|glb| {
                let mut second = sheet(glb);
                let far: Vec<f32> =
                    (0..900).flat_map(|n| [300.0 + (n % 30) as f32, 400.0 + (n / 30) as f32, 5.0]).collect();
                second["attributes"]["POSITION"] = json!(glb.floats("VEC3", &far));
                glb.json["meshes"][0]["primitives"].as_array_mut().unwrap().push(second);
                glb.json["nodes"][0]["rotation"] = json!(TURN);
            }),
        ),
        ("vertices that no triangle uses", true, with(|glb| unused_vertices(glb, false))),
        (
            "vertices that no triangle uses, before the others",
            true,
            with(|glb| {
                unused_vertices(glb, true);
                let indices = glb.json["meshes"][0]["primitives"][0]["indices"].as_u64().unwrap() as usize;
                let view = glb.json["accessors"][indices]["bufferView"].as_u64().unwrap() as usize;
                let start = glb.json["bufferViews"][view]["byteOffset"].as_u64().unwrap() as usize;
                for at in (start..start + 29 * 29 * 6 * 4).step_by(4) {
                    let index = u32::from_le_bytes(glb.bin[at..at + 4].try_into().unwrap());
                    glb.bin[at..at + 4].copy_from_slice(&(index + 20).to_le_bytes());
                }
            }),
        ),
        (
            "unused vertices of a turned mesh",
            true,
            with(|glb| {
                unused_vertices(glb, false);
                glb.json["nodes"][0]["rotation"] = json!(TURN);
            }),
        ),
        (
            "a triangle more, of few of many vertices",
            true,
            with(|glb| {
                let mut second = glb.json["meshes"][0]["primitives"][0].clone();
                second["indices"] = json!(glb.indices(&[100, 101, 130]));
                glb.mesh(json!([second]));
                glb.json["nodes"][1]["translation"] = json!([70, 0, 0]);
            }),
        ),
        (
            "a texture",
            true,
            with(|glb| {
                coordinates(glb, "TEXCOORD_0", 0.01);
                texture(glb, json!({ "index": 0 }));
            }),
        ),
        (
            "a texture through the second coordinates, moved",
            true,
            with(|glb| {
                coordinates(glb, "TEXCOORD_0", 0.01);
                coordinates(glb, "TEXCOORD_1", 0.37);
                let moved = json!({ "offset": [0.5, 0.1], "rotation": 0.3, "scale": [2, 3] });
                texture(
                    glb,
                    json!({ "index": 0, "texCoord": 1, "extensions": { "KHR_texture_transform": moved } }),
                );
                glb.json["materials"][0]["emissiveTexture"] = json!({ "index": 0 });
            }),
        ),
        ("a texture without coordinates", true, with(|glb| texture(glb, json!({ "index": 0 })))),
        (
            "coordinates in 16 bits",
            false,
            with(|glb| {
                let accessor = glb.accessor(U16, "VEC2", 900, &[9; 3600]);
                glb.accessor_mut(accessor)["normalized"] = json!(true);
                attribute(glb, "TEXCOORD_0", accessor);
                texture(glb, json!({ "index": 0 }));
            }),
        ),
        (
            "no colours",
            true,
            with(|glb| {
                let attributes = &mut glb.json["meshes"][0]["primitives"][0]["attributes"];
                attributes.as_object_mut().unwrap().remove("COLOR_0");
            }),
        ),
        ("colours of three bytes", true, with(|glb| colors(glb, U8, "VEC3", true))),
        ("colours of 16 bits", true, with(|glb| colors(glb, U16, "VEC4", true))),
        ("colours of three times 16 bits", true, with(|glb| colors(glb, U16, "VEC3", true))),
        ("colours in floats", false, with(|glb| colors(glb, F32, "VEC4", false))),
        ("colours in old ChimeraX's way", false, with(|glb| colors(glb, I8, "VEC4", false))),
        ("colours that are not normalized", false, with(|glb| colors(glb, U8, "VEC4", false))),
        (
            "more colours",
            false,
            with(|glb| {
                let more = glb.accessor(U8, "VEC4", 900, &[4; 3600]);
                attribute(glb, "COLOR_1", more);
            }),
        ),
        (
            "tangents",
            true,
            with(|glb| {
                let tangents = glb.floats("VEC4", &[1.0, 0.0, 0.0, 1.0].repeat(900));
                attribute(glb, "TANGENT", tangents);
            }),
        ),
        ("a normal that is no number", false, with(|glb| first_normal(glb, f32::NAN))),
        ("a normal of no length", true, with(|glb| first_normal(glb, 0.0))),
        ("a normal beyond all lengths", false, with(|glb| first_normal(glb, 3e38))),
        ("a long normal", true, with(|glb| first_normal(glb, 1e6))),
        (
            "no normals",
            false,
            with(|glb| {
                let attributes = &mut glb.json["meshes"][0]["primitives"][0]["attributes"];
                attributes.as_object_mut().unwrap().remove("NORMAL");
            }),
        ),
        (
            "lines beside it",
            true,
            with(|glb| {
                let mut lines = glb.json["meshes"][0]["primitives"][0].clone();
                lines["mode"] = json!(1);
                glb.json["meshes"][0]["primitives"].as_array_mut().unwrap().push(lines);
            }),
        ),
        ("points alone", false, with(|glb| glb.json["meshes"][0]["primitives"][0]["mode"] = json!(0))),
        (
            "a strip beside it",
            true,
            with(|glb| {
                let mut strip = glb.json["meshes"][0]["primitives"][0].clone();
                strip["mode"] = json!(5);
                glb.mesh(json!([strip]));
                glb.json["nodes"][1]["translation"] = json!([0, 80, 0]);
            }),
        ),
        (
            "without indices beside it",
            true,
            with(|glb| {
                let mut soup = glb.json["meshes"][0]["primitives"][0].clone();
                soup.as_object_mut().unwrap().remove("indices");
                glb.mesh(json!([soup]));
                glb.json["nodes"][1]["translation"] = json!([0, 80, 0]);
            }),
        ),
        (
            "indices of 16 bits",
            true,
            with(|glb| {
                let indices: Vec<u8> =
                    (0..898u16).flat_map(|n| [n, n + 1, n + 2]).flat_map(u16::to_le_bytes).collect();
                let indices = glb.accessor(U16, "SCALAR", 898 * 3, &indices);
                glb.json["meshes"][0]["primitives"][0]["indices"] = json!(indices);
            }),
        ),
        (
            "indices in threes",
            false,
            with(|glb| {
                let indices: Vec<u8> =
                    (0..898u32).flat_map(|n| [n, n + 1, n + 2]).flat_map(u32::to_le_bytes).collect();
                let indices = glb.accessor(glb::U32, "VEC3", 898, &indices);
                glb.json["meshes"][0]["primitives"][0]["indices"] = json!(indices);
            }),
        ),
        (
            "a material that is not there",
            true,
            with(|glb| {
                glb.json["meshes"][0]["primitives"][0]["material"] = json!(9);
            }),
        ),
        (
            "numbers with a point",
            false,
            with(|glb| {
                glb.json["meshes"][0]["primitives"][0]["material"] = json!(1.0);
            }),
        ),
        (
            "transparent",
            true,
            with(|glb| {
                glb.json["meshes"][0]["primitives"][0]["material"] = json!(1);
                glb.node(json!({ "mesh": 0, "translation": [0, 0, 90] }));
            }),
        ),
        (
            "a buffer that says another length",
            true,
            with(|glb| {
                glb.json["buffers"] = json!([{ "byteLength": 5 }, ]);
            }),
        ),
        (
            "a view to the end of its buffer",
            false,
            with(|glb| {
                glb.json["bufferViews"][0].as_object_mut().unwrap().remove("byteLength");
            }),
        ),
        (
            "empty things beside it",
            true,
            with(|glb| {
                glb.node(json!({ "name": "nothing" }));
                glb.mesh(json!([]));
                glb.json["cameras"] = json!([{ "type": "perspective" }]);
            }),
        ),
        ("a skin that is not there", true, with(|glb| glb.json["nodes"][0]["skin"] = json!(3))),
    ]
}

#[test]
fn odd_files_are_the_same_in_parts_or_travel_exactly() {
    for (name, expected, glb) in odd_files() {
        let in_parts = check(name, &Bytes::from(glb.build()));
        assert_eq!(in_parts, Some(expected), "{name}");
    }
}

/// Both ways at once: what a host may do to a mesh that stands somewhere.
#[test]
fn every_placement_keeps_its_box() {
    for turn in [[0.0, 0.0, 0.0, 1.0], TURN, [0.5, 0.5, 0.5, 0.5]] {
        for scale in [[1.0, 1.0, 1.0], [-1.0, 2.0, 0.25], [1e-4, 1e-4, 1e-4]] {
            // What is small is near, or positions would be rounded at both ends by more
            // than its triangles are apart.
            let far = if scale[0] < 0.1 { 0.01 } else { 900.0 };
            let glb = with(|glb| {
                unused_vertices(glb, false);
                glb.json["nodes"][0] = json!({ "mesh": 0, "rotation": turn, "scale": scale, "translation": [far * 0.003, -far, far * 0.007] });
            });
            assert_eq!(check(&format!("{turn:?} {scale:?}"), &Bytes::from(glb.build())), Some(true));
        }
    }
}

/// A plan of a file costs what the file is worth, whatever its primitives share.
#[test]
fn shared_vertices_do_not_multiply() {
    let mut glb = Glb::new();
    let vertices = 600_000usize;
    let positions = glb.floats("VEC3", &vec![1.0; vertices * 3]);
    let normals = glb.floats("VEC3", &[0.0, 0.0, 1.0].repeat(vertices));
    let indices = glb.indices(&[0, 1, vertices as u32 - 1]);
    let primitive = json!({ "attributes": { "POSITION": positions, "NORMAL": normals }, "indices": indices });
    glb.mesh(json!(vec![primitive; 2000]));
    let file = Bytes::from(glb.build());
    assert!(Plan::new(&file).is_err());
}

/// A small mesh far away would be rounded to a few places in the model's own space.
#[test]
fn what_is_small_and_far_away_keeps_its_space() {
    for (scale, own) in [(1.0, false), (1e-4, true)] {
        let glb = with(|glb| {
            glb.json["nodes"][0] =
                json!({ "mesh": 0, "scale": [scale, scale, scale], "translation": [3, -900, 7] });
        });
        let plan = Plan::new(&Bytes::from(glb.build())).unwrap();
        let chunk = plan.encode(1, Encoding::Fast, NORMAL_BITS).unwrap();
        let mesh::Decoded::Part(part) = mesh::decode(&chunk.bytes).unwrap() else { panic!("a part") };
        assert_eq!(part.mesh.is_some(), own, "{scale}");
    }
}
