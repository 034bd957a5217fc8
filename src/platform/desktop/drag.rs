//! The mouse moves models: left button moves, with Ctrl it turns, the wheel
//! scales.

use bevy::{input::mouse::AccumulatedMouseScroll, input_focus::InputFocus, prelude::*};

use super::{camera::notches, hands::Cursor};
use crate::{
    app::{
        AppSystems, Hit, Targets,
        input::{Action, Hold, Me},
        viewer::at_the_window,
    },
    gestures::{scaled, turned},
    session::Placement,
};

/// Radians for a pixel.
const TURN: f32 = 0.008;
/// Of the size, for a notch of the wheel.
const GROW: f32 = 1.1;
/// Mouse movement below which a press is a click, logical pixels.
const CLICK: f32 = 4.0;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Drag>()
        .add_systems(Update, let_go.run_if(not(at_the_window)).in_set(AppSystems::Input))
        .add_systems(Update, leave_fields.in_set(AppSystems::Input).after(super::hands::point))
        .add_systems(
            Update,
            (drag, scale).chain().run_if(at_the_window).in_set(AppSystems::Input).after(super::hands::point),
        );
}

/// Whoever puts a headset on in the middle of a drag lets go.
fn let_go(mut drag: ResMut<Drag>, mut holds: MessageWriter<Hold>) {
    if let Drag::Moving { hit, .. } | Drag::Turning { hit, .. } = std::mem::take(&mut *drag) {
        holds.write(Hold::Release { model_id: hit.model_id });
    }
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
        if let Drag::Moving { hit, .. } | Drag::Turning { hit, .. } = &*drag {
            holds.write(Hold::Release { model_id: hit.model_id.clone() });
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
                let world = Placement { position, ..hit.world };
                holds.write(Hold::To { model_id: hit.model_id.clone(), world });
            }
        }
        Drag::Turning { hit, last } => {
            let delta = cursor.position - *last;
            *last = cursor.position;
            let turn = turn(delta, me.body.head.rotation);
            hit.world = turned(hit.world, hit.middle, turn);
            holds.write(Hold::To { model_id: hit.model_id.clone(), world: hit.world });
        }
        Drag::Nothing | Drag::Pressed { .. } => {}
    }
}

/// The turn of a movement of the mouse: the near side follows it.
fn turn(delta: Vec2, head: Quat) -> Quat {
    // Seen from the head (+z ahead, right is -x): to the right turns about +y, down about -x... of the near side.
    Quat::from_axis_angle(Vec3::Y, delta.x * TURN) * Quat::from_axis_angle(head * Vec3::NEG_X, delta.y * TURN)
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
    let model_id = hit.model_id.clone();
    let world = scaled(world, middle, GROW.powf(notches(&scroll)));
    holds.write(Hold::Take { model_id: model_id.clone() });
    holds.write(Hold::To { model_id: model_id.clone(), world });
    holds.write(Hold::Release { model_id });
}

#[cfg(test)]
mod tests {
    use super::*;

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
