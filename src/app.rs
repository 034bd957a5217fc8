//! The app: what a person sees of a meeting and does in it.
//!
//! For: one plugin per concern over Bevy; the whole runs on Bevy's threads. Not
//! for: the rules of a meeting ([`crate::session`], on the driver's thread), or
//! windows, mice and headsets ([`crate::platform`], which fills [`input`]).
//!
//! What the driver publishes is state: [`link`] takes the newest
//! [`SessionView`](crate::session::SessionView) once a frame, and every plugin
//! compares it with what it shows. A frame goes through [`AppSystems`] in order.
//!
//! [`core()`] works without a window or a GPU, so that tests run two of it in one
//! process; [`presentation`] adds what is drawn.

mod actions;
pub mod alignment;
mod arriving;
pub mod attendance;
mod avatars;
pub mod bare_hands;
pub mod browser;
pub mod costs;
pub mod grab;
pub mod input;
mod labels;
pub mod link;
pub mod models;
pub mod notices;
mod panels;
pub mod participants;
mod pointers;
mod pointing;
pub mod preferences;
mod progress;
mod rays;
pub mod report;
mod room;
mod smooth;
mod snapshots;
pub mod statistics;
mod surface;
pub mod theme;
pub mod tour;
pub mod ui;
pub mod viewer;
pub mod wands;

use std::path::PathBuf;

use bevy::{asset::AssetPlugin, prelude::*, state::app::StatesPlugin};

pub use panels::{Dock, Keys, Open};
pub use pointing::{Hit, Targets};
pub use snapshots::Snapshots;
pub use viewer::EYE_HEIGHT;

use attendance::{HostOptions, Joining};
use preferences::{Preferences, ReceiveOptions};

use crate::{
    model::Limits,
    net::Net,
    notice::Notice,
    session,
    settings::{self, Keeper, Settings, SettingsFile},
    wire::{FILE_PORT, MEETING_PORT},
    workers::Workers,
};

/// The steps of a frame, in this order, all in [`Update`]. When adding one, put
/// it in its place in [`core()`].
#[derive(SystemSet, Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AppSystems {
    /// What came from the driver and from workers becomes entities and messages.
    Receive,
    /// What the person does becomes [`input`]'s messages and resources.
    Input,
    /// Those change models, selection and panels' state.
    Update,
    /// State becomes what is drawn.
    Present,
    /// Commands and this participant's body go to the driver.
    Send,
}

/// Whether there is a meeting.
#[derive(States, Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AppState {
    /// No meeting.
    #[default]
    Alone,
    /// A host is being reached.
    Joining,
    /// We host one or are a guest.
    Meeting,
}

/// What the app needs to start.
pub struct AppOptions {
    /// The running network.
    pub net: Net,
    /// For decoding and reading.
    pub workers: Workers,
    /// What a model may cost.
    pub limits: Limits,
    /// Triangles drawn of a model; one with more is simplified. None: all.
    pub triangle_budget: Option<u64>,
    /// Kept and changed by the person; none: nothing is written.
    pub settings: Option<SettingsFile>,
    /// How a meeting is hosted from the Meeting page.
    pub host: HostOptions,
    /// How pushed files are taken.
    pub receive: ReceiveOptions,
    /// Files to open at once, or after joining if `joining`.
    pub open: Vec<PathBuf>,
    /// The address at which we are going to be a guest, as typed.
    pub joining: Option<String>,
    /// Logical pixels of the window; the system's choice if none.
    pub size: Option<(u32, u32)>,
    /// The window's thread need not be the process's first (not on every system).
    pub any_thread: bool,
    /// Where the head starts; chosen by [`viewer`] if none.
    pub head: Option<session::Pose>,
    /// Pictures of the window that are taken by themselves.
    pub snapshots: Snapshots,
    /// Pictures of the demonstration, after which the program ends.
    pub tour: Option<tour::Tour>,
    /// To be shown at the start.
    pub notice: Option<Notice>,
    /// Look through a headset, and how.
    pub headset: Option<HeadsetOptions>,
    /// Where to tell what the app does.
    pub report: Option<report::Report>,
}

