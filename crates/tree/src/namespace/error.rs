//! Errors of entries that cannot be added to the tree.

use packline_runtime::escape::Escape;

use crate::{Bytes, Error};

/// Longest accepted path in bytes. It bounds the depth of the tree and the cost of one entry.
pub const PATH_MAX: usize = 65_535;
/// Longest target of a symbolic link in bytes (Linux's limit). It bounds the cost of following links.
pub const TARGET_MAX: usize = 4_095;
/// Longest component in bytes (Linux's limit).
pub const NAME_MAX: usize = 255;
/// Maximum number of symbolic links that are followed for the parent directories of one path (Linux's limit).
pub const LINK_HOPS_MAX: u32 = 40;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// Length of the path, or of a hard link's target, in bytes.
    PathTooLong(usize),
    /// Length of a symbolic link's target in bytes.
    TargetTooLong(usize),
    /// Length of a component in bytes.
    NameTooLong(usize),
    /// A component that is empty, `.` or `..`, or contains a NUL byte.
    BadName(Bytes),
    /// The target of a symbolic or hard link is empty.
    EmptyTarget,
    RootNotDirectory,
    ParentNotDirectory(Bytes),
    /// A parent is a symbolic link to this missing path.
    ParentMissing(Bytes),
    /// The parents contain more than [`LINK_HOPS_MAX`] symbolic links.
    TooManySymlinks,
    /// An entry that is not a directory would replace a directory that has entries.
    DirectoryNotEmpty,
    /// The target of a hard link is this directory.
    LinkToDirectory(Bytes),
    /// The target of a hard link is missing in the input.
    LinkToNothing(Bytes),
    /// The target of a hard link leads back to the link.
    LinkLoop(Bytes),
    /// There are more names, inodes or bytes of names than 32 bits can count.
    TooMany,
}

/// An entry that cannot be added to the tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {what} (expected {expected})", name = display_path(.entry), what = .fault.what(), expected = .fault.expected())]
pub struct NamespaceError {
    /// The entry's path; empty for the root.
    pub entry: Bytes,
    pub fault: Fault,
}

impl NamespaceError {
    pub(super) fn new(entry: &[u8], fault: Fault) -> Self {
        Self { entry: entry.to_vec(), fault }
    }

    /// The error of the source named `input` (as given by the user).
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
            Self::DirectoryNotEmpty => "replaces a directory that is not empty".into(),
            Self::LinkToDirectory(target) => format!("hard link to the directory {}", display_path(target)),
            Self::LinkToNothing(target) => format!("hard link to {}, which is missing", display_path(target)),
            Self::LinkLoop(target) => format!("hard link to {}, which leads back to it", display_path(target)),
            Self::TooMany => "one name too many".into(),
        }
    }

    /// Description of valid entries.
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
            Self::DirectoryNotEmpty => "an empty directory, or no entry".into(),
            Self::LinkToDirectory(_) | Self::LinkToNothing(_) | Self::LinkLoop(_) => {
                "the path of a file, device or link in the same input".into()
            }
            Self::TooMany => "under 4294967295 names, and under 4 GiB of names and targets".into(),
        }
    }
}

/// The root has no path, so it has a name of its own in messages.
fn display_path(target: &[u8]) -> String {
    if target.is_empty() { "the root".into() } else { target.escaped() }
}
