//! Where a ray hits a model: a tree of boxes over its triangles.
//!
//! For pointing and grabbing: built once per model on a worker thread, then asked
//! from any thread, every frame. Needs about 40 bytes per triangle.

use glam::{Vec3, Vec3A};

use super::bounds::Bounds;
use super::decoded::{DecodedModel, Topology};

/// Items in a leaf at most, unless their centres coincide.
const LEAF_ITEMS: usize = 8;

/// Planes tried per split are one less.
const BINS: usize = 16;

/// Below this depth nodes are halved by number, so that the tree stays shallow
/// whatever the shapes: 64 levels hold more than a model may.
const MAX_SAH_DEPTH: u32 = 32;

/// In place of a triangle's first corner: the second number is that of a box.
const BOX: u32 = u32::MAX;

/// A tree of boxes over everything in a model, in model space (glTF units).
#[derive(Debug, Clone, Default)]
pub struct Bvh {
    nodes: Vec<Node>,
    /// Corners of the triangles, in the order of the leaves.
    items: Vec<[u32; 3]>,
    /// All vertices of all instances, transformed.
    points: Vec<[f32; 3]>,
    /// Boxes around instances of lines and points, which no ray hits exactly.
    boxes: Vec<Bounds>,
}

/// Where a ray meets a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    /// From the origin of the ray, in model units.
    pub distance: f32,
    /// In model space.
    pub point: Vec3,
    /// Unit normal of the surface itself (not a vertex normal), towards the
    /// origin of the ray: both sides of a triangle are hit.
    pub normal: Vec3,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    min: [f32; 3],
    /// Of a leaf its first item; else its first child, which the second follows.
    first: u32,
    max: [f32; 3],
    /// Of a leaf the number of items; else 0.
    count: u32,
}

/// A box, in vector registers, while the tree is built.
#[derive(Debug, Clone, Copy)]
struct Extent {
    min: Vec3A,
    max: Vec3A,
}

impl Extent {
    const EMPTY: Self = Self { min: Vec3A::INFINITY, max: Vec3A::NEG_INFINITY };

    fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Proportional to the surface; 0 if empty.
    fn surface(self) -> f32 {
        let size = (self.max - self.min).max(Vec3A::ZERO);
        size.x * size.y + size.y * size.z + size.z * size.x
    }
}

impl From<Bounds> for Extent {
    fn from(bounds: Bounds) -> Self {
        Self { min: bounds.min.into(), max: bounds.max.into() }
    }
}

/// An item while the tree is built. Not in vector registers' own types, which would
/// take a third more of what is the most memory that opening a model needs.
#[derive(Debug, Clone, Copy)]
struct Item {
    min: [f32; 3],
    max: [f32; 3],
    corners: [u32; 3],
}

impl Item {
    fn new(bounds: Bounds, corners: [u32; 3]) -> Self {
        Self { min: bounds.min.to_array(), max: bounds.max.to_array(), corners }
    }

    fn extent(&self) -> Extent {
        Extent { min: self.min.into(), max: self.max.into() }
    }

    /// Twice the middle of the box: as good for comparing.
    fn center(&self) -> Vec3A {
        Vec3A::from(self.min) + Vec3A::from(self.max)
    }
}

impl Bvh {
    /// Builds the tree. Instances of lines and points count as their boxes.
    #[must_use]
    pub fn build(model: &DecodedModel) -> Self {
        let (mut items, points, boxes) = flatten(model);
        let whole = Part::of(&items);
        let mut nodes = Vec::with_capacity(items.len() / 3 + 1);
        nodes.push(Node::leaf(&whole, 0));
        let mut stack = vec![(0usize, 0usize, whole, 0u32)];
        while let Some((node, from, whole, depth)) = stack.pop() {
            let Some(part) = items.get_mut(from..from + whole.count).filter(|part| part.len() > LEAF_ITEMS)
            else {
                continue;
            };
            let [left, right] = split(part, &whole, depth);
            let (children, middle) = (nodes.len(), from + left.count);
            if let (Some(node), Ok(first)) = (nodes.get_mut(node), u32::try_from(children)) {
                (node.first, node.count) = (first, 0);
            }
            nodes.push(Node::leaf(&left, from));
            nodes.push(Node::leaf(&right, middle));
            stack.push((children, from, left, depth + 1));
            stack.push((children + 1, middle, right, depth + 1));
        }
        // In the same memory.
        let mut corners: Vec<[u32; 3]> = items.into_iter().map(|item| item.corners).collect();
        corners.shrink_to_fit();
        Self { nodes, items: corners, points, boxes }
    }

