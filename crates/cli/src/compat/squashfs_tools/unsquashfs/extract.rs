//! Extracts an image to a directory.

use std::collections::BTreeSet;
use std::sync::Arc;

use packline::requests::SquashFsImage;
use packline::{Observer, Progress, Resources, RestoreAttributes};
use packline_image::{Error, SelectedWalk, Selection, UnpackCounts, UnpackRequest, unpack};
use packline_runtime::escape::Escape;
use packline_runtime::{FailedOutput, Problem};
use packline_volume::Node;

use super::Unsquashfs;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The maximum number of files with several names whose blocks are counted only once.
const SHARED_MOST: usize = 4 << 20;

impl Unsquashfs {
    /// Extracts the selected entries, and prints the counts.
    pub(super) fn extract(
        &self,
        image: &SquashFsImage,
        selection: Selection,
        resources: Resources,
        io: &mut Io,
    ) -> Result<(), Failure> {
        let root = rustix::process::geteuid().is_root();
        let rules = self.attributes.restored(root, &io.host)?;
        if !self.listing.quiet {
            io.remark(&planned(image, &selection, resources.workers)?);
        }
        if self.listing.shows_names() {
            match self.print(image, &selection, self.listing.linfo, io) {
                // The reader of the names is gone, but the tree is still extracted.
                Err(Failure::BrokenPipe) => io.excuse(Err(Failure::BrokenPipe)),
                printed => printed?,
            }
        }
        let xattrs = !self.attributes.no_xattrs;
        let mut request = UnpackRequest::default();
        request.selection = selection;
        request.resources = resources;
        request.force = self.filter.force;
        request.merge = true;
        request.continue_on_error = self.errors.ignore_errors;
        request.lenient = !self.errors.strict_errors;
        request.restore = RestoreAttributes { owners: root, set_id: root, xattrs, ..RestoreAttributes::ALL };
        request.rules = Some(Arc::new(rules));
        request.temporaries = io.temporaries.clone();
        let wants_percentage = self.listing.percentage && !self.listing.no_progress && !self.listing.shows_names();
        let mut messages = Messages { io, percentage: wants_percentage.then_some(u64::MAX) };
        let summary = unpack(image, request, self.filter.dest.clone(), &mut messages);
        let counts = summary.map_err(explained)?.counts;
        messages.print_percentage(100);
        if !self.listing.quiet {
            io.remark(&created(&counts));
        }
        self.errors.ended(counts.errors + counts.xattrs_left_out > 0)
    }
}

/// Returns the lines before an extraction.
fn planned(image: &SquashFsImage, selection: &Selection, workers: usize) -> Result<String, Failure> {
    let block_size = u64::from(image.image.superblock().block_size);
    let mut inodes = 0u64;
    let mut blocks = 0u64;
    let mut shared = BTreeSet::new();
    for visit in SelectedWalk::new(&image.volume, selection) {
        // The extraction itself reports this error.
        let Ok(visit) = visit else { continue };
        inodes += u64::from(!matches!(visit.inode.node, Node::Directory(_)));
        let Node::File(file) = &visit.inode.node else { continue };
        let first = visit.inode.links < 2 || shared.len() == SHARED_MOST || shared.insert(visit.inode.at);
        if first {
            blocks = blocks.saturating_add(file.size.div_ceil(block_size));
        }
    }
    let processors = if workers == 1 { "processor" } else { "processors" };
    Ok(format!("Parallel unsquashfs: Using {workers} {processors}\n{inodes} inodes ({blocks} blocks) to write\n\n"))
}

/// Returns the lines after an extraction.
fn created(counts: &UnpackCounts) -> String {
    let lines = [
        (counts.files, "file", "files"),
        (counts.directories, "directory", "directories"),
        (counts.symlinks, "symlink", "symlinks"),
        (counts.devices, "device", "devices"),
        (counts.fifos, "fifo", "fifos"),
        (counts.special - counts.devices - counts.fifos, "socket", "sockets"),
        (counts.hard_links, "hardlink", "hardlinks"),
    ];
    let line =
        |(count, one, many): (u64, &str, &str)| format!("created {count} {}\n", if count == 1 { one } else { many });
    format!("\n{}", lines.into_iter().map(line).collect::<String>())
}

/// Returns an error in the words that callers search for: `failed to create block device PATH, because CAUSE`.
fn in_words(output: &FailedOutput<'_>) -> Option<String> {
    let action = output.action.strip_prefix("cannot ")?;
    Some(format!("failed to {action} {}, because {}", output.path.escaped(), output.cause))
}

fn explained(error: Error) -> Failure {
    let output = match &error {
        Error::Output { path, action, cause } => Some(FailedOutput { path, action, cause }),
        _ => None,
    };
    output.as_ref().and_then(in_words).map_or_else(|| error.into(), Failure::failed)
}

/// Prints errors that do not stop the extraction, warnings, and the percentage.
struct Messages<'m> {
    io: &'m mut Io,
    /// The percentage printed last, if any.
    percentage: Option<u64>,
}

impl Messages<'_> {
    fn print_percentage(&mut self, percent: u64) {
        if self.percentage.is_some_and(|last| last != percent) {
            self.percentage = Some(percent);
            // A failure to print does not fail the extraction.
            let _: Result<(), Failure> = self.io.print(&format!("{percent}\n"));
        }
    }
}

impl Observer for Messages<'_> {
    fn advance(&mut self, progress: &Progress) {
        let percent = progress.source_total.and_then(|total| (progress.source_bytes * 100).checked_div(total));
        self.print_percentage(percent.unwrap_or(0).min(99));
    }

    fn problem(&mut self, problem: Problem<'_>) {
        let words = problem.output.as_ref().and_then(in_words);
        self.io.eprintln(&format!("unsquashfs: {}", words.unwrap_or_else(|| problem.error.to_string())));
    }

    fn warning(&mut self, message: &str) {
        self.io.eprintln(&format!("unsquashfs: {message}"));
    }
}
