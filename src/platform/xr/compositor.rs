//! Pictures for the eyes, in the render world: a frame begins, Bevy draws into
//! the runtime's own images, the frame ends.
//!
//! Every frame that was waited for is begun and ended, whatever fails in between:
//! the runtime counts on it. What fails is told by the thread `xr`, whose calls
//! fail as well.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bevy::{
    camera::ManualTextureViewHandle,
    prelude::*,
    render::{
        Render, RenderApp, RenderSystems,
        render_resource::{TextureFormat, TextureViewDescriptor, TextureViewDimension},
        renderer::RenderDevice,
        texture::{ManualTextureView, ManualTextureViews},
        view::ExtractedView,
    },
};
use bevy_mod_openxr::graphics::GraphicsExt;
use openxr::{
    CompositionLayerBase, CompositionLayerFlags, CompositionLayerProjection, CompositionLayerProjectionView,
    EnvironmentBlendMode, Extent2Di, FrameState, FrameStream, Offset2Di, PassthroughFlagsFB,
    PassthroughLayerPurposeFB, Rect2Di, Session, Space, Swapchain, SwapchainCreateFlags, SwapchainCreateInfo,
    SwapchainSubImage, SwapchainUsageFlags, View, ViewConfigurationType, ViewStateFlags, Vulkan, sys,
    sys::Handle as _,
};

use super::{
    eyes::{Eye, EyeViews},
    runtime::Connection,
    session::BeginError,
    tracker::{Snapshot, pose},
};
use crate::{
    app::input::{Headset, Passthrough},
    session::Pose,
};

/// Longest time that an image is waited for which the runtime still shows.
const IMAGE_TIMEOUT_NANOS: i64 = 1_000_000_000;
/// What images are asked for: Bevy writes linear light into them.
const FORMATS: [TextureFormat; 2] = [TextureFormat::Rgba8UnormSrgb, TextureFormat::Bgra8UnormSrgb];

pub(super) fn plugin(app: &mut App) {
    app.sub_app_mut(RenderApp).add_systems(
        Render,
        (
            begin
                .after(RenderSystems::ExtractCommands)
                .before(RenderSystems::PrepareAssets)
                .before(RenderSystems::CreateViews)
                .before(RenderSystems::PrepareViews),
            end.after(RenderSystems::Render).before(RenderSystems::Cleanup),
        ),
    );
}

/// What one frame's pictures are for.
#[derive(Resource)]
pub(super) struct Frame {
    state: FrameState,
    views: Vec<View>,
    room_from_tracking: Pose,
    passthrough: Passthrough,
    /// Pixels that are drawn, from the upper left corner.
    size: UVec2,
    begun: bool,
    /// An image is ours and must be given back.
    acquired: bool,
    drawing: Drawing,
}

/// Whether a frame is being drawn; seen by both worlds.
#[derive(Clone, Default)]
pub(super) struct Drawing(Arc<AtomicBool>);

