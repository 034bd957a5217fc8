/// From here on a value counts as pressed...
const PRESSED: f32 = 0.6;
/// ...until it falls below this: a finger that trembles at the edge presses once.
const RELEASED: f32 = 0.4;

/// A trigger or a button, whose value is between 0 and 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Button {
    down: bool,
    changed: bool,
}

impl Button {
    /// Its value now.
    pub fn update(&mut self, value: f32) {
        let down = if self.down { value >= RELEASED } else { value >= PRESSED };
        self.changed = down != self.down;
        self.down = down;
    }

    /// Whether it is held down.
    #[must_use]
    pub fn is_down(self) -> bool {
        self.down
    }

    /// Whether it went down with the last update.
    #[must_use]
    pub fn just_pressed(self) -> bool {
        self.down && self.changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trembling_finger_presses_once() {
        let mut button = Button::default();
        let mut presses = 0;
        for value in [0.0, 0.55, 0.61, 0.45, 0.59, 0.62, 0.41, 0.39, 0.5, f32::NAN] {
            button.update(value);
            presses += u32::from(button.just_pressed());
        }
        assert_eq!(presses, 1);
        assert!(!button.is_down());
    }
}
