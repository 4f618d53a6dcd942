//! A published table of times, and the machine it was measured on.
//!
//! The table is in `doc/benchmark.txt` of squashfs-tools-ng 1.1.0: tar2sqfs, commit 7d2b3b0, on a Ryzen 7 3700X
//! (8 cores, 16 threads), Debian 10.2 as a tar of 7.0 GB in memory, the worst of four runs. The ratios are computed from its
//! sizes. The caller's behaviour is that of the sources of that commit (see `callers/toolsng.rs`).
//!
//! Eleven numbers were fitted, by least squares on the 16 points of [`FITTED`]; the other 48 are predictions:
//! of the machine `fall`, `sibling`, `sibling_fall` and `wake_more`; of the caller `read` and `write`; of the codecs three
//! times and two demands. All others were chosen beforehand: a linear knee; 2 us an item for a tar header, a tree entry and an
//! inode; hashing at 4 GB/s, packing at 12 GB/s; the synchronisation costs in [`COSTS`], typical for Linux on such cores. The
//! mix of files is `debian.rs`, from another Debian tree than the table's.
//!
//! With `none` and LZ4, two mechanisms cause the table's shape: each submit wakes every sleeper, and a fragment block that
//! waits at the end of the queue blocks the window. With gzip and XZ the second mechanism explains part of the apparent slowness of
//! the cores; the clock explains the remaining 6 %.

use crate::debian::{self, Compression, Handling};
use crate::machine::{Costs, Machine};
use crate::outcome::Outcome;
use crate::setup::Setup;
use crate::workload::Workload;

/// Largest number of jobs in the table; the smallest is 1.
pub const MAX_JOBS: usize = 16;
/// Bytes of the image without compression.
const BYTES: f64 = 6_542_389_248.0;

#[derive(Debug)]
pub struct Column {
    pub name: &'static str,
    /// Seconds of the build without threads.
    pub serial: f64,
    /// Seconds with 1, 2, ... jobs.
    pub jobs: [f64; MAX_JOBS],
    compression: Compression,
}

pub const TABLE: [Column; 4] = [
    Column {
        name: "none",
        serial: 5.86,
        jobs: [4.23, 4.13, 4.58, 4.62, 4.94, 5.08, 5.43, 5.68, 5.76, 5.94, 6.14, 6.39, 6.51, 6.68, 6.91, 7.10],
        compression: Compression { service: 0.0, ratio: 1.0, content: false, demand: 0.0, ..USUAL },
    },
    Column {
        name: "lz4",
        serial: 13.58,
        jobs: [11.25, 6.41, 4.84, 4.29, 4.19, 4.28, 4.24, 4.46, 4.64, 4.84, 5.00, 5.28, 5.41, 5.71, 5.74, 6.37],
        compression: Compression { service: 1.286, ratio: 0.517, content: true, demand: 0.4, ..USUAL },
    },
    Column {
        name: "gzip",
        serial: 609.79,
        jobs: [
            598.85, 312.14, 215.92, 165.50, 136.28, 116.44, 100.66, 89.79, 83.01, 77.04, 71.52, 67.21, 63.43, 59.45,
            56.37, 52.56,
        ],
        compression: Compression { service: 91.3, ratio: 0.378, content: false, demand: 0.0, ..USUAL },
    },
    Column {
        name: "xz",
        serial: 1108.39,
        jobs: [
            1116.06, 591.21, 415.90, 320.02, 263.94, 224.23, 196.78, 175.04, 166.52, 159.35, 151.08, 144.72, 137.91,
            132.94, 126.76, 119.06,
        ],
        compression: Compression { service: 170.25, ratio: 0.321, content: false, demand: 0.0526, ..USUAL },
    },
];

/// The points that parameters were fitted on.
pub const FITTED: [(&str, &[usize]); 4] =
    [("none", &[1, 2, 8, 15]), ("lz4", &[1, 2, 5, 8, 12, 15]), ("gzip", &[1, 8, 16]), ("xz", &[1, 8, 16])];

/// Defaults of the codecs. The variation is an estimate.
const USUAL: Compression = Compression { service: 0.0, variation: 0.35, ratio: 1.0, content: false, demand: 0.0 };

/// tar2sqfs's cost of handling a byte on that machine.
const HANDLING: Handling = Handling { item: 2000.0, read: 0.2832, write: 0.2048, pack: 0.08, hash: 0.25 };

/// Locks and wake-ups of Linux on such a machine. Agents spin for locks and never sleep: with sleeps, fewer woken workers would
/// compete at a time, but the table's slope is constant up to 16 jobs.
pub const COSTS: Costs = Costs {
    hold: 60.0,
    transfer: 80.0,
    peek: 3.0,
    wake_call: 1500.0,
    wake_more: 1207.0,
    wake_latency: 5000.0,
    wake_run: 1000.0,
    spin: 0.0,
    lock_spin: f64::INFINITY,
};

pub const MACHINE: Machine =
    Machine { cores: 8, threads: 2, fall: 0.06, knee: 1.0, sibling: 0.722, sibling_fall: 5.36, costs: COSTS };

pub fn column(name: &str) -> Result<&'static Column, String> {
    let names: Vec<&str> = TABLE.iter().map(|column| column.name).collect();
    TABLE
        .iter()
        .find(|column| column.name == name)
        .ok_or_else(|| format!("--workload {name} (expected one of {names:?})"))
}

/// The factor from a time of the simulated tree to one of the table's tree.
pub fn scale(work: &Workload) -> f64 {
    BYTES / work.items.iter().map(|item| item.bytes).sum::<f64>()
}

impl Column {
    pub fn workload(&self) -> Workload {
        debian::tree(&HANDLING, &self.compression)
    }

    /// Simulated seconds for the table's tree.
    pub fn seconds(&self, work: &Workload, setup: &Setup) -> Result<(f64, Outcome), String> {
        let outcome = setup.run(&MACHINE, work)?;
        Ok((outcome.wall / 1e9 * scale(work), outcome))
    }
}
