//! The sending end of one connection's bulk: which channels a peer has asked for,
//! and whose turn it is. The connection's writer takes one step at a time, when
//! nothing else waits.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use bytes::{BufMut, Bytes, BytesMut};

use super::{
    Holding, SendWindow, StepContext, StepHandler, Steps, WindowError,
    chunk::{Chunk, HEADER_BYTES},
};
use crate::wire::bulk;

/// Channels that a peer may have open; ours asks for eight.
const MAXIMUM_CHANNELS: usize = 64;
/// Credits for channels that are not open yet, which the meeting's thread may
/// still be opening.
const EARLY_CREDITS: usize = 64;
const EPOCH: Duration = Duration::from_millis(50);
const EPOCHS: usize = 10;
/// Credit beyond this is no measure of anything: the receiver sets no limit.
const UNLIMITED: u64 = 1 << 40;

/// Which channel comes first: shown models before hidden ones, small before
/// large; those of like size are equals and take turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Priority {
    hidden: bool,
    /// Powers of four.
    size_class: u32,
}

impl Priority {
    /// Of a model.
    pub fn new(shown: bool, source_bytes: u64) -> Self {
        Self { hidden: !shown, size_class: source_bytes.max(1).ilog2() / 2 }
    }
}

#[derive(Debug)]
struct Current {
    chunk: Chunk,
    /// Of header and bytes together.
    sent: usize,
}

struct Sending {
    channel: u16,
    model_id: String,
    holding: Arc<Holding>,
    wanted: VecDeque<u32>,
    current: Option<Current>,
    window: SendWindow,
    priority: Priority,
    chunks_sent: u32,
    step: Option<StepHandler>,
    /// When its first byte was sent, later by all the time in which it waited for
    /// chunks that were not made yet, and what was allowed then.
    began: Option<(Duration, u64)>,
    /// Since when it waits for such a chunk and nothing was taken.
    starved: Option<Duration>,
}

impl Sending {
    /// What the receiver allows, which grows as bytes are taken there.
    fn allowed(&self) -> u64 {
        let allowed = self.window.max_offset();
        if allowed < UNLIMITED { allowed } else { self.window.offset() }
    }

    /// Tells how fast that grows.
    fn note_allowed(&mut self, now: Duration) {
        let allowed = self.allowed();
        let Some((began, first)) = self.began else { return };
        // What is taken now was on its way until now.
        if let Some(since) = &mut self.starved {
            *since = now;
        }
        let more = allowed.saturating_sub(first);
        self.holding.note_allowed(more, self.window.offset(), now.saturating_sub(began));
    }
}

impl std::fmt::Debug for Sending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sending")
            .field("channel", &self.channel)
            .field("wanted", &self.wanted.len())
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}

/// The channels that one peer has asked us to fill.
#[derive(Debug, Default)]
pub struct Bulk {
    channels: Vec<Sending>,
    early: BTreeMap<u16, u64>,
    steps: Steps,
    /// The channel that had the last turn.
    turn: u16,
    last_step: usize,
    rate: Rate,
}

/// Bytes a second of late: the best of half a second.
#[derive(Debug, Default)]
struct Rate {
    began: Duration,
    bytes: u64,
    epochs: VecDeque<f64>,
}

impl Rate {
    fn add(&mut self, bytes: usize, now: Duration) {
        let elapsed = now.saturating_sub(self.began);
        if elapsed >= EPOCH {
            if elapsed < 20 * EPOCH && self.bytes > 0 {
                if self.epochs.len() == EPOCHS {
                    self.epochs.pop_front();
                }
                self.epochs.push_back(self.bytes as f64 / elapsed.as_secs_f64());
            }
            (self.began, self.bytes) = (now, 0);
        }
        self.bytes += bytes as u64;
    }

    fn best(&self) -> f64 {
        self.epochs.iter().copied().fold(0.0, f64::max)
    }
}

impl Sending {
    /// The chunk to send next is here, or the end.
    fn is_ready(&self) -> bool {
        if self.is_at_end() {
            return true;
        }
        self.window.available() > 0 && (self.current.is_some() || self.has_wanted())
    }

    /// A chunk that is wanted is here.
    fn has_wanted(&self) -> bool {
        self.wanted.iter().any(|&index| self.holding.has(index))
    }

    fn is_at_end(&self) -> bool {
        self.current.is_none() && self.wanted.is_empty()
    }
}

impl Bulk {
    /// Nothing is asked for yet.
    pub fn new() -> Self {
        Self { steps: Steps::for_new_connection(), ..Self::default() }
    }

