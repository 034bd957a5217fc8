//! Bytes recorded from LookSee 17: each is read, and written again field for
//! field; and every recorded stream is read in any pieces.
//!
//! LookSee prints a float32 widened to double (`0.30000001192092898`), we print
//! the shortest decimal that is the same float32 (`0.3`): nothing else differs.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and tells what it leaves out"
)]

#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/recording.rs"]
mod recording;
#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/rng.rs"]
mod rng;

use bytes::Bytes;
use convene::wire::{
    Frame, FrameAssembler, Limits, MEETING_PREFIX, Message, MessageType, WireError, encode_frame,
    file_push::{self, FilePushItem, FilePushReader},
    message::{
        Bounds, CloseModel, ErrorText, KeepAligned, ModelPosition, ModelShown, ModelStatus, Offer,
        ParticipantLeft, PoseEntry, QuatJson, Representation, Roster, RosterEntry, ScenePosition, Seat,
        Vec3Json, Version, WandPosition, Want,
    },
};
use convene::{
    transfer::{ChunkHeader, Method},
    wire::bulk,
};
use recording::{Recording, folder, from_hex, goldens, json_of, names, same_json, split};
use rng::Rng;

fn golden(name: &str) -> Vec<u8> {
    goldens().remove(name).unwrap_or_else(|| panic!("there is no golden called {name}"))
}

fn decode(name: &str) -> Message {
    let frame = golden(name);
    match Message::decode(&frame[4..], &Limits::default()) {
        Ok(Some(message)) => message,
        other => panic!("{name}: {other:?}"),
    }
}

/// Reads a stream as one piece or as the pieces between `cuts`.
fn read(stream: &[u8], cuts: &[usize]) -> (Vec<Frame>, Option<WireError>, bool) {
    let mut assembler = FrameAssembler::new(Limits::default());
    let mut frames = Vec::new();
    let mut at = 0;
    for &cut in cuts.iter().chain([&stream.len()]) {
        let mut input = &stream[at..cut];
        at = cut;
        loop {
            match assembler.push(&mut input) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error), false),
            }
        }
        assert!(input.is_empty(), "the assembler takes all bytes");
    }
    let between = assembler.is_between_frames();
    (frames, None, between)
}

#[test]
fn prefix() {
    assert_eq!(golden("prefix"), MEETING_PREFIX, "the first bytes of a meeting");
}

#[test]
fn every_message_is_written_as_looksee_writes_it() {
    let mut seen = Vec::new();
    for (name, frame) in goldens() {
        if matches!(name.as_str(), "prefix" | "file_push") || name.starts_with("open_model") {
            continue;
        }
        let payload = &frame[4..];
        assert_eq!(frame[..4], (payload.len() as i32).to_le_bytes(), "{name}: the length");
        let message = decode(&name);
        let ours = message.encode();
        assert_eq!(ours[0], payload[0], "{name}: the type");
        let (theirs, ours) = (json_of(payload).0, String::from_utf8(ours[1..].to_vec()).unwrap());
        assert!(same_json(&theirs, &ours), "{name}:\n{theirs}\n{ours}");
        assert!(ours.len() <= theirs.len(), "{name}: ours is not longer");
        assert_eq!(
            encode_frame(&message.encode())[4..],
            message.encode()[..],
            "{name}: a frame is a length and the payload"
        );
        seen.push(payload[0]);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [1, 2, 4, 5, 6, 7, 8, 9, 10], "all types but the model's own are here");
}

