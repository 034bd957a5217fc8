//! Typed arrays out of buffers: any component type, stride and sparse overlay.
//!
//! Everything is checked when an accessor is looked up ([`Elements::find`]); the
//! reading after it copies without further faults, but for sparse indices.

use std::ops::Range;

use bytemuck::Pod;
use bytes::Bytes;

use super::array::Array;
use super::buffers::{Buffers, slice};
use super::decoded::Colors;
use super::document::{SparsePart, Whole};
use super::error::Fault;
use super::warnings::quoted;

/// How one component is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    fn from_gltf(code: u64) -> Option<Self> {
        Some(match code {
            5120 => Self::I8,
            5121 => Self::U8,
            5122 => Self::I16,
            5123 => Self::U16,
            // 5124 is no component type of glTF, but what GL calls a signed integer.
            5124 | 5125 => Self::U32,
            5126 => Self::F32,
            _ => return None,
        })
    }

    const fn name(self) -> &'static str {
        match self {
            Self::I8 => "signed bytes",
            Self::U8 => "unsigned bytes",
            Self::I16 => "signed 16-bit numbers",
            Self::U16 => "unsigned 16-bit numbers",
            Self::U32 => "32-bit integers",
            Self::F32 => "floats",
        }
    }

    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::U32 | Self::F32 => 4,
        }
    }
}

/// An accessor whose bytes are known to be there.
#[derive(Debug, Clone)]
pub(super) struct Elements<'a> {
    index: usize,
    /// From the first element to the end of the last; none for zeros.
    bytes: Option<&'a [u8]>,
    stride: usize,
    pub(super) count: usize,
    pub(super) component: Component,
    /// Components per element, 1 to 4, or 16.
    pub(super) width: usize,
    pub(super) normalized: bool,
    sparse: Option<Sparse<'a>>,
    /// The file that `bytes` may be a part of, if it can be shared.
    file: Option<&'a Bytes>,
}

/// Elements to replace.
#[derive(Debug, Clone)]
struct Sparse<'a> {
    indices: Box<Elements<'a>>,
    values: Box<Elements<'a>>,
}

impl<'a> Elements<'a> {
    /// Looks an accessor up and checks that all of its bytes are there.
    pub(super) fn find(buffers: &'a Buffers<'_>, index: Whole) -> Result<Self, Fault> {
        let accessors = &buffers.document().accessors;
        let index = index.index();
        let accessor = accessors.get(index).ok_or(Fault::Unresolved {
            what: "accessor",
            index,
            count: accessors.len(),
        })?;
        let kind = accessor.kind.as_ref().map_or("", |kind| kind.0.as_ref());
        let width = match kind {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            "MAT4" => 16,
            _ => return Err(format_fault(index, format!("type {}", quoted(kind)), "a mesh")),
        };
        let component = component(index, accessor.component_type)?;
        let count = usize::try_from(accessor.count.0).unwrap_or(usize::MAX);
        if count == 0 {
            return Err(Fault::NoElements(index));
        }
        let mut elements = Self {
            index,
            bytes: None,
            stride: width * component.bytes(),
            count,
            component,
            width,
            normalized: accessor.normalized,
            sparse: None,
            file: buffers.file(),
        };
        if let Some(view) = accessor.buffer_view {
            elements.attach(buffers, view, accessor.byte_offset.0, true)?;
        }
        if let Some(sparse) = accessor.sparse.as_deref().filter(|sparse| sparse.count.0 > 0) {
            let count = usize::try_from(sparse.count.0).unwrap_or(usize::MAX);
            if count > elements.count {
                return Err(Fault::SparseOutOfRange(index));
            }
            let part = |part: &SparsePart, component: Component, width: usize, normalized| {
                let stride = width * component.bytes();
                let mut elements = Self {
                    index,
                    bytes: None,
                    stride,
                    count,
                    component,
                    width,
                    normalized,
                    sparse: None,
                    file: None,
                };
                let view = part.buffer_view.ok_or_else(|| {
                    format_fault(index, "sparse elements without a buffer view".to_owned(), "a mesh")
                })?;
                elements.attach(buffers, view, part.byte_offset.0, false)?;
                Ok(Box::new(elements))
            };
            let kind = self::component(index, sparse.indices.component_type)?;
            elements.sparse = Some(Sparse {
                indices: part(&sparse.indices, kind, 1, false)?,
                values: part(&sparse.values, component, width, accessor.normalized)?,
            });
        }
        Ok(elements)
    }

    /// Elements that lie elsewhere than their accessor says, one after the other.
    pub(super) fn of_bytes(
        index: usize,
        bytes: &'a [u8],
        component: Component,
        width: usize,
        normalized: bool,
    ) -> Self {
        let stride = (width * component.bytes()).max(1);
        let count = bytes.len() / stride;
        Self {
            index,
            bytes: Some(bytes),
            stride,
            count,
            component,
            width,
            normalized,
            sparse: None,
            file: None,
        }
    }

