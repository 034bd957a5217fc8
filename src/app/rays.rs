//! Where wands point: a thin ray, and a dot where it meets a model.
//!
//! Everybody's are computed here from where their wands are shown, so that others
//! see where I point and the wire says nothing more than poses. Of others only
//! what meets a model is drawn; one's own in a headset always, to aim with.

use bevy::{asset::RenderAssetUsages, light::NotShadowCaster, prelude::*};

use super::{
    AppSystems, avatars,
    input::{HandDevice, Hands, Headset, Me},
    labels,
    participants::{BodyPart, Look},
    pointing::Targets,
    wands::{self, Wands},
};
use crate::{gestures::Side, session::Pose};

/// Metres.
const RADIUS: f32 = 0.0012;
/// Of one's own ray where it meets nothing, metres.
const FREE: f32 = 2.0;
/// Others' rays that meet something farther away than this are not drawn, metres.
const FARTHEST: f32 = 10.0;
/// The dot's radius for each metre from the viewer's eyes.
const DOT: f32 = 0.006;
/// Half of a wand: the ray begins at its tip, metres.
const TIP: f32 = 0.2;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(PreStartup, make_shapes).add_observer(equip).add_systems(
        Update,
        (aim, recolour)
            .chain()
            .in_set(AppSystems::Present)
            .after(super::participants::follow)
            .after(avatars::follow_own_body)
            .after(super::models::place),
    );
}

#[derive(Resource)]
struct Shapes {
    ray: Handle<Mesh>,
    dot: Handle<Mesh>,
}

/// On a wand: what shows where it points.
#[derive(Component)]
struct Pointer {
    ray: Entity,
    dot: Entity,
    paint: Handle<StandardMaterial>,
}

fn make_shapes(mut commands: Commands, mut meshes: ResMut<Assets<Mesh>>) {
    let mut add = |mut mesh: Mesh| {
        mesh.asset_usage = RenderAssetUsages::RENDER_WORLD;
        meshes.add(mesh)
    };
    commands.insert_resource(Shapes {
        ray: add(Cylinder::new(RADIUS, 1.0).mesh().resolution(8).without_caps().build()),
        dot: add(Sphere::new(1.0).mesh().uv(16, 8)),
    });
}

/// Rays and dots stand in the room by themselves: a wand that turns late must
/// not take along a dot that lies on a model.
fn equip(
    added: On<Add, BodyPart>,
    parts: Query<&BodyPart>,
    shapes: Res<Shapes>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    mut commands: Commands,
) {
    let Ok(BodyPart::LeftWand(_) | BodyPart::RightWand(_)) = parts.get(added.entity) else { return };
    let paint = materials.add(StandardMaterial { unlit: true, ..default() });
    let mut spawn = |mesh: &Handle<Mesh>| {
        let look = (Mesh3d(mesh.clone()), MeshMaterial3d(paint.clone()), NotShadowCaster);
        commands.spawn((look, Transform::default(), Visibility::Hidden)).id()
    };
    let (ray, dot) = (spawn(&shapes.ray), spawn(&shapes.dot));
    commands.entity(added.entity).insert(Pointer { ray, dot, paint }).observe(
        move |_: On<Remove, Pointer>, mut commands: Commands| {
            commands.entity(ray).try_despawn();
            commands.entity(dot).try_despawn();
        },
    );
}

fn aim(
    me: Res<Me>,
    headset: Res<Headset>,
    hands: Res<Hands>,
    wands: Res<Wands>,
    targets: Targets,
    pointers: Query<(&BodyPart, &Transform, &InheritedVisibility, &Pointer, &ChildOf)>,
    own: Query<(), With<avatars::Own>>,
    mut shown: Query<(&mut Transform, &mut Visibility), Without<BodyPart>>,
) {
    for (part, place, visible, pointer, ChildOf(wearer)) in &pointers {
        let wand = Pose { position: place.translation, rotation: place.rotation };
        let along = place.rotation * Vec3::Y;
        let side = if matches!(part, BodyPart::LeftWand(_)) { Side::Left } else { Side::Right };
        let (from, to, point) = if own.contains(*wearer) {
            // On a desktop the mouse shows it.
            let aims = headset.is_worn() && hands.get(side).is_there();
            let hit = wands.get(side).hit.as_ref().filter(|_| !wands.get(side).over_panel);
            let on_surface = hit.filter(|hit| hit.on_surface && wands.held(side).is_none());
            let point = on_surface.map(|hit| hit.point);
            let length = hit.map_or(FREE, |hit| hit.distance);
            // A bare hand's begins at the fingers, and is not drawn where it holds something.
            let start = if hands.get(side).device == HandDevice::Bare { 0.0 } else { TIP };
            if !aims || wands.get(side).over_panel { (0.0, 0.0, None) } else { (start, length, point) }
        } else {
            let hit = visible.get().then(|| targets.hit_within(wands::ray_of(wand), FARTHEST)).flatten();
            (TIP, hit.as_ref().map_or(0.0, |hit| hit.distance), hit.map(|hit| hit.point))
        };
        if let Ok((mut transform, mut visibility)) = shown.get_mut(pointer.ray) {
            let length = to - from;
            visibility.set_if_neq(if length > 0.0 { Visibility::Inherited } else { Visibility::Hidden });
            if length > 0.0 {
                *transform = Transform {
                    translation: wand.position + along * (from + length / 2.0),
                    rotation: wand.rotation,
                    scale: Vec3::new(1.0, length, 1.0),
                };
            }
        }
        if let Ok((mut transform, mut visibility)) = shown.get_mut(pointer.dot) {
            visibility.set_if_neq(if point.is_some() { Visibility::Inherited } else { Visibility::Hidden });
            if let Some(point) = point {
                let radius = DOT * point.distance(me.body.head.position).clamp(0.3, FARTHEST);
                *transform = Transform::from_translation(point).with_scale(Vec3::splat(radius));
            }
        }
    }
}

fn recolour(
    pointers: Query<(&Pointer, &ChildOf)>,
    wearers: Query<Ref<Look>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    for (pointer, ChildOf(wearer)) in &pointers {
        let Ok(look) = wearers.get(*wearer) else { continue };
        let colour = if look.grey { avatars::GREY } else { labels::colour(look.colour) };
        let differs = materials.get(&pointer.paint).is_some_and(|paint| paint.base_color != colour);
        if differs && let Some(mut paint) = materials.get_mut(&pointer.paint) {
            paint.base_color = colour;
        }
    }
}
