//! The floor: y = 0, with a line each half metre and a stronger one each metre.
//! For those who look through a headset it lies on the real floor, which in a
//! room of markers is elsewhere.
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
use crate::app::{AppSystems, input::Headset};

/// Side of the floor, metres; it has faded out before.
const SIDE: f32 = 60.0;

pub(super) fn plugin(app: &mut App) {
    embedded_asset!(app, "floor.wgsl");
    app.add_plugins(MaterialPlugin::<FloorMaterial>::default())
        .add_systems(Startup, spawn)
        .add_systems(Update, lie.in_set(AppSystems::Present));
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

/// Where it is drawn.
#[derive(Component)]
struct Floor;

fn lie(headset: Res<Headset>, mut floor: Single<&mut Transform, With<Floor>>) {
    let y = if headset.is_worn() { headset.room_from_tracking.position.y } else { 0.0 };
    floor.set_if_neq(Transform::from_xyz(0.0, y, 0.0));
}

fn spawn(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<FloorMaterial>>,
) {
    let mut mesh = Plane3d::new(Vec3::Y, Vec2::splat(SIDE / 2.0)).mesh().build();
    mesh.asset_usage = RenderAssetUsages::RENDER_WORLD;
    commands.spawn((
        Floor,
        RoomShell,
        Mesh3d(meshes.add(mesh)),
        MeshMaterial3d(materials.add(FloorMaterial::default())),
        NotShadowCaster,
        NotShadowReceiver,
    ));
}
