//! Actions, and how they are built from their names and arguments.

use packline_runtime::escape::Escape;
use packline_tree::{Bytes, Kind, NotFollowed, Xattr};

use super::number::number;
use super::parser::Expression;
use super::{ActionFault, ActionHost, ActionLog, BytesMatcher};
use crate::ModeChange;

/// An action with its condition.
pub(super) struct Rule {
    pub action: Action,
    /// The name and arguments of the action, for a log.
    pub text: Bytes,
    pub condition: Expression,
    pub log: ActionLog,
}

pub(super) enum Action {
    Exclude,
    Dereference(NotFollowed),
    Prune,
    Empty(Emptied),
    Move(Bytes),
    Owner {
        uid: Option<u32>,
        gid: Option<u32>,
    },
    Mode(ModeChange),
    Fragments(bool),
    TailEnds(bool),
    Compress(bool),
    Align(u32),
    /// The tail ends of these files share fragment blocks with each other, but not with other files.
    FragmentSet,
    XattrsExclude(BytesMatcher),
    XattrsInclude(BytesMatcher),
    XattrsAdd(Xattr),
    Noop,
}

/// Why a directory is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Emptied {
    AnyReason,
    InSource,
    ByExclusion,
}

/// The pass over the tree that an action belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Exclude,
    Dereference,
    Change,
    Move,
    Prune,
    Empty,
    Fragment,
    Xattrs,
}

impl Action {
    pub fn new(name: &[u8], arguments: &[Bytes], host: &mut dyn ActionHost) -> Result<Action, ActionFault> {
        let action = match (name, arguments) {
            (b"exclude", []) => Action::Exclude,
            (b"dereference", []) => Action::Dereference(NotFollowed::Kept),
            (b"dereference", [otherwise]) => Action::Dereference(not_followed(otherwise)?),
            (b"prune", []) => Action::Prune,
            (b"empty", []) => Action::Empty(Emptied::AnyReason),
            (b"empty", [reason]) => Action::Empty(emptied(reason)?),
            (b"move", [to]) => Action::Move(to.clone()),
            (b"uid", [user]) => Action::Owner { uid: Some(uid(user, host)?), gid: None },
            (b"gid", [group]) => Action::Owner { uid: None, gid: Some(gid(group, host)?) },
            (b"guid", [user, group]) => Action::Owner { uid: Some(uid(user, host)?), gid: Some(gid(group, host)?) },
            (b"mode" | b"chmod", [_, ..]) => Action::Mode(mode(&arguments.join(&b','))?),
            (b"fragments", []) => Action::Fragments(true),
            (b"no-fragments", []) => Action::Fragments(false),
            (b"always-use-fragments" | b"tailend", []) => Action::TailEnds(true),
            (b"dont-always-use-fragments" | b"no-tailend", []) => Action::TailEnds(false),
            (b"compressed", []) => Action::Compress(true),
            (b"uncompressed", []) => Action::Compress(false),
            (b"xattrs-exclude", [names]) => Action::XattrsExclude(regex(names, host)?),
            (b"xattrs-include", [names]) => Action::XattrsInclude(regex(names, host)?),
            (b"xattrs-add", [xattr]) => {
                let malformed = |what| ActionFault::new(what, "an attribute with its value");
                Action::XattrsAdd(host.xattr(xattr).map_err(malformed)?)
            }
            (b"noop", []) => Action::Noop,
            (b"fragment", [_]) => Action::FragmentSet,
            (b"align", [bytes]) => Action::Align(alignment(bytes)?),
            _ => return Err(unknown(name, arguments.len())),
        };
        Ok(action)
    }

    pub fn stage(&self) -> Stage {
        match self {
            Action::Exclude => Stage::Exclude,
            Action::Dereference(_) => Stage::Dereference,
            Action::Move(_) => Stage::Move,
            Action::Prune => Stage::Prune,
            Action::Empty(_) => Stage::Empty,
            Action::FragmentSet => Stage::Fragment,
            Action::XattrsExclude(_) | Action::XattrsInclude(_) | Action::XattrsAdd(_) => Stage::Xattrs,
            _ => Stage::Change,
        }
    }

