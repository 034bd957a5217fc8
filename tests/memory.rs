//! How much memory opening takes at its peak, beside the size of the file.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

use std::{path::Path, process::Command};

use bytes::Bytes;
use convene::model::{
    Cancel, Limits,
    bvh::{Bvh, Solids},
    decode_shared,
    parts::parts,
    read_model_file,
};

/// Of the file's bytes, those included.
const MOST_TO_DECODE: f64 = 2.5;
/// With the meshes for the GPU made and the tree for rays built.
const MOST_TO_PREPARE: f64 = 2.5;

const STAGE: &str = "CONVENE_MEMORY_STAGE";
const MODELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/models");

/// Most bytes that this process has had in memory so far.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// Runs in a process of its own, so that nothing else is counted.
#[test]
fn stage() {
    let Ok(stage) = std::env::var(STAGE) else { return };
    let (stage, file) = stage.split_once(' ').unwrap();
    let before = peak();
    let packed = read_model_file(Path::new(file), &Limits::default()).unwrap();
    let glb = Bytes::from(packed.glb);
    let mut model = decode_shared(&glb, &Limits::default(), &Cancel::default()).unwrap();
    println!("decoded {}", peak() - before);
    if stage == "prepare" {
        let solids = Solids::of(&model);
        let made = parts(&mut model, 4 << 20);
        println!("cut {}", peak() - before);
        let tree = Bvh::over(solids);
        let bytes: usize = made.iter().map(|part| part.mesh.bytes()).sum();
        println!("gpu {bytes} draws {}", made.iter().map(|part| part.places.len()).sum::<usize>());
        drop((tree, made));
    }
    println!("peak {}", peak() - before);
}

fn measured(stage: &str, file: &Path) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "stage", "--nocapture"])
        .env(STAGE, format!("{stage} {}", file.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn number(text: &str, name: &str) -> u64 {
    let mut words = text.split_whitespace().skip_while(|word| *word != name);
    words.nth(1).unwrap().parse().unwrap()
}

#[test]
fn peaks_are_bounded() {
    for (name, most_draws) in [("surface885k.glb", 8), ("molecule.glb", 40)] {
        let file = Path::new(MODELS).join(name);
        if !file.is_file() {
            println!("{} is missing: nothing is measured", file.display());
            return;
        }
        let size = std::fs::metadata(&file).unwrap().len();
        let decoding = number(&measured("decode", &file), "peak") as f64 / size as f64;
        let text = measured("prepare", &file);
        let preparing = number(&text, "peak") as f64 / size as f64;
        let (gpu, draws) = (number(&text, "gpu"), number(&text, "draws"));
        println!(
            "{name}: {decoding:.2} x the file to decode, {preparing:.2} x to prepare, {gpu} bytes for the GPU in {draws} draws"
        );
        assert!(decoding <= MOST_TO_DECODE, "{name}: {decoding}");
        assert!(preparing <= MOST_TO_PREPARE, "{name}: {preparing}");
        assert!(gpu < size * 6 / 10 && draws <= most_draws, "{name}: {gpu} of {size}, {draws} draws");
    }
}
