//! Measures ten times the input, which may take at most twelve times the time, for all work that other programs do in quadratic time.
//! Measures peak memory too.

mod reading;
mod small_files;

use crate::generate::Kind;
use crate::{environment, options, shell};
use clap::Args;
use packline_testkit::peer::{Cost, Job, interleave, median};
use std::path::PathBuf;

/// Largest ratio of times for ten times the input.
const MAX_GROWTH: f64 = 12.0;
const RUNS: usize = 3;

/// A generated tar at two sizes, both too large for the CPU's caches.
struct Growth {
    tar: Kind,
    small: u64,
    large: u64,
    codec: &'static str,
    /// Largest CPU time in seconds at the small size.
    max_cpu: f64,
}

const GROWTHS: [Growth; 6] = [
    Growth { tar: Kind::Unique, small: 100_000, large: 1_000_000, codec: "lz4", max_cpu: 0.6 },
    Growth { tar: Kind::Flat, small: 100_000, large: 1_000_000, codec: "lz4", max_cpu: 1.0 },
    Growth { tar: Kind::Links, small: 50_000, large: 500_000, codec: "lz4", max_cpu: 1.0 },
    Growth { tar: Kind::Once, small: 2_000, large: 20_000, codec: "lz4", max_cpu: 10.0 },
    Growth { tar: Kind::Twice, small: 1_000, large: 10_000, codec: "lz4", max_cpu: 10.0 },
    Growth { tar: Kind::Many, small: 100_000, large: 1_000_000, codec: "zstd:level=1", max_cpu: 10.0 },
];

struct Checks {
    binary: String,
    directory: PathBuf,
    peers: bool,
    problems: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Options {
    /// Measure tar2sqfs and mksquashfs too
    #[arg(long)]
    peers: bool,
    /// Only this part
    #[arg(long, value_parser = PARTS)]
    part: Option<String>,
    #[command(flatten)]
    binary: options::Binary,
}

const PARTS: [&str; 12] = [
    "unique",
    "flat",
    "links",
    "once",
    "twice",
    "many",
    "similar",
    "duplicates",
    "workers",
    "memory",
    "reading",
    "small-files",
];

/// Prints a table. The error lists the limits that were exceeded.
pub fn run(options: &Options) -> Result<(), String> {
    let binary = options.binary.path()?;
    let directory = environment::target_directory().join("scale");
    std::fs::create_dir_all(&directory).map_err(|cause| cause.to_string())?;
    let binary = shell::text(&binary)?.to_owned();
    let peers = options.peers;
    let mut checks = Checks { binary, directory, peers, problems: Vec::new() };
    shell::print("| input | count | program | CPU s | wall s | peak MB | image bytes |\n|---|---|---|---|---|---|---|");
    for part in PARTS.into_iter().filter(|part| options.part.as_ref().is_none_or(|only| only == part)) {
        checks.part(part)?;
    }
    std::fs::remove_dir_all(&checks.directory).map_err(|cause| cause.to_string())?;
    if checks.problems.is_empty() { Ok(()) } else { Err(checks.problems.join("\n")) }
}

impl Checks {
    fn part(&mut self, name: &str) -> Result<(), String> {
        match name {
            "similar" => similar(self),
            "duplicates" => duplicates(self),
            "workers" => workers(self),
            "memory" => memory(self),
            "reading" => reading::run(self),
            "small-files" => small_files::run(self),
            tar => GROWTHS.iter().filter(|part| part.tar.name() == tar).try_for_each(|part| growth(self, part)),
        }
    }

    fn image(&self, program: &str) -> Result<String, String> {
        shell::text(&self.directory.join(format!("{program}.sqfs"))).map(str::to_owned)
    }

    fn tar(&self, kind: Kind, count: u64) -> Result<PathBuf, String> {
        let path = self.directory.join("input.tar");
        let written = packline_testkit::generate::write_tar(&path, |sink| kind.write(count, sink));
        written.map_err(|cause| format!("{}: {cause}", path.display())).map(|()| path)
    }

    fn ours(&self, options: &[&str]) -> Result<Job, String> {
        let image = self.image("packline")?;
        let argv = [&[&self.binary, "pack", "-", &image, "--quiet", "--force"], options].concat();
        Ok(Job::new("packline", &argv))
    }

    fn peers(&self, codec: &str) -> Result<Vec<Job>, String> {
        let codec = codec.split(':').next().unwrap_or(codec);
        let first = self.image("tar2sqfs")?;
        let second = self.image("mksquashfs")?;
        let quiet = ["-tar", "-noappend", "-quiet", "-no-progress"];
        let mksquashfs = [&["mksquashfs", "-", &second], &quiet[..], &["-comp", codec]].concat();
        Ok(vec![
            Job::new("tar2sqfs", &["tar2sqfs", "-q", "-f", "-c", codec, &first]),
            Job::new("mksquashfs", &mksquashfs),
        ])
    }

    /// Runs jobs and prints a row for each. Returns their median costs.
    fn measure_all(&self, what: &str, count: u64, jobs: &[Job], runs: usize) -> Result<Vec<Cost>, String> {
        let image = |job: &Job| self.directory.join(format!("{}.sqfs", job.name));
        // The first run finds nothing to remove.
        let mut clear = |job: &Job| drop(std::fs::remove_file(image(job)));
        let costs = interleave(jobs, runs, &mut clear)?;
        let row = |(job, costs): (&Job, &Vec<Cost>)| {
            let cost = Cost {
                user: median(costs, |cost| cost.user),
                system: median(costs, |cost| cost.system),
                wall: median(costs, |cost| cost.wall),
                peak: median(costs, |cost| cost.peak as f64) as u64,
            };
            let size = std::fs::metadata(image(job)).map_or(0, |found| found.len());
            let cpu = median(costs, Cost::cpu);
            let peak = cost.peak as f64 / 1e6;
            shell::print(&format!(
                "| {what} | {count} | {} | {cpu:.2} | {:.2} | {peak:.0} | {size} |",
                job.name, cost.wall
            ));
            cost
        };
        Ok(jobs.iter().zip(&costs).map(row).collect())
    }

