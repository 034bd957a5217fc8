//! Convene: a meeting around 3D models.

#[cfg(feature = "app")]
pub mod app;
pub mod files;
pub mod model;
pub mod net;
pub mod notice;
#[cfg(feature = "app")]
pub mod platform;
pub mod session;
pub mod settings;
pub mod threads;
pub mod transfer;
pub mod wire;
pub mod workers;
