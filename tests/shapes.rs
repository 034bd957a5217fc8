//! What changes shape or place, and what extensions add: small files made here.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/glb.rs"]
mod glb;

use convene::model::{Cancel, DecodeError, DecodedModel, LightKind, Limits, decode};
use glam::{Affine3A, Vec3};
use glb::{F32, Glb, U8, U16};
use serde_json::json;

fn read(glb: &Glb) -> Result<DecodedModel, DecodeError> {
    decode(&glb.build(), &Limits::default(), &Cancel::default())
}

const TRIANGLE: [f32; 9] = [0., 0., 0., 1., 0., 0., 0., 1., 0.];

/// A triangle whose one morph target lifts its second corner by 2.
fn morphing() -> Glb {
    let mut glb = Glb::new();
    let positions = glb.floats("VEC3", &TRIANGLE);
    let deltas = glb.floats("VEC3", &[0., 0., 0., 0., 0., 2., 0., 0., 0.]);
    glb.mesh(json!([{ "attributes": { "POSITION": positions }, "targets": [{ "POSITION": deltas }] }]));
    glb.json["meshes"][0]["weights"] = json!([0.5]);
    glb
}

/// An animation of node 0: `path` goes from the first to the second value within 2 s.
fn animate(glb: &mut Glb, path: &str, kind: &str, values: &[f32]) {
    let times = glb.floats("SCALAR", &[0.0, 2.0]);
    let values = glb.floats(kind, values);
    glb.json["animations"] = json!([{ "name": "there", "samplers": [{ "input": times, "output": values }],
        "channels": [{ "sampler": 0, "target": { "node": 0, "path": path } }] }]);
}

#[test]
fn morph_targets_rest_at_their_weights() {
    let mut glb = morphing();
    let model = read(&glb).unwrap();
    assert_eq!(model.primitives[0].positions[1], [1.0, 0.0, 1.0]);
    assert_eq!(model.bounds.max.z, 1.0);
    assert!(model.motion.is_none() && model.warnings.is_empty(), "{:?}", model.warnings);
    // A node's own weights come before its mesh's, and each node has its own shape.
    glb.node(json!({ "mesh": 0, "weights": [1.0] }));
    let model = read(&glb).unwrap();
    assert_eq!(model.primitives.len(), 2);
    assert_eq!(model.primitives[1].positions[1], [1.0, 0.0, 2.0]);
}

#[test]
fn weights_play() {
    let mut glb = morphing();
    animate(&mut glb, "weights", "SCALAR", &[0.0, 1.0]);
    let model = read(&glb).unwrap();
    let motion = model.motion.unwrap();
    assert_eq!((motion.clips[0].name.as_str(), motion.clips[0].duration_secs), ("there", 2.0));
    let shape = motion.rigs[0].shape(&motion.pose(0, 1.5));
    assert_eq!(shape.positions[1], [1.0, 0.0, 1.5]);
    assert!(model.instances[0].node.is_none(), "only its shape changes");
}

#[test]
fn nodes_play() {
    let mut glb = Glb::quad();
    glb.node(json!({ "mesh": 0, "translation": [5, 0, 0] }));
    animate(&mut glb, "translation", "VEC3", &[0., 0., 0., 0., 8., 0.]);
    let model = read(&glb).unwrap();
    let motion = model.motion.as_ref().unwrap();
    assert_eq!((model.instances[0].node, model.instances[1].node), (Some(0), None));
    let (rest, pose) = (motion.rest(), motion.pose(0, 1.0));
    let moved = motion.moved(&rest, &pose, 0, model.instances[0].transform);
    assert_eq!(Vec3::from(moved.translation), Vec3::new(0.0, 4.0, 0.0));
    // What moves is a piece of its own, which says so.
    let pieces = convene::model::split::split(&model, 1 << 20);
    assert_eq!(pieces.iter().map(|piece| piece.node).collect::<Vec<_>>(), [Some(0), None]);
}

#[test]
fn a_broken_animation_costs_only_itself() {
    let mut glb = Glb::quad();
    animate(&mut glb, "translation", "VEC3", &[0., 0., 0., 0., f32::NAN, 0.]);
    let model = read(&glb).unwrap();
    assert!(model.motion.is_none());
    assert_eq!(model.warnings, ["animation 0: its keys do not fit together"]);
    glb.json["animations"] = json!(3);
    let warning = &read(&glb).unwrap().warnings[0];
    assert!(warning.starts_with("animations and skins cannot be read"), "{warning}");
}

