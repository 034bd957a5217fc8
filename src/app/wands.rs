//! What hands do to models: take, move, turn, scale, step to the next.
//!
//! For: a person with two hands ([`Hands`]), whatever holds or tracks them. Not
//! for mice, whose platform says [`Hold`] itself. Each hand takes the nearest
//! model along its wand; with both on one model it also turns and grows with
//! them. With keep-aligned on, both hold the scene.

use bevy::prelude::*;

use super::{
    AppSystems,
    actions::Selected,
    alignment::Markers,
    grab::Held,
    input::{Action, Hands, Headset, Hold, Pulse},
    link::Meeting,
    pointing::{Hit, Targets},
};
use crate::{
    gestures::{Button, OneHand, PerSide, Side, Stick, StickMove, TwoHands, scaled},
    session::{Placement, Pose},
};

/// Of the logarithm of the size, a second, with the stick pushed to its end.
const GROWTH: f32 = 1.0;
/// From a wand's middle to its tip, metres.
pub const HALF_LENGTH: f32 = 0.2;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Wands>()
        .add_systems(Update, (let_go, point, take, steer, carry).chain().in_set(AppSystems::Input));
}

/// What the wands do.
#[derive(Resource, Debug, Default)]
pub struct Wands {
    sides: PerSide<Wand>,
    /// What two hands hold together; with keep-aligned the model that stands for
    /// the scene.
    grips: Vec<(String, Grip)>,
}

/// What one wand does.
#[derive(Debug, Default)]
pub struct Wand {
    /// The model that it points at.
    pub hit: Option<Hit>,
    /// A panel is in front of that.
    pub over_panel: bool,
    trigger: Button,
    squeeze: Button,
    stick: Stick,
    /// The model in this hand.
    held: Option<String>,
    /// The model that its stick scales.
    scaling: Option<String>,
}

#[derive(Debug)]
enum Grip {
    One(Side, OneHand),
    Two(TwoHands),
}

impl Wands {
    /// What one wand does.
    pub fn get(&self, side: Side) -> &Wand {
        self.sides.get(side)
    }

    /// The model in a hand.
    pub fn held(&self, side: Side) -> Option<&str> {
        self.get(side).held.as_deref()
    }
}

/// What each wand meets.
pub(crate) fn point(hands: Res<Hands>, targets: Targets, mut wands: ResMut<Wands>) {
    for side in Side::BOTH {
        let hand = hands.get(side);
        let free = wands.sides.get(side).held.is_none();
        let ray = hand.is_there().then(|| ray_of(hand.aim));
        // What is in the hand is meant, whatever else the ray comes near.
        let hit = ray.and_then(|ray| if free { targets.nearest(ray) } else { targets.hit(ray) });
        wands.sides.get_mut(side).hit = hit;
    }
}

/// Along a wand, from its middle.
pub fn ray_of(aim: Pose) -> Ray3d {
    Ray3d::new(aim.position, Dir3::new(aim.rotation * Vec3::Y).unwrap_or(Dir3::Z))
}

/// Takes with trigger or squeeze, lets go when both are up.
fn take(
    hands: Res<Hands>,
    markers: Res<Markers>,
    meeting: Res<Meeting>,
    mut wands: ResMut<Wands>,
    mut holds: MessageWriter<Hold>,
    mut pulses: MessageWriter<Pulse>,
) {
    let wands = &mut *wands;
    for side in Side::BOTH {
        let hand = hands.get(side);
        let other = wands.sides.get(side.other()).held.clone();
        let wand = wands.sides.get_mut(side);
        // A hand out of sight keeps what it holds until it is seen again with open fingers.
        if hand.is_there() {
            wand.trigger.update(hand.trigger);
            wand.squeeze.update(hand.squeeze);
        }
        let pressed = wand.trigger.just_pressed() || wand.squeeze.just_pressed();
        // What has a marker in it drops that.
        if pressed && wand.held.is_none() && !wand.over_panel && !markers.is_on() {
            let met = wand.hit.as_ref().map(|hit| hit.model_id.clone());
            let taken = if meeting.keep_aligned {
                let any = || meeting.models.iter().find(|m| m.shown && m.glb.is_some()).map(|m| m.id.clone());
                other.or(met).or_else(any)
            } else {
                met
            };
            if let Some(model_id) = taken {
                wand.held = Some(model_id.clone());
                regrip(&mut wands.grips, &model_id);
                holds.write(Hold::Take { model_id });
                pulses.write(Pulse::grab(side));
            }
        }
        let wand = wands.sides.get_mut(side);
        let open = !wand.trigger.is_down() && !wand.squeeze.is_down();
        let gone = wand.held.as_ref().is_some_and(|id| meeting.model(id).is_none());
        if (open || gone)
            && let Some(model_id) = wand.held.take()
        {
            regrip(&mut wands.grips, &model_id);
            // In the other hand it stays in a hand, and a stick goes on with it.
            if !is_used(&wands.sides, &model_id) {
                holds.write(Hold::Release { model_id });
                pulses.write(Pulse::release(side));
            }
        }
    }
}

fn regrip(grips: &mut Vec<(String, Grip)>, model_id: &str) {
    grips.retain(|(id, _)| id != model_id);
}

