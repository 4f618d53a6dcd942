//! `packline info` of a tar, a cpio or a zip archive shows its entry counts, and the compression of a tar or a cpio archive.

use packline::requests::Archive;
use packline::requests::ContentKind;
use packline_archives::tar::TarOptions;
use packline_image::TreeCounts;
use packline_tree::{Entry, Kind};
use serde_json::json;

use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::report;
use crate::ui::size::both;

/// Counts all entries of the archive, including those that a later entry replaces.
pub fn run(archive: &mut Archive, json: bool, io: &mut Io) -> Result<(), Failure> {
    let mut counts = TreeCounts::default();
    let mut size = 0;
    let mut format = "";
    let compression = match archive.content_kind() {
        ContentKind::Compressed(compression) => Some(compression.to_string()),
        _ => None,
    };
    let warnings = archive.read_tar(TarOptions::default(), &io.host.resources(), &mut |source| {
        while let Some(entry) = source.next_entry()? {
            count(&mut counts, &entry);
        }
        format = source.format();
        let (consumed, total) = source.progress();
        size = total.unwrap_or(consumed);
        Ok(())
    })?;
    warnings.iter().for_each(|warning| io.warn(warning));
    let shown = Shown { format, compression };
    let text = if json { object(&counts, shown, size) } else { text(&counts, shown, size) };
    io.print_as(json, &format!("{text}\n"))
}

/// Values that are shown besides counts and size.
struct Shown {
    format: &'static str,
    /// The compression of a tar or a cpio archive. In a zip archive, each entry has its own.
    compression: Option<String>,
}

fn count(counts: &mut TreeCounts, entry: &Entry) {
    counts.with_xattrs += u64::from(!entry.xattrs.is_empty());
    let number = match &entry.kind {
        Kind::File { size } => {
            counts.content_bytes = counts.content_bytes.saturating_add(*size);
            &mut counts.files
        }
        Kind::Dir => &mut counts.directories,
        Kind::Symlink(_) => &mut counts.symlinks,
        Kind::HardLink(_) => &mut counts.hard_links,
        Kind::BlockDevice(_) | Kind::CharDevice(_) => &mut counts.devices,
        Kind::Fifo => &mut counts.fifos,
        Kind::Socket => &mut counts.sockets,
    };
    *number += 1;
}

fn text(counts: &TreeCounts, shown: Shown, size: u64) -> String {
    let Shown { format, compression } = shown;
    let special = counts.devices + counts.fifos + counts.sockets;
    let percent = size as f64 * 100.0 / counts.content_bytes.max(1) as f64;
    let ratio = if size < counts.content_bytes { format!(" ({percent:.1}% of the content)") } else { String::new() };
    let mut lines = vec![("Format", format.to_string())];
    if format != "zip" {
        lines.push(("Compression", compression.unwrap_or_else(|| "none".to_string())));
    }
    lines.extend([
        ("Size", both(size) + &ratio),
        ("Entries", report::entries(counts.files, counts.directories, counts.symlinks, counts.hard_links, special)),
        ("Content", both(counts.content_bytes)),
    ]);
    lines.extend((counts.with_xattrs > 0).then(|| ("With xattrs", counts.with_xattrs.to_string())));
    let lines: Vec<String> =
        lines.into_iter().map(|(what, value)| format!("{:<12} {value}", format!("{what}:"))).collect();
    lines.join("\n")
}

fn object(counts: &TreeCounts, shown: Shown, size: u64) -> String {
    json!({
        "format": shown.format,
        "compression": shown.compression,
        "size": size,
        "files": counts.files,
        "directories": counts.directories,
        "symlinks": counts.symlinks,
        "hard_links": counts.hard_links,
        "devices": counts.devices,
        "fifos": counts.fifos,
        "sockets": counts.sockets,
        "with_xattrs": counts.with_xattrs,
        "content_bytes": counts.content_bytes,
    })
    .to_string()
}
