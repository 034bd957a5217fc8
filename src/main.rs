//! The `convene` program: reads the command line, runs, maps the outcome to an
//! exit code. The only place that prints text for people.
#![expect(clippy::print_stderr, reason = "this is the program's face")]

use std::{
    io::{IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;
use convene::{
    cli::{Cli, CliCommand},
    headless::Ending,
    model::{Limits, check::check_file},
    net::push_file,
};

const FAILED: u8 = 1;

fn main() -> ExitCode {
    let cli = Cli::parse();
    start_log(&cli.common.log);
    let result = match cli.command {
        Some(CliCommand::Check { files, json }) => Ok(check(&files, json)),
        Some(CliCommand::Send { address, files }) => Ok(send(&address, &files)),
        command => convene::run(command, cli.files, cli.common)
            .map(|ending| ending == Ending::Done)
            .map_err(anyhow::Error::from),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILED),
        Err(error) => {
            eprintln!("convene: {error:#}");
            ExitCode::from(FAILED)
        }
    }
}

fn start_log(level: &str) {
    use tracing_subscriber::EnvFilter;
    // Of Bevy and wgpu only what matters, unless RUST_LOG says otherwise.
    let ours = format!("warn,wgpu=error,naga=warn,convene={level}");
    let filter = EnvFilter::try_from_default_env().or_else(|_| EnvFilter::try_new(ours));
    let filter = filter.unwrap_or_else(|_| {
        eprintln!("convene: \"{level}\" is no log level; use error, warn, info, debug or trace");
        EnvFilter::new("warn")
    });
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}

/// A line on standard output; whoever reads it may have gone, which is no failure.
fn say(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Whether all of them can be shown.
fn check(files: &[PathBuf], json: bool) -> bool {
    let mut all = true;
    for file in files {
        let report = check_file(file, &Limits::default());
        all &= report.ok;
        if json {
            match serde_json::to_string(&report) {
                Ok(line) => say(line),
                Err(error) => eprintln!("convene: the report cannot be written: {error}"),
            }
        } else {
            say(report);
        }
    }
    all
}

/// Whether all of them were sent.
fn send(address: &str, files: &[PathBuf]) -> bool {
    let mut all = true;
    for file in files {
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        let mut line = ProgressLine::new(name.clone());
        match push_file(address, file, |sent, total| line.show(sent, total)) {
            Ok(()) => line.end(),
            Err(error) => {
                line.clear();
                eprintln!("convene: {name} was not sent: {error}");
                all = false;
            }
        }
    }
    all
}

/// One line that tells how far a file is; on something that is no terminal only
/// its end.
struct ProgressLine {
    name: String,
    start: Instant,
    shown: Option<Instant>,
    total: u64,
    terminal: bool,
}

impl ProgressLine {
    fn new(name: String) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { name, start: Instant::now(), shown: None, total: 0, terminal }
    }

    fn show(&mut self, sent: u64, total: u64) {
        self.total = total;
        let due = self.shown.is_none_or(|at| at.elapsed() >= Duration::from_millis(100));
        if !self.terminal || !due {
            return;
        }
        self.shown = Some(Instant::now());
        let seconds = self.start.elapsed().as_secs_f64();
        let rate = sent as f64 / seconds.max(1e-3);
        let percent = if total == 0 { 100.0 } else { 100.0 * sent as f64 / total as f64 };
        let left = (total.saturating_sub(sent)) as f64 / rate.max(1.0);
        eprint!(
            "\r\x1b[K{}  {percent:3.0} %  {:.1} of {:.1} MB  {:.1} MB/s  {left:.0} s left",
            self.name,
            megabytes(sent),
            megabytes(total),
            rate / 1e6,
        );
        // A terminal that has gone away loses its progress, nothing else.
        let _ = std::io::stderr().flush();
    }

    fn clear(&self) {
        if self.terminal {
            eprint!("\r\x1b[K");
        }
    }

    fn end(&self) {
        self.clear();
        let seconds = self.start.elapsed().as_secs_f64();
        say(format_args!("{} sent: {:.1} MB in {seconds:.1} s", self.name, megabytes(self.total)));
    }
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
