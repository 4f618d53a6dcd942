//! Where an image is written: a file that gets its name only when it is whole, or a block device.
//!
//! A file is written without a name (`O_TMPFILE`) where the file system can, else under another name beside the target, which
//! the next run clears away if this one is killed (`meanwhile.rs`). [`Output::finish`] syncs it, gives it its name in one step,
//! and syncs the directory. An [`Output`] that is dropped before that leaves nothing behind. A block device is written in place:
//! its first bytes, where a superblock would be found, are cleared first, so that an image cut short is not taken for one.

mod buffer;
mod device;
mod meanwhile;
mod place;
mod temporary;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use buffer::WriteBehind;
pub(crate) use meanwhile::checksum;
use place::{Place, find_place};
use temporary::Temporary;

use crate::{Error, Observer, Temporaries};

/// An open output.
#[derive(Debug)]
pub struct Output {
    shown: PathBuf,
    target: Target,
    size: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Target {
    File(Temporary),
    Device(File),
}

impl Output {
    /// Opens the output called `path`. What is there already is only replaced with `force`; a block device counts as being
    /// there. Refuses pipes, sockets, directories and character devices, and a link that leads nowhere.
    pub fn open(path: &Path, force: bool, temporaries: &Temporaries) -> Result<Output, Error> {
        let target = match find_place(path, force)? {
            Place::Device(device) => Target::Device(device::open(path, &device)?),
            Place::File(place) => Target::File(Temporary::create(path, place, force, temporaries)?),
        };
        Ok(Output { shown: path.to_path_buf(), target, size: Arc::default() })
    }

    /// The one sink that writes to this output, through a buffer. From here on a device no longer holds what it held.
    pub fn sink(&self) -> Result<WriteBehind, Error> {
        let (file, limit) = match &self.target {
            Target::File(temporary) => (temporary.file(), None),
            Target::Device(file) => (file, Some(device::clear_start(&self.shown, file)?)),
        };
        let file = file.try_clone().map_err(|cause| self.refused("cannot write", cause))?;
        Ok(WriteBehind::new(file, limit, self.size.clone()))
    }

    /// The open file, to read what the sink has written and to set attributes.
    pub fn file(&self) -> Result<File, Error> {
        let file = match &self.target {
            Target::File(temporary) => temporary.file(),
            Target::Device(file) => file,
        };
        file.try_clone().map_err(|cause| self.refused("cannot write", cause))
    }

    /// Whether nothing is in it but what is written, so that the rest reads as zeros: not on a device, which keeps what it had.
    pub fn begins_empty(&self) -> bool {
        matches!(self.target, Target::File(_))
    }

    /// Bytes written so far, as far as the highest offset reached.
    pub fn size(&self) -> u64 {
        self.size.load(Ordering::Relaxed)
    }

    /// A counter of the bytes written that can be read while the sink is in use.
    pub fn size_counter(&self) -> Arc<AtomicU64> {
        self.size.clone()
    }

    /// The names that the output has: the one it was asked for by, and the one it has meanwhile.
    pub fn names(&self) -> impl Iterator<Item = &Path> {
        let meanwhile = match &self.target {
            Target::File(temporary) => temporary.name(),
            Target::Device(_) => None,
        };
        std::iter::once(self.shown.as_path()).chain(meanwhile)
    }

    /// Makes what was written last: on the medium, and under its name. After an error a file does not have its name: what goes
    /// wrong once it has is a matter for the observer.
    pub fn finish(self, observer: &mut dyn Observer) -> Result<(), Error> {
        match self.target {
            Target::File(temporary) => temporary.finish(observer),
            Target::Device(file) => file.sync_all().map_err(|cause| refused(&self.shown, "cannot sync", cause)),
        }
    }

    fn refused(&self, action: &'static str, cause: std::io::Error) -> Error {
        refused(&self.shown, action, cause)
    }
}

/// The operating system's refusal, with the output's name.
fn refused(path: &Path, action: &'static str, cause: std::io::Error) -> Error {
    Error::Output { path: path.to_path_buf(), action, cause }
}

#[cfg(test)]
mod tests;
