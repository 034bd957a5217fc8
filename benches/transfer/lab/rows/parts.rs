//! The ways of making a model smaller, over links of several rates, beside the
//! host's poses: from `open` at the host to `model_opened` at the guest.

use anyhow::Result;

use super::{EXACT, GZIP, HZ, LOOKSEE, PARTS, beside::Transfer};
use crate::lab::{Lab, report::Row, rig::Link};

/// Mbit/s.
pub const RATES: [f64; 4] = [20.0, 50.0, 166.0, 320.0];

pub(super) fn run(lab: &Lab, run: u64) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for mbit in RATES {
        let link = Link::Routed { mbit, queue_ms: 100.0 };
        for (name, options) in [LOOKSEE, GZIP, EXACT, PARTS] {
            if !lab.wants(name, options) {
                continue;
            }
            let name = format!("sizes, {name}");
            rows.push(
                Transfer { name, link, options, model: &lab.models.surface, hz: HZ }.measure(lab, run)?,
            );
        }
    }
    Ok(rows)
}
