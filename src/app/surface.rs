//! Pieces of UI that stand in the room: the UI's own layout and widgets, drawn
//! onto an image, shown on a board.
//!
//! For headsets, which have no screen. Boards stand by themselves, never on a
//! camera; whoever makes one says where. An image is drawn only while its camera
//! is active. What of a board can be met by rays and fingers is where its UI is
//! ([`Boards`]); who meets it is `pointers`' concern.

use bevy::{
    asset::RenderAssetUsages,
    camera::{Camera2d, ImageRenderTarget, RenderTarget},
    ecs::system::SystemParam,
    light::NotShadowCaster,
    prelude::*,
    render::render_resource::{Extent3d, TextureDimension, TextureFormat, TextureUsages},
    ui::{CalculatedClip, ComputedUiTargetCamera, InteractionDisabled, UiGlobalTransform},
};

use super::ui::{Control, Pointed};
use crate::session::Pose;

/// Texels for each logical pixel: as many as keep text sharp that one bends over.
pub(super) const DENSITY: f32 = 2.0;

/// Metres from the eyes at which boards of [`METRES_PER_PIXEL`] are read.
pub(super) const READ_AT: f32 = 0.8;
/// So that the smallest text is large enough there: low letters of 0.6 degrees.
pub(super) const METRES_PER_PIXEL: f32 = 0.00117;

/// Makes surfaces.
#[derive(SystemParam)]
pub(super) struct Surfaces<'w, 's> {
    pub commands: Commands<'w, 's>,
    images: ResMut<'w, Assets<Image>>,
    meshes: ResMut<'w, Assets<Mesh>>,
    materials: ResMut<'w, Assets<StandardMaterial>>,
}

/// On a board: what belongs to it. All of it goes with the board.
#[derive(Component, Debug, Clone)]
#[allow(dead_code, reason = "what meets a board needs to know all of it")]
pub(super) struct Surface {
    /// Draws the image.
    pub camera: Entity,
    /// The root of the UI, which fills it.
    pub root: Entity,
    /// What is drawn onto.
    pub image: Handle<Image>,
    /// Logical pixels.
    pub size: UVec2,
    /// Metres.
    pub extent: Vec2,
}

impl Surfaces<'_, '_> {
    /// Hangs a panel into the middle of a board, which hands can press from now on.
    pub fn hang(&mut self, board: Entity, surface: &Surface, panel: impl Bundle) -> Entity {
        let panel = self.commands.spawn(panel).id();
        let middle =
            Node { width: percent(100), height: percent(100), align_items: AlignItems::Center, ..default() };
        self.commands.entity(board).insert(Operable);
        self.commands.entity(surface.root).insert(middle).add_child(panel);
        panel
    }

    /// Makes a board of so many logical pixels, each of them so large in metres.
    /// It is hidden, and faces its own +z.
    pub fn spawn(&mut self, name: &'static str, size: UVec2, metres_per_pixel: f32) -> (Entity, Surface) {
        let texels = (size.as_vec2() * DENSITY).as_uvec2();
        let mut image = Image::new_fill(
            Extent3d { width: texels.x, height: texels.y, depth_or_array_layers: 1 },
            TextureDimension::D2,
            &[0; 4],
            TextureFormat::Rgba8UnormSrgb,
            RenderAssetUsages::RENDER_WORLD,
        );
        image.texture_descriptor.usage = TextureUsages::RENDER_ATTACHMENT
            | TextureUsages::TEXTURE_BINDING
            | TextureUsages::COPY_SRC
            | TextureUsages::COPY_DST;
        let image = self.images.add(image);
        let target = ImageRenderTarget { handle: image.clone(), scale_factor: DENSITY };
        let camera = self
            .commands
            .spawn((
                Camera2d,
                Camera {
                    // Before the cameras that show the board.
                    order: -10,
                    clear_color: ClearColorConfig::Custom(Color::NONE),
                    is_active: false,
                    ..default()
                },
                RenderTarget::Image(target),
                Msaa::Off,
                Name::new(name),
            ))
            .id();
        let root = self
            .commands
            .spawn((
                Node { width: percent(100), height: percent(100), ..default() },
                UiTargetCamera(camera),
                Pickable::IGNORE,
                Name::new(name),
            ))
            .id();
        let extent = size.as_vec2() * metres_per_pixel;
        let mut mesh = Rectangle::from_size(extent).mesh().build();
        mesh.asset_usage = RenderAssetUsages::RENDER_WORLD;
        let material = StandardMaterial {
            base_color_texture: Some(image.clone()),
            unlit: true,
            // Panels are dense enough to stand in the depths of the room as solid things do: neither the floor nor a
            // translucent model behind them is drawn over them.
            alpha_mode: AlphaMode::Mask(0.5),
            cull_mode: None,
            ..default()
        };
        let surface = Surface { camera, root, image, size, extent };
        let board = self
            .commands
            .spawn((
                surface.clone(),
                Mesh3d(self.meshes.add(mesh)),
                MeshMaterial3d(self.materials.add(material)),
                NotShadowCaster,
                Transform::default(),
                Visibility::Hidden,
                Name::new(name),
            ))
            .observe(remove)
            .id();
        (board, surface)
    }
}

