//! `convene send`: files one after another, with bars where there is a terminal
//! and a line for each where there is none.
#![expect(clippy::print_stderr, reason = "this is the program's face")]

use std::{
    path::{Path, PathBuf},
    process,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use console::{Term, measure_text_width};
use convene::{net::push_file, notice::Notice};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::{
    FAILED,
    terminal::{WithMargin, can_move, colours, printable, say},
};

/// Columns that an address may take.
const ADDRESS_COLUMNS: usize = 32;
/// At most so many drawings a second.
const DRAWINGS: u8 = 20;
/// A rate is known after so long: the first bytes only fill the system's buffers.
const RATE_AFTER: Duration = Duration::from_secs(1);

/// Whether all of them were sent.
pub fn run(address: &str, files: &[PathBuf]) -> bool {
    let screen = Arc::new(Mutex::new(Screen::new(files)));
    stop_cleanly(&screen);
    let mut all = true;
    for file in files {
        let start = Instant::now();
        lock(&screen).begin(file, address);
        let result = push_file(address, file, |sent, total| lock(&screen).show(sent, total));
        let mut screen = lock(&screen);
        match result {
            Ok(()) => screen.sent(start.elapsed()),
            Err(error) => {
                screen.failed(&Notice::from(&error));
                all = false;
            }
        }
    }
    lock(&screen).end();
    all
}

/// Ctrl-C and SIGTERM take the bars away and say what was not sent.
fn stop_cleanly(screen: &Arc<Mutex<Screen>>) {
    let screen = screen.clone();
    let handler = ctrlc::set_handler(move || {
        // Kept until the process has ended: nobody draws any more.
        let mut screen = lock(&screen);
        screen.stopped();
        process::exit(FAILED.into());
    });
    if let Err(error) = handler {
        tracing::debug!("signals end the program at once: {error}");
    }
}

fn lock(screen: &Mutex<Screen>) -> MutexGuard<'_, Screen> {
    screen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All that is told.
struct Screen {
    /// None: standard error is no terminal, or a very narrow one.
    bars: Option<Bars>,
    /// The file that is being sent, as it can be shown.
    name: String,
    bytes: u64,
    begun: usize,
    count: usize,
}

impl Screen {
    fn new(files: &[PathBuf]) -> Self {
        let stderr = std::io::stderr();
        let (_, columns) = Term::stderr().size();
        let layout = Layout::new(columns, colours(&stderr)).filter(|_| can_move(&stderr));
        let bars = layout.map(|layout| Bars::new(files, layout));
        Self { bars, name: String::new(), bytes: 0, begun: 0, count: files.len() }
    }

    fn begin(&mut self, file: &Path, address: &str) {
        self.name = printable(&file.file_name().unwrap_or(file.as_os_str()).to_string_lossy());
        self.bytes = 0;
        self.begun += 1;
        if let Some(bars) = &mut self.bars {
            bars.begin(&self.name, length_of(file), address);
        }
    }

    fn show(&mut self, sent: u64, total: u64) {
        self.bytes = total;
        if let Some(bars) = &mut self.bars {
            bars.show(sent, total);
        }
    }

    fn sent(&mut self, took: Duration) {
        let line =
            format!("{} sent: {:.1} MB in {:.1} s", self.name, megabytes(self.bytes), took.as_secs_f64());
        match &mut self.bars {
            Some(bars) => bars.finish(true, || say(line)),
            None => say(line),
        }
    }

    fn failed(&mut self, notice: &Notice) {
        let line = format!("convene: {} was not sent: {notice}", self.name);
        match &mut self.bars {
            Some(bars) => bars.finish(false, || eprintln!("{line}")),
            None => eprintln!("{line}"),
        }
    }

    fn end(&mut self) {
        if let Some(bars) = &mut self.bars {
            bars.clear();
        }
    }

    fn stopped(&mut self) {
        self.end();
        let others = match self.count - self.begun {
            0 => String::new(),
            1 => ", nor the file after it".to_owned(),
            more => format!(", nor the {more} files after it"),
        };
        match self.begun {
            0 => eprintln!("convene: stopped: nothing was sent."),
            _ => eprintln!("convene: stopped: {} was not sent whole{others}.", self.name),
        }
    }
}

/// What a line of progress consists of.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Layout {
    /// Columns for a name.
    name: usize,
    /// With a bar, rate and seconds.
    wide: bool,
    colours: bool,
}

