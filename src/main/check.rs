//! `convene check`: reports on files, for people or as JSON.
#![expect(clippy::print_stderr, reason = "this is the program's face")]

use std::{fmt::Write, path::PathBuf};

use convene::{
    model::{
        Limits,
        check::{Report, check_file},
    },
    notice::grouped,
};

use crate::terminal::{Paint, colours, printable, say};

/// Whether all of them can be shown.
pub fn run(files: &[PathBuf], json: bool) -> bool {
    let paint = Paint(colours(&std::io::stdout()));
    let mut sums = Sums::default();
    for file in files {
        let report = check_file(file, &Limits::default());
        sums.add(&report);
        if json {
            match serde_json::to_string(&report) {
                Ok(line) => say(line),
                Err(error) => eprintln!("convene: the report cannot be written: {error}"),
            }
        } else {
            say(text(&report, paint));
        }
    }
    if !json && files.len() > 1 {
        say(sums.text());
    }
    sums.failed == 0
}

#[derive(Debug, Default)]
struct Sums {
    ok: usize,
    with_warnings: usize,
    failed: usize,
}

impl Sums {
    fn add(&mut self, report: &Report) {
        if report.ok {
            self.ok += 1;
            self.with_warnings += usize::from(!report.warnings.is_empty());
        } else {
            self.failed += 1;
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{} files: {} can be shown", self.ok + self.failed, self.ok);
        if self.with_warnings > 0 {
            let _ = write!(text, ", {} of them with warnings", self.with_warnings);
        }
        if self.failed > 0 {
            let _ = write!(text, ", {} cannot", self.failed);
        }
        text
    }
}

/// The file's name and the verdict, then a line for each kind of finding.
fn text(report: &Report, paint: Paint) -> String {
    let mut text = paint.strong(&printable(&report.file));
    text.push_str(": ");
    text.push_str(&match (report.ok, report.warnings.is_empty()) {
        (true, true) => paint.good("can be shown"),
        (true, false) => paint.warning("can be shown, with warnings"),
        (false, _) => paint.bad("cannot be shown"),
    });
    text.push('\n');
    // Writing to a String cannot fail.
    let mut row = |what: String, found: &str| {
        let _ = writeln!(text, "  {what}{found}");
    };
    if let Some(error) = &report.error {
        row(paint.bad("failed   "), &printable(error));
        if let Some(remedy) = &report.remedy {
            row("to do    ".into(), remedy);
        }
    } else {
        let drawn = [
            (report.triangles, "triangle", "triangles"),
            (report.lines, "line", "lines"),
            (report.points, "point", "points"),
        ];
        let drawn: Vec<String> = drawn
            .iter()
            .filter(|(count, ..)| *count > 0)
            .map(|&(n, one, many)| counted(n, one, many))
            .collect();
        row("drawn    ".into(), &drawn.join(", "));
        let held = [
            (report.vertices, "vertex", "vertices"),
            (report.meshes, "mesh", "meshes"),
            (report.nodes, "node", "nodes"),
            (report.materials, "material", "materials"),
            (report.textures, "texture", "textures"),
        ];
        row("held     ".into(), &held.map(|(count, one, many)| counted(count, one, many)).join(", "));
        let [x, y, z] = report.size;
        row("size     ".into(), &format!("{x:.4} x {y:.4} x {z:.4} in the file's units"));
        row("file     ".into(), &format!("{} bytes, read in {:.3} s", grouped(report.bytes), report.seconds));
    }
    for warning in &report.warnings {
        row(paint.warning("warning  "), &printable(warning));
    }
    text
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surface() -> Report {
        Report {
            file: "two words.glb".into(),
            ok: true,
            triangles: 1234,
            points: 1,
            vertices: 4,
            meshes: 1,
            ..Report::default()
        }
    }

    #[test]
    fn a_report_says_what_there_is() {
        let mut report = surface();
        let expected = "two words.glb: can be shown\n  \
                        drawn    1,234 triangles, 1 point\n  \
                        held     4 vertices, 1 mesh, 0 nodes, 0 materials, 0 textures\n  \
                        size     0.0000 x 0.0000 x 0.0000 in the file's units\n  \
                        file     0 bytes, read in 0.000 s\n";
        assert_eq!(text(&report, Paint(false)), expected);
        report.warnings.push("a texture is missing".into());
        let text_of = text(&report, Paint(false));
        assert!(
            text_of.contains("with warnings\n") && text_of.ends_with("  warning  a texture is missing\n")
        );
        report.ok = false;
        report.error = Some("it is \x1b[2Jempty".into());
        report.remedy = Some("Fill it.".into());
        let coloured = text(&report, Paint(true));
        assert!(coloured.contains("\x1b[31mcannot be shown\x1b[0m"), "{coloured:?}");
        assert!(coloured.contains("it is ?[2Jempty\n  to do    Fill it.\n"), "{coloured:?}");
    }

    #[test]
    fn several_are_counted() {
        let mut sums = Sums::default();
        sums.add(&surface());
        assert_eq!(sums.text(), "1 files: 1 can be shown");
        sums.add(&Report { warnings: vec!["x".into()], ..surface() });
        sums.add(&Report { ok: false, ..surface() });
        assert_eq!(sums.text(), "3 files: 2 can be shown, 1 of them with warnings, 1 cannot");
    }
}
