//! What is sent: the real model where it is there, else noise in a GLB.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;

/// 23 MB, 885,832 triangles, in ChimeraX's layout; not part of the repository.
const SURFACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/models/surface885k.glb");
const SURFACE_BYTES: usize = 23_051_756;

/// Files of a run.
pub struct Models {
    folder: tempfile::TempDir,
    pub surface: PathBuf,
    /// What the large model is, for the report.
    pub told: &'static str,
}

impl Models {
    pub fn new() -> Result<Self> {
        let folder = tempfile::tempdir().context("no folder for models")?;
        let mut models = Self { folder, surface: SURFACE.into(), told: "surface885k.glb" };
        if !Path::new(SURFACE).is_file() {
            models.surface = models.noise(SURFACE_BYTES)?;
            models.told = "noise of the size of surface885k.glb, which is not there";
        }
        Ok(models)
    }

    pub fn surface_bytes(&self) -> Result<f64> {
        Ok(std::fs::metadata(&self.surface)?.len() as f64)
    }

    /// A valid GLB of about that size: one triangle, and bytes that nothing
    /// compresses and no accessor uses.
    pub fn noise(&self, bytes: usize) -> Result<PathBuf> {
        let path = self.folder.path().join(format!("noise-{bytes}.glb"));
        if !path.is_file() {
            std::fs::write(&path, noise_glb(bytes)).context("a model cannot be written")?;
        }
        Ok(path)
    }
}

fn noise_glb(bytes: usize) -> Vec<u8> {
    let triangle = [0f32, 0., 0., 1., 0., 0., 0., 1., 0.];
    let mut bin: Vec<u8> = triangle.iter().flat_map(|value| value.to_le_bytes()).collect();
    let mut random = 0x9E37_79B9_7F4A_7C15u64 ^ bytes as u64;
    let noise = bytes.saturating_sub(1000).next_multiple_of(8);
    bin.reserve(noise);
    for _ in 0..noise / 8 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        bin.extend(random.wrapping_mul(0x2545_F491_4F6C_DD1D).to_le_bytes());
    }
    bin.resize(bin.len().next_multiple_of(4), 0);
    let json = json!({
        "asset": { "version": "2.0" },
        "scene": 0, "scenes": [{ "nodes": [0] }], "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 } }] }],
        "accessors": [{
            "bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 3,
            "min": [0, 0, 0], "max": [1, 1, 0],
        }],
        "bufferViews": [
            { "buffer": 0, "byteOffset": 0, "byteLength": 36 },
            { "buffer": 0, "byteOffset": 36, "byteLength": bin.len() - 36 },
        ],
        "buffers": [{ "byteLength": bin.len() }],
    });
    let mut text = json.to_string().into_bytes();
    text.resize(text.len().next_multiple_of(4), b' ');
    let mut file = b"glTF\x02\0\0\0".to_vec();
    for (kind, chunk) in [(b"JSON", &text), (b"BIN\0", &bin)] {
        file.extend((chunk.len() as u32).to_le_bytes());
        file.extend(kind);
        file.extend(chunk);
    }
    let length = file.len() as u32 + 4;
    file.splice(8..8, length.to_le_bytes());
    file
}
