//! The thread `xr`: it alone waits for the runtime.
//!
//! It polls events, waits for frames, reads controllers, hands and head, and
//! tells the main world. It waits for a frame only when it was asked to, so that
//! poses are as fresh as can be. A runtime that stands still holds this thread
//! and nobody else; a runtime that is gone ends it with a reason.

use std::sync::Arc;

use bevy::math::{Quat, Vec2, Vec3};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use openxr::{
    ActionInput, ActiveActionSet, Event, EventDataBuffer, FrameState, FrameWaiter, HandTracker, Instance,
    Posef, ReferenceSpaceType, Session, SessionState, Space, SpaceLocationFlags, View, ViewConfigurationType,
    ViewStateFlags, Vulkan, sys,
};

use super::actions::Actions;
use crate::{
    app::{
        bare_hands::JOINTS,
        input::{HeadsetState, Pulse},
    },
    gestures::{PerSide, Side},
    session::Pose,
};

/// How often events are looked for while there are no frames.
const POLL: std::time::Duration = std::time::Duration::from_millis(20);

/// What the main world wants.
pub(super) enum Ask {
    /// The next frame; answered by [`Told::Frame`] or [`Told::NoFrame`].
    Frame,
    /// A tick.
    Pulse(Pulse),
    /// The end of the session.
    Exit,
}

/// What the main world hears.
pub(super) enum Told {
    /// The session's state has changed.
    State(HeadsetState),
    /// A frame has begun.
    Frame(Box<Snapshot>),
    /// There are no frames now.
    NoFrame,
    /// The real room cannot be shown after all.
    PassthroughFailed,
    /// The person has recentred, or the headset's floor has moved.
    Recentred(Recentring),
    /// What is in the hands now, by OpenXR's name; empty: nothing.
    Profiles(PerSide<String>),
    /// The session is over; nothing follows.
    Ended(End),
}

/// Coordinates have changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recentring {
    /// Those that poses are given in; otherwise only what the person calls ahead.
    pub ours: bool,
    /// Where the new origin is in the old coordinates, if the headset knows.
    pub old_from_new: Option<Pose>,
}

/// Why a session is over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum End {
    /// The person left it, or the program asked for it.
    Exited,
    /// The runtime wants it to begin anew.
    Restart,
    /// The runtime is gone.
    Lost(sys::Result),
}

/// All that is known at the beginning of a frame, in tracking space.
pub(super) struct Snapshot {
    pub frame: FrameState,
    /// Between the eyes, looking along its -z.
    pub head: Option<Pose>,
    /// Left and right.
    pub views: Vec<View>,
    pub hands: PerSide<HandSnapshot>,
}

/// What is known of a hand.
#[derive(Default, Clone)]
pub(super) struct HandSnapshot {
    /// A controller points along this pose's -z.
    pub aim: Option<Pose>,
    pub grip: Option<Pose>,
    pub trigger: f32,
    pub squeeze: f32,
    pub stick: Vec2,
    pub menu: bool,
    pub mark: bool,
    /// Joints of a bare hand and their radii, metres.
    pub joints: Option<Box<[(Pose, f32); JOINTS]>>,
}

/// What the thread owns.
pub(super) struct Tracker {
    pub instance: Instance,
    pub session: Session<Vulkan>,
    pub waiter: FrameWaiter,
    pub space: Arc<Space>,
    pub space_type: ReferenceSpaceType,
    pub head: Space,
    pub actions: Actions,
    pub aims: PerSide<Space>,
    pub grips: PerSide<Space>,
    /// None where the runtime has no hand tracking.
    pub trackers: Option<PerSide<HandTracker>>,
    pub asks: Receiver<Ask>,
    pub told: Sender<Told>,
    /// Between begin and end.
    pub running: bool,
    /// The last that were known.
    pub views: Vec<View>,
}

/// Whether the place of views is known.
pub(super) fn is_known(flags: ViewStateFlags) -> bool {
    flags.contains(ViewStateFlags::POSITION_VALID | ViewStateFlags::ORIENTATION_VALID)
}

