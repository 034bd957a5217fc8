//! Hands and eyes of the walk: moves the mouse, presses keys, waits until
//! something is so, takes pictures.

use std::{
    collections::VecDeque,
    path::PathBuf,
    time::{Duration, Instant},
};

use bevy::{
    camera::visibility::RenderLayers,
    input::{
        ButtonState,
        keyboard::{Key, KeyboardInput},
        mouse::MouseButtonInput,
    },
    prelude::*,
    render::view::screenshot::{Screenshot, ScreenshotCaptured, save_to_disk},
    ui::InteractionDisabled,
    ui_widgets::ScrollIntoView,
    window::{CursorMoved, PrimaryWindow, WindowEvent},
};
use convene::app::ui::Control;

use super::{company::Grace, layout};

/// What does not become so within this time does not.
const PATIENCE: Duration = Duration::from_secs(60);
/// Frames that layout and looks need after a change.
const SETTLES: u32 = 4;

type Condition = Box<dyn Fn(&mut World) -> bool + Send + Sync>;
type Deed = Box<dyn FnOnce(&mut World) + Send + Sync>;

pub enum Step {
    /// Until this is so.
    Until(String, Condition),
    /// Something beside the window.
    Do(Deed),
    /// A control, by its id.
    Click(String),
    /// The pointer on a control, and nothing more.
    Point(String),
    Press(String),
    Again,
    Release,
    Key(KeyCode, Key, Option<String>, bool),
    /// Let so many frames pass.
    Frames(u32),
    /// Let this time pass.
    Pause(Duration),
    /// A picture, and a look at the layout.
    Look(String),
    LookedAt(String),
}

/// The rest of the walk.
#[derive(Resource, Default)]
pub struct Walk {
    steps: VecDeque<Step>,
    waiting_since: Option<Instant>,
    pointer: Vec2,
    pub folder: PathBuf,
    /// On these pictures alone the room is drawn as well; on all if none is named.
    pub with_room: &'static [&'static str],
}

/// A picture that is not written yet.
#[derive(Resource, Default)]
struct Pending(bool);

impl Walk {
    pub fn until(
        &mut self,
        what: &str,
        is_so: impl Fn(&mut World) -> bool + Send + Sync + 'static,
    ) -> &mut Self {
        self.steps.push_back(Step::Until(what.to_owned(), Box::new(is_so)));
        self
    }

    pub fn run(&mut self, deed: impl FnOnce(&mut World) + Send + Sync + 'static) -> &mut Self {
        self.steps.push_back(Step::Do(Box::new(deed)));
        self
    }

    pub fn click(&mut self, id: impl Into<String>) -> &mut Self {
        self.steps.push_back(Step::Click(id.into()));
        self
    }

    /// Presses once more where the mouse is, as soon as can be.
    pub fn again(&mut self) -> &mut Self {
        self.steps.push_back(Step::Again);
        self
    }

    pub fn point(&mut self, id: impl Into<String>) -> &mut Self {
        self.steps.push_back(Step::Point(id.into()));
        self
    }

    pub fn key(&mut self, code: KeyCode, key: Key) -> &mut Self {
        self.steps.push_back(Step::Key(code, key, None, false));
        self
    }

    pub fn write(&mut self, text: &str) -> &mut Self {
        for character in text.chars() {
            let key = Key::Character(character.to_string().into());
            // Which key it was does not matter to a field; these would do something elsewhere.
            let code = if self.steps.len().is_multiple_of(2) { KeyCode::KeyH } else { KeyCode::KeyW };
            self.steps.push_back(Step::Key(code, key, Some(character.to_string()), false));
        }
        self
    }

    pub fn look(&mut self, name: &str) -> &mut Self {
        self.steps.push_back(Step::Frames(SETTLES));
        self.steps.push_back(Step::Look(name.to_owned()));
        self
    }

    pub fn pause(&mut self, time: Duration) -> &mut Self {
        self.steps.push_back(Step::Pause(time));
        self
    }

    pub fn frames(&mut self, count: u32) -> &mut Self {
        self.steps.push_back(Step::Frames(count));
        self
    }

    fn next(&mut self, step: Step) {
        self.steps.push_front(step);
    }
}

pub fn plugin(app: &mut App) {
    app.init_resource::<Pending>().add_systems(First, drive);
}

fn drive(world: &mut World) {
    if let Some(mut company) = world.get_resource_mut::<Company>() {
        company.0.live();
    }
    let mut walk = std::mem::take(&mut *world.resource_mut::<Walk>());
    while let Some(step) = walk.steps.pop_front() {
        if !take(world, &mut walk, step) {
            break;
        }
    }
    if walk.steps.is_empty() && !world.resource::<Pending>().0 {
        world.write_message(AppExit::Success);
    }
    *world.resource_mut::<Walk>() = walk;
}

/// The other participant.
#[derive(Resource)]
pub struct Company(pub Grace);

