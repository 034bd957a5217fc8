//! Real and broken files: each is shown, or refused with a reason, and none panics.
//!
//! The files lie beside the repository in `../shared` and are used where they lie.
//! Without them only the small files made here are checked. Where the Khronos
//! validator and Convene disagree about a file, a table below says why.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/glb.rs"]
mod glb;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use convene::model::check::{Report, check_file};
use convene::model::reorder::{reorder, transformed_per_triangle};
use convene::model::split::{piece_bytes, split};
use convene::model::{Cancel, Colors, DecodedModel, Limits, Primitive, Topology, decode};
use glb::Glb;
use serde_json::{Value, json};

/// Generous: the test may run without optimisation on a busy machine.
const MAX_SECONDS: f64 = 20.0;

/// Without errors to the validator, but there is no mesh in them.
const VALID_BUT_EMPTY: &[&str] = &[
    "accessor/custom_property.gltf",
    "accessor/unknown_type.gltf",
    "accessor/valid.gltf",
    "accessor_data/get_elements.gltf",
    "accessor_data/get_elements_matrix.gltf",
    "accessor_data/get_elements_sparse.gltf",
    "animation/custom_property.gltf",
    "animation/valid.gltf",
    "asset/2_1_version.gltf",
    "asset/custom_property.gltf",
    "asset/valid.gltf",
    "buffer/custom_property.gltf",
    "buffer/data_uri.glb",
    "buffer/extra_padding.glb",
    "buffer/valid.glb",
    "buffer/valid.gltf",
    "buffer/valid_placeholder.glb",
    "buffer_view/custom_property.gltf",
    "buffer_view/valid.gltf",
    "camera/custom_property.gltf",
    "camera/perspective_yfov.gltf",
    "camera/valid.gltf",
    "glb/extra_data.glb",
    "glb/two_images.glb",
    "glb/valid.glb",
    "glb/valid_buffer.glb",
    "image/custom_property.gltf",
    "image/data_uri.glb",
    "image/npot.gltf",
    "image/unrecognized_format.gltf",
    "image/valid.glb",
    "image/valid.gltf",
    "json/integer_written_as_float.gltf",
    "material/alpha_modes.gltf",
    "material/custom_property.gltf",
    "material/empty_object.gltf",
    "material/multiple_extensions.gltf",
    "material/valid.gltf",
    "node/custom_property.gltf",
    "node/matrix_default.gltf",
    "node/node_empty.gltf",
    "root/custom_property.gltf",
    "root/custom_property_escaped_name.gltf",
    "root/extras_non_object.gltf",
    "root/invalid_extension_name.gltf",
    "root/valid.gltf",
    "sampler/custom_property.gltf",
    "sampler/empty_object.gltf",
    "sampler/valid.gltf",
    "scene/custom_property.gltf",
    "scene/valid.gltf",
    "skin/custom_property.gltf",
    "skin/valid.gltf",
    "texture/custom_property.gltf",
    "texture/empty_object.gltf",
    "texture/valid.gltf",
];

/// Without errors to the validator, but not shown: file, and what the error says.
const VALID_BUT_REFUSED: &[(&str, &str)] = &[
    // Its minVersion is 2.1: rightly refused by whoever reads 2.0.
    ("asset/min_version_valid.gltf", "needs glTF version 2.1"),
    // Nothing is fetched from the network because a file says so.
    ("buffer/non_relative_uri.gltf", "http://example.com/buffer.bin"),
    // A mesh without positions is allowed, but there is nothing to draw.
    ("mesh/primitive_no_position.gltf", "it has no positions"),
    // Buffers may be left for extensions to fill; none does.
    ("root/named_objects.gltf", "buffer 1: it has no data"),
    ("root/unused_objects.gltf", "buffer 1: it has no data"),
];