impl Tracker {
    /// Runs until the session is over or nobody listens any more.
    pub fn run(mut self) {
        let end = loop {
            match self.turn() {
                Ok(true) => {}
                Ok(false) => return,
                Err(end) => break end,
            }
        };
        let _ = self.told.send(Told::Ended(end));
    }

    /// One turn; false: nobody listens any more.
    fn turn(&mut self) -> Result<bool, End> {
        if !self.poll_events()? {
            return Ok(false);
        }
        let ask = match self.asks.recv_timeout(POLL) {
            Ok(ask) => ask,
            Err(RecvTimeoutError::Timeout) => return Ok(true),
            Err(RecvTimeoutError::Disconnected) => return Ok(false),
        };
        let told = match ask {
            Ask::Frame if self.running => Told::Frame(Box::new(self.frame().map_err(End::Lost)?)),
            Ask::Frame => Told::NoFrame,
            Ask::Pulse(pulse) => {
                self.pulse(pulse);
                return Ok(true);
            }
            Ask::Exit => {
                // Not running: there is nothing to end, and nothing would come of it.
                match self.session.request_exit() {
                    Ok(()) => return Ok(true),
                    Err(sys::Result::ERROR_SESSION_NOT_RUNNING) => return Err(End::Exited),
                    Err(error) => return Err(End::Lost(error)),
                }
            }
        };
        Ok(self.told.send(told).is_ok())
    }

    /// False: nobody listens any more.
    fn poll_events(&mut self) -> Result<bool, End> {
        let mut buffer = EventDataBuffer::new();
        loop {
            let event = match self.instance.poll_event(&mut buffer) {
                Ok(Some(event)) => event,
                Ok(None) => return Ok(true),
                Err(error) => return Err(End::Lost(error)),
            };
            let told = match event {
                Event::SessionStateChanged(change) if change.session() == self.session.as_raw() => {
                    match change.state() {
                        SessionState::READY => {
                            self.session.begin(ViewConfigurationType::PRIMARY_STEREO).map_err(End::Lost)?;
                            self.running = true;
                            Told::State(HeadsetState::Ready)
                        }
                        SessionState::STOPPING => {
                            self.running = false;
                            if let Err(error) = self.session.end() {
                                tracing::debug!("the session did not end in order: {error}");
                            }
                            Told::State(HeadsetState::Stopping)
                        }
                        SessionState::EXITING => return Err(End::Exited),
                        SessionState::LOSS_PENDING => return Err(End::Restart),
                        state => Told::State(match state {
                            SessionState::SYNCHRONIZED => HeadsetState::Synchronized,
                            SessionState::VISIBLE => HeadsetState::Visible,
                            SessionState::FOCUSED => HeadsetState::Focused,
                            _ => HeadsetState::Idle,
                        }),
                    }
                }
                Event::InstanceLossPending(_) => return Err(End::Lost(sys::Result::ERROR_INSTANCE_LOST)),
                Event::ReferenceSpaceChangePending(change) => Told::Recentred(Recentring {
                    ours: change.reference_space_type() == self.space_type,
                    old_from_new: change.pose_valid().then(|| pose(change.pose_in_previous_space())),
                }),
                Event::InteractionProfileChanged(_) => Told::Profiles(self.profiles()),
                Event::EventsLost(lost) => {
                    tracing::debug!("{} events of the runtime were lost", lost.lost_event_count());
                    continue;
                }
                _ => continue,
            };
            if self.told.send(told).is_err() {
                return Ok(false);
            }
        }
    }

    fn profiles(&self) -> PerSide<String> {
        let name = |side: Side| {
            let path = self.session.current_interaction_profile(*self.actions.hands.get(side));
            // None is normal: the hand holds nothing.
            let path = path.ok().filter(|path| *path != openxr::Path::NULL);
            path.and_then(|path| self.instance.path_to_string(path).ok()).unwrap_or_default()
        };
        PerSide { left: name(Side::Left), right: name(Side::Right) }
    }

