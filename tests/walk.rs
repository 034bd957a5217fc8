//! A walk through every control of the window, by mouse and keyboard, as a
//! person would: each is found by its id, pressed where it is on the screen, and
//! what it did is looked up. Pictures stay in the target folder.
//!
//! Needs a display; `scripts/test` gives it one in memory. A process can open
//! only one window system, so each size runs in a process of its own.
#![cfg(feature = "app")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test, its helpers included"
)]

#[path = "walk/company.rs"]
mod company;
#[path = "common/display.rs"]
mod display;
#[path = "walk/driver.rs"]
mod driver;
#[path = "walk/guide.rs"]
mod guide;
#[path = "walk/layout.rs"]
mod layout;
#[path = "walk/steps.rs"]
mod steps;

use std::{
    process::Command,
    sync::{Mutex, PoisonError},
};

use display::has_display;

/// One after the other: a processor that draws has enough to do with one.
static ALONE: Mutex<()> = Mutex::new(());

const SIZE: &str = "CONVENE_WALK_SIZE";

/// Runs the walk in a process of its own.
fn walk_at(size: &str) {
    if !has_display() {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_walk_itself", "--ignored", "--nocapture"])
        .env(SIZE, size)
        .status()
        .unwrap();
    assert!(status.success(), "the walk at {size} failed: see above");
}

#[test]
fn every_control_at_1280x800() {
    walk_at("1280x800");
}

#[test]
fn every_control_at_1920x1080() {
    walk_at("1920x1080");
}

#[test]
fn two_windows_by_the_guide() {
    if !has_display() {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("guide");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let people = ["the_host_of_two", "the_guest_of_two"].map(|name| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--ignored", "--nocapture"])
            .env(guide::FOLDER, &folder)
            .spawn()
            .unwrap()
    });
    let ends = people.map(|mut person| person.wait().unwrap().success());
    assert_eq!(ends, [true, true], "host and guest: see above");
}

#[test]
#[ignore = "run by another, in a process of its own"]
fn the_host_of_two() {
    guide::host();
}

#[test]
#[ignore = "run by another, in a process of its own"]
fn the_guest_of_two() {
    guide::guest();
}

#[test]
#[ignore = "run by the others, in a process for each size"]
fn the_walk_itself() {
    let size = std::env::var(SIZE).expect("the size of the window, such as 1280x800");
    let (width, height) = size.split_once('x').unwrap();
    steps::walk((width.parse().unwrap(), height.parse().unwrap()));
}
