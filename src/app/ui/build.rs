//! Elements to entities.

use std::collections::VecDeque;

use bevy::{
    input_focus::tab_navigation::TabIndex,
    picking::hover::Hovered,
    prelude::*,
    text::{EditableText, LineBreak, TextCursorStyle},
    ui::{Checked, InteractionDisabled},
    ui_widgets::{Button as ButtonWidget, Checkbox, SelectAllOnFocus},
};

use super::{
    Control,
    controls::{FieldOf, Hint, Presses, Switches},
    element::{Button, Element, Field, Kind, Size, Tone},
    ellipsis::Ellipsis,
    style::{Look, TrackOf},
};
use crate::app::theme::{colour, size};

/// Sides of a switch's track and knob, logical pixels.
const TRACK: Vec2 = Vec2::new(34.0, 18.0);
const KNOB: f32 = 14.0;
const BAR_HEIGHT: f32 = 6.0;
const SWATCH: f32 = 26.0;
/// Of a keyboard.
const KEY_HEIGHT: f32 = 38.0;

/// What an entity shows, for comparing with what it is to show.
#[derive(Component, Debug, Default)]
pub struct Tree(Vec<Branch>);

#[derive(Debug)]
struct Branch {
    entity: Entity,
    /// A part that changes: a button's text, a bar's filling, a knob.
    part: Option<Entity>,
    key: Option<String>,
    kind: Kind,
    children: Vec<Branch>,
}

/// Brings what is below `root` in line with `elements`.
pub fn show(commands: &mut Commands, root: Entity, tree: &mut Tree, elements: Vec<Element>) {
    bring_in_line(commands, root, &mut tree.0, elements);
}

fn bring_in_line(commands: &mut Commands, parent: Entity, old: &mut Vec<Branch>, new: Vec<Element>) {
    let before: Vec<Entity> = old.iter().map(|branch| branch.entity).collect();
    let mut rest = VecDeque::from(std::mem::take(old));
    for element in new {
        let same =
            rest.iter().position(|branch| branch.key == element.key && branch.kind.is_like(&element.kind));
        let mut branch = match same.and_then(|at| rest.remove(at)) {
            Some(mut branch) => {
                if branch.kind != element.kind {
                    let before = std::mem::replace(&mut branch.kind, element.kind);
                    change(commands, &branch, Some(&before));
                }
                branch
            }
            None => make(commands, element.key, element.kind),
        };
        bring_in_line(commands, branch.entity, &mut branch.children, element.children);
        old.push(branch);
    }
    for gone in rest {
        commands.entity(gone.entity).despawn();
    }
    let after: Vec<Entity> = old.iter().map(|branch| branch.entity).collect();
    // What a leaf is made of stays; only those with described children are set.
    if before != after {
        commands.entity(parent).replace_children(&after);
    }
}

fn make(commands: &mut Commands, key: Option<String>, kind: Kind) -> Branch {
    let (entity, part) = match &kind {
        Kind::Column { gap } => (commands.spawn((column(*gap), Pickable::IGNORE)).id(), None),
        Kind::Row { gap } => (commands.spawn((row(*gap), Pickable::IGNORE)).id(), None),
        Kind::Card { .. } => {
            let node = Node {
                padding: UiRect::all(px(8)),
                row_gap: px(6),
                flex_direction: FlexDirection::Column,
                border: UiRect::left(px(3)),
                border_radius: BorderRadius::all(px(6)),
                flex_shrink: 0.0,
                ..default()
            };
            (commands.spawn((node, BackgroundColor(colour::CARD), Pickable::IGNORE)).id(), None)
        }
        Kind::Text { .. } => (commands.spawn(Pickable::IGNORE).id(), None),
        Kind::Name { .. } => {
            let node = Node {
                flex_grow: 1.0,
                flex_basis: px(0),
                min_width: px(40),
                overflow: Overflow::clip(),
                ..default()
            };
            let part = commands.spawn((Pickable::IGNORE, TextLayout::no_wrap())).id();
            (commands.spawn((node, Pickable::IGNORE)).add_child(part).id(), Some(part))
        }
        Kind::Button(button) => make_button(commands, button),
        Kind::Switch { .. } => make_switch(commands),
        Kind::Field(field) => make_field(commands, field),
        Kind::Bar { .. } => {
            let radius = BorderRadius::all(px(BAR_HEIGHT / 2.0));
            let node = Node { height: px(BAR_HEIGHT), border_radius: radius, flex_shrink: 0.0, ..default() };
            let part = commands.spawn(Pickable::IGNORE).id();
            let bar = (node, BackgroundColor(colour::TRACK), Pickable::IGNORE);
            (commands.spawn(bar).add_child(part).id(), Some(part))
        }
        Kind::Dot(_) => {
            let radius = BorderRadius::all(px(5));
            let node =
                Node { width: px(10), height: px(10), flex_shrink: 0.0, border_radius: radius, ..default() };
            (commands.spawn((node, Pickable::IGNORE)).id(), None)
        }
        Kind::Swatch { .. } => {
            let node = Node {
                width: px(SWATCH),
                height: px(SWATCH),
                border: UiRect::all(px(3)),
                border_radius: BorderRadius::all(px(SWATCH / 2.0)),
                ..default()
            };
            (commands.spawn((node, pressable())).id(), None)
        }
        Kind::Line => {
            let node = Node { height: px(1), flex_shrink: 0.0, ..default() };
            (commands.spawn((node, BackgroundColor(colour::TRACK), Pickable::IGNORE)).id(), None)
        }
    };
    let branch = Branch { entity, part, key, kind, children: Vec::new() };
    // What is around a field is no control.
    if let Some(id) = branch.kind.id().filter(|_| !matches!(branch.kind, Kind::Field(_))) {
        commands.entity(entity).insert(Control { id });
    }
    change(commands, &branch, None);
    branch
}

