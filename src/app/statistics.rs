//! How long frames take, and what the network does: asked for only while
//! somebody looks.

use std::{collections::VecDeque, time::Duration};

use bevy::prelude::*;

use super::{
    AppSystems,
    costs::Costs,
    input::{Action, Switch},
    link::{Arrived, Outgoing},
};
use crate::net::{NetCommand, NetEvent, Stats};

/// Frames over which times are told.
const FRAMES: usize = 120;
/// How often the driver is asked.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// Numbers that change faster cannot be read.
const TELL_EVERY: Duration = Duration::from_millis(500);

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Statistics>()
        .add_systems(First, count_frame)
        .add_systems(Update, take.in_set(AppSystems::Receive).after(super::link::receive))
        .add_systems(Update, (switch, ask).chain().in_set(AppSystems::Update));
}

/// The numbers.
#[derive(Resource, Debug, Default)]
pub struct Statistics {
    /// Whether they are shown.
    pub shown: bool,
    /// What the network does, as last heard.
    pub net: Option<Stats>,
    /// How long frames take.
    pub frames: Frames,
    /// Of them what our own systems take.
    pub systems: Frames,
    /// And the making of meshes and images for the GPU.
    pub making: Frames,
    recent: VecDeque<[Duration; 3]>,
    next_ask: Duration,
    next_telling: Duration,
}

/// Times of the last frames.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Frames {
    /// Of half of them at most this.
    pub median: Duration,
    /// The longest.
    pub longest: Duration,
    /// A second.
    pub rate: f32,
}

fn count_frame(mut statistics: ResMut<Statistics>, time: Res<Time<Real>>, costs: Res<Costs>) {
    if time.delta().is_zero() {
        return;
    }
    let statistics = statistics.bypass_change_detection();
    if statistics.recent.len() >= FRAMES {
        statistics.recent.pop_front();
    }
    statistics.recent.push_back([time.delta(), costs.systems, costs.making()]);
    if time.elapsed() >= statistics.next_telling {
        statistics.next_telling = time.elapsed() + TELL_EVERY;
        let all = [0, 1, 2].map(|at| Frames::of(statistics.recent.iter().map(|frame| frame[at])));
        [statistics.frames, statistics.systems, statistics.making] = all;
    }
}

impl Frames {
    fn of(recent: impl Iterator<Item = Duration>) -> Self {
        let mut times: Vec<Duration> = recent.collect();
        times.sort_unstable();
        let sum: Duration = times.iter().sum();
        Self {
            median: times.get(times.len() / 2).copied().unwrap_or_default(),
            longest: times.last().copied().unwrap_or_default(),
            rate: times.len() as f32 / sum.as_secs_f32().max(1e-6),
        }
    }
}

fn switch(mut actions: MessageReader<Action>, mut statistics: ResMut<Statistics>) {
    for action in actions.read() {
        match action {
            Action::Toggle(Switch::Debugging) => statistics.shown = !statistics.shown,
            Action::Set(Switch::Debugging, on) => statistics.shown = *on,
            _ => {}
        }
    }
}

fn ask(mut statistics: ResMut<Statistics>, time: Res<Time<Real>>, mut outgoing: MessageWriter<Outgoing>) {
    if statistics.shown && time.elapsed() >= statistics.next_ask {
        statistics.bypass_change_detection().next_ask = time.elapsed() + ASK_EVERY;
        outgoing.write(Outgoing(NetCommand::Stats { seq: 0 }));
    }
}

fn take(mut arrived: MessageReader<Arrived>, mut statistics: ResMut<Statistics>) {
    for event in arrived.read() {
        if let NetEvent::Stats { stats, .. } = &event.0 {
            statistics.net = Some(stats.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_long_frame_is_the_longest_and_not_the_median() {
        let recent = [10, 10, 90, 10, 10].map(Duration::from_millis);
        let frames = Frames::of(recent.into_iter());
        assert_eq!((frames.median, frames.longest), (Duration::from_millis(10), Duration::from_millis(90)));
        assert!((frames.rate - 5.0 / 0.13).abs() < 0.1);
        assert_eq!(Frames::of(std::iter::empty()).median, Duration::ZERO);
    }
}
