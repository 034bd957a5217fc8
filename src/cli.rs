//! The command line. Names here are stable: other programs use them.
//!
//! Pure: it reads arguments and makes texts. What is done with them is `main`'s.

pub mod documents;
pub mod help;

use std::{ffi::OsString, net::IpAddr, path::PathBuf};

use clap::{
    Arg, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum, ValueHint,
    builder::PossibleValuesParser,
    error::{ContextKind, ContextValue, ErrorKind},
};

use crate::{
    transfer::{Method, WindowMode},
    wire::{FILE_PORT, MEETING_PORT, bulk::MAXIMUM_STEP},
};

/// A meeting around 3D models
#[derive(Debug, Parser)]
#[command(name = "convene", version, long_about = LONG_ABOUT)]
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

const LONG_ABOUT: &str = "\
A meeting around 3D models: people in VR headsets and on desktops look at the same
glTF models, move them, point at them, and see each other's heads and hands.

Without a command it opens the window.";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Host a meeting
    Host {
        /// Models to open (.glb or .gltf)
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        /// TCP port; 0: the system picks one
        #[arg(long, default_value_t = MEETING_PORT, help_heading = MEETING)]
        port: u16,
    },
    /// Join a meeting
    Join {
        /// The host: name or number, with :PORT if it is not 21213
        #[arg(value_name = ADDRESS, value_hint = ValueHint::Hostname)]
        address: String,
        /// Models to open after joining; everybody gets them
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Show a meeting with a simulated guest
    Demo {
        /// Save pictures of its steps into this folder, then end
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = OUTPUT)]
        pictures: Option<PathBuf>,
    },
    /// Send files to somebody's files folder (a headset's, say)
    Send {
        /// The receiver: name or number, with :PORT if it is not 21212
        #[arg(value_name = ADDRESS, value_hint = ValueHint::Hostname)]
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
        #[arg(long, help_heading = OUTPUT)]
        json: bool,
    },
    /// Write a model as a smaller standard glTF for other programs
    Pack {
        /// The model (.glb or .gltf)
        #[arg(value_name = "IN")]
        from: PathBuf,
        /// Where to write it
        #[arg(value_name = "OUT.glb")]
        to: PathBuf,
        /// How
        #[command(flatten)]
        way: PackWay,
    },
    /// Write the completions of a shell to standard output
    Completions {
        /// The shell that reads them
        #[arg(value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Write the manual page to standard output
    Man {
        /// Write a page for each command into this folder instead
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = OUTPUT)]
        dir: Option<PathBuf>,
    },
}

/// How a model is packed: one of these, meshopt if nothing is said.
#[derive(Debug, Clone, Copy, Default, Args)]
#[group(multiple = false)]
pub struct PackWay {
    /// Quantized and compressed (EXT_meshopt_compression); what is done if nothing is said
    #[arg(long, help_heading = MODELS)]
    pub meshopt: bool,
    /// Quantized only (KHR_mesh_quantization)
    #[arg(long, help_heading = MODELS)]
    pub quantize: bool,
}

const ADDRESS: &str = "ADDRESS[:PORT]";

// The headings of the options in the help.
const MEETING: &str = "Meeting";
const MODELS: &str = "Models";
const FILES: &str = "Files";
const HEADLESS: &str = "Headless";
const OUTPUT: &str = "Output";

