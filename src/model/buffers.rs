//! The bytes that accessors and images lie in.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use bytes::Bytes;

use super::document::{Buffer, BufferView, Document, MeshoptView, Whole};
use super::error::Fault;
use super::limits::Limits;
use super::meshopt;
use super::uri::{self, Uri};
use super::warnings::{Warnings, quoted};

/// A file's buffers. One that cannot be had is a fault only of what lies in it.
pub(super) struct Buffers<'a> {
    document: &'a Document<'a>,
    buffers: Vec<Result<Cow<'a, [u8]>, String>>,
    /// The whole file, if what is read may share it.
    file: Option<&'a Bytes>,
    /// Of each view: its bytes unpacked, if it is compressed and was asked for.
    unpacked: Vec<OnceCell<Result<Vec<u8>, Refusal>>>,
    /// Bytes that may still be unpacked.
    left: Cell<u64>,
    limit: u64,
}

/// Why a compressed view cannot be had.
#[derive(Debug, Clone, Copy)]
enum Refusal {
    Damaged(&'static str),
    TooLarge { needed: u64 },
}

/// A part of a buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) bytes: &'a [u8],
    /// Bytes from one element to the next, if the file says so.
    pub(super) stride: Option<u64>,
}

impl<'a> Buffers<'a> {
    /// Takes the binary chunk as it is and decodes what is embedded as text.
    pub(super) fn load(
        document: &'a Document<'a>,
        bin: Option<&'a [u8]>,
        file: Option<&'a Bytes>,
        limits: &Limits,
        warnings: &mut Warnings,
    ) -> Self {
        let mut left = limits.max_bytes;
        let mut buffers = Vec::new();
        match &document.buffers {
            Some(list) => {
                for (index, buffer) in list.iter().enumerate() {
                    let bin = bin.filter(|_| index == 0);
                    let bytes = load(buffer, bin, &mut left);
                    if let Ok(bytes) = &bytes {
                        check_length(index, buffer.byte_length, bytes.len() as u64, warnings);
                    }
                    buffers.push(bytes);
                }
            }
            None => {
                if bin.is_some() && !document.buffer_views.is_empty() {
                    warnings.push("the file lists no buffers: its binary chunk is taken");
                }
                buffers.extend(bin.map(|bin| Ok(Cow::Borrowed(bin))));
            }
        }
        let unpacked = document.buffer_views.iter().map(|_| OnceCell::new()).collect();
        Self {
            document,
            buffers,
            file,
            unpacked,
            left: Cell::new(limits.max_unpacked_bytes),
            limit: limits.max_unpacked_bytes,
        }
    }

    pub(super) fn document(&self) -> &'a Document<'a> {
        self.document
    }

    /// The whole file, if what is read may share it.
    pub(super) fn file(&self) -> Option<&'a Bytes> {
        self.file
    }

    /// The part of a buffer that a buffer view shows.
    pub(super) fn view(&self, index: Whole) -> Result<View<'_>, Fault> {
        let views = &self.document.buffer_views;
        let index = index.index();
        let unresolved = |what, index, count| Fault::Unresolved { what, index, count };
        let view = views.get(index).ok_or_else(|| unresolved("buffer view", index, views.len()))?;
        let stride = view.byte_stride.map(|stride| stride.0).filter(|&stride| stride > 0);
        let compressed = view.extensions.khr_meshopt.as_deref().or(view.extensions.ext_meshopt.as_deref());
        if let Some(json) = compressed {
            match self.unpack(index, json) {
                Ok(bytes) => return Ok(View { bytes, stride }),
                // Many files have a plain copy for those who cannot unpack.
                Err(fault) => {
                    return self.plain(index, view).map(|bytes| View { bytes, stride }).map_err(|_| fault);
                }
            }
        }
        self.plain(index, view).map(|bytes| View { bytes, stride })
    }

    fn plain(&self, index: usize, view: &BufferView) -> Result<&[u8], Fault> {
        self.part(index, view.buffer, view.byte_offset.0, view.byte_length.map(|length| length.0))
    }

    /// A part of a buffer, to its end without a length.
    fn part(&self, index: usize, buffer: Whole, start: u64, length: Option<u64>) -> Result<&[u8], Fault> {
        let number = buffer.index();
        let buffer = match self.buffers.get(number) {
            Some(Ok(bytes)) => bytes,
            Some(Err(reason)) => return Err(Fault::Buffer { index: number, reason: reason.clone() }),
            None => {
                return Err(Fault::Unresolved { what: "buffer", index: number, count: self.buffers.len() });
            }
        };
        let available = buffer.len() as u64;
        let end = length.map_or(available, |length| start.saturating_add(length));
        slice(buffer, start, end).ok_or(Fault::TooShort {
            what: "buffer view",
            index,
            needed: end,
            available,
        })
    }

    /// The bytes of a compressed view, unpacked the first time they are asked for.
    fn unpack(&self, index: usize, json: &MeshoptView) -> Result<&[u8], Fault> {
        let what = "buffer view";
        let cell =
            self.unpacked.get(index).ok_or(Fault::Compressed { what, index, reason: "it does not exist" })?;
        if cell.get().is_none() {
            let data = self.part(index, json.buffer, json.byte_offset.0, Some(json.byte_length.0))?;
            let unpacked = self.reserve(json).and_then(|(count, stride)| {
                meshopt::decode(json, count, stride, data).map_err(Refusal::Damaged)
            });
            // Filled by nobody else: nothing here runs at the same time.
            let _ = cell.set(unpacked);
        }
        match cell.get() {
            Some(Ok(bytes)) => Ok(bytes),
            Some(&Err(Refusal::Damaged(reason))) => Err(Fault::Compressed { what, index, reason }),
            Some(&Err(Refusal::TooLarge { needed })) => {
                Err(Fault::Unpacked { index, needed, limit: self.limit })
            }
            None => Err(Fault::Compressed { what, index, reason: "it was not unpacked" }),
        }
    }

    /// Elements and their size, after taking their bytes from what is left.
    fn reserve(&self, json: &MeshoptView) -> Result<(usize, usize), Refusal> {
        let needed = json.count.0.saturating_mul(json.byte_stride.0);
        let left = self.left.get().checked_sub(needed).ok_or(Refusal::TooLarge { needed })?;
        self.left.set(left);
        let number = |whole: Whole| usize::try_from(whole.0).map_err(|_| Refusal::TooLarge { needed });
        Ok((number(json.count)?, number(json.byte_stride)?))
    }
}

