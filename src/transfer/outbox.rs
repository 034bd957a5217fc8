//! What is waiting to go to one peer, and in which order it goes.
//!
//! For: one [`Outbox`] per peer. Not for: sockets (the writer thread of
//! [`crate::net`] empties it) or the meaning of what is sent
//! ([`crate::session`]). Pure: a lock around it is held for a copy only.
//!
//! Order: the greeting and answers to pings first; then everything that must stay in order, of
//! which a LookSee peer's model frame yields to poses until its first byte is sent;
//! credit; poses, all that wait in one message; one step of a bulk channel. A pose
//! replaces an older pose of the same participant, credit an older one of the same
//! channel, and a model's position an older one of the same model that still waits,
//! unless something else was queued about a model in between. Where poses and
//! control leave nothing of the link, a step goes before them every
//! [`STARVED`], so that models arrive all the same.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use bytes::Bytes;

use super::{Bulk, Credit};
use crate::wire::{MessageType, bulk};

/// Bulk that is ready waits no longer than this.
pub const STARVED: Duration = Duration::from_millis(250);

/// Frames that may wait in order for one peer. One that is so far behind will
/// not catch up.
pub const MAXIMUM_WAITING: usize = 1024;
/// Bytes that may wait in order for one peer, models aside, which all peers share.
pub const MAXIMUM_WAITING_BYTES: usize = 1 << 20;
/// Fewer frames are not counted byte by byte: none is longer than 64 KiB.
const FEW: usize = 15;

/// Which queue a frame waits in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lane {
    /// Before everything else: the greeting, pings and their answers.
    Urgent,
    /// In order.
    Ordered,
    /// In order, replacing an older waiting one of the same model or of the
    /// scene (the empty id).
    Position {
        /// Which model; empty for the scene.
        model_id: String,
    },
    /// In order; if the model's frame still waits, it is dropped.
    Closed {
        /// Which model.
        model_id: String,
    },
    /// In order, but behind all poses.
    Model {
        /// Which model.
        model_id: String,
    },
    /// Bytes of a channel; never queued, only taken.
    Bulk,
    /// Only the latest of each participant.
    Pose {
        /// Whose.
        device_id: String,
    },
    /// Only the latest of each model and receiver, beside the order.
    Status {
        /// Which model.
        model_id: String,
        /// Whose.
        device_id: String,
    },
    /// In order; a pose of this participant that still waits is dropped, lest it
    /// bring somebody back who has left.
    Left {
        /// Who.
        device_id: String,
    },
}

/// A frame on its way out: `head` then `tail`. A model's bytes are a `tail`
/// that all peers share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Where it waits.
    pub lane: Lane,
    /// Length, type and JSON.
    pub head: Bytes,
    /// The GLB of a model's frame, else empty.
    pub tail: Bytes,
}

impl Outgoing {
    /// A frame of bulk.
    fn bulk(head: Bytes, tail: Bytes) -> Self {
        Self { lane: Lane::Bulk, head, tail }
    }

    /// Bytes on the wire.
    pub fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The peer is too far behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many messages wait for this peer, it is too slow")]
pub struct TooSlow;

/// What is waiting for one peer.
#[derive(Debug, Default)]
pub struct Outbox {
    urgent: VecDeque<Outgoing>,
    ordered: VecDeque<Outgoing>,
    poses: VecDeque<Outgoing>,
    credits: BTreeMap<u16, u64>,
    bulk: Bulk,
    /// Since when bulk is ready and gets no turn.
    bulk_waits: Option<Duration>,
    waiting_bytes: usize,
    dropped_poses: u64,
}

impl Outbox {
    /// Nothing waits.
    pub fn new() -> Self {
        Self { bulk: Bulk::new(), ..Self::default() }
    }

    /// What this peer has asked for of our models.
    pub fn bulk(&mut self) -> &mut Bulk {
        &mut self.bulk
    }

    /// Lets the peer send more over a channel; the latest replaces what waits.
    pub fn push_credit(&mut self, credit: Credit) {
        self.credits.insert(credit.channel, credit.max_offset);
    }

    /// A channel that we receive is closed: its credit is not worth sending.
    pub fn drop_credit(&mut self, channel: u16) {
        self.credits.remove(&channel);
    }

