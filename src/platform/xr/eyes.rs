//! The two cameras, from the moment a session is there until it is gone.
//!
//! They are made with all their settings each time, and stand in the room by
//! themselves: nothing hangs from them.

use std::sync::Arc;

use bevy::{
    camera::{CameraOutputMode, Exposure, RenderTarget, Viewport},
    core_pipeline::{
        prepass::DepthPrepass,
        tonemapping::{DebandDither, Tonemapping},
    },
    prelude::*,
    render::{
        extract_component::{ExtractComponent, ExtractComponentPlugin},
        render_resource::TextureFormat,
        renderer::RenderAdapterInfo,
        texture::{ManualTextureView, ManualTextureViews},
        view::NoIndirectDrawing,
    },
};
use bevy_mod_xr::camera::{Fov, XrProjection, calculate_projection};

use super::{
    session::Vr,
    tracker::{Snapshot, pose},
};
use crate::{
    app::{
        AppSystems,
        input::{Headset, Passthrough},
        preferences::Preferences,
        viewer::draws_by_processor,
    },
    gestures::Side,
};

/// People put their heads into models, metres.
const NEAR: f32 = 0.03;

pub(super) fn plugin(app: &mut App) {
    app.add_plugins(ExtractComponentPlugin::<Eye>::default())
        .add_systems(Update, (appear, set, look).chain().in_set(AppSystems::Present));
}

/// The camera of an eye.
#[derive(Component, ExtractComponent, Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Eye(pub Side);

impl Eye {
    /// OpenXR counts the left eye first.
    pub fn index(self) -> usize {
        match self.0 {
            Side::Left => 0,
            Side::Right => 1,
        }
    }
}

/// The images that the runtime shows: for each a view of the left and of the
/// right eye's part. There is one while a session is.
#[derive(Resource, Clone)]
pub(super) struct EyeViews {
    /// Pixels of an eye.
    pub size: UVec2,
    pub images: Arc<[[ManualTextureView; 2]]>,
}

impl EyeViews {
    /// Of the images, and of what Bevy draws before it copies that there.
    pub fn format(&self) -> TextureFormat {
        self.images.first().map_or(TextureFormat::Rgba8UnormSrgb, |[left, _]| left.view_format)
    }
}

/// Brings the cameras in line with the session.
fn appear(
    views: Option<Res<EyeViews>>,
    eyes: Query<Entity, With<Eye>>,
    adapter: Res<RenderAdapterInfo>,
    mut targets: ResMut<ManualTextureViews>,
    mut headset: ResMut<Headset>,
    mut commands: Commands,
) {
    match views {
        Some(views) if views.is_added() || eyes.is_empty() => {
            let Some(image) = views.images.first() else { return };
            for (handle, view) in EyeViews::HANDLES.into_iter().zip(image) {
                targets.insert(handle, view.clone());
            }
            for eye in eyes {
                commands.entity(eye).despawn();
            }
            for (side, handle) in Side::BOTH.into_iter().zip(EyeViews::HANDLES) {
                let mut eye = commands.spawn((
                    Eye(side),
                    Camera3d::default(),
                    Camera { is_active: false, order: -2 + Eye(side).index().cast_signed(), ..default() },
                    RenderTarget::TextureView(handle),
                    Projection::custom(XrProjection { near: NEAR, ..default() }),
                    // As in the window: colours are shown as they are.
                    Tonemapping::None,
                    DebandDither::Enabled,
                    Exposure::BLENDER,
                    Msaa::Off,
                    // Some headsets' drivers draw nothing indirectly.
                    NoIndirectDrawing,
                    Transform::default(),
                ));
                if draws_by_processor(&adapter) {
                    eye.insert(DepthPrepass);
                }
            }
        }
        None if !eyes.is_empty() => {
            for eye in eyes {
                commands.entity(eye).despawn();
            }
            for handle in EyeViews::HANDLES {
                targets.remove(&handle);
            }
            headset.eye_size = None;
        }
        _ => {}
    }
}

/// What the person has chosen: resolution, edges, the real room.
fn set(
    views: Option<Res<EyeViews>>,
    preferences: Res<Preferences>,
    adapter: Res<RenderAdapterInfo>,
    mut headset: ResMut<Headset>,
    mut eyes: Query<(&mut Camera, &mut Msaa), With<Eye>>,
) {
    let Some(views) = views else { return };
    let settings = preferences.get();
    let size = views.size * u32::from(settings.eye_scale.clamp(30, 100)) / 100;
    let passthrough = if settings.real_room { headset.offers } else { Passthrough::Off };
    if headset.eye_size != Some(size) || headset.passthrough != passthrough {
        headset.eye_size = Some(size);
        headset.passthrough = passthrough;
    }
    let msaa = if settings.smooth_edges && !draws_by_processor(&adapter) { Msaa::Sample4 } else { Msaa::Off };
    let viewport = (size != views.size).then(|| Viewport { physical_size: size, ..default() });
    let clear = match passthrough {
        Passthrough::Off => ClearColorConfig::Default,
        Passthrough::AlphaBlend | Passthrough::Layer => ClearColorConfig::Custom(Color::NONE),
    };
    for (mut camera, mut edges) in &mut eyes {
        edges.set_if_neq(msaa);
        let differs =
            camera.viewport.as_ref().map(|v| v.physical_size) != viewport.as_ref().map(|v| v.physical_size);
        if differs {
            camera.viewport.clone_from(&viewport);
        }
        if std::mem::discriminant(&camera.clear_color) != std::mem::discriminant(&clear) {
            camera.clear_color = clear;
            // The picture's alpha must reach the runtime as it is.
            camera.output_mode = CameraOutputMode::Write { blend_state: None, clear_color: clear };
        }
    }
}

/// Where the eyes are, and whether they see anything.
fn look(
    vr: Res<Vr>,
    headset: Res<Headset>,
    mut eyes: Query<(&Eye, &mut Camera, &mut Projection, &mut Transform)>,
) {
    let snapshot = vr.snapshot().filter(|snapshot: &&Snapshot| snapshot.frame.should_render);
    for (eye, mut camera, mut projection, mut place) in &mut eyes {
        let view = snapshot.and_then(|snapshot| snapshot.views.get(eye.index()));
        let Some(view) = view else {
            if camera.is_active {
                camera.is_active = false;
            }
            continue;
        };
        camera.is_active = true;
        let room = pose(view.pose).within(headset.room_from_tracking);
        *place = Transform::from_translation(room.position).with_rotation(room.rotation);
        if let Projection::Custom(custom) = &mut *projection
            && let Some(lens) = custom.get_mut::<XrProjection>()
        {
            let fov = Fov {
                angle_left: view.fov.angle_left,
                angle_right: view.fov.angle_right,
                angle_down: view.fov.angle_down,
                angle_up: view.fov.angle_up,
            };
            lens.projection_matrix = calculate_projection(lens.near, fov);
        }
    }
}
