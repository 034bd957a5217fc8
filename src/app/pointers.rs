//! Hands at boards: what mice are to a window.
//!
//! Each hand has a pointer of its own in Bevy's picking, so that whatever works
//! under a mouse works under a ray with a trigger and under a fingertip. A finger
//! that is near a board goes before the ray of its hand. A hand at a board takes
//! nothing behind it ([`Wands::put_over_panel`]).

use bevy::{
    asset::uuid::Uuid,
    camera::{ImageRenderTarget, NormalizedRenderTarget},
    input::{mouse::MouseScrollUnit, touch::TouchPhase},
    picking::{
        backend::HitData,
        events::{PointerState, Scroll},
        hover::HoverMap,
        pointer::{Location, PointerAction, PointerButton, PointerId, PointerInput, PointerLocation},
    },
    prelude::*,
    ui::{InteractionDisabled, Pressed},
    ui_widgets::ScrollArea,
};

use super::{
    AppSystems,
    input::{Hands, Headset, Pulse},
    surface::{Boards, Surface},
    ui::{Control, Pointed},
    wands::{self, OverPanel, Wands},
};
use crate::gestures::{Button, PerSide, Poke, Side};

/// Logical pixels in a second, with the stick pushed to its end.
const STICK_SCROLLS: f32 = 700.0;
/// Nearer to its middle than this a stick scrolls nothing.
const STICK_RESTS: f32 = 0.25;
/// Who moves a pressed page so many logical pixels means to move it, and presses
/// nothing on it.
const DRAGS: f32 = 14.0;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Pointers>().add_systems(PreStartup, spawn).add_systems(
        Update,
        (feel, operate).chain().in_set(AppSystems::Input).after(wands::point).before(wands::take),
    );
}

/// What each hand does to boards.
#[derive(Resource, Default)]
pub(super) struct Pointers(PerSide<HandPointer>);

impl Pointers {
    /// The board that this hand is at.
    pub fn over(&self, side: Side) -> Option<Entity> {
        self.0.get(side).at.map(|at| at.board)
    }

    /// Whether it presses there.
    pub fn presses(&self, side: Side) -> bool {
        self.0.get(side).press.is_some()
    }

    /// Whose pointer that is.
    pub fn side_of(id: PointerId) -> Option<Side> {
        Side::BOTH.into_iter().find(|side| id_of(*side) == id)
    }
}

