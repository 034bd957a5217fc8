//! Recorded joiners at our host.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use convene::session::{Command, Config};
use serde_json::Value;

use super::compare::{Only, Row, Said, compare, said};
use super::meeting::*;
use super::player::{Schedule, Step, move_recorded, open_recorded, placement};
use super::recording::{Direction, Recording, folder, names, split};

/// One recording's details from `results.jsonl`: scenario to text.
pub fn results(folder: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(folder.join("results.jsonl")).expect("the results");
    text.lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a result is JSON"))
        .map(|v| {
            let text = |field: &str| v[field].as_str().unwrap_or_default().to_owned();
            (text("scenario"), text("detail"))
        })
        .filter(|(scenario, _)| scenario.contains("odd_"))
        .collect()
}

/// What the witness of an odd connection got: types and the first bytes of each
/// JSON, repetitions once.
fn relayed(detail: &str) -> Vec<(u8, String)> {
    let list = detail.split_once("relayed to witness: [").expect("a list").1;
    let mut rest = list.split_once("]; host").expect("its end").0;
    let mut found = Vec::new();
    while let Some((_, item)) = rest.split_once('(') {
        let (type_byte, text) = item.split_once(", '").expect("a type and a text");
        let (text, after) = text.split_once('\'').expect("the text's end");
        found.push((type_byte.parse().expect("a type"), text.replace("\\n", "\n")));
        rest = after;
    }
    found.dedup();
    found
}

/// Puts the models that a recorded greeting shows into our host.
fn open_what_it_had(world: &mut World, host: usize, greeting: &[&[u8]], other_files: bool) {
    for payload in greeting.iter().filter(|p| p[0] == 3) {
        let (open, mut command) = open_recorded(payload);
        if let Command::OpenModel { glb, content, .. } = &mut command
            && other_files
        {
            *glb = [&glb[..], &[0; 4]].concat().into();
            *content = *blake3::hash(glb).as_bytes();
        }
        let (json, _) = super::recording::json_of(payload);
        world.do_command(host, command);
        world.do_command(host, move_recorded(&json));
        assert!(world.model_ids(host).contains(&open.model_id), "it is open");
    }
    for payload in greeting.iter().filter(|p| p[0] == 9) {
        let (json, _) = super::recording::json_of(payload);
        let to = placement(&serde_json::from_str(&json).expect("LookSee's own words"));
        let models: Vec<String> = world.model_ids(host);
        let places: Vec<_> = models.iter().map(|id| world.place(host, id)).collect();
        world.do_command(host, Command::MoveScene { to });
        for (model_id, place) in models.into_iter().zip(places) {
            let to = convene::session::Move::to(place);
            world.do_command(host, Command::MoveModel { model_id, to });
        }
    }
    let keep = greeting.iter().rev().find(|p| p[0] == 10);
    if keep.is_some_and(|p| Said::from_payload(p).json.contains("true")) {
        world.do_command(host, Command::KeepAligned { on: true });
    }
}

/// The messages of a greeting: up to the last model that comes before anything
/// else than version, scene, keep-aligned, models and poses, and within `until`.
fn greeting(recording: &Recording, until: Duration) -> Vec<&[u8]> {
    let (payloads, _) = split(&recording.to_guest);
    let mut at = 14;
    let mut greeting = Vec::new();
    for payload in payloads {
        let chunk = recording.chunks.iter().rev();
        let mut chunk = chunk.filter(|(_, d, range)| *d == Direction::ToGuest && range.start <= at);
        let time = chunk.next().map_or(Duration::ZERO, |(time, ..)| *time);
        at += 4 + payload.len();
        if !matches!(payload[0], 2 | 3 | 5 | 9 | 10) || time > until {
            break;
        }
        greeting.push(payload);
    }
    greeting
}

fn heard(world: &World, script: usize) -> Vec<Said> {
    said(world.scripts[script].heard.iter().map(|(_, p)| &p[..]))
}

/// Has a joiner's end come before the host's?
fn joiner_ended_first(recording: &Recording) -> bool {
    recording.ends.first().is_none_or(|(_, direction, _)| *direction == Direction::ToHost)
}

/// Opens the file that the host has open, as in all recordings, twice or in an odd way.
fn opens_again(name: &str) -> bool {
    name.starts_with("odd_open") && name != "odd_open_model.1"
}

