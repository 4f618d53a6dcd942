//! The summary of `packline unpack`.

use packline::requests::UnpackSummary;
use packline_image::TarSummary;
use serde_json::{Value, json};

use crate::ui::report;
use crate::ui::size::{count, show_bytes};

/// Returns the summary as JSON and as text, the bytes of content, and whether entries failed (they are already reported). `peak` is the
/// peak memory in bytes.
pub fn summary(summary: &UnpackSummary, peak: Option<u64>) -> (Value, String, u64, bool) {
    match summary {
        UnpackSummary::Directory(summary) => {
            let object = directory_object(summary, peak);
            let text = directory_text(summary, peak);
            (object, text, summary.counts.content_bytes, summary.counts.errors > 0)
        }
        UnpackSummary::Tar(summary) => {
            let failed = summary.damaged > 0 || summary.unmatched;
            (tar_object(summary), tar_text(summary), summary.content_bytes, failed)
        }
        UnpackSummary::TarDirectory(counts) => {
            let object = json!({
                "entries": counts.entries,
                "hard_links_copied": counts.hard_links_copied,
                "devices_left_out": counts.devices_left_out,
                "content_bytes": counts.content_bytes,
                "tar_bytes": counts.tar_bytes,
                "errors": counts.errors,
            });
            let entries = count(counts.entries, "entry");
            let errors = if counts.errors > 0 { format!(", {}", count(counts.errors, "error")) } else { String::new() };
            let text = format!("{entries}, {} of content{errors}", show_bytes(counts.content_bytes));
            (object, text, counts.content_bytes, counts.errors > 0)
        }
        UnpackSummary::LrzTar(unpacked) => {
            let object = json!({"tar_bytes": unpacked.plain, "chunks": unpacked.chunks});
            (object, format!("{} of tar", show_bytes(unpacked.plain)), unpacked.plain, false)
        }
    }
}

fn directory_text(summary: &packline_image::UnpackSummary, peak: Option<u64>) -> String {
    let counts = &summary.counts;
    let entries = report::entries(counts.files, counts.directories, counts.symlinks, counts.hard_links, counts.special);
    let mut lines = vec![
        format!("unpacked: {entries}"),
        format!(
            "size: {} of content, {} read, {} written",
            show_bytes(counts.content_bytes),
            show_bytes(counts.read_bytes),
            show_bytes(counts.written_bytes)
        ),
    ];
    if counts.shared > 0 {
        lines.push(format!("equal: {} with the same content as others", count(counts.shared, "file")));
    }
    if counts.hard_links_copied > 0 {
        lines.push(format!("copied: {} written as copies", count(counts.hard_links_copied, "hard link")));
    }
    if counts.damaged_files > 0 {
        lines.push(format!("damaged: {} with zeros instead of damaged content", count(counts.damaged_files, "file")));
    }
    if counts.errors > 0 {
        lines.push(format!("errors: {}", counts.errors));
    }
    lines.push(format!("run: {}", report::workers(summary.workers, summary.workers_wanted, peak)));
    let lines: Vec<String> = lines.iter().map(|line| report::aligned(line)).collect();
    lines.join("\n")
}

fn directory_object(summary: &packline_image::UnpackSummary, peak: Option<u64>) -> Value {
    let counts = &summary.counts;
    json!({
        "files": counts.files,
        "directories": counts.directories,
        "symlinks": counts.symlinks,
        "hard_links": counts.hard_links,
        "hard_links_copied": counts.hard_links_copied,
        "special": counts.special,
        "devices_left_out": counts.devices_left_out,
        "shared_files": counts.shared,
        "content_bytes": counts.content_bytes,
        "read_bytes": counts.read_bytes,
        "written_bytes": counts.written_bytes,
        "fragment_blocks_decoded": counts.fragments.decoded,
        "fragment_blocks_put_away": counts.fragments.spilled,
        "errors": counts.errors,
        "damaged_files": counts.damaged_files,
        "workers": summary.workers,
        "workers_wanted": summary.workers_wanted,
        "peak_memory_bytes": peak,
    })
}

fn tar_text(summary: &TarSummary) -> String {
    let damaged = if summary.damaged > 0 { format!(", {} damaged", summary.damaged) } else { String::new() };
    format!(
        "{}{damaged}, {} of content, {} written, {}",
        count(summary.entries, "entry"),
        show_bytes(summary.content_bytes),
        show_bytes(summary.output_bytes),
        count(summary.workers as u64, "worker")
    )
}

fn tar_object(summary: &TarSummary) -> Value {
    json!({
        "entries": summary.entries,
        "skipped": summary.skipped,
        "damaged": summary.damaged,
        "content_bytes": summary.content_bytes,
        "tar_bytes": summary.tar_bytes,
        "output_bytes": summary.output_bytes,
        "fragment_blocks_decoded": summary.fragments.decoded,
        "fragment_blocks_put_away": summary.fragments.spilled,
        "workers": summary.workers,
        "workers_wanted": summary.workers_wanted,
    })
}