    /// One tree over the models of several, which are in the same space. Much cheaper
    /// than building it anew; a little slower where their boxes overlap.
    #[must_use]
    pub fn join(trees: Vec<Self>) -> Self {
        let mut roots: Vec<Root> = Vec::with_capacity(trees.len());
        let mut joined = Self::default();
        let all = |count: fn(&Self) -> usize| trees.iter().map(count).sum::<usize>();
        // Two more nodes for each root at most, the tree's own among them.
        joined.nodes.reserve_exact(all(|tree| tree.nodes.len()) + trees.len());
        joined.items.reserve_exact(all(|tree| tree.items.len()));
        joined.points.reserve_exact(all(|tree| tree.points.len()));
        for tree in trees.into_iter().filter(|tree| !tree.items.is_empty()) {
            let starts = [joined.items.len(), joined.points.len(), joined.boxes.len()];
            let [items, points, boxes] = starts.map(|start| u32::try_from(start).unwrap_or(u32::MAX));
            joined.points.extend(tree.points);
            joined.boxes.extend(tree.boxes);
            joined.items.extend(tree.items.into_iter().map(|[i, j, k]| match i {
                BOX => [BOX, j.saturating_add(boxes), k],
                _ => [i, j, k].map(|corner| corner.saturating_add(points)),
            }));
            roots.push(Root { nodes: tree.nodes, items });
        }
        if roots.is_empty() {
            return joined;
        }
        let mut stack = vec![(0usize, 0..roots.len())];
        joined.nodes.push(Node::leaf(&Part::EMPTY, 0));
        while let Some((slot, range)) = stack.pop() {
            let Some(some) = roots.get_mut(range.clone()) else { continue };
            let node = match some {
                [one] => one.hang(&mut joined.nodes),
                _ => {
                    halve(some);
                    let first = joined.nodes.len();
                    let middle = range.start + some.len() / 2;
                    let extent = some.iter().fold(Extent::EMPTY, |extent, root| extent.union(root.extent()));
                    joined.nodes.extend([Node::leaf(&Part::EMPTY, 0); 2]);
                    stack.extend([(first, range.start..middle), (first + 1, middle..range.end)]);
                    Node::over(extent, first)
                }
            };
            if let Some(place) = joined.nodes.get_mut(slot) {
                *place = node;
            }
        }
        joined
    }

    /// The nearest point of the model on a ray, both in model space. The
    /// direction may be of any length; distances are in model units all the same.
    #[must_use]
    pub fn raycast(&self, origin: Vec3, direction: Vec3, max_distance: f32) -> Option<Hit> {
        let direction = direction.try_normalize()?;
        let inverse = direction.recip();
        let mut nearest: Option<(f32, Vec3)> = None;
        // A distance beyond all floats is none: points there are nowhere.
        let mut limit = max_distance.min(f32::MAX);
        let mut stack = Vec::with_capacity(64);
        let root = self.nodes.first()?;
        stack.extend(root.enter(origin, inverse, limit).map(|distance| (distance, *root)));
        while let Some((distance, node)) = stack.pop() {
            if distance > limit {
                continue;
            }
            let first = node.first as usize;
            if node.count > 0 {
                for item in self.items.iter().skip(first).take(node.count as usize) {
                    if let Some((distance, normal)) = self.hit(item, origin, direction, limit) {
                        limit = distance;
                        nearest = Some((distance, normal));
                    }
                }
            } else if let (Some(&a), Some(&b)) = (self.nodes.get(first), self.nodes.get(first + 1)) {
                let enter = |node: Node| node.enter(origin, inverse, limit).map(|distance| (distance, node));
                match (enter(a), enter(b)) {
                    // The nearer is looked at first: often the other need not be then.
                    (Some(a), Some(b)) if a.0 <= b.0 => stack.extend([b, a]),
                    (a, b) => stack.extend(a.into_iter().chain(b)),
                }
            }
        }
        let (distance, normal) = nearest?;
        let normal = if normal.dot(direction) > 0.0 { -normal } else { normal };
        Some(Hit { distance, point: origin + direction * distance, normal })
    }

