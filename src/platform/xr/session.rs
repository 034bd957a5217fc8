//! The session's life, seen from the main world.
//!
//! Sessions begin and end while the render world stands still, between two
//! frames: making them uses the queue that it draws with. What the person is told
//! and what happens next is decided here; the runtime is heard through the
//! thread `xr`.

use std::{
    sync::Arc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use bevy::{
    ecs::{
        schedule::MainThreadExecutor,
        system::{NonSendMarker, SystemParam},
    },
    prelude::*,
    render::{ExtractSchedule, MainWorld, RenderApp, render_resource::PollType, renderer::RenderDevice},
};
use crossbeam_channel::{Receiver, Sender, bounded};
use openxr::{Posef, ReferenceSpaceType};

use super::{
    PATIENCE,
    actions::Actions,
    compositor::{self, Compositor, Drawing},
    eyes::EyeViews,
    runtime::{Connection, Runtime},
    tracker::{Ask, End, Recentring, Snapshot, Told, Tracker},
};
use crate::{
    app::{
        HeadsetOptions,
        input::{Action, Headset, HeadsetState, Passthrough, Pulse, Switch},
        notices::Notify,
    },
    gestures::{PerSide, Side},
    notice::Notice,
    session::Pose,
    threads,
};

/// A frame that takes longer to draw is stuck in the runtime: the window has to
/// go on.
const LONGEST_FRAME: Duration = Duration::from_secs(2);
/// A thread that does not end for so long is stuck.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How often it is looked whether a frame is drawn.
const LOOK: Duration = Duration::from_millis(1);
/// Between two attempts to begin a session.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Between two attempts to reach a runtime that is gone.
const RECONNECT_AFTER: Duration = Duration::from_secs(3);
/// So often that is tried: some runtimes are started by being asked.
const RECONNECTIONS: u32 = 60;

pub(super) fn plugin(app: &mut App) {
    app.add_message::<Recentred>()
        .add_systems(First, follow)
        .add_systems(Update, (switch, pulse).in_set(crate::app::AppSystems::Send));
    app.sub_app_mut(RenderApp).add_systems(ExtractSchedule, (open_and_close, hand_over).chain());
}

/// The person has recentred, or the floor has moved: see [`Recentring`].
#[derive(Message, Debug, Clone, Copy, Deref)]
pub(super) struct Recentred(pub Recentring);

/// The headset.
#[derive(Resource)]
pub(super) struct Vr {
    runtime: Runtime,
    open: Option<Open>,
    /// Whether the person wants to look through it.
    wanted: bool,
    /// The session is over and is to be put away.
    over: Option<End>,
    /// The runtime must be reached anew first.
    reconnect: Option<Reconnect>,
    next_try: Duration,
    /// Told already that no session begins.
    told: bool,
    /// Attempts to begin one that have failed since one began.
    failures: u32,
    /// The session is to end, because the person said so.
    leaving: bool,
    /// It was asked to.
    exit_asked: bool,
    /// Of the frame that has begun.
    frame: Option<Box<Snapshot>>,
    /// Whether the render world is between the beginning and the end of a frame.
    drawing: Drawing,
}

struct Open {
    asks: Sender<Ask>,
    told: Receiver<Told>,
    thread: JoinHandle<()>,
    /// A frame has been asked for and not come yet.
    asked: bool,
    /// Poses are given in coordinates of the real room.
    keeps_coordinates: bool,
}

struct Reconnect {
    attempts: u32,
    answer: Option<Receiver<Result<Connection, super::runtime::RuntimeError>>>,
}

impl Vr {
    pub fn new(runtime: Runtime) -> Self {
        Self {
            runtime,
            open: None,
            wanted: true,
            over: None,
            reconnect: None,
            next_try: Duration::ZERO,
            told: false,
            failures: 0,
            leaving: false,
            exit_asked: false,
            frame: None,
            drawing: Drawing::default(),
        }
    }

    /// What is known of the frame that has begun; none where the headset shows
    /// nothing now.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.frame.as_deref()
    }

    /// The runtime is gone: it is looked for from now on.
    fn lose(&mut self) {
        self.runtime.disconnect();
        self.reconnect = Some(Reconnect { attempts: 0, answer: None });
    }

    /// Puts the session away. Its thread has said its last; one that is stuck in
    /// the runtime is not waited for.
    fn close(&mut self) {
        self.frame = None;
        let Some(Open { asks, told, thread, .. }) = self.open.take() else { return };
        drop((asks, told));
        let until = Instant::now() + LAST_WORDS;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
    }

    fn ask(&self, ask: Ask) {
        if let Some(open) = &self.open {
            // Full: the thread stands still with the runtime.
            let _ = open.asks.try_send(ask);
        }
    }
}

impl Drop for Vr {
    fn drop(&mut self) {
        self.close();
    }
}

