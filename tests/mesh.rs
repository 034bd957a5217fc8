//! What becomes of models on their way in parts: the same model within the stated
//! errors, or a refusal; never a panic.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

#[allow(dead_code, reason = "shared with other tests, each of which uses a part")]
#[path = "common/glb.rs"]
mod glb;

use bytes::Bytes;
use convene::{
    mesh::{self, Assembly, Decoded, Encoding, NormalBits, Plan, exact},
    model::{self, Bounds, Cancel, DecodedModel, Limits, bvh::Bvh, outline::Outline, parts},
};
use glam::Vec3;
use glb::{F32, Glb};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A wavy sheet of `side` x `side` vertices as a primitive.
fn sheet(glb: &mut Glb, side: usize, wave: f32) -> Value {
    let mut primitive = glb.sheet(side, |n, x, y| {
        let normal = Vec3::new(-0.7 * wave * (x * 0.7).cos(), 0.4 * wave * (y * 0.4).sin(), 1.0).normalize();
        let position = [x, y, wave * ((x * 0.7).sin() + (y * 0.4).cos())];
        (position, normal.to_array(), [(n % 251) as u8, (n / 7) as u8, 200, 255 - (n % 3) as u8])
    });
    primitive["material"] = json!(0);
    primitive
}

fn place(glb: &mut Glb, primitives: Value, node: Value) {
    let meshes = glb.json["meshes"].as_array_mut().unwrap();
    meshes.push(json!({ "primitives": primitives }));
    let mesh = meshes.len() - 1;
    let mut node = node;
    node["mesh"] = json!(mesh);
    let nodes = glb.json["nodes"].as_array_mut().unwrap();
    nodes.push(node);
    let node = nodes.len() - 1;
    glb.json["scenes"][0]["nodes"].as_array_mut().unwrap().push(json!(node));
}

fn with_material(mut glb: Glb) -> Glb {
    glb.json["materials"] = json!([{ "name": "plain" }, { "alphaMode": "BLEND" }]);
    glb
}

fn decoded(glb: &[u8]) -> DecodedModel {
    model::decode(glb, &Limits::default(), &Cancel::default()).unwrap()
}

/// Through chunks and back; the GLB, and how far a position may be off.
fn through(file: &Bytes, encoding: Encoding, bits: NormalBits) -> (Vec<u8>, f32, Plan) {
    let plan = Plan::new(file).unwrap();
    let assembly = Assembly::new(plan.chunk_count(), 1 << 30);
    // The last first: any order will do.
    for index in (0..plan.chunk_count()).rev() {
        let chunk = plan.encode(index, encoding, bits).unwrap();
        let decoded = mesh::decode(&chunk.bytes).unwrap();
        assert_eq!(decoded.bytes(), chunk.decoded_bytes);
        if let Decoded::Part(part) = &decoded {
            assert!(part.max_error <= plan.max_error());
        }
        assembly.insert(index, decoded.into()).unwrap();
    }
    assert!(plan.encode(plan.chunk_count(), encoding, bits).is_none());
    assert!(assembly.is_complete());
    (assembly.glb().unwrap(), plan.max_error(), plan)
}

/// Every triangle of a model where it is shown: corners with colour and normal,
/// turned so that the least comes first.
fn triangles(model: &DecodedModel, grid: f32) -> Vec<[(Vec3, [u32; 4], Vec3, usize); 3]> {
    let mut all = Vec::new();
    for instance in &model.instances {
        let primitive = &model.primitives[instance.primitive];
        if primitive.topology != model::Topology::Triangles {
            continue;
        }
        for corners in primitive.indices.chunks_exact(3) {
            let mut triangle = [0, 1, 2].map(|corner| {
                let at = corners[corner] as usize;
                let color = primitive.colors.as_ref().map_or([1.0; 4], |colors| colors.linear(at));
                let normal = Vec3::from(primitive.normals.as_ref().unwrap()[at]);
                let normal = instance.transform.matrix3.inverse().transpose() * glam::Vec3A::from(normal);
                let position = instance.transform.transform_point3(primitive.positions[at].into());
                (
                    position,
                    color.map(|c| (c * 65535.0).round() as u32),
                    Vec3::from(normal.normalize()),
                    primitive.material.map_or(9, |m| m),
                )
            });
            let key = |corner: &(Vec3, [u32; 4], Vec3, usize)| {
                ((corner.0 / grid).round().as_ivec3().to_array(), corner.1)
            };
            let least = (0..3).min_by_key(|&corner| key(&triangle[corner])).unwrap();
            if instance.flips_winding() {
                triangle.swap(1, 2);
                triangle.rotate_left((3 - least) % 3);
            } else {
                triangle.rotate_left(least);
            }
            all.push(triangle);
        }
    }
    all.sort_by_key(|triangle| {
        triangle.map(|(position, color, ..)| ((position / grid).round().as_ivec3().to_array(), color))
    });
    all
}

