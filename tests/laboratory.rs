//! The laboratory's own reckoning: links and delays. Without root, without links.
#![allow(dead_code, clippy::unwrap_used, reason = "parts of a benchmark, and a test")]

#[path = "../benches/transfer/lab/medium.rs"]
mod medium;
#[path = "../benches/transfer/lab/poses.rs"]
mod poses;

use medium::{Character, Medium};
use poses::{Arrival, delays, longest_gap, percentile};

const MS: u64 = 1_000_000;

/// 1,000 bytes a millisecond.
fn character() -> Character {
    Character { bytes_per_second: 1e6, delay_ns: 0, queue_bytes: 10_000, loss: 0.0, air: false }
}

/// Everything that arrives until then: when, to whom, how long.
fn arrive(medium: &mut Medium, until_ns: u64) -> Vec<(u64, usize, usize)> {
    let mut arrived = Vec::new();
    while let Some(next) = medium.next_ns().filter(|next| *next <= until_ns) {
        while let Some((to, packet)) = medium.poll(next) {
            arrived.push((next, to, packet.len()));
        }
    }
    arrived
}

#[test]
fn rate_and_delay() {
    let mut medium = Medium::new(Character { delay_ns: 20 * MS, ..character() }, 2, 1);
    for _ in 0..3 {
        medium.offer(5 * MS, 0, 1, &[0; 1000]);
    }
    // The other way is a bucket of its own.
    medium.offer(5 * MS, 1, 0, &[0; 500]);
    let arrived = arrive(&mut medium, 100 * MS);
    let expected = [(25 * MS + MS / 2, 0, 500), (26 * MS, 1, 1000), (27 * MS, 1, 1000), (28 * MS, 1, 1000)];
    assert_eq!(arrived, expected);
    // After a pause nothing has been saved up: no burst.
    medium.offer(200 * MS, 0, 1, &[0; 1000]);
    medium.offer(200 * MS, 0, 1, &[0; 1000]);
    assert_eq!(arrive(&mut medium, 300 * MS), [(221 * MS, 1, 1000), (222 * MS, 1, 1000)]);
}

#[test]
fn a_caller_that_is_late_does_not_slow_the_link() {
    let mut medium = Medium::new(character(), 2, 1);
    for _ in 0..10 {
        medium.offer(0, 0, 1, &[0; 1000]);
    }
    let mut count = 0;
    while medium.poll(10 * MS).is_some() {
        count += 1;
    }
    assert_eq!(count, 10, "ten milliseconds are ten packets, however often somebody looks");
}

#[test]
fn the_queue_has_an_end() {
    let mut medium = Medium::new(character(), 2, 1);
    for _ in 0..30 {
        medium.offer(0, 0, 1, &[0; 1000]);
    }
    // One is being sent, eleven wait: the last of them found ten thousand bytes, not more.
    assert_eq!(arrive(&mut medium, 100 * MS).len(), 12);
    assert_eq!(medium.dropped, 18);
}

#[test]
fn loss_is_as_often_as_said_and_the_same_for_a_seed() {
    let lossy = Character { loss: 0.01, queue_bytes: usize::MAX, ..character() };
    let lost = |seed| {
        let mut medium = Medium::new(lossy, 2, seed);
        (0..100_000).for_each(|_| medium.offer(0, 0, 1, &[0; 10]));
        medium.lost
    };
    for seed in 1..5 {
        assert!((800..1200).contains(&lost(seed)), "{} of 100,000 with seed {seed}", lost(seed));
    }
    assert_eq!(lost(3), lost(3));
    assert_ne!(lost(3), lost(4));
}

#[test]
fn air_is_shared_by_turns() {
    let mut medium = Medium::new(Character { air: true, ..character() }, 3, 1);
    // One has much to say, and began earlier; the other gets its turn all the same.
    for _ in 0..5 {
        medium.offer(0, 0, 1, &[0; 1000]);
    }
    for _ in 0..2 {
        medium.offer(MS / 2, 2, 0, &[0; 1000]);
    }
    let to: Vec<(u64, usize)> =
        arrive(&mut medium, 100 * MS).into_iter().map(|(at, to, _)| (at / MS, to)).collect();
    assert_eq!(to, [(1, 1), (2, 0), (3, 1), (4, 0), (5, 1), (6, 1), (7, 1)]);
}

fn arrival(at_ms: u64, number: usize) -> Arrival {
    Arrival { at_ns: at_ms * MS, number, from: "a".into() }
}

#[test]
fn a_replaced_pose_waits_for_the_next() {
    let written: Vec<u64> = [0, 10, 20, 30, 40].map(|ms| ms * MS).to_vec();
    // 2 and 3 were replaced by 4; 5 has not come; 4 came twice.
    let arrivals = [arrival(3, 1), arrival(100, 4), arrival(110, 4)];
    let found: Vec<f64> = delays(&written, &arrivals, 0, 110 * MS).into_iter().map(|(_, ms)| ms).collect();
    assert_eq!(found, [3.0, 90.0, 80.0, 70.0, 70.0]);
    assert_eq!(longest_gap(&arrivals, 0, 110 * MS), 97.0);
    // Within a span that a gap only touches, the gap counts whole.
    assert_eq!(longest_gap(&arrivals, 90 * MS, 95 * MS), 97.0);
    assert_eq!(longest_gap(&arrivals[..1], 0, 500 * MS), 497.0);
    assert_eq!(delays(&written, &arrivals, 20 * MS, 30 * MS).len(), 2);
}

#[test]
fn percentiles() {
    let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
    assert_eq!(percentile(&values, 0.5), Some(51.0));
    assert_eq!(percentile(&values, 0.99), Some(100.0));
    assert_eq!(percentile(&values, 1.0), Some(100.0));
    assert_eq!(percentile(&[], 0.5), None);
}