impl Drawing {
    pub fn is_going_on(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn set(&self, on: bool) {
        self.0.store(on, Ordering::Release);
    }
}

impl Frame {
    pub fn new(snapshot: &Snapshot, main: &World, drawing: Drawing) -> Self {
        drawing.set(true);
        let headset = main.resource::<Headset>();
        Self {
            state: snapshot.frame,
            views: snapshot.views.clone(),
            room_from_tracking: headset.room_from_tracking,
            passthrough: headset.passthrough,
            size: headset.eye_size.unwrap_or_default(),
            begun: false,
            acquired: false,
            drawing,
        }
    }
}

/// The session's end in the render world.
#[derive(Resource)]
pub(super) struct Compositor {
    session: Session<Vulkan>,
    stream: FrameStream<Vulkan>,
    swapchain: Swapchain<Vulkan>,
    views: EyeViews,
    space: Arc<Space>,
    blends_alpha: bool,
    has_passthrough: bool,
    passthrough: Option<(openxr::Passthrough, openxr::PassthroughLayerFB)>,
}

impl Compositor {
    pub fn new(
        connection: &Connection,
        device: &RenderDevice,
        session: &Session<Vulkan>,
        stream: FrameStream<Vulkan>,
        space: Arc<Space>,
        wanted_size: Option<(u32, u32)>,
    ) -> Result<(Self, EyeViews), BeginError> {
        let Connection { instance, system } = connection;
        let system = *system;
        let stereo = ViewConfigurationType::PRIMARY_STEREO;
        let views = instance.enumerate_view_configuration_views(system, stereo)?;
        let view = views.first().ok_or(BeginError::Format)?;
        let size = wanted_size.map_or(
            UVec2::new(view.recommended_image_rect_width, view.recommended_image_rect_height),
            |(width, height)| {
                let most =
                    instance.system_properties(system).map(|properties| properties.graphics_properties);
                let (widest, highest) = most
                    .map_or((view.max_image_rect_width, view.max_image_rect_height), |most| {
                        (most.max_swapchain_image_width, most.max_swapchain_image_height)
                    });
                UVec2::new(width.min(widest), height.min(highest))
            },
        );
        let offered = session.enumerate_swapchain_formats()?;
        let (format, raw) = FORMATS
            .into_iter()
            .filter_map(|format| Some((format, Vulkan::from_wgpu_format(format)?)))
            .find(|(_, raw)| offered.contains(raw))
            .ok_or(BeginError::Format)?;
        let swapchain = session.create_swapchain(&SwapchainCreateInfo {
            create_flags: SwapchainCreateFlags::EMPTY,
            usage_flags: SwapchainUsageFlags::COLOR_ATTACHMENT | SwapchainUsageFlags::SAMPLED,
            format: raw,
            sample_count: 1,
            width: size.x,
            height: size.y,
            face_count: 1,
            array_size: 2,
            mip_count: 1,
        })?;
        let mut images = Vec::new();
        for image in swapchain.enumerate_images()? {
            #[expect(unsafe_code, reason = "OpenXR gives Vulkan's handles")]
            // SAFETY: the image is the swapchain's, made a moment ago with this size and format. It is leaked below, so
            // that Bevy never destroys what is the runtime's.
            let texture = unsafe { Vulkan::to_wgpu_img(image, device.wgpu_device(), format, size)? };
            let texture = Box::leak(Box::new(texture));
            let eye = |layer: u32| ManualTextureView {
                texture_view: texture
                    .create_view(&TextureViewDescriptor {
                        dimension: Some(TextureViewDimension::D2),
                        base_array_layer: layer,
                        array_layer_count: Some(1),
                        ..default()
                    })
                    .into(),
                size,
                view_format: format,
            };
            images.push([eye(0), eye(1)]);
        }
        let views = EyeViews { size, images: images.into() };
        let modes = instance.enumerate_environment_blend_modes(system, stereo)?;
        let compositor = Self {
            session: session.clone(),
            stream,
            swapchain,
            views: views.clone(),
            space,
            blends_alpha: modes.contains(&EnvironmentBlendMode::ALPHA_BLEND),
            has_passthrough: instance.exts().fb_passthrough.is_some(),
            passthrough: None,
        };
        Ok((compositor, views))
    }

    /// How the real room can be shown, if at all.
    pub fn offers(&self) -> Passthrough {
        if self.blends_alpha {
            Passthrough::AlphaBlend
        } else if self.has_passthrough {
            Passthrough::Layer
        } else {
            Passthrough::Off
        }
    }

