//! The summary of `packline pack --dry-run`.

use packline::requests::DryRun;
use serde_json::{Value, json};

use crate::ui::report;
use crate::ui::size::show_bytes;

pub fn as_text(run: &DryRun) -> String {
    let counts = &run.counts;
    let entries = report::entries(counts.files, counts.directories, counts.symlinks, counts.hard_links, counts.special);
    let errors = if run.errors > 0 { format!("\n{}", report::errors(run.errors)) } else { String::new() };
    format!("dry run: {entries}\n{} of content{errors}", show_bytes(run.content_bytes))
}

pub fn as_json(run: &DryRun) -> Value {
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
