//! One connection, as the session sees it.

use std::{collections::VecDeque, time::Duration};

use super::{Client, PeerId};
use crate::transfer::Method;

/// A LookSee peer sends back each show or hide that it gets; one that comes
/// within this time is taken for such an echo.
pub(super) const ECHO_WINDOW: Duration = Duration::from_secs(1);
const ECHOES: usize = 64;

/// How far the handshake is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handshake {
    AwaitPrefix,
    AwaitVersion,
    /// The other side's version was read and is good.
    Done,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Peer {
    pub id: PeerId,
    pub handshake: Handshake,
    pub client: Client,
    /// Since when it is connected.
    pub since: Duration,
    /// When its version was accepted.
    pub accepted_at: Duration,
    pub last_byte: Duration,
    /// Device id of the participant that it speaks for.
    pub device_id: Option<String>,
    /// Participant id from its version message.
    pub participant_id: Option<String>,
    pub name: String,
    pub colour: Option<super::Colour>,
    pub ping_sent_at: Option<Duration>,
    pub round_trip: Option<Duration>,
    /// The model that is arriving: its id, and when its first byte came.
    pub arriving: Option<(String, Duration)>,
    /// The model that is arriving is not wanted.
    pub discard_arriving: bool,
    /// Faults of this peer that were told once.
    pub told: Vec<&'static str>,
    /// The ways of sending models in chunks that it takes; none: in one piece.
    pub methods: Vec<Method>,
    /// The next channel for what we ask of it.
    pub next_channel: u16,
    /// It showed that its seat is its own.
    pub seat_proved: bool,
    /// Text of an error message; the reason, should the connection end now.
    pub last_error: Option<String>,
    echoes: VecDeque<(String, bool, Duration)>,
    /// Taken for echoes, but not what holds here: believed if nothing else comes.
    doubts: VecDeque<(String, bool, Duration)>,
    /// Host: what crossed with what.
    pub crossing: super::settle::Crossing,
}

impl Peer {
    pub fn new(id: PeerId, now: Duration) -> Self {
        Self {
            id,
            handshake: Handshake::AwaitPrefix,
            client: Client::LookSee,
            since: now,
            accepted_at: now,
            last_byte: now,
            device_id: None,
            participant_id: None,
            name: String::new(),
            colour: None,
            ping_sent_at: None,
            round_trip: None,
            arriving: None,
            discard_arriving: false,
            told: Vec::new(),
            methods: Vec::new(),
            next_channel: 0,
            seat_proved: false,
            last_error: None,
            echoes: VecDeque::new(),
            doubts: VecDeque::new(),
            crossing: super::settle::Crossing::default(),
        }
    }

    pub fn is_accepted(&self) -> bool {
        self.handshake == Handshake::Done
    }

    pub fn is_convene(&self) -> bool {
        self.is_accepted() && self.client == Client::Convene
    }

    /// Whether it takes models in chunks.
    pub fn takes_chunks(&self) -> bool {
        self.is_convene() && !self.methods.is_empty()
    }

    /// The device id that its version message gives to it.
    pub fn introduced_as(&self) -> Option<&str> {
        self.participant_id.as_deref().map(super::device_id_of)
    }

    /// How events call it.
    pub fn label(&self) -> String {
        self.device_id.clone().unwrap_or_default()
    }

    /// A show or hide goes to this peer.
    pub fn expect_echo(&mut self, model_id: &str, shown: bool, now: Duration) {
        if self.client == Client::LookSee {
            self.echoes.truncate(ECHOES - 1);
            self.echoes.push_front((model_id.to_owned(), shown, now));
        }
    }

    /// Whether a show or hide from this peer is the echo of one that went to it.
    pub fn is_echo(&mut self, model_id: &str, shown: bool, now: Duration) -> bool {
        self.echoes.retain(|(_, _, at)| now.saturating_sub(*at) < ECHO_WINDOW);
        let oldest = self.echoes.iter().rposition(|(id, s, _)| id == model_id && *s == shown);
        oldest.is_some_and(|at| self.echoes.remove(at).is_some())
    }

    /// What was taken for an echo differs from what holds here.
    pub fn doubt(&mut self, model_id: &str, shown: bool, now: Duration) {
        self.doubts.truncate(ECHOES - 1);
        self.doubts.push_front((model_id.to_owned(), shown, now));
    }

    /// Something newer came about this model.
    pub fn forget_doubt(&mut self, model_id: &str) {
        self.doubts.retain(|(id, ..)| id != model_id);
    }

    /// The doubts that nothing came to lift: these were no echoes.
    pub fn take_doubts(&mut self, now: Duration) -> Vec<(String, bool)> {
        let due = |at: &Duration| now.saturating_sub(*at) >= ECHO_WINDOW;
        let taken = self.doubts.iter().filter(|(.., at)| due(at)).map(|(id, shown, _)| (id.clone(), *shown));
        let taken = taken.collect();
        self.doubts.retain(|(.., at)| !due(at));
        taken
    }

    /// Whether this fault is to be told: once for each kind.
    pub fn tell_once(&mut self, fault: &'static str) -> bool {
        let first = !self.told.contains(&fault);
        if first {
            self.told.push(fault);
        }
        first
    }
}