#[test]
fn what_the_goldens_say() {
    let rest = QuatJson { w: 1.0, ..Default::default() };
    let position = |x, y, z| Vec3Json { x, y, z };
    let turned = QuatJson { y: 0.707_106_77, w: 0.707_106_77, ..Default::default() };
    assert_eq!(
        decode("model_position"),
        Message::ModelPosition(ModelPosition {
            model_id: "tdiCg6xa".into(),
            position: position(0.25, 1.25, 0.75),
            rotation: turned,
            scale: 2.0,
        })
    );
    assert_eq!(
        decode("model_position_exponents"),
        Message::ModelPosition(ModelPosition {
            model_id: "oLyZZ63p".into(),
            position: position(0.999_999_8, 0.0, 1.192_093_2e-7),
            rotation: QuatJson { y: -3.552_713_7e-15, ..rest },
            scale: 1.0,
        })
    );
    let wand = QuatJson { x: 0.5, w: 0.866_025_4, ..Default::default() };
    assert_eq!(
        decode("wand_position"),
        Message::WandPosition(WandPosition {
            device_id: "joinBBBB".into(),
            left_position: position(-0.2, 1.1, 0.3),
            right_position: position(0.2, 1.1, 0.3),
            head_position: position(0.0, 1.5, 0.0),
            left_rotation: wand,
            right_rotation: wand,
            head_rotation: rest,
            seq: None,
            stamp: None,
        })
    );
    assert_eq!(decode("close_model"), Message::CloseModel(CloseModel { model_id: "tdiCg6xa".into() }));
    let version = |text: &str| Message::Version(Version { version: Some(text.into()), ..Default::default() });
    assert_eq!(decode("version"), version("17"));
    assert_eq!(decode("version_17_5"), version("17.5"));
    let error = "Joining this meeting requires LookSee version 12 or higher.  You are using version 11";
    assert_eq!(decode("error"), Message::Error(ErrorText { error: error.into() }));
    let error = "Meetings currently only allow 3 persons.";
    assert_eq!(decode("error_full"), Message::Error(ErrorText { error: error.into() }));
    for (name, shown) in [("model_hidden", false), ("model_shown", true)] {
        let expected = Message::ModelShown(ModelShown { model_id: "tdiCg6xa".into(), shown });
        assert_eq!(decode(name), expected, "{name}");
    }
    assert_eq!(
        decode("participant_left"),
        Message::ParticipantLeft(ParticipantLeft { device_id: "joinBBBB".into() })
    );
    assert_eq!(
        decode("scene_position"),
        Message::ScenePosition(ScenePosition {
            position: position(0.1, 0.2, 0.3),
            rotation: turned,
            scale: 1.5,
        })
    );
    for (name, keep_aligned) in [("keep_aligned_on", true), ("keep_aligned_off", false)] {
        assert_eq!(decode(name), Message::KeepAligned(KeepAligned { keep_aligned }), "{name}");
    }
}

#[test]
fn a_model_is_written_as_looksee_writes_it() {
    let frame = golden("open_model_box");
    let stream = [&MEETING_PREFIX[..], &frame].concat();
    let (frames, error, between) = read(&stream, &[]);
    assert_eq!((error, between, frames.len()), (None, true, 3), "prefix, start and whole");
    let [Frame::Prefix, Frame::ModelStarted(header), Frame::Model(model)] = &frames[..] else {
        panic!("not a model: {frames:?}");
    };
    assert_eq!((header.glb_bytes, model.glb.len()), (812, 812), "box.glb has 812 bytes");
    assert_eq!(&header.open, &model.open, "the head says it before the bytes come");
    assert_eq!((model.open.model_id.as_str(), model.open.model_name.as_str()), ("tdiCg6xa", "box.glb"));
    assert_eq!(model.open.position, Vec3Json { x: 0.0, y: 1.5, z: 1.0 }, "one metre before the eyes");
    assert_eq!((model.open.scale, model.open.opener.as_deref()), (1.0, None));
    assert_eq!(model.payload[..], frame[4..], "the payload is kept as it came");
    assert!(model.glb.starts_with(b"glTF"), "the bytes are a GLB");
    assert_eq!(model.content, *blake3::hash(&model.glb).as_bytes(), "the content is the file's hash");

    let head = model.open.encode_head();
    let json_bytes = i32::from_le_bytes(head[1..5].try_into().unwrap()) as usize;
    assert_eq!((head[0], head.len()), (3, 5 + json_bytes), "type, length of the JSON, JSON");
    let ours = String::from_utf8(head[5..].to_vec()).unwrap();
    assert!(same_json(&ours, &json_of(&frame[4..]).0), "{ours}");
}

#[test]
fn a_name_that_is_not_ascii_is_written_raw() {
    let head = golden("open_model_head_not_ascii");
    let stream = [MEETING_PREFIX, &((head.len() + 1) as i32).to_le_bytes()[..], &head, &[0]].concat();
    let (frames, error, _) = read(&stream, &[]);
    assert_eq!(error, None);
    let Some(Frame::Model(model)) = frames.last() else { panic!("not a model") };
    assert_eq!(model.open.model_name, "protéine β 蛋.glb");
    let ours = String::from_utf8(model.open.encode_head()[5..].to_vec()).unwrap();
    assert!(ours.contains("protéine β 蛋.glb"), "no escapes: {ours}");
    assert!(same_json(&ours, &json_of(&head).0), "{ours}");
}

