//! The rows of a table: entries, or sums of entries, in order.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use packline_image::{Structure, Usage, UsageEntry, Use};
use packline_volume::NodeType;

use super::source::Measured;
use crate::ui::escape::{escaped, escaped_path};
use crate::ui::size::count;

/// Bytes from which a ratio tells how well content compresses.
const RATIO_LEAST: u64 = 4 << 10;

/// What a row stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Directory,
    File,
    Extension,
    Kind,
}

/// The order of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Stored,
    Size,
    Ratio,
    Saved,
    Name,
}

/// Which rows are shown.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    pub by: By,
    pub depth: usize,
    pub all: bool,
    pub order: Order,
    pub top: Option<usize>,
}

/// What a row is about. The order is that of equal rows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Label {
    /// An entry, by its number.
    Entry(usize),
    /// The files that are directly in a directory.
    FilesIn(usize),
    /// Files with an extension, or entries of a kind.
    Text(String),
    /// Bytes of the image that no file has.
    Structure(String),
}

/// One row.
#[derive(Debug, Clone)]
pub struct Row {
    pub label: Label,
    pub bytes: Use,
    /// For a file, the maximum number of files that use the same byte.
    pub users: u32,
}

/// All rows, and their sums.
#[derive(Debug)]
pub struct Rows {
    pub rows: Vec<Row>,
    /// Number and sum of rows that are not shown.
    pub others: Option<(usize, Use)>,
    /// Everything that is selected, and the metadata if that is the whole image.
    pub total: Use,
    /// What the rows stand for.
    pub by: By,
}

impl Rows {
    /// Returns the rows for the entries at `roots` and below them.
    pub fn of(measured: &Measured, roots: &[usize], shown: &Shown) -> Rows {
        let usage = &measured.usage;
        let mut rows = match shown.by {
            By::Directory => directories(usage, roots, shown),
            By::File => below(usage, roots).filter(is_file).map(|entry| entry_row(&entry)).collect(),
            By::Extension => sums(below(usage, roots).filter(is_file), |entry| extension(entry.name)),
            By::Kind => sums(below(usage, roots), |entry| kind(entry).to_string()),
        };
        let entries = roots.iter().filter_map(|root| usage.entry(*root));
        let mut total = entries.fold(Use::default(), |sum, entry| sum.plus(&entry.bytes));
        if roots == [0] {
            let structures = structures(usage, shown.by);
            total = structures.iter().fold(total, |sum, row| sum.plus(&row.bytes));
            rows.extend(structures);
        }
        if shown.by == By::Kind {
            total.files = rows.iter().map(|row| row.bytes.files).sum();
        }
        sort(&mut rows, shown.order);
        // Nested directories are not added up.
        let flat = shown.by != By::Directory || shown.depth == 1;
        let left = rows.split_off(shown.top.unwrap_or(usize::MAX).min(rows.len()));
        let others = left.iter().fold(Use::default(), |sum, row| sum.plus(&row.bytes));
        let others = (!left.is_empty() && flat).then_some((left.len(), others));
        Rows { rows, others, total, by: shown.by }
    }
}

impl Row {
    /// Returns the text of the row's name.
    pub fn name(&self, usage: &Usage) -> String {
        match &self.label {
            Label::Entry(number) => {
                let is_directory = usage.entry(*number).is_some_and(|entry| entry.kind == NodeType::Directory);
                let path = escaped_path(&usage.path(*number));
                if is_directory { format!("{path}/") } else { path }
            }
            Label::FilesIn(number) => format!("(files in {}/)", escaped_path(&usage.path(*number))),
            Label::Text(text) => escaped(text.as_bytes()),
            Label::Structure(name) => format!("({name})"),
        }
    }

    /// Whether the row has files, and not other bytes of the image.
    pub fn has_files(&self) -> bool {
        !matches!(self.label, Label::Structure(_))
    }
}

/// Returns the entries at `roots` and below them.
pub fn below<'u>(usage: &'u Usage, roots: &'u [usize]) -> impl Iterator<Item = UsageEntry<'u>> {
    let ranges = roots.iter().filter_map(|root| usage.entry(*root)).map(|root| root.number..root.end);
    ranges.flatten().filter_map(|number| usage.entry(number))
}

fn is_file(entry: &UsageEntry<'_>) -> bool {
    entry.kind == NodeType::File && !entry.is_link
}

fn entry_row(entry: &UsageEntry<'_>) -> Row {
    Row { label: Label::Entry(entry.number), bytes: entry.bytes, users: entry.users }
}

