//! The report's tables, which Markdown and HTML both show.

use super::figures::{Figures, Group};
use super::number;
use super::table::{Column, Table};
use super::{CodecSpeed, Report, Spread, Tails};

pub(super) fn runs(group: &Group) -> Table {
    let mut columns = ["Codec", "Tails", "Program"].map(Column::text).to_vec();
    columns.extend(
        ["Jobs", "Wall s", "Worst s", "CPU s", "Peak MB", "Image bytes", "Ratio %", "MB/s"].map(Column::number),
    );
    columns.extend(["Speed-up", "Efficiency %", "Ceiling MB/s"].map(Column::number));
    columns.extend(["CPU, ours:peer", "Wall, ours:peer", "Size, ours:peer"].map(Column::number));
    Table::new(columns, group.figures.iter().map(|one| run(one)).collect())
}

fn run(one: &Figures) -> Vec<String> {
    let case = &one.measured.case;
    let shown = |number: Option<f64>, show: fn(f64) -> String| number.map(show).unwrap_or_default();
    let spread = |found: Option<Spread>| found.map(number::spread_ratio).unwrap_or_default();
    vec![
        case.codec.clone(),
        tails(case.tails).into(),
        case.program.clone(),
        case.jobs.to_string(),
        shown(one.wall.map(|wall| wall.median), number::short),
        shown(one.wall.map(|wall| wall.most), number::short),
        shown(one.cpu.map(|cpu| cpu.median), number::short),
        shown(one.peak.map(|peak| peak as f64), number::megabytes),
        one.ratio.map(|_| number::grouped(one.measured.image_bytes)).unwrap_or_default(),
        shown(one.ratio, number::percent),
        shown(one.throughput, number::megabytes),
        shown(one.speedup, number::ratio),
        shown(one.efficiency, |share| number::short(share * 100.0)),
        shown(one.ceiling, number::megabytes),
        spread(one.versus.and_then(|versus| versus.cpu)),
        spread(one.versus.and_then(|versus| versus.wall)),
        shown(one.versus.and_then(|versus| versus.size), |ratio| format!("{ratio:.3}")),
    ]
}

/// The same with fewer columns, for a terminal. Tail ends are named if several treatments were measured.
pub(super) fn short_runs(group: &Group) -> Table {
    let mut columns = ["Codec", "Tails", "Program"].map(Column::text).to_vec();
    columns.extend(["Jobs", "Wall s", "CPU s", "Peak MB", "Ratio %", "MB/s"].map(Column::number));
    columns.extend(["Wall÷", "CPU÷", "Size÷"].map(Column::number));
    let first = group.figures.first().map(|one| one.measured.case.tails);
    let ways = group.figures.iter().any(|one| Some(one.measured.case.tails) != first);
    Table::new(columns, group.figures.iter().map(|one| short_run(one, ways)).collect())
}

fn short_run(one: &Figures, ways: bool) -> Vec<String> {
    let case = &one.measured.case;
    let shown = |number: Option<f64>, show: fn(f64) -> String| number.map(show).unwrap_or_default();
    let median = |spread: Option<Spread>| spread.map(|spread| spread.median);
    vec![
        case.codec.clone(),
        if ways { tails(case.tails).into() } else { String::new() },
        case.program.clone(),
        case.jobs.to_string(),
        shown(median(one.wall), number::short),
        shown(median(one.cpu), number::short),
        shown(one.peak.map(|peak| peak as f64), number::megabytes),
        shown(one.ratio, number::percent),
        shown(one.throughput, number::megabytes),
        shown(median(one.versus.and_then(|versus| versus.wall)), number::ratio),
        shown(median(one.versus.and_then(|versus| versus.cpu)), number::ratio),
        shown(one.versus.and_then(|versus| versus.size), |ratio| format!("{ratio:.3}")),
    ]
}

/// The words for a treatment of tail ends; empty for formats without blocks.
pub(super) fn tails(tails: Tails) -> &'static str {
    match tails {
        Tails::Fragments => "fragments",
        Tails::NoTailPacking => "no tail packing",
        Tails::NoFragments => "no fragments",
        Tails::Unknown => "",
    }
}

