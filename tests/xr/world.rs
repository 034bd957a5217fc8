//! A world of its own for one scenario: the Debian root that has an OpenXR
//! runtime, with nothing of other runs in it, on a network of its own.
//!
//! Monado's remote driver listens on a fixed port, displays have fixed names:
//! here they are nobody else's. Mounts, network and processes are in namespaces
//! of their own, which the kernel clears when their first process ends. That
//! reads a pipe from here, so nothing is left however this process ends.

use std::{
    fs::File,
    io::{BufRead, BufReader},
    marker::PhantomData,
    os::fd::AsFd,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
};

use rustix::{
    fs::{FlockOperation, flock},
    process::{Pid, Signal, kill_process},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};

/// Where things are in there.
pub const PROGRAM: &str = "/mnt/convene";
pub const ASSETS: &str = "/mnt/assets";
pub const SCENARIO: &str = "/mnt/scenario";
/// What every program in there gets, and nothing else of the environment.
const ENVIRONMENT: &[&str] = &[
    "PATH=/usr/bin:/usr/sbin",
    "HOME=/tmp",
    "LANG=C.UTF-8",
    "DISPLAY=:0",
    "XDG_RUNTIME_DIR=/run/xr",
    // The processor draws, whatever the machine has.
    "VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.json",
];

/// The Debian root. Where there is none that is said, and in CI it fails.
pub fn debian_root() -> Option<PathBuf> {
    let root = std::env::var_os("CONVENE_XR_ROOT").map(PathBuf::from);
    assert!(
        root.is_some() || std::env::var("CI").as_deref() != Ok("true"),
        "CONVENE_XR_ROOT is not set, and CI skips nothing"
    );
    if root.is_none() {
        println!("skipped: no Debian root with an OpenXR runtime; scripts/test-xr makes one");
    }
    root
}

/// While it is there, what this thread starts and connects to is on the
/// world's network: the processes, their threads, its own sockets.
pub struct World {
    root: PathBuf,
    folder: PathBuf,
    keeper: Process,
    /// Its end is the keeper's.
    input: Option<ChildStdin>,
    network: Namespace,
    processes: Namespace,
    /// Nobody replaces the Debian root in the meantime.
    _lock: File,
    /// The thread that made it has to take it down.
    _this_thread: PhantomData<*const ()>,
}

impl World {
    /// `folder` is seen in there as [`SCENARIO`].
    pub fn new(root: &Path, folder: &Path) -> Self {
        let lock = File::create(root.with_added_extension("lock")).unwrap();
        flock(&lock, FlockOperation::LockShared).unwrap();

        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = Command::new("unshare");
        command.args(["--mount", "--net", "--pid", "--fork", "--kill-child", "--propagation", "private"]);
        command.arg("bash").arg(manifest.join("tests/xr/world.sh"));
        command.arg(root).arg(env!("CARGO_BIN_EXE_convene")).arg(manifest.join("assets")).arg(folder);
        let mut keeper = Process::start("world", command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let mut line = String::new();
        BufReader::new(keeper.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "no world could be made in {}", root.display());

        let network = Namespace::new(keeper.id(), "net", LinkNameSpaceType::Network);
        let processes = Namespace::new(keeper.id(), "pid_for_children", LinkNameSpaceType::ProcessID);
        network.enter();
        Self {
            root: root.to_owned(),
            folder: folder.to_owned(),
            input: keeper.child.stdin.take(),
            keeper,
            network,
            processes,
            _lock: lock,
            _this_thread: PhantomData,
        }
    }

    /// The folder of this scenario, as seen from out here.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// How a path in there is reached from out here.
    pub fn outside(&self, path: &str) -> PathBuf {
        let in_root = self.root.join(path.trim_start_matches('/'));
        Path::new(&format!("/proc/{}/root", self.keeper.id())).join(in_root.strip_prefix("/").unwrap())
    }

    /// A program in there. Its input is empty.
    pub fn command(&self, environment: &[&str], program: &str) -> Command {
        // Each replaces itself with the next: the process is the program's own.
        let mut command = Command::new("nsenter");
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.keeper.id())).arg("chroot").arg(&self.root);
        command.args(["/usr/bin/env", "--ignore-environment"]).args(ENVIRONMENT).args(environment);
        command.arg(program).stdin(Stdio::null());
        command
    }

    /// Starts one whose output goes into the scenario's folder.
    pub fn start(&self, name: &'static str, command: &mut Command) -> Process {
        let log = File::options().create(true).append(true).open(self.log(name)).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        self.processes.enter();
        let process = Process::start(name, command);
        // A thread that starts processes elsewhere can't start threads.
        self.processes.leave();
        process
    }

    /// What that one says is in there.
    fn log(&self, name: &str) -> PathBuf {
        self.folder.join(name).with_added_extension("log")
    }

    /// Prints the last lines that each program in there said.
    fn print_last_words(&self) {
        const LINES: usize = 25;
        for name in ["display", "monado", "app"] {
            let Ok(bytes) = std::fs::read(self.log(name)) else { continue };
            let said = String::from_utf8_lossy(&bytes);
            let lines: Vec<&str> = said.lines().collect();
            println!("--- the last of {}:", self.log(name).display());
            println!("{}", lines[lines.len().saturating_sub(LINES)..].join("\n"));
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // A scenario failed, and those who spoke have ended.
        if std::thread::panicking() {
            self.print_last_words();
        }
        self.network.leave();
        // The keeper ends with its input, and everybody in there with it.
        self.input = None;
        let _ = self.keeper.child.wait();
    }
}

/// Where this thread, or what it starts, is or is not.
struct Namespace {
    of: LinkNameSpaceType,
    there: File,
    here: File,
}

impl Namespace {
    fn new(process: u32, name: &str, of: LinkNameSpaceType) -> Self {
        let open = |process: &str| File::open(format!("/proc/{process}/ns/{name}")).unwrap();
        Self { of, there: open(&process.to_string()), here: open("thread-self") }
    }

    fn enter(&self) {
        move_into_link_name_space(self.there.as_fd(), Some(self.of)).unwrap();
    }

    fn leave(&self) {
        move_into_link_name_space(self.here.as_fd(), Some(self.of)).unwrap();
    }
}

/// A process that ends when this does.
pub struct Process {
    child: Child,
    name: &'static str,
}

impl Process {
    fn start(name: &'static str, command: &mut Command) -> Self {
        let child = command.spawn().unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        Self { child, name }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Whether it has ended by itself, with success.
    pub fn ended_well(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some_and(|status| status.success())
    }

    /// Fails if it has ended.
    pub fn must_run(&mut self) {
        let ended = self.child.try_wait().unwrap();
        assert!(ended.is_none(), "{} ended: {}", self.name, ended.unwrap());
    }

    /// Ends it on the spot, stopped or not.
    pub fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
