//! Recorded hosts, and our guest.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use convene::session::{Command, Config, Event, LeaveReason, Phase};
use convene::wire::coordinates::{position_to_wire, rotation_to_wire};
use glam::{Quat, Vec3};
use serde_json::Value;

use super::compare::{Only, Row, Said, compare, said};
use super::host::results;
use super::meeting::*;
use super::player::{Schedule, Step, look_at_models, move_recorded, open_recorded};
use super::recording::{Direction, Recording, folder, json_of, names, split};

struct Replayed {
    world: World,
    guest: usize,
    rows: BTreeSet<Row>,
    /// Phase and models a moment before the recorded joiner's end.
    phase: Phase,
}

/// Plays a recorded host to our guest, who does what is listed.
fn replay(
    folder: &Path,
    name: &str,
    config: Config,
    before: &[Command],
    doings: Vec<(u64, Command)>,
) -> Replayed {
    let recording = Recording::load(folder, name);
    let mut world = World::new(11);
    world.latency = ms(1);
    let guest = world.add(config);
    for command in before {
        world.do_command(guest, command.clone());
    }
    let script = world.script_hosts(guest);
    let mut schedule = Schedule::default();
    schedule.play(&recording, Direction::ToGuest, script, Duration::ZERO);
    for (at, command) in doings {
        schedule.at(ms(at), Step::Do(guest, command));
    }
    let end_of = |direction| recording.ends.iter().find(|(_, d, _)| *d == direction).map(|(t, ..)| *t);
    let (joiner_end, host_end) = (end_of(Direction::ToHost).unwrap(), end_of(Direction::ToGuest).unwrap());
    let phase = std::rc::Rc::new(std::cell::Cell::new(Phase::Alone));
    let cell = std::rc::Rc::clone(&phase);
    let look = Step::Call(Box::new(move |world: &mut World| {
        look_at_models(world, guest);
        cell.set(world.view(guest).phase);
    }));
    schedule.at(joiner_end.min(host_end).saturating_sub(ms(5)), look);
    if joiner_end < host_end {
        let leave = Step::Call(Box::new(move |world: &mut World| {
            if world.view(guest).phase != Phase::Alone {
                world.do_command(guest, Command::Leave);
            }
        }));
        schedule.at(joiner_end, leave);
    }
    schedule.run(&mut world);
    world.run(ms(200));
    assert!(world.scripts[script].closed.is_some(), "{name}: ended");

    let mut theirs = said(split(&recording.to_host).0);
    if name.starts_with("version_") {
        // Recorded with joiners of several versions, ours has one.
        theirs[0].json = r#"{"version":"17"}"#.to_owned();
    }
    let ours = said(world.scripts[script].heard.iter().map(|(_, p)| &p[..]));
    let private = name.starts_with("rejoin") || name.starts_with("joiner_first");
    let rows = compare(name, &theirs, &ours, |only, message| match (only, message.type_byte) {
        (Only::Recorded, 7) => Some(Row::NoEcho),
        (Only::Recorded, 3) if private => Some(Row::PrivateModels),
        _ => None,
    });
    Replayed { world, guest, rows, phase: phase.get() }
}

/// Our models in the notation of the recordings' checks: name, position,
/// rotation, scale, on the wire's axes.
fn models(world: &World, guest: usize) -> Vec<(String, Vec<f32>)> {
    let view = world.view(guest);
    let good = view.models.into_iter().filter(|m| m.failed.is_none() && m.glb.is_some());
    good.map(|m| {
        let (p, q) = (position_to_wire(m.pose.position), rotation_to_wire(m.pose.rotation));
        (m.name, vec![p.x, p.y, p.z, q.x, q.y, q.z, q.w, m.local_scale])
    })
    .collect()
}

