//! Who is still there: pings, silence, seats.

use std::time::Duration;

use super::{Client, Event, LeaveReason, PeerId, Presence, Role, Session, Transmit};
use crate::wire::Message;

/// How often a Convene peer is pinged.
pub const PING_INTERVAL: Duration = Duration::from_millis(500);
/// A Convene peer that is silent for this long is stale.
pub const STALE_AFTER: Duration = Duration::from_secs(2);
/// A LookSee participant without a pose for this long is hidden.
pub const HIDE_LOOKSEE_AFTER: Duration = Duration::from_secs(3);
/// A Convene peer that is silent for this long is away; its connection is closed.
pub const AWAY_AFTER: Duration = Duration::from_secs(10);
/// For this long somebody who is away keeps the seat.
pub const SEAT_KEPT: Duration = Duration::from_secs(600);
/// Seats that are kept at the same time.
const MAXIMUM_AWAY: usize = 64;
/// A connection that has not said who it is by then is closed.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How often all this is looked at.
pub(super) const TICK: Duration = Duration::from_millis(100);
/// A host that takes somebody and says nothing more is taken to have joined us
/// after this time.
const JOINED_AFTER: Duration = Duration::from_secs(1);

/// By then a host that does not say when it has greeted has done so.
const SETTLED_AFTER: Duration = Duration::from_secs(10);