/// `bytes[start..end]` for numbers out of a file.
pub(super) fn slice(bytes: &[u8], start: u64, end: u64) -> Option<&[u8]> {
    bytes.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
}

fn load<'a>(buffer: &'a Buffer<'a>, bin: Option<&'a [u8]>, left: &mut u64) -> Result<Cow<'a, [u8]>, String> {
    let Some(uri) = &buffer.uri else {
        return bin.map(Cow::Borrowed).ok_or_else(|| "it has no data in this file".to_owned());
    };
    match Uri::parse(&uri.0) {
        Uri::Data(data) => {
            // Decoded, base64 is three quarters of the text, and never longer.
            let most = data.len() as u64;
            *left = left.checked_sub(most).ok_or("embedded buffers exceed the limit on bytes")?;
            uri::decode_data(data).map(Cow::Owned)
        }
        Uri::Scheme(scheme) => {
            Err(format!("it is at an address ({}:), which is not fetched", quoted(scheme)))
        }
        Uri::File(name) => Err(format!("it is in another file ({}), which is not here", quoted(name))),
    }
}

/// Padding of up to 3 bytes is what GLB prescribes.
fn check_length(index: usize, stated: Option<Whole>, actual: u64, warnings: &mut Warnings) {
    if let Some(Whole(stated)) =
        stated.filter(|stated| !(stated.0..=stated.0.saturating_add(3)).contains(&actual))
    {
        warnings.push(format_args!("buffer {index} should have {stated} bytes, but has {actual}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::document;

    fn with<R>(json: &str, bin: Option<&[u8]>, test: impl FnOnce(&Buffers, Vec<String>) -> R) -> R {
        let document = document::parse(json.as_bytes(), &Limits::default()).unwrap();
        let mut warnings = Warnings::default();
        let buffers = Buffers::load(&document, bin, None, &Limits::default(), &mut warnings);
        test(&buffers, warnings.into_lines())
    }

    #[test]
    fn views_are_checked() {
        let json = r#"{"buffers":[{"byteLength":4},{"uri":"data:;base64,AAEC","byteLength":3},{"uri":"x.bin"}],
            "bufferViews":[{"buffer":0,"byteOffset":1,"byteLength":3},{"buffer":1,"byteLength":4},
            {"buffer":2,"byteLength":1},{"buffer":9},{"buffer":0,"byteOffset":18446744073709551615,"byteLength":9}]}"#;
        with(json, Some(b"abcd"), |buffers, warnings| {
            assert!(warnings.is_empty());
            assert_eq!(buffers.view(Whole(0)).unwrap().bytes, b"bcd");
            let fault = |index| buffers.view(Whole(index)).unwrap_err().to_string();
            assert_eq!(fault(1), "buffer view 1 needs 4 bytes, but only 3 are there");
            assert_eq!(fault(2), "buffer 2: it is in another file (x.bin), which is not here");
            assert_eq!(fault(3), "buffer 9 does not exist, the file has 3");
            assert!(fault(4).contains("buffer view 4"));
            assert_eq!(fault(5), "buffer view 5 does not exist, the file has 5");
        });
    }

    #[test]
    fn without_a_list_the_binary_chunk_is_the_buffer() {
        with(r#"{"bufferViews":[{"byteLength":2}]}"#, Some(b"abcd"), |buffers, warnings| {
            assert_eq!(buffers.view(Whole(0)).unwrap().bytes, b"ab");
            assert_eq!(warnings.len(), 1);
        });
    }

    #[test]
    fn a_wrong_length_is_a_warning() {
        with(r#"{"buffers":[{"byteLength":5}]}"#, Some(b"abcd"), |_, warnings| {
            assert_eq!(warnings, ["buffer 0 should have 5 bytes, but has 4"]);
        });
    }
}