fn replay_odd(folder: &Path, name: &str, detail: &str, config: Config) -> BTreeSet<Row> {
    let Replayed { world, guest, mut rows, phase } = replay(folder, name, config, &[], Vec::new());
    // What the recorded joiner did.
    let connected = detail.starts_with("joiner connected");
    if connected {
        assert_ne!(phase, Phase::Alone, "{name}: {:?}; {detail}", world.left(guest));
    } else {
        let reasons = world.left(guest);
        let [reason] = &reasons[..] else { panic!("{name}: left {reasons:?}") };
        let good = match name {
            "jodd_bad_json.1" | "jodd_zero_length.1" | "jodd_same_id_twice.1" => {
                matches!(reason, LeaveReason::Fault(_))
            }
            "jodd_close.1" => *reason == LeaveReason::HostEnded,
            "jodd_error_then_close.1" => *reason == LeaveReason::Refused("no room".into()),
            "jodd_version_11.1" => *reason == LeaveReason::HostTooOld("11".into()),
            "jodd_wrong_prefix.1" => *reason == LeaveReason::NotAMeeting,
            _ => false,
        };
        assert!(good, "{name}: left because {reason:?}");
    }
    // What it saw.
    let list = detail.split_once("; models ").expect("models").1.split_once("; panel").expect("a panel").0;
    let list = list.replace('(', "[").replace(')', "]").replace('\'', "\"");
    let list: Vec<Value> = serde_json::from_str(&list).expect("a list");
    let numbers = |v: &Value| -> Vec<f32> {
        let all = [&v[1], &v[2]].into_iter().flat_map(|list| list.as_array().expect("numbers").clone());
        all.chain([v[3].clone()]).map(|n| n.as_f64().expect("a number") as f32).collect()
    };
    let theirs: Vec<(String, Vec<f32>)> =
        list.iter().map(|v| (v[0].as_str().expect("a name").to_owned(), numbers(v))).collect();
    let ours = models(&world, guest);
    let near = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
    let equal =
        theirs.len() == ours.len() && theirs.iter().zip(&ours).all(|(a, b)| a.0 == b.0 && near(&a.1, &b.1));
    if !equal {
        assert_eq!(name, "jodd_unnormalised.1", "{name}: LookSee's models {theirs:?}, ours {ours:?}");
        let (theirs, ours) = (&theirs[0].1, &ours[0].1);
        let direction = |v: &[f32]| Quat::from_xyzw(v[3], v[4], v[5], v[6]).normalize();
        assert!(direction(theirs).dot(direction(ours)).abs() > 0.9999, "the same direction");
        assert!(near(&theirs[..3], &ours[..3]) && theirs[7] == ours[7], "the same place and scale");
        rows.insert(Row::UnitRotations);
    }
    let view = world.view(guest);
    if let Some(bad) = view.models.iter().find(|m| m.failed.is_some()) {
        assert_eq!((name, bad.name.as_str()), ("jodd_bad_glb.1", "raw.glb"), "a bad model");
        rows.insert(Row::BadModelListed);
    }
    // What its person read.
    let panel = detail.rsplit_once("; panel '").expect("a panel").1.trim_end_matches('\'');
    if matches!(name, "jodd_error_stay.1" | "jodd_error_then_close.1") {
        let told = Event::PeerMessage { text: panel.to_owned() };
        assert!(world.nodes[guest].events.contains(&told), "{name}: {panel:?} is shown");
    }
    rows
}

#[test]
fn odd_input_to_a_guest() {
    let Some(folder) = folder() else { return };
    let results = results(&folder);
    let names = names(&folder, "jodd_");
    assert_eq!(names.len(), 19, "all odd hosts");
    for name in names {
        let detail = &results[name.trim_end_matches(".1")];
        replay_odd(&folder, &name, detail, config('b', "Bob"));
        let rows = replay_odd(&folder, &name, detail, looksee_only('b', "Bob"));
        assert!(!rows.contains(&Row::VersionFields), "{name}: nothing of ours where only LookSee is spoken");
    }
}

/// What the recorded joiner did on its own.
fn doings(folder: &Path, name: &str) -> Vec<(u64, Command)> {
    let recording = Recording::load(folder, name);
    let (payloads, _) = split(&recording.to_host);
    let of_type = |t: u8| *payloads.iter().find(|p| p[0] == t).expect("a message of this type");
    match name {
        "meeting3.1" => vec![
            (6130, open_recorded(of_type(3)).1),
            (10330, show("VB1wkteU", false)),
            (11530, show("VB1wkteU", true)),
            (15330, close("CtOjHfRN")),
            (16930, Command::KeepAligned { on: true }),
            (18130, Command::KeepAligned { on: false }),
        ],
        "meeting3.2" => {
            vec![(6130, move_recorded(&json_of(of_type(1)).0)), (10160, open_recorded(of_type(3)).1)]
        }
        "slow_load.2" => {
            vec![(1290, open_recorded(of_type(3)).1), (1590, move_recorded(&json_of(of_type(1)).0))]
        }
        _ => Vec::new(),
    }
}

