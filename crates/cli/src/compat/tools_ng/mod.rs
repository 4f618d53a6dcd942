//! Options, defaults and output shared by the drop-ins of squashfs-tools-ng 1.3.
//!
//! Options and defaults follow tar2sqfs(1) and gensquashfs(1) of that release. packline rejects invalid numbers (`-d uid=x`), which that
//! release reads as 0.

pub mod gensquashfs;
pub mod options;
pub mod rdsquashfs;
pub mod sqfs2tar;
pub mod sqfsdiff;
pub mod tar2sqfs;

use packline::requests::{ImageSummary, WrittenEnd};

use crate::ui::size::show_bytes;

/// Returns the statistics of an image.
pub fn statistics(summary: &ImageSummary) -> String {
    let image = &summary.image;
    let counts = &image.counts;
    let saved = &image.saved;
    let WrittenEnd::SquashFs(end) = &image.end else { return String::new() };
    let ratio = (image.data_bytes * 100).checked_div(image.content_bytes).unwrap_or(100);
    let lines = [
        ("Data bytes read", show_bytes(image.content_bytes)),
        ("Data bytes written", show_bytes(image.data_bytes)),
        ("Data compression ratio", format!("{ratio}%")),
        ("Files", counts.files.to_string()),
        ("Directories", counts.directories.to_string()),
        ("Device files, pipes and sockets", counts.special.to_string()),
        ("Hard links", counts.hard_links.to_string()),
        ("Soft links", counts.symlinks.to_string()),
        ("Data blocks written", image.blocks.to_string()),
        ("Fragment blocks written", image.fragments.to_string()),
        ("Duplicate files omitted", saved.duplicate_files.to_string()),
        ("Duplicate blocks omitted", (saved.duplicate_blocks - saved.copied_blocks).to_string()),
        ("Duplicate fragments omitted", saved.duplicate_tails.to_string()),
        ("Bytes of holes omitted", saved.sparse_bytes.to_string()),
        ("Total number of inodes", end.inodes.to_string()),
        ("Number of unique group/user IDs", end.ids.to_string()),
    ];
    lines.iter().map(|(what, value)| format!("{what}: {value}\n")).collect()
}
