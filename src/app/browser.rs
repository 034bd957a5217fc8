//! The folder that the Files page shows: received files first, and from there
//! wherever people keep models.
//!
//! A thread `folders` reads them and deletes files: a folder on a server that is
//! gone can hold whoever looks into it for minutes. What it finds comes back
//! through a bounded channel.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use bevy::prelude::*;
use crossbeam_channel::{Receiver, Sender, bounded};

use super::{
    AppSystems,
    input::{Action, OpenFile, Page},
    link::Arrived,
    notices::Notify,
    panels::Open,
    preferences::ReceiveOptions,
};
use crate::{
    files::{Listing, delete_model},
    net::NetEvent,
    notice::Notice,
    threads,
};

/// How often a folder that is looked at is read again.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// Pressing Delete a second time counts within this time...
const SURE_WITHIN: Duration = Duration::from_secs(4);
/// ...but not before this, lest a double click delete.
const SURE_AFTER: Duration = Duration::from_millis(600);

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
    /// The person's own folder.
    pub home: Option<PathBuf>,
    /// Where received files go.
    pub received: PathBuf,
    /// The file about which it was asked whether it is to be deleted.
    pub asked: Option<PathBuf>,
    asked_at: Duration,
    next_look: Duration,
    /// The thread has not answered yet.
    looking: bool,
    requests: Sender<Request>,
    found: Receiver<Found>,
}

enum Request {
    /// Read this folder; one that is not there yet may be an empty one.
    List {
        folder: PathBuf,
        may_be_missing: bool,
    },
    Delete(PathBuf),
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
            self.looking = false;
        }
        self.next_look = Duration::ZERO;
    }
}

fn begin(mut commands: Commands, options: Res<ReceiveOptions>) {
    let (requests, asked) = bounded(8);
    let (finding, found) = bounded(8);
    // Not joined: it may hang in a folder.
    if let Err(error) = threads::spawn("folders", move || serve(&asked, &finding)) {
        warn!("folders cannot be read: {error}");
    }
    commands.insert_resource(Browser {
        folder: options.folder.clone(),
        listing: None,
        home: dirs::home_dir(),
        received: options.folder.clone(),
        asked: None,
        asked_at: Duration::ZERO,
        next_look: Duration::ZERO,
        looking: false,
        requests,
        found,
    });
}

fn serve(asked: &Receiver<Request>, finding: &Sender<Found>) {
    for request in asked {
        let found = match request {
            Request::List { folder, may_be_missing } => {
                let listing = match Listing::read(&folder) {
                    // It is made when the first file comes.
                    Err(error) if may_be_missing && error.kind() == std::io::ErrorKind::NotFound => {
                        Ok(Listing { folder: folder.clone(), ..Listing::default() })
                    }
                    result => result.map_err(|error| error.to_string()),
                };
                Found::Listing(folder, listing)
            }
            Request::Delete(path) => Found::Deleted(delete_model(&path).map_err(|error| {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                Notice::warning(format!("{name} cannot be deleted: {error}."), "")
            })),
        };
        if finding.send(found).is_err() {
            return;
        }
    }
}

fn take(
    mut browser: ResMut<Browser>,
    mut arrived: MessageReader<Arrived>,
    mut notices: MessageWriter<Notify>,
) {
    let found: Vec<Found> = browser.found.try_iter().collect();
    for found in found {
        match found {
            Found::Listing(folder, listing) if folder == browser.folder => {
                browser.looking = false;
                if browser.listing.as_ref() != Some(&listing) {
                    browser.listing = Some(listing);
                }
            }
            // Somebody has gone on meanwhile.
            Found::Listing(..) => {}
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
    time: Res<Time<Real>>,
    mut files: MessageWriter<OpenFile>,
    mut notices: MessageWriter<Notify>,
) {
    let now = time.elapsed();
    for action in actions.read() {
        match action {
            Action::Browse(folder) => browser.go(folder),
            Action::OpenFile(path) => {
                files.write(path.clone().into());
            }
            Action::DeleteFile(path) if browser.asked.as_ref() == Some(path) => {
                if now < browser.asked_at + SURE_AFTER {
                    continue;
                }
                browser.asked = None;
                if browser.requests.try_send(Request::Delete(path.clone())).is_err() {
                    notices.write(Notify(Notice::warning(
                        "The file was not deleted: the folders do not answer.",
                        "Wait a moment and try again.",
                    )));
                }
            }
            Action::DeleteFile(path) => {
                browser.asked = Some(path.clone());
                browser.asked_at = now;
            }
            _ => {}
        }
    }
    if browser.asked.is_some() && now > browser.asked_at + SURE_WITHIN {
        browser.asked = None;
    }
}

/// Reads the folder now and then, while somebody looks at it.
fn look(mut browser: ResMut<Browser>, open: Option<Res<Open>>, time: Res<Time<Real>>) {
    let seen = open.is_some_and(|open| open.shows(Page::Files));
    if !seen || browser.looking || time.elapsed() < browser.next_look {
        return;
    }
    let request = Request::List { folder: browser.folder.clone(), may_be_missing: browser.is_received() };
    let asked = browser.requests.try_send(request).is_ok();
    let browser = browser.bypass_change_detection();
    browser.looking = asked;
    browser.next_look = time.elapsed() + LOOK_AGAIN;
}
