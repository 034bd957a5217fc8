//! Play-out of somebody's poses: when each is to be shown, so that motion is
//! smooth at any display rate though the network is not.
//!
//! No clock is synchronised. Per sender the least of (arrival - stamp) over ten
//! seconds is what the fastest pose took; how much later the others come is their
//! jitter. Poses are shown one interval plus that jitter behind, at most
//! [`LONGEST_DELAY`], between two of them; when the next is late, for at most
//! [`LONGEST_EXTRAPOLATION`] as if the motion went on.

use std::{collections::VecDeque, time::Duration};

/// Poses are shown at most so long after they came.
pub const LONGEST_DELAY: Duration = Duration::from_millis(40);
/// Motion is continued at most so long beyond the last pose.
pub const LONGEST_EXTRAPOLATION: Duration = Duration::from_millis(50);
const WINDOW: Duration = Duration::from_secs(10);
/// A window of ten seconds in parts, so that only their minima are kept.
const PARTS: u32 = 10;
const KEPT: usize = 16;

/// Something with the time at which it was so, on our clock, less the way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stamped<T> {
    /// On our clock: when the fastest pose would have come.
    pub at: Duration,
    /// What was so then.
    pub value: T,
}

/// The poses of one sender.
#[derive(Debug, Clone, PartialEq)]
pub struct Playout<T> {
    /// Milliseconds of the sender's clock, unwrapped, at the first pose.
    first: Option<(u32, Duration)>,
    last_stamp: i64,
    last_raw: u32,
    /// Least (arrival - stamp) in microseconds of each part of the window.
    minima: VecDeque<(Duration, i64)>,
    jitter: f64,
    interval: f64,
    latency: f64,
    samples: VecDeque<Stamped<T>>,
}

impl<T> Default for Playout<T> {
    fn default() -> Self {
        Self {
            first: None,
            last_stamp: 0,
            last_raw: 0,
            minima: VecDeque::new(),
            jitter: 0.0,
            interval: 0.0,
            latency: 0.0,
            samples: VecDeque::new(),
        }
    }
}

impl<T: Clone> Playout<T> {
    /// A pose came. `stamp_ms` is the sender's clock; without one its arrival
    /// stands for it.
    pub fn push(&mut self, stamp_ms: Option<u32>, value: T, now: Duration) {
        let Some(stamp_ms) = stamp_ms else {
            return self.keep(Stamped { at: now, value });
        };
        let &mut (first, since) = self.first.get_or_insert((stamp_ms, now));
        if self.samples.is_empty() {
            (self.last_raw, self.last_stamp) = (first, 0);
        }
        // Wrapping: the step from the last one, whichever way is shorter.
        let step = i64::from(stamp_ms.wrapping_sub(self.last_raw) as i32);
        if step < 0 && !self.samples.is_empty() {
            // Older than the last, or a clock that began anew.
            if step > -1000 {
                return;
            }
            *self = Self::default();
            return self.push(Some(stamp_ms), value, now);
        }
        self.last_raw = stamp_ms;
        self.last_stamp += step;
        let arrival = i64::try_from(now.saturating_sub(since).as_micros()).unwrap_or(i64::MAX);
        let took = arrival - self.last_stamp * 1000;
        let least = self.least(took, now);
        let late = (took - least).max(0) as f64 / 1e6;
        self.latency = late;
        // Rises at once, falls slowly: about the largest of the last seconds.
        self.jitter = if late > self.jitter { late } else { self.jitter + (late - self.jitter) * 0.01 };
        let at = now.saturating_sub(Duration::from_secs_f64(late));
        self.keep(Stamped { at, value });
    }

    fn least(&mut self, took: i64, now: Duration) -> i64 {
        match self.minima.back_mut() {
            Some((began, least)) if now.saturating_sub(*began) < WINDOW / PARTS => {
                *least = took.min(*least);
            }
            _ => self.minima.push_back((now, took)),
        }
        while self.minima.front().is_some_and(|(began, _)| now.saturating_sub(*began) > WINDOW) {
            self.minima.pop_front();
        }
        self.minima.iter().map(|(_, least)| *least).min().unwrap_or(took)
    }

