//! The summary of a pack, for people and as JSON.

use packline::requests::{DryRun, ImageSummary, WrittenEnd};
use packline_cache::Counts;
use packline_engine::RunStats;
use packline_pln::Written;
use serde_json::{Value, json};

use crate::ui::counters;
use crate::ui::elapsed::{Elapsed, show_time};
use crate::ui::escape::escaped_path;
use crate::ui::hash_tree;
use crate::ui::size::{count, show_bytes, show_ratio};

/// The time of the complete pack, and the time of reading the image back, if requested.
pub type Times = (Elapsed, Option<Elapsed>);

/// What a summary has besides its usual lines.
#[derive(Debug, Clone, Copy)]
pub struct Details {
    /// Counters of the workers, and sizes of tables.
    pub stats: bool,
    /// Times that lose their fractions.
    pub verbose: bool,
}

/// The column of the values in a summary, after their labels.
const VALUES: usize = 11;

/// Returns a few lines of text, each with a label. `peak` is the peak memory of the process in bytes.
pub fn text(summary: &ImageSummary, peak: Option<u64>, (elapsed, verified): Times, details: Details) -> String {
    let image = &summary.image;
    let counts = &image.counts;
    let name = image.end.container().name();
    let size = format!(
        "size: {} in, {} out{}",
        show_bytes(image.content_bytes),
        show_bytes(summary.output_bytes),
        show_ratio(summary.output_bytes, image.content_bytes)
    );
    let mut lines = vec![
        format!(
            "{name}: {}",
            entries(counts.files, counts.directories, counts.symlinks, counts.hard_links, counts.special)
        ),
        size,
    ];
    lines.extend(saved(summary));
    lines.extend((image.blocks + image.fragments > 0).then(|| stored(summary)));
    lines.extend(truncated(summary).filter(|_| details.verbose));
    lines.extend((summary.warnings > 0).then(|| format!("warnings: {}", summary.warnings)));
    lines.extend((summary.errors > 0).then(|| errors(summary.errors)));
    lines.extend((summary.replaced > 0).then(|| replaced(summary)));
    if let Some(made) = &summary.verity {
        lines.push(format!("verity: {}", hash_tree::root_hash(made)));
        lines.push(format!("tree: {}", hash_tree::tree(made)));
    }
    lines.extend(based(summary));
    lines.extend(cached(summary));
    lines.extend(read_back(summary, verified));
    lines.push(format!("run: {}, {}", workers(summary.workers, summary.workers_wanted, peak), elapsed.text()));
    let mut lines: Vec<String> = lines.iter().map(|line| aligned(line)).collect();
    if details.stats {
        lines.push(tables_text(summary));
        lines.extend(counters::text(&counted(summary)));
    }
    lines.into_iter().map(|line| line + "\n").collect()
}

/// Moves the value after a label to its column.
pub fn aligned(line: &str) -> String {
    let (label, value) = line.split_once(": ").unwrap_or((line, ""));
    format!("{:<VALUES$}{value}", format!("{label}:"))
}

/// Returns text about equal content and holes, which take no space.
fn saved(summary: &ImageSummary) -> Option<String> {
    let saved = &summary.image.saved;
    let files = count(saved.duplicate_files, "equal file");
    let parts = [
        (saved.duplicate_files, format!("{files} ({})", show_bytes(saved.duplicate_bytes))),
        (saved.duplicate_blocks, count(saved.duplicate_blocks, "equal block")),
        (saved.duplicate_tails, count(saved.duplicate_tails, "equal tail end")),
        (saved.sparse_bytes, format!("{} of holes", show_bytes(saved.sparse_bytes))),
    ];
    let parts: Vec<String> = parts.into_iter().filter_map(|(number, text)| (number > 0).then_some(text)).collect();
    (!parts.is_empty()).then(|| format!("saved: {}", parts.join(", ")))
}

/// Returns text about fractions of a second, which nearly every source has.
fn truncated(summary: &ImageSummary) -> Option<String> {
    let entries = summary.times.truncated;
    (entries > 0).then(|| format!("times: the fractions of a second of {} are not stored", count(entries, "entry")))
}

/// Returns text about the blocks in the image.
fn stored(summary: &ImageSummary) -> String {
    let image = &summary.image;
    let fragments = match image.fragments {
        0 => String::new(),
        number => {
            let tails = count(image.saved.stored_tails, "tail end");
            format!(", {} with {tails}", count(number, "fragment block"))
        }
    };
    format!("stored: {}{fragments}, {}", count(image.blocks, "block"), count(image.end.inodes(), "inode"))
}

