//! A model in parts, while they come: each part by itself becomes what can be shown.
//!
//! For: showing a model before it is whole. [`Outline::read`] takes what stands first of
//! it, [`Outline::decode`] one part after the other, in any order and on any worker.
//! Not for: what is no plain geometry (textures, lines, points, lights), which comes
//! last; of a model that has such things [`Outline::is_all`] says that its parts are not
//! all of it, and [`decode`](super::decode) shows the rest once the model is whole.

use std::sync::atomic::{AtomicU64, Ordering};

use glam::{Affine3A, Vec3};

use super::{
    bounds::Bounds,
    decoded::{Colors, DecodedModel, Instance, Primitive, Topology},
    document::{self, Document},
    error::DecodeError,
    extensions,
    geometry::within,
    limits::Limits,
    material::{self, Alpha, Material},
    normals, scene,
    warnings::Warnings,
};
use crate::mesh::{self, GRID_MOST, Head, Part};

/// What is known of a model in parts before its parts.
#[derive(Debug)]
pub struct Outline {
    /// The file's materials, with its numbering, without their textures.
    pub materials: Vec<Material>,
    /// Whether the parts are all that is to be shown.
    pub is_all: bool,
    /// How many there are.
    pub parts: u32,
    /// model_from_mesh of each mesh of the description, once for each place.
    places: Vec<Vec<Affine3A>>,
    limits: Limits,
    vertices: AtomicU64,
    triangles: AtomicU64,
    instances: AtomicU64,
}

/// A part that can be shown.
#[derive(Debug)]
pub struct Shown {
    /// One primitive and where it is; without materials, but for their number.
    pub model: DecodedModel,
    /// Box around all parts of the same space, so that what was one surface stays closed
    /// where it was cut.
    pub grid: Bounds,
    /// Whether it is transparent: surfaces are sorted by their middles, and a part does
    /// not know that of its surface.
    pub is_transparent: bool,
}

impl Outline {
    /// Reads a model's description.
    ///
    /// # Errors
    /// If it is damaged, needs what cannot be read, or exceeds a limit.
    pub fn read(head: &Head, limits: &Limits) -> Result<Self, DecodeError> {
        let mut warnings = Warnings::default();
        let document = document::parse(&head.json, limits)?;
        super::check_version(&document, &mut warnings)?;
        extensions::check(&document, &mut warnings)?;
        let placed = scene::placements(&document, limits, &mut warnings)?;
        let mut places = vec![Vec::new(); document.meshes.len()];
        for placed in &placed.meshes {
            if let Some(places) = places.get_mut(placed.mesh) {
                places.push(placed.transform);
            }
        }
        let mut textured = false;
        let used = vec![true; document.materials.len()];
        let texture = |_, _: &mut Warnings| {
            textured = true;
            None
        };
        let (materials, _) = material::read(&document, &used, texture, &mut warnings);
        let none_left = head.rest_bytes == 0 && placed.lights.is_empty() && is_plain(&document);
        Ok(Self {
            materials,
            is_all: none_left && !textured,
            parts: head.parts,
            places,
            limits: limits.clone(),
            vertices: AtomicU64::new(0),
            triangles: AtomicU64::new(0),
            instances: AtomicU64::new(0),
        })
    }

    /// Turns a part into what can be shown. Each is to be given once: they are counted.
    ///
    /// # Errors
    /// If all that were given so far exceed a limit.
    pub fn decode(&self, part: &Part) -> Result<Shown, DecodeError> {
        let here = [Affine3A::IDENTITY];
        let places = match part.mesh {
            None => &here[..],
            Some(mesh) => self.places.get(mesh as usize).map_or(&[][..], Vec::as_slice),
        };
        let triangles = (part.indices.len() as u64).saturating_mul(places.len() as u64);
        self.spend("vertices", &self.vertices, part.positions.len() as u64, self.limits.max_vertices)?;
        self.spend("triangles drawn", &self.triangles, triangles, self.limits.max_triangles)?;
        let most = self.limits.max_instances as u64;
        self.spend("instances", &self.instances, places.len() as u64, most)?;
        let primitive = primitive(part);
        let mut model = DecodedModel::default();
        for &transform in places {
            let bounds = primitive.bounds.transformed(&transform);
            if transform.is_finite() && bounds.is_finite() && bounds.size().is_finite() {
                model.bounds = model.bounds.union(bounds);
                model.counts.triangles += part.indices.len() as u64;
                model.instances.push(Instance { primitive: 0, transform, node: None });
            }
        }
        model.counts.vertices = part.positions.len() as u64;
        model.primitives.push(primitive);
        let far = part.grid.position([GRID_MOST; 3]);
        let grid = Bounds { min: Vec3::from(part.grid.origin), max: Vec3::from(far) };
        let material = part.material.and_then(|number| self.materials.get(number as usize));
        let is_transparent = material.is_some_and(|material| material.alpha == Alpha::Blend);
        Ok(Shown { model, grid, is_transparent })
    }

    fn spend(&self, what: &'static str, spent: &AtomicU64, more: u64, limit: u64) -> Result<(), DecodeError> {
        within(what, spent.fetch_add(more, Ordering::Relaxed).saturating_add(more), limit)
    }
}

/// Whether nothing of it moves, and all of its geometry came in parts.
fn is_plain(document: &Document) -> bool {
    let moves = document.animations.is_some() || document.nodes.iter().any(|node| node.skin.is_some());
    let repeats = document.nodes.iter().any(|node| node.extensions.instancing.is_some());
    !moves && !repeats && document.meshes.iter().all(|mesh| mesh.primitives.is_empty())
}

fn primitive(part: &Part) -> Primitive {
    let indices = part.indices.as_flattened().to_vec();
    let bounds = Bounds::of_points(&part.positions);
    let smooth = || normals::smooth(&part.positions, &indices, bounds.largest_side());
    let normals = part.normals.clone().unwrap_or_else(smooth);
    Primitive {
        topology: Topology::Triangles,
        normals: Some(normals.into()),
        positions: part.positions.clone().into(),
        colors: part.colors.as_ref().map(|colors| match colors {
            mesh::Colors::U8(list) => Colors::U8(list.clone().into()),
            mesh::Colors::U16(list) => Colors::U16(list.clone().into()),
        }),
        uvs: None,
        uvs_1: None,
        indices: indices.into(),
        material: part.material.map(|material| material as usize),
        bounds,
    }
}
