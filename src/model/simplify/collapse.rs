//! Passes over all edges: the cheapest collapses that do not touch each other.

use glam::Vec3;

use super::quadric::Quadric;
use super::weld::Welded;
use super::{Cancel, Primitive, drop_unused};

/// A triangle may turn so far that this is left of the cosine between its old and new normal.
const LEAST_TURN: f32 = 0.2;
/// How much a change of colour from black to white counts, as a share of the edge's squared length.
const COLOR_WEIGHT: f32 = 0.3;
/// A border's own planes count as much as this many triangles.
const BORDER_WEIGHT: f32 = 10.0;
/// A pass collapses what costs at most this times the edge that just has to go.
const SLACK: f32 = 1.5;
/// A pass that removes fewer triangles than this share of them is the last.
const LEAST_PROGRESS: f32 = 0.002;
const MAX_PASSES: usize = 64;
/// A place with more triangles around it stays: looking at them all again and again would take too long.
const MOST_AROUND: usize = 64;

/// One place goes, all its triangles stretch to another.
#[derive(Clone, Copy)]
struct Collapse {
    from: u32,
    to: u32,
    cost: f32,
}

struct Mesh<'a> {
    welded: &'a Welded,
    /// Of each place, with the whole at unit size.
    points: Vec<Vec3>,
    colors: Vec<[f32; 3]>,
    quadrics: Vec<Quadric>,
    /// What is left, by vertices.
    triangles: Vec<[u32; 3]>,
}

/// Collapses edges until the primitive has at most `target` triangles or no more can go.
pub(super) fn run(primitive: &mut Primitive, welded: &Welded, target: usize, cancel: &Cancel) {
    let size = primitive.bounds.largest_side();
    let scale = if size > 0.0 { size.recip().min(f32::MAX) } else { 1.0 };
    let origin = primitive.bounds.min;
    let point = |&vertex: &u32| {
        let position = primitive.positions.get(vertex as usize).copied().unwrap_or_default();
        (Vec3::from(position) - origin) * scale
    };
    let color = |&vertex: &u32| match &primitive.colors {
        Some(colors) => {
            let [r, g, b, _] = colors.linear(vertex as usize);
            // As eyes see it, about: the square root is near enough to sRGB.
            [r, g, b].map(f32::sqrt)
        }
        None => [0.0; 3],
    };
    let (triangles, _) = primitive.indices.as_chunks::<3>();
    let mut mesh = Mesh {
        welded,
        points: welded.vertices.iter().map(point).collect(),
        colors: welded.vertices.iter().map(color).collect(),
        quadrics: vec![Quadric::default(); welded.vertices.len()],
        triangles: triangles.to_vec(),
    };
    mesh.drop_flat();
    mesh.add_planes();
    for _ in 0..MAX_PASSES {
        let before = mesh.triangles.len();
        if before <= target || cancel.is_cancelled() {
            break;
        }
        mesh.pass(target);
        let removed = before - mesh.triangles.len();
        if (removed as f32) < before as f32 * LEAST_PROGRESS {
            break;
        }
    }
    primitive.indices = mesh.triangles.into_flattened().into();
    drop_unused(primitive);
    primitive.bounds = super::super::Bounds::of_points(&primitive.positions);
}

