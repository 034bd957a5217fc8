//! Models in chunks: resumed, cancelled, damaged, over the window, late, beside
//! slow ones.

use super::meeting::*;
use convene::session::{Command, Config, Event};
use convene::transfer::{BulkConfig, CHUNK_BYTES, Holding, Method, WindowMode};
use convene::wire::{
    Message, bulk, encode_frame,
    message::{Offer, QuatJson, Representation, Version, Want},
};

/// A model of so many chunks, no two of them alike.
fn file(chunks: usize) -> bytes::Bytes {
    let bytes = (0..chunks * CHUNK_BYTES).map(|n| (n / 1000 % 251) as u8 ^ (n % 7) as u8);
    bytes.collect::<Vec<u8>>().into()
}

fn count(world: &World, node: usize, fits: impl Fn(&Event) -> bool) -> usize {
    world.nodes[node].events.iter().filter(|event| fits(event)).count()
}

fn is_whole(world: &World, node: usize, file: &[u8]) -> bool {
    world.view(node).models.first().is_some_and(|m| m.glb.as_deref() == Some(file) && m.exact)
}

fn received(world: &World, node: usize) -> usize {
    let view = world.view(node);
    view.models[0].arriving.map_or(view.models[0].bytes, |(progress, _)| progress.received)
}

fn pair(seed: u64, guest: Config) -> (World, usize, usize) {
    let mut world = World::new(seed);
    let host = world.add_host(config('a', "Ada"));
    let guest = world.add(guest);
    world.join(guest, host);
    world.run(ms(300));
    (world, host, guest)
}

#[test]
fn a_model_stands_within_a_round_trip_and_grows() {
    let (mut world, host, guest) = pair(1, config('b', "Bob"));
    let file = file(4);
    world.set_rate(End::Node(host), End::Node(guest), 500_000);
    world.do_command(host, open("m", &file));
    world.run(2 * world.latency + 2 * STEP);
    let view = world.view(guest);
    assert!(view.models[0].arriving.is_some() && view.models[0].measure.is_some(), "a box of its size");
    let mut last = 0;
    for _ in 0..8 {
        world.run(ms(200));
        let now = received(&world, guest);
        assert!(now > last, "it grows: {last}, then {now}");
        last = now;
    }
    world.run(secs(3));
    assert!(is_whole(&world, guest, &file));
    // The stream, its heads, and what else is said.
    let sent = world.sent_bytes(End::Node(host), End::Node(guest));
    assert!(sent < file.len() + file.len() / 50 + 5_000, "{sent} bytes for {}", file.len());
    assert_eq!(count(&world, guest, |e| matches!(e, Event::ModelReceived { .. })), 1);
}

#[test]
fn what_was_received_is_not_sent_again_after_a_cut() {
    let (mut world, host, guest) = pair(2, config('b', "Bob"));
    let file = file(12);
    world.set_rate(End::Node(host), End::Node(guest), 1_000_000);
    world.do_command(host, open("m", &file));
    world.run(ms(1700));
    let before = world.sent_bytes(End::Node(host), End::Node(guest));
    assert!((1_200_000..2_000_000).contains(&before), "about half: {before}");
    world.break_link(End::Node(guest), End::Node(host));
    world.run(ms(500));
    world.join(guest, host);
    world.run(secs(4));
    assert!(is_whole(&world, guest, &file));
    let after = world.sent_bytes(End::Node(host), End::Node(guest));
    // One window (at most a tenth of a second of this link) and one chunk.
    let again = before + after - file.len();
    assert!(again < CHUNK_BYTES + 150_000 + 20_000, "{again} bytes were sent again");
}

#[test]
fn a_model_that_is_here_costs_no_bytes() {
    let (mut world, host, guest) = pair(3, config('b', "Bob"));
    let file = file(3);
    world.do_command(host, open("first", &file));
    world.run(secs(2));
    let before = world.sent_bytes(End::Node(host), End::Node(guest));
    world.do_command(host, open("second", &file));
    world.run(secs(1));
    assert_eq!(world.model_ids(guest), ["first", "second"]);
    assert_eq!(world.disagreement(&[host, guest]), None);
    assert_eq!(count(&world, guest, |e| matches!(e, Event::ModelReceived { .. })), 2);
    // Who comes again has it, too.
    world.do_command(guest, Command::Leave);
    world.run(ms(200));
    let sent = world.sent_bytes(End::Node(host), End::Node(guest)) - before;
    assert!(sent < 5_000, "{sent} bytes for what is here");
    world.join(guest, host);
    world.run(secs(1));
    assert_eq!(world.disagreement(&[host, guest]), None);
    let sent = world.sent_bytes(End::Node(host), End::Node(guest));
    assert!(sent < 8_000, "{sent} bytes to somebody who has it");
}

