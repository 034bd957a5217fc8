//! What the mouse points at, and the wands that show it to others.
//!
//! The right wand starts near the lower right of the view and points at what is
//! under the mouse; the left one rests beside the head.

use bevy::{
    picking::{hover::HoverMap, pointer::PointerId},
    prelude::*,
    window::PrimaryWindow,
};

use crate::{
    app::{
        AppSystems, Hit, Targets,
        input::Me,
        viewer::{WindowCamera, at_the_window},
    },
    session::{Body, Pose},
};

/// Half of a wand, metres.
const HALF_WAND: f32 = 0.2;
/// Where the right hand is, seen from the head (which looks along +z, so that its
/// right is -x).
const HAND: Vec3 = Vec3::new(-0.24, -0.25, 0.30);
/// So far from the mouse a model still counts as hit, logical pixels.
const NEAR_PIXELS: f32 = 7.0;
/// Where it is looked for.
const RING: [Vec2; 8] = [
    Vec2::new(1.0, 0.0),
    Vec2::new(0.7, 0.7),
    Vec2::new(0.0, 1.0),
    Vec2::new(-0.7, 0.7),
    Vec2::new(-1.0, 0.0),
    Vec2::new(-0.7, -0.7),
    Vec2::new(0.0, -1.0),
    Vec2::new(0.7, -0.7),
];

/// Of a wand that hangs down, from upright: to the floor, a little ahead.
const HANGING: f32 = std::f32::consts::PI * 0.9;

/// How far away the wand points where nothing is under the mouse, metres.
const NOTHING_AT: f32 = 3.0;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Cursor>()
        .add_systems(PreUpdate, look_for_panels.after(bevy::picking::PickingSystems::Hover))
        .add_systems(Update, (point, hold_wands).chain().run_if(at_the_window).in_set(AppSystems::Input));
}

/// What is under the mouse.
#[derive(Resource, Debug, Default)]
pub(super) struct Cursor {
    /// From the eye through the mouse; none outside of the window.
    pub ray: Option<Ray3d>,
    /// The model there.
    pub hit: Option<Hit>,
    /// Whether a panel is there.
    pub over_panel: bool,
    /// Logical pixels.
    pub position: Vec2,
}

fn look_for_panels(hover: Res<HoverMap>, nodes: Query<(), With<Node>>, mut cursor: ResMut<Cursor>) {
    cursor.over_panel =
        hover.get(&PointerId::Mouse).is_some_and(|hits| hits.keys().any(|&entity| nodes.contains(entity)));
}

pub(super) fn point(
    window: Single<&Window, With<PrimaryWindow>>,
    camera: Single<(&Camera, &Transform), With<WindowCamera>>,
    targets: Targets,
    mut cursor: ResMut<Cursor>,
) {
    let (camera, transform) = *camera;
    let ray = window.cursor_position().and_then(|position| {
        cursor.position = position;
        // The camera has no parent, so its transform is its place in the room.
        camera.viewport_to_world(&GlobalTransform::from(*transform), position).ok()
    });
    cursor.ray = ray;
    cursor.hit = None;
    let Some(ray) = ray.filter(|_| !cursor.over_panel) else { return };
    cursor.hit = targets.hit(ray).or_else(|| {
        // Atoms and bonds are thin: what is right beside the mouse is meant, too.
        let around = RING.iter().filter_map(|offset| {
            let position = cursor.position + *offset * NEAR_PIXELS;
            targets.hit(camera.viewport_to_world(&GlobalTransform::from(*transform), position).ok()?)
        });
        around.min_by(|a, b| a.distance.total_cmp(&b.distance))
    });
}

fn hold_wands(cursor: Res<Cursor>, mut me: ResMut<Me>) {
    let head = me.body.head;
    let rest = Body::rest();
    // It hangs down: one that pointed ahead would seem to point at something.
    let hanging = Pose { rotation: Quat::from_rotation_x(HANGING), ..rest.left };
    me.body.left = hanging.within(rest.head.inverse()).within(head);
    let target = match (&cursor.hit, cursor.ray) {
        (Some(hit), _) => Some(hit.point),
        (None, Some(ray)) => Some(ray.get_point(NOTHING_AT)),
        (None, None) => None,
    };
    me.body.right = match target {
        Some(target) => aimed(head, target),
        None => rest.right.within(rest.head.inverse()).within(head),
    };
}

/// The wand in the right hand, pointing at a place.
fn aimed(head: Pose, target: Vec3) -> Pose {
    let hand = head.position + head.rotation * HAND;
    let ahead = head.rotation * Vec3::Z;
    let direction = (target - hand).try_normalize().unwrap_or(ahead);
    let rotation = Quat::from_rotation_arc(Vec3::Y, direction);
    Pose { position: hand + direction * HALF_WAND, rotation }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tip_points_at_the_target() {
        let head = Pose {
            position: Vec3::new(0.3, 1.6, -1.0),
            rotation: Quat::from_rotation_y(0.8) * Quat::from_rotation_x(0.2),
        };
        let target = Vec3::new(2.0, 1.0, 1.5);
        let wand = aimed(head, target);
        let along = wand.rotation * Vec3::Y;
        assert!(along.dot((target - wand.position).normalize()) > 0.9999);
        // To the right of and below the head.
        let seen = head.rotation.inverse() * (wand.position - head.position);
        assert!(seen.x < 0.0 && seen.y < 0.0 && seen.z > 0.0, "{seen}");
    }
}
