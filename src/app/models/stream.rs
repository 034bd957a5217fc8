//! Models that come in parts, shown while they come.
//!
//! Parts that were decoded are in the driver's [`Assembly`]; each goes to a worker that
//! makes pieces and a tree for rays of it, and into its place as soon as the frame's
//! allowance is enough. What is here is looked at anew in every frame, so an app that
//! stood still catches up. When the last part is there, the pieces *are* the model: the
//! GLB that the driver makes of the parts need not be decoded. It is decoded after all,
//! and takes the place of the pieces in one frame, where they are not all of it: where
//! it has textures, lines, transparent surfaces or lights, more triangles than the
//! budget (parts beyond it are not shown until then), or very many small parts.

use std::sync::{Arc, OnceLock};

use bevy::{platform::collections::HashMap, prelude::*};

use super::{
    Model, ModelState,
    decode::{Answer, Done, Jobs, MAXIMUM_MESH_BYTES, Shape},
    material::{Look, LookKey},
    mesh::{self, Part},
    moments::{Moments, Watch},
    upload::{Allowance, Content, Pieces},
};
use crate::{
    app::link::{Meeting, Outgoing},
    mesh::{Assembly, Decoded},
    model::{
        Bounds, Cancel, Limits,
        bvh::Bvh,
        outline::Outline,
        parts::{parts, parts_on},
    },
    session::{Command, Measure, ModelView},
    workers::Workers,
};

/// Parts of a model that are with the workers at the same time: each is in memory twice
/// meanwhile.
const WITH_WORKERS: usize = 8;
/// A model in fewer pieces than this is one that can be drawn, however small they are.
const FEW_PIECES: usize = 64;
/// In more pieces it can if they have so many bytes on average.
const PIECE_BYTES: usize = 256 << 10;

/// On the entity of a model that comes in parts.
#[derive(Component)]
pub(super) struct Streaming {
    /// Tells the results of this one from those of one before.
    number: u64,
    /// None only while it is dropped.
    assembly: Option<Arc<Assembly>>,
    workers: Workers,
    cancel: Cancel,
    /// Made by the first worker that needs it; none in it: it cannot be read.
    outline: Arc<OnceLock<Option<Outline>>>,
    measure: Measure,
    /// Triangles that may be drawn.
    budget: Option<u64>,
    /// By chunk: whether a worker has it, or had.
    asked: Vec<bool>,
    with_workers: usize,
    /// Parts that workers have done.
    done: u32,
    /// No more of it is shown before it is whole.
    stopped: bool,
    pieces: Pieces,
    materials: HashMap<LookKey, Handle<StandardMaterial>>,
    content: Option<Entity>,
    made: Made,
    tree: Tree,
}

/// What was made of parts so far.
#[derive(Default)]
struct Made {
    /// Whether something of it is transparent.
    transparent: bool,
    bounds: Bounds,
    triangles: u64,
    pieces: usize,
    bytes: usize,
}

/// What rays meet, in the making.
enum Tree {
    /// One for each part.
    Parts(Vec<Bvh>),
    /// A worker makes one of them.
    Joining,
    Whole(Arc<Bvh>),
}

/// What a worker has made for a [`Streaming`].
pub(super) enum Streamed {
    Part(Box<Ready>),
    Tree(Box<Bvh>),
    /// It cannot be shown in parts. If that is a fault, decoding the whole will tell.
    Not,
}

/// A part that can be uploaded.
pub(super) struct Ready {
    pieces: Vec<Part>,
    transparent: bool,
    tree: Bvh,
    bounds: Bounds,
    triangles: u64,
}

/// What becomes of the pieces once the model is whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is not known yet.
    Open,
    /// They are the model.
    Model,
    /// They are shown until the model takes their place.
    Replaced,
}

impl Streaming {
    fn new(number: u64, assembly: Arc<Assembly>, measure: Measure, jobs: &Jobs) -> Self {
        Self {
            number,
            asked: vec![false; assembly.chunk_count()],
            assembly: Some(assembly),
            workers: jobs.workers.clone(),
            cancel: Cancel::default(),
            outline: Arc::default(),
            measure,
            budget: jobs.budget,
            with_workers: 0,
            done: 0,
            stopped: false,
            pieces: Pieces::default(),
            materials: HashMap::new(),
            content: None,
            made: Made::default(),
            tree: Tree::Parts(Vec::new()),
        }
    }

    fn outline(&self) -> Option<&Outline> {
        self.outline.get()?.as_ref()
    }

    /// Whether all parts are done.
    fn has_all(&self) -> bool {
        self.outline().is_some_and(|outline| outline.parts == self.done)
    }

    fn fate(&self) -> Fate {
        let small = self.made.pieces > FEW_PIECES && self.made.bytes / PIECE_BYTES < self.made.pieces;
        if self.stopped
            || self.made.transparent
            || small
            || self.outline().is_some_and(|outline| !outline.is_all)
        {
            return Fate::Replaced;
        }
        if self.has_all() { Fate::Model } else { Fate::Open }
    }