/// Puts boards into the room and takes them out of sight.
#[derive(SystemParam)]
pub(super) struct Placing<'w, 's> {
    boards: Query<'w, 's, (&'static Surface, &'static mut Transform, &'static mut Visibility)>,
    cameras: Query<'w, 's, &'static mut Camera>,
}

impl Placing<'_, '_> {
    /// It stands there and is drawn; or, without a place, neither.
    pub fn put(&mut self, board: Entity, place: Option<Transform>) {
        let Ok((surface, mut transform, mut visibility)) = self.boards.get_mut(board) else { return };
        let seen = place.is_some();
        visibility.set_if_neq(if seen { Visibility::Visible } else { Visibility::Hidden });
        if let Some(place) = place {
            transform.set_if_neq(place);
        }
        if let Ok(mut camera) = self.cameras.get_mut(surface.camera)
            && camera.is_active != seen
        {
            camera.is_active = seen;
        }
    }
}

/// What stands in the real room keeps its place there when the room's coordinates
/// are found anew, by markers or by recentring.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Anchor(Option<Pose>);

impl Anchor {
    /// How to get from coordinates of the last time to those of now, if they differ.
    pub fn moved(&mut self, room_from_tracking: Pose) -> Option<Pose> {
        let before = self.0.replace(room_from_tracking)?;
        (before != room_from_tracking).then(|| before.inverse().within(room_from_tracking))
    }
}

/// On a board that hands can operate; names over heads are not such.
#[derive(Component, Debug)]
pub(super) struct Operable;

/// A board as a flat piece of the room.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Face {
    /// Of its middle; it faces its own +z.
    place: Transform,
    /// Logical pixels.
    size: Vec2,
    /// Metres.
    extent: Vec2,
}

impl Face {
    pub fn of(surface: &Surface, place: &Transform) -> Self {
        let extent = surface.extent * place.scale.truncate();
        Self { place: place.with_scale(Vec3::ONE), size: surface.size.as_vec2(), extent }
    }

    /// The pixel nearest to a point of the room, and how many metres the point is
    /// before the board; behind it that is negative.
    pub fn below(&self, point: Vec3) -> (Vec2, f32) {
        let local = self.place.rotation.inverse() * (point - self.place.translation);
        let share = local.truncate() / self.extent;
        (Vec2::new(share.x + 0.5, 0.5 - share.y) * self.size, local.z)
    }

    /// Where a ray meets the board's plane, from the front.
    pub fn met_by(&self, ray: Ray3d) -> Option<(f32, Vec2)> {
        let normal = self.place.rotation * Vec3::Z;
        let (before, slope) = ((ray.origin - self.place.translation).dot(normal), ray.direction.dot(normal));
        if before < 0.0 || slope > -1e-4 {
            return None;
        }
        let distance = -before / slope;
        Some((distance, self.below(ray.get_point(distance)).0))
    }

    /// Whether a pixel is on the board or just beside it.
    pub fn is_near(&self, pixel: Vec2) -> bool {
        Rect::from_corners(Vec2::ZERO, self.size).inflate(100.0).contains(pixel)
    }

