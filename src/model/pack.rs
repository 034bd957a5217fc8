//! One file out of what a person opens: a GLB as it is, a `.gltf` with its side
//! files packed into a GLB.
//!
//! Names in a `.gltf` are somebody's text. What they lead to is read only if it
//! is a plain file within the `.gltf`'s own folder, also after symbolic links.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value, json};
use thiserror::Error;

use super::container::{self, Container, is_glb, without_byte_order_mark};
use super::document;
use super::error::{DecodeError, io_text};
use super::limits::Limits;
use super::uri::{self, Uri};
use super::warnings::{Warnings, quoted};

/// A model as it is kept and sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// The file's name without its extension, for people to read.
    pub name: String,
    /// A whole GLB: for a `.glb` the bytes of the file, unchanged.
    pub glb: Vec<u8>,
    /// What was left out, for a person to read.
    pub warnings: Vec<String>,
}

/// Bytes of a file that two threads read faster than one.
#[cfg(unix)]
const WORTH_TWO: usize = 4 << 20;

/// Why a file cannot be opened.
#[derive(Debug, Error)]
pub enum PackError {
    /// The file cannot be read.
    #[error("{path} cannot be read: {reason}", path = .path.display(), reason = io_text(.error))]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A directory, a device or the like.
    #[error("{path} is not a plain file", path = .0.display())]
    NotAFile(PathBuf),
    /// The file, or all of what belongs to it, is larger than [`Limits::max_bytes`].
    #[error("{path} has {bytes} bytes, more than the limit of {limit}", path = .path.display())]
    TooLarge {
        /// Which file made it too much.
        path: PathBuf,
        /// Bytes, of all files together.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// Neither GLB nor glTF text.
    #[error("the file is neither GLB nor glTF text")]
    NotGltf,
    /// The description is not glTF's, or too large.
    #[error(transparent)]
    Description(#[from] DecodeError),
    /// The description has something of a wrong type.
    #[error("the description of the model cannot be read: {0}")]
    Shape(&'static str),
    /// A name that leads out of the file's folder, or to an address.
    #[error("the side file \"{0}\" is not beside the model, so it is not read")]
    Outside(String),
    /// A file named in the description is not there.
    #[error("the side file \"{name}\" cannot be read: {reason}", reason = io_text(.error))]
    Missing {
        /// Its name in the description.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// Data embedded as text that cannot be decoded.
    #[error("{what} {index}: {reason}")]
    Embedded {
        /// Of what kind.
        what: &'static str,
        /// Which one.
        index: usize,
        /// Why.
        reason: String,
    },
}

impl PackError {
    /// What a person can do about it; may be empty.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::Read { .. } => "Check the name and the folder.",
            Self::NotAFile(_) => "Choose a file.",
            Self::TooLarge { .. } => "Export a smaller part of it, or in less detail.",
            Self::NotGltf => "Export it as GLB or as glTF 2.0.",
            Self::Description(error) => error.remedy(),
            Self::Shape(_) | Self::Embedded { .. } => {
                "It is damaged or was written wrongly: copy it again, or export it again."
            }
            Self::Outside(_) | Self::Missing { .. } => {
                "Put all files of the model into one folder, or export it as GLB."
            }
        }
    }
}

/// Reads a model from the disk: a `.glb` byte for byte, a `.gltf` (and a `.glb` that
/// names other files) packed into one GLB together with the buffers and images it
/// names. Told apart by content. An image that cannot be had is a warning.
///
/// Whether the model can be shown is not looked at: see [`decode`](super::decode).
///
/// # Errors
/// If the file or a side file cannot be read, is too large (found out before it
/// is read), is not glTF, or names a buffer outside its folder.
pub fn read_model_file(path: &Path, limits: &Limits) -> Result<Packed, PackError> {
    let bytes = read_plain(path, 0, limits.max_bytes)?;
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let mut bin = Vec::new();
    let text = if is_glb(&bytes) {
        match side_files(&bytes) {
            Some(container) => {
                bin.extend_from_slice(container.bin.unwrap_or_default());
                container.json
            }
            None => return Ok(Packed { name, glb: bytes, warnings: Vec::new() }),
        }
    } else {
        without_byte_order_mark(&bytes)
    };
    if !text.trim_ascii_start().starts_with(b"{") {
        return Err(PackError::NotGltf);
    }
    document::check_size(text, limits)?;
    let Value::Object(root) = serde_json::from_slice(text).map_err(DecodeError::Json)? else {
        return Err(PackError::NotGltf);
    };
    let mut packer = Packer {
        folder: path.parent().map_or_else(PathBuf::new, Path::to_owned),
        path,
        limit: limits.max_bytes,
        binary_chunk: !bin.is_empty(),
        bin,
        files: HashMap::new(),
        warnings: Warnings::default(),
    };
    let glb = packer.pack(root)?;
    Ok(Packed { name, glb, warnings: packer.warnings.into_lines() })
}

/// The parts of a GLB that seems to name side files; none for nearly all.
fn side_files(glb: &[u8]) -> Option<Container<'_>> {
    let container = container::parse(glb, &mut Warnings::default()).ok()?;
    // A guess by the text alone, so that large descriptions are not parsed twice.
    let text = std::str::from_utf8(container.json).ok()?;
    let mut after =
        text.split("\"uri\"").skip(1).map(|rest| rest.trim_start_matches([':', ' ', '\t', '\n', '\r']));
    after.any(|value| !value.starts_with("\"data:")).then_some(container)
}

/// Reads a plain file of at most `limit - before` bytes; `before` bytes were read from others.
fn read_plain(path: &Path, before: u64, limit: u64) -> Result<Vec<u8>, PackError> {
    let failed = |error| PackError::Read { path: path.to_owned(), error };
    // Asked before opening, because opening a pipe would wait for its other end.
    let metadata = fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(PackError::NotAFile(path.to_owned()));
    }
    let left = limit.saturating_sub(before);
    let too_large = |bytes: u64| {
        let bytes = bytes.saturating_add(before);
        PackError::TooLarge { path: path.to_owned(), bytes, limit }
    };
    if metadata.len() > left {
        return Err(too_large(metadata.len()));
    }
    let length = usize::try_from(metadata.len()).unwrap_or(0);
    let file = File::open(path).map_err(failed)?;
    #[cfg(unix)]
    if let Some(bytes) = read_by_two(&file, length) {
        return Ok(bytes);
    }
    let mut bytes = Vec::with_capacity(length);
    // One byte more than allowed shows that the file has grown meanwhile.
    file.take(left.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > left {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// A large file's halves, read by two threads at once: most of the time goes into
/// fresh memory. None if it is small, cannot be read so, or is not of that length any more.
#[cfg(unix)]
fn read_by_two(file: &File, length: usize) -> Option<Vec<u8>> {
    use std::os::unix::fs::FileExt;

    if length < WORTH_TWO {
        return None;
    }
    let mut bytes = vec![0; length];
    let (first, second) = bytes.split_at_mut(length / 2);
    let (middle, end) = (first.len() as u64, length as u64);
    let is_whole = std::thread::scope(|scope| {
        let rest = std::thread::Builder::new().name("read".into());
        let rest = rest.spawn_scoped(scope, || file.read_exact_at(second, middle));
        let begin = file.read_exact_at(first, 0);
        begin.is_ok() && rest.ok().and_then(|thread| thread.join().ok()?.ok()).is_some()
    });
    let has_grown = file.read_at(&mut [0], end).ok()? > 0;
    (is_whole && !has_grown).then_some(bytes)
}

/// A part of the binary chunk.
#[derive(Debug, Clone, Copy)]
struct Part {
    offset: usize,
    length: usize,
}

struct Packer<'a> {
    path: &'a Path,
    folder: PathBuf,
    limit: u64,
    bin: Vec<u8>,
    /// Whether `bin` begins with that of a GLB, which its first buffer then is.
    binary_chunk: bool,
    /// Side files that are in already, by their true path.
    files: HashMap<PathBuf, Part>,
    warnings: Warnings,
}

impl Packer<'_> {
    fn pack(&mut self, mut root: Map<String, Value>) -> Result<Vec<u8>, PackError> {
        self.buffers(&mut root)?;
        self.images(&mut root)?;
        let mut text = serde_json::to_vec(&Value::Object(root)).map_err(DecodeError::Json)?;
        text.resize(text.len().next_multiple_of(4), b' ');
        self.bin.resize(self.bin.len().next_multiple_of(4), 0);
        let bin_header = if self.bin.is_empty() { 0 } else { 8 };
        let length = 12 + 8 + text.len() + bin_header + self.bin.len();
        let stated = u32::try_from(length).ok().filter(|&length| u64::from(length) <= self.limit);
        let stated = stated.ok_or_else(|| self.too_large(length))?;
        let size_of = |part: &[u8]| u32::try_from(part.len()).map_err(|_| self.too_large(length));
        let mut glb = Vec::with_capacity(length);
        glb.extend(b"glTF\x02\0\0\0");
        glb.extend(stated.to_le_bytes());
        glb.extend(size_of(&text)?.to_le_bytes());
        glb.extend(b"JSON");
        glb.append(&mut text);
        if bin_header > 0 {
            glb.extend(size_of(&self.bin)?.to_le_bytes());
            glb.extend(b"BIN\0");
            glb.extend_from_slice(&self.bin);
        }
        Ok(glb)
    }

    fn too_large(&self, bytes: usize) -> PackError {
        PackError::TooLarge { path: self.path.to_owned(), bytes: bytes as u64, limit: self.limit }
    }

    /// Puts all buffers with data into the first one, which becomes the binary chunk.
    fn buffers(&mut self, root: &mut Map<String, Value>) -> Result<(), PackError> {
        let Some(list) = array(root, "buffers")? else { return Ok(()) };
        let list = std::mem::take(list);
        // The place of each buffer: its new number, and where it begins in it.
        let mut places = Vec::with_capacity(list.len());
        let mut kept = vec![Value::Null];
        for (index, buffer) in list.into_iter().enumerate() {
            match buffer.get("uri").and_then(Value::as_str) {
                Some(uri) => places.push((0, self.load("buffer", index, uri)?.offset)),
                None if index == 0 && self.binary_chunk => places.push((0, 0)),
                // A placeholder, which a compression extension fills.
                None => {
                    places.push((kept.len(), 0));
                    kept.push(buffer);
                }
            }
        }
        if self.bin.is_empty() {
            kept.remove(0);
            for place in &mut places {
                place.0 = place.0.saturating_sub(1);
            }
        } else if let Some(first) = kept.first_mut() {
            // Its length is set when the images are in it too.
            *first = json!({ "byteLength": 0 });
        }
        *array(root, "buffers")?.ok_or(PackError::Shape("buffers are no list"))? = kept;
        relocate_all(root, &places)?;
        self.set_length(root)
    }

    /// Puts images into the binary chunk, each with a view of its own.
    fn images(&mut self, root: &mut Map<String, Value>) -> Result<(), PackError> {
        let Some(list) = array(root, "images")? else { return Ok(()) };
        let mut list = std::mem::take(list);
        let had_bin = !self.bin.is_empty();
        let mut views = Vec::new();
        let first_view = array(root, "bufferViews")?.map_or(0, |views| views.len());
        for (index, image) in list.iter_mut().enumerate() {
            let Some(image) = image.as_object_mut() else { continue };
            let Some(Value::String(uri)) = image.get("uri") else { continue };
            let part = match self.load("image", index, uri) {
                Ok(part) => part,
                Err(error @ PackError::TooLarge { .. }) => return Err(error),
                // A texture may be missing; a model without it can still be looked at.
                Err(error) => {
                    self.warnings.push(format_args!("image {index} is not shown: {error}"));
                    image.remove("uri");
                    continue;
                }
            };
            let bytes = self.bin.get(part.offset..part.offset + part.length).unwrap_or_default();
            let mime = match bytes {
                [0x89, b'P', ..] => "image/png",
                [0xFF, 0xD8, ..] => "image/jpeg",
                [b'R', b'I', b'F', b'F', ..] => "image/webp",
                [0xAB, b'K', b'T', b'X', ..] => "image/ktx2",
                _ => "application/octet-stream",
            };
            image.remove("uri");
            image.insert("mimeType".to_owned(), json!(mime));
            image.insert("bufferView".to_owned(), json!(first_view + views.len()));
            views.push(json!({ "buffer": 0, "byteOffset": part.offset, "byteLength": part.length }));
        }
        root.insert("images".to_owned(), Value::Array(list));
        if views.is_empty() {
            return Ok(());
        }
        if !had_bin {
            // There was no buffer with data: the new one comes first, the others move up.
            let places: Vec<_> = (0..array(root, "buffers")?.map_or(0, |list| list.len()))
                .map(|index| (index + 1, 0))
                .collect();
            relocate_all(root, &places)?;
            list_mut(root, "buffers")?.insert(0, json!({ "byteLength": 0 }));
        }
        list_mut(root, "bufferViews")?.append(&mut views);
        self.set_length(root)
    }

    fn set_length(&self, root: &mut Map<String, Value>) -> Result<(), PackError> {
        let first = array(root, "buffers")?.and_then(|buffers| buffers.first_mut());
        if let Some(first) = first.filter(|_| !self.bin.is_empty()) {
            *first = json!({ "byteLength": self.bin.len() });
        }
        Ok(())
    }

    /// Appends what a URI leads to.
    fn load(&mut self, what: &'static str, index: usize, uri: &str) -> Result<Part, PackError> {
        let (bytes, file) = match Uri::parse(uri) {
            Uri::Data(data) => {
                let embedded = |reason| PackError::Embedded { what, index, reason };
                (uri::decode_data(data).map_err(embedded)?, None)
            }
            Uri::Scheme(_) => return Err(PackError::Outside(quoted(uri))),
            Uri::File(name) => {
                let file = self.find(name)?;
                if let Some(&part) = self.files.get(&file) {
                    return Ok(part);
                }
                (read_plain(&file, self.bin.len() as u64, self.limit)?, Some(file))
            }
        };
        self.bin.resize(self.bin.len().next_multiple_of(4), 0);
        let part = Part { offset: self.bin.len(), length: bytes.len() };
        let total = self.bin.len().saturating_add(bytes.len());
        if total as u64 > self.limit {
            return Err(self.too_large(total));
        }
        self.bin.extend_from_slice(&bytes);
        if let Some(file) = file {
            self.files.insert(file, part);
        }
        Ok(part)
    }

    /// The true path of a side file, which lies in the model's folder or below.
    fn find(&self, name: &str) -> Result<PathBuf, PackError> {
        let outside = || PackError::Outside(quoted(name));
        let missing = |error| PackError::Missing { name: quoted(name), error };
        let decoded = String::from_utf8(uri::percent_decode(name)).map_err(|_| outside())?;
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { &self.folder };
        let folder = folder.canonicalize().map_err(missing)?;
        let mut found = Err(io::ErrorKind::NotFound.into());
        // Some programs do not encode names, so that a percent sign means itself.
        for candidate in [decoded.as_str(), name] {
            let relative = Path::new(candidate);
            if !relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
                return Err(outside());
            }
            found = folder.join(relative).canonicalize();
            if found.is_ok() {
                break;
            }
        }
        let file = found.map_err(missing)?;
        if file.starts_with(&folder) { Ok(file) } else { Err(outside()) }
    }
}