/// What the recorded joiner had open before.
fn had_open(folder: &Path, name: &str) -> Vec<Command> {
    let recording = Recording::load(folder, name);
    let (payloads, _) = split(&recording.to_host);
    match name {
        "joiner_first.1" | "rejoin.2" => {
            payloads.iter().filter(|p| p[0] == 3).map(|p| open_recorded(p).1).collect()
        }
        _ => Vec::new(),
    }
}

const HOSTS: [&str; 24] = [
    "aligned.1",
    "aligned.2",
    "flicker.1",
    "full.1",
    "full.2",
    "full.3",
    "joiner_first.1",
    "keep_aligned_open.1",
    "keep_aligned_open.2",
    "meeting3.1",
    "meeting3.2",
    "padded.1",
    "rate72.1",
    "rejoin.1",
    "rejoin.2",
    "slow_load.1",
    "slow_load.2",
    "two_models.1",
    "version_j100_h17.1",
    "version_j11_h17.1",
    "version_j12_h17.1",
    "version_j17_5_h17.1",
    "version_j17_h11.1",
    "version_j9_h17.1",
];

/// Where each model was last put, by the recorded host's own words.
fn last_places(recording: &Recording) -> Vec<(String, Value)> {
    let mut places: Vec<(String, Value)> = Vec::new();
    for message in said(split(&recording.to_guest).0) {
        let value = message.value();
        let Some(id) = value["model_id"].as_str().map(str::to_owned) else { continue };
        places.retain(|(known, _)| message.type_byte == 7 || *known != id);
        if matches!(message.type_byte, 1 | 3) {
            places.push((id, value));
        }
    }
    places
}

fn replay_host(folder: &Path, name: &str, config: Config) -> BTreeSet<Row> {
    let recording = Recording::load(folder, name);
    // The recorded versions are the joiner's, which here is ours: 17.
    let refused = matches!(name, "version_j11_h17.1" | "version_j9_h17.1" | "full.3");
    let replayed = if refused {
        // Compared below: the recorded joiner's version is another.
        let mut replayed = replay_refused(folder, name, config);
        replayed.rows.clear();
        replayed
    } else {
        replay(folder, name, config, &had_open(folder, name), doings(folder, name))
    };
    let Replayed { world, guest, rows, phase } = replayed;
    match name {
        "full.3" => {
            let text = "Meetings currently only allow 3 persons.".to_owned();
            assert_eq!(world.left(guest), [LeaveReason::Refused(text)], "{name}");
        }
        "version_j11_h17.1" | "version_j9_h17.1" => {
            let text = said(split(&recording.to_guest).0).pop().expect("an error").value();
            let text = text["error"].as_str().expect("a text").to_owned();
            assert_eq!(world.left(guest), [LeaveReason::Refused(text)], "{name}");
        }
        "version_j17_h11.1" => {
            assert_eq!(world.left(guest), [LeaveReason::HostTooOld("11".into())], "{name}");
        }
        "joiner_first.1" => {
            assert_eq!(world.left(guest), [LeaveReason::NotAMeeting], "{name}: a silent host")
        }
        _ => {
            assert_eq!(phase, Phase::Guest, "{name}: connected to the end");
            let host_ended = recording.ends[0].1 == Direction::ToGuest;
            let expected = if host_ended { LeaveReason::HostEnded } else { LeaveReason::Asked };
            assert_eq!(world.left(guest), [expected], "{name}");
            assert!(world.faults(guest).is_empty(), "{name}: {:?}", world.faults(guest));
            let host_seen = |e: &Event| matches!(e, Event::ParticipantJoined { id, .. } if id == "hostAAAA");
            assert!(world.nodes[guest].events.iter().any(host_seen), "{name}: its host is seen");
            if !name.starts_with("meeting3") && !name.starts_with("slow") {
                for (id, value) in last_places(&recording) {
                    let place = world.place(guest, &id);
                    let number =
                        |part: &str, axis: &str| value[part][axis].as_f64().expect("a number") as f32;
                    let p =
                        Vec3::new(-number("position", "x"), number("position", "y"), number("position", "z"));
                    assert!((place.position - p).length() < 1e-5, "{name}: {id} is at {}", place.position);
                    let scale = value["scale"].as_f64().expect("a scale") as f32;
                    assert!((place.scale - scale).abs() < 1e-5, "{name}: {id}");
                }
            }
        }
    }
    if name.starts_with("meeting3") {
        // The recording's own check: models move with the scene on every peer alike.
        let place = world.place(guest, "VB1wkteU");
        assert!(
            (place.position - Vec3::new(-0.85, 1.7, 1.05)).length() < 1e-4,
            "{name}: {:?}",
            place.position
        );
        assert_eq!(world.model_ids(guest), ["VB1wkteU"], "{name}: what was left open there");
    }
    if name == "flicker.1" {
        let last = said(split(&recording.to_guest).0).into_iter().rev().find(|s| s.type_byte == 7);
        let shown = last.expect("a storm").value()["shown"] == Value::Bool(true);
        assert_eq!(world.is_shown(guest, "pLwrtFB8"), shown, "{name}: the last word holds");
    }
    rows
}

