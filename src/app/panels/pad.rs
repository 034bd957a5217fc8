//! A keyboard on the board, for those who wear a headset: digits for addresses,
//! letters for names. It fills in the same fields as a keyboard does.

use bevy::prelude::*;

use super::dock::{Dock, Open};
use crate::app::{
    AppSystems,
    input::{Action, PadKey},
    preferences::Preferences,
    ui::{self, ByPad, Element, FieldId, Size, Tone, Tree, Typing},
};

/// Logical pixels: ten letters, or four keys for digits, side by side.
const LETTER: f32 = 36.0;
const DIGIT: f32 = 98.0;
/// Last addresses that are offered.
const ADDRESSES: usize = 3;
/// Longer addresses are shown shortened.
const ADDRESS_CHARACTERS: usize = 26;

const ROWS: [&str; 3] = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Pad>()
        .add_systems(Startup, spawn.after(super::dock::spawn))
        .add_systems(Update, act.in_set(AppSystems::Update))
        .add_systems(Update, update.in_set(AppSystems::Present));
}

/// What the keys are now.
#[derive(Resource, Debug, Default)]
struct Pad {
    /// Of which field they were shown last.
    of: Option<FieldId>,
    letters: bool,
    capitals: bool,
}

#[derive(Component)]
struct PadRoot;

fn spawn(dock: Single<Entity, With<Dock>>, mut commands: Commands) {
    let node = Node { flex_direction: FlexDirection::Column, flex_shrink: 0.0, row_gap: px(4), ..default() };
    let pad = commands.spawn((PadRoot, node, Tree::default(), Pickable::IGNORE, Name::new("pad"))).id();
    commands.entity(*dock).add_child(pad);
}

fn act(
    mut actions: MessageReader<Action>,
    mut by_pad: ResMut<ByPad>,
    mut pad: ResMut<Pad>,
    mut typing: Typing,
    mut commands: Commands,
) {
    for action in actions.read() {
        let field = by_pad.0;
        match (action, field) {
            (Action::Type(key), Some(field)) => match key {
                PadKey::Text(text) => {
                    typing.add(field, text);
                    pad.capitals = false;
                }
                PadKey::Delete => typing.delete(field),
                PadKey::Clear => typing.clear(field),
                PadKey::Shift => pad.capitals = !pad.capitals,
                PadKey::Layer => pad.letters = !pad.letters,
                PadKey::Done => {
                    commands.write_message(typing.finished(field));
                    by_pad.0 = None;
                }
                PadKey::Close => {
                    typing.forget(field);
                    by_pad.0 = None;
                }
            },
            (Action::ShowPage(_) | Action::TogglePanels | Action::Join(_) | Action::Host, Some(field)) => {
                if !matches!(action, Action::Join(_)) {
                    typing.forget(field);
                }
                by_pad.0 = None;
            }
            _ => {}
        }
    }
}

fn update(
    by_pad: Res<ByPad>,
    open: Res<Open>,
    preferences: Res<Preferences>,
    typing: Typing,
    mut pad: ResMut<Pad>,
    mut root: Single<(Entity, &mut Tree, &mut Node), With<PadRoot>>,
    mut commands: Commands,
) {
    let field = by_pad.0.filter(|_| open.dock);
    if pad.of != field {
        *pad =
            Pad { of: field, letters: matches!(field, Some(FieldId::Name | FieldId::Room)), capitals: false };
    }
    let (entity, tree, node) = &mut *root;
    let display = if field.is_some() { Display::Flex } else { Display::None };
    if node.display != display {
        node.display = display;
    }
    let keys = field.map_or(Vec::new(), |field| {
        keys(field, typing.held(field), &preferences.get().addresses, pad.letters, pad.capitals)
    });
    ui::show(&mut commands, *entity, tree, keys);
}

fn keys(field: FieldId, held: &str, addresses: &[String], letters: bool, capitals: bool) -> Vec<Element> {
    let mut pad = vec![
        ui::line(),
        ui::row([
            // A cursor that does not blink.
            ui::name(format!("{held}\u{258f}"), Size::Title, Tone::Accent),
            action_key("close", "Cancel", 70.0, PadKey::Close),
        ]),
    ];
    if field == FieldId::Address {
        let again = addresses.iter().take(ADDRESSES).map(|address| {
            let id = format!("pad/again/{address}");
            ui::button(id, shortened(address), Action::Join(address.clone())).into()
        });
        let again: Vec<Element> = again.collect();
        if !again.is_empty() {
            pad.push(ui::tight_row(again));
        }
    }
    if letters {
        pad.extend(letter_rows(field, capitals));
    } else {
        pad.extend(digit_rows(field));
    }
    pad
}