/// A recording in which the host does nothing but greet. Where it has `other_files`,
/// what the joiner opens is nothing that the host knows.
fn replay_odd(folder: &Path, name: &str, detail: &str, config: Config, other_files: bool) -> BTreeSet<Row> {
    let recording = Recording::load(folder, name);
    let mut world = World::new(name.len() as u64);
    world.latency = ms(1);
    let host = world.add_host(config);
    let (theirs, _) = split(&recording.to_guest);
    open_what_it_had(&mut world, host, &greeting(&recording, secs(9)), other_files);
    let witness = world.script_joins(host);
    world.say_hello(witness, "17");
    world.say_pose(witness, "witness0");
    world.run(ms(50));
    world.forget(witness);
    let script = world.script_joins(host);
    let mut schedule = Schedule::default();
    schedule.play(&recording, Direction::ToHost, script, Duration::ZERO);
    let joiner_end = recording.ends.iter().find(|(_, d, _)| *d == Direction::ToHost).map(|(t, ..)| *t);
    let joiner_end = joiner_end.expect("every connection ends");
    let closed_before = std::rc::Rc::new(std::cell::Cell::new(false));
    let cell = std::rc::Rc::clone(&closed_before);
    let check = Step::Call(Box::new(move |world| cell.set(world.scripts[script].closed.is_some())));
    schedule.at(joiner_end.saturating_sub(ms(1)), check);
    schedule.run(&mut world);
    // LookSee's witness hears of the end of the connection at the latest.
    world.run(ms(200));

    let (mut theirs, mut ours) = (said(theirs.iter().copied()), heard(&world, script));
    if other_files {
        theirs.iter_mut().chain(&mut ours).for_each(|message| message.tail = Default::default());
    }
    let mut rows = compare(name, &theirs, &ours, |only, message| {
        let again = name == "odd_open_model.1" && (only, message.type_byte) == (Only::Ours, 4);
        // The recorded host's scene had lost its scale.
        let scaleless = name == "odd_scene_back.1" && message.type_byte == 9;
        let row = again.then_some(Row::ReturningCopies);
        row.or(scaleless.then_some(Row::SceneScale))
    });

    // How it ends.
    let looksee_closed = detail.starts_with("after it: fin");
    let shut_down_first = looksee_closed && joiner_ended_first(&recording);
    let we_closed =
        if shut_down_first { world.scripts[script].closed.is_some() } else { closed_before.get() };
    if looksee_closed != we_closed {
        rows.insert(match name {
            "odd_huge_length.1" => Row::LengthCaps,
            _ => panic!("{name}: LookSee closed: {looksee_closed}, we closed: {we_closed}"),
        });
    }
    // LookSee forgets these; its garbage collector closes them, seconds later.
    if detail.contains("closed by finalizer") {
        assert!(we_closed, "{name}");
        rows.insert(Row::UnreadableVersion);
    }

    // What the others got to hear.
    let theirs = relayed(detail);
    let mut ours: Vec<(u8, String)> = world.scripts[witness]
        .heard
        .iter()
        .map(|(_, p)| (p[0], super::recording::json_of(p).0))
        .filter(|(type_byte, json)| *type_byte != 2 || !json.contains("aaaaaaaa"))
        .collect();
    ours.dedup();
    let same = |(t, text): &(u8, String), (our_type, ours): &(u8, String)| {
        t == our_type && (text == ours || (text.chars().count() >= 60 && ours.starts_with(text.as_str())))
    };
    let equal = theirs.len() == ours.len() && theirs.iter().zip(&ours).all(|(a, b)| same(a, b));
    if !equal {
        let types = |list: &[(u8, String)]| list.iter().map(|(t, _)| *t).collect::<Vec<_>>();
        let (row, same_types) = match name {
            "odd_left_for_other.1" => (Row::OwnDeviceId, types(&ours) == [2, 8]),
            "odd_truncated_valid.1" => (Row::Truncated, types(&ours) == [2, 8]),
            "odd_open_no_id.1" => (Row::NoId, ours[0].1.contains("\"noid0000\"")),
            "odd_open_zero_pose.1" => (Row::NoPlace, ours[0].1.contains("\"y\":1.5")),
            "odd_open_model.1" if !other_files => (Row::ReturningCopies, types(&ours) == [2, 8]),
            "odd_scene_no_scale.1" => (Row::SceneScale, ours[0].1.contains("\"scale\":1.0")),
            _ => panic!("{name}: relayed by LookSee {theirs:#?}, by us {ours:#?}"),
        };
        assert!(same_types, "{name}: relayed by LookSee {theirs:#?}, by us {ours:#?}");
        rows.insert(row);
    }
    rows
}

