//! What markers look like: pins that stand upright on the points that they mark.

use bevy::{asset::RenderAssetUsages, light::NotShadowCaster, prelude::*};

use super::{Markers, tip};
use crate::{
    app::{
        AppSystems, avatars,
        input::{Hands, Headset},
    },
    gestures::Side,
    session::Pose,
};

/// From the point that it marks to its ball, metres.
const HEIGHT: f32 = 0.1;
/// Of a ball, metres.
const BALL: f32 = 0.018;
/// Of the pin at the ball; at its point it has none.
const PIN: f32 = 0.006;
/// Nearer than anything else that is drawn: a marker in a model or behind one is
/// what the person looks for.
const BEFORE_ALL: f32 = 1e9;

pub(in crate::app) fn plugin(app: &mut App) {
    app.add_systems(Startup, make_shapes).add_systems(Update, draw.in_set(AppSystems::Present));
}

/// The pin of this hand's marker.
#[derive(Component)]
struct Pin(Side);

#[derive(Resource)]
struct Shapes {
    ball: Handle<Mesh>,
    pin: Handle<Mesh>,
}

/// Marker 1 is the right hand's and has one ball, marker 2 two: no text, which a
/// model could hide.
fn look(side: Side) -> (Color, u8) {
    match side {
        Side::Right => (Color::srgb(0.95, 0.5, 0.05), 1),
        Side::Left => (Color::srgb(0.1, 0.55, 0.95), 2),
    }
}

fn make_shapes(mut commands: Commands, mut meshes: ResMut<Assets<Mesh>>) {
    let mut add = |mut mesh: Mesh| {
        mesh.asset_usage = RenderAssetUsages::RENDER_WORLD;
        meshes.add(mesh)
    };
    commands.insert_resource(Shapes {
        ball: add(Sphere::new(BALL).mesh().uv(24, 16)),
        pin: add(Cone::new(PIN, HEIGHT).mesh().resolution(16).build()),
    });
}

fn draw(
    markers: Res<Markers>,
    hands: Res<Hands>,
    headset: Res<Headset>,
    shapes: Res<Shapes>,
    mut pins: Query<(Entity, &Pin, &mut Transform, &mut Visibility)>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    mut commands: Commands,
) {
    if !markers.is_on() {
        for (pin, ..) in &pins {
            commands.entity(pin).despawn();
        }
        return;
    }
    for side in Side::BOTH {
        let dropped = markers.dropped(side).map(|at| {
            let at = Pose { position: at, rotation: Quat::IDENTITY };
            at.within(headset.room_from_tracking).position
        });
        let at = dropped.or_else(|| tip(hands.get(side)));
        let Some((_, _, mut place, mut visibility)) = pins.iter_mut().find(|(_, pin, ..)| pin.0 == side)
        else {
            spawn(side, &shapes, &mut materials, &mut commands);
            continue;
        };
        visibility.set_if_neq(if at.is_some() { Visibility::Inherited } else { Visibility::Hidden });
        if let Some(at) = at {
            place.set_if_neq(Transform::from_translation(at));
        }
    }
}

fn spawn(side: Side, shapes: &Shapes, materials: &mut Assets<StandardMaterial>, commands: &mut Commands) {
    let (colour, balls) = look(side);
    let mut paint =
        |colour: Color| materials.add(StandardMaterial { depth_bias: BEFORE_ALL, ..avatars::skin(colour) });
    let (bright, pale) = (paint(colour), paint(Color::srgb(0.97, 0.97, 0.97)));
    let pin = commands.spawn((Pin(side), Transform::default(), Visibility::Hidden)).id();
    let mut part = |mesh: &Handle<Mesh>, material: &Handle<StandardMaterial>, at: Transform| {
        let look = (Mesh3d(mesh.clone()), MeshMaterial3d(material.clone()), NotShadowCaster);
        commands.spawn((look, at, ChildOf(pin)));
    };
    // A cone's tip is up.
    let down = Quat::from_rotation_x(std::f32::consts::PI);
    part(&shapes.pin, &pale, Transform::from_xyz(0.0, HEIGHT / 2.0, 0.0).with_rotation(down));
    for ball in 0..balls {
        let above = HEIGHT + BALL * (1.0 + 2.0 * f32::from(ball));
        part(&shapes.ball, &bright, Transform::from_xyz(0.0, above, 0.0));
    }
}
