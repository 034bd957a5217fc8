//! `convene pack`: what it writes, what it tells, what it refuses.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/glb.rs"]
mod glb;
#[path = "common/process.rs"]
mod process;

use std::fs;

use convene::mesh::{meshopt, pack};
use glb::Glb;
use process::run;
use serde_json::{Value, json};

/// A tent of many triangles, coloured, moved and named.
fn tent() -> Glb {
    let mut glb = Glb::new();
    let primitive = glb.sheet(40, |n, x, y| {
        let normal = if x < 20.0 { [-0.6, 0.0, 0.8] } else { [0.6, 0.0, 0.8] };
        ([x, y, 20.0 - (x - 20.0).abs()], normal, [n as u8, (n / 256) as u8, 9, 255])
    });
    glb.mesh(json!([primitive]));
    glb.json["nodes"][0]["name"] = json!("tent");
    glb.json["nodes"][0]["translation"] = json!([1, 2, 3]);
    glb
}

fn parts(glb: &[u8]) -> (Value, Vec<u8>) {
    let length = u32::from_le_bytes(glb[12..16].try_into().unwrap()) as usize;
    (serde_json::from_slice(&glb[20..20 + length]).unwrap(), glb[28 + length..].to_vec())
}

#[test]
fn each_way_writes_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let before = tent().build();
    fs::write(path("in.glb"), &before).unwrap();
    let mut sizes = Vec::new();
    for (way, extensions) in [
        ("--meshopt", &["KHR_mesh_quantization", "EXT_meshopt_compression"][..]),
        ("--quantize", &["KHR_mesh_quantization"]),
    ] {
        let (code, output, errors) = run(&["pack", way, &path("in.glb"), &path("out.glb")]);
        assert_eq!((code, errors.as_str()), (Some(0), ""), "{output}");
        let after = fs::read(path("out.glb")).unwrap();
        for told in ["size ", "3,042 triangles", "of the diagonal", "degrees"] {
            assert!(output.contains(told), "{told}: {output}");
        }
        let (json, _) = parts(&after);
        assert_eq!(json["extensionsRequired"], json!(extensions));
        assert_eq!((&json["nodes"][0]["name"], &json["nodes"][0]["mesh"]), (&json!("tent"), &Value::Null));
        let child = json["nodes"][0]["children"][0].as_u64().unwrap() as usize;
        assert_eq!(json["nodes"][child]["mesh"], 0);
        sizes.push(after.len());
    }
    assert!(sizes[0] * 2 < sizes[1] && sizes[1] < before.len(), "{sizes:?} of {}", before.len());
    let (code, output, _) = run(&["pack", "--exact", &path("in.glb"), &path("out.glb")]);
    assert!(code == Some(0) && output.contains("the same file"), "{output}");
    assert_eq!(fs::read(path("out.glb")).unwrap(), before);
}

#[test]
fn the_compressed_streams_hold_the_mesh() {
    let packed = pack::pack(&tent().build().into(), pack::Format::Meshopt).unwrap();
    let (json, bin) = parts(&packed.glb);
    let view = |name: &str| {
        let primitive = &json["meshes"][0]["primitives"][0];
        let accessor = if name == "indices" { &primitive[name] } else { &primitive["attributes"][name] };
        let accessor = &json["accessors"][accessor.as_u64().unwrap() as usize];
        let view = &json["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
        let stream = &view["extensions"]["EXT_meshopt_compression"];
        let number = |name: &str| stream[name].as_u64().unwrap() as usize;
        let bytes = &bin[number("byteOffset")..number("byteOffset") + number("byteLength")];
        assert!(bytes[0] == 0xa0 || bytes[0] == 0xe1, "the codecs that the extension allows");
        (bytes.to_vec(), number("count"), number("byteStride"), stream["mode"].clone())
    };
    let (stream, count, stride, mode) = view("POSITION");
    let points = meshopt::vertices::decode(&stream, count, stride).unwrap();
    assert_eq!((count, stride, mode.as_str()), (1600, 8, Some("ATTRIBUTES")));
    assert!(points.chunks(8).any(|point| point[..2] == [255, 255]), "the longest side is all of the grid");
    let (stream, count, stride, mode) = view("indices");
    assert_eq!((stride, mode.as_str()), (2, Some("TRIANGLES")));
    assert_eq!(meshopt::triangles::decode(&stream, count / 3).unwrap().len(), 3042);
    assert!(packed.position_error < 1.2e-5 && packed.normal_max_degrees < 0.3);
    assert!(packed.normal_mean_degrees <= packed.normal_max_degrees);
}

#[test]
fn what_cannot_be_packed_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut moving = tent();
    moving.json["animations"] = json!([{}]);
    fs::write(path("in.glb"), moving.build()).unwrap();
    let (code, output, errors) = run(&["pack", &path("in.glb"), &path("out.glb")]);
    assert_eq!((code, output.as_str()), (Some(1), ""));
    assert!(errors.contains("it has animations") && errors.contains("--exact"), "{errors}");
    assert!(!fs::exists(path("out.glb")).unwrap());
    let (code, _, errors) = run(&["pack", &path("none.glb"), &path("out.glb")]);
    assert!(code == Some(1) && errors.contains("cannot be read"), "{errors}");
    let (code, _, errors) = run(&["pack", "--exact", &path("in.glb"), &path("nowhere/out.glb")]);
    assert!(code == Some(1) && errors.contains("cannot be written"), "{errors}");
}
