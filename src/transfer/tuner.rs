//! The automatic window: as large as the link needs, and no larger, so that what
//! waits in the network's queues is worth about [`TARGET`].
//!
//! `window = bandwidth x (idle round trip + TARGET) + one step`, where bandwidth
//! comes from the last epochs and the idle round trip is the least of the last
//! ten seconds. A window that doubled until throughput stops growing, as QUIC's
//! and yamux's do, would fill the queue, and poses would wait in it.
//!
//! - It begins at [`INITIAL`] and grows by what is consumed (it doubles each
//!   round) until a granted byte takes longer to come than an idle round trip and
//!   the target: then the queue is there.
//! - Where the round trip is long beside the target, one round in eight is a
//!   quarter larger, to find out whether the link has become faster.
//! - When the least round trip is ten seconds old the window is held at
//!   `bandwidth x round trip` until the queue has drained and a new one is known.

use std::{collections::VecDeque, time::Duration};

/// What the bytes on their way may wait in queues.
pub const TARGET: Duration = Duration::from_millis(10);
/// The first window, when nothing is known of the link.
pub const INITIAL: u64 = 16 << 10;
/// The largest.
pub const LARGEST: u64 = 8 << 20;
/// So many epochs tell the bandwidth.
const EPOCHS: usize = 10;
const EPOCH: Duration = Duration::from_millis(100);
/// An epoch of a slow link lasts until so many frames have come, lest a frame
/// more or less look like another bandwidth.
const EPOCH_FRAMES: u32 = 16;
const LONGEST_EPOCH: Duration = Duration::from_secs(1);
/// How long an idle round trip is believed.
const ROUND_TRIP_KEPT: Duration = Duration::from_secs(10);

/// Tunes the window of one connection's incoming bulk.
#[derive(Debug, Clone)]
pub struct Tuner {
    /// The least round trip, and when it was measured.
    round_trip: Option<(Duration, Duration)>,
    epoch_began: Option<Duration>,
    epoch_bytes: u64,
    epoch_frames: u32,
    /// Bytes a second.
    epochs: VecDeque<f64>,
    /// Still growing by doubling; the window then.
    growing: Option<u64>,
    /// How many granted bytes in a row came late.
    late: u32,
    step: u64,
    draining: Option<Drain>,
    round: Round,
}

#[derive(Debug, Clone, Copy)]
struct Drain {
    until: Duration,
    least: Option<Duration>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Round {
    began: Duration,
    number: u32,
}

impl Default for Tuner {
    fn default() -> Self {
        Self {
            round_trip: None,
            epoch_began: None,
            epoch_bytes: 0,
            epoch_frames: 0,
            epochs: VecDeque::with_capacity(EPOCHS),
            growing: Some(INITIAL),
            late: 0,
            step: 1 << 10,
            draining: None,
            round: Round::default(),
        }
    }
}

impl Tuner {
    /// A ping was answered after this time.
    pub fn round_trip(&mut self, round_trip: Duration, now: Duration) {
        if let Some(drain) = &mut self.draining {
            drain.least = Some(drain.least.map_or(round_trip, |least| least.min(round_trip)));
        }
        if self.round_trip.is_none_or(|(least, _)| round_trip <= least) {
            self.round_trip = Some((round_trip, now));
        }
    }

    /// The idle round trip, as far as it is known.
    pub fn idle_round_trip(&self) -> Option<Duration> {
        self.round_trip.map(|(least, _)| least)
    }

    /// A byte beyond what was allowed before came so long after it was granted;
    /// `in_flight` bytes had to come before it.
    pub fn granted_byte_came(&mut self, after: Duration, in_flight: u64) {
        if self.growing.is_none() {
            return;
        }
        let idle = self.idle_round_trip().unwrap_or(after);
        // What was on its way and how long that took: the link's rate, known before
        // the first epoch is over.
        let rate = in_flight as f64 / after.as_secs_f64().max(1e-6);
        let step_time = Duration::from_secs_f64((self.step as f64 / rate.max(1.0)).min(1.0));
        if after > idle + TARGET + step_time {
            self.late += 1;
            if self.late >= 2 {
                self.growing = None;
                self.epochs.push_back(rate);
            }
        } else {
            self.late = 0;
        }
    }