#[derive(SystemParam)]
struct Tell<'w> {
    headset: ResMut<'w, Headset>,
    recentred: MessageWriter<'w, Recentred>,
    notices: MessageWriter<'w, Notify>,
    exit: MessageWriter<'w, AppExit>,
}

/// Hears what the runtime says, and waits for the frame.
fn follow(
    mut vr: ResMut<Vr>,
    mut tell: Tell,
    time: Res<Time<Real>>,
    main_thread: Option<Res<MainThreadExecutor>>,
    // Only on that thread can its tasks be done.
    _: NonSendMarker,
) {
    let vr = &mut *vr;
    vr.frame = None;
    reach_again(vr, &mut tell, time.elapsed());
    let Some(open) = &mut vr.open else { return };
    while let Ok(told) = open.told.try_recv() {
        take(told, open, &mut vr.frame, &mut vr.over, &mut tell);
    }
    if vr.leaving && vr.over.is_none() {
        // Full or stuck: it is said again with the next frame.
        vr.leaving = open.asks.try_send(Ask::Exit).is_err();
        vr.exit_asked |= !vr.leaving;
    }
    if !tell.headset.has_frames() || vr.over.is_some() {
        return;
    }
    if vr.drawing.passthrough_failed() {
        take(Told::PassthroughFailed, open, &mut vr.frame, &mut vr.over, &mut tell);
    }
    // Runtimes let the next frame begin when the one before is drawn.
    let start = Instant::now();
    let mut idle = start;
    while vr.frame.is_none()
        && vr.over.is_none()
        && idle.elapsed() < PATIENCE
        && start.elapsed() < LONGEST_FRAME
    {
        if let Some(error) = vr.drawing.loss() {
            take(Told::Ended(End::Lost(error)), open, &mut vr.frame, &mut vr.over, &mut tell);
            break;
        }
        if !open.asked && !vr.drawing.is_about_to_begin() {
            open.asked = open.asks.try_send(Ask::Frame).is_ok();
            if !open.asked {
                break;
            }
        }
        if vr.drawing.is_going_on() {
            idle = Instant::now();
        }
        // What the render world has for this thread to do: it would stand still without.
        let tasks = main_thread.as_ref().and_then(|executor| executor.0.ticker());
        while tasks.as_ref().is_some_and(|tasks| tasks.try_tick()) {}
        if let Ok(told) = open.told.recv_timeout(LOOK) {
            let has_none = matches!(told, Told::NoFrame);
            take(told, open, &mut vr.frame, &mut vr.over, &mut tell);
            if has_none {
                break;
            }
        }
    }
}

fn take(
    told: Told,
    open: &mut Open,
    frame: &mut Option<Box<Snapshot>>,
    over: &mut Option<End>,
    tell: &mut Tell,
) {
    match told {
        Told::State(state) => {
            tracing::info!("the headset's session is {}", state.as_str());
            tell.headset.state = state;
        }
        Told::PassthroughFailed => {
            tell.headset.offers = Passthrough::Off;
            tell.notices.write(Notify(Notice::warning("The headset does not show the real room.", "")));
        }
        Told::Frame(snapshot) => {
            open.asked = false;
            *frame = Some(snapshot);
            tell.headset.frames += 1;
        }
        Told::NoFrame => open.asked = false,
        Told::Recentred(recentring) => {
            tell.recentred.write(Recentred(recentring));
        }
        Told::Profiles(profiles) => {
            for side in Side::BOTH {
                tracing::info!("the {} hand's profile: {:?}", side.as_str(), profiles.get(side));
            }
        }
        Told::Ended(end) => {
            tracing::info!("the headset's session is over: {end:?}");
            tell.headset.state = match end {
                End::Exited => HeadsetState::Exiting,
                End::Restart => HeadsetState::Available,
                End::Lost(_) => HeadsetState::Lost,
            };
            if matches!(end, End::Lost(_)) {
                tell.notices.write(Notify(Notice::warning(
                    if tell.headset.standalone {
                        "The headset's software has ended; the meeting goes on."
                    } else {
                        "The headset's software has ended; the meeting goes on in this window."
                    },
                    "Start it again, and the headset goes on by itself.",
                )));
            }
            if end == End::Exited && tell.headset.standalone {
                tell.exit.write(AppExit::Success);
            }
            // Its images are gone: nothing may be drawn into them.
            *frame = None;
            open.asked = false;
            *over = Some(end);
        }
    }
}

