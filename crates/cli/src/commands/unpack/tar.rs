//! `packline unpack` to a tar: which destinations are tars, and what is asked of one.

use std::path::{Path, PathBuf};

use packline::codec::StreamSpec;
use packline::{FileKind, TarOutRequest, TarScope, TarSummary, TarTarget, tar_out};
use serde_json::{Value, json};

use crate::args::Args;
use crate::args::image;
use crate::args::patterns;
use crate::args::scheduling;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::watched;
use crate::ui::size::show_bytes;

/// Options that say how a directory is written.
const OF_DIRECTORIES: &[&str] = &["owner", "no-owner", "no-times", "no-devices", "dedupe", "sync"];

/// Whether the destination is a tar: by `--to`, or else by its name, unless it is or must be a directory.
///
/// # Errors
/// [`Failure::Usage`] for the name of something that is not written.
pub fn is_wanted(args: &Args) -> Result<bool, Failure> {
    let destination = args.required("DEST")?;
    match args.text("to")? {
        Some(word) => Ok(word == "tar"),
        None if destination.as_os_str() == "-" => Ok(true),
        None if is_directory(&destination) => Ok(false),
        None => match FileKind::of_path(&destination) {
            None => Ok(false),
            Some(FileKind::Tar(_)) => Ok(true),
            Some(kind) => Err(not_written(&destination, kind, "--to chooses one for any name")),
        },
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
pub fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    if let Some(long) = OF_DIRECTORIES.iter().find(|long| args.given(long)) {
        return Err(args.wrong(long, "only a directory can be unpacked so (DEST is a tar)"));
    }
    let (quiet, bar, json) = (args.flag("quiet"), !args.flag("no-progress"), args.flag("json"));
    let destination = args.required("DEST")?;
    let stream = destination.as_os_str() == "-";
    if stream && json {
        return Err(args.wrong("json", "standard output is taken by the tar"));
    }
    let scheduled = scheduling::read(args, io)?;
    let mut request = request(args, io, destination)?;
    request.resources = scheduled.watching(request.resources);
    let summary = watched(io, bar && !quiet, |observer| tar_out(request, observer))?;
    scheduled.say(args, as_json(&summary), as_text(&summary), io);
    scheduled.write_beside(args, io);
    if summary.damaged > 0 || summary.unmatched { Err(Failure::Said(2)) } else { Ok(()) }
}

fn request(args: &Args, io: &mut Io, destination: PathBuf) -> Result<TarOutRequest, Failure> {
    let image = image::place(args)?;
    let (compression, scope) = (compression(args, &destination)?, scope(args)?);
    let resources = image::resources(args, io)?;
    let target = target(&destination, args.flag("force"), &args.required("IMAGE")?, io)?;
    Ok(TarOutRequest {
        compression,
        scope,
        xattrs: !args.flag("no-xattrs"),
        sparse: !args.flag("no-sparse"),
        keep_going: args.flag("continue"),
        resources,
        temporaries: io.temporaries.clone(),
        ..TarOutRequest::new(image, target)
    })
}

/// Where a tar or a .lrz file that is made of `input` goes.
pub(crate) fn target(path: &Path, force: bool, input: &Path, io: &mut Io) -> Result<TarTarget, Failure> {
    if path.as_os_str() != "-" {
        return Ok(TarTarget::File { path: path.to_path_buf(), force });
    }
    if io.out_terminal {
        return Err(Failure::failed("standard output is a terminal (expected a file or a pipe)"));
    }
    io.refuse_input(input)?;
    Ok(io.stdout_target())
}

/// `--compress`, or what the name ends in.
fn compression(args: &Args, destination: &Path) -> Result<Option<StreamSpec>, Failure> {
    match args.text("compress")? {
        Some("none") => Ok(None),
        Some(text) => StreamSpec::parse(text).map(Some).map_err(|error| args.wrong("compress", &error.to_string())),
        None => match FileKind::of_path(destination) {
            Some(kind @ FileKind::OtherTar(_)) => {
                Err(not_written(destination, kind, "--compress chooses for any name"))
            }
            kind => Ok(kind.and_then(FileKind::stream).map(StreamSpec::new)),
        },
    }
}

fn scope(args: &Args) -> Result<TarScope, Failure> {
    let directory = crate::commands::unpack::subdirectory(args)?;
    if directory.is_empty() {
        return Ok(TarScope::Selected(patterns::selection(args)?));
    }
    if args.given("exclude") || !args.operands("PATTERN...").is_empty() {
        return Err(args.wrong("subdir", "cannot be used with patterns or --exclude where DEST is a tar"));
    }
    Ok(TarScope::Below { directories: vec![directory], keep: false })
}

fn as_text(summary: &TarSummary) -> String {
    let damaged = if summary.damaged > 0 { format!(", {} damaged", summary.damaged) } else { String::new() };
    format!(
        "{} entries{damaged}, {} of content, {} written, {} workers",
        summary.entries,
        show_bytes(summary.content_bytes),
        show_bytes(summary.output_bytes),
        summary.workers
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
        "fragment_blocks_put_away": summary.fragments.put_away,
        "workers": summary.workers,
        "workers_wanted": summary.workers_wanted,
    })
}
