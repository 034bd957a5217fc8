//! The receiving end of one connection's bulk: which channels are open, what they
//! may send, and what has come and waits to be stored.
//!
//! The connection's reader puts frames in, the store's thread takes them out and
//! says when it is done with them; only then is credit granted. A store that is
//! slow stops the models, not the poses behind them.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;

use super::{ChunkAssembler, Holding, Priority, ReceiveWindow, Tuner, WindowError, WindowMode};

/// Frames that may wait for the store: the largest automatic window in the
/// smallest steps. Windows bound their bytes.
const MAXIMUM_PIECES: usize = 1 << 17;
/// Bytes that may wait for the store where no window bounds them: a reader that
/// finds more waits itself, as without any control.
const CROWDED_BYTES: usize = 16 << 20;
/// Closed channels that are remembered: their last bytes may still come.
const REMEMBERED: usize = 256;
/// Unlimited credit: far from the end of the numbers.
const UNLIMITED: u64 = u64::MAX / 2;

/// What the store's thread is to do next.
#[derive(Debug, Clone)]
pub struct Piece {
    /// Of which channel.
    pub channel: u16,
    /// What it is a part of.
    pub holding: Arc<Holding>,
    /// Puts its chunks together.
    pub assembler: Arc<Mutex<ChunkAssembler>>,
    /// Bytes of the channel's stream; the end of the stream where there are none.
    pub bytes: Option<Bytes>,
}

impl Piece {
    fn len(&self) -> usize {
        self.bytes.as_ref().map_or(0, Bytes::len)
    }
}

/// Credit to be sent: the channel may send up to this offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credit {
    /// To which channel.
    pub channel: u16,
    /// In the channel's stream.
    pub max_offset: u64,
}

#[derive(Debug)]
struct Receiving {
    holding: Arc<Holding>,
    assembler: Arc<Mutex<ChunkAssembler>>,
    window: ReceiveWindow,
    priority: Priority,
    /// Offsets beyond which bytes come only by grants of that time, and the bytes
    /// that were on their way then.
    grants: VecDeque<(u64, Duration, u64)>,
    last_byte: Duration,
    done: bool,
}

/// The channels that one peer fills.
#[derive(Debug)]
pub struct Inbound {
    mode: WindowMode,
    tuner: Tuner,
    channels: BTreeMap<u16, Receiving>,
    closed: VecDeque<(u16, u64)>,
    pieces: VecDeque<Piece>,
    /// In `pieces`.
    waiting_bytes: usize,
    turn: u16,
    window_now: u64,
}

impl Inbound {
    /// Nothing is open.
    pub fn new(mode: WindowMode) -> Self {
        Self {
            mode,
            tuner: Tuner::default(),
            channels: BTreeMap::new(),
            closed: VecDeque::new(),
            pieces: VecDeque::new(),
            waiting_bytes: 0,
            turn: 0,
            window_now: 0,
        }
    }

    /// Opens a channel that is about to be asked for. [`Self::grants`] has its
    /// first credit.
    pub fn open(&mut self, channel: u16, holding: Arc<Holding>, priority: Priority, now: Duration) {
        self.closed.retain(|(closed, _)| *closed != channel);
        let receiving = Receiving {
            holding,
            assembler: Arc::default(),
            window: ReceiveWindow::default(),
            priority,
            grants: VecDeque::new(),
            last_byte: now,
            done: false,
        };
        self.channels.insert(channel, receiving);
    }

    /// Closes a channel: what still comes of it is passed over.
    pub fn close(&mut self, channel: u16) {
        if let Some(receiving) = self.channels.remove(&channel) {
            self.pieces.retain(|piece| piece.channel != channel);
            self.waiting_bytes = self.pieces.iter().map(Piece::len).sum();
            self.closed.push_back((channel, receiving.window.max_offset()));
            if self.closed.len() > REMEMBERED {
                self.closed.pop_front();
            }
        }
        if self.channels.is_empty() {
            self.tuner.paused();
        }
    }

    /// Whether anything is on its way.
    pub fn is_receiving(&self) -> bool {
        !self.channels.is_empty()
    }

    /// A frame of data came. Whether the store has to look.
    pub fn data(
        &mut self,
        channel: u16,
        offset: u64,
        bytes: Bytes,
        now: Duration,
    ) -> Result<bool, WindowError> {
        let end = offset.saturating_add(bytes.len() as u64);
        let Some(receiving) = self.channels.get_mut(&channel) else {
            return match self.closed.iter().find(|(closed, _)| *closed == channel) {
                Some((_, allowed)) if end <= *allowed => Ok(false),
                Some((_, allowed)) => Err(WindowError::Exceeded { end, allowed: *allowed }),
                None => Err(WindowError::UnknownChannel(channel)),
            };
        };
        if bytes.is_empty() || receiving.done {
            return Err(WindowError::WrongLength);
        }
        receiving.window.receive(offset, bytes.len())?;
        receiving.last_byte = now;
        while let Some(&(beyond, at, in_flight)) = receiving.grants.front() {
            if beyond >= end {
                break;
            }
            receiving.grants.pop_front();
            self.tuner.granted_byte_came(now.saturating_sub(at), in_flight);
        }
        let piece = receiving.piece(channel, Some(bytes));
        self.put(piece)
    }