    fn attach(
        &mut self,
        buffers: &'a Buffers<'_>,
        view: Whole,
        offset: u64,
        strided: bool,
    ) -> Result<(), Fault> {
        let view = buffers.view(view)?;
        let size = self.stride as u64;
        let stride = view.stride.filter(|_| strided).unwrap_or(size);
        if stride < size {
            return Err(Fault::SmallStride { index: self.index, stride, size });
        }
        let available = view.bytes.len() as u64;
        let length = (self.count as u64 - 1).checked_mul(stride).and_then(|start| start.checked_add(size));
        let end = length.and_then(|length| length.checked_add(offset));
        let bytes = end.and_then(|end| slice(view.bytes, offset, end));
        self.bytes = Some(bytes.ok_or(Fault::TooShort {
            what: "accessor",
            index: self.index,
            needed: end.unwrap_or(u64::MAX),
            available,
        })?);
        // With one element only its stride may be anything, even beyond this machine's range.
        self.stride = usize::try_from(stride).unwrap_or(usize::MAX);
        Ok(())
    }

    /// A fault about this accessor's format.
    pub(super) fn unfit(&self, wanted: &'static str) -> Fault {
        {
            let kind = match self.width {
                1 => "single",
                2 => "pairs of",
                3 => "threes of",
                4 => "fours of",
                _ => "matrices of",
            };
            format_fault(self.index, format!("{kind} {}", self.component.name()), wanted)
        }
    }

    /// Elements in `range` as floats: as they are, or fractions if normalized.
    pub(super) fn floats<const N: usize>(
        &self,
        range: Range<usize>,
        wanted: &'static str,
    ) -> Result<Vec<[f32; N]>, Fault> {
        if self.width != N {
            return Err(self.unfit(wanted));
        }
        match (self.component, self.normalized) {
            (Component::F32, _) => self.read(range, 0.0, f32::from_le_bytes),
            (Component::U8, false) => self.read(range, 0.0, |[byte]| f32::from(byte)),
            (Component::U8, true) => self.read(range, 0.0, |[byte]| f32::from(byte) / 255.0),
            (Component::I8, false) => self.read(range, 0.0, |[byte]| f32::from(byte.cast_signed())),
            (Component::I8, true) => {
                self.read(range, 0.0, |[byte]| (f32::from(byte.cast_signed()) / 127.0).max(-1.0))
            }
            (Component::U16, false) => self.read(range, 0.0, |b| f32::from(u16::from_le_bytes(b))),
            (Component::U16, true) => self.read(range, 0.0, |b| f32::from(u16::from_le_bytes(b)) / 65535.0),
            (Component::I16, false) => self.read(range, 0.0, |b| f32::from(i16::from_le_bytes(b))),
            (Component::I16, true) => {
                self.read(range, 0.0, |b| (f32::from(i16::from_le_bytes(b)) / 32767.0).max(-1.0))
            }
            (Component::U32, _) => Err(self.unfit(wanted)),
        }
    }

    /// The same; floats that lie in a shared file stay there.
    pub(super) fn float_array<const N: usize>(
        &self,
        range: Range<usize>,
        wanted: &'static str,
    ) -> Result<Array<[f32; N]>, Fault>
    where
        [f32; N]: Pod,
    {
        let shared =
            (self.component == Component::F32 && self.width == N).then(|| self.shared(range.clone()));
        match shared.flatten() {
            Some(array) => Ok(array),
            None => self.floats(range, wanted).map(Array::from),
        }
    }

    /// Elements in `range` where they lie in the file: if they are there one after the
    /// other, each a `T`, without others in their place.
    fn shared<T: Pod>(&self, range: Range<usize>) -> Option<Array<T>> {
        let (bytes, file) = (self.bytes?, self.file?);
        if self.sparse.is_some() || self.stride != size_of::<T>() {
            return None;
        }
        let part = range.start.checked_mul(self.stride)?..range.end.checked_mul(self.stride)?;
        let part = bytes.get(part)?;
        // Data that was unpacked or embedded as text lies elsewhere.
        let start = part.as_ptr().addr().checked_sub(file.as_ptr().addr())?;
        let end = start.checked_add(part.len()).filter(|&end| end <= file.len())?;
        Array::of_file(file.slice(start..end))
    }

    /// Elements in `range` as colours, bit for bit. Old ChimeraX calls its unsigned
    /// bytes signed and does not call them normalized.
    pub(super) fn colors(&self, range: Range<usize>) -> Result<Colors, Fault> {
        if !matches!(self.width, 3 | 4) {
            return Err(self.unfit("colours"));
        }
        match self.component {
            Component::U8 | Component::I8 => self.four(range, u8::MAX, |[byte]| byte).map(Colors::U8),
            Component::U16 | Component::I16 => {
                self.four(range, u16::MAX, u16::from_le_bytes).map(Colors::U16)
            }
            Component::F32 => self.four(range, 1.0, f32::from_le_bytes).map(Colors::F32),
            Component::U32 => Err(self.unfit("colours")),
        }
    }

