//! What a ray meets: boxes of models first, then their triangles.

use bevy::{ecs::system::SystemParam, math::Affine3A, prelude::*};

use super::models::{Model, ModelState, Shape, Stands};
use crate::{app::link::Meeting, session::Placement};

/// So far beside a hand's ray a model still counts as met, radians.
const NEAR: f32 = 0.02;
/// In so many directions it is looked for.
const RING: usize = 8;

/// The models that a ray can meet.
#[derive(SystemParam)]
pub struct Targets<'w, 's> {
    meeting: Res<'w, Meeting>,
    models: Query<'w, 's, (&'static Model, &'static ModelState, &'static Stands, &'static Shape)>,
}

/// Where a ray meets a model, in room space.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Which model.
    pub model_id: String,
    /// Metres from the ray's origin.
    pub distance: f32,
    /// On the model's surface, or beside it.
    pub point: Vec3,
    /// Whether the ray meets the surface, not only comes near.
    pub on_surface: bool,
    /// Where the model is.
    pub world: Placement,
    /// The middle of the model.
    pub middle: Vec3,
}

impl Targets<'_, '_> {
    /// The nearest shown model on the ray.
    pub fn hit(&self, ray: Ray3d) -> Option<Hit> {
        self.hit_within(ray, f32::MAX)
    }

    /// The nearest shown model on the ray, at most so many metres away.
    pub fn hit_within(&self, ray: Ray3d, farthest: f32) -> Option<Hit> {
        let mut nearest: Option<Hit> = None;
        for (model, state, stands, shape) in &self.models {
            let shown = self.meeting.model(&model.id).is_some_and(|m| m.shown);
            let (true, ModelState::Ready, Some(world), Some(middle)) =
                (shown, *state, stands.world, stands.middle())
            else {
                continue;
            };
            let Some(room_from_model) = room_from_model(stands) else { continue };
            let limit = nearest.as_ref().map_or(farthest, |hit| hit.distance);
            if let Some(distance) = hit_shape(shape, room_from_model, ray, limit) {
                nearest = Some(Hit {
                    model_id: model.id.clone(),
                    distance,
                    point: ray.get_point(distance),
                    on_surface: true,
                    world,
                    middle,
                });
            }
        }
        nearest
    }

    /// The model that a hand means: what its ray meets, or passes nearby, or the
    /// nearest one whose box it crosses. Hands tremble, and atoms and bonds are thin.
    pub fn nearest(&self, ray: Ray3d) -> Option<Hit> {
        self.hit(ray).or_else(|| {
            let (a, b) = ray.direction.any_orthonormal_pair();
            let around = (0..RING).filter_map(|step| {
                let angle = step as f32 / RING as f32 * std::f32::consts::TAU;
                let aside = (a * angle.cos() + b * angle.sin()) * NEAR.tan();
                self.hit(Ray3d::new(ray.origin, Dir3::new(*ray.direction + aside).ok()?))
            });
            around.min_by(|a, b| a.distance.total_cmp(&b.distance)).or_else(|| self.hit_boxes(ray))
        })
    }

    /// The nearest shown model whose box the ray crosses; the point is where the
    /// ray passes the middle of the model.
    fn hit_boxes(&self, ray: Ray3d) -> Option<Hit> {
        let crossed = self.models.iter().filter_map(|(model, state, stands, shape)| {
            let shown = self.meeting.model(&model.id).is_some_and(|m| m.shown);
            let (world, middle) = (stands.world?, stands.middle()?);
            let room_from_model = room_from_model(stands)?;
            let distance = (shown && *state == ModelState::Ready)
                .then(|| crosses_box(shape, room_from_model, ray))
                .flatten()?;
            let beside = (middle - ray.origin).dot(*ray.direction).max(distance);
            let hit = Hit {
                model_id: model.id.clone(),
                distance: beside,
                point: ray.get_point(beside),
                on_surface: false,
                world,
                middle,
            };
            Some((distance, hit))
        });
        crossed.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, hit)| hit)
    }

    /// The middle of a model that stands there.
    pub fn middle_of(&self, id: &str, world: Placement) -> Option<Vec3> {
        let (_, _, stands, _) = self.models.iter().find(|(model, ..)| model.id == id)?;
        Stands { world: Some(world), ..*stands }.middle()
    }

    /// The middle of the first shown model.
    pub fn any_middle(&self) -> Option<Vec3> {
        self.meeting.models.iter().filter(|m| m.shown).find_map(|view| {
            let (_, _, stands, _) = self.models.iter().find(|(model, ..)| model.id == view.id)?;
            stands.middle()
        })
    }

    /// Where a model is.
    pub fn place(&self, id: &str) -> Option<(Placement, Vec3)> {
        let (_, _, stands, _) = self.models.iter().find(|(model, ..)| model.id == id)?;
        Some((stands.world?, stands.middle()?))
    }
}

/// From the model's own units.
fn room_from_model(stands: &Stands) -> Option<Affine3A> {
    let world = stands.world?;
    let unit = stands.measure.map_or(1.0, |m| m.unit_scale());
    let scale = Vec3::splat(world.scale * unit);
    Some(Affine3A::from_scale_rotation_translation(scale, world.rotation, world.position))
}

/// Metres along the ray to the shape's box; 0 from inside.
fn crosses_box(shape: &Shape, room_from_model: Affine3A, ray: Ray3d) -> Option<f32> {
    let model_from_room = room_from_model.inverse();
    let origin = model_from_room.transform_point3(ray.origin);
    let direction = model_from_room.transform_vector3(*ray.direction).try_normalize()?;
    let distance = hit_box(shape.bounds.min, shape.bounds.max, origin, direction)?;
    Some(distance * room_from_model.matrix3.x_axis.length()).filter(|distance| distance.is_finite())
}

/// Metres along the ray to the shape, if it is nearer than `limit`.
fn hit_shape(shape: &Shape, room_from_model: Affine3A, ray: Ray3d, limit: f32) -> Option<f32> {
    let scale = room_from_model.matrix3.x_axis.length();
    let model_from_room = room_from_model.inverse();
    let origin = model_from_room.transform_point3(ray.origin);
    let direction = model_from_room.transform_vector3(*ray.direction).try_normalize()?;
    let box_distance = hit_box(shape.bounds.min, shape.bounds.max, origin, direction)?;
    if box_distance * scale > limit {
        return None;
    }
    let hit = shape.tree.raycast(origin, direction, limit / scale)?;
    let distance = hit.distance * scale;
    (distance.is_finite() && distance < limit).then_some(distance)
}

/// Distance to a box; 0 from inside.
fn hit_box(min: Vec3, max: Vec3, origin: Vec3, direction: Vec3) -> Option<f32> {
    let inverse = direction.recip();
    let (a, b) = ((min - origin) * inverse, (max - origin) * inverse);
    // A ray within a face's plane gives 0 * infinity; min and max then take the other number.
    let enter = a.min(b).max_element().max(0.0);
    let leave = a.max(b).min_element();
    (enter <= leave).then_some(enter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_hit_from_outside_and_from_inside() {
        let (min, max) = (Vec3::splat(-1.0), Vec3::splat(1.0));
        assert_eq!(hit_box(min, max, Vec3::new(0.0, 0.0, -3.0), Vec3::Z), Some(2.0));
        assert_eq!(hit_box(min, max, Vec3::ZERO, Vec3::Z), Some(0.0));
        assert_eq!(hit_box(min, max, Vec3::new(0.0, 0.0, -3.0), Vec3::NEG_Z), None);
        assert_eq!(hit_box(min, max, Vec3::new(0.0, 3.0, -3.0), Vec3::Z), None);
    }
}
