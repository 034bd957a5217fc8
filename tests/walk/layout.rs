//! Whether what is on the screen can be read: nothing overlaps, nothing is cut
//! off or outside of the window.

use bevy::{
    prelude::*,
    text::{EditableText, TextLayoutInfo},
    ui::CalculatedClip,
    window::PrimaryWindow,
};
use convene::app::ui::Control;

/// So much is allowed for rounding, logical pixels.
const SLACK: f32 = 1.5;

/// What is seen of a node, logical pixels; none if it is hidden.
pub fn seen(world: &World, entity: Entity) -> Option<Rect> {
    let entity = world.entity(entity);
    let node = entity.get::<ComputedNode>()?;
    if !entity.get::<InheritedVisibility>()?.get() || node.is_empty() {
        return None;
    }
    let middle = entity.get::<UiGlobalTransform>()?.translation;
    let whole = Rect::from_center_size(middle, node.size());
    let seen = entity.get::<CalculatedClip>().map_or(whole, |clip| whole.intersect(clip.clip));
    let scale = node.inverse_scale_factor;
    (seen.width() > 0.5 && seen.height() > 0.5)
        .then(|| Rect::from_corners(seen.min * scale, seen.max * scale))
}

struct Seen {
    entity: Entity,
    rect: Rect,
    what: String,
}

/// Everything that people read on panels. Names in the room lie below panels and
/// may be covered by them.
fn texts(world: &mut World) -> Vec<Seen> {
    let mut query = world.query_filtered::<(Entity, &Text), Without<EditableText>>();
    let all: Vec<(Entity, String)> = query
        .iter(world)
        .filter(|(_, text)| !text.0.is_empty())
        .map(|(entity, text)| (entity, text.0.clone()))
        .collect();
    let mut texts = Vec::new();
    for (entity, what) in all {
        if let Some(rect) = seen(world, entity).filter(|_| on_a_panel(world, entity)) {
            texts.push(Seen { entity, rect, what });
        }
    }
    texts
}

fn on_a_panel(world: &World, entity: Entity) -> bool {
    let root = std::iter::successors(Some(entity), |&e| world.get::<ChildOf>(e).map(ChildOf::parent)).last();
    root.and_then(|root| world.get::<GlobalZIndex>(root)).is_none_or(|index| index.0 == 0)
}

/// Looks at the whole screen.
pub fn check(world: &mut World, name: &str) {
    let window = world.query_filtered::<&Window, With<PrimaryWindow>>().single(world).unwrap();
    let screen = Rect::from_corners(Vec2::ZERO, window.size());
    let texts = texts(world);
    assert!(!texts.is_empty(), "{name}: there is nothing to read");
    let mut faults = Vec::new();
    for (number, a) in texts.iter().enumerate() {
        if !inside(a.rect, screen) {
            faults.push(format!("\"{}\" is outside of the window: {:?}", a.what, a.rect));
        }
        if let Some(fault) = cut_off(world, a) {
            faults.push(fault);
        }
        for b in &texts[number + 1..] {
            let both = a.rect.intersect(b.rect);
            if both.width() > SLACK && both.height() > SLACK {
                faults.push(format!("\"{}\" and \"{}\" overlap: {:?}", a.what, b.what, both));
            }
        }
    }
    let mut controls = world.query_filtered::<Entity, With<Control>>();
    let controls: Vec<Entity> = controls.iter(world).collect();
    for entity in controls {
        if let Some(rect) = seen(world, entity).filter(|rect| !inside(*rect, screen)) {
            faults.push(format!("{:?} is outside of the window: {rect:?}", world.get::<Control>(entity)));
        }
    }
    assert!(faults.is_empty(), "{name} at {}: {faults:#?}", screen.size());
}

/// Text that is wider than its place, and has not lost its middle for it.
fn cut_off(world: &World, text: &Seen) -> Option<String> {
    let node = world.get::<ComputedNode>(text.entity)?;
    let layout = world.get::<TextLayoutInfo>(text.entity)?;
    let scale = node.inverse_scale_factor;
    let clip = world.get::<CalculatedClip>(text.entity).map(|clip| clip.clip.width() * scale);
    // On a button it has to fit onto that.
    let on = std::iter::successors(Some(text.entity), |&e| world.get::<ChildOf>(e).map(ChildOf::parent))
        .find(|&e| world.get::<Control>(e).is_some() && world.get::<EditableText>(e).is_none())
        .and_then(|e| world.get::<ComputedNode>(e))
        .map_or(f32::MAX, |node| node.size().x * scale);
    let room = clip.unwrap_or(f32::MAX).min(on).min(text.rect.width().max(node.size().x * scale));
    let wide = layout.size.x * scale;
    (wide > room + SLACK).then(|| format!("\"{}\" is cut off: {wide} of {room} pixels", text.what))
}

fn inside(rect: Rect, screen: Rect) -> bool {
    rect.min.cmpge(screen.min - SLACK).all() && rect.max.cmple(screen.max + SLACK).all()
}

/// For whoever has to find out what went wrong.
pub fn print(world: &mut World) {
    for text in texts(world) {
        println!("{:?}: {}", text.rect, text.what);
    }
    let mut controls = world.query::<(Entity, &Control)>();
    let controls: Vec<(Entity, String)> = controls.iter(world).map(|(e, c)| (e, c.id.clone())).collect();
    for (entity, id) in controls {
        println!("{id}: {:?}", seen(world, entity));
    }
}