    fn hit(&self, item: &[u32; 3], origin: Vec3, direction: Vec3, limit: f32) -> Option<(f32, Vec3)> {
        let [first, second, third] = item.map(|number| number as usize);
        if item.first() == Some(&BOX) {
            return hit_box(self.boxes.get(second)?, origin, direction, limit);
        }
        let corner = |index: usize| self.points.get(index).copied().map(Vec3::from);
        hit_triangle([corner(first)?, corner(second)?, corner(third)?], origin, direction, limit)
    }
}

/// A tree that becomes a part of another.
struct Root {
    nodes: Vec<Node>,
    /// Where its items begin there.
    items: u32,
}

impl Root {
    fn extent(&self) -> Extent {
        let all = |node: &Node| Extent { min: node.min.into(), max: node.max.into() };
        self.nodes.first().map_or(Extent::EMPTY, all)
    }

    /// Appends all nodes but the first, which is given back.
    fn hang(&mut self, to: &mut Vec<Node>) -> Node {
        // The second node becomes the one at the end.
        let nodes = u32::try_from(to.len()).unwrap_or(u32::MAX);
        let moved = |node: Node| Node {
            first: match node.count {
                0 => node.first.saturating_sub(1).saturating_add(nodes),
                _ => node.first.saturating_add(self.items),
            },
            ..node
        };
        let mut own = std::mem::take(&mut self.nodes).into_iter().map(moved);
        let first = own.next().unwrap_or_else(|| Node::leaf(&Part::EMPTY, 0));
        to.extend(own);
        first
    }
}

/// Puts the half of them that lies lower along the longest axis first.
fn halve(roots: &mut [Root]) {
    let center = |root: &Root| {
        let extent = root.extent();
        extent.min + extent.max
    };
    let centers = roots.iter().map(center);
    let around = centers.fold(Extent::EMPTY, |all, c| all.union(Extent { min: c, max: c }));
    let size = around.max - around.min;
    let axis = Vec3A::AXES.get(size.max_position()).copied().unwrap_or(Vec3A::X);
    let half = roots.len() / 2;
    if half > 0 {
        roots.select_nth_unstable_by(half, |a, b| center(a).dot(axis).total_cmp(&center(b).dot(axis)));
    }
}

/// Everything in a model that can be hit.
fn flatten(model: &DecodedModel) -> (Vec<Item>, Vec<[f32; 3]>, Vec<Bounds>) {
    let placed = || {
        model
            .instances
            .iter()
            .filter_map(|instance| Some((model.primitives.get(instance.primitive)?, instance.transform)))
    };
    // The decoder's limits keep these sums small; what a u32 does not reach is left out.
    let mut items = Vec::with_capacity(placed().map(|(primitive, _)| primitive.elements()).sum());
    let mut points = Vec::with_capacity(placed().map(|(primitive, _)| primitive.positions.len()).sum());
    let mut boxes = Vec::new();
    for (primitive, transform) in placed() {
        if primitive.topology != Topology::Triangles {
            let bounds = primitive.bounds.transformed(&transform);
            if let Ok(number) = u32::try_from(boxes.len()) {
                items.push(Item::new(bounds, [BOX, number, 0]));
                boxes.push(bounds);
            }
            continue;
        }
        let start = points.len();
        points.extend(
            primitive.positions.iter().map(|&point| transform.transform_point3(point.into()).to_array()),
        );
        for triangle in primitive.indices.as_chunks::<3>().0 {
            let corners = triangle.map(|index| start + index as usize);
            let corner = |index: usize| points.get(index).copied().map(Vec3::from);
            let [Some(a), Some(b), Some(c)] = corners.map(corner) else { continue };
            let [Ok(i), Ok(j), Ok(k)] = corners.map(u32::try_from) else { continue };
            let bounds = Bounds { min: a.min(b).min(c), max: a.max(b).max(c) };
            // A corner that is no number would spoil every box above it.
            if bounds.is_finite() && i != BOX {
                items.push(Item::new(bounds, [i, j, k]));
            }
        }
    }
    (items, points, boxes)
}

/// What is known of some items without looking at them again.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// Around the items.
    extent: Extent,
    /// Around their centres.
    centers: Extent,
    count: usize,
}

impl Part {
    const EMPTY: Self = Self { extent: Extent::EMPTY, centers: Extent::EMPTY, count: 0 };

    fn of(items: &[Item]) -> Self {
        items.iter().fold(Self::EMPTY, |part, item| part.with(item))
    }

    fn with(self, item: &Item) -> Self {
        let center = item.center();
        self.union(&Self { extent: item.extent(), centers: Extent { min: center, max: center }, count: 1 })
    }

