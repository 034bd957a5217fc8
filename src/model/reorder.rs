//! Triangles in the order in which a GPU draws them with the least work.
//!
//! A GPU remembers the last few vertices that it has transformed; triangles that
//! share vertices should follow each other closely, and vertices should lie in the
//! order in which they are needed. Surfaces straight from marching cubes transform
//! each vertex twice as often as they need to.

use super::decoded::{Primitive, Topology};
use super::simplify::drop_unused;

/// Vertices that a GPU is taken to remember.
const REMEMBERED: u32 = 16;

/// Fewer vertices transformed per triangle are not worth the work.
const GOOD: f32 = 0.75;

/// Vertices transformed per triangle drawn, with a memory of the last sixteen: at
/// best about 0.6, at worst 3.
#[must_use]
pub fn transformed_per_triangle(indices: &[u32], vertices: usize) -> f32 {
    let mut used_at = vec![0u32; vertices];
    let mut now = REMEMBERED + 1;
    for &index in indices {
        let Some(at) = used_at.get_mut(index as usize) else { continue };
        if now - *at > REMEMBERED {
            *at = now;
            now = now.saturating_add(1);
        }
    }
    (now - REMEMBERED - 1) as f32 / (indices.len() / 3).max(1) as f32
}

/// Reorders a primitive's triangles and vertices; what is drawn stays the same.
/// Unused vertices are dropped.
pub fn reorder(primitive: &mut Primitive) {
    if primitive.topology != Topology::Triangles {
        return;
    }
    if transformed_per_triangle(&primitive.indices, primitive.positions.len()) > GOOD {
        primitive.indices = fans(&primitive.indices, primitive.positions.len()).into();
    }
    drop_unused(primitive);
}

/// Goes from vertex to vertex and draws all triangles around each; next comes the one
/// that is still remembered and was used longest ago. Takes time in proportion to
/// the number of triangles.
fn fans(indices: &[u32], vertices: usize) -> Vec<u32> {
    let (triangles, _) = indices.as_chunks::<3>();
    let around = Around::of(triangles, vertices);
    let mut left: Vec<u32> = (0..vertices).map(|vertex| around.range(vertex).len() as u32).collect();
    let mut used_at = vec![0u32; vertices];
    let mut drawn = vec![false; triangles.len()];
    let mut ordered = Vec::with_capacity(indices.len());
    let mut now = REMEMBERED + 1;
    // Vertices met, to go back to where there is a dead end.
    let mut met: Vec<u32> = Vec::new();
    let mut cursor = 0usize;
    let mut candidates: Vec<u32> = Vec::new();
    let mut fan = (vertices > 0).then_some(0usize);
    while let Some(center) = fan {
        candidates.clear();
        for &number in around.triangles(center) {
            let (Some(done), Some(triangle)) =
                (drawn.get_mut(number as usize), triangles.get(number as usize))
            else {
                continue;
            };
            if std::mem::replace(done, true) {
                continue;
            }
            for &vertex in triangle {
                ordered.push(vertex);
                met.push(vertex);
                candidates.push(vertex);
                if let Some(left) = left.get_mut(vertex as usize) {
                    *left = left.saturating_sub(1);
                }
                if let Some(at) = used_at.get_mut(vertex as usize)
                    && now - *at > REMEMBERED
                {
                    *at = now;
                    now = now.saturating_add(1);
                }
            }
        }
        fan = best(&candidates, &left, &used_at, now);
        while fan.is_none() {
            match met.pop() {
                Some(vertex) if left.get(vertex as usize).is_some_and(|&left| left > 0) => {
                    fan = Some(vertex as usize)
                }
                Some(_) => {}
                None => break,
            }
        }
        while fan.is_none() && cursor < vertices {
            fan = left.get(cursor).is_some_and(|&left| left > 0).then_some(cursor);
            cursor += 1;
        }
    }
    ordered
}

/// The vertex with triangles left that will still be remembered when they are drawn.
fn best(candidates: &[u32], left: &[u32], used_at: &[u32], now: u32) -> Option<usize> {
    let mut found = None;
    let mut most = None;
    for &vertex in candidates {
        let vertex = vertex as usize;
        let (Some(&left), Some(&at)) = (left.get(vertex), used_at.get(vertex)) else { continue };
        if left == 0 {
            continue;
        }
        let age = now - at;
        // Drawing what is left around it takes two more vertices per triangle.
        let worth = if age + 2 * left <= REMEMBERED { age } else { 0 };
        if most.is_none_or(|most| worth > most) {
            (found, most) = (Some(vertex), Some(worth));
        }
    }
    found
}

/// The triangles around each vertex.
struct Around {
    starts: Vec<u32>,
    numbers: Vec<u32>,
}

impl Around {
    fn of(triangles: &[[u32; 3]], vertices: usize) -> Self {
        let mut starts = vec![0u32; vertices + 1];
        for &vertex in triangles.as_flattened() {
            if let Some(start) = starts.get_mut(vertex as usize + 1) {
                *start += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut filled = starts.clone();
        let mut numbers = vec![0u32; triangles.len() * 3];
        for (number, triangle) in triangles.iter().enumerate() {
            for &vertex in triangle {
                let Some(at) = filled.get_mut(vertex as usize) else { continue };
                if let Some(to) = numbers.get_mut(*at as usize) {
                    *to = u32::try_from(number).unwrap_or(u32::MAX);
                }
                *at += 1;
            }
        }
        Self { starts, numbers }
    }

    fn range(&self, vertex: usize) -> std::ops::Range<usize> {
        let at = |i: usize| self.starts.get(i).map_or(0, |&start| start as usize);
        at(vertex)..at(vertex + 1)
    }

    fn triangles(&self, vertex: usize) -> &[u32] {
        self.numbers.get(self.range(vertex)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A grid of n by n fields, its triangles in an order that remembers nothing.
    fn shuffled(n: u32) -> (Vec<u32>, usize) {
        let at = |x: u32, y: u32| y * (n + 1) + x;
        let mut triangles: Vec<[u32; 3]> = (0..n)
            .flat_map(|y| (0..n).map(move |x| (x, y)))
            .flat_map(|(x, y)| {
                [[at(x, y), at(x + 1, y), at(x + 1, y + 1)], [at(x, y), at(x + 1, y + 1), at(x, y + 1)]]
            })
            .collect();
        triangles.sort_by_key(|t| t[0].wrapping_mul(2_654_435_761));
        (triangles.into_flattened(), ((n + 1) * (n + 1)) as usize)
    }

    fn as_set(indices: &[u32]) -> Vec<[u32; 3]> {
        let mut set: Vec<[u32; 3]> = indices.as_chunks::<3>().0.to_vec();
        set.sort_unstable();
        set
    }

    #[test]
    fn vertices_are_remembered() {
        let (indices, vertices) = shuffled(60);
        assert!(transformed_per_triangle(&indices, vertices) > 1.2);
        let ordered = fans(&indices, vertices);
        assert_eq!(as_set(&ordered), as_set(&indices));
        let after = transformed_per_triangle(&ordered, vertices);
        assert!(after < 0.8, "{after}");
        assert_eq!(transformed_per_triangle(&[0, 1, 2, 2, 1, 0], 3), 1.5);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(corners in prop::collection::vec(0u32..50, 0..300)) {
            let indices = &corners[..corners.len() / 3 * 3];
            prop_assert_eq!(as_set(&fans(indices, 50)), as_set(indices));
        }
    }
}
