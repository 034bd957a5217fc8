//! Completions for shells and manual pages, made from the definition of the
//! command line.

use std::io::{self, Write};

use clap::{Arg, Command};
use clap_complete::Shell;
use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use super::help::{ENVIRONMENT, EXIT_CODES, Example, examples_of};

/// The completions of one shell.
#[must_use]
pub fn completions(shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut visible(&built()), "convene", &mut text);
    text
}

/// Without what the help does not show either; completions offer it otherwise.
fn visible(command: &Command) -> Command {
    let arguments = command.get_arguments().filter(|argument| !argument.is_hide_set());
    Command::new(command.get_name().to_owned())
        .about(command.get_about().cloned().unwrap_or_default())
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_flag(true)
        .disable_version_flag(true)
        .disable_help_subcommand(true)
        // All commands have the common options already, in so far as they show them.
        .args(arguments.map(|argument| argument.clone().global(false)))
        .subcommands(command.get_subcommands().map(visible))
}

/// The program's own manual page.
///
/// # Errors
/// If it cannot be written.
pub fn main_page(out: &mut dyn Write) -> io::Result<()> {
    page(&built(), out)
}

/// All manual pages with the names of their files, the program's own first.
///
/// # Errors
/// None that is known: the pages are made in memory.
pub fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let command = built();
    std::iter::once(&command)
        .chain(command.get_subcommands())
        .map(|command| {
            let mut text = Vec::new();
            page(command, &mut text)?;
            Ok((Man::new(command.clone()).get_filename(), text))
        })
        .collect()
}

fn built() -> Command {
    // What only the short help leaves out has its place here.
    let unhide = |argument: Arg| argument.hide_short_help(false);
    let mut command = super::command().disable_help_subcommand(true).mut_args(unhide);
    command.build();
    command
}

/// As `clap_mangen` does it, but with sections for the examples and so on.
fn page(command: &Command, out: &mut dyn Write) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let is_main = command.has_subcommands();
    let man = Man::new(command.clone())
        .title(name.to_uppercase())
        .source(concat!("convene ", env!("CARGO_PKG_VERSION")))
        .manual("Convene");
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if is_main {
        man.render_subcommands_section(out)?;
    }
    let mut roff = Roff::new();
    roff.control("SH", ["EXAMPLES"]);
    for Example { does, line } in examples_of(if is_main { "" } else { command.get_name() }) {
        roff.control("TP", []);
        roff.text([roman(format!("{does}:"))]);
        roff.text([bold(*line)]);
    }
    section(&mut roff, "EXIT STATUS", EXIT_CODES);
    section(&mut roff, "ENVIRONMENT", ENVIRONMENT);
    if !is_main {
        roff.control("SH", ["SEE ALSO"]);
        roff.text([bold("convene"), roman("(1)")]);
    }
    roff.to_writer(out)
}

fn section(roff: &mut Roff, title: &str, rows: &[(impl std::fmt::Display, &str)]) {
    roff.control("SH", [title]);
    for (name, meaning) in rows {
        roff.control("TP", []);
        roff.text([bold(name.to_string())]);
        roff.text([roman(*meaning)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn completions_for_every_shell() {
        for shell in Shell::value_variants() {
            let text = String::from_utf8(completions(*shell)).unwrap();
            // fish has its options without the dashes.
            assert!(text.contains("--headless") || text.contains("-l headless"), "{shell}: {text}");
            assert!(text.contains("join") && text.contains("completions"), "{shell}");
            assert!(text.contains("help") && !text.contains("exit-after"), "{shell}: {text}");
        }
    }

    #[test]
    fn a_page_for_each_command() {
        let pages = pages().unwrap();
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names[0], "convene.1");
        for name in ["host", "join", "demo", "send", "check", "completions", "man"] {
            assert!(names.contains(&format!("convene-{name}.1").as_str()), "{names:?}");
        }
        for (name, text) in &pages {
            let text = String::from_utf8(text.clone()).unwrap();
            for part in [".TH CONVENE", ".SH NAME", ".SH SYNOPSIS", ".SH EXAMPLES", ".SH \"EXIT STATUS\""] {
                assert!(text.contains(part), "{name} lacks {part}: {text}");
            }
            assert!(!text.contains('\x1b'), "{name}");
        }
        let main = String::from_utf8(pages[0].1.clone()).unwrap();
        let mut command = crate::cli::command();
        command.build();
        for option in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let help = option.get_help().unwrap().to_string();
            let start: String = help.chars().take_while(|c| c.is_alphanumeric() || *c == ' ').collect();
            assert!(main.contains(start.trim()), "--{} has no help: {main}", option.get_id());
        }
    }
}
