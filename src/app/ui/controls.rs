//! What controls do: they write actions.

use bevy::{
    camera::visibility::VisibilitySystems,
    ecs::system::SystemParam,
    input::{ButtonState, keyboard::KeyboardInput},
    input_focus::{FocusGained, FocusLost, FocusedInput, InputFocus},
    platform::collections::HashMap,
    prelude::*,
    text::{EditableText, EditableTextSystems, TextEdit, TextEditChange},
    ui_widgets::{Activate, ValueChange},
};

use super::element::FieldId;
use crate::{
    app::{
        AppSystems,
        input::{Action, Headset, Switch},
    },
    session::visible_name,
};

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Drafts>()
        .init_resource::<ByPad>()
        .add_observer(entered_field)
        .add_observer(pressed)
        .add_observer(switched)
        .add_observer(edited)
        .add_observer(key_in_field)
        .add_observer(left_field)
        .add_systems(Update, close_pad.in_set(AppSystems::Present))
        // A field that is new holds its text then.
        .add_systems(
            PostUpdate,
            show_hints.after(EditableTextSystems).before(VisibilitySystems::VisibilityPropagate),
        );
}

/// The field that is filled in with the panels' own keyboard, for lack of another.
#[derive(Resource, Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct ByPad(pub Option<FieldId>);

/// Pressing it does this.
#[derive(Component, Debug, Clone)]
pub(super) struct Presses(pub Action);

/// It switches this.
#[derive(Component, Debug, Clone, Copy)]
pub(super) struct Switches(pub Switch);

/// The field that people fill in.
#[derive(Component, Debug, Clone)]
pub(super) struct FieldOf {
    pub id: FieldId,
    /// What the page says that it holds.
    pub described: String,
}

/// Shown while this field is empty.
#[derive(Component, Debug, Clone, Copy)]
pub(super) struct Hint(pub Entity);

/// What fields hold.
#[derive(Resource, Debug, Default)]
pub struct Drafts(HashMap<FieldId, String>);

impl Drafts {
    /// Nothing is in it any more.
    pub fn clear(&mut self, id: FieldId) {
        self.0.remove(&id);
    }

    /// What this field holds; empty if it is not there.
    pub fn get(&self, id: FieldId) -> &str {
        self.0.get(&id).map_or("", String::as_str)
    }
}

/// Whether keys are text and not commands.
pub fn is_typing(focus: Option<Res<InputFocus>>, fields: Query<(), With<EditableText>>) -> bool {
    focus.and_then(|focus| focus.get()).is_some_and(|entity| fields.contains(entity))
}

fn pressed(press: On<Activate>, buttons: Query<&Presses>, mut actions: MessageWriter<Action>) {
    if let Ok(Presses(action)) = buttons.get(press.entity) {
        actions.write(action.clone());
    }
}

fn switched(change: On<ValueChange<bool>>, switches: Query<&Switches>, mut actions: MessageWriter<Action>) {
    if let Ok(Switches(switch)) = switches.get(change.source) {
        actions.write(Action::Set(*switch, change.value));
    }
}

fn edited(change: On<TextEditChange>, fields: Query<(&FieldOf, &EditableText)>, mut drafts: ResMut<Drafts>) {
    if let Ok((field, text)) = fields.get(change.event_target()) {
        let text = text.value().to_string();
        if drafts.get(field.id) != text {
            drafts.0.insert(field.id, text);
        }
    }
}

fn key_in_field(
    mut key: On<FocusedInput<KeyboardInput>>,
    mut fields: Query<(&FieldOf, &mut EditableText)>,
    mut focus: ResMut<InputFocus>,
    mut actions: MessageWriter<Action>,
    mut commands: Commands,
) {
    let Ok((field, mut text)) = fields.get_mut(key.focused_entity) else { return };
    if key.input.state != ButtonState::Pressed || text.is_composing() {
        return;
    }
    match key.input.key_code {
        KeyCode::Enter | KeyCode::NumpadEnter => {
            key.propagate(false);
            if field.id.acts_when_left() {
                // Leaving does it.
                focus.clear();
            } else {
                actions.write(field.id.action(text.value().to_string()));
            }
        }
        KeyCode::Escape => {
            key.propagate(false);
            if field.id.acts_when_left() {
                fill(&mut text, &field.described);
                commands.entity(key.focused_entity).insert(Left);
            }
            focus.clear();
        }
        _ => {}
    }
}

/// Who wears a headset sees no keyboard.
fn entered_field(
    gained: On<FocusGained>,
    headset: Res<Headset>,
    fields: Query<&FieldOf>,
    mut pad: ResMut<ByPad>,
) {
    if let Ok(field) = fields.get(gained.entity).map(|field| field.id)
        && headset.is_worn()
    {
        pad.set_if_neq(ByPad(Some(field)));
    }
}