#[test]
fn close_and_cancel_stop_the_bytes_at_once() {
    for (case, closer) in [(0, "the sender closes"), (1, "the receiver closes"), (2, "the receiver cancels")]
    {
        let (mut world, host, guest) = pair(4 + case, config('b', "Bob"));
        world.set_rate(End::Node(host), End::Node(guest), 400_000);
        world.do_command(host, open("m", &file(20)));
        world.run(secs(2));
        match case {
            0 => world.do_command(host, close("m")),
            1 => world.do_command(guest, close("m")),
            _ => world.do_command(guest, Command::CancelModel { model_id: "m".into() }),
        }
        // What is on its way, and the message's own way.
        world.run(ms(150));
        let before = world.sent_bytes(End::Node(host), End::Node(guest));
        world.run(secs(2));
        let sent = world.sent_bytes(End::Node(host), End::Node(guest)) - before;
        assert!(sent < 4_000, "{closer}: {sent} bytes more");
        assert!(world.left(guest).is_empty() && world.faults(host).is_empty(), "{closer}");
        assert_eq!(world.model_ids(guest).is_empty(), case != 2, "{closer}");
        // Another model comes as ever.
        world.do_command(host, open("n", &glb(9, 1000)));
        world.run(ms(500));
        assert!(world.view(guest).models.iter().any(|m| m.id == "n" && m.glb.is_some()), "{closer}");
    }
}

/// A scripted Convene peer that has joined.
pub fn scripted_guest(world: &mut World, host: usize, letter: char) -> usize {
    let script = world.script_joins(host);
    world.say(script, convene::wire::MEETING_PREFIX);
    let version = Version {
        version: Some("17".into()),
        ext: Some(1),
        id: Some(std::iter::repeat_n(letter, 16).collect()),
        methods: Some("raw".into()),
        ..Default::default()
    };
    world.say_message(script, &Message::Version(version));
    world.run(ms(100));
    script
}

fn offer_of(model_id: &str, file: &[u8]) -> Message {
    let content: String = blake3::hash(file).to_hex().to_string();
    Message::Offer(Offer {
        model_id: model_id.into(),
        model_name: "m.glb".into(),
        rotation: QuatJson { w: 1.0, ..Default::default() },
        scale: 1.0,
        shown: true,
        bytes: file.len() as u64,
        content,
        representations: vec![Representation { method: "raw".into(), version: 1, ..Default::default() }],
        ..Default::default()
    })
}

/// The latest want that a script has heard.
pub fn want_of(world: &World, script: usize) -> Option<Want> {
    let heard = world.scripts[script].heard.iter().rev().find(|(_, p)| p[0] == 0x44)?;
    match Message::decode(&heard.1, &Default::default()) {
        Ok(Some(Message::Want(want))) => Some(want),
        _ => None,
    }
}

/// The largest credit of a channel that a script has heard.
pub fn credit_of(world: &World, script: usize, channel: u16) -> u64 {
    let credits = world.scripts[script].heard.iter().filter_map(|(_, p)| {
        (p[0] == 0x46).then(|| bulk::decode_credit(p)).flatten().filter(|(c, _)| *c == channel)
    });
    credits.map(|(_, max)| max).max().unwrap_or(0)
}

pub fn say_data(world: &mut World, script: usize, channel: u16, offset: u64, bytes: &[u8]) {
    let mut frame = bytes::BytesMut::new();
    bulk::put_data_head(&mut frame, channel, offset, bytes.len());
    frame.extend_from_slice(bytes);
    world.say(script, &frame);
}