fn column(gap: f32) -> Node {
    Node { flex_direction: FlexDirection::Column, row_gap: px(gap), flex_shrink: 0.0, ..default() }
}

fn row(gap: f32) -> Node {
    Node {
        column_gap: px(gap),
        row_gap: px(6),
        align_items: AlignItems::Center,
        flex_wrap: FlexWrap::Wrap,
        flex_shrink: 0.0,
        ..default()
    }
}

fn pressable() -> impl Bundle {
    (ButtonWidget, TabIndex(0), Hovered::default(), Outline::new(px(2), px(1), Color::NONE))
}

fn make_button(commands: &mut Commands, button: &Button) -> (Entity, Option<Entity>) {
    let node = Node {
        padding: UiRect::axes(px(if button.key.is_some() { 0.0 } else { 10.0 }), px(5)),
        border_radius: BorderRadius::all(px(6)),
        justify_content: JustifyContent::Center,
        align_items: AlignItems::Center,
        width: match button.key {
            Some(width) => px(width),
            None if button.wide => percent(100),
            None => auto(),
        },
        height: button.key.map_or(auto(), |_| px(KEY_HEIGHT)),
        min_width: px(0),
        overflow: if button.wide { Overflow::clip() } else { Overflow::visible() },
        ..default()
    };
    let part = commands.spawn((Pickable::IGNORE, TextLayout::no_wrap())).id();
    (commands.spawn((node, pressable())).add_child(part).id(), Some(part))
}

fn make_switch(commands: &mut Commands) -> (Entity, Option<Entity>) {
    let node = Node {
        padding: UiRect::axes(px(4), px(5)),
        column_gap: px(10),
        align_items: AlignItems::Center,
        border_radius: BorderRadius::all(px(6)),
        flex_shrink: 0.0,
        ..default()
    };
    let track = Node {
        width: px(TRACK.x),
        height: px(TRACK.y),
        padding: UiRect::all(px((TRACK.y - KNOB) / 2.0)),
        border_radius: BorderRadius::all(px(TRACK.y / 2.0)),
        flex_shrink: 0.0,
        ..default()
    };
    let knob = Node {
        width: px(KNOB),
        height: px(KNOB),
        border_radius: BorderRadius::all(px(KNOB / 2.0)),
        ..default()
    };
    let knob = commands.spawn((knob, BackgroundColor(colour::TEXT), Pickable::IGNORE)).id();
    let track = commands.spawn((track, Pickable::IGNORE)).add_child(knob).id();
    let label = commands.spawn((Node { flex_shrink: 1.0, ..default() }, Pickable::IGNORE)).id();
    let widget = (Checkbox, TabIndex(0), Hovered::default(), Outline::new(px(2), px(1), Color::NONE));
    let entity = commands.spawn((node, widget)).add_children(&[track, label]).id();
    commands.entity(track).insert(TrackOf(entity));
    (entity, Some(label))
}

fn make_field(commands: &mut Commands, field: &Field) -> (Entity, Option<Entity>) {
    let node = Node {
        padding: UiRect::axes(px(10), px(6)),
        border: UiRect::all(px(1)),
        border_radius: BorderRadius::all(px(6)),
        width: percent(100),
        ..default()
    };
    let mut editable = EditableText::new(&field.text);
    editable.max_characters = Some(field.id.most_characters());
    let cursor = TextCursorStyle {
        color: colour::TEXT,
        selection_color: colour::SELECTION,
        unfocused_selection_color: Color::NONE,
        selected_text_color: None,
    };
    let hint_node = Node { position_type: PositionType::Absolute, left: px(11), top: px(7), ..default() };
    let hint = commands.spawn((hint_node, Pickable::IGNORE, TextLayout::no_wrap())).id();
    let edit = commands
        .spawn((
            node,
            editable,
            cursor,
            SelectAllOnFocus,
            TabIndex(0),
            Hovered::default(),
            Look::Field,
            TextFont::from_font_size(size::BODY),
            TextColor(colour::TEXT),
            TextLayout::no_wrap(),
            FieldOf { id: field.id, described: field.text.clone() },
            Control { id: format!("field/{}", field.id.as_str()) },
        ))
        .id();
    commands.entity(hint).insert(Hint(edit));
    let around = Node { width: percent(100), flex_shrink: 0.0, ..default() };
    let entity = commands.spawn((around, Pickable::IGNORE)).add_children(&[edit, hint]).id();
    (entity, Some(hint))
}

