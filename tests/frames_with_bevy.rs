//! Frames never throttle the meeting: host and guest are apps that draw five
//! frames a second and then none for ten seconds, and the others notice nothing.
#![cfg(feature = "app")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, its helpers included")]

#[path = "common/nets.rs"]
mod nets;

use std::{
    thread::JoinHandle,
    time::{Duration, Instant},
};

use bevy::prelude::*;
use convene::{
    app::{self, AppOptions},
    net::{Net, NetCommand, NetEvent, Viewer},
    session::{Body, Event},
    threads::monotonic_nanoseconds,
    workers::Workers,
};
use nets::{guest, host, net, open, wait_for_model};

const BYTES: usize = 6 << 20;
/// How long the model takes at its pace.
const TRANSFER: Duration = Duration::from_secs(4);
const POSES_HZ: f64 = 50.0;
const SLOW_FRAME: Duration = Duration::from_millis(200);
const STILL: Duration = Duration::from_secs(10);

fn pace() -> Option<f64> {
    Some(BYTES as f64 * 8e-6 / TRANSFER.as_secs_f64())
}

/// When the app stands still; from then on it draws nothing for ten seconds.
#[derive(Resource)]
struct StandsStillAt(Instant);

fn slow_frame(at: Res<StandsStillAt>, mut stood: Local<bool>, mut exit: MessageWriter<AppExit>) {
    if Instant::now() < at.0 {
        std::thread::sleep(SLOW_FRAME);
    } else if !std::mem::replace(&mut *stood, true) {
        std::thread::sleep(STILL);
    } else {
        exit.write(AppExit::Success);
    }
}

/// An app on a thread of its own.
fn slow_app(net: Net, joining: bool, stands_still_at: Instant) -> JoinHandle<AppExit> {
    std::thread::Builder::new()
        .name("slow-app".into())
        .spawn(move || {
            let mut app = App::new();
            app::headless_plugins(&mut app);
            let options = AppOptions {
                joining: joining.then(|| "the host".to_owned()),
                ..AppOptions::new(net, Workers::with_threads(1).unwrap())
            };
            app::core(&mut app, options);
            app.insert_resource(StandsStillAt(stands_still_at)).add_systems(Last, slow_frame);
            app.run()
        })
        .unwrap()
}

fn wait_for_view(viewer: &Viewer, what: &str, fits: impl Fn(&Viewer) -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !fits(viewer) {
        assert!(Instant::now() < until, "no {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn has_model(viewer: &Viewer) -> bool {
    viewer.view().models.iter().any(|m| m.glb.is_some())
}

/// Two guests, of whom one moves and the other watches, and when it saw what,
/// once the meeting is over. Both have the model before this returns.
fn company(port: u16) -> JoinHandle<Vec<Instant>> {
    let (mover, watcher) = (guest(port), guest(port));
    let mover_id = mover.view().me.device_id().to_owned();
    assert_eq!((wait_for_model(&mover), wait_for_model(&watcher)), (BYTES, BYTES));
    watcher.send(NetCommand::WatchPoses(true)).unwrap();
    std::thread::Builder::new()
        .name("watcher".into())
        .spawn(move || {
            let (start, mut seen, mut sent) = (Instant::now(), Vec::new(), 0u32);
            loop {
                let due = start + Duration::from_secs_f64(f64::from(sent) / POSES_HZ);
                match watcher.events().recv_deadline(due) {
                    Ok(NetEvent::Session(Event::Pose { from, .. })) if from == mover_id => {
                        seen.push(Instant::now());
                    }
                    // The meeting is over.
                    Ok(NetEvent::Session(Event::Left { .. })) => return seen,
                    Ok(_) => {}
                    Err(_) => {
                        sent += 1;
                        mover.set_body(Body::rest(), monotonic_nanoseconds());
                        mover.events().try_iter().for_each(drop);
                    }
                }
            }
        })
        .unwrap()
}

#[test]
fn slow_and_standing_apps_delay_nobody() {
    // Without Bevy, on the same machine at the same time of day: somebody comes
    // and gets the model.
    let (plain_host, port) = host(pace());
    open(&plain_host, "model", BYTES);
    let start = Instant::now();
    let plain_guest = guest(port);
    assert_eq!(wait_for_model(&plain_guest), BYTES);
    let baseline = start.elapsed();
    drop((plain_guest, plain_host));

    let (host, port) = host(pace());
    open(&host, "model", BYTES);
    let watching = company(port);

    // The same with apps, which stand still in the middle of it.
    let begin = Instant::now();
    let stands_still_at = begin + TRANSFER / 2;
    let host_app = slow_app(host, false, stands_still_at);
    let guest_net = net(None);
    let guest_viewer = guest_net.viewer();
    guest_net.send(NetCommand::Join { address: format!("127.0.0.1:{port}") }).unwrap();
    let guest_app = slow_app(guest_net, true, stands_still_at);
    wait_for_view(&guest_viewer, "model", has_model);
    let with_bevy = begin.elapsed();
    assert!(Instant::now() > stands_still_at, "the model came before anybody stood still");
    assert!(!host_app.is_finished() && !guest_app.is_finished());

    // Somebody comes while both stand still, and is served at the model's pace.
    let begin_late = Instant::now();
    let late = guest(port);
    assert_eq!(wait_for_model(&late), BYTES);
    let served = begin_late.elapsed();
    let (end, still) = (Instant::now(), !host_app.is_finished());
    drop(late);

    assert_eq!(host_app.join().unwrap(), AppExit::Success);
    let seen: Vec<Instant> =
        watching.join().unwrap().into_iter().filter(|at| (begin..end).contains(at)).collect();
    let _ = guest_app.join();
    let longest = seen.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    let rate = seen.len() as f64 / (end - begin).as_secs_f64();
    println!(
        "the model took {:.2} s beside {:.2} s without Bevy; a late guest {:.2} s; {rate:.1} poses a second, the longest gap {:.0} ms",
        with_bevy.as_secs_f64(),
        baseline.as_secs_f64(),
        served.as_secs_f64(),
        longest.as_secs_f64() * 1e3,
    );
    assert!(with_bevy.as_secs_f64() < baseline.as_secs_f64() * 1.1, "{with_bevy:?} beside {baseline:?}");
    assert!(still, "the late guest had to wait until the host drew again");
    assert!(served.as_secs_f64() < baseline.as_secs_f64() * 1.5, "a late guest waited {served:?}");
    assert!(rate > POSES_HZ * 0.8, "{rate} of {POSES_HZ} poses a second");
    assert!(longest < Duration::from_secs(1), "a gap of {longest:?}");
}
