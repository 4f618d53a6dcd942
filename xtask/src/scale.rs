//! Ten times the input at ten to twelve times the time: everything that peers do in quadratic time, and peak memory.

mod reading;

use crate::arguments::Arguments;
use crate::{environment, shell};
use packline_testkit::peer::{Cost, Job, interleave, median};
use std::path::PathBuf;

/// Of ten times the input; a little is fixed, so less is usual.
const MOST_GROWTH: f64 = 12.0;
const RUNS: usize = 3;

/// One kind of input at two sizes, both large enough that the tree is in no cache: what is compared is the work.
struct Part {
    /// The generated tar.
    tar: &'static str,
    small: u64,
    large: u64,
    codec: &'static str,
    /// Most CPU seconds at the small size.
    most_cpu: f64,
}

const PARTS: [Part; 6] = [
    Part { tar: "unique", small: 100_000, large: 1_000_000, codec: "lz4", most_cpu: 0.6 },
    Part { tar: "flat", small: 100_000, large: 1_000_000, codec: "lz4", most_cpu: 1.0 },
    Part { tar: "links", small: 50_000, large: 500_000, codec: "lz4", most_cpu: 1.0 },
    Part { tar: "once", small: 2_000, large: 20_000, codec: "lz4", most_cpu: 10.0 },
    Part { tar: "twice", small: 1_000, large: 10_000, codec: "lz4", most_cpu: 10.0 },
    Part { tar: "many", small: 100_000, large: 1_000_000, codec: "zstd:level=1", most_cpu: 10.0 },
];

struct Place {
    binary: String,
    directory: PathBuf,
    peers: bool,
    problems: Vec<String>,
}

/// `scale`: prints a table; an error if anything grows too fast.
pub fn run(arguments: &Arguments) -> Result<(), String> {
    arguments.only(&["peers", "part", "binary"])?;
    let binary = arguments.path("binary").map_or_else(shell::release_binary, Ok)?;
    let directory = environment::target_directory().join("scale");
    std::fs::create_dir_all(&directory).map_err(|cause| cause.to_string())?;
    let peers = arguments.text("peers") == Some("yes");
    let mut place = Place { binary: shell::text(&binary)?.to_owned(), directory, peers, problems: Vec::new() };
    let wanted = |name: &str| arguments.text("part").is_none_or(|part| part == name);
    shell::say("| input | count | program | CPU s | wall s | peak MB | image bytes |\n|---|---|---|---|---|---|---|");
    for part in PARTS.iter().filter(|part| wanted(part.tar)) {
        growth(&mut place, part)?;
    }
    if wanted("duplicates") {
        duplicates(&mut place)?;
    }
    if wanted("workers") {
        workers(&mut place)?;
    }
    if wanted("memory") {
        memory(&mut place)?;
    }
    if wanted("reading") {
        reading::run(&mut place)?;
    }
    std::fs::remove_dir_all(&place.directory).map_err(|cause| cause.to_string())?;
    if place.problems.is_empty() { Ok(()) } else { Err(place.problems.join("\n")) }
}

impl Place {
    /// Where a program's image goes.
    fn image(&self, program: &str) -> Result<String, String> {
        shell::text(&self.directory.join(format!("{program}.sqfs"))).map(str::to_owned)
    }

    fn tar(&self, name: &str, count: u64) -> Result<PathBuf, String> {
        let path = self.directory.join("input.tar");
        let mut known = Ok(());
        let made =
            packline_testkit::generate::write_tar(&path, |sink| match crate::generate::write(name, count, sink) {
                Ok(outcome) => outcome,
                Err(cause) => {
                    known = Err(cause);
                    Ok(())
                }
            });
        known?;
        made.map_err(|cause| format!("{}: {cause}", path.display())).map(|()| path)
    }

    fn ours(&self, options: &[&str]) -> Result<Job, String> {
        let image = self.image("packline")?;
        let argv = [&[&self.binary, "pack", "-", &image, "--quiet", "--force"], options].concat();
        Ok(Job::new("packline", &argv))
    }

    fn peers(&self, codec: &str) -> Result<Vec<Job>, String> {
        let codec = codec.split(':').next().unwrap_or(codec);
        let (first, second) = (self.image("tar2sqfs")?, self.image("mksquashfs")?);
        let quiet = ["-tar", "-noappend", "-quiet", "-no-progress"];
        let mksquashfs = [&["mksquashfs", "-", &second], &quiet[..], &["-comp", codec]].concat();
        Ok(vec![
            Job::new("tar2sqfs", &["tar2sqfs", "-q", "-f", "-c", codec, &first]),
            Job::new("mksquashfs", &mksquashfs),
        ])
    }

