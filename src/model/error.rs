//! Why a model cannot be shown, and why a part of it is left out.

use std::io;

use serde_json::error::Category;
use thiserror::Error;

use super::warnings::quoted;

/// Why a file could not be decoded. The texts are meant to be read by a person.
#[derive(Debug, Error)]
pub enum DecodeError {
    /// The file is larger than [`Limits::max_bytes`](super::Limits::max_bytes).
    #[error("the file has {bytes} bytes, more than the limit of {limit}")]
    TooLarge {
        /// Bytes of the file.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The bytes are not a GLB container or glTF text, or the container is damaged.
    #[error(transparent)]
    Container(#[from] ContainerError),
    /// The description in the file is not JSON or not glTF's.
    #[error("the description of the model cannot be read: {}", json_text(.0))]
    Json(#[from] serde_json::Error),
    /// More of something than the limit.
    #[error("the model has {count} {what}, more than the limit of {limit}")]
    TooMany {
        /// What there is too much of, in the plural.
        what: &'static str,
        /// How many there are, at least.
        count: u64,
        /// The limit.
        limit: u64,
    },
    /// A glTF of another major version.
    #[error("the file needs glTF version {0}, only version 2.0 can be read")]
    Version(String),
    /// The file requires an extension of glTF that is not supported.
    #[error("the file requires the extension {0}, which this version cannot read")]
    Extension(String),
    /// Decoding took longer than [`Limits::max_time`](super::Limits::max_time).
    #[error("decoding took {spent:.1} s so far, more than the limit of {limit:.1} s")]
    TooSlow {
        /// Seconds spent.
        spent: f64,
        /// The limit, in seconds.
        limit: f64,
    },
    /// The file was read, but nothing in it can be shown.
    #[error("nothing to show: {0}")]
    Nothing(String),
    /// [`Cancel::cancel`](super::Cancel::cancel) was called.
    #[error("cancelled")]
    Cancelled,
}

impl DecodeError {
    /// What a person can do about it; may be empty.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } | Self::TooMany { .. } | Self::TooSlow { .. } => {
                "Export a smaller part of it, or in less detail."
            }
            Self::Container(ContainerError::NotGltf) => "Export it as GLB or as glTF 2.0.",
            Self::Container(ContainerError::Version(_)) | Self::Version(_) => "Export it as glTF 2.0.",
            Self::Container(_) => "It is probably not whole: copy it again, or export it again.",
            Self::Json(_) => "It is damaged or was written wrongly: copy it again, or export it again.",
            Self::Extension(_) => "Export it without this extension.",
            Self::Nothing(_) => "Export it again, with what is to be shown.",
            Self::Cancelled => "",
        }
    }
}

/// What the system says, without its number.
pub(super) fn io_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "it is not allowed".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_owned()
        }
    }
}

/// Where a description is wrong, in words that are not a programming language's.
pub(super) fn json_text(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    if column == 0 && line <= 1 {
        return "it is empty".to_owned();
    }
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    let wrong = match (error.classify(), text.split_once(", expected ")) {
        (Category::Eof, _) => return format!("it ends too early, at line {line}, column {column}"),
        (Category::Data, Some((found, wanted))) => format!("{} in place of {}", thing(found), thing(wanted)),
        // What may be as long as the file is repeated in short.
        (Category::Data, None) => quoted(text),
        _ if text.contains("out of range") => "a number beyond all numbers".to_owned(),
        _ if text.contains("recursion") => "too many brackets in each other".to_owned(),
        _ => "something that is not JSON".to_owned(),
    };
    format!("line {line}, column {column} has {wrong}")
}

fn thing(text: &str) -> String {
    let text =
        ["invalid type: ", "invalid value: "].iter().find_map(|p| text.strip_prefix(p)).unwrap_or(text);
    match text {
        "map" => "an object".to_owned(),
        "sequence" | "a sequence" => "a list".to_owned(),
        "null" => "nothing".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a string" | "a borrowed string" => "a text".to_owned(),
        _ if text.starts_with("struct ") => "an object".to_owned(),
        _ => match text.strip_prefix("string ") {
            Some(string) => format!("the text {}", quoted(string)),
            None => quoted(text),
        },
    }
}

