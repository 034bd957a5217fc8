//! What hands do, as arithmetic: holding, pinching, buttons and thumbsticks.
//!
//! Pure: poses in, poses and decisions out; room space, metres, seconds. Not for
//! reading devices ([`crate::platform`]) or for what is held ([`crate::app`]).

mod button;
mod follow;
mod grip;
mod menu;
mod pinch;
mod poke;
mod stick;

pub use button::Button;
pub use follow::Follow;
pub use grip::{OneHand, SIZES, TwoHands, scaled, turned};
pub use menu::{MenuHand, MenuPinch, left_palm_facing};
pub use pinch::{Pinch, aim_from_eye};
pub use poke::Poke;
pub use stick::{Stick, StickMove};

/// One of two hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The left one.
    Left,
    /// The right one.
    Right,
}

impl Side {
    /// Left, then right.
    pub const BOTH: [Self; 2] = [Self::Left, Self::Right];

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }

    /// In ids and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
        }
    }
}

/// Something that each hand has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PerSide<T> {
    /// The left hand's.
    pub left: T,
    /// The right hand's.
    pub right: T,
}

impl<T> PerSide<T> {
    /// That of one hand.
    pub fn get(&self, side: Side) -> &T {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }

    /// That of one hand.
    pub fn get_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Left => &mut self.left,
            Side::Right => &mut self.right,
        }
    }
}
