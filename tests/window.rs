//! Two real windows in one meeting: what is on the pictures that they take of
//! themselves.
//!
//! Needs a display; `scripts/test` gives it one in memory. The pictures stay in
//! the target folder, to be looked at.
#![cfg(feature = "app")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test, its helpers included"
)]

#[path = "common/display.rs"]
mod display;

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use display::has_display;

/// A picture is taken this often, for as long as the window is open.
const EVERY: f64 = 1.5;
/// The model is on its way for about this long.
const TRANSFER_SECS: f64 = 12.0;
/// Windows close by themselves; drawn by a CPU that does other things as well
/// they take a while.
const WINDOW_SECS: f64 = 60.0;

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models")
}

/// A window, which is closed when the test ends, however that happens.
struct Window {
    child: Child,
    pictures: Vec<PathBuf>,
}

impl Drop for Window {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Window {
    fn open(name: &str, folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_convene"));
        let settings = folder.join(name).with_extension("json");
        command.args(arguments).args(["--name", name, "--log", "info", "--settings"]).arg(settings);
        // Small, for a processor that draws two of them.
        command.args(["--size", "800x450", "--exit-after", &WINDOW_SECS.to_string()]);
        let mut pictures = Vec::new();
        for number in 1.. {
            let at = f64::from(number) * EVERY;
            if at >= WINDOW_SECS {
                break;
            }
            let path = folder.join(format!("{name}-{number:02}.png"));
            command.arg("--screenshot").arg(format!("{at}={}", path.display()));
            pictures.push(path);
        }
        let child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child, pictures }
    }

    /// The port that it says it listens on; what it says after that is passed on.
    fn port(&mut self) -> u16 {
        let mut lines = BufReader::new(self.child.stderr.take().unwrap()).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, port) = line.split_once("a meeting is open on port ")?;
            port.chars().filter(char::is_ascii_digit).collect::<String>().parse().ok()
        });
        std::thread::Builder::new()
            .name("window-log".into())
            .spawn(move || lines.map_while(Result::ok).for_each(|line| eprintln!("{line}")))
            .unwrap();
        port.expect("the window did not open a meeting")
    }

    /// The first picture that fits, among those taken after `after`.
    fn wait_for(&mut self, what: &str, after: usize, fits: impl Fn(&Seen) -> bool) -> (usize, Seen) {
        let until = Instant::now() + Duration::from_secs_f64(WINDOW_SECS + 60.0);
        let mut last = String::new();
        for number in after..self.pictures.len() {
            let path = self.pictures[number].clone();
            // It is written in one go, but not in no time: until it can be read whole.
            let picture = loop {
                if let Ok(picture) = image::open(&path) {
                    break picture.to_rgb8();
                }
                let ended = self.child.try_wait().unwrap();
                assert!(ended.is_none(), "the window ended ({ended:?}) and no picture had {what}; {last}");
                assert!(Instant::now() < until, "no picture had {what}; {last}");
                std::thread::sleep(Duration::from_millis(50));
            };
            let seen = Seen::of(&picture);
            last = format!("{} shows {seen:?}", path.display());
            if fits(&seen) {
                println!("{what}: {last}");
                return (number, seen);
            }
        }
        panic!("no picture had {what}; {last}")
    }
}

/// What is on a picture, as shares of its area.
#[derive(Debug)]
struct Seen {
    /// Colours that only the surface has, from top to bottom: yellow, green, cyan.
    surface: [f32; 3],
    /// The bright edges of the box of a model on its way.
    edges: f32,
    /// Of somebody whose colour is pink.
    pink: f32,
    /// Where on the picture the pink is: 0 left, 1 right.
    pink_at: f32,
}

impl Seen {
    fn of(picture: &image::RgbImage) -> Self {
        let area = (picture.width() * picture.height()) as f32;
        let (mut surface, mut edges, mut pink, mut pink_x) = ([0f32; 3], 0f32, 0f32, 0f64);
        for (x, _, pixel) in picture.enumerate_pixels() {
            let [r, g, b] = pixel.0.map(i32::from);
            surface[0] += f32::from(r > 170 && g > 150 && b < 110);
            surface[1] += f32::from(g > r + 70 && g > b + 70);
            surface[2] += f32::from(r < 110 && g > 150 && b > 180);
            edges += f32::from(r > 175 && g > 205 && b > 240);
            if r > g + 50 && b > g + 40 {
                pink += 1.0;
                pink_x += f64::from(x);
            }
        }
        let pink_at = (pink_x / f64::from(pink.max(1.0)) / f64::from(picture.width())) as f32;
        Self { surface: surface.map(|n| n / area), edges: edges / area, pink: pink / area, pink_at }
    }

    fn has_surface(&self) -> bool {
        self.surface.iter().all(|&share| share > 0.002)
    }
}

#[test]
fn a_model_on_its_way_and_people_in_two_windows() {
    if !has_display() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("window");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for (name, colour) in [("Ada", "#4ea1ff"), ("Barbara", "#e06cd6")] {
        // Where a guest starts is chosen by its id: a known one, so that every run sees the same.
        let id = if name == "Ada" { "a" } else { "b" }.repeat(16);
        let settings = serde_json::json!({ "name": name, "colour": colour, "id": id });
        std::fs::write(folder.join(name).with_extension("json"), settings.to_string()).unwrap();
    }
    let surface = models().join("brain-surface.glb");
    let bytes = std::fs::metadata(&surface).unwrap().len();
    let pace = (bytes as f64 * 8e-6 / TRANSFER_SECS).to_string();
    let local = ["--bind", "127.0.0.1", "--port", "0", "--pace", &pace];

    let mut host = Window::open("Ada", &folder, &[&["host", surface.to_str().unwrap()], &local[..]].concat());
    let port = host.port();
    let (_, seen) = host.wait_for("the model in its colours, alone", 0, Seen::has_surface);
    assert!(seen.pink < 0.001, "pink before anybody came: {seen:?}");

    let mut guest = Window::open("Barbara", &folder, &["join", &format!("127.0.0.1:{port}")]);
    let (box_at, seen) = guest.wait_for("the box of a model on its way", 0, |seen| seen.edges > 0.002);
    assert!(!seen.has_surface(), "box and model at once: {seen:?}");
    let (_, seen) = guest.wait_for("the model in its colours", box_at + 1, Seen::has_surface);
    assert!(seen.edges < 0.002, "the box still stands: {seen:?}");

    let (_, seen) =
        host.wait_for("the guest's head and wands", 0, |seen| seen.has_surface() && seen.pink > 0.001);
    assert!((0.05..0.95).contains(&seen.pink_at), "the guest stands at the edge: {seen:?}");
}
