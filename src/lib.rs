//! Convene: a meeting around 3D models.

pub mod files;
pub mod net;
pub mod notice;
pub mod session;
pub mod settings;
pub mod threads;
pub mod transfer;
pub mod wire;
pub mod workers;
