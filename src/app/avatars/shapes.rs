//! Meshes of heads and wands.

use bevy::{asset::RenderAssetUsages, prelude::*};

use crate::app::room;

/// Side of a head, metres.
const HEAD: f32 = 0.2;
/// Of a wand, metres.
const WAND_LENGTH: f32 = 0.4;
const WAND_RADIUS: f32 = 0.01;
/// Of its tip, metres.
const TIP_LENGTH: f32 = 0.035;

/// Shared by everybody.
#[derive(Resource)]
pub(super) struct Shapes {
    head: Handle<Mesh>,
    eye: Handle<Mesh>,
    smile: Handle<Mesh>,
    wand: Handle<Mesh>,
    tip: Handle<Mesh>,
    white: Handle<StandardMaterial>,
    dark: Handle<StandardMaterial>,
    bright: Handle<StandardMaterial>,
}

pub(super) fn make(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    let mut add = |mut mesh: Mesh| {
        mesh.asset_usage = RenderAssetUsages::RENDER_WORLD;
        meshes.add(mesh)
    };
    let unlit = |base_color| StandardMaterial { base_color, unlit: true, ..default() };
    commands.insert_resource(Shapes {
        head: add(rounded_box(HEAD * 0.5, 4.0)),
        eye: add(Sphere::new(0.5).mesh().uv(20, 12)),
        smile: add(Torus { minor_radius: 0.006, major_radius: 0.042 }
            .mesh()
            .angle_range(0.0..=std::f32::consts::PI)
            .minor_resolution(8)
            .major_resolution(20)
            .build()),
        wand: add(Cylinder::new(WAND_RADIUS, WAND_LENGTH - TIP_LENGTH).mesh().resolution(20).build()),
        tip: add(Cylinder::new(WAND_RADIUS * 1.08, TIP_LENGTH).mesh().resolution(20).build()),
        white: materials.add(skin(Color::srgb(0.97, 0.97, 0.97))),
        dark: materials.add(skin(Color::srgb(0.08, 0.09, 0.11))),
        bright: materials.add(unlit(Color::srgb(1.0, 0.98, 0.88))),
    });
}

/// The material of things in a colour.
pub(in crate::app) fn skin(base_color: Color) -> StandardMaterial {
    StandardMaterial { base_color, perceptual_roughness: 0.55, reflectance: 0.35, ..default() }
}

impl Shapes {
    pub(super) fn dress_head(&self, mut head: EntityCommands, skin: Handle<StandardMaterial>) {
        let eye = |x: f32| {
            let white = Transform::from_xyz(x, 0.022, 0.085).with_scale(Vec3::new(0.052, 0.062, 0.034));
            let pupil =
                Transform::from_xyz(x * 0.94, 0.022, 0.0985).with_scale(Vec3::new(0.026, 0.034, 0.016));
            [(self.white.clone(), white), (self.dark.clone(), pupil)]
        };
        head.insert((Mesh3d(self.head.clone()), MeshMaterial3d(skin)));
        head.with_children(|parts| {
            for (material, transform) in eye(0.042).into_iter().chain(eye(-0.042)) {
                parts.spawn((Mesh3d(self.eye.clone()), MeshMaterial3d(material), transform));
            }
            // The half ring lies in x-z with its arch towards +z; turned so that it hangs down.
            let smile = Transform::from_xyz(0.0, -0.022, 0.088)
                .with_rotation(Quat::from_rotation_x(std::f32::consts::FRAC_PI_2));
            parts.spawn((Mesh3d(self.smile.clone()), MeshMaterial3d(self.dark.clone()), smile));
        });
    }

    pub(super) fn dress_wand(&self, mut wand: EntityCommands, skin: Handle<StandardMaterial>) {
        wand.with_children(|parts| {
            let shaft = Transform::from_xyz(0.0, -TIP_LENGTH / 2.0, 0.0);
            parts.spawn((Mesh3d(self.wand.clone()), MeshMaterial3d(skin), shaft));
            let tip = Transform::from_xyz(0.0, (WAND_LENGTH - TIP_LENGTH) / 2.0, 0.0);
            parts.spawn((Mesh3d(self.tip.clone()), MeshMaterial3d(self.bright.clone()), tip));
        });
    }
}

/// A superellipsoid: a box whose edges are the rounder, the nearer `power` is to 2.
fn rounded_box(half: f32, power: f32) -> Mesh {
    let mut mesh = Sphere::new(1.0).mesh().uv(36, 24);
    let Some(positions) = room::positions(&mesh) else { return mesh };
    let norm = |v: Vec3| v.abs().powf(power).element_sum().powf(1.0 / power);
    // The normal is the gradient of the sum of powers.
    let surface: Vec<_> = positions.iter().map(|&p| Vec3::from(p)).map(|p| p / norm(p)).collect();
    let normal = |v: &Vec3| (v.signum() * v.abs().powf(power - 1.0)).normalize_or(Vec3::Y).to_array();
    mesh.insert_attribute(Mesh::ATTRIBUTE_NORMAL, surface.iter().map(normal).collect::<Vec<_>>());
    // A little flat from front to back, like a face.
    let shape = Vec3::new(1.0, 1.0, 0.92) * half;
    mesh.insert_attribute(
        Mesh::ATTRIBUTE_POSITION,
        surface.iter().map(|v| (v * shape).to_array()).collect::<Vec<_>>(),
    );
    mesh
}
