//! Models in hands: here the local placement is the truth.
//!
//! While a model is held, it is shown where the hand has it, and what others do
//! to it counts only after release; each frame's place goes to the driver. With
//! keep-aligned on, the scene moves with all models in it instead. After release
//! the local placement stays the truth until the driver's view has caught up, so
//! that nothing jumps back for a frame.

use std::time::Duration;

use bevy::prelude::*;

use super::{
    AppSystems,
    input::Hold,
    link::{Meeting, Outgoing},
};
use crate::session::{Command, ModelView, Move, Placement, Pose};

/// How long after release the driver may take to catch up.
const CATCH_UP: Duration = Duration::from_millis(500);

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Held>().add_systems(Update, (release, hold).chain().in_set(AppSystems::Update));
}

/// What is held here: nothing, or a model in each hand at most.
#[derive(Resource, Debug, Default)]
pub struct Held(Vec<Holding>);

#[derive(Debug)]
struct Holding {
    model_id: String,
    /// Where it is: world pose, metres of its largest side.
    world: Placement,
    /// With keep-aligned: where that puts the scene.
    scene: Option<Placement>,
    /// Whether it has been moved at all.
    moved: bool,
    released_at: Option<Duration>,
}

impl Held {
    /// The models in hands.
    pub fn model_ids(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|h| h.released_at.is_none()).map(|h| h.model_id.as_str())
    }

    /// Where a model is to be shown, and whether that is to be followed at once.
    pub fn place(&self, model: &ModelView, meeting: &Meeting) -> (Placement, bool) {
        let theirs = world_of(model);
        let mut moved = self.0.iter().rev().filter(|holding| holding.moved);
        match moved.find(|h| h.scene.is_some() || h.model_id == model.id) {
            Some(Holding { scene: Some(scene), .. }) => {
                (scene.compose(undo(meeting.scene)).compose(theirs), true)
            }
            Some(holding) => (holding.world, true),
            None => (theirs, false),
        }
    }

    fn get(&mut self, model_id: &str) -> Option<&mut Holding> {
        self.0.iter_mut().find(|holding| holding.model_id == model_id)
    }
}

/// World pose and world scale of a model.
pub fn world_of(model: &ModelView) -> Placement {
    Placement { position: model.pose.position, rotation: model.pose.rotation, scale: model.world_scale }
}

/// The placement that undoes this one.
fn undo(p: Placement) -> Placement {
    let rotation = p.rotation.conjugate();
    Placement { position: rotation * -p.position / p.scale, rotation, scale: 1.0 / p.scale }
}

/// Where the scene must be for a model that is at `from` to be at `to`.
fn scene_for(scene: Placement, from: Placement, to: Placement) -> Placement {
    to.compose(undo(from)).compose(scene)
}

fn hold(
    mut holds: MessageReader<Hold>,
    mut held: ResMut<Held>,
    meeting: Res<Meeting>,
    time: Res<Time<Real>>,
    mut outgoing: MessageWriter<Outgoing>,
) {
    let mut moved: Vec<String> = Vec::new();
    for hold in holds.read() {
        match hold {
            Hold::Take { model_id } => {
                let Some(model) = meeting.model(model_id) else { continue };
                // What was let go a moment ago is still where it was put.
                let (world, _) = held.place(model, &meeting);
                held.0.retain(|holding| holding.model_id != *model_id);
                held.0.push(Holding {
                    model_id: model_id.clone(),
                    world,
                    scene: None,
                    moved: false,
                    released_at: None,
                });
            }
            Hold::To { model_id, world } => {
                if let Some(holding) = held.get(model_id).filter(|h| h.released_at.is_none())
                    && world.is_finite()
                {
                    let world = Placement::new(Pose::new(world.position, world.rotation), world.scale);
                    // A hand that holds still says nothing.
                    if (!holding.moved || holding.world != world) && !moved.contains(model_id) {
                        moved.push(model_id.clone());
                    }
                    holding.moved = true;
                    holding.world = world;
                }
            }
            Hold::Release { model_id } => {
                if let Some(holding) = held.get(model_id) {
                    holding.released_at.get_or_insert(time.elapsed());
                }
            }
        }
    }
    for model_id in moved {
        let Some(holding) = held.get(&model_id) else { continue };
        let Some(model) = meeting.model(&model_id) else { continue };
        let command = if meeting.keep_aligned {
            let scene = scene_for(meeting.scene, world_of(model), holding.world);
            holding.scene = Some(scene);
            Command::MoveScene { to: Move::to(scene) }
        } else {
            holding.scene = None;
            let to = Move::to_pose(holding.world.pose(), holding.world.scale / meeting.scene.scale);
            Command::MoveModel { model_id, to }
        };
        outgoing.write(command.into());
    }
}

/// Ends the local truth: the driver's view agrees, or had long enough to, or
/// the model is gone.
fn release(mut held: ResMut<Held>, meeting: Res<Meeting>, time: Res<Time<Real>>) {
    held.0.retain(|holding| match meeting.model(&holding.model_id) {
        None => false,
        Some(model) => holding.released_at.is_none_or(|at| {
            holding.moved && time.elapsed() <= at + CATCH_UP && !agree(world_of(model), holding.world)
        }),
    });
}

fn agree(a: Placement, b: Placement) -> bool {
    a.position.distance(b.position) < 1e-4
        && a.rotation.dot(b.rotation).abs() > 0.999_999
        && (a.scale / b.scale - 1.0).abs() < 1e-4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(x: f32, angle: f32, scale: f32) -> Placement {
        Placement::new(Pose::new(Vec3::new(x, 1.0, -x), Quat::from_rotation_y(angle)), scale)
    }

    #[test]
    fn undo_undoes() {
        let p = placement(2.0, 0.7, 3.0);
        assert!(agree(p.compose(undo(p)), Placement::IDENTITY));
        assert!(agree(undo(p).compose(p), Placement::IDENTITY));
    }

    #[test]
    fn the_scene_takes_the_model_along() {
        let (scene, local) = (placement(1.0, 0.3, 2.0), placement(-0.5, 1.0, 0.7));
        let to = placement(0.4, -1.2, 5.0);
        let moved = scene_for(scene, scene.compose(local), to);
        assert!(agree(moved.compose(local), to), "{moved:?}");
    }
}
