//! The Models page: what is open, how far it is here and at the others.

use bevy::prelude::*;

use super::{board::Board, dock::Pages};
use crate::{
    app::{
        AppSystems,
        actions::Selected,
        input::{Action, Page},
        labels,
        link::Meeting,
        models::{Detail, Model, ModelState, Motions, Opening, Shape},
        progress::{self, Arrival, Speeds},
        ui::{self, Element, Size, Tone},
    },
    model::simplify::Simplified,
    notice::grouped,
    session::{Client, Delivery, ModelView, Phase},
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
    /// Drawn instead of those of the file.
    simplified: Option<Simplified>,
    /// All triangles are shown although they are over the budget.
    full: bool,
    /// It can move; whether it does.
    plays: Option<bool>,
}

fn update(
    meeting: Res<Meeting>,
    selected: Res<Selected>,
    opening: Res<Opening>,
    speeds: Res<Speeds>,
    board: Res<Board>,
    models: Query<(&Model, &ModelState, &Detail, Option<&Shape>, Option<&Motions>)>,
    mut pages: Pages,
) {
    if !pages.shows(Page::Models) {
        return;
    }
    let here = |id: &str| {
        let found = models.iter().find(|(model, ..)| model.id == id);
        found.map_or_else(Here::default, |(_, state, detail, shape, motions)| Here {
            state: *state,
            triangles: shape.map(|shape| shape.triangles),
            simplified: shape.and_then(|shape| shape.simplified),
            full: detail.full,
            plays: motions.map(Motions::is_playing),
        })
    };
    let opening: Vec<&str> = opening.iter().map(String::as_str).collect();
    let mut page = page(&meeting, selected.id(&meeting), &opening, &speeds, here);
    if meeting.models.is_empty() && opening.is_empty() {
        page.extend(how_to_open(board.in_room));
    }
    pages.show(Page::Models, page);
}

/// Who wears a headset has neither a window to drop files onto nor keys.
fn how_to_open(in_room: bool) -> [Element; 2] {
    let hint = match in_room {
        true => "Choose one under Files.",
        false => "Choose one under Files, or drop a .glb or .gltf file onto the window.",
    };
    let files = ui::button("models/files", "Choose a file", Action::ShowPage(Page::Files));
    let keys = ui::button("models/keys", "Keys and mouse (F1)", Action::ToggleHelp);
    let buttons = std::iter::once(files).chain((!in_room).then_some(keys));
    [ui::text(hint, Size::Small, Tone::Dim), ui::row(buttons.map(Into::into))]
}

