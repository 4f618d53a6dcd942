//! `packline pack` to a .lrz file: a directory as a tar, or a tar, without what it was compressed with.

use std::fs::File;
use std::path::Path;

use packline::lrz::{BackEnd, WriteOptions, Written};
use packline::{Format, LrzRequest, LrzSource, SourceSpec};
use serde_json::{Value, json};

use crate::args::Args;
use crate::args::scheduling;
use crate::commands::pack;
use crate::commands::unpack;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::watched;
use crate::ui::size::show_bytes;

/// Options that mean something for a .lrz file; those of images alone are refused.
const HONOURED: &[&str] = &[
    "codec",
    "exclude",
    "one-file-system",
    "no-hard-links",
    "no-xattrs",
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
const CODECS: &str = "none, gzip, bzip2, lzo, lzma or zpaq, with :level=1 to :level=9";

/// Whether the output is a .lrz file: by `--format`, or else by its name.
pub fn is_wanted(args: &Args) -> Result<bool, Failure> {
    let output = args.required("IMAGE")?;
    Ok(pack::format(args, &output)? == Format::Lrz)
}

/// Packs.
pub fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    if let Some(long) = args.given_beside(&[HONOURED, scheduling::NAMES].concat()) {
        return Err(args.wrong(long, "only an image can be packed so (the output is a .lrz file)"));
    }
    if args.required("IMAGE")?.as_os_str() == "-" && args.flag("json") {
        return Err(args.wrong("json", "standard output is taken by the .lrz file"));
    }
    let bar = !args.flag("no-progress") && !args.flag("quiet");
    let scheduled = scheduling::read(args, io)?;
    let mut request = request(args, io)?;
    request.resources = scheduled.watching(request.resources);
    let written = watched(io, bar, |observer| packline::lrz_pack(request, observer))?;
    scheduled.say(args, as_json(&written), as_text(&written), io);
    scheduled.write_beside(args, io);
    Ok(())
}

fn request(args: &Args, io: &mut Io) -> Result<LrzRequest, Failure> {
    let resources = packline::Resources { scratch: Some(io.host.scratch.clone()), ..pack::resources(args, io)? };
    let resources = packline::Resources { memory: args.size("mem")?.or(io.host.third_of_memory()), ..resources };
    let (options, path) = (options(args)?, args.required("IMAGE")?);
    let (source, _) = pack::source(args, io, &resources)?;
    let source = match source {
        SourceSpec::Directory { path, options } => LrzSource::Directory { path, options, prefix: Vec::new() },
        SourceSpec::TarFile { path } => LrzSource::Tar(path.escaped(), Box::new(open(&path)?)),
        SourceSpec::TarStream { name, stream } => LrzSource::Tar(name, stream),
        SourceSpec::Entries { name, .. } => return Err(Failure::failed(format!("{name}: no directory and no tar"))),
    };
    for long in ["exclude", "no-xattrs"] {
        if args.given(long) && !matches!(source, LrzSource::Directory { .. }) {
            return Err(args.wrong(long, "a tar is packed into a .lrz file as it is"));
        }
    }
    Ok(LrzRequest {
        source,
        target: unpack::tar::target(args, io, path)?,
        options,
        keep_attributes: false,
        resources,
        temporaries: io.temporaries.clone(),
    })
}

fn open(path: &Path) -> Result<File, Failure> {
    File::open(path).map_err(|cause| Failure::failed(format!("{}: cannot open: {cause}", path.escaped())))
}

/// `--codec`; without it LZMA.
fn options(args: &Args) -> Result<WriteOptions, Failure> {
    let mut options = WriteOptions::default();
    let Some(text) = args.text("codec")?.filter(|_| args.given("codec")) else { return Ok(options) };
    let wrong = || args.wrong("codec", &format!("'{text}' (expected {CODECS})"));
    let (name, parameters) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
    options.back_end = BackEnd::ALL.into_iter().find(|back_end| back_end.name() == name).ok_or_else(wrong)?;
    if let Some(parameters) = parameters {
        let level = parameters.strip_prefix("level=").and_then(|level| level.parse().ok());
        options.level = level.filter(|level| (1..=9).contains(level)).ok_or_else(wrong)?;
    }
    Ok(options)
}

fn as_text(written: &Written) -> String {
    let percent = written.stored as f64 * 100.0 / written.plain.max(1) as f64;
    let (plain, stored) = (show_bytes(written.plain), show_bytes(written.stored));
    let (chunks, workers) = (written.chunks, written.workers);
    format!("lrz: {plain} of tar, {stored} written ({percent:.1}%), {chunks} chunks, {workers} workers")
}

fn as_json(written: &Written) -> Value {
    json!({
        "format": Format::Lrz.name(),
        "tar_bytes": written.plain,
        "output_bytes": written.stored,
        "chunks": written.chunks,
        "matches": written.matches,
        "match_bytes": written.match_bytes,
        "literal_bytes": written.literal_bytes,
        "md5": crate::compat::lrzip::hex(&written.md5),
        "workers": written.workers,
    })
}
