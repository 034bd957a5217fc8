//! What a medium does to packets: a rate, a delay, queues of so many bytes, loss.
//!
//! Pure: no sockets, no clock, so that it is tested without root
//! (`tests/laboratory.rs`). Times are monotonic nanoseconds. Service is computed
//! in the medium's own time: a caller that comes late to [`Medium::poll`] changes
//! when a packet is delivered, never the rate.

use std::collections::VecDeque;

/// What a medium is like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Character {
    pub bytes_per_second: f64,
    /// One way.
    pub delay_ns: u64,
    /// Of each queue; a packet that finds more than this before it is dropped.
    pub queue_bytes: usize,
    /// Chance that a packet is lost.
    pub loss: f64,
    /// One token bucket for all stations, each of which has its own queue and its
    /// turn, as in Wi-Fi. Otherwise the way to each station has a bucket of its own.
    pub air: bool,
}

#[derive(Debug)]
struct Waiting {
    since_ns: u64,
    to: usize,
    packet: Vec<u8>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    bytes: usize,
}

/// What shares a token bucket.
#[derive(Debug)]
struct Channel {
    queues: Vec<Queue>,
    /// Whose turn it is.
    turn: usize,
    /// When the last packet will have been sent.
    free_at_ns: u64,
    /// Sent, not there yet: when they will be.
    on_the_way: VecDeque<(u64, Waiting)>,
}

impl Channel {
    /// Sends what could be sent until now.
    fn serve(&mut self, character: &Character, now_ns: u64) {
        let heads = |channel: &Self| {
            channel.queues.iter().filter_map(|q| q.waiting.front()).map(|w| w.since_ns).min()
        };
        while let Some(earliest) = heads(self) {
            let start = self.free_at_ns.max(earliest);
            if start > now_ns {
                return;
            }
            let count = self.queues.len();
            let next = (0..count)
                .map(|step| (self.turn + step) % count)
                .find(|&at| self.queues[at].waiting.front().is_some_and(|waiting| waiting.since_ns <= start));
            let Some(at) = next else { return };
            let queue = &mut self.queues[at];
            let Some(sent) = queue.waiting.pop_front() else { return };
            queue.bytes -= sent.packet.len();
            self.turn = (at + 1) % count;
            let takes_ns = sent.packet.len() as f64 / character.bytes_per_second * 1e9;
            self.free_at_ns = start + takes_ns as u64;
            self.on_the_way.push_back((self.free_at_ns + character.delay_ns, sent));
        }
    }

    fn next_ns(&self) -> Option<u64> {
        let waits = self.queues.iter().any(|queue| !queue.waiting.is_empty());
        let arrival = self.on_the_way.front().map(|(due, _)| *due);
        arrival.into_iter().chain(waits.then_some(self.free_at_ns)).min()
    }
}

/// Packets on their way between stations.
#[derive(Debug)]
pub struct Medium {
    character: Character,
    channels: Vec<Channel>,
    random: u64,
    pub dropped: u64,
    pub lost: u64,
}

impl Medium {
    pub fn new(character: Character, stations: usize, seed: u64) -> Self {
        let (channels, queues) = if character.air { (1, stations) } else { (stations, 1) };
        let channel = |_| Channel {
            queues: (0..queues).map(|_| Queue::default()).collect(),
            turn: 0,
            free_at_ns: 0,
            on_the_way: VecDeque::new(),
        };
        let channels = (0..channels).map(channel).collect();
        Self { character, channels, random: seed.wrapping_mul(2).wrapping_add(1), dropped: 0, lost: 0 }
    }

    /// A packet from one station to another.
    pub fn offer(&mut self, now_ns: u64, from: usize, to: usize, packet: &[u8]) {
        // Those that went before make room.
        self.serve(now_ns);
        if self.character.loss > 0.0 && self.chance() < self.character.loss {
            self.lost += 1;
            return;
        }
        let queue = if self.character.air {
            &mut self.channels[0].queues[from]
        } else {
            &mut self.channels[to].queues[0]
        };
        if queue.bytes > self.character.queue_bytes {
            self.dropped += 1;
            return;
        }
        queue.bytes += packet.len();
        queue.waiting.push_back(Waiting { since_ns: now_ns, to, packet: packet.to_vec() });
        self.serve(now_ns);
    }

    /// The next packet that is there by now, and whose it is.
    pub fn poll(&mut self, now_ns: u64) -> Option<(usize, Vec<u8>)> {
        self.serve(now_ns);
        let arrived =
            |channel: &&mut Channel| channel.on_the_way.front().is_some_and(|(due, _)| *due <= now_ns);
        let (_, sent) = self.channels.iter_mut().find(arrived)?.on_the_way.pop_front()?;
        Some((sent.to, sent.packet))
    }

    /// When to come again.
    pub fn next_ns(&self) -> Option<u64> {
        self.channels.iter().filter_map(Channel::next_ns).min()
    }

    fn serve(&mut self, now_ns: u64) {
        self.channels.iter_mut().for_each(|channel| channel.serve(&self.character, now_ns));
    }

    /// Between 0 and 1: xorshift, the same packets for the same seed.
    fn chance(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1u64 << 53) as f64
    }
}
