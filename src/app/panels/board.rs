//! The dock in the room, for those who look through a headset: on a board that
//! the menu button shows and puts away, and that hands move.
//!
//! It is the same tree as on the screen: it is hung below the board's root while
//! the headset is worn, and back into the right column afterwards. The board
//! stands in the room by itself, never on a camera.

use bevy::{picking::pointer::PointerId, prelude::*};

use super::{
    Places,
    dock::{Dock, Open},
};
use crate::{
    app::{
        AppState, AppSystems,
        alignment::{self, Markers},
        input::{Action, HandDevice, Hands, Headset, Me},
        link::Meeting,
        pointers::Pointers,
        surface::{Anchor, METRES_PER_PIXEL, Operable, Placing, READ_AT, Surface, Surfaces, facing},
        theme::{self, colour, size},
        ui::{self, Element, Tree},
        wands::{self, Wands},
    },
    gestures::{Button, PerSide, Side},
};

/// Logical pixels; half a metre wide in all.
const SIZE: UVec2 = UVec2::new(430, 560);
/// Below the eyes where it appears by itself, metres.
const BELOW_EYES: f32 = 0.12;
/// Behind a bare hand, metres.
const BEHIND_HAND: f32 = 0.2;
/// From the middle of a wand to its tip, metres.
const TIP: f32 = 0.2;
/// Nearer to the eyes it is not read, metres.
const NEAREST: f32 = 0.35;
/// Whoever looks so far away from it, or is so far from it, does not see it: the
/// menu button brings it instead of putting it away.
const UNSEEN: f32 = 1.1;
const FAR: f32 = 2.5;
/// After so many frames the head is where the headset says.
const SETTLED: u64 = 2;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Board>().add_observer(handle_pressed).add_systems(
        Update,
        (
            carry.in_set(AppSystems::Input).after(wands::take),
            (wear, ask).chain().in_set(AppSystems::Update).after(super::dock::act).before(alignment::act),
            (title, stay, place).chain().in_set(AppSystems::Present),
        ),
    );
}

/// The dock's board.
#[derive(Resource, Default)]
pub(super) struct Board {
    made: Option<(Entity, Surface)>,
    /// It has the dock now.
    pub in_room: bool,
    /// Where its middle is.
    at: Option<Vec3>,
    /// Where it was shown last.
    shown: Option<Transform>,
    anchor: Anchor,
    /// The dock was open on the screen.
    open_on_screen: bool,
    /// Whether it was seen in the room when the headset was taken off; none: never
    /// worn before.
    seen_before: Option<bool>,
    /// The headset was put on, and where the head is may not be known before this
    /// frame.
    put_on: Option<u64>,
    carried: Option<Carried>,
    squeezes: PerSide<Button>,
}

