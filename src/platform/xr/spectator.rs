//! What the left eye sees, in the desktop's window, for those who stand around;
//! and pictures of it, for tests and documentation.
//!
//! The eye's picture is copied from where Bevy made it, before it goes to the
//! runtime: nothing is drawn again.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use bevy::{
    asset::RenderAssetUsages,
    camera::Camera2d,
    prelude::*,
    render::{
        Render, RenderApp, RenderSystems,
        extract_resource::{ExtractResource, ExtractResourcePlugin},
        gpu_readback::{Readback, ReadbackComplete},
        render_asset::RenderAssets,
        render_resource::{Extent3d, TextureDimension, TextureUsages},
        renderer::{RenderDevice, RenderQueue},
        texture::GpuImage,
        view::ViewTarget,
    },
    ui::IsDefaultUiCamera,
    window::PrimaryWindow,
};

use super::eyes::{Eye, EyeViews};
use crate::{
    app::{AppSystems, input::Headset},
    gestures::Side,
};

pub(super) fn plugin(app: &mut App) {
    app.add_plugins(ExtractResourcePlugin::<LeftEye>::default())
        .add_systems(Startup, spawn)
        .add_systems(Update, (follow_size, show, take_shots).chain().in_set(AppSystems::Present));
    app.sub_app_mut(RenderApp).add_systems(
        Render, // The runtime uses the same queue when the frame ends.
        copy.after(RenderSystems::Render).before(super::compositor::end),
    );
}

/// Pictures of the left eye: when, after the first frame, and where to.
#[derive(Resource, Debug, Default, Clone)]
pub struct EyeShots(pub Vec<(Duration, PathBuf)>);

/// The left eye's picture.
#[derive(Resource, ExtractResource, Clone)]
struct LeftEye {
    image: Handle<Image>,
    /// Pixels of it that are drawn.
    size: UVec2,
}

#[derive(Component)]
struct SpectatorCamera;

#[derive(Component)]
struct SpectatorView;

fn spawn(mut commands: Commands) {
    let camera = commands
        .spawn((SpectatorCamera, Camera2d, Camera { is_active: false, order: 1, ..default() }, Msaa::Off))
        .id();
    commands.spawn((
        SpectatorView,
        UiTargetCamera(camera),
        Node { width: percent(100), height: percent(100), ..default() },
        ImageNode::default(),
        GlobalZIndex(-10),
        Pickable::IGNORE,
        Visibility::Hidden,
    ));
}

fn follow_size(
    views: Option<Res<EyeViews>>,
    headset: Res<Headset>,
    left_eye: Option<ResMut<LeftEye>>,
    mut images: ResMut<Assets<Image>>,
    mut commands: Commands,
) {
    let Some(views) = views else { return };
    let size = headset.eye_size.unwrap_or(views.size);
    match left_eye {
        Some(mut left_eye) if !views.is_added() => {
            if left_eye.size != size {
                left_eye.size = size;
            }
        }
        _ => {
            let full = Extent3d { width: views.size.x, height: views.size.y, depth_or_array_layers: 1 };
            let format = views.format();
            let mut image = Image::new_fill(
                full,
                TextureDimension::D2,
                &[0, 0, 0, 255],
                format,
                RenderAssetUsages::RENDER_WORLD,
            );
            image.texture_descriptor.usage =
                TextureUsages::COPY_DST | TextureUsages::COPY_SRC | TextureUsages::TEXTURE_BINDING;
            commands.insert_resource(LeftEye { image: images.add(image), size });
        }
    }
}

