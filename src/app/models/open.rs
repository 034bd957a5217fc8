//! Files opened here: read, packed and decoded on a worker, then given to the
//! meeting; what was decoded is kept until the model appears in the meeting.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use bevy::{platform::collections::HashMap, prelude::*};

use super::decode::{Answer, Done, Jobs, Prepared, prepare};
use crate::{
    app::{
        AppState, AppSystems,
        input::OpenFile,
        link::{Arrived, Outgoing, receive},
        notices::Notify,
        preferences::Preferences,
    },
    model::Cancel,
    net::NetEvent,
    notice::Notice,
    opening::{Opened, open_file},
    session::{Command, Event},
};

/// A model that the driver did not take is forgotten after this long.
const KEPT_FOR: Duration = Duration::from_secs(10);

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Prepareds>()
        .init_resource::<Opening>()
        .add_systems(Update, (at_start, received_file).in_set(AppSystems::Receive).after(receive))
        .add_systems(Update, (open, forget).in_set(AppSystems::Update));
}

/// Files named on the command line.
#[derive(Resource, Debug, Default)]
pub struct OpenAtStart {
    /// In this order.
    pub paths: Vec<PathBuf>,
    /// Only once we are in the meeting, so that it is opened there.
    pub after_joining: bool,
}

/// Names of the files that are being read and decoded, for people to see.
#[derive(Resource, Debug, Default, Deref)]
pub struct Opening(Vec<String>);

impl Opening {
    /// One of this name has been opened, or has failed to.
    pub(super) fn ended(&mut self, name: &str) {
        if let Some(at) = self.0.iter().position(|n| n == name) {
            self.0.remove(at);
        }
    }
}

/// A file that can be shown, and what the meeting is told of it.
pub(super) struct File {
    command: Command,
    model_id: String,
    prepared: Box<Prepared>,
}

/// Decoded models, by the ids under which they are going to appear.
#[derive(Resource, Default)]
pub(super) struct Prepareds(HashMap<String, (Box<Prepared>, Duration)>);

impl Prepareds {
    pub fn take(&mut self, model_id: &str) -> Option<Box<Prepared>> {
        self.0.remove(model_id).map(|(prepared, _)| prepared)
    }

    /// Gives a file to the meeting.
    pub fn open(&mut self, file: File, now: Duration, outgoing: &mut MessageWriter<Outgoing>) {
        self.0.insert(file.model_id, (file.prepared, now + KEPT_FOR));
        outgoing.write(file.command.into());
    }
}

fn forget(mut prepareds: ResMut<Prepareds>, time: Res<Time<Real>>) {
    if !prepareds.0.is_empty() {
        prepareds.0.retain(|_, (_, until)| *until > time.elapsed());
    }
}

fn at_start(
    mut start: ResMut<OpenAtStart>,
    state: Res<State<AppState>>,
    mut files: MessageWriter<OpenFile>,
    mut arrived: MessageReader<Arrived>,
) {
    // Whom no host takes still wants to see their models.
    let decided = arrived.read().any(|event| {
        matches!(&event.0, NetEvent::Session(Event::Joined | Event::Left { .. }) | NetEvent::JoinFailed(_))
    });
    if start.paths.is_empty() || (start.after_joining && !decided && *state.get() != AppState::Meeting) {
        return;
    }
    files.write_batch(start.paths.drain(..).map(OpenFile::from));
}

/// What ChimeraX and others send here opens by itself, but for this person
/// alone: who sends files here does not decide what a meeting sees.
fn received_file(
    mut arrived: MessageReader<Arrived>,
    mut files: MessageWriter<OpenFile>,
    mut notices: MessageWriter<Notify>,
    preferences: Res<Preferences>,
) {
    for event in arrived.read() {
        let NetEvent::FileReceived { path, .. } = &event.0 else { continue };
        let what_to_do = if preferences.get().open_new_files {
            files.write(OpenFile { path: path.clone(), private: true });
            "In a meeting only you see it until you share it."
        } else {
            "Open it on the Files page."
        };
        let what_happened = format!("{} was sent here.", file_name(path));
        notices.write(Notify(Notice::info(what_happened, what_to_do)));
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn open(
    mut files: MessageReader<OpenFile>,
    jobs: Res<Jobs>,
    mut opening: ResMut<Opening>,
    mut notices: MessageWriter<Notify>,
) {
    for OpenFile { path, private } in files.read() {
        let (private, path, limits, budget) = (*private, path.clone(), jobs.limits.clone(), jobs.budget);
        let name = file_name(&path);
        let submitted = {
            let name = name.clone();
            let lost = Notice::error(format!("{name} cannot be opened: it broke the decoder."), "");
            let mut answer = Answer::new(&jobs, Done::Opened { name: name.clone(), result: Err(lost) });
            jobs.workers.submit(move || {
                answer.begin();
                let cancel = Cancel::default();
                let result = match open_file(&path, &limits, &cancel) {
                    Ok(opened) => {
                        let opened = Opened { private, ..opened };
                        Ok(Box::new(File {
                            command: opened.command(),
                            model_id: opened.model_id,
                            prepared: prepare(opened.decoded, budget, &cancel),
                        }))
                    }
                    Err(error) => Err(Notice::from(&error)),
                };
                answer.send(Done::Opened { name, result });
            })
        };
        if submitted.is_err() {
            notices.write(Notify(Notice::warning(
                format!("{name} is not opened: too many models are being opened."),
                "Wait until they are shown and try again.",
            )));
        } else {
            opening.0.push(name);
        }
    }
}
