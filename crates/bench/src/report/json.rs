//! The report as JSON, with everything that follows from it.

use serde::Serialize;

use super::figures::{Against, Figures, figures};
use super::verdict::verdict;
use super::{CodecSpeed, Cost, Report, Spread, fragments};

/// The report as one JSON object, indented, its keys always in this order; a figure that does not follow is `null`. Times
/// are seconds, sizes bytes, speeds bytes a second, ratios shares of 1.
///
/// - `format` (`"packline-bench"`), `version` (1), `command`, `date`, `machine`, `input` (`name`, `bytes`), `programs` (each
///   `name`, `version`), `warmups`, `incomplete` (why it ended early, or `null`), `failures` (wrong answers), `notes`, `verdict`
///   (the report in sentences)
/// - `storage`: `place`, `bytes`, `read_bytes_per_s`, `write_bytes_per_s`, `direct`; or `null`
/// - `measured`, each: `task`, `codec`, `block_size`, `tails`, `program`, `jobs`, `content_bytes`, `image_bytes`, `ratio`
///   (image to content), `wall_s` and `cpu_s` (`least`, `median`, `most`), `peak_bytes`, `bytes_per_s` (content), `speedup`,
///   `efficiency`, `ceiling_bytes_per_s` (what the storage allows), `ours_to_this` (for a peer beside whom ours stands:
///   `cpu` and `wall` with `least`, `median`, `most`; `size`, `peak`), `runs` (each `wall_s`, `user_s`, `system_s`, `cpu_s`,
///   `peak_bytes`)
/// - `fragments`, each: `codec`, `block_size`, `program`, `jobs`, `fragments`, `no_tail_packing`, `no_fragments` (each
///   `image_bytes`, `speedup`, `wall_s`; or `null`), `saved` (share of the image), `speedup_kept` (speed-up with fragments
///   over without)
/// - `codecs`, each: `codec`, `block_size`, `blocks`, `not_smaller`, `content_bytes`, `stored_bytes`, `decompressed_bytes`,
///   `ratio`, `compress_bytes_per_s` and `decompress_bytes_per_s` (`least`, `median`, `most`, on one core), `compress_s`,
///   `decompress_s` (each run)
pub fn json(report: &Report) -> String {
    // Strings, numbers and lists always serialize: there is no map with keys that are no strings.
    let mut text = serde_json::to_string_pretty(&Document::of(report)).unwrap_or_default();
    text.push('\n');
    text
}

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    command: &'a str,
    date: &'a str,
    machine: &'a str,
    input: Input<'a>,
    programs: Vec<Program<'a>>,
    warmups: usize,
    incomplete: Option<&'a str>,
    failures: &'a [String],
    notes: &'a [String],
    verdict: Vec<String>,
    storage: Option<Storage<'a>>,
    measured: Vec<Measured<'a>>,
    fragments: Vec<Fragments<'a>>,
    codecs: Vec<Codec<'a>>,
}