/// The two show the same triangles within the error, colours to the bit.
fn assert_same(a: &DecodedModel, b: &DecodedModel, error: f32, degrees: f32) {
    // Vertices are far further apart than the error.
    let (a, b) = (triangles(a, 0.05), triangles(b, 0.05));
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().flatten().zip(b.iter().flatten()) {
        assert!(a.0.distance(b.0) <= error, "{} is {} from {}", a.0, a.0.distance(b.0), b.0);
        assert_eq!((a.1, a.3), (b.1, b.3));
        assert!(a.2.angle_between(b.2).to_degrees() <= degrees, "{} {}", a.2, b.2);
    }
}

const WAYS: [(Encoding, NormalBits, f32); 4] = [
    (Encoding::Fast, NormalBits::Eight, 1.05),
    (Encoding::Strong, NormalBits::Eight, 1.05),
    (Encoding::Planes, NormalBits::Ten, 0.3),
    (Encoding::Strong, NormalBits::Ten, 0.3),
];

#[test]
fn a_surface_comes_back_in_parts() {
    let mut glb = Glb::new();
    let primitive = sheet(&mut glb, 300, 3.0);
    place(&mut glb, json!([primitive]), json!({ "name": "sheet", "translation": [5.0, 0.0, -7.0] }));
    let file = Bytes::from(with_material(glb).build());
    let before = decoded(&file);
    for (encoding, bits, degrees) in WAYS {
        let (back, error, plan) = through(&file, encoding, bits);
        assert!(plan.part_count() >= 3, "{}", plan.part_count());
        assert!(error < 0.005);
        assert_same(&before, &decoded(&back), error, degrees);
    }
}

#[test]
fn many_small_meshes_become_few_parts() {
    let mut glb = Glb::new();
    for n in 0..60 {
        let primitive = sheet(&mut glb, 6, 0.5);
        place(&mut glb, json!([primitive]), json!({ "translation": [n as f32 * 10.0, 0.0, 0.0] }));
    }
    let file = Bytes::from(with_material(glb).build());
    let (back, error, plan) = through(&file, Encoding::Fast, NormalBits::Ten);
    assert_eq!(plan.part_count(), 1);
    let back = decoded(&back);
    assert_eq!(back.primitives.len(), 1);
    assert_same(&decoded(&file), &back, error, 0.3);
}

#[test]
fn what_is_turned_mirrored_shown_twice_or_transparent_keeps_its_place() {
    let mut glb = Glb::new();
    let parts: Vec<Value> = (0..5).map(|n| sheet(&mut glb, 20, 1.0 + n as f32 * 0.3)).collect();
    let turn = [0.182_574_2, 0.365_148_4, 0.547_722_6, 0.730_296_7];
    place(&mut glb, json!([parts[0]]), json!({ "rotation": turn, "translation": [100.0, 0.0, 0.0] }));
    place(
        &mut glb,
        json!([parts[1]]),
        json!({ "scale": [-1.0, 1.0, 2.0], "translation": [0.0, 100.0, 0.0] }),
    );
    place(&mut glb, json!([parts[2], parts[3]]), json!({}));
    let mut blended = parts[4].clone();
    blended["material"] = json!(1);
    place(&mut glb, json!([blended]), json!({ "translation": [0.0, 0.0, 200.0] }));
    // The third once more, elsewhere.
    glb.json["nodes"].as_array_mut().unwrap().push(json!({ "mesh": 2, "translation": [0.0, -100.0, 0.0] }));
    glb.json["scenes"][0]["nodes"].as_array_mut().unwrap().push(json!(4));
    let file = Bytes::from(with_material(glb).build());
    for (encoding, bits, degrees) in WAYS {
        let (back, error, _) = through(&file, encoding, bits);
        let (before, back) = (decoded(&file), decoded(&back));
        // Twice the size along one axis there.
        assert_same(&before, &back, error * 2.5, degrees);
        // The size at which a meeting shows it is the same.
        assert!((before.unit_scale() / back.unit_scale() - 1.0).abs() < 1e-4);
    }
}

