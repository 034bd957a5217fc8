//! What heads and wands look like: made by code, coloured by participant.
//!
//! A head is a rounded box of LookSee's 0.2 m with two eyes and a smile on its +z
//! side, so that it is plain from afar where somebody looks; a wand is LookSee's
//! cylinder, 0.4 m long and 1 cm thick in radius, with a bright tip at its +y end.

mod shapes;

pub(in crate::app) use shapes::skin;

use bevy::prelude::*;

use super::{
    AppSystems,
    input::{HandDevice, Hands, Headset, Me},
    labels,
    link::Meeting,
    participants::{BodyPart, Look},
};

/// Instead of its own colour, of somebody who is not heard from.
pub(super) const GREY: Color = Color::srgb(0.55, 0.56, 0.58);

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Startup, (shapes::make, spawn_own_wands).chain())
        .add_observer(dress)
        .add_systems(Update, (recolour, follow_own_body).in_set(AppSystems::Present));
}

/// Our own wands, which we see as others do.
#[derive(Component)]
pub(super) struct Own;

/// The material in the participant's colour, on whoever has [`Look`].
#[derive(Component)]
struct Skin(Handle<StandardMaterial>);

fn dress(
    added: On<Add, BodyPart>,
    parts: Query<(&BodyPart, &ChildOf)>,
    wearers: Query<(&Look, Option<&Skin>)>,
    shapes: Res<shapes::Shapes>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    mut commands: Commands,
) -> Result {
    let (part, ChildOf(wearer)) = parts.get(added.entity)?;
    let (look, skin) = wearers.get(*wearer)?;
    let skin = match skin {
        Some(Skin(handle)) => handle.clone(),
        None => {
            let handle = materials.add(shapes::skin(colour(*look)));
            commands.entity(*wearer).insert(Skin(handle.clone()));
            handle
        }
    };
    match part {
        BodyPart::Head(_) => shapes.dress_head(commands.entity(added.entity), skin),
        BodyPart::LeftWand(_) | BodyPart::RightWand(_) => {
            shapes.dress_wand(commands.entity(added.entity), skin);
        }
    }
    Ok(())
}

fn colour(look: Look) -> Color {
    if look.grey { GREY } else { labels::colour(look.colour) }
}

fn recolour(wearers: Query<(&Look, &Skin), Changed<Look>>, mut materials: ResMut<Assets<StandardMaterial>>) {
    for (look, Skin(handle)) in &wearers {
        if let Some(mut material) = materials.get_mut(handle) {
            *material = shapes::skin(colour(*look));
        }
    }
}

fn spawn_own_wands(mut commands: Commands, me: Res<Me>, meeting: Res<Meeting>) {
    let look = Look { colour: meeting.me.colour, grey: false };
    let wands = children![BodyPart::LeftWand(me.body.left), BodyPart::RightWand(me.body.right)];
    commands.spawn((Own, look, Transform::default(), Visibility::default(), wands));
}

pub(super) fn follow_own_body(
    me: Res<Me>,
    meeting: Res<Meeting>,
    own: Single<(&mut Look, &Children), With<Own>>,
    hands: Res<Hands>,
    headset: Res<Headset>,
    mut parts: Query<(&mut BodyPart, &mut Transform, &mut Visibility)>,
) {
    let (mut look, children) = own.into_inner();
    look.set_if_neq(Look { colour: meeting.me.colour, grey: false });
    for &child in children {
        let Ok((mut part, mut transform, mut visibility)) = parts.get_mut(child) else { continue };
        let (pose, hand) = match *part {
            BodyPart::Head(_) => continue,
            BodyPart::LeftWand(_) => (me.body.left, hands.left),
            BodyPart::RightWand(_) => (me.body.right, hands.right),
        };
        // In a headset one sees the wand that one holds; a bare hand is drawn as such.
        let held = !headset.is_worn() || hand.device == HandDevice::Controller;
        visibility.set_if_neq(if held { Visibility::Inherited } else { Visibility::Hidden });
        part.set_if_neq(match *part {
            BodyPart::RightWand(_) => BodyPart::RightWand(pose),
            _ => BodyPart::LeftWand(pose),
        });
        transform.set_if_neq(Transform::from_translation(pose.position).with_rotation(pose.rotation));
    }
}
