//! How controls look at rest, under the pointer, pressed, in focus and disabled.

use bevy::{
    input_focus::{InputFocus, InputFocusVisible},
    picking::hover::Hovered,
    prelude::*,
    ui::{Checked, InteractionDisabled, Pressed, UiSystems},
};

use super::{ByPad, Pointed, controls::FieldOf};
use crate::app::theme::colour;

pub(super) fn plugin(app: &mut App) {
    // When all pages have said what they show: what is new has its looks from its first frame on.
    app.add_systems(PostUpdate, (controls, tracks).before(UiSystems::Prepare));
}

/// What kind of control, with what else changes with it.
#[derive(Component, Debug, Clone, Copy, PartialEq)]
pub(super) enum Look {
    Button { text: Entity, tone: Color, chosen: bool },
    Switch { text: Entity },
    Swatch { chosen: bool },
    Field,
}

/// The track of this switch.
#[derive(Component, Debug, Clone, Copy)]
pub(super) struct TrackOf(pub Entity);

fn controls(
    focus: Res<InputFocus>,
    visible: Res<InputFocusVisible>,
    pad: Res<ByPad>,
    mut controls: Query<(
        Entity,
        &Look,
        (&Hovered, Has<Pointed>, Option<&FieldOf>),
        Has<Pressed>,
        Has<InteractionDisabled>,
        Option<&mut BackgroundColor>,
        Option<&mut BorderColor>,
        Option<&mut Outline>,
    )>,
    mut texts: Query<&mut TextColor>,
    mut commands: Commands,
) {
    for (entity, look, (hovered, pointed, field), pressed, disabled, background, border, outline) in
        &mut controls
    {
        let hovered = hovered.get() || pointed;
        let focused = focus.get() == Some(entity) || field.is_some_and(|field| pad.0 == Some(field.id));
        if let Some(mut outline) = outline {
            let ring = if focused && visible.0 { colour::FOCUS } else { Color::NONE };
            if outline.color != ring {
                outline.color = ring;
            }
        }
        let rest = match look {
            Look::Button { chosen: true, .. } => colour::CHOSEN,
            Look::Button { .. } | Look::Field => colour::BUTTON,
            Look::Switch { .. } => Color::NONE,
            Look::Swatch { chosen } => {
                let edge = match (chosen, hovered) {
                    (true, _) => colour::TEXT,
                    (false, true) => colour::DIM,
                    (false, false) => Color::NONE,
                };
                set_border(&mut commands, entity, border, edge);
                continue;
            }
        };
        let fill = match (disabled, pressed, hovered) {
            (true, ..) => colour::DISABLED,
            (_, true, _) => colour::PRESSED,
            (_, _, true) if rest == colour::CHOSEN => colour::CHOSEN_HOVER,
            (_, _, true) => colour::HOVER,
            _ => rest,
        };
        match background {
            Some(mut background) => {
                background.set_if_neq(BackgroundColor(fill));
            }
            None => {
                commands.entity(entity).insert(BackgroundColor(fill));
            }
        }
        if *look == Look::Field {
            set_border(&mut commands, entity, border, if focused { colour::FOCUS } else { colour::TRACK });
        }
        let (text, tone) = match *look {
            Look::Button { text, tone, .. } => (text, tone),
            Look::Switch { text } => (text, colour::TEXT),
            Look::Swatch { .. } | Look::Field => continue,
        };
        if let Ok(mut colour) = texts.get_mut(text) {
            colour.set_if_neq(TextColor(if disabled { colour::OFF } else { tone }));
        }
    }
}

fn set_border(commands: &mut Commands, entity: Entity, border: Option<Mut<BorderColor>>, to: Color) {
    match border {
        Some(mut border) => {
            border.set_if_neq(BorderColor::all(to));
        }
        None => {
            commands.entity(entity).insert(BorderColor::all(to));
        }
    }
}

fn tracks(
    switches: Query<(Has<Checked>, Has<InteractionDisabled>)>,
    mut tracks: Query<(&TrackOf, &mut Node, Option<&mut BackgroundColor>, Entity)>,
    mut commands: Commands,
) {
    for (TrackOf(switch), mut node, background, entity) in &mut tracks {
        let Ok((on, disabled)) = switches.get(*switch) else { continue };
        let side = if on { JustifyContent::FlexEnd } else { JustifyContent::FlexStart };
        if node.justify_content != side {
            node.justify_content = side;
        }
        let fill = match (on, disabled) {
            (_, true) => colour::DISABLED,
            (true, _) => colour::SWITCH_ON,
            (false, _) => colour::TRACK,
        };
        match background {
            Some(mut background) => {
                background.set_if_neq(BackgroundColor(fill));
            }
            None => {
                commands.entity(entity).insert(BackgroundColor(fill));
            }
        }
    }
}
