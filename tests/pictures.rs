//! What models look like: pictures of a real window beside kept ones.
//!
//! Needs a display; `scripts/test` gives it one in memory. Pictures are compared
//! small and with a tolerance, because drivers differ in edges and rounding. With
//! `CONVENE_KEEP_PICTURES=1` the kept ones are made anew: look at them then.
#![cfg(feature = "app")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

#[path = "common/display.rs"]
mod display;
#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/glb.rs"]
mod glb;
#[path = "pictures/models.rs"]
mod models;

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use image::{RgbImage, imageops};

use display::has_display;

/// Seconds between pictures of one window.
const EVERY: f64 = 2.0;
/// Windows drawn by a CPU that does other things as well take a while.
const LONGEST: f64 = 60.0;
/// Side of the pictures that are compared, in pixels.
const SIDE: u32 = 96;
/// Mean difference of a colour channel that is the same picture, of 255.
const TOLERANCE: f64 = 4.0;

/// What the dock leaves free, small.
fn essence(picture: &RgbImage) -> RgbImage {
    let side = picture.height().min(picture.width() * 27 / 50);
    let cropped = imageops::crop_imm(picture, 0, 0, side, side).to_image();
    imageops::resize(&cropped, SIDE, SIDE, imageops::FilterType::Triangle)
}

fn difference(a: &RgbImage, b: &RgbImage) -> f64 {
    let sum: u64 = a.as_raw().iter().zip(b.as_raw()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / a.as_raw().len() as f64
}

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures").join(format!("{name}.png"))
}

/// Opens a window with a model and waits for a picture that fits, or gives the last one.
fn show(name: &str, file: &Path, fits: impl Fn(&RgbImage) -> bool) -> RgbImage {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pictures").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_convene"));
    command.arg(file).arg("--settings").arg(folder.join("settings.json"));
    command.args(["--size", "800x450", "--cache", "none", "--exit-after", &LONGEST.to_string()]);
    let shots: Vec<PathBuf> =
        (1..(LONGEST / EVERY) as u32).map(|n| folder.join(format!("{n:02}.png"))).collect();
    for (number, shot) in shots.iter().enumerate() {
        command.arg("--screenshot").arg(format!("{}={}", (number + 1) as f64 * EVERY, shot.display()));
    }
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs_f64(LONGEST * 2.0);
    let mut last = None;
    for shot in &shots {
        let picture = loop {
            if let Ok(picture) = image::open(shot) {
                break Some(picture.to_rgb8());
            }
            if child.try_wait().unwrap().is_some() || Instant::now() > until {
                break None;
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        let Some(picture) = picture else { break };
        let picture = essence(&picture);
        let done = fits(&picture);
        last = Some(picture);
        if done {
            break;
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    last.unwrap_or_else(|| panic!("{name}: the window took no picture"))
}

#[test]
fn models_look_as_they_did() {
    if !has_display() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let keep = std::env::var_os("CONVENE_KEEP_PICTURES").is_some();
    let mut failures = Vec::new();
    for (name, bytes) in models::all() {
        let file = folder.path().join(format!("{name}.glb"));
        std::fs::write(&file, bytes).unwrap();
        let path = kept(name);
        if keep {
            // What does not change for some seconds is whole.
            let before = std::cell::RefCell::new(Vec::new());
            let picture = show(name, &file, |picture| {
                let mut before = before.borrow_mut();
                before.push(picture.clone());
                before.len() > 4 && before.iter().rev().take(3).all(|other| difference(picture, other) < 0.05)
            });
            picture.save(&path).unwrap();
            continue;
        }
        let expected = image::open(&path).unwrap().to_rgb8();
        let picture = show(name, &file, |picture| difference(picture, &expected) < TOLERANCE);
        let off = difference(&picture, &expected);
        println!("{name}: {off:.2} of 255 off");
        if off >= TOLERANCE {
            let seen = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pictures/{name}.png"));
            picture.save(&seen).unwrap();
            failures.push(format!("{} is {off:.1} off {}", seen.display(), path.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_different_picture_is_found_to_be_different() {
    let expected = image::open(kept("nested")).unwrap().to_rgb8();
    let other = image::open(kept("textured")).unwrap().to_rgb8();
    assert!(difference(&expected, &other) > TOLERANCE * 1.5, "{}", difference(&expected, &other));
    assert!(difference(&expected, &expected) < TOLERANCE);
}