fn character(text: char, width: f32) -> Element {
    let label = if text == ' ' { "space".to_owned() } else { text.to_string() };
    ui::button(format!("pad/{label}"), label, Action::Type(PadKey::Text(text.to_string()))).key(width).into()
}

fn action_key(id: &str, label: &str, width: f32, key: PadKey) -> Element {
    ui::button(format!("pad/{id}"), label, Action::Type(key)).key(width).into()
}

fn done(field: FieldId, width: f32) -> Element {
    let label = match field {
        FieldId::Address => "Join",
        FieldId::Name | FieldId::Room => "Done",
    };
    ui::button("pad/done", label, Action::Type(PadKey::Done)).toned(Tone::Accent).key(width).into()
}

fn digit_rows(field: FieldId) -> Vec<Element> {
    let row = |digits: &str, last: Element| {
        ui::tight_row(digits.chars().map(|digit| character(digit, DIGIT)).chain([last]))
    };
    vec![
        row("123", action_key("delete", "Delete", DIGIT, PadKey::Delete)),
        row("456", action_key("clear", "Clear", DIGIT, PadKey::Clear)),
        row("789", action_key("layer", "abc", DIGIT, PadKey::Layer)),
        row(".0:", done(field, DIGIT)),
    ]
}

fn letter_rows(field: FieldId, capitals: bool) -> Vec<Element> {
    let row = |letters: &str| -> Vec<Element> {
        let letters =
            letters.chars().map(|letter| if capitals { letter.to_ascii_uppercase() } else { letter });
        letters.map(|letter| character(letter, LETTER)).collect()
    };
    let [first, second, third] = ROWS.map(row);
    let shift = ui::button("pad/shift", "Shift", Action::Type(PadKey::Shift)).chosen_if(capitals);
    let third = std::iter::once(shift.key(56.0).into()).chain(third).chain([action_key(
        "delete",
        "Delete",
        60.0,
        PadKey::Delete,
    )]);
    let last = [
        action_key("layer", "123", 56.0, PadKey::Layer),
        character('-', LETTER),
        character(' ', 150.0),
        character('.', LETTER),
        action_key("clear", "Clear", 52.0, PadKey::Clear),
        done(field, 56.0),
    ];
    vec![ui::tight_row(first), ui::tight_row(second), ui::tight_row(third), ui::tight_row(last)]
}

fn shortened(address: &str) -> String {
    if address.chars().count() <= ADDRESS_CHARACTERS {
        return address.to_owned();
    }
    let start: String = address.chars().take(ADDRESS_CHARACTERS - 1).collect();
    format!("{start}\u{2026}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controls(keys: &[Element]) -> Vec<String> {
        keys.iter().flat_map(Element::controls).collect()
    }

    #[test]
    fn an_address_can_be_typed_and_the_last_ones_chosen() {
        let known: Vec<String> = (0..5).map(|n| format!("10.0.0.{n}")).collect();
        let keys = keys(FieldId::Address, "192", &known, false, false);
        let there = controls(&keys);
        for character in "0123456789.:".chars() {
            assert!(there.contains(&format!("pad/{character}")), "{character}: {there:?}");
        }
        assert!(there.contains(&"pad/delete".to_owned()) && there.contains(&"pad/done".to_owned()));
        let again: Vec<_> = there.iter().filter(|id| id.starts_with("pad/again/")).collect();
        assert_eq!(again, ["pad/again/10.0.0.0", "pad/again/10.0.0.1", "pad/again/10.0.0.2"]);
        assert!(keys.iter().flat_map(Element::lines).any(|line| line.starts_with("192")));
    }

    #[test]
    fn a_name_can_be_typed() {
        let small = controls(&keys(FieldId::Name, "", &[], true, false));
        let large = controls(&keys(FieldId::Name, "", &[], true, true));
        for letter in 'a'..='z' {
            assert!(small.contains(&format!("pad/{letter}")));
            assert!(large.contains(&format!("pad/{}", letter.to_ascii_uppercase())));
        }
        assert!(small.contains(&"pad/space".to_owned()) && small.contains(&"pad/layer".to_owned()));
        assert!(!small.iter().any(|id| id.starts_with("pad/again")));
        let unique: std::collections::BTreeSet<_> = small.iter().collect();
        assert_eq!(unique.len(), small.len());
    }

    #[test]
    fn long_addresses_are_shortened() {
        assert_eq!(shortened("192.168.1.20:52194"), "192.168.1.20:52194");
        assert_eq!(shortened(&"x".repeat(99)).chars().count(), ADDRESS_CHARACTERS);
    }
}
