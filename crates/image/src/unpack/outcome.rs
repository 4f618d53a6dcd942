//! Results of jobs: counts, warnings, and errors after which unpacking continues.

use std::collections::BTreeSet;
use std::path::Path;

use packline_runtime::escape::Escape;
use packline_tree::Xattr;
use packline_tree::destination::Refusal;

use super::request::UnpackCounts;
use super::window::FileKey;
use crate::Error;

/// Topic of a warning. Each topic is reported once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// The file system does not support attributes with this prefix.
    Unsupported(Vec<u8>),
    /// Attributes with this prefix require privileges.
    Forbidden(Vec<u8>),
    /// The file system does not support block sharing.
    NotShared,
    /// Devices were skipped.
    Device,
    /// The destination cannot have some hard links.
    NotLinked,
    /// The destination's own attributes were not set.
    Destination,
    /// An owner or group that no file can have.
    Owner,
}

/// A warning about entries that lose something.
#[derive(Debug)]
pub struct Warning {
    /// Later warnings with the same topic are dropped.
    pub topic: Topic,
    /// The message, with the path of the first occurrence.
    pub text: String,
}

impl Warning {
    /// An attribute was not set; `forbidden`: for lack of privileges.
    pub fn xattr(path: &Path, xattr: &Xattr, forbidden: bool) -> Warning {
        let prefix = xattr.name.split_inclusive(|&byte| byte == b'.').next().unwrap_or_default().to_vec();
        let why = if forbidden { "they may not be set" } else { "the file system does not store them" };
        let text = format!(
            "{}: attribute {} is left out, like all attributes that begin with {}: {why}",
            path.escaped(),
            xattr.name.escaped(),
            prefix.escaped(),
        );
        let topic = if forbidden { Topic::Forbidden(prefix) } else { Topic::Unsupported(prefix) };
        Warning { topic, text }
    }

    /// Blocks were copied instead of shared.
    pub fn not_shared(path: &Path) -> Warning {
        let text = format!(
            "{}: the file system cannot share blocks: equal files are copied, here and elsewhere",
            path.escaped()
        );
        Warning { topic: Topic::NotShared, text }
    }

    /// A hard link became a copy.
    pub fn not_linked(path: &Path, refusal: &Refusal) -> Warning {
        let cause = refusal.cause();
        let text =
            format!("{}: cannot be a hard link ({cause}): copies are written, here and elsewhere", path.escaped());
        Warning { topic: Topic::NotLinked, text }
    }

    /// The destination belongs to another user, and keeps its attributes.
    pub fn destination(path: &Path, refusal: &Refusal) -> Warning {
        let cause = refusal.cause();
        let text = format!("{}: {} ({cause}): its attributes are unchanged", path.escaped(), refusal.action());
        Warning { topic: Topic::Destination, text }
    }

    /// The owner and the group were not set, because the system interprets the number `id` as "do not change".
    pub fn owner(path: &Path, id: u32) -> Warning {
        let path = path.escaped();
        let text = format!(
            "{path}: no file can have the owner or group {id}: owner and group are not set, and set-user-id and set-group-id \
             bits are cleared, here and elsewhere"
        );
        Warning { topic: Topic::Owner, text }
    }

    /// A device was skipped.
    pub fn device(path: &Path) -> Warning {
        Warning { topic: Topic::Device, text: format!("{}: devices are left out, here and elsewhere", path.escaped()) }
    }
}

/// Result of a job.
#[derive(Debug, Default)]
pub struct Outcome {
    pub counts: UnpackCounts,
    /// Warnings, in order.
    pub warnings: Vec<Warning>,
    /// Errors after which unpacking continues, in order.
    pub problems: Vec<Error>,
    /// Results of files with several names, if unpacking continues after errors.
    pub written: Written,
    continue_on_error: bool,
}

/// Results of files with several names. A file in neither set could not be created.
#[derive(Debug, Default)]
pub struct Written {
    /// Complete files.
    pub made: BTreeSet<FileKey>,
    /// Files with unreadable content, of which another name would fail, too.
    pub unreadable: BTreeSet<FileKey>,
}

impl Written {
    pub fn add(&mut self, mut other: Written) {
        self.made.append(&mut other.made);
        self.unreadable.append(&mut other.unreadable);
    }
}

impl Outcome {
    /// With `continue_on_error`, errors are recorded; otherwise they are returned.
    pub fn new(continue_on_error: bool) -> Outcome {
        Outcome { continue_on_error, ..Outcome::default() }
    }

    /// Returns the value of a result; `None` if it failed and unpacking continues.
    pub fn keep<T>(&mut self, made: Result<T, Error>) -> Result<Option<T>, Error> {
        match made {
            Ok(made) => Ok(Some(made)),
            Err(error) if self.continue_on_error => {
                self.problems.push(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}
