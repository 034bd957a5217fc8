//! Decoding on workers: bytes in, meshes and images ready for upload out.
//!
//! A job belongs to its entity: when that goes, the job is told to stop and what
//! it brings is dropped. Results come through a bounded channel, drained once a
//! frame; a worker that finds it full waits, and only it.

use std::sync::Arc;

use bevy::{platform::collections::HashMap, prelude::*};
use crossbeam_channel::{Receiver, Sender, bounded};

use super::{
    Model, ModelState, Stands,
    material::{self, Look, LookKey, Looks},
    mesh::{self, Part},
    open::{File, Opening, Prepareds},
    stream::{self, Streamed, Streaming},
    upload::Content,
};
use crate::{
    app::{
        AppSystems,
        link::{Meeting, Outgoing, receive},
        notices::Notify,
    },
    model::{
        self, Cancel, DecodedModel, Light, Limits,
        bvh::{Bvh, Solids},
        motion::Motion,
        parts::parts,
        simplify::{Simplified, simplify},
    },
    notice::Notice,
    opening,
    session::{Command, Measure},
    workers::Workers,
};

/// Results that may wait for the next frame.
const MAXIMUM_RESULTS: usize = 64;
/// Bytes of one mesh, so that no frame uploads more at once.
pub(super) const MAXIMUM_MESH_BYTES: usize = 4 << 20;

pub(super) fn plugin(app: &mut App) {
    app.add_systems(
        Update,
        (collect, stream::follow, start)
            .chain()
            .in_set(AppSystems::Receive)
            .after(receive)
            .after(super::sync),
    );
}

/// The workers, and what they bring back.
#[derive(Resource)]
pub struct Jobs {
    // Goes first, so that no worker waits for room in it when the pool is joined.
    results: Receiver<Done>,
    pub(super) workers: Workers,
    pub(super) limits: Limits,
    /// Triangles drawn of a model; none for all.
    pub(super) budget: Option<u64>,
    done: Sender<Done>,
}

impl Jobs {
    pub(in crate::app) fn new(workers: Workers, limits: Limits, budget: Option<u64>) -> Self {
        let (done, results) = bounded(MAXIMUM_RESULTS);
        Self { workers, limits, budget, done, results }
    }
}

/// What a worker has finished.
pub(super) enum Done {
    Decoded { entity: Entity, result: Result<Box<Prepared>, String> },
    Opened { name: String, result: Result<Box<File>, Notice> },
    Streamed { entity: Entity, stream: u64, streamed: Streamed },
}

/// The one answer of a job: also told if the job panics, so that nobody waits
/// for it in vain.
pub(super) struct Answer {
    done: Sender<Done>,
    if_lost: Option<Done>,
    begun: bool,
}

impl Answer {
    pub(super) fn new(jobs: &Jobs, if_lost: Done) -> Self {
        Self { done: jobs.done.clone(), if_lost: Some(if_lost), begun: false }
    }

    /// First thing in the job: one that never begins is not lost but refused.
    pub(super) fn begin(&mut self) {
        self.begun = true;
    }

    /// Nobody takes it any more only when the program ends.
    pub(super) fn send(mut self, done: Done) {
        self.if_lost = Some(done);
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(done) = self.if_lost.take()
            && self.begun
        {
            let _ = self.done.send(done);
        }
    }
}

/// A model in the form in which it is uploaded.
pub(super) struct Prepared {
    pub parts: Vec<Part>,
    pub looks: HashMap<LookKey, Look>,
    pub images: Vec<Image>,
    pub measure: Measure,
    pub shape: Shape,
    pub motion: Option<Arc<Motion>>,
    pub lights: Vec<Light>,
    pub warnings: Vec<String>,
}

/// What a ray can hit: in the model's own units.
#[derive(Component, Clone)]
pub struct Shape {
    /// Box around everything.
    pub bounds: model::Bounds,
    /// Triangles, and boxes around lines and points.
    pub tree: Arc<Bvh>,
    /// Number of triangles, of all instances.
    pub triangles: u64,
    /// If that is less than what the file has.
    pub simplified: Option<Simplified>,
}

/// Whether all of a model is wanted, over the budget or not.
#[derive(Component, Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Detail {
    /// All triangles.
    pub full: bool,
    /// It was shown before: nobody need be told again.
    pub(super) again: bool,
}

/// A job that runs; removing it (also by despawning) stops the job.
#[derive(Component)]
pub(super) struct Decoding(Cancel);