/// Options of all commands.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// The name that others see
    #[arg(long, global = true, value_parser = parse_name, help_heading = MEETING)]
    pub name: Option<String>,
    /// Without a window: JSON commands in, JSON events out
    #[arg(long, global = true, help_heading = HEADLESS)]
    pub headless: bool,
    /// Look through a headset (the program's window stays for others)
    #[arg(long, global = true, help_heading = MEETING)]
    pub vr: bool,
    /// Folder for received files
    #[arg(long = "files", global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(help_heading = FILES, hide_short_help = true)]
    pub received_folder: Option<PathBuf>,
    /// The settings file
    #[arg(long, global = true, value_name = "FILE", help_heading = FILES, hide_short_help = true)]
    pub settings: Option<PathBuf>,
    /// Listen on this address only
    #[arg(long, global = true, value_name = "ADDRESS", value_parser = parse_bind)]
    #[arg(help_heading = MEETING, hide_short_help = true)]
    pub bind: Option<IpAddr>,
    /// Take files that others send
    #[arg(long, global = true, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "21212")]
    #[arg(help_heading = FILES)]
    pub receive_files: Option<u16>,
    /// Which protocol to speak
    #[arg(long, global = true, value_enum, default_value_t = ProtocolChoice::Auto)]
    #[arg(help_heading = MEETING, hide_short_help = true)]
    pub protocol: ProtocolChoice,
    /// Send and take models exactly as they are in their files; pack: write the same file
    #[arg(long, global = true, help_heading = MODELS, hide_short_help = true)]
    pub exact: bool,
    /// Throttle the sending of models to so many Mbit/s
    #[arg(long, global = true, value_name = "MBIT", value_parser = parse_pace)]
    #[arg(help_heading = MODELS, hide_short_help = true)]
    pub pace: Option<f64>,
    /// Receive window of each model in bytes; auto: as the link needs it; none: no limit
    #[arg(long, global = true, value_name = "N|auto|none", default_value = "auto")]
    #[arg(help_heading = MODELS, hide_short_help = true)]
    pub window: WindowMode,
    /// Bytes of a model in one frame that is sent; without it: as the link needs it
    #[arg(long, global = true, value_name = "N", value_parser = parse_step)]
    #[arg(help_heading = MODELS, hide_short_help = true)]
    pub step: Option<usize>,
    /// Take models in these ways only, to compare them
    #[arg(long, global = true, hide = true, value_name = "WAY,...", value_delimiter = ',', value_parser = parse_method)]
    pub methods: Vec<Method>,
    /// Where received models are kept for later: a folder, or none
    #[arg(long, global = true, value_name = "DIR|none", value_hint = ValueHint::DirPath)]
    #[arg(help_heading = MODELS, hide_short_help = true)]
    pub cache: Option<PathBuf>,
    /// Triangles drawn of a model, one with more is simplified; none: all, as on desktops without this
    #[arg(long, global = true, value_name = "N|none", value_parser = parse_budget)]
    #[arg(help_heading = MODELS, hide_short_help = true)]
    pub triangle_budget: Option<u64>,
    /// How much to log: off, error, warn, info, debug, trace
    #[arg(long, global = true, value_name = "LEVEL", default_value = "warn", ignore_case = true)]
    #[arg(value_parser = PossibleValuesParser::new(LOG_LEVELS), hide_possible_values = true, help_heading = OUTPUT)]
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
    /// Tell into this file what the window shows and does, as JSON lines
    #[arg(long, global = true, hide = true, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Pixels of each eye of the headset
    #[arg(long, global = true, hide = true, value_name = "WIDTHxHEIGHT", value_parser = parse_size)]
    pub eye_size: Option<(u32, u32)>,
    /// Look through a headset and open no window, as on a standalone headset
    #[arg(long, global = true, hide = true)]
    pub no_window: bool,
    /// Save a picture of the left eye after so many seconds (repeatable)
    #[arg(long, global = true, hide = true, value_name = "SECONDS=FILE", value_parser = parse_snapshot)]
    pub eye_shot: Vec<(f64, PathBuf)>,
}

/// With fewer triangles nobody would recognize a model.
const LEAST_BUDGET: u64 = 1000;

const LOG_LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Commands that take no part in a meeting, and the common options that matter
/// to them. The others are taken as well, as scripts may give them to all
/// commands, but the help does not speak of them.
const APART: &[(&str, &[&str])] = &[
    ("send", &["log"]),
    ("check", &["log"]),
    ("pack", &["log", "exact"]),
    ("completions", &[]),
    ("man", &[]),
];