impl<'a> Document<'a> {
    fn of(report: &'a Report) -> Document<'a> {
        let figures = figures(report);
        let programs = report.programs.iter();
        Document {
            format: "packline-bench",
            version: 1,
            command: &report.command,
            date: &report.date,
            machine: &report.machine,
            input: Input { name: &report.input.name, bytes: report.input.bytes },
            programs: programs.map(|program| Program { name: &program.name, version: &program.version }).collect(),
            warmups: report.warmups,
            incomplete: report.incomplete.as_deref(),
            failures: &report.failures,
            notes: &report.notes,
            verdict: verdict(report, &figures),
            storage: report.storage.as_ref().map(Storage::of),
            measured: figures.iter().map(Measured::of).collect(),
            fragments: fragments::fragments(&figures).iter().map(Fragments::of).collect(),
            codecs: report.codecs.iter().map(Codec::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct Input<'a> {
    name: &'a str,
    bytes: u64,
}

#[derive(Serialize)]
struct Program<'a> {
    name: &'a str,
    version: &'a str,
}

#[derive(Serialize)]
struct Storage<'a> {
    place: &'a str,
    bytes: u64,
    read_bytes_per_s: f64,
    write_bytes_per_s: f64,
    direct: bool,
}

impl<'a> Storage<'a> {
    fn of(storage: &'a super::Storage) -> Storage<'a> {
        Storage {
            place: &storage.place,
            bytes: storage.bytes,
            read_bytes_per_s: storage.read,
            write_bytes_per_s: storage.write,
            direct: storage.direct,
        }
    }
}

/// How a figure lies over the runs.
#[derive(Serialize)]
struct Range {
    least: f64,
    median: f64,
    most: f64,
}

impl From<Spread> for Range {
    fn from(spread: Spread) -> Range {
        Range { least: spread.least, median: spread.median, most: spread.most }
    }
}

#[derive(Serialize)]
struct Measured<'a> {
    task: &'static str,
    codec: &'a str,
    block_size: u64,
    tails: &'static str,
    program: &'a str,
    jobs: usize,
    content_bytes: u64,
    image_bytes: u64,
    ratio: Option<f64>,
    wall_s: Option<Range>,
    cpu_s: Option<Range>,
    peak_bytes: Option<u64>,
    bytes_per_s: Option<f64>,
    speedup: Option<f64>,
    efficiency: Option<f64>,
    ceiling_bytes_per_s: Option<f64>,
    ours_to_this: Option<Versus>,
    runs: Vec<Run>,
}

impl<'a> Measured<'a> {
    fn of(one: &Figures<'a>) -> Measured<'a> {
        let (case, measured) = (&one.measured.case, one.measured);
        Measured {
            task: case.task.name(),
            codec: &case.codec,
            block_size: case.block_size,
            tails: case.tails.name(),
            program: &case.program,
            jobs: case.jobs,
            content_bytes: measured.content_bytes,
            image_bytes: measured.image_bytes,
            ratio: one.ratio,
            wall_s: one.wall.map(Range::from),
            cpu_s: one.cpu.map(Range::from),
            peak_bytes: one.peak,
            bytes_per_s: one.throughput,
            speedup: one.scaling.map(|scaling| scaling.speedup),
            efficiency: one.scaling.map(|scaling| scaling.efficiency),
            ceiling_bytes_per_s: one.ceiling,
            ours_to_this: one.versus.map(Versus::of),
            runs: measured.runs.iter().map(Run::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct Versus {
    cpu: Option<Range>,
    wall: Option<Range>,
    size: Option<f64>,
    peak: Option<f64>,
}

impl Versus {
    fn of(against: Against) -> Versus {
        let (cpu, wall) = (against.cpu.map(Range::from), against.wall.map(Range::from));
        Versus { cpu, wall, size: against.size, peak: against.peak }
    }
}

#[derive(Serialize)]
struct Run {
    wall_s: f64,
    user_s: f64,
    system_s: f64,
    cpu_s: f64,
    peak_bytes: u64,
}

impl Run {
    fn of(cost: &Cost) -> Run {
        Run { wall_s: cost.wall, user_s: cost.user, system_s: cost.system, cpu_s: cost.cpu(), peak_bytes: cost.peak }
    }
}

#[derive(Serialize)]
struct Fragments<'a> {
    codec: &'a str,
    block_size: u64,
    program: &'a str,
    jobs: usize,
    fragments: Option<Way>,
    no_tail_packing: Option<Way>,
    no_fragments: Option<Way>,
    saved: Option<f64>,
    speedup_kept: Option<f64>,
}

#[derive(Serialize)]
struct Way {
    image_bytes: u64,
    speedup: Option<f64>,
    wall_s: Option<f64>,
}

impl<'a> Fragments<'a> {
    fn of(found: &fragments::Fragments<'a>) -> Fragments<'a> {
        let way = |way: fragments::Way| Way { image_bytes: way.image_bytes, speedup: way.speedup, wall_s: way.wall };
        let [fragments, no_tail_packing, no_fragments] = found.ways.map(|found| found.map(way));
        Fragments {
            codec: &found.case.codec,
            block_size: found.case.block_size,
            program: &found.case.program,
            jobs: found.jobs,
            fragments,
            no_tail_packing,
            no_fragments,
            saved: found.saving(),
            speedup_kept: found.scaling_kept(),
        }
    }
}

#[derive(Serialize)]
struct Codec<'a> {
    codec: &'a str,
    block_size: u64,
    blocks: u64,
    not_smaller: u64,
    content_bytes: u64,
    stored_bytes: u64,
    decompressed_bytes: u64,
    ratio: Option<f64>,
    compress_bytes_per_s: Option<Range>,
    decompress_bytes_per_s: Option<Range>,
    compress_s: &'a [f64],
    decompress_s: &'a [f64],
}

impl<'a> Codec<'a> {
    fn of(codec: &'a CodecSpeed) -> Codec<'a> {
        Codec {
            codec: &codec.codec,
            block_size: codec.block_size,
            blocks: codec.blocks,
            not_smaller: codec.not_smaller,
            content_bytes: codec.content_bytes,
            stored_bytes: codec.stored_bytes,
            decompressed_bytes: codec.decompressed_bytes,
            ratio: codec.ratio(),
            compress_bytes_per_s: codec.compress_speed().map(Range::from),
            decompress_bytes_per_s: codec.decompress_speed().map(Range::from),
            compress_s: &codec.compress,
            decompress_s: &codec.decompress,
        }
    }
}
