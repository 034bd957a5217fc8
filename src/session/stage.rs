//! The stage: which models are open and where everything is.
//!
//! Places are kept as the wire has them: the scene S and each model's L within
//! it; a model's world pose is S*L.

use std::sync::Arc;

use bytes::Bytes;
use glam::Vec3;

use super::{ContentId, Measure, Move, Placement, Pose, SessionError};
use crate::{
    mesh::Plan,
    transfer::{Holding, Method, is_worth_packing},
    wire::Progress,
};

/// How far a model opened by its user stands from the eyes, metres.
pub const OPENING_DISTANCE: f32 = 1.0;

/// An open model.
#[derive(Debug, Clone)]
pub struct Model {
    /// Its id in the meeting.
    pub id: String,
    /// File name, with `.glb`.
    pub name: String,
    /// Within the scene.
    pub local: Placement,
    /// Shown or hidden.
    pub shown: bool,
    /// Whether it is the meeting's; a private one is only here.
    pub shared: bool,
    /// Device id of who opened it, where known.
    pub opener: Option<String>,
    /// Bounding box, once known.
    pub measure: Option<Measure>,
    /// Its bytes.
    pub content: Content,
    /// Why it cannot be shown here, if so.
    pub failed: Option<String>,
    /// Whether it came from a meeting (and not from a file here).
    pub received: bool,
    /// Whether the person here did not want its bytes.
    pub cancelled: bool,
    /// Whether it is shown here: decoded and prepared.
    pub loaded: bool,
    /// What of it can be sent in chunks: each way of sending has its own.
    pub holdings: Vec<Arc<Holding>>,
    /// The hash of the file that was offered and is on its way.
    pub offered: Option<ContentId>,
    /// Chunks that it was offered in parts in; none if it was not.
    pub offered_parts: u32,
    /// How far a position may be from where it was in the opener's file, in the
    /// model's units; zero: what is here is that very file.
    pub max_error: f32,
    /// For those who cannot read parts: what was made of them, a file by itself.
    pub standard: Vec<Arc<Holding>>,
    /// It was the meeting's when the connection was lost; whether it still is
    /// will be known when the host has said what it has.
    pub kept: bool,
    /// The host did not have all of it then.
    pub undelivered: bool,
}

/// The bytes of a model.
#[derive(Debug, Clone)]
pub enum Content {
    /// On their way.
    Arriving {
        /// From which connection.
        peer: super::PeerId,
        /// How many are here.
        progress: Progress,
        /// When the first came.
        since: std::time::Duration,
    },
    /// Whole.
    Here {
        /// The opener's file, shared with everybody who needs it.
        glb: Bytes,
        /// Its hash.
        id: ContentId,
    },
}

impl Model {
    /// A shown, private model of our own, at the scene's origin.
    pub fn new(id: String, name: String, content: Content) -> Self {
        Self {
            id,
            name,
            local: Placement::IDENTITY,
            shown: true,
            shared: false,
            opener: None,
            measure: None,
            content,
            failed: None,
            received: false,
            cancelled: false,
            loaded: false,
            holdings: Vec::new(),
            offered: None,
            offered_parts: 0,
            max_error: 0.0,
            standard: Vec::new(),
            kept: false,
            undelivered: false,
        }
    }

    /// The GLB, once it is whole.
    pub fn glb(&self) -> Option<&Bytes> {
        match &self.content {
            Content::Here { glb, .. } => Some(glb),
            Content::Arriving { .. } => None,
        }
    }

    /// The hash of the GLB, once it is whole.
    pub fn content_id(&self) -> Option<ContentId> {
        match self.content {
            Content::Here { id, .. } => Some(id),
            Content::Arriving { .. } => None,
        }
    }

    /// All of its bytes are here now.
    pub fn become_whole(&mut self, glb: Bytes, id: ContentId) {
        let is_raw = |holding: &Arc<Holding>| holding.id().method == Method::Raw;
        if !self.holdings.iter().any(|holding| is_raw(holding) && holding.file().is_some()) {
            self.holdings.retain(|holding| !is_raw(holding));
            self.hold(Holding::whole(id, glb.clone()), None);
        } else if let Some(raw) = self.holdings.iter().find(|holding| is_raw(holding)).cloned() {
            self.hold_packed(&raw);
        }
        self.content = Content::Here { glb, id };
    }

    /// A standard GLB was made of what came in parts; `own` is its own hash.
    pub fn become_assembled(&mut self, glb: Bytes, own: ContentId, max_error: f32, id: ContentId) {
        self.max_error = max_error;
        let mut standard =
            Self::new(String::new(), String::new(), Content::Here { glb: glb.clone(), id: own });
        standard.hold(Holding::whole(own, glb.clone()), None);
        self.standard = standard.holdings;
        self.content = Content::Here { glb, id };
    }

