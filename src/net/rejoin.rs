//! When to try a lost connection again.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(4);
/// As long as a host keeps a seat.
const GIVE_UP_AFTER: Duration = crate::session::SEAT_KEPT;

/// Attempts at one host.
#[derive(Debug, Default)]
pub(super) struct Rejoin {
    /// As typed.
    pub address: String,
    since: Option<Duration>,
    attempts: u32,
    due: Option<Duration>,
}

impl Rejoin {
    /// The connection is lost, or an attempt failed: the next is due after 0.5, 1,
    /// 2, 4, 4, ... seconds, a fifth more or less, so that not all guests of a host
    /// come at the same moment.
    pub fn again(&mut self, now: Duration) {
        self.since.get_or_insert(now);
        let wait = (FIRST * 2u32.saturating_pow(self.attempts.min(8))).min(LONGEST);
        self.attempts += 1;
        let mut random = [0u8; 1];
        // Without a random number all come at the same moment.
        let _ = getrandom::fill(&mut random);
        let part = 0.8 + 0.4 * f64::from(random[0]) / 255.0;
        self.due = Some(now + wait.mul_f64(part));
    }

    /// When the next attempt is due.
    pub fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Whether one is due now; it is then begun.
    pub fn take_due(&mut self, now: Duration) -> bool {
        let is_due = self.due.is_some_and(|due| due <= now);
        if is_due {
            self.due = None;
        }
        is_due
    }

    /// Whether it has been tried for long enough.
    pub fn is_over(&self, now: Duration) -> bool {
        self.since.is_some_and(|since| now.saturating_sub(since) >= GIVE_UP_AFTER)
    }

    /// Back again, or not wanted any more.
    pub fn done(&mut self) {
        (self.since, self.attempts, self.due) = (None, 0, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_waits_grow() {
        let mut rejoin = Rejoin::default();
        let mut now = Duration::from_secs(9);
        for expected in [0.5, 1.0, 2.0, 4.0, 4.0] {
            rejoin.again(now);
            let wait = (rejoin.due().unwrap() - now).as_secs_f64();
            assert!((expected * 0.79..expected * 1.21).contains(&wait), "{wait} for {expected}");
            assert!(!rejoin.take_due(now));
            now += Duration::from_secs_f64(wait);
            assert!(rejoin.take_due(now) && !rejoin.take_due(now));
        }
        assert!(!rejoin.is_over(now) && rejoin.is_over(now + GIVE_UP_AFTER));
        rejoin.done();
        assert_eq!(rejoin.due(), None);
    }
}
