//! The tables and facts of a report: words and numbers, to be formatted as text, Markdown or HTML.

use super::figures::{Figures, Group};
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
        words("Codec", |one| one.measured.case.codec.clone()),
        words("Tails", |one| tails(one.measured.case.tails).into()),
        words("Program", |one| one.measured.case.program.clone()),
        number("Jobs", |one| one.measured.case.jobs.to_string()),
        number("Wall s", |one| median(one.wall, number::short)),
        number("Worst s", |one| shown(one.wall.map(|wall| wall.most), number::short)),
        number("CPU s", |one| median(one.cpu, number::short)),
        number("Peak MB", |one| shown(one.peak.map(|peak| peak as f64), number::megabytes)),
        number("Image bytes", |one| one.ratio.map(|_| number::grouped(one.measured.image_bytes)).unwrap_or_default()),
        number("Ratio %", |one| shown(one.ratio, number::percent)),
        number("MB/s", |one| shown(one.throughput, number::megabytes)),
        number("Speed-up", |one| shown(one.speedup, number::ratio)),
        number("Efficiency %", |one| shown(one.efficiency, |share| number::short(share * 100.0))),
        number("Ceiling MB/s", |one| shown(one.ceiling, number::megabytes)),
        number("CPU, ours:peer", |one| ratio(one.versus.and_then(|versus| versus.cpu))),
        number("Wall, ours:peer", |one| ratio(one.versus.and_then(|versus| versus.wall))),
        number("Size, ours:peer", |one| size(one)),
    ];
    Table::new(&group.figures, columns)
}

/// Returns the same table with fewer columns, for a terminal. It names tail ends if several treatments were measured.
pub(super) fn short_runs(group: &Group) -> Table {
    let columns: [Column<&Figures>; 12] = [
        words("Codec", |one| one.measured.case.codec.clone()),
        words("Tails", |one| tails(one.measured.case.tails).into()),
        words("Program", |one| one.measured.case.program.clone()),
        number("Jobs", |one| one.measured.case.jobs.to_string()),
        number("Wall s", |one| median(one.wall, number::short)),
        number("CPU s", |one| median(one.cpu, number::short)),
        number("Peak MB", |one| shown(one.peak.map(|peak| peak as f64), number::megabytes)),
        number("Ratio %", |one| shown(one.ratio, number::percent)),
        number("MB/s", |one| shown(one.throughput, number::megabytes)),
        number("Wall÷", |one| median(one.versus.and_then(|versus| versus.wall), number::ratio)),
        number("CPU÷", |one| median(one.versus.and_then(|versus| versus.cpu), number::ratio)),
        number("Size÷", |one| size(one)),
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
        words("Codec", |one| one.codec.clone()),
        words("Block", |one| number::block_size(one.block_size)),
        number("Blocks", |one| number::grouped(one.blocks)),
        number("Not smaller %", |one| shown(one.not_smaller_share(), number::percent)),
        number("Ratio %", |one| shown(one.ratio(), number::percent)),
        number("Compress MB/s", |one| median(one.compress_speed(), number::megabytes)),
        number("slowest–fastest", |one| range(one.compress_speed())),
        number("Decompress MB/s", |one| median(one.decompress_speed(), number::megabytes)),
        number("slowest–fastest", |one| range(one.decompress_speed())),
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
    let codecs = report.codecs.iter().map(|codec| codec.compress.len());
    let serial = report.serial.iter().map(|case| case.runs.len());
    let counts = || programs.clone().chain(codecs.clone()).chain(serial.clone());
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

/// A column of a table of `T`: the heading, whether the cells are numbers, and the function for the cell of a row.
pub(super) type Column<T> = (&'static str, bool, fn(&T) -> String);

/// Returns a column of words.
pub(super) const fn words<T>(head: &'static str, cell: fn(&T) -> String) -> Column<T> {
    (head, false, cell)
}

/// Returns a column of numbers, which are right-aligned.
pub(super) const fn number<T>(head: &'static str, cell: fn(&T) -> String) -> Column<T> {
    (head, true, cell)
}

/// A table without its empty columns.
pub(super) struct Table {
    pub heads: Vec<&'static str>,
    /// Whether each column has numbers.
    pub numbers: Vec<bool>,
    /// A cell for each column.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Returns a table with a row for each item, without the columns that are empty in all rows.
    pub(super) fn new<T>(items: &[T], columns: impl IntoIterator<Item = Column<T>>) -> Table {
        let mut table = Table { heads: Vec::new(), numbers: Vec::new(), rows: vec![Vec::new(); items.len()] };
        for (head, number, cell) in columns {
            let cells: Vec<String> = items.iter().map(cell).collect();
            if cells.iter().any(|cell| !cell.is_empty()) {
                table.heads.push(head);
                table.numbers.push(number);
                table.rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
            }
        }
        table
    }

    /// Returns the headings and the rows, escaped.
    pub(super) fn lines(&self, escaped: fn(&str) -> String) -> Vec<Vec<String>> {
        let heads = self.heads.iter().map(|head| escaped(head)).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(|cell| escaped(cell)).collect());
        std::iter::once(heads).chain(rows).collect()
    }

    /// Returns the cells of a line, padded to the widths of their columns in characters.
    pub(super) fn padded(&self, cells: &[String], widths: &[usize]) -> Vec<String> {
        let pad = |((cell, &width), &number): ((&String, &usize), &bool)| {
            if number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        };
        cells.iter().zip(widths).zip(&self.numbers).map(pad).collect()
    }
}

/// Returns the number of characters of the widest cell of each column.
pub(super) fn widths(lines: &[Vec<String>]) -> Vec<usize> {
    let columns = lines.first().map_or(0, Vec::len);
    (0..columns).map(|at| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omits_empty_columns() {
        let columns: [Column<[&str; 3]>; 3] =
            [words("a", |row| row[0].into()), number("b", |row| row[1].into()), number("c", |row| row[2].into())];
        let table = Table::new(&[["x", "", ""], ["y", "", "3"]], columns);
        assert_eq!(table.heads, ["a", "c"]);
        assert_eq!(table.rows, [["x", ""], ["y", "3"]]);
    }
}
