//! Hosting, joining, leaving.

use std::net::IpAddr;

use bevy::prelude::*;

use super::{
    AppSystems,
    input::Action,
    link::{Arrived, Meeting, Outgoing},
    preferences::Preferences,
    ui::{Drafts, FieldId},
};
use crate::{
    net::{NetCommand, NetError, NetEvent},
    session::{Command, Event, Phase},
};

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Update, follow.in_set(AppSystems::Receive).after(super::link::receive))
        .add_systems(Update, act.in_set(AppSystems::Update));
}

/// How meetings are hosted, as the command line says.
#[derive(Resource, Debug, Clone, Copy)]
pub struct HostOptions {
    /// On this address only.
    pub bind: Option<IpAddr>,
    /// TCP port.
    pub port: u16,
}

/// The meeting that is being joined, or that we are a guest of.
#[derive(Resource, Debug, Default, Clone, PartialEq, Eq)]
pub struct Joining {
    /// The address, as typed.
    pub address: Option<String>,
    /// Whether there is no answer yet.
    pub waiting: bool,
    /// The port at which meetings are hosted is another program's.
    pub port_taken: bool,
}

fn act(
    mut actions: MessageReader<Action>,
    options: Res<HostOptions>,
    meeting: Res<Meeting>,
    mut joining: ResMut<Joining>,
    mut outgoing: MessageWriter<Outgoing>,
) {
    for action in actions.read() {
        match action {
            Action::Host => {
                *joining = Joining::default();
                outgoing.write(Outgoing(NetCommand::Host { bind: options.bind, port: options.port }));
            }
            Action::HostAtAnyPort => {
                *joining = Joining::default();
                outgoing.write(Outgoing(NetCommand::Host { bind: options.bind, port: 0 }));
            }
            Action::Join(address) if !address.trim().is_empty() => {
                let address = address.trim().to_owned();
                *joining = Joining { address: Some(address.clone()), waiting: true, port_taken: false };
                outgoing.write(Outgoing(NetCommand::Join { address }));
            }
            Action::Leave if meeting.phase != Phase::Alone || joining.waiting => {
                *joining = Joining::default();
                outgoing.write(Command::Leave.into());
            }
            _ => {}
        }
    }
}

/// An address that led to a meeting is remembered; one that did not may have
/// been mistyped.
fn follow(
    mut arrived: MessageReader<Arrived>,
    mut joining: ResMut<Joining>,
    mut preferences: ResMut<Preferences>,
    mut drafts: Option<ResMut<Drafts>>,
) {
    for event in arrived.read() {
        match &event.0 {
            NetEvent::Session(Event::Joined) => {
                joining.waiting = false;
                // What led nowhere stays in the field, to be mended.
                if let Some(drafts) = &mut drafts {
                    drafts.clear(FieldId::Address);
                }
                if let Some(address) = &joining.address {
                    preferences.change(|settings| settings.remember_address(address));
                }
            }
            NetEvent::HostFailed(NetError::PortInUse { .. }) => joining.port_taken = true,
            NetEvent::Session(Event::Left { .. }) | NetEvent::JoinFailed(_) => {
                joining.set_if_neq(Joining::default());
            }
            _ => {}
        }
    }
}
