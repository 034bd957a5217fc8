//! Recorded file pushes, read by our reader.

use std::collections::BTreeSet;
use std::path::Path;

use convene::wire::Limits;
use convene::wire::file_push::{FilePushError, FilePushItem, FilePushReader};

use super::compare::Row;
use super::recording::{Recording, folder, names};

fn push(stream: &[u8], size: usize) -> Result<(String, Vec<u8>), FilePushError> {
    let mut reader = FilePushReader::new(&Limits::default());
    let (mut file_name, mut data) = (String::new(), Vec::new());
    for piece in stream.chunks(size) {
        let mut input = piece;
        while let Some(item) = reader.push(&mut input)? {
            match item {
                FilePushItem::Begin { name, .. } => file_name = name,
                FilePushItem::Data(bytes) => data.extend_from_slice(bytes),
            }
        }
    }
    reader.finish()?;
    Ok((file_name, data))
}

/// What LookSee wrote, from the recordings' notes: name and length.
fn written(name: &str) -> Option<(&'static str, usize)> {
    match name {
        "file_good.1" | "file_reply.1" => Some(("box.glb", 812)),
        "file_after.1" => Some(("after.glb", 812)),
        "file_empty.1" => Some(("empty.glb", 0)),
        "file_nonascii.1" => Some(("protéine β.glb", 812)),
        _ => None,
    }
}

pub fn replay_all(folder: &Path) -> BTreeSet<Row> {
    let mut rows = BTreeSet::new();
    let names = names(folder, "file_");
    assert_eq!(names.len(), 14, "all pushed files");
    for name in names {
        let recording = Recording::load(folder, &name);
        assert!(recording.to_guest.is_empty(), "{name}: a receiver never answers");
        let whole = push(&recording.to_host, usize::MAX);
        for size in [1, 3, 17, 500] {
            assert_eq!(push(&recording.to_host, size), whole, "{name}: pieces of {size}");
        }
        let ours = whole.as_ref().ok().map(|(file, data)| (file.as_str(), data.len()));
        if name == "file_subdir.1" {
            // LookSee looks for a folder of that name, wherever it may lead.
            assert_eq!(ours, Some(("x.glb", 812)), "{name}: the base name only");
            rows.insert(Row::FileNames);
            continue;
        }
        assert_eq!(ours, written(&name), "{name}: {whole:?}");
    }
    rows
}

#[test]
fn pushed_files() {
    let Some(folder) = folder() else { return };
    replay_all(&folder);
}
