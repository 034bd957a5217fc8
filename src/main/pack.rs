//! `convene pack`: writes a model as a smaller standard glTF.
#![expect(clippy::print_stderr, reason = "this is the program's face")]

use std::{
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use bytes::Bytes;
use convene::{
    mesh::pack::{Format, Packed, pack},
    model::{Limits, read_model_file},
    notice::grouped,
};

use crate::terminal::{Paint, colours, printable, say};

/// What is to be done with a file.
#[derive(Debug)]
pub struct Order {
    pub from: PathBuf,
    pub to: PathBuf,
    /// None: exactly as it is.
    pub format: Option<Format>,
}

/// Reads, packs, writes and tells.
pub fn run(order: &Order) -> anyhow::Result<bool> {
    let Order { from, to, format } = order;
    let read = read_model_file(from, &Limits::default())?;
    for warning in &read.warnings {
        eprintln!("convene: {}", printable(warning));
    }
    let glb = Bytes::from(read.glb);
    let name = || printable(&from.display().to_string());
    let packed = match format {
        Some(format) => match pack(&glb, *format) {
            Ok(packed) => Some(packed),
            Err(why) => bail!("{} cannot be packed: {why}; --exact writes it as it is", name()),
        },
        None => None,
    };
    let bytes = packed.as_ref().map_or(&glb[..], |packed| &packed.glb);
    write(to, bytes)
        .with_context(|| format!("{} cannot be written", printable(&to.display().to_string())))?;
    say(text(to, glb.len(), bytes.len(), packed.as_ref(), Paint(colours(&std::io::stdout()))));
    Ok(true)
}

/// Beside its place first, so that a disk that is full leaves what was there.
fn write(to: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // A temporary file is its owner's alone; a model need not be.
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    file.persist(to)?;
    Ok(())
}

fn text(to: &Path, before: usize, after: usize, packed: Option<&Packed>, paint: Paint) -> String {
    let mut text = paint.strong(&printable(&to.display().to_string()));
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "\n  size     {} bytes of {}, {:.1} %",
        grouped(after as u64),
        grouped(before as u64),
        after as f64 * 100.0 / before.max(1) as f64
    );
    match packed {
        None => text.push_str("\n  errors   none: it is the same file"),
        Some(packed) => {
            let _ = write!(
                text,
                "\n  packed   {} triangles\n  errors   positions at most {:.2e} of the diagonal\n  \
                 normals  at most {:.2} degrees, {:.2} on average",
                grouped(packed.triangles),
                packed.position_error,
                packed.normal_max_degrees,
                packed.normal_mean_degrees
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_errors_are_told() {
        let packed = Packed {
            glb: Vec::new(),
            triangles: 12_345,
            position_error: 8.5e-6,
            normal_max_degrees: 0.237,
            normal_mean_degrees: 0.08,
        };
        let told = text(Path::new("o.glb"), 1000, 250, Some(&packed), Paint(false));
        let expected = "o.glb\n  size     250 bytes of 1,000, 25.0 %\n  packed   12,345 triangles\n  \
                        errors   positions at most 8.50e-6 of the diagonal\n  \
                        normals  at most 0.24 degrees, 0.08 on average";
        assert_eq!(told, expected);
        assert!(text(Path::new("o.glb"), 9, 9, None, Paint(false)).ends_with("it is the same file"));
    }
}
