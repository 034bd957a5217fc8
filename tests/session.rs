//! The meeting's rules, on a simulated clock: sessions and scripted peers joined
//! by links in memory (`tests/common/meeting.rs`).

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and tells what it leaves out"
)]

#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/glb.rs"]
mod glb;
#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/meeting.rs"]
mod meeting;
#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/recording.rs"]
mod recording;
#[allow(dead_code, reason = "shared between tests, each of which uses a part")]
#[path = "common/rng.rs"]
mod rng;
#[path = "common/sheet.rs"]
mod sheet;

#[path = "session/agreement.rs"]
mod agreement;
#[path = "session/deliveries.rs"]
mod deliveries;
#[path = "session/guards.rs"]
mod guards;
#[path = "session/handshake.rs"]
mod handshake;
#[path = "session/joining.rs"]
mod joining;
#[path = "session/parts.rs"]
mod parts;
#[path = "session/presence.rs"]
mod presence;
#[path = "session/rejoining.rs"]
mod rejoining;
#[path = "session/relay.rs"]
mod relay;
#[path = "session/shown.rs"]
mod shown;
#[path = "session/transfers.rs"]
mod transfers;
