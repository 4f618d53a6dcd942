//! Parses a definition.

use packline_tree::path::MAX_TARGET;
use packline_tree::text::{TextLine, quote};
use packline_tree::{Bytes, Device, Error, Kind, Xattr};

use super::attributes::Attributes;
use super::new_entry::check_host;
use super::text::Words;
use super::{PseudoHost, attributes};

/// The action of a definition on its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Xattr(Xattr),
    /// Adds another name for the entry at a canonical path.
    OtherName(Bytes),
    Add(Added),
}

/// The entry that a definition adds or changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Added {
    Entry(Kind, Attributes),
    /// New attributes for an entry of the source.
    Change(Attributes),
    /// A file that contains the output of a command.
    Command(Bytes, Attributes),
    /// A file whose content is at an offset after the definitions.
    Data {
        size: u64,
        offset: u64,
        attributes: Attributes,
    },
    /// A file, link or device of the host.
    Host {
        path: Bytes,
        follow: bool,
    },
    /// Another name for the entry that the definition of this node added.
    OtherName(usize),
}

impl Added {
    pub fn may_have_children(&self) -> bool {
        matches!(self, Added::Entry(Kind::Dir, _) | Added::Change(_))
    }
}

const TYPES: &str = "one of d m b c s i f x h l L D M B C S I F R; in a path, quote blanks or put a '\\' before them";
/// The highest device numbers that an image can store.
const MAJOR_MAX: u64 = 0xfff;
const MINOR_MAX: u64 = 0xf_ffff;

/// Parses a line that is neither empty nor a comment. Returns its canonical path and its action.
pub(super) fn parse(place: TextLine<'_>, line: &[u8], host: &mut dyn PseudoHost) -> Result<(Bytes, Action), Error> {
    let mut words = Words::new(place, line);
    let path = path(place, &words.word("path")?)?;
    let kind = words.word("type")?;
    let &[letter] = &kind[..] else { return Err(unknown(place, &kind)) };
    let action = match letter {
        b'x' => Action::Xattr(attributes::parse_xattr(place, words.rest("name of the attribute")?)?),
        b'L' => Action::OtherName(self::path(place, &words.word("path of the target")?)?),
        b'l' | b'h' => {
            let path = words.word("path of the file")?;
            let follow = letter == b'h';
            check_host(place, &path, follow)?;
            Action::Add(Added::Host { path, follow })
        }
        b'd' | b'm' | b'b' | b'c' | b's' | b'i' | b'f' | b'D' | b'M' | b'B' | b'C' | b'S' | b'I' | b'F' | b'R' => {
            let attributes = Attributes::read(&mut words, letter.is_ascii_uppercase(), host)?;
            if let (b'f' | b'F', Err(hint)) = (letter, host.permits_commands()) {
                let what = format!("the content is the output of a command, but commands may not be run; {hint}");
                return Err(place.error(what, ""));
            }
            Action::Add(added(letter.to_ascii_lowercase(), attributes, &mut words)?)
        }
        _ => return Err(unknown(place, &kind)),
    };
    words.end()?;
    Ok((path, action))
}

fn unknown(place: TextLine<'_>, kind: &[u8]) -> Error {
    place.error(format!("type {}", quote(kind)), TYPES)
}

/// Parses a canonical path. The path of the root may have no slash.
fn path(place: TextLine<'_>, word: &[u8]) -> Result<Bytes, Error> {
    if word.is_empty() { Ok(Bytes::new()) } else { place.canonical(word) }
}

fn added(letter: u8, attributes: Attributes, words: &mut Words<'_>) -> Result<Added, Error> {
    let kind = match letter {
        b'm' => return Ok(Added::Change(attributes)),
        b'f' => return Ok(Added::Command(words.rest("command")?.to_vec(), attributes)),
        b'r' => return data(attributes, words),
        b'd' => Kind::Dir,
        b'b' => Kind::BlockDevice(device(words)?),
        b'c' => Kind::CharDevice(device(words)?),
        b's' => return symlink(attributes, words),
        _ => ipc(words)?,
    };
    Ok(Added::Entry(kind, attributes))
}

fn data(attributes: Attributes, words: &mut Words<'_>) -> Result<Added, Error> {
    let size = words.number("size", i64::MAX as u64)?;
    let offset = words.number("offset", i64::MAX as u64)?;
    // The mark is ignored: an option decides for all files whether blocks of zeros become holes. squashfs-tools 4.5 writes no mark.
    if words.end().is_err() {
        words.number("mark of a sparse file", 1)?;
    }
    Ok(Added::Data { size, offset, attributes })
}

fn device(words: &mut Words<'_>) -> Result<Device, Error> {
    let major = words.number("major number", MAJOR_MAX)? as u32;
    let minor = words.number("minor number", MINOR_MAX)? as u32;
    Ok(Device { major, minor })
}

fn symlink(attributes: Attributes, words: &mut Words<'_>) -> Result<Added, Error> {
    let target = words.rest("target of the symbolic link")?;
    if target.len() > MAX_TARGET {
        return Err(words
            .place
            .error(format!("a target of {} bytes", target.len()), format!("at most {MAX_TARGET} bytes")));
    }
    Ok(Added::Entry(Kind::Symlink(target.to_vec()), Attributes { mode: 0o777, ..attributes }))
}

fn ipc(words: &mut Words<'_>) -> Result<Kind, Error> {
    let word = words.word("'s' or 'f'")?;
    match &word[..] {
        b"s" => Ok(Kind::Socket),
        b"f" => Ok(Kind::Fifo),
        _ => Err(words.place.error(quote(&word), "'s' for a socket or 'f' for a FIFO")),
    }
}
