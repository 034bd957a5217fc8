//! A thumbstick: up and down scale, left and right step to the next model.

use glam::Vec2;

/// Nearer to the middle than this it rests.
const RESTS: f32 = 0.25;
/// A step is made beyond this...
const STEPS: f32 = 0.7;
/// ...and the next one only after it was nearer than this.
const REARMS: f32 = 0.4;

/// What a movement of the stick asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StickMove {
    /// Nothing.
    Rest,
    /// Growing, from -1 (shrink fast) to 1 (grow fast).
    Scale(f32),
    /// Once: to the next (1) or the previous (-1).
    Step(i8),
}

/// The direction that a stick was pushed in first; a thumb that goes on in a
/// circle does not change it until the stick has rested.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Axis {
    #[default]
    None,
    Vertical,
    Horizontal {
        armed: bool,
    },
}

/// A thumbstick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stick(Axis);

impl Stick {
    /// Where it is now: right and up positive, at most 1.
    pub fn update(&mut self, value: Vec2) -> StickMove {
        if !value.is_finite() || value.length() < RESTS {
            self.0 = Axis::None;
            return StickMove::Rest;
        }
        if self.0 == Axis::None {
            let vertical = value.y.abs() >= value.x.abs();
            self.0 = if vertical { Axis::Vertical } else { Axis::Horizontal { armed: true } };
        }
        match &mut self.0 {
            Axis::None => StickMove::Rest,
            Axis::Vertical => {
                let beyond = (value.y.abs() - RESTS).max(0.0) / (1.0 - RESTS);
                StickMove::Scale(beyond.min(1.0).copysign(value.y))
            }
            Axis::Horizontal { armed } => {
                let far = value.x.abs();
                if *armed && far > STEPS {
                    *armed = false;
                    return StickMove::Step(if value.x > 0.0 { 1 } else { -1 });
                }
                *armed |= far < REARMS;
                StickMove::Rest
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_push_to_the_side_is_one_step() {
        let mut stick = Stick::default();
        let mut steps = 0;
        for x in [0.1, 0.5, 0.8, 1.0, 0.9, 0.6, 0.8, 0.3, 0.0, -0.5, -0.9, -1.0, -0.1] {
            if let StickMove::Step(by) = stick.update(Vec2::new(x, 0.05)) {
                steps = steps * 10 + i32::from(by) + 2;
            }
        }
        assert_eq!(steps, 31, "one to the right (3), then one to the left (1)");
    }

    #[test]
    fn a_thumb_that_slips_to_the_side_goes_on_scaling() {
        let mut stick = Stick::default();
        assert_eq!(stick.update(Vec2::new(0.0, 0.1)), StickMove::Rest);
        assert!(matches!(stick.update(Vec2::new(0.1, 0.6)), StickMove::Scale(rate) if rate > 0.4));
        assert!(matches!(stick.update(Vec2::new(0.9, 0.3)), StickMove::Scale(rate) if rate > 0.0));
        assert!(matches!(stick.update(Vec2::new(0.0, -1.0)), StickMove::Scale(rate) if rate == -1.0));
        assert_eq!(stick.update(Vec2::ZERO), StickMove::Rest);
        assert_eq!(stick.update(Vec2::new(f32::NAN, 1.0)), StickMove::Rest);
    }
}
