//! Pictures for the eyes, in the render world: a frame begins, Bevy draws into
//! the runtime's own images, the frame ends.
//!
//! Every frame that was waited for is begun and ended, whatever fails in between:
//! the runtime counts on it. What fails is told by the thread `xr`, whose calls
//! fail as well.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI32, Ordering},
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
    SwapchainSubImage, SwapchainUsageFlags, View, ViewConfigurationType, Vulkan, sys, sys::Handle as _,
};

use super::{
    eyes::{Eye, EyeViews},
    runtime::Connection,
    session::BeginError,
    tracker::{Snapshot, is_known, pose},
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
    /// It is not drawn any more.
    over: bool,
}

/// Whether a frame is being drawn; seen by both worlds.
#[derive(Clone, Default)]
pub(super) struct Drawing(Arc<Flags>);

#[derive(Default)]
struct Flags {
    draws: AtomicBool,
    /// A frame was handed over and has not begun.
    begins: AtomicBool,
    passthrough_failed: AtomicBool,
    /// OpenXR's number of the error; 0: none.
    lost: AtomicI32,
}

impl Drawing {
    pub fn is_going_on(&self) -> bool {
        self.0.draws.load(Ordering::Acquire)
    }

    /// Whether a frame is about to begin. The next one is asked for after that: runtimes
    /// hold whoever waits for it until then, and for ever if the beginning fails.
    pub fn is_about_to_begin(&self) -> bool {
        self.0.begins.load(Ordering::Acquire)
    }

    /// Whether the real room could not be shown; told once.
    pub fn passthrough_failed(&self) -> bool {
        self.0.passthrough_failed.swap(false, Ordering::AcqRel)
    }

    /// Why the runtime takes no frames any more; told once.
    pub fn loss(&self) -> Option<sys::Result> {
        let error = self.0.lost.swap(0, Ordering::AcqRel);
        (error != 0).then(|| sys::Result::from_raw(error))
    }

    fn lose(&self, error: sys::Result) {
        use sys::Result as Error;
        if matches!(
            error,
            Error::ERROR_SESSION_LOST | Error::ERROR_INSTANCE_LOST | Error::ERROR_RUNTIME_FAILURE
        ) {
            self.0.lost.store(error.into_raw(), Ordering::Release);
        }
    }

    fn set(&self, on: bool) {
        self.0.begins.store(on, Ordering::Release);
        self.0.draws.store(on, Ordering::Release);
    }
}

