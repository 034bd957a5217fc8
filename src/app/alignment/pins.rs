//! What markers look like: pins that stand upright on the points that they mark.

use bevy::{asset::RenderAssetUsages, light::NotShadowCaster, prelude::*};

use super::{Markers, tip};
use crate::{
    app::{
        AppSystems,
        input::{Hands, Headset},
        labels::Label,
    },
    gestures::Side,
    session::{Colour, Pose},
};

/// From the point that it marks to the middle of its ball, metres.
const HEIGHT: f32 = 0.11;
/// Of the ball, metres.
const BALL: f32 = 0.016;
/// Of the pin at the ball; at its point it has none.
const PIN: f32 = 0.0045;
/// Of the name over the ball, metres.
const LABEL: f32 = HEIGHT + 0.05;
/// Nearer than anything else that is drawn: a marker in a model or behind one is
/// what the person looks for.
const BEFORE_ALL: f32 = 1e9;

pub(in crate::app) fn plugin(app: &mut App) {
    app.add_systems(Startup, make_shapes)
        .add_systems(Update, draw.in_set(AppSystems::Present).before(crate::app::participants::follow));
}

/// The pin of this hand's marker.
#[derive(Component)]
struct Pin(Side);

#[derive(Resource)]
struct Shapes {
    ball: Handle<Mesh>,
    pin: Handle<Mesh>,
}

/// Marker 1 is the right hand's.
fn look(side: Side) -> (&'static str, Colour) {
    match side {
        Side::Right => ("1", Colour([240, 140, 20])),
        Side::Left => ("2", Colour([40, 150, 250])),
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
    let (text, colour) = look(side);
    let Colour([red, green, blue]) = colour;
    let paint =
        |base_color: Color| StandardMaterial { base_color, unlit: true, depth_bias: BEFORE_ALL, ..default() };
    let bright = materials.add(paint(Color::srgb_u8(red, green, blue)));
    let pale = materials.add(paint(Color::srgb(0.95, 0.95, 0.95)));
    let part = |mesh: &Handle<Mesh>, material: Handle<StandardMaterial>, at: Transform| {
        (Mesh3d(mesh.clone()), MeshMaterial3d(material), NotShadowCaster, at)
    };
    // A cone's tip is up.
    let down = Quat::from_rotation_x(std::f32::consts::PI);
    let pin = Transform::from_xyz(0.0, HEIGHT / 2.0, 0.0).with_rotation(down);
    commands.spawn((
        Pin(side),
        Transform::default(),
        Visibility::Hidden,
        Label { text: text.to_owned(), colour, above: Vec3::Y * LABEL },
        children![
            part(&shapes.pin, pale, pin),
            part(&shapes.ball, bright, Transform::from_xyz(0.0, HEIGHT, 0.0)),
        ],
    ));
}
