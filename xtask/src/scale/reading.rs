//! Reading at scale: ten times the files at ten to twelve times the time, and every command within `--mem`.

use super::{MOST_GROWTH, Place, RUNS};
use packline_testkit::peer::{Cost, Job};

/// Images by the tars they are made of: small and large count, and megabytes that every command gets at the large one.
const PARTS: [(&str, u64, u64, u64); 4] = [
    ("flat", 100_000, 1_000_000, 128),
    ("unique", 100_000, 1_000_000, 128),
    ("many", 100_000, 1_000_000, 128),
    ("links", 50_000, 500_000, 256),
];
/// Commands that only read. IMAGE stands for the image.
const COMMANDS: [&[&str]; 4] = [
    &["verify", "-q", "IMAGE"],
    &["diff", "-q", "IMAGE", "IMAGE"],
    &["sqfs2tar", "IMAGE"],
    &["unpack", "-q", "--to", "tar", "-c", "gzip", "IMAGE", "-"],
];
/// Runs a command without its output. A harness that gathered it would need the memory for a tar.
const SILENT: [&str; 4] = ["bash", "-c", "exec \"$@\" > /dev/null", "silent"];
/// Most wall seconds for a terabyte that is a hole.
const MOST_SPARSE: f64 = 10.0;

/// All parts.
pub(super) fn run(place: &mut Place) -> Result<(), String> {
    for (name, small, large, budget) in PARTS {
        growth(place, name, [small, large], budget)?;
    }
    sparse(place)?;
    budgets(place)
}

impl Place {
    fn packed(&self, name: &str, count: u64, options: &[&str]) -> Result<(), String> {
        let tar = self.tar(name, count)?;
        self.ours(options)?.reading(&tar).measure().map(drop)
    }

    /// A command on the image packed last. What it writes to standard output is dropped.
    fn reader(&self, words: &[&str], budget: u64) -> Result<Job, String> {
        let image = self.image("packline")?;
        let words = words.iter().map(|&word| if word == "IMAGE" { image.as_str() } else { word });
        let limit = format!("{budget}M");
        let whole = SILENT.into_iter().chain([self.binary.as_str()]).chain(words).chain(["--mem", &limit]);
        let argv: Vec<&str> = whole.collect();
        Ok(Job::new(format!("{} {limit}", argv[SILENT.len() + 1]), &argv))
    }

    /// Measures a command and holds it to its budget; its cost.
    fn within(&mut self, what: &str, count: u64, words: &[&str], budget: u64, runs: usize) -> Result<Cost, String> {
        let job = self.reader(words, budget)?;
        let costs = self.race(what, count, std::slice::from_ref(&job), runs)?;
        let cost = costs.into_iter().next().ok_or_else(|| "nothing was measured".to_string())?;
        let peak = cost.peak >> 20;
        self.demand(peak <= budget, format!("{what}: {} has a peak of {peak} MiB", job.name));
        Ok(cost)
    }
}

fn growth(place: &mut Place, name: &str, counts: [u64; 2], budget: u64) -> Result<(), String> {
    let mut all = Vec::new();
    for count in counts {
        place.packed(name, count, &["-c", "lz4"])?;
        let mut costs = Vec::new();
        for words in COMMANDS {
            costs.push(place.within(name, count, words, budget, RUNS)?.cpu());
        }
        all.push(costs);
    }
    for (number, words) in COMMANDS.iter().enumerate() {
        let growth = all[1][number] / all[0][number].max(0.02);
        let what = format!("{name}: {}: ten times the input takes {growth:.1} times the time", words[0]);
        place.demand(growth <= MOST_GROWTH, what);
    }
    Ok(())
}

/// A terabyte of hole in seconds.
fn sparse(place: &mut Place) -> Result<(), String> {
    place.packed("sparse", 1 << 40, &["-c", "zstd"])?;
    for words in &COMMANDS[..3] {
        let wall = place.within("sparse", 1 << 40, words, 64, 1)?.wall;
        place.demand(wall <= MOST_SPARSE, format!("{} of a terabyte of hole: {wall:.1} s", words[0]));
    }
    Ok(())
}

/// Small and large blocks, one worker and many, little memory.
fn budgets(place: &mut Place) -> Result<(), String> {
    for (block, budget) in [("4K", 32), ("128K", 32), ("1M", 64)] {
        place.packed("bulk", 200, &["-c", "gzip:level=1", "-b", block])?;
        for jobs in ["1", "16"] {
            for words in [COMMANDS[0], COMMANDS[3]] {
                let words = [words, &["-j", jobs]].concat();
                place.within(&format!("blocks of {block}, {jobs} workers"), 200, &words, budget, 1)?;
            }
        }
    }
    Ok(())
}