    /// Where a pixel is in the room.
    pub fn point(&self, pixel: Vec2) -> Vec3 {
        let share = pixel / self.size;
        let local = Vec2::new(share.x - 0.5, 0.5 - share.y) * self.extent;
        self.place.translation + self.place.rotation * local.extend(0.0)
    }
}

/// The boards that hands can operate now.
#[derive(SystemParam)]
pub(super) struct Boards<'w, 's> {
    boards:
        Query<'w, 's, (Entity, &'static Surface, &'static Transform, &'static Visibility), With<Operable>>,
    children: Query<'w, 's, &'static Children>,
    nodes: Query<'w, 's, (&'static ComputedNode, &'static UiGlobalTransform)>,
}

impl Boards<'_, '_> {
    /// All that are seen, each with the pixels that its UI takes.
    pub fn iter(&self) -> impl Iterator<Item = (Entity, &Surface, Face, Rect)> {
        self.boards.iter().filter(|(.., visibility)| **visibility != Visibility::Hidden).map(
            |(entity, surface, place, _)| (entity, surface, Face::of(surface, place), self.area(surface)),
        )
    }

    /// One that is seen.
    pub fn get(&self, board: Entity) -> Option<(&Surface, Face, Rect)> {
        let (_, surface, place, visibility) = self.boards.get(board).ok()?;
        let seen = *visibility != Visibility::Hidden;
        seen.then(|| (surface, Face::of(surface, place), self.area(surface)))
    }

    /// Around all that stands on it: beside that it is not there for hands.
    fn area(&self, surface: &Surface) -> Rect {
        let parts = self.children.get(surface.root).into_iter().flatten();
        let nodes = parts.filter_map(|part| self.nodes.get(*part).ok());
        nodes.map(rect).filter(|rect| !rect.is_empty()).reduce(|a, b| a.union(b)).unwrap_or(Rect::EMPTY)
    }
}

/// A node's place in the image, logical pixels.
fn rect((node, place): (&ComputedNode, &UiGlobalTransform)) -> Rect {
    Rect::from_center_size(place.translation / DENSITY, node.size() / DENSITY)
}

/// What can be pressed on boards, and where.
#[derive(SystemParam)]
pub(super) struct OnBoards<'w, 's> {
    boards: Query<
        'w,
        's,
        (&'static Surface, &'static Transform, &'static Visibility, &'static Name),
        With<Operable>,
    >,
    pointed: Query<'w, 's, &'static Control, With<Pointed>>,
    controls: Query<
        'w,
        's,
        (
            &'static Control,
            &'static ComputedNode,
            &'static UiGlobalTransform,
            &'static ComputedUiTargetCamera,
            Option<&'static CalculatedClip>,
            Has<InteractionDisabled>,
        ),
    >,
}

impl OnBoards<'_, '_> {
    /// Name and place of each board that is seen.
    pub fn boards(&self) -> impl Iterator<Item = (&str, Pose)> {
        let seen = self.boards.iter().filter(|(_, _, visibility, _)| **visibility != Visibility::Hidden);
        seen.map(|(_, place, _, name)| {
            (name.as_str(), Pose { position: place.translation, rotation: place.rotation })
        })
    }

    /// The controls that hands are at.
    pub fn pointed(&self) -> impl Iterator<Item = &str> {
        self.pointed.iter().map(|control| control.id.as_str())
    }

    /// The middle of each control that is seen, in the room, and whether it can be
    /// used.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Vec3, bool)> {
        self.controls.iter().filter_map(|(control, node, place, camera, clip, disabled)| {
            let camera = camera.get()?;
            let (surface, board, visibility, _) =
                self.boards.iter().find(|(surface, ..)| surface.camera == camera)?;
            let seen = clip.is_none_or(|clip| clip.clip.contains(place.translation));
            let seen = seen && *visibility != Visibility::Hidden && node.size() != Vec2::ZERO;
            let middle = Face::of(surface, board).point(rect((node, place)).center());
            seen.then_some((control.id.as_str(), middle, !disabled))
        })
    }
}