    /// What of it is here while it arrives in parts.
    pub fn arriving_in_parts(&self) -> Option<Arc<Holding>> {
        let arriving = matches!(self.content, Content::Arriving { .. });
        // One that was cancelled and is wanted again may have been given another.
        self.holdings.iter().rev().find(|h| arriving && h.id().method == Method::Mesh).cloned()
    }

    /// Whether its bytes are the opener's very file.
    pub fn is_exact(&self) -> bool {
        self.glb().is_some() && self.standard.is_empty()
    }

    /// A whole file that can be sent; in parts or packed, too, where that is worth it.
    pub fn hold(&mut self, raw: Holding, plan: Option<Arc<Plan>>) {
        let raw = Arc::new(raw);
        self.holdings.push(raw.clone());
        if let Some(plan) = plan {
            let in_parts = Holding::in_parts(raw.id().content, raw.source_bytes(), plan);
            self.holdings.push(Arc::new(in_parts));
        }
        self.hold_packed(&raw);
    }

    /// What can be sent in this way, and whose it is: the opener's file, or what was
    /// made of its parts.
    pub fn holding(&self, method: Method) -> Option<&Arc<Holding>> {
        self.holdings.iter().chain(&self.standard).find(|holding| holding.id().method == method)
    }

    /// Before one is made: of those that were made here only the latest stays.
    pub fn keep_two(&mut self, wanted: &Arc<Holding>) {
        for holding in self.holdings.iter_mut().chain(&mut self.standard) {
            let made = holding.id().method != Method::Raw && holding.is_packing();
            if made && !Arc::ptr_eq(holding, wanted) && holding.id().method != Method::Mesh {
                // Who is being served out of it keeps it until then.
                *holding = Arc::new(Holding::empty(holding.id(), holding.source_bytes()));
            }
        }
    }

    fn hold_packed(&mut self, raw: &Holding) {
        let has = |method| self.holdings.iter().any(|holding| holding.id().method == method);
        let missing: Vec<Method> =
            [Method::Exact, Method::Gzip].into_iter().filter(|method| !has(*method)).collect();
        if !missing.is_empty() && raw.file().is_some_and(|file| is_worth_packing(&file)) {
            let packed = missing.into_iter().map(|method| Arc::new(Holding::packed_of(raw, method)));
            self.holdings.extend(packed);
        }
    }

    /// Bytes of the GLB, here or announced.
    pub fn bytes(&self) -> usize {
        match &self.content {
            Content::Here { glb, .. } => glb.len(),
            Content::Arriving { progress, .. } => progress.total,
        }
    }
}

/// All models and the scene they stand in.
#[derive(Debug)]
pub struct Stage {
    /// The common parent of all models, in room space.
    pub scene: Placement,
    /// Whether models keep their places relative to each other.
    pub keep_aligned: bool,
    models: Vec<Model>,
}

impl Default for Stage {
    fn default() -> Self {
        Self { scene: Placement::IDENTITY, keep_aligned: false, models: Vec::new() }
    }
}

impl Stage {
    /// In the order in which they were opened.
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// The model with this id.
    pub fn get(&self, id: &str) -> Option<&Model> {
        self.models.iter().find(|m| m.id == id)
    }

    /// The model with this id.
    pub fn get_mut(&mut self, id: &str) -> Option<&mut Model> {
        self.models.iter_mut().find(|m| m.id == id)
    }

