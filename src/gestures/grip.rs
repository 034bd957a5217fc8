//! A model in one hand or in two: where it is when the hands are elsewhere.
//!
//! Both are counted from the moment of taking, never from frame to frame: hands
//! that are back where they were put the model back where it was.

use glam::{Mat3, Quat, Vec3};

use crate::session::{Placement, Pose};

/// Metres of the largest side that hands, sticks and wheels stop at.
pub const SIZES: std::ops::RangeInclusive<f32> = 0.01..=100.0;
/// Hands nearer to each other than this give no direction, and count as so far
/// apart, metres.
const NEAREST_HANDS: f32 = 0.02;
/// Of a hand's side, seen across the line between the hands: less is no direction.
const LEAST_ASIDE: f32 = 0.05;

/// A model in one hand: it moves and turns with it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OneHand {
    model: Placement,
    hand: Pose,
}

impl OneHand {
    /// Takes a model.
    #[must_use]
    pub fn take(model: Placement, hand: Pose) -> Self {
        Self { model, hand }
    }

    /// Where it is with the hand there.
    #[must_use]
    pub fn at(&self, hand: Pose) -> Placement {
        let pose = self.model.pose().within(self.hand.inverse()).within(hand);
        Placement::new(pose, self.model.scale)
    }
}

/// A model in two hands: it moves with the point between them, turns with the
/// line between them and with their wrists, and grows with their distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoHands {
    model: Placement,
    left: Pose,
    right: Pose,
    /// A direction across the line between the hands, as each hand had it.
    aside: (Vec3, Vec3),
}

impl TwoHands {
    /// Takes a model.
    #[must_use]
    pub fn take(model: Placement, left: Pose, right: Pose) -> Self {
        let across =
            (right.position - left.position).try_normalize().unwrap_or(Vec3::X).any_orthonormal_vector();
        let aside = (left.rotation.conjugate() * across, right.rotation.conjugate() * across);
        Self { model, left, right, aside }
    }

    /// Where it is with the hands there.
    #[must_use]
    pub fn at(&self, left: Pose, right: Pose) -> Placement {
        let (before, now) = (self.right.position - self.left.position, right.position - left.position);
        let factor = now.length().max(NEAREST_HANDS) / before.length().max(NEAREST_HANDS);
        let turn = match (self.frame(self.left, self.right), self.frame(left, right)) {
            (Some(before), Some(now)) => now * before.conjugate(),
            _ => Quat::from_rotation_arc(
                before.try_normalize().unwrap_or(Vec3::X),
                now.try_normalize().unwrap_or(Vec3::X),
            ),
        };
        let (from, to) = (middle(self.left, self.right), middle(left, right));
        let moved = turned(scaled(self.model, from, factor), from, turn);
        Placement { position: moved.position + to - from, ..moved }
    }

    /// The axes of two hands: along the line between them, and across it as both
    /// wrists have it. None where there is no such line, or the wrists are turned
    /// so that there is no across.
    fn frame(&self, left: Pose, right: Pose) -> Option<Quat> {
        let line = right.position - left.position;
        let along = line.try_normalize().filter(|_| line.length() >= NEAREST_HANDS)?;
        let wrists = left.rotation * self.aside.0 + right.rotation * self.aside.1;
        let aside = wrists.reject_from_normalized(along);
        let aside = aside.try_normalize().filter(|_| aside.length() > LEAST_ASIDE)?;
        Some(Quat::from_mat3(&Mat3::from_cols(along, aside, along.cross(aside))).normalize())
    }
}

fn middle(left: Pose, right: Pose) -> Vec3 {
    (left.position + right.position) / 2.0
}

/// A placement turned about a point.
#[must_use]
pub fn turned(world: Placement, about: Vec3, turn: Quat) -> Placement {
    let pose = Pose::new(about + turn * (world.position - about), turn * world.rotation);
    Placement::new(pose, world.scale)
}

