//! The folder that the Files page shows: received files first, and from there
//! wherever people keep models.
//!
//! Workers read folders and delete files; what they find comes back through a
//! bounded channel.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use bevy::prelude::*;
use crossbeam_channel::{Receiver, Sender, bounded};

use super::{
    AppSystems,
    input::{Action, OpenFile, Page},
    link::Arrived,
    models::Jobs,
    notices::Notify,
    panels::Open,
    preferences::ReceiveOptions,
};
use crate::{
    files::{Listing, delete_model},
    net::NetEvent,
    notice::Notice,
};

/// How often a folder that is looked at is read again.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// Pressing Delete a second time counts within this time.
const SURE_WITHIN: Duration = Duration::from_secs(4);

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Startup, begin)
        .add_systems(Update, take.in_set(AppSystems::Receive).after(super::link::receive))
        .add_systems(Update, (act, look).chain().in_set(AppSystems::Update));
}

/// What is looked at.
#[derive(Resource, Debug)]
pub struct Browser {
    /// Where it is.
    pub folder: PathBuf,
    /// What is in it; none before it was read.
    pub listing: Option<Result<Listing, String>>,
    /// Where received files go.
    pub received: PathBuf,
    /// The file about which it was asked whether it is to be deleted.
    pub asked: Option<PathBuf>,
    asked_at: Duration,
    next_look: Duration,
    looking: bool,
    found: Receiver<Found>,
    finding: Sender<Found>,
}

enum Found {
    Listing(PathBuf, Result<Listing, String>),
    Deleted(Result<(), Notice>),
}

impl Browser {
    /// Whether received files are looked at; only those can be deleted here.
    pub fn is_received(&self) -> bool {
        self.folder == self.received
    }

    fn go(&mut self, folder: &Path) {
        if self.folder != folder {
            folder.clone_into(&mut self.folder);
            self.listing = None;
        }
        self.next_look = Duration::ZERO;
    }
}

fn begin(mut commands: Commands, options: Res<ReceiveOptions>) {
    let (finding, found) = bounded(8);
    commands.insert_resource(Browser {
        folder: options.folder.clone(),
        listing: None,
        received: options.folder.clone(),
        asked: None,
        asked_at: Duration::ZERO,
        next_look: Duration::ZERO,
        looking: false,
        found,
        finding,
    });
}

fn take(
    mut browser: ResMut<Browser>,
    mut arrived: MessageReader<Arrived>,
    mut notices: MessageWriter<Notify>,
) {
    let found: Vec<Found> = browser.found.try_iter().collect();
    for found in found {
        browser.looking = false;
        match found {
            Found::Listing(folder, listing) => {
                if folder == browser.folder && browser.listing.as_ref() != Some(&listing) {
                    browser.listing = Some(listing);
                }
            }
            Found::Deleted(result) => {
                browser.next_look = Duration::ZERO;
                if let Err(notice) = result {
                    notices.write(Notify(notice));
                }
            }
        }
    }
    if arrived.read().any(|event| matches!(event.0, NetEvent::FileReceived { .. })) {
        browser.next_look = Duration::ZERO;
    }
}

fn act(
    mut actions: MessageReader<Action>,
    mut browser: ResMut<Browser>,
    jobs: Res<Jobs>,
    time: Res<Time<Real>>,
    mut files: MessageWriter<OpenFile>,
) {
    for action in actions.read() {
        match action {
            Action::Browse(folder) => browser.go(folder),
            Action::OpenFile(path) => {
                files.write(path.clone().into());
            }
            Action::DeleteFile(path) if browser.asked.as_ref() == Some(path) => {
                browser.asked = None;
                let (path, finding) = (path.clone(), browser.finding.clone());
                let deleting = jobs.submit(move || {
                    let result = delete_model(&path).map_err(|error| {
                        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                        Notice::warning(format!("{name} cannot be deleted: {error}."), "")
                    });
                    // Nobody asks any more after the end.
                    let _ = finding.send(Found::Deleted(result));
                });
                browser.looking |= deleting;
            }
            Action::DeleteFile(path) => {
                browser.asked = Some(path.clone());
                browser.asked_at = time.elapsed();
            }
            _ => {}
        }
    }
    if browser.asked.is_some() && time.elapsed() > browser.asked_at + SURE_WITHIN {
        browser.asked = None;
    }
}

/// Reads the folder now and then, while somebody looks at it.
fn look(mut browser: ResMut<Browser>, open: Option<Res<Open>>, jobs: Res<Jobs>, time: Res<Time<Real>>) {
    let seen = open.is_some_and(|open| open.shows(Page::Files));
    if !seen || browser.looking || time.elapsed() < browser.next_look {
        return;
    }
    let (folder, finding) = (browser.folder.clone(), browser.finding.clone());
    let is_received = browser.is_received();
    let begun = Instant::now();
    browser.looking = jobs.submit(move || {
        let listing = match Listing::read(&folder) {
            // It is made when the first file comes.
            Err(error) if is_received && error.kind() == std::io::ErrorKind::NotFound => {
                Ok(Listing { folder: folder.clone(), ..Listing::default() })
            }
            result => result.map_err(|error| error.to_string()),
        };
        debug!("a folder was read in {:?}", begun.elapsed());
        let _ = finding.send(Found::Listing(folder, listing));
    });
    browser.next_look = time.elapsed() + LOOK_AGAIN;
}