#[test]
fn a_pushed_file() {
    let stream = golden("file_push");
    for size in [1, 7, 11, 64, stream.len()] {
        let mut reader = FilePushReader::new(&Limits::default());
        let (mut begun, mut data) = (None, Vec::new());
        for piece in stream.chunks(size) {
            let mut input = piece;
            while let Some(item) = reader.push(&mut input).expect("a good file") {
                match item {
                    FilePushItem::Begin { name, length } => begun = Some((name, length)),
                    FilePushItem::Data(bytes) => data.extend_from_slice(bytes),
                }
            }
        }
        assert_eq!(reader.finish(), Ok(()), "pieces of {size}");
        assert_eq!(begun, Some(("box.glb".to_owned(), 812)), "pieces of {size}");
        assert_eq!(data[..], stream[stream.len() - 812..], "pieces of {size}");
    }
    let head = file_push::encode_head("box.glb", 812).expect("a short file");
    assert_eq!(head[..], stream[..stream.len() - 812], "ours is the same");
}

#[test]
fn the_extension_has_fixed_bytes() {
    let limits = Limits::default();
    let check = |message: Message, bytes: &[u8]| {
        let frame = encode_frame(&message.encode());
        assert_eq!(frame, Bytes::copy_from_slice(bytes), "{}", String::from_utf8_lossy(&frame));
        assert_eq!(Message::decode(&bytes[4..], &limits), Ok(Some(message)), "reads back");
    };
    check(Message::Ping(0x0102_0304_0506_0708), &from_hex("09000000400807060504030201"));
    check(Message::Pong(0x0102_0304_0506_0708), &from_hex("09000000410807060504030201"));
    let with_length = |type_byte: u8, json: &str| {
        [&(1 + json.len() as i32).to_le_bytes()[..], &[type_byte], json.as_bytes()].concat()
    };
    let json = concat!(
        r##"{"number":7,"participants":["##,
        r##"{"id":"0123456789abcdef","device_id":"01234567","name":"Ada","colour":"#4ea1ff","client":"convene","state":"live"},"##,
        r##"{"id":"","device_id":"joinBBBB","name":"","colour":"","client":"looksee","state":"stale"}]}"##,
    );
    let entry = |texts: [&str; 6]| {
        let [id, device_id, name, colour, client, state] = texts.map(str::to_owned);
        RosterEntry { id, device_id, name, colour, client, state }
    };
    let roster = Roster {
        number: 7,
        participants: vec![
            entry(["0123456789abcdef", "01234567", "Ada", "#4ea1ff", "convene", "live"]),
            entry(["", "joinBBBB", "", "", "looksee", "stale"]),
        ],
    };
    check(Message::Roster(roster), &with_length(0x49, json));
    let json = r#"{"model_id":"0RMIPDpN","device_id":"01234567","state":"receiving","received":4096,"total":23051756}"#;
    let status = ModelStatus {
        model_id: "0RMIPDpN".into(),
        device_id: "01234567".into(),
        state: "receiving".into(),
        received: 4096,
        total: 23_051_756,
    };
    check(Message::ModelStatus(status), &with_length(0x4A, json));
    let json = concat!(
        r##"{"version":"17","ext":1,"id":"0123456789abcdef","name":"Ada","##,
        r##""colour":"#4ea1ff","app":"convene 0.1.0","methods":"raw,gzip","seat":"5ea7"}"##,
    );
    let version = Version {
        version: Some("17".into()),
        ext: Some(1),
        id: Some("0123456789abcdef".into()),
        name: Some("Ada".into()),
        colour: Some("#4ea1ff".into()),
        app: Some("convene 0.1.0".into()),
        methods: Some("raw,gzip".into()),
        seat: Some("5ea7".into()),
    };
    assert!(version.speaks_extension(), "the extension and an id are announced");
    check(Message::Version(version), &with_length(5, json));
    let json = concat!(
        r##"{"device_id":"01234567","left_position":{"x":0.0,"y":0.0,"z":0.0},"##,
        r##""right_position":{"x":0.0,"y":0.0,"z":0.0},"head_position":{"x":0.0,"y":1.5,"z":0.0},"##,
        r##""left_rotation":{"x":0.0,"y":0.0,"z":0.0,"w":0.0},"right_rotation":{"x":0.0,"y":0.0,"z":0.0,"w":0.0},"##,
        r##""head_rotation":{"x":0.0,"y":0.0,"z":0.0,"w":1.0},"seq":4,"stamp":18446744073709551615}"##,
    );
    let wand = WandPosition {
        device_id: "01234567".into(),
        head_position: Vec3Json { y: 1.5, ..Default::default() },
        head_rotation: QuatJson { w: 1.0, ..Default::default() },
        seq: Some(4),
        stamp: Some(u64::MAX),
        ..Default::default()
    };
    check(Message::WandPosition(wand), &with_length(2, json));
    for message_type in (0x40..=0x4B).map(|byte| MessageType::from_byte(byte).unwrap()) {
        assert!(message_type.is_extension(), "{message_type:?} is ours alone");
    }
}

