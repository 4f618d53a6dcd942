//! What made an image grow: the rows of two images side by side.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsString;
use std::io::Write;

use packline_image::Use;
use serde_json::{Map, json};

use super::json::{Document, put_label};
use super::rows::{By, Label, Row, Rows, Shown, others_name};
use super::source::Measured;
use super::text::Sizes;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// A row of one or both images.
struct Change<'m> {
    name: String,
    /// The row, and the image that has it: the newer one if both do.
    row: Row,
    of: &'m Measured,
    old: u64,
    new: u64,
}

/// The rows that differ, those that changed most first.
pub struct Growth<'m> {
    changes: Vec<Change<'m>>,
    /// Number of rows that are not shown, and their bytes in both images.
    others: Option<(usize, [u64; 2])>,
    total: [u64; 2],
    by: By,
    has_stored: bool,
}

/// Returns the bytes that are compared.
fn bytes(measured: [&Measured; 2], bytes: &Use) -> u64 {
    let has_stored = measured.iter().all(|measured| measured.has_stored);
    if has_stored { bytes.stored() } else { bytes.size }
}

impl<'m> Growth<'m> {
    /// Compares what is at `paths` and below them. An entry that only one of them has counts 0 in the other.
    pub fn of(old: &'m Measured, new: &'m Measured, paths: &[OsString], shown: &Shown) -> Result<Growth<'m>, Failure> {
        let all = Shown { top: None, ..*shown };
        let both = [old, new];
        let roots = both.map(|measured| measured.roots(paths));
        // A path may be new, or may be gone.
        let roots = match roots {
            [Err(failure), Err(_)] => return Err(failure),
            roots => roots.map(Result::unwrap_or_default),
        };
        let rows = [0, 1].map(|side| Rows::of(both[side], &roots[side], &all));
        let total = [0, 1].map(|side| bytes(both, &rows[side].total));
        // An entry may have the name of a structure.
        let mut changes: BTreeMap<(String, bool), Change<'m>> = BTreeMap::new();
        for (side, rows) in rows.into_iter().enumerate() {
            let of = both[side];
            for row in rows.rows {
                let name = row.name(&of.usage);
                let found = bytes(both, &row.bytes);
                let key = (name.clone(), row.has_files());
                let new = Change { name, row, of, old: 0, new: 0 };
                let change = match changes.entry(key) {
                    Entry::Vacant(place) => place.insert(new),
                    Entry::Occupied(known) => {
                        let known = known.into_mut();
                        *known = Change { old: known.old, new: known.new, ..new };
                        known
                    }
                };
                let sum = if side == 0 { &mut change.old } else { &mut change.new };
                *sum += found;
            }
        }
        let mut changes: Vec<Change<'m>> = changes.into_values().filter(|change| change.old != change.new).collect();
        changes.sort_by_key(|change| Reverse(change.old.abs_diff(change.new)));
        let left = changes.split_off(shown.top.unwrap_or(usize::MAX).min(changes.len()));
        let flat = shown.by != By::Directory || shown.depth == 1;
        let sums = left.iter().fold([0, 0], |[old, new], change| [old + change.old, new + change.new]);
        let others = (!left.is_empty() && flat).then_some((left.len(), sums));
        let has_stored = both.iter().all(|measured| measured.has_stored);
        Ok(Growth { changes, others, total, by: shown.by, has_stored })
    }

    pub fn print(&self, sizes: &Sizes, io: &mut Io) -> Result<(), Failure> {
        let columns = |old, new| [sizes.change(old, new), sizes.size(old), sizes.size(new)];
        let mut put = |line: String| io.stdout.write_all(line.as_bytes()).map_err(Failure::printing);
        put(sizes.line(&["CHANGE", "OLD", "NEW"].map(String::from), "NAME"))?;
        for change in &self.changes {
            let note = match (change.old, change.new) {
                _ if matches!(change.row.label, Label::Structure(_)) => "",
                (0, _) => "  (new)",
                (_, 0) => "  (gone)",
                _ => "",
            };
            put(sizes.line(&columns(change.old, change.new), &format!("{}{note}", change.name)))?;
        }
        if let Some((number, [old, new])) = self.others {
            put(sizes.line(&columns(old, new), &others_name(number)))?;
        }
        let [old, new] = self.total;
        put(sizes.line(&columns(old, new), "total"))?;
        io.stdout.flush().map_err(Failure::printing)
    }

    pub fn print_json(&self, io: &mut Io) -> Result<(), Failure> {
        let what = if self.has_stored { "stored_bytes" } else { "size" };
        let put = |object: &mut Map<String, _>, old: u64, new: u64| {
            object.insert(format!("old_{what}"), json!(old));
            object.insert(format!("new_{what}"), json!(new));
            object.insert("change".to_string(), json!(i128::from(new) - i128::from(old)));
        };
        let mut head = Map::new();
        let [old, new] = self.total;
        put(&mut head, old, new);
        if let Some((number, [old, new])) = self.others {
            let mut others = Map::new();
            others.insert("rows".to_string(), json!(number));
            put(&mut others, old, new);
            head.insert("others".to_string(), others.into());
        }
        let mut document = Document::begin(&head, "changes", io)?;
        for change in &self.changes {
            let mut object = Map::new();
            put_label(&mut object, &change.row, change.of, self.by);
            put(&mut object, change.old, change.new);
            document.add(object)?;
        }
        document.end()
    }
}