    /// All of them.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Model> {
        self.models.iter_mut()
    }

    /// Puts a model behind the others.
    pub fn insert(&mut self, model: Model) {
        debug_assert!(self.get(&model.id).is_none(), "model ids are checked before");
        self.models.push(model);
    }

    /// Takes a model away.
    pub fn remove(&mut self, id: &str) -> Option<Model> {
        let at = self.models.iter().position(|m| m.id == id)?;
        Some(self.models.remove(at))
    }

    /// Bytes of all models, arriving ones whole.
    pub fn bytes(&self) -> u64 {
        self.models.iter().map(|m| m.bytes() as u64).sum()
    }

    /// World pose of a model, room space.
    pub fn world_pose(&self, model: &Model) -> Pose {
        self.scene.compose(model.local).pose()
    }

    /// Where a model that is opened here is put: with its box's centre one metre
    /// in front of the eyes, or as keep-aligned wants it.
    pub fn opening_placement(&self, head: Pose, measure: &Measure) -> Placement {
        if self.keep_aligned
            && let Some(first) = self.alignment_reference()
        {
            return aligned_to(first, measure);
        }
        let forward = head.rotation * Vec3::Z;
        let flat = Vec3::new(forward.x, 0.0, forward.z);
        // Somebody who looks straight up or down: where the top of the head, or the
        // chin, points.
        let flat = flat.try_normalize().unwrap_or_else(|| {
            let up = head.rotation * Vec3::Y * -forward.y.signum();
            Vec3::new(up.x, 0.0, up.z).try_normalize().unwrap_or(Vec3::Z)
        });
        let scene_scale = self.scene.scale;
        let center = head.position + flat * OPENING_DISTANCE;
        let origin = center - measure.center * measure.unit_scale() * scene_scale;
        self.scene.local_from_world(Pose { position: origin, rotation: glam::Quat::IDENTITY }, 1.0)
    }

    /// The model that others are aligned to: the first shown, else the first.
    fn alignment_reference(&self) -> Option<&Model> {
        self.models.iter().find(|m| m.shown).or(self.models.first())
    }

    /// Puts all models into the relative places of their files; the ids and new
    /// placements of those that change.
    pub fn original_alignment(&mut self) -> Vec<String> {
        let Some(first) = self.alignment_reference().cloned() else { return Vec::new() };
        let mut changed = Vec::new();
        for model in self.models.iter_mut().filter(|m| m.id != first.id) {
            let Some(measure) = model.measure else { continue };
            let local = aligned_to(&first, &measure);
            if local != model.local {
                model.local = local;
                changed.push(model.id.clone());
            }
        }
        changed
    }

    /// Moves a model to a world pose and a scale within the scene.
    pub fn move_model(&mut self, id: &str, to: Move) -> Result<(), SessionError> {
        let scene = self.scene;
        let model = self.get_mut(id).ok_or_else(|| SessionError::NoSuchModel(id.to_owned()))?;
        let now = scene.compose(model.local);
        model.local = scene.local_from_world(
            Pose::new(to.position.unwrap_or(now.position), to.rotation.unwrap_or(now.rotation)),
            to.scale.unwrap_or(model.local.scale),
        );
        Ok(())
    }

    /// Moves the scene and all models with it.
    pub fn move_scene(&mut self, to: Move) {
        self.scene = Placement::new(
            Pose::new(to.position.unwrap_or(self.scene.position), to.rotation.unwrap_or(self.scene.rotation)),
            to.scale.unwrap_or(self.scene.scale),
        );
    }
}

/// Position and rotation of `first`, and its scale times s_first / s_new, so
/// that both files' coordinates are one.
fn aligned_to(first: &Model, measure: &Measure) -> Placement {
    let ratio = first.measure.map_or(1.0, |m| m.unit_scale() / measure.unit_scale());
    Placement::new(first.local.pose(), first.local.scale * ratio)
}

impl Move {
    /// To all of a placement.
    pub fn to(placement: Placement) -> Self {
        Self {
            position: Some(placement.position),
            rotation: Some(placement.rotation),
            scale: Some(placement.scale),
        }
    }

