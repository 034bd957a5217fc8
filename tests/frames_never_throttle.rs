//! Models travel at the speed of the link, whoever draws frames how slowly, and
//! poses between others do not wait for them. Here without a window: networks
//! and bare sockets in one process.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

#[path = "common/nets.rs"]
mod nets;
#[path = "common/process.rs"]
mod process;
#[path = "common/raw.rs"]
mod raw;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use convene::wire::{Frame, Limits, Message};
use nets::{guest, host, net, open, wait_for_model};
use process::thread;
use raw::{RawPeer, convene_version, looksee_version, pose};

/// Of the large model.
const BYTES: usize = 23 << 20;

/// From the opener's command to the guest's last byte, while nobody takes the
/// events of either until the end: as if both drew no frame.
#[test]
fn a_model_needs_no_frames() {
    let (host, port) = host(None);
    let guest = guest(port);
    let start = Instant::now();
    open(&host, "large", BYTES);
    assert_eq!(wait_for_model(&guest), BYTES);
    let time = start.elapsed();
    println!("{} MB in {:.0} ms", BYTES >> 20, time.as_secs_f64() * 1e3);
    // On the wire of LookSee at 72 frames a second this took 2 s and more.
    assert!(time < Duration::from_secs(10), "{time:?}");

    // A view, not a queue: whoever slept sees the model with one look.
    process::wait_until("the model in the view", || {
        guest.view().models.iter().any(|m| m.id == "large" && m.glb.is_some())
    });
    drop(net(None));
}

/// Reads poses until it is told to stop; when each came.
fn watch(
    mut peer: RawPeer,
    device_id: &'static str,
    stop: Arc<AtomicBool>,
) -> std::thread::JoinHandle<Vec<Instant>> {
    thread(move || {
        let mut times = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            // Somebody who is silent is sent nothing.
            peer.send(&Message::Pong(1));
            let Some(Frame::Message(payload)) = peer.next_within(Duration::from_millis(50)) else { continue };
            if let Ok(Some(Message::WandPosition(m))) = Message::decode(&payload, &Limits::default())
                && m.device_id == device_id
            {
                times.push(Instant::now());
            }
        }
        times
    })
}

/// One guest's poses reach another at their rate while a third one gets a large
/// model over a slow link, and a fourth one that comes meanwhile is served.
#[test]
fn poses_of_others_do_not_wait_for_a_model() {
    const HZ: f64 = 100.0;
    // About two seconds for the model.
    let (host, port) = host(Some(BYTES as f64 * 8.0 / 1e6 / 2.0));
    let mut sender = RawPeer::join(port, &looksee_version("17"));
    let mut watcher = RawPeer::join(port, &convene_version("1111222233334444"));
    let stop = Arc::new(AtomicBool::new(false));
    let posing = thread({
        let stop = stop.clone();
        move || {
            let start = Instant::now();
            let mut count = 0u32;
            while !stop.load(Ordering::Relaxed) && start.elapsed() < Duration::from_secs(60) {
                sender.send(&pose("aaaabbbb", count as f32 * 1e-3));
                count += 1;
                // What it is told it reads, the model too.
                while sender.next_within(Duration::from_micros(1)).is_some() {}
                let due = start + Duration::from_secs_f64(f64::from(count) / HZ);
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
        }
    });
    // Those two have the model before it counts.
    open(&host, "large", BYTES);
    watcher.wait_for(|f| matches!(f, Frame::Model(_)));
    let watching = watch(watcher, "aaaabbbb", stop.clone());

    let begin = Instant::now();
    let third = guest(port);
    let joined = Instant::now();
    let mut late = RawPeer::connect(port);
    late.greet(&looksee_version("17"));
    late.wait_for_type(9);
    late.wait_for(|f| matches!(f, Frame::ModelStarted(_)));
    let served = joined.elapsed();
    assert_eq!(wait_for_model(&third), BYTES);
    let end = Instant::now();
    late.wait_for(|f| matches!(f, Frame::Model(m) if m.glb.len() == BYTES));
    stop.store(true, Ordering::Relaxed);
    posing.join().unwrap();
    let times: Vec<Instant> =
        watching.join().unwrap().into_iter().filter(|t| (begin..end).contains(t)).collect();
    let seconds = (end - begin).as_secs_f64();
    let gap = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    println!(
        "the model took {seconds:.2} s; {:.1} poses a second beside it, the longest gap {:.0} ms; the late one served after {:.0} ms",
        times.len() as f64 / seconds,
        gap.as_secs_f64() * 1e3,
        served.as_secs_f64() * 1e3,
    );
    assert!(times.len() as f64 / seconds > HZ / 10.0, "{} poses in {seconds} s", times.len());
    assert!(gap < Duration::from_secs(1), "a gap of {gap:?}");
    assert!(served < Duration::from_secs(5), "{served:?}");
}
