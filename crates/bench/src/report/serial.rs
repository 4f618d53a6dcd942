//! What the thread that reads, decides and writes costs, and the bounds that follow from it.

use serde::Serialize;

use super::tables::{Column, Table, number, words};
use super::{Report, Spread, number as numbers};

/// What packline did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Step {
    /// A tar file becomes an image.
    PackTar,
    /// A tar that comes from a pipe becomes an image.
    PackStream,
    PackDirectory,
    /// An image becomes a directory.
    Unpack,
    /// An image becomes a tar, which goes to a pipe.
    Tar,
    Verify,
}

impl Step {
    pub const ALL: [Step; 6] =
        [Step::PackTar, Step::PackStream, Step::PackDirectory, Step::Unpack, Step::Tar, Step::Verify];

    pub fn name(self) -> &'static str {
        match self {
            Step::PackTar => "pack-tar",
            Step::PackStream => "pack-stream",
            Step::PackDirectory => "pack-directory",
            Step::Unpack => "unpack",
            Step::Tar => "tar",
            Step::Verify => "verify",
        }
    }

    /// Whether the step writes an image.
    pub fn packs(self) -> bool {
        matches!(self, Step::PackTar | Step::PackStream | Step::PackDirectory)
    }
}

/// A format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Container {
    Squashfs,
    Lrz,
    Pln,
}

impl Container {
    pub const ALL: [Container; 3] = [Container::Squashfs, Container::Lrz, Container::Pln];

    pub fn name(self) -> &'static str {
        match self {
            Container::Squashfs => "squashfs",
            Container::Lrz => "lrz",
            Container::Pln => "pln",
        }
    }
}

super::model::words!(Step, "step");
super::model::words!(Container, "container");

/// One step with one codec, measured several times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Serial {
    /// The name of the input.
    pub input: String,
    pub step: Step,
    pub codec: String,
    pub container: Container,
    /// Block size in bytes; 0 for a container without blocks of a chosen size.
    pub block_size: u64,
    /// The number of worker threads.
    pub jobs: usize,
    /// Bytes of content, to which all figures refer.
    pub content_bytes: u64,
    /// Bytes of the image.
    pub image_bytes: u64,
    #[serde(skip)]
    pub runs: Vec<SerialRun>,
}

/// The counters of a run. Times are processor seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct SerialRun {
    #[serde(rename = "wall_s")]
    pub wall: f64,
    /// Of the main thread, which reads, decides and writes.
    #[serde(rename = "main_user_s")]
    pub main_user: f64,
    #[serde(rename = "main_system_s")]
    pub main_system: f64,
    /// Of all threads.
    #[serde(rename = "user_s")]
    pub user: f64,
    #[serde(rename = "system_s")]
    pub system: f64,
    /// Of the main thread, between calls of the pipelines: it makes their items.
    #[serde(rename = "reading_s")]
    pub reading: f64,
    #[serde(rename = "deciding_s")]
    pub deciding: f64,
    #[serde(rename = "committing_s")]
    pub committing: f64,
    /// Of the thread that only reads a stream, if there is one.
    #[serde(rename = "reader_s")]
    pub reader: f64,
    /// Of the thread that only writes, if there is one.
    #[serde(rename = "writer_s")]
    pub writer: f64,
    /// Results committed in order: blocks, or parts of files.
    pub blocks: u64,
    /// Times a lock of the scheduler was taken.
    pub locks: u64,
    /// Times a lock of the scheduler was held by another thread.
    pub contended: u64,
    /// Bytes that system calls copied to the program.
    pub read_bytes: u64,
    /// Bytes that system calls copied from the program.
    pub written_bytes: u64,
    /// System calls that read or write.
    pub calls: u64,
}