#[derive(Debug, Clone, Copy)]
struct Carried {
    side: Side,
    /// From the hand, in the hand's axes.
    offset: Vec3,
    by: By,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum By {
    Squeeze,
    /// At its title.
    Press,
}

/// What is pressed to move the board.
#[derive(Component)]
struct Handle;

#[derive(Component)]
struct TitleButtons;

/// Takes the dock into the room, and back onto the screen.
fn wear(
    headset: Res<Headset>,
    state: Res<State<AppState>>,
    meeting: Res<Meeting>,
    me: Res<Me>,
    places: Res<Places>,
    dock: Single<Entity, With<Dock>>,
    mut board: ResMut<Board>,
    mut open: ResMut<Open>,
    mut surfaces: Surfaces,
) {
    if headset.is_worn() && !board.in_room {
        let root = match &board.made {
            Some((_, surface)) => surface.root,
            None => {
                let made = make(&mut surfaces);
                board.made.insert(made).1.root
            }
        };
        surfaces.commands.entity(root).add_child(*dock);
        board.in_room = true;
        board.open_on_screen = open.dock;
        board.put_on = Some(headset.frames + SETTLED);
        open.dock = false;
    } else if !headset.is_worn() && board.in_room {
        surfaces.commands.entity(places.dock).add_child(*dock);
        board.in_room = false;
        board.carried = None;
        // Who takes it off at once has not seen what there was.
        if board.put_on.take().is_none() {
            board.seen_before = Some(open.dock);
        }
        open.dock = board.open_on_screen;
    }
    if board.put_on.is_some_and(|settled| headset.frames > settled) && me.present {
        board.put_on = None;
        // Who comes without a meeting or a model needs it first of all; else it is as it was.
        let alone = *state.get() == AppState::Alone && meeting.models.is_empty();
        if board.seen_before.unwrap_or(alone) && !open.dock {
            open.dock = true;
        }
    }
}

fn make(surfaces: &mut Surfaces) -> (Entity, Surface) {
    let (entity, surface) = surfaces.spawn("panels", SIZE, METRES_PER_PIXEL);
    let column = Node {
        width: percent(100),
        height: percent(100),
        flex_direction: FlexDirection::Column,
        row_gap: px(4),
        ..default()
    };
    let bar = theme::panel(Node {
        flex_shrink: 0.0,
        align_items: AlignItems::Center,
        justify_content: JustifyContent::SpaceBetween,
        ..default()
    });
    surfaces.commands.entity(entity).insert(Operable);
    surfaces.commands.entity(surface.root).insert(column).with_children(|root| {
        root.spawn((bar, Handle, Name::new("title"))).with_children(|bar| {
            bar.spawn((theme::text("Convene", size::BODY, colour::DIM), TextLayout::no_wrap()));
            bar.spawn((TitleButtons, Node::default(), Tree::default(), Pickable::IGNORE));
        });
    });
    (entity, surface)
}

fn title(mut buttons: Query<(Entity, &mut Tree), Added<TitleButtons>>, mut commands: Commands) {
    for (entity, mut tree) in &mut buttons {
        let close: Element = ui::button("panels/close", "Close", Action::TogglePanels).into();
        ui::show(&mut commands, entity, &mut tree, vec![close]);
    }
}

/// In front of the eyes.
fn ahead(me: &Me) -> Vec3 {
    let head = me.body.head;
    let looks = head.rotation * Vec3::Z;
    let flat = Vec3::new(looks.x, 0.0, looks.z).try_normalize().unwrap_or(Vec3::Z);
    head.position + flat * READ_AT - Vec3::Y * BELOW_EYES
}

/// Whether somebody sees a point without turning much.
fn sees(me: &Me, at: Vec3) -> bool {
    let (head, to) = (me.body.head, at - me.body.head.position);
    (head.rotation * Vec3::Z).angle_between(to) < UNSEEN && to.length() < FAR
}

/// The menu button: at the hand, or away.
fn ask(
    mut actions: MessageReader<Action>,
    hands: Res<Hands>,
    me: Res<Me>,
    markers: Res<Markers>,
    mut board: ResMut<Board>,
    mut open: ResMut<Open>,
) {
    for action in actions.read() {
        let Action::Menu(side) = action else { continue };
        // While markers are put it means that they are not to be.
        if !board.in_room || markers.is_on() {
            continue;
        }
        if open.dock && board.at.is_some_and(|at| sees(&me, at)) {
            open.dock = false;
            continue;
        }
        let (hand, eyes) = (hands.get(*side), me.body.head.position);
        let at = match hand.device {
            HandDevice::Controller => hand.aim.position + hand.aim.rotation * Vec3::Y * TIP,
            HandDevice::Bare => {
                let away = (hand.aim.position - eyes).try_normalize().unwrap_or(Vec3::Z);
                hand.aim.position + away * BEHIND_HAND
            }
            HandDevice::None => ahead(&me),
        };
        board.at = Some(not_too_near(at, eyes));
        board.carried = None;
        open.dock = true;
    }
    // By a key, or whatever else opens a page.
    if board.in_room && open.dock && board.at.is_none_or(|at| !sees(&me, at)) && open.is_changed() {
        board.at = Some(ahead(&me));
    }
}

fn not_too_near(at: Vec3, eyes: Vec3) -> Vec3 {
    let from_eyes = at - eyes;
    if from_eyes.length() >= NEAREST {
        return at;
    }
    eyes + from_eyes.try_normalize().unwrap_or(Vec3::Z) * NEAREST
}

fn handle_pressed(
    press: On<Pointer<Press>>,
    handles: Query<(), With<Handle>>,
    hands: Res<Hands>,
    mut board: ResMut<Board>,
) {
    let side = match press.pointer_id {
        id @ PointerId::Custom(_) => Pointers::side_of(id),
        _ => None,
    };
    if let Some(side) = side.filter(|_| handles.contains(press.original_event_target())) {
        take(&mut board, &hands, side, By::Press);
    }
}

fn take(board: &mut Board, hands: &Hands, side: Side, by: By) {
    if let Some(at) = board.at {
        let grip = hands.get(side).grip;
        let offset = grip.rotation.inverse() * (at - grip.position);
        board.carried = Some(Carried { side, offset, by });
    }
}

/// It moves with the hand that has it, and goes on facing the eyes.
fn carry(
    hands: Res<Hands>,
    me: Res<Me>,
    open: Res<Open>,
    pointers: Res<Pointers>,
    wands: Res<Wands>,
    mut board: ResMut<Board>,
) {
    let Some(entity) = board.made.as_ref().map(|(entity, _)| *entity).filter(|_| board.in_room) else {
        return;
    };
    for side in Side::BOTH {
        let hand = hands.get(side);
        let squeeze = board.squeezes.get_mut(side);
        squeeze.update(hand.squeeze);
        let grabs = squeeze.just_pressed();
        if grabs && open.dock && pointers.over(side) == Some(entity) && wands.held(side).is_none() {
            take(&mut board, &hands, side, By::Squeeze);
        }
    }
    let Some(Carried { side, offset, by }) = board.carried else { return };
    let hand = hands.get(side);
    let holds = match by {
        By::Squeeze => board.squeezes.get(side).is_down(),
        // The press itself is seen a frame later.
        By::Press => pointers.presses(side),
    };
    if !holds || !open.dock {
        board.carried = None;
    } else if hand.is_there() {
        let at = hand.grip.position + hand.grip.rotation * offset;
        board.at = Some(not_too_near(at, me.body.head.position));
    }
}

/// Who presses *Undo* or drops a marker does not move, and nor does what stands
/// before them.
fn stay(headset: Res<Headset>, mut board: ResMut<Board>) {
    let Some(moved) = board.anchor.moved(headset.room_from_tracking) else { return };
    if let Some(at) = &mut board.at {
        *at = moved.position + moved.rotation * *at;
    }
    // Exactly there, so that it is not taken for another place.
    let at = board.at;
    board.shown = board.shown.zip(at).map(|(shown, at)| Transform {
        translation: at,
        rotation: moved.rotation * shown.rotation,
        ..shown
    });
}

/// Where it is, and whether it is seen at all.
fn place(mut board: ResMut<Board>, open: Res<Open>, me: Res<Me>, mut boards: Placing) {
    let Some(entity) = board.made.as_ref().map(|(entity, _)| *entity) else { return };
    let at = board.at.filter(|_| board.in_room && open.dock);
    // It turns to the eyes when it comes and when it is carried, not at every step.
    if board.shown.map(|shown| shown.translation) != at {
        board.shown = at.map(|at| facing(at, me.body.head.position));
    }
    boards.put(entity, board.shown);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Body, Pose};