#[test]
fn odd_input_to_a_host() {
    let Some(folder) = folder() else { return };
    let results = results(&folder);
    let names = names(&folder, "odd_");
    assert_eq!(names.len(), 49, "all odd connections");
    for name in names {
        let detail = &results[name.trim_end_matches(".1")];
        for others in [false, true].into_iter().filter(|&others| others || !opens_again(&name)) {
            replay_odd(&folder, &name, detail, config('a', "Ada"), others);
        }
        let rows = replay_odd(&folder, &name, detail, looksee_only('a', "Ada"), true);
        assert!(!rows.contains(&Row::VersionFields), "{name}: nothing of ours where only LookSee is spoken");
    }
}

/// Joiners who only pose, at a host that does what is listed.
fn replay_joiner(folder: &Path, name: &str, config: Config, commands: &[(u64, Command)]) -> BTreeSet<Row> {
    let recording = Recording::load(folder, name);
    let mut world = World::new(7);
    world.latency = ms(1);
    let host = world.add_host(config);
    open_what_it_had(&mut world, host, &greeting(&recording, ms(600)), false);
    let script = world.script_joins(host);
    let mut schedule = Schedule::default();
    schedule.play(&recording, Direction::ToHost, script, Duration::ZERO);
    // Somebody else leaves meanwhile.
    for (at, device_id) in who_left(&recording) {
        let other = world.script_joins(host);
        world.say_hello(other, "17");
        world.say_pose(other, &device_id);
        schedule.at(at, Step::Close(other));
    }
    for (at, command) in commands {
        schedule.at(ms(*at), Step::Do(host, command.clone()));
    }
    let (host_end, _, _) = recording.ends.iter().find(|(_, d, _)| *d == Direction::ToGuest).expect("an end");
    if !joiner_ended_first(&recording) && !name.starts_with("version_") && !name.starts_with("full") {
        schedule.at(*host_end, Step::Do(host, Command::Leave));
    }
    schedule.run(&mut world);
    world.run(ms(200));
    let (theirs, _) = split(&recording.to_guest);
    let ours = heard(&world, script);
    let rows = compare(name, &said(theirs), &ours, |only, message| match (only, message.type_byte) {
        (Only::Recorded, 10) if name == "keep_aligned_open.1" => Some(Row::KeepAlignedOnce),
        (Only::Ours, 4) if name == "rejoin.2" => Some(Row::ReturningCopies),
        _ => None,
    });
    let refused = !joiner_ended_first(&recording);
    assert_eq!(
        refused && ours.iter().any(|s| s.type_byte == 6),
        ours.iter().any(|s| s.type_byte == 6),
        "{name}: only the refused hear why"
    );
    assert!(world.scripts[script].closed.is_some(), "{name}: ended");
    let faults = world.faults(host);
    let harmless = faults.iter().all(|f| f.contains("requires LookSee version"));
    assert!(harmless, "{name}: {faults:?}");
    rows
}

fn who_left(recording: &Recording) -> Vec<(Duration, String)> {
    let (payloads, _) = split(&recording.to_guest);
    let mut at = 14;
    let mut left = Vec::new();
    for payload in payloads {
        if payload[0] == 8 {
            let said = Said::from_payload(payload).value();
            let device_id = said["device_id"].as_str().expect("an id").to_owned();
            let chunk =
                recording.chunks.iter().find(|(_, d, range)| *d == Direction::ToGuest && range.contains(&at));
            left.push((chunk.expect("it was sent").0, device_id));
        }
        at += 4 + payload.len();
    }
    left
}

/// The host's own doings in the recordings with one joiner.
fn host_commands(folder: &Path, name: &str) -> Vec<(u64, Command)> {
    let recording = Recording::load(folder, name);
    let (payloads, _) = split(&recording.to_guest);
    let of_type = |t: u8, n: usize| {
        let payload = payloads.iter().filter(|p| p[0] == t).nth(n).expect("a message of this type");
        super::recording::json_of(payload).0
    };
    match name {
        "aligned.1" => vec![(2330, move_recorded(&of_type(1, 0)))],
        "rate72.1" => vec![(810, move_recorded(&of_type(1, 0)))],
        "keep_aligned_open.1" => {
            let tall = payloads.iter().filter(|p| p[0] == 3).nth(1).expect("the second model");
            vec![(890, move_recorded(&of_type(1, 0))), (1690, open_recorded(tall).1)]
        }
        _ => Vec::new(),
    }
}

