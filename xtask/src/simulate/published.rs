//! A published table, and the machine it was measured on, as the simulator needs it.
//!
//! The times are the table of `doc/benchmark.txt` of squashfs-tools-ng 1.1.0: tar2sqfs, commit 7d2b3b0, on a Ryzen 7 3700X
//! (8 cores, 16 threads), Debian 10.2 as a tar of 7.0 GB in memory, the worst of four runs. The ratios are from the sizes
//! there. What the caller does is from the sources of that commit (see `callers/toolsng.rs`).
//!
//! Eleven numbers were fitted, by least squares on the 16 points of [`FITTED`]; the other 48 are predictions:
//! of the machine `fall`, `sibling`, `sibling_fall` and `wake_more`; of the caller `read` and `write`; of the codecs three
//! times and two demands. All else was set beforehand: a linear knee; 2 us an item, as a tar's header, a tree's entry and an
//! inode cost; hashing at 4 GB/s, packing at 12 GB/s; the synchronisation costs in [`COSTS`] at what Linux and such cores
//! usually take. The mix of files is `debian.rs`, of another Debian tree than the table's.
//!
//! In `none` and LZ4, two mechanisms make the table's shape: each submit wakes every sleeper, and a fragment block that
//! waits at the end of the queue blocks the window. In gzip and XZ the second takes a part of what looks like slower
//! cores; what is left is 6 % for the clock.

use super::debian::{self, Compression, Handling};
use super::machine::{Costs, Machine};
use super::outcome::Outcome;
use super::setup::Setup;
use super::workload::Workload;

/// Jobs in the table: 1 to this.
pub const MOST_JOBS: usize = 16;
/// Bytes of the image without compression.
const BYTES: f64 = 6_542_389_248.0;

/// One codec's column.
#[derive(Debug)]
pub struct Column {
    /// As in `--workload`.
    pub name: &'static str,
    /// Seconds of the build without threads.
    pub serial: f64,
    /// Seconds with 1, 2, ... jobs.
    pub jobs: [f64; MOST_JOBS],
    compression: Compression,
}

/// The table.
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

/// The points that the numbers were fitted on.
pub const FITTED: [(&str, &[usize]); 4] =
    [("none", &[1, 2, 8, 15]), ("lz4", &[1, 2, 5, 8, 12, 15]), ("gzip", &[1, 8, 16]), ("xz", &[1, 8, 16])];

/// Blocks of a codec differ by a third in time.
const USUAL: Compression = Compression { service: 0.0, variation: 0.35, ratio: 1.0, content: false, demand: 0.0 };

/// What handling a byte costs tar2sqfs there.
const HANDLING: Handling = Handling { item: 2000.0, read: 0.2832, write: 0.2048, pack: 0.08, hash: 0.25 };

/// Locks and wake-ups of Linux on such a machine. Locks are handed over in order, without a sleep: with one, the herd would
/// queue up for the lock and be less of a herd, and the table's slope up to 16 jobs is straight.
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

/// The machine.
pub const MACHINE: Machine =
    Machine { cores: 8, threads: 2, fall: 0.06, knee: 1.0, sibling: 0.722, sibling_fall: 5.36, costs: COSTS };

/// A codec's column.
///
/// # Errors
/// There is none of that name.
pub fn column(name: &str) -> Result<&'static Column, String> {
    let names: Vec<&str> = TABLE.iter().map(|column| column.name).collect();
    TABLE
        .iter()
        .find(|column| column.name == name)
        .ok_or_else(|| format!("--workload {name} (expected one of {names:?})"))
}

/// What a time of the simulated tree has to be multiplied by to be one of the table's tree.
pub fn scale(work: &Workload) -> f64 {
    BYTES / work.items.iter().map(|item| item.bytes).sum::<f64>()
}

impl Column {
    /// The workload, smaller than the table's by [`scale`].
    pub fn workload(&self) -> Workload {
        debian::tree(&HANDLING, &self.compression)
    }

    /// Seconds that tar2sqfs takes with so many jobs, by the simulator.
    ///
    /// # Errors
    /// See [`Setup::run`].
    pub fn seconds(&self, work: &Workload, setup: &Setup) -> Result<(f64, Outcome), String> {
        let outcome = setup.run(&MACHINE, work)?;
        Ok((outcome.wall / 1e9 * scale(work), outcome))
    }
}
