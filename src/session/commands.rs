//! What the person here wants.

use super::{
    Command, Content, Delivery, Event, LeaveReason, Model, Move, Placement, Role, Session, SessionError,
    host::visible_name,
};
use crate::{
    transfer::Holding,
    wire::{
        Message,
        message::{CloseModel, ModelShown},
    },
};

impl Session {
    /// Does what the person wants and tells everybody.
    pub fn handle_command(&mut self, command: Command, now: std::time::Duration) -> Result<(), SessionError> {
        self.now = now;
        let result = self.command(command);
        self.finish();
        result
    }

    fn in_meeting(&self) -> bool {
        matches!(self.role, Role::Host | Role::Guest(_))
    }

    fn own_id(&self) -> String {
        self.config.identity.device_id().to_owned()
    }

    fn command(&mut self, command: Command) -> Result<(), SessionError> {
        match command {
            Command::OpenModel { model_id, name, glb, content, measure, private, plan } => {
                if self.stage.get(&model_id).is_some() {
                    return Err(SessionError::ModelIdInUse(model_id));
                }
                let bytes = self.stage.bytes() + glb.len() as u64;
                if bytes > self.config.max_model_bytes {
                    return Err(SessionError::TooMuch { bytes, limit: self.config.max_model_bytes });
                }
                if self.stage.models().len() >= self.config.max_models {
                    return Err(SessionError::TooMany { limit: self.config.max_models });
                }
                let shared = self.in_meeting() && !private;
                let holding = Holding::whole(content, glb.clone());
                let mut model = Model {
                    local: self.stage.opening_placement(self.body.head, &measure),
                    shared,
                    opener: Some(self.own_id()),
                    measure: Some(measure),
                    loaded: true,
                    ..Model::new(model_id.clone(), name, Content::Here { glb, id: content })
                };
                model.hold(holding, plan.filter(|_| !self.config.exact));
                self.stage.insert(model);
                if shared {
                    let peers = self.accepted_peers();
                    self.send_model(&model_id, &peers);
                }
                Ok(())
            }
            Command::CloseModel { model_id } => {
                let model = self
                    .stage
                    .remove(&model_id)
                    .ok_or_else(|| SessionError::NoSuchModel(model_id.clone()))?;
                self.stop_arriving(&model_id);
                self.deliveries.forget_model(&model_id);
                if model.shared && self.in_meeting() {
                    self.broadcast(&Message::CloseModel(CloseModel { model_id: model_id.clone() }));
                }
                let from = self.own_id();
                self.events.push_back(Event::ModelClosed { model_id, from });
                Ok(())
            }
            Command::ShareModel { model_id } => {
                if !self.in_meeting() {
                    return Err(SessionError::NoMeeting);
                }
                let model = self.whole_model(&model_id)?;
                if model.shared {
                    return Ok(());
                }
                model.shared = true;
                let hidden = !model.shown;
                let peers = self.accepted_peers();
                self.send_model(&model_id, &peers);
                if hidden {
                    let model_id = model_id.clone();
                    self.broadcast(&Message::ModelShown(ModelShown { model_id, shown: false }));
                }
                self.events.push_back(Event::ModelIsShared { model_id });
                Ok(())
            }
            Command::MoveModel { model_id, to } => {
                if !to.is_usable() {
                    return Err(SessionError::BadNumber);
                }
                self.whole_model(&model_id)?;
                self.stage.move_model(&model_id, to)?;
                self.send_position(&model_id);
                Ok(())
            }
            Command::ShowModel { model_id, shown } => {
                let model = self.whole_model(&model_id)?;
                if model.shown == shown {
                    return Ok(());
                }
                model.shown = shown;
                let shared = model.shared;
                if shared && self.in_meeting() {
                    let model_id = model_id.clone();
                    self.broadcast(&Message::ModelShown(ModelShown { model_id, shown }));
                }
                let from = self.own_id();
                self.events.push_back(Event::ModelShown { model_id, shown, from });
                Ok(())
            }
            Command::MoveScene { to } => {
                if !to.is_usable() {
                    return Err(SessionError::BadNumber);
                }
                self.stage.move_scene(to);
                if self.in_meeting() {
                    let message = self.scene_message();
                    self.broadcast(&message);
                }
                let (scene, from) = (self.stage.scene, self.own_id());
                self.events.push_back(Event::SceneMoved { scene, from });
                Ok(())
            }
            Command::Exact { on } => {
                self.config.exact = on;
                Ok(())
            }
            Command::KeepAligned { on } => {
                if self.stage.keep_aligned != on {
                    self.stage.keep_aligned = on;
                    if self.in_meeting() {
                        let message = self.keep_aligned_message();
                        self.broadcast(&message);
                    }
                }
                let from = self.own_id();
                self.events.push_back(Event::KeepAligned { on, from });
                Ok(())
            }
            Command::OriginalAlignment => {
                for model_id in self.stage.original_alignment() {
                    self.send_position(&model_id);
                }
                Ok(())
            }
            Command::Pose { body, stamp } => {
                if !body.is_finite() {
                    return Err(SessionError::BadNumber);
                }
                self.body = body;
                if self.in_meeting() {
                    let entry = self.own_pose(stamp);
                    self.pass_pose(None, &entry);
                }
                Ok(())
            }
            Command::ModelMeasured { model_id, measure } => {
                let model = self.stage.get_mut(&model_id).ok_or(SessionError::NoSuchModel(model_id))?;
                model.measure = Some(measure);
                Ok(())
            }
            Command::ModelFailed { model_id, error } => {
                let model = self
                    .stage
                    .get_mut(&model_id)
                    .ok_or_else(|| SessionError::NoSuchModel(model_id.clone()))?;
                model.failed = Some(error.clone());
                self.tell_own_state(&model_id, Delivery::Failed);
                self.events.push_back(Event::ModelFailed { model_id, error });
                Ok(())
            }
            Command::ModelLoaded { model_id } => {
                if let Some(model) = self.stage.get_mut(&model_id) {
                    model.loaded = true;
                }
                self.tell_own_state(&model_id, Delivery::Shown);
                Ok(())
            }
            Command::CancelModel { model_id } => self.cancel_model(&model_id),
            Command::WantModel { model_id } => self.want_again(&model_id),
            Command::Rename { identity } => {
                self.config.identity.name = visible_name(&identity.name);
                self.config.identity.colour = identity.colour;
                self.roster_dirty = true;
                // A host of ours learns it by a second version message.
                match self.role {
                    Role::Guest(_) => self.tell_identity(),
                    Role::Joining(_) => self.renamed_while_joining = true,
                    Role::Alone | Role::Host => {}
                }
                Ok(())
            }
            Command::Leave => {
                if self.role == Role::Alone && !self.rejoining {
                    return Err(SessionError::NoMeeting);
                }
                self.leave(LeaveReason::Asked);
                Ok(())
            }
        }
    }

