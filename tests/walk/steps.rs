//! The walk.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use bevy::{
    clipboard::Clipboard, input::keyboard::Key, input_focus::InputFocus, prelude::*, window::PrimaryWindow,
};
use convene::{
    app::{
        AppOptions, Open,
        attendance::{HostOptions, Joining},
        browser::Browser,
        input::{Me, Page},
        link::{Link, Meeting},
        models::{Model, ModelState},
        notices::Notices,
        preferences::{Preferences, ReceiveOptions, Receiving},
        statistics::Statistics,
        theme::colour,
        ui::{Control, Drafts, FieldId},
    },
    net::{Net, NetConfig},
    platform::desktop,
    session::{Body, Colour, Config, Delivery, ModelView, Phase, Pose},
    settings::SettingsFile,
    workers::Workers,
};

use super::{
    company::{Grace, NAME},
    driver::{self, Company, Walk},
    layout,
};

const LONG_NAME: &str = "emd_11638_postprocessed_map_at_2.1_angstrom_sharpened_and_masked_v2.glb";

fn meeting(world: &World) -> &Meeting {
    world.resource::<Meeting>()
}

fn grace(world: &mut World) -> Mut<'_, Grace> {
    world.resource_mut::<Company>().map_unchanged(|company| &mut company.0)
}

/// The model of this name.
fn model<'a>(world: &'a World, name: &str) -> Option<&'a ModelView> {
    meeting(world).models.iter().find(|m| m.name == name)
}

pub fn is_ready(world: &mut World, name: &str) -> bool {
    let Some(id) = model(world, name).map(|m| m.id.clone()) else { return false };
    let mut models = world.query::<(&Model, &ModelState)>();
    models.iter(world).any(|(model, state)| model.id == id && *state == ModelState::Ready)
}

/// Presses something about a model, by the model's name.
fn about_model(walk: &mut Walk, what: &'static str, name: &'static str) {
    walk.run(move |world| {
        let id = model(world, name).expect("it is open").id.clone();
        world.resource_mut::<Walk>().click(format!("models/{what}/{id}"));
    });
}

fn page(walk: &mut Walk, page: Page) {
    walk.click(format!("tab/{}", page.title()));
    walk.until(page.title(), move |world| world.resource::<Open>().shows(page));
}

fn notice_says(world: &World, text: &str) -> bool {
    world.resource::<Notices>().iter().any(|shown| shown.notice.to_string().contains(text))
}

pub fn walk(size: (u32, u32)) {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models");
    let folder = tempfile::tempdir().unwrap();
    let received = folder.path().join("received");
    std::fs::create_dir_all(received.join("older models")).unwrap();
    std::fs::create_dir_all(received.join(LONG_NAME.replace(".glb", " and what else was measured"))).unwrap();
    for (from, to) in
        [("molecule.glb", "molecule.glb"), ("brain-surface.glb", LONG_NAME), ("molecule.glb", "unwanted.glb")]
    {
        std::fs::copy(models.join(from), received.join(to)).unwrap();
    }
    let settings_path = folder.path().join("settings.json");
    let text = serde_json::json!({ "id": "a".repeat(16), "name": "Ada", "colour": "#4ea1ff" }).to_string();
    std::fs::write(&settings_path, text).unwrap();
    let settings = SettingsFile::open(&settings_path);
    let net = Net::start(NetConfig::new(Config::new(settings.identity()))).unwrap();
    let loopback = Some([127, 0, 0, 1].into());
    let options = AppOptions {
        settings: Some(settings),
        host: HostOptions { bind: loopback, port: 0 },
        receive: ReceiveOptions { bind: loopback, port: 0, folder: received.clone(), asked: false },
        size: Some(size),
        any_thread: true,
        ..AppOptions::new(net, Workers::with_threads(1).unwrap())
    };
    let mut app = desktop::app(options);
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("walk/{}x{}", size.0, size.1));
    let _ = std::fs::remove_dir_all(&pictures);
    std::fs::create_dir_all(&pictures).unwrap();
    let mut walk = Walk::default();
    walk.folder = pictures;
    let large = size.0 > 1280;
    if large {
        walk.with_room = &["05", "10", "15", "17"];
    }
    walk.run(|world| driver::draw_room(world, false));
    nothing_open(&mut walk);
    files(&mut walk, received);
    models_alone(&mut walk);
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    as_guest(&mut walk, models.join("brain-surface.glb"), &silent.local_addr().unwrap().to_string());
    as_host(&mut walk);
    options_page(&mut walk);
    keyboard(&mut walk);
    if !large {
        narrow(&mut walk);
    }
    page(&mut walk, Page::Meeting);
    beside(&mut walk);
    walk.click("meeting/leave");
    walk.until("the meeting is over", |world| meeting(world).phase == Phase::Alone);
    app.insert_resource(walk).insert_resource(Company(Grace::new())).add_plugins(driver::plugin);
    assert!(app.run().is_success());
    drop(app);
    let kept = SettingsFile::open(&settings_path).settings;
    assert_eq!((kept.name.as_str(), kept.colour.as_str()), ("Ada Lovelace", "#52c46b"));
    assert!(kept.frame_time && kept.exact_models && kept.receive_files && kept.open_new_files);
}

