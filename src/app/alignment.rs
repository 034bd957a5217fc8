//! Where the real room is in the meeting's room.
//!
//! People in one real room must agree on its coordinates, or they walk into each
//! other: two markers on two points of it say where it is. Here they are dropped,
//! what they say is applied, kept for each headset and each named room
//! ([`Rooms`](crate::settings::Rooms)), undone and doubted. What is kept is the
//! truth; [`Headset::room_from_tracking`] and [`Alignment`] follow it.

mod markers;
mod pins;

use bevy::{ecs::system::SystemParam, prelude::*};

pub use markers::{Found, Markers};
pub(super) use pins::plugin as pins;

use super::{
    AppSystems,
    input::{Action, HandInput, Hands, Headset, Pulse},
    notices::Notify,
    preferences::Preferences,
    wands::{self, Wands},
};
use crate::{
    gestures::{Button, PerSide, Side},
    notice::Notice,
    session::{AlignmentError, MINIMUM_MARKER_DISTANCE, Pose, room_from_tracking_unaligned},
    settings::Place,
};

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Alignment>()
        .init_resource::<Markers>()
        .init_resource::<Known>()
        .add_message::<Recentring>()
        .add_systems(Update, begin.in_set(AppSystems::Receive))
        .add_systems(Update, (follow, tell, pull, act).chain().in_set(AppSystems::Update));
}

/// How well the real room is known.
#[derive(Resource, Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Alignment {
    /// Nobody has said where it is.
    #[default]
    None,
    /// Markers say where it is.
    Aligned,
    /// They did, and the headset may have changed its coordinates since.
    Doubtful,
}

impl Alignment {
    /// Whether markers have said where the room is, surely or not.
    pub fn is_aligned(self) -> bool {
        self != Self::None
    }

    /// The headset's coordinates have changed.
    pub fn doubt(&mut self) {
        *self = Self::Doubtful;
    }

    /// In reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Aligned => "aligned",
            Self::Doubtful => "doubtful",
        }
    }

    fn of(place: Option<Place>) -> Self {
        match place {
            None => Self::None,
            Some(place) if place.doubtful => Self::Doubtful,
            Some(_) => Self::Aligned,
        }
    }
}

/// The headset has changed its coordinates, or the person has recentred it.
#[derive(Message, Debug, Clone, Copy)]
pub struct Recentring;

/// Run condition: hands have markers in them, and take nothing else.
pub fn is_aligning(markers: Res<Markers>) -> bool {
    markers.is_on()
}

/// Where a hand's marker is: the tip of its index finger, or of its wand. Room
/// space; none of a hand that is not seen.
pub fn tip(hand: &HandInput) -> Option<Vec3> {
    let wand = || hand.aim.position + hand.aim.rotation * Vec3::Y * wands::HALF_LENGTH;
    hand.is_there().then(|| hand.fingertip.unwrap_or_else(wand))
}

/// So far apart, as people read it.
pub fn centimetres(distance: f32) -> String {
    format!("{:.0} cm", distance * 100.0)
}

/// What was applied last.
#[derive(Resource, Debug)]
struct Known {
    room_from_tracking: Pose,
    /// Without markers: where the person has recentred, if at all.
    unaligned: Pose,
}

impl Default for Known {
    fn default() -> Self {
        let unaligned = room_from_tracking_unaligned();
        Self { room_from_tracking: unaligned, unaligned }
    }
}

/// What is kept of the room, and what follows it.
#[derive(SystemParam)]
pub(super) struct Room<'w> {
    preferences: ResMut<'w, Preferences>,
    headset: ResMut<'w, Headset>,
    alignment: ResMut<'w, Alignment>,
    known: ResMut<'w, Known>,
}

impl Room<'_> {
    fn place(&self) -> Option<Place> {
        self.preferences.get().rooms.place(&self.headset.name)
    }

    fn change(&mut self, change: impl FnOnce(&mut crate::settings::Rooms, &str)) {
        let headset = self.headset.name.clone();
        self.preferences.change(|settings| change(&mut settings.rooms, &headset));
    }

    /// Puts the headset where the chosen room has it.
    fn apply(&mut self) {
        let place = self.place();
        let room = place.map_or(self.known.unaligned, |place| place.room_from_tracking());
        self.known.room_from_tracking = room;
        if self.headset.room_from_tracking != room {
            self.headset.room_from_tracking = room;
        }
        self.alignment.set_if_neq(Alignment::of(place));
    }
}

/// What was kept holds when a session begins.
fn begin(mut was_in_use: Local<bool>, mut room: Room, mut notices: MessageWriter<Notify>) {
    let is_in_use = room.headset.is_in_use();
    if std::mem::replace(&mut *was_in_use, is_in_use) || !is_in_use || room.place().is_none() {
        return;
    }
    if !room.headset.keeps_coordinates {
        // It measures from where it was switched on.
        room.change(|rooms, headset| rooms.doubt(headset, true));
    }
    room.apply();
    let name = room.preferences.get().rooms.name().to_owned();
    notices.write(Notify(match *room.alignment {
        Alignment::Doubtful => Notice::warning(
            format!("The headset may not be where \"{name}\" had it."),
            "Align again, so that everybody in the real room sees things in the same place.",
        ),
        _ => Notice::info(format!("Aligned as before in \"{name}\"."), ""),
    }));
}