    /// Makes or ends the layer that shows the real room.
    fn pass_through(&mut self, wanted: bool) {
        if !wanted {
            self.passthrough = None;
        } else if self.passthrough.is_none() && self.has_passthrough {
            let flags = PassthroughFlagsFB::IS_RUNNING_AT_CREATION;
            let made = self.session.create_passthrough(flags).and_then(|passthrough| {
                let purpose = PassthroughLayerPurposeFB::RECONSTRUCTION;
                let layer = self.session.create_passthrough_layer(&passthrough, flags, purpose)?;
                Ok((passthrough, layer))
            });
            match made {
                Ok(made) => self.passthrough = Some(made),
                Err(error) => {
                    tracing::warn!("the real room cannot be shown: {error}");
                    self.has_passthrough = false;
                }
            }
        }
    }
}

/// Begins the frame and gives the cameras the image to draw into.
fn begin(
    frame: Option<ResMut<Frame>>,
    compositor: Option<ResMut<Compositor>>,
    mut views: ResMut<ManualTextureViews>,
    mut eyes: Query<(&mut ExtractedView, &Eye)>,
) {
    let (Some(mut frame), Some(mut compositor)) = (frame, compositor) else { return };
    if let Err(error) = compositor.stream.begin() {
        tracing::debug!("the frame does not begin: {error}");
        return;
    }
    frame.begun = true;
    if !frame.state.should_render {
        return;
    }
    let acquired = compositor.swapchain.acquire_image();
    let waited = acquired.and_then(|image| {
        compositor.swapchain.wait_image(openxr::Duration::from_nanos(IMAGE_TIMEOUT_NANOS)).map(|()| image)
    });
    let image = match waited {
        Ok(image) => image,
        Err(error) => {
            tracing::debug!("no image to draw into: {error}");
            return;
        }
    };
    frame.acquired = true;
    if let Some(eyes) = compositor.views.images.get(image as usize) {
        for (handle, view) in EyeViews::HANDLES.into_iter().zip(eyes) {
            views.insert(handle, view.clone());
        }
    }
    // The head has moved on since the main world looked.
    let time = frame.state.predicted_display_time;
    let located =
        compositor.session.locate_views(ViewConfigurationType::PRIMARY_STEREO, time, &compositor.space);
    let valid = ViewStateFlags::POSITION_VALID | ViewStateFlags::ORIENTATION_VALID;
    if let Ok((flags, latest)) = located
        && flags.contains(valid)
    {
        frame.views = latest;
    }
    for (mut view, eye) in &mut eyes {
        if let Some(latest) = frame.views.get(eye.index()) {
            let pose = pose(latest.pose).within(frame.room_from_tracking);
            view.world_from_view =
                Transform::from_translation(pose.position).with_rotation(pose.rotation).into();
        }
    }
}

/// Ends the frame with what was drawn.
fn end(frame: Option<ResMut<Frame>>, compositor: Option<ResMut<Compositor>>) {
    let Some(mut frame) = frame else { return };
    give_back(&mut frame, compositor);
    frame.drawing.set(false);
}

fn give_back(frame: &mut Frame, compositor: Option<ResMut<Compositor>>) {
    let Some(mut compositor) = compositor.filter(|_| std::mem::take(&mut frame.begun)) else { return };
    let drawn = std::mem::take(&mut frame.acquired) && compositor.swapchain.release_image().is_ok();
    compositor.pass_through(frame.passthrough == Passthrough::Layer);
    let Compositor { stream, swapchain, space, passthrough, .. } = &mut *compositor;
    let rect = Rect2Di {
        offset: Offset2Di { x: 0, y: 0 },
        extent: Extent2Di { width: frame.size.x.cast_signed(), height: frame.size.y.cast_signed() },
    };
    let eyes: Vec<_> = (0..)
        .zip(&frame.views)
        .map(|(eye, view)| {
            let image = SwapchainSubImage::new().swapchain(swapchain).image_array_index(eye).image_rect(rect);
            CompositionLayerProjectionView::new().pose(view.pose).fov(view.fov).sub_image(image)
        })
        .collect();
    let flags = CompositionLayerFlags::BLEND_TEXTURE_SOURCE_ALPHA;
    let room = passthrough.as_ref().map(|(_, layer)| sys::CompositionLayerPassthroughFB {
        ty: sys::CompositionLayerPassthroughFB::TYPE,
        next: std::ptr::null(),
        flags,
        space: sys::Space::NULL,
        layer_handle: *layer.inner(),
    });
    let pictures = CompositionLayerProjection::new().layer_flags(flags).space(space).views(&eyes);
    let mut layers: Vec<&CompositionLayerBase<'_, Vulkan>> = Vec::new();
    if let Some(room) = &room {
        #[expect(unsafe_code, reason = "openxr has no name for this kind of layer")]
        // SAFETY: it begins as every layer does, and lives until the frame has ended.
        layers.push(unsafe { &*std::ptr::from_ref(room).cast() });
    }
    if drawn && eyes.len() == 2 {
        layers.push(&pictures);
    }
    let blend = match frame.passthrough {
        Passthrough::AlphaBlend => EnvironmentBlendMode::ALPHA_BLEND,
        Passthrough::Off | Passthrough::Layer => EnvironmentBlendMode::OPAQUE,
    };
    if let Err(error) = stream.end(frame.state.predicted_display_time, blend, &layers) {
        tracing::debug!("the frame does not end: {error}");
    }
}

/// Where eyes' pictures go, by Bevy's names.
impl EyeViews {
    pub const HANDLES: [ManualTextureViewHandle; 2] =
        [ManualTextureViewHandle(0x00c0_17e0), ManualTextureViewHandle(0x00c0_17e1)];
}