fn remove(removed: On<Remove, Surface>, surfaces: Query<&Surface>, mut commands: Commands) {
    if let Ok(surface) = surfaces.get(removed.entity) {
        commands.entity(surface.camera).try_despawn();
        commands.entity(surface.root).try_despawn();
    }
}

/// A place for a board: there, upright, its face towards the eyes.
pub(super) fn facing(at: Vec3, eyes: Vec3) -> Transform {
    let towards = eyes - at;
    let flat = Vec3::new(towards.x, 0.0, towards.z);
    let yaw = if flat.length() > 1e-3 { flat.x.atan2(flat.z) } else { 0.0 };
    // A board far above or below is tilted towards the eyes, too.
    let pitch = -(towards.y).atan2(flat.length().max(1e-3));
    Transform::from_translation(at).with_rotation(Quat::from_rotation_y(yaw) * Quat::from_rotation_x(pitch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rays_and_points_meet_the_pixel_that_is_there() {
        let place = facing(Vec3::new(0.4, 1.3, 0.9), Vec3::new(-0.1, 1.6, 0.1));
        let face = Face { place, size: Vec2::new(400.0, 500.0), extent: Vec2::new(0.5, 0.6) };
        for pixel in [Vec2::ZERO, Vec2::new(400.0, 0.0), Vec2::new(200.0, 250.0), Vec2::new(10.0, 480.0)] {
            let point = face.point(pixel);
            let (below, depth) = face.below(point + place.rotation * Vec3::Z * 0.04);
            assert!(below.distance(pixel) < 0.01 && (depth - 0.04).abs() < 1e-5, "{below} {depth}");
            let eye = Vec3::new(-0.1, 1.6, 0.1);
            let (distance, met) = face.met_by(Ray3d::new(eye, Dir3::new(point - eye).unwrap())).unwrap();
            assert!(met.distance(pixel) < 0.01 && (distance - eye.distance(point)).abs() < 1e-4);
        }
        // The first pixel is at the upper left, as one looks at it.
        let (left, right) = (face.point(Vec2::ZERO), face.point(Vec2::new(400.0, 0.0)));
        assert!(left.y > face.point(Vec2::new(0.0, 500.0)).y);
        let ahead = place.rotation * Vec3::NEG_Z;
        assert!((right - left).dot(ahead.cross(Vec3::Y)) > 0.0);
        let behind = Ray3d::new(
            Vec3::new(2.0, 1.3, 3.0),
            Dir3::new(place.translation - Vec3::new(2.0, 1.3, 3.0)).unwrap(),
        );
        assert_eq!(face.met_by(behind), None, "from behind there is nothing to press");
    }

    #[test]
    fn what_stands_in_the_real_room_stays_there() {
        let rooms = [
            Pose { position: Vec3::ZERO, rotation: Quat::from_rotation_y(3.0) },
            Pose { position: Vec3::new(1.0, 0.0, -2.0), rotation: Quat::from_rotation_y(0.4) },
        ];
        let in_tracking = Pose { position: Vec3::new(0.1, 1.4, -0.7), rotation: Quat::from_rotation_x(0.2) };
        let mut anchor = Anchor::default();
        assert_eq!(anchor.moved(rooms[0]), None, "nothing is known of before");
        assert_eq!(anchor.moved(rooms[0]), None);
        let now = in_tracking.within(rooms[0]).within(anchor.moved(rooms[1]).unwrap());
        let expected = in_tracking.within(rooms[1]);
        assert!(now.position.distance(expected.position) < 1e-5, "{now:?}");
        assert!(now.rotation.angle_between(expected.rotation) < 1e-3, "{now:?}");
    }

    #[test]
    fn boards_face_the_eyes_and_stay_upright() {
        let eyes = Vec3::new(0.3, 1.6, -0.2);
        for at in [Vec3::new(0.0, 1.6, 1.0), Vec3::new(-2.0, 0.8, -1.0), Vec3::new(0.3, 3.0, -0.19)] {
            let place = facing(at, eyes);
            assert!((place.rotation * Vec3::Z).dot((eyes - at).normalize()) > 0.999, "{at}");
            assert!((place.rotation * Vec3::X).y.abs() < 1e-5, "{at}: level");
        }
    }
}
