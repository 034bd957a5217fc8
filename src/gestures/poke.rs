//! A finger and a board: a tip that goes through it presses.

/// Nearer than this to the board, in front of it, a finger means it, metres...
const NEAR: f32 = 0.05;
/// ...until it is farther away than this.
const LEFT: f32 = 0.06;
/// It presses so far behind the board's plane...
const PRESSES: f32 = -0.003;
/// ...and until it has come so far before it: a finger that trembles in the plane
/// presses once.
const RELEASES: f32 = 0.010;
/// Who is through so far does not press, but reaches for something else.
const THROUGH: f32 = -0.15;

/// What a fingertip does to a board.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Poke {
    /// It is elsewhere, or behind the board.
    #[default]
    Away,
    /// It is before the board, about to press.
    Near,
    /// It is through.
    Pressing,
}

impl Poke {
    /// Where the tip is now: metres before the board (negative: behind it), and
    /// whether it is beside it. None: it is not seen.
    pub fn update(&mut self, depth: Option<f32>, beside: bool) -> Self {
        *self = match (*self, depth.filter(|depth| depth.is_finite())) {
            (_, None) => Self::Away,
            // Whoever slides off its edge while pressing still presses.
            (Self::Pressing, Some(depth)) if (THROUGH..=RELEASES).contains(&depth) => Self::Pressing,
            (Self::Pressing, Some(depth)) if depth < THROUGH => Self::Away,
            (_, Some(_)) if beside => Self::Away,
            // Only from the front, and after having been there.
            (Self::Near, Some(depth)) if depth <= PRESSES => {
                if depth >= THROUGH {
                    Self::Pressing
                } else {
                    Self::Away
                }
            }
            (Self::Near | Self::Pressing, Some(depth)) if depth <= LEFT => Self::Near,
            (Self::Away, Some(depth)) if (0.0..=NEAR).contains(&depth) => Self::Near,
            _ => Self::Away,
        };
        *self
    }
}

#[cfg(test)]
mod tests {
    use super::{Poke::*, *};

    fn states(depths: &[f32]) -> Vec<Poke> {
        let mut poke = Poke::default();
        depths.iter().map(|mm| poke.update(Some(mm / 1000.0), false)).collect()
    }

    #[test]
    fn a_trembling_finger_presses_once() {
        let seen = states(&[80.0, 49.0, 20.0, 1.0, -2.0, -4.0, 2.0, -5.0, 9.0, -1.0, 11.0, 55.0, 61.0]);
        assert_eq!(
            seen,
            [
                Away, Near, Near, Near, Near, Pressing, Pressing, Pressing, Pressing, Pressing, Near, Near,
                Away
            ]
        );
    }

    #[test]
    fn from_behind_nothing_is_pressed() {
        assert_eq!(states(&[-100.0, -20.0, -4.0, 5.0, -4.0]), [Away, Away, Away, Near, Pressing]);
        // A fast finger that was not seen before the board does not press either.
        assert_eq!(states(&[70.0, -10.0, -20.0]), [Away, Away, Away]);
    }

    #[test]
    fn who_slides_off_still_presses_and_who_reaches_through_does_not() {
        let mut poke = Poke::default();
        poke.update(Some(0.02), false);
        assert_eq!(poke.update(Some(-0.01), false), Pressing);
        assert_eq!(poke.update(Some(-0.01), true), Pressing);
        assert_eq!(poke.update(Some(0.02), true), Away);
        poke.update(Some(0.02), false);
        poke.update(Some(-0.01), false);
        assert_eq!(poke.update(Some(-0.2), false), Away);
        assert_eq!(poke.update(Some(-0.1), false), Away);
        poke.update(Some(0.02), false);
        assert_eq!(poke.update(None, false), Away);
        assert_eq!(poke.update(Some(f32::NAN), false), Away);
    }

    #[test]
    fn beside_the_board_nothing_is_meant() {
        let mut poke = Poke::default();
        assert_eq!(poke.update(Some(0.02), true), Away);
        assert_eq!(poke.update(Some(-0.01), true), Away);
    }
}