impl Mesh<'_> {
    fn place(&self, vertex: u32) -> u32 {
        self.welded.places.get(vertex as usize).copied().unwrap_or(0)
    }

    fn places(&self, triangle: &[u32; 3]) -> [u32; 3] {
        triangle.map(|vertex| self.place(vertex))
    }

    fn point(&self, place: u32) -> Vec3 {
        self.points.get(place as usize).copied().unwrap_or_default()
    }

    fn drop_flat(&mut self) {
        let places = &self.welded.places;
        let place = |vertex: u32| places.get(vertex as usize).copied().unwrap_or(0);
        self.triangles.retain(|triangle| {
            let [a, b, c] = triangle.map(place);
            a != b && b != c && c != a
        });
    }

    /// The planes of all triangles, and upright ones along open borders.
    fn add_planes(&mut self) {
        let around = Around::of(self);
        let mut quadrics = std::mem::take(&mut self.quadrics);
        let mut add = |place: u32, quadric: &Quadric| {
            if let Some(sum) = quadrics.get_mut(place as usize) {
                sum.add(quadric);
            }
        };
        for triangle in &self.triangles {
            let corners = self.places(triangle);
            let [a, b, c] = corners.map(|place| self.point(place));
            let cross = (b - a).cross(c - a);
            let area = cross.length();
            let normal = cross.normalize_or_zero();
            let quadric = Quadric::plane(normal, a, area);
            for corner in corners {
                add(corner, &quadric);
            }
            let [p, q, r] = corners;
            for (from, to) in [(p, q), (q, r), (r, p)] {
                if around.is_border(from, to) {
                    let along = self.point(to) - self.point(from);
                    let upright = along.cross(normal).normalize_or_zero();
                    let quadric =
                        Quadric::plane(upright, self.point(from), along.length_squared() * BORDER_WEIGHT);
                    add(from, &quadric);
                    add(to, &quadric);
                }
            }
        }
        self.quadrics = quadrics;
    }

    fn pass(&mut self, target: usize) {
        let around = Around::of(self);
        let mut collapses = self.candidates(&around);
        // Each removes two triangles; some will turn out to be impossible.
        let goal = self.triangles.len().saturating_sub(target);
        let by_cost = |a: &Collapse, b: &Collapse| a.cost.total_cmp(&b.cost);
        let wanted = (goal / 2).min(collapses.len().saturating_sub(1));
        if collapses.is_empty() {
            return;
        }
        let (_, last, _) = collapses.select_nth_unstable_by(wanted, by_cost);
        let most = last.cost * SLACK + f32::MIN_POSITIVE;
        collapses.retain(|collapse| collapse.cost <= most);
        collapses.sort_unstable_by(by_cost);
        let mut moved: Vec<u32> = (0..self.points.len()).map(|place| place as u32).collect();
        let mut touched = vec![false; self.points.len()];
        let mut removed = 0;
        for Collapse { from, to, .. } in collapses {
            if removed >= goal {
                break;
            }
            let is_touched = |place: u32| touched.get(place as usize).copied().unwrap_or(true);
            if is_touched(from) || is_touched(to) || self.turns_over(&around, &moved, from, to) {
                continue;
            }
            if let Some(place) = moved.get_mut(from as usize) {
                *place = to;
            }
            for place in [from, to] {
                if let Some(touched) = touched.get_mut(place as usize) {
                    *touched = true;
                }
            }
            let gone = self.quadrics.get(from as usize).copied().unwrap_or_default();
            if let Some(sum) = self.quadrics.get_mut(to as usize) {
                sum.add(&gone);
            }
            removed += around.shared(self, from, to);
        }
        self.apply(&moved);
    }

    /// Every edge, in the cheaper of the directions that are allowed.
    fn candidates(&self, around: &Around) -> Vec<Collapse> {
        let mut found = Vec::with_capacity(self.triangles.len() * 3 / 2);
        for triangle in &self.triangles {
            let [a, b, c] = self.places(triangle);
            for (p, q) in [(a, b), (b, c), (c, a)] {
                let border = around.is_border(p, q);
                // Both triangles of an edge would offer it.
                if p > q && !border {
                    continue;
                }
                let there = self.cost(around, p, q, border);
                let back = self.cost(around, q, p, border);
                let (from, to, cost) = match (there, back) {
                    (Some(there), Some(back)) if back < there => (q, p, back),
                    (Some(there), _) => (p, q, there),
                    (None, Some(back)) => (q, p, back),
                    (None, None) => continue,
                };
                found.push(Collapse { from, to, cost });
            }
        }
        found
    }

    fn cost(&self, around: &Around, from: u32, to: u32, border: bool) -> Option<f32> {
        let seam = self.welded.seams.get(from as usize).copied().unwrap_or(true);
        if seam || around.is_locked(from) || (around.on_border(from) && !border) {
            return None;
        }
        // Which of the vertices at a seam its triangles would stretch to is not known.
        if self.welded.seams.get(to as usize).copied().unwrap_or(true)
            && around.wedge(self, from, to).is_none()
        {
            return None;
        }
        let quadric = self.quadrics.get(from as usize)?;
        let (a, b) = (self.colors.get(from as usize)?, self.colors.get(to as usize)?);
        let color: f32 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
        let length = self.point(from).distance_squared(self.point(to));
        Some(quadric.at(self.point(to)) + color * length * length * COLOR_WEIGHT)
    }

    /// Whether a triangle around `from` would turn over, or nearly, if it went to `to`.
    fn turns_over(&self, around: &Around, moved: &[u32], from: u32, to: u32) -> bool {
        let now = |place: u32| moved.get(place as usize).copied().unwrap_or(place);
        let target = self.point(to);
        for &triangle in around.triangles(from) {
            let Some(triangle) = self.triangles.get(triangle as usize) else { continue };
            let corners = self.places(triangle).map(now);
            if corners.contains(&to) {
                continue;
            }
            let Some(at) = corners.iter().position(|&corner| corner == from) else { continue };
            let b = self.point(corners.get((at + 1) % 3).copied().unwrap_or(from));
            let c = self.point(corners.get((at + 2) % 3).copied().unwrap_or(from));
            let a = self.point(from);
            let old = (b - a).cross(c - a);
            let new = (b - target).cross(c - target);
            if old.dot(new) <= LEAST_TURN * old.length() * new.length() {
                return true;
            }
        }
        false
    }

    /// Stretches all triangles, and drops those that became lines.
    fn apply(&mut self, moved: &[u32]) {
        let welded = self.welded;
        for triangle in &mut self.triangles {
            let before = *triangle;
            for (corner, &vertex) in triangle.iter_mut().zip(&before) {
                let place = welded.places.get(vertex as usize).copied().unwrap_or(0);
                let to = moved.get(place as usize).copied().unwrap_or(place);
                if to != place {
                    // Where there is a choice, the vertex that this triangle or its neighbour has there.
                    let there = |other: &&u32| welded.places.get(**other as usize) == Some(&to);
                    let own = before.iter().find(there).copied();
                    *corner = own.or_else(|| welded.vertices.get(to as usize).copied()).unwrap_or(vertex);
                }
            }
        }
        self.drop_flat();
    }
}