    /// Queues a frame.
    pub fn push(&mut self, outgoing: Outgoing) -> Result<(), TooSlow> {
        let added = outgoing.len();
        let replaced = match &outgoing.lane {
            Lane::Urgent => {
                // A peer that pings faster than it reads gets the latest answers only.
                // The first stays: it may be the greeting.
                let oldest = if self.urgent.len() >= 8 { self.urgent.remove(1) } else { None };
                self.urgent.push_back(outgoing);
                oldest
            }
            Lane::Status { .. } => {
                let waiting = self.poses.iter_mut().find(|waiting| waiting.lane == outgoing.lane);
                match waiting {
                    Some(waiting) => Some(std::mem::replace(waiting, outgoing)),
                    None => {
                        self.poses.push_back(outgoing);
                        None
                    }
                }
            }
            Lane::Pose { .. } => match self.poses.iter_mut().find(|waiting| waiting.lane == outgoing.lane) {
                Some(waiting) => {
                    self.dropped_poses += 1;
                    Some(std::mem::replace(waiting, outgoing))
                }
                None => {
                    self.poses.push_back(outgoing);
                    None
                }
            },
            Lane::Position { .. } => match self.replaceable(&outgoing.lane) {
                Some(at) => self.ordered.get_mut(at).map(|waiting| std::mem::replace(waiting, outgoing)),
                None => {
                    self.push_ordered(outgoing)?;
                    None
                }
            },
            Lane::Left { device_id } => {
                let pose = Lane::Pose { device_id: device_id.clone() };
                self.push_ordered(outgoing)?;
                let waiting = self.poses.iter().position(|waiting| waiting.lane == pose);
                waiting.and_then(|at| self.poses.remove(at))
            }
            Lane::Closed { model_id } => {
                self.drop_model(model_id);
                self.push_ordered(outgoing)?;
                None
            }
            Lane::Ordered | Lane::Model { .. } | Lane::Bulk => {
                self.push_ordered(outgoing)?;
                None
            }
        };
        self.waiting_bytes += added;
        self.waiting_bytes -= replaced.map_or(0, |old| old.len());
        Ok(())
    }

    /// If a model's frame still waits, neither it nor what follows about its
    /// place is worth sending.
    fn drop_model(&mut self, model_id: &str) {
        let is_frame = |lane: &Lane| matches!(lane, Lane::Model { model_id: id } if id == model_id);
        let is_place = |lane: &Lane| matches!(lane, Lane::Position { model_id: id } if id == model_id);
        let Some(from) = self.ordered.iter().position(|waiting| is_frame(&waiting.lane)) else { return };
        let mut at = 0;
        let mut dropped = 0;
        self.ordered.retain(|waiting| {
            let drop = at >= from && (is_frame(&waiting.lane) || is_place(&waiting.lane));
            at += 1;
            dropped += if drop { waiting.len() } else { 0 };
            !drop
        });
        self.waiting_bytes -= dropped;
    }

    fn push_ordered(&mut self, outgoing: Outgoing) -> Result<(), TooSlow> {
        if self.ordered.len() >= MAXIMUM_WAITING {
            return Err(TooSlow);
        }
        if self.ordered.len() >= FEW {
            let is_model = |o: &&Outgoing| matches!(o.lane, Lane::Model { .. });
            let waiting: usize = self.ordered.iter().filter(|o| !is_model(o)).map(Outgoing::len).sum();
            if waiting + outgoing.len() > MAXIMUM_WAITING_BYTES && !is_model(&&outgoing) {
                return Err(TooSlow);
            }
        }
        self.ordered.push_back(outgoing);
        Ok(())
    }

    /// The waiting position that `lane`'s may replace: behind it there are only
    /// other models' positions.
    fn replaceable(&self, lane: &Lane) -> Option<usize> {
        let scene = |lane: &Lane| matches!(lane, Lane::Position { model_id } if model_id.is_empty());
        for (at, waiting) in self.ordered.iter().enumerate().rev() {
            if &waiting.lane == lane {
                return Some(at);
            }
            // A model's place depends on the scene's: they do not overtake each other.
            if !matches!(waiting.lane, Lane::Position { .. }) || scene(&waiting.lane) || scene(lane) {
                return None;
            }
        }
        None
    }

    /// The frame to send next, bulk aside. Once taken it is sent whole.
    pub fn pop(&mut self) -> Option<Outgoing> {
        if let Some(next) = self.urgent.pop_front() {
            return Some(self.counted(next));
        }
        let model_is_next = matches!(self.ordered.front().map(|o| &o.lane), Some(Lane::Model { .. }));
        if !model_is_next && let Some(next) = self.ordered.pop_front() {
            return Some(self.counted(next));
        }
        if let Some((channel, max_offset)) = self.credits.pop_first() {
            let head = bulk::frame(&bulk::encode_credit(channel, max_offset));
            return Some(Outgoing { lane: Lane::Ordered, head, tail: Bytes::new() });
        }
        if let Some(poses) = self.pop_poses() {
            return Some(poses);
        }
        self.ordered.pop_front().map(|next| self.counted(next))
    }

    fn counted(&mut self, next: Outgoing) -> Outgoing {
        self.waiting_bytes -= next.len();
        next
    }

