//! Files with equal content that is stored once.

use std::cmp::Reverse;
use std::io::Write;

use packline_image::{UsageEntry, Use};

use super::source::Measured;
use super::text::Sizes;
use crate::ui::escape::escaped_path;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::size::count;

/// Files whose content is stored once for all of them.
#[derive(Debug)]
pub struct Group {
    /// Paths, in the order of the tree.
    pub paths: Vec<Vec<u8>>,
    /// The sums of the files.
    pub bytes: Use,
}

/// All groups that are shown, those that save most first.
#[derive(Debug)]
pub struct Groups {
    pub groups: Vec<Group>,
    /// Number and sum of groups that are not shown.
    pub others: Option<(usize, Use)>,
    /// The sum of all groups.
    pub total: Use,
}

/// Returns the groups of files at `roots` and below them, at most `top`.
///
/// # Errors
/// [`Failure::Usage`] for an archive of which only sizes are known.
pub fn groups(measured: &Measured, roots: &[usize], top: Option<usize>) -> Result<Groups, Failure> {
    if !measured.has_stored {
        return Err(crate::args::wrong("duplicates", "works only with an image"));
    }
    let usage = &measured.usage;
    let ranges: Vec<_> = roots.iter().filter_map(|root| usage.entry(*root)).map(|root| root.number..root.end).collect();
    let mut groups: Vec<(Use, Vec<usize>)> = Vec::new();
    for mut numbers in usage.same_content() {
        numbers.retain(|number| ranges.iter().any(|range| range.contains(number)));
        if numbers.len() > 1 {
            let entries = numbers.iter().filter_map(|number| usage.entry(*number));
            groups.push((entries.fold(Use::default(), |sum, entry: UsageEntry<'_>| sum.plus(&entry.bytes)), numbers));
        }
    }
    groups.sort_by_key(|(bytes, _)| Reverse((bytes.saved, bytes.stored())));
    let sum = |groups: &[(Use, Vec<usize>)]| groups.iter().fold(Use::default(), |sum, (bytes, _)| sum.plus(bytes));
    let total = sum(&groups);
    let left = groups.split_off(top.unwrap_or(usize::MAX).min(groups.len()));
    let others = (!left.is_empty()).then(|| (left.len(), sum(&left)));
    let group = |(bytes, numbers): (Use, Vec<usize>)| {
        let paths = numbers.into_iter().map(|number| usage.path(number)).collect();
        Group { paths, bytes }
    };
    Ok(Groups { groups: groups.into_iter().map(group).collect(), others, total })
}

impl Groups {
    pub fn print(&self, sizes: &Sizes, io: &mut Io) -> Result<(), Failure> {
        let columns = |bytes: &Use| {
            [sizes.size(bytes.saved), sizes.size(bytes.stored()), sizes.size(bytes.size), bytes.files.to_string()]
        };
        let mut put = |line: String| io.stdout.write_all(line.as_bytes()).map_err(Failure::printing);
        put(sizes.line(&["SAVED", "STORED", "SIZE", "FILES"].map(String::from), "NAMES"))?;
        for Group { paths, bytes } in &self.groups {
            let mut columns = columns(bytes);
            for path in paths {
                put(sizes.line(&columns, &escaped_path(path)))?;
                columns = Default::default();
            }
        }
        if let Some((number, bytes)) = &self.others {
            put(sizes.line(&columns(bytes), &format!("({})", count(*number as u64, "other group"))))?;
        }
        put(sizes.line(&columns(&self.total), "total"))?;
        io.stdout.flush().map_err(Failure::printing)
    }
}
