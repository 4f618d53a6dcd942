//! The table for people.

use std::io::Write;

use packline_image::Use;

use super::rows::{By, Rows, others_name};
use super::source::Measured;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::show_human;

/// Width of a column of numbers.
const WIDTH: usize = 9;
/// Width of a column of exact numbers.
const EXACT_WIDTH: usize = 14;

/// How sizes are shown.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// Whether all digits are shown.
    pub exact: bool,
}

impl Sizes {
    pub fn size(self, bytes: u64) -> String {
        if self.exact { bytes.to_string() } else { show_human(bytes) }
    }

    /// Returns a difference with its sign.
    pub fn change(self, old: u64, new: u64) -> String {
        match new.cmp(&old) {
            std::cmp::Ordering::Less => format!("-{}", self.size(old - new)),
            std::cmp::Ordering::Equal => "0".to_string(),
            std::cmp::Ordering::Greater => format!("+{}", self.size(new - old)),
        }
    }

    /// Returns a line of right-aligned columns and a name.
    pub fn line(self, columns: &[String], name: &str) -> String {
        let width = if self.exact { EXACT_WIDTH } else { WIDTH };
        let columns: String = columns.iter().map(|column| format!("{column:>width$}")).collect();
        format!("{columns}  {name}\n")
    }
}

/// Returns stored bytes in percent of the size; nothing without content.
pub fn ratio(bytes: &Use) -> String {
    match bytes.size {
        0 => "-".to_string(),
        size => format!("{:.1}%", bytes.stored() as f64 * 100.0 / size as f64),
    }
}

/// Prints a table with its header and its total.
pub fn print(measured: &Measured, rows: &Rows, sizes: &Sizes, io: &mut Io) -> Result<(), Failure> {
    let table = Table { has_stored: measured.has_stored, by: rows.by, sizes: *sizes };
    let mut put = |line: String| io.stdout.write_all(line.as_bytes()).map_err(Failure::printing);
    put(table.header())?;
    for row in &rows.rows {
        let number = if rows.by == By::File { u64::from(row.users.max(1)) } else { row.bytes.files };
        put(table.line(&row.bytes, row.has_files().then_some(number), &row.name(&measured.usage)))?;
    }
    if let Some((number, bytes)) = &rows.others {
        put(table.line(bytes, None, &others_name(*number)))?;
    }
    put(table.line(&rows.total, (rows.by != By::File).then_some(rows.total.files), "total"))?;
    io.stdout.flush().map_err(Failure::printing)
}

struct Table {
    has_stored: bool,
    by: By,
    sizes: Sizes,
}

impl Table {
    fn header(&self) -> String {
        let number = match self.by {
            By::File if self.has_stored => "USERS",
            By::File | By::Directory | By::Extension => "FILES",
            By::Kind => "ENTRIES",
        };
        let names: &[&str] =
            if self.has_stored { &["STORED", "SHARED", "SAVED", "SIZE", "RATIO", number] } else { &["SIZE", number] };
        let names: Vec<String> = names.iter().map(|name| (*name).to_string()).collect();
        self.sizes.line(&names, "NAME")
    }

    /// Returns a row. `number`: files or users; nothing for bytes that no file has.
    fn line(&self, bytes: &Use, number: Option<u64>, name: &str) -> String {
        let size = |bytes| self.sizes.size(bytes);
        let number = number.map_or("-".to_string(), |number| number.to_string());
        if !self.has_stored {
            return self.sizes.line(&[size(bytes.size), number], name);
        }
        let columns =
            [size(bytes.stored()), size(bytes.shared), size(bytes.saved), size(bytes.size), ratio(bytes), number];
        self.sizes.line(&columns, name)
    }
}
