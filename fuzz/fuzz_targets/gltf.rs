//! Any bytes as a model: decoded, simplified, made ready for the GPU, hit by rays.
//!
//! Bytes that are no GLB are taken as a description and, after a zero, a binary
//! chunk; lengths then fit, so that mutations reach what lies behind them.
#![no_main]

use std::time::{Duration, Instant};

use bytes::Bytes;
use convene::model::bvh::Bvh;
use convene::model::parts::parts;
use convene::model::simplify::simplify;
use convene::model::{Cancel, DecodedModel, Limits, Topology, decode_shared};
use libfuzzer_sys::fuzz_target;

/// Small, so that what exceeds them is found fast; also by what they forgot to bound.
fn limits() -> Limits {
    Limits {
        max_vertices: 20_000,
        max_triangles: 20_000,
        max_instances: 500,
        max_image_bytes: 1 << 20,
        max_texture_bytes: 1 << 20,
        max_unpacked_bytes: 1 << 20,
        ..Limits::default()
    }
}

/// With the fuzzer's own instrumentation; without it it is a hundredth.
const MOST_TIME: Duration = Duration::from_secs(5);

fuzz_target!(|bytes: &[u8]| {
    let start = Instant::now();
    let made;
    let file = if bytes.starts_with(b"glTF") {
        bytes
    } else {
        made = glb(bytes);
        &made
    };
    let file = Bytes::copy_from_slice(file);
    if let Ok(mut model) = decode_shared(&file, &limits(), &Cancel::default()) {
        check(&model);
        let tree = Bvh::build(&model);
        let hit = tree.raycast(glam::Vec3::new(0.3, 0.2, 9.0), glam::Vec3::NEG_Z, f32::INFINITY);
        assert!(hit.is_none_or(|hit| hit.point.is_finite()));
        if let Some(motion) = &model.motion {
            let pose = motion.pose(0, 0.7);
            for rig in &motion.rigs {
                let shape = rig.shape(&pose);
                assert_eq!(shape.positions.len(), model.primitives[rig.primitive].positions.len());
            }
        }
        let _ = simplify(&mut model, 50, &Cancel::default());
        check(&model);
        assert!(!parts(&mut model, 10_000).is_empty());
    }
    assert!(start.elapsed() < MOST_TIME, "{:?}", start.elapsed());
});

fn glb(bytes: &[u8]) -> Vec<u8> {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let (json, bin) = (&bytes[..end], bytes.get(end + 1..).unwrap_or_default());
    let mut file = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
    for (kind, data) in [(b"JSON", json), (b"BIN\0", bin)] {
        let length = data.len().next_multiple_of(4);
        file.extend((length as u32).to_le_bytes());
        file.extend(kind);
        file.extend(data);
        file.resize(file.len() + length - data.len(), b' ');
    }
    let length = file.len() as u32;
    file[8..12].copy_from_slice(&length.to_le_bytes());
    file
}

/// Nothing in a model points outside it or exceeds the limits.
fn check(model: &DecodedModel) {
    let limits = limits();
    assert!(model.counts.triangles <= limits.max_triangles && model.instances.len() <= limits.max_instances);
    assert!(model.bounds.is_finite() && model.unit_scale().is_finite() && model.unit_scale() > 0.0);
    let mut vertices = 0;
    for p in &model.primitives {
        let count = p.positions.len();
        vertices += count as u64;
        assert!(p.indices.iter().all(|&i| (i as usize) < count));
        assert_eq!(p.indices.len() % p.topology.corners(), 0);
        assert!(p.positions.as_flattened().iter().all(|v| v.is_finite()));
        assert!(p.normals.as_ref().is_none_or(|n| n.len() == count));
        assert!(p.normals.is_some() || p.topology != Topology::Triangles);
        assert!(p.colors.as_ref().is_none_or(|c| c.len() == count));
        assert!([&p.uvs, &p.uvs_1].into_iter().flatten().all(|uvs| uvs.len() == count));
        assert!(p.material.is_none_or(|m| m < model.materials.len()));
    }
    assert!(vertices <= limits.max_vertices);
    for instance in &model.instances {
        assert!(instance.primitive < model.primitives.len() && instance.transform.is_finite());
    }
    let textures = model.textures.len();
    for m in &model.materials {
        let all = [m.base_color_texture, m.metallic_roughness_texture, m.normal_texture];
        let others = [m.occlusion_texture, m.emissive_texture];
        assert!(all.into_iter().chain(others).flatten().all(|t| t.texture < textures && t.uv_set < 2));
    }
}