#[test]
fn what_is_not_plain_stays_as_it_is() {
    let mut glb = Glb::new();
    let plain = sheet(&mut glb, 20, 1.0);
    let ends = glb.floats("VEC3", &[0., 0., 0., 5., 5., 5.]);
    let lines = json!({ "attributes": { "POSITION": ends }, "mode": 1 });
    let mut textured = sheet(&mut glb, 20, 2.0);
    let uvs: Vec<f32> = (0..800).map(|n| n as f32 / 800.0).collect();
    textured["attributes"]["TEXCOORD_0"] = json!(glb.floats("VEC2", &uvs));
    textured["material"] = json!(2);
    place(&mut glb, json!([plain, lines]), json!({ "name": "both" }));
    place(&mut glb, json!([textured]), json!({ "translation": [50.0, 0.0, 0.0] }));
    let pixels = picture();
    let image = glb.view(&pixels);
    let mut glb = with_material(glb);
    glb.json["images"] = json!([{ "bufferView": image, "mimeType": "image/png" }]);
    glb.json["textures"] = json!([{ "source": 0 }]);
    glb.json["materials"].as_array_mut().unwrap().push(json!({
        "pbrMetallicRoughness": { "baseColorTexture": { "index": 0 } },
    }));
    let file = Bytes::from(glb.build());
    let (before, (back, error, _)) = (decoded(&file), through(&file, Encoding::Strong, NormalBits::Ten));
    let back = decoded(&back);
    assert_same(&before, &back, error, 0.3);
    assert_eq!(back.counts.lines, 1);
    assert_eq!(before.textures.len(), back.textures.len());
    let uvs_of = |model: &DecodedModel| {
        let mut all: Vec<u32> = model
            .primitives
            .iter()
            .filter_map(|p| p.uvs.as_ref())
            .flatten()
            .flatten()
            .map(|v| v.to_bits())
            .collect();
        all.sort_unstable();
        all
    };
    assert_eq!(uvs_of(&before), uvs_of(&back), "texture coordinates are exact");
    assert!(!uvs_of(&back).is_empty());
}

/// A picture of 40 x 40 pixels.
fn picture() -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    let picture = image::RgbImage::from_fn(40, 40, |x, y| image::Rgb([x as u8, y as u8, 7]));
    picture.write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    bytes.into_inner()
}

#[test]
fn what_could_be_lost_travels_exactly() {
    let refused = |change: &dyn Fn(&mut Glb)| {
        let mut glb = Glb::new();
        let primitive = sheet(&mut glb, 30, 1.0);
        place(&mut glb, json!([primitive]), json!({}));
        let mut glb = with_material(glb);
        change(&mut glb);
        Plan::new(&Bytes::from(glb.build())).err()
    };
    assert_eq!(refused(&|_| {}), None);
    for (why, change) in [
        ("animations", (&|glb: &mut Glb| glb.json["animations"] = json!([{}])) as &dyn Fn(&mut Glb)),
        ("skins", &|glb: &mut Glb| glb.json["skins"] = json!([{}])),
        ("an extension", &|glb: &mut Glb| glb.json["extensionsUsed"] = json!(["EXT_mesh_gpu_instancing"])),
        ("one scene", &|glb: &mut Glb| glb.json["scenes"] = json!([{}, {}])),
        ("plain", &|glb: &mut Glb| glb.json["meshes"][0]["primitives"][0]["targets"] = json!([])),
        ("plain", &|glb: &mut Glb| glb.json["meshes"][0]["primitives"][0]["mode"] = json!(5)),
        ("plain", &|glb: &mut Glb| glb.json["meshes"][0]["weights"] = json!([])),
        ("beyond its vertices", &|glb: &mut Glb| {
            let at = glb.bin.len() - 4;
            glb.bin[at..].copy_from_slice(&900u32.to_le_bytes());
        }),
        ("not a finite number", &|glb: &mut Glb| glb.bin[..4].copy_from_slice(&f32::NAN.to_le_bytes())),
        ("nodes", &|glb: &mut Glb| glb.json["nodes"][0]["children"] = json!([0])),
    ] {
        let found: Option<&str> = refused(change);
        assert!(found.is_some_and(|found| found.contains(why)), "{why}: {found:?}");
    }
    for garbage in [&b""[..], b"glTF", &[0; 100]] {
        assert!(Plan::new(&Bytes::copy_from_slice(garbage)).is_err());
    }
}