    fn union(self, other: &Self) -> Self {
        Self {
            extent: self.extent.union(other.extent),
            centers: self.centers.union(other.centers),
            count: self.count + other.count,
        }
    }

    /// What a ray through the parent costs here: the chance of getting in times the tests then.
    fn cost(&self) -> f32 {
        self.extent.surface() * self.count as f32
    }
}

/// Reorders items for two children, neither of them empty.
fn split(items: &mut [Item], whole: &Part, depth: u32) -> [Part; 2] {
    let half = items.len() / 2;
    let size = whole.centers.max - whole.centers.min;
    // Overflows only for coordinates near the end of the range: then halved as they come.
    if !(size.max_element() > 0.0 && size.is_finite()) {
        return halves(items, half);
    }
    // A unit vector along the longest axis picks a coordinate faster than an index does.
    let axis = Vec3A::AXES.get(size.max_position()).copied().unwrap_or(Vec3A::X);
    let along = |item: &Item| item.center().dot(axis);
    let start = whole.centers.min.dot(axis);
    if depth < MAX_SAH_DEPTH {
        let scale = BINS as f32 / size.max_element();
        let bin = |item: &Item| (((along(item) - start) * scale) as usize).min(BINS - 1);
        let (plane, parts) = cheapest_plane(items, bin);
        let mut middle = 0;
        for i in 0..items.len() {
            if items.get(i).is_some_and(|item| bin(item) < plane) {
                items.swap(i, middle);
                middle += 1;
            }
        }
        if parts.iter().all(|part| part.count > 0) && parts.first().is_some_and(|left| left.count == middle) {
            return parts;
        }
    }
    items.select_nth_unstable_by(half, |a, b| along(a).total_cmp(&along(b)));
    halves(items, half)
}

fn halves(items: &[Item], half: usize) -> [Part; 2] {
    let (left, right) = items.split_at_checked(half).unwrap_or((items, &[]));
    [Part::of(left), Part::of(right)]
}

/// The first bin of the second child for which both cost least together, and the children.
fn cheapest_plane(items: &[Item], bin: impl Fn(&Item) -> usize) -> (usize, [Part; 2]) {
    let mut bins = [Part::EMPTY; BINS];
    for item in items {
        if let Some(part) = bins.get_mut(bin(item)) {
            *part = part.with(item);
        }
    }
    // For each bin, everything from it on.
    let mut above = bins;
    let mut sum = Part::EMPTY;
    for part in above.iter_mut().rev() {
        sum = sum.union(part);
        *part = sum;
    }
    let mut best = (f32::INFINITY, 0, [Part::EMPTY; 2]);
    let mut below = Part::EMPTY;
    for (before, (bin, above)) in bins.iter().zip(above.iter().skip(1)).enumerate() {
        below = below.union(bin);
        let cost = below.cost() + above.cost();
        if cost < best.0 && below.count > 0 && above.count > 0 {
            best = (cost, before + 1, [below, *above]);
        }
    }
    (best.1, best.2)
}

impl Node {
    fn leaf(part: &Part, first: usize) -> Self {
        Self {
            min: part.extent.min.to_array(),
            first: u32::try_from(first).unwrap_or(u32::MAX),
            max: part.extent.max.to_array(),
            count: u32::try_from(part.count).unwrap_or(0),
        }
    }

    fn over(extent: Extent, first: usize) -> Self {
        let first = u32::try_from(first).unwrap_or(u32::MAX);
        Self { min: extent.min.to_array(), max: extent.max.to_array(), first, count: 0 }
    }

    /// How far along the ray the box begins, if it is met within the limit.
    fn enter(&self, origin: Vec3, inverse: Vec3, limit: f32) -> Option<f32> {
        let a = (Vec3::from(self.min) - origin) * inverse;
        let b = (Vec3::from(self.max) - origin) * inverse;
        // A ray within a face of the box gives 0 times infinity: along that axis it is
        // always inside. (glam's min and max do not pass over what is no number.)
        let inside = a.is_nan_mask() | b.is_nan_mask();
        let near = Vec3::select(inside, Vec3::NEG_INFINITY, a.min(b));
        let far = Vec3::select(inside, Vec3::INFINITY, a.max(b));
        let enter = near.x.max(near.y).max(near.z).max(0.0);
        // Rounding must not lose a triangle in a face of its box.
        let leave = far.x.min(far.y).min(far.z).min(limit) * (1.0 + 4.0 * f32::EPSILON);
        (enter <= leave).then_some(enter)
    }
}