/// With errors, shown all the same: file, and the warning that names the fault.
const BROKEN_BUT_SHOWN: &[(&str, &str)] = &[
    ("mesh/unresolved_material.gltf", "material 0 does not exist"),
    ("mesh/uv.gltf", "needs TEXCOORD_1, which the mesh has not"),
    ("mesh_data/colors_non_clamped.gltf", "colours are not within 0 and 1"),
    ("mesh_data/index_buffer_primitive_restart.gltf", "index 255 is reserved"),
    ("mesh_data/normals_tangents_non_unit_invalid_sign.gltf", "1 normal is not of unit length"),
];

/// With errors, shown without a word about them, because they are in what is
/// never looked at: file, and what that is.
const BROKEN_WHERE_UNSEEN: &[(&str, &str)] = &[
    ("mesh/accessor_attribute_uint32.gltf", "a custom attribute"),
    ("mesh/invalid_attribute.gltf", "an attribute with an unknown name"),
    ("mesh/invalid_attribute_escaped_name.gltf", "an attribute with an unknown name"),
    ("mesh/invalid_indexed_attribute.gltf", "attributes with wrong names"),
    ("mesh/morph_attribute_invalid_count.gltf", "a morph target"),
    ("mesh/morph_attribute_no_base.gltf", "a morph target"),
    ("mesh/morph_position_accessor_no_bounds.gltf", "a morph target"),
    ("mesh/morph_unequal_targets_count.gltf", "morph targets"),
    ("mesh/morph_weights_wrong_count.gltf", "morph weights"),
    ("mesh/position_accessor_no_bounds.gltf", "stated bounds: they are computed"),
    ("mesh/unequal_joints.gltf", "joints of a skin"),
    ("mesh/unresolved_morph_positions.gltf", "a morph target"),
    ("mesh_data/joints_no_weights.gltf", "joints of a skin"),
    ("mesh_data/joints_weights_complex.gltf", "joints of a skin"),
    ("node/node_skin_without_skinned_mesh.gltf", "a skin"),
    ("node/node_weights_invalid.gltf", "morph weights"),
    ("skin/no_joints_in_scene.gltf", "a skin"),
];

/// Samples and real models that are not shown: file, and what the error says.
const REFUSED_MODELS: &[(&str, &str)] = &[("files/models/empty_nodes.glb", "nothing to show")];

fn shared() -> Option<PathBuf> {
    let shared = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared"));
    let found = shared.join("files").is_dir();
    if !found {
        println!("../shared is missing: only small files made in this test are used");
    }
    found.then(|| shared.to_owned())
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "glb" || extension == "gltf") {
            found.push(path);
        }
    }
}

/// Reports of all models in a folder, by their paths from `base`.
fn check_all(base: &Path, folder: &str) -> BTreeMap<String, Report> {
    let mut files = Vec::new();
    walk(&base.join(folder), &mut files);
    let check = |path: PathBuf| {
        let name = path.strip_prefix(base).unwrap().to_string_lossy().replace('\\', "/");
        let report = check_file(&path, &Limits::default());
        assert!(report.seconds < MAX_SECONDS, "{name} took {} s", report.seconds);
        assert_eq!(report.ok, report.error.is_none());
        (name, report)
    };
    files.into_iter().map(check).collect()
}

fn errors_to_validator(file: &Path) -> u64 {
    let report = fs::read(format!("{}.report.json", file.display())).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    report["issues"]["numErrors"].as_u64().unwrap()
}

