//! Opening: from a file, or from a meeting's bytes, to a model that can be shown.
//!
//! Runs on a worker thread. What it gives goes two ways: to the meeting's driver
//! (bytes and size) and to whoever shows it (the decoded arrays).

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::Builder,
    time::Instant,
};

use bytes::Bytes;

use crate::{
    mesh::{AHEAD, Encoding, NORMAL_BITS, Plan},
    model::{self, Cancel, DecodeError, DecodedModel, Limits, PackError},
    notice::Notice,
    session::{Command, ContentId, Measure, new_model_id},
    settings, threads,
};

/// A model that was read from a file here.
#[derive(Debug)]
pub struct Opened {
    /// A new id.
    pub model_id: String,
    /// The file's name, with `.glb`.
    pub name: String,
    /// The opener's file (a packed one, if it was a `.gltf`).
    pub glb: Bytes,
    /// Its hash.
    pub content: ContentId,
    /// Its bounding box.
    pub measure: Measure,
    /// What can be shown.
    pub decoded: DecodedModel,
    /// How it can be sent in parts, if it can.
    pub plan: Option<Arc<Plan>>,
    /// What was repaired or left out.
    pub warnings: Vec<String>,
    /// How long it took.
    pub seconds: f64,
    /// Keep it private even though a meeting is on.
    pub private: bool,
}

/// Why a file cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {kind}")]
pub struct OpenError {
    /// The file's name, without its folder.
    pub name: String,
    /// What is wrong with it.
    pub kind: OpenErrorKind,
}

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum OpenErrorKind {
    /// It, or a file beside it, cannot be read.
    #[error("{0}")]
    Pack(#[from] PackError),
    /// It cannot be shown.
    #[error("{0}")]
    Decode(#[from] DecodeError),
}

impl OpenErrorKind {
    /// What a person can do about it; may be empty.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Pack(error) => error.remedy(),
            Self::Decode(error) => error.remedy(),
        }
    }
}

impl From<&OpenError> for Notice {
    fn from(error: &OpenError) -> Self {
        Notice::error(format!("{} cannot be opened: {}.", error.name, error.kind), error.kind.remedy())
    }
}

/// Reads a file and decodes it.
pub fn open_file(path: &Path, limits: &Limits, cancel: &Cancel) -> Result<Opened, OpenError> {
    let start = Instant::now();
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let failed = |kind: OpenErrorKind| OpenError { name: name.clone(), kind };
    let packed = model::read_model_file(path, limits).map_err(|error| failed(error.into()))?;
    let glb = Bytes::from(packed.glb);
    // Beside the decoding, which takes longer: nobody gets it before both are done.
    let is_decoded = Arc::new(AtomicBool::new(false));
    let (decoded, for_others) = std::thread::scope(|scope| {
        // Of the priority of this thread.
        let others = Builder::new().name("open".into()).spawn_scoped(scope, || prepare(&glb, &is_decoded));
        let decoded = model::decode_shared(&glb, limits, cancel);
        is_decoded.store(true, Ordering::Release);
        (decoded, others.ok().and_then(|thread| thread.join().ok()))
    });
    let decoded = decoded.map_err(|error| failed(error.into()))?;
    let (content, plan) = for_others.unwrap_or_else(|| prepare(&glb, &is_decoded));
    let mut warnings = packed.warnings;
    warnings.extend(decoded.warnings.iter().cloned());
    Ok(Opened {
        model_id: new_model_id(settings::random()),
        name: format!("{}.glb", packed.name),
        content,
        measure: measure(&decoded),
        plan,
        glb,
        decoded,
        warnings,
        seconds: start.elapsed().as_secs_f64(),
        private: false,
    })
}

/// What others need of a file: its hash, and how it can be sent in parts.
fn prepare(glb: &Bytes, is_decoded: &Arc<AtomicBool>) -> (ContentId, Option<Arc<Plan>>) {
    let plan = plan(glb);
    if let Some(plan) = &plan {
        make_ahead(plan.clone(), is_decoded.clone());
    }
    (*blake3::hash(glb).as_bytes(), plan)
}

/// Makes a model's first chunks while it is decoded, so that the link need not wait
/// for them. Nobody waits for the thread: who wants a chunk finds it, waits for it, or
/// makes it.
fn make_ahead(plan: Arc<Plan>, is_decoded: Arc<AtomicBool>) {
    let made = threads::spawn("ahead", move || {
        for index in 0..AHEAD as u32 {
            if is_decoded.load(Ordering::Acquire) {
                break;
            }
            let _ = plan.encode_once(index, Encoding::Strong, NORMAL_BITS);
        }
    });
    if let Err(error) = made {
        tracing::debug!("a model's first parts are made when they are wanted: {error}");
    }
}

/// How a file can be sent in parts; one that is not plain travels exactly.
fn plan(glb: &Bytes) -> Option<Arc<Plan>> {
    let plan = Plan::new(glb);
    if let Err(why) = &plan {
        tracing::debug!("a model is sent exactly: {why}");
    }
    plan.ok().map(Arc::new)
}

/// The bounding box, as the session wants it.
pub fn measure(decoded: &DecodedModel) -> Measure {
    let bounds = decoded.bounds;
    Measure { center: bounds.center(), size: bounds.size() }
}

impl Opened {
    /// What the meeting's driver is to be told.
    pub fn command(&self) -> Command {
        Command::OpenModel {
            model_id: self.model_id.clone(),
            name: self.name.clone(),
            glb: self.glb.clone(),
            content: self.content,
            measure: self.measure,
            private: self.private,
            plan: self.plan.clone(),
        }
    }
}
