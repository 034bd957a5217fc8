//! A process that carries packets between TUN devices as a [`Medium`] would.
//!
//! The laboratory starts itself as `relay ...` in the router's namespace and
//! moves the devices into those of the stations. The last byte of an address
//! says whose it is: station 0 has .1.

use std::{
    fs::File,
    io::{Read, Write},
    process::ExitCode,
};

use anyhow::{Context, Result};
use clap::Args;
use convene::threads::monotonic_nanoseconds;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::lab::{
    medium::{Character, Medium},
    tun,
};

/// Packets taken from one device before the others have their turn.
const BATCH: usize = 32;
/// How often the relay looks whether it is still wanted.
const IDLE_NS: u64 = 200_000_000;

/// How the relay is told what to be.
#[derive(Debug, Clone, Args)]
pub struct RelayArgs {
    #[arg(long)]
    pub stations: usize,
    #[arg(long)]
    pub bytes_per_second: f64,
    #[arg(long)]
    pub delay_ns: u64,
    #[arg(long)]
    pub queue_bytes: usize,
    #[arg(long)]
    pub loss: f64,
    #[arg(long)]
    pub air: bool,
    #[arg(long)]
    pub seed: u64,
}

impl RelayArgs {
    pub fn to_args(&self) -> Vec<String> {
        let mut args = vec!["relay".to_owned()];
        let options = [
            ("--stations", self.stations.to_string()),
            ("--bytes-per-second", self.bytes_per_second.to_string()),
            ("--delay-ns", self.delay_ns.to_string()),
            ("--queue-bytes", self.queue_bytes.to_string()),
            ("--loss", self.loss.to_string()),
            ("--seed", self.seed.to_string()),
        ];
        args.extend(options.into_iter().flat_map(|(name, value)| [name.to_owned(), value]));
        args.extend(self.air.then(|| "--air".to_owned()));
        args
    }
}

/// What a station's device is called.
pub fn device(station: usize) -> String {
    format!("lab{station}")
}

/// Relays until its standard input ends, which it does with the laboratory.
pub fn run(args: &RelayArgs) -> Result<ExitCode> {
    let mut devices = Vec::new();
    for station in 0..args.stations {
        devices.push(tun::create(&device(station)).context("no TUN device")?);
    }
    let character = Character {
        bytes_per_second: args.bytes_per_second,
        delay_ns: args.delay_ns,
        queue_bytes: args.queue_bytes,
        loss: args.loss,
        air: args.air,
    };
    let mut medium = Medium::new(character, args.stations, args.seed);
    println!("ready");
    let parent = std::io::stdin();
    let mut buffer = vec![0; 65536];
    loop {
        while let Some((to, packet)) = medium.poll(monotonic_nanoseconds()) {
            // A full or vanished device loses it, as a station would.
            let _ = (&devices[to]).write(&packet);
        }
        let now = monotonic_nanoseconds();
        let wait = medium.next_ns().map_or(IDLE_NS, |due| due.saturating_sub(now).min(IDLE_NS));
        let timeout = Timespec { tv_sec: 0, tv_nsec: wait.cast_signed() };
        let mut waited_for: Vec<PollFd> = devices.iter().map(|d| PollFd::new(d, PollFlags::IN)).collect();
        waited_for.push(PollFd::new(&parent, PollFlags::IN));
        match poll(&mut waited_for, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("waiting for packets"),
        }
        let ready: Vec<bool> = waited_for.iter().map(|w| !w.revents().is_empty()).collect();
        if ready.last() == Some(&true) {
            return Ok(ExitCode::SUCCESS);
        }
        for (station, _) in ready.iter().enumerate().filter(|(at, ready)| **ready && *at < devices.len()) {
            take(&mut medium, &devices, station, &mut buffer);
        }
    }
}

fn take(medium: &mut Medium, devices: &[File], station: usize, buffer: &mut [u8]) {
    for _ in 0..BATCH {
        let Ok(length) = (&devices[station]).read(buffer) else { return };
        let packet = &buffer[..length];
        // IPv6 looks for routers here; nobody answers.
        if length < 20 || packet[0] >> 4 != 4 {
            continue;
        }
        let to = usize::from(packet[19]).wrapping_sub(1);
        if to < devices.len() {
            medium.offer(monotonic_nanoseconds(), station, to, packet);
        }
    }
}