/// Sticks: scale what is held, or met, or chosen; step to the next model.
fn steer(
    hands: Res<Hands>,
    meeting: Res<Meeting>,
    held: Res<Held>,
    selected: Res<Selected>,
    targets: Targets,
    time: Res<Time>,
    mut wands: ResMut<Wands>,
    mut holds: MessageWriter<Hold>,
    mut actions: MessageWriter<Action>,
    mut pulses: MessageWriter<Pulse>,
) {
    let wands = &mut *wands;
    for side in Side::BOTH {
        let wand = wands.sides.get_mut(side);
        // A stick over a panel scrolls it.
        let value = if wand.over_panel { Vec2::ZERO } else { hands.get(side).stick };
        match wand.stick.update(value) {
            StickMove::Rest => {
                if let Some(model_id) = wand.scaling.take()
                    && !is_used(&wands.sides, &model_id)
                {
                    holds.write(Hold::Release { model_id });
                }
            }
            StickMove::Step(by) => {
                actions.write(if by > 0 { Action::NextModel } else { Action::PreviousModel });
                pulses.write(Pulse::press(side));
            }
            StickMove::Scale(rate) => {
                let meant = wand.scaling.clone().or_else(|| wand.held.clone());
                let meant = meant.or_else(|| wand.hit.as_ref().map(|hit| hit.model_id.clone()));
                let meant = meant.or_else(|| selected.id(&meeting).map(str::to_owned));
                let Some(view) = meant.as_deref().and_then(|id| meeting.model(id)).filter(|m| m.shown) else {
                    continue;
                };
                let (model_id, (world, _)) = (view.id.clone(), held.place(view, &meeting));
                let begins = wand.scaling.is_none();
                let used = is_used(&wands.sides, &model_id);
                wands.sides.get_mut(side).scaling = Some(model_id.clone());
                if begins && !used {
                    holds.write(Hold::Take { model_id: model_id.clone() });
                }
                let middle = targets.middle_of(&model_id, world).unwrap_or(world.position);
                let factor = (rate * GROWTH * time.delta_secs().min(0.1)).exp();
                holds.write(Hold::To { model_id: model_id.clone(), world: scaled(world, middle, factor) });
                // What is in a hand as well is taken anew, as it is now.
                regrip(&mut wands.grips, &model_id);
            }
        }
    }
}

/// Whether a hand has it or a stick scales it.
fn is_used(sides: &PerSide<Wand>, model_id: &str) -> bool {
    Side::BOTH.iter().any(|&side| {
        let wand = sides.get(side);
        wand.held.as_deref() == Some(model_id) || wand.scaling.as_deref() == Some(model_id)
    })
}

/// Whoever takes the headset off, or loses it, has nothing in their hands.
fn let_go(headset: Res<Headset>, mut wands: ResMut<Wands>, mut holds: MessageWriter<Hold>) {
    if headset.is_worn() {
        return;
    }
    let mut used: Vec<String> = Vec::new();
    for side in Side::BOTH {
        let wand = wands.bypass_change_detection().sides.get_mut(side);
        used.extend(wand.held.take());
        used.extend(wand.scaling.take());
        *wand = Wand::default();
    }
    used.sort_unstable();
    used.dedup();
    wands.bypass_change_detection().grips.clear();
    holds.write_batch(used.into_iter().map(|model_id| Hold::Release { model_id }));
}

/// Brings what is held to where the hands are.
fn carry(
    hands: Res<Hands>,
    meeting: Res<Meeting>,
    held: Res<Held>,
    mut wands: ResMut<Wands>,
    mut holds: MessageWriter<Hold>,
) {
    let Wands { sides, grips } = &mut *wands;
    let scaling = |id: &str| Side::BOTH.iter().any(|&side| sides.get(side).scaling.as_deref() == Some(id));
    let mut done: Option<&str> = None;
    for side in Side::BOTH {
        let Some(model_id) = sides.get(side).held.as_deref() else { continue };
        if done == Some(model_id) || scaling(model_id) {
            continue;
        }
        done = Some(model_id);
        let both = sides.get(side.other()).held.as_deref() == Some(model_id);
        if !hands.get(side).is_there() || (both && !hands.get(side.other()).is_there()) {
            // Out of sight: it stays, and is in the hand again as the hand comes back.
            regrip(grips, model_id);
            continue;
        }
        let (left, right) = (hands.left.grip, hands.right.grip);
        let known = grips.iter().position(|(id, _)| id == model_id);
        let grip = match known {
            Some(at) => at,
            None => {
                let Some(view) = meeting.model(model_id) else { continue };
                let (world, _) = held.place(view, &meeting);
                let grip = if both {
                    Grip::Two(TwoHands::take(world, left, right))
                } else {
                    Grip::One(side, OneHand::take(world, hands.get(side).grip))
                };
                grips.push((model_id.to_owned(), grip));
                grips.len() - 1
            }
        };
        let world: Placement = match grips.get(grip) {
            Some((_, Grip::One(side, grip))) => grip.at(hands.get(*side).grip),
            Some((_, Grip::Two(grip))) => grip.at(left, right),
            None => continue,
        };
        holds.write(Hold::To { model_id: model_id.to_owned(), world });
    }
}
