//! `packline pack` to a tar: the options with an effect, and the summary.

use std::path::Path;

use packline::Container;
use packline::requests::{FileKind, PackedTar, TarRequest};
use packline_codec::StreamSpec;
use serde_json::{Value, json};

use super::options::Layout;
use crate::args::run_options::NAMES;
use crate::args::{Invocation, wrong};
use crate::ui::failure::Failure;
use crate::ui::report;
use crate::ui::size::{count, show_bytes, show_ratio};

/// The options with an effect on every tar, also on the one in a .lrz file; options for images are rejected.
pub(super) const OF_ANY_TAR: &[&str] = &[
    "codec",
    "exclude",
    "exclude-from",
    "files-from",
    "null",
    "one-file-system",
    "dereference",
    "no-hard-links",
    "no-xattrs",
    "overlay",
    "whiteouts",
    "remove",
    "platform",
    "registry-insecure",
    "identity",
    "passphrase-file",
    "readers",
    "jobs",
    "mem",
    "serial",
    "force",
    "format",
    "quiet",
    "no-progress",
    "json",
];

/// The options with an effect on a tar outside a .lrz file.
const HONOURED: &[&str] = &[
    "no-sparse",
    "time",
    "order",
    "root-becomes",
    "no-symlink-retarget",
    "continue",
    "lenient",
    "ignore-zeros",
    "all-root",
    "uid",
    "gid",
    "mtime",
    "rootless-owners",
    "owner-map",
    "file-contexts",
    "xattrs-include",
    "xattrs-exclude",
    "manifest",
    "run-commands",
    "dry-run",
    "recipient",
    "recipients-file",
    "passphrase",
    "verbose",
];

/// Rejects options without effect on a tar.
pub fn refuse_options(invocation: &Invocation) -> Result<(), Failure> {
    match invocation.explicit_except(&[OF_ANY_TAR, HONOURED, &NAMES].concat()) {
        Some("verify") => {
            Err(wrong("verify", "works only with an image; 'packline verify TAR' reads a tar to its end"))
        }
        Some(long) => Err(wrong(long, "works only with an image, not with a tar")),
        None => Ok(()),
    }
}

/// Sets the options of a tar that is written to `path`. Without `--codec`, the ending of the name chooses the compression.
pub fn apply(tar: &mut TarRequest, path: &Path, layout: &Layout, invocation: &Invocation) {
    if !invocation.has("codec") {
        tar.compression = FileKind::of_path(path).and_then(FileKind::stream).map(StreamSpec::new);
    }
    tar.no_xattrs = layout.no_xattrs;
    tar.no_sparse = layout.no_sparse;
}

pub fn as_text(packed: &PackedTar, peak: Option<u64>) -> String {
    let counts = &packed.counts;
    let entries = report::entries(counts.files, counts.directories, counts.symlinks, counts.hard_links, counts.special);
    let tar = show_bytes(packed.tar_bytes);
    let ratio = show_ratio(packed.output_bytes, packed.tar_bytes);
    let mut lines = vec![
        format!("tar: {entries}"),
        format!(
            "size: {} in, {tar} of tar, {} out{ratio}",
            show_bytes(packed.content_bytes),
            show_bytes(packed.output_bytes)
        ),
    ];
    lines.extend((packed.sockets > 0).then(|| format!("left out: {}", count(packed.sockets, "socket"))));
    lines.extend((packed.warnings > 0).then(|| format!("warnings: {}", packed.warnings)));
    lines.extend((packed.errors > 0).then(|| report::errors(packed.errors)));
    lines.extend((packed.replaced > 0).then(|| format!("replaced: {}", count(packed.replaced, "entry"))));
    lines.push(format!("run: {}", report::workers(packed.workers, packed.workers_wanted, peak)));
    let lines: Vec<String> = lines.iter().map(|line| report::aligned(line)).collect();
    lines.join("\n")
}

pub fn as_json(packed: &PackedTar, peak: Option<u64>) -> Value {
    let counts = &packed.counts;
    json!({
        "format": Container::Tar.name(),
        "files": counts.files,
        "directories": counts.directories,
        "symlinks": counts.symlinks,
        "hard_links": counts.hard_links,
        "special": counts.special,
        "sockets_left_out": packed.sockets,
        "content_bytes": packed.content_bytes,
        "source_bytes": packed.source_bytes,
        "tar_bytes": packed.tar_bytes,
        "output_bytes": packed.output_bytes,
        "errors": packed.errors,
        "warnings": packed.warnings,
        "replaced": packed.replaced,
        "workers": packed.workers,
        "workers_wanted": packed.workers_wanted,
        "peak_memory_bytes": peak,
    })
}
