//! The system's clipboard, and Bevy's, which fields use.
//!
//! Asking the system may take as long as the program that holds the text wants:
//! a thread `clipboard` does it. What others copied is fetched when the window
//! gets the focus, for only then can something new be there.

use bevy::{clipboard::Clipboard, prelude::*, window::WindowFocused};
use crossbeam_channel::{Receiver, Sender, bounded};

use crate::{
    app::{AppSystems, input::Action},
    threads,
};

pub(super) fn plugin(app: &mut App) {
    match System::start() {
        Ok(system) => {
            app.insert_resource(system)
                .add_systems(PreUpdate, fetch)
                .add_systems(Update, copy.in_set(AppSystems::Update))
                .add_systems(Last, give);
        }
        Err(error) => warn!("copying to other programs is not possible: {error}"),
    }
}

enum Request {
    Fetch,
    Put(String),
}

/// The thread's other end.
#[derive(Resource)]
struct System {
    requests: Sender<Request>,
    fetched: Receiver<String>,
    /// What both clipboards hold, as far as is known.
    known: String,
}

impl System {
    fn start() -> std::io::Result<Self> {
        let (requests, asked) = bounded::<Request>(8);
        let (found, fetched) = bounded(1);
        // Not joined: it may wait for another program for seconds.
        threads::spawn("clipboard", move || serve(&asked, &found))?;
        Ok(Self { requests, fetched, known: String::new() })
    }
}

#[cfg(any(windows, target_os = "macos", target_os = "linux"))]
fn serve(asked: &Receiver<Request>, found: &Sender<String>) {
    let mut clipboard = match arboard::Clipboard::new() {
        Ok(clipboard) => clipboard,
        Err(error) => return tracing::info!("there is no system clipboard: {error}"),
    };
    for request in asked {
        match request {
            // An empty one, or a picture.
            Request::Fetch => clipboard.get_text().into_iter().for_each(|text| drop(found.try_send(text))),
            Request::Put(text) => {
                if let Err(error) = clipboard.set_text(text) {
                    tracing::info!("the system clipboard takes nothing: {error}");
                }
            }
        }
    }
}

#[cfg(not(any(windows, target_os = "macos", target_os = "linux")))]
fn serve(_: &Receiver<Request>, _: &Sender<String>) {}

fn fetch(
    mut focused: MessageReader<WindowFocused>,
    mut system: ResMut<System>,
    mut clipboard: ResMut<Clipboard>,
) {
    if focused.read().any(|change| change.focused) {
        // Full: it is being asked already.
        let _ = system.requests.try_send(Request::Fetch);
    }
    if let Ok(text) = system.fetched.try_recv()
        && text != system.known
    {
        // A clipboard within the program takes anything.
        let _ = clipboard.bypass_change_detection().set_text(text.clone());
        system.known = text;
    }
}

fn copy(mut actions: MessageReader<Action>, mut clipboard: ResMut<Clipboard>) {
    for action in actions.read() {
        if let Action::Copy(text) = action {
            let _ = clipboard.set_text(text.clone());
        }
    }
}

/// What was copied here goes to the others.
fn give(mut clipboard: ResMut<Clipboard>, mut system: ResMut<System>) {
    if !clipboard.is_changed() {
        return;
    }
    let text = clipboard.bypass_change_detection().fetch_text().poll_result();
    if let Some(Ok(text)) = text
        && text != system.known
        && !text.is_empty()
        && system.requests.try_send(Request::Put(text.clone())).is_ok()
    {
        // What was being fetched is older.
        system.fetched.try_iter().for_each(drop);
        system.known = text;
    }
}
