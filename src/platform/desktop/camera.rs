//! The camera, which is the head: flies by keys, orbits and pans by mouse.

use std::f32::consts::{FRAC_PI_2, PI};

use bevy::{
    camera::{Exposure, PerspectiveProjection, SubCameraView},
    core_pipeline::{
        prepass::DepthPrepass,
        tonemapping::{DebandDither, Tonemapping},
    },
    input::mouse::{AccumulatedMouseMotion, AccumulatedMouseScroll, MouseScrollUnit},
    prelude::*,
    render::{renderer::RenderAdapterInfo, view::NoIndirectDrawing},
};

use super::hands::Cursor;
use crate::{
    app::{
        AppSystems, Dock, Targets,
        input::{Headset, Me},
        ui::is_typing,
        viewer::{StartAt, WindowCamera, at_the_window, draws_by_processor},
    },
    session::Pose,
};

/// Walking speed, metres a second; with Shift.
const SPEED: f32 = 1.2;
const FAST: f32 = 4.0;
/// Radians for a pixel of mouse movement.
const TURN: f32 = 0.005;
/// Of the view, upwards; more where the window is narrow, so that people beside a
/// model are seen.
const FIELD_OF_VIEW: f32 = 55.0 * PI / 180.0;
const WIDEST_FIELD_OF_VIEW: f32 = 78.0 * PI / 180.0;
/// Half of the view to the sides, at least.
const ASIDE: f32 = 39.0 * PI / 180.0;
/// As far as one looks up and down.
const STEEPEST: f32 = FRAC_PI_2 - 0.02;
/// Of the distance, for a notch of the wheel.
const DOLLY: f32 = 0.12;
/// Distance that is assumed where nothing is pointed at, metres.
const NOTHING_AT: f32 = 1.5;

pub(super) fn plugin(app: &mut App) {
    app.init_resource::<Flight>()
        .add_systems(PostUpdate, look_beside_the_dock)
        .add_systems(Startup, spawn)
        .add_systems(Update, rest.in_set(AppSystems::Present))
        .add_systems(
            Update,
            (start, fly.run_if(not(is_typing)), turn, put_head)
                .chain()
                .run_if(at_the_window)
                .in_set(AppSystems::Input)
                .before(super::hands::point),
        );
}

/// Where the head is.
#[derive(Resource, Debug)]
pub(super) struct Flight {
    position: Vec3,
    /// About y, from looking along +z.
    yaw: f32,
    /// Down is positive.
    pitch: f32,
    /// What the mouse turns about, while its right button is down.
    pivot: Option<Vec3>,
    /// The right button went down in the room, and is still down.
    turning: bool,
    /// The middle button went down in the room, and is still down.
    panning: bool,
    /// Of what the middle button pans, metres.
    pan_distance: f32,
    /// Whether the person has chosen where to be.
    moved: bool,
}

impl Default for Flight {
    fn default() -> Self {
        Self {
            position: Vec3::Y * crate::app::EYE_HEIGHT,
            yaw: 0.0,
            pitch: 0.0,
            pivot: None,
            turning: false,
            panning: false,
            pan_distance: NOTHING_AT,
            moved: false,
        }
    }
}

impl Flight {
    fn rotation(&self) -> Quat {
        Quat::from_rotation_y(self.yaw) * Quat::from_rotation_x(self.pitch)
    }

    pub(super) fn head(&self) -> Pose {
        Pose { position: self.position, rotation: self.rotation() }
    }

    fn put(&mut self, head: Pose) {
        let ahead = head.rotation * Vec3::Z;
        self.position = head.position;
        self.yaw = ahead.x.atan2(ahead.z);
        self.pitch = (-ahead.y).clamp(-1.0, 1.0).asin().clamp(-STEEPEST, STEEPEST);
    }

    /// Turns by a movement of the mouse: the scene follows the mouse.
    fn orbit(&mut self, delta: Vec2) {
        let before = self.rotation();
        self.yaw = (self.yaw - delta.x * TURN).rem_euclid(2.0 * PI);
        self.pitch = (self.pitch + delta.y * TURN).clamp(-STEEPEST, STEEPEST);
        if let Some(pivot) = self.pivot {
            let turn = self.rotation() * before.inverse();
            self.position = pivot + turn * (self.position - pivot);
        }
    }
}

