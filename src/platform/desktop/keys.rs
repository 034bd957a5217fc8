//! Keys: what each does, and the list of them for people.

use bevy::prelude::*;

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
        ],
    ),
]);

pub(super) fn plugin(app: &mut App) {
    app.insert_resource(LIST).add_systems(Update, act.in_set(AppSystems::Input).run_if(not(is_typing)));
}

fn act(keys: Res<ButtonInput<KeyCode>>, mut actions: MessageWriter<Action>) {
    let shift = keys.any_pressed([KeyCode::ShiftLeft, KeyCode::ShiftRight]);
    if keys.any_pressed([KeyCode::ControlLeft, KeyCode::ControlRight, KeyCode::AltLeft, KeyCode::AltRight]) {
        return;
    }
    for key in keys.get_just_pressed() {
        let action = match key {
            KeyCode::KeyN => Action::NextModel,
            KeyCode::KeyP => Action::PreviousModel,
            KeyCode::KeyH => Action::ToggleSelected,
            KeyCode::Delete => Action::CloseSelected,
            KeyCode::KeyK => Action::Toggle(Switch::KeepAligned),
            KeyCode::KeyO => Action::OriginalAlignment,
            KeyCode::F1 => Action::ToggleHelp,
            KeyCode::F2 => Action::TogglePanels,
            KeyCode::F3 => Action::Toggle(Switch::Debugging),
            KeyCode::Slash if shift => Action::ToggleHelp,
            KeyCode::Escape => Action::CloseHelp,
            _ => continue,
        };
        actions.write(action);
    }
}
