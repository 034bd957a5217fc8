//! Lights of files, off unless somebody wants them: the room's own light is made for
//! reading shapes, and theirs comes on top of it.
//!
//! Programs disagree a thousandfold about how bright one candela is, so a file's lights
//! are scaled together: the brightest lights the middle of the model as the room's key
//! light would. How they stand to each other is the file's.

use std::f32::consts::PI;

use bevy::prelude::*;

use crate::{
    app::{AppSystems, preferences::Preferences, room::KEY_LUX},
    model::{Light, LightKind},
    session::Measure,
};

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Update, switch.in_set(AppSystems::Present));
}

/// A light that a file brought along.
#[derive(Component)]
struct FileLight;

/// `measure` is the model's.
pub(super) fn spawn(commands: &mut Commands, content: Entity, lights: &[Light], measure: Measure) {
    let scale = measure.unit_scale();
    let Some(brightness) = brightness(lights, measure) else { return };
    for light in lights {
        let intensity = light.intensity * brightness;
        let [r, g, b] = light.color;
        let color = Color::linear_rgb(r, g, b);
        // A file's metres are not ours: at the size at which it is shown it lights as it did.
        let lumens = intensity * 4.0 * PI * scale * scale;
        let range = light.range.map_or(DEFAULT_RANGE, |range| range * scale);
        let mut spawned = commands.spawn((
            FileLight,
            Transform::from_matrix(light.transform.into()),
            Visibility::Hidden,
            ChildOf(content),
        ));
        match light.kind {
            LightKind::Directional => {
                spawned.insert(DirectionalLight { color, illuminance: intensity, ..default() });
            }
            LightKind::Point => {
                spawned.insert(PointLight { color, intensity: lumens, range, ..default() });
            }
            LightKind::Spot { inner, outer } => {
                spawned.insert(SpotLight {
                    color,
                    intensity: lumens,
                    range,
                    inner_angle: inner,
                    outer_angle: outer,
                    ..default()
                });
            }
        }
    }
}

/// The factor on all intensities; none if no light shines.
fn brightness(lights: &[Light], measure: Measure) -> Option<f32> {
    // A lamp within the model is no nearer to its surfaces than this.
    let nearest = measure.size.max_element() * 0.25;
    let lux = |light: &Light| {
        let strongest = light.color.into_iter().fold(0.0, f32::max);
        let distance = Vec3::from(light.transform.translation).distance(measure.center).max(nearest);
        strongest
            * match light.kind {
                LightKind::Directional => light.intensity,
                LightKind::Point | LightKind::Spot { .. } => light.intensity / (distance * distance),
            }
    };
    let brightness = KEY_LUX / lights.iter().map(lux).filter(|lux| lux.is_finite()).fold(0.0, f32::max);
    (brightness.is_finite() && brightness > 0.0).then_some(brightness)
}

/// Metres.
const DEFAULT_RANGE: f32 = 20.0;

fn switch(preferences: Res<Preferences>, mut lights: Query<&mut Visibility, With<FileLight>>) {
    let wanted = if preferences.get().file_lights { Visibility::Inherited } else { Visibility::Hidden };
    for mut visibility in &mut lights {
        visibility.set_if_neq(wanted);
    }
}

#[cfg(test)]
mod tests {
    use bevy::math::Affine3A;

    use super::*;

    fn light(kind: LightKind, intensity: f32, at: Vec3) -> Light {
        let transform = Affine3A::from_translation(at);
        Light { kind, color: [1.0; 3], intensity, range: None, transform }
    }

    #[test]
    fn the_brightest_light_is_as_bright_as_the_rooms() {
        let measure = Measure { center: Vec3::ZERO, size: Vec3::splat(100.0) };
        let sun = light(LightKind::Directional, 3.0, Vec3::ZERO);
        let lamp = light(LightKind::Point, 3e6, Vec3::X * 1000.0);
        let near = |found: Option<f32>, wanted: f32| {
            assert!(
                found.is_some_and(|found| (found / wanted - 1.0).abs() < 1e-5),
                "{found:?}, not {wanted}"
            );
        };
        near(brightness(&[sun], measure), KEY_LUX / 3.0);
        // As bright at the model as the sun.
        near(brightness(&[lamp], measure), KEY_LUX / 3.0);
        near(brightness(&[sun, light(LightKind::Directional, 1e5, Vec3::ZERO)], measure), KEY_LUX / 1e5);
        // Within the model.
        near(brightness(&[light(LightKind::Point, 625.0, Vec3::ZERO)], measure), KEY_LUX);
        assert_eq!(brightness(&[light(LightKind::Point, 0.0, Vec3::X)], measure), None);
        assert_eq!(brightness(&[], measure), None);
    }
}
