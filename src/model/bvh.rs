//! Where a ray hits a model: a tree of boxes over its triangles.
//!
//! For pointing and grabbing: built once per model on a worker thread, then asked
//! from any thread, every frame. Needs about 11 bytes per triangle: corners are looked
//! up in the model's own arrays, which the tree shares, and boxes are stored on a grid
//! of 65,536 steps around everything.

use glam::{Affine3A, Vec3, Vec3A};

use super::array::Array;
use super::bounds::Bounds;
use super::decoded::{DecodedModel, Topology};

/// Items in a leaf at most.
const LEAF_ITEMS: usize = 8;

/// Planes tried per split are one less.
const BINS: usize = 16;

/// Below this depth nodes are halved by number, so that the tree stays shallow
/// whatever the shapes: 64 levels hold more than a model may.
const MAX_SAH_DEPTH: u32 = 32;

/// Bits of [`Node::first`] that are a number; the others count the items of a leaf.
const NUMBER_BITS: u32 = 28;

/// What rays can hit in a model, in its arrays.
#[derive(Debug, Clone, Default)]
pub struct Solids {
    all: Vec<Solid>,
    /// Items of all of them.
    count: u32,
}

/// One instance.
#[derive(Debug, Clone)]
struct Solid {
    /// The number of its first item; the others follow.
    first: u32,
    shape: Shape,
}

#[derive(Debug, Clone)]
enum Shape {
    /// An item for each triangle.
    Triangles {
        positions: Array<[f32; 3]>,
        indices: Array<u32>,
        /// model_from_primitive.
        transform: Affine3A,
        /// In model space.
        bounds: Bounds,
    },
    /// One item: around lines and points, which no ray hits exactly. In model space.
    Box(Bounds),
}

impl Solids {
    /// Takes hold of a model's positions and indices, without copying them; the model may
    /// then be used up.
    #[must_use]
    pub fn of(model: &DecodedModel) -> Self {
        let mut solids = Self::default();
        for instance in &model.instances {
            let Some(primitive) = model.primitives.get(instance.primitive) else { continue };
            let bounds = primitive.bounds.transformed(&instance.transform);
            let (shape, items) = match primitive.topology {
                Topology::Triangles => {
                    let shape = Shape::Triangles {
                        positions: primitive.positions.clone(),
                        indices: primitive.indices.clone(),
                        transform: instance.transform,
                        bounds,
                    };
                    (shape, primitive.elements())
                }
                Topology::Lines | Topology::Points => (Shape::Box(bounds), 1),
            };
            let after = u32::try_from(items).ok().and_then(|items| solids.count.checked_add(items));
            // The decoder's limits are far below; what is beyond numbers is left out.
            if let Some(after) = after.filter(|after| after >> NUMBER_BITS == 0) {
                solids.all.push(Solid { first: solids.count, shape });
                solids.count = after;
            }
        }
        solids
    }

    /// Around everything.
    fn bounds(&self) -> Bounds {
        self.all.iter().fold(Bounds::empty(), |all, solid| all.union(solid.bounds()))
    }

    /// The one that an item is of.
    fn at(&self, item: u32) -> Option<&Solid> {
        let after = self.all.partition_point(|solid| solid.first <= item);
        self.all.get(after.checked_sub(1)?)
    }
}

impl Solid {
    fn bounds(&self) -> Bounds {
        match &self.shape {
            Shape::Triangles { bounds, .. } | Shape::Box(bounds) => *bounds,
        }
    }

    fn items(&self) -> usize {
        match &self.shape {
            Shape::Triangles { indices, .. } => indices.len() / 3,
            Shape::Box(_) => 1,
        }
    }

    /// Corners of one of its triangles, in model space.
    fn corners(&self, item: u32) -> Option<[Vec3; 3]> {
        let Shape::Triangles { positions, indices, transform, .. } = &self.shape else { return None };
        let triangle = indices.as_chunks::<3>().0.get(item.checked_sub(self.first)? as usize)?;
        let corner = |index: u32| {
            let position = positions.get(index as usize).copied()?;
            Some(transform.transform_point3(position.into()))
        };
        let [a, b, c] = triangle.map(corner);
        Some([a?, b?, c?])
    }

    /// Around one of its items, in model space. None around what is no number, which
    /// would spoil every box above it.
    fn item_bounds(&self, item: u32) -> Option<Bounds> {
        let bounds = match &self.shape {
            Shape::Triangles { .. } => {
                let [a, b, c] = self.corners(item)?;
                Bounds { min: a.min(b).min(c), max: a.max(b).max(c) }
            }
            Shape::Box(bounds) => *bounds,
        };
        bounds.is_finite().then_some(bounds)
    }

