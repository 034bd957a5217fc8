//! The mouse moves models: left button moves, with Ctrl it turns, the wheel
//! scales.

use bevy::{input::mouse::AccumulatedMouseScroll, input_focus::InputFocus, prelude::*};

use super::{camera::notches, hands::Cursor};
use crate::{
    app::{
        AppSystems, Hit, Targets,
        input::{Action, Hold, Me},
    },
    session::{Placement, Pose},
};

/// Radians for a pixel.
const TURN: f32 = 0.008;
/// Of the size, for a notch of the wheel.
const GROW: f32 = 1.1;
/// Metres of the largest side that the wheel stops at.
const SIZES: std::ops::RangeInclusive<f32> = 0.01..=100.0;
/// Mouse movement below which a press is a click, logical pixels.
const CLICK: f32 = 4.0;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Drag>()
        .add_systems(Update, leave_fields.in_set(AppSystems::Input).after(super::hands::point))
        .add_systems(Update, (drag, scale).chain().in_set(AppSystems::Input).after(super::hands::point));
}

/// Whoever presses a button in the room is done with typing.
fn leave_fields(buttons: Res<ButtonInput<MouseButton>>, cursor: Res<Cursor>, mut focus: ResMut<InputFocus>) {
    if buttons.get_just_pressed().next().is_some() && !cursor.over_panel && focus.get().is_some() {
        focus.clear();
    }
}

/// What the left button holds.
#[derive(Resource, Debug, Default)]
enum Drag {
    #[default]
    Nothing,
    /// Pressed, but not moved by more than a click.
    Pressed { hit: Hit, at: Vec2 },
    /// In the plane through what was hit, facing the viewer.
    Moving { hit: Hit, plane: InfinitePlane3d },
    /// About the model's middle.
    Turning { hit: Hit, last: Vec2 },
}

fn drag(
    buttons: Res<ButtonInput<MouseButton>>,
    keys: Res<ButtonInput<KeyCode>>,
    cursor: Res<Cursor>,
    me: Res<Me>,
    mut drag: ResMut<Drag>,
    mut holds: MessageWriter<Hold>,
    mut actions: MessageWriter<Action>,
) {
    if buttons.just_pressed(MouseButton::Left)
        && let Some(hit) = &cursor.hit
    {
        actions.write(Action::Select(hit.model_id.clone()));
        *drag = Drag::Pressed { hit: hit.clone(), at: cursor.position };
    }
    if !buttons.pressed(MouseButton::Left) {
        if matches!(*drag, Drag::Moving { .. } | Drag::Turning { .. }) {
            holds.write(Hold::Release);
        }
        *drag = Drag::Nothing;
        return;
    }
    if let Drag::Pressed { hit, at } = &*drag
        && at.distance(cursor.position) > CLICK
    {
        holds.write(Hold::Take { model_id: hit.model_id.clone() });
        let turn = keys.any_pressed([
            KeyCode::ControlLeft,
            KeyCode::ControlRight,
            KeyCode::AltLeft,
            KeyCode::AltRight,
        ]);
        *drag = if turn {
            Drag::Turning { hit: hit.clone(), last: cursor.position }
        } else {
            let facing = Dir3::new(me.body.head.rotation * Vec3::NEG_Z).unwrap_or(Dir3::Z);
            Drag::Moving { hit: hit.clone(), plane: InfinitePlane3d { normal: facing } }
        };
    }
    match &mut *drag {
        Drag::Moving { hit, plane } => {
            if let Some(ray) = cursor.ray
                && let Some(distance) = ray.intersect_plane(hit.point, *plane)
            {
                let position = hit.world.position + ray.get_point(distance) - hit.point;
                holds.write(Hold::To(Placement { position, ..hit.world }));
            }
        }
        Drag::Turning { hit, last } => {
            let delta = cursor.position - *last;
            *last = cursor.position;
            let turn = turn(delta, me.body.head.rotation);
            hit.world = turned(hit.world, hit.middle, turn);
            holds.write(Hold::To(hit.world));
        }
        Drag::Nothing | Drag::Pressed { .. } => {}
    }
}

/// The turn of a movement of the mouse: the near side follows it.
fn turn(delta: Vec2, head: Quat) -> Quat {
    // Seen from the head (+z ahead, right is -x): to the right turns about +y, down about -x... of the near side.
    Quat::from_axis_angle(Vec3::Y, delta.x * TURN) * Quat::from_axis_angle(head * Vec3::NEG_X, delta.y * TURN)
}

/// A placement turned about a point.
fn turned(world: Placement, about: Vec3, turn: Quat) -> Placement {
    let pose = Pose::new(about + turn * (world.position - about), turn * world.rotation);
    Placement::new(pose, world.scale)
}

/// A placement scaled about a point.
fn scaled(world: Placement, about: Vec3, factor: f32) -> Placement {
    let scale = (world.scale * factor).clamp(*SIZES.start(), *SIZES.end());
    let factor = scale / world.scale;
    Placement { position: about + (world.position - about) * factor, scale, ..world }
}

fn scale(
    scroll: Res<AccumulatedMouseScroll>,
    cursor: Res<Cursor>,
    drag: Res<Drag>,
    targets: Targets,
    mut holds: MessageWriter<Hold>,
) {
    let (Some(hit), true) = (&cursor.hit, scroll.delta.y != 0.0 && matches!(*drag, Drag::Nothing)) else {
        return;
    };
    let Some((world, middle)) = targets.place(&hit.model_id) else { return };
    holds.write(Hold::Take { model_id: hit.model_id.clone() });
    holds.write(Hold::To(scaled(world, middle, GROW.powf(notches(&scroll)))));
    holds.write(Hold::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> Placement {
        Placement::new(Pose::new(Vec3::new(0.2, 1.5, 1.0), Quat::from_rotation_x(0.3)), 2.0)
    }

    #[test]
    fn the_middle_stays_where_it_is() {
        let middle_in_model = Vec3::new(0.1, -0.2, 0.3);
        let middle = |p: Placement| p.position + p.rotation * (p.scale * middle_in_model);
        let about = middle(model());
        let after = turned(model(), about, Quat::from_rotation_y(1.0));
        assert!(middle(after).abs_diff_eq(about, 1e-5));
        let after = scaled(model(), about, 1.7);
        assert!(middle(after).abs_diff_eq(about, 1e-5));
        assert!((after.scale - 3.4).abs() < 1e-5);
    }

    #[test]
    fn the_near_side_follows_the_mouse() {
        // Seen by a head at the origin that looks along +z: the near side of a thing ahead is its -z side.
        let near = Vec3::NEG_Z;
        let right = turn(Vec2::new(10.0, 0.0), Quat::IDENTITY) * near;
        assert!(right.x < 0.0, "right is -x: {right}");
        let down = turn(Vec2::new(0.0, 10.0), Quat::IDENTITY) * near;
        assert!(down.y < 0.0, "{down}");
    }
}
