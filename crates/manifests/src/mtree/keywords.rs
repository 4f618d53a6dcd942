//! The keywords of a line and their values.

use std::sync::Arc;

use packline_tree::path::MAX_TARGET;
use packline_tree::text::{TextLine, quote};
use packline_tree::{Device, Error, Time};

use super::unescaped;
use crate::PseudoHost;

/// Keywords that have a value but no effect.
const WITHOUT_EFFECT: [&[u8]; 14] = [
    b"cksum",
    b"flags",
    b"md5",
    b"md5digest",
    b"rmd160",
    b"rmd160digest",
    b"ripemd160digest",
    b"sha1",
    b"sha1digest",
    b"sha256",
    b"sha256digest",
    b"sha384",
    b"sha384digest",
    b"tags",
];
/// More keywords without effect: digests by SHA-512.
const SHA512: [&[u8]; 2] = [b"sha512", b"sha512digest"];

const EXPECTED: &str = "type=, mode=, uid=, gid=, uname=, gname=, time=, link=, contents=, size=, device=, nlink=, inode=, resdevice=, \
                        flags=, tags=, cksum=, a digest, or optional, nochange, ignore without a value";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Block,
    Char,
    Dir,
    Fifo,
    File,
    Link,
    Socket,
}

impl Type {
    fn parse(word: &[u8]) -> Option<Type> {
        Some(match word {
            b"block" => Type::Block,
            b"char" => Type::Char,
            b"dir" => Type::Dir,
            b"fifo" => Type::Fifo,
            b"file" => Type::File,
            b"link" => Type::Link,
            b"socket" => Type::Socket,
            _ => return None,
        })
    }
}

/// The number of an owner, and the number that its name stands for. The name is used only if there is no number.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Owner {
    number: Option<u32>,
    named: Option<u32>,
}

impl Owner {
    pub fn id(self) -> Option<u32> {
        self.number.or(self.named)
    }

    fn merge(&mut self, later: Owner) {
        if later.id().is_some() {
            *self = later;
        }
    }
}

/// A value that all lines after a `/set` share. With copies, a short manifest could take much memory.
pub(super) type Text = Arc<[u8]>;

/// The keywords of a line or of `/set`.
#[derive(Debug, Clone, Default)]
pub(super) struct Keywords {
    pub kind: Option<Type>,
    pub mode: Option<u16>,
    pub uid: Owner,
    pub gid: Owner,
    /// Seconds since 1970, rounded down.
    pub time: Option<Time>,
    pub link: Option<Text>,
    /// Path of the file with the content on the host.
    pub contents: Option<Text>,
    pub size: Option<u64>,
    pub device: Option<Device>,
    pub nlink: Option<u64>,
    pub inode: Option<u64>,
    /// The file system of `inode`, as written in the manifest.
    pub file_system: Option<Text>,
    pub optional: bool,
    pub unchanged: bool,
}

impl Keywords {
    /// Whether a word has the form of a keyword.
    pub fn is_keyword(word: &[u8]) -> bool {
        let (name, value) = split(word);
        match name {
            b"optional" | b"nochange" | b"ignore" => value.is_none(),
            b"type" | b"mode" | b"uid" | b"gid" | b"uname" | b"gname" | b"time" | b"link" | b"contents"
            | b"content" | b"size" | b"device" | b"nlink" | b"inode" | b"resdevice" => value.is_some(),
            b"all" => value.is_none(),
            _ => value.is_some() && is_without_effect(name),
        }
    }

    pub fn is_directory(&self) -> bool {
        self.kind == Some(Type::Dir)
    }