#[test]
fn transfers_have_fixed_bytes() {
    let limits = Limits::default();
    let with_length = |type_byte: u8, json: &str| {
        [&(1 + json.len() as i32).to_le_bytes()[..], &[type_byte], json.as_bytes()].concat()
    };
    let check = |message: Message, bytes: &[u8]| {
        let frame = encode_frame(&message.encode());
        assert_eq!(frame, Bytes::copy_from_slice(bytes), "{}", String::from_utf8_lossy(&frame));
        assert_eq!(Message::decode(&bytes[4..], &limits), Ok(Some(message)), "reads back");
    };
    let mut pose = PoseEntry { seq: 4, stamp_ms: 0x0102_0304, ..Default::default() };
    pose.wand.device_id = "01234567".into();
    pose.wand.head_position.y = 1.5;
    pose.wand.head_rotation.w = 1.0;
    let entry = concat!(
        "083031323334353637",
        "0400000004030201",
        "0000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000",
        "000000000000c03f000000000000000000 00ff7f",
    );
    let entry = from_hex(&entry.replace(' ', ""));
    let frame = [&78i32.to_le_bytes()[..], &[0x42], &entry].concat();
    check(Message::Poses(vec![pose.clone()]), &frame);
    let frame = [&155i32.to_le_bytes()[..], &[0x42], &entry, &entry].concat();
    check(Message::Poses(vec![pose.clone(), pose]), &frame);
    let json = concat!(
        r##"{"model_id":"0RMIPDpN","model_name":"spike.glb","position":{"x":0.0,"y":1.0,"z":0.0},"##,
        r##""rotation":{"x":0.0,"y":0.0,"z":0.0,"w":1.0},"scale":1.0,"shown":true,"opener":"01234567","##,
        r##""bytes":300000,"content":"00ff","bounds":{"center":{"x":0.0,"y":0.0,"z":0.0},"##,
        r##""size":{"x":2.0,"y":0.0,"z":0.0}},"##,
        r##""representations":[{"method":"raw","version":1},{"method":"gzip","version":1}]}"##,
    );
    let representation =
        |method: &str| Representation { method: method.into(), version: 1, ..Representation::default() };
    let offer = Offer {
        model_id: "0RMIPDpN".into(),
        model_name: "spike.glb".into(),
        position: Vec3Json { y: 1.0, ..Default::default() },
        rotation: QuatJson { w: 1.0, ..Default::default() },
        scale: 1.0,
        shown: true,
        opener: Some("01234567".into()),
        bytes: 300_000,
        content: "00ff".into(),
        bounds: Some(Bounds { size: Vec3Json { x: 2.0, ..Default::default() }, ..Default::default() }),
        representations: vec![representation("raw"), representation("gzip")],
    };
    check(Message::Offer(offer), &with_length(0x43, json));
    let json = r#"{"model_id":"0RMIPDpN","channel":3,"method":"raw","missing":[[0,1],[7,70]]}"#;
    let want = Want {
        model_id: "0RMIPDpN".into(),
        channel: 3,
        method: "raw".into(),
        missing: vec![(0, 1), (7, 70)],
    };
    check(Message::Want(want), &with_length(0x44, json));
    check(Message::Cancel(bulk::Cancel { channel: 0x0102, by_sender: true }), &from_hex("0400000047020101"));
    check(Message::Seat(Seat { token: "abc".into() }), &with_length(0x4B, r#"{"token":"abc"}"#));
    let mut head = bytes::BytesMut::new();
    bulk::put_data_head(&mut head, 3, 0x0102_0304_0506_0708, 4096);
    assert_eq!(&head[..], &from_hex("0b100000450300 0807060504030201".replace(' ', "").as_str())[..]);
    let credit = bulk::encode_credit(3, 0x0102_0304_0506_0708);
    assert_eq!(credit, from_hex("4603000807060504030201"));
    let done = bulk::Done { channel: 3, chunks: 70, content: [0xab; 32] };
    assert_eq!(done.encode(), [&from_hex("48030046000000")[..], &[0xab; 32]].concat());
    let header = ChunkHeader {
        index: 7,
        method: Method::Gzip,
        version: 1,
        stored_bytes: 0x0102,
        decoded_bytes: 262_144,
        hash: [0xcd; 32],
    };
    let bytes = [&from_hex("07000000010100000201000000000400")[..], &[0xcd; 32]].concat();
    assert_eq!(header.encode()[..], bytes[..]);
    assert_eq!(ChunkHeader::decode(&header.encode()), Some(header));
}

/// What the assembler found, as (type, payload bytes where it keeps them).
fn messages(frames: &[Frame]) -> Vec<(u8, Option<Bytes>)> {
    frames
        .iter()
        .filter_map(|frame| match frame {
            Frame::Prefix | Frame::ModelStarted(_) => None,
            Frame::Message(payload) => Some((payload[0], Some(payload.clone()))),
            Frame::Model(model) => Some((3, Some(model.payload.clone()))),
            Frame::Skipped { type_byte } => Some((*type_byte, None)),
        })
        .collect()
}

#[test]
fn every_recorded_stream_in_any_pieces() {
    let Some(folder) = folder() else { return };
    let mut rng = Rng::new(20);
    let (mut streams, mut count) = (0, 0);
    for name in names(&folder, "").iter().filter(|name| !name.starts_with("file_")) {
        let recording = Recording::load(&folder, name);
        for (direction, stream) in [("c2s", &recording.to_host), ("s2c", &recording.to_guest)] {
            let (expected, rest) = split(stream);
            let whole = read(stream, &[]);
            let (frames, error, between) = &whole;
            if error == &Some(WireError::WrongPrefix) {
                let foreign = stream.len() < 14 || &stream[..14] != MEETING_PREFIX;
                assert!(foreign && frames.is_empty(), "{name} {direction}: a meeting's prefix was refused");
            } else {
                let found = messages(frames);
                let expected: Vec<&[u8]> = match error {
                    // LookSee closes at a bad JSON length, too.
                    Some(WireError::ModelJsonLength { .. }) => expected[..found.len()].to_vec(),
                    _ => expected,
                };
                assert_eq!(found.len(), expected.len(), "{name} {direction}: messages");
                for ((type_byte, payload), expected) in found.iter().zip(&expected) {
                    assert_eq!(*type_byte, expected[0], "{name} {direction}: type");
                    let kept = payload.as_ref().is_none_or(|payload| payload == expected);
                    assert!(kept, "{name} {direction}: a payload differs");
                }
                if error.is_none() {
                    let finished = stream.len() < 14 || rest == 0;
                    let between = *between || stream.is_empty() || stream.len() < 14;
                    assert_eq!(between, finished, "{name} {direction}: {rest} bytes are left over");
                }
                count += found.len();
            }
            for _ in 0..4 {
                let pieces = 1 + rng.below(60);
                let mut cuts: Vec<usize> = (0..pieces).map(|_| rng.below(stream.len() + 1)).collect();
                cuts.sort_unstable();
                assert_eq!(read(stream, &cuts), whole, "{name} {direction}: cut at {cuts:?}");
            }
            let every: Vec<usize> = (0..stream.len().min(3000)).collect();
            assert_eq!(read(stream, &every), whole, "{name} {direction}: byte by byte");
            streams += 1;
        }
    }
    assert!(streams > 150 && count > 4000, "{streams} streams with {count} messages");
}

#[test]
fn every_recorded_message_is_written_as_it_came() {
    let Some(folder) = folder() else { return };
    // In these a raw socket says things that LookSee does not say, or not so.
    let theirs = |name: &str, to_host: bool| match to_host {
        true => !name.starts_with("odd_") && !name.starts_with("file_"),
        false => !name.starts_with("jodd_") && !name.starts_with("file_"),
    };
    let mut count = 0;
    for name in names(&folder, "") {
        let recording = Recording::load(&folder, &name);
        for (to_host, stream) in [(true, &recording.to_host), (false, &recording.to_guest)] {
            if !theirs(&name, to_host) {
                continue;
            }
            for payload in split(stream).0.into_iter().filter(|payload| payload[0] != 3) {
                let (text, _) = json_of(payload);
                // The odd joiners' own words come back in the relay.
                if text.contains("rawpeer0") {
                    continue;
                }
                let message = Message::decode(payload, &Limits::default());
                let Ok(Some(message)) = message else { panic!("{name}: {text}: {message:?}") };
                let ours = String::from_utf8(message.encode()[1..].to_vec()).unwrap();
                assert!(same_json(&text, &ours), "{name}:\n{text}\n{ours}");
                count += 1;
            }
        }
    }
    assert!(count > 3500, "{count} messages");
}