fn nothing_open(walk: &mut Walk) {
    walk.until("the window is there", |world| driver::find(world, "tab/Models").is_some());
    walk.look("01-models-empty");
    help(walk, "models/keys");
    // How a button looks in each of its states.
    walk.frames(2);
    fill_is(walk, "models/files", colour::BUTTON);
    walk.point("models/files").frames(2);
    fill_is(walk, "models/files", colour::HOVER);
    walk.click("models/files");
    walk.until("the files are shown", |world| world.resource::<Open>().shows(Page::Files));
}

/// Where the head was.
#[derive(Resource)]
struct StoodAt(Vec3);

fn help_is_shown(world: &mut World) -> bool {
    let mut named = world.query::<&Name>();
    named.iter(world).any(|name| name.as_str() == "help")
}

/// A button that shows the list of keys, which Escape hides.
fn help(walk: &mut Walk, button: &str) {
    walk.click(button);
    walk.until("the keys are listed", help_is_shown);
    walk.key(KeyCode::Escape, Key::Escape);
    walk.until("the list is gone", |world| !help_is_shown(world));
}

fn fill_is(walk: &mut Walk, id: &'static str, fill: Color) {
    walk.run(move |world| {
        let mut controls = world.query::<(&Control, &BackgroundColor)>();
        let found: Vec<Color> = controls.iter(world).filter(|(c, _)| c.id == id).map(|(_, b)| b.0).collect();
        assert_eq!(found, [fill], "how {id} looks");
    });
}

fn files(walk: &mut Walk, received: PathBuf) {
    let here = received.clone();
    let listed = |world: &World| matches!(&world.resource::<Browser>().listing, Some(Ok(_)));
    walk.until("they are listed", move |world| listed(world));
    walk.click("switch/open-new-files");
    walk.until("new files stay closed", |world| !world.resource::<Preferences>().get().open_new_files);
    walk.click("switch/open-new-files");
    walk.until("new files open", |world| world.resource::<Preferences>().get().open_new_files);
    walk.look("02-files");
    walk.click("files/folder/older models");
    walk.until("an empty folder", move |world| listed(world) && !world.resource::<Browser>().is_received());
    walk.look("03-files-empty");
    walk.click("files/up");
    walk.until("back", move |world| world.resource::<Browser>().folder == here);
    walk.click("files/home");
    walk.until("at home", |world| !world.resource::<Browser>().is_received());
    walk.click("files/received");
    walk.until("among received files", move |world| {
        world.resource::<Browser>().is_received() && listed(world)
    });
    walk.click("files/delete/unwanted.glb");
    walk.until("it is asked", |world| world.resource::<Browser>().asked.is_some());
    walk.look("04-files-delete");
    // The question may have been taken back while the picture was taken.
    walk.run(|world| world.resource_mut::<Browser>().asked = None);
    walk.click("files/delete/unwanted.glb").again();
    walk.run(|world| {
        assert!(world.resource::<Browser>().asked.is_some(), "a double click deletes nothing");
    });
    walk.pause(std::time::Duration::from_millis(700));
    walk.click("files/delete/unwanted.glb");
    walk.until("the file is gone", move |_| !received.join("unwanted.glb").exists());
    walk.click("files/open/molecule.glb");
    walk.until("the molecule is shown", |world| is_ready(world, "molecule.glb"));
}

