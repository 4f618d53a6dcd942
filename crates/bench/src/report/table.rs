//! A table of words and numbers, before it is Markdown or HTML.

#[derive(Clone)]
pub(super) struct Column {
    pub head: String,
    /// Whether its cells are numbers, which are aligned right.
    pub number: bool,
}

impl Column {
    pub(super) fn text(head: &str) -> Column {
        Column { head: head.into(), number: false }
    }

    pub(super) fn number(head: &str) -> Column {
        Column { head: head.into(), number: true }
    }
}

/// A table without its empty columns.
pub(super) struct Table {
    /// The columns that are not empty.
    pub columns: Vec<Column>,
    /// A cell for each column.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Of rows that have a cell for each column; columns empty in all rows are left out.
    pub(super) fn new(columns: Vec<Column>, rows: Vec<Vec<String>>) -> Table {
        let filled: Vec<bool> = (0..columns.len())
            .map(|at| rows.iter().any(|row| row.get(at).is_some_and(|cell| !cell.is_empty())))
            .collect();
        let rows = rows.into_iter().map(|row| kept(row, &filled)).collect();
        Table { columns: kept(columns, &filled), rows }
    }
}

fn kept<T>(cells: Vec<T>, filled: &[bool]) -> Vec<T> {
    cells.into_iter().zip(filled).filter(|(_, filled)| **filled).map(|(cell, _)| cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_columns_are_left_out() {
        let columns = vec![Column::text("a"), Column::number("b"), Column::number("c")];
        let rows = vec![vec!["x".into(), "".into(), "".into()], vec!["y".into(), "".into(), "3".into()]];
        let table = Table::new(columns, rows);
        assert_eq!(table.columns.iter().map(|column| column.head.as_str()).collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(table.rows, [["x", ""], ["y", "3"]]);
    }
}