/// The triangles around each place.
struct Around {
    starts: Vec<u32>,
    triangles: Vec<u32>,
    /// The place after this one in each of them, sorted.
    next: Vec<u32>,
    borders: Vec<bool>,
    locked: Vec<bool>,
}

impl Around {
    fn of(mesh: &Mesh) -> Self {
        let count = mesh.points.len();
        let mut starts = vec![0u32; count + 1];
        for corner in mesh.triangles.iter().flat_map(|triangle| mesh.places(triangle)) {
            if let Some(start) = starts.get_mut(corner as usize + 1) {
                *start += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut filled = starts.clone();
        let mut triangles = vec![0u32; mesh.triangles.len() * 3];
        let mut next = vec![0u32; mesh.triangles.len() * 3];
        for (number, triangle) in mesh.triangles.iter().enumerate() {
            let [a, b, c] = mesh.places(triangle);
            for (corner, after) in [(a, b), (b, c), (c, a)] {
                let Some(at) = filled.get_mut(corner as usize) else { continue };
                if let (Some(to), Some(follows)) =
                    (triangles.get_mut(*at as usize), next.get_mut(*at as usize))
                {
                    *to = u32::try_from(number).unwrap_or(u32::MAX);
                    *follows = after;
                }
                *at += 1;
            }
        }
        // Sorted, so that looking for one stays fast where thousands of triangles meet.
        for pair in starts.windows(2) {
            let [start, end] = [pair.first(), pair.last()].map(|at| at.map_or(0, |&at| at as usize));
            next.get_mut(start..end).unwrap_or_default().sort_unstable();
        }
        let mut around =
            Self { starts, triangles, next, borders: vec![false; count], locked: vec![false; count] };
        for place in 0..u32::try_from(count).unwrap_or(0) {
            let next = around.next(place);
            let twice = next.windows(2).any(|pair| pair.first() == pair.last());
            let locked = twice || next.len() > MOST_AROUND;
            // Both ends of an edge that no other triangle has the other way round.
            let open: Vec<u32> = next.iter().copied().filter(|&to| !around.has(to, place)).collect();
            if let Some(place) = around.locked.get_mut(place as usize) {
                *place = locked;
            }
            let own = (!open.is_empty()).then_some(place);
            for end in open.into_iter().chain(own) {
                if let Some(border) = around.borders.get_mut(end as usize) {
                    *border = true;
                }
            }
        }
        around
    }

    fn range(&self, place: u32) -> std::ops::Range<usize> {
        let at = |i: usize| self.starts.get(i).map_or(0, |&start| start as usize);
        at(place as usize)..at(place as usize + 1)
    }

    fn triangles(&self, place: u32) -> &[u32] {
        self.triangles.get(self.range(place)).unwrap_or_default()
    }

    fn next(&self, place: u32) -> &[u32] {
        self.next.get(self.range(place)).unwrap_or_default()
    }

    /// Whether a triangle has an edge from one to the other, in this direction.
    fn has(&self, from: u32, to: u32) -> bool {
        self.next(from).binary_search(&to).is_ok()
    }

    /// Whether an edge, known to be there from `from`, has a triangle on one side only.
    fn is_border(&self, from: u32, to: u32) -> bool {
        !self.has(to, from)
    }

    fn on_border(&self, place: u32) -> bool {
        self.borders.get(place as usize).copied().unwrap_or(true)
    }

    /// Where more than two sheets meet, or very many triangles.
    fn is_locked(&self, place: u32) -> bool {
        self.locked.get(place as usize).copied().unwrap_or(true)
    }

    /// Triangles that have both.
    fn shared(&self, mesh: &Mesh, from: u32, to: u32) -> usize {
        let has = |triangle: &&u32| {
            mesh.triangles
                .get(**triangle as usize)
                .is_some_and(|triangle| mesh.places(triangle).contains(&to))
        };
        self.triangles(from).iter().filter(has).count()
    }

    /// The one vertex at a place that the triangles which share an edge with it use; none if they differ.
    fn wedge(&self, mesh: &Mesh, from: u32, to: u32) -> Option<u32> {
        let mut found = None;
        for &triangle in self.triangles(from) {
            let triangle = mesh.triangles.get(triangle as usize)?;
            for &vertex in triangle.iter().filter(|&&vertex| mesh.place(vertex) == to) {
                if found.is_some_and(|found| found != vertex) {
                    return None;
                }
                found = Some(vertex);
            }
        }
        found
    }
}
