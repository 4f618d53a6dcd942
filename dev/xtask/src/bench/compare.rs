//! Compares results of packline with earlier ones and reports the cases that became slower or larger.

use super::counts::Counts;
use super::recorded;
use crate::shell;
use clap::Args;
use packline_bench::report::{Case, CodecSpeed, Cost, Measured, Report, Spread, read_csv};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const OURS: &str = "packline";
/// Largest ratio of processor times that counts as noise.
const MAX_TIME: f64 = 1.05;
/// Largest ratio of instruction counts that counts as noise.
const MAX_INSTRUCTIONS: f64 = 1.01;

/// Ratios new / old of one case; `None` if not measured.
#[derive(Debug, Clone, Default, PartialEq)]
struct Change {
    case: String,
    /// The change of processor time or instructions.
    work: Option<f64>,
    wall: Option<f64>,
    peak: Option<f64>,
    size: Option<f64>,
    worse: Vec<&'static str>,
}

#[derive(Debug, Default, PartialEq)]
struct Comparison {
    changes: Vec<Change>,
    /// Cases that only one result has, and differences of the machines.
    notes: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Options {
    /// The older result, a CSV file
    #[arg(requires = "new")]
    old: Option<PathBuf>,
    /// The newer result
    new: Option<PathBuf>,
    /// Directory whose last two results of each name are compared, if no files are given
    #[arg(long = "in", value_name = "DIR", conflicts_with = "old")]
    directory: Option<PathBuf>,
    /// Exit with 1 if a case became slower or larger
    #[arg(long)]
    fail: bool,
}

pub fn run(options: &Options) -> Result<(), String> {
    let directory = options.directory.clone().unwrap_or_else(|| shell::root().join("bench/results"));
    let pairs = match (&options.old, &options.new) {
        (Some(old), Some(new)) => vec![[old.clone(), new.clone()]],
        _ => recorded::last_two(&directory)?,
    };
    if pairs.is_empty() {
        shell::print("no name has two results to compare");
    }
    let mut worse = 0;
    for [old, new] in &pairs {
        let comparison = compare(&read(old)?, &read(new)?).map_err(|cause| format!("{}: {cause}", new.display()))?;
        worse += comparison.changes.iter().filter(|change| !change.worse.is_empty()).count();
        shell::print(&page(old, new, &comparison));
    }
    if options.fail && worse > 0 { Err(format!("{worse} cases got worse")) } else { Ok(()) }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|cause| format!("{}: {cause}", path.display()))
}

fn compare(old: &str, new: &str) -> Result<Comparison, String> {
    match (Counts::parse(old), Counts::parse(new)) {
        (Some(old), Some(new)) => Ok(compare_counts(&old?, &new?)),
        (None, None) => compare_reports(&report(old)?, &report(new)?),
        _ => Err("one result has times, the other instructions".into()),
    }
}

fn report(text: &str) -> Result<Report, String> {
    read_csv(text).map_err(|cause| cause.to_string())
}

fn compare_reports(old: &Report, new: &Report) -> Result<Comparison, String> {
    if old.input != new.input {
        let named = |report: &Report| format!("{} of {} bytes", report.input.name, report.input.bytes);
        return Err(format!("the input is {} (expected {} as in the older result)", named(new), named(old)));
    }
    let mut found = Comparison::default();
    if old.machine != new.machine {
        found.notes.push(format!("the machines differ: {} (before: {})", new.machine, old.machine));
    }
    let ours = |report: &Report| -> Vec<(String, Measured)> {
        let ours = report.measured.iter().filter(|measured| measured.case.program == OURS);
        ours.map(|measured| (display_case(&measured.case), measured.clone())).collect()
    };
    found.pair(&ours(old), &ours(new), measured_change);
    let codecs = |report: &Report| -> Vec<(String, CodecSpeed)> {
        let named = |speed: &CodecSpeed| (format!("in memory, {}, {}", speed.codec, speed.block_size), speed.clone());
        report.codecs.iter().map(named).collect()
    };
    found.pair(&codecs(old), &codecs(new), codec_change);
    Ok(found)
}