/// The window shows the eye while the headset is worn, and itself otherwise.
fn show(
    headset: Res<Headset>,
    left_eye: Option<Res<LeftEye>>,
    window: Query<&Window, With<PrimaryWindow>>,
    mut camera: Single<(Entity, &mut Camera, Has<IsDefaultUiCamera>), With<SpectatorCamera>>,
    mut view: Single<(&mut Node, &mut ImageNode, &mut Visibility), With<SpectatorView>>,
    mut commands: Commands,
) {
    let shown = left_eye.filter(|_| headset.is_worn());
    let (entity, camera, is_default) = &mut *camera;
    if camera.is_active != shown.is_some() {
        camera.is_active = shown.is_some();
    }
    match (shown.is_some(), *is_default) {
        (true, false) => drop(commands.entity(*entity).insert(IsDefaultUiCamera)),
        (false, true) => drop(commands.entity(*entity).remove::<IsDefaultUiCamera>()),
        _ => {}
    }
    let (node, picture, visibility) = &mut *view;
    visibility.set_if_neq(if shown.is_some() { Visibility::Visible } else { Visibility::Hidden });
    let (Some(left_eye), Ok(window)) = (shown, window.single()) else { return };
    if picture.image != left_eye.image {
        picture.image = left_eye.image.clone();
    }
    let rect = Some(Rect::from_corners(Vec2::ZERO, left_eye.size.as_vec2()));
    if picture.rect != rect {
        picture.rect = rect;
    }
    // It fills the window; what is too much is cut off above and below, or on both sides.
    let (window, eye) = (window.size(), left_eye.size.as_vec2().max(Vec2::ONE));
    let size = eye * (window / eye).max_element();
    let corner = (window - size) / 2.0;
    let (left, top, width, height) = (px(corner.x), px(corner.y), px(size.x), px(size.y));
    if (node.left, node.top, node.width, node.height) != (left, top, width, height) {
        (node.left, node.top, node.width, node.height) = (left, top, width, height);
        node.position_type = PositionType::Absolute;
    }
}

/// In the render world, once the eye is drawn.
fn copy(
    left_eye: Option<Res<LeftEye>>,
    images: Res<RenderAssets<GpuImage>>,
    eyes: Query<(&Eye, &ViewTarget)>,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
) {
    let Some(image) = left_eye.as_ref().and_then(|eye| images.get(&eye.image)) else { return };
    let Some((_, target)) = eyes.iter().find(|(eye, _)| eye.0 == Side::Left) else { return };
    let drawn = target.main_texture();
    if target.main_texture_format() != image.texture_descriptor.format {
        return;
    }
    let (from, to) = (drawn.size(), image.texture.size());
    let size = Extent3d {
        width: from.width.min(to.width),
        height: from.height.min(to.height),
        depth_or_array_layers: 1,
    };
    let mut encoder = device.create_command_encoder(&default());
    encoder.copy_texture_to_texture(drawn.as_image_copy(), image.texture.as_image_copy(), size);
    queue.submit([encoder.finish()]);
}

fn take_shots(
    mut shots: ResMut<EyeShots>,
    left_eye: Option<Res<LeftEye>>,
    views: Option<Res<EyeViews>>,
    headset: Res<Headset>,
    time: Res<Time<Real>>,
    mut first_frame: Local<Option<Duration>>,
    mut commands: Commands,
) {
    let seen = headset.is_worn() && headset.frames > 0;
    let Some((left_eye, views)) = left_eye.zip(views).filter(|_| seen) else { return };
    let start = *first_frame.get_or_insert(time.elapsed());
    let Some(due) = shots.0.iter().position(|(at, _)| start + *at <= time.elapsed()) else { return };
    let (_, path) = shots.0.remove(due);
    let (full, drawn) = (views.size, left_eye.size);
    commands.spawn(Readback::texture(left_eye.image.clone())).observe(
        move |read: On<ReadbackComplete>, mut commands: Commands| {
            commands.entity(read.entity).despawn();
            if let Err(error) = save(&read.data, full, drawn, &path) {
                tracing::warn!("{} could not be written: {error}", path.display());
            }
        },
    );
}

/// Writes the part of an image that was drawn, as a picture without transparency.
fn save(data: &[u8], full: UVec2, drawn: UVec2, path: &Path) -> image::ImageResult<()> {
    let row = RenderDevice::align_copy_bytes_per_row(full.x as usize * 4);
    let picture = image::RgbImage::from_fn(drawn.x, drawn.y, |x, y| {
        let at = y as usize * row + x as usize * 4;
        image::Rgb(data.get(at..at + 3).and_then(|rgb| rgb.try_into().ok()).unwrap_or_default())
    });
    picture.save(path)
}
