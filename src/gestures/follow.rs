//! Something that stays in view without being glued to the head: it rests where
//! it is until one has looked away from it, and then comes along.

use glam::Vec3;

use crate::session::Pose;

/// It rests until it is seen so far beside where it should be, radians...
const RESTS: f32 = 0.45;
/// ...or is so much nearer or farther than it should be, as a share...
const STRAYS: f32 = 0.4;
/// ...for so long, seconds: a glance aside moves nothing.
const WAITS: f32 = 0.4;
/// Once it moves it moves until it is as near as this, radians.
const ARRIVES: f32 = 0.03;
/// Of the way that is left, in a second, as an exponent.
const HASTE: f32 = 4.0;

/// What follows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Follow {
    at: Vec3,
    away_for: f32,
    moves: bool,
}

impl Follow {
    /// Begins there.
    #[must_use]
    pub fn at(at: Vec3) -> Self {
        Self { at, away_for: 0.0, moves: false }
    }

    /// All has moved so, the eye as well.
    pub fn shift(&mut self, moved: Pose) {
        self.at = moved.position + moved.rotation * self.at;
    }

    /// Where it is after so many seconds, when it should be at `wanted`.
    pub fn update(&mut self, eye: Vec3, wanted: Vec3, secs: f32) -> Vec3 {
        let (is, should) = (self.at - eye, wanted - eye);
        let angle = is.angle_between(should);
        let strays = (is.length() / should.length().max(1e-3) - 1.0).abs();
        let far = !(angle <= RESTS && strays <= STRAYS);
        self.away_for = if far { self.away_for + secs } else { 0.0 };
        if self.away_for >= WAITS {
            self.moves = true;
        }
        if self.moves {
            self.at = self.at.lerp(wanted, 1.0 - (-HASTE * secs).exp());
            let left = self.at - eye;
            self.moves = left.angle_between(should) > ARRIVES || self.at.distance(wanted) > 0.05;
            if !self.moves {
                self.away_for = 0.0;
            }
        }
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rests_at_a_glance_and_comes_along_when_one_turns() {
        let eye = Vec3::new(0.0, 1.6, 0.0);
        let ahead = eye + Vec3::Z;
        let mut follow = Follow::at(ahead);
        let aside = eye + Vec3::new(0.3f32.sin(), 0.0, 0.3f32.cos());
        for _ in 0..100 {
            assert_eq!(follow.update(eye, aside, 0.05), ahead, "still in view");
        }
        let turned = eye + Vec3::X;
        assert_eq!(follow.update(eye, turned, 0.2), ahead, "a glance");
        assert_eq!(follow.update(eye, ahead, 0.2), ahead);
        let mut last = ahead.distance(turned);
        for step in 0..60 {
            let left = follow.update(eye, turned, 0.05).distance(turned);
            assert!(left <= last && last - left < 0.3, "no jump: step {step}, {last} to {left}");
            last = left;
        }
        assert!(last < 0.06, "it has come: {last}");
    }

    #[test]
    fn who_walks_away_takes_it_along() {
        let mut follow = Follow::at(Vec3::Z);
        let eye = Vec3::NEG_Z * 2.0;
        let wanted = eye + Vec3::Z;
        for _ in 0..60 {
            follow.update(eye, wanted, 0.05);
        }
        assert!(follow.at.distance(wanted) < 0.06);
    }
}