    /// The application has taken a frame of so many bytes.
    pub fn consumed(&mut self, bytes: usize, now: Duration) {
        self.step = self.step.max(bytes as u64).max(1 << 10);
        let Some(began) = self.epoch_began else {
            // The first frame only begins the time.
            self.epoch_began = Some(now);
            return;
        };
        if let Some(window) = &mut self.growing {
            *window = (*window + bytes as u64).min(LARGEST);
        }
        let round_trip = self.idle_round_trip().unwrap_or_default();
        let elapsed = now.saturating_sub(began);
        let enough = elapsed >= EPOCH.max(round_trip) && self.epoch_frames >= EPOCH_FRAMES;
        if enough || elapsed >= LONGEST_EPOCH {
            if elapsed <= 2 * LONGEST_EPOCH {
                if self.epochs.len() == EPOCHS {
                    self.epochs.pop_front();
                }
                self.epochs.push_back(self.epoch_bytes as f64 / elapsed.as_secs_f64());
            }
            self.epoch_began = Some(now);
            (self.epoch_bytes, self.epoch_frames) = (0, 0);
            // The sender may have changed its step.
            self.step = (bytes as u64).max(1 << 10);
        }
        self.epoch_bytes += bytes as u64;
        self.epoch_frames += 1;
    }

    /// Nothing is on its way any more: a pause is no slow epoch.
    pub fn paused(&mut self) {
        self.epoch_began = None;
        (self.epoch_bytes, self.epoch_frames) = (0, 0);
    }

    /// Bytes a second, from the last epochs; before the first is over, zero.
    ///
    /// Between their mean and the second best. Where the round trip is short
    /// beside the target, a window from the mean lets the rate double within a
    /// round, so nothing is lost by it; and on a link that loses packets, where
    /// bytes come in bursts, more would be paid for in waiting. Where the round trip
    /// is long, growth is slow and the second best is the safer guess. The best is
    /// no guide: bytes that were held up somewhere come faster than any link.
    pub fn bandwidth(&self) -> f64 {
        if self.epochs.is_empty() {
            return 0.0;
        }
        let mut sorted: Vec<f64> = self.epochs.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let good = sorted.get(sorted.len().saturating_sub(2)).copied().unwrap_or_default();
        let mean = self.epochs.iter().sum::<f64>() / self.epochs.len() as f64;
        let idle = self.idle_round_trip().unwrap_or_default().as_secs_f64();
        mean + (good - mean).max(0.0) * idle / (idle + TARGET.as_secs_f64())
    }

    /// Bytes that may be on their way now.
    pub fn window(&mut self, now: Duration) -> u64 {
        if let Some(window) = self.growing {
            return window.clamp(INITIAL, LARGEST);
        }
        let (idle, since) = self.round_trip.unwrap_or((Duration::from_millis(50), now));
        self.drain(idle, since, now);
        let mut waits = TARGET;
        if self.draining.is_some() {
            waits = Duration::ZERO;
        }
        let mut window = self.bandwidth() * (idle + waits).as_secs_f64();
        if self.is_probing(idle, now) {
            window *= 1.25;
        }
        // Credit comes in quanta: half of one is always on its way back.
        let window = window as u64 + self.step + self.quantum(window as u64) / 2;
        window.clamp(2 * self.step, LARGEST)
    }

    /// Credit is granted in portions of so many bytes.
    pub fn quantum(&self, window: u64) -> u64 {
        self.step.max(window / 16)
    }

    /// The longest frame of late, bytes.
    pub fn step(&self) -> u64 {
        self.step
    }

    fn drain(&mut self, idle: Duration, since: Duration, now: Duration) {
        match self.draining {
            None if now.saturating_sub(since) > ROUND_TRIP_KEPT => {
                let until = now + (2 * (idle + TARGET)).max(Duration::from_millis(150));
                self.draining = Some(Drain { until, least: None });
            }
            Some(Drain { until, least: Some(least) }) if now >= until => {
                self.round_trip = Some((least, now));
                self.draining = None;
            }
            // No ping was answered: the link is as it was, or nobody is there.
            Some(Drain { until, least: None }) if now >= until + Duration::from_secs(2) => {
                self.round_trip = Some((idle, now));
                self.draining = None;
            }
            _ => {}
        }
    }