/// The platform may have changed its coordinates, or doubts them.
fn follow(mut room: Room, mut markers: ResMut<Markers>) {
    let now = room.headset.room_from_tracking;
    if now != room.known.room_from_tracking {
        if room.alignment.is_aligned() {
            // The room is where it was, so it says where the new origin is.
            let old_from_new = now.within(room.known.room_from_tracking.inverse());
            room.known.unaligned = old_from_new.within(room.known.unaligned);
            room.change(|rooms, headset| rooms.moved(headset, old_from_new));
        } else {
            room.known.unaligned = now;
        }
        room.known.room_from_tracking = now;
        markers.take_up();
    }
    if *room.alignment == Alignment::Doubtful && room.place().is_some_and(|place| !place.doubtful) {
        room.change(|rooms, headset| rooms.doubt(headset, true));
        markers.take_up();
    }
    if markers.is_on() && !room.headset.is_in_use() {
        markers.stop();
    }
}

fn tell(
    mut recentrings: MessageReader<Recentring>,
    alignment: Res<Alignment>,
    mut notices: MessageWriter<Notify>,
) {
    if recentrings.read().count() == 0 {
        return;
    }
    notices.write(Notify(if *alignment == Alignment::Doubtful {
        Notice::warning(
            "The headset was recentred, so the room may not be where it was.",
            "Align again, so that everybody in the real room sees things in the same place.",
        )
    } else {
        Notice::info("The headset was recentred.", "")
    }));
}

/// A trigger or a pinch drops that hand's marker.
fn pull(
    hands: Res<Hands>,
    wands: Res<Wands>,
    markers: Res<Markers>,
    mut triggers: Local<PerSide<Button>>,
    mut actions: MessageWriter<Action>,
) {
    for side in Side::BOTH {
        let (hand, trigger) = (hands.get(side), triggers.get_mut(side));
        if hand.is_there() {
            trigger.update(hand.trigger);
            // On a panel it presses what is there.
            if trigger.just_pressed() && markers.is_on() && wands.get(side).over_panel.is_none() {
                actions.write(Action::Mark(side));
            }
        }
    }
}

pub(super) fn act(
    mut actions: MessageReader<Action>,
    hands: Res<Hands>,
    mut markers: ResMut<Markers>,
    mut room: Room,
    mut pulses: MessageWriter<Pulse>,
    mut notices: MessageWriter<Notify>,
) {
    for action in actions.read() {
        match action {
            Action::Align if room.headset.is_worn() => markers.begin(),
            Action::Align => {
                notices.write(Notify(Notice::info("Put the headset on to align the room.", "")));
            }
            Action::Mark(side) => {
                let Some(at) = tip(hands.get(*side)) else { continue };
                if !markers.is_on() {
                    markers.begin();
                }
                let in_tracking = Pose { position: at, rotation: Quat::IDENTITY }
                    .within(room.headset.room_from_tracking.inverse());
                let found = markers.drop_at(*side, in_tracking.position);
                pulses.write(Pulse::press(*side));
                if let Some(found) = found {
                    notices.write(Notify(take(found, &mut room)));
                }
            }
            Action::StopAligning | Action::Dismiss | Action::Menu(_) if markers.is_on() => markers.stop(),
            Action::UndoAlignment => {
                room.change(|rooms, headset| rooms.undo(headset));
                room.apply();
            }
            Action::TrustAlignment => {
                room.change(|rooms, headset| rooms.doubt(headset, false));
                room.apply();
            }
            Action::ChooseRoom(name) => {
                room.change(|rooms, _| rooms.choose(name));
                room.apply();
            }
            Action::RenameRoom(name) => room.change(|rooms, _| {
                rooms.rename(name);
            }),
            Action::ForgetRoom(name) => room.change(|rooms, _| rooms.forget(name)),
            _ => {}
        }
    }
}

/// Applies what two markers say, and what the person is told of it.
fn take(found: Result<Found, AlignmentError>, room: &mut Room) -> Notice {
    match found {
        Ok(Found { room_from_tracking, distance }) => {
            let place = Place::new(room_from_tracking, distance);
            room.change(|rooms, headset| rooms.align(headset, place));
            room.apply();
            Notice::info(
                format!("The room is aligned. The markers are {} apart.", centimetres(distance)),
                "Others who put theirs on the same two points should read nearly the same.",
            )
        }
        Err(AlignmentError::TooClose { distance_m }) => Notice::warning(
            format!("The markers are too close to each other: {} seen from above.", centimetres(distance_m)),
            format!(
                "Drop both again, at least {} apart; a metre or more is better.",
                centimetres(MINIMUM_MARKER_DISTANCE)
            ),
        ),
    }
}