    /// Runs jobs, prints a row for each, gives back their median costs.
    fn race(&self, what: &str, count: u64, jobs: &[Job], runs: usize) -> Result<Vec<Cost>, String> {
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
            let (cpu, peak) = (median(costs, Cost::cpu), cost.peak as f64 / 1e6);
            shell::say(&format!(
                "| {what} | {count} | {} | {cpu:.2} | {:.2} | {peak:.0} | {size} |",
                job.name, cost.wall
            ));
            cost
        };
        Ok(jobs.iter().zip(&costs).map(row).collect())
    }

    fn demand(&mut self, holds: bool, what: String) {
        if !holds {
            shell::say(&format!("| FAILED | {what} |||||"));
            self.problems.push(what);
        }
    }
}

fn growth(place: &mut Place, part: &Part) -> Result<(), String> {
    let mut cpu = Vec::new();
    for count in [part.small, part.large] {
        let tar = place.tar(part.tar, count)?;
        let cost = place.race(part.tar, count, &[place.ours(&["-c", part.codec])?.reading(&tar)], RUNS)?;
        cpu.push(cost[0].cpu());
        // Peers take minutes at the large size, and the small one shows it already.
        if place.peers && count == part.small {
            let jobs: Vec<Job> = place.peers(part.codec)?.into_iter().map(|job| job.reading(&tar)).collect();
            place.race(part.tar, count, &jobs, 1)?;
        }
    }
    let growth = cpu[1] / cpu[0].max(0.01);
    place
        .demand(cpu[0] <= part.most_cpu, format!("{}: {:.2} s (expected at most {})", part.tar, cpu[0], part.most_cpu));
    place.demand(growth <= MOST_GROWTH, format!("{}: ten times the input takes {growth:.1} times the time", part.tar));
    Ok(())
}

/// Every file twice: at most 0.6 of either peer's time, for each codec that is not faster than reading.
fn duplicates(place: &mut Place) -> Result<(), String> {
    let tar = place.tar("twice", 3_000)?;
    for codec in ["gzip", "zstd", "xz"] {
        let jobs: Vec<Job> = [place.ours(&["-c", codec])?].into_iter().chain(place.peers(codec)?).collect();
        let jobs: Vec<Job> = jobs.into_iter().map(|job| job.reading(&tar)).collect();
        let costs = place.race(&format!("twice, {codec}"), 3_000, &jobs, 1)?;
        let ratio = costs[0].cpu() / costs[1].cpu().min(costs[2].cpu());
        place
            .demand(ratio <= 0.6, format!("every file twice with {codec}: {ratio:.2} of the best peer (expected 0.6)"));
    }
    Ok(())
}

/// Codec none: more workers than there is work for must not cost anything.
fn workers(place: &mut Place) -> Result<(), String> {
    let tar = place.tar("bulk", 1_000)?;
    let job = |workers: &str| place.ours(&["-c", "none", "-j", workers]).map(|job| job.reading(&tar));
    let jobs = [job("2")?, job("16")?];
    let costs = place.race("bulk, none, 2 and 16 workers", 1_000, &jobs, 7)?;
    let ratio = costs[1].wall / costs[0].wall;
    place.demand(ratio <= 1.05, format!("codec none: {ratio:.3} of the wall time with 16 workers instead of 2"));
    Ok(())
}

/// Within `--mem` whatever comes: a sparse file of 20 GB, a million files, both through a pipe.
fn memory(place: &mut Place) -> Result<(), String> {
    let own = environment::own_path()?;
    for (name, count, budget) in [("sparse", 20_u64 << 30, 64_u64), ("many", 1_000_000, 512)] {
        let feeder = [own.as_str(), "generate", name, &count.to_string()].map(str::to_owned);
        let feeder: Vec<&str> = feeder.iter().map(String::as_str).collect();
        let budget_option = format!("{budget}M");
        let job = place.ours(&["-c", "zstd:level=3", "-j", "2", "--mem", &budget_option])?.fed_by(&feeder);
        let costs = place.race(&format!("{name}, --mem {budget}M"), count, &[job], 1)?;
        let peak = costs[0].peak >> 20;
        place.demand(peak <= budget, format!("{name}: a peak of {peak} MiB with --mem {budget}M"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_can_be_generated() {
        for part in PARTS {
            let mut sink = Vec::new();
            crate::generate::write(part.tar, 3, &mut sink).unwrap().unwrap();
            assert!(sink.len() > 1024, "{}", part.tar);
        }
        assert!(crate::generate::write("nothing", 3, &mut Vec::new()).is_err());
        let place = Place { binary: "p".into(), directory: "d".into(), peers: false, problems: vec![] };
        assert_eq!(
            place.ours(&["-c", "lz4"]).unwrap().argv,
            ["p", "pack", "-", "d/packline.sqfs", "--quiet", "--force", "-c", "lz4"]
        );
    }
}