    fn keep(&mut self, sample: Stamped<T>) {
        if let Some(last) = self.samples.back() {
            let interval = sample.at.saturating_sub(last.at).as_secs_f64();
            // A pause is no interval.
            if interval < 0.25 {
                self.interval = if self.interval == 0.0 {
                    interval
                } else {
                    self.interval + (interval - self.interval) * 0.1
                };
            }
        }
        if self.samples.len() == KEPT {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }

    /// The latest poses, oldest first, their times on our clock.
    pub fn samples(&self) -> impl Iterator<Item = &Stamped<T>> {
        self.samples.iter()
    }

    /// How far behind poses are shown: one interval and the jitter. From when a pose
    /// was taken until it is shown, less what the fastest took on its way.
    pub fn delay(&self) -> Duration {
        Duration::try_from_secs_f64(self.interval + self.jitter).unwrap_or_default().min(LONGEST_DELAY)
    }

    /// How much longer than the fastest of the last ten seconds the latest pose
    /// took.
    pub fn latency(&self) -> Duration {
        Duration::try_from_secs_f64(self.latency).unwrap_or_default()
    }

    /// What is to be shown now: the two poses around that time and how far it is
    /// from the first to the second. Beyond 1 the motion is continued.
    pub fn at(&self, now: Duration) -> Option<(&T, &T, f32)> {
        let time = now.saturating_sub(self.delay());
        let last = self.samples.back()?;
        let behind = self.samples.iter().rposition(|sample| sample.at <= time);
        let Some(behind) = behind else {
            let first = self.samples.front()?;
            return Some((&first.value, &first.value, 0.0));
        };
        let (a, b) = match (self.samples.get(behind), self.samples.get(behind + 1)) {
            (Some(a), Some(b)) => (a, b),
            // The next has not come yet.
            _ => match behind.checked_sub(1).and_then(|before| self.samples.get(before)) {
                Some(before) => (before, last),
                None => return Some((&last.value, &last.value, 0.0)),
            },
        };
        let span = b.at.saturating_sub(a.at).as_secs_f64();
        // After a pause, and of two at once, there is no motion to continue.
        if !(1e-4..0.25).contains(&span) {
            return Some((&b.value, &b.value, 0.0));
        }
        let time = time.min(b.at + LONGEST_EXTRAPOLATION);
        let part = time.saturating_sub(a.at).as_secs_f64() / span;
        Some((&a.value, &b.value, part as f32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: f64) -> Duration {
        Duration::from_secs_f64(milliseconds / 1e3)
    }

    /// Motion at one metre a second, stamped with a clock of its own that wraps.
    fn play(jitter: impl Fn(u32) -> f64, lost: impl Fn(u32) -> bool) -> (Playout<f64>, Vec<(f64, f64)>) {
        let mut playout = Playout::default();
        let mut shown = Vec::new();
        let mut arrivals: Vec<(f64, u32)> = (0..400)
            .filter(|&n| !lost(n))
            .map(|n| (1000.0 + f64::from(n) * 12.5 + 30.0 + jitter(n), n))
            .collect();
        arrivals.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut next = 0;
        let mut t = 1000.0;
        while t < 6000.0 {
            t += 1000.0 / 72.0;
            while arrivals.get(next).is_some_and(|a| a.0 <= t) {
                let (at, n) = arrivals[next];
                let stamp = (u32::MAX - 1000).wrapping_add((f64::from(n) * 12.5) as u32);
                playout.push(Some(stamp), f64::from(n) * 12.5, ms(at));
                next += 1;
            }
            if let Some((a, b, part)) = playout.at(ms(t)) {
                shown.push((t, a + (b - a) * f64::from(part)));
            }
        }
        (playout, shown)
    }

    /// The largest difference from even motion between two shown frames, ms.
    fn unevenness(shown: &[(f64, f64)]) -> f64 {
        shown[100..350].windows(2).map(|w| ((w[1].1 - w[0].1) - (w[1].0 - w[0].0)).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn even_poses_are_shown_evenly() {
        let (playout, shown) = play(|_| 0.0, |_| false);
        assert!(unevenness(&shown) < 2.5, "{}", unevenness(&shown));
        assert!(playout.delay() < ms(16.0), "{:?}", playout.delay());
        let (t, position) = shown[200];
        let behind = t - 1000.0 - position;
        assert!((40.0..50.0).contains(&behind), "the way and one interval: {behind}");
    }

    #[test]
    fn jitter_and_loss_are_smoothed_within_the_limit() {
        let (playout, shown) = play(|n| f64::from(n * 7919 % 20), |_| false);
        assert!(unevenness(&shown) < 4.0, "{}", unevenness(&shown));
        assert!(playout.delay() <= LONGEST_DELAY && playout.delay() > ms(25.0), "{:?}", playout.delay());
        let (_, shown) = play(|_| 0.0, |n| n % 9 == 0);
        assert!(unevenness(&shown) < 4.0, "one of nine is lost: {}", unevenness(&shown));
    }

    #[test]
    fn motion_is_not_continued_for_ever() {
        let (_, shown) = play(|_| 0.0, |n| n >= 200);
        let end = shown.last().unwrap().1;
        // Stamps are whole milliseconds: a speed is known to a twelfth.
        assert!(end <= 199.0 * 12.5 + 54.5, "{end}");
    }

    #[test]
    fn clocks_may_begin_anew_and_old_poses_are_no_news() {
        let mut playout = Playout::default();
        playout.push(Some(50_000), 1, ms(10.0));
        playout.push(Some(50_010), 2, ms(20.0));
        playout.push(Some(50_005), 3, ms(21.0));
        assert_eq!(playout.samples().map(|s| s.value).collect::<Vec<_>>(), [1, 2]);
        playout.push(Some(7), 4, ms(30.0));
        assert_eq!(playout.samples().map(|s| s.value).collect::<Vec<_>>(), [4]);
        playout.push(None, 5, ms(40.0));
        assert_eq!(playout.at(ms(60.0)).map(|(_, b, _)| *b), Some(5));
    }
}