    fn hit(&self, item: u32, origin: Vec3, direction: Vec3, limit: f32) -> Option<(f32, Vec3)> {
        match &self.shape {
            Shape::Triangles { .. } => hit_triangle(self.corners(item)?, origin, direction, limit),
            Shape::Box(bounds) => hit_box(bounds, origin, direction, limit),
        }
    }
}

/// Steps of the same length along all axes.
#[derive(Debug, Clone, Copy, Default)]
struct Grid {
    /// Where the step is that is number [`Grid::MARGIN`].
    origin: Vec3,
    /// Per unit of the model; 0 if everything is at one place or none.
    scale: f32,
}

impl Grid {
    /// Steps around everything, so that rounding does not lead out of the grid.
    const MARGIN: f32 = 1.0;
    const LAST: f32 = 65_535.0;

    fn around(bounds: &Bounds) -> Self {
        let scale = (Self::LAST - 2.0 * Self::MARGIN) / bounds.largest_side();
        let origin = if bounds.min.is_finite() { bounds.min } else { Vec3::ZERO };
        Self { origin, scale: if scale.is_finite() { scale } else { 0.0 } }
    }

    fn place(&self, point: Vec3) -> Vec3 {
        // What is beyond all numbers times nothing would be no number.
        if self.scale == 0.0 {
            return Vec3::splat(Self::MARGIN);
        }
        (point - self.origin) * self.scale + Self::MARGIN
    }

    /// The box in steps, with half a step or more around it for the rounding of what is in it
    /// and of rays.
    fn cell(&self, bounds: &Bounds) -> Cell {
        // Casting cuts what is behind the point and what is beyond the grid.
        let step = |v: Vec3| v.to_array().map(|v| v as u16);
        Cell { min: step(self.place(bounds.min) - 0.5), max: step(self.place(bounds.max) + 1.5) }
    }
}

/// A box, in steps of the grid.
#[derive(Debug, Clone, Copy)]
struct Cell {
    min: [u16; 3],
    max: [u16; 3],
}

impl Cell {
    const EMPTY: Self = Self { min: [u16::MAX; 3], max: [0; 3] };

    fn union(self, other: Self) -> Self {
        let [a, b, c] = self.min;
        let [d, e, f] = other.min;
        let [g, h, i] = self.max;
        let [j, k, l] = other.max;
        Self { min: [a.min(d), b.min(e), c.min(f)], max: [g.max(j), h.max(k), i.max(l)] }
    }
}

/// Boxes over everything in a model, in model space (glTF units): one tree, or one for
/// each of the parts that the model came in.
#[derive(Debug, Clone, Default)]
pub struct Bvh {
    trees: Vec<Tree>,
}

#[derive(Debug, Clone)]
struct Tree {
    nodes: Vec<Node>,
    /// Numbers of items, in the order of the leaves.
    items: Vec<u32>,
    solids: Solids,
    grid: Grid,
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
    cell: Cell,
    /// In the lower [`NUMBER_BITS`] the first item of a leaf; else the first child, which
    /// the second follows. In the others the number of items of a leaf; else 0.
    first: u32,
}

/// A box, in vector registers, while the tree is built. In steps of the grid.
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

/// An item while the tree is built, in as few bytes as will do: all of them together are
/// much of the memory that opening a model needs.
#[derive(Debug, Clone, Copy)]
struct Item {
    number: u32,
    /// The middle of its box.
    center: [u16; 3],
    /// Half of the longest side of its box: boxes count as cubes until the tree is there.
    reach: u16,
}

impl Item {
    fn new(number: u32, cell: Cell) -> Self {
        let [a, b, c] = cell.min;
        let [d, e, f] = cell.max;
        let longest = (d.abs_diff(a)).max(e.abs_diff(b)).max(f.abs_diff(c));
        Self { number, center: [a.midpoint(d), b.midpoint(e), c.midpoint(f)], reach: longest.div_ceil(2) }
    }

    fn center(&self) -> Vec3A {
        Vec3A::from(self.center.map(f32::from))
    }
}

impl Bvh {
    /// Builds the tree. Instances of lines and points count as their boxes.
    #[must_use]
    pub fn build(model: &DecodedModel) -> Self {
        Self::over(Solids::of(model))
    }

    /// The same for what was taken hold of.
    #[must_use]
    pub fn over(solids: Solids) -> Self {
        if solids.all.is_empty() { Self::default() } else { Self { trees: vec![Tree::over(solids)] } }
    }

    /// Of the models of several, which are in the same space. It costs nothing now, and
    /// each ray a look at the box of each.
    #[must_use]
    pub fn join(parts: Vec<Self>) -> Self {
        Self { trees: parts.into_iter().flat_map(|part| part.trees).collect() }
    }