/// The definition, with all that the help says.
#[must_use]
pub fn command() -> Command {
    let mut command = Cli::command();
    let common: Vec<Arg> = command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    for (name, matter) in APART {
        let hidden = common.iter().filter(|arg| !matter.contains(&arg.get_id().as_str()));
        let hidden: Vec<Arg> = hidden.map(|arg| arg.clone().hide(true)).collect();
        command = command.mut_subcommand(name, |subcommand| subcommand.args(hidden));
    }
    help::add(command)
}

/// Reads the arguments, the program's own name first.
///
/// # Errors
/// For wrong usage, and for `--help` and `--version`: see [`clap::Error::exit`].
pub fn parse<I, T>(arguments: I) -> Result<Cli, clap::Error>
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    let matches = command().try_get_matches_from(arguments).map_err(with_advice)?;
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command()))?;
    match misspelt(&cli) {
        Some(error) => Err(error),
        None => Ok(cli),
    }
}

/// Says what is missing where clap only names it.
fn with_advice(mut error: clap::Error) -> clap::Error {
    if error.kind() == ErrorKind::MissingRequiredArgument
        && let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg)
        && missing.iter().any(|argument| argument.contains(ADDRESS))
    {
        let advice = "an address is a number or a name, as the other screen shows it: \
                      192.168.1.20, 192.168.1.20:5000 or lab-pc.local";
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.to_owned().into()]));
    }
    error
}

/// A file that is no command by one slip of the finger: models have a dot in
/// their names.
fn misspelt(cli: &Cli) -> Option<clap::Error> {
    let word = cli.files.first().filter(|_| cli.command.is_none())?.to_str()?;
    if word.contains(['.', '/', '\\']) {
        return None;
    }
    let mut command = command();
    command.build();
    let meant = command.get_subcommands().map(Command::get_name).find(|name| is_slip(word, name))?.to_owned();
    let mut error = clap::Error::new(ErrorKind::InvalidSubcommand).with_cmd(&command);
    error.insert(ContextKind::InvalidSubcommand, ContextValue::String(word.to_owned()));
    error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![meant]));
    let usage = command.render_usage();
    error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    Some(error)
}

/// Whether the two differ by one letter more, less or changed, or by two that
/// have changed places. Not in capitals.
fn is_slip(typed: &str, meant: &str) -> bool {
    let typed: Vec<char> = typed.to_lowercase().chars().collect();
    let meant: Vec<char> = meant.chars().collect();
    let same_start = typed.iter().zip(&meant).take_while(|(a, b)| a == b).count();
    let (typed, meant) = (&typed[same_start..], &meant[same_start..]);
    match (typed, meant) {
        ([], []) => true,
        ([_, rest @ ..], _) if rest == meant => true,
        (_, [_, rest @ ..]) if rest == typed => true,
        ([_, rest @ ..], [_, others @ ..]) if rest == others => true,
        ([a, b, rest @ ..], [c, d, others @ ..]) => a == d && b == c && rest == others,
        _ => false,
    }
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

/// Others cut longer names.
const NAME_CHARACTERS: usize = 40;

fn parse_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    let characters = name.chars().count();
    if name.is_empty() {
        Err("it is empty; give the name that others are to see".to_owned())
    } else if characters > NAME_CHARACTERS {
        Err(format!("it has {characters} characters, and others see {NAME_CHARACTERS} at most"))
    } else if name.contains(char::is_control) {
        Err("it has characters that cannot be shown".to_owned())
    } else {
        Ok(name.to_owned())
    }
}

fn parse_bind(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_error| {
        "give one of this machine's own addresses as a number, such as 127.0.0.1 or ::1".to_owned()
    })
}

fn parse_method(text: &str) -> Result<Method, String> {
    Method::parse(text).ok_or_else(|| "write raw, gzip, exact or mesh".to_owned())
}

fn parse_pace(text: &str) -> Result<f64, String> {
    let pace: f64 = text.parse().map_err(|_error| "give a number of Mbit/s, such as 8 or 0.5".to_owned())?;
    if pace.is_finite() && (0.001..=1e6).contains(&pace) {
        Ok(pace)
    } else {
        Err("it must lie between 0.001 and 1000000".to_owned())
    }
}