fn models_alone(walk: &mut Walk) {
    page(walk, Page::Models);
    walk.look("05-models-alone");
    about_model(walk, "toggle", "molecule.glb");
    walk.until("it is hidden", |world| model(world, "molecule.glb").is_some_and(|m| !m.shown));
    about_model(walk, "toggle", "molecule.glb");
    walk.until("it is shown", |world| model(world, "molecule.glb").is_some_and(|m| m.shown));
}

fn as_guest(walk: &mut Walk, surface: PathBuf, silent: &str) {
    page(walk, Page::Meeting);
    walk.look("06-meeting-alone");
    // Somewhere where nobody is.
    fill_is(walk, "meeting/join", colour::DISABLED);
    walk.run(|world| {
        let head = world.resource::<Me>().body.head.position;
        world.insert_resource(StoodAt(head));
    });
    walk.click("field/address").write("127.0.0.1:9").click("meeting/join");
    walk.run(|world| {
        let head = world.resource::<Me>().body.head.position;
        assert_eq!(head, world.resource::<StoodAt>().0, "who types does not fly");
        assert!(meeting(world).models.iter().all(|m| m.shown), "who types hides nothing");
    });
    walk.until("nobody is there", |world| notice_says(world, "no meeting is open there"));
    walk.look("07-meeting-join-failed");
    walk.key(KeyCode::Escape, Key::Escape);
    walk.until("Escape puts notices away", |world| world.resource::<Notices>().iter().next().is_none());
    walk.run(|world| {
        assert_eq!(world.resource::<Drafts>().get(FieldId::Address), "127.0.0.1:9", "it can be mended");
    });
    walk.click("field/address");
    walk.run(|world| {
        let address = grace(world).hosts();
        let walk = &mut *world.resource_mut::<Walk>();
        walk.write(&address).key(KeyCode::Enter, Key::Enter);
    });
    walk.until("she took us", |world| meeting(world).phase == Phase::Guest);
    walk.until("the address is remembered", |world| {
        let preferences = world.resource::<Preferences>().get();
        preferences.addresses.len() == 1
            && world.resource::<Joining>().address == preferences.addresses.first().cloned()
    });
    walk.look("08-meeting-guest");
    page(walk, Page::Models);
    walk.until("the molecule is private", |world| model(world, "molecule.glb").is_some_and(|m| !m.shared));
    walk.look("09-models-private");
    about_model(walk, "share", "molecule.glb");
    walk.until("she has it", |world| {
        grace(world).view().models.iter().any(|m| m.name == "molecule.glb" && m.glb.is_some())
    });
    // Hers comes slowly, and is not wanted.
    walk.run(move |world| grace(world).opens(&surface));
    walk.until("hers is on its way", |world| {
        model(world, "brain-surface.glb")
            .and_then(|m| m.arriving)
            .is_some_and(|(progress, _)| progress.received > 50_000)
    });
    walk.look("10-models-on-its-way");
    about_model(walk, "cancel", "brain-surface.glb");
    walk.until("it is cancelled", |world| model(world, "brain-surface.glb").is_some_and(|m| m.cancelled));
    walk.until("she sees that", |world| {
        let view = grace(world).view();
        let hers = view.models.iter().find(|m| m.name == "brain-surface.glb").unwrap();
        hers.deliveries.iter().any(|d| d.state == Delivery::Cancelled)
    });
    walk.look("11-models-cancelled");
    about_model(walk, "get", "brain-surface.glb");
    walk.until("it goes on", |world| {
        model(world, "brain-surface.glb").is_some_and(|m| !m.cancelled && m.arriving.is_some())
    });
    about_model(walk, "close", "brain-surface.glb");
    walk.until("it is closed for her, too", |world| {
        grace(world).view().models.iter().all(|m| m.name != "brain-surface.glb")
    });
    page(walk, Page::Meeting);
    walk.click("meeting/leave");
    walk.until("we have left", |world| meeting(world).phase == Phase::Alone);
    walk.run(|world| {
        let address = world.resource::<Preferences>().get().addresses[0].clone();
        let walk = &mut *world.resource_mut::<Walk>();
        walk.look("12-meeting-remembered");
        walk.click(format!("meeting/again/{address}"));
        walk.until("we are back", |world| meeting(world).phase == Phase::Guest);
        walk.click("meeting/leave");
        walk.until("we have left again", |world| meeting(world).phase == Phase::Alone);
        walk.click(format!("meeting/forget/{address}"));
        walk.until("it is forgotten", |world| world.resource::<Preferences>().get().addresses.is_empty());
    });
    // Somebody who takes the connection and says nothing: there is time to stop.
    walk.click("field/address").write(silent).click("meeting/join");
    walk.until("it is tried", |world| world.resource::<Joining>().waiting);
    walk.look("13-meeting-reaching");
    walk.click("meeting/stop");
    walk.until("it is not tried any more", |world| !world.resource::<Joining>().waiting);
    walk.run(|world| {
        grace(world).leaves();
        grace(world).closes_all();
    });
}

