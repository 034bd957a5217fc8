//! The link laboratory: models and poses over links of given rate, delay, queue
//! and loss, by real processes in network namespaces of their own.
//!
//!     cargo bench --no-default-features --bench transfer -- --json FILE
//!
//! Needs root, `ip`, `tc` and /dev/net/tun; says what it lacks. Its namespaces and
//! processes go when it ends, Ctrl-C included; what a killed one left behind goes
//! at the next start. `docs/performance.md` tells how each figure is measured.

#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs, reason = "a benchmark")]

#[cfg(target_os = "linux")]
mod lab;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    lab::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("the link laboratory needs Linux's network namespaces");
}
