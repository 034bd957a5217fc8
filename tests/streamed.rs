//! Models in parts, shown while they come: what an app has of them at every moment.
#![cfg(feature = "app")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/glb.rs"]
mod glb;
#[path = "common/nets.rs"]
mod nets;
#[path = "common/raw.rs"]
mod raw;
#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/sheet.rs"]
mod sheet;

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use bevy::{mesh::VertexAttributeValues, prelude::*};
use bytes::{Bytes, BytesMut};
use convene::{
    app::{
        self, AppOptions,
        input::{Action, Switch},
        link::{Link, Meeting},
        models::{Model, ModelState, Moments, Shape},
        notices::Notices,
    },
    mesh::{Encoding, NORMAL_BITS, Plan},
    model::Limits,
    net::{Net, NetCommand, Viewer},
    session::{Command, Measure},
    transfer::{Chunk, Method},
    wire::{
        Frame, Message, bulk,
        message::{Bounds, Offer, QuatJson, Representation, Vec3Json},
    },
    workers::Workers,
};
use raw::RawPeer;

const PATIENCE: Duration = Duration::from_secs(120);
/// Vertices along a side: some parts.
const SIDE: usize = 520;
/// So many million bits a second that the parts come one by one.
const PACE: f64 = 0.5;
/// Enough for three parts.
const SMALL: usize = 300;

/// Somebody with an app, and what the driver has published whether or not it drew.
struct Person {
    app: App,
    viewer: Viewer,
}

impl Person {
    fn new(net: Net, joining: bool, change: impl FnOnce(&mut AppOptions)) -> Self {
        let viewer = net.viewer();
        let mut app = App::new();
        app::headless_plugins(&mut app);
        let mut options = AppOptions::new(net, Workers::with_threads(1).unwrap());
        options.joining = joining.then(|| "the host".to_owned());
        change(&mut options);
        app::core(&mut app, options);
        app.finish();
        app.cleanup();
        Self { app, viewer }
    }

    fn guest(port: u16, change: impl FnOnce(&mut AppOptions)) -> Self {
        let net = nets::net(None);
        net.send(NetCommand::Join { address: format!("127.0.0.1:{port}") }).unwrap();
        Self::new(net, true, change)
    }

    /// State of the only model, if there is one.
    fn state(&mut self) -> Option<ModelState> {
        let world = self.app.world_mut();
        world.query_filtered::<&ModelState, With<Model>>().iter(world).next().copied()
    }

    /// What is drawn of it.
    fn pieces(&mut self) -> BTreeSet<Entity> {
        let world = self.app.world_mut();
        world.query_filtered::<Entity, With<Mesh3d>>().iter(world).collect()
    }

    fn is_visible(&mut self) -> bool {
        let world = self.app.world_mut();
        let mut models = world.query_filtered::<&Visibility, With<Model>>();
        models.iter(world).any(|visibility| *visibility == Visibility::Inherited)
    }

    fn triangles_in_pieces(&mut self) -> usize {
        let world = self.app.world_mut();
        let meshes: Vec<_> = world.query::<&Mesh3d>().iter(world).map(|mesh| mesh.0.clone()).collect();
        let assets = world.resource::<Assets<Mesh>>();
        let triangles =
            |mesh| assets.get(mesh).and_then(Mesh::indices).map_or(0, |indices| indices.len() / 3);
        meshes.iter().map(triangles).sum()
    }

    fn shape(&mut self) -> Option<Shape> {
        let world = self.app.world_mut();
        world.query::<&Shape>().iter(world).next().cloned()
    }

    /// Decoded chunks of the only model and all of them, as the driver has it now.
    fn chunks(&self) -> Option<(usize, usize)> {
        let view = self.viewer.view();
        let parts = view.models.first()?.in_parts.as_ref()?.parts()?;
        Some((parts.held(), parts.chunk_count()))
    }

    fn act(&mut self, action: Action) {
        self.app.world_mut().write_message(action);
    }

    fn notices(&self) -> Vec<String> {
        let notices = self.app.world().resource::<Notices>();
        notices.iter().map(|shown| shown.notice.to_string()).collect()
    }