/// One of something, or so many.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Why the outermost layer of the file cannot be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ContainerError {
    /// Neither the magic number of GLB nor JSON text.
    #[error("the file is neither GLB nor glTF text")]
    NotGltf,
    /// A GLB of another version.
    #[error("invalid GLB: version {0}, only version 2 can be read")]
    Version(u32),
    /// The header promises more bytes than there are.
    #[error("invalid GLB: the header says {stated} bytes, but the file has {actual}")]
    Truncated {
        /// Bytes according to the header.
        stated: u64,
        /// Bytes there are.
        actual: u64,
    },
    /// A chunk reaches beyond the end.
    #[error("invalid GLB: a chunk of {stated} bytes at byte {offset}, but only {available} are left")]
    ChunkTooLong {
        /// Bytes according to the chunk's header.
        stated: u64,
        /// Where the chunk's content begins.
        offset: u64,
        /// Bytes left there.
        available: u64,
    },
    /// The first chunk is not the description.
    #[error("invalid GLB: the first chunk is not JSON")]
    NoJson,
}

/// Why a part of a model is left out. Becomes a warning.
#[derive(Debug, Error)]
pub(super) enum Fault {
    #[error("{what} {index} does not exist, the file has {count}")]
    Unresolved { what: &'static str, index: usize, count: usize },
    #[error("{what} {index} needs {needed} bytes, but only {available} are there")]
    TooShort { what: &'static str, index: usize, needed: u64, available: u64 },
    #[error("accessor {index} has a stride of {stride} bytes for elements of {size}")]
    SmallStride { index: usize, stride: u64, size: u64 },
    #[error("accessor {index} has {found}, which is not allowed for {wanted}")]
    Format { index: usize, found: String, wanted: &'static str },
    #[error("accessor {0} has no elements")]
    NoElements(usize),
    #[error("{what}: {found} elements for {wanted} positions")]
    CountMismatch { what: &'static str, found: usize, wanted: usize },
    #[error("index {index} is beyond its {count} vertices")]
    IndexOutOfRange { index: u32, count: usize },
    #[error("accessor {0} replaces elements that it does not have")]
    SparseOutOfRange(usize),
    #[error("a position is not a finite number")]
    NonFinite,
    #[error("it has no positions")]
    NoPositions,
    #[error("mode {0} is unknown")]
    Mode(u32),
    #[error("too few vertices for one {0}")]
    TooFew(&'static str),
    #[error("buffer {index}: {reason}")]
    Buffer { index: usize, reason: String },
    #[error("{what} {index}: {reason}")]
    Compressed { what: &'static str, index: usize, reason: &'static str },
    #[error(
        "buffer view {index} unpacks to {needed} bytes: with those before it more than the limit of {limit}"
    )]
    Unpacked { index: usize, needed: u64, limit: u64 },
    #[error("its Draco data cannot be read: {0}")]
    Draco(String),
    #[error("its joints are not nodes of the scene")]
    Joints,
    #[error("its keys do not fit together")]
    Keys,
    #[error("all animations have more than the limit of {limit} numbers")]
    TooManyKeys { limit: u64 },
    #[error("{0}")]
    Image(String),
}

#[cfg(test)]
mod tests {
    use crate::model::{Limits, document};

    #[test]
    fn faults_of_descriptions_are_told_in_plain_words() {
        for (text, expected) in [
            ("", "it is empty"),
            ("{", "it ends too early, at line 1, column 1"),
            ("{3}", "line 1, column 2 has something that is not JSON"),
            ("{\"nodes\":{}}", "line 1, column 9 has an object in place of a list"),
            (
                "{\"nodes\":[{\"mesh\":\"x\"}]}",
                "the text \"x\" in place of a whole number that is not negative",
            ),
            ("{\"materials\":[\"m\"]}", "the text \"m\" in place of an object"),
            ("{\"nodes\":[{\"scale\":[1e999,1,1]}]}", "a number beyond all numbers"),
        ] {
            let error = document::parse(text.as_bytes(), &Limits::default()).unwrap_err();
            let found = error.to_string();
            assert!(found.starts_with("the description of the model cannot be read: "), "{found}");
            assert!(found.contains(expected), "{found} for {text}");
            assert!(!error.remedy().is_empty());
        }
        let long = format!("{{\"nodes\":\"{}\"}}", "x".repeat(100_000));
        let error = document::parse(long.as_bytes(), &Limits::default()).unwrap_err();
        assert!(error.to_string().len() < 300);
        let deep = "[".repeat(1000);
        let error = serde_json::from_str::<serde_json::Value>(&deep).unwrap_err();
        assert!(super::json_text(&error).ends_with("too many brackets in each other"), "{error}");
    }
}