    /// Of x, in the font that panels have, as a share of its size: what one reads
    /// by.
    const X_HEIGHT: f32 = 0.547;
    /// Degrees.
    const READABLE: f32 = 0.6;

    #[test]
    fn every_text_can_be_read_where_the_board_stands() {
        let smallest = size::SMALL.min(size::BODY).min(size::TITLE);
        let degrees = |metres: f32| 2.0 * (metres / 2.0 / READ_AT).atan().to_degrees();
        assert!(smallest * METRES_PER_PIXEL >= 0.0084, "a line of {smallest} px");
        // Even the low letters alone.
        let low = degrees(smallest * X_HEIGHT * METRES_PER_PIXEL);
        assert!(low >= READABLE, "letters of {low} degrees");
        let width = SIZE.x as f32 * METRES_PER_PIXEL;
        assert!((0.45..=0.55).contains(&width), "{width} m");
    }

    #[test]
    fn it_appears_before_the_eyes_however_one_nods() {
        for nod in [0.0, 0.5, -1.2] {
            let rotation = Quat::from_rotation_y(0.7) * Quat::from_rotation_x(nod);
            let head = Pose::new(Vec3::new(0.3, 1.6, -0.4), rotation);
            let me = Me { body: Body { head, ..Body::rest() }, present: true };
            let at = ahead(&me);
            let flat = Vec3::new(at.x, head.position.y, at.z);
            assert!((flat.distance(head.position) - READ_AT).abs() < 1e-4);
            let towards = Quat::from_rotation_y(0.7) * Vec3::Z;
            assert!((flat - head.position).normalize().dot(towards) > 0.9999);
        }
    }

    #[test]
    fn what_is_behind_one_is_brought_and_not_put_away() {
        let me = Me { body: Body::rest(), present: true };
        let head = me.body.head;
        assert!(sees(&me, head.position + head.rotation * Vec3::Z));
        assert!(!sees(&me, head.position - head.rotation * Vec3::Z));
        assert!(!sees(&me, head.position + head.rotation * Vec3::Z * 5.0));
        assert!((not_too_near(head.position, head.position) - head.position).length() >= NEAREST - 1e-4);
    }
}
