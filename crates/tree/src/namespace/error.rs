//! Why an entry cannot join the tree: always names the entry, and carries what was found and what was expected.

use crate::{Bytes, Error};
use packline_runtime::escape::Escape;

/// Longest path accepted, in bytes: it bounds the depth of the tree and the cost of one entry.
pub const PATH_MAX: usize = 65_535;
/// Longest target of a symbolic link, in bytes (what Linux accepts); it bounds what following links costs too.
pub const TARGET_MAX: usize = 4_095;
/// Longest name of one component, in bytes (what Linux accepts).
pub const NAME_MAX: usize = 255;
/// Most symbolic links followed for the parent directories of one path (what Linux allows).
pub const LINK_HOPS_MAX: u32 = 40;

/// What is wrong with an entry. All are the input's fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The whole path, or a hard link's target, is longer than [`PATH_MAX`]; its length in bytes.
    PathTooLong(usize),
    /// A symbolic link's target is longer than [`TARGET_MAX`]; its length in bytes.
    TargetTooLong(usize),
    /// A component is longer than [`NAME_MAX`]; its length in bytes.
    NameTooLong(usize),
    /// A component is empty, `.` or `..`, or holds a NUL byte: the component.
    BadName(Bytes),
    /// A symbolic link's or hard link's target is empty.
    EmptyTarget,
    /// The root of the tree was given as something other than a directory.
    RootNotDirectory,
    /// A parent directory is something else: its path.
    ParentNotDirectory(Bytes),
    /// A parent is a symbolic link to what does not exist (so far): the path that is missing.
    ParentMissing(Bytes),
    /// Following the parents took more than [`LINK_HOPS_MAX`] symbolic links.
    TooManySymlinks,
    /// A non-directory would replace a directory that has entries: their number.
    DirectoryNotEmpty(u32),
    /// A hard link's target is a directory: the target.
    LinkToDirectory(Bytes),
    /// A hard link's target exists nowhere in the input: the target.
    LinkToNothing(Bytes),
    /// A hard link leads back to itself: the target.
    LinkLoop(Bytes),
    /// More names, inodes or bytes of names than 32 bits count.
    TooMany,
}

/// An entry that cannot join the tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {what} (expected {expected})", name = shown(.entry), what = .fault.what(), expected = .fault.expected())]
pub struct NamespaceError {
    /// The entry's path; empty for the root.
    pub entry: Bytes,
    /// What is wrong with it.
    pub fault: Fault,
}

impl NamespaceError {
    pub(super) fn new(entry: &[u8], fault: Fault) -> Self {
        Self { entry: entry.to_vec(), fault }
    }

    /// The same as an error of the source named `input` (as the user gave it).
    pub fn in_input(self, input: &str) -> Error {
        Error::Entry {
            input: input.to_owned(),
            what: self.fault.what(),
            expected: self.fault.expected(),
            entry: self.entry,
        }
    }
}

impl Fault {
    /// What was found, as a phrase.
    pub fn what(&self) -> String {
        match self {
            Self::PathTooLong(length) => format!("path of {length} bytes"),
            Self::TargetTooLong(length) => format!("symbolic link with a target of {length} bytes"),
            Self::NameTooLong(length) => format!("name of {length} bytes"),
            Self::BadName(name) => format!("bad component \"{}\" in the path", name.escaped()),
            Self::EmptyTarget => "link with an empty target".into(),
            Self::RootNotDirectory => "not a directory".into(),
            Self::ParentNotDirectory(path) => format!("parent {} is not a directory", path.escaped()),
            Self::ParentMissing(path) => {
                format!("parent leads through a symbolic link to {}, which is missing", path.escaped())
            }
            Self::TooManySymlinks => "too many symbolic links on the way".into(),
            Self::DirectoryNotEmpty(count) => format!("replaces a directory that has {count} entries"),
            Self::LinkToDirectory(target) => format!("hard link to the directory {}", shown(target)),
            Self::LinkToNothing(target) => format!("hard link to {}, which is missing", shown(target)),
            Self::LinkLoop(target) => format!("hard link to {}, which leads back to it", shown(target)),
            Self::TooMany => "one name too many".into(),
        }
    }

    /// What would have been right, as a phrase.
    pub fn expected(&self) -> String {
        match self {
            Self::PathTooLong(_) => format!("at most {PATH_MAX} bytes"),
            Self::TargetTooLong(_) => format!("at most {TARGET_MAX} bytes"),
            Self::NameTooLong(_) => format!("at most {NAME_MAX} bytes"),
            Self::BadName(_) => "names without NUL that are not empty, \".\" or \"..\"".into(),
            Self::EmptyTarget => "a path".into(),
            Self::RootNotDirectory | Self::ParentNotDirectory(_) => "a directory".into(),
            Self::ParentMissing(_) => "a directory that came earlier".into(),
            Self::TooManySymlinks => format!("at most {LINK_HOPS_MAX}"),
            Self::DirectoryNotEmpty(_) => "an empty directory, or none, there".into(),
            Self::LinkToDirectory(_) | Self::LinkToNothing(_) | Self::LinkLoop(_) => {
                "the path of a file, device or link in the same input".into()
            }
            Self::TooMany => "under 4294967295 names, and under 4 GiB of names and targets".into(),
        }
    }
}

/// The root has no path to show.
fn shown(target: &[u8]) -> String {
    if target.is_empty() { "the root".into() } else { target.escaped() }
}
