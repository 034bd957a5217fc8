//! Convene: a meeting around 3D models.