/// `none` is a budget that no model exceeds.
fn parse_budget(text: &str) -> Result<u64, String> {
    if text == "none" {
        return Ok(u64::MAX);
    }
    let budget: u64 = text.parse().map_err(|_error| "give a number of triangles, or none".to_owned())?;
    if budget >= LEAST_BUDGET { Ok(budget) } else { Err(format!("it must be at least {LEAST_BUDGET}")) }
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

    fn parse(args: &[&str]) -> Result<Cli, clap::Error> {
        super::parse(std::iter::once("convene").chain(args.iter().copied()))
    }

    fn error(args: &[&str]) -> String {
        let error = parse(args).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{args:?}");
        error.to_string()
    }

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
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
            &["pack", "a.glb"],
            &["pack", "a.glb", "b.glb", "--meshopt", "--quantize"],
            &["host", "--port", "70000"],
            &["--pace", "0"],
            &["--window", "x"],
            &["--step", "1"],
        ] {
            assert_eq!(parse(wrong).unwrap_err().exit_code(), 2, "{wrong:?}");
        }
    }

    #[test]
    fn wrong_values_are_explained() {
        let long = "x".repeat(41);
        for (wrong, expected) in [
            (&["--name", long.as_str()][..], "41 characters"),
            (&["--name", " "], "it is empty"),
            (&["--name", "a\u{7}b"], "cannot be shown"),
            (&["--log", "nonsense"], "[possible values: off, error, warn, info, debug, trace]"),
            (&["--log", "inof"], "'info'"),
            (&["--pace", "abc"], "a number of Mbit/s"),
            (&["--pace", "nan"], "between 0.001"),
            (&["--bind", "here"], "such as 127.0.0.1"),
            (&["host", "--port", "abc"], "invalid digit"),
            (&["--protocol", "looksea"], "'looksee'"),
            (&["completions", "bsh"], "'bash'"),
        ] {
            let text = error(wrong);
            assert!(text.contains(expected), "{wrong:?}: {text}");
        }
        assert_eq!(
            parse(&["--name", " Ada Lovelace "]).unwrap().common.name.as_deref(),
            Some("Ada Lovelace")
        );
        assert!(parse(&["--name", &"é".repeat(40), "--log", "INFO"]).is_ok());
    }

    #[test]
    fn a_missing_address_is_described() {
        for wrong in [&["join"][..], &["send"]] {
            let text = error(wrong);
            assert!(text.contains("192.168.1.20:5000 or lab-pc.local"), "{text}");
        }
        assert!(!error(&["check"]).contains("192.168"));
    }

    #[test]
    fn slips_are_noticed() {
        for (typed, meant) in
            [("jion", "join"), ("hots", "host"), ("chek", "check"), ("sendd", "send"), ("Demo", "demo")]
        {
            let text = error(&[typed, "10.0.0.1"]);
            assert!(text.contains(&format!("'{meant}'")) && text.contains("Usage:"), "{text}");
        }
        assert!(error(&["--headles"]).contains("'--headless'"));
        // Files, or nothing that is like a command.
        for file in ["./jion", "join.glb", "molecule", "a"] {
            assert!(parse(&[file]).is_ok(), "{file}");
        }
    }

    #[test]
    fn commands_apart_take_all_options_and_show_their_own() {
        let cli = parse(&["check", "a", "--headless", "--name", "x", "--log", "debug"]).unwrap();
        assert!(cli.common.headless && cli.common.log == "debug", "{cli:?}");
        let cli = parse(&["--log", "debug", "send", "a", "b"]).unwrap();
        assert_eq!((cli.common.log.as_str(), cli.common.protocol), ("debug", ProtocolChoice::Auto));
        let help = error_or_help(&["send", "--help"]);
        assert!(help.contains("--log") && !help.contains("--headless") && !help.contains("--name"), "{help}");
        assert!(error_or_help(&["host", "--help"]).contains("--headless"));
    }

    fn error_or_help(args: &[&str]) -> String {
        parse(args).unwrap_err().to_string()
    }
}