    /// The peer asks for chunks of a model.
    pub fn open(
        &mut self,
        channel: u16,
        model_id: String,
        holding: Arc<Holding>,
        wanted: Vec<u32>,
        priority: Priority,
    ) -> Result<(), WindowError> {
        self.cancel(channel);
        if self.channels.len() >= MAXIMUM_CHANNELS {
            return Err(WindowError::TooManyChannels);
        }
        let mut window = SendWindow::default();
        if let Some(max_offset) = self.early.remove(&channel) {
            // The first credit of a channel is no withdrawal.
            let _ = window.credit(max_offset);
        }
        self.channels.push(Sending {
            channel,
            model_id,
            holding,
            wanted: wanted.into(),
            current: None,
            window,
            priority,
            chunks_sent: 0,
            step: None,
            began: None,
            starved: None,
        });
        Ok(())
    }

    /// The peer allows a channel to send up to this offset.
    pub fn credit(&mut self, channel: u16, max_offset: u64, now: Duration) -> Result<(), WindowError> {
        if let Some(sending) = self.channels.iter_mut().find(|s| s.channel == channel) {
            sending.window.credit(max_offset)?;
            sending.note_allowed(now);
            return Ok(());
        }
        // It may not be open yet, or is over.
        let early = self.early.entry(channel).or_default();
        *early = max_offset.max(*early);
        if self.early.len() > EARLY_CREDITS {
            self.early.pop_first();
        }
        Ok(())
    }

    /// The peer does not want it any more.
    pub fn cancel(&mut self, channel: u16) {
        self.channels.retain(|sending| sending.channel != channel);
    }

    /// Nothing more of this model is sent; the channels that were.
    pub fn stop_model(&mut self, model_id: &str) -> Vec<u16> {
        let stopped = self.channels.iter().filter(|s| s.model_id == model_id).map(|s| s.channel).collect();
        self.channels.retain(|sending| sending.model_id != model_id);
        stopped
    }

    /// A model was shown or hidden.
    pub fn set_shown(&mut self, model_id: &str, shown: bool) {
        for sending in self.channels.iter_mut().filter(|s| s.model_id == model_id) {
            sending.priority.hidden = !shown;
        }
    }

    /// The handlers that choose frame steps.
    pub fn steps(&mut self) -> &mut Steps {
        &mut self.steps
    }

    /// The handler of one channel.
    pub fn set_channel_step(&mut self, channel: u16, handler: Option<StepHandler>) {
        if let Some(sending) = self.channels.iter_mut().find(|s| s.channel == channel) {
            sending.step = handler;
        }
    }

    /// Channels that are open.
    pub fn len(&self) -> usize {
        self.channels.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }

    /// Bytes of a model in the latest frame that was no rest of a chunk.
    pub fn last_step(&self) -> usize {
        self.last_step
    }

    /// Bytes a second that are sent at best, of late; zero before it is known.
    pub fn rate(&self) -> f64 {
        self.rate.best()
    }

    fn next_channel(&self) -> Option<usize> {
        let turn = self.turn;
        self.channels
            .iter()
            .enumerate()
            .filter(|(_, s)| s.is_ready())
            .min_by_key(|(_, s)| (s.priority, s.channel <= turn, s.channel))
            .map(|(at, _)| at)
    }

    /// Whether a step can be sent.
    pub fn is_ready(&self) -> bool {
        self.channels.iter().any(Sending::is_ready)
    }

    /// The chunk that the next step begins, if it begins one: whoever asks the
    /// [`Holding`] for it before the step is taken spares the lock its hash.
    pub fn upcoming(&self) -> Option<(Arc<Holding>, u32)> {
        let sending = self.channels.get(self.next_channel()?)?;
        if sending.current.is_some() {
            return None;
        }
        let index = sending.wanted.iter().copied().find(|&index| sending.holding.has(index))?;
        Some((sending.holding.clone(), index))
    }

