//! The floor: y = 0, with a line each half metre and a stronger one each metre.
//!
//! The lines are computed per pixel, as thin as pixels allow and never
//! flickering, and end softly at a distance.

use bevy::{
    asset::{RenderAssetUsages, embedded_asset, embedded_path},
    light::{NotShadowCaster, NotShadowReceiver},
    prelude::*,
    render::render_resource::AsBindGroup,
    shader::ShaderRef,
};

use super::RoomShell;

/// Side of the floor, metres; it has faded out before.
const SIDE: f32 = 60.0;

pub(super) fn plugin(app: &mut App) {
    embedded_asset!(app, "floor.wgsl");
    app.add_plugins(MaterialPlugin::<FloorMaterial>::default()).add_systems(Startup, spawn);
}

#[derive(Asset, TypePath, AsBindGroup, Debug, Clone, Default)]
struct FloorMaterial {}

impl Material for FloorMaterial {
    fn fragment_shader() -> ShaderRef {
        let path = embedded_path!("floor.wgsl");
        bevy::asset::AssetPath::from_path_buf(path).with_source("embedded").into()
    }

    fn alpha_mode(&self) -> AlphaMode {
        AlphaMode::Blend
    }

    /// Behind everything transparent: its middle is at the room's, often nearer than models.
    fn depth_bias(&self) -> f32 {
        -SIDE
    }

    fn enable_shadows() -> bool {
        false
    }
}

fn spawn(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<FloorMaterial>>,
) {
    let mut mesh = Plane3d::new(Vec3::Y, Vec2::splat(SIDE / 2.0)).mesh().build();
    mesh.asset_usage = RenderAssetUsages::RENDER_WORLD;
    commands.spawn((
        RoomShell,
        Mesh3d(meshes.add(mesh)),
        MeshMaterial3d(materials.add(FloorMaterial::default())),
        NotShadowCaster,
        NotShadowReceiver,
    ));
}
