//! What keys and buttons do to models.

use bevy::prelude::*;

use super::{
    AppSystems,
    input::{Action, Hold},
    link::{Meeting, Outgoing},
};
use crate::session::Command;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Selected>()
        .add_systems(Update, (select_what_is_held, act).chain().in_set(AppSystems::Update));
}

/// The model that actions are about.
#[derive(Resource, Debug, Default, PartialEq)]
pub struct Selected(Option<String>);

impl Selected {
    /// The chosen model, or the first shown one, or the first.
    pub fn id<'a>(&self, meeting: &'a Meeting) -> Option<&'a str> {
        let chosen = self.0.as_deref().and_then(|id| meeting.model(id));
        chosen
            .or_else(|| meeting.models.iter().find(|m| m.shown))
            .or_else(|| meeting.models.first())
            .map(|m| m.id.as_str())
    }
}

fn select_what_is_held(mut holds: MessageReader<Hold>, mut selected: ResMut<Selected>) {
    for hold in holds.read() {
        if let Hold::Take { model_id } = hold {
            selected.0 = Some(model_id.clone());
        }
    }
}

fn act(
    mut actions: MessageReader<Action>,
    meeting: Res<Meeting>,
    mut selected: ResMut<Selected>,
    mut outgoing: MessageWriter<Outgoing>,
) {
    for action in actions.read() {
        match action {
            Action::Select(id) => selected.0 = Some(id.clone()),
            Action::NextModel => step(1, &meeting, &mut selected, &mut outgoing),
            Action::PreviousModel => step(-1, &meeting, &mut selected, &mut outgoing),
            Action::ToggleSelected => {
                if let Some(id) = selected.id(&meeting) {
                    toggle(id, &meeting, &mut outgoing);
                }
            }
            Action::ToggleModel(id) => {
                selected.0 = Some(id.clone());
                toggle(id, &meeting, &mut outgoing);
            }
            Action::CloseSelected => {
                if let Some(id) = selected.id(&meeting) {
                    outgoing.write(Command::CloseModel { model_id: id.to_owned() }.into());
                }
            }
            Action::CloseModel(model_id) => {
                outgoing.write(Command::CloseModel { model_id: model_id.clone() }.into());
            }
            Action::CancelModel(model_id) => {
                outgoing.write(Command::CancelModel { model_id: model_id.clone() }.into());
            }
            Action::WantModel(model_id) => {
                outgoing.write(Command::WantModel { model_id: model_id.clone() }.into());
            }
            Action::Share(id) => {
                outgoing.write(Command::ShareModel { model_id: id.clone() }.into());
            }
            Action::OriginalAlignment => {
                outgoing.write(Command::OriginalAlignment.into());
            }
            // What is not about models.
            _ => {}
        }
    }
}

fn toggle(id: &str, meeting: &Meeting, outgoing: &mut MessageWriter<Outgoing>) {
    if let Some(model) = meeting.model(id).filter(|m| m.glb.is_some()) {
        outgoing.write(Command::ShowModel { model_id: id.to_owned(), shown: !model.shown }.into());
    }
}

/// Shows the next model alone, as LookSee's thumbstick does. If several are
/// shown, the selected one is kept first.
fn step(by: isize, meeting: &Meeting, selected: &mut Selected, outgoing: &mut MessageWriter<Outgoing>) {
    // One that is on its way can be neither shown nor hidden.
    let whole: Vec<_> = meeting.models.iter().filter(|m| m.glb.is_some()).collect();
    let shown = whole.iter().filter(|m| m.shown).count();
    let now = selected.id(meeting).and_then(|id| whole.iter().position(|m| m.id == id));
    let next = match now {
        Some(now) if shown > 1 => now,
        Some(now) => (now.cast_signed() + by).rem_euclid(whole.len().cast_signed()).cast_unsigned(),
        None => 0,
    };
    let Some(chosen) = whole.get(next) else { return };
    selected.0 = Some(chosen.id.clone());
    for model in &whole {
        let shown = model.id == chosen.id;
        if model.shown != shown {
            outgoing.write(Command::ShowModel { model_id: model.id.clone(), shown }.into());
        }
    }
}
