//! Convene: a meeting around 3D models.

pub mod cli;
pub mod files;
pub mod headless;
pub mod model;
pub mod net;
pub mod notice;
pub mod opening;
pub mod session;
pub mod settings;
pub mod threads;
pub mod transfer;
pub mod wire;
pub mod workers;
