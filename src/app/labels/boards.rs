//! Names for those who look through a headset: boards over the heads that face
//! the viewer.

use bevy::prelude::*;

use super::{Label, tag, update_tags};
use crate::app::{
    AppSystems,
    input::{Headset, Me},
    surface::{Surface, Surfaces, facing},
};

/// Logical pixels: room for the longest name.
const SIZE: UVec2 = UVec2::new(320, 36);
/// So that capitals are half a degree high at a distance of 1.5 m.
const METRES_PER_PIXEL: f32 = 0.0016;
/// Names are as large as at this distance when they are nearer or farther...
const DISTANCE: f32 = 1.5;
/// ...within these factors.
const GROWTH: std::ops::RangeInclusive<f32> = 0.6..=4.0;
/// Frames that a board's image is drawn for after a change: fonts and layout need
/// some.
const DRAWN_FOR: u8 = 4;

pub(super) fn plugin(app: &mut App) {
    app.add_observer(take_down).add_systems(
        Update,
        (put_up, update_tags::<Board>, redraw, place)
            .chain()
            .in_set(AppSystems::Present)
            .after(crate::app::participants::follow),
    );
}

/// On a label's entity: its board.
#[derive(Component)]
pub(super) struct Board {
    board: Entity,
    root: Entity,
    camera: Entity,
    draw_for: u8,
}

impl super::Shows for Board {
    fn root(&self) -> Entity {
        self.root
    }
}

fn put_up(headset: Res<Headset>, labels: Query<(Entity, &Label), Without<Board>>, mut surfaces: Surfaces) {
    if !headset.is_worn() {
        return;
    }
    for (entity, label) in &labels {
        let (board, Surface { root, camera, .. }) = surfaces.spawn("name", SIZE, METRES_PER_PIXEL);
        surfaces.commands.entity(root).entry::<Node>().and_modify(|mut node| {
            node.justify_content = JustifyContent::Center;
            node.align_items = AlignItems::Center;
        });
        surfaces.commands.entity(root).with_child(tag(label));
        surfaces.commands.entity(entity).insert(Board { board, root, camera, draw_for: DRAWN_FOR });
    }
}

fn take_down(removed: On<Remove, Board>, boards: Query<&Board>, mut commands: Commands) {
    if let Ok(board) = boards.get(removed.entity) {
        commands.entity(board.board).try_despawn();
    }
}

/// An image is drawn when what it says has changed, and then rests.
fn redraw(mut boards: Query<(&mut Board, Ref<Label>)>, mut cameras: Query<&mut Camera>) {
    for (mut board, label) in &mut boards {
        if label.is_changed() {
            board.draw_for = DRAWN_FOR;
        }
        let draws = board.draw_for > 0;
        if draws {
            board.draw_for -= 1;
        }
        if let Ok(mut camera) = cameras.get_mut(board.camera)
            && camera.is_active != draws
        {
            camera.is_active = draws;
        }
    }
}

fn place(
    headset: Res<Headset>,
    me: Res<Me>,
    places: TransformHelper,
    labels: Query<(Entity, &Label, &Board, &InheritedVisibility, Option<&ChildOf>)>,
    wearers: Query<&InheritedVisibility>,
    mut boards: Query<(&mut Visibility, &Transform), With<Surface>>,
    mut commands: Commands,
) {
    let eyes = me.body.head.position;
    for (entity, label, board, visible, wearer) in &labels {
        let Ok((mut visibility, now)) = boards.get_mut(board.board) else { continue };
        // A head that is hidden in the real room still has a name.
        let visible = wearer.and_then(|ChildOf(wearer)| wearers.get(*wearer).ok()).unwrap_or(visible);
        let head = places.compute_global_transform(entity).ok().map(|place| place.translation());
        let Some(head) = head.filter(|_| headset.is_worn() && visible.get()) else {
            visibility.set_if_neq(Visibility::Hidden);
            continue;
        };
        visibility.set_if_neq(Visibility::Visible);
        let growth = (head.distance(eyes) / DISTANCE).clamp(*GROWTH.start(), *GROWTH.end());
        let at = head + label.above * growth.max(1.0);
        let place = facing(at, eyes).with_scale(Vec3::splat(growth));
        if *now != place {
            commands.entity(board.board).insert(place);
        }
    }
}
