//! Two people in two windows do what `docs/guide.md` says: one starts a meeting
//! and opens a file, the other types the address, looks, opens a file as well.

use std::path::{Path, PathBuf};

use bevy::{input::keyboard::Key, prelude::*};
use convene::{
    app::{
        AppOptions, Open,
        attendance::HostOptions,
        input::Page,
        link::{Link, Meeting},
        preferences::ReceiveOptions,
    },
    net::{Net, NetConfig},
    platform::desktop,
    session::{Colour, Config, Identity, Phase},
    workers::Workers,
};

use super::{
    driver::{self, Walk},
    steps::is_ready,
};

/// Where the two leave each other notes, as two people in a room tell each other.
pub const FOLDER: &str = "CONVENE_GUIDE_FOLDER";

fn note(name: &str) -> PathBuf {
    Path::new(&std::env::var(FOLDER).unwrap()).join(name)
}

fn tell(name: &'static str) -> impl FnOnce(&mut World) {
    move |_| std::fs::write(note(name), "").unwrap()
}

fn hear(name: &'static str) -> impl Fn(&mut World) -> bool {
    move |_| note(name).exists()
}

fn page(walk: &mut Walk, page: Page) {
    walk.click(format!("tab/{}", page.title()));
    walk.until(page.title(), move |world| world.resource::<Open>().shows(page));
}

fn phase(world: &World) -> Phase {
    world.resource::<Meeting>().phase
}

/// The window of one of them, with one model in its files.
fn person(letter: &str, name: &str, file: &str, walk: Walk) {
    let received = note(name);
    std::fs::create_dir_all(&received).unwrap();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models").join(file);
    std::fs::copy(model, received.join(file)).unwrap();
    let identity =
        Identity { id: letter.repeat(16), name: name.to_owned(), colour: Colour::PALETTE[name.len() % 8] };
    let net = Net::start(NetConfig::new(Config::new(identity))).unwrap();
    let loopback = Some([127, 0, 0, 1].into());
    let options = AppOptions {
        host: HostOptions { bind: loopback, port: 0 },
        receive: ReceiveOptions { bind: loopback, port: 0, folder: received, asked: false },
        size: Some((1000, 640)),
        any_thread: true,
        ..AppOptions::new(net, Workers::with_threads(1).unwrap())
    };
    let mut app = desktop::app(options);
    app.insert_resource(walk).add_plugins(driver::plugin);
    assert!(app.run().is_success());
}

fn begun(pictures: &str) -> Walk {
    let mut walk = Walk::default();
    walk.folder = note(pictures);
    std::fs::create_dir_all(&walk.folder).unwrap();
    // Drawn once, so that all is there when pictures are taken.
    walk.until("the window is there", |world| driver::find(world, "tab/Models").is_some());
    walk.frames(20);
    walk.run(|world| driver::draw_room(world, false));
    walk
}

pub fn host() {
    let mut walk = begun("host-pictures");
    page(&mut walk, Page::Files);
    walk.click("files/open/molecule.glb");
    walk.until("it is shown", |world| is_ready(world, "molecule.glb"));
    page(&mut walk, Page::Meeting);
    walk.click("meeting/host");
    walk.until("the meeting is on", |world| phase(world) == Phase::Hosting);
    walk.run(|world| {
        let address = world.resource::<Link>().address().unwrap();
        std::fs::write(note("address.tmp"), address).unwrap();
        std::fs::rename(note("address.tmp"), note("address")).unwrap();
    });
    walk.until("Barbara is here", |world| {
        world.resource::<Meeting>().participants.iter().any(|p| p.label == "Barbara" && p.body.is_some())
    });
    walk.until("her model is here", |world| is_ready(world, "brain-surface.glb"));
    page(&mut walk, Page::Models);
    walk.until("everybody has everything", |world| {
        world.resource::<Meeting>().models.iter().all(|m| m.deliveries.is_empty())
    });
    walk.run(|world| driver::draw_room(world, true));
    walk.frames(20);
    walk.look("everybody-has-it");
    walk.run(tell("seen by the host"));
    walk.until("she has left", |world| world.resource::<Meeting>().participants.is_empty());
    page(&mut walk, Page::Meeting);
    walk.click("meeting/leave");
    walk.until("it is over", |world| phase(world) == Phase::Alone);
    person("a", "Ada", "molecule.glb", walk);
}

pub fn guest() {
    let mut walk = begun("guest-pictures");
    page(&mut walk, Page::Meeting);
    walk.until("Ada tells the address", hear("address"));
    walk.click("field/address");
    walk.run(|world| {
        let address = std::fs::read_to_string(note("address")).unwrap();
        world.resource_mut::<Walk>().write(&address).key(KeyCode::Enter, Key::Enter);
    });
    walk.until("we are in", |world| phase(world) == Phase::Guest);
    walk.until("Ada's model is shown", |world| is_ready(world, "molecule.glb"));
    page(&mut walk, Page::Files);
    walk.click("files/open/brain-surface.glb");
    walk.until("ours is shown", |world| is_ready(world, "brain-surface.glb"));
    walk.until("Ada has seen it", hear("seen by the host"));
    page(&mut walk, Page::Meeting);
    walk.run(|world| driver::draw_room(world, true));
    walk.frames(20);
    walk.look("in-the-meeting");
    walk.click("meeting/leave");
    walk.until("we have left", |world| phase(world) == Phase::Alone);
    person("b", "Barbara", "brain-surface.glb", walk);
}
