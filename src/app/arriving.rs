//! A model on its way: a translucent box where it is going to stand, with a card
//! that says how far it is.
//!
//! The box is there from the first byte until the model is shown: first the
//! bytes come, then, as a state of its own, the model is loaded (decoded and
//! sent to the GPU). If that fails the box goes and a notice says why.

mod board;

use bevy::{asset::RenderAssetUsages, light::NotShadowCaster, prelude::*, render::render_resource::Face};

use super::{
    AppSystems,
    labels::{self, Screen},
    link::Meeting,
    models::{Model, ModelState, Stands},
    progress::{Arrival, Speeds},
    theme::{self, colour, size},
};
use crate::session::Measure;

/// Thickness of the box's edges, metres.
const EDGE: f32 = 0.004;
const BAR_WIDTH: f32 = 330.0;

pub(super) fn plugin(app: &mut App) {
    app.add_plugins(board::plugin)
        .add_systems(Startup, make_looks)
        .add_systems(
            Update,
            (box_up, update_cards, place_cards)
                .chain()
                .in_set(AppSystems::Present)
                .after(super::models::place),
        )
        .add_observer(unbox);
}

#[derive(Resource)]
struct Looks {
    cube: Handle<Mesh>,
    sides: Handle<StandardMaterial>,
    edges: Handle<StandardMaterial>,
}

/// On the entity of a model on its way.
#[derive(Component)]
struct Boxed {
    frame: Entity,
    card: Entity,
}

/// One of the twelve edges: its middle and its direction, in halves of the box.
#[derive(Component)]
struct Edge {
    middle: Vec3,
    along: Vec3,
}

#[derive(Component)]
struct Bar;

#[derive(Component)]
struct Detail;

fn make_looks(
    mut commands: Commands,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    let mut cube = Cuboid::from_length(1.0).mesh().build();
    cube.asset_usage = RenderAssetUsages::RENDER_WORLD;
    let unlit = |base_color| StandardMaterial { base_color, unlit: true, ..default() };
    commands.insert_resource(Looks {
        cube: meshes.add(cube),
        sides: materials.add(StandardMaterial {
            alpha_mode: AlphaMode::Blend,
            // The far sides from within: near ones would veil a board that stands in the box.
            cull_mode: Some(Face::Front),
            ..unlit(Color::srgba(0.75, 0.87, 1.0, 0.13))
        }),
        edges: materials.add(unlit(Color::srgb(0.80, 0.90, 1.0))),
    });
}

fn box_up(
    mut commands: Commands,
    looks: Res<Looks>,
    meeting: Res<Meeting>,
    models: Query<(Entity, &Model, &ModelState, &Stands, Option<&Boxed>)>,
    mut transforms: Query<&mut Transform, Without<Edge>>,
    frames: Query<&Children>,
    mut edges: Query<(&Edge, &mut Transform)>,
) {
    for (entity, model, state, stands, boxed) in &models {
        let view = meeting.model(&model.id).filter(|view| view.shown);
        let on_its_way = matches!(state, ModelState::Arriving | ModelState::Decoding | ModelState::Uploading);
        let view = view.filter(|view| !view.cancelled);
        let (Some(view), Some(world), true) = (view, stands.world, on_its_way) else {
            if boxed.is_some() {
                commands.entity(entity).remove::<Boxed>();
            }
            continue;
        };
        let Some(Boxed { frame, .. }) = boxed else {
            let (frame, card) = (spawn_frame(&mut commands, &looks), spawn_card(&mut commands, &view.name));
            commands.entity(entity).insert(Boxed { frame, card });
            continue;
        };
        // Until its measure is known it is a cube of its largest side around its origin.
        let measure = stands.measure.unwrap_or(Measure { center: Vec3::ZERO, size: Vec3::ONE });
        let scale = world.scale * measure.unit_scale();
        let sides = (measure.size * scale).max(Vec3::splat(EDGE));
        if let Ok(mut transform) = transforms.get_mut(*frame) {
            transform.set_if_neq(Transform {
                translation: world.position + world.rotation * (measure.center * scale),
                rotation: world.rotation,
                scale: Vec3::ONE,
            });
        }
        for &child in frames.get(*frame).into_iter().flatten() {
            if let Ok((edge, mut transform)) = edges.get_mut(child) {
                let scale = edge.along * sides + Vec3::splat(EDGE);
                transform
                    .set_if_neq(Transform::from_translation(edge.middle * sides * 0.5).with_scale(scale));
            } else if let Ok(mut transform) = transforms.get_mut(child) {
                transform.set_if_neq(Transform::from_scale(sides));
            }
        }
    }
}

