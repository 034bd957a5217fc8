//! Files that lie, are broken or are far too much: a named error, or a warning and
//! the rest; in bounded time, and never a panic.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/glb.rs"]
mod glb;

use std::time::{Duration, Instant};

use convene::model::{
    Cancel, DecodeError, DecodedModel, Limits, bvh::Bvh, decode, parts::parts, simplify::simplify,
};
use glb::{F32, Glb};
use serde_json::{Value, json};

/// Without optimisation, on a busy machine.
const LONG: Duration = Duration::from_secs(30);

fn read(glb: &Glb) -> Result<DecodedModel, DecodeError> {
    let start = Instant::now();
    let result = decode(&glb.build(), &Limits::default(), &Cancel::default());
    assert!(start.elapsed() < LONG, "{:?}", start.elapsed());
    result
}

/// What is shown goes through all that follows decoding.
fn shown(glb: &Glb) -> DecodedModel {
    let mut model = read(glb).unwrap();
    let bounds = model.bounds;
    assert!(bounds.is_finite() && model.unit_scale().is_finite());
    let hit = Bvh::build(&model).raycast(glam::Vec3::new(0.3, 0.2, 9.0), glam::Vec3::NEG_Z, f32::INFINITY);
    assert!(hit.is_none_or(|hit| hit.point.is_finite()));
    simplify(&mut model, 1, &Cancel::default());
    let kept = model.clone();
    for part in parts(&mut model, 1000) {
        assert!(part.mesh.bounds.is_finite() && part.mesh.scale.is_finite() && part.mesh.scale > 0.0);
        assert!(part.places.iter().all(|place| part.transform(place).translation.is_finite()));
    }
    kept
}

#[test]
fn a_million_nodes_are_refused_by_number() {
    let text = format!(
        "{{\"asset\":{{\"version\":\"2.0\"}},\"nodes\":[{}{{}}]}}",
        "{\"mesh\":0},".repeat(1_000_000)
    );
    let start = Instant::now();
    let error = decode(text.as_bytes(), &Limits::default(), &Cancel::default()).unwrap_err().to_string();
    assert_eq!(error, "the model has 1000001 nodes, more than the limit of 100000");
    assert!(start.elapsed() < LONG);
    let text = text.replace("{\"mesh\":0},", "{},{},");
    let error = decode(text.as_bytes(), &Limits::default(), &Cancel::default()).unwrap_err().to_string();
    assert_eq!(error, "the model has 2000003 JSON objects, more than the limit of 1048576");
}

#[test]
fn nodes_in_a_ring_are_shown_once() {
    let mut glb = Glb::quad();
    glb.json["nodes"][0]["children"] = json!([1]);
    glb.node(json!({ "mesh": 0, "children": [0, 1, 99], "translation": [5, 0, 0] }));
    // Also where the ring is animated.
    let times = glb.floats("SCALAR", &[0.0, 1.0]);
    let values = glb.floats("VEC3", &[0.0; 6]);
    glb.json["animations"] = json!([{ "samplers": [{ "input": times, "output": values }],
        "channels": [{ "sampler": 0, "target": { "node": 1, "path": "translation" } }] }]);
    let model = shown(&glb);
    assert_eq!(model.instances.len(), 2);
    assert!(model.warnings.iter().any(|warning| warning.contains("in a loop")), "{:?}", model.warnings);
    assert!(model.warnings.iter().any(|warning| warning.contains("node 99 does not exist")));
}

#[test]
fn a_chain_of_nodes_is_cut_by_number() {
    let mut glb = Glb::quad();
    glb.json["nodes"] = (1..=1000).map(|child| json!({ "children": [child] })).collect::<Value>();
    glb.json["nodes"].as_array_mut().unwrap().push(json!({ "mesh": 0 }));
    let error = read(&glb).unwrap_err().to_string();
    assert_eq!(error, "the model has 257 levels of nodes, more than the limit of 256");
}

#[test]
fn numbers_that_are_none() {
    for odd in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut glb = Glb::quad();
        let positions = glb.floats("VEC3", &[0., 0., 0., 1., 0., 0., 0., 1., 0.]);
        let normals = glb.floats("VEC3", &[0., 0., odd, 0., 0., 1., 0., 0., 1.]);
        let colors = glb.floats("VEC4", &[odd; 12]);
        glb.mesh(json!([{ "attributes": { "POSITION": positions, "NORMAL": normals, "COLOR_0": colors } }]));
        let model = shown(&glb);
        assert_eq!(model.primitives.len(), 2);
        assert!(model.primitives[1].normals.as_ref().unwrap().iter().all(|n| n[2] == 1.0));
        assert_eq!(model.warnings.len(), 2, "{:?}", model.warnings);
        // JSON has no such numbers, but ones beyond all floats.
        glb.json["nodes"][1]["translation"] = json!([1e300, 0.0, 0.0]);
        assert!(!read(&glb).is_ok_and(|model| model.instances.len() > 1));
    }
}

