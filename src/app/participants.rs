//! The other participants: an entity for each, with a head and two wands.
//!
//! For: where they are and whether they are shown. `avatars`
//! gives them a shape, `labels` a name.

use bevy::{platform::collections::HashMap, prelude::*};

use super::{
    AppSystems,
    input::Headset,
    labels::Label,
    link::{Link, Meeting, receive},
};
use crate::session::{Body, Client, Colour, ParticipantView, Pose, Presence};

/// The name stands this high above the middle of the head, metres.
const LABEL_HEIGHT: f32 = 0.19;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Index>()
        .add_systems(
            Update,
            sync.run_if(resource_changed::<Meeting>).in_set(AppSystems::Receive).after(receive),
        )
        .add_systems(Update, follow.in_set(AppSystems::Present));
}

/// Somebody else. Its own transform stays at the room's origin; head and wands
/// are its children.
#[derive(Component, Debug, Clone, PartialEq, Eq)]
#[require(Transform, Visibility::Hidden, Look { colour: Colour([128; 3]), grey: false })]
pub struct Participant {
    /// The id in its poses.
    pub device_id: String,
}

/// How it is to look.
#[derive(Component, Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Its own colour.
    pub colour: Colour,
    /// Not heard from for a while.
    pub grey: bool,
}

/// A part of somebody's body: where it is, as last heard. A head looks along its
/// own +z, a wand points along its own +y.
#[derive(Component, Debug, Clone, Copy, PartialEq)]
#[require(Transform, Visibility)]
pub enum BodyPart {
    /// Between the eyes.
    Head(Pose),
    /// The middle of the left wand.
    LeftWand(Pose),
    /// The middle of the right wand.
    RightWand(Pose),
}

impl BodyPart {
    /// The same part of a body.
    fn of(&self, body: &Body) -> Pose {
        match self {
            Self::Head(_) => body.head,
            Self::LeftWand(_) => body.left,
            Self::RightWand(_) => body.right,
        }
    }

    /// Where it is.
    pub fn pose(&self) -> Pose {
        match *self {
            Self::Head(pose) | Self::LeftWand(pose) | Self::RightWand(pose) => pose,
        }
    }
}

#[derive(Resource, Default, Deref, DerefMut)]
struct Index(HashMap<String, Entity>);

fn sync(
    mut commands: Commands,
    meeting: Res<Meeting>,
    mut index: ResMut<Index>,
    mut shown: Query<(&mut Visibility, &mut Look, Option<&Children>), With<Participant>>,
    mut parts: Query<(&mut BodyPart, Option<&mut Label>)>,
) {
    index.retain(|id, entity| {
        let stays = meeting.participants.iter().any(|p| p.device_id == *id);
        if !stays {
            commands.entity(*entity).despawn();
        }
        stays
    });
    for view in &meeting.participants {
        let Some(entity) = index.get(&view.device_id) else {
            index.insert(view.device_id.clone(), spawn(&mut commands, view));
            continue;
        };
        let Ok((mut visibility, mut look, children)) = shown.get_mut(*entity) else { continue };
        visibility.set_if_neq(visibility_of(view));
        look.set_if_neq(look_of(view));
        for &child in children.into_iter().flatten() {
            let Ok((mut part, label)) = parts.get_mut(child) else { continue };
            if let Some(mut label) = label {
                label.set_if_neq(label_of(view));
            }
            let Some(body) = view.body else { continue };
            part.set_if_neq(match *part {
                BodyPart::Head(_) => BodyPart::Head(body.head),
                BodyPart::LeftWand(_) => BodyPart::LeftWand(body.left),
                BodyPart::RightWand(_) => BodyPart::RightWand(body.right),
            });
        }
    }
}

fn spawn(commands: &mut Commands, view: &ParticipantView) -> Entity {
    let body = view.body.unwrap_or(crate::session::Body::rest());
    let place = |pose: Pose| Transform::from_translation(pose.position).with_rotation(pose.rotation);
    commands
        .spawn((
            Participant { device_id: view.device_id.clone() },
            look_of(view),
            visibility_of(view),
            children![
                (BodyPart::Head(body.head), place(body.head), label_of(view)),
                (BodyPart::LeftWand(body.left), place(body.left)),
                (BodyPart::RightWand(body.right), place(body.right)),
            ],
        ))
        .id()
}

fn look_of(view: &ParticipantView) -> Look {
    Look { colour: view.colour, grey: view.presence != Presence::Live }
}

fn label_of(view: &ParticipantView) -> Label {
    Label { text: view.label.clone(), colour: view.colour, above: Vec3::Y * LABEL_HEIGHT }
}

/// Away is hidden; so is a LookSee peer whose poses have stopped, as it would
/// hide us.
fn visibility_of(view: &ParticipantView) -> Visibility {
    let here = match (view.presence, view.client) {
        (Presence::Live, _) | (Presence::Stale, Client::Convene) => view.body.is_some(),
        (Presence::Stale, Client::LookSee) | (Presence::Away, _) => false,
    };
    if here { Visibility::Inherited } else { Visibility::Hidden }
}

/// Shows everybody where they were a moment ago: poses come unevenly, motion is
/// even (see [`Playout`](crate::transfer::Playout)).
pub(super) fn follow(
    meeting: Res<Meeting>,
    link: Res<Link>,
    headset: Res<Headset>,
    participants: Query<(&Participant, &Children)>,
    mut parts: Query<(&BodyPart, &mut Transform, &mut Visibility)>,
) {
    let now = link.now();
    for (participant, children) in &participants {
        let view = meeting.participants.iter().find(|p| p.device_id == participant.device_id);
        let shown = view.and_then(|view| view.playout.at(now));
        for &child in children {
            let Ok((part, mut transform, mut visibility)) = parts.get_mut(child) else { continue };
            // Where people are seen themselves, a head before their face is in the way.
            let hidden = matches!(part, BodyPart::Head(_)) && headset.sees_real_room();
            visibility.set_if_neq(if hidden { Visibility::Hidden } else { Visibility::Inherited });
            let pose = match shown {
                Some((from, to, share)) => between(part.of(from), part.of(to), share),
                None => part.pose(),
            };
            transform.set_if_neq(Transform::from_translation(pose.position).with_rotation(pose.rotation));
        }
    }
}

/// From one pose to the next; beyond 1 the motion goes on.
fn between(from: Pose, to: Pose, share: f32) -> Pose {
    // The shorter way round.
    let end = if from.rotation.dot(to.rotation) < 0.0 { -to.rotation } else { to.rotation };
    let rotation = from.rotation.slerp(end, share).normalize();
    Pose { position: from.position.lerp(to.position, share), rotation }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn motion_goes_on_as_it_was() {
        let from = Pose::new(Vec3::ZERO, Quat::IDENTITY);
        let to = Pose::new(Vec3::X, Quat::from_rotation_y(0.2));
        for (share, x) in [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (2.0, 2.0)] {
            let at = between(from, to, share);
            assert!(at.position.abs_diff_eq(Vec3::X * x, 1e-5), "{at:?}");
            assert!(at.rotation.dot(Quat::from_rotation_y(0.2 * share)).abs() > 0.99999, "{at:?}");
        }
        let back = Pose { rotation: -to.rotation, ..to };
        assert!(between(from, back, 0.5).rotation.dot(Quat::from_rotation_y(0.1)).abs() > 0.99999);
    }
}
