//! The wire: what travels between two peers of a meeting, byte for byte.
//!
//! For: turning bytes into messages and messages into bytes. Not for: sockets,
//! clocks, or the meaning of a message (that is [`crate::session`]). Pure: no
//! thread of its own; readers, the meeting driver and tests call it.
//!
//! A meeting connection (TCP, port [`MEETING_PORT`]) carries in each direction
//! the 14 bytes [`MEETING_PREFIX`] and then frames:
//!
//! ```text
//! frame   = i32 little-endian n | payload of n bytes        n >= 1
//! payload = u8 type | UTF-8 JSON                            every type but 3
//! payload = u8 3 | i32 little-endian m | JSON of m bytes | GLB bytes
//! ```
//!
//! Coordinates in the structs of [`message`] are LookSee's (left-handed, Unity);
//! [`coordinates`] turns them into room space.
//!
//! The whole protocol, for somebody who writes another client, is
//! `docs/protocol.md`.

pub mod bulk;
pub mod coordinates;
mod error;
pub mod file_push;
mod frame;
mod limits;
pub mod message;
mod poses;

pub use error::WireError;
pub use frame::{Frame, FrameAssembler, ModelFrame, ModelHeader, Progress, encode_frame};
pub use limits::Limits;
pub use message::{Message, MessageType};

/// TCP port on which a host listens for guests.
pub const MEETING_PORT: u16 = 21213;
/// TCP port on which pushed files arrive.
pub const FILE_PORT: u16 = 21212;
/// The first bytes that each side of a meeting connection sends.
pub const MEETING_PREFIX: &[u8; 14] = b"LookSeeMeeting";
/// The version that we announce, LookSee's own number.
pub const VERSION: &str = "17";
/// The oldest version that we talk to.
pub const MINIMUM_VERSION: f32 = 12.0;
/// The number of our extension, in the `ext` field of the version message.
pub const EXTENSION: u32 = 1;