fn compare_counts(old: &Counts, new: &Counts) -> Comparison {
    let mut found = Comparison::default();
    if old.machine != new.machine {
        found.notes.push(format!("counted with {} (before: {})", new.machine, old.machine));
    }
    let named =
        |counts: &Counts| -> Vec<_> { counts.tasks.iter().map(|task| (task.name.clone(), task.clone())).collect() };
    found.pair(&named(old), &named(new), |case, old, new| {
        let work = over(new.instructions as f64, old.instructions as f64);
        let size = over(new.bytes as f64, old.bytes as f64);
        let worse = worse(&[("instructions", work, MAX_INSTRUCTIONS), ("size", size, 1.0)]);
        Change { case, work, size, worse, ..Change::default() }
    });
    found
}

impl Comparison {
    /// Compares the cases that both results have and notes the others.
    fn pair<T>(&mut self, old: &[(String, T)], new: &[(String, T)], change: impl Fn(String, &T, &T) -> Change) {
        for (case, now) in new {
            match old.iter().find(|(name, _)| name == case) {
                Some((_, before)) => self.changes.push(change(case.clone(), before, now)),
                None => self.notes.push(format!("{case}: new")),
            }
        }
        let gone = old.iter().filter(|(case, _)| new.iter().all(|(name, _)| name != case));
        self.notes.extend(gone.map(|(case, _)| format!("{case}: no longer measured")));
    }
}

fn measured_change(case: String, old: &Measured, new: &Measured) -> Change {
    let medians = |number: fn(&Cost) -> f64| over(new.spread(number).median, old.spread(number).median);
    let work = medians(Cost::cpu);
    let wall = medians(|cost| cost.wall);
    let peak = over(new.peak() as f64, old.peak() as f64);
    let size = over(new.image_bytes as f64, old.image_bytes as f64);
    let worse = worse(&[("processor time", work, MAX_TIME), ("size", size, 1.0)]);
    Change { case, work, wall, peak, size, worse }
}

/// Checks compressing and decompressing separately; `work` is the larger ratio.
fn codec_change(case: String, old: &CodecSpeed, new: &CodecSpeed) -> Change {
    let median = |seconds: &[f64]| Spread::of(seconds.iter().copied()).median;
    let compress = over(median(&new.compress), median(&old.compress));
    let decompress = over(median(&new.decompress), median(&old.decompress));
    let size = over(new.stored_bytes as f64, old.stored_bytes as f64);
    let worse =
        worse(&[("compressing", compress, MAX_TIME), ("decompressing", decompress, MAX_TIME), ("size", size, 1.0)]);
    let work = [compress, decompress].into_iter().flatten().reduce(f64::max);
    Change { case, work, size, worse, ..Change::default() }
}

/// The ratio; `None` if one of them was not measured.
fn over(new: f64, old: f64) -> Option<f64> {
    (new > 0.0 && old > 0.0).then(|| new / old)
}

