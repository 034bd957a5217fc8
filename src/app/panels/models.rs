//! The Models page: what is open, how far it is here and at the others.

use bevy::prelude::*;

use super::dock::{Open, PageRoot};
use crate::{
    app::{
        AppSystems,
        actions::Selected,
        input::{Action, Page},
        labels,
        link::Meeting,
        models::{Model, ModelState, Opening, Shape},
        progress::{self, Arrival},
        ui::{self, Element, Size, Tone, Tree},
    },
    session::{Delivery, ModelView, Phase},
};

/// At whom a model is on its way, by name; of the rest the number is told.
const RECEIVERS: usize = 6;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Update, update.in_set(AppSystems::Present));
}

/// What is known of a model here.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Here {
    state: ModelState,
    triangles: Option<u64>,
}

fn update(
    open: Res<Open>,
    meeting: Res<Meeting>,
    selected: Res<Selected>,
    opening: Res<Opening>,
    models: Query<(&Model, &ModelState, Option<&Shape>)>,
    mut roots: Query<(Entity, &PageRoot, &mut Tree)>,
    mut commands: Commands,
) {
    if !open.shows(Page::Models) {
        return;
    }
    let Some((root, _, mut tree)) = roots.iter_mut().find(|(_, page, _)| page.0 == Page::Models) else {
        return;
    };
    let here = |id: &str| {
        let found = models.iter().find(|(model, ..)| model.id == id);
        found.map_or_else(Here::default, |(_, state, shape)| Here {
            state: *state,
            triangles: shape.map(|shape| shape.triangles),
        })
    };
    let opening: Vec<&str> = opening.iter().map(String::as_str).collect();
    ui::show(&mut commands, root, &mut tree, page(&meeting, selected.id(&meeting), &opening, here));
}

fn page(
    meeting: &Meeting,
    selected: Option<&str>,
    opening: &[&str],
    here: impl Fn(&str) -> Here,
) -> Vec<Element> {
    let mut page = Vec::new();
    if meeting.models.is_empty() && opening.is_empty() {
        page.push(ui::text("No model is open.", Size::Body, Tone::Plain));
        let hint = "Choose one under Files, or drop a .glb or .gltf file onto the window.";
        page.push(ui::text(hint, Size::Small, Tone::Dim));
        page.push(ui::row([
            ui::button("models/files", "Choose a file", Action::ShowPage(Page::Files)).into(),
            ui::button("models/keys", "Keys and mouse (F1)", Action::ToggleHelp).into(),
        ]));
    }
    for model in &meeting.models {
        page.push(model_card(meeting, model, selected == Some(model.id.as_str()), here(&model.id)));
    }
    for (number, name) in opening.iter().enumerate() {
        let parts = [
            ui::row([ui::name(*name, Size::Body, Tone::Plain)]),
            ui::text("reading and decoding", Size::Small, Tone::Dim),
        ];
        page.push(ui::card(format!("opening {number}"), false, parts));
    }
    if meeting.keep_aligned && !meeting.models.is_empty() {
        page.push(ui::text("Kept aligned: all models move together.", Size::Small, Tone::Accent));
    }
    page
}

