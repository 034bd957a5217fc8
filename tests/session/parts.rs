//! Models in parts: the same model at everybody, each in a way that they read.

use super::glb::Glb;
use super::meeting::{End, World, ms, open, open_in_parts, secs};
use super::sheet::{counts, sheet};
use super::transfers::{credit_of, say_data, scripted_guest, want_of};
use bytes::Bytes;
use convene::mesh::{Encoding, NORMAL_BITS};
use convene::session::{Command, Config, Event};
use convene::transfer::{Chunk, Method};
use convene::wire::{
    Message,
    message::{Offer, QuatJson, Representation},
};

fn ways(world: &World, node: usize) -> Vec<convene::session::Way> {
    let events = world.nodes[node].events.iter();
    events.filter_map(|e| if let Event::ModelReceived { way, .. } = e { Some(*way) } else { None }).collect()
}

/// Somebody who takes models in every way.
fn config(letter: char, name: &str) -> Config {
    Config { methods: Method::ALL.to_vec(), ..super::meeting::config(letter, name) }
}

fn without_parts(mut config: Config) -> Config {
    config.methods = vec![Method::Raw, Method::Gzip];
    config
}

#[test]
fn parts_come_one_by_one_and_make_the_model() {
    let mut world = World::new(1);
    let host = world.add_host(config('a', "Ada"));
    let guest = world.add(config('b', "Bob"));
    world.join(guest, host);
    world.run(ms(300));
    world.set_rate(End::Node(host), End::Node(guest), 300_000);
    let file = Bytes::from(sheet(250));
    world.do_command(host, open_in_parts("m", &file));
    // Some are here before the last; the view has them.
    let mut seen = 0;
    for _ in 0..100 {
        world.run(ms(50));
        let model = &world.view(guest).models[0];
        let Some(holding) = &model.in_parts else { break };
        let here = holding.parts().map_or(0, |parts| parts.held());
        assert!(here >= seen);
        seen = here;
        assert!(model.glb.is_none());
    }
    assert!(seen >= 2, "{seen}");
    world.run(secs(5));
    let model = world.view(guest).models[0].clone();
    let glb = model.glb.unwrap();
    assert_eq!(counts(&glb).0, counts(&file).0);
    assert!(!model.exact && model.max_error > 0.0 && model.max_error < 0.01);
    assert!(model.in_parts.is_none());
    assert_eq!(
        model.content,
        Some(*blake3::hash(&file).as_bytes()),
        "it is still known by the opener's file"
    );
    let [way] = ways(&world, guest)[..] else { panic!("it came once") };
    assert_eq!(way.method, Method::Mesh);
    assert!(way.parts[1] >= 2 && way.wire_bytes * 5 < file.len() as u64, "{way:?}");
    let parts = world.nodes[guest].events.iter().filter(|e| matches!(e, Event::ModelPart { .. })).count();
    assert!(parts as u32 > way.parts[1], "and its head");
}

#[test]
fn a_host_passes_on_what_it_received_and_makes_a_file_for_those_who_read_no_parts() {
    let mut world = World::new(2);
    let host = world.add_host(config('a', "Ada"));
    let opener = world.add(config('b', "Bob"));
    let reader = world.add(config('c', "Cyd"));
    let old = world.add(without_parts(config('d', "Dan")));
    for node in [opener, reader, old] {
        world.join(node, host);
    }
    let looksee = world.script_joins(host);
    world.say_hello(looksee, "17");
    world.run(ms(500));
    let file = Bytes::from(sheet(120));
    world.do_command(opener, open_in_parts("m", &file));
    world.run(secs(4));
    let at = |world: &World, node: usize| world.view(node).models[0].glb.clone().unwrap();
    let here = at(&world, host);
    assert_eq!(here, at(&world, reader), "they made the same file of the same parts");
    assert_eq!(at(&world, old), here, "it got that file");
    assert!(world.view(old).models[0].exact, "to it, it is the very file");
    assert_eq!(ways(&world, reader)[0].method, Method::Mesh);
    assert!(matches!(ways(&world, old)[0].method, Method::Raw | Method::Gzip));
    let frames =
        world.scripts[looksee].heard.iter().map(|(_, payload)| payload).filter(|payload| payload[0] == 3);
    let [frame] = &frames.collect::<Vec<_>>()[..] else { panic!("one model") };
    assert!(frame.ends_with(&here));
    assert_eq!(counts(&here).0, counts(&file).0);
    let packed = &world.nodes[host].packed;
    assert!(!packed.contains(&Method::Mesh), "it passed on what it got: {packed:?}");
    let for_old = packed.len();
    // Whoever comes later gets it, too, each in their way.
    let late = world.add(config('e', "Eve"));
    let late_old = world.add(without_parts(config('f', "Fay")));
    for node in [late, late_old] {
        world.join(node, host);
    }
    world.run(secs(4));
    assert_eq!(at(&world, late), here);
    assert_eq!(at(&world, late_old), here);
    assert_eq!(world.nodes[host].packed.len(), for_old, "nothing was made a second time");
    assert!(world.nodes[reader].packed.is_empty() && world.nodes[late].packed.is_empty());
}