    /// Whether every number given is usable.
    pub fn is_usable(&self) -> bool {
        self.position.is_none_or(|p| p.is_finite() && p.abs().max_element() < 1e6)
            && self.rotation.is_none_or(|r| r.is_finite() && r.length_squared() > 1e-12)
            && self.scale.is_none_or(|s| Placement::SCALES.contains(&s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Quat;

    pub(crate) fn model(id: &str, size: Vec3) -> Model {
        let content = Content::Here { glb: Bytes::new(), id: [0; 32] };
        Model {
            shared: true,
            measure: Some(Measure { center: Vec3::ZERO, size }),
            ..Model::new(id.into(), format!("{id}.glb"), content)
        }
    }

    #[test]
    fn opens_one_metre_before_the_eyes() {
        let stage = Stage::default();
        let measure = Measure { center: Vec3::new(10.0, 0.0, 0.0), size: Vec3::new(4.0, 2.0, 1.0) };
        let head = |rotation| Pose { position: Vec3::new(0.0, 1.5, 0.0), rotation };
        let at = stage.opening_placement(head(Quat::IDENTITY), &measure);
        assert!((at.position - Vec3::new(-2.5, 1.5, 1.0)).length() < 1e-5, "{at:?}");
        // Looking down still opens in front, not on the floor.
        for pitch in [1.0, 1.5607, std::f32::consts::FRAC_PI_2] {
            let at = stage.opening_placement(head(Quat::from_rotation_x(pitch)), &measure);
            assert!((at.position - Vec3::new(-2.5, 1.5, 1.0)).length() < 1e-3, "{pitch}: {at:?}");
        }
        let at = stage.opening_placement(head(Quat::from_rotation_y(std::f32::consts::FRAC_PI_2)), &measure);
        assert!((at.position - Vec3::new(-1.5, 1.5, 0.0)).length() < 1e-5, "{at:?}");
    }

    #[test]
    fn opens_there_in_a_moved_scene_too() {
        let mut stage = Stage::default();
        stage.move_scene(Move {
            position: Some(Vec3::new(1.0, 2.0, 3.0)),
            rotation: Some(Quat::from_rotation_y(1.0)),
            scale: Some(2.0),
        });
        let measure = Measure { center: Vec3::new(0.5, 0.0, 0.0), size: Vec3::ONE };
        let head = Pose { position: Vec3::new(0.0, 1.5, 0.0), rotation: Quat::IDENTITY };
        let local = stage.opening_placement(head, &measure);
        let world = stage.scene.compose(local);
        assert!((world.position + Vec3::X - Vec3::new(0.0, 1.5, 1.0)).length() < 1e-5, "{world:?}");
        assert_eq!(local.scale, 1.0);
    }

    #[test]
    fn golden_keep_aligned_open_1() {
        // box (largest side 2) at scale 1, then tall (largest side 3) opens: 1.5.
        let mut stage = Stage { keep_aligned: true, ..Default::default() };
        let mut first = model("box", Vec3::splat(2.0));
        first.local.position = Vec3::new(-0.3, 1.1, 0.4);
        stage.insert(first);
        let measure = Measure { center: Vec3::ZERO, size: Vec3::new(2.0, 3.0, 2.0) };
        let at = stage.opening_placement(Body0::HEAD, &measure);
        assert_eq!((at.position, at.scale), (Vec3::new(-0.3, 1.1, 0.4), 1.5));
    }

    struct Body0;
    impl Body0 {
        const HEAD: Pose = Pose { position: Vec3::new(0.0, 1.5, 0.0), rotation: Quat::IDENTITY };
    }

    #[test]
    fn original_alignment_puts_all_in_one_frame() {
        let mut stage = Stage::default();
        let mut hidden = model("hidden", Vec3::ONE);
        hidden.shown = false;
        stage.insert(hidden);
        let mut a = model("a", Vec3::splat(2.0));
        a.local = Placement::new(Pose::new(Vec3::ONE, Quat::from_rotation_x(0.5)), 3.0);
        stage.insert(a.clone());
        stage.insert(model("b", Vec3::splat(8.0)));
        assert_eq!(stage.original_alignment(), ["hidden", "b"]);
        let b = stage.get("b").unwrap();
        assert_eq!((b.local.pose(), b.local.scale), (a.local.pose(), 12.0));
        assert!(stage.original_alignment().is_empty());
    }

    #[test]
    fn models_move_with_the_scene() {
        let mut stage = Stage::default();
        stage.insert(model("a", Vec3::ONE));
        let to = Move { position: Some(Vec3::new(0.0, 1.0, 0.0)), ..Default::default() };
        stage.move_model("a", to).unwrap();
        stage.move_scene(Move { position: Some(Vec3::X), scale: Some(2.0), ..Default::default() });
        let a = stage.get("a").unwrap();
        assert_eq!(stage.world_pose(a).position, Vec3::new(1.0, 2.0, 0.0));
        assert_eq!(a.local.scale, 1.0);
        // Only the scale: the world pose stays.
        stage.move_model("a", Move { scale: Some(0.5), ..Default::default() }).unwrap();
        let a = stage.get("a").unwrap();
        assert_eq!(stage.world_pose(a).position, Vec3::new(1.0, 2.0, 0.0));
        assert_eq!(stage.move_model("b", to), Err(SessionError::NoSuchModel("b".into())));
    }

    /// Beside the file itself and its parts, of what was made of it the latest alone.
    #[test]
    fn at_most_two_representations_are_kept() {
        let file: Bytes = (0..400_000u32).flat_map(|n| (n / 9).to_le_bytes()).collect::<Vec<u8>>().into();
        let id = *blake3::hash(&file).as_bytes();
        let mut model = Model::new("m".into(), "m.glb".into(), Content::Here { glb: file.clone(), id });
        model.hold(Holding::whole(id, file), None);
        let made = |model: &Model| {
            let packed = model.holdings.iter().filter(|h| h.id().method != Method::Raw);
            packed.map(|holding| holding.stored_bytes() > 0).filter(|made| *made).count()
        };
        for method in [Method::Exact, Method::Gzip, Method::Exact] {
            let wanted = model.holding(method).unwrap().clone();
            assert!(wanted.begin_packing(), "{method:?} was given up");
            model.keep_two(&wanted);
            let raw = model.holding(Method::Raw).unwrap().clone();
            while let Some(index) = wanted.claim() {
                assert!(wanted.pack(&raw, index, crate::mesh::Encoding::Fast));
            }
            assert!(model.holding(method).unwrap().is_complete());
            assert_eq!(made(&model), 1, "{method:?} alone");
        }
    }
}
