//! Models that come in chunks: from an offer to the whole file.
//!
//! An offer puts the model's box into the room at once. What of it lies here
//! already is looked up; the rest is asked for, a few models at a time, those
//! that are shown and small first. A host passes the offer on before the first
//! byte is here, and each chunk as soon as it is.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    Content, ContentId, Delivery, Event, Measure, Model, PeerId, Role, Session, SessionError, Transmit, Way,
};
use crate::{
    mesh::Decoded,
    transfer::{Holding, MAX_PARTS, Method, Priority, RepresentationId},
    wire::{
        Message, Progress,
        bulk::Cancel,
        message::{CloseModel, ModelShown, Offer, OpenModel, Representation, Want},
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
    /// Bytes of its representation that were here before.
    kept_bytes: u64,
    /// What is known of how it came.
    way: Way,
    holding: Option<Arc<Holding>>,
    channel: Option<u16>,
    attempts: u32,
    /// Others' wants, until it is known what lies here.
    deferred: Vec<(PeerId, Want)>,
}

/// What was made of a model's parts.
#[derive(Debug, Clone)]
pub struct Assembled {
    /// A standard GLB.
    pub file: Bytes,
    /// Its hash, by which those know it who cannot read parts.
    pub own: ContentId,
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
            let counted = method != Method::Mesh || (1..=MAX_PARTS).contains(&r.chunks);
            (r.version == method.version() && r.parameters.is_empty() && counted)
                .then_some((method, r.chunks))
        });
        let known: Vec<(Method, u32)> = known.collect();
        let parts = known.iter().find(|(method, _)| *method == Method::Mesh).map_or(0, |(_, chunks)| *chunks);
        let known: Vec<Method> = known.into_iter().map(|(method, _)| method).collect();
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
        let made = (method == Method::Mesh).then(|| self.made_of(content)).flatten();
        let mut known = None;
        if let Some(old) = self.stage.remove(&id) {
            known = (old.content_id() == Some(content)).then_some((old.loaded, old.failed.clone()));
            let same = old.content_id() == Some(content) && old.is_exact();
            file = file.or(old.glb().filter(|_| same).cloned());
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
            model.offered_parts = parts;
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
        self.arrivals.insert(id.clone(), Arrival::new(peer, method));
        if self.role == Role::Host {
            self.note_model_received(peer, &id);
            let others: Vec<PeerId> = self.accepted_peers().into_iter().filter(|&p| p != peer).collect();
            self.offer_model(&id, &others);
        }
        match (file, made) {
            (Some(file), _) => self.whole(&id, file),
            (None, Some((holdings, file, own, max_error))) => {
                if let Some(model) = self.stage.get_mut(&id) {
                    model.holdings = holdings;
                }
                if let Some(arrival) = self.arrivals.get_mut(&id) {
                    arrival.way.max_error = max_error;
                }
                self.arrived(&id, file, Some(own));
            }
            (None, None) => {
                let representation = RepresentationId::new(content, method);
                self.transmits.push_back(Transmit::Lookup {
                    model_id: id,
                    representation,
                    source_bytes: offer.bytes,
                    chunks: parts,
                });
            }
        }
    }

    /// The bytes of a content that is open here under whatever id.
    fn file_of(&self, content: ContentId) -> Option<Bytes> {
        // What was made of parts is another file.
        let exact = |m: &&Model| m.content_id() == Some(content) && m.is_exact();
        self.stage.models().iter().find(exact).and_then(Model::glb).cloned()
    }

    /// What was made of the parts of a content that is open here under whatever id:
    /// the parts, the file, its hash, and how far it may be from the opener's.
    fn made_of(&self, content: ContentId) -> Option<(Vec<Arc<Holding>>, Bytes, ContentId, f32)> {
        let made = |m: &&Model| m.content_id() == Some(content) && !m.is_exact() && m.glb().is_some();
        let model = self.stage.models().iter().find(made)?;
        let own = model.standard.first()?.id().content;
        Some((model.holdings.clone(), model.glb()?.clone(), own, model.max_error))
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
        let order = if slow {
            [Method::Mesh, Method::Exact, Method::Gzip, Method::Raw]
        } else {
            [Method::Mesh, Method::Raw, Method::Exact, Method::Gzip]
        };
        let wanted = |method: &Method| *method != Method::Mesh || !self.config.exact;
        let find = |wanted: &dyn Fn(&Method) -> bool| {
            order.into_iter().find(|method| wanted(method) && usable.contains(method))
        };
        // The very file may be nowhere in the meeting any more.
        find(&wanted).or_else(|| find(&|_| true))
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
        arrival.kept_bytes = holding.stored_bytes();
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
                    // Of parts all may be here and not decoded yet.
                    let holding = a.holding.clone().filter(|holding| !holding.is_complete())?;
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
                if arrival.holding.as_ref().is_some_and(|holding| holding.is_complete()) {
                    self.ask(peer);
                } else if arrival.attempts >= ATTEMPTS {
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

    /// The models that come out of a holding.
    fn arrivals_of(&self, holding: &Arc<Holding>) -> Vec<String> {
        let same = |a: &Arrival| a.holding.as_ref().is_some_and(|other| Arc::ptr_eq(other, holding));
        self.arrivals.iter().filter(|(_, a)| same(a)).map(|(id, _)| id.clone()).collect()
    }

    /// A chunk of a model in parts was decoded.
    pub fn handle_part(&mut self, holding: &Arc<Holding>, index: u32, part: &Arc<Decoded>) {
        for model_id in self.arrivals_of(holding) {
            if let (Some(arrival), Decoded::Part(part)) = (self.arrivals.get_mut(&model_id), &**part) {
                arrival.way.add(part);
            }
            self.events.push_back(Event::ModelPart { model_id, index, part: part.clone() });
        }
    }

    /// All parts of a model were decoded, or one cannot be.
    pub fn handle_assembled(
        &mut self,
        holding: &Arc<Holding>,
        result: Result<Assembled, String>,
        now: std::time::Duration,
    ) {
        self.now = now;
        for model_id in self.arrivals_of(holding) {
            match &result {
                Ok(assembled) => self.arrived(&model_id, assembled.file.clone(), Some(assembled.own)),
                Err(why) => self.fail_arrival(&model_id, &format!("its parts cannot be read: {why}")),
            }
        }
        self.finish();
    }

    /// The whole file of a model is here.
    fn whole(&mut self, model_id: &str, file: Bytes) {
        self.arrived(model_id, file, None);
    }

    /// A model is here: the opener's file, or one of our `own` made of its parts.
    fn arrived(&mut self, model_id: &str, file: Bytes, own: Option<ContentId>) {
        let Some(mut arrival) = self.arrivals.remove(model_id) else { return };
        let peer = arrival.peer;
        arrival.way.exact = own.is_none();
        if let Some(holding) = &arrival.holding {
            arrival.way.wire_bytes = holding.stored_bytes().saturating_sub(arrival.kept_bytes);
            arrival.way.decoding = holding.work();
        }
        if let Some(channel) = arrival.channel {
            self.transmits.push_back(Transmit::StopReceiving { peer, channel });
        }
        let Some(content) = self.stage.get(model_id).and_then(|m| m.offered) else { return };
        self.drop_leftovers(peer, model_id, content);
        let Some(model) = self.stage.get_mut(model_id) else { return };
        match own {
            None => model.become_whole(file.clone(), content),
            Some(own) => model.become_assembled(file.clone(), own, arrival.way.max_error, content),
        }
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
        let way = arrival.way;
        self.events.push_back(Event::ModelReceived { model_id, name, glb: file, from, way });
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
        let (peer, progress, chunks) = (*peer, *progress, model.offered_parts);
        model.cancelled = false;
        let mut methods = methods;
        methods.retain(|method| *method != Method::Mesh || chunks > 0);
        let Some(method) = self.choose_method(peer, &methods) else { return Ok(()) };
        self.arrivals.insert(model_id.to_owned(), Arrival::new(peer, method));
        self.tell_own_status(model_id, Delivery::Receiving, progress);
        self.transmits.push_back(Transmit::Lookup {
            model_id: model_id.to_owned(),
            representation: RepresentationId::new(content, method),
            source_bytes: progress.total as u64,
            chunks,
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
        let found = model.and_then(|m| Some((m.holding(method?)?.clone(), m.shown)));
        let Some((holding, shown)) = found else {
            let cancel = Cancel { channel: want.channel, by_sender: true };
            return self.send(peer, &Message::Cancel(cancel));
        };
        let made_here = holding.id().method != Method::Raw && !holding.is_complete();
        if made_here
            && let Some(raw) =
                model.and_then(|m| m.holding(Method::Raw)).filter(|raw| raw.file().is_some()).cloned()
            && holding.begin_packing()
        {
            self.transmits.push_back(Transmit::Pack { from: raw, into: holding.clone() });
            if let Some(model) = self.stage.get_mut(&want.model_id) {
                model.keep_two(&holding);
            }
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
            let reads_parts = self.peers.get(&peer).is_some_and(|p| p.methods.contains(&Method::Mesh));
            // What was made of parts is a file by itself to those who cannot read them.
            if !reads_parts && let Some(own) = self.standard_offer(model_id, &offer) {
                offer = own;
            }
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
        let mut ways: Vec<_> = model.holdings.iter().map(|h| representation(h)).collect();
        if ways.is_empty()
            && let Some(arrival) = self.arrivals.get(model_id)
        {
            let chunks = if arrival.method == Method::Mesh { model.offered_parts } else { 0 };
            ways.push(representation_of(arrival.method, chunks));
        }
        Some(Offer {
            model_id: model.id.clone(),
            model_name: model.name.clone(),
            position,
            rotation,
            scale,
            shown: model.shown,
            opener: model.opener.clone(),
            // Of what was made of parts, those of the file that they were made of.
            bytes: model.holdings.first().map_or(model.bytes() as u64, |holding| holding.source_bytes()),
            content: content_text(&content),
            bounds: model.measure.map(Measure::to_wire),
            representations: ways,
        })
    }

    /// The offer of what was made of a model's parts, if that is what is here.
    fn standard_offer(&self, model_id: &str, offer: &Offer) -> Option<Offer> {
        let standard = &self.stage.get(model_id)?.standard;
        let first = standard.first()?;
        Some(Offer {
            bytes: first.source_bytes(),
            content: content_text(&first.id().content),
            representations: standard.iter().map(|h| representation(h)).collect(),
            ..offer.clone()
        })
    }
}

impl Arrival {
    /// Nothing is known of what lies here yet.
    fn new(peer: PeerId, method: Method) -> Self {
        let way = Way::exact(method, 0);
        Self {
            peer,
            method,
            kept_bytes: 0,
            way,
            holding: None,
            channel: None,
            attempts: 0,
            deferred: Vec::new(),
        }
    }
}

fn representation(holding: &Holding) -> Representation {
    let method = holding.id().method;
    representation_of(method, if method == Method::Mesh { holding.chunk_count() } else { 0 })
}

fn representation_of(method: Method, chunks: u32) -> Representation {
    let parameters = String::new();
    Representation { method: method.as_str().to_owned(), version: method.version(), chunks, parameters }
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
