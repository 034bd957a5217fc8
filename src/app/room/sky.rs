//! The background: a dome around the head, calm grey-blue, lighter at the horizon.
//!
//! A material of its own, since the usual one costs as much for a background as
//! for a lit surface.

use bevy::{
    asset::{AssetPath, RenderAssetUsages, embedded_asset, embedded_path},
    camera::visibility::NoFrustumCulling,
    light::NotShadowCaster,
    prelude::*,
    render::render_resource::{AsBindGroup, Face},
    shader::ShaderRef,
};

use super::RoomShell;
use crate::app::{AppSystems, input::Me};

/// Where floor and dome meet.
pub(super) const HORIZON: Color = Color::srgb(0.66, 0.70, 0.74);
const TOP: Color = Color::srgb(0.36, 0.42, 0.49);
const BOTTOM: Color = Color::srgb(0.52, 0.55, 0.58);
/// Of the dome, metres; within the camera's far plane.
const RADIUS: f32 = 400.0;

pub(super) fn plugin(app: &mut App) {
    embedded_asset!(app, "sky.wgsl");
    app.add_plugins(MaterialPlugin::<SkyMaterial>::default())
        .add_systems(Startup, spawn)
        .add_systems(Update, follow_head.in_set(AppSystems::Present));
}

#[derive(Asset, TypePath, AsBindGroup, Debug, Clone)]
struct SkyMaterial {
    #[uniform(0)]
    horizon: LinearRgba,
    #[uniform(0)]
    top: LinearRgba,
    #[uniform(0)]
    bottom: LinearRgba,
}

impl Material for SkyMaterial {
    fn fragment_shader() -> ShaderRef {
        let path = embedded_path!("sky.wgsl");
        AssetPath::from_path_buf(path).with_source("embedded").into()
    }

    fn enable_shadows() -> bool {
        false
    }

    fn enable_prepass() -> bool {
        false
    }

    fn specialize(
        _: &bevy::pbr::MaterialPipeline,
        descriptor: &mut bevy::render::render_resource::RenderPipelineDescriptor,
        _: &bevy::mesh::MeshVertexBufferLayoutRef,
        _: bevy::pbr::MaterialPipelineKey<Self>,
    ) -> Result<(), bevy::render::render_resource::SpecializedMeshPipelineError> {
        // It is seen from within.
        descriptor.primitive.cull_mode = Some(Face::Front);
        Ok(())
    }
}

#[derive(Component)]
struct Dome;

fn spawn(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<SkyMaterial>>,
) {
    let mut mesh = Sphere::new(RADIUS).mesh().uv(24, 48);
    mesh.asset_usage = RenderAssetUsages::RENDER_WORLD;
    let [horizon, top, bottom] = [HORIZON, TOP, BOTTOM].map(|colour| colour.to_linear());
    commands.spawn((
        Dome,
        RoomShell,
        Mesh3d(meshes.add(mesh)),
        MeshMaterial3d(materials.add(SkyMaterial { horizon, top, bottom })),
        NotShadowCaster,
        NoFrustumCulling,
    ));
}

fn follow_head(me: Res<Me>, mut dome: Single<&mut Transform, With<Dome>>) {
    dome.set_if_neq(Transform::from_translation(me.body.head.position));
}
