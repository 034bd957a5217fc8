//! Platforms: what shows the app and tells it what the person does.
//!
//! They fill [`app::input`](crate::app::input); nothing depends on them but the
//! program's start.

pub mod desktop;
#[cfg(feature = "xr")]
mod xr;