fn page(
    meeting: &Meeting,
    selected: Option<&str>,
    opening: &[&str],
    speeds: &Speeds,
    here: impl Fn(&str) -> Here,
) -> Vec<Element> {
    let mut page = Vec::new();
    if meeting.models.is_empty() && opening.is_empty() {
        page.push(ui::text("No model is open.", Size::Body, Tone::Plain));
    }
    for model in &meeting.models {
        page.push(model_card(meeting, model, speeds, selected == Some(model.id.as_str()), here(&model.id)));
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

fn model_card(meeting: &Meeting, model: &ModelView, speeds: &Speeds, selected: bool, here: Here) -> Element {
    let id = &model.id;
    let whole = model.glb.is_some();
    let in_meeting = matches!(meeting.phase, Phase::Hosting | Phase::Guest);
    let name = model.name.strip_suffix(".glb").unwrap_or(&model.name);
    let tone = if model.shown { Tone::Plain } else { Tone::Dim };
    let mut parts = vec![ui::row([ui::name(name, Size::Body, tone)])];
    parts.push(ui::text(facts(model, here), Size::Small, Tone::Dim));
    if let Some(Simplified { from, to }) = here.simplified {
        let text = format!("simplified to {} of {} triangles", millions(to), millions(from));
        parts.push(ui::text(text, Size::Small, Tone::Dim));
    }
    if in_meeting && !model.shared {
        parts.push(ui::text("Only you see it.", Size::Small, Tone::Accent));
    } else if let Some(opener) = model.opener.as_ref().filter(|opener| **opener != meeting.me.name) {
        parts.push(ui::text(format!("from {opener}"), Size::Small, Tone::Dim));
    }
    if let Some(error) = &model.failed {
        parts.push(ui::text(format!("Cannot be shown: {error}."), Size::Small, Tone::Error));
    } else if model.cancelled {
        parts.push(ui::text("Cancelled here; the others get it.", Size::Small, Tone::Warning));
    } else if here.state != ModelState::Ready {
        let arrival = Arrival::here(model.arriving, speeds.of(id, None), here.state);
        parts.push(ui::bar(arrival.share, Tone::Accent));
        parts.push(ui::text(arrival.text, Size::Small, Tone::Dim));
    }
    let mut buttons: Vec<Element> = Vec::new();
    if whole {
        let label = if model.shown { "Hide" } else { "Show" };
        let toggle = ui::button(format!("models/toggle/{id}"), label, Action::ToggleModel(id.clone()));
        buttons.push(toggle.enabled_if(model.failed.is_none()).into());
    }
    if here.simplified.is_some() || here.full {
        let label = if here.full { "Simplify" } else { "Show all triangles" };
        let detail = ui::button(format!("models/detail/{id}"), label, Action::ToggleDetail(id.clone()));
        buttons.push(detail.enabled_if(here.state == ModelState::Ready).into());
    }
    if let Some(plays) = here.plays {
        let label = if plays { "Stop moving" } else { "Play" };
        let play = ui::button(format!("models/play/{id}"), label, Action::ToggleAnimation(id.clone()));
        buttons.push(play.enabled_if(here.state == ModelState::Ready).into());
    }
    if in_meeting && !model.shared && whole {
        let share = ui::button(format!("models/share/{id}"), "Share", Action::Share(id.clone()));
        buttons.push(share.toned(Tone::Accent).into());
    }
    if model.cancelled {
        let get = ui::button(format!("models/get/{id}"), "Get it after all", Action::WantModel(id.clone()));
        buttons.push(get.into());
    }
    if model.arriving.is_some() {
        // Everything goes through the host.
        let cancel = if meeting.phase == Phase::Hosting { "Cancel for all" } else { "Cancel" };
        buttons
            .push(ui::button(format!("models/cancel/{id}"), cancel, Action::CancelModel(id.clone())).into());
    }
    let label = if in_meeting && model.shared { "Close for all" } else { "Close" };
    buttons.push(ui::button(format!("models/close/{id}"), label, Action::CloseModel(id.clone())).into());
    parts.push(ui::row(buttons));
    if in_meeting && model.shared && !meeting.participants.is_empty() {
        parts.extend(receivers(meeting, model, speeds));
    }
    ui::card(id.clone(), selected, parts)
}

/// With one digit after the point where there are millions.
fn millions(count: u64) -> String {
    if count >= 1_000_000 { format!("{:.1} M", count as f64 / 1e6) } else { grouped(count) }
}

/// What a model is, in one line.
fn facts(model: &ModelView, here: Here) -> String {
    let mut facts = Vec::new();
    if model.glb.is_some() && !model.shown {
        facts.push("hidden".to_owned());
    }
    if let Some(triangles) = here.triangles.filter(|&n| n > 0) {
        facts.push(format!("{} triangles", grouped(triangles)));
    }
    facts.push(progress::bytes(model.bytes as f64));
    facts.extend(fidelity(model));
    facts.join("  \u{b7}  ")
}

/// How near a model is to the opener's file, once that is known: of one that comes in
/// parts, as soon as the first is there.
fn fidelity(model: &ModelView) -> Option<String> {
    let coming = model.in_parts.as_ref().and_then(|holding| holding.parts());
    let coming = coming.and_then(|parts| parts.parts().map(|part| part.max_error).reduce(f32::max));
    let error = match (&model.glb, coming) {
        (Some(_), _) if model.exact => return Some("exact".to_owned()),
        (Some(_), _) => model.max_error,
        (None, error) => error?,
    };
    Some(format!("visually lossless (at most {} off)", units(error)))
}

/// A length in a model's own units, with two digits that count.
fn units(length: f32) -> String {
    if length <= 0.0 || !length.is_finite() {
        return length.to_string();
    }
    let exponent = length.log10().floor() as i32;
    match usize::try_from(1 - exponent) {
        Ok(digits) if digits <= 6 => format!("{length:.digits$}"),
        Ok(_) => format!("{length:.1e}"),
        Err(_) => format!("{length:.0}"),
    }
}

/// Who does not have a model yet.
fn receivers(meeting: &Meeting, model: &ModelView, speeds: &Speeds) -> Vec<Element> {
    let waiting: Vec<_> = model.deliveries.iter().collect();
    let whole = model.glb.is_some();
    if waiting.is_empty() {
        if !whole {
            return Vec::new();
        }
        // LookSee takes models and says nothing of them.
        let silent = meeting.participants.iter().any(|p| p.client == Client::LookSee);
        let text =
            if silent { "All have it, as far as they tell; LookSee does not." } else { "Everybody has it." };
        return vec![ui::text(text, Size::Small, Tone::Dim)];
    }
    let mut elements = Vec::new();
    for delivery in waiting.iter().take(RECEIVERS) {
        let arrival = Arrival::there(
            delivery.state,
            delivery.progress,
            speeds.of(&model.id, Some(&delivery.device_id)),
        );
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        session::{Config, DeliveryView, Identity, Session, SessionView},
        wire::Progress,
    };

    fn view() -> SessionView {
        let identity =
            Identity { id: "a".repeat(16), name: "Ada".into(), colour: crate::session::Colour([9; 3]) };
        Session::new(Config::new(identity)).view(Duration::ZERO)
    }

    fn model(id: &str, arriving: Option<Progress>) -> ModelView {
        ModelView {
            id: id.into(),
            name: format!("{id}.glb"),
            pose: crate::session::Pose::new(Vec3::ZERO, Quat::IDENTITY),
            local_scale: 1.0,
            world_scale: 1.0,
            shown: true,
            shared: true,
            glb: arriving.is_none().then(bytes::Bytes::new),
            exact: true,
            max_error: 0.0,
            in_parts: None,
            content: None,
            bytes: 2_000_000,
            arriving: arriving.map(|progress| (progress, Duration::ZERO)),
            cancelled: false,
            deliveries: Vec::new(),
            measure: None,
            failed: None,
            opener: Some("Bob".into()),
        }
    }

    fn lines(view: SessionView, state: ModelState) -> Vec<String> {
        let here = |_: &str| Here { state, triangles: Some(1234), ..Here::default() };
        let page = page(&Meeting::from(view), None, &[], &Speeds::default(), here);
        page.iter().flat_map(Element::lines).collect()
    }

    #[test]
    fn an_empty_page_says_what_to_do() {
        assert_eq!(lines(view(), ModelState::Ready), ["No model is open."]);
        let lines = |in_room| how_to_open(in_room).iter().flat_map(Element::lines).collect::<Vec<_>>();
        let (at_a_desk, in_room) = (lines(false), lines(true));
        assert!(at_a_desk[0].contains("drop a .glb or .gltf file"), "{at_a_desk:?}");
        assert!(at_a_desk.iter().any(|line| line.contains("F1")), "{at_a_desk:?}");
        assert_eq!(in_room, ["Choose one under Files.", "[Choose a file]"]);
    }

    #[test]
    fn on_its_way_cancelled_and_failed() {
        let mut on = SessionView { phase: Phase::Guest, ..view() };
        on.models = vec![model("m", Some(Progress { received: 500_000, total: 2_000_000 }))];
        let seen = lines(on.clone(), ModelState::Arriving);
        assert_eq!(seen[2..], ["from Bob", "25 %", "25 %   0.5 of 2.0 MB", "[Cancel]", "[Close for all]"]);
        on.phase = Phase::Hosting;
        assert!(lines(on.clone(), ModelState::Arriving).contains(&"[Cancel for all]".to_owned()));
        (on.models[0].arriving, on.models[0].cancelled) = (None, true);
        assert!(lines(on.clone(), ModelState::Arriving).contains(&"[Get it after all]".to_owned()));
        on.models = vec![ModelView { failed: Some("no meshes".into()), ..model("m", None) }];
        assert!(lines(on, ModelState::Failed).contains(&"Cannot be shown: no meshes.".to_owned()));
    }

    #[test]
    fn how_near_it_is_to_the_file_is_said() {
        let facts = |model: ModelView| {
            let on = SessionView { models: vec![model], ..view() };
            lines(on, ModelState::Ready).into_iter().find(|line| line.contains("triangles")).unwrap()
        };
        assert!(facts(model("m", None)).ends_with("\u{b7}  exact"));
        let near = ModelView { exact: false, max_error: 0.00284, ..model("m", None) };
        let line = facts(near);
        assert!(line.ends_with("\u{b7}  visually lossless (at most 0.0028 off)"), "{line}");
        // What nothing is known of is not called anything.
        let coming = model("m", Some(Progress { received: 1, total: 2_000_000 }));
        assert!(!facts(ModelView { exact: false, ..coming }).contains("lossless"));
        assert_eq!([3.0e-8, 0.25, 1.0, 12.3, 4567.0].map(units), ["3.0e-8", "0.25", "1.0", "12", "4567"]);
    }

    #[test]
    fn what_was_simplified_and_what_moves_has_a_button() {
        let on = SessionView { models: vec![model("m", None)], ..view() };
        let seen = |here: Here| {
            let page = page(&Meeting::from(on.clone()), None, &[], &Speeds::default(), move |_: &str| here);
            page.iter().flat_map(Element::lines).collect::<Vec<_>>()
        };
        let ready = Here { state: ModelState::Ready, ..Here::default() };
        let simplified = Some(Simplified { from: 3_200_000, to: 999_999 });
        let lines = seen(Here { simplified, ..ready });
        assert!(lines.contains(&"simplified to 999,999 of 3.2 M triangles".to_owned()), "{lines:?}");
        assert!(lines.contains(&"[Show all triangles]".to_owned()));
        assert!(seen(Here { full: true, ..ready }).contains(&"[Simplify]".to_owned()));
        assert!(seen(Here { plays: Some(false), ..ready }).contains(&"[Play]".to_owned()));
        assert!(!seen(ready).iter().any(|line| line.contains("Play") || line.contains("implif")));
    }

    #[test]
    fn who_does_not_have_it_is_named() {
        let mut on = SessionView { phase: Phase::Hosting, ..view() };
        on.models = vec![model("m", None)];
        let mut session = Session::new(Config::new(on.me.clone()));
        session.host(Duration::ZERO);
        on.participants = vec![crate::session::ParticipantView {
            device_id: "cccccccc".into(),
            label: "Cid".into(),
            colour: crate::session::Colour([1; 3]),
            client: Client::Convene,
            presence: crate::session::Presence::Live,
            body: None,
            playout: crate::transfer::Playout::default(),
            poses: 0,
            pose_age: None,
        }];
        assert_eq!(lines(on.clone(), ModelState::Ready).last().unwrap(), "Everybody has it.");
        let status = |state| DeliveryView {
            device_id: "cccccccc".into(),
            label: "Cid".into(),
            state,
            progress: Progress { received: 1, total: 4 },
            since: Duration::ZERO,
        };
        for (state, says) in [
            (Delivery::Waiting, "waiting"),
            (Delivery::Receiving, "25 %   0.0 of 0.0 MB"),
            (Delivery::Loading, "loading"),
            (Delivery::Failed, "cannot show it"),
            (Delivery::Cancelled, "did not want it"),
        ] {
            on.models[0].deliveries = vec![status(state)];
            assert_eq!(lines(on.clone(), ModelState::Ready).last().unwrap(), says);
        }
        on.models[0].deliveries.clear();
        on.participants[0].client = Client::LookSee;
        assert!(lines(on, ModelState::Ready).last().unwrap().contains("LookSee does not"));
    }
}
