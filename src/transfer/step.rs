//! Frame steps: how many bytes of a model the next frame of a channel carries.
//!
//! As in Vortex: a handler of the channel decides, else one of the connection,
//! else the default for new connections, else [`DEFAULT_STEP`].

use std::sync::{Arc, RwLock};

/// Vortex's step, where nobody says anything else.
pub const DEFAULT_STEP: usize = 4096;
/// Longest step, whatever a handler says.
const LARGEST: usize = crate::wire::bulk::MAXIMUM_STEP;
const SMALLEST: usize = 64;

/// What a handler may look at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepContext {
    /// Which channel.
    pub channel: u16,
    /// Bytes that the window allows now.
    pub available: u64,
    /// Bytes until the end of the chunk.
    pub chunk_left: usize,
    /// Bytes a second that this connection's bulk has been sent with of late;
    /// zero before anything was measured.
    pub rate: f64,
}

/// Chooses the size of a channel's next frame, in bytes.
pub type StepHandler = Arc<dyn Fn(&StepContext) -> usize + Send + Sync>;

static NEW_CONNECTIONS: RwLock<Option<StepHandler>> = RwLock::new(None);

/// The handlers of one connection.
#[derive(Clone, Default)]
pub struct Steps {
    connection: Option<StepHandler>,
    inherited: Option<StepHandler>,
}

impl std::fmt::Debug for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Steps").field("connection", &self.connection.is_some()).finish_non_exhaustive()
    }
}

impl Steps {
    /// A connection that has no handler of its own; it keeps the default that
    /// holds now.
    pub fn for_new_connection() -> Self {
        let inherited = NEW_CONNECTIONS.read().map(|handler| handler.clone()).unwrap_or_default();
        Self { connection: None, inherited }
    }

    /// The default of connections that begin later.
    pub fn set_for_new_connections(handler: Option<StepHandler>) {
        if let Ok(mut default) = NEW_CONNECTIONS.write() {
            *default = handler;
        }
    }

    /// The handler of this connection.
    pub fn set_connection(&mut self, handler: Option<StepHandler>) {
        self.connection = handler;
    }

    /// The next frame's bytes: what the innermost handler says, within what the
    /// window and the chunk allow.
    pub fn next(&self, channel: Option<&StepHandler>, context: &StepContext) -> usize {
        let handler = channel.or(self.connection.as_ref()).or(self.inherited.as_ref());
        let step = handler.map_or(DEFAULT_STEP, |handler| handler(context)).clamp(SMALLEST, LARGEST);
        let available = usize::try_from(context.available).unwrap_or(usize::MAX);
        step.min(available).min(context.chunk_left)
    }
}

/// A millisecond of the link, so that a pose waits no longer for the rest of a
/// frame, and the window, which has to hold one more, stays small; not under 1 KiB, where the frames' heads would cost much, and not
/// over 64 KiB, where more does not make anything faster.
pub fn automatic_step(context: &StepContext) -> usize {
    if context.rate <= 0.0 {
        return DEFAULT_STEP;
    }
    ((context.rate * 0.001) as usize).clamp(1 << 10, 64 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> StepContext {
        StepContext { channel: 1, available: 1 << 20, chunk_left: 1 << 18, rate: 0.0 }
    }

    fn always(step: usize) -> StepHandler {
        Arc::new(move |_| step)
    }

    #[test]
    fn the_innermost_level_decides() {
        let plain = Steps::for_new_connection();
        assert_eq!(plain.next(None, &context()), DEFAULT_STEP, "nobody says anything");
        Steps::set_for_new_connections(Some(always(1000)));
        let mut steps = Steps::for_new_connection();
        Steps::set_for_new_connections(None);
        assert_eq!(plain.next(None, &context()), DEFAULT_STEP, "a connection that was there before");
        assert_eq!(steps.next(None, &context()), 1000, "the default of new connections");
        steps.set_connection(Some(always(2000)));
        assert_eq!(steps.next(None, &context()), 2000, "the connection");
        assert_eq!(steps.next(Some(&always(3000)), &context()), 3000, "the channel");
        assert_eq!(Steps::for_new_connection().next(None, &context()), DEFAULT_STEP);
    }

    #[test]
    fn no_handler_breaks_the_window() {
        let steps = Steps::default();
        let context = StepContext { available: 10, ..context() };
        assert_eq!(steps.next(Some(&always(usize::MAX)), &context), 10);
        assert_eq!(steps.next(Some(&always(0)), &context), 10, "a handler cannot stop a channel");
        let context = StepContext { chunk_left: 7, available: 100, ..context };
        assert_eq!(steps.next(None, &context), 7);
    }

    #[test]
    fn automatic() {
        let step = |rate: f64| automatic_step(&StepContext { rate, ..context() });
        assert_eq!(step(0.0), DEFAULT_STEP);
        assert_eq!(step(55_000.0), 1024);
        assert_eq!(step(50e6 / 8.0), 6_250);
        assert_eq!(step(1e9), 65_536);
    }
}
