//! The card of a model on its way, for those who look through a headset: a board
//! before the model's box, with a button to cancel it.

use bevy::prelude::*;

use super::Boxed;
use crate::{
    app::{
        AppSystems,
        input::{Action, Headset, Me},
        link::Meeting,
        models::{Model, ModelState},
        progress::{Arrival, Speeds},
        surface::{METRES_PER_PIXEL, Placing, READ_AT, Surface, Surfaces, facing},
        theme,
        ui::{self, Element, Size, Tone, Tree},
    },
    session::{ModelView, Phase},
};

/// Logical pixels.
const SIZE: UVec2 = UVec2::new(400, 130);
/// A card that is farther away than [`READ_AT`] grows as much, up to this.
const GROWTH: std::ops::RangeInclusive<f32> = 0.7..=8.0;
/// It comes no nearer to the eyes than this, metres.
const NEAREST: f32 = 0.45;

pub(super) fn plugin(app: &mut App) {
    app.add_observer(take_down)
        .add_systems(Update, (put_up, say, place).chain().in_set(AppSystems::Present).after(super::box_up));
}

/// On the entity of a model on its way: its card in the room.
#[derive(Component)]
struct Card {
    board: Entity,
    panel: Entity,
}

fn put_up(
    headset: Res<Headset>,
    boxed: Query<Entity, (With<Boxed>, Without<Card>)>,
    done: Query<Entity, (With<Card>, Without<Boxed>)>,
    mut surfaces: Surfaces,
) {
    for entity in &done {
        surfaces.commands.entity(entity).remove::<Card>();
    }
    if !headset.is_worn() {
        return;
    }
    for entity in &boxed {
        let (board, surface) = surfaces.spawn("model on its way", SIZE, METRES_PER_PIXEL);
        let panel = theme::panel(Node {
            flex_direction: FlexDirection::Column,
            width: percent(100),
            row_gap: px(6),
            ..default()
        });
        let panel = surfaces.hang(board, &surface, (panel, Tree::default(), Name::new("card")));
        surfaces.commands.entity(entity).insert(Card { board, panel });
    }
}

fn take_down(removed: On<Remove, Card>, cards: Query<&Card>, mut commands: Commands) {
    if let Ok(card) = cards.get(removed.entity) {
        commands.entity(card.board).try_despawn();
    }
}

fn say(
    meeting: Res<Meeting>,
    speeds: Res<Speeds>,
    models: Query<(&Model, &ModelState, &Card)>,
    mut trees: Query<&mut Tree>,
    mut commands: Commands,
) {
    for (model, state, card) in &models {
        let Some(view) = meeting.model(&model.id) else { continue };
        let arrival = Arrival::here(view.arriving, speeds.of(&view.id, None), *state);
        if let Ok(mut tree) = trees.get_mut(card.panel) {
            let hosting = meeting.phase == Phase::Hosting;
            ui::show(&mut commands, card.panel, &mut tree, page(view, arrival, hosting));
        }
    }
}

fn page(view: &ModelView, arrival: Arrival, hosting: bool) -> Vec<Element> {
    let name = view.name.strip_suffix(".glb").unwrap_or(&view.name);
    let mut page = vec![
        ui::row([ui::name(name, Size::Body, Tone::Plain)]),
        ui::bar(arrival.share, Tone::Accent),
        ui::text(arrival.text, Size::Small, Tone::Dim),
    ];
    if view.arriving.is_some() {
        // Everything goes through the host.
        let label = if hosting { "Cancel for all" } else { "Cancel" };
        let id = format!("transfer/cancel/{}", view.id);
        page.push(ui::row([ui::button(id, label, Action::CancelModel(view.id.clone())).into()]));
    }
    page
}

/// Before the box, as one looks at it, whole and within reach of the eyes.
fn before(middle: Vec3, radius: f32, eyes: Vec3) -> Vec3 {
    let to_eyes = eyes - middle;
    let away = to_eyes.length();
    let forth = radius.min(away - NEAREST).max(0.0);
    middle + to_eyes.try_normalize().unwrap_or(Vec3::NEG_Z) * forth
}

fn place(
    headset: Res<Headset>,
    me: Res<Me>,
    cards: Query<(&Boxed, &Card)>,
    frames: Query<(&Transform, &Children), Without<Surface>>,
    parts: Query<&Transform, Without<Surface>>,
    mut boards: Placing,
) {
    let eyes = me.body.head.position;
    for (boxed, card) in &cards {
        let Some((frame, children)) = frames.get(boxed.frame).ok().filter(|_| headset.is_worn()) else {
            boards.put(card.board, None);
            continue;
        };
        // The first part is the box's sides: as large as it.
        let sides = children.first().and_then(|part| parts.get(*part).ok());
        let radius = sides.map_or(0.0, |sides| sides.scale.length() / 2.0);
        let at = before(frame.translation, radius, eyes);
        let growth = (at.distance(eyes) / READ_AT).clamp(*GROWTH.start(), *GROWTH.end());
        boards.put(card.board, Some(facing(at, eyes).with_scale(Vec3::splat(growth))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_card_is_between_the_box_and_the_eyes() {
        let (middle, eyes) = (Vec3::new(0.0, 1.5, 1.0), Vec3::new(0.0, 1.6, 0.0));
        let away = middle.distance(eyes);
        assert!((before(middle, 0.2, eyes).distance(middle) - 0.2).abs() < 1e-5);
        // Of a box that one stands in it is not on the nose.
        let near = before(middle, 3.0, eyes).distance(eyes);
        assert!((near - NEAREST).abs() < 1e-4 && near < away);
        let inside = before(middle, 3.0, middle + Vec3::X * 0.1);
        assert!(inside.is_finite());
    }
}
