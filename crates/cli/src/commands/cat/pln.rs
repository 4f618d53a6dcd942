//! `packline cat` of a .pln file prints its content, or a range of it.

use std::ffi::OsStr;

use packline::requests::PlnUnpackRequest;
use packline::{Input, Resources};
use packline_pln::Span;

use super::Cat;
use crate::args::wrong;
use crate::ui::failure::Failure;
use crate::ui::io::Io;
use crate::ui::observer::with_observer;
use crate::ui::size::parse_size;

pub fn run(cat: &Cat, input: Input, resources: Resources, io: &mut Io) -> Result<(), Failure> {
    if cat.place.offset.is_given() {
        return Err(wrong("offset", "has no effect on a .pln file (expected --range)"));
    }
    if !cat.paths.is_empty() {
        return Err(wrong("range", "cannot be used with PATH"));
    }
    let mut request = PlnUnpackRequest::new(input, io.stdout_target());
    request.identities = cat.keys.identities(io)?;
    request.span = cat.range.unwrap_or(Span::ALL);
    request.resources = resources;
    with_observer(io, false, |observer| packline::requests::pln_unpack(request, observer))?;
    Ok(())
}

/// Parses `START..END`.
pub fn span(text: &str) -> Result<Span, String> {
    let wrong = || format!("'{text}' is not a range (expected START..END, such as 0..4K, 1M.. or ..512)");
    let (start, end) = text.split_once("..").ok_or_else(wrong)?;
    let number = |part: &str| parse_size(OsStr::new(part)).map_err(|_| wrong());
    let start = if start.is_empty() { 0 } else { number(start)? };
    if end.is_empty() {
        return Ok(Span { start, length: None });
    }
    let length = number(end)?.checked_sub(start).ok_or_else(wrong)?;
    Ok(Span { start, length: Some(length) })
}
