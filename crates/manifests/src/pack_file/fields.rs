//! The fields of every line of a pack file: path, mode, owner, group.

use packline_tree::text::{TextLine, quote};
use packline_tree::{Bytes, Error};

use super::words::Words;

/// Path, mode, owner and group of a line. `None` stands for `*`, which only globs may use.
pub(super) struct Fields {
    pub path: Bytes,
    pub mode: Option<u16>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
}

impl Fields {
    /// Parses the four fields that follow `keyword`.
    pub fn read(place: TextLine<'_>, words: &mut Words<'_>, keyword: &str) -> Result<Fields, Error> {
        let path = place.canonical(&words.require("path")?)?;
        let fields = [words.require("mode")?, words.require("uid")?, words.require("gid")?];
        if keyword == "link" {
            // A hard link has no attributes of its own, and the fields are dummies.
            return Ok(Fields { path, mode: Some(0), uid: Some(0), gid: Some(0) });
        }
        let star = keyword == "glob";
        let [mode, uid, gid] = fields.map(|field| if star && field == b"*" { None } else { Some(field) });
        Ok(Fields {
            path,
            mode: mode.map(|field| octal_mode(place, &field)).transpose()?,
            uid: uid.map(|field| number(place, "uid", &field)).transpose()?,
            gid: gid.map(|field| number(place, "gid", &field)).transpose()?,
        })
    }
}

fn octal_mode(place: TextLine<'_>, field: &[u8]) -> Result<u16, Error> {
    let mode = digits(field).and_then(|digits| u16::from_str_radix(digits, 8).ok());
    let mode = mode.filter(|&mode| mode <= 0o7777);
    mode.ok_or_else(|| place.error(format!("mode {}", quote(field)), "an octal number from 0 to 7777"))
}

/// Parses a decimal number of 32 bits.
pub(super) fn number(place: TextLine<'_>, name: &str, field: &[u8]) -> Result<u32, Error> {
    let number = digits(field).and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| place.error(format!("{name} {}", quote(field)), "a number from 0 to 4294967295"))
}

/// Returns the field as text if it consists of digits only. `str::parse` would accept a sign.
fn digits(field: &[u8]) -> Option<&str> {
    let only = !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    if only { std::str::from_utf8(field).ok() } else { None }
}
