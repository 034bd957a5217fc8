//! A model that is worth sending in parts.

#![allow(clippy::unwrap_used, reason = "a helper of tests")]

use serde_json::json;

use super::glb::{Glb, U8};

/// A wavy sheet of `side` x `side` vertices, coloured, in one mesh.
pub fn sheet(side: usize) -> Vec<u8> {
    let mut glb = Glb::new();
    let (mut positions, mut normals, mut colors, mut indices) = (vec![], vec![], vec![], vec![]);
    for n in 0..side * side {
        let (x, y) = ((n % side) as f32, (n / side) as f32);
        positions.extend([x, y, (x * 0.31).sin() * 4.0 + (y * 0.17).cos() * 3.0]);
        let (dx, dy) = (-1.24 * (x * 0.31).cos(), 0.51 * (y * 0.17).sin());
        let length = (dx * dx + dy * dy + 1.0f32).sqrt();
        normals.extend([dx / length, dy / length, 1.0 / length]);
        colors.extend([(n % 251) as u8, (n / 7) as u8, 200, 255]);
        if n % side + 1 < side && n / side + 1 < side {
            let (n, up) = (n as u32, side as u32);
            indices.extend([n, n + 1, n + up, n + 1, n + up + 1, n + up]);
        }
    }
    let (positions, normals) = (glb.floats("VEC3", &positions), glb.floats("VEC3", &normals));
    let colors = glb.accessor(U8, "VEC4", side * side, &colors);
    glb.accessor_mut(colors)["normalized"] = json!(true);
    let indices = glb.indices(&indices);
    glb.mesh(json!([{
        "attributes": { "POSITION": positions, "NORMAL": normals, "COLOR_0": colors }, "indices": indices,
    }]));
    glb.build()
}

/// Triangles and vertices of a GLB.
pub fn counts(glb: &[u8]) -> (u64, u64) {
    use convene::model::{Cancel, Limits, decode};
    let counts = decode(glb, &Limits::default(), &Cancel::default()).unwrap().counts;
    (counts.triangles, counts.vertices)
}
