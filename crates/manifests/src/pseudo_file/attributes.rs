//! Attributes of a definition: time, mode, owner, group, and extended attributes: `name=value`, where a prefix of the value can name its encoding.

use super::text::{Words, decimal};
use super::{PseudoHost, owner};
use crate::xattr_file::value::base64;
use packline_runtime::from_hex;
use packline_tree::text::{TextLine, quote};
use packline_tree::{Bytes, Error, Meta, Time, Xattr};

/// The attributes of a definition. The time is optional.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Attributes {
    pub mode: u16,
    pub uid: u32,
    pub gid: u32,
    pub time: Option<u32>,
}

impl Attributes {
    /// Parses the attributes, which begin with a time if `timed`.
    pub fn read(words: &mut Words<'_>, timed: bool, host: &mut dyn PseudoHost) -> Result<Attributes, Error> {
        let time = if timed { Some(read_time(words, host)?) } else { None };
        let place = words.place;
        let mode = words.word("mode")?;
        let digits = mode.iter().all(|digit| matches!(digit, b'0'..=b'7'));
        let octal =
            std::str::from_utf8(&mode).ok().filter(|_| digits).and_then(|mode| u16::from_str_radix(mode, 8).ok());
        let octal = octal.filter(|&octal| octal <= 0o7777);
        let mode =
            octal.ok_or_else(|| place.error(format!("mode {}", quote(&mode)), "an octal number from 0 to 7777"))?;
        let uid = owner(place, "user", &words.word("user")?, &mut |name| host.user(name))?;
        let gid = owner(place, "group", &words.word("group")?, &mut |name| host.group(name))?;
        Ok(Attributes { mode, uid, gid, time })
    }

    pub fn meta(self, default_time: Time) -> Meta {
        let Attributes { mode, uid, gid, time } = self;
        Meta { mode, uid, gid, mtime: time.map_or(default_time, |time| Time::from_seconds(time.into())) }
    }

    /// Replaces the attributes of an entry. The entry keeps its time if the definition has none.
    pub fn apply(self, meta: &mut Meta) {
        *meta = self.meta(meta.mtime);
    }
}

fn read_time(words: &mut Words<'_>, host: &mut dyn PseudoHost) -> Result<u32, Error> {
    let word = words.word("time")?;
    let number = decimal(&word).and_then(|seconds| u32::try_from(seconds).ok());
    let named =
        || std::str::from_utf8(&word).ok().filter(|_| decimal(&word).is_none()).and_then(|text| host.time(text));
    let expected = "seconds since 1970, from 0 to 4294967295, or a date as date(1) takes it";
    number.or_else(named).ok_or_else(|| words.place.error(format!("time {}", quote(&word)), expected))
}

/// Parses the attributes of directories that are created: `d <mode> <uid> <gid>` or `D <time> <mode> <uid> <gid>`.
pub(super) fn parse_default(place: TextLine<'_>, text: &[u8], host: &mut dyn PseudoHost) -> Result<Attributes, Error> {
    let mut words = Words::new(place, text);
    let kind = words.word("type")?;
    let timed = match &kind[..] {
        b"d" => false,
        b"D" => true,
        _ => return Err(place.error(format!("type {}", quote(&kind)), "'d mode uid gid' or 'D time mode uid gid'")),
    };
    let attributes = Attributes::read(&mut words, timed, host)?;
    words.end()?;
    Ok(attributes)
}

/// Parses the text after the type `x`.
pub(super) fn parse_xattr(place: TextLine<'_>, text: &[u8]) -> Result<Xattr, Error> {
    let malformed = || place.error(format!("attribute {}", quote(text)), "name=value");
    let equals = memchr::memchr(b'=', text).filter(|&at| at > 0).ok_or_else(malformed)?;
    let name = &text[..equals];
    let value = &text[equals + 1..];
    if ![&b"user."[..], b"trusted.", b"security."].iter().any(|prefix| name.starts_with(prefix)) {
        return Err(
            place.error(format!("attribute {}", quote(name)), "a name that begins with user., trusted. or security.")
        );
    }
    let (decoded, expected) = decode(value);
    let decoded = decoded.filter(|decoded| !decoded.is_empty());
    let value = decoded.ok_or_else(|| place.error(format!("value {}", quote(value)), expected))?;
    Ok(Xattr { name: name.to_vec(), value })
}

/// Decodes a value. Returns it with the text of what is expected.
fn decode(value: &[u8]) -> (Option<Bytes>, &'static str) {
    match value {
        [b'0', b's' | b'S', digits @ ..] => (base64(digits), "base64 after 0s"),
        [b'0', b'x' | b'X', digits @ ..] => (from_hex(digits), "pairs of hexadecimal digits after 0x"),
        [b'0', b't' | b'T', text @ ..] => (octal(text), "text after 0t, with three octal digits after each '\\'"),
        [b'0', b'b' | b'B', plain @ ..] => (Some(plain.to_vec()), "a value after 0b"),
        plain => (Some(plain.to_vec()), "a value after the '='"),
    }
}

fn octal(mut text: &[u8]) -> Option<Bytes> {
    let mut value = Bytes::with_capacity(text.len());
    while let Some((&byte, rest)) = text.split_first() {
        text = rest;
        value.push(match (byte, rest) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                text = after;
                (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0')
            }
            (b'\\', _) => return None,
            _ => byte,
        });
    }
    Some(value)
}
