//! Convene: a meeting around 3D models.

pub mod model;
pub mod session;
pub mod transfer;
pub mod wire;
