//! The OpenXR runtime: found, loaded, and asked for what Bevy is to draw with.

use std::sync::Arc;

use bevy::render::{
    renderer::{RenderAdapter, RenderAdapterInfo, RenderInstance, RenderQueue, WgpuWrapper},
    settings::RenderCreation,
};
use bevy_mod_openxr::{
    error::OxrError,
    graphics::{GraphicsBackend, GraphicsWrap},
    resources::OxrEntry,
    types::{AppInfo, OxrExtensions, Version, WgpuGraphics},
};
use openxr::{FormFactor, SystemId, sys};

use crate::notice::Notice;

/// A runtime that has a headset, and the device that both draw with.
pub(super) struct Runtime {
    /// None while the runtime is gone: programs may have one connection only, also
    /// one that is lost.
    connection: Option<Connection>,
    /// Vulkan's handles, which sessions are made with.
    device: Device,
}

/// A connection to a runtime.
pub(super) struct Connection {
    /// Of this program at the runtime.
    pub instance: openxr::Instance,
    /// The headset.
    pub system: SystemId,
}

/// Vulkan's handles as OpenXR takes them.
#[derive(Clone, Copy)]
struct Device(openxr::vulkan::SessionCreateInfo);

#[expect(unsafe_code, reason = "the handles are numbers that OpenXR types as pointers")]
// SAFETY: they are never dereferenced here, and what they name lives as long as Bevy's device, which is never dropped
// while the app runs.
unsafe impl Send for Device {}
#[expect(unsafe_code, reason = "the handles are numbers that OpenXR types as pointers")]
// SAFETY: as above; they are only read.
unsafe impl Sync for Device {}

/// Why there is no headset.
#[derive(Debug, thiserror::Error)]
pub(super) enum RuntimeError {
    /// No library, or no runtime is set up.
    #[error("no OpenXR runtime is installed")]
    NoRuntime,
    /// It is installed and does not answer.
    #[error("the OpenXR runtime does not run")]
    NotRunning,
    /// It runs and has no headset.
    #[error("no headset is connected")]
    NoHeadset,
    /// It cannot do what we need.
    #[error("the OpenXR runtime cannot be used: {0}")]
    Other(#[from] OxrError),
    /// A headset at another device than the one that Bevy draws with.
    #[error("the headset is at another graphics card now")]
    OtherDevice,
}

impl From<sys::Result> for RuntimeError {
    fn from(error: sys::Result) -> Self {
        match error {
            sys::Result::ERROR_RUNTIME_UNAVAILABLE | sys::Result::ERROR_FILE_ACCESS_ERROR => Self::NoRuntime,
            sys::Result::ERROR_RUNTIME_FAILURE
            | sys::Result::ERROR_INITIALIZATION_FAILED
            | sys::Result::ERROR_INSTANCE_LOST => Self::NotRunning,
            sys::Result::ERROR_FORM_FACTOR_UNAVAILABLE | sys::Result::ERROR_FORM_FACTOR_UNSUPPORTED => {
                Self::NoHeadset
            }
            other => Self::Other(other.into()),
        }
    }
}

impl RuntimeError {
    /// For the person.
    pub fn notice(&self) -> Notice {
        let what_to_do = match self {
            Self::NoRuntime => {
                "Install the headset's software (SteamVR, Monado, Meta Quest Link) and set it as the OpenXR runtime, then start again."
            }
            Self::NotRunning => "Start the headset's software, then start again with --vr.",
            Self::NoHeadset => "Connect the headset and switch it on, then start again with --vr.",
            Self::Other(_) | Self::OtherDevice => {
                "Restart the headset's software, then start again with --vr."
            }
        };
        let mut what_happened = self.to_string();
        if let Some(first) = what_happened.get(..1) {
            what_happened = first.to_uppercase() + what_happened.get(1..).unwrap_or_default();
        }
        Notice::warning(format!("{what_happened}; this is the window without a headset."), what_to_do)
    }
}

impl Runtime {
    /// Finds a headset and makes a device for it.
    pub fn load() -> Result<(Self, RenderCreation), RuntimeError> {
        let (instance, system) = connect()?;
        let (graphics, session) = instance.init_graphics(system, None)?;
        let WgpuGraphics(device, queue, adapter_info, adapter, wgpu) = graphics;
        let render = RenderCreation::manual(
            device.into(),
            RenderQueue(Arc::new(WgpuWrapper::new(queue))),
            RenderAdapterInfo(WgpuWrapper::new(adapter_info)),
            RenderAdapter(Arc::new(WgpuWrapper::new(adapter))),
            RenderInstance(Arc::new(WgpuWrapper::new(wgpu))),
        );
        let GraphicsWrap::Vulkan(handles) = session.0;
        let connection = Connection { instance: instance.into_inner(), system };
        Ok((Self { connection: Some(connection), device: Device(handles) }, render))
    }

