//! Messages of transfers that never go to the session: data and credit are
//! handled where they arrive, so that neither waits for the meeting's thread.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;

use super::{Inbound, Outbox, WindowError};
use crate::wire::{MessageType, bulk};

/// What became of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intercepted {
    /// It is the session's.
    Not,
    /// It was handled; nobody has to do anything.
    Handled,
    /// The store has to look at [`Inbound::take`].
    Store,
    /// The writer has to look at its outbox.
    Writer,
}

/// Takes data, ends of data, credit and cancellations out of the stream.
pub fn intercept(
    payload: &Bytes,
    inbound: &Mutex<Inbound>,
    outbox: &Mutex<Outbox>,
    now: Duration,
) -> Result<Intercepted, WindowError> {
    let inbound = || inbound.lock().unwrap_or_else(PoisonError::into_inner);
    let outbox = || outbox.lock().unwrap_or_else(PoisonError::into_inner);
    let stored = |look: bool| if look { Intercepted::Store } else { Intercepted::Handled };
    let wrong = WindowError::WrongLength;
    match payload.first().and_then(|byte| MessageType::from_byte(*byte)) {
        Some(MessageType::Data) => {
            let (channel, offset) = bulk::decode_data_head(payload).ok_or(wrong)?;
            let bytes = payload.slice(bulk::DATA_HEAD_BYTES..);
            inbound().data(channel, offset, bytes, now).map(stored)
        }
        Some(MessageType::Done) => {
            let done = bulk::Done::decode(payload).ok_or(wrong)?;
            inbound().done(done.channel).map(stored)
        }
        Some(MessageType::Credit) => {
            let (channel, max_offset) = bulk::decode_credit(payload).ok_or(wrong)?;
            outbox().bulk().credit(channel, max_offset, now)?;
            Ok(Intercepted::Writer)
        }
        Some(MessageType::Cancel) => {
            let cancel = bulk::Cancel::decode(payload).ok_or(wrong)?;
            if cancel.by_sender {
                return Ok(Intercepted::Not);
            }
            outbox().bulk().cancel(cancel.channel);
            Ok(Intercepted::Handled)
        }
        _ => Ok(Intercepted::Not),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::{Holding, Method, Priority, RepresentationId, WindowMode};
    use proptest::prelude::*;
    use std::sync::Arc;

    proptest! {
        #[test]
        fn any_payload_is_borne(
            kinds in proptest::collection::vec((0u8..12, 0u16..4, 0u64..6000, 0usize..3000), 1..60),
        ) {
            let (inbound, outbox) = (Mutex::new(Inbound::new(WindowMode::Fixed(4096))), Mutex::new(Outbox::new()));
            let id = RepresentationId::new([0; 32], Method::Raw);
            let holding = Arc::new(Holding::empty(id, 1 << 20));
            let now = Duration::ZERO;
            inbound.lock().unwrap().open(1, holding, Priority::default(), now);
            inbound.lock().unwrap().grants(now);
            let mut granted_to_us = 0;
            for (kind, channel, offset, length) in kinds {
                let mut payload = vec![0x40 + kind];
                payload.extend_from_slice(&channel.to_le_bytes());
                payload.extend_from_slice(&offset.to_le_bytes());
                payload.resize(1 + length.min(payload.len() - 1 + length), 3);
                let took = intercept(&payload.clone().into(), &inbound, &outbox, now);
                let is_data = kind == 5 && payload.len() > bulk::DATA_HEAD_BYTES;
                if is_data && channel == 1 && took.is_ok() {
                    granted_to_us += payload.len() - bulk::DATA_HEAD_BYTES;
                }
                // Never more than was granted is kept.
                prop_assert!(granted_to_us <= 4096);
            }
        }
    }
}
