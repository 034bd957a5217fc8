//! What the person prefers: name, colour, switches. Kept in the settings file.
//!
//! For: changing them and telling the driver. A thread writes the file
//! ([`Keeper`]); nothing here waits for a disk.

use std::{net::IpAddr, path::PathBuf};

use bevy::prelude::*;

use super::{
    AppSystems,
    input::{Action, Switch},
    link::{Arrived, Meeting, Outgoing},
    notices::Notify,
};
use crate::{
    net::{NetCommand, NetEvent},
    session::{Command, Identity, visible_name},
    settings::{Keeper, Settings},
};

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Receiving>()
        .add_systems(Startup, receive_at_start)
        .add_systems(Update, follow_receiving.in_set(AppSystems::Receive).after(super::link::receive))
        .add_systems(Update, (act, tell_failures).in_set(AppSystems::Update));
}

/// The settings, as they are now.
#[derive(Resource, Debug)]
pub struct Preferences {
    settings: Settings,
    /// None where nothing is kept (tests).
    keeper: Option<Keeper>,
}

impl Preferences {
    pub(super) fn new(settings: Settings, keeper: Option<Keeper>) -> Self {
        Self { settings, keeper }
    }

    /// What they are.
    pub fn get(&self) -> &Settings {
        &self.settings
    }

    /// Changes them and has them written.
    pub fn change(&mut self, change: impl FnOnce(&mut Settings)) {
        let before = self.settings.clone();
        change(&mut self.settings);
        if self.settings != before
            && let Some(keeper) = &self.keeper
        {
            keeper.save(&self.settings);
        }
    }
}

/// Where pushed files are taken, as the command line says.
#[derive(Resource, Debug, Clone)]
pub struct ReceiveOptions {
    /// On this address only.
    pub bind: Option<IpAddr>,
    /// TCP port.
    pub port: u16,
    /// Where they are kept.
    pub folder: PathBuf,
    /// Whether this was asked for, whatever the settings say.
    pub asked: bool,
}

/// The port at which pushed files are taken now.
#[derive(Resource, Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Receiving(pub Option<u16>);

fn receive_at_start(
    options: Res<ReceiveOptions>,
    preferences: Res<Preferences>,
    mut outgoing: MessageWriter<Outgoing>,
) {
    if options.asked || preferences.settings.receive_files {
        outgoing.write(receive(&options));
    }
}

fn receive(options: &ReceiveOptions) -> Outgoing {
    let ReceiveOptions { bind, port, folder, .. } = options.clone();
    Outgoing(NetCommand::ReceiveFiles { bind, port, folder })
}

fn follow_receiving(mut arrived: MessageReader<Arrived>, mut receiving: ResMut<Receiving>) {
    for event in arrived.read() {
        match &event.0 {
            NetEvent::ReceivingFiles { port } => receiving.0 = Some(*port),
            NetEvent::ReceiveFailed(_) => receiving.0 = None,
            _ => {}
        }
    }
}

fn act(
    mut actions: MessageReader<Action>,
    meeting: Res<Meeting>,
    options: Res<ReceiveOptions>,
    mut receiving: ResMut<Receiving>,
    mut preferences: ResMut<Preferences>,
    mut outgoing: MessageWriter<Outgoing>,
    mut newest: Local<Option<Identity>>,
) {
    for action in actions.read() {
        // The meeting's view may be some frames old.
        let me = newest.clone().unwrap_or_else(|| meeting.me.clone());
        match action {
            Action::Rename(name) => {
                let name = visible_name(name);
                // A name that was emptied is not what somebody wants to be called.
                if !name.is_empty() && name != me.name {
                    preferences.change(|settings| settings.name.clone_from(&name));
                    outgoing.write(rename(newest.insert(Identity { name, ..me })));
                }
            }
            Action::Recolour(colour) => {
                preferences.change(|settings| settings.colour = colour.to_string());
                outgoing.write(rename(newest.insert(Identity { colour: *colour, ..me })));
            }
            Action::Toggle(switch) => {
                let on = match switch {
                    Switch::KeepAligned => meeting.keep_aligned,
                    Switch::ReceiveFiles => receiving.0.is_some(),
                    Switch::OpenNewFiles => preferences.settings.open_new_files,
                    Switch::ExactModels => preferences.settings.exact_models,
                    Switch::FrameTime => preferences.settings.frame_time,
                    Switch::RealRoom => preferences.settings.real_room,
                    Switch::SmoothEdges => preferences.settings.smooth_edges,
                    Switch::FileLights => preferences.settings.file_lights,
                    Switch::Debugging | Switch::Headset => continue,
                };
                set(*switch, !on, &options, &mut receiving, &mut preferences, &mut outgoing);
            }
            Action::Set(switch, on) => {
                set(*switch, *on, &options, &mut receiving, &mut preferences, &mut outgoing);
            }
            Action::EyeScale(percent) => {
                preferences.change(|settings| settings.eye_scale = *percent);
            }
            Action::ForgetAddress(address) => preferences.change(|settings| settings.forget_address(address)),
            _ => {}
        }
    }
}

fn rename(identity: &Identity) -> Outgoing {
    Command::Rename { identity: identity.clone() }.into()
}

fn set(
    switch: Switch,
    on: bool,
    options: &ReceiveOptions,
    receiving: &mut Receiving,
    preferences: &mut Preferences,
    outgoing: &mut MessageWriter<Outgoing>,
) {
    match switch {
        Switch::KeepAligned => {
            outgoing.write(Command::KeepAligned { on }.into());
        }
        Switch::ReceiveFiles => {
            preferences.change(|settings| settings.receive_files = on);
            if on {
                outgoing.write(receive(options));
            } else {
                receiving.0 = None;
                outgoing.write(Outgoing(NetCommand::StopReceivingFiles));
            }
        }
        Switch::OpenNewFiles => preferences.change(|settings| settings.open_new_files = on),
        Switch::ExactModels => {
            preferences.change(|settings| settings.exact_models = on);
            outgoing.write(Command::Exact { on }.into());
        }
        Switch::FrameTime => preferences.change(|settings| settings.frame_time = on),
        Switch::RealRoom => preferences.change(|settings| settings.real_room = on),
        Switch::SmoothEdges => preferences.change(|settings| settings.smooth_edges = on),
        Switch::FileLights => preferences.change(|settings| settings.file_lights = on),
        // The platform's, and the statistics'.
        Switch::Debugging | Switch::Headset => {}
    }
}

fn tell_failures(preferences: Res<Preferences>, mut notices: MessageWriter<Notify>) {
    if let Some(notice) = preferences.keeper.as_ref().and_then(Keeper::failure) {
        notices.write(Notify(notice));
    }
}