    fn is_probing(&mut self, idle: Duration, now: Duration) -> bool {
        if now.saturating_sub(self.round.began) > idle + TARGET {
            self.round = Round { began: now, number: self.round.number.wrapping_add(1) };
        }
        self.draining.is_none() && idle > 4 * TARGET && self.round.number.is_multiple_of(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: f64) -> Duration {
        Duration::from_secs_f64(milliseconds / 1e3)
    }

    /// A link with a queue without end, and a sender that fills each window with
    /// frames: what the tuner makes of it. Gives the mean rate and the mean
    /// waiting time in the queue over the last half.
    fn simulate(rate: f64, round_trip: Duration, step: u64, seconds: f64, rate_later: f64) -> (f64, f64) {
        let mut tuner = Tuner::default();
        tuner.round_trip(round_trip, Duration::ZERO);
        let (mut sent, mut max_sent, mut consumed, mut granted) = (0u64, INITIAL, 0u64, INITIAL);
        let tick = 0.000_25;
        let half = round_trip.as_secs_f64() / 2.0;
        let mut credits: VecDeque<(f64, u64)> = VecDeque::new();
        let mut grants: VecDeque<(f64, u64, u64)> = VecDeque::new();
        let mut arriving: VecDeque<(f64, u64)> = VecDeque::new();
        let mut pongs: VecDeque<(f64, f64)> = VecDeque::new();
        let mut link_free = 0.0f64;
        let (mut t, mut next_ping) = (0.0f64, 0.0f64);
        let (mut waited, mut bytes, mut frames) = (0.0, 0u64, 0u64);
        while t < seconds {
            t += tick;
            let rate = if t < seconds / 2.0 { rate } else { rate_later };
            let now = Duration::from_secs_f64(t);
            if t >= next_ping {
                next_ping += 0.1;
                // It comes back through the queue.
                let back = link_free.max(t + half) + half;
                pongs.push_back((back, back - t));
            }
            while pongs.front().is_some_and(|p| p.0 <= t) {
                let (_, took) = pongs.pop_front().unwrap();
                tuner.round_trip(Duration::from_secs_f64(took), now);
            }
            while credits.front().is_some_and(|c| c.0 <= t) {
                max_sent = credits.pop_front().unwrap().1;
            }
            while sent < max_sent {
                let frame = step.min(max_sent - sent);
                sent += frame;
                let begins = link_free.max(t);
                link_free = begins + frame as f64 / rate;
                if t > seconds * 0.75 {
                    waited += begins - t;
                    frames += 1;
                    bytes += frame;
                }
                arriving.push_back((link_free + half, frame));
            }
            while arriving.front().is_some_and(|a| a.0 <= t) {
                let (_, frame) = arriving.pop_front().unwrap();
                consumed += frame;
                while grants.front().is_some_and(|g| g.1 < consumed) {
                    let (at, _, in_flight) = grants.pop_front().unwrap();
                    tuner.granted_byte_came(Duration::from_secs_f64(t - at), in_flight);
                }
                tuner.consumed(frame as usize, now);
            }
            let window = tuner.window(now);
            if consumed + window >= granted + tuner.quantum(window) {
                grants.push_back((t, granted, granted - consumed));
                granted = consumed + window;
                credits.push_back((t + half, granted));
            }
        }
        (bytes as f64 / (seconds * 0.25), waited / frames as f64 * 1e3)
    }

    #[test]
    fn links_are_filled_and_queues_stay_short() {
        for (megabits, rtt, step) in [
            (50.0, 0.5, 12_500),
            (20.0, 40.0, 5_000),
            (20.0, 200.0, 5_000),
            (0.44, 170.0, 1_024),
            (100.0, 6.0, 16_384),
        ] {
            let rate = megabits * 1e6 / 8.0;
            let (got, waited) = simulate(rate, ms(rtt), step, 16.0, rate);
            let step_ms = step as f64 / rate * 1e3;
            assert!(got >= rate * 0.96, "{megabits} Mbit/s, {rtt} ms: {:.1} %", got / rate * 100.0);
            assert!(
                waited < 14.0 + 2.0 * step_ms,
                "{megabits} Mbit/s, {rtt} ms: {waited:.1} ms in the queue"
            );
        }
    }

    #[test]
    fn a_link_that_changes_is_followed() {
        for (before, after) in [(2.5e6, 10e6), (10e6, 2.5e6)] {
            let (got, waited) = simulate(before, ms(30.0), 5_000, 24.0, after);
            assert!(got >= after * 0.94, "{before} to {after}: {got}");
            assert!(waited < 20.0, "{before} to {after}: {waited} ms");
        }
    }

    #[test]
    fn a_standing_queue_does_not_ratchet() {
        // Over many renewals of the least round trip.
        let (got, waited) = simulate(2.5e6, ms(20.0), 5_000, 80.0, 2.5e6);
        assert!(got > 2.4e6 && waited < 16.0, "{got} {waited}");
    }
}