/// How a headset is used.
#[derive(Resource, Debug, Default, Clone)]
pub struct HeadsetOptions {
    /// Pixels of each eye; what the headset recommends if none.
    pub eye_size: Option<(u32, u32)>,
    /// Pictures of the left eye: when, after its first frame, and where to.
    pub eye_shots: Vec<(std::time::Duration, PathBuf)>,
    /// There is no window beside it.
    pub standalone: bool,
}

impl AppOptions {
    /// Nothing is open, nothing is joined, nothing is kept.
    pub fn new(net: Net, workers: Workers) -> Self {
        let folder = settings::default_files_folder();
        Self {
            net,
            workers,
            limits: Limits::default(),
            triangle_budget: None,
            settings: None,
            host: HostOptions { bind: None, port: MEETING_PORT },
            receive: ReceiveOptions { bind: None, port: FILE_PORT, folder, asked: false },
            open: Vec::new(),
            joining: None,
            size: None,
            any_thread: false,
            head: None,
            snapshots: Snapshots::default(),
            tour: None,
            notice: None,
            headset: None,
            report: None,
        }
    }
}

/// The app's logic: everything but what is drawn. Needs [`headless_plugins`] or
/// Bevy's default plugins before it.
pub fn core(app: &mut App, options: AppOptions) {
    let AppOptions { net, workers, limits, settings, host, receive, open, joining, .. } = options;
    let mut notices: Vec<Notice> = options.notice.into_iter().collect();
    let preferences = match settings {
        None => Preferences::new(Settings::default(), None),
        Some(mut file) => {
            notices.extend(file.notice.take());
            if !file.is_ours() {
                notices.push(Notice::info(
                    "Another window uses these settings.",
                    "What is changed in this one holds until it is closed.",
                ));
            }
            let settings = file.settings.clone();
            let keeper = Keeper::start(file);
            if let Err(error) = &keeper {
                notices.push(Notice::warning(format!("Settings are not kept: {error}."), ""));
            }
            Preferences::new(settings, keeper.ok())
        }
    };
    app.insert_resource(link::Link::new(net))
        .insert_resource(models::Jobs::new(workers, limits, options.triangle_budget))
        .insert_resource(models::OpenAtStart { paths: open, after_joining: joining.is_some() })
        .insert_resource(viewer::StartingHead(options.head))
        .insert_resource(options.snapshots)
        .insert_resource(preferences)
        .insert_resource(host)
        .insert_resource(receive)
        .insert_resource(Joining { waiting: joining.is_some(), address: joining, port_taken: false })
        .init_state::<AppState>()
        .configure_sets(
            Update,
            (
                AppSystems::Receive,
                AppSystems::Input,
                AppSystems::Update,
                AppSystems::Present,
                AppSystems::Send,
            )
                .chain(),
        )
        .add_plugins((
            link::plugin,
            input::plugin,
            viewer::plugin,
            models::plugin,
            participants::plugin,
            grab::plugin,
            wands::plugin,
            alignment::plugin,
            actions::plugin,
            attendance::plugin,
            preferences::plugin,
            browser::plugin,
            statistics::plugin,
            progress::plugin,
            notices::plugin,
        ))
        .add_plugins((report::plugin, costs::plugin));
    if let Some(report) = options.report {
        app.insert_resource(report);
    }
    if let Some(tour) = options.tour {
        app.insert_resource(tour);
    }
    for notice in notices {
        app.world_mut().write_message(notices::Notify(notice));
    }
}

/// What is drawn: the room, people, boxes of models on their way, panels.
pub fn presentation(app: &mut App) {
    app.add_plugins((
        theme::plugin,
        ui::plugin,
        room::plugin,
        avatars::plugin,
        pointers::plugin,
        rays::plugin,
        bare_hands::plugin,
        alignment::pins,
        labels::plugin,
        arriving::plugin,
        panels::plugin,
        snapshots::plugin,
        tour::plugin,
    ));
}

/// The parts of Bevy that [`core()`] needs, without window and GPU.
pub fn headless_plugins(app: &mut App) {
    app.add_plugins((MinimalPlugins, AssetPlugin::default(), StatesPlugin, TransformPlugin))
        .init_asset::<Mesh>()
        .init_asset::<Image>()
        .init_asset::<StandardMaterial>();
}
