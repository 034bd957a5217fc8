//! What the network does (F3): the numbers of the headless participant's
//! `stats`, frame times, threads, the end of the log.

use std::time::{Duration, Instant};

use bevy::prelude::*;

use super::Places;
use crate::{
    app::{
        AppSystems,
        link::Meeting,
        progress::bytes,
        statistics::Statistics,
        theme,
        ui::{self, Element, Size, Tone, Tree},
    },
    logbook,
    net::{Stats, Traffic},
    session::PeerView,
};

/// Connections that are shown; of the rest the number is told.
const PEERS: usize = 5;
/// Lines of the log that are shown.
const LOG_LINES: usize = 6;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Startup, spawn).add_systems(Update, update.in_set(AppSystems::Present));
}

#[derive(Component)]
struct DebuggingPanel;

fn spawn(mut commands: Commands, places: Res<Places>) {
    let node = Node {
        flex_direction: FlexDirection::Column,
        row_gap: px(6),
        max_width: percent(100),
        max_height: percent(100),
        overflow: Overflow::clip(),
        display: Display::None,
        ..default()
    };
    let panel = commands
        .spawn((
            DebuggingPanel,
            theme::panel(node),
            Tree::default(),
            Pickable::IGNORE,
            Name::new("debugging"),
        ))
        .id();
    commands.entity(places.debugging).add_child(panel);
}

fn update(
    statistics: Res<Statistics>,
    meeting: Res<Meeting>,
    mut panel: Single<(Entity, &mut Node, &mut Tree), With<DebuggingPanel>>,
    mut commands: Commands,
) {
    let (entity, node, tree) = &mut *panel;
    let display = if statistics.shown { Display::Flex } else { Display::None };
    if node.display != display {
        node.display = display;
    }
    if statistics.shown {
        ui::show(&mut commands, *entity, tree, page(&statistics, &meeting, Instant::now()));
    }
}

fn page(statistics: &Statistics, meeting: &Meeting, now: Instant) -> Vec<Element> {
    let small = |text: String| ui::text(text, Size::Small, Tone::Plain);
    let dim = |text: String| ui::text(text, Size::Small, Tone::Dim);
    let frames = statistics.frames;
    let mut page = vec![small(format!(
        "Frames: {:.1} ms median, {:.1} ms longest, {:.0} a second",
        milliseconds(frames.median),
        milliseconds(frames.longest),
        frames.rate
    ))];
    let [systems, making] = [statistics.systems, statistics.making]
        .map(|of| format!("{:.1} to {:.1} ms", milliseconds(of.median), milliseconds(of.longest)));
    page.push(small(format!("Of them our systems: {systems}; assets for the GPU: {making}")));
    let Some(stats) = &statistics.net else {
        page.push(dim("asking the network".to_owned()));
        return page;
    };
    if stats.peers.is_empty() {
        page.push(dim("No connections.".to_owned()));
    }
    for (peer, traffic) in stats.peers.iter().take(PEERS) {
        page.extend(peer_lines(stats, meeting, peer, traffic));
    }
    if stats.peers.len() > PEERS {
        page.push(dim(format!("and {} more connections", stats.peers.len() - PEERS)));
    }
    page.push(dim(format!("Threads: {}", stats.threads.join(", "))));
    if stats.lost_events > 0 {
        page.push(ui::text(format!("{} events were lost", stats.lost_events), Size::Small, Tone::Warning));
    }
    for line in logbook::last(LOG_LINES) {
        let tone = if line.level <= tracing::Level::WARN { Tone::Warning } else { Tone::Dim };
        let ago = now.saturating_duration_since(line.at).as_secs();
        page.push(ui::text(format!("{ago} s ago: {}", line.text), Size::Small, tone));
    }
    page
}

fn peer_lines(stats: &Stats, meeting: &Meeting, peer: &PeerView, traffic: &Traffic) -> Vec<Element> {
    let participant = meeting.participants.iter().find(|p| p.device_id == peer.device_id);
    let who = participant.map_or_else(|| format!("connection {}", peer.peer.0), |p| p.label.clone());
    let trip = peer.round_trip.map_or("no pings".to_owned(), |trip| format!("{:.1} ms", milliseconds(trip)));
    let age = stats.pose_ages.iter().find(|(id, _)| *id == peer.device_id).and_then(|(_, age)| *age);
    let late = stats.pose_latencies.iter().find(|(id, _)| *id == peer.device_id);
    let late = late.map_or(String::new(), |(_, late)| {
        let [median, p99, display] = [late.wire_median, late.wire_p99, late.display].map(milliseconds);
        format!(", {median:.0} to {p99:.0} ms late, shown {display:.0} ms later")
    });
    let age = age.map_or("no pose".to_owned(), |age| format!("pose {:.0} ms old", milliseconds(age)));
    vec![
        ui::text(format!("{who}  ({})", peer.client.as_str()), Size::Small, Tone::Accent),
        ui::text(
            format!(
                "round trip {trip}, {age}{late}, silent {:.0} ms\nwindow {}, step {}\nout {}/s, in {}/s, {} queued, {} poses dropped",
                milliseconds(peer.silent_for),
                bytes(traffic.window_bytes as f64),
                bytes(traffic.step_bytes as f64),
                bytes(traffic.send_rate),
                bytes(traffic.receive_rate),
                bytes(traffic.queued_bytes as f64),
                traffic.dropped_poses,
            ),
            Size::Small,
            Tone::Plain,
        ),
    ]
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
