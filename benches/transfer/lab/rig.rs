//! Links between stations: what a row's participants talk over.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::lab::{
    netns::Namespace,
    relay::{RelayArgs, device},
};

/// A link as a row describes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Link {
    /// A token bucket on a router between two stations; the queue holds so many
    /// milliseconds. Nothing else delays.
    Routed { mbit: f64, queue_ms: f64 },
    /// The relay: rate, delay, queue and loss each way, two or more stations.
    Relayed { mbit: f64, rtt_ms: f64, queue_ms: f64, loss: f64 },
    /// The relay with one token bucket for everybody.
    Air { mbit: f64, queue_ms: f64 },
    /// A cable without a rate of its own.
    Veth,
    /// One namespace for all.
    Loopback,
}

impl Link {
    pub fn mbit(&self) -> Option<f64> {
        match *self {
            Self::Routed { mbit, .. } | Self::Relayed { mbit, .. } | Self::Air { mbit, .. } => Some(mbit),
            Self::Veth | Self::Loopback => None,
        }
    }

    pub fn rtt_ms(&self) -> f64 {
        if let Self::Relayed { rtt_ms, .. } = self { *rtt_ms } else { 0.0 }
    }

    pub fn queue_ms(&self) -> Option<f64> {
        match *self {
            Self::Routed { queue_ms, .. } | Self::Relayed { queue_ms, .. } | Self::Air { queue_ms, .. } => {
                Some(queue_ms)
            }
            Self::Veth | Self::Loopback => None,
        }
    }

    pub fn loss(&self) -> f64 {
        if let Self::Relayed { loss, .. } = self { *loss } else { 0.0 }
    }
}

/// A namespace that participants run in.
#[derive(Debug)]
pub struct Station {
    pub namespace: Namespace,
    pub address: String,
}

/// A link that is there. It goes with this; end its participants first.
#[derive(Debug)]
pub struct Rig {
    stations: Vec<Station>,
    relay: Option<Child>,
    /// Keeps the namespace between the stations.
    _router: Option<Namespace>,
}

impl Rig {
    /// Sets the link up; `seed` decides which packets are lost.
    pub fn new(link: Link, stations: usize, seed: u64) -> Result<Self> {
        match link {
            Link::Routed { mbit, queue_ms } => Self::routed(mbit, queue_ms, stations),
            Link::Veth => Self::veth(),
            Link::Loopback => {
                let namespace = Namespace::create("all")?;
                let stations = vec![Station { namespace, address: "127.0.0.1".into() }];
                Ok(Self { stations, relay: None, _router: None })
            }
            Link::Relayed { mbit, rtt_ms, queue_ms, loss } => {
                Self::relayed(relay_args(mbit, rtt_ms, queue_ms, loss, stations, seed))
            }
            Link::Air { mbit, queue_ms } => {
                let args = relay_args(mbit, 0.0, queue_ms, 0.0, stations, seed);
                Self::relayed(RelayArgs { air: true, ..args })
            }
        }
    }

    /// The station of that number; on the loopback all are one.
    pub fn station(&self, number: usize) -> &Station {
        &self.stations[number.min(self.stations.len() - 1)]
    }

    fn veth() -> Result<Self> {
        let (a, b) = (Namespace::create("a")?, Namespace::create("b")?);
        a.ip(&format!("link add lab type veth peer name lab netns {}", b.name()))?;
        let mut stations = Vec::new();
        for (namespace, last) in [(a, 1), (b, 2)] {
            let address = format!("10.77.0.{last}");
            namespace.connect("lab", &address, "10.77.0")?;
            stations.push(Station { namespace, address });
        }
        Ok(Self { stations, relay: None, _router: None })
    }

    /// Each station has its own cable to the router, which shapes what goes
    /// towards it. A bucket on the sender itself would mislead: TCP notices its
    /// own machine's queue and does not fill it.
    fn routed(mbit: f64, queue_ms: f64, count: usize) -> Result<Self> {
        let router = Namespace::create("router")?;
        router.set("net.ipv4.ip_forward", "1")?;
        let mut stations = Vec::new();
        let limit = (mbit * 1e6 / 8.0 * queue_ms / 1e3) as u64;
        for number in 0..count {
            let namespace = Namespace::create("station")?;
            let (port, address) = (device(number), format!("10.77.{number}.1"));
            router.ip(&format!("link add {port} type veth peer name lab netns {}", namespace.name()))?;
            router.ip(&format!("addr add 10.77.{number}.2/24 dev {port}"))?;
            router.ip(&format!("link set {port} up"))?;
            namespace.connect("lab", &address, &format!("10.77.{number}"))?;
            namespace.default_route(&format!("10.77.{number}.2"))?;
            let rate = (mbit * 1e6) as u64;
            router.tc(&format!("qdisc add dev {port} root tbf rate {rate}bit burst 8kb limit {limit}"))?;
            stations.push(Station { namespace, address });
        }
        Ok(Self { stations, relay: None, _router: Some(router) })
    }

    fn relayed(args: RelayArgs) -> Result<Self> {
        let router = Namespace::create("relay")?;
        let program = std::env::current_exe().context("where this program is")?;
        let mut command = router.command(&program);
        command.args(args.to_args()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut relay = command.spawn().context("the relay cannot be started")?;
        let output = relay.stdout.take().context("the relay has an output")?;
        let mut rig = Self { stations: Vec::new(), relay: Some(relay), _router: Some(router) };
        let mut ready = String::new();
        BufReader::new(output).read_line(&mut ready)?;
        ensure!(ready.trim() == "ready", "the relay did not start");
        for number in 0..args.stations {
            let namespace = Namespace::create("station")?;
            let (device, address) = (device(number), format!("10.77.0.{}", number + 1));
            let router = rig._router.as_ref().context("the relay's namespace")?;
            router.ip(&format!("link set {device} netns {}", namespace.name()))?;
            // More than fits into the medium's queues: what is lost is lost there.
            namespace.ip(&format!("link set {device} mtu 1500 txqueuelen 5000"))?;
            namespace.connect(&device, &address, "10.77.0")?;
            rig.stations.push(Station { namespace, address });
        }
        Ok(rig)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if let Some(mut relay) = self.relay.take() {
            let _ = relay.kill();
            let _ = relay.wait();
        }
    }
}

fn relay_args(mbit: f64, rtt_ms: f64, queue_ms: f64, loss: f64, stations: usize, seed: u64) -> RelayArgs {
    let bytes_per_second = mbit * 1e6 / 8.0;
    RelayArgs {
        stations,
        bytes_per_second,
        delay_ns: (rtt_ms / 2.0 * 1e6) as u64,
        queue_bytes: (bytes_per_second * queue_ms / 1e3) as usize,
        loss,
        air: false,
        seed,
    }
}