#[test]
fn the_validators_files() {
    let Some(shared) = shared() else { return };
    let base = shared.join("files/validator");
    let reports = check_all(&base, "");
    assert!(reports.len() > 200);
    let mut valid_refused = BTreeSet::new();
    let mut broken_shown = BTreeSet::new();
    for (name, report) in &reports {
        let valid = errors_to_validator(&base.join(name)) == 0;
        if valid && !report.ok {
            valid_refused.insert(name.as_str());
        }
        if !valid && report.ok {
            broken_shown.insert(name.as_str());
        }
    }
    for name in VALID_BUT_EMPTY {
        let error = reports[*name].error.as_deref();
        assert_eq!(error, Some("nothing to show: the scene of the file holds no meshes"), "{name}");
    }
    for (name, reason) in VALID_BUT_REFUSED {
        let error = reports[*name].error.as_deref().unwrap_or_default();
        assert!(error.contains(reason), "{name}: {error}");
    }
    for (name, fault) in BROKEN_BUT_SHOWN {
        let warnings = &reports[*name].warnings;
        assert!(warnings.iter().any(|warning| warning.contains(fault)), "{name}: {warnings:?}");
    }
    let names = |list: &[(&'static str, &str)]| list.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let expected = [VALID_BUT_EMPTY.to_vec(), names(VALID_BUT_REFUSED)].concat();
    assert_eq!(valid_refused, expected.into_iter().collect());
    let expected = [names(BROKEN_BUT_SHOWN), names(BROKEN_WHERE_UNSEEN)].concat();
    assert_eq!(broken_shown, expected.into_iter().collect());
    println!(
        "{} files of the validator: {} without errors not shown ({} of them hold no mesh), \
         {} with errors shown ({} of them without naming the fault)",
        reports.len(),
        valid_refused.len(),
        VALID_BUT_EMPTY.len(),
        broken_shown.len(),
        BROKEN_WHERE_UNSEEN.len(),
    );
    assert_eq!((valid_refused.len(), broken_shown.len()), (61, 22));
}

#[test]
fn samples_and_real_models() {
    let Some(shared) = shared() else { return };
    let mut reports = check_all(&shared, "files/models");
    reports.extend(check_all(&shared, "models"));
    let refused: BTreeSet<_> =
        reports.iter().filter(|(_, report)| !report.ok).map(|(name, _)| name.as_str()).collect();
    assert_eq!(refused, REFUSED_MODELS.iter().map(|(name, _)| *name).collect());
    for (name, reason) in REFUSED_MODELS {
        let error = reports[*name].error.as_deref().unwrap_or_default();
        assert!(error.contains(reason), "{name}: {error}");
    }
    println!("{} samples and real models: {} not shown", reports.len(), refused.len());
    let counts = |name: &str| (reports[name].triangles, reports[name].vertices, reports[name].meshes);
    assert_eq!(counts("models/surface885k.glb"), (885_832, 443_592, 1));
    assert_eq!(counts("models/molecule.glb"), (743_584, 416_166, 428));
    assert_eq!(counts("models/surface170k-quantized.glb"), counts("models/surface170k.glb"));
    assert_eq!(reports["files/models/BoxTextured.glb"].textures, 1);
    assert_eq!(reports["files/models/box-textured-separate/box-textured-separate.gltf"].textures, 1);
    let (plain, quantized) =
        (&reports["models/surface170k.glb"], &reports["models/surface170k-quantized.glb"]);
    for (a, b) in plain.size.into_iter().zip(quantized.size) {
        assert!((a - b).abs() < a * 0.001, "quantized {b} for {a}");
    }
}

/// What is said about every file, kept beside this test: a line for each.
const VERDICTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/gltf-verdicts.txt");

fn verdict(name: &str, report: &Report) -> String {
    let Report { triangles, lines, points, .. } = report;
    let found = match &report.error {
        Some(error) => format!("refused: {error}"),
        None => format!("shown: {triangles} triangles, {lines} lines, {points} points"),
    };
    // Where a file lies is no matter of the file.
    let shared = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared");
    let said = [&[found][..], &report.warnings[..]].concat().join("; ");
    format!("{name}: {}", said.replace(shared, "").replace('\n', " "))
}

/// With `CONVENE_KEEP_VERDICTS=1` the kept ones are written anew: look at what changed.
#[test]
fn verdicts_are_those_that_are_kept() {
    let Some(shared) = shared() else { return };
    let mut reports = check_all(&shared, "files");
    reports.extend(check_all(&shared, "models"));
    let verdicts: Vec<String> = reports.iter().map(|(name, report)| verdict(name, report)).collect();
    if std::env::var_os("CONVENE_KEEP_VERDICTS").is_some() {
        fs::write(VERDICTS, verdicts.join("\n") + "\n").unwrap();
    }
    let kept = fs::read_to_string(VERDICTS).unwrap();
    let kept: BTreeSet<&str> = kept.lines().collect();
    let found: BTreeSet<&str> = verdicts.iter().map(String::as_str).collect();
    let changed: Vec<_> = found.symmetric_difference(&kept).collect();
    assert!(changed.is_empty(), "kept or found, not both: {changed:#?}");
    for verdict in found {
        let internals = ["os error", "struct ", "Error(", "Some(", "expected a sequence"];
        assert!(!internals.iter().any(|word| verdict.contains(word)), "not for people: {verdict}");
    }
}

#[test]
fn the_documentation_says_what_is_checked() {
    let docs = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/gltf-support.md")).unwrap();
    let kept = fs::read_to_string(VERDICTS).unwrap();
    assert!(docs.contains(&format!("Checked with {} files", kept.lines().count())));
    let empty = VALID_BUT_EMPTY.len();
    assert!(docs.contains(&format!("{empty} of the validator's valid files hold no mesh in their scene")));
    for (name, _) in VALID_BUT_REFUSED {
        let name = name.trim_end_matches(".gltf");
        assert!(docs.contains(&format!("`{name}`")), "{name} is not in the table");
    }
    let rows = docs.split("## Valid files that are not shown").nth(1).unwrap().split("\n## ").next().unwrap();
    let listed = rows.matches("`").count() / 2;
    assert_eq!(listed, VALID_BUT_REFUSED.len(), "files in the table");
}

fn decoded(path: &Path) -> DecodedModel {
    let packed = convene::model::read_model_file(path, &Limits::default()).unwrap();
    decode(&packed.glb, &Limits::default(), &Cancel::default()).unwrap()
}

/// Area of all triangles, and how much of it faces along its normals.
fn areas(model: &DecodedModel) -> (f64, f64) {
    let (mut area, mut along) = (0.0, 0.0);
    for instance in &model.instances {
        let primitive = &model.primitives[instance.primitive];
        let normals = primitive.normals.as_ref().unwrap();
        for triangle in primitive.indices.as_chunks::<3>().0 {
            let [a, b, c] =
                triangle.map(|i| instance.transform.transform_point3(primitive.positions[i as usize].into()));
            let normal = triangle.iter().map(|&i| glam::Vec3::from(normals[i as usize])).sum::<glam::Vec3>();
            let normal = instance.transform.transform_vector3(normal).normalize_or_zero();
            let cross = (b - a).cross(c - a);
            area += f64::from(cross.length());
            along += f64::from(cross.dot(normal));
        }
    }
    (area, along)
}

#[test]
fn compressed_surfaces_are_the_surface() {
    let Some(shared) = shared() else { return };
    let plain = decoded(&shared.join("models/surface170k.glb"));
    let (area, along) = areas(&plain);
    assert!(along > 0.9 * area);
    for (name, same_order) in [
        ("surface170k-quantized.glb", true),
        ("surface170k-ext-meshopt-v0.glb", false),
        ("surface170k-ext-meshopt-exponential.glb", false),
        ("surface170k-khr-meshopt-v1.glb", false),
        ("surface170k-draco.glb", false),
        ("surface170k-gltfpack-cc.glb", false),
    ] {
        let model = decoded(&shared.join("models").join(name));
        assert_eq!(model.counts.triangles, plain.counts.triangles, "{name}");
        let (found, facing) = areas(&model);
        assert!((found / area - 1.0).abs() < 0.003, "{name}: area {found} for {area}");
        assert!((facing / along - 1.0).abs() < 0.01, "{name}: {facing} along normals for {along}");
        let difference = (model.bounds.size() - plain.bounds.size()).length() / plain.bounds.size().length();
        assert!(difference < 1e-3, "{name}: {difference}");
        if same_order {
            let transform = model.instances[0].transform;
            let vertices = model.primitives[0].positions.iter().zip(&plain.primitives[0].positions);
            let far = vertices
                .map(|(found, plain)| transform.transform_point3((*found).into()).distance((*plain).into()))
                .fold(0.0, f32::max);
            assert!(far < 2e-5 * plain.bounds.size().length(), "{name}: a vertex is {far} off");
            assert_eq!(model.primitives[0].colors, plain.primitives[0].colors, "{name}");
        }
    }
}

#[test]
fn copies_for_others_are_the_same() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("files/models/extensions");
    for name in ["EXT_meshopt_compression", "KHR_meshopt_compression"] {
        let of = |kind: &str| decoded(&folder.join(format!("{name}/meshopt-{kind}/meshopt-{kind}.gltf")));
        let (with, without) = (of("fallback"), of("no-fallback"));
        assert!(with.counts.triangles > 0);
        assert_eq!(with.primitives[0].positions, without.primitives[0].positions);
        assert_eq!(with.primitives[0].indices, without.primitives[0].indices);
    }
}

#[test]
fn colours_are_exact() {
    let Some(shared) = shared() else { return };
    let file = fs::read(shared.join("models/surface885k.glb")).unwrap();
    let model = decode(&file, &Limits::default(), &Cancel::default()).unwrap();
    // ChimeraX's layout, as make_models.py writes it: the third array in the file.
    let json_bytes = u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize;
    let json: Value = serde_json::from_slice(&file[20..20 + json_bytes]).unwrap();
    let accessor = json["meshes"][0]["primitives"][0]["attributes"]["COLOR_0"].as_u64().unwrap() as usize;
    let view = &json["bufferViews"][json["accessors"][accessor]["bufferView"].as_u64().unwrap() as usize];
    let start = 20 + json_bytes + 8 + view["byteOffset"].as_u64().unwrap() as usize;
    let Some(Colors::U8(colors)) = &model.primitives[0].colors else { panic!() };
    assert_eq!(colors.as_flattened(), &file[start..start + 4 * 443_592]);
}

#[test]
fn real_models_in_pieces() {
    let Some(shared) = shared() else { return };
    // 23 MB of surface are cut; 428 meshes of a molecule become a few.
    for (name, most) in [("surface885k.glb", 8), ("molecule.glb", 8)] {
        let file = fs::read(shared.join("models").join(name)).unwrap();
        let model = decode(&file, &Limits::default(), &Cancel::default()).unwrap();
        let pieces = split(&model, 4 << 20);
        assert!(pieces.len() <= most, "{name}: {} pieces", pieces.len());
        assert!(pieces.iter().all(|piece| piece_bytes(&piece.primitive) <= 4 << 20));
        let triangles: usize = pieces.iter().map(|piece| piece.primitive.elements()).sum();
        assert_eq!(triangles as u64, model.counts.triangles);
        let transformed = |primitive: &Primitive| {
            let each = transformed_per_triangle(&primitive.indices, primitive.positions.len());
            f64::from(each) * primitive.elements() as f64 / triangles as f64
        };
        let before: f64 = pieces.iter().map(|piece| transformed(&piece.primitive)).sum();
        let after = pieces.into_iter().map(|mut piece| {
            reorder(&mut piece.primitive);
            transformed(&piece.primitive)
        });
        let after: f64 = after.sum();
        println!("{name}: {before:.2} vertices transformed per triangle, {after:.2} after reordering");
        assert!(after < 0.8 && after <= before, "{name}: {after}");
    }
}

#[test]
fn a_small_file_is_checked_without_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut glb = Glb::quad();
    let positions = glb.floats("VEC3", &[0.0, 0.0, 0.0, 0.0, 2.0, 0.0]);
    glb.mesh(json!([{ "attributes": { "POSITION": positions }, "mode": 1 }]));
    let path = folder.path().join("small.glb");
    fs::write(&path, glb.build()).unwrap();
    let report = check_file(&path, &Limits::default());
    assert_eq!((report.ok, report.triangles, report.lines, report.meshes), (true, 2, 1, 2));
    assert_eq!(report.size, [1.0, 2.0, 0.0]);
    assert_eq!(report.unit_scale, 0.5);
    let model = decode(&glb.build(), &Limits::default(), &Cancel::default()).unwrap();
    assert_eq!(model.primitives[1].topology, Topology::Lines);
    assert!(model.primitives[1].normals.is_none());
}
