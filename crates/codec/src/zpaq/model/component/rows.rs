//! A hash table of bit histories, in rows of 16 bytes: one row for a context and a nibble.
//!
//! A row is a check byte and 15 states, one for each prefix of a nibble. The first state is the row's priority. A row may be in one of
//! three places, all in one cache line. If it is in none of them, the row of lowest priority is replaced.

/// A check byte and 15 states.
type Row = [u8; 16];

/// Rows in a cache line.
const LINE: usize = 4;

/// The table and the current row.
pub(in crate::zpaq) struct Rows {
    rows: Vec<Row>,
    /// The number of rows, less one.
    mask: usize,
    /// Number of rows before the first row that begins a cache line. It affects only speed.
    skip: usize,
    /// The bits of a context that choose the row; the check byte is above them.
    bits: u32,
    /// The place of the current row.
    at: usize,
    /// The current row, written back when the next row is looked up.
    row: Row,
}

/// The places where a row may be.
pub(in crate::zpaq) struct RowPlaces {
    place: usize,
    check: u8,
    /// The check byte in the first place. The current row's check byte is already in the table.
    first: u8,
}

impl Rows {
    /// Memory of a table of `64 << bits` bytes.
    pub(in crate::zpaq) fn memory(bits: u8) -> u64 {
        (64 << bits) + (size_of::<Row>() * LINE) as u64
    }

    /// A table of `64 << bits` bytes.
    pub(in crate::zpaq) fn new(bits: u8) -> Self {
        let count = LINE << bits;
        let rows = vec![[0; 16]; count + LINE - 1];
        let before_line = rows.as_ptr().align_offset(LINE * size_of::<Row>());
        let skip = if before_line < LINE { before_line } else { 0 };
        Rows { rows, mask: count - 1, skip, bits: u32::from(bits) + 2, at: skip, row: [0; 16] }
    }

    /// Prefetches the row of a nibble, so that the cache misses of several tables overlap. `partial` is the byte so far, with a one before
    /// it.
    #[inline]
    pub(in crate::zpaq) fn home(&self, context: u32, partial: u32) -> RowPlaces {
        let context = context.wrapping_add(partial << 4);
        let place = (context & 0x0FFF_FFFF) as usize & self.mask;
        let check = (u64::from(context) >> self.bits) as u8;
        RowPlaces { place, check, first: self.rows[self.skip + place][0] }
    }

    /// Makes the row of a nibble the current one.
    #[inline]
    pub(in crate::zpaq) fn seek(&mut self, home: &RowPlaces) {
        self.rows[self.at] = self.row;
        let near = [home.place, home.place ^ 1, home.place ^ 2].map(|place| self.skip + place);
        self.at = if home.first == home.check { near[0] } else { self.other(near, home.check) };
        self.row = self.rows[self.at];
    }

    /// Returns the second or third place, or the place that is replaced.
    fn other(&mut self, near: [usize; 3], check: u8) -> usize {
        if let Some(&at) = near[1..].iter().find(|&&at| self.rows[at][0] == check) {
            return at;
        }
        let [a, b, c] = near.map(|at| self.rows[at][1]);
        let least = if a <= b && a <= c {
            near[0]
        } else if b < c {
            near[1]
        } else {
            near[2]
        };
        self.rows[least] = [0; 16];
        self.rows[least][0] = check;
        least
    }

    /// The state at a place in the row, 1..=15.
    #[inline]
    pub(in crate::zpaq) fn state(&self, nibble: usize) -> u8 {
        self.row[nibble & 15]
    }

    /// Sets the state at a place in the row, 1..=15.
    #[inline]
    pub(in crate::zpaq) fn set(&mut self, nibble: usize, state: u8) {
        self.row[nibble & 15] = state;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seek(rows: &mut Rows, context: u32) -> usize {
        let home = rows.home(context, 0);
        rows.seek(&home);
        rows.at - rows.skip
    }

    #[test]
    fn finds_rows_again() {
        let mut rows = Rows::new(4);
        for context in [0, 5, 0x1234_5678, u32::MAX] {
            seek(&mut rows, context);
            rows.set(3, context as u8 ^ 0x55);
        }
        for context in [0, 5, 0x1234_5678, u32::MAX] {
            seek(&mut rows, context);
            assert_eq!(rows.state(3), context as u8 ^ 0x55);
        }
    }

    #[test]
    fn replaces_the_row_of_lowest_priority() {
        let mut rows = Rows::new(0);
        // Four contexts of one row: the check byte is in bits 2 to 9.
        for (check, worth, place) in [(1, 9, 0), (2, 3, 2), (3, 7, 1), (4, 1, 2), (5, 1, 2)] {
            assert_eq!(seek(&mut rows, check << 2), place, "{check}");
            assert_eq!(rows.state(1), 0, "a new row is empty");
            rows.set(1, worth);
        }
        assert_eq!(seek(&mut rows, 3 << 2), 1);
        assert_eq!(rows.state(1), 7);
    }

    #[test]
    fn replaces_the_first_of_equal_rows_then_the_last() {
        let mut rows = Rows::new(0);
        assert_eq!(seek(&mut rows, 1 << 2), 0);
        rows.set(1, 1);
        assert_eq!(seek(&mut rows, 2 << 2), 2);
    }
}