    fn require(&mut self, holds: bool, what: String) {
        if !holds {
            shell::print(&format!("| FAILED | {what} |||||"));
            self.problems.push(what);
        }
    }
}

fn growth(checks: &mut Checks, part: &Growth) -> Result<(), String> {
    let mut cpu = Vec::new();
    let name = part.tar.name();
    for count in [part.small, part.large] {
        let tar = checks.tar(part.tar, count)?;
        let cost = checks.measure_all(&name, count, &[checks.ours(&["-c", part.codec])?.reading(&tar)], RUNS)?;
        cpu.push(cost[0].cpu());
        // Other programs take minutes at the large size.
        if checks.peers && count == part.small {
            let jobs: Vec<Job> = checks.peers(part.codec)?.into_iter().map(|job| job.reading(&tar)).collect();
            checks.measure_all(&name, count, &jobs, 1)?;
        }
    }
    let growth = cpu[1] / cpu[0].max(0.01);
    checks.require(cpu[0] <= part.max_cpu, format!("{name}: {:.2} s (expected at most {})", cpu[0], part.max_cpu));
    checks.require(growth <= MAX_GROWTH, format!("{name}: ten times the input takes {growth:.1} times the time"));
    Ok(())
}

/// Contents compared with each other.
fn similar(checks: &mut Checks) -> Result<(), String> {
    let mut cpu = Vec::new();
    for count in [100_000, 1_000_000] {
        let tar = checks.tar(Kind::Many, count)?;
        let job = checks.ours(&["-c", "lz4", "--order", "similar"])?.reading(&tar);
        cpu.push(checks.measure_all("many, --order similar", count, &[job], 1)?[0].cpu());
    }
    let growth = cpu[1] / cpu[0].max(0.01);
    let what = format!("--order similar: ten times the input takes {growth:.1} times the time");
    checks.require(growth <= MAX_GROWTH, what);
    Ok(())
}

/// Every file twice: at most 0.6 of either peer's time, for the codecs that are slower than reading.
fn duplicates(checks: &mut Checks) -> Result<(), String> {
    let tar = checks.tar(Kind::Twice, 3_000)?;
    for codec in ["gzip", "zstd", "xz"] {
        let jobs: Vec<Job> = [checks.ours(&["-c", codec])?].into_iter().chain(checks.peers(codec)?).collect();
        let jobs: Vec<Job> = jobs.into_iter().map(|job| job.reading(&tar)).collect();
        let costs = checks.measure_all(&format!("twice, {codec}"), 3_000, &jobs, 1)?;
        let ratio = costs[0].cpu() / costs[1].cpu().min(costs[2].cpu());
        checks.require(
            ratio <= 0.6,
            format!("every file twice with {codec}: {ratio:.2} of the best peer (expected 0.6)"),
        );
    }
    Ok(())
}

/// Codec none: too many workers must not cost anything.
fn workers(checks: &mut Checks) -> Result<(), String> {
    let tar = checks.tar(Kind::Bulk, 1_000)?;
    let job = |workers: &str| checks.ours(&["-c", "none", "-j", workers]).map(|job| job.reading(&tar));
    let jobs = [job("2")?, job("16")?];
    let costs = checks.measure_all("bulk, none, 2 and 16 workers", 1_000, &jobs, 7)?;
    let ratio = costs[1].wall / costs[0].wall;
    checks.require(ratio <= 1.05, format!("codec none: {ratio:.3} of the wall time with 16 workers instead of 2"));
    Ok(())
}

/// Peak memory within `--mem`: a sparse file of 20 GiB and a million files, both through a pipe.
fn memory(checks: &mut Checks) -> Result<(), String> {
    let own = environment::own_path()?;
    let jobs: [(Kind, u64, u64, &[&str]); 3] = [
        (Kind::Sparse, 20 << 30, 64, &[]),
        (Kind::Many, 1_000_000, 512, &[]),
        (Kind::Many, 1_000_000, 512, &["--order", "similar"]),
    ];
    for (kind, count, budget, more) in jobs {
        let name = [&[kind.name().as_str()], more].concat().join(" ");
        let feeder = [own.as_str(), "generate", &kind.name(), &count.to_string()].map(str::to_owned);
        let feeder: Vec<&str> = feeder.iter().map(String::as_str).collect();
        let budget_option = format!("{budget}M");
        let options = [&["-c", "zstd:level=3", "-j", "2", "--mem", &budget_option], more].concat();
        let job = checks.ours(&options)?.fed_by(&feeder);
        let costs = checks.measure_all(&format!("{name}, --mem {budget}M"), count, &[job], 1)?;
        let peak = costs[0].peak >> 20;
        checks.require(peak <= budget, format!("{name}: a peak of {peak} MiB with --mem {budget}M"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_growth_is_a_part_and_is_generated() {
        for Growth { tar, .. } in GROWTHS {
            assert!(PARTS.contains(&tar.name().as_str()), "{tar:?}");
            let mut sink = Vec::new();
            tar.write(3, &mut sink).unwrap();
            assert!(sink.len() > 1024, "{tar:?}");
        }
        let checks = Checks { binary: "p".into(), directory: "d".into(), peers: false, problems: vec![] };
        assert_eq!(
            checks.ours(&["-c", "lz4"]).unwrap().argv,
            ["p", "pack", "-", "d/packline.sqfs", "--quiet", "--force", "-c", "lz4"]
        );
    }
}
