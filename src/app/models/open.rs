//! Files opened here: read, packed and decoded on a worker, then given to the
//! meeting; what was decoded is kept until the model appears in the meeting.

use std::{path::PathBuf, time::Duration};

use bevy::{platform::collections::HashMap, prelude::*};
use bytes::Bytes;

use super::decode::{Done, Jobs, Prepared, prepare};
use crate::{
    app::{
        AppState, AppSystems,
        input::OpenFile,
        link::{Arrived, Outgoing, receive},
        notices::Notify,
    },
    model::{self, Cancel, Limits},
    net::NetEvent,
    notice::Notice,
    session::{Command, ContentId, Event, new_model_id},
};

/// A model that the driver did not take is forgotten after this long.
const KEPT_FOR: Duration = Duration::from_secs(10);

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Prepareds>()
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

/// A file that can be shown.
pub(super) struct Opened {
    name: String,
    glb: Bytes,
    content: ContentId,
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
    pub fn open(&mut self, file: Opened, now: Duration, outgoing: &mut MessageWriter<Outgoing>) {
        let Opened { name, glb, content, prepared } = file;
        let mut random = [0; 6];
        if let Err(error) = getrandom::fill(&mut random) {
            // Without the system's randomness the content and the time have to tell models apart.
            warn!("no random numbers: {error}");
            for (to, from) in random.iter_mut().zip(content.iter().zip(now.as_nanos().to_le_bytes())) {
                *to = from.0 ^ from.1;
            }
        }
        let model_id = new_model_id(random);
        let measure = prepared.measure;
        self.0.insert(model_id.clone(), (prepared, now + KEPT_FOR));
        outgoing.write(Command::OpenModel { model_id, name, glb, content, measure, private: false }.into());
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
    let joined = arrived.read().any(|event| matches!(&event.0, NetEvent::Session(Event::Joined)));
    if start.paths.is_empty() || (start.after_joining && !joined && *state.get() != AppState::Meeting) {
        return;
    }
    files.write_batch(start.paths.drain(..).map(OpenFile));
}

/// What ChimeraX and others push opens by itself.
fn received_file(mut arrived: MessageReader<Arrived>, mut files: MessageWriter<OpenFile>) {
    files.write_batch(arrived.read().filter_map(|event| match &event.0 {
        NetEvent::FileReceived { path, .. } => Some(OpenFile(path.clone())),
        _ => None,
    }));
}

fn open(mut files: MessageReader<OpenFile>, jobs: Res<Jobs>, mut notices: MessageWriter<Notify>) {
    for OpenFile(path) in files.read() {
        let (path, limits, done) = (path.clone(), jobs.limits.clone(), jobs.done.clone());
        let shown = file_name(&path);
        let submitted = jobs.workers.submit(move || {
            let _ = done.send(match read(&path, &limits) {
                Ok(opened) => Done::Opened(Box::new(opened)),
                Err(why) => Done::OpenFailed(Notice::error(
                    format!("{} cannot be opened: {why}.", file_name(&path)),
                    "Other files open as before; `convene check FILE` tells more.",
                )),
            });
        });
        if submitted.is_err() {
            notices.write(Notify(Notice::warning(
                format!("{shown} is not opened: too many models are being opened."),
                "Wait until they are shown and try again.",
            )));
        }
    }
}

fn file_name(path: &std::path::Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Runs on a worker.
fn read(path: &std::path::Path, limits: &Limits) -> Result<Opened, String> {
    let packed = model::read_model_file(path, limits).map_err(|error| error.to_string())?;
    let glb = Bytes::from(packed.glb);
    let prepared = prepare(&glb, limits, &Cancel::default()).map_err(|error| error.to_string())?;
    let content = *blake3::hash(&glb).as_bytes();
    Ok(Opened { name: format!("{}.glb", packed.name), glb, content, prepared })
}