/// Returns text about what was read back, and the time that it took.
pub fn read_back(summary: &ImageSummary, verified: Option<Elapsed>) -> Option<String> {
    let read = summary.image.read_back.as_ref()?;
    let verified = verified?;
    let parts = count(read.parts, "part");
    Some(format!("verified: {parts} ({}) match the packed content, {}", show_bytes(read.bytes), verified.text()))
}

/// Returns text about the blocks that were found in the cache.
pub fn cached(summary: &ImageSummary) -> Option<String> {
    summary.cache.as_ref().map(cached_text)
}

pub fn cached_text(counts: &Counts) -> String {
    let all = count(counts.found + counts.missed, "block");
    let damaged = counts.damaged;
    let damaged = if damaged > 0 { format!(", {damaged} damaged") } else { String::new() };
    let added = |added, bytes| format!(", {added} added ({})", show_bytes(bytes));
    let local = if counts.has_directory { added(counts.added, counts.added_bytes) } else { String::new() };
    let (from, remote) = match &counts.remote {
        Some(remote) => {
            let added = added(remote.added, remote.added_bytes);
            let waited = show_time(remote.waited);
            (format!(" ({} on the server, waited {waited} for it)", remote.found), format!("{added} on the server"))
        }
        None => (String::new(), String::new()),
    };
    format!("cache: {} of {all} found{from}{local}{remote}{damaged}", counts.found)
}

pub fn cached_json(counts: &Counts) -> Value {
    json!({
        "found": counts.found,
        "missed": counts.missed,
        "damaged": counts.damaged,
        "added": counts.added,
        "added_bytes": counts.added_bytes,
        "server": counts.remote.as_ref().map(|remote| {
            json!({ "found": remote.found, "added": remote.added, "added_bytes": remote.added_bytes, "waited_seconds": remote.waited.as_secs_f64() })
        }),
    })
}

/// Returns text about the blocks that were copied from base images.
fn based(summary: &ImageSummary) -> Option<String> {
    let counts = summary.base.as_ref()?;
    let all = count((summary.image.blocks + summary.image.fragments).max(counts.taken), "block");
    let bytes = show_bytes(counts.taken_bytes);
    let foreign = "; another encoder wrote them, so the image may differ from an image packed without a base";
    Some(format!("base: {} of {all} taken ({bytes}){}", counts.taken, if counts.exact { "" } else { foreign }))
}

/// Returns text about the entries that could not be read.
pub fn errors(errors: u64) -> String {
    format!("errors: {errors} (what could not be read was left out)")
}

