//! Convene: a meeting around 3D models.

pub mod model;