/// A field that is gone is not filled in.
fn close_pad(headset: Res<Headset>, fields: Query<&FieldOf>, mut pad: ResMut<ByPad>) {
    let there = |id: FieldId| headset.is_worn() && fields.iter().any(|field| field.id == id);
    if pad.0.is_some_and(|id| !there(id)) {
        pad.0 = None;
    }
}

/// It is being left by Escape: what was typed is not meant.
#[derive(Component)]
struct Left;

fn left_field(
    lost: On<FocusLost>,
    mut fields: Query<(&FieldOf, &mut EditableText, Has<Left>)>,
    pad: Res<ByPad>,
    mut actions: MessageWriter<Action>,
    mut commands: Commands,
) {
    let Ok((field, mut text, escaped)) = fields.get_mut(lost.entity) else { return };
    // With the pad's keys one leaves the field all the time.
    if !field.id.acts_when_left() || pad.0 == Some(field.id) {
        return;
    }
    if escaped {
        commands.entity(lost.entity).remove::<Left>();
        return;
    }
    let typed = text.value().to_string();
    let name = visible_name(&typed);
    if name.is_empty() || name == field.described {
        fill(&mut text, &field.described);
    } else {
        actions.write(field.id.action(typed));
    }
}

fn fill(field: &mut EditableText, text: &str) {
    field.queue_edit(TextEdit::SelectAll);
    if text.is_empty() {
        field.queue_edit(TextEdit::Delete);
    } else {
        field.queue_edit(TextEdit::Insert(text.into()));
    }
}

fn show_hints(fields: Query<&EditableText>, mut hints: Query<(&Hint, &mut Visibility)>) {
    for (Hint(field), mut visibility) in &mut hints {
        let empty = fields.get(*field).is_ok_and(|text| text.value().to_string().is_empty());
        visibility.set_if_neq(if empty { Visibility::Inherited } else { Visibility::Hidden });
    }
}

/// Fills in a field without a keyboard.
#[derive(SystemParam)]
pub struct Typing<'w, 's> {
    fields: Query<'w, 's, (&'static FieldOf, &'static mut EditableText)>,
    drafts: Res<'w, Drafts>,
}

impl Typing<'_, '_> {
    /// Behind what it holds.
    pub fn add(&mut self, id: FieldId, text: &str) {
        self.edit(id, [TextEdit::TextEnd(false), TextEdit::Insert(text.into())]);
    }

    /// The last character away.
    pub fn delete(&mut self, id: FieldId) {
        self.edit(id, [TextEdit::TextEnd(false), TextEdit::Backspace]);
    }

    /// Everything away.
    pub fn clear(&mut self, id: FieldId) {
        self.edit(id, [TextEdit::SelectAll, TextEdit::Delete]);
    }

    /// What the Enter key does.
    pub fn finished(&self, id: FieldId) -> Action {
        id.action(self.held(id).to_owned())
    }

    /// Back to what it held at first, where that was something that holds.
    pub fn forget(&mut self, id: FieldId) {
        for (field, mut text) in &mut self.fields {
            if field.id == id && id.acts_when_left() {
                fill(&mut text, &field.described);
            }
        }
    }

    /// What it holds.
    pub fn held(&self, id: FieldId) -> &str {
        let described = self.fields.iter().find(|(field, _)| field.id == id);
        let described = described.map_or("", |(field, _)| field.described.as_str());
        self.drafts.0.get(&id).map_or(described, String::as_str)
    }

    fn edit(&mut self, id: FieldId, edits: impl IntoIterator<Item = TextEdit> + Clone) {
        for (field, mut text) in &mut self.fields {
            if field.id == id {
                edits.clone().into_iter().for_each(|edit| text.queue_edit(edit));
            }
        }
    }
}

/// The page says that a field holds something else; it is filled in, unless
/// somebody is at it.
pub(super) struct DescribeField {
    pub id: FieldId,
    pub text: String,
}

impl Command for DescribeField {
    type Out = ();

    fn apply(self, world: &mut World) {
        let focus = world.get_resource::<InputFocus>().and_then(InputFocus::get);
        let by_pad = world.resource::<ByPad>().0;
        let mut fields = world.query::<(Entity, &mut FieldOf, &mut EditableText)>();
        for (entity, mut field, mut text) in fields.iter_mut(world) {
            if field.id == self.id {
                field.described.clone_from(&self.text);
                if Some(entity) != focus && by_pad != Some(self.id) && text.value().to_string() != self.text {
                    fill(&mut text, &self.text);
                }
            }
        }
    }
}