    /// Reaches a runtime that went away and may be back; it can take seconds.
    pub fn connect() -> Result<Connection, RuntimeError> {
        let (instance, system) = connect()?;
        Ok(Connection { instance: instance.into_inner(), system })
    }

    /// Takes a new connection. Bevy goes on drawing with the device of the first.
    pub fn use_connection(&mut self, new: Connection) -> Result<(), RuntimeError> {
        new.instance.graphics_requirements::<openxr::Vulkan>(new.system)?;
        #[expect(unsafe_code, reason = "OpenXR takes Vulkan's handles")]
        // SAFETY: the instance of Vulkan is the one that Bevy draws with.
        let physical = unsafe { new.instance.vulkan_graphics_device(new.system, self.device.0.instance)? };
        if physical != self.device.0.physical_device {
            return Err(RuntimeError::OtherDevice);
        }
        self.connection = Some(new);
        Ok(())
    }

    /// The connection, while there is one.
    pub fn connection(&self) -> openxr::Result<&Connection> {
        self.connection.as_ref().ok_or(sys::Result::ERROR_INSTANCE_LOST)
    }

    /// What the headset calls itself.
    pub fn headset_name(&self) -> openxr::Result<String> {
        let Connection { instance, system } = self.connection()?;
        Ok(instance.system_properties(*system)?.system_name)
    }

    /// The runtime is gone.
    pub fn disconnect(&mut self) {
        self.connection = None;
    }

    /// Begins a session.
    pub fn create_session(&self) -> openxr::Result<NewSession> {
        let connection = self.connection()?;
        #[expect(unsafe_code, reason = "OpenXR takes Vulkan's handles")]
        // SAFETY: the handles are those of the device that Bevy draws with, which outlives every session.
        unsafe {
            connection.instance.create_session::<openxr::Vulkan>(connection.system, &self.device.0)
        }
    }
}

/// A session, what waits for its frames, and what its frames go to.
pub(super) type NewSession =
    (openxr::Session<openxr::Vulkan>, openxr::FrameWaiter, openxr::FrameStream<openxr::Vulkan>);

/// Loads the runtime and asks for a headset.
fn connect() -> Result<(bevy_mod_openxr::resources::OxrInstance, SystemId), RuntimeError> {
    let entry = load_entry()?;
    #[cfg(target_os = "android")]
    entry.initialize_android_loader()?;
    let entry = OxrEntry(entry);
    let available = entry.0.enumerate_extensions()?;
    let mut wanted = OxrExtensions::default();
    let all = wanted.raw_mut();
    all.ext_hand_tracking = available.ext_hand_tracking;
    all.fb_passthrough = available.fb_passthrough;
    all.fb_touch_controller_pro = available.fb_touch_controller_pro;
    all.meta_touch_controller_plus = available.meta_touch_controller_plus;
    all.ext_local_floor = available.ext_local_floor;
    #[cfg(target_os = "android")]
    {
        // Runtimes there refuse who does not ask for it.
        all.khr_android_create_instance = available.khr_android_create_instance;
    }
    let info = AppInfo { name: "Convene".into(), version: version() };
    let instance = match entry.create_instance(info, wanted, &[], GraphicsBackend::Vulkan(())) {
        Ok(instance) => instance,
        Err(OxrError::OpenXrError(error)) => return Err(error.into()),
        Err(error) => return Err(error.into()),
    };
    if let Ok(properties) = instance.properties() {
        tracing::info!("OpenXR runtime: {} {}", properties.runtime_name, properties.runtime_version);
    }
    let system = instance.system(FormFactor::HEAD_MOUNTED_DISPLAY)?;
    Ok((instance, system))
}

#[cfg(not(windows))]
fn load_entry() -> Result<openxr::Entry, RuntimeError> {
    #[expect(unsafe_code, reason = "a shared library runs code when it is loaded")]
    // SAFETY: it is the system's OpenXR loader, by its standard name.
    unsafe {
        openxr::Entry::load().map_err(|error| {
            tracing::info!("no OpenXR loader: {error}");
            RuntimeError::NoRuntime
        })
    }
}

/// On Windows the loader is part of the program.
#[cfg(windows)]
fn load_entry() -> Result<openxr::Entry, RuntimeError> {
    Ok(openxr::Entry::linked())
}

fn version() -> Version {
    let part = |text: &str| text.parse().unwrap_or_default();
    Version(
        part(env!("CARGO_PKG_VERSION_MAJOR")),
        part(env!("CARGO_PKG_VERSION_MINOR")),
        env!("CARGO_PKG_VERSION_PATCH").parse().unwrap_or_default(),
    )
}
