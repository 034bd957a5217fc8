//! Real rooms by their names, and where each is for each headset.
//!
//! Not known by the size of the play area: one that is drawn anew would lose its
//! room, and two rooms of one size would be the same. Headsets of one program
//! measure from different origins, so each has places of its own.

use std::collections::BTreeMap;

use glam::{Quat, Vec3};
use serde::{Deserialize, Serialize};

use crate::session::{Pose, visible_name};

/// What a room is called until somebody gives it a name.
const NAME: &str = "Room";
/// Names that are kept.
const ROOMS: usize = 12;
/// Places of one room that are kept for one headset.
const PLACES: usize = 8;

/// The rooms that are known, the chosen one first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rooms(Vec<Room>);

/// A real room.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
struct Room {
    name: String,
    /// By the headset's name, the newest last: those before it are for undoing.
    places: BTreeMap<String, Vec<Place>>,
}

/// Where a headset's coordinates are in a room, as two markers said.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Default)]
#[serde(default)]
pub struct Place {
    /// Of tracking space's origin in the room, metres.
    pub position: [f32; 3],
    /// Of tracking space in the room, about y.
    pub turn_degrees: f32,
    /// Between the markers that said so, metres.
    pub marker_distance: f32,
    /// The headset's coordinates may have changed since.
    pub doubtful: bool,
}

impl Place {
    /// As two markers said, so far apart.
    pub fn new(room_from_tracking: Pose, marker_distance: f32) -> Self {
        let mut place = Self { marker_distance, ..Self::default() };
        place.put(room_from_tracking);
        place
    }

    /// Where tracking space is in the room. Only turns about y are kept.
    pub fn room_from_tracking(&self) -> Pose {
        let rotation = Quat::from_rotation_y(self.turn_degrees.to_radians());
        Pose { position: Vec3::from(self.position), rotation }
    }

    fn put(&mut self, room_from_tracking: Pose) {
        let along = room_from_tracking.rotation * Vec3::Z;
        self.position = room_from_tracking.position.to_array();
        self.turn_degrees = along.x.atan2(along.z).to_degrees();
    }

    /// Numbers of a file may be anything.
    fn is_sound(&self) -> bool {
        Vec3::from(self.position).length() < 1e6
            && self.turn_degrees.abs() < 1e6
            && self.marker_distance.is_finite()
    }
}

impl Default for Rooms {
    fn default() -> Self {
        Self(vec![Room { name: NAME.to_owned(), ..Room::default() }])
    }
}

impl Rooms {
    /// The room that the person is in.
    pub fn name(&self) -> &str {
        self.0.first().map_or(NAME, |room| room.name.as_str())
    }

    /// The other rooms, the last one first.
    pub fn others(&self) -> impl Iterator<Item = &str> {
        self.0.iter().skip(1).map(|room| room.name.as_str())
    }

    /// Where this headset's coordinates are in the room, if markers have said so.
    pub fn place(&self, headset: &str) -> Option<Place> {
        let places = self.0.first()?.places.get(headset)?;
        places.last().copied().filter(Place::is_sound)
    }

    /// How many alignments of this headset can be undone in the room.
    pub fn steps(&self, headset: &str) -> usize {
        self.0.first().and_then(|room| room.places.get(headset)).map_or(0, Vec::len)
    }

    /// Markers say where the room is.
    pub fn align(&mut self, headset: &str, place: Place) {
        let places = self.here().places.entry(headset.to_owned()).or_default();
        places.push(place);
        let many = places.len().saturating_sub(PLACES);
        places.drain(..many);
    }

    /// Takes the last alignment back; what was before holds again, if anything.
    pub fn undo(&mut self, headset: &str) {
        let places = &mut self.here().places;
        if let Some(here) = places.get_mut(headset) {
            here.pop();
            if here.is_empty() {
                places.remove(headset);
            }
        }
    }

    /// Whether what the markers said still holds. If it may not, that is so for
    /// what they said before, too.
    pub fn doubt(&mut self, headset: &str, doubtful: bool) {
        for place in self.here().places.get_mut(headset).into_iter().flatten() {
            place.doubtful = doubtful;
        }
    }

    /// The headset measures from another origin now, whose place in the old
    /// coordinates is known: the room stays where it is.
    pub fn moved(&mut self, headset: &str, old_from_new: Pose) {
        for place in self.here().places.get_mut(headset).into_iter().flatten() {
            place.put(old_from_new.within(place.room_from_tracking()));
        }
    }

    /// The person is in the room of this name, known or new.
    pub fn choose(&mut self, name: &str) {
        let name = visible_name(name);
        if name.is_empty() {
            return;
        }
        let known = self.0.iter().position(|room| room.name == name);
        let room = match known {
            Some(at) => self.0.remove(at),
            None => Room { name, ..Room::default() },
        };
        self.0.insert(0, room);
        self.0.truncate(ROOMS);
    }