#[test]
fn sizes_that_are_none() {
    for positions in [[0.0f32; 9], [3.0; 9], [1e30; 9], [1e-40; 9]] {
        let mut glb = Glb::new();
        let positions = glb.floats("VEC3", &positions);
        glb.mesh(json!([{ "attributes": { "POSITION": positions } }]));
        let model = shown(&glb);
        assert!(model.unit_scale() > 0.0);
    }
    let mut glb = Glb::quad();
    glb.json["nodes"][0]["scale"] = json!([0, 0, 0]);
    assert_eq!(shown(&glb).unit_scale(), 1.0);
    glb.json["nodes"][0]["scale"] = json!([1e-30, 1e30, 0]);
    shown(&glb);
}

#[test]
fn empty_meshes_are_named() {
    let mut glb = Glb::new();
    glb.mesh(json!([]));
    assert_eq!(read(&glb).unwrap_err().to_string(), "nothing to show: mesh 0 is empty");
    let positions = glb.floats("VEC3", &[]);
    glb.mesh(json!([{ "attributes": { "POSITION": positions } }]));
    glb.json["scenes"][0]["nodes"] = json!([1]);
    assert!(read(&glb).unwrap_err().to_string().contains("accessor 0 has no elements"));
}

#[test]
fn truncated_images_cost_only_themselves() {
    let mut png = std::io::Cursor::new(Vec::new());
    let image = image::RgbaImage::from_fn(64, 64, |x, y| image::Rgba([x as u8, y as u8, (x * y) as u8, 255]));
    image.write_to(&mut png, image::ImageFormat::Png).unwrap();
    let mut webp = Vec::new();
    image_webp::WebPEncoder::new(&mut webp).encode(&image, 64, 64, image_webp::ColorType::Rgba8).unwrap();
    for bytes in [png.into_inner(), webp] {
        for end in [0, 1, 8, 20, bytes.len() / 2, bytes.len() - 20] {
            let mut glb = Glb::quad();
            let view = glb.view(&bytes[..end]);
            glb.json["images"] = json!([{ "bufferView": view }]);
            glb.json["textures"] = json!([{ "source": 0 }]);
            glb.json["materials"] = json!([{ "emissiveTexture": { "index": 0 } }]);
            glb.json["meshes"][0]["primitives"][0]["material"] = json!(0);
            let model = shown(&glb);
            assert!(
                model.warnings.iter().any(|warning| warning.starts_with("image 0")),
                "{:?}",
                model.warnings
            );
        }
    }
}

#[test]
fn what_costs_a_file_nothing_is_counted_all_the_same() {
    // Morph targets without bytes, of a mesh with as many vertices as are allowed for one.
    let mut glb = Glb::new();
    glb.json["accessors"] = json!([{ "componentType": F32, "type": "VEC3", "count": 3_000_000 }]);
    let targets = vec![json!({ "POSITION": 0 }); 1000];
    glb.mesh(json!([{ "attributes": { "POSITION": 0 }, "targets": targets }]));
    assert!(read(&glb).unwrap_err().to_string().contains("vertices, more than the limit of 12000000"));
    // The same mesh bent for each of many nodes.
    glb.json["accessors"][0]["count"] = json!(3_000);
    glb.json["meshes"][0]["primitives"][0]["targets"] = json!([{ "POSITION": 0 }]);
    for _ in 0..50 {
        glb.node(json!({ "mesh": 0, "weights": [1.0] }));
    }
    let limits = Limits { max_vertices: 100_000, ..Limits::default() };
    let error = decode(&glb.build(), &limits, &Cancel::default()).unwrap_err().to_string();
    assert!(error.contains("vertices, more than the limit of 100000"), "{error}");
    // Keys of an animation.
    let mut glb = Glb::quad();
    glb.json["accessors"].as_array_mut().unwrap().push(json!(
        { "componentType": F32, "type": "SCALAR", "count": 1u64 << 40 }));
    let last = glb.json["accessors"].as_array().unwrap().len() - 1;
    glb.json["animations"] = json!([{ "samplers": [{ "input": last, "output": last }],
        "channels": [{ "sampler": 0, "target": { "node": 0, "path": "weights" } }] }]);
    let model = shown(&glb);
    assert_eq!(model.warnings, ["animation 0: all animations have more than the limit of 16777216 numbers"]);
}

