//! How far something is on its way, in words that can be trusted: percent and
//! bytes are counted, speed and time left come from the last seconds, for a
//! transfer may stand still, or go on where it was.

use std::{collections::VecDeque, time::Duration};

use bevy::{platform::collections::HashMap, prelude::*};

use crate::{
    app::{
        AppSystems,
        link::{Meeting, receive},
        models::ModelState,
    },
    session::Delivery,
    wire::Progress,
};

/// Speed is what came in this time.
const SPEED_OVER: Duration = Duration::from_secs(3);
/// Before this much time has passed a speed says nothing.
const SPEED_KNOWN_AFTER: Duration = Duration::from_millis(400);

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Speeds>().add_systems(
        Update,
        measure.run_if(resource_changed::<Meeting>).in_set(AppSystems::Receive).after(receive),
    );
}

/// How fast models are on their way, by model and by receiver (none: here).
#[derive(Resource, Debug, Default)]
pub struct Speeds(HashMap<(String, Option<String>), Meter>);

impl Speeds {
    /// Of a model to somebody, or to here.
    pub fn of(&self, model_id: &str, receiver: Option<&str>) -> Speed {
        let key = (model_id.to_owned(), receiver.map(str::to_owned));
        self.0.get(&key).map_or(Speed::Unknown, Meter::speed)
    }
}

/// How fast something is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    /// It is too early to tell.
    Unknown,
    /// Bytes a second.
    Bytes(f64),
    /// Nothing has come for a while.
    Stalled,
}

/// What had come when.
#[derive(Debug, Default)]
struct Meter {
    samples: VecDeque<(Duration, usize)>,
    now: Duration,
}

impl Meter {
    fn push(&mut self, now: Duration, received: usize) {
        self.now = now;
        if self.samples.back().is_none_or(|(_, last)| *last != received) {
            self.samples.push_back((now, received));
        }
        // One from before the span stays, as its beginning.
        while self.samples.get(1).is_some_and(|(at, _)| now.saturating_sub(*at) > SPEED_OVER) {
            self.samples.pop_front();
        }
    }

    fn speed(&self) -> Speed {
        let (Some((began, before)), Some((last, received))) = (self.samples.front(), self.samples.back())
        else {
            return Speed::Unknown;
        };
        if self.now.saturating_sub(*last) > SPEED_OVER {
            return Speed::Stalled;
        }
        let took = self.now.saturating_sub(*began);
        if took < SPEED_KNOWN_AFTER || received <= before {
            return Speed::Unknown;
        }
        Speed::Bytes((received - before) as f64 / took.as_secs_f64())
    }
}

fn measure(meeting: Res<Meeting>, mut speeds: ResMut<Speeds>) {
    let mut before = std::mem::take(&mut speeds.0);
    let mut follow = |model_id: &str, receiver: Option<&str>, progress: Progress| {
        let key = (model_id.to_owned(), receiver.map(str::to_owned));
        let mut meter = before.remove(&key).unwrap_or_default();
        meter.push(meeting.at, progress.received);
        speeds.0.insert(key, meter);
    };
    for model in &meeting.models {
        if let Some((progress, _)) = model.arriving {
            follow(&model.id, None, progress);
        }
        for delivery in model.deliveries.iter().filter(|d| d.state == Delivery::Receiving) {
            follow(&model.id, Some(&delivery.device_id), delivery.progress);
        }
    }
}

/// How far a model is.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrival {
    /// Of its bytes, 0 to 1.
    pub share: f32,
    /// For people.
    pub text: String,
}

impl Arrival {
    /// Of a model on its way here.
    pub fn here(arriving: Option<(Progress, Duration)>, speed: Speed, state: ModelState) -> Self {
        match arriving {
            Some((progress, _)) => Self::receiving(progress, speed),
            None if state == ModelState::Arriving => Self { share: 0.0, text: "waiting".to_owned() },
            None => Self::loading(),
        }
    }