impl Drop for Decoding {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// What is to be uploaded.
#[derive(Component)]
pub(super) struct Waiting(pub Option<Box<Prepared>>);

/// Turns arrays into meshes and images. Runs on a worker.
pub(super) fn prepare(mut decoded: DecodedModel, budget: Option<u64>, cancel: &Cancel) -> Box<Prepared> {
    // Before anything is left out, so that it is the same for everybody.
    let (measure, bounds) = (opening::measure(&decoded), decoded.bounds);
    let simplified = budget.and_then(|budget| simplify(&mut decoded, budget, cancel));
    // The tree last: while it is built it needs the most memory, the cutting little less.
    let solids = Solids::of(&decoded);
    let made = parts(&mut decoded, MAXIMUM_MESH_BYTES);
    let tree = Arc::new(Bvh::over(solids));
    let shape = Shape { bounds, tree, triangles: decoded.counts.triangles, simplified };
    let mut looks = Looks::new(&decoded.materials, decoded.textures);
    let part = |part| {
        let own = LookKey::of(&part, &decoded.materials, measure.unit_scale());
        own.iter().for_each(|&key| looks.need(key));
        let tangents = material::needs_tangents(&part, &decoded.materials);
        mesh::part(part, own, tangents)
    };
    let parts = made.into_iter().map(part).collect();
    let (looks, images) = looks.done();
    let motion = decoded.motion.map(|motion| Arc::new(*motion));
    Box::new(Prepared {
        parts,
        looks,
        images,
        measure,
        shape,
        motion,
        lights: decoded.lights,
        warnings: decoded.warnings,
    })
}

/// Starts a job for each model whose bytes are whole.
fn start(
    mut commands: Commands,
    meeting: Res<Meeting>,
    jobs: Res<Jobs>,
    mut opened: ResMut<Prepareds>,
    mut models: Query<(Entity, &Model, &mut ModelState, &Detail), Without<Streaming>>,
) {
    for (entity, model, mut state, detail) in &mut models {
        if *state != ModelState::Arriving {
            continue;
        }
        let Some(view) = meeting.model(&model.id) else { continue };
        if view.failed.is_some() {
            *state = ModelState::Failed;
            continue;
        }
        let Some(glb) = view.glb.clone() else { continue };
        if let Some(prepared) = opened.take(&model.id) {
            *state = ModelState::Uploading;
            commands.entity(entity).insert(Waiting(Some(prepared)));
            continue;
        }
        let (cancel, limits) = (Cancel::default(), jobs.limits.clone());
        let budget = jobs.budget.filter(|_| !detail.full);
        let lost = Err("it broke the decoder".to_owned());
        let mut answer = Answer::new(&jobs, Done::Decoded { entity, result: lost });
        let for_job = cancel.clone();
        let submitted = jobs.workers.submit(move || {
            answer.begin();
            let decoded = model::decode_shared(&glb, &limits, &for_job);
            let result =
                decoded.map(|decoded| prepare(decoded, budget, &for_job)).map_err(|error| error.to_string());
            answer.send(Done::Decoded { entity, result });
        });
        // With all workers' queues full, it is tried again in the next frame.
        if submitted.is_ok() {
            *state = ModelState::Decoding;
            commands.entity(entity).insert(Decoding(cancel));
        }
    }
}

fn collect(
    mut commands: Commands,
    jobs: Res<Jobs>,
    meeting: Res<Meeting>,
    mut models: Query<(&Model, &mut ModelState, &mut Stands)>,
    mut streams: Query<&mut Streaming>,
    contents: Query<&Content>,
    mut outgoing: MessageWriter<Outgoing>,
    mut opened: ResMut<Prepareds>,
    mut opening: ResMut<Opening>,
    mut notices: MessageWriter<Notify>,
    time: Res<Time<Real>>,
) {
    for done in jobs.results.try_iter() {
        let (entity, result) = match done {
            Done::Opened { name, result } => {
                opening.ended(&name);
                match result {
                    Ok(file) => opened.open(*file, time.elapsed(), &mut outgoing),
                    Err(notice) => {
                        notices.write(Notify(notice));
                    }
                }
                continue;
            }
            Done::Streamed { entity, stream, streamed } => {
                if let Ok(mut streaming) = streams.get_mut(entity) {
                    streaming.take(stream, streamed);
                }
                continue;
            }
            Done::Decoded { entity, result } => (entity, result),
        };
        let Ok((model, mut state, mut stands)) = models.get_mut(entity) else { continue };
        commands.entity(entity).remove::<Decoding>();
        match result {
            Ok(mut prepared) => {
                for warning in &prepared.warnings {
                    debug!("a received model: {warning}");
                }
                let view = meeting.model(&model.id);
                if let Some(measure) = view.filter(|view| !view.exact).and_then(|view| view.measure) {
                    // Boxes of parts are a little smaller together than that of the whole was.
                    prepared.measure = measure;
                }
                if view.is_some_and(|m| m.measure.is_none()) {
                    let (model_id, measure) = (model.id.clone(), prepared.measure);
                    outgoing.write(Command::ModelMeasured { model_id, measure }.into());
                }
                *state = ModelState::Uploading;
                // The meeting's answer comes some frames later.
                stands.measure = Some(prepared.measure);
                commands.entity(entity).insert(Waiting(Some(prepared)));
            }
            Err(error) => {
                *state = ModelState::Failed;
                // What was shown of it while it came.
                if let Ok(Content(content)) = contents.get(entity) {
                    commands.entity(*content).despawn();
                    commands.entity(entity).remove::<Content>();
                }
                let model_id = model.id.clone();
                outgoing.write(Command::ModelFailed { model_id, error }.into());
            }
        }
    }
}