#[test]
fn a_second_guest_costs_no_encoding() {
    let mut world = World::new(9);
    let host = world.add_host(config('a', "Ada"));
    let first = world.add(config('b', "Bob"));
    world.join(first, host);
    world.run(ms(300));
    let file = Bytes::from(sheet(200));
    world.do_command(host, open_in_parts("m", &file));
    world.run(secs(2));
    let made = world.nodes[host].packed.clone();
    assert!(made.len() >= 3 && made.iter().all(|method| *method == Method::Mesh), "{made:?}");
    // Those who come later, and one who asks while it is sent to another.
    for letter in ['c', 'd', 'e'] {
        let guest = world.add(config(letter, "Guest"));
        world.join(guest, host);
        world.run(ms(20));
    }
    world.run(secs(3));
    for guest in first..=first + 3 {
        assert_eq!(counts(world.view(guest).models[0].glb.as_ref().unwrap()).0, counts(&file).0);
    }
    assert_eq!(world.nodes[host].packed, made, "each chunk was made once");
}

#[test]
fn exact_is_exact() {
    for (host_exact, guest_exact) in [(true, false), (false, true)] {
        let mut world = World::new(3);
        let mut host = config('a', "Ada");
        let mut guest = config('b', "Bob");
        (host.exact, guest.exact) = (host_exact, guest_exact);
        let host = world.add_host(host);
        let guest = world.add(guest);
        world.join(guest, host);
        world.run(ms(300));
        let file = Bytes::from(sheet(120));
        world.do_command(host, open_in_parts("m", &file));
        world.run(secs(3));
        let model = world.view(guest).models[0].clone();
        assert!(model.exact && model.glb == Some(file.clone()));
        assert!(ways(&world, guest)[0].exact);
        // From now on not.
        world.do_command(host, Command::Exact { on: false });
        world.do_command(guest, Command::Exact { on: false });
        let other = Bytes::from(sheet(121));
        world.do_command(host, open_in_parts("n", &other));
        world.run(secs(3));
        assert!(!world.view(guest).models[1].exact);
    }
}

#[test]
fn who_wants_it_exactly_gets_what_there_is() {
    let mut world = World::new(8);
    let host = world.add_host(config('a', "Ada"));
    let opener = world.add(config('b', "Bob"));
    world.join(opener, host);
    world.run(ms(300));
    world.do_command(opener, open_in_parts("m", &Bytes::from(sheet(120))));
    world.run(secs(2));
    let late = world.add(Config { exact: true, ..config('c', "Cyd") });
    world.join(late, host);
    world.run(secs(2));
    let (there, here) = (world.view(host).models[0].clone(), world.view(late).models[0].clone());
    assert!(there.glb.is_some() && there.glb == here.glb && !here.exact);
}

#[test]
fn what_was_received_is_not_sent_again_in_parts_either() {
    let mut world = World::new(4);
    let host = world.add_host(config('a', "Ada"));
    let guest = world.add(config('b', "Bob"));
    world.join(guest, host);
    world.run(ms(300));
    world.set_rate(End::Node(host), End::Node(guest), 60_000);
    let file = Bytes::from(sheet(300));
    world.do_command(host, open_in_parts("m", &file));
    world.run(ms(1500));
    let before = world.sent_bytes(End::Node(host), End::Node(guest));
    world.break_link(End::Node(guest), End::Node(host));
    world.run(ms(500));
    world.join(guest, host);
    world.run(secs(20));
    let after = world.sent_bytes(End::Node(host), End::Node(guest));
    assert_eq!(counts(world.view(guest).models[0].glb.as_ref().unwrap()).0, counts(&file).0);
    let way = *ways(&world, guest).last().unwrap();
    assert!(way.wire_bytes < after as u64, "{before} {after} {way:?}");
    assert!(way.wire_bytes > 0);
    // The same bytes once more, under another id, cost nothing.
    world.do_command(host, open_in_parts("n", &file));
    world.run(secs(2));
    let again = world.sent_bytes(End::Node(host), End::Node(guest));
    assert!(again - after < 5_000, "{after} {again}");
    let view = world.view(guest);
    assert_eq!(view.models[0].glb, view.models[1].glb);
    assert!(!view.models[1].exact && view.models[1].max_error == view.models[0].max_error);
}

