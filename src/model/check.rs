//! What a file holds and whether it can be shown, for people and for scripts.
//!
//! Behind `convene check`. Not for deciding anything while a meeting runs.

use std::path::Path;
use std::time::Instant;

use serde::Serialize;

use super::limits::{Cancel, Limits};
use super::pack::{Packed, read_model_file};
use super::{DecodedModel, decode_shared};

/// What was found out about one file.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Report {
    /// The path that was given.
    pub file: String,
    /// Whether something of it can be shown.
    pub ok: bool,
    /// The name that a meeting would show.
    pub name: String,
    /// Bytes that a meeting would send, side files included.
    pub bytes: u64,
    /// Triangles drawn.
    pub triangles: u64,
    /// Vertices stored.
    pub vertices: u64,
    /// Lines drawn.
    pub lines: u64,
    /// Points drawn.
    pub points: u64,
    /// Meshes that are shown.
    pub meshes: u64,
    /// Nodes in the file.
    pub nodes: u64,
    /// Materials in the file.
    pub materials: u64,
    /// Textures that are shown.
    pub textures: u64,
    /// Lengths of the box around everything along x, y and z, in the file's units.
    pub size: [f32; 3],
    /// The middle of that box, in the file's units.
    pub center: [f32; 3],
    /// The factor that makes its longest side 1 m.
    pub unit_scale: f32,
    /// What was left out or repaired.
    pub warnings: Vec<String>,
    /// Why nothing can be shown.
    pub error: Option<String>,
    /// What a person can do about that.
    pub remedy: Option<String>,
    /// How long reading and decoding took.
    pub seconds: f64,
}

/// Reads and decodes a file as a meeting would.
#[must_use]
pub fn check_file(path: &Path, limits: &Limits) -> Report {
    let start = Instant::now();
    let mut report = Report { file: path.display().to_string(), ..Report::default() };
    match read_model_file(path, limits) {
        Ok(packed) => report.decode(packed, limits),
        Err(error) => report.failed(&error, error.remedy()),
    }
    report.ok = report.error.is_none();
    report.seconds = start.elapsed().as_secs_f64();
    report
}

impl Report {
    fn decode(&mut self, packed: Packed, limits: &Limits) {
        self.name = packed.name;
        self.bytes = packed.glb.len() as u64;
        self.warnings = packed.warnings;
        match decode_shared(&packed.glb.into(), limits, &Cancel::default()) {
            Ok(model) => self.describe(model),
            Err(error) => self.failed(&error, error.remedy()),
        }
    }

    fn failed(&mut self, error: &impl ToString, remedy: &str) {
        self.error = Some(error.to_string());
        self.remedy = Some(remedy.to_owned()).filter(|remedy| !remedy.is_empty());
    }

    fn describe(&mut self, model: DecodedModel) {
        let counts = model.counts;
        self.triangles = counts.triangles;
        self.vertices = counts.vertices;
        self.lines = counts.lines;
        self.points = counts.points;
        self.meshes = counts.meshes;
        self.nodes = counts.nodes;
        self.materials = model.materials.len() as u64;
        self.textures = model.textures.len() as u64;
        self.size = model.bounds.size().to_array();
        self.center = model.bounds.center().to_array();
        self.unit_scale = model.unit_scale();
        self.warnings.extend(model.warnings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::Glb;

    #[test]
    fn a_report_says_what_there_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("two words.glb");
        std::fs::write(&path, Glb::quad().build()).unwrap();
        let report = check_file(&path, &Limits::default());
        assert!(report.ok && report.error.is_none());
        assert_eq!((report.triangles, report.vertices, report.name.as_str()), (2, 4, "two words"));
        assert_eq!(report.size, [1.0, 1.0, 0.0]);

        let report = check_file(&folder.path().join("none.glb"), &Limits::default());
        assert!(
            !report.ok
                && report.error.as_deref().is_some_and(|error| error.ends_with("there is no such file"))
        );
        assert_eq!(report.remedy.as_deref(), Some("Check the name and the folder."));
        serde_json::to_string(&report).unwrap();
    }
}
