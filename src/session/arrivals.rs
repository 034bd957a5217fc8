//! Models that come in chunks: from an offer to the whole file.
//!
//! An offer puts the model's box into the room at once. What of it lies here
//! already is looked up; the rest is asked for, a few models at a time, those
//! that are shown and small first. A host passes the offer on before the first
//! byte is here, and each chunk as soon as it is.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    Content, ContentId, Delivery, Event, Measure, Model, PeerId, Role, Session, SessionError, Transmit,
};
use crate::{
    transfer::{Holding, Method, Priority, RepresentationId},
    wire::{
        Message, Progress,
        bulk::Cancel,
        message::{CloseModel, ModelShown, Offer, OpenModel, Want},
    },
};

/// Models that are asked for at the same time, of one peer.
const CHANNELS: usize = 8;
/// A model whose chunks came damaged is asked for once more.
const ATTEMPTS: u32 = 2;
/// Wants that may wait until it is known what of a model lies here.
const DEFERRED: usize = 128;

/// A model on its way here in chunks.
#[derive(Debug)]
pub(super) struct Arrival {
    pub peer: PeerId,
    method: Method,
    holding: Option<Arc<Holding>>,
    channel: Option<u16>,
    attempts: u32,
    /// Others' wants, until it is known what lies here.
    deferred: Vec<(PeerId, Want)>,
}

/// What the store says about a channel.
#[derive(Debug, Clone)]
pub enum Stored {
    /// Bytes of the file that are covered by now.
    Covered(u64),
    /// The whole file is here and is what it should be.
    Whole(Bytes),
    /// All chunks are here, but the file is not what was offered.
    Wrong,
    /// The sender has sent all that it was asked for; what is lacking came damaged.
    Ended,
}

impl Session {
    /// A peer has a model to give.
    pub(super) fn offered(&mut self, peer: PeerId, offer: &Offer) {
        let id = offer.model_id.clone();
        let Some(content) = parse_content(&offer.content).filter(|_| !id.is_empty()) else {
            return self.fault(peer, "it offered a model without saying which");
        };
        if self.offered_again(peer, offer, content) {
            return;
        }
        if self.stage.get(&id).is_some_and(|m| (m.shared && !m.kept) || m.glb().is_none()) {
            return self.fault(peer, "it opened a model under an id that is in use");
        }
        let Ok(total) = usize::try_from(offer.bytes) else { return };
        let known = offer.representations.iter().filter_map(|r| {
            let method = Method::parse(&r.method)?;
            (r.version == method.version() && r.parameters.is_empty()).then_some(method)
        });
        let known: Vec<Method> = known.collect();
        let Some(method) = self.choose_method(peer, &known) else {
            return self.refuse_model(peer, &id, "it can be sent in no way that is known here");
        };
        if self.stage.bytes() + offer.bytes > self.config.max_model_bytes {
            return self.refuse_model(peer, &id, "the models of this meeting are too large together");
        }
        if self.stage.models().len() >= self.config.max_models {
            return self.refuse_model(peer, &id, "too many models are open in this meeting");
        }
        let from = self.label(peer);
        // A copy of our own from an earlier meeting gives way, its bytes do not.
        let mut file = self.file_of(content);
        let mut known = None;
        if let Some(old) = self.stage.remove(&id) {
            known = (old.content_id() == Some(content)).then_some((old.loaded, old.failed.clone()));
            file = file.or(old.glb().filter(|_| old.content_id() == Some(content)).cloned());
            self.events.push_back(Event::ModelClosed { model_id: id.clone(), from: from.clone() });
        }
        let progress = Progress { received: 0, total };
        let open = OpenModel {
            model_id: id.clone(),
            model_name: offer.model_name.clone(),
            position: offer.position,
            rotation: offer.rotation,
            scale: offer.scale,
            opener: offer.opener.clone(),
        };
        let arriving = Content::Arriving { peer, progress, since: self.now };
        self.insert_received(peer, id.clone(), &open, arriving);
        if let Some(model) = self.stage.get_mut(&id) {
            model.shown = offer.shown;
            model.measure = offer.bounds.map(Measure::from_wire);
            model.offered = Some(content);
            if let Some((loaded, failed)) = known {
                // The same bytes under the same id: what is shown of them stays.
                (model.loaded, model.failed) = (loaded, failed);
            }
        }
        self.events.push_back(Event::ModelOffered {
            model_id: id.clone(),
            name: offer.model_name.clone(),
            bytes: total,
            from,
        });
        self.tell_own_status(&id, Delivery::Receiving, progress);
        let arrival =
            Arrival { peer, method, holding: None, channel: None, attempts: 0, deferred: Vec::new() };
        self.arrivals.insert(id.clone(), arrival);
        if self.role == Role::Host {
            self.note_model_received(peer, &id);
            let others: Vec<PeerId> = self.accepted_peers().into_iter().filter(|&p| p != peer).collect();
            self.offer_model(&id, &others);
        }
        match file {
            Some(file) => self.whole(&id, file),
            None => {
                let representation = RepresentationId::new(content, method);
                self.transmits.push_back(Transmit::Lookup {
                    model_id: id,
                    representation,
                    source_bytes: offer.bytes,
                });
            }
        }
    }