    /// Elements of four, the fourth of which may be missing.
    fn four<T: Pod + Default, const S: usize>(
        &self,
        range: Range<usize>,
        pad: T,
        convert: impl Fn([u8; S]) -> T,
    ) -> Result<Array<[T; 4]>, Fault> {
        let shared = (self.width == 4).then(|| self.shared(range.clone())).flatten();
        shared.map_or_else(|| self.read(range, pad, convert).map(Array::from), Ok)
    }

    /// Elements of four small whole numbers: joints.
    pub(super) fn numbers(&self, range: Range<usize>, wanted: &'static str) -> Result<Vec<[u16; 4]>, Fault> {
        match (self.width, self.component) {
            (4, Component::U8) => self.read(range, 0, |[byte]| u16::from(byte)),
            (4, Component::U16) => self.read(range, 0, u16::from_le_bytes),
            _ => Err(self.unfit(wanted)),
        }
    }

    /// Number of components in all elements: of indices that old ChimeraX writes
    /// as one element of three per triangle.
    pub(super) fn scalars(&self) -> u64 {
        (self.count as u64).saturating_mul(self.width as u64)
    }

    /// Whether this is the largest number that the components can hold.
    pub(super) fn is_largest(&self, index: u32) -> bool {
        match self.component.bytes() {
            1 => index == u32::from(u8::MAX),
            2 => index == u32::from(u16::MAX),
            _ => index == u32::MAX,
        }
    }

    /// All components as indices.
    pub(super) fn indices(&self) -> Result<Array<u32>, Fault> {
        let all = 0..self.count;
        if self.component == Component::U32
            && let Some(array) = self.shared_scalars()
        {
            return Ok(array);
        }
        match self.width {
            1 => self.indices_of::<1>(all),
            2 => self.indices_of::<2>(all),
            3 => self.indices_of::<3>(all),
            _ => self.indices_of::<4>(all),
        }
        .map(Array::from)
    }

    fn shared_scalars(&self) -> Option<Array<u32>> {
        // As many as there are, whatever they are grouped by.
        let scalars = Self {
            width: 1,
            stride: if self.stride == self.width * 4 { 4 } else { 0 },
            count: self.count.checked_mul(self.width)?,
            ..self.clone()
        };
        scalars.shared(0..scalars.count)
    }

    fn indices_of<const N: usize>(&self, range: Range<usize>) -> Result<Vec<u32>, Fault> {
        let groups: Vec<[u32; N]> = match self.component {
            Component::U32 => self.read(range, 0, u32::from_le_bytes),
            Component::U16 | Component::I16 => self.read(range, 0, |b| u32::from(u16::from_le_bytes(b))),
            Component::U8 | Component::I8 => self.read(range, 0, |[byte]| u32::from(byte)),
            Component::F32 => Err(self.unfit("indices")),
        }?;
        Ok(groups.into_flattened())
    }

    /// The one reader. `S` is the size of a component, `N` the width wanted; what
    /// an element has less is filled with `pad`.
    fn read<T: Copy + Default, const N: usize, const S: usize>(
        &self,
        range: Range<usize>,
        pad: T,
        convert: impl Fn([u8; S]) -> T,
    ) -> Result<Vec<[T; N]>, Fault> {
        let mut read: Vec<[T; N]> = Vec::new();
        if let Some(bytes) = self.bytes {
            let from = range.start.saturating_mul(self.stride);
            let bytes = bytes.get(from..).unwrap_or_default();
            if self.width == N && self.stride == N * S {
                // Tightly packed, as nearly all files are: compiles to a plain copy.
                let (components, _) = bytes.as_chunks::<S>();
                let (groups, _) = components.as_chunks::<N>();
                read.extend(groups.iter().take(range.len()).map(|group| group.map(&convert)));
            } else {
                read.extend(bytes.chunks(self.stride).take(range.len()).map(|element| {
                    let (components, _) = element.as_chunks::<S>();
                    let mut group = [pad; N];
                    for (to, &from) in group.iter_mut().zip(components.iter().take(self.width)) {
                        *to = convert(from);
                    }
                    group
                }));
            }
        }
        // Only without bytes is anything missing: find() checked that they are enough.
        let zero = std::array::from_fn(|i| if i < self.width { T::default() } else { pad });
        read.resize(range.len(), zero);
        if let Some(sparse) = &self.sparse {
            let indices = sparse.indices.indices_of::<1>(0..sparse.indices.count)?;
            let values = sparse.values.read(0..sparse.values.count, pad, convert)?;
            for (index, value) in indices.into_iter().zip(values) {
                let index = index as usize;
                if index >= self.count {
                    return Err(Fault::SparseOutOfRange(self.index));
                }
                if let Some(to) = index.checked_sub(range.start).and_then(|index| read.get_mut(index)) {
                    *to = value;
                }
            }
        }
        Ok(read)
    }
}

fn component(index: usize, code: Option<Whole>) -> Result<Component, Fault> {
    let code = code.map_or(0, |code| code.0);
    Component::from_gltf(code).ok_or_else(|| format_fault(index, format!("component type {code}"), "a mesh"))
}

fn format_fault(index: usize, found: String, wanted: &'static str) -> Fault {
    Fault::Format { index, found, wanted }
}