    /// Whether the action applies to entries of a kind. If not, its expression is not evaluated.
    pub fn is_for(&self, kind: &Kind) -> bool {
        match self {
            Action::Fragments(_)
            | Action::TailEnds(_)
            | Action::Compress(_)
            | Action::Align(_)
            | Action::FragmentSet => matches!(kind, Kind::File { .. }),
            Action::Mode(_) | Action::Noop => !matches!(kind, Kind::Symlink(_)),
            _ => true,
        }
    }
}

const NAMES: &str = "exclude, dereference, dereference(keep), dereference(delete), prune, empty, empty(REASON), move(PATH), uid(USER), gid(GROUP), guid(USER,GROUP), mode(MODE), chmod(MODE), \
                     fragment(NAME), fragments, no-fragments, always-use-fragments, dont-always-use-fragments, tailend, no-tailend, compressed, \
                     uncompressed, align(BYTES), xattrs-exclude(REGEX), xattrs-include(REGEX), xattrs-add(NAME=VALUE) or noop";

fn unknown(name: &[u8], arguments: usize) -> ActionFault {
    ActionFault::new(format!("there is no action '{}' with {arguments} arguments", name.escaped()), NAMES)
}

/// A power of two, at most 64 MiB, as in squashfs-tools.
fn alignment(text: &[u8]) -> Result<u32, ActionFault> {
    let bytes = number(text)?;
    u32::try_from(bytes).ok().filter(|bytes| bytes.is_power_of_two() && *bytes <= 64 << 20).ok_or_else(|| {
        ActionFault::new(format!("{bytes} is not an alignment"), "a power of two, in bytes, of at most 64M")
    })
}

fn not_followed(text: &[u8]) -> Result<NotFollowed, ActionFault> {
    match text {
        b"keep" => Ok(NotFollowed::Kept),
        b"delete" => Ok(NotFollowed::LeftOut),
        _ => Err(ActionFault::new(format!("unknown argument '{}'", text.escaped()), "keep or delete")),
    }
}

fn emptied(reason: &[u8]) -> Result<Emptied, ActionFault> {
    match reason {
        b"all" => Ok(Emptied::AnyReason),
        b"source" => Ok(Emptied::InSource),
        b"excluded" => Ok(Emptied::ByExclusion),
        _ => Err(ActionFault::new(format!("unknown reason '{}'", reason.escaped()), "all, source or excluded")),
    }
}

fn uid(text: &[u8], host: &mut dyn ActionHost) -> Result<u32, ActionFault> {
    let unknown =
        || ActionFault::new(format!("there is no user '{}'", text.escaped()), "a number, or the name of a user");
    decimal(text).or_else(|| host.user(text)).ok_or_else(unknown)
}

fn gid(text: &[u8], host: &mut dyn ActionHost) -> Result<u32, ActionFault> {
    let unknown =
        || ActionFault::new(format!("there is no group '{}'", text.escaped()), "a number, or the name of a group");
    decimal(text).or_else(|| host.group(text)).ok_or_else(unknown)
}

fn decimal(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

pub(super) fn mode(text: &[u8]) -> Result<ModeChange, ActionFault> {
    ModeChange::parse(&String::from_utf8_lossy(text)).map_err(|_| {
        ActionFault::new(
            format!("'{}' is not a mode", text.escaped()),
            "octal up to 7777, or a list as chmod takes it: u+rwX,go-w",
        )
    })
}

pub(super) fn regex(text: &[u8], host: &mut dyn ActionHost) -> Result<BytesMatcher, ActionFault> {
    host.regex(text).map_err(|what| {
        ActionFault::new(format!("'{}': {what}", text.escaped()), "a POSIX extended regular expression")
    })
}