/// A placement scaled about a point, within [`SIZES`].
#[must_use]
pub fn scaled(world: Placement, about: Vec3, factor: f32) -> Placement {
    // What somebody else made larger or smaller than that stays as it is.
    let (least, most) = (SIZES.start().min(world.scale), SIZES.end().max(world.scale));
    let scale = (world.scale * factor).clamp(least, most);
    let factor = scale / world.scale;
    Placement { position: about + (world.position - about) * factor, scale, ..world }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vectors(range: f32) -> impl Strategy<Value = Vec3> {
        (-range..range, -range..range, -range..range).prop_map(|(x, y, z)| Vec3::new(x, y, z))
    }

    fn rotations() -> impl Strategy<Value = Quat> {
        (vectors(1.0), -1f32..1.0)
            .prop_map(|(v, w)| Pose::new(Vec3::ZERO, Quat::from_xyzw(v.x, v.y, v.z, w)).rotation)
    }

    fn poses() -> impl Strategy<Value = Pose> {
        (vectors(2.0), rotations()).prop_map(|(position, rotation)| Pose { position, rotation })
    }

    fn models() -> impl Strategy<Value = Placement> {
        (poses(), 0.1f32..10.0).prop_map(|(pose, scale)| Placement::new(pose, scale))
    }

    fn apart(left: Pose, right: Pose) -> bool {
        left.position.distance(right.position) > 0.1
    }

    fn same(a: Placement, b: Placement) -> bool {
        a.position.distance(b.position) < 2e-3 * (1.0 + a.position.length())
            && a.rotation.dot(b.rotation).abs() > 0.9999
            && (a.scale / b.scale - 1.0).abs() < 1e-3
    }

    /// Where a point of the model is in the room.
    fn point(model: Placement, local: Vec3) -> Vec3 {
        model.position + model.rotation * (model.scale * local)
    }

    proptest! {
        #[test]
        fn taking_and_letting_go_changes_nothing(model in models(), left in poses(), right in poses()) {
            prop_assert!(same(OneHand::take(model, left).at(left), model));
            prop_assert!(same(TwoHands::take(model, left, right).at(left, right), model));
        }

        #[test]
        fn a_model_stays_where_it_is_in_the_hand(model in models(), from in poses(), to in poses()) {
            let moved = OneHand::take(model, from).at(to);
            let (before, after) = (
                model.pose().within(from.inverse()),
                moved.pose().within(to.inverse()),
            );
            prop_assert!(before.position.distance(after.position) < 1e-3);
            prop_assert!(before.rotation.dot(after.rotation).abs() > 0.9999);
            prop_assert_eq!(moved.scale, model.scale);
        }

        #[test]
        fn two_hands_that_move_alike_are_like_one(model in models(), left in poses(), right in poses(), by in poses()) {
            prop_assume!(apart(left, right));
            let moved = TwoHands::take(model, left, right).at(left.within(by), right.within(by));
            let one = OneHand::take(model, left).at(left.within(by));
            prop_assert!(same(moved, one), "{:?} {:?}", moved, one);
        }

        #[test]
        fn what_is_under_the_hands_stays_there(model in models(), left in poses(), right in poses(), to_left in vectors(2.0), to_right in vectors(2.0)) {
            let (now_left, now_right) = (Pose { position: to_left, ..left }, Pose { position: to_right, ..right });
            prop_assume!(apart(left, right) && apart(now_left, now_right));
            let factor = to_left.distance(to_right) / left.position.distance(right.position);
            prop_assume!(SIZES.contains(&(model.scale * factor)));
            let moved = TwoHands::take(model, left, right).at(now_left, now_right);
            for (before, after) in [(left.position, to_left), (right.position, to_right)] {
                let local = model.rotation.conjugate() * (before - model.position) / model.scale;
                prop_assert!(point(moved, local).distance(after) < 5e-3 * (1.0 + factor), "{} {}", point(moved, local), after);
            }
        }

        #[test]
        fn scaling_back_is_as_if_nothing_had_been(model in models(), about in vectors(3.0), factor in 0.2f32..5.0) {
            prop_assert!(same(scaled(scaled(model, about, factor), about, 1.0 / factor), model));
        }
    }

    #[test]
    fn both_wrists_turn_it_about_the_line_between_the_hands() {
        let model = Placement::new(Pose::new(Vec3::new(0.0, 1.5, 1.0), Quat::IDENTITY), 1.0);
        let hand = |x: f32, turn: f32| Pose::new(Vec3::new(x, 1.2, 0.4), Quat::from_rotation_x(turn));
        let grip = TwoHands::take(model, hand(0.2, 0.0), hand(-0.2, 0.0));
        let moved = grip.at(hand(0.2, 0.5), hand(-0.2, 0.5));
        assert!(moved.rotation.dot(Quat::from_rotation_x(0.5)).abs() > 0.9999, "{moved:?}");
        // One wrist alone counts half.
        let moved = grip.at(hand(0.2, 0.5), hand(-0.2, 0.0));
        assert!(moved.rotation.dot(Quat::from_rotation_x(0.25)).abs() > 0.9999, "{moved:?}");
    }

    #[test]
    fn hands_that_meet_neither_blow_it_up_nor_lose_it() {
        let model = Placement::new(Pose::new(Vec3::Y, Quat::IDENTITY), 1.0);
        let hand = |x: f32| Pose::new(Vec3::new(x, 1.0, 0.5), Quat::IDENTITY);
        for (from, to, scale) in [(0.0, 0.3, 30.0), (0.3, 0.0, 1.0 / 30.0), (1e-4, 1e-4, 1.0)] {
            let moved = TwoHands::take(model, hand(from), hand(-from)).at(hand(to), hand(-to));
            assert!(moved.is_finite() && (moved.scale / scale - 1.0).abs() < 1e-4, "{moved:?}");
        }
        // No jump on the way.
        let grip = TwoHands::take(model, hand(0.15), hand(-0.15));
        let scale = |half: f32| grip.at(hand(half), hand(-half)).scale;
        for step in 0..150 {
            let half = step as f32 / 1000.0;
            assert!((scale(half + 0.001) - scale(half)).abs() < 0.01, "at {half}");
        }
    }

    #[test]
    fn sizes_end_somewhere_and_the_middle_stays() {
        let model = Placement::new(Pose::new(Vec3::new(0.2, 1.5, 1.0), Quat::from_rotation_x(0.3)), 2.0);
        let in_model = Vec3::new(0.1, -0.2, 0.3);
        let about = point(model, in_model);
        for factor in [1.7, 1e-6, 1e6] {
            let after = scaled(model, about, factor);
            assert!(point(after, in_model).abs_diff_eq(about, 1e-4));
            assert!(SIZES.contains(&after.scale));
        }
        let tiny = Placement { scale: 0.001, ..model };
        assert_eq!(scaled(tiny, about, 0.5).scale, 0.001);
        assert!(scaled(tiny, about, 2.0).scale > 0.0019);
        let after = turned(model, about, Quat::from_rotation_y(1.0));
        assert!(point(after, in_model).abs_diff_eq(about, 1e-5));
    }
}
