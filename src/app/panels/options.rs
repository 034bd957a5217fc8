//! The Options page: who one is, and what one likes.

use bevy::prelude::*;

use super::dock::Pages;
use crate::{
    app::{
        AppSystems,
        input::{Action, Headset, HeadsetState, Page, Passthrough, Switch},
        labels,
        link::Meeting,
        preferences::{Preferences, ReceiveOptions, Receiving},
        statistics::Statistics,
        ui::{self, Element, FieldId, Size, Tone},
    },
    session::Colour,
    settings::Settings,
};

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Update, update.in_set(AppSystems::Present));
}

fn update(
    meeting: Res<Meeting>,
    preferences: Res<Preferences>,
    options: Res<ReceiveOptions>,
    receiving: Res<Receiving>,
    statistics: Res<Statistics>,
    headset: Res<Headset>,
    mut pages: Pages,
) {
    if !pages.shows(Page::Options) {
        return;
    }
    let state = State {
        meeting: &meeting,
        settings: preferences.get(),
        receiving: *receiving,
        folder: options.folder.display().to_string(),
        debugging: statistics.shown,
        headset: &headset,
    };
    pages.show(Page::Options, page(&state));
}

struct State<'a> {
    meeting: &'a Meeting,
    settings: &'a Settings,
    receiving: Receiving,
    folder: String,
    debugging: bool,
    headset: &'a Headset,
}

/// Percent of the pixels that the headset asks for, and what that is called.
const EYE_SCALES: [(u8, &str); 4] = [(50, "50 %"), (70, "70 %"), (85, "85 %"), (100, "100 %")];

/// What is there only for those who have a headset.
fn headset(state: &State<'_>) -> Vec<Element> {
    let note = |text: String| ui::text(text, Size::Small, Tone::Dim);
    let (headset, settings) = (state.headset, state.settings);
    let now = match headset.state {
        HeadsetState::Unavailable => {
            return vec![note(
                "There is none. Connect it, start its software, then start this program with --vr."
                    .to_owned(),
            )];
        }
        _ if !headset.wanted => "It is not used now.",
        HeadsetState::Available | HeadsetState::Exiting => "Its software does not show this meeting yet.",
        HeadsetState::Lost => "Its software has ended. Start it again, and it goes on by itself.",
        HeadsetState::Visible | HeadsetState::Focused => "You look through it.",
        _ => "Put it on.",
    };
    let scales = EYE_SCALES.map(|(percent, label)| {
        let button = ui::button(format!("options/eye-scale/{percent}"), label, Action::EyeScale(percent));
        button.chosen_if(settings.eye_scale == percent).into()
    });
    let pixels = headset
        .eye_size
        .map_or_else(String::new, |size| format!(" Each eye now has {} \u{d7} {} pixels.", size.x, size.y));
    let room = match headset.offers {
        Passthrough::Off => "This headset does not show the real room.",
        Passthrough::AlphaBlend | Passthrough::Layer => {
            "Instead of the floor and the background. Heads of others are hidden then."
        }
    };
    let mut elements = if headset.standalone {
        Vec::new()
    } else {
        vec![ui::switch(Switch::Headset, "Use the headset", headset.wanted, true), note(now.to_owned())]
    };
    elements.extend([
        ui::switch(
            Switch::RealRoom,
            "Show the real room",
            settings.real_room && headset.offers != Passthrough::Off,
            headset.offers != Passthrough::Off,
        ),
        note(room.to_owned()),
        ui::switch(Switch::SmoothEdges, "Smooth edges", settings.smooth_edges, true),
        ui::text("Sharpness", Size::Body, Tone::Plain),
        ui::row(scales),
        note(format!("Fewer pixels make large models smoother.{pixels}")),
    ]);
    if headset.standalone {
        elements.push(ui::row([ui::button("options/quit", "Quit", Action::Quit).into()]));
    }
    elements
}

fn page(state: &State<'_>) -> Vec<Element> {
    let heading = |title: &str| ui::text(title, Size::Body, Tone::Plain);
    let note = |text: String| ui::text(text, Size::Small, Tone::Dim);
    let me = &state.meeting.me;
    let colours = Colour::PALETTE.map(|colour| {
        let id = format!("options/colour/{colour}");
        ui::swatch(id, labels::colour(colour), colour == me.colour, Action::Recolour(colour))
    });
    let settings = state.settings;
    let received = match state.receiving.0 {
        Some(port) => format!("Taken at port {port}, into {}.", state.folder),
        None => "Others can send files here, as ChimeraX does.".to_owned(),
    };
    let mut own = vec![
        heading("Your name"),
        ui::field(FieldId::Name, &*me.name, "what others call you"),
        heading("Your colour"),
        ui::row(colours),
        ui::line(),
        heading("Models"),
        ui::switch(Switch::KeepAligned, "Keep aligned", state.meeting.keep_aligned, true),
        note("All models move together, for everybody.".to_owned()),
        ui::row([ui::button("options/align", "Original alignment", Action::OriginalAlignment)
            .enabled_if(!state.meeting.models.is_empty())
            .into()]),
        note("Puts all models as their files have them.".to_owned()),
        ui::switch(Switch::ExactModels, "Exact models", settings.exact_models, true),
        note("Models that are opened from now on travel bit by bit as they are in their files.".to_owned()),
        ui::line(),
        heading("Files"),
        ui::switch(Switch::ReceiveFiles, "Receive files", state.receiving.0.is_some(), true),
        note(received),
        ui::line(),
        heading("Display"),
        ui::switch(Switch::FileLights, "Lights of model files", settings.file_lights, true),
        ui::switch(Switch::FrameTime, "Show frame time", settings.frame_time, true),
        ui::switch(Switch::Debugging, "Show what the network does (F3)", state.debugging, true),
    ];
    let mut headset = vec![heading("Headset")];
    headset.extend(self::headset(state));
    // There one has no keys, and looks for what belongs to the headset first.
    if state.headset.standalone {
        headset.push(ui::line());
        headset.extend(own);
        return headset;
    }
    own.push(ui::row([ui::button("options/keys", "Keys and mouse (F1)", Action::ToggleHelp).into()]));
    own.push(ui::line());
    own.extend(headset);
    own
}
