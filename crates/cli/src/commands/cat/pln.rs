//! `packline cat` of a .pln file: its content, or a range of it.

use std::ffi::OsStr;
use std::path::PathBuf;

use packline::PlnUnpackRequest;
use packline::pln::Span;

use crate::args::Args;
use crate::args::image::resources;
use crate::args::scheduling;
use crate::commands::cat::said;
use crate::commands::compress::file::Place;
use crate::table::options::{Opt, Takes};
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::watched;
use crate::ui::size::parse_size;

/// Which bytes.
pub const RANGE: Opt = Opt::with(
    "range",
    "START..END",
    Takes::Text,
    "Of a .pln file: bytes from START, 0 being the first, to before END; either may be left out",
);

/// Prints.
///
/// # Errors
/// Those of the arguments and of the library.
pub fn run(args: &Args, io: &mut Io) -> Result<(), Failure> {
    if args.given("offset") {
        return Err(args.wrong("offset", "has no effect on a .pln file (expected --range)"));
    }
    if !args.operands("PATH...").is_empty() {
        return Err(Failure::usage("a .pln file holds no paths (expected no PATH; --range START..END prints a part)"));
    }
    let scheduled = scheduling::read(args, io)?;
    let path: PathBuf = args.required("IMAGE")?;
    let place = if path.as_os_str() == "-" { Place::Stdin } else { Place::File(path) };
    let request = PlnUnpackRequest {
        span: args.text("range")?.map_or(Ok(Span::ALL), |text| span(args, text))?,
        source: place.source(None, io)?,
        target: io.stdout_target(),
        keep_attributes: false,
        keep_broken: false,
        resources: scheduled.watching(resources(args, io)?),
        temporaries: io.temporaries.clone(),
    };
    watched(io, false, |observer| packline::pln_unpack(request, observer))?;
    said(&scheduled, io);
    scheduled.write(args, io)
}

fn span(args: &Args, text: &str) -> Result<Span, Failure> {
    let wrong = || args.wrong("range", &format!("'{text}' (expected START..END, such as 0..4K, 1M.. or ..512)"));
    let (start, end) = text.split_once("..").ok_or_else(wrong)?;
    let number = |part: &str| parse_size(OsStr::new(part)).map_err(|_| wrong());
    let start = if start.is_empty() { 0 } else { number(start)? };
    if end.is_empty() {
        return Ok(Span { start, length: None });
    }
    let length = number(end)?.checked_sub(start).ok_or_else(wrong)?;
    Ok(Span { start, length: Some(length) })
}
