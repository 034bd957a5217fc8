//! How far something is on its way, in words that can be trusted: percent and
//! bytes are counted, speed and time left come from what arrived so far.

use std::time::Duration;

use crate::{app::models::ModelState, session::Delivery, wire::Progress};

/// Before this much time has passed a speed says nothing.
const SPEED_KNOWN_AFTER: Duration = Duration::from_millis(400);

/// How far a model is.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrival {
    /// Of its bytes, 0 to 1.
    pub share: f32,
    /// For people.
    pub text: String,
}

impl Arrival {
    /// Of a model on its way here, from what the session says at `now`;
    /// `arriving` has since when.
    pub fn here(arriving: Option<(Progress, Duration)>, now: Duration, state: ModelState) -> Self {
        match arriving {
            Some((progress, since)) => Self::receiving(progress, now.saturating_sub(since)),
            None if state == ModelState::Arriving => Self { share: 0.0, text: "waiting".to_owned() },
            None => Self::loading(),
        }
    }

    /// Of a model on its way to somebody else.
    pub fn there(state: Delivery, progress: Progress, took: Duration) -> Self {
        let share = share(progress);
        let word = |text: &str| Self { share, text: text.to_owned() };
        match state {
            Delivery::Waiting => word("waiting"),
            Delivery::Receiving => Self::receiving(progress, took),
            Delivery::Loading => Self::loading(),
            Delivery::Shown => word("has it"),
            Delivery::Failed => word("cannot show it"),
            Delivery::Cancelled => word("did not want it"),
        }
    }

    fn loading() -> Self {
        Self { share: 1.0, text: "loading".to_owned() }
    }

    fn receiving(progress: Progress, took: Duration) -> Self {
        let Progress { received, total } = progress;
        let share = share(progress);
        let mut text =
            format!("{:.0} %   {} of {} MB", (share * 100.0).floor(), megabytes(received), megabytes(total));
        if took >= SPEED_KNOWN_AFTER && received > 0 {
            let rate = received as f64 / took.as_secs_f64();
            let left_secs = total.saturating_sub(received) as f64 / rate;
            text.push_str(&format!("   {}/s   {} left", bytes(rate), rough_time(left_secs)));
        }
        Self { share, text }
    }
}

fn share(Progress { received, total }: Progress) -> f32 {
    (received as f64 / total.max(1) as f64).clamp(0.0, 1.0) as f32
}

fn megabytes(bytes: usize) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

/// With a unit.
pub fn bytes(count: f64) -> String {
    match count {
        c if c < 999.5 => format!("{c:.0} B"),
        c if c < 999_500.0 => format!("{:.0} KB", c / 1e3),
        c if c < 999.5e6 => format!("{:.1} MB", c / 1e6),
        c => format!("{:.2} GB", c / 1e9),
    }
}

fn rough_time(secs: f64) -> String {
    match secs {
        s if s < 1.0 => "under 1 s".to_owned(),
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        _ => "over an hour".to_owned(),
    }
}

/// How long ago something was.
pub fn ago(age: Duration) -> String {
    match age.as_secs() {
        0..60 => "just now".to_owned(),
        s @ 60..5400 => format!("{} min ago", s / 60),
        s @ 5400..129_600 => format!("{} h ago", (s + 1800) / 3600),
        s => format!("{} days ago", (s + 43_200) / 86_400),
    }
}

/// With commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(received: usize, secs: f32) -> String {
        let progress = Progress { received, total: 23_051_756 };
        let since = Duration::from_secs(100);
        let now = since + Duration::from_secs_f32(secs);
        Arrival::here(Some((progress, since)), now, ModelState::Arriving).text
    }

    #[test]
    fn says_how_long_it_takes() {
        assert_eq!(text(0, 0.0), "0 %   0.0 of 23.1 MB");
        assert_eq!(text(1_000_000, 0.1), "4 %   1.0 of 23.1 MB");
        assert_eq!(text(10_000_000, 5.0), "43 %   10.0 of 23.1 MB   2.0 MB/s   7 s left");
        assert_eq!(text(23_000_000, 5.0), "99 %   23.0 of 23.1 MB   4.6 MB/s   under 1 s left");
        assert_eq!(text(100_000, 5.0), "0 %   0.1 of 23.1 MB   20 KB/s   19 min left");
    }

    #[test]
    fn loading_is_a_state_of_its_own() {
        let all = Arrival::here(None, Duration::ZERO, ModelState::Uploading);
        assert_eq!((all.share, all.text.as_str()), (1.0, "loading"));
        let whole = Progress { received: 9, total: 9 };
        assert_eq!(Arrival::there(Delivery::Loading, whole, Duration::ZERO), all);
        assert_eq!(Arrival::there(Delivery::Cancelled, whole, Duration::ZERO).text, "did not want it");
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!([999.0, 1000.0, 1.5e6, 2.5e9].map(bytes), ["999 B", "1 KB", "1.5 MB", "2.50 GB"]);
        assert_eq!(
            [0, 7, 999, 1000, 885_832, 1_000_000].map(grouped),
            ["0", "7", "999", "1,000", "885,832", "1,000,000"]
        );
        let ages = [5, 61, 7000, 200_000].map(|s| ago(Duration::from_secs(s)));
        assert_eq!(ages, ["just now", "1 min ago", "2 h ago", "2 days ago"]);
    }
}