fn pieces(file: &[u8]) -> impl Iterator<Item = std::ops::Range<usize>> {
    let bytes = file.len();
    (0..bytes).step_by(7001).map(move |start| start..(start + 7001).min(bytes))
}

fn assert_exact(file: &[u8]) -> usize {
    let layout = exact::Layout::of(file);
    let mut back = Vec::new();
    let mut sent = 0;
    for piece in pieces(file) {
        let chunk = exact::encode(file, &layout, piece.clone());
        exact::decode(&chunk, piece.len(), &mut back).unwrap();
        sent += chunk.len();
    }
    assert!(back == file, "the very file");
    sent
}

#[test]
fn the_very_file_comes_back() {
    let mut glb = Glb::new();
    let primitive = sheet(&mut glb, 60, 1.0);
    place(&mut glb, json!([primitive]), json!({}));
    glb.accessor(F32, "VEC3", 3, &[1; 36]);
    let file = with_material(glb).build();
    let sent = assert_exact(&file);
    assert!(sent * 2 < file.len(), "{sent} of {}", file.len());
    // What accessors say of it is not believed.
    let mut odd = Glb::quad();
    for accessor in odd.json["accessors"].as_array_mut().unwrap() {
        accessor["count"] = json!(3);
        accessor["bufferView"] = json!(1);
    }
    assert_exact(&odd.build());
}

/// A small chunk of each kind.
fn samples() -> Vec<Vec<u8>> {
    let mut glb = Glb::new();
    let primitive = sheet(&mut glb, 18, 1.0);
    place(&mut glb, json!([primitive]), json!({}));
    let file = Bytes::from(with_material(glb).build());
    let plan = Plan::new(&file).unwrap();
    let mut samples: Vec<Vec<u8>> = WAYS
        .iter()
        .flat_map(|&(encoding, bits, _)| {
            [0, 1].map(|index| plan.encode(index, encoding, bits).unwrap().bytes)
        })
        .collect();
    samples.dedup();
    samples
}

/// Where `scripts/fuzz` wants them, chunks for it to begin with.
#[test]
fn samples_for_the_fuzzer() {
    let mut samples = samples();
    let file = Glb::quad().build();
    samples.push(exact::encode(&file, &exact::Layout::of(&file), 0..file.len()));
    assert!(samples.len() > 4);
    if let Some(folder) = std::env::var_os("CONVENE_CORPUS") {
        for (number, sample) in samples.iter().enumerate() {
            std::fs::write(std::path::Path::new(&folder).join(format!("sample-{number}")), sample).unwrap();
        }
    }
}