    /// The next frame, of at most `limit` bytes of a model: its head, and what
    /// follows out of the shared memory of the model.
    pub fn next(&mut self, limit: usize, now: Duration) -> Option<(Bytes, Bytes)> {
        let at = self.next_channel()?;
        let rate = self.rate.best();
        let sending = self.channels.get_mut(at)?;
        self.turn = sending.channel;
        if sending.is_at_end() {
            let done = bulk::Done {
                channel: sending.channel,
                chunks: sending.chunks_sent,
                content: sending.holding.id().content,
            };
            self.channels.remove(at);
            return Some((bulk::frame(&done.encode()), Bytes::new()));
        }
        if sending.current.is_none() {
            let holding = &sending.holding;
            let next = sending.wanted.iter().position(|&index| holding.has(index))?;
            let index = sending.wanted.remove(next)?;
            let chunk = holding.chunk(index)?;
            sending.current = Some(Current { chunk, sent: 0 });
        }
        let allowed = sending.allowed();
        let (began, _) = sending.began.get_or_insert((now, allowed));
        // Time in which the link had nothing to carry says nothing of it.
        if let Some(since) = sending.starved.take() {
            *began += now.saturating_sub(since);
        }
        sending.note_allowed(now);
        let current = sending.current.as_mut()?;
        let in_all = HEADER_BYTES + current.chunk.bytes.len();
        let context = StepContext {
            channel: sending.channel,
            available: sending.window.available(),
            chunk_left: in_all - current.sent,
            rate,
        };
        let step = self.steps.next(sending.step.as_ref(), &context).min(limit.max(1));
        let (from, to) = (current.sent, current.sent + step);
        let mut head = BytesMut::with_capacity(bulk::DATA_FRAME_HEAD_BYTES + HEADER_BYTES);
        bulk::put_data_head(&mut head, sending.channel, sending.window.offset(), step);
        if from < HEADER_BYTES {
            let header = current.chunk.header.encode();
            head.put_slice(header.get(from..to.min(HEADER_BYTES)).unwrap_or_default());
        }
        let body = |at: usize| at.saturating_sub(HEADER_BYTES);
        let tail = current.chunk.bytes.slice(body(from)..body(to));
        sending.window.sent(step);
        current.sent = to;
        if to == in_all {
            sending.current = None;
            sending.chunks_sent += 1;
            sending.starved = (!sending.has_wanted()).then_some(now);
        }
        // The rest of a chunk or of a window says nothing of the step.
        if (to < in_all && sending.window.available() > 0) || self.last_step == 0 {
            self.last_step = step;
        }
        self.rate.add(step, now);
        Some((head.freeze(), tail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn holding(bytes: usize) -> Arc<Holding> {
        Arc::new(Holding::whole([1; 32], vec![7; bytes].into()))
    }

    fn channel_of(frame: &(Bytes, Bytes)) -> (u8, u16) {
        (frame.0[4], u16::from_le_bytes([frame.0[5], frame.0[6]]))
    }

    fn open(bulk: &mut Bulk, channel: u16, bytes: usize, shown: bool) {
        let holding = holding(bytes);
        let wanted = (0..holding.chunk_count()).collect();
        bulk.open(channel, format!("m{channel}"), holding, wanted, Priority::new(shown, bytes as u64))
            .unwrap();
    }

    #[test]
    fn equals_take_turns_shown_and_small_go_first() {
        let mut bulk = Bulk::new();
        open(&mut bulk, 1, 100_000, false);
        open(&mut bulk, 2, 100_000, true);
        open(&mut bulk, 3, 110_000, true);
        open(&mut bulk, 4, 3_000, true);
        for channel in 1..=4 {
            bulk.credit(channel, 1 << 20, NOW).unwrap();
        }
        let order: Vec<_> =
            std::iter::from_fn(|| bulk.next(usize::MAX, NOW)).map(|f| channel_of(&f)).collect();
        assert_eq!(order[..6], [(0x45, 4), (0x48, 4), (0x45, 2), (0x45, 3), (0x45, 2), (0x45, 3)]);
        let first_hidden = order.iter().position(|o| o.1 == 1).unwrap();
        assert!(order[first_hidden..].iter().all(|o| o.1 == 1), "hidden ones are last");
        assert!(bulk.is_empty());
    }

    #[test]
    fn each_level_of_handlers_chooses_the_step() {
        let mut bulk = Bulk::new();
        open(&mut bulk, 1, 200_000, true);
        bulk.credit(1, 1 << 20, NOW).unwrap();
        let bytes = |bulk: &mut Bulk| {
            let (head, tail) = bulk.next(usize::MAX, NOW).unwrap();
            head.len() + tail.len() - bulk::DATA_FRAME_HEAD_BYTES
        };
        assert_eq!(bytes(&mut bulk), super::super::DEFAULT_STEP);
        bulk.steps().set_connection(Some(Arc::new(|_| 1000)));
        assert_eq!(bytes(&mut bulk), 1000);
        bulk.set_channel_step(
            1,
            Some(Arc::new(|context| if context.chunk_left > 90_000 { 500 } else { 700 })),
        );
        assert_eq!((bytes(&mut bulk), bulk.last_step()), (500, 500));
        bulk.set_channel_step(1, None);
        assert_eq!(bytes(&mut bulk), 1000);
        assert_eq!(bulk.next(64, NOW).map(|(_, tail)| tail.len()), Some(64), "no more than the pace allows");
    }

    #[test]
    fn without_credit_nothing_and_never_more_than_it() {
        let mut bulk = Bulk::new();
        bulk.credit(1, 5_000, NOW).unwrap();
        open(&mut bulk, 1, 100_000, true);
        let frames: Vec<_> = std::iter::from_fn(|| bulk.next(usize::MAX, NOW)).collect();
        let bytes: usize = frames.iter().map(|(h, t)| h.len() + t.len() - bulk::DATA_FRAME_HEAD_BYTES).sum();
        assert_eq!((frames.len(), bytes), (2, 5_000), "4096 and the rest");
        assert!(bulk.credit(1, 4_000, NOW).is_err(), "no withdrawal");
        bulk.cancel(1);
        assert!(bulk.next(usize::MAX, NOW).is_none());
        assert_eq!(bulk.credit(1, 9_000, NOW), Ok(()), "too late is no fault");
    }

    #[test]
    fn what_is_not_here_yet_stops_nobody_else() {
        let mut bulk = Bulk::new();
        let whole = holding(600_000);
        let arriving = Arc::new(Holding::empty(whole.id(), 600_000));
        bulk.open(1, "a".into(), arriving.clone(), vec![0, 1, 2], Priority::new(true, 1)).unwrap();
        open(&mut bulk, 2, 10_000, false);
        bulk.credit(1, 1 << 30, NOW).unwrap();
        bulk.credit(2, 4096, NOW).unwrap();
        assert_eq!(bulk.next(usize::MAX, NOW).map(|f| channel_of(&f)), Some((0x45, 2)));
        assert!(bulk.next(usize::MAX, NOW).is_none());
        arriving.insert(whole.chunk(1).unwrap());
        let frame = bulk.next(usize::MAX, NOW).unwrap();
        assert_eq!(channel_of(&frame), (0x45, 1));
        assert_eq!(frame.0[bulk::DATA_FRAME_HEAD_BYTES], 1, "the chunk that is here");
        assert_eq!(bulk.stop_model("a"), [1]);
        assert!(bulk.next(usize::MAX, NOW).is_none());
    }

    #[test]
    fn a_link_is_no_slower_for_waiting_for_chunks() {
        let mut bulk = Bulk::new();
        let whole = holding(3 * super::super::CHUNK_BYTES);
        let arriving = Arc::new(Holding::empty(whole.id(), whole.source_bytes()));
        bulk.open(1, "a".into(), arriving.clone(), vec![0, 1, 2], Priority::new(true, 1)).unwrap();
        let mut allowed = 1u64 << 20;
        let grown = allowed + (96 << 10);
        bulk.credit(1, allowed, NOW).unwrap();
        let mut now = Duration::ZERO;
        let mut leads = Vec::new();
        // A millisecond for each frame of 4 KiB, and a second for each chunk to be made.
        for index in 0..3 {
            now += Duration::from_secs(1);
            arriving.insert(whole.chunk(index).unwrap());
            leads.push(arriving.lead(0, 0));
            while let Some((head, tail)) = bulk.next(usize::MAX, now) {
                let taken = (head.len() - bulk::DATA_FRAME_HEAD_BYTES + tail.len()) as u64;
                // The receiver's window grows at first.
                allowed += if allowed < grown { 2 * taken } else { taken };
                bulk.credit(1, allowed, now).unwrap();
                now += Duration::from_millis(1);
            }
        }
        assert_eq!(leads[0], None, "nothing tells of the link yet");
        let chunk = Duration::from_millis((super::super::CHUNK_BYTES / super::super::DEFAULT_STEP) as u64);
        for lead in leads.into_iter().skip(1).flatten() {
            assert!(lead > chunk * 9 / 10 && lead < chunk * 11 / 10, "{lead:?} beside {chunk:?}");
        }
    }

    #[test]
    fn what_is_allowed_beyond_what_was_sent_was_not_taken() {
        let mut bulk = Bulk::new();
        let whole = holding(600_000);
        let here = Arc::new(Holding::empty(whole.id(), whole.source_bytes()));
        here.insert(whole.chunk(0).unwrap());
        bulk.open(1, "a".into(), here.clone(), vec![0, 1, 2], Priority::new(true, 1)).unwrap();
        bulk.credit(1, 8192, NOW).unwrap();
        let sent = std::iter::from_fn(|| bulk.next(usize::MAX, NOW)).count();
        assert!(sent > 0);
        bulk.credit(1, 1 << 39, NOW + Duration::from_secs(1)).unwrap();
        let lead = here.lead(0, 0).unwrap();
        let rest = Duration::from_secs(here.stored_bytes() / 8192 - 1);
        assert!(lead >= rest, "{lead:?} for what takes {rest:?} at the rate of what was sent");
    }
}
