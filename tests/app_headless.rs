//! Two apps without windows in one process, in a meeting over loopback: what one
//! does, the other shows.
#![cfg(feature = "app")]
#![allow(clippy::unwrap_used, reason = "a test, its helpers included")]

#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/glb.rs"]
mod glb;

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use bevy::prelude::*;
use convene::{
    app::{
        self, AppOptions, AppState,
        alignment::{Alignment, Markers},
        input::{Action, HandDevice, HandInput, Hands, Headset, HeadsetState, Hold, Me, OpenFile, Switch},
        link::Meeting,
        models::{Model, ModelState, Motions, Shape, Stands},
        notices::Notices,
        participants::{BodyPart, Participant},
        preferences::Preferences,
        viewer::StartAt,
    },
    gestures::Side,
    net::{Net, NetCommand, NetConfig},
    session::{Body, Colour, Config, Identity, Placement, Pose, room_from_tracking},
    settings::SettingsFile,
    workers::Workers,
};

const PATIENCE: Duration = Duration::from_secs(60);

/// An app and the files that it opens.
struct Person {
    app: App,
    folder: tempfile::TempDir,
}

impl Person {
    fn new(id: &str, joining: Option<u16>) -> Self {
        Self::with(id, joining, None, None)
    }

    fn with_settings(id: &str, joining: Option<u16>, settings: Option<SettingsFile>) -> Self {
        Self::with(id, joining, settings, None)
    }

    fn with_budget(id: &str, joining: Option<u16>, triangle_budget: Option<u64>) -> Self {
        Self::with(id, joining, None, triangle_budget)
    }