fn directories(usage: &Usage, roots: &[usize], shown: &Shown) -> Vec<Row> {
    let mut rows = Vec::new();
    for root in roots.iter().filter_map(|root| usage.entry(*root)) {
        let is_directory = root.kind == NodeType::Directory;
        if roots.len() > 1 || shown.depth == 0 || !is_directory {
            rows.push(entry_row(&root));
        }
        if !is_directory || shown.depth == 0 {
            continue;
        }
        let mut files = Use::default();
        let mut open = vec![(root.number, 1)];
        while let Some((directory, depth)) = open.pop() {
            for entry in usage.children(directory) {
                let is_directory = entry.kind == NodeType::Directory;
                if is_directory || shown.all {
                    rows.push(entry_row(&entry));
                } else if depth == 1 {
                    files = files.plus(&entry.bytes);
                }
                if is_directory && depth < shown.depth {
                    open.push((entry.number, depth + 1));
                }
            }
        }
        if files.files > 0 {
            rows.push(Row { label: Label::FilesIn(root.number), bytes: files, users: 0 });
        }
    }
    rows
}

/// Returns the sums of entries with the same text.
fn sums<'u>(entries: impl Iterator<Item = UsageEntry<'u>>, text: impl Fn(&UsageEntry<'u>) -> String) -> Vec<Row> {
    let mut sums: BTreeMap<String, Use> = BTreeMap::new();
    for entry in entries {
        // A directory's bytes are those of its entries.
        let bytes = if entry.kind == NodeType::Directory { Use::default() } else { entry.bytes };
        let sum = sums.entry(text(&entry)).or_default();
        *sum = sum.plus(&bytes);
        if !is_file(&entry) {
            sum.files += 1;
        }
    }
    sums.into_iter().map(|(text, bytes)| Row { label: Label::Text(text), bytes, users: 0 }).collect()
}

/// Returns the extension of a name in lower case, without the numbers of a version: `libx.so.1.2` has `.so`.
fn extension(name: &[u8]) -> String {
    const LONGEST: usize = 16;
    let mut rest = name;
    while let Some(dot) = rest.iter().rposition(|byte| *byte == b'.').filter(|dot| *dot > 0) {
        let last = &rest[dot + 1..];
        if last.is_empty() || last.len() > LONGEST || last.contains(&b' ') {
            break;
        }
        if !last.iter().all(u8::is_ascii_digit) {
            return format!(".{}", String::from_utf8_lossy(last).to_lowercase());
        }
        rest = &rest[..dot];
    }
    "(no extension)".to_string()
}

fn kind(entry: &UsageEntry<'_>) -> &'static str {
    match entry.kind {
        _ if entry.is_link => "hard links",
        NodeType::Directory => "directories",
        NodeType::File => "files",
        NodeType::Symlink => "symbolic links",
        NodeType::BlockDevice | NodeType::CharDevice => "devices",
        NodeType::Fifo => "named pipes",
        NodeType::Socket => "sockets",
    }
}

/// Returns rows for the bytes that no file has. Only [`By::Kind`] has a row for each structure of the metadata.
fn structures(usage: &Usage, by: By) -> Vec<Row> {
    let row = |name: &str, bytes| Row {
        label: Label::Structure(name.to_string()),
        bytes: Use::of_structure(bytes),
        users: 0,
    };
    let (metadata, others): (Vec<&Structure>, Vec<&Structure>) =
        usage.metadata().iter().partition(|structure| structure.is_metadata);
    let others = others.into_iter().map(|structure| row(structure.name, structure.bytes));
    let mut rows: Vec<Row> = match by {
        By::Kind => metadata.into_iter().map(|structure| row(structure.name, structure.bytes)).collect(),
        _ => match metadata.into_iter().map(|structure| structure.bytes).sum() {
            0 => Vec::new(),
            bytes => vec![row("metadata", bytes)],
        },
    };
    rows.extend(others);
    rows
}

/// Sorts without memory for a copy: an image may have millions of files.
fn sort(rows: &mut [Row], order: Order) {
    let of = |row: &Row| (row.bytes.stored(), row.bytes.size, row.bytes.saved);
    rows.sort_unstable_by(|one, other| {
        let ((stored, size, saved), (other_stored, other_size, other_saved)) = (of(one), of(other));
        let compared = match order {
            Order::Stored => (other_stored, other_size).cmp(&(stored, size)),
            Order::Size => (other_size, other_stored).cmp(&(size, stored)),
            Order::Saved => (other_saved, other_stored).cmp(&(saved, stored)),
            Order::Ratio => by_ratio(one, other),
            Order::Name => Ordering::Equal,
        };
        compared.then_with(|| one.label.cmp(&other.label))
    });
}

/// Orders rows so that the largest ratio is first. The quotients are compared without a division.
fn by_ratio(one: &Row, other: &Row) -> Ordering {
    let tells = |row: &Row| row.bytes.size >= RATIO_LEAST;
    let product = |row: &Row, by: &Row| u128::from(row.bytes.stored()) * u128::from(by.bytes.size.max(1));
    tells(other).cmp(&tells(one)).then_with(|| product(other, one).cmp(&product(one, other)))
}

/// Returns the name of the rows that are not shown.
pub fn others_name(number: usize) -> String {
    format!("({})", count(number as u64, "other row"))
}
