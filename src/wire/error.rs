//! What can be wrong with bytes from a peer.

/// A fault in a peer's bytes. Each ends that peer's connection, and no other.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// The first bytes were not those of a meeting.
    #[error("not a meeting: the first bytes are not \"LookSeeMeeting\"")]
    WrongPrefix,
    /// A frame of length zero: the end of a session, by LookSee's rules.
    #[error("message of length zero")]
    ZeroLength,
    /// A negative length.
    #[error("message of negative length {0}")]
    NegativeLength(i32),
    /// A length over the cap for that type.
    #[error("message of type {type_byte} announces {length} bytes, the limit is {limit}")]
    TooLong {
        /// The type byte of the message.
        type_byte: u8,
        /// Bytes announced.
        length: usize,
        /// The cap.
        limit: usize,
    },
    /// The JSON length inside an OpenModel message does not fit.
    #[error("model message announces {length} bytes of JSON, of {available} there are and {limit} allowed")]
    ModelJsonLength {
        /// Bytes of JSON announced.
        length: i64,
        /// Bytes in the frame after the length.
        available: usize,
        /// The cap.
        limit: usize,
    },
    /// The JSON could not be read as the message it claims to be.
    #[error("message of type {type_byte} cannot be read: {reason}")]
    BadJson {
        /// The type byte of the message.
        type_byte: u8,
        /// What the JSON reader says.
        reason: String,
    },
    /// A number that no pose may hold (infinite).
    #[error("message of type {type_byte} has a number out of range")]
    NumberOutOfRange {
        /// The type byte of the message.
        type_byte: u8,
    },
    /// An id or a name longer than the cap.
    #[error("message of type {type_byte} has a text of {length} bytes, the limit is {limit}")]
    TextTooLong {
        /// The type byte of the message.
        type_byte: u8,
        /// Bytes of the text.
        length: usize,
        /// The cap.
        limit: usize,
    },
    /// A version message whose version is no number.
    #[error("the version is no number")]
    BadVersion,
}