const JOINERS: [&str; 16] = [
    "aligned.1",
    "aligned.2",
    "full.1",
    "full.2",
    "keep_aligned_open.1",
    "keep_aligned_open.2",
    "padded.1",
    "rate72.1",
    "rejoin.1",
    "rejoin.2",
    "two_models.1",
    "version_j100_h17.1",
    "version_j11_h17.1",
    "version_j12_h17.1",
    "version_j17_5_h17.1",
    "version_j9_h17.1",
];

#[test]
fn joiners_at_our_host() {
    let Some(folder) = folder() else { return };
    for name in JOINERS {
        for config in [config('a', "Ada"), looksee_only('a', "Ada")] {
            replay_joiner(&folder, name, config, &host_commands(&folder, name));
        }
    }
}

#[test]
fn the_third_is_refused() {
    let Some(folder) = folder() else { return };
    let recording = Recording::load(&folder, "full.3");
    let mut world = World::new(3);
    let host = world.add_host(Config { max_participants: 3, ..looksee_only('a', "Ada") });
    for _ in 0..2 {
        let script = world.script_joins(host);
        world.say_hello(script, "17");
    }
    world.run(ms(50));
    let script = world.script_joins(host);
    let mut schedule = Schedule::default();
    schedule.play(&recording, Direction::ToHost, script, Duration::ZERO);
    schedule.run(&mut world);
    let (theirs, _) = split(&recording.to_guest);
    let rows = compare("full.3", &said(theirs), &heard(&world, script), |_, _| None);
    assert!(rows.is_empty(), "word for word: {rows:?}");
    assert!(world.scripts[script].closed.is_some(), "and closed");
}

#[test]
fn a_joiner_that_speaks_first() {
    let Some(folder) = folder() else { return };
    // The recorded host never said a word: here ours does, and takes the model.
    let recording = Recording::load(&folder, "joiner_first.1");
    let mut world = World::new(3);
    let host = world.add_host(config('a', "Ada"));
    let script = world.script_joins(host);
    world.freeze(End::Node(host), End::Script(script), true);
    let mut schedule = Schedule::default();
    schedule.play(&recording, Direction::ToHost, script, Duration::ZERO);
    schedule.at(
        ms(1200),
        Step::Call(Box::new(move |world| {
            assert_eq!(world.model_ids(host), ["vWLiHw4Z"], "its model");
            let at = world.place(host, "vWLiHw4Z").position;
            assert!((at - glam::Vec3::new(0.0, 1.5, 1.0)).length() < 1e-5, "{at}");
            assert!(world.participant(host, "joinBBBB").is_some_and(|p| p.poses >= 10), "its poses");
        })),
    );
    schedule.run(&mut world);
    world.run(ms(100));
    assert!(world.participant(host, "joinBBBB").is_none(), "and its end");
    assert!(world.faults(host).is_empty(), "{:?}", world.faults(host));
}