/// Looks for a runtime that went away. It may take seconds to answer, so a thread
/// asks.
fn reach_again(vr: &mut Vr, tell: &mut Tell, now: Duration) {
    let Some(reconnect) = &mut vr.reconnect else { return };
    if let Some(answer) = &reconnect.answer {
        match answer.try_recv() {
            Ok(Ok(connection)) => match vr.runtime.use_connection(connection) {
                Ok(()) => {
                    tracing::info!("the OpenXR runtime is back");
                    tell.headset.state = HeadsetState::Available;
                    vr.reconnect = None;
                    vr.next_try = now;
                }
                Err(error) => {
                    tell.notices.write(Notify(error.notice()));
                    vr.reconnect = None;
                    vr.wanted = false;
                }
            },
            Ok(Err(error)) => {
                tracing::debug!("the OpenXR runtime is not back: {error}");
                reconnect.answer = None;
                vr.next_try = now + RECONNECT_AFTER;
            }
            Err(crossbeam_channel::TryRecvError::Empty) => {}
            Err(crossbeam_channel::TryRecvError::Disconnected) => reconnect.answer = None,
        }
        return;
    }
    if now < vr.next_try || !vr.wanted || vr.open.is_some() {
        return;
    }
    reconnect.attempts += 1;
    if reconnect.attempts > RECONNECTIONS {
        vr.wanted = false;
        tell.headset.state = HeadsetState::Available;
        tell.notices.write(Notify(Notice::info(
            "The headset's software has not come back.",
            "When it runs again, switch the headset on in Options.",
        )));
        return;
    }
    let (answer, answered) = bounded(1);
    let asking = threads::spawn("xr-connect", move || {
        let _ = answer.send(Runtime::connect());
    });
    reconnect.answer = asking.is_ok().then_some(answered);
    vr.next_try = now + RECONNECT_AFTER;
}

/// The switch in Options.
fn switch(
    mut actions: MessageReader<Action>,
    mut vr: ResMut<Vr>,
    mut headset: ResMut<Headset>,
    time: Res<Time<Real>>,
) {
    for action in actions.read() {
        let on = match action {
            Action::Toggle(Switch::Headset) => !vr.wanted,
            Action::Set(Switch::Headset, on) => *on,
            _ => continue,
        };
        vr.wanted = on;
        (vr.told, vr.failures) = (false, 0);
        vr.next_try = time.elapsed();
        if let Some(reconnect) = &mut vr.reconnect {
            reconnect.attempts = 0;
        }
        vr.leaving = !on && vr.open.is_some();
    }
    if headset.wanted != vr.wanted {
        headset.wanted = vr.wanted;
    }
}

fn pulse(mut pulses: MessageReader<Pulse>, vr: Res<Vr>) {
    for pulse in pulses.read() {
        vr.ask(Ask::Pulse(*pulse));
    }
}

/// Gives the render world what the frame's pictures are for.
fn hand_over(mut commands: Commands, mut main: ResMut<MainWorld>) {
    let frame = main.resource_scope::<Vr, _>(|main, vr| {
        Some(compositor::Frame::new(vr.frame.as_ref()?, main, vr.drawing.clone()))
    });
    match frame {
        Some(frame) => commands.insert_resource(frame),
        None => commands.remove_resource::<compositor::Frame>(),
    }
}

/// Puts a session away that is over, and begins one that is wanted.
fn open_and_close(mut commands: Commands, mut main: ResMut<MainWorld>, device: Res<RenderDevice>) {
    main.resource_scope::<Vr, _>(|main, mut vr| {
        let now = main.resource::<Time<Real>>().elapsed();
        if let Some(end) = vr.over.take() {
            commands.remove_resource::<Compositor>();
            main.remove_resource::<EyeViews>();
            // What was drawn into the runtime's images must be done before they go.
            if let Err(error) = device.poll(PollType::wait_indefinitely()) {
                tracing::debug!("the device does not come to rest: {error}");
            }
            vr.close();
            vr.next_try = now + RETRY_AFTER;
            match end {
                // The person, in the headset's own menu; not if it was us, and they have changed their mind since.
                End::Exited if !std::mem::take(&mut vr.exit_asked) => vr.wanted = false,
                End::Exited => {}
                End::Restart => {}
                End::Lost(_) => vr.lose(),
            }
            let state = &mut main.resource_mut::<Headset>().state;
            if end == End::Exited {
                *state = HeadsetState::Available;
            }
        }
        if vr.open.is_some() || !vr.wanted || vr.reconnect.is_some() || now < vr.next_try {
            return;
        }
        // Each attempt stops the picture for a moment.
        vr.next_try = now + RETRY_AFTER * 2u32.pow(vr.failures.min(5));
        match begin(&vr.runtime, &device, main.resource::<HeadsetOptions>()) {
            Ok((open, compositor, views)) => {
                (vr.told, vr.failures) = (false, 0);
                let mut headset = main.resource_mut::<Headset>();
                headset.name = vr.runtime.headset_name().unwrap_or_default();
                headset.keeps_coordinates = open.keeps_coordinates;
                vr.open = Some(open);
                // Of the one before.
                vr.drawing.loss();
                headset.state = HeadsetState::Idle;
                headset.offers = compositor.offers();
                main.insert_resource(views);
                commands.insert_resource(compositor);
            }
            Err(error) => {
                tracing::info!("no session: {error}");
                vr.failures += 1;
                if !vr.told {
                    vr.told = true;
                    main.write_message(Notify(Notice::warning(
                        "The headset shows nothing yet: its software begins no session.",
                        "Check that the headset is connected; it begins by itself.",
                    )));
                }
                if error.is_loss() {
                    vr.lose();
                }
            }
        }
    });
}