impl Layout {
    /// None: a line does not fit.
    fn new(columns: u16, colours: bool) -> Option<Self> {
        let wide = columns >= 80;
        (columns >= 50).then_some(Self { name: if wide { 20 } else { 16 }, wide, colours })
    }

    /// `last`: what stands at the end of the line.
    fn style(self, last: &str) -> ProgressStyle {
        let bar = match (self.wide, self.colours) {
            (true, true) => "[{wide_bar:.cyan}] ",
            (true, false) => "[{wide_bar}] ",
            (false, _) => "",
        };
        let wide = self.wide;
        ProgressStyle::with_template(&format!("{{prefix}} {{percent:>3}} % {bar}{{{last}}}"))
            .unwrap_or_else(|_error| ProgressStyle::default_bar())
            .progress_chars("=> ")
            .with_key("figures", move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let known = wide && state.elapsed() >= RATE_AFTER;
                let rate = known.then(|| (state.per_sec(), state.eta()));
                // Nothing can be done where it cannot be written.
                let _ = out.write_str(&figures(state.pos(), state.len().unwrap_or(0), rate));
            })
    }
}

/// A bar for the file and, if there are several, one for all.
struct Bars {
    screen: MultiProgress,
    layout: Layout,
    file: ProgressBar,
    file_bytes: u64,
    all: Option<ProgressBar>,
    /// Bytes of the files that were sent.
    done: u64,
}

impl Bars {
    fn new(files: &[PathBuf], layout: Layout) -> Self {
        let terminal = Box::new(WithMargin::new(Term::buffered_stderr()));
        let screen =
            MultiProgress::with_draw_target(ProgressDrawTarget::term_like_with_hz(terminal, DRAWINGS));
        let all = (files.len() > 1).then(|| {
            let bytes = files.iter().map(|file| length_of(file)).sum();
            let bar = screen.add(ProgressBar::new(bytes).with_style(layout.style("figures")));
            bar.set_prefix(column(&format!("all {} files", files.len()), layout.name));
            bar
        });
        Self { screen, layout, file: ProgressBar::hidden(), file_bytes: 0, all, done: 0 }
    }

    fn begin(&mut self, name: &str, bytes: u64, address: &str) {
        self.file_bytes = bytes;
        // Of nothing 100 % would be done.
        let bar = ProgressBar::new(bytes.max(1))
            .with_style(self.layout.style("msg"))
            .with_prefix(column(name, self.layout.name))
            .with_message(match self.layout.wide {
                true => format!("connecting to {}", shortened(&printable(address), ADDRESS_COLUMNS)),
                false => "connecting".to_owned(),
            });
        self.file = self.screen.insert(0, bar);
        self.file.tick();
    }

    fn show(&mut self, sent: u64, total: u64) {
        if sent == 0 {
            // It begins: what connecting took does not count.
            self.file.set_style(self.layout.style("figures"));
            self.file.reset();
            self.file.set_length(total);
        }
        self.file.set_position(sent);
        if let Some(all) = &self.all {
            all.set_position(self.done + sent);
        }
        if sent == total {
            self.file.set_style(self.layout.style("msg"));
            self.file.set_message("waiting for receiver");
        }
    }

    /// The file's bar goes, and a line takes its place.
    fn finish(&mut self, sent: bool, tell: impl FnOnce()) {
        self.file.finish_and_clear();
        self.screen.remove(&self.file);
        if let Some(all) = &self.all {
            if sent {
                self.done += self.file_bytes;
            } else {
                all.set_length(all.length().unwrap_or(0).saturating_sub(self.file_bytes));
            }
            all.set_position(self.done);
        }
        self.screen.suspend(tell);
    }

