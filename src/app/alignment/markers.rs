//! Two markers on their way to two points of the real room.

use bevy::prelude::*;

use crate::{
    gestures::{PerSide, Side},
    session::{AlignmentError, Pose, room_from_tracking},
};

/// The markers: on the tips of wands or fingers, or dropped. The right hand's is
/// marker 1, the left hand's marker 2.
#[derive(Resource, Debug, Default, Clone, Copy, PartialEq)]
pub struct Markers {
    on: bool,
    /// Tracking space, so that they stay at their points of the real room.
    dropped: PerSide<Option<Vec3>>,
}

/// What two markers say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// Where tracking space is in the room.
    pub room_from_tracking: Pose,
    /// From one marker to the other, metres.
    pub distance: f32,
}

impl Markers {
    /// Whether there are any.
    pub fn is_on(&self) -> bool {
        self.on
    }

    /// Puts one on each tip.
    pub fn begin(&mut self) {
        *self = Self { on: true, ..Self::default() };
    }

    /// Puts them away.
    pub fn stop(&mut self) {
        *self = Self::default();
    }

    /// Where this hand's was dropped, tracking space.
    pub fn dropped(&self, side: Side) -> Option<Vec3> {
        *self.dropped.get(side)
    }

    /// Takes up what was dropped.
    pub fn take_up(&mut self) {
        self.dropped = PerSide::default();
    }

    /// Drops a hand's marker there, anew if it was dropped before. With the
    /// second one they say where the room is and are put away; two that cannot
    /// say it are taken up.
    pub fn drop_at(&mut self, side: Side, at: Vec3) -> Option<Result<Found, AlignmentError>> {
        if !self.on || !at.is_finite() {
            return None;
        }
        *self.dropped.get_mut(side) = Some(at);
        let (marker1, marker2) = (self.dropped.right?, self.dropped.left?);
        let found = room_from_tracking(marker1, marker2)
            .map(|room_from_tracking| Found { room_from_tracking, distance: marker1.distance(marker2) });
        match found {
            Ok(_) => self.stop(),
            Err(_) => self.take_up(),
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markers_too_close_can_be_dropped_again() {
        let mut markers = Markers::default();
        assert_eq!(markers.drop_at(Side::Left, Vec3::X), None, "there is none to drop");
        markers.begin();
        assert_eq!(markers.drop_at(Side::Left, Vec3::X), None);
        let above = markers.drop_at(Side::Right, Vec3::new(1.0, 0.5, 0.01));
        assert!(matches!(above, Some(Err(AlignmentError::TooClose { .. }))), "{above:?}");
        assert!(markers.is_on() && markers.dropped(Side::Left).is_none());
        // One that was dropped at a wrong place is dropped anew.
        markers.drop_at(Side::Left, Vec3::ONE);
        markers.drop_at(Side::Left, Vec3::Z);
        let found = markers.drop_at(Side::Right, Vec3::X).unwrap().unwrap();
        assert!((found.distance - 2f32.sqrt()).abs() < 1e-5);
        assert!(!markers.is_on());
    }

    proptest! {
        #[test]
        fn whichever_is_dropped_first_the_right_one_is_marker_1(
            right in prop::array::uniform3(-2f32..2.0), left in prop::array::uniform3(-2f32..2.0), first in any::<bool>(),
        ) {
            let at = |side| Vec3::from(if side == Side::Left { left } else { right });
            let mut markers = Markers::default();
            markers.begin();
            let first = if first { Side::Left } else { Side::Right };
            prop_assert!(markers.drop_at(first, at(first)).is_none());
            let found = markers.drop_at(first.other(), at(first.other()));
            match room_from_tracking(right.into(), left.into()) {
                Ok(expected) => {
                    let found = found.unwrap().unwrap();
                    prop_assert_eq!(found.room_from_tracking, expected);
                    // The origin is between them, the room's +x where the right hand was.
                    let seen = Pose { position: right.into(), rotation: Quat::IDENTITY }.within(expected).position;
                    prop_assert!(seen.x > 0.0 && seen.z.abs() < 1e-3, "{}", seen);
                }
                Err(error) => prop_assert_eq!(found, Some(Err(error))),
            }
        }
    }
}
