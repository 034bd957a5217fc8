//! Whether there is a screen for tests with windows.

/// Whether there is one; where there is none that is said, and in CI it fails.
pub fn has_display() -> bool {
    let here = std::env::var_os("CONVENE_NO_DISPLAY").is_none()
        && ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    assert!(
        here || std::env::var("CI").as_deref() != Ok("true"),
        "there is no display, and CI skips nothing"
    );
    if !here {
        println!("skipped: there is no display; scripts/test has one in memory");
    }
    here
}