    /// The bytes of a content that is open here under whatever id.
    fn file_of(&self, content: ContentId) -> Option<Bytes> {
        self.stage.models().iter().find(|m| m.content_id() == Some(content)).and_then(Model::glb).cloned()
    }

    /// Packing saves bytes and costs time: it is worth it where the link is slow.
    fn choose_method(&self, peer: PeerId, offered: &[Method]) -> Option<Method> {
        let usable: Vec<Method> =
            self.config.methods.iter().copied().filter(|method| offered.contains(method)).collect();
        // A host answers a guest's connection at once: before the first ping that
        // is a round trip.
        let estimate =
            |p: &super::Peer| p.round_trip.unwrap_or_else(|| p.accepted_at.saturating_sub(p.since));
        let slow = self.peers.get(&peer).map(estimate).is_some_and(|rtt| rtt >= SLOW_LINK);
        let first = if slow { Method::Gzip } else { Method::Raw };
        usable.iter().copied().find(|&method| method == first).or(usable.first().copied())
    }

    /// It is known what of a model lies here: some chunks, or its whole file.
    pub fn handle_found(
        &mut self,
        model_id: &str,
        holding: Arc<Holding>,
        file: Option<Bytes>,
        now: std::time::Duration,
    ) {
        self.now = now;
        let Some(arrival) = self.arrivals.get_mut(model_id) else { return };
        let peer = arrival.peer;
        arrival.holding = Some(holding.clone());
        let deferred = std::mem::take(&mut arrival.deferred);
        if let Some(model) = self.stage.get_mut(model_id) {
            model.holdings.push(holding.clone());
        }
        for (from, want) in deferred {
            self.wanted(from, &want);
        }
        match file {
            Some(file) => self.whole(model_id, file),
            None => {
                self.progress(model_id, holding.covered());
                self.ask(peer);
            }
        }
        self.finish();
    }

    /// Asks a peer for what is to come next.
    fn ask(&mut self, peer: PeerId) {
        loop {
            let from_peer = || self.arrivals.iter().filter(|(_, a)| a.peer == peer);
            if from_peer().filter(|(_, a)| a.channel.is_some()).count() >= CHANNELS {
                return;
            }
            let next = from_peer()
                .filter(|(_, a)| a.channel.is_none())
                .filter_map(|(id, a)| {
                    let model = self.stage.get(id).filter(|m| !m.cancelled)?;
                    let holding = a.holding.clone()?;
                    let priority = Priority::new(model.shown, holding.source_bytes());
                    Some((priority, id.clone(), holding))
                })
                .min_by_key(|(priority, ..)| *priority);
            let Some((priority, model_id, holding)) = next else { return };
            let Some(p) = self.peers.get_mut(&peer) else { return };
            let channel = p.next_channel;
            p.next_channel = p.next_channel.wrapping_add(1);
            let Some(arrival) = self.arrivals.get_mut(&model_id) else { return };
            arrival.channel = Some(channel);
            arrival.attempts += 1;
            let method = arrival.method.as_str().to_owned();
            let missing = holding.missing();
            self.transmits.push_back(Transmit::Receive { peer, channel, holding, priority });
            self.send(peer, &Message::Want(Want { model_id, channel, method, missing }));
        }
    }

