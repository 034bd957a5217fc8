//! Models: an entity for each open model, from its first byte until it is closed.
//!
//! For: bringing entities in line with the meeting's models, and where they
//! stand. Decoding runs on workers (`decode`), uploading over several frames
//! (`upload`), opening files here in `open`; `stream` shows what comes in parts.
//!
//! A model's entity has [`Model`] and [`Stands`]; [`ModelState`] says how far it
//! is. Its transform is the pose and the metres of its largest side; below it is
//! one child with the model's own units, and below that the pieces.

mod animate;
mod decode;
mod lights;
mod material;
mod mesh;
mod moments;
mod open;
mod stream;
mod upload;

use bevy::{platform::collections::HashMap, prelude::*};

pub use animate::Motions;
pub use decode::{Detail, Jobs, Shape};
pub use moments::Moments;
pub use open::{OpenAtStart, Opening};

use super::{
    AppSystems,
    grab::Held,
    link::{Meeting, receive},
    smooth,
};
use upload::Content;

use crate::session::{ContentId, Measure, Placement};

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Index>()
        .add_systems(
            Update,
            sync.run_if(resource_changed::<Meeting>).in_set(AppSystems::Receive).after(receive),
        )
        .add_systems(Update, place.in_set(AppSystems::Present))
        .add_plugins((decode::plugin, upload::plugin, open::plugin, animate::plugin, lights::plugin))
        .add_plugins(moments::plugin);
}

/// An open model.
#[derive(Component, Debug, Clone, PartialEq, Eq)]
#[require(Stands, ModelState, Detail, Moments, Transform, Visibility::Hidden)]
pub struct Model {
    /// Its id in the meeting.
    pub id: String,
}

/// How far a model is.
#[derive(Component, Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModelState {
    /// Its bytes are on their way.
    #[default]
    Arriving,
    /// A worker decodes it.
    Decoding,
    /// Its meshes go to the GPU, some each frame.
    Uploading,
    /// All of it is there.
    Ready,
    /// It cannot be shown.
    Failed,
}

/// Where a model stands.
#[derive(Component, Debug, Clone, Copy, Default)]
pub struct Stands {
    /// World pose and metres of the largest side; what the person sees.
    pub world: Option<Placement>,
    /// Its bounding box in its own units, once known.
    pub measure: Option<Measure>,
}

impl Stands {
    /// World position of the middle of the model.
    pub fn middle(&self) -> Option<Vec3> {
        let world = self.world?;
        let middle = self.measure.map_or(Vec3::ZERO, |m| m.center * m.unit_scale());
        Some(world.position + world.rotation * (middle * world.scale))
    }
}

/// Which entity shows which model, and of which content.
#[derive(Resource, Default, Deref, DerefMut)]
struct Index(HashMap<String, (Entity, Option<ContentId>)>);

fn sync(mut commands: Commands, meeting: Res<Meeting>, mut index: ResMut<Index>) {
    index.retain(|id, (entity, shown)| {
        // Another file under the same id is shown anew.
        let stays = meeting.model(id).is_some_and(|model| match (model.content, &*shown) {
            (Some(content), Some(shown)) => content == *shown,
            _ => true,
        });
        if !stays {
            commands.entity(*entity).despawn();
        }
        stays
    });
    for model in &meeting.models {
        match index.get_mut(&model.id) {
            Some((_, shown)) => *shown = model.content.or(*shown),
            None => {
                let entity =
                    commands.spawn((Model { id: model.id.clone() }, Name::new(model.name.clone()))).id();
                index.insert(model.id.clone(), (entity, model.content));
            }
        }
    }
}

pub(super) fn place(
    meeting: Res<Meeting>,
    held: Res<Held>,
    time: Res<Time>,
    mut models: Query<(&Model, &ModelState, &mut Stands, &mut Transform, &mut Visibility, Has<Content>)>,
) {
    let share = smooth::share(time.delta());
    for (model, state, mut stands, mut transform, mut visibility, has_content) in &mut models {
        let Some(view) = meeting.model(&model.id) else { continue };
        let (target, at_once) = held.place(view, &meeting);
        let world = match stands.world {
            Some(now) if !at_once => smooth::step(now, target, share),
            _ => target,
        };
        let measure = view.measure.or(stands.measure);
        if stands.world != Some(world) || stands.measure != measure {
            *stands = Stands { world: Some(world), measure };
            *transform = Transform {
                translation: world.position,
                rotation: world.rotation,
                scale: Vec3::splat(world.scale),
            };
        }
        // Some of it may be there before all is.
        let shown = view.shown && has_content && *state != ModelState::Failed;
        visibility.set_if_neq(if shown { Visibility::Inherited } else { Visibility::Hidden });
    }
}
