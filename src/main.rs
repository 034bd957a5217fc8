//! The `convene` program: reads the command line, runs, maps the outcome to an
//! exit code. With the modules under it the only place that prints text for
//! people.
#![expect(clippy::print_stderr, reason = "this is the program's face")]

#[path = "main/check.rs"]
mod check;
#[path = "main/send.rs"]
mod send;
#[path = "main/terminal.rs"]
mod terminal;

use std::{io::Write, path::Path, process::ExitCode};

use anyhow::Context;
use convene::{
    cli::{self, CliCommand, documents},
    headless::Ending,
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
        Some(CliCommand::Completions { shell }) => write_out(&documents::completions(shell)),
        Some(CliCommand::Man { dir }) => manual(dir.as_deref()),
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
    let filter = filter.unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(terminal::colours(&std::io::stderr()))
        .init();
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
