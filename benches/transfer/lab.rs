//! The laboratory's command line, and the order in which it measures.

mod medium;
mod model;
mod netns;
mod peer;
mod plot;
mod poses;
mod relay;
mod report;
mod rig;
mod rows;
mod targets;
mod tun;

use std::{
    fs::File,
    io::Write,
    path::PathBuf,
    process::{Command, ExitCode},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use serde_json::{Value, json};

use report::Row;

const RUNS: u64 = 3;
const FULL_RUNS: u64 = 5;
const PLOTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/images");

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

#[derive(Debug, Parser)]
#[command(name = "transfer")]
struct Cli {
    #[command(subcommand)]
    part: Option<Part>,
    /// Given by `cargo bench`
    #[arg(long, hide = true)]
    bench: bool,
    /// Write the rows as a list of JSON objects
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write both tables as Markdown
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Where plots go
    #[arg(long, value_name = "DIR", default_value = PLOTS)]
    plots: PathBuf,
    /// Five of everything, and the rows that take long or need the apps
    #[arg(long)]
    full: bool,
    /// So many of everything
    #[arg(long)]
    runs: Option<u64>,
    /// Only these groups: beside, parts, window, air, loopback, join, stopped, slow-frames
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    groups: Vec<String>,
    /// Only the rows of these ways of sending: looksee, uncontrolled, convene, 'fixed 16 KiB'
    #[arg(long, value_name = "WAY", value_delimiter = ',')]
    only: Vec<String>,
    /// The row with Bevy apps too; needs `cargo build --release --example slow_frames`
    #[arg(long)]
    slow_frames: bool,
    /// Write every pose's delay and the receiver's `stats`, one JSON object a line
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Fail if a target is missed
    #[arg(long)]
    strict: bool,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Carry packets; the laboratory starts itself so
    #[command(hide = true)]
    Relay(relay::RelayArgs),
}

/// What the rows share.
pub struct Lab {
    models: model::Models,
    only: Vec<String>,
    /// Whether the program has windows that can be chosen.
    windows: bool,
    slow_frames: bool,
    /// Of each row.
    runs: u64,
    /// Rows that are only for comparison, too.
    full: bool,
    trace: Option<Mutex<File>>,
}

impl Lab {
    /// Whether a way of sending is to be measured, and can be.
    pub fn wants(&self, way: &str, options: &[&str]) -> bool {
        (self.only.is_empty() || self.only.iter().any(|only| only == way))
            && (self.windows || !options.contains(&"--window"))
    }

    pub fn trace(&self, row: &Row, run: u64, stats: &[Value], begin_ns: u64) -> Result<()> {
        let Some(file) = &self.trace else { return Ok(()) };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let head = json!({ "row": row.name, "rate_mbit": row.link.mbit(), "run": run });
        let mut line = |t: f64, key: &str, value: Value| {
            let mut object = head.clone();
            object["t"] = json!(t);
            object[key] = value;
            writeln!(file, "{object}")
        };
        for &(t, delay) in &row.series {
            line(t, "pose_ms", json!(delay))?;
        }
        for event in stats {
            let since = event["mono_ns"].as_f64().unwrap_or_default() - begin_ns as f64;
            line(since / 1e9, "stats", event.clone())?;
        }
        Ok(())
    }
}

/// An error once somebody has pressed Ctrl-C, so that everything is taken down.
pub fn interrupted() -> Result<()> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        bail!("interrupted");
    }
    Ok(())
}

pub fn pause(time: Duration) -> Result<()> {
    let until = Instant::now() + time;
    while Instant::now() < until {
        interrupted()?;
        std::thread::sleep(until.saturating_duration_since(Instant::now()).min(Duration::from_millis(100)));
    }
    Ok(())
}

pub fn main() -> ExitCode {
    // `cargo test --benches` gives no `--bench`, but options of its own.
    let measuring = std::env::args().skip(1).any(|argument| argument == "--bench" || argument == "relay");
    if !measuring {
        println!("nothing is measured: this is for `cargo bench --no-default-features --bench transfer`");
        return ExitCode::SUCCESS;
    }
    let cli = Cli::parse();
    let result = match &cli.part {
        Some(Part::Relay(args)) => {
            // The link is not to be slower than it is said to be.
            let _ = rustix::process::setpriority_process(None, -20);
            relay::run(args)
        }
        None => measure(&cli),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn measure(cli: &Cli) -> Result<ExitCode> {
    netns::sweep();
    netns::missing()?;
    ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed)).context("no handler for Ctrl-C")?;
    // Other work on the machine is not what is measured. The participants inherit it.
    let _ = rustix::process::setpriority_process(None, -10);
    let trace = cli.trace.as_ref().map(File::create).transpose().context("the trace cannot be written")?;
    let lab = Lab {
        models: model::Models::new()?,
        only: cli.only.clone(),
        windows: has_windows()?,
        slow_frames: cli.slow_frames || cli.full || cli.groups.iter().any(|name| name == "slow-frames"),
        runs: cli.runs.unwrap_or(if cli.full { FULL_RUNS } else { RUNS }),
        full: cli.full,
        trace: trace.map(Mutex::new),
    };
    println!("model: {}", lab.models.told);
    if !lab.windows {
        println!("this program has no --window: rows that need it are left out");
    }
    let (rows, failures) = runs(cli, &lab)?;
    let verdicts = targets::verdicts(&rows);
    let tables = format!("{}\n{}", report::to_markdown(&rows), targets::to_markdown(&verdicts));
    println!("\n{tables}");
    if let Some(file) = &cli.json {
        std::fs::write(file, report::to_json(&rows)).context("the JSON cannot be written")?;
    }
    if let Some(file) = &cli.markdown {
        std::fs::write(file, tables).context("the tables cannot be written")?;
    }
    plot::write(&cli.plots, &rows)?;
    let missed = verdicts.iter().filter(|verdict| !verdict.met()).count();
    println!("{} of {} targets are met", verdicts.len() - missed, verdicts.len());
    let bad = failures > 0 || (cli.strict && missed > 0);
    Ok(if bad { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Runs all groups once, then again, so that what changes on the machine
/// meanwhile meets all rows alike. The medians, and how many groups failed.
fn runs(cli: &Cli, lab: &Lab) -> Result<(Vec<Row>, usize)> {
    let unknown = cli.groups.iter().find(|name| rows::GROUPS.iter().all(|group| group.name != **name));
    if let Some(name) = unknown {
        bail!("there is no group `{name}`");
    }
    let (mut all, mut failures) = (Vec::new(), 0);
    for run in 1..=lab.runs {
        for group in &rows::GROUPS {
            let asked = cli.groups.iter().any(|name| name == group.name);
            let skipped = group.name == "slow-frames" && !lab.slow_frames;
            if skipped || !(asked || cli.groups.is_empty()) {
                continue;
            }
            let start = Instant::now();
            match (group.run)(lab, run) {
                Ok(rows) => all.extend(rows),
                Err(error) => {
                    interrupted()?;
                    failures += 1;
                    eprintln!("run {run}, {}: {error:#}", group.name);
                }
            }
            println!("run {run}, {}: {:.0} s", group.name, start.elapsed().as_secs_f64());
        }
    }
    Ok((report::medians(&all), failures))
}

/// Whether the program has the options that the compared ways need.
fn has_windows() -> Result<bool> {
    let help = Command::new(peer::PROGRAM).arg("--help").output().context("the program cannot be started")?;
    Ok(String::from_utf8_lossy(&help.stdout).contains("--window <"))
}