    /// Gives what has come to workers. What none of them can take now is given later.
    fn ask(&mut self, entity: Entity, jobs: &Jobs) {
        let Some(assembly) = self.assembly.clone() else { return };
        if !assembly.has(0) {
            return;
        }
        for (index, asked) in (0u32..).zip(&mut self.asked) {
            if self.stopped || self.with_workers >= WITH_WORKERS {
                return;
            }
            let here = assembly.chunk(index as usize).filter(|chunk| matches!(***chunk, Decoded::Part(_)));
            let (false, Some(chunk)) = (*asked, here.cloned()) else { continue };
            let (head, outline) = (assembly.clone(), self.outline.clone());
            let (cancel, limits) = (self.cancel.clone(), jobs.limits.clone());
            let scale = self.measure.unit_scale();
            let work = move || {
                let outline = outline.get_or_init(|| read(&head, &limits)).as_ref()?;
                prepare(&chunk, outline, scale, &cancel).map(|ready| Streamed::Part(Box::new(ready)))
            };
            if !submit(self.number, entity, jobs, work) {
                return;
            }
            *asked = true;
            self.with_workers += 1;
        }
    }

    /// Has one tree made of all once they are there.
    fn join(&mut self, entity: Entity, jobs: &Jobs) {
        let Tree::Parts(trees) = &mut self.tree else { return };
        let trees = std::mem::take(trees);
        let work = move || Some(Streamed::Tree(Box::new(Bvh::join(trees))));
        // Whoever cannot have it made has the whole decoded.
        self.stopped |= !submit(self.number, entity, jobs, work);
        self.tree = Tree::Joining;
    }

    /// Takes what a worker has made.
    pub fn take(&mut self, number: u64, streamed: Streamed) {
        if number != self.number {
            return;
        }
        match streamed {
            Streamed::Part(part) => {
                self.with_workers = self.with_workers.saturating_sub(1);
                self.done += 1;
                self.add(*part);
            }
            Streamed::Tree(tree) => self.tree = Tree::Whole(Arc::new(*tree)),
            Streamed::Not => self.stopped = true,
        }
    }

    fn add(&mut self, part: Ready) {
        let triangles = self.made.triangles.saturating_add(part.triangles);
        if self.stopped || self.budget.is_some_and(|budget| triangles > budget) {
            self.stopped = true;
            return;
        }
        self.made.triangles = triangles;
        self.made.transparent |= part.transparent;
        self.made.bounds = self.made.bounds.union(part.bounds);
        self.made.pieces += part.pieces.iter().map(|piece| piece.transforms.len()).sum::<usize>();
        self.made.bytes += part.pieces.iter().map(|piece| piece.bytes).sum::<usize>();
        self.pieces.push(part.pieces);
        if let Tree::Parts(trees) = &mut self.tree {
            trees.push(part.tree);
        }
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        self.cancel.cancel();
        let (assembly, tree) = (self.assembly.take(), std::mem::replace(&mut self.tree, Tree::Joining));
        // Giving so much memory back takes longer than a frame has.
        let _ = self.workers.submit(move || drop((assembly, tree)));
    }
}

/// Whether a worker is going to do it; without a result it tells that there is none.
fn submit(
    stream: u64,
    entity: Entity,
    jobs: &Jobs,
    work: impl FnOnce() -> Option<Streamed> + Send + 'static,
) -> bool {
    let mut answer = Answer::new(jobs, Done::Streamed { entity, stream, streamed: Streamed::Not });
    let submitted = jobs.workers.submit(move || {
        answer.begin();
        let streamed = work().unwrap_or(Streamed::Not);
        answer.send(Done::Streamed { entity, stream, streamed });
    });
    submitted.is_ok()
}

/// Runs on a worker.
fn read(assembly: &Assembly, limits: &Limits) -> Option<Outline> {
    let Decoded::Head(head) = &**assembly.chunk(0)? else { return None };
    let outline = Outline::read(head, limits);
    if let Err(error) = &outline {
        debug!("a model is not shown in parts: {error}");
    }
    outline.ok()
}

/// Runs on a worker.
fn prepare(chunk: &Decoded, outline: &Outline, scale: f32, cancel: &Cancel) -> Option<Ready> {
    let Decoded::Part(part) = chunk else { return None };
    if cancel.is_cancelled() {
        return None;
    }
    let mut shown = outline.decode(part).inspect_err(|error| debug!("a part is not shown: {error}")).ok()?;
    let (bounds, triangles) = (shown.model.bounds, shown.model.counts.triangles);
    let transparent = shown.is_transparent;
    let (tree, made) = if outline.is_all && !transparent {
        let tree = Bvh::build(&shown.model);
        (tree, parts_on(&mut shown.model, &shown.grid, MAXIMUM_MESH_BYTES))
    } else {
        (Bvh::default(), parts(&mut shown.model, MAXIMUM_MESH_BYTES))
    };
    let piece = |part| {
        let looks = LookKey::of(&part, &outline.materials, scale);
        mesh::part(part, looks, false)
    };
    Some(Ready { pieces: made.into_iter().map(piece).collect(), transparent, tree, bounds, triangles })
}

