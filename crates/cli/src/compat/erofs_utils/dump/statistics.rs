//! `-S` prints counts of files, and distributions of sizes and types.

use packline::requests::ErofsImage;
use packline_erofs::read::InodeLayout;
use packline_volume::{NodeType, Visit, Walk};

use super::inode::type_number;
use crate::compat::erofs_utils::fault;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The counted endings of names; all others count together.
const ENDINGS: [&str; 9] = [".txt", ".so", ".xml", ".apk", ".odex", ".vdex", ".oat", ".rc", ".otf"];

/// The names of the types, by their numbers in directory entries.
const TYPES: [&str; 8] =
    ["unknown type", "regular file", "directory", "char dev", "block dev", "FIFO file", "SOCK file", "symlink file"];

/// Rows of a distribution of sizes: by powers of two from 1 KiB on, and all from 32 MiB on.
const SIZES: usize = 17;

/// Counts of all names of an image.
#[derive(Default)]
struct Statistics {
    files: u64,
    compressed: u64,
    uncompressed: u64,
    by_type: [u64; TYPES.len()],
    by_ending: [u64; ENDINGS.len() + 1],
    content: u64,
    stored: u64,
    by_content: [u64; SIZES],
    by_stored: [u64; SIZES],
}

/// Counts everything that has a name, once for each name, and prints the counts.
pub fn print(image: &ErofsImage, io: &mut Io) -> Result<(), Failure> {
    let mut statistics = Statistics::default();
    for visit in Walk::new(&image.volume, image.volume.root(), Vec::new()) {
        let visit = visit.map_err(|(path, cause)| image.fault_at(&path, cause))?;
        let layout = image.image.layout(visit.inode.at).map_err(|cause| fault(image, cause))?;
        statistics.add(&visit, layout);
    }
    if let Some(number) = image.image.superblock().packed {
        let node = image.image.inode_of_number(number).map_err(|cause| fault(image, cause))?;
        let layout = image.image.layout(node).map_err(|cause| fault(image, cause))?;
        statistics.add_stored(layout);
    }
    io.print(&statistics.text())
}

impl Statistics {
    fn add(&mut self, visit: &Visit, layout: InodeLayout) {
        let kind = visit.inode.node_type();
        self.files += 1;
        self.by_type[type_number(kind)] += 1;
        if kind != NodeType::File {
            self.count_layout(layout);
            return;
        }
        let name = visit.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let ending = name.iter().rposition(|byte| *byte == b'.').map(|at| &name[at..]);
        let known = ENDINGS.iter().position(|known| Some(known.as_bytes()) == ending);
        self.by_ending[known.unwrap_or(ENDINGS.len())] += 1;
        self.content = self.content.saturating_add(layout.size);
        self.by_content[row_of(layout.size)] += 1;
        self.add_stored(layout);
    }

    fn add_stored(&mut self, layout: InodeLayout) {
        self.count_layout(layout);
        let stored = layout.compressed.unwrap_or(layout.size);
        self.stored = self.stored.saturating_add(stored);
        self.by_stored[row_of(stored)] += 1;
    }

    fn count_layout(&mut self, layout: InodeLayout) {
        let count = if layout.compressed.is_some() { &mut self.compressed } else { &mut self.uncompressed };
        *count += 1;
    }

    fn text(&self) -> String {
        let mut out = format!("Filesystem total file count:\t\t{}\n", self.files);
        for (name, count) in TYPES.iter().zip(self.by_type) {
            out.push_str(&format!("Filesystem {name} count:\t\t{count}\n"));
        }
        let rate = if self.content == 0 { 0.0 } else { self.stored as f64 * 100.0 / self.content as f64 };
        out.push_str(&format!(
            "Filesystem compressed files:            {}\n\
             Filesystem uncompressed files:          {}\n\
             Filesystem total original file size:    {} Bytes\n\
             Filesystem total file size:             {} Bytes\n\
             Filesystem compress rate:               {rate:.2}%\n",
            self.compressed, self.uncompressed, self.content, self.stored,
        ));
        out.push_str(&self.sizes("Original", &self.by_content));
        out.push_str(&self.sizes("On-disk", &self.by_stored));
        out.push_str("\nFile type distribution:\n");
        out.push_str(&head("type"));
        for (name, count) in ENDINGS.iter().chain(&["others"]).zip(self.by_ending) {
            out.push_str(&self.row(&format!("{name:<17}"), count));
        }
        out
    }

    /// Returns a distribution of sizes.
    fn sizes(&self, title: &str, counts: &[u64; SIZES]) -> String {
        let mut out = format!("\n{title} file size distribution:\n{}", head(">=(KB) .. <(KB) "));
        let mut least = 0;
        for (row, count) in counts.iter().enumerate() {
            let most = 1u64 << row;
            let range = if row + 1 == SIZES { format!("{least:>6} ..") } else { format!("{least:>6} .. {most:<6}") };
            out.push_str(&self.row(&range, *count));
            least = most;
        }
        out
    }

    /// Returns a row with a bar of one sign for each two percent of the regular files.
    fn row(&self, label: &str, count: u64) -> String {
        let files = self.by_type[type_number(NodeType::File)];
        let percent = if files == 0 { 0.0 } else { count as f64 * 100.0 / files as f64 };
        let bar = "#".repeat((percent / 2.0).min(200.0) as usize);
        format!("{label:<16}\t{count:<11} {percent:>8.2}% |{bar:<50}|\n")
    }
}

/// Returns the head of a distribution.
fn head(label: &str) -> String {
    format!("{label:<16} {:>11} {:>16} |{:<50}|\n", "count", "ratio", "distribution")
}

/// Returns the row of a size: the number of bits of its kibibytes.
fn row_of(size: u64) -> usize {
    let bits = u64::BITS - (size >> 10).leading_zeros();
    (bits as usize).min(SIZES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_powers_of_two() {
        let sizes = [0, 1023, 1024, 2047, 2048, (32 << 20) - 1, 32 << 20, u64::MAX];
        assert_eq!(sizes.map(row_of), [0, 0, 1, 1, 2, 15, 16, 16]);
    }
}
