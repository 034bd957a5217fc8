//! The OpenXR runtime: Monado, whose headset is drawn nowhere and moved by a
//! [`Remote`]. It can crash and it can stall.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{
    remote::Remote,
    world::{Process, World},
};

/// Generous: it makes a Vulkan device on a busy processor.
const START: Duration = Duration::from_secs(60);
/// How often it is looked whether it serves.
const LOOK: Duration = Duration::from_millis(50);

pub struct Runtime {
    pub remote: Remote,
    service: Process,
}

impl Runtime {
    /// Starts it and waits until it serves programs and its headset can be moved.
    pub fn start(world: &World) -> Self {
        // Left by one that was killed.
        for file in ["monado.pid", "monado_comp_ipc"] {
            let _ = std::fs::remove_file(world.outside("/run/xr").join(file));
        }
        let environment = ["XRT_COMPOSITOR_NULL=1", "P_OVERRIDE_ACTIVE_CONFIG=remote", "XRT_NO_STDIN=1"];
        let mut service = world.start("monado", &mut world.command(&environment, "monado-service"));
        let until = Instant::now() + START;
        let mut remote = None;
        loop {
            if remote.is_none() {
                remote = Remote::connect().ok();
            }
            if remote.is_some() && answers(world) {
                break;
            }
            service.must_run();
            assert!(Instant::now() < until, "Monado does not serve");
            std::thread::sleep(LOOK);
        }
        let mut remote = remote.unwrap();
        remote.send();
        Self { remote, service }
    }

    /// It crashes.
    pub fn crash(&mut self) {
        self.service.kill();
    }

    /// It does nothing more, but does not end, until [`Self::go_on`].
    pub fn stall(&self) {
        self.service.signal(Signal::STOP);
    }

    pub fn go_on(&self) {
        self.service.signal(Signal::CONT);
    }
}

/// Whether it answers one of its own programs.
fn answers(world: &World) -> bool {
    world.command(&[], "monado-ctl").output().unwrap().status.success()
}