/// Points all buffer views at the buffers' new places.
fn relocate_all(root: &mut Map<String, Value>, places: &[(usize, usize)]) -> Result<(), PackError> {
    for view in array(root, "bufferViews")?.into_iter().flatten() {
        relocate(view, places);
        for name in ["EXT_meshopt_compression", "KHR_meshopt_compression"] {
            if let Some(extension) = view.get_mut("extensions").and_then(|all| all.get_mut(name)) {
                relocate(extension, places);
            }
        }
    }
    Ok(())
}

/// Points something with `buffer` and `byteOffset` at the buffer's new place. What
/// points nowhere is left as it is: decoding will name it.
fn relocate(view: &mut Value, places: &[(usize, usize)]) {
    let number = |value: Option<&Value>| match value {
        None => Some(0),
        // Whole numbers may be written as floats.
        Some(value) => {
            value.as_u64().or_else(|| value.as_f64().filter(|v| v.fract() == 0.0).map(|v| v as u64))
        }
    };
    let buffer = number(view.get("buffer")).and_then(|buffer| usize::try_from(buffer).ok());
    let offset = number(view.get("byteOffset"));
    let (Some(view), Some(buffer), Some(offset)) = (view.as_object_mut(), buffer, offset) else { return };
    if let Some(&(buffer, start)) = places.get(buffer) {
        view.insert("buffer".to_owned(), json!(buffer));
        view.insert("byteOffset".to_owned(), json!(offset.saturating_add(start as u64)));
    }
}

fn array<'a>(
    root: &'a mut Map<String, Value>,
    key: &'static str,
) -> Result<Option<&'a mut Vec<Value>>, PackError> {
    match root.get_mut(key) {
        None => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list)),
        Some(_) => Err(PackError::Shape("a list of the file is no list")),
    }
}

fn list_mut<'a>(
    root: &'a mut Map<String, Value>,
    key: &'static str,
) -> Result<&'a mut Vec<Value>, PackError> {
    let list = root.entry(key).or_insert_with(|| Value::Array(Vec::new()));
    list.as_array_mut().ok_or(PackError::Shape("a list of the file is no list"))
}

#[cfg(test)]
mod tests;