#[test]
fn a_shape_beyond_all_numbers_is_left_out() {
    let mut glb = Glb::quad();
    let positions = glb.floats("VEC3", &[0., 0., 0., 1., 0., 0., 0., 1., 0.]);
    // Two targets that are finite, and infinitely far apart once weighed.
    let up = glb.floats("VEC3", &[0., 0., 0., 3e38, 0., 0., 0., 0., 0.]);
    let down = glb.floats("VEC3", &[0., 0., 0., -3e38, 0., 0., 0., 0., 0.]);
    let targets = json!([{ "POSITION": up }, { "POSITION": down }]);
    glb.mesh(json!([{ "attributes": { "POSITION": positions }, "targets": targets }]));
    glb.json["meshes"][1]["weights"] = json!([1e10, 1e10]);
    let model = shown(&glb);
    assert_eq!(model.instances.len(), 1);
    assert!(model.warnings[0].contains("bent beyond the range of numbers"), "{:?}", model.warnings);
}

#[test]
fn a_limit_on_time_is_kept() {
    let limits = Limits { max_time: Duration::ZERO, ..Limits::default() };
    let error = decode(&Glb::quad().build(), &limits, &Cancel::default()).unwrap_err();
    assert!(matches!(error, DecodeError::TooSlow { .. }), "{error}");
}

/// A triangle with a morph target, and an animation that keeps it.
fn morphing(targets: Value) -> Glb {
    let mut glb = Glb::new();
    let positions = glb.floats("VEC3", &[0., 0., 0., 1., 0., 0., 0., 1., 0.]);
    glb.mesh(json!([{ "attributes": { "POSITION": positions }, "targets": targets }]));
    let (times, values) = (glb.floats("SCALAR", &[0.0, 1.0]), glb.floats("VEC3", &[0.0; 6]));
    glb.json["animations"] = json!([{ "samplers": [{ "input": times, "output": values }],
        "channels": [{ "sampler": 0, "target": { "node": 0, "path": "translation" } }] }]);
    glb
}

#[test]
fn weights_are_not_multiplied_by_nodes() {
    // 2,000 weights at 20,000 nodes: 160 MB of numbers out of a file of less than one.
    let mut glb = morphing(json!(vec![json!({}); 2000]));
    glb.json["meshes"][0]["weights"] = json!(vec![1; 2000]);
    glb.json["nodes"] = json!(vec![json!({ "mesh": 0 }); 20_000]);
    glb.json["scenes"][0]["nodes"] = json!([0]);
    let model = shown(&glb);
    assert!(model.warnings.iter().any(|warning| warning.contains("the limit of 1048576 weights")));
    // And those of no target are of no use.
    let mut glb = morphing(json!([{}]));
    glb.json["meshes"][0]["weights"] = json!(vec![1; 2_000_000]);
    assert!(shown(&glb).warnings.is_empty());
}

#[test]
fn targets_count_for_every_node_that_has_them() {
    let mut glb = morphing(json!(vec![json!({}); 2000]));
    glb.json["nodes"] = json!(vec![json!({ "mesh": 0 }); 10_000]);
    glb.json["scenes"][0]["nodes"] = (0..10_000).collect::<Value>();
    let error = read(&glb).unwrap_err().to_string();
    assert!(error.ends_with("vertices, more than the limit of 12000000"), "{error}");
}

#[test]
fn instances_beyond_all_numbers_are_counted_too() {
    let mut glb = Glb::new();
    let positions = glb.floats("VEC3", &[0., 0., 0., 1., 0., 0., 0., 1., 0.]);
    glb.mesh(json!(vec![json!({ "attributes": { "POSITION": positions } }); 2000]));
    let scales = glb.floats("VEC3", &[3e38; 3 * 2000]);
    glb.json["nodes"][0]["extensions"] =
        json!({ "EXT_mesh_gpu_instancing": { "attributes": { "SCALE": scales } } });
    glb.json["nodes"][0]["scale"] = json!([3e38, 3e38, 3e38]);
    let error = read(&glb).unwrap_err().to_string();
    assert_eq!(error, "the model has 200001 instances, more than the limit of 200000");
}