/// Möller and Trumbore's test, for both sides.
fn hit_triangle([a, b, c]: [Vec3; 3], origin: Vec3, direction: Vec3, limit: f32) -> Option<(f32, Vec3)> {
    let (ab, ac) = (b - a, c - a);
    let across = direction.cross(ac);
    let determinant = ab.dot(across);
    // A ray within the triangle's plane meets it nowhere or everywhere: what rounding
    // leaves of the determinant then says nothing.
    let parallel = 1e-5 * ab.length() * across.length();
    let inverse = determinant.recip();
    if !(determinant.abs() > parallel && inverse.is_finite()) {
        return None;
    }
    let from_a = origin - a;
    let u = from_a.dot(across) * inverse;
    let up = from_a.cross(ab);
    let v = direction.dot(up) * inverse;
    if !(u >= 0.0 && v >= 0.0 && u + v <= 1.0) {
        return None;
    }
    let distance = ac.dot(up) * inverse;
    if !(distance >= 0.0 && distance <= limit) {
        return None;
    }
    let unit = ab.normalize_or_zero().cross(ac.normalize_or_zero());
    Some((distance, unit.try_normalize()?))
}

/// Where a ray enters a box; where it leaves it, from within.
fn hit_box(bounds: &Bounds, origin: Vec3, direction: Vec3, limit: f32) -> Option<(f32, Vec3)> {
    let inverse = direction.recip();
    let a = (bounds.min - origin) * inverse;
    let b = (bounds.max - origin) * inverse;
    let inside = a.is_nan_mask() | b.is_nan_mask();
    let near = Vec3::select(inside, Vec3::NEG_INFINITY, a.min(b));
    let far = Vec3::select(inside, Vec3::INFINITY, a.max(b));
    let (enter, leave) = (near.max_element(), far.min_element());
    if !(enter <= leave && leave >= 0.0) {
        return None;
    }
    let (distance, axis) =
        if enter >= 0.0 { (enter, near.max_position()) } else { (leave, far.min_position()) };
    (distance <= limit).then(|| (distance, Vec3::AXES.get(axis).copied().unwrap_or(Vec3::X)))
}

