//! The command line. Names here are stable: other programs use them.

use std::{net::IpAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::{
    transfer::WindowMode,
    wire::{FILE_PORT, MEETING_PORT, bulk::MAXIMUM_STEP},
};

/// A meeting around 3D models: people in VR headsets and on desktops look at the
/// same glTF models, move them, and see each other's heads and hands.
#[derive(Debug, Parser)]
#[command(name = "convene", version)]
pub struct Cli {
    /// What to do; without it: open the window.
    #[command(subcommand)]
    pub command: Option<CliCommand>,
    /// Models to open (.glb or .gltf)
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Options of all commands.
    #[command(flatten)]
    pub common: Common,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Host a meeting
    Host {
        /// Models to open (.glb or .gltf)
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        /// TCP port; 0: the system picks one
        #[arg(long, default_value_t = MEETING_PORT)]
        port: u16,
    },
    /// Join a meeting
    Join {
        /// The host: name or number, with :PORT if it is not 21213
        #[arg(value_name = "ADDRESS[:PORT]")]
        address: String,
        /// Models to open after joining; everybody gets them
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Show a meeting with a simulated guest
    Demo,
    /// Send files to somebody's files folder (a headset's, say)
    Send {
        /// The receiver: name or number, with :PORT if it is not 21212
        #[arg(value_name = "ADDRESS[:PORT]")]
        address: String,
        /// Files to send (.glb or .gltf)
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
    },
    /// Tell whether files can be shown, and what is in them
    Check {
        /// Files to look at
        #[arg(value_name = "FILE", required = true)]
        files: Vec<PathBuf>,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
}

/// Options of all commands.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Without a window: JSON commands in, JSON events out
    #[arg(long, global = true)]
    pub headless: bool,
    /// The name that others see
    #[arg(long, global = true)]
    pub name: Option<String>,
    /// Folder for received files
    #[arg(long = "files", global = true, value_name = "DIR")]
    pub received_folder: Option<PathBuf>,
    /// The settings file
    #[arg(long, global = true, value_name = "FILE")]
    pub settings: Option<PathBuf>,
    /// Listen on this address only
    #[arg(long, global = true, value_name = "ADDRESS")]
    pub bind: Option<IpAddr>,
    /// Take files that others send
    #[arg(long, global = true, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "21212")]
    pub receive_files: Option<u16>,
    /// Which protocol to speak
    #[arg(long, global = true, value_enum, default_value_t = ProtocolChoice::Auto)]
    pub protocol: ProtocolChoice,
    /// Send and take models exactly as they are in their files (so far the only way)
    #[arg(long, global = true)]
    pub exact: bool,
    /// Throttle the sending of models to so many Mbit/s
    #[arg(long, global = true, value_name = "MBIT", value_parser = parse_pace)]
    pub pace: Option<f64>,
    /// Receive window of each model in bytes; auto: as the link needs it; none: no limit
    #[arg(long, global = true, value_name = "N|auto|none", default_value = "auto")]
    pub window: WindowMode,
    /// Bytes of a model in one frame that is sent; without it: as the link needs it
    #[arg(long, global = true, value_name = "N", value_parser = parse_step)]
    pub step: Option<usize>,
    /// Where received models are kept for later: a folder, or none
    #[arg(long, global = true, value_name = "DIR|none")]
    pub cache: Option<PathBuf>,
    /// How much to log: error, warn, info, debug, trace
    #[arg(long, global = true, value_name = "LEVEL", default_value = "warn")]
    pub log: String,
    /// Save a picture of the window after so many seconds (repeatable)
    #[arg(long, global = true, hide = true, value_name = "SECONDS=FILE", value_parser = parse_snapshot)]
    pub screenshot: Vec<(f64, PathBuf)>,
    /// Size of the window
    #[arg(long, global = true, hide = true, value_name = "WIDTHxHEIGHT", value_parser = parse_size)]
    pub size: Option<(u32, u32)>,
    /// End after so many seconds
    #[arg(long, global = true, hide = true, value_name = "SECONDS")]
    pub exit_after: Option<f64>,
}

/// Which protocol to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProtocolChoice {
    /// Our extension with those who know it, LookSee's with the others
    Auto,
    /// LookSee's only
    Looksee,
}

const _: () = assert!(FILE_PORT == 21212, "the default of --receive-files");

fn parse_pace(text: &str) -> Result<f64, String> {
    let pace: f64 = text.parse().map_err(|_error| "it is no number".to_owned())?;
    if pace.is_finite() && (0.001..=1e6).contains(&pace) {
        Ok(pace)
    } else {
        Err("it must lie between 0.001 and 1000000".to_owned())
    }
}

fn parse_step(text: &str) -> Result<usize, String> {
    let step: usize = text.parse().map_err(|_error| "it is no number".to_owned())?;
    if (64..=MAXIMUM_STEP).contains(&step) {
        Ok(step)
    } else {
        Err(format!("it must lie between 64 and {MAXIMUM_STEP}"))
    }
}

fn parse_size(text: &str) -> Result<(u32, u32), String> {
    let (width, height) = text.split_once('x').ok_or("write it as WIDTHxHEIGHT")?;
    let number = |text: &str| text.parse().ok().filter(|n| (100..=16_384).contains(n));
    number(width).zip(number(height)).ok_or_else(|| "give both in pixels, from 100 to 16384".to_owned())
}

fn parse_snapshot(text: &str) -> Result<(f64, PathBuf), String> {
    let (seconds, path) = text.split_once('=').ok_or("write it as SECONDS=FILE")?;
    let seconds: f64 = seconds.parse().map_err(|_error| "the seconds are no number".to_owned())?;
    Ok((seconds, path.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(args: &[&str]) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(std::iter::once("convene").chain(args.iter().copied()))
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn forms() {
        let cli = parse(&["a.glb", "b.glb"]).unwrap();
        assert!(cli.command.is_none() && cli.files.len() == 2);
        let cli = parse(&["host", "a.glb", "--port", "0", "--headless", "--bind", "127.0.0.1"]).unwrap();
        assert!(matches!(cli.command, Some(CliCommand::Host { ref files, port: 0 }) if files.len() == 1));
        assert!(cli.common.headless && cli.common.bind.is_some());
        let cli = parse(&["--headless", "join", "10.0.0.1:5", "a.glb", "--protocol", "looksee"]).unwrap();
        assert_eq!(cli.common.protocol, ProtocolChoice::Looksee);
        assert!(matches!(cli.command, Some(CliCommand::Join { ref address, .. }) if address == "10.0.0.1:5"));
        // Files that happen to be named so, behind others.
        let cli = parse(&["--headless", "a.glb", "join"]).unwrap();
        assert!(cli.command.is_none() && cli.files.len() == 2);
        assert_eq!(parse(&["host", "--receive-files"]).unwrap().common.receive_files, Some(21212));
        assert_eq!(parse(&["host", "--receive-files=0"]).unwrap().common.receive_files, Some(0));
        assert!(parse(&["check", "a", "--json", "--pace", "8"]).is_ok());
        let cli = parse(&["join", "x", "--window", "none", "--step", "4096"]).unwrap();
        assert_eq!((cli.common.window, cli.common.step), (WindowMode::Unlimited, Some(4096)));
        assert_eq!(parse(&["join", "x"]).unwrap().common.window, WindowMode::Auto);
    }

    #[test]
    fn wrong_usage_is_exit_code_2() {
        for wrong in [
            &["join"][..],
            &["send", "x"],
            &["check"],
            &["host", "--port", "70000"],
            &["--pace", "0"],
            &["--window", "x"],
            &["--step", "1"],
        ] {
            assert_eq!(parse(wrong).unwrap_err().exit_code(), 2, "{wrong:?}");
        }
    }
}