/// The numbers of workers of the curve.
const CURVE: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The medians of a case, for each GB (10^9 bytes) of content where a unit has none. `None` without runs or content.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct SerialFigures<'a> {
    #[serde(flatten)]
    case: &'a Serial,
    main_user_s_per_gb: Option<f64>,
    main_system_s_per_gb: Option<f64>,
    reading_s_per_gb: Option<f64>,
    deciding_s_per_gb: Option<f64>,
    committing_s_per_gb: Option<f64>,
    /// The main thread's time outside those three: opening, tables and metadata at the end, waking and waiting.
    rest_s_per_gb: Option<f64>,
    reader_s_per_gb: Option<f64>,
    writer_s_per_gb: Option<f64>,
    workers_s_per_gb: Option<f64>,
    /// The content that the main thread, or a thread that only reads or writes, can handle in a second, in GB: no number of workers makes
    /// the step faster.
    bound_gb_per_s: Option<f64>,
    /// The number of workers with which the main thread has always something to do, and one.
    useful_workers: Option<f64>,
    /// The content in a second, in GB, with each number of workers of [`CURVE`], if no thread ever waits for another one.
    curve_gb_per_s: [Option<f64>; CURVE.len()],
    locks_per_block: Option<f64>,
    contended_per_1000_blocks: Option<f64>,
    /// Bytes that system calls copied, for each byte of content.
    copied_per_byte: Option<f64>,
    calls_per_mb: Option<f64>,
    runs: &'a [SerialRun],
}

impl SerialRun {
    fn main(&self) -> f64 {
        self.main_user + self.main_system
    }

    /// The busiest of the threads that exist once.
    fn serial(&self) -> f64 {
        self.main().max(self.reader).max(self.writer)
    }

    /// All threads but the main thread and the threads that only read or write.
    fn workers(&self) -> f64 {
        (self.user + self.system - self.main() - self.reader - self.writer).max(0.0)
    }

    fn rest(&self) -> f64 {
        (self.main() - self.reading - self.deciding - self.committing).max(0.0)
    }
}

impl<'a> SerialFigures<'a> {
    fn of(case: &'a Serial) -> SerialFigures<'a> {
        let median = |number: fn(&SerialRun) -> f64| {
            Some(Spread::of(case.runs.iter().map(number)).median).filter(|_| !case.runs.is_empty())
        };
        let over = |number: Option<f64>, unit: f64| Some(number? / unit).filter(|_| unit > 0.0);
        let gigabytes = case.content_bytes as f64 / 1e9;
        let per_gb = |number| over(median(number), gigabytes);
        let per_block = |number: fn(&SerialRun) -> u64, blocks: f64| {
            let each = case.runs.iter().filter(|run| run.blocks > 0);
            let each: Vec<f64> = each.map(|run| number(run) as f64 / run.blocks as f64 * blocks).collect();
            (!each.is_empty()).then(|| Spread::of(each).median)
        };
        let serial = per_gb(SerialRun::serial).filter(|seconds| *seconds > 0.0);
        let workers = per_gb(SerialRun::workers);
        let longest = |count: usize| Some(serial?.max(workers? / count as f64));
        SerialFigures {
            case,
            main_user_s_per_gb: per_gb(|run| run.main_user),
            main_system_s_per_gb: per_gb(|run| run.main_system),
            reading_s_per_gb: per_gb(|run| run.reading),
            deciding_s_per_gb: per_gb(|run| run.deciding),
            committing_s_per_gb: per_gb(|run| run.committing),
            rest_s_per_gb: per_gb(SerialRun::rest),
            reader_s_per_gb: per_gb(|run| run.reader),
            writer_s_per_gb: per_gb(|run| run.writer),
            workers_s_per_gb: workers,
            bound_gb_per_s: serial.map(|seconds| 1.0 / seconds),
            useful_workers: serial.and_then(|serial| Some(workers? / serial + 1.0)),
            curve_gb_per_s: CURVE.map(|count| longest(count).map(|seconds| 1.0 / seconds)),
            locks_per_block: per_block(|run| run.locks, 1.0),
            contended_per_1000_blocks: per_block(|run| run.contended, 1000.0),
            copied_per_byte: over(median(|run| (run.read_bytes + run.written_bytes) as f64), case.content_bytes as f64),
            calls_per_mb: over(median(|run| run.calls as f64), case.content_bytes as f64 / 1e6),
            runs: &case.runs,
        }
    }
}

pub(super) fn figures(report: &Report) -> Vec<SerialFigures<'_>> {
    report.serial.iter().map(SerialFigures::of).collect()
}

/// Returns the tables with their titles; none if no case was measured.
pub(super) fn tables(report: &Report) -> Vec<(&'static str, Table)> {
    if report.serial.is_empty() {
        return Vec::new();
    }
    let all = figures(report);
    let table = |columns| Table::new(&all, names(&all).into_iter().chain(columns));
    vec![
        ("Processor seconds for each GB of content", table(times())),
        ("Bounds: GB of content in a second, by number of workers", table(bounds())),
        ("Locks, and copies by system calls", table(counts())),
    ]
}