    fn clear(&mut self) {
        self.file.finish_and_clear();
        if let Some(all) = &self.all {
            all.finish_and_clear();
        }
        // A terminal that has gone away loses its progress, nothing else.
        let _ = self.screen.clear();
    }
}

/// Bytes of a file; 0 if it cannot be looked at, which sending it will tell.
fn length_of(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |metadata| metadata.len())
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// What stands behind the bar; `rate`: bytes per second and the time left.
fn figures(sent: u64, total: u64, rate: Option<(f64, Duration)>) -> String {
    let mut text = format!("{:.1} of {:.1} MB", megabytes(sent), megabytes(total));
    if let Some((per_second, left)) = rate {
        text.push_str(&format!("  {:.1} MB/s", per_second / 1e6));
        if sent < total && per_second >= 1.0 {
            text.push_str(&format!("  {} left", seconds(left)));
        }
    }
    text
}

fn seconds(time: Duration) -> String {
    match time.as_secs_f64().ceil() as u64 {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7200 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// A name with as many columns as all others: long ones lose their middle, for
/// the beginning and the end tell files apart.
fn column(name: &str, columns: usize) -> String {
    let name = shortened(name, columns);
    let blanks = columns.saturating_sub(measure_text_width(&name));
    name + &" ".repeat(blanks)
}

fn shortened(name: &str, columns: usize) -> String {
    if measure_text_width(name) <= columns {
        return name.to_owned();
    }
    let room = columns.saturating_sub(1);
    let start = within(name.chars(), room / 2);
    let end = within(name.chars().rev(), room - measure_text_width(&start));
    format!("{start}…{}", end.chars().rev().collect::<String>())
}

/// As many of the first characters as fit.
fn within(characters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut taken = 0;
    characters
        .take_while(|c| {
            taken += measure_text_width(c.encode_utf8(&mut [0; 4]));
            taken <= columns
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_their_column() {
        assert_eq!(shortened("a.glb", 24), "a.glb");
        assert_eq!(shortened("a very long name of a surface.glb", 16), "a very …face.glb");
        for name in ["a.glb", "蛋白质蛋白质蛋白质蛋白质蛋白质.glb", &"é".repeat(50), ""] {
            for columns in [16, 24] {
                assert_eq!(measure_text_width(&column(name, columns)), columns, "{name}");
            }
        }
    }

    #[test]
    fn figures_say_only_what_is_known() {
        let s = Duration::from_secs;
        assert_eq!(figures(0, 45_600_000, None), "0.0 of 45.6 MB");
        assert_eq!(figures(0, 45_600_000, Some((0.0, s(9)))), "0.0 of 45.6 MB  0.0 MB/s");
        let some = figures(12_300_000, 45_600_000, Some((8.2e6, s(4))));
        assert_eq!(some, "12.3 of 45.6 MB  8.2 MB/s  4 s left");
        assert_eq!(figures(45_600_000, 45_600_000, Some((8.2e6, s(0)))), "45.6 of 45.6 MB  8.2 MB/s");
        assert_eq!([119, 121, 7201].map(|n| seconds(s(n))), ["119 s", "3 min", "3 h"]);
    }

    #[test]
    fn lines_fit_the_terminal() {
        // The longest that there can be.
        let waiting = format!("connecting to {}", "x".repeat(ADDRESS_COLUMNS));
        let longest = figures(999_900_000, 999_900_000_000, Some((1e9, Duration::from_secs(7000))));
        let [wide, narrow] = [80, 50].map(|columns| Layout::new(columns, true).unwrap());
        for last in [&longest, &waiting] {
            assert!(wide.name + " 100 % [] ".len() + last.len() <= 80 - 3, "{last}");
        }
        let longest = figures(999_900_000, 999_900_000_000, None);
        assert!(narrow.name + " 100 % ".len() + longest.len() <= 50 - 3, "{longest}");
        assert!(wide.wide && !narrow.wide && Layout::new(49, true).is_none());
    }
}