/// Both joiners of the long recording at our host, who does what the recorded
/// one did.
fn replay_meeting3(folder: &Path, config: Config) -> BTreeSet<Row> {
    let (first, second) = (Recording::load(folder, "meeting3.1"), Recording::load(folder, "meeting3.2"));
    let mut world = World::new(3);
    world.latency = ms(1);
    let host = world.add_host(config);
    let box_greeting = greeting(&first, ms(700));
    open_what_it_had(&mut world, host, &box_greeting, false);
    let (to_first, _) = split(&first.to_guest);
    let nth = |t: u8, n: usize| {
        let payload = to_first.iter().filter(|p| p[0] == t).nth(n).expect("a message of this type");
        super::recording::json_of(payload).0
    };
    let one = world.script_joins(host);
    let mut schedule = Schedule::default();
    schedule.play(&first, Direction::ToHost, one, Duration::ZERO);
    let scene: Value = serde_json::from_str(&nth(9, 1)).expect("LookSee's own words");
    let doings = [
        (830, move_recorded(&nth(1, 0))),
        (1830, show("tdiCg6xa", false)),
        (4630, show("tdiCg6xa", true)),
        (18830, Command::MoveScene { to: placement(&scene) }),
        (20630, close("tdiCg6xa")),
        (22950, Command::Leave),
    ];
    for (at, command) in doings {
        schedule.at(ms(at), Step::Do(host, command));
    }
    // The second came this much later.
    let offset = ms(2780);
    let two = world.scripts.len();
    schedule.at(
        offset,
        Step::Call(Box::new(move |world| {
            assert_eq!(world.script_joins(host), two, "the next script");
        })),
    );
    schedule.play(&second, Direction::ToHost, two, offset);
    // What the first joiner's messages do at our host.
    let see = |schedule: &mut Schedule, at: u64, what: &'static str, holds: fn(&World) -> bool| {
        let look = move |world: &mut World| assert!(holds(world), "{at} ms: {what}");
        schedule.at(ms(at), Step::Call(Box::new(look)));
    };
    see(&mut schedule, 3000, "the echo of the first changes nothing", |w| !w.is_shown(0, "tdiCg6xa"));
    see(&mut schedule, 6300, "the first has opened a model", |w| w.model_ids(0) == ["VB1wkteU", "tdiCg6xa"]);
    see(&mut schedule, 9200, "the second has moved it", |w| {
        (w.place(0, "VB1wkteU").position - glam::Vec3::new(0.5, 1.0, 0.5)).length() < 1e-5
    });
    see(&mut schedule, 10400, "the first has hidden it", |w| !w.is_shown(0, "VB1wkteU"));
    see(&mut schedule, 11700, "and shown it", |w| w.is_shown(0, "VB1wkteU"));
    see(&mut schedule, 13200, "the second has opened one", |w| w.model_ids(0).len() == 3);
    see(&mut schedule, 15500, "the first has closed that", |w| w.model_ids(0).len() == 2);
    see(&mut schedule, 17000, "keep aligned is on", |w| w.view(0).keep_aligned);
    see(&mut schedule, 18300, "and off", |w| !w.view(0).keep_aligned);
    see(&mut schedule, 19000, "models move with the scene", |w| {
        // As the check of the recording says, in room space.
        let place = w.place(0, "VB1wkteU");
        (place.position - glam::Vec3::new(-0.85, 1.7, 1.05)).length() < 1e-4 && place.scale == 1.0
    });
    see(&mut schedule, 22500, "the first has left", |w| w.participant(0, "joinBBBB").is_none());
    schedule.run(&mut world);
    world.run(ms(200));
    assert_eq!(world.model_ids(host), ["VB1wkteU"], "tall.glb stays, as it did at the recorded joiner");

    let mut rows = BTreeSet::new();
    for (name, recording, script) in [("meeting3.1", &first, one), ("meeting3.2", &second, two)] {
        let (theirs, _) = split(&recording.to_guest);
        let ours = heard(&world, script);
        rows.extend(compare(name, &said(theirs), &ours, |only, message| match (only, message.type_byte) {
            (Only::Recorded, 7) => Some(Row::NoEcho),
            // Only as it comes: behind the models.
            (Only::Ours, 7)
                if name == "meeting3.2" && message.json.contains("\"tdiCg6xa\",\"shown\":false") =>
            {
                Some(Row::HiddenState)
            }
            (Only::Ours, 1 | 7 | 10) => Some(Row::Settling),
            _ => None,
        }));
        // Poses of the other two came, and a guest's own did not come back.
        let (own, others) = if script == one { ("joinBBBB", "joinCCCC") } else { ("joinCCCC", "joinBBBB") };
        let poses = world.heard(script, 2);
        assert!(poses.iter().filter(|j| j.contains(others)).count() > 50, "{name}: the other's poses");
        assert!(!poses.iter().any(|j| j.contains(own)), "{name}: its own poses");
        assert!(world.scripts[script].closed.is_some(), "{name}: ended");
    }
    assert!(world.faults(host).is_empty(), "{:?}", world.faults(host));
    rows
}

#[test]
fn the_long_meeting_at_our_host() {
    let Some(folder) = folder() else { return };
    for config in [config('a', "Ada"), looksee_only('a', "Ada")] {
        replay_meeting3(&folder, config);
    }
}