/// Sends all that a want asks for, as fast as credit allows; `spoil` may damage
/// the stream.
fn serve(world: &mut World, script: usize, file: &bytes::Bytes, spoil: impl Fn(&mut Vec<u8>)) {
    let want = want_of(world, script).expect("it is asked for");
    let holding = Holding::whole(*blake3::hash(file).as_bytes(), file.clone());
    let mut stream = Vec::new();
    let mut chunks = 0;
    for index in want.missing.iter().flat_map(|(first, count)| *first..first + count) {
        let chunk = holding.chunk(index).unwrap();
        stream.extend_from_slice(&chunk.header.encode());
        stream.extend_from_slice(&chunk.bytes);
        chunks += 1;
    }
    spoil(&mut stream);
    let mut sent = 0;
    while sent < stream.len() {
        let allowed = credit_of(world, script, want.channel).min(stream.len() as u64) as usize;
        for piece in stream[sent..allowed].chunks(4096) {
            say_data(world, script, want.channel, sent as u64, piece);
            sent += piece.len();
        }
        world.run(ms(10));
    }
    let done = bulk::Done { channel: want.channel, chunks, content: *blake3::hash(file).as_bytes() };
    world.say(script, &encode_frame(&done.encode()));
    world.run(ms(100));
}

#[test]
fn a_damaged_chunk_is_asked_for_once_more_then_told() {
    let file = file(3);
    for times in [1, 2] {
        let mut world = World::new(10 + times);
        let host = world.add_host(config('a', "Ada"));
        let other = world.add(config('c', "Cid"));
        world.join(other, host);
        let script = scripted_guest(&mut world, host, 'b');
        world.say_message(script, &offer_of("m", &file));
        world.run(ms(100));
        assert_eq!(want_of(&world, script).unwrap().missing, [(0, 3)]);
        serve(&mut world, script, &file, |stream| stream[CHUNK_BYTES + 500] ^= 1);
        assert_eq!(want_of(&world, script).unwrap().missing, [(1, 1)], "only the damaged one");
        serve(&mut world, script, &file, |stream| stream[5000] ^= u8::from(times == 2));
        world.run(secs(1));
        assert!(world.scripts[script].closed.is_none(), "the connection goes on");
        for node in [host, other] {
            if times == 1 {
                assert!(is_whole(&world, node, &file), "node {node}");
            } else {
                assert!(world.model_ids(node).is_empty(), "node {node}");
                let failed = |e: &Event| matches!(e, Event::ModelFailed { .. } | Event::ModelClosed { .. });
                assert_eq!(count(&world, node, failed), 1, "node {node} is told");
            }
        }
    }
}

#[test]
fn a_file_that_is_not_what_was_offered_is_refused() {
    let (file, other_file) = (file(2), glb(3, 2 * CHUNK_BYTES));
    let mut world = World::new(13);
    let host = world.add_host(config('a', "Ada"));
    let script = scripted_guest(&mut world, host, 'b');
    world.say_message(script, &offer_of("m", &file));
    world.run(ms(100));
    serve(&mut world, script, &other_file, |_| {});
    assert!(world.model_ids(host).is_empty());
    assert_eq!(count(&world, host, |e| matches!(e, Event::ModelFailed { .. })), 1);
}

#[test]
fn who_exceeds_a_window_is_cut_and_nobody_else() {
    let file = file(3);
    let wrong: [&dyn Fn(&mut World, usize, u16); 6] = [
        // Beyond what was granted.
        &|world, script, channel| {
            let allowed = credit_of(world, script, channel);
            say_data(world, script, channel, 0, &vec![0; allowed as usize + 1]);
        },
        // A gap.
        &|world, script, channel| say_data(world, script, channel, 10, &[0; 10]),
        // Bytes twice.
        &|world, script, channel| {
            let holding = Holding::whole([0; 32], vec![0; 3 * CHUNK_BYTES].into());
            let head = holding.chunk(0).unwrap().header.encode();
            say_data(world, script, channel, 0, &head);
            say_data(world, script, channel, 0, &head);
        },
        // A channel that nobody opened.
        &|world, script, _| say_data(world, script, 77, 0, &[0; 10]),
        // A header that is none.
        &|world, script, channel| say_data(world, script, channel, 0, &[0xff; 100]),
        // Chunks that there are not.
        &|world, script, _| {
            let want = Want {
                model_id: "ours".into(),
                channel: 1,
                method: "raw".into(),
                missing: vec![(0, u32::MAX), (1, 5)],
            };
            world.say_message(script, &Message::Want(want));
        },
    ];
    for (n, say) in wrong.iter().enumerate() {
        let mut world = World::new(20 + n as u64);
        let host = world.add_host(config('a', "Ada"));
        let other = world.add(config('c', "Cid"));
        world.join(other, host);
        world.do_command(host, open("ours", &glb(1, 5000)));
        let script = scripted_guest(&mut world, host, 'b');
        world.say_message(script, &offer_of("m", &file));
        world.run(ms(100));
        let channel = want_of(&world, script).unwrap().channel;
        say(&mut world, script, channel);
        world.run(ms(300));
        assert!(world.scripts[script].closed.is_some(), "case {n}: cut");
        assert_eq!(world.faults(host).len(), 1, "case {n}: {:?}", world.faults(host));
        assert!(world.left(other).is_empty(), "case {n}: nobody else");
        assert_eq!(world.model_ids(other), ["ours"], "case {n}: and what it had begun is gone");
    }
}