#[test]
fn small_and_unusual_models_go_as_ever() {
    let mut world = World::new(5);
    let host = world.add_host(config('a', "Ada"));
    let guest = world.add(config('b', "Bob"));
    world.join(guest, host);
    world.run(ms(300));
    let file = Bytes::from(Glb::quad().build());
    world.do_command(host, open("m", &file));
    world.run(secs(1));
    assert_eq!(world.view(guest).models[0].glb, Some(file));
}

/// A chunk with its header, whatever is in it.
fn chunk(index: u32, decoded: usize, bytes: &[u8]) -> Vec<u8> {
    let chunk = Chunk::packed(index, Method::Mesh, decoded, Bytes::copy_from_slice(bytes));
    [&chunk.header.encode()[..], bytes].concat()
}

#[test]
fn parts_that_lie_end_their_model_or_their_sender_alone() {
    let good = Bytes::from(sheet(60));
    let plan = convene::mesh::Plan::new(&good).unwrap();
    let encoded = |index| plan.encode(index, Encoding::Fast, NORMAL_BITS).unwrap();
    let (head, part) = (encoded(0), encoded(1));
    // What it sends as its second chunk, and whether its connection ends.
    let mut flipped = part.bytes.clone();
    flipped[12] ^= 1;
    let cases: [(&str, Vec<u8>, bool); 6] = [
        ("garbage", chunk(1, 100, &[7; 100]), false),
        ("a head in the place of a part", chunk(1, head.decoded_bytes, &head.bytes), false),
        ("another number of vertices", chunk(1, part.decoded_bytes, &flipped), false),
        ("more than it says", chunk(1, part.decoded_bytes - 4, &part.bytes), false),
        ("more than was offered", chunk(1, good.len() * 4 + (2 << 20), &part.bytes), true),
        ("one too many", chunk(2, part.decoded_bytes, &part.bytes), true),
    ];
    for (what, second, ends) in cases {
        let mut world = World::new(6);
        let host = world.add_host(config('a', "Ada"));
        let script = scripted_guest(&mut world, host, 'b');
        let offer = Offer {
            model_id: "m".into(),
            model_name: "m.glb".into(),
            rotation: QuatJson { x: 0.0, y: 0.0, z: 0.0, w: 1.0 },
            scale: 1.0,
            shown: true,
            bytes: good.len() as u64,
            content: blake3::hash(&good).to_hex().to_string(),
            representations: vec![Representation {
                method: "mesh".into(),
                version: 1,
                chunks: 2,
                ..Default::default()
            }],
            ..Default::default()
        };
        world.say_message(script, &Message::Offer(offer));
        world.run(ms(100));
        let channel = want_of(&world, script).unwrap().channel;
        let stream = [chunk(0, head.decoded_bytes, &head.bytes), second].concat();
        let mut sent = 0;
        for _ in 0..40 {
            let allowed = usize::try_from(credit_of(&world, script, channel)).unwrap().min(stream.len());
            if allowed > sent && world.scripts[script].closed.is_none() {
                say_data(&mut world, script, channel, sent as u64, &stream[sent..allowed]);
                sent = allowed;
            }
            world.run(ms(20));
        }
        assert_eq!(world.scripts[script].closed.is_some(), ends, "{what}");
        assert!(world.view(host).models.is_empty(), "{what}");
        if !ends {
            let told = world.nodes[host].events.iter().any(|event| {
                matches!(event, Event::ModelFailed { error, .. } if error.contains("parts cannot be read"))
            });
            assert!(told, "{what}: its reason is told");
        }
    }
}

#[test]
fn offers_name_the_chunks_of_parts_alone() {
    let mut world = World::new(7);
    let host = world.add_host(config('a', "Ada"));
    let guest = world.add(config('b', "Bob"));
    world.join(guest, host);
    world.run(ms(300));
    world.do_command(host, open_in_parts("m", &Bytes::from(sheet(100))));
    world.run(secs(1));
    let mut offers = world.nodes[host].handed.iter().filter_map(|(_, _, payload)| {
        match Message::decode(payload, &convene::wire::Limits::default()) {
            Ok(Some(Message::Offer(offer))) => Some(offer),
            _ => None,
        }
    });
    let offer = offers.next_back().unwrap();
    for way in &offer.representations {
        assert_eq!(way.chunks > 0, way.method == "mesh", "{way:?}");
    }
    assert!(offer.representations.iter().any(|way| way.method == "exact"));
}
