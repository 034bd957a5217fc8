//! Credit windows, as in Vortex and RFC 3081: absolute offsets into a channel's
//! stream, never withdrawn.

/// A peer that does not keep to a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WindowError {
    /// More was sent than was allowed.
    #[error("it sent up to byte {end} of a transfer, allowed were {allowed}")]
    Exceeded {
        /// Where its bytes end.
        end: u64,
        /// The largest offset that was granted.
        allowed: u64,
    },
    /// Bytes twice, or a gap.
    #[error("its bytes begin at {offset} of a transfer, expected was {expected}")]
    WrongOffset {
        /// Where its bytes begin.
        offset: u64,
        /// Where they should.
        expected: u64,
    },
    /// A credit below an earlier one.
    #[error("it took back credit: {to} after {from}")]
    Withdrawn {
        /// Granted before.
        from: u64,
        /// Granted now.
        to: u64,
    },
    /// Data of a channel that was never open.
    #[error("it sent bytes for transfer {0}, which nobody asked for")]
    UnknownChannel(u16),
    /// A message that is too short or too long for its type.
    #[error("a message of a transfer is of the wrong length")]
    WrongLength,
    /// More at once than any receiver asks for.
    #[error("it asks for too many models at once")]
    TooManyChannels,
    /// Frames so small that they serve no purpose but to fill memory.
    #[error("it sends transfers in frames that are too small")]
    TooManyPieces,
}

/// The sender's end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SendWindow {
    /// Bytes sent.
    offset: u64,
    max_offset: u64,
}

impl SendWindow {
    /// Bytes sent so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The largest offset that was allowed.
    pub fn max_offset(&self) -> u64 {
        self.max_offset
    }

    /// Bytes that may be sent now.
    pub fn available(&self) -> u64 {
        self.max_offset - self.offset
    }

    /// The receiver allows more.
    pub fn credit(&mut self, max_offset: u64) -> Result<(), WindowError> {
        if max_offset < self.max_offset {
            return Err(WindowError::Withdrawn { from: self.max_offset, to: max_offset });
        }
        self.max_offset = max_offset;
        Ok(())
    }

    /// So many were sent; at most what is [available](Self::available).
    pub fn sent(&mut self, bytes: usize) {
        self.offset = (self.offset + bytes as u64).min(self.max_offset);
    }
}

/// The receiver's end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReceiveWindow {
    received: u64,
    consumed: u64,
    max_offset: u64,
}

impl ReceiveWindow {
    /// The largest offset that was granted.
    pub fn max_offset(&self) -> u64 {
        self.max_offset
    }

    /// Bytes that came.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Bytes that the application has taken.
    pub fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Granted and not consumed yet.
    pub fn outstanding(&self) -> u64 {
        self.max_offset - self.consumed
    }

    /// Bytes came.
    pub fn receive(&mut self, offset: u64, bytes: usize) -> Result<(), WindowError> {
        if offset != self.received {
            return Err(WindowError::WrongOffset { offset, expected: self.received });
        }
        let end = offset.saturating_add(bytes as u64);
        if end > self.max_offset {
            return Err(WindowError::Exceeded { end, allowed: self.max_offset });
        }
        self.received = end;
        Ok(())
    }

    /// The application has taken so many.
    pub fn consume(&mut self, bytes: usize) {
        self.consumed = (self.consumed + bytes as u64).min(self.received);
    }

    /// Allows up to this offset; a smaller one than before changes nothing.
    /// Whether it is more.
    pub fn grant(&mut self, max_offset: u64) -> bool {
        let more = max_offset > self.max_offset;
        self.max_offset = self.max_offset.max(max_offset);
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rules() {
        let mut window = ReceiveWindow::default();
        assert!(window.grant(100) && !window.grant(50) && !window.grant(100));
        assert_eq!(window.receive(0, 60), Ok(()));
        assert_eq!(window.receive(0, 10), Err(WindowError::WrongOffset { offset: 0, expected: 60 }));
        assert_eq!(window.receive(70, 10), Err(WindowError::WrongOffset { offset: 70, expected: 60 }));
        assert_eq!(window.receive(60, 41), Err(WindowError::Exceeded { end: 101, allowed: 100 }));
        assert_eq!(window.receive(60, 40), Ok(()));
        window.consume(30);
        assert_eq!((window.outstanding(), window.consumed()), (70, 30));
        let mut window = SendWindow::default();
        assert_eq!(window.credit(10), Ok(()));
        assert_eq!(window.credit(9), Err(WindowError::Withdrawn { from: 10, to: 9 }));
        window.sent(4);
        assert_eq!((window.available(), window.offset()), (6, 4));
        assert_eq!(window.credit(u64::MAX), Ok(()));
    }

    proptest! {
        #[test]
        fn both_ends_agree(steps in proptest::collection::vec((0u64..5000, 1usize..3000), 0..100)) {
            let (mut send, mut receive) = (SendWindow::default(), ReceiveWindow::default());
            for (more, wanted) in steps {
                receive.grant(receive.consumed() + more);
                prop_assert!(send.credit(receive.max_offset()).is_ok());
                let bytes = wanted.min(send.available() as usize);
                let offset = send.offset();
                send.sent(bytes);
                prop_assert!(receive.receive(offset, bytes).is_ok());
                receive.consume(bytes);
                prop_assert_eq!(receive.received(), send.offset());
            }
        }
    }
}