impl Session {
    /// Pings, and looks at who has gone silent.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.now = now;
        let stood_still = self.tick.replace(now).is_some_and(|last| now.saturating_sub(last) >= STALE_AFTER);
        if stood_still {
            // It was we who were silent (a machine that slept, a process that was
            // stopped): what the others said meanwhile is still to be read. They
            // have all their time to answer the next ping.
            for p in self.peers.values_mut() {
                p.last_byte = now;
            }
            for p in self.participants.iter_mut() {
                p.last_pose = p.last_pose.map(|_| now);
            }
        }
        self.ping(now);
        let silent: Vec<(PeerId, bool)> = self
            .peers
            .values()
            .filter_map(|p| {
                let silent_for = now.saturating_sub(p.last_byte);
                let no_handshake = !p.is_accepted() && now.saturating_sub(p.since) >= HANDSHAKE_TIMEOUT;
                let away = p.is_convene() && silent_for >= AWAY_AFTER;
                (no_handshake || away).then_some((p.id, away))
            })
            .collect();
        for (peer, away) in silent {
            self.transmits.push_back(Transmit::Close { peer });
            match self.role {
                Role::Guest(host) | Role::Joining(host) if host == peer => {
                    self.lose(if away {
                        LeaveReason::HostSilent(AWAY_AFTER)
                    } else {
                        LeaveReason::NotAMeeting
                    });
                }
                _ if away => self.send_away(peer),
                _ => {
                    let fault = "it did not say who it is in time".to_owned();
                    self.events.push_back(Event::PeerFault { peer, fault });
                    self.peers.remove(&peer);
                }
            }
        }
        if self.role == Role::Host {
            self.seat_the_unseated();
        }
        self.update_presence(now);
        self.believe_doubts(now);
        self.settle(now);
        // A host that speaks no extension does not say when it has greeted.
        if let Role::Guest(peer) = self.role
            && self.rejoining
            && self.peers.get(&peer).is_some_and(|p| now >= p.accepted_at + SETTLED_AFTER)
        {
            self.settle_kept(Some(peer));
        }
        if let Role::Joining(peer) = self.role
            && self.peers.get(&peer).is_some_and(|p| p.is_accepted() && now >= p.accepted_at + JOINED_AFTER)
        {
            self.joined_by(peer);
        }
        self.finish();
    }

    fn ping(&mut self, now: Duration) {
        let due: Vec<PeerId> = self
            .peers
            .values()
            .filter(|p| {
                let every = if self.is_receiving_from(p.id) { TICK } else { PING_INTERVAL };
                p.is_convene() && p.ping_sent_at.is_none_or(|at| now.saturating_sub(at) >= every)
            })
            .map(|p| p.id)
            .collect();
        for peer in due {
            if let Some(p) = self.peers.get_mut(&peer) {
                p.ping_sent_at = Some(now);
            }
            let nanoseconds = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
            self.send(peer, &Message::Ping(nanoseconds));
        }
    }

    pub(super) fn ponged(&mut self, peer: PeerId, value: u64) {
        let now = self.now;
        if let Some(p) = self.peers.get_mut(&peer) {
            let sent_at = Duration::from_nanos(value);
            // Only what we sent, and not so long ago.
            if p.ping_sent_at.is_some_and(|last| sent_at <= last) && now.saturating_sub(sent_at) < AWAY_AFTER
            {
                let round_trip = now.saturating_sub(sent_at);
                p.round_trip = Some(round_trip);
                self.transmits.push_back(Transmit::RoundTrip { peer, round_trip });
            }
        }
    }

    /// A guest that has gone silent: its models stop arriving, its seat is kept.
    fn send_away(&mut self, peer: PeerId) {
        let Some(gone) = self.peers.remove(&peer) else { return };
        self.forget_arriving(&gone, "its sender was not heard from any more");
        let now = self.now;
        let Some(participant) = gone.device_id.and_then(|id| self.participants.get_mut(&id)) else { return };
        participant.peer = None;
        participant.away_since = Some(now);
        // So many that a roster of all still fits into a message.
        let away = || self.participants.iter().filter_map(|p| Some((p.away_since?, &p.device_id)));
        if away().count() > MAXIMUM_AWAY
            && let Some((_, longest)) = away().min()
        {
            let longest = longest.clone();
            self.remove_participant(&longest);
        }
    }

    fn update_presence(&mut self, now: Duration) {
        let host = match self.role {
            Role::Guest(peer) | Role::Joining(peer) => Some(peer),
            _ => None,
        };
        let host_device = host.and_then(|peer| self.peers.get(&peer)).and_then(|p| p.device_id.clone());
        let (mut changed, mut gone) = (Vec::new(), Vec::new());
        for p in self.participants.iter_mut() {
            if p.away_since.is_some_and(|since| now.saturating_sub(since) >= SEAT_KEPT) {
                gone.push(p.device_id.clone());
                continue;
            }
            let connection = p.peer.and_then(|peer| self.peers.get(&peer));
            let pose_age = p.last_pose.map(|at| now.saturating_sub(at));
            let still = p.stands_still_for(now);
            let presence = match (p.client, connection) {
                (_, None) => Presence::Away,
                // Of others a guest knows what the roster says.
                (Client::Convene, Some(_))
                    if host.is_some() && Some(&p.device_id) != host_device.as_ref() =>
                {
                    p.presence
                }
                // Somebody whose connection lives and whose poses have stopped has
                // put the headset down, or its picture stands still.
                (Client::Convene, Some(_)) if still.is_some_and(|still| still >= AWAY_AFTER) => {
                    Presence::Away
                }
                (Client::Convene, Some(c))
                    if now.saturating_sub(c.last_byte) >= STALE_AFTER
                        || still.is_some_and(|still| still >= STALE_AFTER) =>
                {
                    Presence::Stale
                }
                (Client::LookSee, Some(_)) if p.in_roster && pose_age.is_none() => p.presence,
                (Client::LookSee, Some(_)) if pose_age.is_some_and(|age| age >= HIDE_LOOKSEE_AFTER) => {
                    Presence::Stale
                }
                (_, Some(_)) => Presence::Live,
            };
            if presence != p.presence {
                p.presence = presence;
                changed.push((p.device_id.clone(), presence));
            }
        }
        for (id, state) in changed {
            self.events.push_back(Event::ParticipantState { id, state });
            self.roster_dirty = true;
        }
        for device_id in gone {
            self.remove_participant(&device_id);
        }
    }
}
