//! One animation: values over time.

use glam::{Quat, Vec3, Vec4};

use super::Node;

/// Something that can be played.
#[derive(Debug, Clone)]
pub struct Clip {
    /// The file's name for it, for people to read; may be empty.
    pub name: String,
    /// From its beginning to its last key.
    pub duration_secs: f32,
    pub(super) channels: Vec<Channel>,
}

/// What changes over time.
#[derive(Debug, Clone)]
pub(super) struct Channel {
    pub(super) node: usize,
    pub(super) path: Path,
    pub(super) curve: Curve,
}

/// Which property of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Path {
    Translation,
    Rotation,
    Scale,
    Weights,
}

/// Keys in the order of their times, which are finite and do not fall.
#[derive(Debug, Clone)]
pub(super) struct Curve {
    /// Seconds.
    pub(super) times: Vec<f32>,
    /// `width` for each key; three times as many for a spline: slope before, value, slope after.
    pub(super) values: Vec<f32>,
    pub(super) width: usize,
    pub(super) interpolation: Interpolation,
}

/// What lies between two keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interpolation {
    Step,
    Linear,
    Spline,
}

impl Clip {
    pub(super) fn apply(&self, seconds: f32, nodes: &mut [Node]) {
        for channel in &self.channels {
            let Some(node) = nodes.get_mut(channel.node) else { continue };
            let curve = &channel.curve;
            match channel.path {
                Path::Translation => {
                    node.local.translation = curve.vector(seconds).unwrap_or(node.local.translation)
                }
                Path::Scale => node.local.scale = curve.vector(seconds).unwrap_or(node.local.scale),
                Path::Rotation => {
                    node.local.rotation = curve.rotation(seconds).unwrap_or(node.local.rotation)
                }
                Path::Weights => node.weights = curve.at(seconds),
            }
        }
    }

    /// The nodes that it moves.
    pub(super) fn moved(&self) -> impl Iterator<Item = usize> {
        self.channels.iter().filter(|channel| channel.path != Path::Weights).map(|channel| channel.node)
    }

    /// A half turn about z, in `seconds`.
    #[cfg(test)]
    pub(super) fn turning(node: usize, seconds: f32) -> Self {
        let curve = Curve {
            times: vec![0.0, seconds],
            values: vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0],
            width: 4,
            interpolation: Interpolation::Linear,
        };
        let channels = vec![Channel { node, path: Path::Rotation, curve }];
        Self { name: String::new(), duration_secs: seconds, channels }
    }
}

impl Curve {
    /// The key before a time, and how far it is to the next: 0 to 1.
    fn place(&self, seconds: f32) -> (usize, f32, f32) {
        let after = self.times.partition_point(|&time| time <= seconds);
        let before = after.saturating_sub(1);
        let (Some(&from), Some(&to)) = (self.times.get(before), self.times.get(after)) else {
            return (before, 0.0, 0.0);
        };
        let length = to - from;
        // Before the first key both are the first.
        let share = if length > 0.0 { ((seconds - from) / length).clamp(0.0, 1.0) } else { 0.0 };
        (before, share, length)
    }

    /// Values of a key; `part` is which of the three of a spline.
    fn key(&self, key: usize, part: usize) -> &[f32] {
        let number = if self.interpolation == Interpolation::Spline { key * 3 + part } else { key };
        self.values.get(number * self.width..(number + 1) * self.width).unwrap_or_default()
    }

    /// All values at a time.
    pub(super) fn at(&self, seconds: f32) -> Vec<f32> {
        let (key, share, length) = self.place(seconds);
        let from = self.key(key, 1);
        if share == 0.0 || self.interpolation == Interpolation::Step {
            return from.to_vec();
        }
        let pairs = from.iter().zip(self.key(key + 1, 1));
        if self.interpolation == Interpolation::Linear {
            return pairs.map(|(a, b)| a + (b - a) * share).collect();
        }
        let (s, s2, s3) = (share, share * share, share * share * share);
        pairs
            .zip(self.key(key, 2).iter().zip(self.key(key + 1, 0)))
            .map(|((a, b), (leaving, arriving))| {
                (2.0 * s3 - 3.0 * s2 + 1.0) * a
                    + (s3 - 2.0 * s2 + s) * length * leaving
                    + (3.0 * s2 - 2.0 * s3) * b
                    + (s3 - s2) * length * arriving
            })
            .collect()
    }

    fn vector(&self, seconds: f32) -> Option<Vec3> {
        let values: [f32; 3] = self.at(seconds).try_into().ok()?;
        Some(Vec3::from(values)).filter(|v| v.is_finite())
    }

    fn rotation(&self, seconds: f32) -> Option<Quat> {
        let quat = |values: &[f32]| {
            let values: [f32; 4] = values.try_into().ok()?;
            Vec4::from(values).try_normalize().map(Quat::from_vec4)
        };
        if self.interpolation == Interpolation::Linear {
            let (key, share, _) = self.place(seconds);
            let from = quat(self.key(key, 1))?;
            return Some(quat(self.key(key + 1, 1)).map_or(from, |to| from.slerp(to, share)));
        }
        quat(&self.at(seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(interpolation: Interpolation, values: &[f32]) -> Curve {
        Curve { times: vec![1.0, 3.0], values: values.to_vec(), width: 1, interpolation }
    }

    #[test]
    fn between_keys_and_beyond_them() {
        let linear = curve(Interpolation::Linear, &[10.0, 20.0]);
        for (time, value) in [(0.0, 10.0), (1.0, 10.0), (2.0, 15.0), (3.0, 20.0), (9.0, 20.0)] {
            assert_eq!(linear.at(time), [value], "{time}");
        }
        let step = curve(Interpolation::Step, &[10.0, 20.0]);
        assert_eq!((step.at(2.9), step.at(3.0)), (vec![10.0], vec![20.0]));
        // A spline with level ends is half-way in the middle; with slopes it overshoots.
        let level = curve(Interpolation::Spline, &[0.0, 10.0, 0.0, 0.0, 20.0, 0.0]);
        assert_eq!(level.at(2.0), [15.0]);
        let steep = curve(Interpolation::Spline, &[0.0, 10.0, 8.0, 0.0, 20.0, 0.0]);
        assert_eq!(steep.at(2.0), [17.0]);
    }

    #[test]
    fn rotations_take_the_shorter_way() {
        let clip = Clip::turning(0, 2.0);
        let turned = clip.channels[0].curve.rotation(1.0).unwrap();
        assert!((turned * Vec3::X).abs_diff_eq(Vec3::Y, 1e-6));
        let mut broken = clip.channels[0].curve.clone();
        broken.values.truncate(3);
        assert!(broken.rotation(1.0).is_none());
    }
}
