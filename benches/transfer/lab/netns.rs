//! Network namespaces of the laboratory's own, by way of `ip`.

use std::{
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// What the names of all its namespaces begin with; then the process, a number, a role.
const PREFIX: &str = "convene-lab-";

/// A fresh namespace has the kernel's default congestion control, which differs
/// from machine to machine, and may not be allowed to have another. A route may.
const CUBIC: &str = "congctl lock cubic";

/// A namespace. It goes with this.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    pub fn create(role: &str) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}-{role}", std::process::id());
        run("ip", &["netns", "add", &name])?;
        let namespace = Self { name };
        namespace.ip("link set lo up")?;
        let local = "local 127.0.0.0/8 dev lo table local proto kernel scope host src 127.0.0.1";
        namespace.ip(&format!("route change {local} {CUBIC}"))?;
        Ok(namespace)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// `ip` within it; words are separated by spaces.
    pub fn ip(&self, words: &str) -> Result<()> {
        let words: Vec<&str> = ["-n", &self.name].into_iter().chain(words.split_whitespace()).collect();
        run("ip", &words)
    }

    /// Gives a device an address and a route to where it leads. Connections over it
    /// use CUBIC.
    pub fn connect(&self, device: &str, address: &str, network: &str) -> Result<()> {
        self.ip(&format!("addr add {address}/24 dev {device} noprefixroute"))?;
        self.ip(&format!("link set {device} up"))?;
        self.ip(&format!("route add {network}.0/24 dev {device} src {address} {CUBIC}"))
    }

    /// Everything else goes over that router.
    pub fn default_route(&self, router: &str) -> Result<()> {
        self.ip(&format!("route add default via {router} {CUBIC}"))
    }

    /// `tc` within it.
    pub fn tc(&self, words: &str) -> Result<()> {
        let words: Vec<&str> = ["-n", &self.name].into_iter().chain(words.split_whitespace()).collect();
        run("tc", &words)
    }

    pub fn set(&self, key: &str, value: &str) -> Result<()> {
        run("ip", &["netns", "exec", &self.name, "sysctl", "-qw", &format!("{key}={value}")])
    }

    /// A command that will run within it. `ip` becomes the program, so that the
    /// child's process id is the program's.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name]).arg(program);
        command
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

fn run(program: &str, args: &[&str]) -> Result<()> {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("{program} cannot be started"))?;
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {}: {}", args.join(" "), told.trim());
    Ok(())
}

/// Failures are not told: whoever removes has nothing better to do.
fn remove(name: &str) {
    let _ = run("ip", &["netns", "del", name]);
}

/// Removes what laboratories that were killed have left behind, processes included.
pub fn sweep() {
    let Ok(listed) = Command::new("ip").args(["netns", "list"]).output() else { return };
    for line in String::from_utf8_lossy(&listed.stdout).lines() {
        let Some(name) = line.split_whitespace().next() else { continue };
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        let Some(owner) = owner.filter(|owner| owner.parse::<u32>().is_ok()) else { continue };
        if Path::new("/proc").join(owner).exists() {
            continue;
        }
        if let Ok(inside) = Command::new("ip").args(["netns", "pids", name]).output() {
            let pids = String::from_utf8_lossy(&inside.stdout).into_owned();
            for pid in pids.lines().filter_map(|pid| Pid::from_raw(pid.trim().parse().ok()?)) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        remove(name);
    }
}

/// What the laboratory lacks on this machine, if anything.
pub fn missing() -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "the laboratory needs root: it makes network namespaces");
    ensure!(Path::new("/dev/net/tun").exists(), "the laboratory needs /dev/net/tun (modprobe tun)");
    for program in ["ip", "tc", "sysctl"] {
        if Command::new(program).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
            bail!("the laboratory needs `{program}` (Debian's packages iproute2 and procps)");
        }
    }
    let probe = Namespace::create("probe")
        .context("the laboratory needs network namespaces and the kernel's CUBIC")?;
    probe.ip("link add lab-a type veth peer name lab-b").context("the laboratory needs veth devices")?;
    probe
        .tc("qdisc add dev lab-a root tbf rate 1mbit burst 16kb limit 100kb")
        .context("the laboratory needs the queue discipline tbf")?;
    Ok(())
}