fn as_host(walk: &mut Walk) {
    walk.click("meeting/host");
    walk.until("we host", |world| meeting(world).phase == Phase::Hosting);
    walk.click("meeting/copy");
    walk.until("the address is on the clipboard", |world| {
        let address = world.resource::<Link>().address();
        let copied = world.resource_mut::<Clipboard>().fetch_text().poll_result();
        matches!((copied, address), (Some(Ok(copied)), Some(address)) if copied == address)
    });
    walk.look("14-meeting-hosting");
    walk.run(|world| {
        let address = world.resource::<Link>().address().unwrap();
        let mut grace = grace(world);
        grace.loads = false;
        grace.joins(&address);
    });
    walk.until("she has come", |world| {
        meeting(world).participants.iter().any(|p| p.label.starts_with("Grace"))
    });
    page(walk, Page::Files);
    walk.click(format!("files/open/{LONG_NAME}"));
    walk.until("the surface is shown", |world| is_ready(world, LONG_NAME));
    page(walk, Page::Models);
    walk.until("she loads it", |world| {
        model(world, LONG_NAME)
            .is_some_and(|m| m.deliveries.iter().any(|d| d.state == Delivery::Loading && d.label == NAME))
    });
    walk.point("tab/Files");
    walk.look("15-models-hosting");
    about_model(walk, "close", "molecule.glb");
    walk.until("the molecule is closed", |world| model(world, "molecule.glb").is_none());
}

fn options_page(walk: &mut Walk) {
    page(walk, Page::Options);
    walk.look("16-options");
    walk.click("field/name").write("Nobody").key(KeyCode::Escape, Key::Escape);
    walk.frames(4);
    walk.run(|world| {
        assert_eq!(meeting(world).me.name, "Ada", "Escape leaves all as it was");
        assert_eq!(world.resource::<Drafts>().get(FieldId::Name), "Ada");
    });
    walk.click("field/name").write("Ada Lovelace").key(KeyCode::Enter, Key::Enter);
    walk.until("the name is new", |world| meeting(world).me.name == "Ada Lovelace");
    walk.until("she knows", |world| {
        grace(world).view().participants.iter().any(|p| p.label == "Ada Lovelace")
    });
    walk.click("options/colour/#52c46b");
    walk.until("the colour is new", |world| meeting(world).me.colour == Colour([0x52, 0xc4, 0x6b]));
    walk.click("switch/keep-aligned");
    walk.until("models are kept aligned", |world| meeting(world).keep_aligned);
    walk.click("options/align");
    walk.click("switch/exact-models");
    walk.until("models are exact", |world| world.resource::<Preferences>().get().exact_models);
    walk.click("switch/receive-files");
    walk.until("files are received", |world| world.resource::<Receiving>().0.is_some());
    walk.click("switch/frame-time").click("switch/debugging");
    walk.until("what the network does is shown", |world| {
        let statistics = world.resource::<Statistics>();
        statistics.shown && statistics.net.as_ref().is_some_and(|net| net.peers.len() == 1)
    });
    walk.frames(20);
    walk.look("17-debugging");
    help(walk, "options/keys");
    walk.key(KeyCode::F3, Key::F3);
    walk.until("F3 hides it", |world| !world.resource::<Statistics>().shown);
}