    /// Waits for the next frame and reads everything at the time at which it will
    /// be seen.
    fn frame(&mut self) -> Result<Snapshot, sys::Result> {
        let frame = self.waiter.wait()?;
        let time = frame.predicted_display_time;
        // Not focused: it answers so, and all actions are inactive.
        match self.session.sync_actions(&[ActiveActionSet::new(&self.actions.set)]) {
            Err(error) if is_loss(error) => return Err(error),
            _ => {}
        }
        let views = match self.session.locate_views(ViewConfigurationType::PRIMARY_STEREO, time, &self.space)
        {
            // A headset that does not know where it is shows what it last saw.
            Ok((flags, views)) if is_known(flags) => {
                self.views.clone_from(&views);
                views
            }
            Ok(_) => self.views.clone(),
            Err(error) if is_loss(error) => return Err(error),
            Err(_) => Vec::new(),
        };
        let located = |space: &Space| {
            let location = space.locate(&self.space, time).ok()?;
            let valid = SpaceLocationFlags::POSITION_VALID | SpaceLocationFlags::ORIENTATION_VALID;
            location.location_flags.contains(valid).then(|| pose(location.pose))
        };
        let hand = |side: Side| {
            let path = *self.actions.hands.get(side);
            let value = |action: &openxr::Action<f32>| self.state(action, path).unwrap_or_default();
            let button = |action: &openxr::Action<bool>| self.state(action, path).unwrap_or_default();
            let stick = self.state(&self.actions.stick, path).unwrap_or_default();
            HandSnapshot {
                aim: located(self.aims.get(side)),
                grip: located(self.grips.get(side)),
                trigger: value(&self.actions.trigger),
                squeeze: value(&self.actions.squeeze),
                stick: Vec2::new(stick.x, stick.y),
                menu: button(&self.actions.menu),
                mark: button(&self.actions.mark),
                joints: self.trackers.as_ref().and_then(|trackers| self.joints(trackers.get(side), time)),
            }
        };
        let hands = PerSide { left: hand(Side::Left), right: hand(Side::Right) };
        Ok(Snapshot { head: located(&self.head), views, hands, frame })
    }

    /// An action's state; none while the hand has no such thing.
    fn state<T: ActionInput>(&self, action: &openxr::Action<T>, hand: openxr::Path) -> Option<T> {
        let state = action.state(&self.session, hand).ok()?;
        state.is_active.then_some(state.current_state)
    }

    fn joints(&self, tracker: &HandTracker, time: openxr::Time) -> Option<Box<[(Pose, f32); JOINTS]>> {
        let joints = self.space.locate_hand_joints(tracker, time).ok()??;
        let valid = SpaceLocationFlags::POSITION_VALID | SpaceLocationFlags::ORIENTATION_VALID;
        let all = joints.iter().all(|joint| joint.location_flags.contains(valid));
        all.then(|| Box::new(joints.map(|joint| (pose(joint.pose), joint.radius))))
    }

    fn pulse(&self, pulse: Pulse) {
        let nanoseconds = (f64::from(pulse.duration_secs) * 1e9) as i64;
        let event = openxr::HapticVibration::new()
            .amplitude(pulse.strength.clamp(0.0, 1.0))
            .frequency(openxr::FREQUENCY_UNSPECIFIED)
            .duration(openxr::Duration::from_nanos(nanoseconds));
        let hand = *self.actions.hands.get(pulse.side);
        if let Err(error) = self.actions.haptic.apply_feedback(&self.session, hand, &event) {
            tracing::debug!("no tick: {error}");
        }
    }
}

/// Whether the session can do nothing more.
fn is_loss(error: sys::Result) -> bool {
    matches!(
        error,
        sys::Result::ERROR_SESSION_LOST
            | sys::Result::ERROR_INSTANCE_LOST
            | sys::Result::ERROR_RUNTIME_FAILURE
    )
}

/// A pose of OpenXR.
pub(super) fn pose(pose: Posef) -> Pose {
    let (p, q) = (pose.position, pose.orientation);
    Pose::new(Vec3::new(p.x, p.y, p.z), Quat::from_xyzw(q.x, q.y, q.z, q.w))
}