#[derive(Default)]
struct HandPointer {
    trigger: Button,
    poke: Poke,
    /// The board that the finger is at.
    poked: Option<Entity>,
    at: Option<At>,
    press: Option<Press>,
    /// The control under it.
    control: Option<Entity>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct At {
    board: Entity,
    /// Logical pixels.
    pixel: Vec2,
    over: OverPanel,
    /// By the fingertip.
    finger: bool,
}

#[derive(Debug, Clone)]
struct Press {
    began: Vec2,
    /// The page that can be moved with it.
    scrolls: Option<Entity>,
    /// It is being moved.
    dragging: bool,
}

fn id_of(side: Side) -> PointerId {
    // Any numbers, but always the same.
    PointerId::Custom(Uuid::from_u128(match side {
        Side::Left => 0x636f_6e76_656e_6500_6c65_6674,
        Side::Right => 0x636f_6e76_656e_6500_7269_6768,
    }))
}

fn spawn(mut commands: Commands) {
    for side in Side::BOTH {
        commands.spawn((id_of(side), Name::new(side.as_str())));
    }
}

/// What is under each pointer: it is lit, and a hand that comes over it feels it.
fn feel(
    hovered: Res<HoverMap>,
    parents: Query<&ChildOf>,
    controls: Query<Has<InteractionDisabled>, With<Control>>,
    lit: Query<Entity, With<Pointed>>,
    mut pointers: ResMut<Pointers>,
    mut pulses: MessageWriter<Pulse>,
    mut commands: Commands,
) {
    for side in Side::BOTH {
        let pointer = pointers.0.get_mut(side);
        let under = hovered.get(&id_of(side)).filter(|_| pointer.at.is_some());
        let under = under.into_iter().flat_map(|hits| hits.keys());
        let control = under
            .flat_map(|&entity| std::iter::once(entity).chain(parents.iter_ancestors(entity)))
            .find(|&entity| controls.contains(entity));
        let usable = control.is_some_and(|control| controls.get(control) == Ok(false));
        if control != pointer.control && usable && pointer.press.is_none() {
            pulses.write(Pulse::hover(side));
        }
        pointer.control = control;
    }
    let now = Side::BOTH.map(|side| pointers.0.get(side).control);
    for entity in &lit {
        if !now.contains(&Some(entity)) {
            commands.entity(entity).remove::<Pointed>();
        }
    }
    for entity in now.into_iter().flatten() {
        if !lit.contains(entity) {
            commands.entity(entity).try_insert(Pointed);
        }
    }
}

/// Moves, presses and lets go; scrolls.
fn operate(
    (headset, hands, time): (Res<Headset>, Res<Hands>, Res<Time>),
    boards: Boards,
    hovered: Res<HoverMap>,
    (parents, areas): (Query<&ChildOf>, Query<&ComputedNode, With<ScrollArea>>),
    pressed: Query<Entity, With<Pressed>>,
    usable: Query<(), (With<Control>, Without<InteractionDisabled>)>,
    mut places: Query<(&PointerId, &mut PointerLocation)>,
    mut state: ResMut<PointerState>,
    (mut pointers, mut wands): (ResMut<Pointers>, ResMut<Wands>),
    mut inputs: MessageWriter<PointerInput>,
    mut pulses: MessageWriter<Pulse>,
    mut commands: Commands,
) {
    for side in Side::BOTH {
        let (id, hand, pointer) = (id_of(side), hands.get(side), pointers.0.get_mut(side));
        let before = pointer.at;
        pointer.trigger.update(if hand.is_there() { hand.trigger } else { 0.0 });
        let acts = headset.is_worn() && hand.is_there() && wands.held(side).is_none();
        let was_poking = pointer.poke == Poke::Pressing;
        pointer.at = if acts { find(pointer, side, hand.fingertip, &boards, &hands, &wands) } else { None };
        if !acts {
            (pointer.poke, pointer.poked) = (Poke::Away, None);
        }
        wands.put_over_panel(side, pointer.at.map(|at| at.over));

        let location = |at: At| {
            let (Surface { image, .. }, ..) = boards.get(at.board)?;
            let target = ImageRenderTarget { handle: image.clone(), scale_factor: super::surface::DENSITY };
            Some(Location { target: NormalizedRenderTarget::Image(target), position: at.pixel })
        };
        let Some((at, there)) = pointer.at.and_then(|at| Some((at, location(at)?))) else {
            if pointer.press.take().is_some()
                && let Some(last) = before.and_then(location)
            {
                // Whatever was pressed was not meant.
                give_up(id, &mut state, &pressed, &parents, pointer.control, &mut commands);
                inputs.write(PointerInput::new(id, last, PointerAction::Release(PointerButton::Primary)));
            }
            pointer.at = None;
            for (of, mut place) in &mut places {
                if *of == id && place.location.is_some() {
                    place.location = None;
                }
            }
            continue;
        };
        let moved = before.filter(|b| b.board == at.board).map_or(Vec2::ZERO, |b| at.pixel - b.pixel);
        if before.is_none_or(|b| b.board != at.board || b.pixel != at.pixel) {
            inputs.write(PointerInput::new(id, there.clone(), PointerAction::Move { delta: moved }));
        }
        let presses_now = if at.finger {
            pointer.poke == Poke::Pressing && !was_poking
        } else {
            pointer.trigger.just_pressed()
        };
        let holds = if at.finger { pointer.poke == Poke::Pressing } else { pointer.trigger.is_down() };
        if presses_now && pointer.press.is_none() {
            let under = hovered.get(&id).into_iter().flat_map(|hits| hits.keys());
            let scrolls = under
                .flat_map(|&entity| std::iter::once(entity).chain(parents.iter_ancestors(entity)))
                .find(|&entity| areas.get(entity).is_ok_and(|a| a.content_size().y > a.size().y + 1.0));
            pointer.press = Some(Press { began: at.pixel, scrolls, dragging: false });
            inputs.write(PointerInput::new(id, there.clone(), PointerAction::Press(PointerButton::Primary)));
            if pointer.control.is_some_and(|control| usable.contains(control)) {
                pulses.write(Pulse::press(side));
            }
        } else if !holds && pointer.press.take().is_some() {
            inputs.write(PointerInput::new(
                id,
                there.clone(),
                PointerAction::Release(PointerButton::Primary),
            ));
        }
        if let Some(press) = &mut pointer.press
            && let Some(page) = press.scrolls
        {
            let far = (at.pixel - press.began).y.abs() > DRAGS;
            if far && !press.dragging {
                press.dragging = true;
                give_up(id, &mut state, &pressed, &parents, pointer.control, &mut commands);
            }
            if press.dragging && moved.y != 0.0 {
                // Also when the hand has left the page meanwhile.
                let hit = HitData::new(page, 0.0, None, None);
                let scroll = Scroll {
                    unit: MouseScrollUnit::Pixel,
                    x: 0.0,
                    y: moved.y,
                    hit,
                    phase: TouchPhase::Moved,
                };
                commands.trigger(Pointer::new(id, there.clone(), scroll, page));
            }
        }
        let mut scroll = 0.0;
        let stick = hand.stick.y;
        if stick.abs() > STICK_RESTS {
            let beyond = (stick.abs() - STICK_RESTS) / (1.0 - STICK_RESTS);
            scroll += (beyond * STICK_SCROLLS * time.delta_secs().min(0.1)).copysign(stick);
        }
        if scroll != 0.0 {
            let (unit, phase) = (MouseScrollUnit::Pixel, TouchPhase::Moved);
            inputs.write(PointerInput::new(
                id,
                there,
                PointerAction::Scroll { unit, x: 0.0, y: scroll, phase },
            ));
        }
    }
}

/// Where a hand is at a board.
fn find(
    pointer: &mut HandPointer,
    side: Side,
    fingertip: Option<Vec3>,
    boards: &Boards,
    hands: &Hands,
    wands: &Wands,
) -> Option<At> {
    let held = before_of(pointer).filter(|at| boards.get(at.board).is_some());
    if let Some(at) = poke(pointer, fingertip, boards) {
        return Some(at);
    }
    let ray = wands::ray_of(hands.get(side).aim);
    // What was pressed stays pressed beside it, too.
    if let Some(at) = held.filter(|at| !at.finger) {
        let (_, face, _) = boards.get(at.board)?;
        let met = face.met_by(ray).map_or(at, |(distance, pixel)| {
            let over = OverPanel { distance: Some(distance), point: face.point(pixel) };
            At { pixel, over, ..at }
        });
        return Some(met);
    }
    let met = boards.iter().filter_map(|(board, _, face, area)| {
        let (distance, pixel) = face.met_by(ray).filter(|(_, pixel)| area.contains(*pixel))?;
        let over = OverPanel { distance: Some(distance), point: face.point(pixel) };
        Some((distance, At { board, pixel, over, finger: false }))
    });
    let (distance, at) = met.min_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let in_front = wands.get(side).hit.as_ref().is_some_and(|hit| hit.on_surface && hit.distance < distance);
    (!in_front).then_some(at)
}

fn before_of(pointer: &HandPointer) -> Option<At> {
    pointer.press.as_ref().and(pointer.at)
}

/// Where a fingertip is at a board.
fn poke(pointer: &mut HandPointer, tip: Option<Vec3>, boards: &Boards) -> Option<At> {
    let depth_at = |board: Entity| {
        let (_, face, area) = boards.get(board)?;
        let (pixel, depth) = face.below(tip?);
        Some((pixel, depth, !area.contains(pixel), face))
    };
    // The board that it is at, and else the nearest before it.
    let known = pointer.poked.filter(|board| pointer.poke != Poke::Away && boards.get(*board).is_some());
    let board = known.or_else(|| {
        pointer.poke = Poke::Away;
        let before = boards.iter().filter_map(|(board, ..)| {
            let (_, depth, beside, _) = depth_at(board)?;
            (!beside && depth >= 0.0).then_some((board, depth))
        });
        before.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(board, _)| board)
    });
    pointer.poked = board;
    let Some((pixel, depth, beside, face)) = board.and_then(depth_at) else {
        pointer.poke = Poke::Away;
        return None;
    };
    let now = pointer.poke.update(Some(depth), beside);
    let over = OverPanel { distance: None, point: face.point(pixel) };
    (now != Poke::Away).then_some(At { board: board?, pixel, over, finger: true })
}

/// What a pointer has pressed is let go without having been meant.
fn give_up(
    id: PointerId,
    state: &mut PointerState,
    pressed: &Query<Entity, With<Pressed>>,
    parents: &Query<&ChildOf>,
    control: Option<Entity>,
    commands: &mut Commands,
) {
    let on: Vec<Entity> = state
        .get(id, PointerButton::Primary)
        .into_iter()
        .flat_map(|state| state.pressing.keys().copied())
        .chain(control)
        .collect();
    state.clear(id);
    for entity in on.into_iter().flat_map(|on| std::iter::once(on).chain(parents.iter_ancestors(on))) {
        if pressed.contains(entity) {
            commands.entity(entity).remove::<Pressed>();
        }
    }
}