fn worse(ratios: &[(&'static str, Option<f64>, f64)]) -> Vec<&'static str> {
    ratios.iter().filter(|(_, ratio, max)| ratio.is_some_and(|ratio| ratio > *max)).map(|(name, ..)| *name).collect()
}

fn display_case(case: &Case) -> String {
    let Case { task, codec, block_size, tails, jobs, .. } = case;
    format!("{}, {codec}, {block_size}, {}, {jobs} jobs", task.name(), tails.name())
}

fn page(old: &Path, new: &Path, comparison: &Comparison) -> String {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut text = format!("{} against {}, new / old\n\n", name(new), name(old));
    text.push_str("| case | work | wall | peak memory | size | worse |\n|---|---|---|---|---|---|\n");
    for change in &comparison.changes {
        let cells = [change.work, change.wall, change.peak, change.size].map(cell).join(" | ");
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {} | {cells} | {} |", change.case, change.worse.join(", "));
    }
    for note in &comparison.notes {
        let _ = writeln!(text, "\n- {note}");
    }
    text
}

fn cell(ratio: Option<f64>) -> String {
    ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use packline_bench::report::{Input, Tails, Task, csv};

    fn measured(program: &str, codec: &str, cpu: &[f64], image_bytes: u64) -> Measured {
        let case = Case {
            task: Task::Pack,
            codec: codec.into(),
            block_size: 131_072,
            tails: Tails::Fragments,
            program: program.into(),
            jobs: 2,
        };
        let runs = cpu.iter().map(|&user| Cost { wall: user / 2.0, user, system: 0.0, peak: 1000 }).collect();
        Measured { case, content_bytes: 1 << 20, image_bytes, runs }
    }

    fn report(measured: Vec<Measured>) -> Report {
        Report {
            command: "packline bench".into(),
            date: "2026-01-01".into(),
            machine: "one".into(),
            input: Input { name: "a.tar".into(), bytes: 5 },
            programs: vec![],
            warmups: 0,
            measured,
            codecs: vec![],
            storage: None,
            ..Report::default()
        }
    }

    fn speed(compress: f64, decompress: f64) -> CodecSpeed {
        CodecSpeed {
            codec: "zstd".into(),
            block_size: 4096,
            blocks: 1,
            not_smaller: 0,
            content_bytes: 10,
            stored_bytes: 5,
            compress: vec![compress],
            decompress: vec![decompress],
            decompressed_bytes: 10,
        }
    }

    #[test]
    fn slower_and_larger_is_flagged_and_noise_is_not() {
        let old = report(vec![
            measured("packline", "zstd", &[1.0, 1.0, 9.0], 100),
            measured("packline", "xz", &[1.0], 100),
            measured("packline", "lz4", &[1.0], 100),
            measured("peer", "xz", &[1.0], 100),
        ]);
        let new = report(vec![
            measured("packline", "zstd", &[1.06, 0.1, 1.2], 100),
            measured("packline", "xz", &[1.04], 101),
            measured("packline", "gzip", &[1.0], 100),
            measured("peer", "xz", &[7.0], 700),
        ]);
        let found = compare_reports(&old, &new).unwrap();
        let worse: Vec<_> = found.changes.iter().map(|change| change.worse.join(" ")).collect();
        assert_eq!(worse, ["processor time", "size"]);
        assert_eq!(found.changes[0].work, Some(1.06));
        assert_eq!(found.notes.len(), 2, "{:?}", found.notes);
        assert!(compare_reports(&old, &old).unwrap().changes.iter().all(|change| change.worse.is_empty()));
    }

    #[test]
    fn results_of_different_inputs_are_not_compared() {
        let old = report(vec![]);
        let mut new = report(vec![]);
        new.machine = "two".into();
        assert_eq!(compare_reports(&old, &new).unwrap().notes.len(), 1);
        new.input.bytes = 6;
        assert!(compare_reports(&old, &new).unwrap_err().contains("a.tar of 6 bytes"));
    }

    #[test]
    fn both_directions_of_a_codec_are_checked() {
        let change = |compress, decompress| codec_change("x".into(), &speed(1.0, 1.0), &speed(compress, decompress));
        assert_eq!(change(1.2, 0.5).worse, ["compressing"]);
        assert_eq!(change(0.5, 1.2).worse, ["decompressing"]);
        assert_eq!(change(0.5, 1.0).work, Some(1.0));
    }

    #[test]
    fn written_files_are_read() {
        let times = csv(&report(vec![measured("packline", "zstd", &[1.0], 100)]));
        assert_eq!(compare(&times, &times).unwrap().changes.len(), 1);
        let counts =
            |count| format!("# packline instructions: 1\n# machine: m\ntask,instructions,bytes\nlist,{count},0\n");
        assert!(compare(&times, &counts(1000)).is_err());
        assert!(compare(&counts(1000), &counts(1009)).unwrap().changes[0].worse.is_empty());
        assert_eq!(compare(&counts(1000), &counts(1011)).unwrap().changes[0].worse, ["instructions"]);
        let text =
            page(Path::new("a/old.csv"), Path::new("b/new.csv"), &compare(&counts(1000), &counts(1011)).unwrap());
        assert!(
            text.starts_with("new.csv against old.csv") && text.contains("| list | 1.011 |  |  |  | instructions |")
        );
    }

    #[test]
    fn a_worse_case_fails_only_with_fail() {
        #[derive(Debug, clap::Parser)]
        struct Line {
            #[command(flatten)]
            options: Options,
        }
        let place = tempfile::tempdir().unwrap();
        let file = |date: &str, count: u64| {
            let text = format!("# packline instructions: 1\n# machine: m\ntask,instructions,bytes\nlist,{count},0\n");
            std::fs::write(place.path().join(format!("{date}-instructions.csv")), text).unwrap();
        };
        let run = |more: &str| {
            let words = format!("compare --in {} {more}", place.path().display());
            run(&Line::try_parse_from(words.split_whitespace()).unwrap().options)
        };
        file("2026-01-01", 1000);
        assert!(run("--fail").is_ok());
        file("2026-01-02", 2000);
        assert!(run("").is_ok());
        assert_eq!(run("--fail"), Err("1 cases got worse".into()));
    }
}