#[test]
fn skins_rest_where_their_joints_are() {
    let mut glb = Glb::new();
    let positions = glb.floats("VEC3", &TRIANGLE);
    let joints = glb.accessor(U8, "VEC4", 3, &[0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0]);
    let weights = glb.accessor(U8, "VEC4", 3, &[255, 0, 0, 0, 255, 0, 0, 0, 51, 204, 0, 0]);
    glb.accessor_mut(weights)["normalized"] = json!(true);
    let identity = Affine3A::IDENTITY;
    let shifted = Affine3A::from_translation(Vec3::X);
    let bind: Vec<f32> =
        [identity, shifted].iter().flat_map(|m| glam::Mat4::from(*m).to_cols_array()).collect();
    let bytes: Vec<u8> = bind.iter().flat_map(|v| v.to_le_bytes()).collect();
    let bind = glb.accessor(F32, "MAT4", 2, &bytes);
    glb.mesh(json!([{ "attributes": { "POSITION": positions, "JOINTS_0": joints, "WEIGHTS_0": weights } }]));
    glb.node(json!({ "translation": [0, 0, 3] }));
    glb.node(json!({ "translation": [0, 5, 0] }));
    // Where its own node is does not matter.
    glb.json["nodes"][0]["translation"] = json!([100, 0, 0]);
    glb.json["nodes"][0]["skin"] = json!(0);
    glb.json["skins"] = json!([{ "joints": [1, 2], "inverseBindMatrices": bind }]);
    let model = read(&glb).unwrap();
    assert_eq!(model.instances[0].transform, Affine3A::IDENTITY);
    let expected = [[0.0, 0.0, 3.0], [2.0, 5.0, 0.0], [0.8, 5.0, 0.6]];
    for (found, expected) in model.primitives[0].positions.iter().zip(expected) {
        assert!(Vec3::from(*found).abs_diff_eq(Vec3::from(expected), 1e-5), "{found:?} {expected:?}");
    }
    assert!(model.warnings.is_empty(), "{:?}", model.warnings);
    // Without usable joints the mesh stands as it is.
    glb.json["skins"][0]["joints"] = json!([1, 77]);
    let model = read(&glb).unwrap();
    assert_eq!(model.primitives[0].positions[1], [1.0, 0.0, 0.0]);
    assert_eq!(model.instances[0].transform.translation.x, 100.0);
    assert_eq!(model.warnings, ["skin 0 is not shown: its joints are not nodes of the scene"]);
}

#[test]
fn instances_are_placed_by_their_attributes() {
    let mut glb = Glb::quad();
    let places = glb.floats("VEC3", &[0., 0., 1., 0., 0., 2.]);
    let sizes = glb.floats("VEC3", &[1., 1., 1., 2., 2., 2.]);
    glb.json["nodes"][0]["translation"] = json!([10, 0, 0]);
    glb.json["nodes"][0]["extensions"] =
        json!({ "EXT_mesh_gpu_instancing": { "attributes": { "TRANSLATION": places, "SCALE": sizes } } });
    glb.json["extensionsRequired"] = json!(["EXT_mesh_gpu_instancing"]);
    let model = read(&glb).unwrap();
    let corner = |i: usize| model.instances[i].transform.transform_point3(Vec3::new(1.0, 1.0, 0.0));
    assert_eq!((corner(0), corner(1)), (Vec3::new(11.0, 1.0, 1.0), Vec3::new(12.0, 2.0, 2.0)));
    assert_eq!(model.counts.triangles, 4);
    glb.accessor_mut(sizes)["count"] = json!(1);
    let model = read(&glb).unwrap();
    assert_eq!(model.instances.len(), 1);
    assert!(model.warnings[0].contains("one is shown"), "{:?}", model.warnings);
    // More than allowed are refused by number, before there are that many.
    glb.json["accessors"][places] = json!({ "componentType": F32, "type": "VEC3", "count": u64::MAX });
    glb.json["accessors"][sizes] = json!({ "componentType": F32, "type": "VEC3", "count": u64::MAX });
    assert!(read(&glb).unwrap_err().to_string().contains("instances, more than the limit of 200000"));
}

