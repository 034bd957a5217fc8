//! Keys: what each does, and the list of them for people.

use bevy::{input::keyboard::Key, input_focus::InputFocus, prelude::*};

use crate::app::{
    AppSystems, Keys,
    input::{Action, Switch},
    ui::is_typing,
};

/// The list, as people read it.
const LIST: Keys = Keys(&[
    (
        "Look around",
        &[
            ("Right drag", "turn about what is under the mouse"),
            ("Middle drag", "pan"),
            ("Wheel beside models", "go nearer or away"),
            ("W A S D, arrows", "go ahead, left, back, right"),
            ("E, Q", "go up, down"),
            ("Shift", "faster"),
        ],
    ),
    (
        "Models",
        &[
            ("Left drag", "move"),
            ("Ctrl + left drag", "turn about its middle"),
            ("Wheel on a model", "make larger or smaller"),
            ("N, P", "show only the next, the previous"),
            ("H", "hide or show the selected one"),
            ("Delete", "close the selected one for everybody"),
            ("K", "keep aligned: move all together"),
            ("O", "original alignment: as in the files"),
            ("Drop a file", "open it"),
        ],
    ),
    (
        "Panels",
        &[
            ("F2", "fold or unfold"),
            ("Tab, Shift+Tab, Space", "next control, previous, press it"),
            ("F3", "what the network does"),
            ("F1, ?", "this list"),
            ("Esc", "leave a field, put away this list and notices"),
        ],
    ),
]);

pub(super) fn plugin(app: &mut App) {
    app.insert_resource(LIST)
        .add_systems(Update, (everywhere, letters.run_if(not(is_typing))).in_set(AppSystems::Input));
}

/// Keys that are no text: they work in a field, too.
fn everywhere(
    keys: Res<ButtonInput<KeyCode>>,
    mut focus: ResMut<InputFocus>,
    mut actions: MessageWriter<Action>,
) {
    for key in keys.get_just_pressed() {
        actions.write(match key {
            KeyCode::F1 => Action::ToggleHelp,
            KeyCode::F2 => Action::TogglePanels,
            KeyCode::F3 => Action::Toggle(Switch::Debugging),
            KeyCode::Escape => {
                if focus.get().is_some() {
                    focus.clear();
                }
                Action::Dismiss
            }
            _ => continue,
        });
    }
}

fn letters(
    keys: Res<ButtonInput<KeyCode>>,
    signs: Res<ButtonInput<Key>>,
    mut actions: MessageWriter<Action>,
) {
    if keys.any_pressed([KeyCode::ControlLeft, KeyCode::ControlRight, KeyCode::AltLeft, KeyCode::AltRight]) {
        return;
    }
    // Where it is depends on the keyboard.
    if signs.just_pressed(Key::Character("?".into())) {
        actions.write(Action::ToggleHelp);
    }
    for key in keys.get_just_pressed() {
        actions.write(match key {
            KeyCode::KeyN => Action::NextModel,
            KeyCode::KeyP => Action::PreviousModel,
            KeyCode::KeyH => Action::ToggleSelected,
            KeyCode::Delete => Action::CloseSelected,
            KeyCode::KeyK => Action::Toggle(Switch::KeepAligned),
            KeyCode::KeyO => Action::OriginalAlignment,
            _ => continue,
        });
    }
}
