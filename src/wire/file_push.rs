//! Pushed files: what ChimeraX's "Send to Quest" speaks (TCP, port 21212).
//!
//! ```text
//! "LookSeeFile" | i32 name length | name, UTF-8 | i32 file length | file | FIN
//! ```
//!
//! No answer is ever sent. A file counts only when the sender has closed and the
//! lengths fit exactly.

use std::borrow::Cow;

/// The first bytes of a file connection.
pub const FILE_PREFIX: &[u8; 11] = b"LookSeeFile";

/// What can be wrong with a pushed file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilePushError {
    /// Not a file connection.
    #[error("not a pushed file: the first bytes are not \"LookSeeFile\"")]
    WrongPrefix,
    /// The name's length is not possible.
    #[error("the file name has {length} bytes, allowed are 1 to {limit}")]
    NameLength {
        /// Bytes announced.
        length: i32,
        /// The cap.
        limit: usize,
    },
    /// The name cannot be used for a file.
    #[error("the file name cannot be used: {0}")]
    BadName(&'static str),
    /// The file's length is not possible.
    #[error("the file has {length} bytes, the limit is {limit}")]
    FileLength {
        /// Bytes announced.
        length: i32,
        /// The cap.
        limit: u64,
    },
    /// More bytes than announced.
    #[error("more bytes came than the {announced} announced")]
    TooManyBytes {
        /// Bytes announced.
        announced: u64,
    },
    /// The sender closed early.
    #[error("the sender closed after {received} of {announced} bytes")]
    TooFewBytes {
        /// Bytes here.
        received: u64,
        /// Bytes announced.
        announced: u64,
    },
    /// The sender closed before the file began.
    #[error("the sender closed before the file began")]
    NoFile,
}

/// What the reader says about the bytes it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilePushItem<'a> {
    /// The name and the length are known; bytes follow.
    Begin {
        /// A safe base name.
        name: String,
        /// Bytes of the file.
        length: u64,
    },
    /// Bytes of the file.
    Data(&'a [u8]),
}

/// Reads a file connection's stream, split anywhere.
#[derive(Debug)]
pub struct FilePushReader {
    max_file_bytes: u64,
    max_name_bytes: usize,
    head: Vec<u8>,
    length: Option<u64>,
    received: u64,
}

impl FilePushReader {
    /// Caps from `limits`.
    pub fn new(limits: &super::Limits) -> Self {
        Self {
            max_file_bytes: limits.model_bytes as u64,
            max_name_bytes: limits.name_bytes,
            head: Vec::new(),
            length: None,
            received: 0,
        }
    }

    /// Takes bytes from the front of `input`; `None` when it wants more.
    pub fn push<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<FilePushItem<'a>>, FilePushError> {
        if let Some(length) = self.length {
            if input.is_empty() {
                return Ok(None);
            }
            let data = std::mem::take(input);
            self.received += data.len() as u64;
            if self.received > length {
                return Err(FilePushError::TooManyBytes { announced: length });
            }
            return Ok(Some(FilePushItem::Data(data)));
        }
        let prefix = FILE_PREFIX.len();
        self.fill(input, prefix);
        if !FILE_PREFIX.starts_with(&self.head[..self.head.len().min(prefix)]) {
            return Err(FilePushError::WrongPrefix);
        }
        self.fill(input, prefix + 4);
        let Some(length) = self.number_at(prefix) else { return Ok(None) };
        let name_bytes = usize::try_from(length)
            .ok()
            .filter(|&n| (1..=self.max_name_bytes).contains(&n))
            .ok_or(FilePushError::NameLength { length, limit: self.max_name_bytes })?;
        let name_end = prefix + 4 + name_bytes;
        self.fill(input, name_end + 4);
        let Some(length) = self.number_at(name_end) else { return Ok(None) };
        let file_bytes = u64::try_from(length)
            .ok()
            .filter(|&n| n <= self.max_file_bytes)
            .ok_or(FilePushError::FileLength { length, limit: self.max_file_bytes })?;
        let name = base_name(&String::from_utf8_lossy(&self.head[prefix + 4..name_end]))?;
        self.length = Some(file_bytes);
        Ok(Some(FilePushItem::Begin { name, length: file_bytes }))
    }

    /// The sender has closed: is the file whole?
    pub fn finish(&self) -> Result<(), FilePushError> {
        match self.length {
            None => Err(FilePushError::NoFile),
            Some(length) if self.received == length => Ok(()),
            Some(announced) => Err(FilePushError::TooFewBytes { received: self.received, announced }),
        }
    }

    /// Bytes of the file that are here.
    pub fn received(&self) -> u64 {
        self.received
    }

    fn fill(&mut self, input: &mut &[u8], wanted: usize) {
        let taken = wanted.saturating_sub(self.head.len()).min(input.len());
        self.head.extend_from_slice(&input[..taken]);
        *input = &input[taken..];
    }

    fn number_at(&self, at: usize) -> Option<i32> {
        let bytes = self.head.get(at..at + 4)?.first_chunk::<4>()?;
        Some(i32::from_le_bytes(*bytes))
    }
}

