//! The menu pinch: thumb and middle finger together, the palm towards the face.
//!
//! Not thumb and index finger, which grab, and not with the palm away, as hands
//! have it that reach for something.

use glam::Vec3;

use super::Pinch;

/// Cosine of the angle between palm and face at which the palm counts as turned
/// to it...
const TURNED: f32 = 0.6;
/// ...until it is less than this.
const AWAY: f32 = 0.4;

/// What of a hand says whether it asks for the menu.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MenuHand {
    /// Tip of the thumb.
    pub thumb: Vec3,
    /// Tip of the index finger.
    pub index: Vec3,
    /// Tip of the middle finger.
    pub middle: Vec3,
    /// Middle of the palm.
    pub palm: Vec3,
    /// Out of the palm, of length 1.
    pub facing: Vec3,
}

/// Out of the palm of a left hand, from where its wrist is and where its index
/// and its little finger begin.
#[must_use]
pub fn left_palm_facing(wrist: Vec3, index: Vec3, little: Vec3) -> Vec3 {
    (little - wrist).cross(index - wrist).normalize_or_zero()
}

/// Whether the menu pinch is made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MenuPinch {
    middle: Pinch,
    index: Pinch,
    turned: bool,
    asked: bool,
}

impl MenuPinch {
    /// Where the hand is now; none: it is not seen. Whether the menu is asked for:
    /// once for each pinch.
    pub fn update(&mut self, eye: Vec3, hand: Option<MenuHand>) -> bool {
        let Some(hand) = hand else {
            // What is done out of sight is not meant.
            *self = Self::default();
            return false;
        };
        let towards = (eye - hand.palm).normalize_or_zero().dot(hand.facing);
        self.turned = towards > if self.turned { AWAY } else { TURNED };
        let was = self.middle.update(None);
        let is = self.middle.update(Some((hand.thumb, hand.middle)));
        // A fist has all fingers at the thumb.
        let grabs = self.index.update(Some((hand.thumb, hand.index)));
        if !is {
            self.asked = false;
        }
        let asks = is && !was && self.turned && !grabs && !self.asked;
        self.asked |= asks;
        asks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EYE: Vec3 = Vec3::new(0.0, 1.6, 0.0);

    /// A hand half a metre before the eye; millimetres between thumb and fingers.
    fn hand(index: f32, middle: f32, facing: Vec3) -> MenuHand {
        let palm = Vec3::new(0.0, 1.6, 0.5);
        MenuHand {
            thumb: palm,
            index: palm + Vec3::X * index / 1000.0,
            middle: palm + Vec3::Y * middle / 1000.0,
            palm,
            facing,
        }
    }

    #[test]
    fn one_pinch_asks_once() {
        let mut pinch = MenuPinch::default();
        let mut asks = |middle: f32| pinch.update(EYE, Some(hand(70.0, middle, Vec3::NEG_Z)));
        assert!(!asks(60.0) && asks(12.0) && !asks(10.0) && !asks(25.0) && !asks(15.0));
        assert!(!asks(40.0) && asks(12.0), "after the fingers were apart, again");
    }

    #[test]
    fn a_palm_that_looks_away_does_not_ask_nor_does_a_fist() {
        let mut pinch = MenuPinch::default();
        assert!(!pinch.update(EYE, Some(hand(70.0, 60.0, Vec3::Z))));
        assert!(!pinch.update(EYE, Some(hand(70.0, 10.0, Vec3::Z))));
        // Turning a closed hand to the face is no pinch.
        assert!(!pinch.update(EYE, Some(hand(70.0, 10.0, Vec3::NEG_Z))));
        let mut fist = MenuPinch::default();
        assert!(!fist.update(EYE, Some(hand(60.0, 60.0, Vec3::NEG_Z))));
        assert!(!fist.update(EYE, Some(hand(10.0, 10.0, Vec3::NEG_Z))));
    }

    #[test]
    fn out_of_sight_nothing_is_asked() {
        let mut pinch = MenuPinch::default();
        assert!(pinch.update(EYE, Some(hand(70.0, 10.0, Vec3::NEG_Z))));
        assert!(!pinch.update(EYE, None));
    }

    #[test]
    fn a_left_palm_that_lies_on_a_table_faces_down() {
        // Seen from above, fingers ahead (+z), the index finger is at the thumb's side: a left hand's right, which is -x.
        let (wrist, index, little) = (Vec3::ZERO, Vec3::new(-0.03, 0.0, 0.08), Vec3::new(0.03, 0.0, 0.07));
        let facing = left_palm_facing(wrist, index, little);
        assert!((facing - Vec3::NEG_Y).length() < 1e-5, "{facing}");
    }
}
