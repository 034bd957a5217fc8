//! What the help says besides the options: examples, exit codes, the environment.
//!
//! The manual pages say the same; see [`super::documents`].

use std::fmt::Write;

use clap::{
    Command,
    builder::{Styles, styling::Style},
};

/// A command line and what it does.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// What it does.
    pub does: &'static str,
    /// As it is typed.
    pub line: &'static str,
}

const fn example(does: &'static str, line: &'static str) -> Example {
    Example { does, line }
}

/// Examples of each command; the program's own have an empty name.
pub const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "",
        &[
            example("Look at a model", "convene molecule.glb"),
            example("Host a meeting with a model", "convene host molecule.glb"),
            example("Join one", "convene join 192.168.1.20"),
            example("Send a file to a headset", "convene send 192.168.1.30 molecule.glb"),
            example("See whether files can be shown", "convene check *.glb"),
        ],
    ),
    (
        "host",
        &[
            example("With two models", "convene host molecule.glb map.glb"),
            example(
                "Under a name, taking files from ChimeraX",
                "convene host --name 'Ada Lovelace' --receive-files",
            ),
            example(
                "Without a window, for this machine only",
                "convene host --headless --port 0 --bind 127.0.0.1 molecule.glb",
            ),
        ],
    ),
    (
        "join",
        &[
            example("By number", "convene join 192.168.1.20"),
            example(
                "By name, on another port; the model opens for everybody",
                "convene join lab-pc.local:5000 molecule.glb",
            ),
            example("With LookSee's protocol only", "convene join 192.168.1.20 --protocol looksee"),
            example("From a script", "convene join 192.168.1.20 --headless < commands.jsonl"),
        ],
    ),
    (
        "demo",
        &[
            example("A meeting to try things out", "convene demo"),
            example("The guest's model comes over a slow link", "convene demo --pace 8"),
            example("Pictures of its steps, then the end", "convene demo --pictures pictures"),
        ],
    ),
    (
        "send",
        &[
            example("To a headset", "convene send 192.168.1.30 molecule.glb map.glb"),
            example("To another port", "convene send 192.168.1.30:21300 molecule.glb"),
        ],
    ),
    (
        "check",
        &[
            example("For people", "convene check *.glb"),
            example("For programs", "convene check --json molecule.glb"),
        ],
    ),
    (
        "pack",
        &[
            example("Small, for programs that read meshopt", "convene pack map.glb small.glb"),
            example("Quantized only", "convene pack --quantize map.glb small.glb"),
            example("A .gltf with its files as one GLB", "convene pack --exact map.gltf map.glb"),
        ],
    ),
    (
        "completions",
        &[
            example("bash", "convene completions bash > ~/.local/share/bash-completion/completions/convene"),
            example("zsh, in a folder of $fpath", "convene completions zsh > ~/.zfunc/_convene"),
            example("fish", "convene completions fish > ~/.config/fish/completions/convene.fish"),
            example("PowerShell", "convene completions powershell >> $PROFILE"),
            example("Elvish", "convene completions elvish >> ~/.config/elvish/rc.elv"),
        ],
    ),
    (
        "man",
        &[
            example("Read it", "convene man | man -l -"),
            example("Install all pages", "convene man --dir ~/.local/share/man/man1"),
        ],
    ),
];

/// Exit codes and what they mean.
pub const EXIT_CODES: &[(u8, &str)] = &[
    (0, "done; in a meeting: left as asked, or the host ended it"),
    (1, "failed: standard error says what happened and what to do"),
    (2, "wrong usage"),
];

/// Environment variables and what they do.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("NO_COLOR", "not empty: no colours, whatever the terminal can do"),
    ("TERM", "dumb: neither colours nor progress bars"),
    ("RUST_LOG", "what to log, module by module, as convene::net=debug; comes before --log"),
];

/// A command's examples.
#[must_use]
pub fn examples_of(command: &str) -> &'static [Example] {
    EXAMPLES.iter().find(|(name, _)| *name == command).map_or(&[], |(_, examples)| examples)
}

