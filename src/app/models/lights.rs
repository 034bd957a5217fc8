//! Lights of files, off unless somebody wants them: the room's own light is made for
//! reading shapes, and theirs comes on top of it.

use std::f32::consts::PI;

use bevy::prelude::*;

use crate::{
    app::{AppSystems, preferences::Preferences},
    model::{Light, LightKind},
};

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Update, switch.in_set(AppSystems::Present));
}

/// A light that a file brought along.
#[derive(Component)]
struct FileLight;

/// `scale`: metres per unit of the model.
pub(super) fn spawn(commands: &mut Commands, content: Entity, lights: &[Light], scale: f32) {
    for light in lights {
        let [r, g, b] = light.color;
        let color = Color::linear_rgb(r, g, b);
        // A file's metres are not ours: at the size at which it is shown it lights as it did.
        let lumens = light.intensity * 4.0 * PI * scale * scale;
        let range = light.range.map_or(DEFAULT_RANGE, |range| range * scale);
        let mut spawned = commands.spawn((
            FileLight,
            Transform::from_matrix(light.transform.into()),
            Visibility::Hidden,
            ChildOf(content),
        ));
        match light.kind {
            LightKind::Directional => {
                spawned.insert(DirectionalLight { color, illuminance: light.intensity, ..default() });
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

/// Metres.
const DEFAULT_RANGE: f32 = 20.0;

fn switch(preferences: Res<Preferences>, mut lights: Query<&mut Visibility, With<FileLight>>) {
    let wanted = if preferences.get().file_lights { Visibility::Inherited } else { Visibility::Hidden };
    for mut visibility in &mut lights {
        visibility.set_if_neq(wanted);
    }
}
