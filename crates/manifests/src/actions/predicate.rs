//! The tests of expressions, and how they are built from their names and arguments.

use packline_runtime::escape::Escape;
use packline_tree::Bytes;

use super::action::{mode, regex};
use super::number::Numbers;
use super::parser::{Expression, Parser};
use super::{ActionFault, BytesMatcher};
use crate::ExtGlob;

pub(super) enum Predicate {
    Constant(bool),
    Name(ExtGlob),
    Path(ExtGlob),
    /// A pattern for the first names of a path, and the number of these names.
    Above(ExtGlob, usize),
    Number(Property, Scope, Numbers),
    Type(u8),
    Permissions(Bits, u16),
    Content(BytesMatcher),
    Command(Bytes),
    Exists,
    Absolute,
    Stat(Box<Expression>),
    Readlink(Box<Expression>),
    At(Bytes, Box<Expression>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Property {
    Size,
    TailSize,
    Inode,
    Links,
    Blocks,
    Uid,
    Gid,
    Depth,
    Count,
}

/// The entries that have a number. For other entries the test is false.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    All,
    Files,
    Directories,
}

/// How permissions are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bits {
    Exactly,
    All,
    Any,
}

/// Tests that compare a number, or, with the suffix `_range`, look for it between two numbers.
const PROPERTIES: [(&str, &str, Property, Scope); 13] = [
    ("filesize", "filesize_range", Property::Size, Scope::Files),
    ("tailsize", "tailsize_range", Property::TailSize, Scope::Files),
    ("dirsize", "dirsize_range", Property::Size, Scope::Directories),
    ("size", "size_range", Property::Size, Scope::All),
    ("inode", "inode_range", Property::Inode, Scope::All),
    ("nlink", "nlink_range", Property::Links, Scope::All),
    ("fileblocks", "fileblocks_range", Property::Blocks, Scope::Files),
    ("dirblocks", "dirblocks_range", Property::Blocks, Scope::Directories),
    ("blocks", "blocks_range", Property::Blocks, Scope::All),
    ("uid", "uid_range", Property::Uid, Scope::All),
    ("gid", "gid_range", Property::Gid, Scope::All),
    ("depth", "depth_range", Property::Depth, Scope::All),
    ("dircount", "dircount_range", Property::Count, Scope::Directories),
];

/// Tests that need the complete tree, which `exclude` does not have.
const OF_TREE: [&[u8]; 6] = [b"dircount", b"dircount_range", b"exists", b"absolute", b"readlink", b"eval"];

impl Predicate {
    pub fn new(
        name: &[u8],
        arguments: &[Bytes],
        parser: &mut Parser<'_>,
    ) -> Result<(&'static str, Predicate), ActionFault> {
        if parser.excludes && OF_TREE.contains(&name) {
            let what = format!("the test '{}' cannot be used with exclude", name.escaped());
            return Err(ActionFault::new(what, "the action prune"));
        }
        if let Some(found) = number(name, arguments)? {
            return Ok(found);
        }
        Ok(match (name, arguments) {
            (b"true", []) => ("true", Predicate::Constant(true)),
            (b"false", []) => ("false", Predicate::Constant(false)),
            (b"name", [pattern]) => ("name", Predicate::Name(ExtGlob::of_path(pattern))),
            (b"pathname", [pattern]) => ("pathname", Predicate::Path(ExtGlob::of_path(&absolute(pattern)))),
            (b"subpathname", [pattern]) => {
                let names = pattern.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).count();
                ("subpathname", Predicate::Above(ExtGlob::of_path(&absolute(pattern)), names))
            }
            (b"user", [user]) => {
                let id = parser.host.user(user).ok_or_else(|| nobody("user", user))?;
                ("user", Predicate::Number(Property::Uid, Scope::All, Numbers::only(id.into())))
            }
            (b"group", [group]) => {
                let id = parser.host.group(group).ok_or_else(|| nobody("group", group))?;
                ("group", Predicate::Number(Property::Gid, Scope::All, Numbers::only(id.into())))
            }
            (b"type", [letter]) => ("type", Predicate::Type(file_type(letter)?)),
            (b"perm", [_, ..]) => ("perm", permissions(&arguments.join(&b','))?),
            (b"file", [pattern]) => ("file", Predicate::Content(regex(pattern, parser.host)?)),
            (b"exec", [command]) => ("exec", Predicate::Command(command.clone())),
            (b"exists", []) => ("exists", Predicate::Exists),
            (b"absolute", []) => ("absolute", Predicate::Absolute),
            (b"stat", [inner]) => ("stat", Predicate::Stat(parser.inner(inner)?)),
            (b"readlink", [inner]) => ("readlink", Predicate::Readlink(parser.inner(inner)?)),
            (b"eval", [path, inner]) => ("eval", Predicate::At(path.clone(), parser.inner(inner)?)),
            _ => return Err(unknown(name, arguments.len())),
        })
    }
}

fn number(name: &[u8], arguments: &[Bytes]) -> Result<Option<(&'static str, Predicate)>, ActionFault> {
    for (single, range, property, scope) in PROPERTIES {
        match arguments {
            [one] if name == single.as_bytes() => {
                return Ok(Some((single, Predicate::Number(property, scope, Numbers::parse(one)?))));
            }
            [least, most] if name == range.as_bytes() => {
                return Ok(Some((range, Predicate::Number(property, scope, Numbers::between(least, most)?))));
            }
            _ => {}
        }
    }
    Ok(None)
}

fn unknown(name: &[u8], arguments: usize) -> ActionFault {
    let numbers = PROPERTIES.map(|(single, ..)| format!("{single}(NUMBER)")).join(", ");
    ActionFault::new(
        format!("there is no test '{}' with {arguments} arguments", name.escaped()),
        format!(
            "true, false, name(PATTERN), pathname(PATTERN), subpathname(PATTERN), {numbers}, the same with _range(LEAST,MOST), \
             user(NAME), group(NAME), type(LETTER), perm(MODE), file(REGEX), exec(COMMAND), exists, absolute, stat(EXPRESSION), \
             readlink(EXPRESSION) or eval(PATH,EXPRESSION)"
        ),
    )
}

fn nobody(what: &str, name: &[u8]) -> ActionFault {
    ActionFault::new(format!("there is no {what} '{}'", name.escaped()), format!("the name of a {what}"))
}

fn absolute(pattern: &[u8]) -> Bytes {
    if pattern.starts_with(b"/") { pattern.to_vec() } else { [b"/", pattern].concat() }
}

fn file_type(letter: &[u8]) -> Result<u8, ActionFault> {
    match letter {
        [letter @ (b'f' | b'd' | b'l' | b'c' | b'b' | b'p' | b's')] => Ok(*letter),
        _ => Err(ActionFault::new(format!("unknown type '{}'", letter.escaped()), "f, d, l, c, b, p or s")),
    }
}

/// Parses permissions as `-perm` of find(1) does: `644`, `-u+w`, `/222`.
fn permissions(text: &[u8]) -> Result<Predicate, ActionFault> {
    let (bits, text) = match text {
        [b'-', rest @ ..] => (Bits::All, rest),
        [b'/', rest @ ..] => (Bits::Any, rest),
        text => (Bits::Exactly, text),
    };
    Ok(Predicate::Permissions(bits, mode(text)?.apply(0, false)))
}
