//! Whether two models show the same: triangle by triangle, in whatever order.

#![allow(clippy::unwrap_used, reason = "a helper of tests")]

use std::collections::HashMap;

use convene::model::{DecodedModel, Topology};
use glam::{IVec3, Vec3, Vec3A};

/// A corner as it is shown.
#[derive(Debug, Clone, Copy)]
struct Corner {
    position: Vec3,
    /// None: no direction.
    normal: Option<Vec3>,
    color: [u32; 4],
    uvs: [Option<[u32; 2]>; 2],
}

/// A triangle as it is shown, wound as it is seen.
type Triangle = (Option<usize>, [Corner; 3]);

/// What may differ.
#[derive(Debug, Clone, Copy)]
pub struct Tolerance {
    /// In the model's units.
    pub position: f32,
    pub degrees: f32,
}

fn triangles(model: &DecodedModel) -> Vec<Triangle> {
    let mut all = Vec::new();
    for instance in &model.instances {
        let primitive = &model.primitives[instance.primitive];
        if primitive.topology != Topology::Triangles {
            continue;
        }
        let turn = instance.transform.matrix3.inverse().transpose();
        let corner = |&index: &u32| {
            let at = index as usize;
            let normal = Vec3::from(turn * Vec3A::from(primitive.normals.as_ref().unwrap()[at]));
            let uv = |list: Option<&[[f32; 2]]>| list.map(|list| list[at].map(f32::to_bits));
            Corner {
                position: instance.transform.transform_point3(primitive.positions[at].into()),
                normal: normal.try_normalize(),
                color: primitive.colors.as_ref().map_or([1.0; 4], |c| c.linear(at)).map(f32::to_bits),
                uvs: [uv(primitive.uvs.as_deref()), uv(primitive.uvs_1.as_deref())],
            }
        };
        for corners in primitive.indices.as_chunks::<3>().0 {
            let [a, b, c] = [0, 1, 2].map(|at| corner(&corners[at]));
            let wound = if instance.flips_winding() { [a, c, b] } else { [a, b, c] };
            all.push((primitive.material, wound));
        }
    }
    all
}

fn corners_agree(a: &Corner, b: &Corner, tolerance: Tolerance) -> bool {
    let normals = match (a.normal, b.normal) {
        (Some(a), Some(b)) => a.angle_between(b).to_degrees() <= tolerance.degrees,
        // What is no direction may become any.
        _ => true,
    };
    normals && a.position.distance(b.position) <= tolerance.position && (a.color, a.uvs) == (b.color, b.uvs)
}

fn agree(a: &Triangle, b: &Triangle, tolerance: Tolerance) -> bool {
    let turned = |by: usize| (0..3).all(|at| corners_agree(&a.1[at], &b.1[(at + by) % 3], tolerance));
    a.0 == b.0 && (0..3).any(turned)
}

fn middle(triangle: &Triangle) -> Vec3 {
    triangle.1.iter().map(|corner| corner.position / 3.0).sum()
}

/// What differs first; none if nothing does.
pub fn difference(a: &DecodedModel, b: &DecodedModel, tolerance: Tolerance) -> Option<String> {
    let counts = |model: &DecodedModel| (model.counts.triangles, model.counts.lines, model.counts.points);
    if counts(a) != counts(b) {
        return Some(format!("triangles, lines, points: {:?} and {:?}", counts(a), counts(b)));
    }
    let (low, high) = (a.bounds.min - b.bounds.min, a.bounds.max - b.bounds.max);
    if low.abs().max(high.abs()).max_element() > tolerance.position {
        return Some(format!("boxes: {:?} and {:?}", a.bounds, b.bounds));
    }
    if a.materials != b.materials || a.lights.len() != b.lights.len() {
        return Some("materials or lights".to_owned());
    }
    let pixels = |model: &DecodedModel| {
        model.textures.iter().map(|t| (t.width, t.height, t.rgba8.clone(), t.sampler)).collect::<Vec<_>>()
    };
    if pixels(a) != pixels(b) {
        return Some("textures".to_owned());
    }
    let (a, b) = (triangles(a), triangles(b));
    // Cells far larger than the tolerance; beside an edge both are looked into.
    let side = (tolerance.position * 64.0).max(f32::MIN_POSITIVE);
    let cell = |point: Vec3| (point / side).floor().as_ivec3();
    let mut cells: HashMap<IVec3, Vec<usize>> = HashMap::new();
    for (number, triangle) in b.iter().enumerate() {
        cells.entry(cell(middle(triangle))).or_default().push(number);
    }
    for triangle in &a {
        let at = middle(triangle);
        let (low, high) = (cell(at - 2.0 * tolerance.position), cell(at + 2.0 * tolerance.position));
        let mut found = false;
        'near: for x in low.x..=high.x {
            for (y, z) in (low.y..=high.y).flat_map(|y| (low.z..=high.z).map(move |z| (y, z))) {
                let Some(list) = cells.get_mut(&IVec3::new(x, y, z)) else { continue };
                let fits = list.iter().position(|&number| agree(triangle, &b[number], tolerance));
                if let Some(fits) = fits {
                    list.swap_remove(fits);
                    found = true;
                    break 'near;
                }
            }
        }
        if !found {
            return Some(format!("a triangle at {at}: {triangle:?}"));
        }
    }
    None
}
