//! Extraction to a directory.

use packline::{Resources, RestoreAttributes, Selection};
use packline_image::{OpenedImage, UnpackCounts, UnpackRequest, unpack};
use packline_runtime::Observer;

use super::Unsquashfs;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

impl Unsquashfs {
    /// Extracts the selected entries, and prints the counts.
    pub(super) fn extract(
        &self,
        image: &OpenedImage,
        selection: Selection,
        resources: Resources,
        io: &mut Io,
    ) -> Result<(), Failure> {
        let mut request = UnpackRequest::new(packline_image::ImagePlace {
            path: self.image.clone(),
            offset: Some(self.machine.offset),
        });
        let _ = image;
        (request.force, request.selection, request.resources) = (self.filter.force, selection, resources);
        request.continue_on_error = self.errors.ignore_errors;
        let root = rustix::process::geteuid().is_root();
        request.restore = RestoreAttributes { owners: root, set_id: root, ..RestoreAttributes::ALL };
        request.temporaries = io.temporaries.clone();
        let summary = unpack(request, self.filter.dest.clone(), &mut Messages { io })?;
        if !self.listing.quiet {
            io.print(&created(&summary.counts))?;
        }
        self.errors.ended(summary.counts.errors > 0)
    }
}

fn created(counts: &UnpackCounts) -> String {
    let lines = [
        (counts.files, "file", "files"),
        (counts.directories, "directory", "directories"),
        (counts.symlinks, "symlink", "symlinks"),
        (counts.hard_links, "hardlink", "hardlinks"),
    ];
    let line =
        |(count, one, many): (u64, &str, &str)| format!("created {count} {}\n", if count == 1 { one } else { many });
    let lines: String = lines.into_iter().map(line).collect();
    format!("\n{lines}")
}

struct Messages<'m> {
    io: &'m mut Io,
}

impl Observer for Messages<'_> {
    fn problem(&mut self, error: &dyn std::error::Error) {
        self.io.eprintln(&format!("unsquashfs: {error}"));
    }

    fn warning(&mut self, message: &str) {
        self.io.eprintln(&format!("unsquashfs: {message}"));
    }
}