#[test]
fn credit_that_goes_backwards_is_a_fault() {
    let mut world = World::new(30);
    let host = world.add_host(config('a', "Ada"));
    world.do_command(host, open("ours", &file(4)));
    let script = scripted_guest(&mut world, host, 'b');
    let want = Want { model_id: "ours".into(), channel: 9, method: "raw".into(), missing: vec![(0, 4)] };
    world.say_message(script, &Message::Want(want));
    world.say(script, &encode_frame(&bulk::encode_credit(9, 10_000)));
    world.run(ms(200));
    let data: usize =
        world.scripts[script].heard.iter().filter(|(_, p)| p[0] == 0x45).map(|(_, p)| p.len() - 11).sum();
    assert_eq!(data, 10_000, "all that is allowed, and no more");
    assert!(world.scripts[script].closed.is_none());
    world.say(script, &encode_frame(&bulk::encode_credit(9, 9_999)));
    world.run(ms(200));
    assert!(world.scripts[script].closed.is_some());
}

#[test]
fn a_slow_guest_does_not_slow_the_sender_nor_a_fast_one() {
    let mut world = World::new(31);
    let host = world.add_host(config('a', "Ada"));
    let [sender, fast, slow] =
        world.add_guests(host, [config('b', "Bob"), config('c', "Cid"), config('d', "Dot")]);
    world.run(ms(300));
    let file = file(8);
    world.set_rate(End::Node(sender), End::Node(host), 2_000_000);
    world.set_rate(End::Node(host), End::Node(slow), 50_000);
    world.do_command(sender, open("m", &file));
    world.run(ms(700));
    assert!(received(&world, host) < file.len(), "the host does not have it yet");
    assert!(received(&world, fast) > file.len() / 8, "chunks are passed on before it is whole");
    world.run(ms(1000));
    assert!(is_whole(&world, host, &file) && is_whole(&world, fast, &file), "at the sender's speed");
    assert!(received(&world, slow) < 200_000);
    world.run(secs(50));
    assert!(is_whole(&world, slow, &file), "and the slow one at its own");
}

#[test]
fn a_slow_store_stops_the_models_and_not_the_poses() {
    let (mut world, host, guest) = pair(
        32,
        Config { bulk: BulkConfig { window: WindowMode::Fixed(100_000), step: None }, ..config('b', "Bob") },
    );
    world.nodes[guest].store_stands = true;
    let file = file(4);
    world.do_command(host, open("m", &file));
    for stamp in 1..40u64 {
        let body = convene::session::Body::rest();
        world.do_command(host, Command::Pose { body, stamp: stamp * 50_000_000 });
        world.run(ms(50));
    }
    let sent = world.sent_bytes(End::Node(host), End::Node(guest));
    assert!((100_000..120_000).contains(&sent), "a window of the model, and poses: {sent}");
    let age = world.participant(guest, "aaaaaaaa").and_then(|p| p.pose_age).unwrap();
    assert!(age < ms(100), "{age:?}");
    world.let_store_go_on(guest);
    world.run(secs(2));
    assert!(is_whole(&world, guest, &file));
}

#[test]
fn somebody_who_joins_during_motion_sees_poses_first() {
    let mut world = World::new(33);
    let host = world.add_host(config('a', "Ada"));
    world.do_command(host, open("m", &file(8)));
    let guest = world.add(config('b', "Bob"));
    let body = convene::session::Body::rest();
    world.do_command(host, Command::Pose { body, stamp: 1_000_000_000 });
    world.join(guest, host);
    world.set_rate(End::Node(host), End::Node(guest), 100_000);
    let mut first = None;
    for n in 0..60u64 {
        world.do_command(host, Command::Pose { body, stamp: 1_000_000_000 + n * 10_000_000 });
        world.run(ms(10));
        let poses = world.participant(guest, "aaaaaaaa").map_or(0, |p| p.poses);
        if poses >= 2 && first.is_none() {
            first = Some(n * 10);
        }
    }
    assert!(first.is_some_and(|after| after <= 150), "after {first:?} ms");
    assert!(received(&world, guest) < 100_000, "the model is far from whole");
}