fn spawn(mut commands: Commands, adapter: Res<RenderAdapterInfo>) {
    let drawn_by_processor = draws_by_processor(&adapter);
    let mut camera = commands.spawn((
        WindowCamera,
        Camera3d::default(),
        Projection::Perspective(PerspectiveProjection {
            fov: FIELD_OF_VIEW,
            // People look into models.
            near: 0.02,
            far: 1000.0,
            ..default()
        }),
        // Colours are shown as they are; `room` keeps them from being too bright.
        Tonemapping::None,
        DebandDither::Enabled,
        Exposure::BLENDER,
        if drawn_by_processor { Msaa::Off } else { Msaa::Sample4 },
        // Some headsets' drivers draw nothing indirectly; one way for all.
        NoIndirectDrawing,
        Transform::default(),
    ));
    if drawn_by_processor {
        // What is hidden is found first and not shaded: half the time of a frame.
        camera.insert(DepthPrepass);
    }
}

/// The window shows nothing of its own while the headset is worn.
fn rest(headset: Res<Headset>, mut camera: Single<&mut Camera, With<WindowCamera>>) {
    let draws = !headset.is_worn();
    if camera.is_active != draws {
        camera.is_active = draws;
    }
}

/// The middle of the view is the middle of what the dock leaves free.
fn look_beside_the_dock(
    window: Single<&Window, With<bevy::window::PrimaryWindow>>,
    dock: Query<&ComputedNode, With<Dock>>,
    camera: Single<(&mut Camera, &mut Projection), With<WindowCamera>>,
) {
    let (mut camera, mut projection) = camera.into_inner();
    let size = window.physical_size();
    let dock = dock.single().map_or(0.0, |node| node.size().x);
    let hidden = if dock * 2.0 > size.x as f32 { 0 } else { dock.round() as u32 };
    // A wider picture, of which the window shows the right part.
    let view = (hidden > 0 && size.x > 0 && size.y > 0).then(|| SubCameraView {
        full_size: UVec2::new(size.x + hidden, size.y),
        offset: Vec2::new(hidden as f32, 0.0),
        size,
    });
    if camera.sub_camera_view != view {
        camera.sub_camera_view = view;
    }
    let aspect = size.x.saturating_sub(hidden).max(1) as f32 / size.y.max(1) as f32;
    let fov = (2.0 * (ASIDE.tan() / aspect).atan()).clamp(FIELD_OF_VIEW, WIDEST_FIELD_OF_VIEW);
    if let Projection::Perspective(lens) = &*projection
        && (lens.fov - fov).abs() > 1e-4
        && let Projection::Perspective(lens) = &mut *projection
    {
        lens.fov = fov;
    }
}

fn start(mut starts: MessageReader<StartAt>, mut flight: ResMut<Flight>) {
    for start in starts.read() {
        if start.asked || !flight.moved {
            flight.put(start.head);
        }
    }
}

fn fly(keys: Res<ButtonInput<KeyCode>>, time: Res<Time>, mut flight: ResMut<Flight>) {
    // Ctrl and Alt belong to shortcuts of the system.
    if keys.any_pressed([KeyCode::ControlLeft, KeyCode::ControlRight, KeyCode::AltLeft]) {
        return;
    }
    let axis = |positive: [KeyCode; 2], negative: [KeyCode; 2]| {
        f32::from(keys.any_pressed(positive)) - f32::from(keys.any_pressed(negative))
    };
    use KeyCode::{ArrowDown, ArrowLeft, ArrowRight, ArrowUp, KeyA, KeyD, KeyE, KeyQ, KeyS, KeyW};
    let ahead = axis([KeyW, ArrowUp], [KeyS, ArrowDown]);
    let left = axis([KeyA, ArrowLeft], [KeyD, ArrowRight]);
    let up = axis([KeyE, KeyE], [KeyQ, KeyQ]);
    let rotation = flight.rotation();
    // Of somebody who looks along +z, left is +x.
    let direction = rotation * (Vec3::Z * ahead + Vec3::X * left) + Vec3::Y * up;
    if let Some(direction) = direction.try_normalize() {
        let fast = keys.any_pressed([KeyCode::ShiftLeft, KeyCode::ShiftRight]);
        let speed = if fast { FAST } else { SPEED };
        flight.position += direction * speed * time.delta_secs().min(0.1);
        flight.moved = true;
    }
}