/// The codecs in memory, if any were measured.
pub(super) fn codecs(codecs: &[CodecSpeed]) -> Option<Table> {
    let mut columns = ["Codec", "Block"].map(Column::text).to_vec();
    columns.extend(["Blocks", "Not smaller %", "Ratio %"].map(Column::number));
    columns.extend(["Compress MB/s", "slowest–fastest", "Decompress MB/s", "slowest–fastest"].map(Column::number));
    (!codecs.is_empty()).then(|| Table::new(columns, codecs.iter().map(codec).collect()))
}

fn codec(one: &CodecSpeed) -> Vec<String> {
    let percent = |share: Option<f64>| share.map(number::percent).unwrap_or_default();
    let median = |speed: Option<Spread>| speed.map(|speed| number::megabytes(speed.median)).unwrap_or_default();
    let range = |speed: Option<Spread>| {
        let wide = speed.filter(|speed| speed.least < speed.most);
        wide.map(|speed| format!("{}–{}", number::megabytes(speed.least), number::megabytes(speed.most)))
            .unwrap_or_default()
    };
    vec![
        one.codec.clone(),
        number::block_size(one.block_size),
        number::grouped(one.blocks),
        percent(one.not_smaller_share()),
        percent(one.ratio()),
        median(one.compress_speed()),
        range(one.compress_speed()),
        median(one.decompress_speed()),
        range(one.decompress_speed()),
    ]
}

/// The same for a terminal.
pub(super) fn short_codecs(codecs: &[CodecSpeed]) -> Option<Table> {
    let mut columns = ["Codec", "Block"].map(Column::text).to_vec();
    columns.extend(["Ratio %", "Compress MB/s", "Decompress MB/s"].map(Column::number));
    (!codecs.is_empty()).then(|| Table::new(columns, codecs.iter().map(short_codec).collect()))
}

fn short_codec(one: &CodecSpeed) -> Vec<String> {
    let median = |speed: Option<Spread>| speed.map(|speed| number::megabytes(speed.median)).unwrap_or_default();
    vec![
        one.codec.clone(),
        number::block_size(one.block_size),
        one.ratio().map(number::percent).unwrap_or_default(),
        median(one.compress_speed()),
        median(one.decompress_speed()),
    ]
}

/// The speed of the storage, in a sentence.
pub(super) fn storage(report: &Report) -> Option<String> {
    let storage = report.storage.as_ref()?;
    let speed = |bytes: f64| if bytes.is_finite() { number::megabytes(bytes) } else { "?".into() };
    let cached = if storage.direct { "" } else { " (the page cache may have helped)" };
    Some(format!(
        "{} reads {} MB/s{cached} and writes {} MB/s, found with {} MB.",
        storage.place,
        speed(storage.read),
        speed(storage.write),
        number::megabytes(storage.bytes as f64),
    ))
}

/// The number of runs.
fn counted(report: &Report) -> Option<String> {
    let programs = report.measured.iter().map(|measured| measured.runs.len());
    let counts = || programs.clone().chain(report.codecs.iter().map(|codec| codec.compress.len()));
    let (least, most) = (counts().min()?, counts().max()?);
    let count = if least == most { most.to_string() } else { format!("{least} to {most}") };
    Some(format!("{count} counted, {} before them to warm up", report.warmups))
}

/// Facts about the runs, as name and value, without those that are unknown.
pub(super) fn facts(report: &Report) -> Vec<(&'static str, String)> {
    let input = match report.input.bytes {
        0 => report.input.name.clone(),
        bytes => format!("{}, {} MB", report.input.name, number::megabytes(bytes as f64)),
    };
    let facts = [
        ("Date", report.date.clone()),
        ("Input", input),
        ("Machine", report.machine.clone()),
        ("Storage", storage(report).unwrap_or_default()),
        ("Runs", counted(report).unwrap_or_default()),
    ];
    facts.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}