    /// The next pose; with all others that wait, where they are binary.
    fn pop_poses(&mut self) -> Option<Outgoing> {
        let first = self.poses.pop_front()?;
        let mut batch = self.counted(first);
        let is_binary =
            |o: &Outgoing| o.head.get(4) == Some(&(MessageType::Poses as u8)) && o.tail.is_empty();
        if !is_binary(&batch) || !self.poses.iter().any(is_binary) {
            return Some(batch);
        }
        let mut payload = batch.head.slice(4..).to_vec();
        let (binary, others): (VecDeque<Outgoing>, VecDeque<Outgoing>) =
            std::mem::take(&mut self.poses).into_iter().partition(is_binary);
        self.poses = others;
        for pose in binary {
            let pose = self.counted(pose);
            payload.extend_from_slice(pose.head.get(5..).unwrap_or_default());
        }
        batch.head = bulk::frame(&payload);
        Some(batch)
    }

    /// One step of a bulk channel, of at most `limit` bytes of a model.
    pub fn pop_bulk(&mut self, limit: usize, now: Duration) -> Option<Outgoing> {
        let (head, tail) = self.bulk.next(limit, now)?;
        self.bulk_waits = None;
        Some(Outgoing::bulk(head, tail))
    }

    /// Whether a step has to go before what waits otherwise.
    pub fn bulk_starves(&mut self, now: Duration) -> bool {
        if !self.bulk.is_ready() {
            self.bulk_waits = None;
            return false;
        }
        now.saturating_sub(*self.bulk_waits.get_or_insert(now)) >= STARVED
    }

    /// The frame to send next, bulk included, in the one order there is.
    pub fn next(&mut self, limit: usize, now: Duration) -> Option<Outgoing> {
        if self.urgent.is_empty() && self.bulk_starves(now) {
            return self.pop_bulk(limit, now);
        }
        self.pop().or_else(|| self.pop_bulk(limit, now))
    }

    /// Whether nothing waits, bulk aside.
    pub fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.ordered.is_empty() && self.poses.is_empty() && self.credits.is_empty()
    }

