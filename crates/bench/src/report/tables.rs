//! The tables and facts of a report, for several formats.

use super::figures::{Figures, Group};
use super::table::{Column, Table, number as n, words as w};
use super::{CodecSpeed, Report, Spread, Tails, number};

fn shown(number: Option<f64>, show: fn(f64) -> String) -> String {
    number.map(show).unwrap_or_default()
}

fn median(spread: Option<Spread>, show: fn(f64) -> String) -> String {
    shown(spread.map(|spread| spread.median), show)
}

fn ratio(versus: Option<Spread>) -> String {
    versus.map(number::spread_ratio).unwrap_or_default()
}

fn size(one: &Figures) -> String {
    shown(one.versus.and_then(|versus| versus.size), |ratio| format!("{ratio:.3}"))
}

/// Returns the table of the runs of one task and block size.
pub(super) fn runs(group: &Group) -> Table {
    let columns: [Column<&Figures>; 17] = [
        w("Codec", |one| one.measured.case.codec.clone()),
        w("Tails", |one| tails(one.measured.case.tails).into()),
        w("Program", |one| one.measured.case.program.clone()),
        n("Jobs", |one| one.measured.case.jobs.to_string()),
        n("Wall s", |one| median(one.wall, number::short)),
        n("Worst s", |one| shown(one.wall.map(|wall| wall.most), number::short)),
        n("CPU s", |one| median(one.cpu, number::short)),
        n("Peak MB", |one| shown(one.peak.map(|peak| peak as f64), number::megabytes)),
        n("Image bytes", |one| one.ratio.map(|_| number::grouped(one.measured.image_bytes)).unwrap_or_default()),
        n("Ratio %", |one| shown(one.ratio, number::percent)),
        n("MB/s", |one| shown(one.throughput, number::megabytes)),
        n("Speed-up", |one| shown(one.speedup, number::ratio)),
        n("Efficiency %", |one| shown(one.efficiency, |share| number::short(share * 100.0))),
        n("Ceiling MB/s", |one| shown(one.ceiling, number::megabytes)),
        n("CPU, ours:peer", |one| ratio(one.versus.and_then(|versus| versus.cpu))),
        n("Wall, ours:peer", |one| ratio(one.versus.and_then(|versus| versus.wall))),
        n("Size, ours:peer", |one| size(one)),
    ];
    Table::new(&group.figures, columns)
}

/// Returns the same table with fewer columns, for a terminal. It names tail ends if several treatments were measured.
pub(super) fn short_runs(group: &Group) -> Table {
    let columns: [Column<&Figures>; 12] = [
        w("Codec", |one| one.measured.case.codec.clone()),
        w("Tails", |one| tails(one.measured.case.tails).into()),
        w("Program", |one| one.measured.case.program.clone()),
        n("Jobs", |one| one.measured.case.jobs.to_string()),
        n("Wall s", |one| median(one.wall, number::short)),
        n("CPU s", |one| median(one.cpu, number::short)),
        n("Peak MB", |one| shown(one.peak.map(|peak| peak as f64), number::megabytes)),
        n("Ratio %", |one| shown(one.ratio, number::percent)),
        n("MB/s", |one| shown(one.throughput, number::megabytes)),
        n("Wall÷", |one| median(one.versus.and_then(|versus| versus.wall), number::ratio)),
        n("CPU÷", |one| median(one.versus.and_then(|versus| versus.cpu), number::ratio)),
        n("Size÷", |one| size(one)),
    ];
    let first = group.figures.first().map(|one| one.measured.case.tails);
    let ways = group.figures.iter().any(|one| Some(one.measured.case.tails) != first);
    Table::new(&group.figures, columns.into_iter().filter(|(head, ..)| ways || *head != "Tails"))
}

/// Returns the words for a treatment of tail ends; an empty text for formats without blocks.
pub(super) fn tails(tails: Tails) -> &'static str {
    match tails {
        Tails::Fragments => "fragments",
        Tails::NoTailPacking => "no tail packing",
        Tails::NoFragments => "no fragments",
        Tails::Unknown => "",
    }
}

/// Returns the table of the codecs in memory, if any were measured. If `is_short`, it has fewer columns, for a terminal.
pub(super) fn codecs(codecs: &[CodecSpeed], is_short: bool) -> Option<Table> {
    let columns: [Column<CodecSpeed>; 9] = [
        w("Codec", |one| one.codec.clone()),
        w("Block", |one| number::block_size(one.block_size)),
        n("Blocks", |one| number::grouped(one.blocks)),
        n("Not smaller %", |one| shown(one.not_smaller_share(), number::percent)),
        n("Ratio %", |one| shown(one.ratio(), number::percent)),
        n("Compress MB/s", |one| median(one.compress_speed(), number::megabytes)),
        n("slowest–fastest", |one| range(one.compress_speed())),
        n("Decompress MB/s", |one| median(one.decompress_speed(), number::megabytes)),
        n("slowest–fastest", |one| range(one.decompress_speed())),
    ];
    let long = ["Blocks", "Not smaller %", "slowest–fastest"];
    let columns = columns.into_iter().filter(|(head, ..)| !(is_short && long.contains(head)));
    (!codecs.is_empty()).then(|| Table::new(codecs, columns))
}

fn range(speed: Option<Spread>) -> String {
    let wide = speed.filter(|speed| speed.least < speed.most);
    let ends = wide.map(|speed| [speed.least, speed.most].map(number::megabytes).join("–"));
    ends.unwrap_or_default()
}

/// Describes the speed of the storage in a sentence.
pub(super) fn storage(report: &Report) -> Option<String> {
    let storage = report.storage.as_ref()?;
    let speed = |bytes: f64| if bytes.is_finite() { number::megabytes(bytes) } else { "?".into() };
    let cached = if storage.direct { "" } else { " (the page cache may have helped)" };
    Some(format!(
        "{} reads {} MB/s{cached} and writes {} MB/s, measured with {} MB.",
        storage.place,
        speed(storage.read),
        speed(storage.write),
        number::megabytes(storage.bytes as f64),
    ))
}

fn counted(report: &Report) -> Option<String> {
    let programs = report.measured.iter().map(|measured| measured.runs.len());
    let counts = || programs.clone().chain(report.codecs.iter().map(|codec| codec.compress.len()));
    let least = counts().min()?;
    let most = counts().max()?;
    let count = if least == most { most.to_string() } else { format!("{least} to {most}") };
    Some(format!("{count} counted, {} for warm-up", report.warmups))
}

/// Returns the known facts about the runs, as names and values.
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
