//! `packline pack` to a .lrz file: a directory as a tar, or a tar, without what it was compressed with.

use packline::Container;
use packline::requests::{LrzRequest, LrzSource};
use packline_lrz::{WriteOptions, Written};
use serde_json::{Value, json};

use super::Pack;
use crate::args::reporting::Reporting;
use crate::args::run_options::NAMES;
use crate::args::{Invocation, wrong};
use crate::commands::unpack;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::watched;
use crate::ui::size::{count, show_bytes, show_ratio};

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

/// Packs.
pub fn run(pack: &Pack, invocation: &Invocation, io: &mut Io) -> Result<(), Failure> {
    if let Some(long) = invocation.given_beside(&[HONOURED, &NAMES].concat()) {
        return Err(wrong(long, "not supported for .lrz output"));
    }
    let Reporting { quiet, json, stats, .. } = pack.reporting;
    if pack.image.as_os_str() == "-" && json {
        return Err(wrong("json", "standard output is taken by the .lrz file"));
    }
    let operands = [&*pack.source, &*pack.image];
    let options = pack.scheduling.start(stats, Some(pack.output.force), &operands, io)?;
    let mut request = request(pack, invocation, io)?;
    request.resources = options.apply(request.resources);
    let written = watched(io, pack.reporting.bar(), |observer| packline::requests::lrz_pack(request, observer))?;
    options.report((json, quiet), as_json(&written), as_text(&written), io);
    options.write_trace_or_warn(invocation, io);
    Ok(())
}

fn request(pack: &Pack, invocation: &Invocation, io: &mut Io) -> Result<LrzRequest, Failure> {
    let resources = pack.resources(pack.machine.lrz_resources(&io.host));
    let options = options(pack, invocation)?;
    let (source, _) = pack.source(invocation, io, &resources)?;
    let source = LrzSource::of_tree(source)?;
    for long in ["exclude", "no-xattrs"] {
        if invocation.has(long) && !matches!(source, LrzSource::Directory { .. }) {
            return Err(wrong(long, "a tar is packed into a .lrz file as it is"));
        }
    }
    Ok(LrzRequest {
        source,
        target: unpack::tar::target(&pack.image, pack.output.force, &pack.image, io)?,
        options,
        keep_attributes: false,
        resources,
        temporaries: io.temporaries.clone(),
    })
}

/// `--codec`; without it LZMA.
fn options(pack: &Pack, invocation: &Invocation) -> Result<WriteOptions, Failure> {
    match invocation.has("codec") {
        true => packline::requests::lrz_options(&pack.compression.codec).map_err(|error| wrong("codec", error)),
        false => Ok(WriteOptions::default()),
    }
}

fn as_text(written: &Written) -> String {
    let (plain, stored) = (show_bytes(written.plain), show_bytes(written.stored));
    let ratio = show_ratio(written.stored, written.plain);
    let (chunks, workers) = (count(written.chunks, "chunk"), count(written.workers as u64, "worker"));
    format!("lrz: {plain} of tar, {stored} written{ratio}, {chunks}, {workers}")
}

fn as_json(written: &Written) -> Value {
    json!({
        "format": Container::Lrz.name(),
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