fn keyboard(walk: &mut Walk) {
    walk.click("tab/fold");
    walk.until("the panels are folded", |world| !world.resource::<Open>().dock);
    walk.look("18-folded");
    walk.key(KeyCode::F2, Key::F2);
    walk.until("F2 unfolds them", |world| world.resource::<Open>().dock);
    walk.key(KeyCode::F1, Key::F1);
    walk.until("F1 lists the keys", help_is_shown);
    walk.look("19-help");
    walk.key(KeyCode::Escape, Key::Escape);
    // By Tab alone every control of every page can be reached.
    for page in Page::ALL {
        self::page(walk, page);
        walk.frames(2);
        reach_all(walk, BTreeSet::new());
    }
    // And pressed.
    page(walk, Page::Models);
    walk.run(|world| world.resource_mut::<InputFocus>().clear());
    tab_to(walk, "tab/Files");
    walk.look("20-focus");
    walk.key(KeyCode::Space, Key::Space);
    walk.until("Space opened the page", |world| world.resource::<Open>().shows(Page::Files));
}

/// Who has no headset goes to somebody who is in the room.
fn beside(walk: &mut Walk) {
    const HEAD: Vec3 = Vec3::new(1.5, 1.2, -2.0);
    walk.run(|world| {
        let head = Pose { position: HEAD, rotation: Quat::from_rotation_y(1.0) };
        grace(world).stands(Body { head, ..Body::rest() });
    });
    walk.until("she is somewhere", |world| meeting(world).participants.iter().any(|p| p.body.is_some()));
    walk.frames(2);
    walk.look("22-stand-beside");
    walk.run(|world| {
        let id = meeting(world).participants[0].device_id.clone();
        let walk = &mut *world.resource_mut::<Walk>();
        walk.click(format!("meeting/beside/{id}"));
        walk.until("we stand beside her", |world| {
            let head = world.resource::<Me>().body.head;
            let aside = head.position.distance(HEAD);
            (0.5..1.0).contains(&aside)
                && (head.rotation * Vec3::Z).abs_diff_eq(Quat::from_rotation_y(1.0) * Vec3::Z, 1e-3)
        });
    });
}

fn focused(world: &World) -> Option<String> {
    let entity = world.resource::<InputFocus>().get()?;
    world.get::<Control>(entity).map(|control| control.id.clone())
}

/// Presses Tab until the focus comes back to where it was.
fn reach_all(walk: &mut Walk, seen: BTreeSet<String>) {
    walk.key(KeyCode::Tab, Key::Tab);
    walk.run(move |world| {
        let id = focused(world).expect("Tab gives the focus to something");
        let entity = world.resource::<InputFocus>().get().unwrap();
        assert!(layout::seen(world, entity).is_some(), "{id} has the focus and cannot be seen");
        let mut seen = seen;
        if seen.insert(id) {
            return reach_all(&mut world.resource_mut::<Walk>(), seen);
        }
        let mut controls = world.query::<(Entity, &Control, Has<bevy::ui::InteractionDisabled>)>();
        let all: Vec<(Entity, String)> = controls
            .iter(world)
            .filter(|(.., disabled)| !disabled)
            .map(|(entity, control, _)| (entity, control.id.clone()))
            .collect();
        for (entity, id) in all {
            let visible = layout::seen(world, entity).is_some();
            assert!(!visible || seen.contains(&id), "{id} cannot be reached by Tab; {seen:?} can");
        }
    });
}

fn tab_to(walk: &mut Walk, id: &'static str) {
    walk.key(KeyCode::Tab, Key::Tab);
    walk.run(move |world| {
        if focused(world).as_deref() != Some(id) {
            tab_to(&mut world.resource_mut::<Walk>(), id);
        }
    });
}

/// The smallest window: everything can still be read.
fn narrow(walk: &mut Walk) {
    walk.run(|world| {
        let mut windows = world.query_filtered::<&mut Window, With<PrimaryWindow>>();
        windows.single_mut(world).unwrap().resolution.set(800.0, 600.0);
    });
    walk.until("the window is small", |world| {
        let mut windows = world.query_filtered::<&Window, With<PrimaryWindow>>();
        windows.single(world).unwrap().size() == Vec2::new(800.0, 600.0)
    });
    walk.key(KeyCode::F3, Key::F3);
    walk.frames(20);
    for page in Page::ALL {
        self::page(walk, page);
        walk.look(&format!("21-small-{}", page.title().to_lowercase()));
    }
}
