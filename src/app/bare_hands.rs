//! One's own bare hands, drawn simply: a ball for each joint, a rod for each bone.
//!
//! Others see a wand instead, as LookSee shows it: the wire has no joints.

use bevy::{asset::RenderAssetUsages, light::NotShadowCaster, prelude::*};

use super::{
    AppSystems, avatars,
    input::{Action, Me},
    labels,
    link::Meeting,
    wands,
};
use crate::gestures::{MenuHand, MenuPinch, PerSide, Side, left_palm_facing};

/// Joints of a hand, in OpenXR's order (XR_EXT_hand_tracking): palm, wrist, four
/// of the thumb, five of each finger.
pub const JOINTS: usize = 26;
/// The tip of the thumb.
pub const THUMB_TIP: usize = 5;
/// The tip of the index finger.
pub const INDEX_TIP: usize = 10;
/// Where the index finger begins.
pub const KNUCKLE: usize = 7;
/// The wrist.
pub const WRIST: usize = 1;
/// The palm.
const PALM: usize = 0;
/// The tip of the middle finger.
const MIDDLE_TIP: usize = 15;
/// Where the little finger begins.
const LITTLE_KNUCKLE: usize = 22;
/// Bones: what each joint hangs from.
const PARENT: [usize; JOINTS] =
    [1, 1, 1, 2, 3, 4, 1, 6, 7, 8, 9, 1, 11, 12, 13, 14, 1, 16, 17, 18, 19, 1, 21, 22, 23, 24];
/// Of the joint's radius: a hand that hides what it holds helps nobody.
const SLIM: f32 = 0.75;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Joints>()
        .add_systems(Startup, make_shapes)
        .add_systems(Update, ask_for_menu.in_set(AppSystems::Input).after(wands::point));
    app.add_systems(
        Update,
        draw.in_set(AppSystems::Present)
            .run_if(resource_changed::<Joints>.or_else(resource_changed::<Meeting>)),
    );
}

/// Where the joints of bare hands are, room space, and how thick they are; none
/// of a hand that is not bare or not seen.
#[derive(Resource, Debug, Default, Deref, DerefMut)]
pub struct Joints(pub PerSide<Option<[(Vec3, f32); JOINTS]>>);

/// A bare hand has no menu button: the left one's thumb and middle finger have to do.
fn ask_for_menu(
    joints: Res<Joints>,
    me: Res<Me>,
    mut pinch: Local<MenuPinch>,
    mut actions: MessageWriter<Action>,
) {
    let hand = joints.left.as_ref().map(|joints| {
        let at = |joint: usize| joints.get(joint).map_or(Vec3::ZERO, |(position, _)| *position);
        MenuHand {
            thumb: at(THUMB_TIP),
            index: at(INDEX_TIP),
            middle: at(MIDDLE_TIP),
            palm: at(PALM),
            facing: left_palm_facing(at(WRIST), at(KNUCKLE), at(LITTLE_KNUCKLE)),
        }
    });
    if pinch.update(me.body.head.position, hand) {
        actions.write(Action::Menu(Side::Left));
    }
}

#[derive(Resource)]
struct Shapes {
    ball: Handle<Mesh>,
    rod: Handle<Mesh>,
    skin: Handle<StandardMaterial>,
}

/// The entities of one hand: a ball and a rod for each joint.
#[derive(Component)]
struct DrawnHand {
    side: Side,
    parts: Vec<(Entity, Entity)>,
}

fn make_shapes(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    meeting: Res<Meeting>,
) {
    let mut add = |mut mesh: Mesh| {
        mesh.asset_usage = RenderAssetUsages::RENDER_WORLD;
        meshes.add(mesh)
    };
    commands.insert_resource(Shapes {
        ball: add(Sphere::new(1.0).mesh().uv(12, 8)),
        rod: add(Cylinder::new(1.0, 1.0).mesh().resolution(10).without_caps().build()),
        skin: materials.add(avatars::skin(labels::colour(meeting.me.colour))),
    });
}

fn draw(
    joints: Res<Joints>,
    meeting: Res<Meeting>,
    shapes: Res<Shapes>,
    mut hands: Query<(&DrawnHand, &mut Visibility)>,
    mut places: Query<&mut Transform>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    mut commands: Commands,
) {
    let colour = labels::colour(meeting.me.colour);
    if materials.get(&shapes.skin).is_some_and(|skin| skin.base_color != colour)
        && let Some(mut skin) = materials.get_mut(&shapes.skin)
    {
        *skin = avatars::skin(colour);
    }
    for side in Side::BOTH {
        let Some((hand, mut visibility)) = hands.iter_mut().find(|(hand, _)| hand.side == side) else {
            if joints.get(side).is_some() {
                spawn(side, &shapes, &mut commands);
            }
            continue;
        };
        let Some(joints) = joints.get(side) else {
            visibility.set_if_neq(Visibility::Hidden);
            continue;
        };
        visibility.set_if_neq(Visibility::Inherited);
        for ((&(ball, rod), &(at, radius)), &parent) in hand.parts.iter().zip(joints).zip(&PARENT) {
            let radius = radius.clamp(0.003, 0.02) * SLIM;
            if let Ok(mut place) = places.get_mut(ball) {
                *place = Transform::from_translation(at).with_scale(Vec3::splat(radius));
            }
            let from = joints.get(parent).map_or(at, |(from, _)| *from);
            let bone = at - from;
            if let Ok(mut place) = places.get_mut(rod) {
                *place = Transform {
                    translation: from + bone / 2.0,
                    rotation: Quat::from_rotation_arc(Vec3::Y, bone.try_normalize().unwrap_or(Vec3::Y)),
                    scale: Vec3::new(radius * 0.9, bone.length(), radius * 0.9),
                };
            }
        }
    }
}

fn spawn(side: Side, shapes: &Shapes, commands: &mut Commands) {
    let hand = commands.spawn((Transform::default(), Visibility::Hidden)).id();
    let mut part = |mesh: &Handle<Mesh>| {
        let look = (Mesh3d(mesh.clone()), MeshMaterial3d(shapes.skin.clone()), NotShadowCaster);
        commands.spawn((look, Transform::from_scale(Vec3::ZERO), ChildOf(hand))).id()
    };
    let parts = (0..JOINTS).map(|_| (part(&shapes.ball), part(&shapes.rod))).collect();
    commands.entity(hand).insert(DrawnHand { side, parts });
}