/// Why no session begins.
#[derive(Debug, thiserror::Error)]
pub(super) enum BeginError {
    /// The runtime said so.
    #[error("{0}")]
    Runtime(#[from] openxr::sys::Result),
    /// Its pictures are of no kind that we draw.
    #[error("no common format of pictures")]
    Format,
    /// Bevy does not take its pictures.
    #[error("{0}")]
    Pictures(#[from] bevy_mod_openxr::error::OxrError),
    /// The system gives no thread.
    #[error("no thread: {0}")]
    Thread(#[from] std::io::Error),
}

impl BeginError {
    fn is_loss(&self) -> bool {
        use openxr::sys::Result;
        matches!(self, Self::Runtime(Result::ERROR_INSTANCE_LOST | Result::ERROR_RUNTIME_FAILURE))
    }
}

fn begin(
    runtime: &Runtime,
    device: &RenderDevice,
    options: &HeadsetOptions,
) -> Result<(Open, Compositor, EyeViews), BeginError> {
    let Connection { instance, system } = runtime.connection()?;
    let (session, waiter, stream) = runtime.create_session()?;
    let space_type = [ReferenceSpaceType::STAGE, ReferenceSpaceType::LOCAL_FLOOR, ReferenceSpaceType::LOCAL]
        .into_iter()
        .find(|space| session.enumerate_reference_spaces().is_ok_and(|spaces| spaces.contains(space)))
        .unwrap_or(ReferenceSpaceType::LOCAL);
    // Of LOCAL the origin is where the eyes were; elsewhere it is on the floor.
    let height = if space_type == ReferenceSpaceType::LOCAL { -crate::app::EYE_HEIGHT } else { 0.0 };
    let floor = Posef {
        position: openxr::Vector3f { x: 0.0, y: height, z: 0.0 },
        orientation: openxr::Quaternionf { x: 0.0, y: 0.0, z: 0.0, w: 1.0 },
    };
    let space = Arc::new(session.create_reference_space(space_type, floor)?);
    let head = session.create_reference_space(ReferenceSpaceType::VIEW, Posef::IDENTITY)?;
    let actions = Actions::new(instance)?;
    session.attach_action_sets(&[&actions.set])?;
    let space_of = |action: &openxr::Action<Posef>, side: Side| {
        action.create_space(&session, *actions.hands.get(side), Posef::IDENTITY)
    };
    let both = |action: &openxr::Action<Posef>| -> openxr::Result<PerSide<openxr::Space>> {
        Ok(PerSide { left: space_of(action, Side::Left)?, right: space_of(action, Side::Right)? })
    };
    let (aims, grips) = (both(&actions.aim)?, both(&actions.grip)?);
    let tracks_hands = instance.exts().ext_hand_tracking.is_some()
        && instance.supports_hand_tracking(*system).unwrap_or(false);
    let trackers = tracks_hands
        .then(|| {
            Some(PerSide {
                left: session.create_hand_tracker(openxr::Hand::LEFT).ok()?,
                right: session.create_hand_tracker(openxr::Hand::RIGHT).ok()?,
            })
        })
        .flatten();
    let (compositor, views) =
        Compositor::new(runtime.connection()?, device, &session, stream, space.clone(), options.eye_size)?;
    let (asks, asked) = bounded(16);
    let (told, tells) = bounded(64);
    let tracker = Tracker {
        instance: instance.clone(),
        session,
        waiter,
        space,
        space_type,
        head,
        actions,
        aims,
        grips,
        trackers,
        asks: asked,
        told,
        running: false,
        views: Vec::new(),
    };
    let thread = threads::spawn("xr", move || tracker.run())?;
    let keeps_coordinates = space_type == ReferenceSpaceType::STAGE;
    Ok((Open { asks, told: tells, thread, asked: false, keeps_coordinates }, compositor, views))
}

/// Where tracking space is in the room after recentring, so that the room stays
/// where it is; none if the headset does not say.
pub(super) fn recentred_room(room_from_tracking: Pose, recentring: Recentring) -> Option<Pose> {
    let old_from_new = recentring.old_from_new.filter(|_| recentring.ours)?;
    Some(old_from_new.within(room_from_tracking))
}