    /// Parses the words after the name.
    ///
    /// # Errors
    /// [`Error::Line`] for an unknown keyword, or a malformed value.
    pub fn parse<'w>(
        place: TextLine<'_>,
        words: impl Iterator<Item = &'w [u8]>,
        host: &mut dyn PseudoHost,
    ) -> Result<Keywords, Error> {
        let mut keywords = Keywords::default();
        let mut user = None;
        let mut group = None;
        for word in words {
            match split(word) {
                (b"uname", Some(name)) => user = Some(name),
                (b"gname", Some(name)) => group = Some(name),
                (name, value) => keywords.set(place, word, name, value)?,
            }
        }
        if let (Some(name), None) = (user, keywords.uid.number) {
            keywords.uid.named = Some(look_up(place, "uname", name, &mut |name| host.user(name))?);
        }
        if let (Some(name), None) = (group, keywords.gid.number) {
            keywords.gid.named = Some(look_up(place, "gname", name, &mut |name| host.group(name))?);
        }
        Ok(keywords)
    }

    fn set(&mut self, place: TextLine<'_>, word: &[u8], name: &[u8], value: Option<&[u8]>) -> Result<(), Error> {
        let refused = |expected: &str| place.error(quote(word), expected);
        match (name, value) {
            (b"optional", None) => self.optional = true,
            (b"nochange", None) => self.unchanged = true,
            (b"ignore", None) => {}
            (b"type", Some(value)) => {
                let expected = "type=block, char, dir, fifo, file, link or socket";
                self.kind = Some(Type::parse(value).ok_or_else(|| refused(expected))?);
            }
            (b"mode", Some(value)) => {
                self.mode = Some(octal(value).ok_or_else(|| refused("mode= and an octal number from 0 to 7777"))?);
            }
            (b"uid", Some(value)) => self.uid.number = Some(id(value).ok_or_else(|| refused(OWNER))?),
            (b"gid", Some(value)) => self.gid.number = Some(id(value).ok_or_else(|| refused(OWNER))?),
            (b"time", Some(value)) => {
                let expected = "time= and seconds since 1970, which may have a fraction";
                self.time = Some(time(value).ok_or_else(|| refused(expected))?);
            }
            (b"size", Some(value)) => self.size = Some(count(place, word, value)?),
            (b"nlink", Some(value)) => self.nlink = Some(count(place, word, value)?),
            (b"inode", Some(value)) => self.inode = Some(count(place, word, value)?),
            (b"resdevice", Some(value)) => self.file_system = Some(value.into()),
            (b"device", Some(value)) => {
                let expected = "device=FORMAT,MAJOR,MINOR with numbers up to 4095 and 1048575, or device= and a number";
                self.device = Some(device(value).ok_or_else(|| refused(expected))?);
            }
            (b"link", Some(value)) => self.link = Some(target(place, word, value)?),
            (b"contents" | b"content", Some(value)) => {
                let path = Some(unescaped(place, value)?).filter(|path| !path.is_empty() && !path.contains(&0));
                self.contents = Some(path.ok_or_else(|| refused("the path of a file"))?.into());
            }
            (name, Some(_)) if is_without_effect(name) => {}
            _ => return Err(refused(EXPECTED)),
        }
        Ok(())
    }

    /// Adds the keywords of a later line, which replace equal keywords.
    pub fn merge(&mut self, later: Keywords) {
        let Keywords { kind, mode, uid, gid, time, link, contents, size, device, nlink, inode, .. } = later;
        self.kind = kind.or(self.kind);
        self.mode = mode.or(self.mode);
        self.uid.merge(uid);
        self.gid.merge(gid);
        self.time = time.or(self.time);
        self.link = link.or(self.link.take());
        self.contents = contents.or(self.contents.take());
        self.size = size.or(self.size);
        self.device = device.or(self.device);
        self.nlink = nlink.or(self.nlink);
        self.inode = inode.or(self.inode);
        self.file_system = later.file_system.or(self.file_system.take());
        self.optional |= later.optional;
        self.unchanged |= later.unchanged;
    }

    /// Removes one value of `/set`, or all values.
    ///
    /// # Errors
    /// [`Error::Line`] for an unknown keyword.
    pub fn unset(&mut self, place: TextLine<'_>, name: &[u8]) -> Result<(), Error> {
        match name {
            b"all" => *self = Keywords::default(),
            b"type" => self.kind = None,
            b"mode" => self.mode = None,
            b"uid" => self.uid.number = None,
            b"gid" => self.gid.number = None,
            b"uname" => self.uid.named = None,
            b"gname" => self.gid.named = None,
            b"time" => self.time = None,
            b"link" => self.link = None,
            b"contents" | b"content" => self.contents = None,
            b"size" => self.size = None,
            b"device" => self.device = None,
            b"nlink" => self.nlink = None,
            b"inode" => self.inode = None,
            b"resdevice" => self.file_system = None,
            b"optional" => self.optional = false,
            b"nochange" => self.unchanged = false,
            b"ignore" => {}
            name if is_without_effect(name) => {}
            _ => return Err(place.error(quote(name), format!("'all', or one of these without its value: {EXPECTED}"))),
        }
        Ok(())
    }
}

