//! Whatever three people do, in the end they agree.

use super::meeting::*;
use super::rng::Rng;
use convene::session::{Command, Config, Move};
use glam::{Quat, Vec3};
use proptest::prelude::*;

#[derive(Debug, Clone, Copy)]
enum Act {
    Open,
    Close,
    Move,
    Toggle,
    Scene,
    KeepAligned,
    OriginalAlignment,
    Wait,
    Rejoin,
}

const ACTS: [Act; 12] = [
    Act::Open,
    Act::Close,
    Act::Move,
    Act::Move,
    Act::Move,
    Act::Toggle,
    Act::Scene,
    Act::KeepAligned,
    Act::OriginalAlignment,
    Act::Wait,
    Act::Wait,
    Act::Rejoin,
];

fn do_act(world: &mut World, nodes: [usize; 3], who: usize, act: Act, rng: &mut Rng, made: &mut u32) {
    let node = nodes[who];
    let view = world.view(node);
    let whole: Vec<_> = view.models.iter().filter(|m| m.glb.is_some() && m.shared).collect();
    let pick = (!whole.is_empty()).then(|| whole[rng.below(whole.len())].clone());
    let to = Move {
        position: Some(Vec3::new(rng.unit(), rng.unit(), rng.unit()) * 2.0),
        rotation: Some(Quat::from_rotation_y(3.0 * rng.unit())),
        scale: Some(1.0 + 0.7 * rng.unit()),
    };
    let command = match act {
        Act::Open => {
            *made += 1;
            let bytes = 500 + rng.below(60_000);
            let side = 1.0 + rng.below(4) as f32;
            open_measured(&format!("m{made}"), &glb(*made as u8, bytes), cube(side), false)
        }
        Act::Close => match pick {
            Some(model) => close(&model.id),
            None => return,
        },
        Act::Move => match pick {
            Some(model) => Command::MoveModel { model_id: model.id, to },
            None => return,
        },
        Act::Toggle => match pick {
            Some(model) => show(&model.id, !model.shown),
            None => return,
        },
        Act::Scene => Command::MoveScene { to },
        Act::KeepAligned => Command::KeepAligned { on: !view.keep_aligned },
        Act::OriginalAlignment => Command::OriginalAlignment,
        Act::Wait => return world.run(ms(10 + rng.below(300) as u64)),
        Act::Rejoin => {
            if who == 0 {
                return;
            }
            world.do_command(node, Command::Leave);
            world.run(ms(100));
            world.join(node, nodes[0]);
            return world.run(ms(200));
        }
    };
    world.do_command(node, command);
}

/// `alone`: after each act there is time for it to reach everybody.
fn play(seed: u64, steps: &[(usize, Act)], configs: [Config; 3], alone: bool) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let mut world = World::new(seed);
    let [host, b, c] = configs;
    let host = world.add_host(host);
    let nodes = [host, world.add(b), world.add(c)];
    world.join(nodes[1], host);
    world.join(nodes[2], host);
    world.run(ms(200));
    let mut made = 0;
    for &(who, act) in steps {
        do_act(&mut world, nodes, who, act, &mut rng, &mut made);
        world.run(if alone { ms(150) } else { ms(5 * rng.below(3) as u64) });
    }
    world.run(secs(5));
    for node in nodes {
        if !world.faults(node).is_empty() {
            return Err(format!("node {node}: {:?}", world.faults(node)));
        }
    }
    if let Some(why) = world.disagreement(&nodes) {
        return Err(why);
    }
    // Whoever comes now finds the same.
    let late = world.add(config('d', "Dan"));
    world.join(late, host);
    world.run(secs(1));
    world.disagreement(&[host, late]).map_or(Ok(()), |why| Err(format!("late joiner: {why}")))
}

fn steps() -> impl Strategy<Value = Vec<(usize, Act)>> {
    proptest::collection::vec((0usize..3, proptest::sample::select(&ACTS[..])), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn three_convene_peers_agree(seed in any::<u64>(), steps in steps()) {
        let configs = [config('a', "Ada"), config('b', "Bob"), config('c', "Cid")];
        prop_assert_eq!(play(seed, &steps, configs, true), Ok(()));
    }

    #[test]
    fn looksee_only_peers_agree(seed in any::<u64>(), steps in steps()) {
        let configs = [looksee_only('a', "Ada"), looksee_only('b', "Bob"), config('c', "Cid")];
        prop_assert_eq!(play(seed, &steps, configs, true), Ok(()));
    }

    #[test]
    fn three_who_do_things_at_the_same_moment_agree(seed in any::<u64>(), steps in steps(), looksee in 0u8..8) {
        let choose = |n: u8, letter, name| {
            if looksee >> n & 1 == 1 { looksee_only(letter, name) } else { config(letter, name) }
        };
        let configs = [choose(0, 'a', "Ada"), choose(1, 'b', "Bob"), choose(2, 'c', "Cid")];
        prop_assert_eq!(play(seed, &steps, configs, false), Ok(()));
    }

    #[test]
    fn one_who_acts_as_fast_as_it_likes_is_followed(
        seed in any::<u64>(), who in 0usize..3, steps in steps()
    ) {
        let configs = [config('a', "Ada"), config('b', "Bob"), config('c', "Cid")];
        let steps: Vec<_> = steps
            .into_iter()
            .filter(|(_, act)| !matches!(act, Act::Rejoin))
            .map(|(_, act)| (who, act))
            .collect();
        prop_assert_eq!(play(seed, &steps, configs, false), Ok(()));
    }
}