/// Returns text about the entries that later layers replaced.
fn replaced(summary: &ImageSummary) -> String {
    let more = if summary.replaced > summary.first_replaced.len() as u64 { ", ..." } else { "" };
    // A name appears twice if three layers have it.
    let mut names: Vec<String> = Vec::new();
    for path in &summary.first_replaced {
        let name = escaped_path(path);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let entries = count(summary.replaced, "entry");
    format!("replaced: {entries} of earlier layers, by later ones ({}{more})", names.join(", "))
}

/// Returns the numbers of entries; only files and directories are shown if there are none.
pub fn entries(files: u64, directories: u64, symlinks: u64, hard_links: u64, special: u64) -> String {
    let mut counts = vec![count(files, "file"), count(directories, "directory")];
    let others = [(symlinks, "symbolic link"), (hard_links, "hard link"), (special, "special file")];
    counts.extend(others.into_iter().filter(|(number, _)| *number > 0).map(|(number, name)| count(number, name)));
    counts.join(", ")
}

/// Returns text about the number of workers and the peak of memory.
pub fn workers(ran: usize, wanted: usize, peak: Option<u64>) -> String {
    let peak = peak.map_or(String::new(), |peak| format!(", {} peak memory", show_bytes(peak)));
    if ran < wanted {
        format!(
            "{ran} of {} (limited by memory or the number of threads allowed){peak}",
            count(wanted as u64, "worker")
        )
    } else {
        format!("{}{peak}", count(ran as u64, "worker"))
    }
}

fn counted(summary: &ImageSummary) -> RunStats {
    let image = &summary.image;
    RunStats {
        pipeline: image.pipeline,
        queues: image.queues.clone(),
        workers: image.workers.clone(),
        budget: summary.window,
    }
}

fn tables_text(summary: &ImageSummary) -> String {
    match &summary.image.end {
        WrittenEnd::SquashFs(end) => format!(
            "tables: inodes {}, directories {}, others {}; {} ids, {} attribute sets",
            show_bytes(end.inode_table),
            show_bytes(end.directory_table),
            show_bytes(end.other_tables),
            end.ids,
            end.xattr_sets
        ),
        WrittenEnd::Erofs(end) => {
            format!(
                "metadata: {}, of which shared attributes {}",
                show_bytes(end.metadata),
                show_bytes(end.shared_xattrs)
            )
        }
    }
}

/// Returns one JSON object on one line.
pub fn json(summary: &ImageSummary, peak: Option<u64>, (elapsed, verified): Times, stats: bool) -> Value {
    let mut object = overview(summary, peak);
    elapsed.put_into(&mut object);
    object["verified_bytes"] = json!(summary.image.read_back.map(|read| read.bytes));
    object["verify_seconds"] = json!(verified.map(|verified| verified.time.as_secs_f64()));
    object["cache"] = summary.cache.as_ref().map_or(Value::Null, cached_json);
    object["base"] = summary.base.as_ref().map_or(Value::Null, |counts| {
        json!({
            "blocks": counts.blocks,
            "taken": counts.taken,
            "taken_bytes": counts.taken_bytes,
            "damaged": counts.damaged,
            "changed": counts.changed,
            "exact": counts.exact,
        })
    });
    if let Some(made) = &summary.verity {
        object["verity"] = hash_tree::object(made);
    }
    if let (true, Some(members)) = (stats, object.as_object_mut()) {
        members.insert("tables".to_string(), tables(summary));
        members.extend(counters::members(&counted(summary)));
    }
    object
}

/// Adds the sizes of the .pln file that has the image or tar as its content.
pub fn add_pln_sizes(object: &mut Value, pln: Option<&Written>) {
    if let Some(written) = pln {
        object["pln_bytes"] = json!(written.physical);
        object["pln_records"] = json!(written.records);
    }
}

/// The line of the summary about the .pln file that has the image or tar as its content; empty without one.
pub fn pln_line(pln: Option<&Written>) -> String {
    let line = |written: &Written| {
        let line = format!("pln: {} in {}", show_bytes(written.physical), count(written.records, "record"));
        aligned(&line) + "\n"
    };
    pln.map(line).unwrap_or_default()
}

fn overview(summary: &ImageSummary, peak: Option<u64>) -> Value {
    let image = &summary.image;
    let counts = &image.counts;
    let saved = &image.saved;
    json!({
        "format": image.end.container().name(),
        "files": counts.files,
        "directories": counts.directories,
        "symlinks": counts.symlinks,
        "hard_links": counts.hard_links,
        "special": counts.special,
        "errors": summary.errors,
        "warnings": summary.warnings,
        "clamped_times": summary.times.clamped,
        "truncated_times": summary.times.truncated,
        "replaced": summary.replaced,
        "inodes": image.end.inodes(),
        "source_bytes": summary.source_bytes,
        "content_bytes": image.content_bytes,
        "data_bytes": image.data_bytes,
        "image_bytes": image.end.bytes_used(),
        "output_bytes": summary.output_bytes,
        "ratio_percent": summary.ratio_percent(),
        "blocks": image.blocks,
        "fragment_blocks": image.fragments,
        "duplicate_files": saved.duplicate_files,
        "duplicate_bytes": saved.duplicate_bytes,
        "duplicate_blocks": saved.duplicate_blocks,
        "copied_blocks": saved.copied_blocks,
        "duplicate_tails": saved.duplicate_tails,
        "stored_tails": saved.stored_tails,
        "sparse_bytes": saved.sparse_bytes,
        "workers": summary.workers,
        "workers_wanted": summary.workers_wanted,
        "peak_memory_bytes": peak,
    })
}

fn tables(summary: &ImageSummary) -> Value {
    match &summary.image.end {
        WrittenEnd::SquashFs(end) => json!({
            "inode_bytes": end.inode_table,
            "directory_bytes": end.directory_table,
            "other_bytes": end.other_tables,
            "ids": end.ids,
            "xattr_sets": end.xattr_sets,
        }),
        WrittenEnd::Erofs(end) => json!({
            "metadata_bytes": end.metadata,
            "shared_xattr_bytes": end.shared_xattrs,
        }),
    }
}

/// Returns the summary of a dry run as text.
pub fn dry_run_text(run: &DryRun) -> String {
    let counts = &run.counts;
    let entries = entries(counts.files, counts.directories, counts.symlinks, counts.hard_links, counts.special);
    let errors = if run.errors > 0 { format!("\n{}", errors(run.errors)) } else { String::new() };
    format!("dry run: {entries}\n{} of content{errors}", show_bytes(run.content_bytes))
}

/// Returns the summary of a dry run as JSON.
pub fn dry_run_json(run: &DryRun) -> Value {
    let counts = &run.counts;
    json!({
        "files": counts.files,
        "directories": counts.directories,
        "symlinks": counts.symlinks,
        "hard_links": counts.hard_links,
        "special": counts.special,
        "content_bytes": run.content_bytes,
        "errors": run.errors,
        "replaced": run.replaced,
    })
}
