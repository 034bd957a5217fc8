//! The room: a lit, neutral space with a floor that shows its scale.
//!
//! For: light, background and floor. Not for anything that takes part in a
//! meeting. Everything has [`RoomShell`], so that pass-through can hide it.
//!
//! The light is made for reading shapes, not for mood: the key light stands a
//! little above and to the left of the viewer's head and goes with it, so that
//! surfaces that are looked at are bright and highlights move with the head, and
//! a weak fill comes from the other side. Together with the ambient light they
//! make a white surface that faces the viewer just white, so that a colour is
//! shown as it is in the file and never clipped.

mod floor;
mod sky;

use std::f32::consts::PI;

use bevy::{mesh::VertexAttributeValues, prelude::*};

use super::{
    AppSystems,
    input::{Headset, Me},
};

pub(super) fn plugin(app: &mut App) {
    app.insert_resource(ClearColor(sky::HORIZON))
        .insert_resource(GlobalAmbientLight { color: Color::WHITE, brightness: AMBIENT * WHITE, ..default() })
        .add_systems(Startup, spawn_lights)
        .add_systems(Update, (follow_head, make_way).in_set(AppSystems::Present))
        .add_plugins((floor::plugin, sky::plugin));
}

/// What pass-through hides.
#[derive(Component, Debug, Default, Clone, Copy)]
pub struct RoomShell;

/// Luminance that the default exposure shows as 1: 2^9.7 * 1.2 cd/m^2.
const WHITE: f32 = 998.0;
/// Shares of the light on a white surface that faces the viewer.
const AMBIENT: f32 = 0.30;
const KEY: f32 = 0.66;
const FILL: f32 = 0.16;
/// What the key light brings to a surface that faces it, in lux. A matte surface sends a
/// part of pi of that in each direction.
pub(super) const KEY_LUX: f32 = KEY * WHITE * PI;

/// A light that goes with the head: turned against it by this.
#[derive(Component)]
struct HeadLight(Quat);

fn spawn_lights(mut commands: Commands) {
    // The head looks along +z, so light that falls the same way shines from behind the viewer.
    let light = |share: f32, yaw: f32, pitch: f32| {
        // A matte surface sends illuminance / pi in each direction.
        let light = DirectionalLight { illuminance: share * WHITE * PI, ..default() };
        (light, HeadLight(Quat::from_rotation_y(yaw) * Quat::from_rotation_x(pitch)))
    };
    // From the upper left (the left of somebody who looks along +z is +x, so it falls towards -x).
    commands.spawn(light(KEY, -0.45, 0.5));
    commands.spawn(light(FILL, 1.1, -0.25));
}

fn follow_head(me: Res<Me>, mut lights: Query<(&HeadLight, &mut Transform)>) {
    for (HeadLight(turn), mut transform) in &mut lights {
        // Bevy's lights shine along -z.
        let rotation = me.body.head.rotation * *turn * Quat::from_rotation_y(PI);
        transform.set_if_neq(Transform::from_rotation(rotation));
    }
}

/// Where the real room is seen there is no other.
fn make_way(headset: Res<Headset>, mut shell: Query<&mut Visibility, With<RoomShell>>) {
    let seen = if headset.sees_real_room() { Visibility::Hidden } else { Visibility::Inherited };
    for mut visibility in &mut shell {
        visibility.set_if_neq(seen);
    }
}

/// The positions of a mesh that has not been sent to the GPU yet.
pub(super) fn positions(mesh: &Mesh) -> Option<&[[f32; 3]]> {
    match mesh.attribute(Mesh::ATTRIBUTE_POSITION) {
        Some(VertexAttributeValues::Float32x3(positions)) => Some(positions),
        _ => None,
    }
}
