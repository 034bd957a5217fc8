//! Networks of the library's own, within the test's process.
#![allow(dead_code, reason = "shared between tests, each of which uses a part")]

use std::{
    net::{IpAddr, Ipv4Addr},
    time::{Duration, Instant},
};

use bytes::Bytes;
use convene::{
    net::{Net, NetCommand, NetConfig, NetEvent},
    session::{self, Colour, Command, Event, Identity, Measure},
    settings::new_participant_id,
};

const TIMEOUT: Duration = Duration::from_secs(60);

/// A network of its own; models throttled to so many Mbit/s.
pub fn net(pace_megabits: Option<f64>) -> Net {
    let identity = Identity { id: new_participant_id(), name: "Test".into(), colour: Colour([1, 2, 3]) };
    Net::start(NetConfig { pace_megabits, ..NetConfig::new(session::Config::new(identity)) }).unwrap()
}

/// The first event that fits; those before it are gone.
pub fn wait_for<T>(net: &Net, what: &str, fits: impl Fn(NetEvent) -> Option<T>) -> T {
    let until = Instant::now() + TIMEOUT;
    while let Ok(event) = net.events().recv_deadline(until) {
        if let Some(found) = fits(event) {
            return found;
        }
    }
    panic!("no {what}")
}

pub fn here() -> Option<IpAddr> {
    Some(Ipv4Addr::LOCALHOST.into())
}

/// One that hosts, and its port.
pub fn host(pace_megabits: Option<f64>) -> (Net, u16) {
    let net = net(pace_megabits);
    net.send(NetCommand::Host { bind: here(), port: 0 }).unwrap();
    let port = wait_for(&net, "listening", |e| match e {
        NetEvent::Listening { port, .. } => Some(port),
        _ => None,
    });
    (net, port)
}

/// Opens so many bytes that are no model: nobody decodes here.
pub fn open(net: &Net, model_id: &str, bytes: usize) {
    let measure = Measure { center: glam::Vec3::ZERO, size: glam::Vec3::ONE };
    // Nothing that could be packed: it has to take its time.
    let mut glb = vec![0; bytes];
    blake3::Hasher::new().update(model_id.as_bytes()).finalize_xof().fill(&mut glb);
    let glb = Bytes::from(glb);
    let command = Command::OpenModel {
        model_id: model_id.into(),
        name: "model.glb".into(),
        content: *blake3::hash(&glb).as_bytes(),
        glb,
        measure,
        private: false,
        plan: None,
    };
    net.send(NetCommand::Session { seq: 1, command }).unwrap();
    wait_for(net, "answer", |e| matches!(e, NetEvent::Answer { seq: 1, result: Ok(()) }).then_some(()));
}

/// One that has joined.
pub fn guest(port: u16) -> Net {
    let net = net(None);
    net.send(NetCommand::Join { address: format!("127.0.0.1:{port}") }).unwrap();
    wait_for(&net, "joined", |e| matches!(e, NetEvent::Session(Event::Joined)).then_some(()));
    net
}

/// Waits for a whole model; its size.
pub fn wait_for_model(net: &Net) -> usize {
    wait_for(net, "model", |e| match e {
        NetEvent::Session(Event::ModelReceived { glb, .. }) => Some(glb.len()),
        _ => None,
    })
}