/// Adds all this to the definition.
pub(super) fn add(mut command: Command) -> Command {
    let style = *Styles::styled().get_header();
    for (name, examples) in EXAMPLES {
        let mut text = String::new();
        examples_text(&mut text, style, examples);
        if name.is_empty() {
            let short = format!("{text}\nMore, and exit codes: convene --help, convene COMMAND --help");
            table(&mut text, style, "Exit codes", EXIT_CODES);
            table(&mut text, style, "Environment", ENVIRONMENT);
            text.push_str("\nHelp of a command: convene help COMMAND");
            command = command.after_help(short).after_long_help(text);
        } else {
            command =
                command.mut_subcommand(name, |subcommand| subcommand.after_help(text.trim_end().to_owned()));
        }
    }
    command
}

// Writing to a String cannot fail.

fn examples_text(text: &mut String, style: Style, examples: &[Example]) {
    let _ = writeln!(text, "{style}Examples:{style:#}");
    for Example { does, line } in examples {
        let _ = writeln!(text, "  {does}:\n      {line}");
    }
}

fn table(text: &mut String, style: Style, title: &str, rows: &[(impl std::fmt::Display, &str)]) {
    let _ = writeln!(text, "\n{style}{title}:{style:#}");
    for (name, meaning) in rows {
        let _ = writeln!(text, "  {:8}  {meaning}", name.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{self, Cli};

    /// Words as a shell takes them apart, up to where it sends the output.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        assert!(!quoted, "{line}");
        words.into_iter().take_while(|word| !matches!(word.as_str(), ">" | ">>" | "<" | "|")).collect()
    }

    fn parse(line: &str) -> Cli {
        cli::parse(words(line)).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    #[test]
    fn every_example_parses_and_is_of_its_command() {
        for (name, examples) in EXAMPLES {
            assert!(!examples.is_empty());
            for example in *examples {
                parse(example.line);
                assert!(example.line.starts_with(format!("convene {name}").trim_end()), "{}", example.line);
            }
        }
    }

    #[test]
    fn every_command_has_examples_in_its_help() {
        let mut command = cli::command();
        command.build();
        for subcommand in command.get_subcommands_mut().filter(|s| s.get_name() != "help") {
            let name = subcommand.get_name().to_owned();
            assert!(!examples_of(&name).is_empty(), "{name}");
            for help in [subcommand.render_help(), subcommand.render_long_help()] {
                let help = help.to_string();
                let at = help.find("Examples:").unwrap_or_else(|| panic!("{name} has no examples: {help}"));
                let lines: Vec<&str> =
                    help[at..].lines().map(str::trim).filter(|line| line.starts_with("convene ")).collect();
                assert_eq!(lines.len(), examples_of(&name).len(), "{help}");
                lines.into_iter().for_each(|line| drop(parse(line)));
            }
        }
        let (short, long) = (cli::command().render_help().to_string(), cli::command().render_long_help());
        assert!(
            short.lines().count() < 50 && short.lines().all(|line| line.chars().count() <= 100),
            "{short}"
        );
        assert!(long.to_string().contains("Exit codes:") && long.to_string().contains("NO_COLOR"));
    }

    /// The documentation and the help say the same.
    #[test]
    fn the_documentation_is_complete() {
        let text = include_str!("../../docs/command-line.md");
        let mut command = cli::command();
        command.build();
        let all: Vec<&Command> = std::iter::once(&command).chain(command.get_subcommands()).collect();
        for command in all {
            assert!(
                text.contains(&format!("`{}", command.get_bin_name().unwrap_or(command.get_name())))
                    || command.get_name() == "help"
            );
            for option in command.get_arguments().filter(|a| !a.is_hide_set()).filter_map(|a| a.get_long()) {
                assert!(text.contains(&format!("`--{option}")), "docs/command-line.md lacks --{option}");
            }
        }
        for (name, examples) in EXAMPLES {
            let missing: Vec<&str> =
                examples.iter().map(|e| e.line).filter(|line| !text.contains(line)).collect();
            assert!(missing.is_empty(), "docs/command-line.md lacks examples of \"{name}\": {missing:?}");
        }
        for (code, meaning) in EXIT_CODES {
            assert!(text.contains(&format!("| {code} | {meaning} |")), "{code}");
        }
        for (variable, meaning) in ENVIRONMENT {
            assert!(text.contains(&format!("| `{variable}` | {meaning} |")), "{variable}");
        }
        for line in text.lines().map(str::trim).filter(|line| line.starts_with("convene ")) {
            parse(line);
        }
    }
}