/// Follows the models that come in parts: takes what has come, and lets go of what is
/// cancelled, or whole and to be decoded.
pub(super) fn follow(
    mut commands: Commands,
    meeting: Res<Meeting>,
    jobs: Res<Jobs>,
    mut last: Local<u64>,
    mut models: Query<(Entity, &Model, &mut ModelState, Option<&mut Streaming>)>,
) {
    for (entity, model, mut state, streaming) in &mut models {
        let Some(view) = meeting.model(&model.id) else { continue };
        let Some(mut streaming) = streaming else {
            if *state == ModelState::Arriving
                && let Some((measure, assembly)) = coming(view)
            {
                *last += 1;
                let mut streaming = Streaming::new(*last, assembly, measure, &jobs);
                streaming.ask(entity, &jobs);
                commands.entity(entity).insert(streaming);
            }
            continue;
        };
        if view.cancelled || view.failed.is_some() || !is_of(&streaming, view) {
            if let Some(content) = streaming.content {
                commands.entity(content).despawn();
            }
            commands.entity(entity).remove::<(Streaming, Content)>();
            state.set_if_neq(ModelState::Arriving);
            continue;
        }
        streaming.ask(entity, &jobs);
        let fate = streaming.fate();
        if fate == Fate::Model && matches!(streaming.tree, Tree::Parts(_)) {
            streaming.join(entity, &jobs);
        }
        if view.glb.is_some() {
            // Waits for the workers, or for its turn to be uploaded; or is decoded.
            let next = match fate {
                Fate::Open | Fate::Model => ModelState::Uploading,
                Fate::Replaced => ModelState::Arriving,
            };
            state.set_if_neq(next);
            if fate == Fate::Replaced {
                commands.entity(entity).remove::<Streaming>();
            }
        }
    }
}

/// What there is of a model that comes in parts, and how large it is.
fn coming(view: &ModelView) -> Option<(Measure, Arc<Assembly>)> {
    let wanted = !view.cancelled && view.failed.is_none() && view.glb.is_none();
    let holding = view.in_parts.as_ref().filter(|_| wanted)?;
    let measure = view.measure.filter(|measure| measure.unit_scale().is_finite())?;
    Some((measure, holding.parts()?))
}

/// Whether these are the parts of what is on its way now, or was and is whole.
fn is_of(streaming: &Streaming, view: &ModelView) -> bool {
    let Some(assembly) = &streaming.assembly else { return false };
    match &view.in_parts {
        // One that is just being made a file of has given them away.
        Some(holding) => {
            holding.parts().map_or_else(|| assembly.is_complete(), |now| Arc::ptr_eq(&now, assembly))
        }
        None => assembly.is_complete() && view.glb.is_some(),
    }
}

/// Uploads parts that are ready, as far as the frame's allowance goes.
pub(super) fn upload(
    mut commands: Commands,
    mut models: Query<(Entity, &Model, &mut Streaming, &mut ModelState, &mut Moments)>,
    mut allowance: ResMut<Allowance>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
    mut outgoing: MessageWriter<Outgoing>,
    meeting: Res<Meeting>,
    watch: Res<Watch>,
) {
    for (entity, model, mut streaming, mut state, mut moments) in &mut models {
        let streaming = &mut *streaming;
        while !streaming.pieces.is_empty() && allowance.is_left() {
            let content = *streaming.content.get_or_insert_with(|| {
                let scale = Transform::from_scale(Vec3::splat(streaming.measure.unit_scale()));
                let content = commands.spawn((scale, Visibility::Inherited, ChildOf(entity))).id();
                commands.entity(entity).insert(Content(content));
                content
            });
            let outline = streaming.outline.get().and_then(Option::as_ref);
            let known = &mut streaming.materials;
            let material = |key| {
                let made = |outline: &Outline| {
                    let look = Look::new(key, &outline.materials, |_, _| None);
                    materials.add(look.material(&[]))
                };
                Some(known.entry(key).or_insert_with(|| outline.map(made).unwrap_or_default()).clone())
            };
            let place = (entity, content);
            let step = streaming.pieces.step(place, material, &mut allowance, &mut commands, &mut meshes);
            if let Some(mesh) = step {
                watch.first(entity, mesh, &mut moments);
            }
        }
        let whole = meeting.model(&model.id).is_some_and(|view| view.glb.is_some());
        let done = whole && streaming.pieces.is_empty() && streaming.fate() == Fate::Model;
        if let (true, Tree::Whole(tree)) = (done, &streaming.tree) {
            let Made { bounds, triangles, .. } = streaming.made;
            let shape = Shape { bounds, tree: tree.clone(), triangles, simplified: None };
            commands.entity(entity).remove::<Streaming>().insert(shape);
            *state = ModelState::Ready;
            moments.ready();
            outgoing.write(Command::ModelLoaded { model_id: model.id.clone() }.into());
        }
    }
}