    /// Bytes that wait.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Poses that were replaced before they were sent.
    pub fn dropped_poses(&self) -> u64 {
        self.dropped_poses
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::transfer::{Holding, Priority};
    use proptest::prelude::*;

    fn frame(lane: Lane, mark: u8) -> Outgoing {
        Outgoing { lane, head: vec![mark].into(), tail: Bytes::new() }
    }
    fn ordered(mark: u8) -> Outgoing {
        frame(Lane::Ordered, mark)
    }
    fn position(id: &str, mark: u8) -> Outgoing {
        frame(Lane::Position { model_id: id.into() }, mark)
    }
    fn model(mark: u8) -> Outgoing {
        frame(Lane::Model { model_id: "m".into() }, mark)
    }
    fn pose(id: &str, mark: u8) -> Outgoing {
        frame(Lane::Pose { device_id: id.into() }, mark)
    }
    fn marks(outbox: &mut Outbox) -> Vec<u8> {
        std::iter::from_fn(|| outbox.pop()).map(|o| o.head[0]).collect()
    }

    #[test]
    fn order() {
        let mut outbox = Outbox::new();
        for o in [model(5), ordered(6), pose("a", 3), pose("b", 4), pose("a", 2), frame(Lane::Urgent, 1)] {
            outbox.push(o).unwrap();
        }
        assert_eq!(outbox.waiting_bytes(), 5);
        assert_eq!(marks(&mut outbox), [1, 2, 4, 5, 6]);
        assert_eq!((outbox.waiting_bytes(), outbox.dropped_poses()), (0, 1));
        assert!(outbox.is_empty());
    }

    #[test]
    fn positions_replace_only_where_order_allows() {
        let mut outbox = Outbox::new();
        for o in [position("a", 1), position("b", 2), position("a", 3)] {
            outbox.push(o).unwrap();
        }
        outbox.push(ordered(4)).unwrap();
        outbox.push(position("a", 5)).unwrap();
        outbox.push(position("", 6)).unwrap();
        outbox.push(position("", 7)).unwrap();
        outbox.push(position("a", 8)).unwrap();
        assert_eq!(marks(&mut outbox), [3, 2, 4, 5, 7, 8]);
    }

    #[test]
    fn a_closed_model_is_not_sent_any_more() {
        let mut outbox = Outbox::new();
        let closed = frame(Lane::Closed { model_id: "m".into() }, 3);
        for o in [ordered(1), model(9), position("m", 9), position("n", 2), closed] {
            outbox.push(o).unwrap();
        }
        assert_eq!(outbox.waiting_bytes(), 3);
        assert_eq!(marks(&mut outbox), [1, 2, 3]);
    }

    #[test]
    fn a_goodbye_is_the_last_word() {
        let mut outbox = Outbox::new();
        let left = frame(Lane::Left { device_id: "a".into() }, 3);
        for o in [model(2), pose("a", 9), pose("b", 1), left, pose("a", 4)] {
            outbox.push(o).unwrap();
        }
        assert_eq!(outbox.waiting_bytes(), 4);
        assert_eq!(marks(&mut outbox), [1, 4, 2, 3]);
        assert_eq!(outbox.waiting_bytes(), 0);
    }

    fn binary_pose(id: &str, mark: u8) -> Outgoing {
        let head = bulk::frame(&[MessageType::Poses as u8, mark]);
        Outgoing { lane: Lane::Pose { device_id: id.into() }, head, tail: Bytes::new() }
    }

    fn serve(outbox: &mut Outbox, bytes: usize) {
        let holding = Arc::new(Holding::whole([0; 32], vec![1; bytes].into()));
        outbox.bulk().open(5, "m".into(), holding, vec![0], Priority::default()).unwrap();
        outbox.bulk().credit(5, 1 << 20, Duration::ZERO).unwrap();
    }

    #[test]
    fn credit_then_poses_in_one_message_then_one_step() {
        let mut outbox = Outbox::new();
        serve(&mut outbox, 10_000);
        for o in [binary_pose("a", 1), pose("json", 7), binary_pose("b", 2), ordered(9), binary_pose("a", 3)]
        {
            outbox.push(o).unwrap();
        }
        outbox.push_credit(Credit { channel: 2, max_offset: 10 });
        outbox.push_credit(Credit { channel: 2, max_offset: 30 });
        let mut next = || outbox.next(usize::MAX, Duration::ZERO);
        assert_eq!(next().unwrap().head, vec![9], "what is in order");
        assert_eq!(next().unwrap().head, bulk::frame(&bulk::encode_credit(2, 30)), "the latest credit");
        assert_eq!(next().unwrap().head, bulk::frame(&[MessageType::Poses as u8, 3, 2]), "all in one");
        assert_eq!(next().unwrap().head, vec![7], "one that is not binary");
        let step = next().unwrap();
        assert_eq!((step.lane, step.head[4]), (Lane::Bulk, MessageType::Data as u8));
        assert_eq!(outbox.waiting_bytes(), 0);
    }

    #[test]
    fn models_do_not_starve() {
        let mut outbox = Outbox::new();
        serve(&mut outbox, 200_000);
        let mut steps = Vec::new();
        for n in 0..1000u64 {
            // The link takes one message a millisecond, and there always is a pose.
            let now = Duration::from_millis(n);
            outbox.push(binary_pose("a", 1)).unwrap();
            if outbox.next(usize::MAX, now).unwrap().lane == Lane::Bulk {
                steps.push(n);
            }
        }
        assert_eq!(steps, [250, 501, 752], "one every quarter of a second");
    }

    #[test]
    fn a_slow_peer_is_told() {
        let mut outbox = Outbox::new();
        for _ in 0..MAXIMUM_WAITING {
            outbox.push(ordered(0)).unwrap();
        }
        assert_eq!(outbox.push(ordered(0)), Err(TooSlow));
        let mut crowded = Outbox::new();
        let long = || Outgoing { lane: Lane::Ordered, head: vec![0; 60_000].into(), tail: Bytes::new() };
        let taken = (0..100).take_while(|_| crowded.push(long()).is_ok()).count();
        assert_eq!(taken, MAXIMUM_WAITING_BYTES / 60_000, "a mebibyte of them");
        for n in 0..100 {
            outbox.push(pose("a", n)).unwrap();
            outbox.push(frame(Lane::Urgent, n)).unwrap();
        }
        assert_eq!(outbox.waiting_bytes(), MAXIMUM_WAITING + 9);
    }

    proptest! {
        #[test]
        fn bytes_are_counted_right(steps in proptest::collection::vec((0u8..8, any::<bool>()), 0..300)) {
            let mut outbox = Outbox::new();
            for (kind, pop) in steps {
                let o = match kind {
                    0 => ordered(0),
                    1 => position("a", 0),
                    2 => position("", 0),
                    3 => model(0),
                    4 => pose("a", 0),
                    5 => frame(Lane::Left { device_id: "a".into() }, 0),
                    6 => frame(Lane::Closed { model_id: "m".into() }, 0),
                    _ => frame(Lane::Urgent, 0),
                };
                outbox.push(o).unwrap();
                if pop {
                    outbox.pop();
                }
                let counted: usize =
                    [&outbox.urgent, &outbox.ordered, &outbox.poses].into_iter().flatten().map(Outgoing::len).sum();
                prop_assert_eq!(outbox.waiting_bytes(), counted);
            }
        }
    }
}