    /// The room gets another name; one that another room has is refused.
    pub fn rename(&mut self, name: &str) -> bool {
        let name = visible_name(name);
        let is_free = !name.is_empty() && !self.0.iter().skip(1).any(|room| room.name == name);
        if is_free {
            self.here().name = name;
        }
        is_free
    }

    /// The room of this name is not known any more. The one that the person is in
    /// stays.
    pub fn forget(&mut self, name: &str) {
        let mut first = true;
        self.0.retain(|room| std::mem::take(&mut first) || room.name != name);
    }

    /// A name that no room has.
    pub fn new_name(&self) -> String {
        let is_free = |name: &String| !self.0.iter().any(|room| room.name == *name);
        (2..).map(|number| format!("{NAME} {number}")).find(is_free).unwrap_or_default()
    }

    /// The room that the person is in.
    fn here(&mut self) -> &mut Room {
        // A file may have none.
        if self.0.is_empty() {
            *self = Self::default();
        }
        &mut self.0[0]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEADSET: &str = "Simulated headset";

    fn place(x: f32) -> Place {
        Place::new(Pose { position: Vec3::X * x, rotation: Quat::from_rotation_y(x) }, 0.8)
    }

    #[test]
    fn rooms_are_kept_apart_by_name_and_headset() {
        let mut rooms = Rooms::default();
        rooms.align(HEADSET, place(1.0));
        assert_eq!(rooms.place("Another"), None);
        rooms.choose("Lab");
        assert_eq!((rooms.name(), rooms.place(HEADSET)), ("Lab", None));
        rooms.align(HEADSET, place(2.0));
        rooms.align("Another", place(3.0));
        rooms.choose("Room");
        assert_eq!(rooms.place(HEADSET), Some(place(1.0)));
        assert!(!rooms.rename("Lab") && !rooms.rename("  ") && rooms.rename("Office"));
        assert_eq!(rooms.others().collect::<Vec<_>>(), ["Lab"]);
        assert_eq!(rooms.new_name(), "Room 2");
        let text = serde_json::to_string(&rooms).unwrap();
        let mut again: Rooms = serde_json::from_str(&text).unwrap();
        assert_eq!(again, rooms);
        again.forget("Office");
        again.forget("Lab");
        assert_eq!((again.name(), again.others().count()), ("Office", 0), "who is in it keeps it");
    }

    #[test]
    fn the_last_alignments_can_be_undone_one_by_one() {
        let mut rooms = Rooms::default();
        for step in 0..20 {
            rooms.align(HEADSET, place(step as f32));
        }
        for step in (20 - PLACES..20).rev() {
            assert_eq!(rooms.place(HEADSET), Some(place(step as f32)));
            rooms.undo(HEADSET);
        }
        assert_eq!((rooms.place(HEADSET), rooms.steps(HEADSET)), (None, 0));
        rooms.undo(HEADSET);
        assert_eq!(rooms, Rooms::default());
    }

    #[test]
    fn a_file_without_sound_rooms_is_no_trouble() {
        let mut rooms: Rooms = serde_json::from_str("[]").unwrap();
        assert_eq!((rooms.name(), rooms.place(HEADSET)), ("Room", None));
        rooms.align(HEADSET, place(1.0));
        assert_eq!(rooms.place(HEADSET), Some(place(1.0)));
        let wild = format!(r#"[{{"name":"Lab","places":{{"{HEADSET}":[{{"position":[0,1e300,0]}}]}}}}]"#);
        let rooms: Result<Rooms, _> = serde_json::from_str(&wild);
        assert!(rooms.is_err() || rooms.is_ok_and(|rooms| rooms.place(HEADSET).is_none()));
    }

    proptest! {
        #[test]
        fn a_new_origin_leaves_the_room_where_it_is(x in -3f32..3.0, z in -3f32..3.0, a in -3f32..3.0, b in -3f32..3.0, p in -2f32..2.0) {
            let pose = |angle: f32| Pose { position: Vec3::new(x, 0.3, z), rotation: Quat::from_rotation_y(angle) };
            let (old_room, old_from_new) = (pose(a), pose(b));
            let mut rooms = Rooms::default();
            rooms.align(HEADSET, Place::new(old_room, 1.0));
            rooms.moved(HEADSET, old_from_new);
            let point = Pose { position: Vec3::new(p, 1.0, -p), rotation: Quat::IDENTITY };
            let before = point.within(old_from_new).within(old_room);
            let now = point.within(rooms.place(HEADSET).unwrap().room_from_tracking());
            prop_assert!(before.position.distance(now.position) < 1e-4);
            prop_assert!(before.rotation.dot(now.rotation).abs() > 0.99999);
        }
    }
}
