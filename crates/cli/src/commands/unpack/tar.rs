//! `packline unpack` to a tar: which destinations are tars, and what is asked of one.

use std::path::{Path, PathBuf};

use packline::Output;
use packline::requests::FileKind;
use packline_codec::StreamSpec;
use packline_image::{TarOutRequest, TarScope, TarSummary, tar_out};
use serde_json::{Value, json};

use super::{Outcome, Unpack};
use crate::args::run_options::RunOptions;
use crate::args::wrong;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::watched;
use crate::ui::size::{count, show_bytes};

/// Whether a destination's name is that of a tar, rather than of a directory.
///
/// # Errors
/// [`Failure::Usage`] for the name of something that is not written.
pub fn is_name_of_tar(destination: &Path) -> Result<bool, Failure> {
    if destination.as_os_str() == "-" || is_directory(destination) {
        return Ok(!is_directory(destination));
    }
    match FileKind::of_path(destination) {
        None => Ok(false),
        Some(FileKind::Tar(_)) => Ok(true),
        Some(kind) => Err(not_written(destination, kind, "--to chooses one for any name")),
    }
}

fn is_directory(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/") || path.is_dir()
}

fn not_written(path: &Path, kind: FileKind, way_out: &str) -> Failure {
    let expected = "a directory, or a tar: .tar, .tar.gz, .tar.xz, .tar.zst, .tar.bz2";
    Failure::usage(format!(
        "{}: the name is that of {kind}, which is not written (expected {expected}; {way_out})",
        path.escaped()
    ))
}

/// Unpacks to a tar.
pub fn run(unpack: &Unpack, destination: PathBuf, options: &RunOptions, io: &mut Io) -> Result<Outcome, Failure> {
    let mut request = request(unpack, &destination, io)?;
    request.resources = options.apply(request.resources);
    let summary = watched(io, unpack.reporting.bar(), |observer| tar_out(request, observer))?;
    options.report((unpack.reporting.json, unpack.reporting.quiet), as_json(&summary), as_text(&summary), io);
    Ok(if summary.damaged > 0 || summary.unmatched { Outcome::WithErrors } else { Outcome::Whole })
}

fn request(unpack: &Unpack, destination: &Path, io: &mut Io) -> Result<TarOutRequest, Failure> {
    let (compression, scope) = (compression(unpack, destination)?, scope(unpack)?);
    let target = target(destination, unpack.output.force, &unpack.place.image, io)?;
    Ok(TarOutRequest {
        compression,
        scope,
        xattrs: !unpack.attributes.no_xattrs,
        sparse: !unpack.entries.no_sparse,
        continue_on_error: unpack.entries.continue_on_error,
        resources: unpack.machine.resources(&io.host),
        temporaries: io.temporaries.clone(),
        ..TarOutRequest::new(unpack.place.place(), target)
    })
}

/// Where a tar or a .lrz file that is made of `input` goes.
pub(crate) fn target(path: &Path, force: bool, input: &Path, io: &mut Io) -> Result<Output, Failure> {
    if path.as_os_str() != "-" {
        return Ok(Output::File { path: path.to_path_buf(), force });
    }
    if io.out_terminal {
        return Err(Failure::failed("standard output is a terminal (expected a file or a pipe)"));
    }
    io.refuse_input(input)?;
    Ok(io.stdout_target())
}

/// `--compress`, or what the name ends in.
fn compression(unpack: &Unpack, destination: &Path) -> Result<Option<StreamSpec>, Failure> {
    match unpack.output.compress.as_deref() {
        Some("none") => Ok(None),
        Some(text) => StreamSpec::parse(text).map(Some).map_err(|error| wrong("compress", error)),
        None => match FileKind::of_path(destination) {
            Some(kind @ FileKind::OtherTar(_)) => {
                Err(not_written(destination, kind, "--compress chooses for any name"))
            }
            kind => Ok(kind.and_then(FileKind::stream).map(StreamSpec::new)),
        },
    }
}

fn scope(unpack: &Unpack) -> Result<TarScope, Failure> {
    let directory = unpack.entries.subdirectory()?;
    let selection = unpack.entries.exclude.selection(&unpack.patterns)?;
    if directory.is_empty() {
        return Ok(TarScope::Selected(selection));
    }
    if !unpack.patterns.is_empty() || !unpack.entries.exclude.is_empty() {
        return Err(wrong("subdir", "cannot be used with patterns or --exclude where DEST is a tar"));
    }
    Ok(TarScope::Below { directories: vec![directory], keep: false })
}

fn as_text(summary: &TarSummary) -> String {
    let damaged = if summary.damaged > 0 { format!(", {} damaged", summary.damaged) } else { String::new() };
    format!(
        "{}{damaged}, {} of content, {} written, {}",
        count(summary.entries, "entry"),
        show_bytes(summary.content_bytes),
        show_bytes(summary.output_bytes),
        count(summary.workers as u64, "worker")
    )
}

fn as_json(summary: &TarSummary) -> Value {
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
