//! Triangles in an order in which each hangs on to the one before: a walk over the
//! surface that turns right wherever it can, so that it winds around what it has
//! seen, as Edgebreaker does. Nearly every triangle then is 'the next on the right'
//! or 'the next on the left', its third corner new or the next of the lap before.

/// The same triangles in another order, corners turned at most. Indices are below
/// `vertices`.
#[must_use]
pub fn into_strips(triangles: &[[u32; 3]], vertices: usize) -> Vec<[u32; 3]> {
    let mut walk = Walk::new(triangles, vertices);
    let mut order = Vec::with_capacity(triangles.len());
    let mut from = 0;
    // Edges that the walk has passed by; those of the last triangle on top.
    let mut stack: Vec<(u32, u32)> = Vec::new();
    while order.len() < triangles.len() {
        let mut next = None;
        while let Some((a, b)) = stack.pop() {
            next = walk.across(a, b);
            if next.is_some() {
                break;
            }
        }
        let (number, [a, b, c]) = match next {
            Some(found) => found,
            None => {
                while walk.done.get(from).copied().unwrap_or(false) {
                    from += 1;
                }
                let Some(&triangle) = triangles.get(from) else { break };
                (from, triangle)
            }
        };
        order.push([a, b, c]);
        walk.take(number);
        // Right first. Seen from the neighbours, edges run the other way.
        stack.push((a, c));
        stack.push((c, b));
    }
    order
}

struct Walk<'a> {
    triangles: &'a [[u32; 3]],
    done: Vec<bool>,
    /// Of each vertex: where its triangles begin in `around`, and how many are left
    /// (the first so many).
    start: Vec<u32>,
    left: Vec<u32>,
    around: Vec<u32>,
}

impl<'a> Walk<'a> {
    fn new(triangles: &'a [[u32; 3]], vertices: usize) -> Self {
        let mut left = vec![0u32; vertices];
        for &corner in triangles.as_flattened() {
            left[corner as usize] += 1;
        }
        let mut start = Vec::with_capacity(vertices);
        let mut sum = 0;
        for &count in &left {
            start.push(sum);
            sum += count;
        }
        let mut filled = start.clone();
        let mut around = vec![0; triangles.len() * 3];
        for (number, triangle) in (0u32..).zip(triangles) {
            for &corner in triangle {
                around[filled[corner as usize] as usize] = number;
                filled[corner as usize] += 1;
            }
        }
        Self { triangles, done: vec![false; triangles.len()], start, left, around }
    }

    /// A triangle that is left and has this edge, turned so that the edge comes first.
    fn across(&self, a: u32, b: u32) -> Option<(usize, [u32; 3])> {
        let start = self.start[a as usize] as usize;
        let around = &self.around[start..start + self.left[a as usize] as usize];
        around.iter().find_map(|&number| match self.triangles[number as usize] {
            [x, y, z] if (x, y) == (a, b) => Some((number as usize, [x, y, z])),
            [x, y, z] if (y, z) == (a, b) => Some((number as usize, [y, z, x])),
            [x, y, z] if (z, x) == (a, b) => Some((number as usize, [z, x, y])),
            _ => None,
        })
    }

    fn take(&mut self, number: usize) {
        self.done[number] = true;
        for corner in self.triangles[number] {
            let start = self.start[corner as usize] as usize;
            let left = self.left[corner as usize] as usize;
            let list = &mut self.around[start..start + left];
            if let Some(at) = list.iter().position(|&other| other as usize == number) {
                list.swap(at, left - 1);
                self.left[corner as usize] -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_triangle_stays(list in prop::collection::vec(0u32..50, 0..600)) {
            let triangles = list.as_chunks::<3>().0;
            let mut strips = into_strips(triangles, 50);
            let mut before = triangles.to_vec();
            let turned = |&[a, b, c]: &[u32; 3]| [a, b, c].min([b, c, a]).min([c, a, b]);
            strips.sort_by_key(turned);
            before.sort_by_key(turned);
            let (strips, before): (Vec<_>, Vec<_>) =
                (strips.iter().map(turned).collect(), before.iter().map(turned).collect());
            prop_assert_eq!(strips, before);
        }
    }
}
