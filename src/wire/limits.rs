//! Caps on what a peer may announce. Nothing larger is ever allocated for it.

/// Caps on lengths that come from the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest JSON text of a message, in bytes.
    pub json_bytes: usize,
    /// Longest GLB of an OpenModel message, in bytes.
    pub model_bytes: usize,
    /// Longest model id or device id, in bytes.
    pub id_bytes: usize,
    /// Longest model, file or participant name, in bytes.
    pub name_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { json_bytes: 64 << 10, model_bytes: 256 << 20, id_bytes: 64, name_bytes: 1 << 10 }
    }
}

impl Limits {
    /// The longest payload that a frame of `type_byte` may announce.
    ///
    /// Frames of unknown types are skipped without being stored, so they may be
    /// as long as a model.
    pub(super) fn payload_bytes(&self, type_byte: u8) -> usize {
        match super::MessageType::from_byte(type_byte) {
            Some(super::MessageType::OpenModel) | None => 5 + self.json_bytes + self.model_bytes,
            Some(super::MessageType::Data) => super::bulk::DATA_HEAD_BYTES + super::bulk::MAXIMUM_STEP,
            Some(_) => 1 + self.json_bytes,
        }
    }
}
