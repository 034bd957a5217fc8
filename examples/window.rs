//! The window with company: simulated people who move their heads and wands.
//!
//! ```text
//! cargo run --example window -- MODEL.glb... [--guest] [--shot SECONDS=FILE.png]... [--exit SECONDS]
//! ```
//!
//! For looking at the window without a second machine, and for the pictures in
//! the documentation. With `--guest` the window joins somebody who opens the
//! models and sends them slowly, so that they are seen on their way.

use std::{
    f32::consts::TAU,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use bevy::app::AppExit;
use convene::{
    app::{AppOptions, Snapshots},
    model::{self, Cancel, Limits},
    net::{Net, NetCommand, NetConfig, NetEvent},
    platform::desktop,
    session::{Body, Colour, Command, Config, Event, Identity, Measure, Pose, new_model_id},
    threads,
    workers::Workers,
};
use glam::{Quat, Vec3};

/// Million bits a second at which `--guest` is sent models.
const SLOW: f64 = 12.0;

fn main() -> Result<()> {
    tracing_subscriber::fmt()
        .with_env_filter(std::env::var("RUST_LOG").as_deref().unwrap_or("warn,convene=info"))
        .init();
    let (mut files, mut snapshots, mut guest) = (Vec::new(), Snapshots::default(), false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--guest" => guest = true,
            "--exit" => snapshots.exit_after = Some(secs(&arguments.next().context("--exit SECONDS")?)?),
            "--shot" => {
                let shot = arguments.next().context("--shot SECONDS=FILE")?;
                let (at, path) = shot.split_once('=').context("--shot SECONDS=FILE")?;
                snapshots.shots.push((secs(at)?, path.into()));
            }
            file => files.push(PathBuf::from(file)),
        }
    }

    let slow = guest.then_some(SLOW);
    let me = person("a0a0a0a000000000", "Ada", 0, None, false)?;
    let hosting = if guest { person("b1b1b1b100000000", "Barbara", 1, slow, false)? } else { me };
    hosting.send(NetCommand::Host { bind: None, port: 0 })?;
    let port = port_of(&hosting)?;
    let address = format!("127.0.0.1:{port}");
    let mut others = Vec::new();
    let me = if guest {
        let me = person("a0a0a0a000000000", "Ada", 0, None, false)?;
        me.send(NetCommand::Join { address: address.clone() })?;
        for file in files.drain(..) {
            open(&hosting, &file)?;
        }
        others.push(hosting);
        me
    } else {
        let barbara = person("b1b1b1b100000000", "Barbara", 1, None, false)?;
        barbara.send(NetCommand::Join { address: address.clone() })?;
        others.push(barbara);
        hosting
    };
    let grace = person("c2c2c2c200000000", "Grace", 2, None, true)?;
    grace.send(NetCommand::Join { address })?;
    others.push(grace);
    threads::spawn("company", move || company(&others))?;

    let options = AppOptions { open: files, snapshots, ..AppOptions::new(me, Workers::start()?) };
    match desktop::run(options) {
        AppExit::Success => Ok(()),
        AppExit::Error(code) => bail!("the window ended with {code}"),
    }
}

fn secs(text: &str) -> Result<Duration> {
    Ok(Duration::from_secs_f32(text.parse().with_context(|| format!("{text} is no number"))?))
}

fn person(id: &str, name: &str, colour: usize, pace: Option<f64>, looksee_only: bool) -> Result<Net> {
    let colour = Colour::PALETTE[colour % Colour::PALETTE.len()];
    let identity = Identity { id: id.to_owned(), name: name.to_owned(), colour };
    let session = Config { looksee_only, ..Config::new(identity) };
    Ok(Net::start(NetConfig { pace_megabits: pace, ..NetConfig::new(session) })?)
}

fn port_of(net: &Net) -> Result<u16> {
    loop {
        match net.events().recv_timeout(Duration::from_secs(5))? {
            NetEvent::Listening { port, .. } => return Ok(port),
            NetEvent::HostFailed(error) => bail!(error),
            _ => {}
        }
    }
}

fn open(net: &Net, path: &Path) -> Result<()> {
    let packed = model::read_model_file(path, &Limits::default())?;
    let decoded = model::decode(&packed.glb, &Limits::default(), &Cancel::default())?;
    let measure = Measure { center: decoded.bounds.center(), size: decoded.bounds.size() };
    let content = *blake3::hash(&packed.glb).as_bytes();
    let command = Command::OpenModel {
        model_id: new_model_id(content[..6].try_into()?),
        name: format!("{}.glb", packed.name),
        glb: packed.glb.into(),
        content,
        measure,
        private: false,
        plan: None,
    };
    Ok(net.send(NetCommand::Session { seq: 0, command })?)
}

/// Moves everybody, as long as the program runs.
fn company(others: &[Net]) {
    let start = Instant::now();
    loop {
        let t = start.elapsed().as_secs_f32();
        for (number, net) in (1u8..).zip(others) {
            net.set_body(body(f32::from(number), t), start.elapsed().as_nanos() as u64);
            for event in net.events().try_iter() {
                if let NetEvent::Session(Event::ModelReceived { model_id, .. }) = event {
                    // Nobody waits for the answer; a driver that is busy is asked no more.
                    let _ =
                        net.send(NetCommand::Session { seq: 0, command: Command::ModelLoaded { model_id } });
                }
            }
        }
        std::thread::sleep(Duration::from_millis(14));
    }
}

/// Somebody who stands around the model, looks at it and points into it.
fn body(number: f32, t: f32) -> Body {
    let middle = Vec3::new(0.0, 1.5, 1.0);
    let angle = TAU * 0.33 * number + 0.08 * (t * 0.7 + number).sin();
    let aside = Quat::from_rotation_y(angle);
    let head = middle - aside * Vec3::Z * 1.35 + Vec3::Y * 0.06 * (t + number).sin();
    let looking = Quat::from_rotation_arc(Vec3::Z, (middle - head).normalize());
    let target = middle + Vec3::new(0.2 * (t * 0.9 + number).sin(), 0.15 * (t * 0.6).cos(), 0.0);
    let wand = |x: f32, target: Vec3| {
        let hand = head + looking * Vec3::new(x, -0.3, 0.25);
        let direction = (target - hand).normalize();
        Pose::new(hand + direction * 0.2, Quat::from_rotation_arc(Vec3::Y, direction))
    };
    Body {
        left: wand(0.25, middle + Vec3::Y * 0.6),
        right: wand(-0.22, target),
        head: Pose::new(head, looking),
    }
}