/// A refusal ends the replay early.
fn replay_refused(folder: &Path, name: &str, config: Config) -> Replayed {
    let recording = Recording::load(folder, name);
    let mut world = World::new(11);
    let guest = world.add(config);
    let script = world.script_hosts(guest);
    let mut schedule = Schedule::default();
    schedule.play(&recording, Direction::ToGuest, script, Duration::ZERO);
    schedule.run(&mut world);
    world.run(ms(200));
    let said_back = said(world.scripts[script].heard.iter().map(|(_, p)| &p[..]));
    let types: Vec<u8> = said_back.iter().map(|s: &Said| s.type_byte).collect();
    assert_eq!(types, [5], "{name}: no word more than the version");
    Replayed { world, guest, rows: BTreeSet::new(), phase: Phase::Alone }
}

#[test]
fn recorded_hosts_and_our_guest() {
    let Some(folder) = folder() else { return };
    for name in HOSTS {
        for config in [config('b', "Bob"), looksee_only('b', "Bob")] {
            replay_host(&folder, name, config);
        }
    }
}

/// Golden: in `aligned.1` the host's model is one metre before the host's face.
#[test]
fn a_model_is_before_the_face_that_we_draw() {
    let Some(folder) = folder() else { return };
    let recording = Recording::load(&folder, "aligned.1");
    let mut world = World::new(11);
    world.latency = ms(1);
    let guest = world.add(config('b', "Bob"));
    let script = world.script_hosts(guest);
    let mut schedule = Schedule::default();
    schedule.play(&recording, Direction::ToGuest, script, Duration::ZERO);
    let look = move |world: &mut World| {
        let body = world.participant(guest, "hostAAAA").and_then(|p| p.body).expect("the host poses");
        assert!((body.head.position - Vec3::new(0.0, 1.5, 0.0)).length() < 1e-5, "{:?}", body.head.position);
        let before = body.head.position + body.head.rotation * Vec3::Z;
        let model = world.place(guest, "oLyZZ63p").position;
        assert!((model - before).length() < 1e-5, "the model is at {model}, one metre ahead is {before}");
        // The wands lean forward, away from the body: tips are further ahead than the hands.
        for hand in [body.left, body.right] {
            let tip = hand.position + hand.rotation * (Vec3::Y * 0.2);
            assert!(tip.z > hand.position.z + 0.1, "a wand points along its own y: {tip}");
        }
        assert!(
            body.left.position.x > 0.0 && body.right.position.x < 0.0,
            "left is at +x of who looks along +z"
        );
    };
    schedule.at(ms(1000), Step::Call(Box::new(look)));
    schedule.run(&mut world);
}

/// Everything, for the table.
pub fn replay_all(folder: &Path) -> BTreeSet<Row> {
    let results = results(folder);
    let mut rows = BTreeSet::new();
    for name in names(folder, "jodd_") {
        rows.extend(replay_odd(folder, &name, &results[name.trim_end_matches(".1")], config('b', "Bob")));
    }
    for name in HOSTS {
        rows.extend(replay_host(folder, name, config('b', "Bob")));
    }
    rows
}