/// A model's own load takes a LookSee host two seconds, in which it relays nothing.
fn replay_slow_load(folder: &Path) -> BTreeSet<Row> {
    // The file names are in the order in which the connections were made known.
    let (listener, opener) = (Recording::load(folder, "slow_load.1"), Recording::load(folder, "slow_load.2"));
    let mut world = World::new(3);
    world.latency = ms(1);
    let host = world.add_host(looksee_only('a', "Ada"));
    let (one, two) = (world.script_joins(host), world.script_joins(host));
    let mut schedule = Schedule::default();
    schedule.play(&listener, Direction::ToHost, one, Duration::ZERO);
    schedule.play(&opener, Direction::ToHost, two, Duration::ZERO);
    schedule.run(&mut world);
    let (theirs, _) = split(&listener.to_guest);
    let theirs = said(theirs);
    let mut rows = compare("slow_load.1", &theirs, &heard(&world, one), |_, _| None);
    let when = |script: usize, t: u8| {
        world.scripts[script].heard.iter().find(|(_, p)| p[0] == t).map(|(at, _)| *at - secs(100))
    };
    let opened = when(one, 3).expect("the model came");
    assert!(opened < ms(1500), "relayed at once, LookSee needs until 3.6 s: {opened:?}");
    rows.insert(Row::Relay);
    rows
}

#[test]
fn a_slow_load_delays_nobody() {
    let Some(folder) = folder() else { return };
    replay_slow_load(&folder);
}

/// A LookSee joiner that echoes everything, in a storm.
fn replay_flicker(folder: &Path) -> BTreeSet<Row> {
    let recording = Recording::load(folder, "flicker.1");
    let mut world = World::new(3);
    world.latency = ms(1);
    let host = world.add_host(looksee_only('a', "Ada"));
    open_what_it_had(&mut world, host, &greeting(&recording, ms(300)), false);
    let script = world.script_joins(host);
    let mut schedule = Schedule::default();
    schedule.play(&recording, Direction::ToHost, script, Duration::ZERO);
    schedule.at(ms(400), Step::Do(host, show("pLwrtFB8", false)));
    schedule.at(ms(415), Step::Do(host, show("pLwrtFB8", true)));
    schedule.run(&mut world);
    world.run(secs(2));
    let (theirs, _) = split(&recording.to_guest);
    let ours = heard(&world, script);
    let shows = ours.iter().filter(|s| s.type_byte == 7).count();
    assert!(shows <= 3, "hide, show, and how it is in the end; LookSee sent more than a hundred: {shows}");
    compare("flicker.1", &said(theirs), &ours, |only, message| {
        (only == Only::Recorded && message.type_byte == 7).then_some(Row::NoEcho)
    })
}

#[test]
fn no_storm_at_our_host() {
    let Some(folder) = folder() else { return };
    replay_flicker(&folder);
}

/// Golden: `keep_aligned_open.1`. The opener's scale follows from the two files.
#[test]
fn the_opener_gets_looksees_scale() {
    let Some(folder) = folder() else { return };
    let (box_glb, tall_glb) =
        (super::player::file(&folder, "box.glb"), super::player::file(&folder, "tall.glb"));
    let mut world = World::new(3);
    let host = world.add_host(config('a', "Ada"));
    world.do_command(host, Command::KeepAligned { on: true });
    let size = super::player::measured(&box_glb);
    world.do_command(host, open_measured("box", &box_glb, size, false));
    let at = world.place(host, "box").position;
    assert!((at - glam::Vec3::new(0.0, 1.5, 1.0)).length() < 1e-5, "the first: before the eyes, {at}");
    world.do_command(host, move_to("box", glam::Vec3::new(-0.3, 1.1, 0.4)));
    let size = super::player::measured(&tall_glb);
    world.do_command(host, open_measured("tall", &tall_glb, size, false));
    let tall = world.place(host, "tall");
    assert!((tall.scale - 1.5).abs() < 1e-5, "scale {}", tall.scale);
    assert!((tall.position - glam::Vec3::new(-0.3, 1.1, 0.4)).length() < 1e-5, "{:?}", tall.position);
}

/// Everything, for the table.
pub fn replay_all(folder: &Path) -> BTreeSet<Row> {
    let results = results(folder);
    let mut rows = BTreeSet::new();
    for name in names(folder, "odd_") {
        let detail = &results[name.trim_end_matches(".1")];
        rows.extend(replay_odd(folder, &name, detail, config('a', "Ada"), opens_again(&name)));
    }
    for name in JOINERS {
        rows.extend(replay_joiner(folder, name, config('a', "Ada"), &host_commands(folder, name)));
    }
    rows.extend(replay_meeting3(folder, config('a', "Ada")));
    rows.extend(replay_slow_load(folder));
    rows.extend(replay_flicker(folder));
    rows
}