#[test]
fn the_real_models_keep_their_promises() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/models");
    // Bytes, at most: fast, strong, exact.
    let limits = [
        ("surface885k.glb", 4_900_000, 2_900_000, 9_800_000),
        ("molecule.glb", 1_400_000, 1_400_000, 2_000_000),
    ];
    for (name, fast, strong, very) in limits {
        let Ok(file) = std::fs::read(folder.join(name)) else {
            println!("skipped: {name} does not lie beside the checkout");
            continue;
        };
        let file = Bytes::from(file);
        let plan = Plan::new(&file).unwrap();
        for (encoding, limit) in [(Encoding::Fast, fast), (Encoding::Strong, strong)] {
            let chunks =
                (0..plan.chunk_count()).map(|index| plan.encode(index, encoding, mesh::NORMAL_BITS).unwrap());
            let bytes: usize = chunks.map(|chunk| chunk.bytes.len()).sum();
            assert!(bytes <= limit, "{name}, {encoding:?}: {bytes}");
            println!("{name}: {} {bytes}", encoding.as_str());
        }
        let layout = exact::Layout::of(&file);
        let chunk =
            |start: usize| exact::encode(&file, &layout, start..(start + (256 << 10)).min(file.len()));
        let bytes: usize = (0..file.len()).step_by(256 << 10).map(|start| chunk(start).len()).sum();
        assert!(bytes <= very, "{name}, exact: {bytes}");
        println!("{name}: exact {bytes}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn surfaces_come_back_within_the_stated_error(
        side in 17usize..60, wave in 0f32..20.0, moved in prop::array::uniform3(-300i32..300), way in 0usize..4,
    ) {
        let mut glb = Glb::new();
        let primitive = sheet(&mut glb, side, wave);
        place(&mut glb, json!([primitive]), json!({ "translation": moved }));
        let file = Bytes::from(with_material(glb).build());
        let (encoding, bits, degrees) = WAYS[way];
        let (back, error, _) = through(&file, encoding, bits);
        assert_same(&decoded(&file), &decoded(&back), error * 1.01 + 1e-4, degrees);
    }

    #[test]
    fn any_bytes_come_back_exactly(file in prop::collection::vec(any::<u8>(), 0..20_000)) {
        assert_exact(&file);
    }

    #[test]
    fn damaged_chunks_are_decoded_or_refused(
        sample in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>(),
    ) {
        let samples = samples();
        let mut chunk = sample.get(&samples).clone();
        let at = at.index(chunk.len());
        if cut {
            chunk.truncate(at);
        } else {
            chunk[at] = byte;
        }
        if let Ok(Decoded::Part(part)) = mesh::decode(&chunk) {
            prop_assert!(part.positions.as_flattened().iter().all(|value| value.is_finite()));
            let count = part.positions.len() as u32;
            prop_assert!(part.indices.as_flattened().iter().all(|&corner| corner < count));
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(kind in 0u8..6, chunk in prop::collection::vec(any::<u8>(), 0..300)) {
        let chunk = [&[kind][..], &chunk].concat();
        let _ = mesh::decode(&chunk);
        let _ = exact::decode(&chunk, 1000, &mut Vec::new());
    }
}

#[test]
fn chunks_of_different_models_make_none() {
    let decode = |chunk: &[u8]| std::sync::Arc::new(mesh::decode(chunk).unwrap());
    let samples = samples();
    let (head, part) = (decode(&samples[0]), decode(&samples[1]));
    let assembly = Assembly::new(3, 1 << 30);
    assert!(assembly.insert(0, head.clone()).is_err(), "it says that there are two");
    let assembly = Assembly::new(2, 1 << 30);
    assert!(assembly.insert(0, part.clone()).is_err() && assembly.insert(2, part.clone()).is_err());
    assert!(assembly.insert(1, head.clone()).is_err());
    assembly.insert(0, head.clone()).unwrap();
    assert!(assembly.glb().is_err(), "one is missing");
    assembly.insert(1, part.clone()).unwrap();
    assert!(assembly.glb().is_ok());
    let small = Assembly::new(2, 100);
    assert!(small.insert(0, head).is_err() || small.insert(1, part).is_err(), "more than was offered");
}

/// A large sheet in one mesh of its own material, and the chunks that it travels in.
fn in_parts(change: impl FnOnce(&mut Glb)) -> (Bytes, Vec<Decoded>) {
    let mut glb = with_material(Glb::new());
    let primitive = sheet(&mut glb, 300, 3.0);
    place(&mut glb, json!([primitive]), json!({ "translation": [1.0, 2.0, 3.0] }));
    change(&mut glb);
    let file = Bytes::from(glb.build());
    let plan = Plan::new(&file).unwrap();
    let chunk = |index| plan.encode(index, Encoding::Fast, NormalBits::Eight).unwrap();
    let chunks = (0..plan.chunk_count()).map(|index| mesh::decode(&chunk(index).bytes).unwrap());
    (file, chunks.collect())
}

fn outline(chunks: &[Decoded], limits: &Limits) -> Outline {
    let Decoded::Head(head) = &chunks[0] else { panic!("no head") };
    Outline::read(head, limits).unwrap()
}

fn parts_of(chunks: &[Decoded]) -> impl Iterator<Item = &mesh::Part> {
    chunks.iter().filter_map(|chunk| match chunk {
        Decoded::Part(part) => Some(part),
        Decoded::Head(_) | Decoded::Rest(_) => None,
    })
}

#[test]
fn each_part_can_be_shown_by_itself() {
    let (file, chunks) = in_parts(|_| ());
    let whole = decoded(&file);
    let outline = outline(&chunks, &Limits::default());
    let mut shown: Vec<_> = parts_of(&chunks).map(|part| outline.decode(part).unwrap()).collect();
    assert!(outline.is_all && outline.parts as usize == shown.len() && shown.len() > 1);
    let triangles: u64 = shown.iter().map(|part| part.model.counts.triangles).sum();
    assert_eq!(triangles, whole.counts.triangles);
    let bounds = shown.iter().fold(Bounds::empty(), |bounds, part| bounds.union(part.model.bounds));
    assert!(bounds.min.abs_diff_eq(whole.bounds.min, 0.01), "{bounds:?} {:?}", whole.bounds);
    assert!(bounds.max.abs_diff_eq(whole.bounds.max, 0.01), "{bounds:?} {:?}", whole.bounds);
    // Their trees together are as good as one.
    let (one, middle) = (Bvh::build(&whole), whole.bounds.center());
    let joined = Bvh::join(shown.iter().map(|part| Bvh::build(&part.model)).collect());
    let size = whole.bounds.largest_side();
    let mut hits = 0;
    for turn in 0..100 {
        let aside = Vec3::new((turn as f32).sin(), (turn as f32 * 0.7).cos(), 0.0) * size * 0.4;
        let from = middle + aside + Vec3::Z * size;
        let [a, b] = [&one, &joined].map(|tree| tree.raycast(from, Vec3::NEG_Z, f32::INFINITY));
        let [a, b] = [a, b].map(|hit| hit.map(|hit| hit.distance));
        hits += usize::from(a.is_some());
        assert!(a.is_some() == b.is_some(), "{a:?} {b:?}");
        assert!(a.zip(b).is_none_or(|(a, b)| (a - b).abs() < 0.02), "{a:?} {b:?}");
    }
    assert_eq!(hits, 100);
    // For a GPU all have one grid: what touches goes on touching.
    let meshes = shown.iter_mut().flat_map(|part| {
        assert!(part.model.primitives[0].normals.is_some() && part.model.primitives[0].colors.is_some());
        parts::parts_on(&mut part.model, &part.grid, 4 << 20)
    });
    let mut grids: Vec<_> = meshes.map(|part| (part.mesh.scale, part.mesh.offset)).collect();
    grids.dedup();
    assert_eq!(grids.len(), 1, "{grids:?}");
}

#[test]
fn parts_are_not_all_where_something_else_is_to_be_shown() {
    let (_, transparent) = in_parts(|glb| glb.json["materials"][0]["alphaMode"] = json!("BLEND"));
    let outlined = outline(&transparent, &Limits::default());
    assert!(parts_of(&transparent).all(|part| outlined.decode(part).unwrap().is_transparent));
    let (_, lines) = in_parts(|glb| {
        let positions = glb.floats("VEC3", &[0.0, 0.0, 0.0, 5.0, 5.0, 5.0]);
        let lines = json!({ "attributes": { "POSITION": positions }, "mode": 1 });
        place(glb, json!([lines]), json!({}));
    });
    assert!(!outline(&lines, &Limits::default()).is_all);
    let (_, textured) = in_parts(|glb| {
        glb.json["textures"] = json!([{ "source": 0 }]);
        glb.json["images"] = json!([{ "uri": "data:image/png;base64,AAAA" }]);
        glb.json["materials"][0]["pbrMetallicRoughness"] = json!({ "baseColorTexture": { "index": 0 } });
    });
    assert!(!outline(&textured, &Limits::default()).is_all);
}

#[test]
fn too_many_parts_are_refused_one_by_one() {
    let (_, chunks) = in_parts(|_| ());
    let first = parts_of(&chunks).next().unwrap();
    let limits = Limits { max_triangles: first.indices.len() as u64, ..Limits::default() };
    let outline = outline(&chunks, &limits);
    let results: Vec<bool> = parts_of(&chunks).map(|part| outline.decode(part).is_ok()).collect();
    assert!(results[0] && results.iter().filter(|fits| **fits).count() == 1, "{results:?}");
    let headless = Outline::read(&mesh::Head { json: b"{".into(), rest_bytes: 0, parts: 1 }, &limits);
    assert!(headless.is_err());
}
