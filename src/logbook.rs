//! The last lines of the log, for people to look at in the window.
//!
//! A layer of `tracing` that keeps what the log says, at info level and above,
//! in a ring of fixed length. It holds what the log holds: no addresses, no names.

use std::{
    collections::VecDeque,
    fmt::Write as _,
    sync::{Mutex, PoisonError, TryLockError},
    time::Instant,
};

use tracing::{Event, Level, Subscriber, field::Visit};
use tracing_subscriber::{Layer, layer::Context};

/// Lines that are kept.
const LINES: usize = 200;
/// Longer lines are cut.
const MOST_BYTES: usize = 400;

/// Those who say more than people can use.
const LOUD: &str = "wgpu=error,naga=warn,bevy_clipboard=error";

static BOOK: Mutex<VecDeque<Line>> = Mutex::new(VecDeque::new());

/// One line.
#[derive(Debug, Clone)]
pub struct Line {
    /// When it was written.
    pub at: Instant,
    /// How bad it is.
    pub level: Level,
    /// What it says.
    pub text: String,
}

/// What is written into the log at this level, as `EnvFilter` reads it: of Bevy and
/// wgpu only what matters.
pub fn written(level: &str) -> String {
    format!("warn,{LOUD},convene={level}")
}

/// What is kept for the window, which can show more than is written by default.
pub fn kept() -> String {
    format!("warn,{LOUD},convene=info")
}

/// The newest lines, oldest of them first.
pub fn last(count: usize) -> Vec<Line> {
    let book = BOOK.lock().unwrap_or_else(PoisonError::into_inner);
    book.iter().skip(book.len().saturating_sub(count)).cloned().collect()
}

/// As [`last`], or none while a thread is writing: the one that asks may be the
/// one that has just failed in there.
pub fn last_unless_busy(count: usize) -> Vec<Line> {
    match BOOK.try_lock() {
        Ok(book) => book.iter().skip(book.len().saturating_sub(count)).cloned().collect(),
        Err(TryLockError::Poisoned(book)) => book.into_inner().iter().cloned().collect(),
        Err(TryLockError::WouldBlock) => Vec::new(),
    }
}

/// Keeps what goes through it.
#[derive(Debug, Default, Clone, Copy)]
pub struct Logbook;

impl<S: Subscriber> Layer<S> for Logbook {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = *event.metadata().level();
        if level > Level::INFO {
            return;
        }
        let mut text = Text::default();
        event.record(&mut text);
        let mut text = text.0;
        while text.len() > MOST_BYTES {
            text.pop();
        }
        let mut book = BOOK.lock().unwrap_or_else(PoisonError::into_inner);
        if book.len() >= LINES {
            book.pop_front();
        }
        book.push_back(Line { at: Instant::now(), level, text });
    }
}

#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = if field.name() == "message" {
            write!(self.0, "{value:?}")
        } else {
            write!(self.0, " {}={value:?}", field.name())
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::layer::SubscriberExt as _;

    #[test]
    fn the_newest_lines_are_kept() {
        let subscriber = tracing_subscriber::registry().with(Logbook);
        tracing::subscriber::with_default(subscriber, || {
            for number in 0..LINES + 3 {
                tracing::info!("line {number}");
            }
            tracing::debug!("a detail");
            tracing::warn!(number = 7, "the last one");
        });
        let lines = last(2);
        assert_eq!(lines[0].text, format!("line {}", LINES + 2));
        assert_eq!((lines[1].text.as_str(), lines[1].level), ("the last one number=7", Level::WARN));
        assert_eq!(last(usize::MAX).len(), LINES);
    }
}
