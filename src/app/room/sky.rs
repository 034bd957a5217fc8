//! The background: a dome around the head, calm grey-blue, lighter at the horizon.

use bevy::{
    asset::RenderAssetUsages, camera::visibility::NoFrustumCulling, light::NotShadowCaster, prelude::*,
};

use super::{RoomShell, positions};
use crate::app::{AppSystems, input::Me};

/// Where floor and dome meet.
pub(super) const HORIZON: Color = Color::srgb(0.66, 0.70, 0.74);
const TOP: Color = Color::srgb(0.36, 0.42, 0.49);
const BOTTOM: Color = Color::srgb(0.52, 0.55, 0.58);
/// Of the dome, metres; within the camera's far plane.
const RADIUS: f32 = 400.0;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(Startup, spawn).add_systems(Update, follow_head.in_set(AppSystems::Present));
}

#[derive(Component)]
struct Dome;

fn spawn(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    let material = StandardMaterial { unlit: true, cull_mode: None, fog_enabled: false, ..default() };
    commands.spawn((
        Dome,
        RoomShell,
        Mesh3d(meshes.add(dome())),
        MeshMaterial3d(materials.add(material)),
        NotShadowCaster,
        NoFrustumCulling,
    ));
}

fn dome() -> Mesh {
    let mut mesh = Sphere::new(RADIUS).mesh().uv(24, 48);
    let colours: Vec<_> = positions(&mesh)
        .unwrap_or_default()
        .iter()
        .map(|&[x, y, z]| {
            let height = y / Vec3::new(x, y, z).length();
            let (towards, share) = if height > 0.0 { (TOP, height) } else { (BOTTOM, -height) };
            // Steep at the horizon, so that most of the view is calm.
            HORIZON.mix(&towards, share.sqrt()).to_linear().to_f32_array()
        })
        .collect();
    mesh.insert_attribute(Mesh::ATTRIBUTE_COLOR, colours);
    mesh.remove_attribute(Mesh::ATTRIBUTE_UV_0);
    mesh.asset_usage = RenderAssetUsages::RENDER_WORLD;
    mesh
}

fn follow_head(me: Res<Me>, mut dome: Single<&mut Transform, With<Dome>>) {
    dome.set_if_neq(Transform::from_translation(me.body.head.position));
}
