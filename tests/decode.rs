//! What the decoder makes of small files, odd ones above all.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/glb.rs"]
mod glb;

use bytes::Bytes;
use convene::model::{Cancel, Colors, DecodeError, DecodedModel, Limits, Topology, decode, decode_shared};
use glb::{F32, Glb, I8, I16, U8, U16};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::{Value, json};

fn read(glb: &Glb) -> Result<DecodedModel, DecodeError> {
    decode(&glb.build(), &Limits::default(), &Cancel::default())
}

fn error(glb: &Glb) -> String {
    read(glb).unwrap_err().to_string()
}

/// A triangle of the given positions and other attributes.
fn triangle(glb: &mut Glb, attributes: Value) {
    let positions = glb.floats("VEC3", &[0., 0., 0., 1., 0., 0., 0., 1., 0.]);
    let mut all = json!({ "POSITION": positions });
    all.as_object_mut().unwrap().extend(attributes.as_object().unwrap().clone());
    glb.mesh(json!([{ "attributes": all }]));
}

#[test]
fn a_plain_file_in_chimerax_layout() {
    let model = read(&Glb::quad()).unwrap();
    let primitive = &model.primitives[0];
    assert_eq!(primitive.positions[2], [1.0, 1.0, 0.0]);
    assert_eq!(primitive.indices, [0, 1, 2, 0, 2, 3]);
    assert_eq!(primitive.normals.as_ref().unwrap()[3], [0.0, 0.0, 1.0]);
    let Some(Colors::U8(colors)) = &primitive.colors else { panic!() };
    assert_eq!(colors[3], [1, 2, 3, 4]);
    assert!(model.warnings.is_empty(), "{:?}", model.warnings);
    assert_eq!((model.counts.triangles, model.counts.vertices, model.counts.meshes), (2, 4, 1));
    assert_eq!(model.unit_scale(), 1.0);
}

#[test]
fn old_chimerax_files_are_repaired() {
    // No list of buffers, indices as VEC3, colours as signed bytes that are not normalized.
    let mut glb = Glb::new();
    let positions = glb.floats("VEC3", &[0., 0., 0., 1., 0., 0., 0., 1., 0.]);
    let colors = glb.accessor(I8, "VEC4", 3, &[255, 128, 0, 255, 255, 128, 0, 255, 255, 128, 0, 255]);
    let indices = glb.indices(&[0, 1, 2, 2, 1, 0]);
    *glb.accessor_mut(indices) = {
        let mut accessor = glb.accessor_mut(indices).clone();
        accessor["type"] = json!("VEC3");
        accessor["count"] = json!(2);
        accessor
    };
    glb.mesh(json!([{ "attributes": { "POSITION": positions, "COLOR_0": colors }, "indices": indices }]));
    glb.json.as_object_mut().unwrap().remove("buffers");
    let model = read(&glb).unwrap();
    assert_eq!(model.primitives[0].indices, [0, 1, 2, 2, 1, 0]);
    assert_eq!(model.primitives[0].colors, Some(Colors::U8(vec![[255, 128, 0, 255]; 3].into())));
    assert_eq!(model.warnings.len(), 2, "{:?}", model.warnings);
}