#[cfg(test)]
mod tests {
    use glam::Affine3A;
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Instance, Primitive};

    fn model(positions: Vec<[f32; 3]>, topology: Topology, transforms: &[Affine3A]) -> DecodedModel {
        let primitive = Primitive {
            topology,
            normals: None,
            colors: None,
            uvs: None,
            uvs_1: None,
            bounds: Bounds::of_points(&positions),
            indices: (0..positions.len() as u32).collect(),
            positions,
            material: None,
        };
        let instances =
            transforms.iter().map(|&transform| Instance { primitive: 0, transform, node: None }).collect();
        DecodedModel { primitives: vec![primitive], instances, ..DecodedModel::default() }
    }

    fn brute_force(model: &DecodedModel, origin: Vec3, direction: Vec3, max: f32) -> Option<f32> {
        let direction = direction.try_normalize()?;
        let mut nearest: Option<f32> = None;
        for instance in &model.instances {
            let primitive = &model.primitives[instance.primitive];
            for triangle in primitive.indices.as_chunks::<3>().0 {
                let corners = triangle
                    .map(|i| instance.transform.transform_point3(primitive.positions[i as usize].into()));
                if let Some((distance, _)) = hit_triangle(corners, origin, direction, max) {
                    nearest = Some(nearest.map_or(distance, |nearest| nearest.min(distance)));
                }
            }
        }
        nearest
    }

    /// Models of a few triangles each, which together are this one, and an empty one.
    fn one_by_one(model: &DecodedModel) -> Vec<DecodedModel> {
        let some = |(at, triangles): (usize, &[u32])| {
            let mut some = model.clone();
            some.primitives[0].indices = triangles.to_vec();
            // The instances are told apart, too.
            if at % 2 == 0 {
                return vec![some];
            }
            let instances = some.instances.clone();
            instances.into_iter().map(|one| DecodedModel { instances: vec![one], ..some.clone() }).collect()
        };
        let parts = model.primitives[0].indices.chunks(3 * 7).enumerate().flat_map(some);
        parts.chain([DecodedModel::default()]).collect()
    }

    fn vec3(range: std::ops::Range<f32>) -> impl Strategy<Value = Vec3> {
        prop::array::uniform3(range).prop_map(Vec3::from)
    }

    proptest! {
        #[test]
        fn finds_what_brute_force_finds(
            centers in prop::collection::vec((vec3(-10.0..10.0), vec3(-1.0..1.0), vec3(-1.0..1.0)), 1..200),
            // Whole numbers meet faces of boxes exactly.
            whole in any::<bool>(),
            origin in vec3(-15.0..15.0),
            target in vec3(-10.0..10.0),
            moved in vec3(-5.0..5.0),
        ) {
            let round = |v: Vec3| if whole { v.round() } else { v };
            let positions: Vec<_> = centers.into_iter()
                .flat_map(|(a, b, c)| [a, a + b * 3.0, a + c * 3.0].map(|v| round(v).to_array()))
                .collect();
            let transforms = [Affine3A::IDENTITY, Affine3A::from_translation(round(moved))];
            let model = model(positions, Topology::Triangles, &transforms);
            let (origin, direction) = (round(origin), round(target) - round(origin));
            let bvh = Bvh::build(&model);
            let joined = Bvh::join(one_by_one(&model).iter().map(Bvh::build).collect());
            for max in [f32::INFINITY, 8.0] {
                let hit = bvh.raycast(origin, direction, max);
                let also = joined.raycast(origin, direction, max);
                prop_assert_eq!(hit.map(|hit| hit.distance), also.map(|hit| hit.distance));
                prop_assert_eq!(hit.map(|hit| hit.distance), brute_force(&model, origin, direction, max));
                if let Some(hit) = hit {
                    prop_assert!(hit.normal.is_normalized() && hit.normal.dot(direction) <= 0.0);
                    prop_assert!(hit.point.distance(origin) <= max + 1e-3);
                }
            }
        }
    }

    #[test]
    fn equal_triangles_make_a_shallow_tree() {
        let positions = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]].repeat(10_000);
        let bvh = Bvh::build(&model(positions, Topology::Triangles, &[Affine3A::IDENTITY]));
        let hit = bvh.raycast(Vec3::new(0.25, 0.25, 5.0), Vec3::NEG_Z * 3.0, 10.0).unwrap();
        assert_eq!((hit.distance, hit.normal), (5.0, Vec3::Z));
        assert!(bvh.nodes.len() < 10_000);
    }

    #[test]
    fn what_is_farther_than_floats_reach_is_not_hit() {
        let far = vec![[-1.0, -1.0, -3.4e38], [1.0, 1.0, -3.3e38]];
        let bvh = Bvh::build(&model(far, Topology::Lines, &[Affine3A::IDENTITY]));
        assert!(bvh.raycast(Vec3::new(0.0, 0.0, 3e38), Vec3::NEG_Z, f32::INFINITY).is_none());
        assert!(bvh.raycast(Vec3::ZERO, Vec3::NEG_Z, f32::INFINITY).is_some_and(|hit| hit.point.is_finite()));
    }

    #[test]
    fn nothing_is_hit_where_nothing_is() {
        assert!(Bvh::default().raycast(Vec3::ZERO, Vec3::X, 1.0).is_none());
        assert!(Bvh::build(&DecodedModel::default()).raycast(Vec3::ZERO, Vec3::X, 1.0).is_none());
        assert!(Bvh::join(Vec::new()).raycast(Vec3::ZERO, Vec3::X, 1.0).is_none());
        let flat = model(vec![[0.0; 3]; 3], Topology::Triangles, &[Affine3A::IDENTITY]);
        assert!(Bvh::build(&flat).raycast(Vec3::ZERO, Vec3::X, 1.0).is_none());
        assert!(Bvh::build(&flat).raycast(Vec3::ZERO, Vec3::ZERO, 1.0).is_none());
    }

    #[test]
    fn lines_and_points_are_hit_by_their_box() {
        let positions = vec![[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]];
        let bvh = Bvh::build(&model(positions, Topology::Lines, &[Affine3A::IDENTITY]));
        let hit = bvh.raycast(Vec3::new(5.0, 0.5, 0.0), Vec3::NEG_X, 100.0).unwrap();
        assert_eq!((hit.distance, hit.normal), (4.0, Vec3::X));
        let hit = bvh.raycast(Vec3::ZERO, Vec3::NEG_X, 100.0).unwrap();
        assert_eq!((hit.distance, hit.normal), (1.0, Vec3::X));
        assert!(bvh.raycast(Vec3::new(5.0, 1.5, 0.0), Vec3::NEG_X, 100.0).is_none());
    }
}