    /// Draws frames until it is so.
    fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < end, "waited in vain: {what}: {:?} {:?}", self.state(), self.notices());
            self.app.update();
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Draws nothing until the driver has it so.
    fn stands_still_until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_so(self) {
            assert!(Instant::now() < end, "waited in vain: {what}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Opens a file as one that travels in parts.
fn open_in_parts(net: &Net, side: usize) {
    let glb = Bytes::from(sheet::sheet(side));
    let far = (side - 1) as f32;
    let (center, size) = (Vec3::new(far / 2.0, far / 2.0, 0.0), Vec3::new(far, far, 14.0));
    let command = Command::OpenModel {
        model_id: "m".into(),
        name: "sheet.glb".into(),
        content: *blake3::hash(&glb).as_bytes(),
        plan: Some(Arc::new(Plan::new(&glb).unwrap())),
        glb,
        measure: Measure { center, size },
        private: false,
    };
    net.send(NetCommand::Session { seq: 1, command }).unwrap();
}

/// A host at the end of a slow link, and a guest.
fn in_meeting(change: impl FnOnce(&mut AppOptions)) -> (Net, Person) {
    let (host, port) = nets::host(Some(PACE));
    let mut guest = Person::guest(port, change);
    guest.until("in the meeting", |guest| !guest.viewer.view().peers.is_empty());
    (host, guest)
}

/// In a meeting in which the host has just opened a sheet; how many triangles that has.
fn with_sheet(side: usize, change: impl FnOnce(&mut AppOptions)) -> (Net, u64, Person) {
    let (host, guest) = in_meeting(change);
    open_in_parts(&host, side);
    (host, 2 * (side as u64 - 1) * (side as u64 - 1), guest)
}

#[test]
fn the_first_part_is_shown_long_before_the_last_comes() {
    let (_host, triangles, mut guest) = with_sheet(SIDE, |_| ());
    guest.until("a part is shown", |guest| !guest.pieces().is_empty() && guest.is_visible());
    let (held, all) = guest.chunks().expect("others are still to come");
    println!("the first part is shown when {held} of {all} chunks are decoded");
    assert!(held * 2 <= all, "{held} of {all} chunks");
    assert_eq!(guest.state(), Some(ModelState::Arriving), "its box stays");
    assert!(guest.shape().is_none());
    // As it will be: with normals and colours, in few bytes.
    let world = guest.app.world_mut();
    for mesh in world.query::<&Mesh3d>().iter(world) {
        let mesh = world.resource::<Assets<Mesh>>().get(&mesh.0).unwrap();
        let colours = mesh.attribute(Mesh::ATTRIBUTE_COLOR);
        assert!(matches!(colours, Some(VertexAttributeValues::Unorm8x4(_))));
        assert!(matches!(mesh.attribute(Mesh::ATTRIBUTE_NORMAL), Some(VertexAttributeValues::Snorm8x4(_))));
        let indices = mesh.get_index_buffer_bytes().map_or(0, <[u8]>::len);
        assert!(mesh.get_vertex_buffer_size() + indices <= 4 << 20);
    }
    // What is shown stays, and becomes the model: nothing vanishes, nothing comes twice.
    let mut seen = guest.pieces();
    guest.until("it is whole", |guest| {
        let now = guest.pieces();
        assert!(now.is_superset(&seen), "pieces vanished");
        seen = now;
        guest.state() == Some(ModelState::Ready)
    });
    assert_eq!(guest.triangles_in_pieces() as u64, triangles);
    let shape = guest.shape().unwrap();
    assert_eq!((shape.triangles, shape.simplified), (triangles, None));
    let middle = shape.bounds.center();
    assert!(shape.tree.raycast(middle + Vec3::Z * 50.0, Vec3::NEG_Z, 100.0).is_some(), "rays meet it");
    let moments = *guest.app.world_mut().query::<&Moments>().single(guest.app.world()).unwrap();
    assert!(moments.first().unwrap() < moments.whole().unwrap());
    guest.until("it is the meeting's", |guest| guest.viewer.view().models[0].glb.is_some());
    let pieces = guest.pieces();
    (0..5).for_each(|_| guest.app.update());
    assert_eq!(guest.pieces(), pieces);
}

#[test]
fn what_is_cancelled_goes_and_comes_again_when_it_is_wanted() {
    let (_host, triangles, mut guest) = with_sheet(SIDE, |_| ());
    guest.until("a part is shown", |guest| !guest.pieces().is_empty());
    guest.act(Action::CancelModel("m".into()));
    guest.until("it is cancelled", |guest| guest.viewer.view().models[0].cancelled);
    guest.until("it is gone", |guest| guest.pieces().is_empty());
    (0..20).for_each(|_| guest.app.update());
    assert!(guest.pieces().is_empty() && !guest.is_visible());
    guest.act(Action::WantModel("m".into()));
    guest.until("it is whole", |guest| guest.state() == Some(ModelState::Ready));
    assert_eq!(guest.triangles_in_pieces() as u64, triangles);
}

#[test]
fn an_app_that_stood_still_catches_up() {
    let (_host, triangles, mut guest) = with_sheet(SIDE, |_| ());
    guest.stands_still_until("half of it is decoded", |guest| {
        guest.chunks().is_some_and(|(held, all)| held * 2 >= all)
    });
    guest.until("several parts are shown", |guest| guest.pieces().len() >= 2);
    // Whole while it draws nothing: the rest is still to be had.
    guest.stands_still_until("it is whole", |guest| guest.viewer.view().models[0].glb.is_some());
    let before = guest.pieces();
    guest.until("it is shown", |guest| guest.state() == Some(ModelState::Ready));
    assert!(guest.pieces().is_superset(&before));
    assert_eq!(guest.triangles_in_pieces() as u64, triangles);
}

#[test]
fn who_saw_nothing_of_its_way_decodes_the_whole() {
    let (_host, triangles, mut guest) = with_sheet(SIDE, |_| ());
    guest.stands_still_until("it is whole", |guest| {
        guest.viewer.view().models.first().is_some_and(|model| model.glb.is_some())
    });
    guest.until("it is shown", |guest| guest.state() == Some(ModelState::Ready));
    assert_eq!(guest.triangles_in_pieces() as u64, triangles);
}

#[test]
fn no_more_is_drawn_than_the_budget_allows() {
    const BUDGET: u64 = 130_000;
    let (_host, triangles, mut guest) = with_sheet(SMALL, |options| options.triangle_budget = Some(BUDGET));
    let mut shown = 0;
    guest.until("it is whole", |guest| {
        let now = guest.pieces();
        // What is uploaded and hidden is not drawn; the swap is made in one frame.
        assert!(now.len() >= shown || guest.state() == Some(ModelState::Ready), "a flash");
        shown = now.len();
        if guest.state() == Some(ModelState::Arriving) {
            assert!(guest.triangles_in_pieces() as u64 <= BUDGET);
        }
        guest.state() == Some(ModelState::Ready)
    });
    let shape = guest.shape().unwrap();
    assert!(shape.triangles <= BUDGET && shape.simplified.is_some_and(|s| s.from == triangles));
    guest.app.update();
    assert_eq!(guest.triangles_in_pieces() as u64, shape.triangles, "only that is drawn");
}

#[test]
fn a_model_beyond_the_limits_goes_with_its_reason() {
    let few = Limits { max_triangles: 100_000, ..Limits::default() };
    let (_host, _, mut guest) = with_sheet(SMALL, |options| options.limits = few);
    guest.until("a part is shown", |guest| !guest.pieces().is_empty());
    guest.until("it fails", |guest| guest.state() == Some(ModelState::Failed));
    guest.app.update();
    assert!(guest.pieces().is_empty() && !guest.is_visible());
    guest.until("the reason is told", |guest| guest.notices().iter().any(|n| n.contains("limit of 100000")));
}

#[test]
fn the_switch_for_exact_models_counts_at_once() {
    let (host, mut guest) = in_meeting(|_| ());
    guest.act(Action::Set(Switch::ExactModels, true));
    (0..3).for_each(|_| guest.app.update());
    open_in_parts(&host, 60);
    guest.until("it is shown", |guest| {
        assert!(guest.chunks().is_none(), "it comes in parts");
        guest.state() == Some(ModelState::Ready)
    });
    assert!(guest.viewer.view().models[0].exact);
}

/// The first parts of a sheet over a bare socket, as good as they are; then one that
/// cannot be decoded.
#[test]
fn a_part_that_does_not_decode_takes_all_of_its_model_away() {
    let net = nets::net(None);
    net.send(NetCommand::Host { bind: nets::here(), port: 0 }).unwrap();
    let mut host = Person::new(net, false, |_| ());
    host.until("it listens", |host| host.app.world().resource::<Link>().port().is_some());
    let port = host.app.world().resource::<Link>().port().unwrap();
    let Message::Version(version) = raw::convene_version("00000000bbbbbbbb") else { unreachable!() };
    let version = convene::wire::message::Version { methods: Some("raw,mesh".into()), ..version };
    let mut peer = RawPeer::join(port, &Message::Version(version));

    let glb = Bytes::from(sheet::sheet(180));
    let plan = Plan::new(&glb).unwrap();
    let mut chunks: Vec<Vec<u8>> = Vec::new();
    for index in 0..plan.chunk_count() {
        let encoded = plan.encode(index, Encoding::Strong, NORMAL_BITS).unwrap();
        let chunk = Chunk::packed(index, Method::Mesh, encoded.decoded_bytes, encoded.bytes.into());
        chunks.push([&chunk.header.encode()[..], &chunk.bytes].concat());
    }
    let last = plan.chunk_count() - 1;
    assert!(last >= 2, "a part comes before the damaged one");
    let damaged = Chunk::packed(last, Method::Mesh, 1000, Bytes::from(vec![7; 1000]));
    chunks[last as usize] = [&damaged.header.encode()[..], &damaged.bytes].concat();
    let vector = |x: f32, y: f32, z: f32| Vec3Json { x, y, z };
    peer.send(&Message::Offer(Offer {
        model_id: "m".into(),
        model_name: "sheet.glb".into(),
        rotation: QuatJson { x: 0.0, y: 0.0, z: 0.0, w: 1.0 },
        scale: 1.0,
        shown: true,
        bytes: glb.len() as u64,
        content: blake3::hash(&glb).to_hex().to_string(),
        bounds: Some(Bounds { center: vector(90.0, 90.0, 0.0), size: vector(179.0, 179.0, 14.0) }),
        representations: vec![Representation {
            method: "mesh".into(),
            version: 1,
            chunks: plan.chunk_count(),
            ..Representation::default()
        }],
        ..Offer::default()
    }));
    let Message::Want(want) = peer.wait_for_type(0x44) else { panic!("no want") };
    let mut sender = Sender { peer, channel: want.channel, sent: 0, credit: 0 };
    let (good, bad) = chunks.split_at(last as usize);
    sender.send(&good.concat());
    host.until("its parts are shown", |host| host.pieces().len() as u32 == last - 1 && host.is_visible());
    sender.send(&bad.concat());
    host.until("it is gone", |host| host.state().is_none() && host.pieces().is_empty());
    host.until("its reason is told", |host| {
        host.notices().iter().any(|notice| notice.contains("its parts cannot be read"))
    });
    assert!(host.app.world().resource::<Meeting>().models.is_empty());
}

/// One end of a channel.
struct Sender {
    peer: RawPeer,
    channel: u16,
    sent: u64,
    credit: u64,
}

impl Sender {
    /// Sends bytes of the channel's stream, as credit comes.
    fn send(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let room = usize::try_from(self.credit - self.sent).unwrap().min(bytes.len()).min(8 << 10);
            if room == 0 {
                let frame = self.peer.wait_for(|frame| matches!(frame, Frame::Message(m) if m[0] == 0x46));
                let Frame::Message(payload) = frame else { unreachable!() };
                let (channel, credit) = bulk::decode_credit(&payload).unwrap();
                assert_eq!(channel, self.channel);
                self.credit = self.credit.max(credit);
                continue;
            }
            let mut frame = BytesMut::new();
            bulk::put_data_head(&mut frame, self.channel, self.sent, room);
            frame.extend_from_slice(&bytes[..room]);
            self.peer.bytes(&frame);
            (self.sent, bytes) = (self.sent + room as u64, &bytes[room..]);
        }
    }
}