fn spawn_frame(commands: &mut Commands, looks: &Looks) -> Entity {
    let cube = Mesh3d(looks.cube.clone());
    commands
        .spawn((Transform::from_scale(Vec3::ZERO), Visibility::default(), Name::new("model on its way")))
        .with_children(|parts| {
            parts.spawn((cube.clone(), MeshMaterial3d(looks.sides.clone()), NotShadowCaster));
            for along in [Vec3::X, Vec3::Y, Vec3::Z] {
                let (a, b) = along.any_orthonormal_pair();
                for (i, j) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
                    let edge = Edge { middle: (a * i + b * j).round(), along };
                    parts.spawn((edge, cube.clone(), MeshMaterial3d(looks.edges.clone()), NotShadowCaster));
                }
            }
        })
        .id()
}

fn spawn_card(commands: &mut Commands, name: &str) -> Entity {
    let card = theme::panel(Node {
        flex_direction: FlexDirection::Column,
        row_gap: px(6),
        width: px(BAR_WIDTH + 20.0),
        ..default()
    });
    let bar = (
        Node { width: px(BAR_WIDTH), height: px(6), border_radius: BorderRadius::all(px(3)), ..default() },
        BackgroundColor(colour::TRACK),
        children![(
            Bar,
            Node { width: px(0), height: percent(100), border_radius: BorderRadius::all(px(3)), ..default() },
            BackgroundColor(colour::ACCENT),
        )],
    );
    // Nothing wide: the card hangs centred on its position.
    let anchor = Node {
        position_type: PositionType::Absolute,
        justify_content: JustifyContent::Center,
        align_items: AlignItems::Center,
        width: px(0),
        height: px(0),
        ..default()
    };
    commands
        .spawn((
            anchor,
            Visibility::Hidden,
            Pickable::IGNORE,
            // Below the panels.
            GlobalZIndex(-1),
            children![(
                card,
                Pickable::IGNORE,
                children![
                    theme::text(name, size::BODY, colour::TEXT),
                    bar,
                    (Detail, theme::text("", size::SMALL, colour::DIM), TextLayout::no_wrap()),
                ],
            )],
        ))
        .id()
}

fn unbox(removed: On<Remove, Boxed>, boxed: Query<&Boxed>, mut commands: Commands) {
    if let Ok(Boxed { frame, card }) = boxed.get(removed.entity) {
        commands.entity(*frame).try_despawn();
        commands.entity(*card).try_despawn();
    }
}

fn update_cards(
    meeting: Res<Meeting>,
    speeds: Res<Speeds>,
    models: Query<(&Model, &ModelState, &Boxed)>,
    children: Query<&Children>,
    mut bars: Query<&mut Node, With<Bar>>,
    mut details: Query<&mut Text, With<Detail>>,
) {
    for (model, state, boxed) in &models {
        let Some(view) = meeting.model(&model.id) else { continue };
        let arrival = Arrival::here(view.arriving, speeds.of(&view.id, None), *state);
        for child in children.iter_descendants(boxed.card) {
            if let Ok(mut bar) = bars.get_mut(child) {
                let width = px((arrival.share * BAR_WIDTH).round());
                if bar.width != width {
                    bar.width = width;
                }
            }
            if let Ok(mut text) = details.get_mut(child) {
                text.set_if_neq(Text::new(&arrival.text));
            }
        }
    }
}

fn place_cards(
    screen: Screen,
    boxed: Query<&Boxed>,
    frames: Query<&Transform>,
    mut cards: Query<(&mut Node, &mut Visibility)>,
) {
    for Boxed { frame, card } in &boxed {
        let (Ok(transform), Ok((node, visibility))) = (frames.get(*frame), cards.get_mut(*card)) else {
            continue;
        };
        labels::put(screen.position(transform.translation), node, visibility);
    }
}