fn model_card(meeting: &Meeting, model: &ModelView, selected: bool, here: Here) -> Element {
    let id = &model.id;
    let whole = model.glb.is_some();
    let in_meeting = matches!(meeting.phase, Phase::Hosting | Phase::Guest);
    let name = model.name.strip_suffix(".glb").unwrap_or(&model.name);
    let tone = if model.shown { Tone::Plain } else { Tone::Dim };
    let mut parts = vec![ui::row([ui::name(name, Size::Body, tone)])];
    parts.push(ui::text(facts(model, here), Size::Small, Tone::Dim));
    if in_meeting && !model.shared {
        parts.push(ui::text("Only you see it.", Size::Small, Tone::Accent));
    } else if let Some(opener) = model.opener.as_ref().filter(|opener| **opener != meeting.me.name) {
        parts.push(ui::text(format!("from {opener}"), Size::Small, Tone::Dim));
    }
    if let Some(error) = &model.failed {
        parts.push(ui::text(format!("Cannot be shown: {error}."), Size::Small, Tone::Error));
    } else if model.cancelled {
        parts.push(ui::text("Cancelled here; the others go on.", Size::Small, Tone::Warning));
    } else if here.state != ModelState::Ready {
        let arrival = Arrival::here(model.arriving, meeting.at, here.state);
        parts.push(ui::bar(arrival.share, Tone::Accent));
        parts.push(ui::text(arrival.text, Size::Small, Tone::Dim));
    }
    let mut buttons: Vec<Element> = Vec::new();
    if whole {
        let label = if model.shown { "Hide" } else { "Show" };
        let toggle = ui::button(format!("models/toggle/{id}"), label, Action::ToggleModel(id.clone()));
        buttons.push(toggle.enabled_if(model.failed.is_none()).into());
    }
    if in_meeting && !model.shared && whole {
        let share = ui::button(format!("models/share/{id}"), "Share", Action::Share(id.clone()));
        buttons.push(share.toned(Tone::Accent).into());
    }
    if model.arriving.is_some() {
        buttons.push(
            ui::button(format!("models/cancel/{id}"), "Cancel", Action::CancelModel(id.clone())).into(),
        );
    }
    let label = if in_meeting && model.shared { "Close for all" } else { "Close" };
    buttons.push(ui::button(format!("models/close/{id}"), label, Action::CloseModel(id.clone())).into());
    parts.push(ui::row(buttons));
    if in_meeting && model.shared && !meeting.participants.is_empty() {
        parts.extend(receivers(meeting, model));
    }
    ui::card(id.clone(), selected, parts)
}

/// What a model is, in one line.
fn facts(model: &ModelView, here: Here) -> String {
    let mut facts = Vec::new();
    if model.glb.is_some() && !model.shown {
        facts.push("hidden".to_owned());
    }
    if let Some(triangles) = here.triangles.filter(|&n| n > 0) {
        facts.push(format!("{} triangles", progress::grouped(triangles)));
    }
    facts.push(progress::bytes(model.bytes as f64));
    facts.join("  \u{b7}  ")
}

/// Who does not have a model yet.
fn receivers(meeting: &Meeting, model: &ModelView) -> Vec<Element> {
    let waiting: Vec<_> = model.deliveries.iter().collect();
    let whole = model.glb.is_some();
    if waiting.is_empty() {
        return if whole { vec![ui::text("Everybody has it.", Size::Small, Tone::Dim)] } else { Vec::new() };
    }
    let mut elements = Vec::new();
    for delivery in waiting.iter().take(RECEIVERS) {
        let took = meeting.at.saturating_sub(delivery.since);
        let arrival = Arrival::there(delivery.state, delivery.progress, took);
        let colour =
            meeting.participants.iter().find(|p| p.device_id == delivery.device_id).map(|p| p.colour);
        let tone = match delivery.state {
            Delivery::Failed => Tone::Error,
            Delivery::Cancelled => Tone::Warning,
            _ => Tone::Dim,
        };
        let mut who = vec![ui::name(&*delivery.label, Size::Small, Tone::Plain)];
        who.insert(0, ui::dot(colour.map_or(Tone::Dim.colour(), labels::colour)));
        let mut parts = vec![ui::row(who)];
        if matches!(delivery.state, Delivery::Waiting | Delivery::Receiving | Delivery::Loading) {
            parts.push(ui::bar(arrival.share, Tone::Accent));
        }
        parts.push(ui::text(arrival.text, Size::Small, tone));
        elements.push(ui::column(3.0, parts).keyed(&*delivery.device_id));
    }
    if waiting.len() > RECEIVERS {
        let more = format!("and {} more", waiting.len() - RECEIVERS);
        elements.push(ui::text(more, Size::Small, Tone::Dim));
    }
    elements
}
