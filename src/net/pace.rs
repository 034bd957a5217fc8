//! `--pace`: a throttle for models, so that a fast machine behaves like a slow
//! link.

use std::time::{Duration, Instant};

/// Bytes that a pause may save up.
const BURST: Duration = Duration::from_millis(20);

/// A token bucket.
#[derive(Debug, Clone)]
pub(super) struct Pace {
    bytes_per_second: f64,
    saved: f64,
    last: Instant,
}

impl Pace {
    /// So many million bits a second.
    pub fn new(megabits_per_second: f64, now: Instant) -> Self {
        Self { bytes_per_second: (megabits_per_second * 1e6 / 8.0).max(100.0), saved: 0.0, last: now }
    }

    /// How many of `wanted` bytes may go now, or how long to wait.
    pub fn allow(&mut self, wanted: usize, now: Instant) -> Result<usize, Duration> {
        let most = (self.bytes_per_second * BURST.as_secs_f64()).max(1.0);
        let earned = now.saturating_duration_since(self.last).as_secs_f64() * self.bytes_per_second;
        self.saved = (self.saved + earned).min(most);
        self.last = now;
        // Not byte by byte: at least a quarter of the burst, or what is left.
        let least = (most / 4.0).max(1.0).min(wanted as f64);
        if self.saved < least {
            let wait = Duration::from_secs_f64((least - self.saved) / self.bytes_per_second);
            return Err(wait.max(Duration::from_micros(500)));
        }
        Ok(wanted.min(self.saved as usize).max(1))
    }

    /// So many went.
    pub fn spend(&mut self, bytes: usize) {
        self.saved -= bytes as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept() {
        let start = Instant::now();
        let mut now = start;
        let mut pace = Pace::new(8.0, now);
        let mut left = 2_000_000usize;
        while left > 0 {
            match pace.allow(left.min(100_000), now) {
                Ok(bytes) => {
                    pace.spend(bytes);
                    left -= bytes;
                }
                Err(wait) => now += wait,
            }
        }
        let seconds = (now - start).as_secs_f64();
        assert!((1.95..2.1).contains(&seconds), "{seconds}");
    }
}