    fn arrival_of(&self, peer: PeerId, channel: u16) -> Option<String> {
        let mut all = self.arrivals.iter();
        all.find(|(_, a)| a.peer == peer && a.channel == Some(channel)).map(|(id, _)| id.clone())
    }

    /// The store has done something with what came over a channel.
    pub fn handle_stored(&mut self, peer: PeerId, channel: u16, stored: Stored, now: std::time::Duration) {
        self.now = now;
        if let Some(p) = self.peers.get_mut(&peer) {
            p.last_byte = now;
        }
        let Some(model_id) = self.arrival_of(peer, channel) else { return };
        match stored {
            Stored::Covered(bytes) => self.progress(&model_id, bytes),
            Stored::Whole(file) => self.whole(&model_id, file),
            Stored::Wrong => self.fail_arrival(&model_id, "its chunks do not make the file that was offered"),
            Stored::Ended => {
                self.transmits.push_back(Transmit::StopReceiving { peer, channel });
                let Some(arrival) = self.arrivals.get_mut(&model_id) else { return };
                arrival.channel = None;
                if arrival.attempts >= ATTEMPTS {
                    self.fail_arrival(&model_id, "it arrived damaged, twice");
                } else {
                    tracing::info!("chunks of a model arrived damaged; they are asked for once more");
                    self.ask(peer);
                }
            }
        }
        self.finish();
    }

    fn progress(&mut self, model_id: &str, covered: u64) {
        let Some(model) = self.stage.get_mut(model_id) else { return };
        let Content::Arriving { progress, .. } = &mut model.content else { return };
        let covered = usize::try_from(covered).unwrap_or(usize::MAX).min(progress.total);
        if covered <= progress.received {
            return;
        }
        progress.received = covered;
        let progress = *progress;
        if !model.cancelled {
            self.events.push_back(Event::ModelProgress { model_id: model_id.to_owned(), progress });
            self.tell_own_status(model_id, Delivery::Receiving, progress);
        }
    }

    /// The whole file of a model is here.
    fn whole(&mut self, model_id: &str, file: Bytes) {
        let Some(arrival) = self.arrivals.remove(model_id) else { return };
        let peer = arrival.peer;
        if let Some(channel) = arrival.channel {
            self.transmits.push_back(Transmit::StopReceiving { peer, channel });
        }
        let Some(content) = self.stage.get(model_id).and_then(|m| m.offered) else { return };
        self.drop_leftovers(peer, model_id, content);
        let Some(model) = self.stage.get_mut(model_id) else { return };
        model.become_whole(file.clone(), content);
        let (name, hidden) = (model.name.clone(), !model.shown);
        for (from, want) in arrival.deferred {
            self.wanted(from, &want);
        }
        if self.role == Role::Host {
            // Those who take no chunks get it in one piece; and it can be had in
            // more ways now.
            let plain =
                |p: &&super::Peer| p.is_accepted() && !p.methods.contains(&arrival.method) && p.id != peer;
            let plain: Vec<PeerId> = self.peers.values().filter(plain).map(|p| p.id).collect();
            self.send_model(model_id, &plain);
            for peer in plain.into_iter().filter(|_| hidden) {
                let model_id = model_id.to_owned();
                self.send(peer, &Message::ModelShown(ModelShown { model_id, shown: false }));
            }
        }
        self.tell_own_arrival(model_id);
        let (model_id, from) = (model_id.to_owned(), self.label(peer));
        self.events.push_back(Event::ModelReceived { model_id, name, glb: file, from });
        self.ask(peer);
    }

    /// It will not become whole; whoever waits for it through us is told.
    fn fail_arrival(&mut self, model_id: &str, why: &str) {
        let Some(arrival) = self.arrivals.remove(model_id) else { return };
        let peer = arrival.peer;
        if let Some(channel) = arrival.channel {
            self.transmits.push_back(Transmit::StopReceiving { peer, channel });
            self.send(peer, &Message::Cancel(Cancel { channel, by_sender: false }));
        }
        self.lose_model(model_id, why);
        self.ask(peer);
    }

