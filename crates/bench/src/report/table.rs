//! A table of words and numbers, to be formatted as text, Markdown or HTML.

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