    /// Says our name and colour once more.
    pub(super) fn tell_identity(&mut self) {
        self.renamed_while_joining = false;
        if let Role::Guest(host) = self.role
            && self.peers.get(&host).is_some_and(super::Peer::is_convene)
        {
            let version = self.version_message();
            self.send(host, &version);
        }
    }

    /// Takes no more bytes of a model that is on its way. A host that does so
    /// closes it, for nobody would get it from elsewhere.
    fn cancel_model(&mut self, model_id: &str) -> Result<(), SessionError> {
        let model =
            self.stage.get_mut(model_id).ok_or_else(|| SessionError::NoSuchModel(model_id.to_owned()))?;
        let Content::Arriving { progress, .. } = model.content else {
            return Err(SessionError::AlreadyHere(model_id.to_owned()));
        };
        if self.role == Role::Host {
            return self.command(Command::CloseModel { model_id: model_id.to_owned() });
        }
        model.cancelled = true;
        self.stop_arriving(model_id);
        self.tell_own_status(model_id, Delivery::Cancelled, progress);
        self.events.push_back(Event::ModelCancelled { model_id: model_id.to_owned() });
        Ok(())
    }

    fn whole_model(&mut self, model_id: &str) -> Result<&mut Model, SessionError> {
        let model =
            self.stage.get_mut(model_id).ok_or_else(|| SessionError::NoSuchModel(model_id.to_owned()))?;
        if model.glb().is_none() { Err(SessionError::StillArriving(model_id.to_owned())) } else { Ok(model) }
    }

    /// Tells the new place of a model to everybody, ourselves included.
    fn send_position(&mut self, model_id: &str) {
        let shared = self.stage.get(model_id).is_some_and(|m| m.shared);
        if shared
            && self.in_meeting()
            && let Some(message) = self.model_position_message(model_id)
        {
            self.broadcast(&message);
        }
        let from = self.own_id();
        self.push_moved(model_id, from);
    }
}

impl Move {
    /// To a world pose and a scale within the scene.
    pub fn to_pose(pose: super::Pose, scale: f32) -> Self {
        Self::to(Placement { position: pose.position, rotation: pose.rotation, scale })
    }
}
