//! What the terminal can show, and lines on standard output.

use std::{
    ffi::OsStr,
    fmt::Display,
    io::{self, IsTerminal, Write},
    sync::atomic::{AtomicUsize, Ordering},
};

use console::{Term, measure_text_width};
use indicatif::TermLike;

/// Whether colours may be written there: <https://no-color.org>.
pub fn colours(stream: &impl IsTerminal) -> bool {
    let variable = |name| std::env::var_os(name);
    can_move(stream) && colours_wanted(variable("NO_COLOR").as_deref())
}

/// Whether lines written there can be written over.
pub fn can_move(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && !is_dumb(std::env::var_os("TERM").as_deref())
}

fn colours_wanted(no_color: Option<&OsStr>) -> bool {
    no_color.is_none_or(OsStr::is_empty)
}

fn is_dumb(term: Option<&OsStr>) -> bool {
    term == Some(OsStr::new("dumb"))
}

/// A line on standard output; whoever reads it may have gone, which is no failure.
pub fn say(line: impl Display) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Standard error with a margin at the right.
///
/// indicatif fills every line with blanks up to the terminal's edge and leaves
/// the cursor there. A `^C` that the terminal writes then goes to the next line,
/// and clearing misses a line of the bars. In the margin it does no harm; but
/// lines no longer end by themselves.
#[derive(Debug)]
pub struct WithMargin {
    terminal: Term,
    /// Of the cursor.
    column: AtomicUsize,
}

const MARGIN: u16 = 3;

impl WithMargin {
    pub fn new(terminal: Term) -> Self {
        Self { terminal, column: AtomicUsize::new(0) }
    }
}

impl TermLike for WithMargin {
    fn width(&self) -> u16 {
        self.terminal.size().1.saturating_sub(MARGIN)
    }

    fn height(&self) -> u16 {
        self.terminal.size().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.terminal.move_cursor_up(n)
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.terminal.move_cursor_down(n)
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.terminal.move_cursor_right(n)
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.terminal.move_cursor_left(n)
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.write_str(line)?;
        self.column.store(0, Ordering::Relaxed);
        self.terminal.write_line("")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        let mut column = self.column.load(Ordering::Relaxed);
        if text.starts_with('\r') {
            column = 0;
        }
        let columns = measure_text_width(text);
        if columns > 0 && column >= self.width().into() {
            self.terminal.write_line("")?;
            column = 0;
        }
        self.column.store(column + columns, Ordering::Relaxed);
        self.terminal.write_str(text)
    }

    fn clear_line(&self) -> io::Result<()> {
        self.column.store(0, Ordering::Relaxed);
        self.terminal.clear_line()
    }

    fn flush(&self) -> io::Result<()> {
        self.terminal.flush()
    }
}

/// Puts text into colours, or leaves it as it is.
#[derive(Debug, Clone, Copy)]
pub struct Paint(pub bool);

impl Paint {
    pub fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    pub fn warning(self, text: &str) -> String {
        self.with("33", text)
    }

    pub fn bad(self, text: &str) -> String {
        self.with("31", text)
    }

    pub fn strong(self, text: &str) -> String {
        self.with("1", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// A file's name as it can be shown: control characters could steer the terminal.
pub fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_counts_unless_it_is_empty() {
        assert!(colours_wanted(None) && colours_wanted(Some(OsStr::new(""))));
        assert!(!colours_wanted(Some(OsStr::new("1"))) && !colours_wanted(Some(OsStr::new("0"))));
        assert!(is_dumb(Some(OsStr::new("dumb"))) && !is_dumb(Some(OsStr::new("xterm"))) && !is_dumb(None));
    }

    #[test]
    fn names_do_not_steer_the_terminal() {
        assert_eq!(printable("a\x1b[2Jb\n.glb"), "a?[2Jb?.glb");
        assert_eq!(Paint(false).bad("x"), "x");
        assert_eq!(Paint(true).bad("x"), "\x1b[31mx\x1b[0m");
    }
}
