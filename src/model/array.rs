//! Arrays that need not be copied out of the file that holds them.
//!
//! A surface is most of its file, and nearly every exporter stores its arrays as they
//! are wanted here: a copy would double the memory and take longer than all checks.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use bytemuck::Pod;
use bytes::Bytes;

/// A list of plain values: of its own, or a part of a file that stays in memory as long
/// as the list does. A copy shares what it is a copy of until one of them is changed.
#[derive(Clone)]
pub struct Array<T> {
    /// In place of `own`; of a length and at an address that make it a list of `T`.
    file: Option<Bytes>,
    own: Arc<Vec<T>>,
}

impl<T: Pod> Array<T> {
    /// A part of a file; none if a machine could not read it where it lies.
    pub(super) fn of_file(bytes: Bytes) -> Option<Self> {
        let fits = cfg!(target_endian = "little") && bytemuck::try_cast_slice::<u8, T>(&bytes).is_ok();
        fits.then(|| Self { file: Some(bytes), ..Self::default() })
    }

    /// The list, to be changed; copied first if it is shared.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if let Some(bytes) = self.file.take() {
            self.own = Arc::new(cast(&bytes).to_vec());
        }
        Arc::make_mut(&mut self.own)
    }

    /// The list; copied if it is shared.
    #[must_use]
    pub fn into_vec(self) -> Vec<T> {
        match self.file {
            Some(bytes) => cast(&bytes).to_vec(),
            None => Arc::unwrap_or_clone(self.own),
        }
    }

    /// Leaves the first `length` only.
    pub(super) fn truncate(&mut self, length: usize) {
        match &mut self.file {
            Some(bytes) => bytes.truncate(length.saturating_mul(size_of::<T>())),
            None if length < self.own.len() => Arc::make_mut(&mut self.own).truncate(length),
            None => {}
        }
    }

    /// Whether it lies in the file.
    #[must_use]
    pub const fn is_in_file(&self) -> bool {
        self.file.is_some()
    }
}

/// What [`Array::of_file`] has checked.
fn cast<T: Pod>(bytes: &[u8]) -> &[T] {
    bytemuck::try_cast_slice(bytes).unwrap_or_default()
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.file {
            Some(bytes) => cast(bytes),
            None => &self.own,
        }
    }
}

impl<T> Default for Array<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> From<Vec<T>> for Array<T> {
    fn from(list: Vec<T>) -> Self {
        Self { file: None, own: Arc::new(list) }
    }
}

impl<T> FromIterator<T> for Array<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Vec::from_iter(values).into()
    }
}

impl<'a, T: Pod> IntoIterator for &'a Array<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<T: Pod + PartialEq> PartialEq for Array<T> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<T: Pod + PartialEq, const N: usize> PartialEq<[T; N]> for Array<T> {
    fn eq(&self, other: &[T; N]) -> bool {
        self[..] == other[..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Bytes {
        Bytes::from((0u32..8).flat_map(u32::to_le_bytes).collect::<Vec<u8>>())
    }

    #[test]
    fn a_list_in_a_file_is_copied_when_it_is_changed() {
        let mut list = Array::<u32>::of_file(file().slice(4..20)).unwrap();
        let other = list.clone();
        assert!(list.is_in_file());
        assert_eq!(list, [1, 2, 3, 4]);
        list.to_mut().push(9);
        assert!(!list.is_in_file());
        assert_eq!(list, [1, 2, 3, 4, 9]);
        assert_eq!(other.into_vec(), [1, 2, 3, 4]);
        let mut own = list.clone();
        own.to_mut().clear();
        assert_eq!(list.len(), 5);
    }

    #[test]
    fn what_lies_askew_or_is_not_whole_is_refused() {
        assert!(Array::<u32>::of_file(file().slice(1..9)).is_none());
        assert!(Array::<u32>::of_file(file().slice(0..7)).is_none());
        assert!(Array::<[u8; 4]>::of_file(file().slice(1..9)).is_some());
    }

    #[test]
    fn both_kinds_are_cut() {
        for mut list in [Array::<u32>::of_file(file()).unwrap(), (0..8).collect()] {
            list.truncate(9);
            assert_eq!(list.len(), 8);
            list.truncate(3);
            assert_eq!(list, [0, 1, 2]);
        }
    }
}