/// Puts what can differ from one showing to the next; before it was `before`, if
/// it was there.
fn change(commands: &mut Commands, branch: &Branch, before: Option<&Kind>) {
    let written = |text: &str, size: f32, tone: Color| {
        (Text::new(text), TextFont::from_font_size(size), TextColor(tone))
    };
    let part = branch.part.unwrap_or(branch.entity);
    match &branch.kind {
        Kind::Column { gap } => {
            commands.entity(branch.entity).insert(column(*gap));
        }
        Kind::Row { gap } => {
            commands.entity(branch.entity).insert(row(*gap));
        }
        Kind::Line => {}
        Kind::Card { selected } => {
            let edge = if *selected { colour::ACCENT } else { colour::CARD };
            commands.entity(branch.entity).insert(BorderColor::all(edge));
        }
        Kind::Text { text, size, tone } => {
            let layout = TextLayout::linebreak(LineBreak::WordOrCharacter);
            commands.entity(part).insert((written(text, size.pixels(), tone.colour()), layout));
        }
        Kind::Name { text, size, tone } => {
            commands.entity(part).insert((written(text, size.pixels(), tone.colour()), Ellipsis::new(text)));
        }
        Kind::Button(button) => {
            let Button { label, action, enabled, chosen, tone, .. } = button;
            let small = Size::Small.pixels();
            // One character alone.
            let large = button.key.is_some() && label.chars().count() == 1;
            if button.wide {
                let before = match before {
                    Some(Kind::Button(before)) => Some(&before.label),
                    _ => None,
                };
                put_name(commands, part, label, small, tone.colour(), before);
            } else {
                let size = if large { Size::Title.pixels() } else { small };
                commands.entity(part).insert(written(label, size, tone.colour()));
            }
            let look = Look::Button { text: part, tone: tone.colour(), chosen: *chosen };
            let mut entity = commands.entity(branch.entity);
            entity.insert((Presses(action.clone()), look));
            enable(&mut entity, *enabled);
        }
        Kind::Switch { switch, label, on, enabled } => {
            commands.entity(part).insert(written(label, Size::Small.pixels(), Tone::Plain.colour()));
            let mut entity = commands.entity(branch.entity);
            entity.insert((Switches(*switch), Look::Switch { text: part }));
            if *on {
                entity.insert(Checked);
            } else {
                entity.remove::<Checked>();
            }
            enable(&mut entity, *enabled);
        }
        Kind::Field(field) => {
            commands.entity(part).insert(written(&field.hint, size::BODY, colour::DIM));
            if let Some(Kind::Field(before)) = before
                && before.text != field.text
            {
                let text = field.text.clone();
                commands.queue(super::controls::DescribeField { id: field.id, text });
            }
        }
        Kind::Bar { share, tone } => {
            let radius = BorderRadius::all(px(BAR_HEIGHT / 2.0));
            let node = Node {
                width: percent(share * 100.0),
                height: percent(100),
                border_radius: radius,
                ..default()
            };
            commands.entity(part).insert((node, BackgroundColor(tone.colour())));
        }
        Kind::Dot(dot) => {
            commands.entity(branch.entity).insert(BackgroundColor(*dot));
        }
        Kind::Swatch { colour, chosen, action, .. } => {
            commands.entity(branch.entity).insert((
                BackgroundColor(*colour),
                Presses(action.clone()),
                Look::Swatch { chosen: *chosen },
            ));
        }
    }
}

/// A text that loses its middle where it does not fit; one that stays the same
/// stays as it was shortened.
fn put_name(
    commands: &mut Commands,
    part: Entity,
    text: &str,
    size: f32,
    tone: Color,
    before: Option<&String>,
) {
    let mut part = commands.entity(part);
    part.insert((TextFont::from_font_size(size), TextColor(tone)));
    if before.is_none_or(|before| before != text) {
        part.insert((Text::new(text), Ellipsis::new(text)));
    }
}

/// What cannot be used is not stepped to by Tab either.
fn enable(entity: &mut EntityCommands, enabled: bool) {
    if enabled {
        entity.remove::<InteractionDisabled>().insert(TabIndex(0));
    } else {
        entity.insert((InteractionDisabled, TabIndex(-1)));
    }
}