const OWNER: &str = "a number from 0 to 4294967295; names are those of uname and gname";

fn is_without_effect(name: &[u8]) -> bool {
    WITHOUT_EFFECT.contains(&name) || SHA512.contains(&name)
}

/// Splits a word into the name of a keyword and its value, if there is a `=`.
fn split(word: &[u8]) -> (&[u8], Option<&[u8]>) {
    match memchr::memchr(b'=', word) {
        Some(at) => (&word[..at], Some(&word[at + 1..])),
        None => (word, None),
    }
}

fn look_up(
    place: TextLine<'_>,
    keyword: &str,
    name: &[u8],
    named: &mut dyn FnMut(&str) -> Option<u32>,
) -> Result<u32, Error> {
    let plain = unescaped(place, name)?;
    let found = std::str::from_utf8(&plain).ok().and_then(named);
    found.ok_or_else(|| {
        let number = if keyword == "uname" { "uid" } else { "gid" };
        place.error(format!("{keyword} {}", quote(name)), format!("a name that this system has, or {number}="))
    })
}

fn target(place: TextLine<'_>, word: &[u8], value: &[u8]) -> Result<Text, Error> {
    let target = unescaped(place, value)?;
    match target.len() {
        1..=MAX_TARGET if !target.contains(&0) => Ok(target.into()),
        _ => Err(place.error(quote(word), format!("link= and a target of 1 to {MAX_TARGET} bytes"))),
    }
}

fn count(place: TextLine<'_>, word: &[u8], value: &[u8]) -> Result<u64, Error> {
    decimal(value).ok_or_else(|| place.error(quote(word), "a number after the '='"))
}

fn decimal(text: &[u8]) -> Option<u64> {
    crate::pseudo_file::text::decimal(text)
}

fn id(text: &[u8]) -> Option<u32> {
    decimal(text).and_then(|id| u32::try_from(id).ok())
}

fn octal(text: &[u8]) -> Option<u16> {
    let digits = text.iter().all(|digit| matches!(digit, b'0'..=b'7'));
    let text = std::str::from_utf8(text).ok().filter(|_| digits)?;
    u16::from_str_radix(text, 8).ok().filter(|&mode| mode <= 0o7777)
}

/// Parses seconds, and the nanoseconds after them: mtree(5) prescribes nine digits, but bsdtar omits leading zeros.
fn time(text: &[u8]) -> Option<Time> {
    let (whole, fraction) = match memchr::memchr(b'.', text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &b"0"[..]),
    };
    let (negative, digits) = whole.strip_prefix(b"-").map_or((false, whole), |digits| (true, digits));
    let seconds = decimal(digits).and_then(|seconds| i64::try_from(seconds).ok())?;
    let digits = fraction.iter().all(u8::is_ascii_digit);
    let nanoseconds = decimal(fraction).map_or(0, |nanoseconds| u32::try_from(nanoseconds).unwrap_or(u32::MAX));
    digits.then_some(Time::new(if negative { -seconds } else { seconds }, nanoseconds))
}

/// Parses `format,major,minor` or the number of a Linux device. The numbers mean the same in every format.
fn device(text: &[u8]) -> Option<Device> {
    let parts: Vec<&[u8]> = text.splitn(4, |&byte| byte == b',').collect();
    let device = match parts[..] {
        [number] => {
            let number = integer(number)?;
            Device { major: rustix::fs::major(number), minor: rustix::fs::minor(number) }
        }
        [_, major, minor] => {
            let part = |text: &[u8]| integer(text).and_then(|number| u32::try_from(number).ok());
            Device { major: part(major)?, minor: part(minor)? }
        }
        _ => return None,
    };
    (device.major <= 0xfff && device.minor <= 0xf_ffff).then_some(device)
}

/// Parses a number as in C: decimal, hexadecimal after `0x`, or octal after `0`.
fn integer(text: &[u8]) -> Option<u64> {
    let (digits, radix) = match text {
        [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
        [b'0', digits @ ..] if !digits.is_empty() => (digits, 8),
        digits => (digits, 10),
    };
    let text = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_alphanumeric()))?;
    u64::from_str_radix(text, radix).ok()
}