    /// A model that was on its way is none any more.
    pub(super) fn lose_model(&mut self, model_id: &str, why: &str) {
        self.arrivals.remove(model_id);
        self.stop_serving(model_id);
        if self.stage.remove(model_id).is_none() {
            return;
        }
        if self.role == Role::Host {
            self.broadcast(&Message::CloseModel(CloseModel { model_id: model_id.to_owned() }));
        }
        self.deliveries.forget_model(model_id);
        let (model_id, error) = (model_id.to_owned(), why.to_owned());
        self.events.push_back(Event::ModelFailed { model_id, error });
    }

    /// Nothing more of an arriving model is wanted: its bytes stop at once.
    pub(super) fn stop_receiving(&mut self, model_id: &str) {
        let Some(arrival) = self.arrivals.remove(model_id) else { return };
        let peer = arrival.peer;
        if let Some(channel) = arrival.channel {
            self.transmits.push_back(Transmit::StopReceiving { peer, channel });
            self.send(peer, &Message::Cancel(Cancel { channel, by_sender: false }));
        }
        self.ask(peer);
    }

    /// What was cancelled is wanted after all: it goes on where it was.
    pub(super) fn want_again(&mut self, model_id: &str) -> Result<(), SessionError> {
        let methods = self.config.methods.clone();
        let now = self.now;
        let model =
            self.stage.get_mut(model_id).ok_or_else(|| SessionError::NoSuchModel(model_id.to_owned()))?;
        let (Content::Arriving { peer, progress, since }, Some(content), true) =
            (&mut model.content, model.offered, model.cancelled)
        else {
            return Err(SessionError::AlreadyHere(model_id.to_owned()));
        };
        *since = now;
        let (peer, progress) = (*peer, *progress);
        model.cancelled = false;
        let Some(method) = self.choose_method(peer, &methods) else { return Ok(()) };
        let arrival =
            Arrival { peer, method, holding: None, channel: None, attempts: 0, deferred: Vec::new() };
        self.arrivals.insert(model_id.to_owned(), arrival);
        self.tell_own_status(model_id, Delivery::Receiving, progress);
        self.transmits.push_back(Transmit::Lookup {
            model_id: model_id.to_owned(),
            representation: RepresentationId::new(content, method),
            source_bytes: progress.total as u64,
        });
        Ok(())
    }

    /// The sender of a channel cannot go on.
    pub(super) fn cancelled_by_sender(&mut self, peer: PeerId, cancel: Cancel) {
        if let Some(model_id) = self.arrival_of(peer, cancel.channel) {
            self.fail_arrival(&model_id, "its sender could not go on with it");
        }
    }

    /// What was arriving over a connection that is gone. What came of it lies in
    /// the store, for when it is offered again.
    pub(super) fn forget_arrivals(&mut self, peer: PeerId, why: &str) {
        let ids = self.arrivals.iter().filter(|(_, a)| a.peer == peer).map(|(id, _)| id.clone());
        for model_id in ids.collect::<Vec<_>>() {
            self.lose_model(&model_id, why);
        }
    }

    /// Whether something is asked of a peer.
    pub(super) fn is_receiving_from(&self, peer: PeerId) -> bool {
        self.arrivals.values().any(|a| a.peer == peer && a.channel.is_some())
    }