/// Whatever becomes of the frame, it is not drawn any more when it goes.
impl Drop for Frame {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Whether the headset itself can show the real room: runtimes offer the
/// extension for others, too.
fn has_passthrough(instance: &openxr::Instance, system: openxr::SystemId) -> bool {
    if instance.exts().fb_passthrough.is_none() {
        return false;
    }
    let mut passthrough = sys::SystemPassthroughPropertiesFB {
        ty: sys::SystemPassthroughPropertiesFB::TYPE,
        next: std::ptr::null(),
        supports_passthrough: sys::FALSE,
    };
    let mut properties = sys::SystemProperties::out((&raw mut passthrough).cast());
    #[expect(unsafe_code, reason = "openxr does not ask for this property")]
    // SAFETY: both structures are of the types that they say, and live until the call has returned.
    let asked =
        unsafe { (instance.fp().get_system_properties)(instance.as_raw(), system, properties.as_mut_ptr()) };
    asked == sys::Result::SUCCESS && passthrough.supports_passthrough == sys::TRUE
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
            over: false,
        }
    }

    /// Once: when this one goes the next has been handed over already.
    fn finish(&mut self) {
        if !std::mem::replace(&mut self.over, true) {
            self.drawing.set(false);
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
    /// Acquired and not given back yet.
    image: Option<u32>,
    /// The images are in no known state.
    broken: bool,
    /// As the headset offers them.
    blend_modes: Vec<EnvironmentBlendMode>,
    has_passthrough: bool,
    /// The layer goes before what it belongs to.
    passthrough: Option<(openxr::PassthroughLayerFB, openxr::Passthrough)>,
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
            image: None,
            broken: false,
            blend_modes: modes,
            has_passthrough: has_passthrough(instance, system),
            passthrough: None,
        };
        Ok((compositor, views))
    }

    /// How the real room can be shown, if at all.
    pub fn offers(&self) -> Passthrough {
        if self.blend_modes.contains(&EnvironmentBlendMode::ALPHA_BLEND) {
            Passthrough::AlphaBlend
        } else if self.has_passthrough {
            Passthrough::Layer
        } else {
            Passthrough::Off
        }
    }

    /// An image to draw into; none where the runtime gives none in time.
    fn next_image(&mut self) -> Option<u32> {
        if self.broken {
            return None;
        }
        // One that the runtime did not give away in time is waited for again.
        let image = match self.image.take() {
            Some(image) => image,
            None => self
                .swapchain
                .acquire_image()
                .inspect_err(|error| tracing::debug!("no image: {error}"))
                .ok()?,
        };
        self.image = Some(image);
        let info = sys::SwapchainImageWaitInfo {
            ty: sys::SwapchainImageWaitInfo::TYPE,
            next: std::ptr::null(),
            timeout: openxr::Duration::from_nanos(IMAGE_TIMEOUT_NANOS),
        };
        #[expect(unsafe_code, reason = "openxr takes an image that was not given in time for one that was")]
        // SAFETY: the swapchain is ours, and used by this thread alone while it is borrowed.
        let waited =
            unsafe { (self.session.instance().fp().wait_swapchain_image)(self.swapchain.as_raw(), &info) };
        match waited {
            sys::Result::SUCCESS => Some(image),
            // The next frame waits for it again.
            sys::Result::TIMEOUT_EXPIRED => None,
            error => {
                tracing::debug!("no image: {error}");
                self.broken = true;
                None
            }
        }
    }

    /// Gives the image back. Whether that was done.
    fn release(&mut self) -> bool {
        if self.image.take().is_none() {
            return false;
        }
        #[expect(unsafe_code, reason = "the image was waited for by hand")]
        // SAFETY: as above; an image was acquired and waited for.
        let released = unsafe {
            (self.session.instance().fp().release_swapchain_image)(self.swapchain.as_raw(), std::ptr::null())
        };
        // After that nothing is known of the images any more; the session is over soon.
        self.broken = released != sys::Result::SUCCESS;
        !self.broken
    }

    /// Makes or ends the layer that shows the real room. False where it cannot be.
    fn pass_through(&mut self, wanted: bool) -> bool {
        if !wanted {
            self.passthrough = None;
        } else if self.passthrough.is_none() && self.has_passthrough {
            let flags = PassthroughFlagsFB::IS_RUNNING_AT_CREATION;
            let made = self.session.create_passthrough(flags).and_then(|passthrough| {
                let purpose = PassthroughLayerPurposeFB::RECONSTRUCTION;
                let layer = self.session.create_passthrough_layer(&passthrough, flags, purpose)?;
                Ok((layer, passthrough))
            });
            match made {
                Ok(made) => self.passthrough = Some(made),
                Err(error) => {
                    tracing::warn!("the real room cannot be shown: {error}");
                    self.has_passthrough = false;
                    return false;
                }
            }
        }
        true
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
    let begun = compositor.stream.begin();
    if let Err(error) = begun {
        frame.drawing.lose(error);
    }
    frame.drawing.0.begins.store(false, Ordering::Release);
    if let Err(error) = begun {
        tracing::debug!("the frame does not begin: {error}");
        for handle in EyeViews::HANDLES {
            views.remove(&handle);
        }
        return;
    }
    frame.begun = true;
    if !frame.state.should_render {
        return;
    }
    let image = compositor.next_image();
    let Some(parts) = image.and_then(|image| compositor.views.images.get(image as usize)) else {
        // The cameras must not draw into what is not ours.
        for handle in EyeViews::HANDLES {
            views.remove(&handle);
        }
        return;
    };
    frame.acquired = true;
    for (handle, view) in EyeViews::HANDLES.into_iter().zip(parts) {
        views.insert(handle, view.clone());
    }
    // The head has moved on since the main world looked.
    let time = frame.state.predicted_display_time;
    let located =
        compositor.session.locate_views(ViewConfigurationType::PRIMARY_STEREO, time, &compositor.space);
    if let Ok((flags, latest)) = located
        && is_known(flags)
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
pub(super) fn end(frame: Option<ResMut<Frame>>, compositor: Option<ResMut<Compositor>>) {
    let Some(mut frame) = frame else { return };
    give_back(&mut frame, compositor);
    frame.finish();
}

fn give_back(frame: &mut Frame, compositor: Option<ResMut<Compositor>>) {
    let Some(mut compositor) = compositor.filter(|_| std::mem::take(&mut frame.begun)) else { return };
    let drawn = std::mem::take(&mut frame.acquired) && compositor.release();
    if !compositor.pass_through(frame.passthrough == Passthrough::Layer) {
        frame.drawing.0.passthrough_failed.store(true, Ordering::Release);
    }
    let Compositor { stream, swapchain, space, passthrough, blend_modes, .. } = &mut *compositor;
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
    let room = passthrough.as_ref().map(|(layer, _)| sys::CompositionLayerPassthroughFB {
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
    let wanted = match frame.passthrough {
        Passthrough::AlphaBlend => EnvironmentBlendMode::ALPHA_BLEND,
        Passthrough::Off | Passthrough::Layer => EnvironmentBlendMode::OPAQUE,
    };
    // Some headsets are glasses and know no opaque pictures.
    let has = blend_modes.contains(&wanted);
    let blend = if has { wanted } else { blend_modes.first().copied().unwrap_or(wanted) };
    if let Err(error) = stream.end(frame.state.predicted_display_time, blend, &layers) {
        tracing::debug!("the frame does not end: {error}");
        frame.drawing.lose(error);
    }
}

/// Where eyes' pictures go, by Bevy's names.
impl EyeViews {
    pub const HANDLES: [ManualTextureViewHandle; 2] =
        [ManualTextureViewHandle(0x00c0_17e0), ManualTextureViewHandle(0x00c0_17e1)];
}
