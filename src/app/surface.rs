//! Pieces of UI that stand in the room: the UI's own layout and widgets, drawn
//! onto an image, shown on a board.
//!
//! For headsets, which have no screen. Boards stand by themselves, never on a
//! camera; whoever makes one says where. An image is drawn only while its camera
//! is active.

use bevy::{
    asset::RenderAssetUsages,
    camera::{Camera2d, ImageRenderTarget, RenderTarget},
    ecs::system::SystemParam,
    light::NotShadowCaster,
    prelude::*,
    render::render_resource::{Extent3d, TextureDimension, TextureFormat, TextureUsages},
};

/// Texels for each logical pixel: as many as keep text sharp that one bends over.
const DENSITY: f32 = 2.0;

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
            // What the UI has blended is multiplied by its alpha already.
            alpha_mode: AlphaMode::Premultiplied,
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
    fn boards_face_the_eyes_and_stay_upright() {
        let eyes = Vec3::new(0.3, 1.6, -0.2);
        for at in [Vec3::new(0.0, 1.6, 1.0), Vec3::new(-2.0, 0.8, -1.0), Vec3::new(0.3, 3.0, -0.19)] {
            let place = facing(at, eyes);
            assert!((place.rotation * Vec3::Z).dot((eyes - at).normalize()) > 0.999, "{at}");
            assert!((place.rotation * Vec3::X).y.abs() < 1e-5, "{at}: level");
        }
    }
}
