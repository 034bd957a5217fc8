//! Two people who do something at the same moment: all end up with the host's
//! order.
//!
//! A guest does its own change at once, the host does it when it arrives. What
//! the host sent meanwhile about the same thing the guest does later, so the two
//! differ for good, and so do two LookSee peers. A host of ours keeps in mind
//! what it sent to whom; where a guest's change may have crossed with it, the
//! host says how things are as soon as that guest has paused. Not for: guests,
//! who see their host's order anyway.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{PeerId, Role, Session};
use crate::wire::{Message, message::ModelShown};

/// What was sent so long ago has arrived, even behind a model.
const CROSSING: Duration = Duration::from_secs(15);
/// A guest that has been quiet about a thing for so long has paused. Longer than
/// anything that it hears is taken for an echo.
const PAUSE: Duration = Duration::from_millis(1200);

/// Something that two people can change at the same moment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thing {
    Scene,
    KeepAligned,
    Place(String),
    Shown(String),
}

/// What was sent to a peer lately, and what it changed at the same time.
#[derive(Debug, Default)]
pub(super) struct Crossing {
    sent: BTreeMap<Thing, Duration>,
    /// Since when it is quiet about what.
    unsettled: BTreeMap<Thing, Duration>,
}

impl Crossing {
    fn sent(&mut self, thing: Thing, now: Duration) {
        self.sent.retain(|_, at| now.saturating_sub(*at) < CROSSING);
        self.sent.insert(thing, now);
    }

    fn received(&mut self, thing: Thing, now: Duration) {
        self.sent.retain(|_, at| now.saturating_sub(*at) < CROSSING);
        match &thing {
            // A place is given in the room, and kept within the scene.
            Thing::Place(_) if self.sent.contains_key(&Thing::Scene) => {
                self.unsettled.insert(thing.clone(), now);
            }
            Thing::Scene => {
                let places = self.sent.keys().filter(|sent| matches!(sent, Thing::Place(_)));
                self.unsettled.extend(places.map(|place| (place.clone(), now)));
            }
            _ => {}
        }
        if self.sent.contains_key(&thing) || self.unsettled.contains_key(&thing) {
            self.unsettled.insert(thing, now);
        }
    }

    fn paused(&mut self, now: Duration) -> BTreeSet<Thing> {
        let paused = |at: &Duration| now.saturating_sub(*at) >= PAUSE;
        let things = self.unsettled.iter().filter(|(_, at)| paused(at)).map(|(thing, _)| thing.clone());
        let things = things.collect();
        self.unsettled.retain(|_, at| !paused(at));
        things
    }
}

impl Session {
    /// What a message is about; nothing for models that are not here.
    fn thing(&self, message: &Message) -> Option<Thing> {
        let known = |id: &String| self.stage.get(id).is_some_and(|m| m.shared);
        match message {
            Message::ModelPosition(m) if known(&m.model_id) => Some(Thing::Place(m.model_id.clone())),
            Message::ModelShown(m) if known(&m.model_id) => Some(Thing::Shown(m.model_id.clone())),
            Message::ScenePosition(_) => Some(Thing::Scene),
            Message::KeepAligned(_) => Some(Thing::KeepAligned),
            _ => None,
        }
    }

    pub(super) fn note_sent(&mut self, peer: PeerId, message: &Message) {
        if self.role == Role::Host
            && let Some(thing) = self.thing(message)
        {
            self.note(peer, |crossing, now| crossing.sent(thing, now));
        }
    }

    pub(super) fn note_model_sent(&mut self, peer: PeerId, model_id: &str) {
        self.note(peer, |crossing, now| crossing.sent(Thing::Place(model_id.to_owned()), now));
    }

    /// All but shows and hides, which may be mere echoes.
    pub(super) fn note_received(&mut self, peer: PeerId, message: &Message) {
        if let Some(thing) = self.thing(message).filter(|thing| !matches!(thing, Thing::Shown(_))) {
            self.note(peer, |crossing, now| crossing.received(thing, now));
        }
    }

    pub(super) fn note_shown_received(&mut self, peer: PeerId, model_id: &str) {
        if self.role == Role::Host && self.stage.get(model_id).is_some_and(|m| m.shared) {
            self.note(peer, |crossing, now| crossing.received(Thing::Shown(model_id.to_owned()), now));
        }
    }

    pub(super) fn note_model_received(&mut self, peer: PeerId, model_id: &str) {
        self.note(peer, |crossing, now| crossing.received(Thing::Place(model_id.to_owned()), now));
    }

    fn note(&mut self, peer: PeerId, note: impl FnOnce(&mut Crossing, Duration)) {
        let now = self.now;
        if let Some(p) = self.peers.get_mut(&peer) {
            note(&mut p.crossing, now);
        }
    }

    /// Says how things are to those whose changes may have crossed with others'.
    pub(super) fn settle(&mut self, now: Duration) {
        if self.role != Role::Host {
            return;
        }
        let due: Vec<(PeerId, BTreeSet<Thing>)> =
            self.peers.values_mut().map(|p| (p.id, p.crossing.paused(now))).collect();
        for (peer, things) in due {
            let mut places: Vec<String> = Vec::new();
            for thing in things {
                let message =
                    match thing {
                        Thing::Scene => {
                            // Every place that was given since then may be wrong there.
                            let whole = self.stage.models().iter().filter(|m| m.shared && m.glb().is_some());
                            places.extend(whole.map(|m| m.id.clone()));
                            Some(self.scene_message())
                        }
                        Thing::KeepAligned => Some(self.keep_aligned_message()),
                        Thing::Place(model_id) => {
                            places.push(model_id);
                            None
                        }
                        Thing::Shown(model_id) => self.stage.get(&model_id).filter(|m| m.shared).map(|m| {
                            Message::ModelShown(ModelShown { model_id: m.id.clone(), shown: m.shown })
                        }),
                    };
                if let Some(message) = message {
                    self.send(peer, &message);
                }
            }
            places.sort();
            places.dedup();
            for model_id in places {
                let shared = self.stage.get(&model_id).is_some_and(|m| m.shared && m.glb().is_some());
                if shared && let Some(message) = self.model_position_message(&model_id) {
                    self.send(peer, &message);
                }
            }
        }
    }
}