    /// The nearest point of the model on a ray, both in model space. The
    /// direction may be of any length; distances are in model units all the same.
    #[must_use]
    pub fn raycast(&self, origin: Vec3, direction: Vec3, max_distance: f32) -> Option<Hit> {
        let direction = direction.try_normalize()?;
        // A distance beyond all floats is none: points there are nowhere.
        let limit = max_distance.min(f32::MAX);
        let hit = |nearest: Option<(f32, Vec3)>, tree: &Tree| {
            let limit = nearest.map_or(limit, |(distance, _)| distance);
            tree.raycast(origin, direction, limit).or(nearest)
        };
        let (distance, normal) = self.trees.iter().fold(None, hit)?;
        let normal = if normal.dot(direction) > 0.0 { -normal } else { normal };
        Some(Hit { distance, point: origin + direction * distance, normal })
    }
}

impl Tree {
    fn over(solids: Solids) -> Self {
        let grid = Grid::around(&solids.bounds());
        let mut items = items(&solids, &grid);
        let firsts = divide(&mut items);
        // In the same memory.
        let mut numbers: Vec<u32> = items.into_iter().map(|item| item.number).collect();
        numbers.shrink_to_fit();
        // Boxes only now: with them and all items there would be half as much again.
        let nodes = firsts.into_iter().map(|first| Node { cell: Cell::EMPTY, first }).collect();
        let mut tree = Self { nodes, items: numbers, solids, grid };
        tree.fit();
        tree
    }

    /// The boxes of all nodes: of leaves around their items, of others around their children.
    fn fit(&mut self) {
        for number in (0..self.nodes.len()).rev() {
            let Some(node) = self.nodes.get(number) else { continue };
            let (first, count) = node.parts();
            let cell = if count > 0 {
                let items = self.items.iter().skip(first).take(count);
                items.fold(Cell::EMPTY, |all, &item| {
                    match self.solids.at(item).and_then(|s| s.item_bounds(item)) {
                        Some(bounds) => all.union(self.grid.cell(&bounds)),
                        None => all,
                    }
                })
            } else {
                let children = self.nodes.iter().skip(first).take(2);
                children.fold(Cell::EMPTY, |all, child| all.union(child.cell))
            };
            if let Some(node) = self.nodes.get_mut(number) {
                node.cell = cell;
            }
        }
    }

    /// How far along the ray, whose direction has length 1, something is met within the
    /// limit, and a normal of it of length 1.
    fn raycast(&self, origin: Vec3, direction: Vec3, mut limit: f32) -> Option<(f32, Vec3)> {
        // On the grid the ray takes as long as in the model.
        let (start, inverse) = (self.grid.place(origin), (direction * self.grid.scale).recip());
        let mut nearest: Option<(f32, Vec3)> = None;
        let mut stack = Vec::with_capacity(64);
        let root = self.nodes.first()?;
        stack.extend(root.enter(start, inverse, limit).map(|distance| (distance, *root)));
        while let Some((distance, node)) = stack.pop() {
            if distance > limit {
                continue;
            }
            let (first, count) = node.parts();
            if count > 0 {
                for &item in self.items.iter().skip(first).take(count) {
                    let hit =
                        self.solids.at(item).and_then(|solid| solid.hit(item, origin, direction, limit));
                    if let Some((distance, normal)) = hit {
                        limit = distance;
                        nearest = Some((distance, normal));
                    }
                }
            } else if let (Some(&a), Some(&b)) = (self.nodes.get(first), self.nodes.get(first + 1)) {
                let enter = |node: Node| node.enter(start, inverse, limit).map(|distance| (distance, node));
                match (enter(a), enter(b)) {
                    // The nearer is looked at first: often the other need not be then.
                    (Some(a), Some(b)) if a.0 <= b.0 => stack.extend([b, a]),
                    (a, b) => stack.extend(a.into_iter().chain(b)),
                }
            }
        }
        nearest
    }
}

/// Everything that can be hit.
fn items(solids: &Solids, grid: &Grid) -> Vec<Item> {
    let mut items = Vec::with_capacity(solids.count as usize);
    for solid in &solids.all {
        let numbers = (solid.first..).take(solid.items());
        items.extend(numbers.filter_map(|number| {
            solid.item_bounds(number).map(|bounds| Item::new(number, grid.cell(&bounds)))
        }));
    }
    items
}