#[test]
fn two_sets_of_coordinates() {
    let mut webp = Vec::new();
    image_webp::WebPEncoder::new(&mut webp).encode(&[0; 4], 1, 1, image_webp::ColorType::Rgba8).unwrap();
    let mut glb = Glb::new();
    let view = glb.view(&webp);
    let positions = glb.floats("VEC3", &TRIANGLE);
    let first = glb.floats("VEC2", &[0.25; 6]);
    let second = glb.accessor(U16, "VEC2", 3, &[255, 255, 0, 0].repeat(3));
    glb.accessor_mut(second)["normalized"] = json!(true);
    glb.json["images"] = json!([{ "bufferView": view }]);
    glb.json["textures"] = json!([{ "extensions": { "EXT_texture_webp": { "source": 0 } } }]);
    glb.json["materials"] = json!([{ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0,
        "extensions": { "KHR_texture_transform": { "scale": [2, 4], "offset": [1, 0] } } } },
        "occlusionTexture": { "index": 0, "texCoord": 1 } }]);
    let attributes = json!({ "POSITION": positions, "TEXCOORD_0": first, "TEXCOORD_1": second });
    glb.mesh(json!([{ "attributes": attributes, "material": 0 }]));
    let model = read(&glb).unwrap();
    assert_eq!(model.primitives[0].uvs, Some(vec![[1.5, 1.0]; 3].into()));
    assert_eq!(model.primitives[0].uvs_1, Some(vec![[1.0, 0.0]; 3].into()));
    let material = &model.materials[0];
    assert_eq!(material.base_color_texture.unwrap().uv_set, 0);
    assert_eq!(material.occlusion_texture.unwrap().uv_set, 1);
    assert!(model.warnings.is_empty(), "{:?}", model.warnings);
}

#[test]
fn lights_stand_where_their_nodes_do() {
    let mut glb = Glb::quad();
    glb.json["extensions"] =
        json!({ "KHR_lights_punctual": { "lights": [{ "type": "point", "color": [1, 0, 0] }] } });
    glb.node(json!({ "translation": [1, 2, 3], "extensions": { "KHR_lights_punctual": { "light": 0 } } }));
    let model = read(&glb).unwrap();
    assert_eq!((model.lights[0].kind, model.lights[0].color), (LightKind::Point, [1.0, 0.0, 0.0]));
    assert_eq!(Vec3::from(model.lights[0].transform.translation), Vec3::new(1.0, 2.0, 3.0));
}

#[test]
fn what_unpacks_to_more_than_the_limit_is_named() {
    let mut glb = Glb::quad();
    let count = 1u64 << 28;
    glb.json["bufferViews"][0]["extensions"] = json!({ "EXT_meshopt_compression":
        { "buffer": 0, "byteLength": 36, "byteStride": 12, "mode": "ATTRIBUTES", "count": count } });
    // Its plain copy is there all the same.
    assert!(read(&glb).is_ok());
    glb.json["bufferViews"][0]["byteOffset"] = json!(1 << 30);
    let error = read(&glb).unwrap_err().to_string();
    let expected =
        "buffer view 0 unpacks to 3221225472 bytes: with those before it more than the limit of 1073741824";
    assert!(error.contains(expected), "{error}");
    glb.json["bufferViews"][0]["extensions"]["EXT_meshopt_compression"]["count"] = json!(3);
    let error = read(&glb).unwrap_err().to_string();
    assert!(error.contains("buffer view 0: its compressed data has an unknown header"), "{error}");
}

#[test]
fn damaged_draco_falls_back_or_is_named() {
    let mut glb = Glb::quad();
    let view = glb.view(b"DRACO not really");
    glb.json["meshes"][0]["primitives"][0]["extensions"] = json!({ "KHR_draco_mesh_compression":
        { "bufferView": view, "attributes": { "POSITION": 0 } } });
    let model = read(&glb).unwrap();
    assert_eq!(model.counts.triangles, 2);
    assert!(model.warnings[0].contains("plain copy"), "{:?}", model.warnings);
    glb.json["accessors"][0].as_object_mut().unwrap().remove("bufferView");
    assert!(read(&glb).unwrap_err().to_string().contains("its Draco data cannot be read"));
}