/// Whether the next step can be taken in the same frame.
fn take(world: &mut World, walk: &mut Walk, step: Step) -> bool {
    match step {
        Step::Until(what, is_so) => {
            let since = *walk.waiting_since.get_or_insert_with(Instant::now);
            if is_so(world) {
                walk.waiting_since = None;
                return true;
            }
            if since.elapsed() > PATIENCE {
                layout::print(world);
                panic!("not so within {PATIENCE:?}: {what}");
            }
            walk.next(Step::Until(what, is_so));
            false
        }
        Step::Do(deed) => {
            deed(world);
            // What a deed added comes next.
            let added = std::mem::take(&mut world.resource_mut::<Walk>().steps);
            for step in added.into_iter().rev() {
                walk.next(step);
            }
            true
        }
        Step::Click(id) => {
            // It may have to come into view first.
            if let Some((entity, _)) = find(world, &id) {
                world.trigger(ScrollIntoView { entity });
            }
            walk.next(Step::Press(id));
            walk.next(Step::Frames(1));
            false
        }
        Step::Press(id) => {
            let since = *walk.waiting_since.get_or_insert_with(Instant::now);
            match find(world, &id) {
                Some((_, at)) => {
                    walk.waiting_since = None;
                    move_pointer(world, walk, at);
                    button(world, ButtonState::Pressed);
                    walk.next(Step::Release);
                }
                None if since.elapsed() > PATIENCE => {
                    layout::print(world);
                    panic!("there is no control {id} that can be pressed");
                }
                None => walk.next(Step::Click(id)),
            }
            false
        }
        Step::Release => {
            button(world, ButtonState::Released);
            false
        }
        Step::Again => {
            button(world, ButtonState::Pressed);
            walk.next(Step::Release);
            false
        }
        Step::Point(id) => {
            let (_, at) = find(world, &id).unwrap_or_else(|| panic!("there is no control {id}"));
            move_pointer(world, walk, at);
            false
        }
        Step::Key(code, key, text, released) => {
            let state = if released { ButtonState::Released } else { ButtonState::Pressed };
            let window = window(world);
            let input = KeyboardInput {
                key_code: code,
                logical_key: key.clone(),
                state,
                text: text.clone().map(Into::into).filter(|_| !released),
                repeat: false,
                window,
            };
            world.write_message(WindowEvent::KeyboardInput(input.clone()));
            world.write_message(input);
            if !released {
                walk.next(Step::Key(code, key, text, true));
            }
            false
        }
        Step::Pause(time) => {
            let since = *walk.waiting_since.get_or_insert_with(Instant::now);
            if since.elapsed() < time {
                walk.next(Step::Pause(time));
                return false;
            }
            walk.waiting_since = None;
            true
        }
        Step::Frames(0) => true,
        Step::Frames(count) => {
            walk.next(Step::Frames(count - 1));
            false
        }
        Step::Look(name) => {
            // The room is drawn for pictures only: a processor takes its time for it.
            let drawn =
                walk.with_room.is_empty() || walk.with_room.iter().any(|start| name.starts_with(start));
            draw_room(world, drawn);
            walk.next(Step::LookedAt(name));
            walk.next(Step::Frames(2));
            false
        }
        Step::LookedAt(name) => {
            layout::check(world, &name);
            let path = walk.folder.join(&name).with_extension("png");
            println!("{}", path.display());
            let written =
                |_: On<ScreenshotCaptured>, mut pending: ResMut<Pending>, mut commands: Commands| {
                    pending.0 = false;
                    commands.queue(|world: &mut World| draw_room(world, false));
                };
            world.spawn(Screenshot::primary_window()).observe(save_to_disk(path)).observe(written);
            world.resource_mut::<Pending>().0 = true;
            let taken = |world: &mut World| !world.resource::<Pending>().0;
            walk.next(Step::Until("the picture is taken".into(), Box::new(taken)));
            false
        }
    }
}

pub fn draw_room(world: &mut World, on: bool) {
    let mut cameras = world.query_filtered::<Entity, With<Camera3d>>();
    let camera = cameras.single(world).unwrap();
    world.entity_mut(camera).insert(RenderLayers::layer(if on { 0 } else { 30 }));
}

fn window(world: &mut World) -> Entity {
    world.query_filtered::<Entity, With<PrimaryWindow>>().single(world).unwrap()
}

/// A control that can be used, and the middle of what is seen of it, logical
/// pixels.
pub fn find(world: &mut World, id: &str) -> Option<(Entity, Vec2)> {
    let mut controls = world.query_filtered::<(Entity, &Control), Without<InteractionDisabled>>();
    let (entity, _) = controls.iter(world).find(|(_, control)| control.id == id)?;
    layout::seen(world, entity).map(|rect| (entity, rect.center()))
}

fn move_pointer(world: &mut World, walk: &mut Walk, to: Vec2) {
    let window = window(world);
    let delta = to - walk.pointer;
    walk.pointer = to;
    let moved = CursorMoved { window, position: to, delta: Some(delta) };
    world.write_message(WindowEvent::CursorMoved(moved.clone()));
    world.write_message(moved);
}

fn button(world: &mut World, state: ButtonState) {
    let window = window(world);
    let input = MouseButtonInput { button: MouseButton::Left, state, window };
    world.write_message(WindowEvent::MouseButtonInput(input));
    world.write_message(input);
}
