//! The `convene` program: reads the command line, runs, maps the outcome to an
//! exit code. With the modules under it the only place that prints text for
//! people.
#![expect(clippy::print_stderr, reason = "this is the program's face")]

#[path = "main/check.rs"]
mod check;
#[path = "main/pack.rs"]
mod pack;
#[path = "main/send.rs"]
mod send;
#[path = "main/terminal.rs"]
mod terminal;

use std::{io::Write, path::Path, process::ExitCode};

use anyhow::Context;
use convene::{
    cli::{self, CliCommand, documents},
    headless::Ending,
    logbook::{self, Logbook},
    mesh::pack::Format,
};
use terminal::say;

const FAILED: u8 = 1;

fn main() -> ExitCode {
    // Exit code 2 for wrong usage, 0 for --help and --version.
    let cli = cli::parse(std::env::args_os()).unwrap_or_else(|error| error.exit());
    start_log(&cli.common.log);
    let result = match cli.command {
        Some(CliCommand::Check { files, json }) => Ok(check::run(&files, json)),
        Some(CliCommand::Send { address, files }) => Ok(send::run(&address, &files)),
        Some(CliCommand::Pack { from, to, way }) => {
            let format = if way.quantize { Format::Quantized } else { Format::Meshopt };
            let format = (!cli.common.exact || way.quantize || way.meshopt).then_some(format);
            pack::run(&pack::Order { from, to, format })
        }
        Some(CliCommand::Completions { shell }) => write_out(&documents::completions(shell)),
        Some(CliCommand::Man { dir }) => manual(dir.as_deref()),
        Some(CliCommand::Demo { pictures: Some(folder) }) => demonstrate(folder, cli.common),
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

/// The demonstration, and where its pictures are.
fn demonstrate(folder: std::path::PathBuf, common: cli::Common) -> anyhow::Result<bool> {
    let pictures = convene::demo::PICTURES.map(|name| folder.join(name).with_extension("png"));
    // What is there afterwards is new.
    for picture in pictures.iter().filter(|picture| picture.exists()) {
        std::fs::remove_file(picture).with_context(|| format!("{} cannot be replaced", picture.display()))?;
    }
    let command = CliCommand::Demo { pictures: Some(folder) };
    let ending = convene::run(Some(command), Vec::new(), common)?;
    let (taken, missing): (Vec<_>, Vec<_>) = pictures.iter().partition(|picture| picture.exists());
    taken.iter().for_each(|picture| say(picture.display()));
    missing.iter().for_each(|picture| eprintln!("convene: {} could not be taken", picture.display()));
    if !missing.is_empty() {
        return Ok(false);
    }
    Ok(ending == Ending::Done)
}

fn start_log(level: &str) {
    use tracing_subscriber::{
        EnvFilter, Layer as _, layer::SubscriberExt as _, util::SubscriberInitExt as _,
    };
    // Unless RUST_LOG says otherwise.
    let filter = EnvFilter::try_from_default_env().or_else(|_| EnvFilter::try_new(logbook::written(level)));
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("warn"));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(terminal::colours(&std::io::stderr()))
        .with_filter(filter);
    let kept = Logbook.with_filter(EnvFilter::new(logbook::kept()));
    tracing_subscriber::registry().with(lines).with(kept).init();
}

/// The manual page, or all of them into a folder.
fn manual(folder: Option<&Path>) -> anyhow::Result<bool> {
    let Some(folder) = folder else {
        let mut page = Vec::new();
        documents::main_page(&mut page)?;
        return write_out(&page);
    };
    std::fs::create_dir_all(folder)
        .with_context(|| format!("the folder {} cannot be made", folder.display()))?;
    for (name, page) in documents::pages()? {
        let path = folder.join(name);
        std::fs::write(&path, page).with_context(|| format!("{} cannot be written", path.display()))?;
        say(path.display());
    }
    Ok(true)
}

/// Whoever reads it may have gone, which is no failure.
fn write_out(text: &[u8]) -> anyhow::Result<bool> {
    match std::io::stdout().write_all(text) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("standard output cannot be written to")
        }
        _ => Ok(true),
    }
}
