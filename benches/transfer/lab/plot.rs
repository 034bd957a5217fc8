//! Plots as SVG, small enough to be read as text.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use crate::lab::{report::Row, targets::is_dsl};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
/// Room for labels.
const MARGIN: f64 = 60.0;
/// Told apart by people who see few colours, and on white and black.
const COLOURS: [&str; 3] = ["#d55e00", "#0072b2", "#009e73"];

/// Numbers on an axis, logarithmic or not.
struct Axis {
    title: &'static str,
    from: f64,
    to: f64,
    ticks: Vec<f64>,
    log: bool,
}

impl Axis {
    /// Where a value lies, 0 to 1.
    fn part(&self, value: f64) -> f64 {
        let scale = |value: f64| if self.log { value.max(1e-3).ln() } else { value };
        let part = (scale(value) - scale(self.from)) / (scale(self.to) - scale(self.from));
        part.clamp(0.0, 1.0)
    }
}

struct Line<'a> {
    name: &'a str,
    points: Vec<(f64, f64)>,
    marks: bool,
}

/// Writes the plots for which there are rows.
pub fn write(folder: &Path, rows: &[Row]) -> Result<()> {
    let names = ["looksee", "uncontrolled", "convene"];
    let of_link = |name: &'static str| {
        let row = rows.iter().find(|row| row.name == name && row.link.mbit() == Some(50.0))?;
        Some(Line { name, points: row.series.clone(), marks: false })
    };
    let delays: Vec<Line> = names.into_iter().filter_map(of_link).collect();
    if delays.len() == names.len() {
        let end = delays.iter().flat_map(|line| &line.points).map(|point| point.0).fold(1.0, f64::max).ceil();
        let ticks = (0..=end as usize).map(|second| second as f64).collect();
        let x = Axis { title: "seconds since the model began", from: 0.0, to: end, ticks, log: false };
        let ticks = vec![1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0];
        let y = Axis { title: "age of poses when they come, ms", from: 1.0, to: 5000.0, ticks, log: true };
        save(
            folder,
            "transfer-poses.svg",
            &draw("23 MB over 50 Mbit/s with a queue of 100 ms", &x, &y, &delays),
        )?;
    }
    let windows = |key: &str| -> Vec<(f64, f64)> {
        let fixed = rows.iter().filter(|row| is_dsl(row)).filter_map(|row| {
            let kib: f64 = row.name.strip_prefix("fixed ")?.strip_suffix(" KiB")?.parse().ok()?;
            Some((kib, row.get(key)?))
        });
        fixed.collect()
    };
    let (shares, delays) = (windows("link_share"), windows("pose_p50_ms"));
    if shares.len() > 1 {
        let automatic = rows.iter().find(|row| is_dsl(row) && row.name == "convene");
        let flat = |key: &str, factor: f64| -> Vec<(f64, f64)> {
            let value = automatic.and_then(|row| row.get(key));
            value.map_or(Vec::new(), |value| vec![(4.0, value * factor), (64.0, value * factor)])
        };
        let x = || Axis {
            title: "window, KiB (frames of 4 KiB)",
            from: 3.5,
            to: 74.0,
            ticks: vec![4.0, 8.0, 16.0, 32.0, 64.0],
            log: true,
        };
        let ticks = vec![0.0, 10.0, 20.0, 30.0, 40.0, 50.0];
        let y = Axis { title: "KB/s of the model", from: 0.0, to: 55.0, ticks, log: false };
        let points = shares.into_iter().map(|(kib, share)| (kib, share * 55.0)).collect();
        let lines = [
            Line { name: "fixed window", points, marks: true },
            Line { name: "automatic", points: flat("link_share", 55.0), marks: false },
        ];
        save(folder, "transfer-window-rate.svg", &draw("55 KB/s, round trip 170 ms", &x(), &y, &lines))?;
        let ticks = vec![100.0, 200.0, 500.0, 1000.0, 2000.0];
        let y = Axis { title: "median age of poses, ms", from: 80.0, to: 2500.0, ticks, log: true };
        let lines = [
            Line { name: "fixed window", points: delays, marks: true },
            Line { name: "automatic", points: flat("pose_p50_ms", 1.0), marks: false },
        ];
        save(folder, "transfer-window-delay.svg", &draw("55 KB/s, round trip 170 ms", &x(), &y, &lines))?;
    }
    Ok(())
}

fn save(folder: &Path, name: &str, svg: &str) -> Result<()> {
    fs::create_dir_all(folder)?;
    let path = folder.join(name);
    fs::write(&path, svg).with_context(|| format!("{} cannot be written", path.display()))
}

fn draw(title: &str, x: &Axis, y: &Axis, lines: &[Line]) -> String {
    let place_x = |value: f64| MARGIN + x.part(value) * (WIDTH - 1.5 * MARGIN);
    let place_y = |value: f64| HEIGHT - MARGIN + y.part(value) * (1.7 * MARGIN - HEIGHT);
    let (right, bottom) = (place_x(x.to), place_y(y.from));
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">
<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>
<text x="{}" y="20" text-anchor="middle" font-size="14">{title}</text>
<text x="{}" y="{}" text-anchor="middle">{}</text>
<text transform="translate(16 {}) rotate(-90)" text-anchor="middle">{}</text>
"##,
        WIDTH / 2.0,
        (MARGIN + right) / 2.0,
        HEIGHT - 18.0,
        x.title,
        HEIGHT / 2.0,
        y.title,
    );
    let mut add = |text: String| {
        svg.push_str(&text);
        svg.push('\n');
    };
    for &tick in &y.ticks {
        let at = place_y(tick);
        add(format!(r##"<path d="M{MARGIN} {at:.1}H{right:.1}" stroke="#ddd"/>"##));
        add(format!(r#"<text x="{}" y="{:.1}" text-anchor="end">{tick}</text>"#, MARGIN - 6.0, at + 4.0));
    }
    for &tick in &x.ticks {
        let at = place_x(tick);
        add(format!(r#"<text x="{at:.1}" y="{:.1}" text-anchor="middle">{tick}</text>"#, bottom + 16.0));
    }
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| !line.points.is_empty()) {
        let colour = COLOURS[number % COLOURS.len()];
        let points: Vec<String> =
            line.points.iter().map(|&(a, b)| format!("{:.1},{:.1}", place_x(a), place_y(b))).collect();
        add(format!(
            r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="1.5"/>"#,
            points.join(" ")
        ));
        for &(a, b) in line.points.iter().filter(|_| line.marks) {
            add(format!(
                r#"<circle cx="{:.1}" cy="{:.1}" r="3.5" fill="{colour}"/>"#,
                place_x(a),
                place_y(b)
            ));
        }
        let (at_x, at_y) = (MARGIN + 12.0 + 130.0 * number as f64, 38.0);
        add(format!(r#"<rect x="{at_x}" y="{}" width="10" height="10" fill="{colour}"/>"#, at_y - 9.0));
        add(format!(r#"<text x="{}" y="{at_y}">{}</text>"#, at_x + 15.0, line.name));
    }
    svg + "</svg>\n"
}
