//! Seeds for the fuzzer: `seeds FROM... TO` takes every small model below the folders,
//! side files packed in, as the target `gltf` reads them.

use std::{env, fs, path::{Path, PathBuf}};

use convene::model::{Limits, read_model_file};

/// Larger ones are mutated too slowly to be of use.
const MOST_BYTES: usize = 200_000;

fn main() {
    let mut folders: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let Some(to) = folders.pop() else { return };
    let mut files = Vec::new();
    for folder in folders {
        walk(&folder, &mut files);
    }
    fs::create_dir_all(&to).expect("the folder for the seeds cannot be made");
    let mut written = 0;
    for file in files {
        let Ok(packed) = read_model_file(&file, &Limits::default()) else { continue };
        if packed.glb.len() > MOST_BYTES {
            continue;
        }
        let seed = unpacked(&packed.glb).unwrap_or(packed.glb);
        fs::write(to.join(format!("seed-{written:03}")), seed).expect("a seed cannot be written");
        written += 1;
    }
    println!("{written} seeds");
}

/// The description, a zero, and the binary chunk.
fn unpacked(glb: &[u8]) -> Option<Vec<u8>> {
    let word = |at: usize| Some(u32::from_le_bytes(glb.get(at..at + 4)?.try_into().ok()?) as usize);
    let end = 20 + word(12)?;
    let mut seed = glb.get(20..end)?.trim_ascii_end().to_vec();
    seed.push(0);
    seed.extend(glb.get(end + 8..).unwrap_or_default());
    Some(seed)
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.extension().and_then(|e| e.to_str()) {
            _ if path.is_dir() => walk(&path, found),
            Some("glb" | "gltf") => found.push(path),
            _ => {}
        }
    }
}
