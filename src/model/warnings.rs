//! What a person should know about a model that is shown all the same.

use std::fmt::Display;

/// Lines kept; the rest is only counted. A hostile file could make one per byte.
const MAX_LINES: usize = 40;

/// Warnings that are looked at; beyond them not even repetitions are recognized.
const MAX_LOOKED_AT: usize = 10_000;

/// Characters of a text from the file that are repeated to a person.
const MAX_QUOTED_CHARS: usize = 80;

/// Warnings in the order met, without repetitions and bounded in number.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    lines: Vec<String>,
    left_out: usize,
    looked_at: usize,
    fault: Option<String>,
}

impl Warnings {
    pub(super) fn push(&mut self, warning: impl Display) {
        self.looked_at += 1;
        if self.lines.len() >= MAX_LINES || self.looked_at > MAX_LOOKED_AT {
            self.left_out += 1;
            return;
        }
        let line = warning.to_string();
        if !self.lines.contains(&line) {
            self.lines.push(line);
        }
    }

    /// A warning about something that is not shown because of it.
    pub(super) fn fault(&mut self, fault: impl Display) {
        if self.fault.is_none() {
            self.fault = Some(fault.to_string());
        }
        self.push(fault);
    }

    /// The first fault: the reason to give if nothing is left to be shown.
    pub(super) fn first_fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    pub(super) fn into_lines(mut self) -> Vec<String> {
        if self.left_out > 0 {
            self.lines.push(format!("and {} more faults", self.left_out));
        }
        self.lines
    }
}

/// A text from a file, made fit to be shown: short, and without control characters.
pub(super) fn quoted(text: &str) -> String {
    let mut shown: String =
        text.chars().take(MAX_QUOTED_CHARS).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(MAX_QUOTED_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_bounded_and_not_repeated() {
        let mut warnings = Warnings::default();
        for number in 0..100 {
            warnings.push("same");
            warnings.push(number);
        }
        let lines = warnings.into_lines();
        assert_eq!(lines.len(), MAX_LINES + 1);
        assert_eq!(lines.iter().filter(|line| *line == "same").count(), 1);
        assert!(lines.last().unwrap().contains("more"));
    }

    #[test]
    fn quoted_text_is_short_and_printable() {
        assert_eq!(quoted("a\u{1b}b"), "a\u{fffd}b");
        assert_eq!(quoted(&"x".repeat(1000)).chars().count(), MAX_QUOTED_CHARS + 1);
    }
}