#[test]
fn small_and_shown_models_come_first() {
    let (mut world, host, guest) = pair(34, config('b', "Bob"));
    world.set_rate(End::Node(host), End::Node(guest), 500_000);
    world.do_command(host, open("large", &file(8)));
    world.run(ms(100));
    world.do_command(host, open("small", &glb(1, 20_000)));
    world.run(ms(600));
    let view = world.view(guest);
    let whole = |id: &str| view.models.iter().any(|m| m.id == id && m.glb.is_some());
    assert!(whole("small") && !whole("large"), "it overtakes");
}

#[test]
fn half_of_a_model_whose_sender_leaves_goes_everywhere() {
    let mut world = World::new(35);
    let host = world.add_host(config('a', "Ada"));
    let [sender, other] = world.add_guests(host, [config('b', "Bob"), config('c', "Cid")]);
    world.run(ms(300));
    world.set_rate(End::Node(sender), End::Node(host), 500_000);
    let file = file(4);
    world.do_command(sender, open("m", &file));
    world.run(ms(1500));
    assert_eq!(world.model_ids(other), ["m"]);
    world.break_link(End::Node(sender), End::Node(host));
    world.run(secs(1));
    assert!(world.model_ids(host).is_empty() && world.model_ids(other).is_empty());
    // It comes back: only the rest is sent.
    world.join(sender, host);
    world.run(ms(300));
    world.do_command(sender, Command::ShareModel { model_id: "m".into() });
    world.run(secs(3));
    assert!(is_whole(&world, host, &file) && is_whole(&world, other, &file));
    let sent = world.sent_bytes(End::Node(sender), End::Node(host));
    assert!(sent < file.len() * 3 / 4, "{sent}");
}

#[test]
fn slow_links_get_it_packed_and_everybody_the_very_file() {
    let packing = |letter, name| Config { methods: Method::ALL.to_vec(), ..config(letter, name) };
    let mut world = World::new(36);
    let host = world.add_host(packing('a', "Ada"));
    let [sender, other] = world.add_guests(host, [packing('b', "Bob"), packing('c', "Cid")]);
    let plain = world.add(config('d', "Dot"));
    world.join(plain, host);
    let script = world.script_joins(host);
    world.say_hello(script, "17");
    world.run(ms(600));
    // Two hops of 20 ms there and back: slow enough.
    let file = file(6);
    world.do_command(sender, open("m", &file));
    world.run(secs(3));
    for node in [host, other, plain] {
        assert!(is_whole(&world, node, &file), "node {node}");
    }
    let looksee = world.scripts[script].heard.iter().find(|(_, p)| p[0] == 3).expect("LookSee has it, too");
    assert!(looksee.1.ends_with(&file));
    for (from, to) in [(sender, host), (host, other)] {
        let sent = world.sent_bytes(End::Node(from), End::Node(to));
        assert!(sent < file.len() / 3, "{sent} bytes from {from} to {to}");
    }
    let late = world.add(packing('e', "Eve"));
    world.join(late, host);
    world.run(secs(3));
    assert!(is_whole(&world, late, &file), "who comes late");
    assert!(world.sent_bytes(End::Node(host), End::Node(late)) < file.len() / 3);
}

#[test]
fn a_model_that_stalls_stops_no_other() {
    let mut world = World::new(37);
    let host = world.add_host(config('a', "Ada"));
    let [sender, other] = world.add_guests(host, [config('b', "Bob"), config('c', "Cid")]);
    world.run(ms(300));
    // The sender falls silent at half of its model, which the other is waiting for
    // with all the credit that there is.
    world.set_rate(End::Node(sender), End::Node(host), 1_000_000);
    world.do_command(sender, open("stalls", &file(8)));
    world.run(secs(1));
    world.freeze(End::Node(sender), End::Node(host), true);
    world.run(ms(300));
    let file = glb(5, 8 * CHUNK_BYTES - 9);
    world.do_command(host, open("goes on", &file));
    world.run(secs(2));
    let view = world.view(other);
    let model = view.models.iter().find(|m| m.id == "goes on").expect("it was offered");
    assert_eq!(model.glb.as_ref(), Some(&file));
    world.freeze(End::Node(sender), End::Node(host), false);
    world.run(secs(3));
    assert!(world.view(other).models.iter().all(|m| m.glb.is_some()));
}
