//! Notices for those who look through a headset: before the eyes, a little below
//! where one looks, and coming along late, so that they do not stick to the head.

use bevy::prelude::*;

use crate::{
    app::{
        AppSystems,
        alignment::Markers,
        input::{Action, Headset, Me},
        notices::Notices,
        pointers::Pointers,
        surface::{self, Anchor, Boards, Placing, READ_AT, Surfaces, facing},
        theme::{self, colour},
        ui::{self, Element, Size, Tone, Tree},
    },
    gestures::{Follow, Side},
    notice::Severity,
};

/// Logical pixels.
const SIZE: UVec2 = UVec2::new(380, 420);
/// From the eyes, metres.
const DISTANCE: f32 = 1.0;
/// So that text is as large there as it is on the dock's board.
const METRES_PER_PIXEL: f32 = surface::METRES_PER_PIXEL * DISTANCE / READ_AT;
/// Nearer it is not read, metres.
const NEAREST: f32 = 0.4;
/// It is so far before a board that would hide it, metres.
const BEFORE: f32 = 0.12;
/// Below where one looks, radians.
const BELOW: f32 = 0.3;
/// Notices at the same time; what is older waits in the list of the window.
const SHOWN: usize = 3;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<NoticeBoard>().add_systems(Update, (show, place).chain().in_set(AppSystems::Present));
}

#[derive(Resource, Default)]
struct NoticeBoard {
    made: Option<Made>,
    follow: Option<Follow>,
    anchor: Anchor,
}

struct Made {
    board: Entity,
    panel: Entity,
}

fn show(
    headset: Res<Headset>,
    notices: Res<Notices>,
    mut board: ResMut<NoticeBoard>,
    mut trees: Query<&mut Tree>,
    mut surfaces: Surfaces,
) {
    if !headset.is_worn() {
        return;
    }
    if board.made.is_none() {
        if notices.iter().next().is_none() {
            return;
        }
        board.made = Some(make(&mut surfaces));
        // Its parts are there from the next frame on.
        return;
    }
    let Some(Made { panel, .. }) = board.made else { return };
    if let Ok(mut tree) = trees.get_mut(panel) {
        ui::show(&mut surfaces.commands, panel, &mut tree, page(&notices));
    }
}

fn make(surfaces: &mut Surfaces) -> Made {
    let (board, surface) = surfaces.spawn("notices", SIZE, METRES_PER_PIXEL);
    let panel = theme::panel(Node {
        flex_direction: FlexDirection::Column,
        width: percent(100),
        max_height: percent(100),
        overflow: Overflow::clip(),
        row_gap: px(8),
        border: UiRect::all(px(2)),
        ..default()
    });
    // It may stand before a panel of the same colour.
    let panel = (panel, BorderColor::all(colour::DIM));
    let panel = surfaces.hang(board, &surface, (panel, Tree::default(), Name::new("notices")));
    Made { board, panel }
}

fn page(notices: &Notices) -> Vec<Element> {
    let skipped = notices.iter().count().saturating_sub(SHOWN);
    notices
        .iter()
        .skip(skipped)
        .map(|shown| {
            let tone = match shown.notice.severity {
                Severity::Info => Tone::Plain,
                Severity::Warning => Tone::Warning,
                Severity::Error => Tone::Error,
            };
            let times = if shown.times > 1 { format!(" ({} times)", shown.times) } else { String::new() };
            let mut parts =
                vec![ui::text(format!("{}{times}", shown.notice.what_happened), Size::Body, tone)];
            if !shown.notice.what_to_do.is_empty() {
                parts.push(ui::text(&*shown.notice.what_to_do, Size::Small, Tone::Dim));
            }
            if shown.notice.severity != Severity::Info {
                let id = format!("notice/dismiss/{}", shown.number);
                parts.push(ui::row([ui::button(id, "Dismiss", Action::DismissNotice(shown.number)).into()]));
            }
            ui::card(format!("notice {}", shown.number), false, parts)
        })
        .collect()
}

/// Where it should be.
fn wanted(me: &Me) -> Vec3 {
    let head = me.body.head;
    let below = head.rotation * Quat::from_rotation_x(BELOW) * Vec3::Z;
    head.position + below * DISTANCE
}

fn place(
    markers: Res<Markers>,
    headset: Res<Headset>,
    notices: Res<Notices>,
    me: Res<Me>,
    pointers: Res<Pointers>,
    time: Res<Time>,
    mut state: ResMut<NoticeBoard>,
    mut boards: ParamSet<(Boards, Placing)>,
) {
    let NoticeBoard { made, follow, anchor } = &mut *state;
    let moved = anchor.moved(headset.room_from_tracking);
    let Some(Made { board, .. }) = made else { return };
    if let (Some(follow), Some(moved)) = (follow.as_mut(), moved) {
        follow.shift(moved);
    }
    // While markers are put it would be in the hands' way. When they have moved the room, the head is there with the
    // next frame.
    let begins = follow.is_some() || moved.is_none();
    let seen = headset.is_worn() && !markers.is_on() && notices.iter().next().is_some() && begins;
    if !seen {
        *follow = None;
        boards.p1().put(*board, None);
        return;
    }
    let (eyes, wanted) = (me.body.head.position, wanted(&me));
    // What somebody is about to press stays.
    let meant = Side::BOTH.iter().any(|side| pointers.over(*side) == Some(*board));
    let secs = if meant { 0.0 } else { time.delta_secs().min(0.2) };
    let at = follow.get_or_insert_with(|| Follow::at(wanted)).update(eyes, wanted, secs);
    // Before any other board that is there, and as large to the eye.
    let away = at.distance(eyes).max(NEAREST);
    let Ok(towards) = Dir3::new(at - eyes) else { return };
    let ray = Ray3d::new(eyes, towards);
    let others = boards.p0();
    let hidden_by = others.iter().filter(|(other, ..)| other != board).filter_map(|(_, _, face, _)| {
        let (distance, pixel) = face.met_by(ray)?;
        face.is_near(pixel).then_some(distance - BEFORE)
    });
    let distance = hidden_by.fold(away, f32::min).max(NEAREST);
    let place = facing(ray.get_point(distance), eyes).with_scale(Vec3::splat(distance / DISTANCE));
    boards.p1().put(*board, Some(place));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{app::theme::size, session::Body};

    #[test]
    fn it_can_be_read_and_is_below_where_one_looks() {
        let low = (size::SMALL * 0.547 * METRES_PER_PIXEL / DISTANCE).atan().to_degrees();
        assert!(low >= 0.6, "{low} degrees");
        let me = Me { body: Body::rest(), present: true };
        let at = wanted(&me);
        assert!(at.y < me.body.head.position.y);
        assert!((at.distance(me.body.head.position) - DISTANCE).abs() < 1e-4);
    }
}