    /// Of a model on its way to somebody else.
    pub fn there(state: Delivery, progress: Progress, speed: Speed) -> Self {
        let share = share(progress);
        let word = |text: &str| Self { share, text: text.to_owned() };
        match state {
            Delivery::Waiting => word("waiting"),
            Delivery::Receiving => Self::receiving(progress, speed),
            Delivery::Loading => Self::loading(),
            Delivery::Shown => word("has it"),
            Delivery::Failed => word("cannot show it"),
            Delivery::Cancelled => word("did not want it"),
        }
    }

    fn loading() -> Self {
        Self { share: 1.0, text: "loading".to_owned() }
    }

    fn receiving(progress: Progress, speed: Speed) -> Self {
        let Progress { received, total } = progress;
        let share = share(progress);
        let mut text =
            format!("{:.0} %   {} of {} MB", (share * 100.0).floor(), megabytes(received), megabytes(total));
        match speed {
            Speed::Unknown => {}
            Speed::Stalled => text.push_str("   stalled"),
            Speed::Bytes(rate) => {
                let left_secs = total.saturating_sub(received) as f64 / rate.max(1.0);
                text.push_str(&format!("   {}/s   {} left", bytes(rate), rough_time(left_secs)));
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn text(received: usize, speed: Speed) -> String {
        let progress = Progress { received, total: 23_051_756 };
        Arrival::here(Some((progress, Duration::ZERO)), speed, ModelState::Arriving).text
    }

    #[test]
    fn says_how_long_it_takes() {
        assert_eq!(text(0, Speed::Unknown), "0 %   0.0 of 23.1 MB");
        assert_eq!(text(10_000_000, Speed::Bytes(2e6)), "43 %   10.0 of 23.1 MB   2.0 MB/s   7 s left");
        assert_eq!(
            text(23_000_000, Speed::Bytes(4.6e6)),
            "99 %   23.0 of 23.1 MB   4.6 MB/s   under 1 s left"
        );
        assert_eq!(text(100_000, Speed::Bytes(2e4)), "0 %   0.1 of 23.1 MB   20 KB/s   19 min left");
        assert_eq!(text(100_000, Speed::Stalled), "0 %   0.1 of 23.1 MB   stalled");
    }

    #[test]
    fn speed_is_that_of_the_last_seconds() {
        let mut meter = Meter::default();
        let at = Duration::from_millis;
        // It goes on where it was: what was there before is no speed.
        meter.push(at(0), 5_000_000);
        meter.push(at(200), 5_020_000);
        assert_eq!(meter.speed(), Speed::Unknown);
        for ms in (400..=10_000).step_by(200) {
            meter.push(at(ms), 5_000_000 + ms as usize * 100);
        }
        let Speed::Bytes(rate) = meter.speed() else { panic!("no speed") };
        assert!((rate - 1e5).abs() < 1e3, "{rate}");
        // Nothing comes any more: slower and slower, then that is said.
        meter.push(at(12_000), 6_000_000);
        let Speed::Bytes(slower) = meter.speed() else { panic!("no speed") };
        assert!(slower < rate * 0.6, "{slower}");
        meter.push(at(13_100), 6_000_000);
        assert_eq!(meter.speed(), Speed::Stalled);
        meter.push(at(13_200), 6_100_000);
        assert!(matches!(meter.speed(), Speed::Bytes(_)));
    }

    #[test]
    fn loading_is_a_state_of_its_own() {
        let all = Arrival::here(None, Speed::Unknown, ModelState::Uploading);
        assert_eq!((all.share, all.text.as_str()), (1.0, "loading"));
        let whole = Progress { received: 9, total: 9 };
        assert_eq!(Arrival::there(Delivery::Loading, whole, Speed::Unknown), all);
        assert_eq!(Arrival::there(Delivery::Cancelled, whole, Speed::Unknown).text, "did not want it");
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!([999.0, 1000.0, 1.5e6, 2.5e9].map(bytes), ["999 B", "1 KB", "1.5 MB", "2.50 GB"]);
        let ages = [5, 61, 7000, 200_000].map(|s| ago(Duration::from_secs(s)));
        assert_eq!(ages, ["just now", "1 min ago", "2 h ago", "2 days ago"]);
    }
}
