//! Where a participant without hands is: at rest, where it was put, or in smooth
//! synthetic motion. For the headless participant and the demonstration's guest.

use std::time::{Duration, Instant};

use glam::{Quat, Vec3};

use crate::session::{Body, Pose};

/// A clock for poses, and what they are.
#[derive(Debug)]
pub struct Motion {
    start: Instant,
    next: Instant,
    interval: Duration,
    stand: Body,
    streaming: bool,
}

impl Motion {
    /// At rest, so many poses a second.
    pub fn new(now: Instant, hz: f64) -> Self {
        let interval = Duration::from_secs_f64(1.0 / hz);
        Self { start: now, next: now, interval, stand: Body::rest(), streaming: false }
    }

    /// Stands there from now on.
    pub fn stand(&mut self, body: Body) {
        self.stand = body;
        self.streaming = false;
    }

    /// Moves, so many poses a second; 0: stands again.
    pub fn stream(&mut self, hz: f64, rest_hz: f64, now: Instant) {
        self.streaming = hz > 0.0;
        let hz = if self.streaming { hz.min(1000.0) } else { rest_hz };
        self.interval = Duration::from_secs_f64(1.0 / hz.max(0.01));
        self.next = now;
    }

    /// When the next pose is due.
    pub fn due(&self) -> Instant {
        self.next
    }

    /// The pose, if it is due.
    pub fn body_if_due(&mut self, now: Instant) -> Option<Body> {
        if now < self.next {
            return None;
        }
        self.next += self.interval;
        // After a stall: no burst of late ones.
        if self.next < now {
            self.next = now + self.interval;
        }
        Some(if self.streaming { moving(now.duration_since(self.start).as_secs_f32()) } else { self.stand })
    }
}

/// Somebody at the origin who looks around and waves the wands, `t` seconds in.
pub fn moving(t: f32) -> Body {
    let rest = Body::rest();
    let wave = |phase: f32, speed: f32| (t * speed + phase).sin();
    let swing = |pose: Pose, phase: f32| Pose {
        position: pose.position
            + Vec3::new(
                0.05 * wave(phase, 1.3),
                0.08 * wave(phase + 1.0, 2.1),
                0.06 * wave(phase + 2.0, 1.7),
            ),
        rotation: Quat::from_rotation_y(0.4 * wave(phase, 1.9)) * pose.rotation,
    };
    Body {
        left: swing(rest.left, 0.0),
        right: swing(rest.right, 2.0),
        head: Pose {
            position: rest.head.position + Vec3::new(0.03 * wave(0.5, 0.9), 0.01 * wave(0.0, 2.3), 0.0),
            rotation: Quat::from_rotation_y(0.5 * wave(0.0, 0.7))
                * Quat::from_rotation_x(0.15 * wave(1.0, 1.1)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_and_a_stall_makes_no_burst() {
        let start = Instant::now();
        let mut motion = Motion::new(start, 10.0);
        motion.stream(50.0, 10.0, start);
        let mut count = 0;
        for ms in 0..1000 {
            count += usize::from(motion.body_if_due(start + Duration::from_millis(ms)).is_some());
        }
        assert!((49..=51).contains(&count), "{count}");
        let late = start + Duration::from_secs(5);
        assert!(motion.body_if_due(late).is_some());
        assert!(motion.body_if_due(late).is_none());
    }

    #[test]
    fn motion_is_smooth() {
        for step in 0..500 {
            let t = step as f32 / 50.0;
            let (a, b) = (moving(t), moving(t + 0.02));
            for (a, b) in [(a.left, b.left), (a.right, b.right), (a.head, b.head)] {
                assert!((a.position - b.position).length() < 0.01);
                assert!(a.rotation.angle_between(b.rotation) < 0.05);
            }
        }
    }
}
