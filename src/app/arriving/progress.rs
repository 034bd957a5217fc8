//! How far a model is, in words.

use std::time::Duration;

use crate::{app::models::ModelState, wire::Progress};

/// Before this much time has passed a speed says nothing.
const SPEED_KNOWN_AFTER: Duration = Duration::from_millis(400);

/// How far a model on its way is.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrival {
    /// Of its bytes, 0 to 1.
    pub share: f32,
    /// For people.
    pub text: String,
}

impl Arrival {
    /// From what the session says at `now`; `arriving` has since when.
    pub fn of(arriving: Option<(Progress, Duration)>, now: Duration, state: ModelState) -> Self {
        let Some((progress, since)) = arriving else {
            let text = if state == ModelState::Arriving { "waiting" } else { "loading" };
            return Self { share: 1.0, text: text.to_owned() };
        };
        let Progress { received, total } = progress;
        let share = (received as f64 / total.max(1) as f64).clamp(0.0, 1.0);
        let mut text =
            format!("{:.0} %   {} of {}", (share * 100.0).floor(), megabytes(received), megabytes(total));
        text.push_str(" MB");
        let took = now.saturating_sub(since);
        if took >= SPEED_KNOWN_AFTER && received > 0 {
            let left_secs = took.as_secs_f64() * total.saturating_sub(received) as f64 / received as f64;
            text.push_str(&format!("   {} left", rough_time(left_secs)));
        }
        Self { share: share as f32, text }
    }
}

fn megabytes(bytes: usize) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

fn rough_time(secs: f64) -> String {
    match secs {
        s if s < 1.0 => "under 1 s".to_owned(),
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        _ => "over an hour".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(received: usize, secs: f32) -> String {
        let progress = Progress { received, total: 23_051_756 };
        let since = Duration::from_secs(100);
        let now = since + Duration::from_secs_f32(secs);
        Arrival::of(Some((progress, since)), now, ModelState::Arriving).text
    }

    #[test]
    fn says_how_long_it_takes() {
        assert_eq!(text(0, 0.0), "0 %   0.0 of 23.1 MB");
        assert_eq!(text(1_000_000, 0.1), "4 %   1.0 of 23.1 MB");
        assert_eq!(text(10_000_000, 5.0), "43 %   10.0 of 23.1 MB   7 s left");
        assert_eq!(text(23_000_000, 5.0), "99 %   23.0 of 23.1 MB   under 1 s left");
        assert_eq!(text(100_000, 5.0), "0 %   0.1 of 23.1 MB   19 min left");
    }

    #[test]
    fn loading_is_a_state_of_its_own() {
        let all = Arrival::of(None, Duration::ZERO, ModelState::Uploading);
        assert_eq!((all.share, all.text.as_str()), (1.0, "loading"));
    }
}