    /// The sender says that it has sent all. Whether the store has to look.
    pub fn done(&mut self, channel: u16) -> Result<bool, WindowError> {
        let Some(receiving) = self.channels.get_mut(&channel) else {
            let known = self.closed.iter().any(|(closed, _)| *closed == channel);
            return if known { Ok(false) } else { Err(WindowError::UnknownChannel(channel)) };
        };
        if std::mem::replace(&mut receiving.done, true) {
            return Err(WindowError::WrongLength);
        }
        let piece = receiving.piece(channel, None);
        self.put(piece)
    }

    fn put(&mut self, piece: Piece) -> Result<bool, WindowError> {
        if self.pieces.len() >= MAXIMUM_PIECES {
            return Err(WindowError::TooManyPieces);
        }
        self.waiting_bytes += piece.len();
        self.pieces.push_back(piece);
        Ok(true)
    }

    /// The next piece to store.
    pub fn take(&mut self) -> Option<Piece> {
        let piece = self.pieces.pop_front()?;
        self.waiting_bytes -= piece.len();
        Some(piece)
    }

    /// Whether so much waits for the store that the reader should wait, too. With
    /// an automatic window that never comes to pass.
    pub fn is_crowded(&self) -> bool {
        self.waiting_bytes >= CROWDED_BYTES
    }

    /// The store is done with bytes of a channel.
    pub fn consumed(&mut self, channel: u16, bytes: usize, now: Duration) {
        if let Some(receiving) = self.channels.get_mut(&channel) {
            receiving.window.consume(bytes);
        }
        self.tuner.consumed(bytes, now);
    }

    /// A ping was answered.
    pub fn round_trip(&mut self, round_trip: Duration, now: Duration) {
        self.tuner.round_trip(round_trip, now);
    }

    /// The window of the connection as it was last, in bytes: what `stats` says.
    pub fn window_bytes(&self) -> u64 {
        match self.mode {
            WindowMode::Auto => self.window_now,
            WindowMode::Fixed(bytes) => bytes,
            WindowMode::Unlimited => UNLIMITED,
        }
    }

    /// Bytes a second that come in at best; zero before it is known.
    pub fn bandwidth(&self) -> f64 {
        self.tuner.bandwidth()
    }

    /// Credit that can be granted now.
    pub fn grants(&mut self, now: Duration) -> Vec<Credit> {
        match self.mode {
            WindowMode::Unlimited => self.grant_each(UNLIMITED, UNLIMITED, now),
            WindowMode::Fixed(bytes) => {
                let quantum = self.tuner.step().max(bytes / 4).min(bytes);
                self.grant_each(bytes, quantum, now)
            }
            WindowMode::Auto => self.grant_shared(now),
        }
    }

    /// Each channel has a window of its own.
    fn grant_each(&mut self, window: u64, quantum: u64, now: Duration) -> Vec<Credit> {
        let mut credits = Vec::new();
        for (&channel, receiving) in &mut self.channels {
            let max_offset = match window {
                UNLIMITED => UNLIMITED,
                window => receiving.window.consumed() + window,
            };
            let more = max_offset.saturating_sub(receiving.window.max_offset());
            if more >= quantum || (more > 0 && receiving.window.max_offset() == 0) {
                receiving.grant(max_offset, now);
                credits.push(Credit { channel, max_offset });
            }
        }
        credits
    }

    /// The channels share one window, the tuner's: those that are shown and small
    /// come first, equals take turns. Credit that a sender leaves unused (it has
    /// no bytes yet, say) stops nobody else.
    fn grant_shared(&mut self, now: Duration) -> Vec<Credit> {
        if self.channels.is_empty() {
            return Vec::new();
        }
        let window = self.tuner.window(now);
        self.window_now = window;
        let quantum = self.tuner.quantum(window).min(window);
        let round_trip = self.tuner.idle_round_trip().unwrap_or(Duration::from_millis(100));
        let patience = (4 * round_trip).max(Duration::from_millis(250));
        let stalled = |receiving: &Receiving| now.saturating_sub(receiving.last_byte) > patience;
        let on_the_way = |channels: &BTreeMap<u16, Receiving>| -> u64 {
            channels.values().filter(|r| !stalled(r)).map(|r| r.window.outstanding()).sum()
        };
        let alone = self.channels.len() == 1;
        let mut free = window.saturating_sub(on_the_way(&self.channels));
        let mut credits: BTreeMap<u16, u64> = BTreeMap::new();
        while free >= quantum {
            let open = self.channels.iter().filter(|(_, r)| !r.done && r.window.outstanding() < window);
            let turn = self.turn;
            // Behind the one that had its turn, then from the start.
            let next = open.min_by_key(|&(&channel, r)| (r.priority, channel <= turn, channel));
            let Some(channel) = next.map(|(channel, _)| *channel) else { break };
            let Some(receiving) = self.channels.get_mut(&channel) else { break };
            let room = window - receiving.window.outstanding();
            // A single channel gets all at once.
            let portion = if alone { free } else { quantum };
            let portion = portion.min(room).min(free).max(1);
            let max_offset = receiving.window.max_offset() + portion;
            receiving.grant(max_offset, now);
            credits.insert(channel, max_offset);
            self.turn = channel;
            free -= portion;
        }
        credits.into_iter().map(|(channel, max_offset)| Credit { channel, max_offset }).collect()
    }
}