fn shown(number: Option<f64>) -> String {
    number.map(numbers::short).unwrap_or_default()
}

/// The columns that name a case: step and codec, and the others whose cells differ.
fn names<'a>(all: &[SerialFigures<'a>]) -> Vec<Column<SerialFigures<'a>>> {
    let mut columns: Vec<Column<SerialFigures<'a>>> = vec![
        words("Input", |one| one.case.input.clone()),
        words("Step", |one| one.case.step.name().into()),
        words("Codec", |one| one.case.codec.clone()),
        words("Container", |one| one.case.container.name().into()),
        words("Block", |one| numbers::block_size(one.case.block_size)),
        number("Jobs", |one| one.case.jobs.to_string()),
    ];
    columns.retain(|(head, _, cell)| {
        ["Step", "Codec"].contains(head) || all.windows(2).any(|pair| cell(&pair[0]) != cell(&pair[1]))
    });
    columns
}

fn times<'a>() -> Vec<Column<SerialFigures<'a>>> {
    vec![
        number("User", |one| shown(one.main_user_s_per_gb)),
        number("System", |one| shown(one.main_system_s_per_gb)),
        number("Read", |one| shown(one.reading_s_per_gb)),
        number("Decide", |one| shown(one.deciding_s_per_gb)),
        number("Write", |one| shown(one.committing_s_per_gb)),
        number("Rest", |one| shown(one.rest_s_per_gb)),
        number("Reader", |one| shown(one.reader_s_per_gb.filter(|seconds| *seconds > 0.0))),
        number("Writer", |one| shown(one.writer_s_per_gb.filter(|seconds| *seconds > 0.0))),
        number("Workers", |one| shown(one.workers_s_per_gb)),
    ]
}

fn bounds<'a>() -> Vec<Column<SerialFigures<'a>>> {
    vec![
        number("Bound", |one| shown(one.bound_gb_per_s)),
        number("Useful", |one| shown(one.useful_workers)),
        number("1", |one| shown(one.curve_gb_per_s[0])),
        number("2", |one| shown(one.curve_gb_per_s[1])),
        number("4", |one| shown(one.curve_gb_per_s[2])),
        number("8", |one| shown(one.curve_gb_per_s[3])),
        number("16", |one| shown(one.curve_gb_per_s[4])),
        number("32", |one| shown(one.curve_gb_per_s[5])),
        number("64", |one| shown(one.curve_gb_per_s[6])),
    ]
}

fn counts<'a>() -> Vec<Column<SerialFigures<'a>>> {
    vec![
        number("Locks/block", |one| shown(one.locks_per_block)),
        number("Contended/1000", |one| shown(one.contended_per_1000_blocks)),
        number("Copied/byte", |one| shown(one.copied_per_byte)),
        number("Calls/MB", |one| shown(one.calls_per_mb)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::fixture::realistic;

    #[test]
    fn bounds_follow_from_the_main_thread_and_the_workers() {
        let mut report = realistic(&[1]);
        report.serial[0].content_bytes = 2_000_000_000;
        let all = figures(&report);
        let SerialFigures { workers_s_per_gb, bound_gb_per_s, useful_workers, curve_gb_per_s, .. } = all[0];
        assert_eq!((workers_s_per_gb, bound_gb_per_s, useful_workers), (Some(1.5), Some(2.0), Some(4.0)));
        let expected = [1.0 / 1.5, 2.0 / 1.5, 2.0, 2.0, 2.0, 2.0, 2.0];
        assert!(curve_gb_per_s.iter().zip(expected).all(|(found, expected)| (found.unwrap() - expected).abs() < 1e-9));
        assert_eq!((all[0].locks_per_block, all[0].contended_per_1000_blocks), (Some(4.0), Some(5.0)));
        assert!((all[0].rest_s_per_gb.unwrap() - 0.05).abs() < 1e-9);
    }

    #[test]
    fn tables_name_what_differs() {
        let mut report = realistic(&[1]);
        let heads =
            |report: &Report| tables(report).iter().map(|(_, table)| table.heads[..3].join(" ")).collect::<Vec<_>>();
        assert_eq!(heads(&report)[1], "Step Codec Bound");
        report.serial[1].jobs = 64;
        assert_eq!(heads(&report)[0], "Step Codec Jobs");
        report.serial.clear();
        assert!(heads(&report).is_empty());
    }
}
