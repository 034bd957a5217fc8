//! A model that is worth sending in parts.

#![allow(clippy::unwrap_used, reason = "a helper of tests")]

use serde_json::json;

use super::glb::Glb;

/// A wavy sheet of `side` x `side` vertices, coloured, in one mesh.
pub fn sheet(side: usize) -> Vec<u8> {
    let mut glb = Glb::new();
    let primitive = glb.sheet(side, |n, x, y| {
        let (dx, dy) = (-1.24 * (x * 0.31).cos(), 0.51 * (y * 0.17).sin());
        let length = (dx * dx + dy * dy + 1.0f32).sqrt();
        let position = [x, y, (x * 0.31).sin() * 4.0 + (y * 0.17).cos() * 3.0];
        (position, [dx / length, dy / length, 1.0 / length], [(n % 251) as u8, (n / 7) as u8, 200, 255])
    });
    glb.mesh(json!([primitive]));
    glb.build()
}

/// Triangles and vertices of a GLB.
pub fn counts(glb: &[u8]) -> (u64, u64) {
    use convene::model::{Cancel, Limits, decode};
    let counts = decode(glb, &Limits::default(), &Cancel::default()).unwrap().counts;
    (counts.triangles, counts.vertices)
}
