//! Time, mode, owner and group of a definition.

use packline_tree::text::{TextLine, quote};
use packline_tree::{Error, Meta};

use super::text::{Words, decimal};
use super::{PseudoHost, owner};

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

    pub fn meta(self, default_time: i64) -> Meta {
        let Attributes { mode, uid, gid, time } = self;
        Meta { mode, uid, gid, mtime: time.map_or(default_time, i64::from) }
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
        _ => return Err(place.error(format!("type {}", quote(&kind)), "`d mode uid gid` or `D time mode uid gid`")),
    };
    let attributes = Attributes::read(&mut words, timed, host)?;
    words.end()?;
    Ok(attributes)
}