#[test]
fn colours_of_every_kind() {
    let mut glb = Glb::new();
    let bytes = glb.accessor(U8, "VEC3", 3, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
    glb.accessor_mut(bytes)["normalized"] = json!(true);
    let words = glb.accessor(U16, "VEC4", 3, &[0, 0, 255, 255, 0, 128, 1, 0].repeat(3));
    glb.accessor_mut(words)["normalized"] = json!(true);
    let floats = glb.floats("VEC3", &[0.5; 9]);
    for colors in [bytes, words, floats] {
        triangle(&mut glb, json!({ "COLOR_0": colors }));
    }
    let model = read(&glb).unwrap();
    let colors: Vec<_> = model.primitives.iter().map(|primitive| primitive.colors.clone().unwrap()).collect();
    assert_eq!(colors[0], Colors::U8(vec![[1, 2, 3, 255], [4, 5, 6, 255], [7, 8, 9, 255]].into()));
    assert_eq!(colors[1], Colors::U16(vec![[0, 65535, 32768, 1]; 3].into()));
    assert_eq!(colors[2], Colors::F32(vec![[0.5, 0.5, 0.5, 1.0]; 3].into()));
    assert!(model.warnings.is_empty(), "{:?}", model.warnings);
}

#[test]
fn quantized_and_interleaved() {
    let mut glb = Glb::new();
    // Position as i16 with 2 bytes of padding, then a normalized i8 normal with 1 byte of padding.
    let mut bytes = Vec::new();
    for [x, y] in [[0i16, 0], [300, 0], [0, -300]] {
        bytes.extend([x, y, 7, 0].map(i16::to_le_bytes).as_flattened());
        bytes.extend([0, 0, 127, 0]);
    }
    let positions = glb.accessor(I16, "VEC3", 3, &bytes);
    let view = glb.json["accessors"][positions]["bufferView"].clone();
    glb.json["bufferViews"][0]["byteStride"] = json!(12);
    let normals = glb.json["accessors"].as_array().unwrap().len();
    glb.json["accessors"].as_array_mut().unwrap().push(json!({
        "bufferView": view, "byteOffset": 8, "componentType": I8, "normalized": true, "type": "VEC3", "count": 3,
    }));
    glb.json["extensionsRequired"] = json!(["KHR_mesh_quantization"]);
    glb.mesh(json!([{ "attributes": { "POSITION": positions, "NORMAL": normals } }]));
    let model = read(&glb).unwrap();
    assert_eq!(model.primitives[0].positions, [[0., 0., 7.], [300., 0., 7.], [0., -300., 7.]]);
    assert_eq!(model.primitives[0].normals, Some(vec![[0., 0., 1.]; 3].into()));
    assert!(model.warnings.is_empty(), "{:?}", model.warnings);
    glb.json["bufferViews"][0]["byteStride"] = json!(4);
    assert!(error(&glb).contains("stride of 4 bytes for elements of 6"));
}

#[test]
fn sparse_and_absent_buffers() {
    let mut glb = Glb::new();
    let places = glb.view(&[1, 2]);
    let values: Vec<u8> = [1f32, 0., 0., 0., 1., 0.].iter().flat_map(|value| value.to_le_bytes()).collect();
    let values = glb.view(&values);
    glb.json["accessors"].as_array_mut().unwrap().push(json!({
        "componentType": F32, "type": "VEC3", "count": 3,
        "sparse": { "count": 2, "indices": { "bufferView": places, "componentType": U8 }, "values": { "bufferView": values } },
    }));
    glb.mesh(json!([{ "attributes": { "POSITION": 0 } }]));
    assert_eq!(read(&glb).unwrap().primitives[0].positions, [[0., 0., 0.], [1., 0., 0.], [0., 1., 0.]]);
    glb.bin[0] = 3;
    assert!(error(&glb).contains("accessor 0 replaces elements that it does not have"));
}

#[test]
fn every_mode_is_shown() {
    let mut glb = Glb::new();
    let positions = glb.floats("VEC3", &[0., 0., 0., 1., 0., 0., 1., 1., 0., 0., 1., 0.]);
    for mode in 0..=6 {
        glb.mesh(json!([{ "attributes": { "POSITION": positions }, "mode": mode }]));
    }
    glb.mesh(json!([{ "attributes": { "POSITION": positions }, "mode": 7 }]));
    let model = read(&glb).unwrap();
    let shapes: Vec<_> = model.primitives.iter().map(|p| (p.topology, p.elements())).collect();
    use Topology::{Lines, Points, Triangles};
    let expected =
        [(Points, 4), (Lines, 2), (Lines, 4), (Lines, 3), (Triangles, 1), (Triangles, 2), (Triangles, 2)];
    assert_eq!(shapes, expected);
    assert!(model.warnings.iter().any(|warning| warning.ends_with("mode 7 is unknown")));
}

#[test]
fn missing_normals_are_computed_without_more_vertices() {
    let mut glb = Glb::new();
    let mut primitive = glb.quad_primitive();
    primitive["attributes"].as_object_mut().unwrap().remove("NORMAL");
    glb.mesh(json!([primitive]));
    let model = read(&glb).unwrap();
    assert_eq!(model.primitives[0].normals, Some(vec![[0., 0., 1.]; 4].into()));
    assert_eq!(model.primitives[0].positions.len(), 4);
}

#[test]
fn a_broken_primitive_costs_only_itself() {
    let faults: [(&str, fn(&mut Glb) -> Value); 5] = [
        ("index 9 is beyond its 3 vertices", |glb| {
            let indices = glb.indices(&[0, 1, 9]);
            json!({ "indices": indices })
        }),
        ("a position is not a finite number", |glb| {
            let positions = glb.floats("VEC3", &[0., f32::NAN, 0., 1., 0., 0., 0., 1., 0.]);
            json!({ "attributes": { "POSITION": positions } })
        }),
        ("normals: 1 elements for 3 positions", |glb| {
            let normals = glb.floats("VEC3", &[0., 0., 1.]);
            json!({ "attributes": { "POSITION": 0, "NORMAL": normals } })
        }),
        ("needs 36000 bytes, but only 36 are there", |glb| {
            let positions = glb.floats("VEC3", &[0.; 9]);
            glb.accessor_mut(positions)["count"] = json!(3000);
            json!({ "attributes": { "POSITION": positions } })
        }),
        ("accessor 77 does not exist", |_| json!({ "indices": 77 })),
    ];
    for (fault, make) in faults {
        let mut glb = Glb::new();
        triangle(&mut glb, json!({}));
        let mut broken = json!({ "attributes": { "POSITION": 0 } });
        broken.as_object_mut().unwrap().extend(make(&mut glb).as_object().unwrap().clone());
        glb.mesh(json!([broken]));
        let model = read(&glb).unwrap();
        assert_eq!(model.primitives.len(), 1);
        let [warning] = &model.warnings[..] else { panic!("{:?}", model.warnings) };
        assert!(
            warning.starts_with("mesh 1, primitive 0 is left out") && warning.contains(fault),
            "{warning}"
        );
        // Alone it leaves nothing, and the error says why.
        glb.json["scenes"][0]["nodes"] = json!([1]);
        assert!(error(&glb).starts_with("nothing to show: mesh 1") && error(&glb).contains(fault));
    }
}

#[test]
fn primitives_that_share_vertices_read_their_part() {
    let mut glb = Glb::new();
    let positions: Vec<f32> = (0..300).map(|i| i as f32).collect();
    let positions = glb.floats("VEC3", &positions);
    let indices = glb.indices(&[90, 91, 92]);
    glb.mesh(json!([{ "attributes": { "POSITION": positions }, "indices": indices }]));
    let model = read(&glb).unwrap();
    assert_eq!(model.primitives[0].positions[0], [270., 271., 272.]);
    assert_eq!((model.primitives[0].positions.len(), &model.primitives[0].indices[..]), (3, &[0, 1, 2][..]));
}

#[test]
fn textures_and_their_coordinates() {
    let mut png = std::io::Cursor::new(Vec::new());
    image::RgbaImage::from_pixel(8, 4, image::Rgba([9, 8, 7, 255]))
        .write_to(&mut png, image::ImageFormat::Png)
        .unwrap();
    let mut glb = Glb::new();
    let view = glb.view(png.get_ref());
    let uvs = glb.accessor(U16, "VEC2", 3, &[255, 255, 0, 0].repeat(3));
    glb.accessor_mut(uvs)["normalized"] = json!(true);
    glb.json["images"] = json!([{ "bufferView": view, "mimeType": "image/png" }, { "uri": "data:,x" }]);
    glb.json["textures"] = json!([{ "source": 0 }, { "source": 0, "sampler": 0 }, { "source": 1 }]);
    glb.json["samplers"] = json!([{ "wrapS": 33071 }]);
    glb.json["materials"] = json!([{
        "pbrMetallicRoughness": { "baseColorTexture": { "index": 0, "texCoord": 1 } },
        "emissiveTexture": { "index": 1, "texCoord": 1 }, "normalTexture": { "index": 2, "texCoord": 1 },
    }]);
    triangle(&mut glb, json!({ "TEXCOORD_1": uvs }));
    glb.json["meshes"][0]["primitives"][0]["material"] = json!(0);
    let limits = Limits { max_texture_side: 4, ..Limits::default() };
    let model = decode(&glb.build(), &limits, &Cancel::default()).unwrap();
    assert_eq!(model.primitives[0].uvs, Some(vec![[1.0, 0.0]; 3].into()));
    assert_eq!(model.textures.len(), 2);
    assert_eq!((model.textures[0].width, model.textures[0].height), (4, 2));
    assert_eq!(model.textures[0].rgba8[..4], [9, 8, 7, 255]);
    assert!(std::sync::Arc::ptr_eq(&model.textures[0].rgba8, &model.textures[1].rgba8));
    let material = &model.materials[0];
    assert!(material.base_color_texture.is_some() && material.normal_texture.is_none());
    assert_eq!(model.warnings.len(), 2, "{:?}", model.warnings);
}

#[test]
fn instances_share_a_primitive_and_count_in_the_box() {
    let mut glb = Glb::quad();
    glb.node(json!({ "mesh": 0, "translation": [10, 0, 0], "scale": [-1, 1, 1] }));
    let model = read(&glb).unwrap();
    assert_eq!((model.primitives.len(), model.instances.len()), (1, 2));
    assert_eq!((model.counts.triangles, model.counts.vertices), (4, 4));
    assert!(model.instances[1].flips_winding() && !model.instances[0].flips_winding());
    assert_eq!(model.unit_scale(), 0.1);
}

#[test]
fn the_box_is_that_of_transformed_boxes() {
    // A triangle turned by 45 degrees: its own box would be smaller than that of its turned box.
    let mut glb = Glb::new();
    triangle(&mut glb, json!({}));
    let half = std::f32::consts::FRAC_PI_8;
    glb.json["nodes"][0]["rotation"] = json!([0.0, 0.0, half.sin(), half.cos()]);
    let size = read(&glb).unwrap().bounds.size();
    assert!((size.x - 2f32.sqrt()).abs() < 1e-6 && (size.y - 2f32.sqrt()).abs() < 1e-6, "{size}");
}

#[test]
fn limits_are_named_with_numbers() {
    let glb = Glb::quad();
    let limited = |limits: Limits| decode(&glb.build(), &limits, &Cancel::default()).unwrap_err().to_string();
    let default = Limits::default;
    let text = limited(Limits { max_vertices: 3, ..default() });
    assert_eq!(text, "the model has 4 vertices, more than the limit of 3");
    let text = limited(Limits { max_triangles: 1, ..default() });
    assert_eq!(text, "the model has 2 triangles, more than the limit of 1");
    let text = limited(Limits { max_nodes: 0, ..default() });
    assert_eq!(text, "the model has 1 nodes, more than the limit of 0");
    let text = limited(Limits { max_instances: 0, ..default() });
    assert_eq!(text, "the model has 1 instances, more than the limit of 0");
    assert!(limited(Limits { max_bytes: 10, ..default() }).ends_with("bytes, more than the limit of 10"));
}

#[test]
fn counts_that_no_file_can_hold_are_refused_before_allocating() {
    let mut glb = Glb::new();
    glb.json["accessors"] = json!([
        { "componentType": F32, "type": "VEC3", "count": u64::MAX },
        { "componentType": 5125, "type": "SCALAR", "count": u64::MAX },
    ]);
    glb.mesh(json!([{ "attributes": { "POSITION": 0 } }]));
    assert!(error(&glb).contains("more than the limit"));
    glb.json["meshes"][0]["primitives"][0]["indices"] = json!(1);
    assert!(error(&glb).contains("more than the limit"));
}

#[test]
fn cancelling_ends_decoding() {
    let cancel = Cancel::default();
    cancel.cancel();
    assert!(matches!(decode(&Glb::quad().build(), &Limits::default(), &cancel), Err(DecodeError::Cancelled)));
}

/// A file with a little of everything.
fn varied() -> Vec<u8> {
    let mut glb = Glb::quad();
    let positions = glb.floats("VEC3", &[0., 0., 0., 1., 0., 0., 1., 1., 0., 0., 1., 0.]);
    glb.mesh(json!([{ "attributes": { "POSITION": positions }, "mode": 5 }]));
    glb.mesh(json!([{ "attributes": { "POSITION": positions }, "mode": 2 }]));
    glb.node(
        json!({ "mesh": 1, "matrix": [2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 1, 2, 3, 1], "children": [1] }),
    );
    glb.json["materials"] = json!([{ "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } } }]);
    glb.json["textures"] = json!([{ "source": 0 }]);
    glb.json["images"] = json!([{ "uri": "data:image/png;base64,iVBORw0KGgo=" }]);
    glb.json["meshes"][0]["primitives"][0]["material"] = json!(0);
    glb.build()
}

/// Nothing in a decoded model points outside it or exceeds the limits.
fn assert_sound(model: &DecodedModel, limits: &Limits) {
    let vertices: usize = model.primitives.iter().map(|p| p.positions.len()).sum();
    assert!(vertices as u64 <= limits.max_vertices);
    assert!(model.counts.triangles <= limits.max_triangles && model.instances.len() <= limits.max_instances);
    assert!(model.bounds.is_finite() && model.unit_scale().is_finite() && model.unit_scale() > 0.0);
    for p in &model.primitives {
        let count = p.positions.len();
        assert!(p.indices.iter().all(|&i| (i as usize) < count));
        assert_eq!(p.indices.len() % p.topology.corners(), 0);
        assert!(p.positions.as_flattened().iter().all(|v| v.is_finite()));
        assert!(p.normals.as_ref().is_none_or(|n| n.len() == count));
        assert!(p.normals.is_some() || p.topology != Topology::Triangles);
        assert!(p.colors.as_ref().is_none_or(|c| c.len() == count));
        assert!(p.uvs.as_ref().is_none_or(|uvs| uvs.len() == count));
        assert!(p.material.is_none_or(|m| m < model.materials.len()));
    }
    for instance in &model.instances {
        assert!(instance.primitive < model.primitives.len() && instance.transform.is_finite());
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn damaged_files_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 0..6),
        end in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut file = varied();
        for (place, bit) in flips {
            let place = place.index(file.len());
            file[place] ^= 1 << bit;
        }
        if let Some(end) = end {
            file.truncate(end.index(file.len()));
        }
        let limits = Limits { max_vertices: 1000, max_triangles: 1000, max_instances: 20, ..Limits::default() };
        if let Ok(model) = decode(&file, &limits, &Cancel::default()) {
            assert_sound(&model, &limits);
            let pieces = convene::model::split::split(&model, 200);
            assert!(!pieces.is_empty());
            let bvh = convene::model::bvh::Bvh::build(&model);
            let hit = bvh.raycast(glam::Vec3::new(0.3, 0.2, 9.0), glam::Vec3::NEG_Z, f32::INFINITY);
            assert!(hit.is_none_or(|hit| hit.point.is_finite()));
        }
    }

    #[test]
    fn changed_numbers_never_panic(
        place in any::<prop::sample::Index>(),
        number in prop_oneof![
            Just("0".to_owned()), Just("1e300".to_owned()), Just("-1".to_owned()), Just("\"x\"".to_owned()),
            Just("null".to_owned()), Just("{}".to_owned()), any::<u64>().prop_map(|n| n.to_string()),
            (0u64..70000).prop_map(|n| n.to_string()),
        ],
    ) {
        // One number in the description replaced by something else.
        let file = varied();
        let length = u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize;
        let text = std::str::from_utf8(&file[20..20 + length]).unwrap();
        let starts: Vec<usize> = text.char_indices()
            .filter(|&(i, c)| c.is_ascii_digit() && matches!(text.as_bytes()[i - 1], b':' | b',' | b'['))
            .map(|(i, _)| i).collect();
        let start = starts[place.index(starts.len())];
        let end = start + text[start..].find([',', '}', ']']).unwrap();
        let mut changed = format!("{}{number}{}", &text[..start], &text[end..]).into_bytes();
        changed.resize(changed.len().next_multiple_of(4), b' ');
        let rest = &file[20 + length..];
        let mut glb = b"glTF\x02\0\0\0".to_vec();
        glb.extend(((20 + changed.len() + rest.len()) as u32).to_le_bytes());
        glb.extend((changed.len() as u32).to_le_bytes());
        glb.extend(b"JSON");
        glb.extend(changed);
        glb.extend(rest);
        let limits = Limits { max_vertices: 1000, max_triangles: 1000, max_instances: 20, ..Limits::default() };
        if let Ok(model) = decode(&glb, &limits, &Cancel::default()) {
            assert_sound(&model, &limits);
        }
    }
}

#[test]
fn arrays_stay_in_the_file_where_they_can() {
    let mut glb = Glb::quad();
    let file = Bytes::from(glb.build());
    let limits = Limits::default();
    let shared = decode_shared(&file, &limits, &Cancel::default()).unwrap();
    let copied = read(&glb).unwrap();
    let arrays = |model: &DecodedModel| {
        let p = &model.primitives[0];
        let Some(Colors::U8(colors)) = p.colors.clone() else { panic!() };
        (p.positions.clone(), p.normals.clone().unwrap(), colors, p.indices.clone())
    };
    let (positions, normals, colors, indices) = arrays(&shared);
    assert!(positions.is_in_file() && normals.is_in_file() && colors.is_in_file() && indices.is_in_file());
    assert_eq!(arrays(&shared), arrays(&copied));
    assert!(!arrays(&copied).0.is_in_file());
    // Where a file lies askew in memory, and where elements are not next to each other, are copies.
    let mut askew = vec![0];
    askew.extend_from_slice(&file);
    let askew = Bytes::from(askew).slice(1..);
    let moved = decode_shared(&askew, &limits, &Cancel::default()).unwrap();
    assert!(!arrays(&moved).0.is_in_file());
    assert_eq!(arrays(&moved), arrays(&copied));
    glb.json["bufferViews"][0]["byteStride"] = json!(16);
    glb.json["accessors"][0]["count"] = json!(3);
    glb.json["accessors"][1]["count"] = json!(3);
    glb.json["accessors"][2]["count"] = json!(3);
    glb.json["meshes"][0]["primitives"][0].as_object_mut().unwrap().remove("indices");
    let model = decode_shared(&glb.build().into(), &limits, &Cancel::default()).unwrap();
    let (positions, normals, ..) = arrays(&model);
    assert!(!positions.is_in_file() && normals.is_in_file());
    assert_eq!(positions, [[0., 0., 0.], [0., 0., 1.], [0., 0., 1.]]);
}
