//! Names in the room: text over the picture, where an entity is on the screen.
//!
//! Screen text is as sharp near as far and always faces the viewer. A headset has
//! no screen to lay it over: there names stand on `boards`.

mod boards;

use bevy::{ecs::system::SystemParam, prelude::*};

use super::{
    AppSystems,
    theme::{self, size},
    viewer::WindowCamera,
};
use crate::session::Colour;

/// Longer names lose their end.
const MOST_CHARACTERS: usize = 24;
/// Beyond this a name says nothing any more, metres.
const FARTHEST: f32 = 25.0;

pub(super) fn plugin(app: &mut App) {
    app.add_plugins(boards::plugin).add_observer(add).add_observer(remove).add_systems(
        Update,
        (update_tags::<ShownBy>, place)
            .chain()
            .in_set(AppSystems::Present)
            .after(super::participants::follow),
    );
}

/// A name over an entity.
#[derive(Component, Debug, Clone, PartialEq)]
pub struct Label {
    /// The name.
    pub text: String,
    /// Of the line below it.
    pub colour: Colour,
    /// Where, from the entity's origin, in room axes.
    pub above: Vec3,
}

/// On a label's entity: what shows it, on the screen or in the room.
trait Shows: Component {
    /// The node that holds the name.
    fn root(&self) -> Entity;
}

/// On a label's entity: the node that shows it on the screen.
#[derive(Component)]
struct ShownBy(Entity);

impl Shows for ShownBy {
    fn root(&self) -> Entity {
        self.0
    }
}

/// Where things are in the picture, in the frame that is being made.
#[derive(SystemParam)]
pub(super) struct Screen<'w, 's> {
    cameras: Query<'w, 's, (&'static Camera, &'static Transform), With<WindowCamera>>,
}

impl Screen<'_, '_> {
    /// Logical pixels; none behind the viewer, too near or far away.
    pub(super) fn position(&self, at: Vec3) -> Option<Vec2> {
        let (camera, eye) = self.cameras.iter().find(|(camera, _)| camera.is_active)?;
        let ahead = (at - eye.translation).dot(*eye.forward());
        if !(0.05..FARTHEST).contains(&ahead) {
            return None;
        }
        // The camera has no parent, so its transform is its place in the room.
        camera.world_to_viewport(&GlobalTransform::from(*eye), at).ok()
    }
}

/// Puts a node there on the screen, or hides it where it is not on it.
pub(super) fn put(on_screen: Option<Vec2>, mut node: Mut<Node>, mut visibility: Mut<Visibility>) {
    let Some(position) = on_screen else {
        visibility.set_if_neq(Visibility::Hidden);
        return;
    };
    // Whole pixels keep the text sharp.
    let (left, top) = (px(position.x.round()), px(position.y.round()));
    if node.left != left || node.top != top {
        (node.left, node.top) = (left, top);
    }
    visibility.set_if_neq(Visibility::Visible);
}

/// Centres whatever it holds on its own position.
fn anchor() -> Node {
    Node {
        position_type: PositionType::Absolute,
        justify_content: JustifyContent::Center,
        align_items: AlignItems::End,
        width: px(0),
        height: px(0),
        ..default()
    }
}

/// A name with its colour.
fn tag(label: &Label) -> impl Bundle {
    (
        Node {
            padding: UiRect::axes(px(7), px(2)),
            border: UiRect::bottom(px(2)),
            border_radius: BorderRadius::all(px(4)),
            ..default()
        },
        BackgroundColor(theme::colour::PANEL.with_alpha(0.9)),
        BorderColor::all(colour(label.colour)),
        Pickable::IGNORE,
        children![(theme::text(shown(&label.text), size::SMALL, theme::colour::TEXT), TextLayout::no_wrap())],
    )
}

fn add(added: On<Add, Label>, labels: Query<&Label>, mut commands: Commands) {
    let Ok(label) = labels.get(added.entity) else { return };
    let node = commands
        .spawn((anchor(), Visibility::Hidden, Pickable::IGNORE, GlobalZIndex(-1), children![tag(label)]))
        .id();
    commands.entity(added.entity).insert(ShownBy(node));
}

fn remove(removed: On<Remove, ShownBy>, shown: Query<&ShownBy>, mut commands: Commands) {
    if let Ok(ShownBy(node)) = shown.get(removed.entity) {
        commands.entity(*node).try_despawn();
    }
}

/// As much of a name as there is room for over a head.
fn shown(name: &str) -> String {
    if name.chars().count() <= MOST_CHARACTERS {
        return name.to_owned();
    }
    let start: String = name.chars().take(MOST_CHARACTERS - 1).collect();
    format!("{}\u{2026}", start.trim_end())
}

/// A participant's colour for Bevy.
pub(super) fn colour(Colour([r, g, b]): Colour) -> Color {
    Color::srgb_u8(r, g, b)
}

fn update_tags<S: Shows>(
    labels: Query<(&Label, &S), Changed<Label>>,
    children: Query<&Children>,
    mut texts: Query<&mut Text>,
    mut borders: Query<&mut BorderColor>,
) {
    for (label, shows) in &labels {
        for child in children.iter_descendants(shows.root()) {
            if let Ok(mut text) = texts.get_mut(child) {
                text.set_if_neq(Text::new(shown(&label.text)));
            }
            if let Ok(mut border) = borders.get_mut(child) {
                border.set_if_neq(BorderColor::all(colour(label.colour)));
            }
        }
    }
}

fn place(
    screen: Screen,
    places: TransformHelper,
    labels: Query<(Entity, &Label, &ShownBy, &InheritedVisibility)>,
    mut nodes: Query<(&mut Node, &mut Visibility)>,
) {
    for (entity, label, ShownBy(node), visible) in &labels {
        let Ok((node, visibility)) = nodes.get_mut(*node) else { continue };
        let at = places.compute_global_transform(entity).ok().map(|place| place.translation() + label.above);
        let on_screen = at.filter(|_| visible.get()).and_then(|at| screen.position(at));
        put(on_screen, node, visibility);
    }
}