fn turn(
    buttons: Res<ButtonInput<MouseButton>>,
    motion: Res<AccumulatedMouseMotion>,
    scroll: Res<AccumulatedMouseScroll>,
    cursor: Res<Cursor>,
    targets: Targets,
    window: Single<&Window, With<bevy::window::PrimaryWindow>>,
    camera: Single<&Projection, With<WindowCamera>>,
    mut flight: ResMut<Flight>,
) {
    // A drag belongs to where it began: on a panel, or in the room.
    if buttons.just_pressed(MouseButton::Right) {
        flight.turning = !cursor.over_panel;
    }
    if buttons.just_pressed(MouseButton::Middle) {
        flight.panning = !cursor.over_panel;
    }
    flight.turning &= buttons.pressed(MouseButton::Right);
    flight.panning &= buttons.pressed(MouseButton::Middle);
    let depth = cursor.hit.as_ref().map(|hit| hit.point);
    if flight.turning && buttons.just_pressed(MouseButton::Right) {
        // Where there is nothing to turn about, the head turns.
        flight.pivot = depth.or_else(|| targets.any_middle());
    }
    if flight.panning && buttons.just_pressed(MouseButton::Middle) {
        let about = depth.or_else(|| targets.any_middle());
        flight.pan_distance =
            about.map_or(NOTHING_AT, |point| point.distance(flight.position)).clamp(0.05, 100.0);
    }
    let delta = motion.delta;
    if flight.turning && delta != Vec2::ZERO {
        flight.orbit(delta);
        flight.moved = true;
    }
    if flight.panning && delta != Vec2::ZERO {
        let Projection::Perspective(lens) = *camera else { return };
        // What was under the mouse stays there.
        let per_pixel = 2.0 * (lens.fov / 2.0).tan() * flight.pan_distance / window.height().max(1.0);
        let rotation = flight.rotation();
        flight.position += rotation * (Vec3::X * delta.x + Vec3::Y * delta.y) * per_pixel;
        flight.moved = true;
    }
    if scroll.delta.y != 0.0 && cursor.hit.is_none() && !cursor.over_panel {
        let towards = cursor.ray.map_or(flight.rotation() * Vec3::Z, |ray| *ray.direction);
        let about = targets.any_middle().map_or(NOTHING_AT, |point| point.distance(flight.position));
        flight.position += towards * notches(&scroll) * DOLLY * about.clamp(0.3, 10.0);
        flight.moved = true;
    }
}

/// Notches of a wheel; a touch pad counts in pixels.
pub(super) fn notches(scroll: &AccumulatedMouseScroll) -> f32 {
    match scroll.unit {
        MouseScrollUnit::Line => scroll.delta.y,
        MouseScrollUnit::Pixel => scroll.delta.y / 40.0,
    }
}

fn put_head(flight: Res<Flight>, mut me: ResMut<Me>, mut camera: Single<&mut Transform, With<WindowCamera>>) {
    let head = flight.head();
    me.body.head = head;
    // Cameras look along -z, heads along +z.
    let rotation = head.rotation * Quat::from_rotation_y(PI);
    camera.set_if_neq(Transform::from_translation(head.position).with_rotation(rotation));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orbiting_keeps_the_pivot_where_it_is_seen() {
        let mut flight = Flight { pivot: Some(Vec3::new(0.0, 1.5, 1.0)), ..default() };
        let seen = |f: &Flight| f.rotation().inverse() * (Vec3::new(0.0, 1.5, 1.0) - f.position);
        let before = seen(&flight);
        flight.orbit(Vec2::new(40.0, -25.0));
        assert!(seen(&flight).abs_diff_eq(before, 1e-5));
        // Dragged to the right, its near side goes to the right, which is -x: we go to +x.
        assert!(flight.position.x > 0.0);
    }

    #[test]
    fn a_head_is_put_where_it_is_asked_to_be() {
        let head = Pose {
            position: Vec3::new(1.0, 2.0, 3.0),
            rotation: Quat::from_rotation_y(2.0) * Quat::from_rotation_x(-0.4),
        };
        let mut flight = Flight::default();
        flight.put(head);
        assert!(flight.head().rotation.dot(head.rotation).abs() > 0.9999);
    }
}
