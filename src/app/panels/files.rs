//! The Files page: received files, and any other folder.

use std::{path::PathBuf, time::SystemTime};

use bevy::prelude::*;

use super::dock::Pages;
use crate::{
    app::{
        AppSystems,
        browser::Browser,
        input::{Action, Page, Switch},
        preferences::{Preferences, Receiving},
        progress,
        ui::{self, Element, Size, Tone},
    },
    files::Listing,
};

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Update, update.in_set(AppSystems::Present));
}

fn update(
    browser: Res<Browser>,
    preferences: Res<Preferences>,
    receiving: Res<Receiving>,
    mut pages: Pages,
    mut folder: Local<PathBuf>,
) {
    if !pages.shows(Page::Files) {
        return;
    }
    if *folder != browser.folder {
        folder.clone_from(&browser.folder);
        pages.scroll_to_top(Page::Files);
    }
    let state = State {
        browser: &browser,
        opens_new: preferences.get().open_new_files,
        port: receiving.0,
        now: SystemTime::now(),
    };
    pages.show(Page::Files, page(&state));
}

struct State<'a> {
    browser: &'a Browser,
    opens_new: bool,
    port: Option<u16>,
    now: SystemTime,
}

fn page(state: &State<'_>) -> Vec<Element> {
    let browser = state.browser;
    let mut page = vec![places(browser)];
    if browser.is_received() {
        page.push(ui::switch(Switch::OpenNewFiles, "Open new files by themselves", state.opens_new, true));
    }
    page.push(ui::text(browser.folder.display().to_string(), Size::Small, Tone::Dim));
    match &browser.listing {
        None => page.push(ui::text("looking", Size::Small, Tone::Dim)),
        Some(Err(error)) => {
            page.push(ui::text(format!("This folder cannot be read: {error}."), Size::Small, Tone::Error));
        }
        Some(Ok(listing)) => list(state, listing, &mut page),
    }
    page
}

/// Where one can go.
fn places(browser: &Browser) -> Element {
    let received = ui::button("files/received", "Received", Action::Browse(browser.received.clone()))
        .chosen_if(browser.is_received());
    let mut places = vec![received.into()];
    if let Some(home) = &browser.home {
        let chosen = browser.folder == *home;
        places.push(ui::button("files/home", "Home", Action::Browse(home.clone())).chosen_if(chosen).into());
    }
    if let Some(parent) = browser.folder.parent() {
        places.push(ui::button("files/up", "Up", Action::Browse(parent.to_owned())).into());
    }
    ui::row(places)
}

fn list(state: &State<'_>, listing: &Listing, page: &mut Vec<Element>) {
    if listing.folders.is_empty() && listing.files.is_empty() {
        page.extend(nothing_here(state));
    }
    for name in &listing.folders {
        let open = ui::button(
            format!("files/folder/{name}"),
            format!("{name} /"),
            Action::Browse(listing.folder.join(name)),
        );
        page.push(open.wide().into());
    }
    for file in &listing.files {
        let path = listing.folder.join(&file.name);
        let age = state.now.duration_since(file.modified).unwrap_or_default();
        let facts = format!("{}  \u{b7}  {}", progress::bytes(file.bytes as f64), progress::ago(age));
        let mut buttons: Vec<Element> = vec![
            ui::button(format!("files/open/{}", file.name), "Open", Action::OpenFile(path.clone())).into(),
        ];
        if state.browser.is_received() {
            let sure = state.browser.asked.as_ref() == Some(&path);
            let (label, tone) = if sure { ("Really delete", Tone::Error) } else { ("Delete", Tone::Plain) };
            let delete = ui::button(format!("files/delete/{}", file.name), label, Action::DeleteFile(path));
            buttons.push(delete.toned(tone).into());
        }
        let parts = [
            ui::row([ui::name(&*file.name, Size::Body, Tone::Plain)]),
            ui::text(facts, Size::Small, Tone::Dim),
            ui::row(buttons),
        ];
        page.push(ui::card(&*file.name, false, parts));
    }
    if listing.more {
        page.push(ui::text("There are more than are listed here.", Size::Small, Tone::Warning));
    }
}

fn nothing_here(state: &State<'_>) -> Vec<Element> {
    if !state.browser.is_received() {
        return vec![ui::text("No models (.glb, .gltf) are here.", Size::Body, Tone::Plain)];
    }
    let what_to_do = match state.port {
        Some(port) => format!(
            "Send a model here: from ChimeraX with \"Send to Quest\", or with `convene send ADDRESS:{port} FILE`."
        ),
        None => "To have models sent here, switch on Receive files under Options.".to_owned(),
    };
    vec![
        ui::text("Nothing was received yet.", Size::Body, Tone::Plain),
        ui::text(what_to_do, Size::Small, Tone::Dim),
    ]
}