    fn with(
        id: &str,
        joining: Option<u16>,
        settings: Option<SettingsFile>,
        triangle_budget: Option<u64>,
    ) -> Self {
        let identity = Identity { id: id.into(), name: format!("Person {id}"), colour: Colour::PALETTE[0] };
        let net = Net::start(NetConfig::new(Config::new(identity))).unwrap();
        net.send(match joining {
            None => NetCommand::Host { bind: Some([127, 0, 0, 1].into()), port: 0 },
            Some(port) => NetCommand::Join { address: format!("127.0.0.1:{port}") },
        })
        .unwrap();
        let mut app = App::new();
        app::headless_plugins(&mut app);
        let options = AppOptions {
            joining: joining.map(|port| format!("127.0.0.1:{port}")),
            settings,
            triangle_budget,
            ..AppOptions::new(net, Workers::with_threads(1).unwrap())
        };
        app::core(&mut app, options);
        app.finish();
        app.cleanup();
        Self { app, folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn send<M: Message>(&mut self, message: M) {
        self.app.world_mut().write_message(message);
    }

    fn meeting(&self) -> &Meeting {
        self.app.world().resource::<Meeting>()
    }

    /// Id, state and place of the only model, if there is one.
    fn model(&mut self) -> Option<(String, ModelState, Stands)> {
        let world = self.app.world_mut();
        let mut models = world.query::<(&Model, &ModelState, &Stands)>();
        let (model, state, stands) = models.iter(world).next()?;
        Some((model.id.clone(), *state, *stands))
    }

    fn has_ready_model(&mut self) -> bool {
        self.model().is_some_and(|(_, state, _)| state == ModelState::Ready)
    }

    /// Triangles drawn of the only model once it is there, and those of its file if it was simplified.
    fn triangles(&mut self) -> Option<(u64, Option<u64>)> {
        let world = self.app.world_mut();
        let mut models = world.query::<(&ModelState, &Shape)>();
        let (state, shape) = models.iter(world).next()?;
        let from = shape.simplified.map(|simplified| simplified.from);
        (*state == ModelState::Ready).then_some((shape.triangles, from))
    }

    /// Heights of all meshes within their models.
    fn heights(&mut self) -> Vec<f32> {
        let world = self.app.world_mut();
        world.query_filtered::<&Transform, With<Mesh3d>>().iter(world).map(|t| t.translation.y).collect()
    }

    fn model_position(&mut self) -> Vec3 {
        self.model().and_then(|(_, _, stands)| stands.world).map_or(Vec3::NAN, |world| world.position)
    }

    /// World poses of the other's head, left and right wand.
    fn other_body(&mut self) -> Option<Body> {
        let world = self.app.world_mut();
        let mut parts = world.query::<(&BodyPart, &GlobalTransform, &ChildOf)>();
        let mut body = Body::rest();
        let mut found = 0;
        for (part, transform, parent) in parts.iter(world) {
            if world.get::<Participant>(parent.parent()).is_none()
                || world.get::<Visibility>(parent.parent()) == Some(&Visibility::Hidden)
            {
                continue;
            }
            let (_, rotation, position) = transform.to_scale_rotation_translation();
            found += 1;
            let pose = Pose { position, rotation };
            match part {
                BodyPart::Head(_) => body.head = pose,
                BodyPart::LeftWand(_) => body.left = pose,
                BodyPart::RightWand(_) => body.right = pose,
            }
        }
        (found == 3).then_some(body)
    }

    /// For a message about what went wrong.
    fn state(&self) -> String {
        let meeting = self.meeting();
        let people: Vec<_> = meeting.participants.iter().map(|p| (&p.device_id, p.presence)).collect();
        let models: Vec<_> = meeting.models.iter().map(|m| (&m.name, m.pose, &m.failed)).collect();
        format!("{:?} {people:?} {models:?} {:?} {:?}", meeting.phase, meeting.peers, self.notices())
    }

    fn notices(&self) -> Vec<String> {
        let notices = self.app.world().resource::<Notices>();
        notices.iter().map(|shown| shown.notice.what_happened.clone()).collect()
    }
}

/// Runs everybody's frames until it is so.
fn run_until(people: &mut [&mut Person], what: &str, mut is_so: impl FnMut(&mut [&mut Person]) -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so(people) {
        let state = || people.iter().map(|p| p.state()).collect::<Vec<_>>();
        assert!(Instant::now() < end, "waited in vain: {what}: {:?}", state());
        for person in &mut *people {
            person.app.update();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn in_meeting() -> (Person, Person) {
    let mut host = Person::new("00000000aaaaaaaa", None);
    let link = |host: &Person| host.app.world().resource::<app::link::Link>().address();
    run_until(&mut [&mut host], "the host listens", |people| link(people[0]).is_some());
    let address = link(&host).unwrap();
    let port = address.rsplit(':').next().unwrap().parse().unwrap();
    let mut guest = Person::new("11111111bbbbbbbb", Some(port));
    run_until(&mut [&mut host, &mut guest], "both are in the meeting", |people| {
        people.iter().all(|p| {
            *p.app.world().resource::<State<AppState>>().get() == AppState::Meeting
                && p.meeting().participants.len() == 1
        })
    });
    (host, guest)
}

/// In a meeting, with a model that the host has opened.
fn with_model() -> (Person, Person, String) {
    let (mut host, mut guest) = in_meeting();
    let path = host.file("quad.glb", &glb::Glb::quad().build());
    host.send(OpenFile::from(path));
    run_until(&mut [&mut host, &mut guest], "both show the model", |people| {
        people.iter_mut().all(|p| p.has_ready_model())
    });
    let id = host.model().unwrap().0;
    (host, guest, id)
}

#[test]
fn the_guest_shows_what_the_host_opens() {
    let (mut host, mut guest, id) = with_model();
    assert_eq!(guest.model().unwrap().0, id);
    // The quad is 1 m wide, its middle 1 m before the host's eyes.
    for person in [&mut host, &mut guest] {
        let (_, _, stands) = person.model().unwrap();
        let middle = stands.middle().unwrap();
        assert!(middle.abs_diff_eq(Vec3::new(0.0, 1.5, 1.0), 1e-4), "{middle}");
        assert_eq!(stands.world.unwrap().scale, 1.0);
        let world = person.app.world_mut();
        assert_eq!(world.query::<&Mesh3d>().iter(world).count(), 1);
    }
    host.send(Action::ToggleSelected);
    run_until(&mut [&mut host, &mut guest], "hidden for both", |people| {
        people.iter().all(|p| !p.meeting().models[0].shown)
    });
    host.send(Action::CloseSelected);
    run_until(&mut [&mut host, &mut guest], "closed for both", |people| {
        people.iter_mut().all(|p| p.model().is_none())
    });
    let world = guest.app.world_mut();
    assert_eq!(world.query::<&Mesh3d>().iter(world).count(), 0, "its meshes went with it");
}

#[test]
fn participants_are_where_they_say() {
    let (mut host, mut guest) = in_meeting();
    let body = Body {
        head: Pose::new(Vec3::new(0.4, 1.7, 2.0), Quat::from_rotation_y(3.0)),
        left: Pose::new(Vec3::new(0.1, 1.2, 1.8), Quat::from_rotation_x(0.7)),
        right: Pose::new(Vec3::new(0.7, 1.2, 1.8), Quat::from_rotation_z(-0.7)),
    };
    guest.app.world_mut().resource_mut::<Me>().body = body;
    let near = |a: Pose, b: Pose| {
        a.position.abs_diff_eq(b.position, 1e-3) && a.rotation.dot(b.rotation).abs() > 0.9999
    };
    run_until(&mut [&mut host, &mut guest], "the host sees the guest there", |people| {
        people[0]
            .other_body()
            .is_some_and(|b| near(b.head, body.head) && near(b.left, body.left) && near(b.right, body.right))
    });
    drop(guest);
    run_until(&mut [&mut host], "the guest is gone", |people| people[0].other_body().is_none());
}

#[test]
fn what_is_dragged_moves_for_everybody_and_stays_under_the_hand() {
    let (mut host, mut guest, id) = with_model();
    let start = guest.model().unwrap().2.world.unwrap();
    let to = |x: f32| Placement { position: start.position + Vec3::X * x, ..start };
    guest.send(Hold::Take { model_id: id.clone() });
    guest.send(Hold::To { model_id: id.clone(), world: to(0.3) });
    run_until(&mut [&mut host, &mut guest], "the host sees the model move", |people| {
        people[0].model_position().abs_diff_eq(to(0.3).position, 1e-3)
    });
    // While the guest holds it, what the host does to it does not show there.
    host.send(Hold::Take { model_id: id.clone() });
    host.send(Hold::To { model_id: id.clone(), world: to(-0.5) });
    host.send(Hold::Release { model_id: id.clone() });
    run_until(&mut [&mut host, &mut guest], "the guest hears of the host's move", |people| {
        people[1].meeting().models[0].pose.position.abs_diff_eq(to(-0.5).position, 1e-3)
    });
    assert!(guest.model_position().abs_diff_eq(to(0.3).position, 1e-4));
    // Once it lets go, the last move counts for both.
    guest.send(Hold::Release { model_id: id });
    run_until(&mut [&mut host, &mut guest], "both agree", |people| {
        people.iter_mut().all(|p| p.model_position().abs_diff_eq(to(-0.5).position, 1e-3))
    });
}

#[test]
fn kept_aligned_models_move_together() {
    let (mut host, mut guest, id) = with_model();
    host.send(Action::Toggle(Switch::KeepAligned));
    run_until(&mut [&mut host, &mut guest], "both keep aligned", |people| {
        people.iter().all(|p| p.meeting().keep_aligned)
    });
    let start = host.model().unwrap().2.world.unwrap();
    let to = Placement::new(Pose::new(start.position + Vec3::Y, Quat::from_rotation_y(1.0)), 2.0);
    host.send(Hold::Take { model_id: id.clone() });
    host.send(Hold::To { model_id: id.clone(), world: to });
    host.send(Hold::Release { model_id: id });
    run_until(&mut [&mut host, &mut guest], "the scene has moved for both", |people| {
        people.iter_mut().all(|p| {
            let scene = p.meeting().scene;
            (scene.scale - 2.0).abs() < 1e-4 && p.model_position().abs_diff_eq(to.position, 1e-3)
        })
    });
    assert_eq!(guest.meeting().models[0].local_scale, 1.0);
}

#[test]
fn a_file_that_is_no_model_is_a_notice_and_nothing_else() {
    let mut person = Person::new("22222222cccccccc", None);
    let path = person.file("notes.glb", b"not a model at all");
    person.send(OpenFile::from(path));
    run_until(&mut [&mut person], "a notice", |people| !people[0].notices().is_empty());
    let notices = person.notices();
    assert!(notices[0].starts_with("notes.glb cannot be opened: "), "{notices:?}");
    assert!(person.model().is_none());
}

/// Somebody with a headset whose settings are in that folder.
fn with_headset(folder: &std::path::Path) -> Person {
    let settings = SettingsFile::open(&folder.join("settings.json"));
    let mut person = Person::with_settings("33333333dddddddd", None, Some(settings));
    let mut headset = person.app.world_mut().resource_mut::<Headset>();
    *headset = Headset {
        state: HeadsetState::Focused,
        name: "Simulated headset".into(),
        keeps_coordinates: true,
        ..Headset::default()
    };
    person.app.update();
    person
}

impl Person {
    fn alignment(&self) -> (Alignment, Pose) {
        let world = self.app.world();
        (*world.resource::<Alignment>(), world.resource::<Headset>().room_from_tracking)
    }

    fn acts(&mut self, action: Action) {
        self.send(action);
        self.app.update();
    }

    /// A hand's wand has its tip at this point of tracking space.
    fn put_tip(&mut self, side: Side, at: Vec3, trigger: f32) {
        let (_, room) = self.alignment();
        let wand = Pose { position: at - Vec3::Y * 0.2, rotation: Quat::IDENTITY }.within(room);
        let hand = HandInput {
            device: HandDevice::Controller,
            aim: wand,
            grip: wand,
            trigger,
            ..HandInput::default()
        };
        *self.app.world_mut().resource_mut::<Hands>().get_mut(side) = hand;
    }

    /// Markers are dropped at these points of tracking space: by button, by trigger.
    fn align(&mut self, marker1: Vec3, marker2: Vec3) {
        self.put_tip(Side::Right, marker1, 0.0);
        self.put_tip(Side::Left, marker2, 0.0);
        self.acts(Action::Mark(Side::Right));
        assert!(self.app.world().resource::<Markers>().dropped(Side::Right).is_some());
        self.put_tip(Side::Left, marker2, 1.0);
        self.app.update();
        self.app.update();
        self.put_tip(Side::Left, marker2, 0.0);
        self.app.update();
    }
}

fn is_near(a: Pose, b: Pose) -> bool {
    a.position.abs_diff_eq(b.position, 1e-4) && a.rotation.dot(b.rotation).abs() > 0.99999
}

#[test]
fn markers_align_the_room_which_stays_so_and_can_be_undone() {
    let folder = tempfile::tempdir().unwrap();
    let mut person = with_headset(folder.path());
    let path = person.file("quad.glb", &glb::Glb::quad().build());
    person.send(OpenFile::from(path));
    run_until(&mut [&mut person], "the model", |people| people[0].has_ready_model());
    let (none, unaligned) = person.alignment();
    assert_eq!(none, Alignment::None);

    // Too close: told, and both can be dropped again.
    person.align(Vec3::ONE, Vec3::ONE + Vec3::Y);
    assert_eq!(person.alignment().0, Alignment::None);
    assert!(person.app.world().resource::<Markers>().is_on());
    assert!(person.notices().iter().any(|notice| notice.contains("too close")), "{:?}", person.notices());
    // Put away by Esc or B, they are dropped by nothing.
    person.acts(Action::Dismiss);
    assert!(!person.app.world().resource::<Markers>().is_on());

    let (marker1, marker2) = (Vec3::new(0.4, 1.0, -1.0), Vec3::new(-0.4, 0.8, -1.5));
    let expected = room_from_tracking(marker1, marker2).unwrap();
    person.align(marker1, marker2);
    let (aligned, room) = person.alignment();
    assert!(aligned == Alignment::Aligned && is_near(room, expected), "{room:?}");
    // 0.8, 0.2 and 0.5 m apart.
    assert!(person.notices().iter().any(|notice| notice.contains("96 cm")), "{:?}", person.notices());
    let held = person.app.world().resource::<app::grab::Held>().model_ids().count();
    assert_eq!(held, 0, "a trigger that drops a marker takes nothing");

    // A second time, and back.
    person.align(Vec3::new(1.0, 1.0, 0.0), Vec3::new(1.0, 1.0, 2.0));
    assert!(!is_near(person.alignment().1, expected));
    person.acts(Action::UndoAlignment);
    assert!(is_near(person.alignment().1, expected));

    // The headset measures from elsewhere and says so: the room stays, also in what is kept.
    let old_from_new = Pose { position: Vec3::new(0.3, 0.0, 0.5), rotation: Quat::from_rotation_y(0.6) };
    let moved = old_from_new.within(person.alignment().1);
    person.app.world_mut().resource_mut::<Headset>().room_from_tracking = moved;
    person.app.update();
    assert_eq!(person.alignment().0, Alignment::Aligned);

    // In another room nothing is known yet, and in this one still.
    person.acts(Action::ChooseRoom("Lab".into()));
    assert_eq!(person.alignment().0, Alignment::None);
    person.acts(Action::ChooseRoom("Room".into()));
    assert!(is_near(person.alignment().1, moved));
    person.acts(Action::RenameRoom("Office".into()));

    // Another day: as it was.
    drop(person);
    let mut person = with_headset(folder.path());
    let (aligned, room) = person.alignment();
    assert!(aligned == Alignment::Aligned && is_near(room, moved), "{room:?}");
    assert_eq!(person.app.world().resource::<Preferences>().get().rooms.name(), "Office");

    // What the platform doubts is doubted until somebody says that it still fits, or aligns again.
    person.app.world_mut().resource_mut::<Alignment>().doubt();
    person.app.update();
    drop(person);
    let mut person = with_headset(folder.path());
    assert_eq!(person.alignment().0, Alignment::Doubtful);
    person.acts(Action::TrustAlignment);
    assert!(person.alignment().0 == Alignment::Aligned && is_near(person.alignment().1, moved));
    person.acts(Action::UndoAlignment);
    let (none, room) = person.alignment();
    assert!(none == Alignment::None && is_near(room, unaligned), "{room:?}");
}

#[test]
fn who_has_no_headset_stands_beside_whoever_is_in_the_room() {
    let (mut host, mut guest) = in_meeting();
    let head = Pose::new(Vec3::new(2.0, 0.7, -1.0), Quat::from_rotation_y(2.0));
    guest.app.world_mut().resource_mut::<Me>().body = Body { head, ..Body::rest() };
    run_until(&mut [&mut host, &mut guest], "the host sees the guest there", |people| {
        people[0].other_body().is_some_and(|body| body.head.position.abs_diff_eq(head.position, 1e-3))
    });
    let id = host.meeting().participants[0].device_id.clone();
    host.acts(Action::StandBeside(id));
    let starts = host.app.world().resource::<Messages<StartAt>>();
    let start = starts.iter_current_update_messages().last().unwrap();
    assert!(start.asked && start.head.rotation.dot(head.rotation).abs() > 0.9999, "{start:?}");
    let aside = start.head.position - head.position;
    assert!((0.4..1.0).contains(&aside.length()) && aside.y.abs() < 1e-3, "{aside}");
}

/// A square of n by n fields of two triangles each.
fn sheet(n: u32) -> glb::Glb {
    let mut sheet = glb::Glb::new();
    let positions: Vec<f32> =
        (0..=n).flat_map(|y| (0..=n).flat_map(move |x| [x as f32, y as f32, 0.0])).collect();
    let at = |x: u32, y: u32| y * (n + 1) + x;
    let indices: Vec<u32> = (0..n)
        .flat_map(|y| (0..n).map(move |x| (x, y)))
        .flat_map(|(x, y)| {
            [at(x, y), at(x + 1, y), at(x + 1, y + 1), at(x, y), at(x + 1, y + 1), at(x, y + 1)]
        })
        .collect();
    let (positions, indices) = (sheet.floats("VEC3", &positions), sheet.indices(&indices));
    sheet.mesh(serde_json::json!([{ "attributes": { "POSITION": positions }, "indices": indices }]));
    sheet
}

#[test]
fn a_model_over_the_budget_is_simplified_and_all_of_it_can_be_had() {
    let mut person = Person::with_budget("33333333dddddddd", None, Some(100));
    let path = person.file("sheet.glb", &sheet(20).build());
    person.send(OpenFile::from(path));
    run_until(&mut [&mut person], "the model is there", |people| people[0].triangles().is_some());
    let (drawn, from) = person.triangles().unwrap();
    assert!(drawn <= 100 && from == Some(800), "{drawn} of {from:?}");
    let id = person.model().unwrap().0;
    person.send(Action::ToggleDetail(id.clone()));
    run_until(&mut [&mut person], "all of it", |people| people[0].triangles() == Some((800, None)));
    assert_eq!(person.heights().len(), 1, "what was shown before is gone");
    person.send(Action::ToggleDetail(id));
    run_until(&mut [&mut person], "simplified again", |people| people[0].triangles() == Some((drawn, from)));
}

#[test]
fn animations_play_when_they_are_switched_on() {
    let mut person = Person::new("44444444eeeeeeee", None);
    let mut quad = glb::Glb::quad();
    let times = quad.floats("SCALAR", &[0.0, 2.0]);
    let values = quad.floats("VEC3", &[0., 0., 0., 0., 8., 0.]);
    quad.json["animations"] = serde_json::json!([{ "samplers": [{ "input": times, "output": values }],
        "channels": [{ "sampler": 0, "target": { "node": 0, "path": "translation" } }] }]);
    let path = person.file("moving.glb", &quad.build());
    person.send(OpenFile::from(path));
    run_until(&mut [&mut person], "the model is there", |people| people[0].has_ready_model());
    let rest = person.heights();
    for _ in 0..5 {
        person.app.update();
    }
    assert_eq!(person.heights(), rest, "it is off at first");
    let id = person.model().unwrap().0;
    person.send(Action::ToggleAnimation(id.clone()));
    run_until(&mut [&mut person], "it moves", |people| people[0].heights()[0] > rest[0] + 0.1);
    let world = person.app.world_mut();
    assert!(world.query::<&Motions>().iter(world).all(Motions::is_playing));
    person.send(Action::ToggleAnimation(id));
    run_until(&mut [&mut person], "it is back", |people| people[0].heights() == rest);
}
