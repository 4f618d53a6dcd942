//! What a pack came to, for people and as JSON.

use packline::engine::RunStats;
use packline::{Format, PackSummary};
use serde_json::{Value, json};

use crate::ui::counters;
use crate::ui::size::show_bytes;

/// For people: a few lines. `peak` is the most memory the process has had.
pub fn text(summary: &PackSummary, peak: Option<u64>, stats: bool) -> String {
    let image = &summary.image;
    let (counts, saved) = (&image.counts, &image.saved);
    let mut lines = vec![
        format!(
            "{}: {} files, {} directories, {} links, {} hard links, {} special",
            Format::SquashFs.name(),
            counts.files,
            counts.directories,
            counts.symlinks,
            counts.hard_links,
            counts.special
        ),
        format!("{} in, {} out{}", show_bytes(image.content_bytes), show_bytes(summary.output_bytes), ratio(summary)),
        format!("{} blocks, {} fragment blocks, {} inodes", image.blocks, image.fragments, image.end.inodes),
        format!(
            "found again: {} files ({}), {} blocks, {} tail ends; holes: {}",
            saved.duplicate_files,
            show_bytes(saved.duplicate_bytes),
            saved.duplicate_blocks,
            saved.duplicate_tails,
            show_bytes(saved.sparse_bytes)
        ),
        format!(
            "{}{}",
            workers(summary),
            peak.map_or(String::new(), |peak| format!(", {} of memory at most", show_bytes(peak)))
        ),
    ];
    if stats {
        lines.push(tables_text(summary));
        lines.extend(counters::text(&counted(summary)));
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

fn ratio(summary: &PackSummary) -> String {
    summary.ratio_percent().map_or(String::new(), |percent| format!(" ({percent:.1}%)"))
}

fn workers(summary: &PackSummary) -> String {
    if summary.workers < summary.workers_wanted {
        format!(
            "{} workers, as many as memory and the limit of threads allow of {}",
            summary.workers, summary.workers_wanted
        )
    } else {
        format!("{} workers", summary.workers)
    }
}

fn counted(summary: &PackSummary) -> RunStats {
    let image = &summary.image;
    RunStats {
        pipeline: image.pipeline,
        queues: image.queues.clone(),
        workers: image.workers.clone(),
        budget: summary.window,
    }
}

fn tables_text(summary: &PackSummary) -> String {
    let end = &summary.image.end;
    format!(
        "tables: inodes {}, directories {}, others {}; {} ids, {} attribute sets",
        show_bytes(end.inode_table),
        show_bytes(end.directory_table),
        show_bytes(end.other_tables),
        end.ids,
        end.xattr_sets
    )
}

/// As JSON: one object on one line.
pub fn json(summary: &PackSummary, peak: Option<u64>, stats: bool) -> String {
    let mut object = overview(summary, peak);
    if let (true, Some(members)) = (stats, object.as_object_mut()) {
        members.insert("tables".to_string(), tables(summary));
        members.extend(counters::members(&counted(summary)));
    }
    format!("{object}\n")
}

fn overview(summary: &PackSummary, peak: Option<u64>) -> Value {
    let image = &summary.image;
    let (counts, saved) = (&image.counts, &image.saved);
    json!({
        "format": Format::SquashFs.name(),
        "files": counts.files,
        "directories": counts.directories,
        "symlinks": counts.symlinks,
        "hard_links": counts.hard_links,
        "special": counts.special,
        "inodes": image.end.inodes,
        "source_bytes": summary.source_bytes,
        "content_bytes": image.content_bytes,
        "data_bytes": image.data_bytes,
        "image_bytes": image.end.bytes_used,
        "output_bytes": summary.output_bytes,
        "ratio_percent": summary.ratio_percent(),
        "blocks": image.blocks,
        "fragment_blocks": image.fragments,
        "duplicate_files": saved.duplicate_files,
        "duplicate_bytes": saved.duplicate_bytes,
        "duplicate_blocks": saved.duplicate_blocks,
        "copied_blocks": saved.copied_blocks,
        "duplicate_tails": saved.duplicate_tails,
        "sparse_bytes": saved.sparse_bytes,
        "workers": summary.workers,
        "workers_wanted": summary.workers_wanted,
        "peak_memory_bytes": peak,
    })
}

fn tables(summary: &PackSummary) -> Value {
    let end = &summary.image.end;
    json!({
        "inode_bytes": end.inode_table,
        "directory_bytes": end.directory_table,
        "other_bytes": end.other_tables,
        "ids": end.ids,
        "xattr_sets": end.xattr_sets,
    })
}
