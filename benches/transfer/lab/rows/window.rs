//! The tables of the Vortex mailing list of 2008: windows of 4 to 64 KiB with
//! frames of 4 KiB, on a DSL line and on a LAN, and the delay that each costs.

use anyhow::{Context, Result};

use super::{CONVENE, HZ, LOOKSEE, UNCONTROLLED, beside::Transfer};
use crate::lab::{Lab, report::Row, rig::Link};

/// 55 KB/s and a round trip of 170 ms; the queue is deep, as such lines' are.
pub const DSL: Link = Link::Relayed { mbit: 0.44, rtt_ms: 170.0, queue_ms: 2000.0, loss: 0.0 };
/// What the line carries in 20 s.
const DSL_BYTES: usize = 1_100_000;
/// LookSee's poses at its frames' rate would be more than the line carries.
const DSL_HZ: f64 = 20.0;
pub const WINDOWS_KIB: [usize; 5] = [4, 8, 16, 32, 64];

pub(super) fn run(lab: &Lab, run: u64) -> Result<Vec<Row>> {
    let options: Vec<(String, Vec<String>)> = [LOOKSEE, UNCONTROLLED, CONVENE]
        .into_iter()
        .map(|(name, options)| (name.to_owned(), options.iter().map(ToString::to_string).collect()))
        .chain(WINDOWS_KIB.map(|kib| {
            let window = (kib * 1024).to_string();
            let options = ["--window", &window, "--step", "4096"].map(str::to_owned).to_vec();
            (format!("fixed {kib} KiB"), options)
        }))
        .filter(|(name, options)| lab.wants(name, &options.iter().map(String::as_str).collect::<Vec<_>>()))
        .collect();
    // A slow line leaves the processors idle: all runs side by side, each on its own line.
    let mut rows = if run == 1 { slow_lines(lab, &options)? } else { Vec::new() };
    for (name, options) in options.iter().filter(|(name, _)| name.starts_with("fixed")) {
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let transfer = Transfer {
            name: name.clone(),
            link: Link::Veth,
            options: &options,
            model: &lab.models.surface,
            hz: HZ,
        };
        let mut row = transfer.measure(lab, run)?;
        let seconds = row.get("seconds_to_last_byte").context("a time")?;
        row.set("mbytes_per_second", lab.models.surface_bytes()? / seconds / 1e6);
        rows.push(row);
    }
    Ok(rows)
}

fn slow_lines(lab: &Lab, options: &[(String, Vec<String>)]) -> Result<Vec<Row>> {
    let model = lab.models.noise(DSL_BYTES)?;
    let measure = |name: &String, options: &Vec<String>, run: u64| {
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let transfer =
            Transfer { name: name.clone(), link: DSL, options: &options, model: &model, hz: DSL_HZ };
        transfer.measure(lab, run)
    };
    std::thread::scope(|scope| {
        let (mut started, measure) = (Vec::new(), &measure);
        for run in 1..=lab.runs {
            for (name, options) in options {
                let builder = std::thread::Builder::new().name("lab-dsl".into());
                started.push(builder.spawn_scoped(scope, move || measure(name, options, run))?);
            }
        }
        let ended = started.into_iter().map(|thread| thread.join().ok().context("a row broke")?);
        ended.collect()
    })
}