    /// A peer asks for chunks of a model.
    pub(super) fn wanted(&mut self, peer: PeerId, want: &Want) {
        if let Some(arrival) = self.arrivals.get_mut(&want.model_id)
            && arrival.holding.is_none()
        {
            arrival.deferred.retain(|(from, _)| *from != peer);
            if arrival.deferred.len() < DEFERRED {
                arrival.deferred.push((peer, want.clone()));
            }
            return;
        }
        let method = Method::parse(&want.method);
        let model = self.stage.get(&want.model_id).filter(|m| m.shared);
        let found = model.and_then(|m| {
            let holding = m.holdings.iter().find(|h| Some(h.id().method) == method)?;
            Some((holding.clone(), m.shown))
        });
        let Some((holding, shown)) = found else {
            let cancel = Cancel { channel: want.channel, by_sender: true };
            return self.send(peer, &Message::Cancel(cancel));
        };
        if holding.id().method == Method::Gzip
            && !holding.is_complete()
            && let Some(raw) = model.and_then(|m| m.holdings.iter().find(|h| h.file().is_some())).cloned()
            && holding.begin_packing()
        {
            self.transmits.push_back(Transmit::Pack { from: raw, into: holding.clone() });
        }
        let count = u64::from(holding.chunk_count());
        let fits = |&(first, number): &(u32, u32)| u64::from(first) + u64::from(number) <= count;
        let total: u64 = want.missing.iter().map(|(_, number)| u64::from(*number)).sum();
        if !want.missing.iter().all(fits) || total > count {
            return self.fault(peer, "it asked for chunks that a model does not have");
        }
        let chunks = want.missing.iter().flat_map(|&(first, number)| first..first + number).collect();
        let priority = Priority::new(shown, holding.source_bytes());
        self.transmits.push_back(Transmit::Serve {
            peer,
            channel: want.channel,
            model_id: want.model_id.clone(),
            holding,
            chunks,
            priority,
        });
    }

    pub(super) fn stop_serving(&mut self, model_id: &str) {
        let peers = self.peers.values().filter(|p| p.takes_chunks()).map(|p| p.id);
        for peer in peers.collect::<Vec<_>>() {
            self.transmits.push_back(Transmit::StopServing { peer, model_id: model_id.to_owned() });
        }
    }

    /// Offers a model to those of these peers that take chunks.
    pub(super) fn offer_model(&mut self, model_id: &str, to: &[PeerId]) {
        let takes = |peer: &&PeerId| self.peers.get(peer).is_some_and(super::Peer::takes_chunks);
        let to: Vec<PeerId> = to.iter().filter(takes).copied().collect();
        let Some(offer) = self.offer_message(model_id).filter(|_| !to.is_empty()) else { return };
        for peer in to {
            let mut offer = offer.clone();
            let taken: Vec<&str> = self
                .peers
                .get(&peer)
                .map_or_else(Vec::new, |p| p.methods.iter().map(|m| m.as_str()).collect());
            offer.representations.retain(|r| taken.contains(&r.method.as_str()));
            // While it is arriving there may be no way yet; once it is whole there is.
            if !offer.representations.is_empty() {
                self.note_model_sent(peer, model_id);
                self.send(peer, &Message::Offer(offer));
                self.note_delivery(peer, model_id);
            }
        }
    }

    fn offer_message(&self, model_id: &str) -> Option<Offer> {
        let model = self.stage.get(model_id)?;
        let content = model.content_id().or(model.offered)?;
        let (position, rotation, scale) = self.place_on_wire(model);
        let mut methods: Vec<Method> = model.holdings.iter().map(|h| h.id().method).collect();
        if methods.is_empty() {
            methods.extend(self.arrivals.get(model_id).map(|a| a.method));
        }
        Some(Offer {
            model_id: model.id.clone(),
            model_name: model.name.clone(),
            position,
            rotation,
            scale,
            shown: model.shown,
            opener: model.opener.clone(),
            bytes: model.bytes() as u64,
            content: content_text(&content),
            bounds: model.measure.map(Measure::to_wire),
            representations: methods
                .into_iter()
                .map(|method| crate::wire::message::Representation {
                    method: method.as_str().to_owned(),
                    version: method.version(),
                    parameters: String::new(),
                })
                .collect(),
        })
    }
}

/// From here on a link is slow enough for packing.
const SLOW_LINK: std::time::Duration = std::time::Duration::from_millis(3);

fn content_text(content: &ContentId) -> String {
    content.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn parse_content(text: &str) -> Option<ContentId> {
    let mut content = ContentId::default();
    if text.len() != 2 * content.len() || !text.is_ascii() {
        return None;
    }
    for (at, byte) in content.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_ids_are_read_back() {
        let content: ContentId = std::array::from_fn(|n| n as u8 * 7);
        assert_eq!(parse_content(&content_text(&content)), Some(content));
        for wrong in ["", "00", &"0".repeat(63), &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(parse_content(wrong), None);
        }
    }
}