/// Brings the items into the order of the leaves, and gives [`Node::first`] of each node.
/// Each node comes before its children.
fn divide(items: &mut [Item]) -> Vec<u32> {
    if items.is_empty() {
        return Vec::new();
    }
    let whole = Part::of(items);
    let mut nodes = Vec::with_capacity(items.len() / 3 + 1);
    nodes.push(leaf(&whole, 0));
    let mut stack = vec![(0usize, 0usize, whole, 0u32)];
    while let Some((node, from, whole, depth)) = stack.pop() {
        let Some(part) = items.get_mut(from..from + whole.count).filter(|part| part.len() > LEAF_ITEMS)
        else {
            continue;
        };
        let [left, right] = split(part, &whole, depth);
        let (children, middle) = (nodes.len(), from + left.count);
        if let (Some(node), Ok(first)) = (nodes.get_mut(node), u32::try_from(children)) {
            *node = first;
        }
        nodes.push(leaf(&left, from));
        nodes.push(leaf(&right, middle));
        stack.push((children, from, left, depth + 1));
        stack.push((children + 1, middle, right, depth + 1));
    }
    nodes
}

/// [`Node::first`] of a leaf. One of more items than a leaf may have will be divided.
fn leaf(part: &Part, first: usize) -> u32 {
    let count = u32::try_from(part.count.min(LEAF_ITEMS)).unwrap_or(0);
    let first = u32::try_from(first).unwrap_or(0);
    first | count << NUMBER_BITS
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
        let (center, reach) = (item.center(), f32::from(item.reach));
        let extent = Extent { min: center - reach, max: center + reach };
        self.union(&Self { extent, centers: Extent { min: center, max: center }, count: 1 })
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
    // All at one place of the grid: halved as they come.
    if size.max_element() <= 0.0 {
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
    /// The first item and the number of them; or the first child and 0.
    const fn parts(self) -> (usize, usize) {
        ((self.first & ((1 << NUMBER_BITS) - 1)) as usize, (self.first >> NUMBER_BITS) as usize)
    }

    /// How far along the ray, which is given in steps of the grid, the box begins, if it
    /// is met within the limit.
    fn enter(&self, origin: Vec3, inverse: Vec3, limit: f32) -> Option<f32> {
        let a = (Vec3::from(self.cell.min.map(f32::from)) - origin) * inverse;
        let b = (Vec3::from(self.cell.max.map(f32::from)) - origin) * inverse;
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
            positions: positions.into(),
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
            some.primitives[0].indices = triangles.to_vec().into();
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
        assert!(bvh.trees[0].nodes.len() < 10_000);
    }

    #[test]
    fn what_is_farther_than_floats_reach_is_not_hit() {
        let far = vec![[-1.0, -1.0, -3.4e38], [1.0, 1.0, -3.3e38]];
        let bvh = Bvh::build(&model(far, Topology::Lines, &[Affine3A::IDENTITY]));
        assert!(bvh.raycast(Vec3::new(0.0, 0.0, 3e38), Vec3::NEG_Z, f32::INFINITY).is_none());
        assert!(bvh.raycast(Vec3::ZERO, Vec3::NEG_Z, f32::INFINITY).is_some_and(|hit| hit.point.is_finite()));
    }

    #[test]
    fn what_is_wider_than_floats_reach_is_hit_all_the_same() {
        let square = |z: f32| [[-1.0, -1.0, z], [3.0, -1.0, z], [-1.0, 3.0, z]];
        let far = [square(-3e38), square(3e38), square(0.5)].concat().repeat(5);
        let bvh = Bvh::build(&model(far, Topology::Triangles, &[Affine3A::IDENTITY]));
        let hit = bvh.raycast(Vec3::new(0.0, 0.0, 2.0), Vec3::NEG_Z, f32::INFINITY).unwrap();
        assert_eq!((hit.distance, hit.normal), (1.5, Vec3::Z));
    }

    #[test]
    fn the_tree_takes_few_bytes() {
        // A wavy sheet.
        let at = |x: u32, y: u32| [x as f32, y as f32, ((x * 7 + y * 3) % 5) as f32 * 0.1];
        let fields = (0..100).flat_map(|y| (0..100).map(move |x| (x, y)));
        let corners = fields.flat_map(|(x, y)| {
            let [a, b, c, d] = [at(x, y), at(x + 1, y), at(x + 1, y + 1), at(x, y + 1)];
            [a, b, c, a, c, d]
        });
        let model = model(corners.collect(), Topology::Triangles, &[Affine3A::IDENTITY]);
        let bvh = Bvh::build(&model);
        let tree = &bvh.trees[0];
        let bytes = size_of_val(&tree.nodes[..]) + size_of_val(&tree.items[..]);
        assert_eq!((size_of::<Item>(), size_of::<Node>()), (12, 16));
        assert!(bytes < 14 * 20_000, "{bytes}");
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
