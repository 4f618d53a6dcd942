//! Reading at scale: ten times the files may take at most twelve times the time, and every command stays within `--mem`.

use super::{Checks, MAX_GROWTH, RUNS};
use crate::generate::Kind;
use packline_testkit::peer::{Cost, Job};

/// Tars with a small and a large count, and the memory limit of every command at both, MiB.
const PARTS: [(Kind, u64, u64, u64); 4] = [
    (Kind::Flat, 100_000, 1_000_000, 128),
    (Kind::Unique, 100_000, 1_000_000, 128),
    (Kind::Many, 100_000, 1_000_000, 128),
    (Kind::Links, 50_000, 500_000, 256),
];
/// Commands that only read; IMAGE is replaced.
const COMMANDS: [&[&str]; 4] = [
    &["verify", "-q", "IMAGE"],
    &["diff", "-q", "IMAGE", "IMAGE"],
    &["sqfs2tar", "IMAGE"],
    &["unpack", "-q", "--to", "tar", "-c", "gzip", "IMAGE", "-"],
];
/// Runs a command and discards its output, which would need memory for a whole tar.
const SILENT: [&str; 4] = ["bash", "-c", "exec \"$@\" > /dev/null", "silent"];
/// Largest wall time in seconds for a hole of a terabyte.
const MAX_SPARSE: f64 = 10.0;

pub(super) fn run(checks: &mut Checks) -> Result<(), String> {
    for (kind, small, large, budget) in PARTS {
        growth(checks, kind, [small, large], budget)?;
    }
    sparse(checks)?;
    budgets(checks)
}

impl Checks {
    fn pack(&self, kind: Kind, count: u64, options: &[&str]) -> Result<(), String> {
        let tar = self.tar(kind, count)?;
        self.ours(options)?.reading(&tar).measure().map(drop)
    }

    /// A command on the image that was packed last, without its standard output.
    fn reader(&self, words: &[&str], budget: u64) -> Result<Job, String> {
        let image = self.image("packline")?;
        let words = words.iter().map(|&word| if word == "IMAGE" { image.as_str() } else { word });
        let limit = format!("{budget}M");
        let whole = SILENT.into_iter().chain([self.binary.as_str()]).chain(words).chain(["--mem", &limit]);
        let argv: Vec<&str> = whole.collect();
        Ok(Job::new(format!("{} {limit}", argv[SILENT.len() + 1]), &argv))
    }

    /// Measures a command and checks its peak memory. Returns its cost.
    fn within(&mut self, what: &str, count: u64, words: &[&str], budget: u64, runs: usize) -> Result<Cost, String> {
        let job = self.reader(words, budget)?;
        let costs = self.measure_all(what, count, std::slice::from_ref(&job), runs)?;
        let cost = costs.into_iter().next().ok_or_else(|| "no run was measured".to_string())?;
        let peak = cost.peak >> 20;
        self.require(peak <= budget, format!("{what}: {} has a peak of {peak} MiB", job.name));
        Ok(cost)
    }
}

fn growth(checks: &mut Checks, kind: Kind, counts: [u64; 2], budget: u64) -> Result<(), String> {
    let mut all = Vec::new();
    let name = kind.name();
    for count in counts {
        checks.pack(kind, count, &["-c", "lz4"])?;
        let mut costs = Vec::new();
        for words in COMMANDS {
            costs.push(checks.within(&name, count, words, budget, RUNS)?.cpu());
        }
        all.push(costs);
    }
    for (number, words) in COMMANDS.iter().enumerate() {
        let growth = all[1][number] / all[0][number].max(0.02);
        let what = format!("{name}: {}: ten times the input takes {growth:.1} times the time", words[0]);
        checks.require(growth <= MAX_GROWTH, what);
    }
    Ok(())
}

/// A hole of a terabyte in seconds.
fn sparse(checks: &mut Checks) -> Result<(), String> {
    checks.pack(Kind::Sparse, 1 << 40, &["-c", "zstd"])?;
    for words in &COMMANDS[..3] {
        let wall = checks.within("sparse", 1 << 40, words, 64, 1)?.wall;
        checks.require(wall <= MAX_SPARSE, format!("{} of a hole of a terabyte: {wall:.1} s", words[0]));
    }
    Ok(())
}

/// Small and large blocks, one worker and many, little memory.
fn budgets(checks: &mut Checks) -> Result<(), String> {
    for (block, budget) in [("4K", 32), ("128K", 32), ("1M", 64)] {
        checks.pack(Kind::Bulk, 200, &["-c", "gzip:level=1", "-b", block])?;
        for jobs in ["1", "16"] {
            for words in [COMMANDS[0], COMMANDS[3]] {
                let words = [words, &["-j", jobs]].concat();
                checks.within(&format!("blocks of {block}, {jobs} workers"), 200, &words, budget, 1)?;
            }
        }
    }
    Ok(())
}