impl Receiving {
    fn piece(&self, channel: u16, bytes: Option<Bytes>) -> Piece {
        Piece { channel, holding: self.holding.clone(), assembler: self.assembler.clone(), bytes }
    }

    fn grant(&mut self, max_offset: u64, now: Duration) {
        let before = self.window.max_offset();
        let in_flight = self.window.outstanding();
        if self.window.grant(max_offset) {
            // A granted byte that nobody was waiting for says nothing of the link.
            if self.window.consumed() == 0 && before == 0 {
                self.last_byte = now;
            }
            self.grants.push_back((before, now, in_flight));
            if self.grants.len() > 256 {
                self.grants.pop_front();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(5);

    fn holding() -> Arc<Holding> {
        Arc::new(Holding::empty(
            super::super::RepresentationId::new([0; 32], super::super::Method::Raw),
            10 << 20,
        ))
    }

    fn data(inbound: &mut Inbound, channel: u16, offset: u64, bytes: usize) -> Result<bool, WindowError> {
        inbound.data(channel, offset, vec![0; bytes].into(), NOW)
    }

    #[test]
    fn a_fixed_window_is_granted_as_it_is_consumed() {
        let mut inbound = Inbound::new(WindowMode::Fixed(4096));
        inbound.open(3, holding(), Priority::default(), NOW);
        assert_eq!(inbound.grants(NOW), [Credit { channel: 3, max_offset: 4096 }]);
        assert_eq!(data(&mut inbound, 3, 0, 4096), Ok(true));
        assert!(inbound.grants(NOW).is_empty(), "received is not consumed");
        inbound.consumed(3, 100, NOW);
        assert!(inbound.grants(NOW).is_empty(), "not for every byte");
        inbound.consumed(3, 3996, NOW);
        assert_eq!(inbound.grants(NOW), [Credit { channel: 3, max_offset: 8192 }]);
        assert_eq!(
            data(&mut inbound, 3, 4096, 4097),
            Err(WindowError::Exceeded { end: 8193, allowed: 8192 })
        );
    }

    #[test]
    fn bytes_of_a_closed_channel_are_passed_over_within_its_window() {
        let mut inbound = Inbound::new(WindowMode::Fixed(1000));
        inbound.open(3, holding(), Priority::default(), NOW);
        inbound.grants(NOW);
        data(&mut inbound, 3, 0, 10).unwrap();
        inbound.close(3);
        assert!(inbound.take().is_none(), "what waited is gone");
        assert_eq!(data(&mut inbound, 3, 10, 990), Ok(false));
        assert_eq!(inbound.done(3), Ok(false));
        assert!(matches!(data(&mut inbound, 3, 10, 991), Err(WindowError::Exceeded { .. })));
        assert_eq!(data(&mut inbound, 4, 0, 1), Err(WindowError::UnknownChannel(4)));
        assert_eq!(inbound.done(4), Err(WindowError::UnknownChannel(4)));
    }

    #[test]
    fn shown_and_small_come_first_and_equals_share() {
        let mut inbound = Inbound::new(WindowMode::Auto);
        inbound.open(1, holding(), Priority::new(false, 10 << 20), NOW);
        inbound.open(2, holding(), Priority::new(true, 10 << 20), NOW);
        inbound.open(3, holding(), Priority::new(true, 10 << 20), NOW);
        inbound.open(4, holding(), Priority::new(true, 100), NOW);
        let credits = inbound.grants(NOW);
        assert_eq!(credits.len(), 1, "the window is one channel's: {credits:?}");
        assert_eq!(credits[0].channel, 4);
        inbound.close(4);
        let credits = inbound.grants(NOW);
        assert_eq!(credits.iter().map(|c| c.channel).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(credits[0].max_offset, credits[1].max_offset);
        // Who has credit and sends nothing is passed over.
        let later = NOW + Duration::from_secs(1);
        assert!(!inbound.grants(later).is_empty());
    }
}
