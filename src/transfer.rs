//! The transfer of models, and what waits to go to one peer.
//!
//! For: the order in which a connection's bytes go out ([`Outbox`]), models in
//! chunks ([`Holding`], [`ChunkHeader`]), windows and frame steps ([`Inbound`],
//! [`Bulk`], [`Tuner`]), the play-out of poses ([`Playout`]). Not for: sockets,
//! threads and disk ([`crate::net`], [`crate::store`]) or the meaning of what is
//! sent ([`crate::session`]). Pure: the time is an argument; a lock inside a
//! [`Holding`] is held for a copy only.
//!
//! A **channel** is one transfer of one representation of one model over one
//! connection in one direction. The receiver numbers it, grants credit for it in
//! absolute bytes, and the sender fills the credit with steps of its stream:
//! chunk header, chunk, chunk header, chunk, ...

mod bulk;
mod chunk;
mod config;
mod holding;
mod inbound;
mod intercept;
mod outbox;
mod packing;
mod playout;
mod step;
mod tuner;
mod window;

pub use bulk::{Bulk, Priority};
pub use chunk::{
    CHUNK_BYTES, Chunk, ChunkAssembler, ChunkFault, ChunkHeader, HEADER_BYTES, chunk_bytes, chunk_count,
};
pub use config::{BulkConfig, WindowMode};
pub use holding::{ContentId, Holding, MAX_PARTS, Method, RepresentationId};
pub use inbound::{Credit, Inbound, Piece};
pub use intercept::{Intercepted, intercept};
pub use outbox::{Lane, MAXIMUM_WAITING, Outbox, Outgoing, TooSlow};
pub use packing::{is_worth_packing, unpack};
pub use playout::{Playout, Stamped};
pub use step::{DEFAULT_STEP, StepContext, StepHandler, Steps, automatic_step};
pub use tuner::Tuner;
pub use window::{ReceiveWindow, SendWindow, WindowError};