/// The head of a file connection: everything before the file's bytes.
/// `None` if the file is longer than the format can say.
pub fn encode_head(name: &str, file_bytes: u64) -> Option<Vec<u8>> {
    let file_bytes = i32::try_from(file_bytes).ok()?;
    let name_bytes = i32::try_from(name.len()).ok()?;
    let mut head = FILE_PREFIX.to_vec();
    head.extend_from_slice(&name_bytes.to_le_bytes());
    head.extend_from_slice(name.as_bytes());
    head.extend_from_slice(&file_bytes.to_le_bytes());
    Some(head)
}

/// The base name of a model file that a peer sent: no folder, no control
/// characters, no name that some system treats specially, `.glb` or `.gltf` only.
pub fn base_name(name: &str) -> Result<String, FilePushError> {
    let base = name.rsplit(['/', '\\', ':']).next().unwrap_or_default().trim();
    let clean: Cow<'_, str> = if base.contains(unusable) {
        base.chars().map(|c| if unusable(c) { '_' } else { c }).collect::<String>().into()
    } else {
        base.into()
    };
    let lower = clean.to_lowercase();
    let stem = lower
        .strip_suffix(".glb")
        .or_else(|| lower.strip_suffix(".gltf"))
        .ok_or(FilePushError::BadName("it does not end in .glb or .gltf"))?;
    if stem.trim_matches(['.', ' ']).is_empty() {
        return Err(FilePushError::BadName("there is nothing before the dot"));
    }
    const RESERVED: [&str; 4] = ["con", "prn", "aux", "nul"];
    let first = stem.split('.').next().unwrap_or_default().trim_end();
    let port = first.strip_prefix("com").or_else(|| first.strip_prefix("lpt"));
    if RESERVED.contains(&first) || port.is_some_and(|n| n.len() == 1 && n.as_bytes()[0].is_ascii_digit()) {
        return Err(FilePushError::BadName("it is the name of a device"));
    }
    if clean.len() > 200 {
        return Err(FilePushError::BadName("it is longer than 200 bytes"));
    }
    if clean.starts_with('.') {
        return Err(FilePushError::BadName("it begins with a dot"));
    }
    Ok(clean.into_owned())
}

fn unusable(c: char) -> bool {
    c.is_control() || matches!(c, '<' | '>' | '"' | '|' | '?' | '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(stream: &[u8], chunk: usize) -> Result<(String, Vec<u8>), FilePushError> {
        let mut reader = FilePushReader::new(&crate::wire::Limits::default());
        let (mut name, mut data) = (String::new(), Vec::new());
        for piece in stream.chunks(chunk) {
            let mut input = piece;
            while let Some(item) = reader.push(&mut input)? {
                match item {
                    FilePushItem::Begin { name: n, .. } => name = n,
                    FilePushItem::Data(bytes) => data.extend_from_slice(bytes),
                }
            }
        }
        reader.finish()?;
        Ok((name, data))
    }

    fn push(name: &str, file: &[u8]) -> Vec<u8> {
        let mut stream = encode_head(name, file.len() as u64).unwrap();
        stream.extend_from_slice(file);
        stream
    }

    #[test]
    fn a_file_in_any_pieces() {
        let stream = push("protéine β.glb", b"0123456789");
        for chunk in 1..=stream.len() {
            assert_eq!(read(&stream, chunk), Ok(("protéine β.glb".into(), b"0123456789".to_vec())));
        }
        assert_eq!(read(&push("empty.glb", b""), 100), Ok(("empty.glb".into(), vec![])));
    }

    #[test]
    fn faults() {
        let stream = push("a.glb", b"0123456789");
        assert_eq!(read(b"LookSeeFilX", 4), Err(FilePushError::WrongPrefix));
        let short = &stream[..stream.len() - 3];
        assert_eq!(read(short, 9), Err(FilePushError::TooFewBytes { received: 7, announced: 10 }));
        let long = [&stream[..], b"xx"].concat();
        assert_eq!(read(&long, 9), Err(FilePushError::TooManyBytes { announced: 10 }));
        assert_eq!(read(b"Look", 9), Err(FilePushError::NoFile));
        for length in [0i32, -1, 5000] {
            let head = [&FILE_PREFIX[..], &length.to_le_bytes(), b"abc"].concat();
            assert_eq!(read(&head, 9), Err(FilePushError::NameLength { length, limit: 1024 }));
        }
        let huge = [&FILE_PREFIX[..], &5i32.to_le_bytes(), b"a.glb", &i32::MAX.to_le_bytes()].concat();
        assert!(matches!(read(&huge, 9), Err(FilePushError::FileLength { .. })));
    }

    #[test]
    fn names_never_leave_the_folder() {
        assert_eq!(base_name("../../etc/x.glb").as_deref(), Ok("x.glb"));
        assert_eq!(base_name("C:\\temp\\x.GLB").as_deref(), Ok("x.GLB"));
        assert_eq!(base_name("a\0b?.gltf").as_deref(), Ok("a_b_.gltf"));
        for bad in ["", "..", ".glb", "x.txt", "con.glb", "COM1.x.glb", "dir/", "...glb", ".hidden.glb"] {
            assert!(base_name(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_name_is_safe_or_refused(name in any::<String>()) {
            if let Ok(base) = base_name(&format!("{name}.glb")) {
                prop_assert!(!base.contains(['/', '\\', '\0']) && base.ends_with(".glb") && !base.starts_with('.'));
            }
        }

        #[test]
        fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), chunk in 1usize..50) {
            let _ = read(&bytes, chunk);
            let _ = read(&[&FILE_PREFIX[..], &bytes].concat(), chunk);
        }
    }
}
