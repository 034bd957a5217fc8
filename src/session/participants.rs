//! Who is here, other than us.

use std::{collections::VecDeque, time::Duration};

use super::{Body, Client, Colour, PeerId, Presence, presence::AWAY_AFTER};
use crate::transfer::Playout;

/// Participants that one meeting may have, the cap on what a host may make us
/// keep.
pub(super) const MAXIMUM: usize = 256;

/// Poses whose lateness is kept: five seconds of a headset's.
const LATE_KEPT: usize = 512;

/// Poses that follow each other faster than this come from somebody who is there...
const SOON: Duration = Duration::from_secs(1);
/// ...and so many of them make a stream, whose end says something.
const IN_A_ROW: u8 = 4;

/// How late somebody's poses are. No clock is synchronised: all counts from the
/// fastest pose of the last ten seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoseLatency {
    /// How much longer half of them took at most.
    pub wire_median: Duration,
    /// How much longer all but one in a hundred took at most.
    pub wire_p99: Duration,
    /// How far behind they are shown.
    pub display: Duration,
}

/// Somebody else in the meeting.
#[derive(Debug, Clone)]
pub struct Participant {
    /// The id in its poses.
    pub device_id: String,
    /// Its own id; empty for LookSee.
    pub id: String,
    /// Its name; empty for LookSee.
    pub name: String,
    /// Announced, or made from its device id.
    pub colour: Colour,
    /// Which program it uses.
    pub client: Client,
    /// Whether it is still there.
    pub presence: Presence,
    /// Its latest pose.
    pub body: Option<Body>,
    /// The latest poses, for showing them evenly.
    pub playout: Playout<Body>,
    /// How much longer than the fastest each of the latest poses took.
    pub(super) late: VecDeque<Duration>,
    /// When that came.
    pub last_pose: Option<Duration>,
    /// How many poses came.
    pub poses: u64,
    /// How many of the latest came one soon after the other. A stream stays one until
    /// it has stopped for good.
    pub(super) in_a_row: u8,
    /// Over which connection it is heard; none: its seat is kept.
    pub(super) peer: Option<PeerId>,
    pub(super) away_since: Option<Duration>,
    /// A host's roster named it.
    pub(super) in_roster: bool,
}

impl Participant {
    pub(super) fn new(device_id: &str, peer: PeerId) -> Self {
        Self {
            device_id: device_id.to_owned(),
            id: String::new(),
            name: String::new(),
            colour: Colour::for_id(device_id),
            client: Client::LookSee,
            presence: Presence::Live,
            body: None,
            playout: Playout::default(),
            late: VecDeque::new(),
            last_pose: None,
            poses: 0,
            in_a_row: 0,
            peer: Some(peer),
            away_since: None,
            in_roster: false,
        }
    }

    /// Somebody who is heard over a connection of its own and said in its version
    /// message who it is.
    pub(super) fn introduced(device_id: &str, peer: &super::peer::Peer) -> Self {
        let mut participant = Self::new(device_id, peer.id);
        if peer.is_convene() {
            participant.client = Client::Convene;
            participant.id = peer.participant_id.clone().unwrap_or_default();
            participant.name.clone_from(&peer.name);
            participant.colour = peer.colour.unwrap_or(participant.colour);
        }
        participant
    }

    pub(super) fn note_pose(&mut self, now: Duration) {
        let gap = self.last_pose.map_or(Duration::MAX, |last| now.saturating_sub(last));
        self.in_a_row = match self.in_a_row {
            row if gap < SOON => row.saturating_add(1),
            // One slow frame ends no stream.
            row @ IN_A_ROW.. if gap < AWAY_AFTER => row,
            _ => 0,
        };
        self.last_pose = Some(now);
        self.poses += 1;
    }

    /// For how long no pose has come from somebody whose poses were coming.
    pub(super) fn stands_still_for(&self, now: Duration) -> Option<Duration> {
        let last = self.last_pose.filter(|_| self.in_a_row >= IN_A_ROW)?;
        Some(now.saturating_sub(last))
    }

    pub(super) fn note_late(&mut self, late: Duration) {
        if self.late.len() == LATE_KEPT {
            self.late.pop_front();
        }
        self.late.push_back(late);
    }

    /// How late its poses come and are shown; none before it sent stamped ones.
    pub(super) fn latency(&self) -> Option<PoseLatency> {
        let mut late: Vec<Duration> = self.late.iter().copied().collect();
        late.sort_unstable();
        let part = |hundredths: usize| late.get(late.len() * hundredths / 100).copied();
        Some(PoseLatency { wire_median: part(50)?, wire_p99: part(99)?, display: self.playout.delay() })
    }

    /// What people see: the name, or for LookSee the id.
    pub fn label(&self) -> String {
        match (self.client, self.name.as_str()) {
            (Client::LookSee, "") => format!("LookSee {}", self.device_id),
            (Client::Convene, "") => format!("Somebody {}", self.device_id),
            (_, name) => name.to_owned(),
        }
    }
}

/// All of them, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Participants(Vec<Participant>);

impl Participants {
    pub fn iter(&self) -> impl Iterator<Item = &Participant> {
        self.0.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Participant> {
        self.0.iter_mut()
    }

    pub fn get(&self, device_id: &str) -> Option<&Participant> {
        self.0.iter().find(|p| p.device_id == device_id)
    }

    pub fn get_mut(&mut self, device_id: &str) -> Option<&mut Participant> {
        self.0.iter_mut().find(|p| p.device_id == device_id)
    }

    /// False where there are too many already.
    pub fn insert(&mut self, participant: Participant) -> bool {
        let room = self.0.len() < MAXIMUM;
        if room {
            self.0.push(participant);
        }
        room
    }

    pub fn remove(&mut self, device_id: &str) -> Option<Participant> {
        let at = self.0.iter().position(|p| p.device_id == device_id)?;
        Some(self.0.remove(at))
    }

    pub fn drain(&mut self) -> Vec<Participant> {
        std::mem::take(&mut self.0)
    }
}
