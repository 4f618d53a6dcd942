//! An output: a file that gets its name only when it is whole, a block device, or a stream.
//!
//! A file is written without a name (`O_TMPFILE`) where the file system supports it, else under another name beside the target, which
//! the next run removes if this one is killed (`temp_name.rs`). [`OutputFile::finish`] syncs it, gives it its name in one step,
//! and syncs the directory. An [`OutputFile`] that is dropped before that leaves nothing behind. A file that is replaced hands on its owner,
//! permissions and extended attributes (`attributes.rs`). One without any data is written in place instead, and has none again after an error
//! (`in_place.rs`); one that no rename can replace is written over at the end (`overwrite.rs`). A block device is written in place:
//! its first bytes, where a superblock would be found, are cleared first, so that an image cut short is not taken for one. A stream
//! gets its bytes when all of them are in an unnamed file. If a file is replaced, a warning names each file next to it that belongs to
//! the old content (`side_files.rs`).

mod attributes;
mod device;
mod in_place;
mod overwrite;
mod revocable;
mod side_files;
mod spool;
mod target;
mod temp_name;
mod unfinished;
mod write_behind;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use attributes::FileAttributes;
use in_place::InPlace;
pub use revocable::Revocable;
pub use side_files::{beside_image, recovery_beside, warn_of_stale};
use spool::Spool;
pub use target::end_of_links;
use target::{Target, find_target};
pub use temp_name::checksum;
use unfinished::UnfinishedFile;
pub use write_behind::WriteBehind;

use crate::{Error, FileStamp, Observer, Temporaries};

/// An open output.
#[derive(Debug)]
pub struct OutputFile {
    display_path: PathBuf,
    place: Place,
    size: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Place {
    File(UnfinishedFile),
    InPlace(InPlace),
    Device(File),
    Stream(Spool),
}

impl OutputFile {
    /// Opens the output called `path`. An existing file is only replaced with `force`; a block device counts as
    /// existing. A link that leads to no file gets the file that it names. Refuses pipes, sockets, directories and character devices.
    pub fn open(path: &Path, force: bool, temporaries: &Temporaries) -> Result<OutputFile, Error> {
        temporaries.begin();
        let place = match find_target(path, force)? {
            Target::Device(device) => Place::Device(device::open(path, &device)?),
            Target::File(target) => {
                let blank = if force { InPlace::open(path, &target, temporaries) } else { None };
                match blank {
                    Some(blank) => Place::InPlace(blank),
                    None => Place::File(UnfinishedFile::create(path, target, force, temporaries)?),
                }
            }
        };
        Ok(OutputFile { display_path: path.to_path_buf(), place, size: Arc::default() })
    }

    /// An output that is written to an unnamed file in `directory`, and copied to `out` when it is whole.
    pub fn spooled(display_path: &Path, out: Box<dyn Write>, directory: &Path) -> Result<OutputFile, Error> {
        let place = Place::Stream(Spool::create(display_path, out, directory)?);
        Ok(OutputFile { display_path: display_path.to_path_buf(), place, size: Arc::default() })
    }

    /// The one sink that writes to this output, through a buffer. The start of a device is cleared.
    pub fn sink(&self) -> Result<WriteBehind, Error> {
        self.sink_at(0)
    }

    /// As [`OutputFile::sink`], of an output that begins at byte `origin`: a file has zeros before it, a device what it has there.
    pub fn sink_at(&self, origin: u64) -> Result<WriteBehind, Error> {
        let limit = match &self.place {
            Place::Device(file) => Some(device::clear(&self.display_path, file, origin)?),
            _ => None,
        };
        let sink = WriteBehind::new(self.file()?, limit, self.size.clone()).beginning_at(origin);
        Ok(match &self.place {
            Place::Stream(spool) => sink.in_scratch(spool.directory()),
            Place::InPlace(file) => sink.in_place(file.list()),
            _ => sink,
        })
    }

    /// The open file, to read what the sink has written and to set attributes.
    pub fn file(&self) -> Result<File, Error> {
        let file = match &self.place {
            Place::File(temporary) => temporary.file(),
            Place::InPlace(file) => file.file(),
            Place::Device(file) => file,
            Place::Stream(spool) => spool.file(),
        };
        file.try_clone().map_err(|cause| self.refused("cannot write", cause))
    }

    /// Whether bytes that are not written read as zeros: not on a device, which keeps its content.
    pub fn begins_empty(&self) -> bool {
        !matches!(self.place, Place::Device(_))
    }

    /// Gives a file the times of the one that it is made from, and its owner and permissions too, unless it replaces a file: then it has those of
    /// that file. A device and a stream keep what they have.
    ///
    /// # Errors
    /// The operating system's refusal, but not of an owner, which takes a privilege.
    pub fn take_attributes(&mut self, attributes: &FileAttributes) -> Result<(), Error> {
        let taken = match &mut self.place {
            Place::File(temporary) => temporary.take_attributes(attributes),
            Place::InPlace(file) => file.take_times(attributes),
            Place::Device(_) | Place::Stream(_) => Ok(()),
        };
        taken.map_err(|cause| self.refused("cannot set attributes", cause))
    }

    /// Limits who can read a new file, before anything is written: to those who can read the file with these attributes. A file that replaces
    /// another has the attributes of that file. A device and a stream keep what they have.
    ///
    /// # Errors
    /// The operating system's refusal, but not of an owner, which takes a privilege.
    pub fn limit_access(&mut self, attributes: &FileAttributes) -> Result<(), Error> {
        let limited = match &mut self.place {
            Place::File(temporary) => temporary.limit_access(attributes),
            Place::InPlace(_) | Place::Device(_) | Place::Stream(_) => Ok(()),
        };
        limited.map_err(|cause| self.refused("cannot set attributes", cause))
    }

    /// The new content is that to which the side files of a replaced file belong: no warning names them.
    pub fn keeps_side_files(&mut self) {
        if let Place::File(temporary) = &mut self.place {
            temporary.keeps_side_files();
        }
    }

    /// Locks the file that this output replaces against other runs that do the same. It was read too, and `stamp` is its state then: the output
    /// does not get its name if anything has changed the file since.
    ///
    /// # Errors
    /// [`Error::Target`] if another run has locked it, [`Error::Output`] if it has changed.
    pub fn replaces_input(&mut self, stamp: FileStamp) -> Result<(), Error> {
        match &mut self.place {
            Place::File(temporary) => temporary.guard(stamp),
            Place::InPlace(_) | Place::Device(_) | Place::Stream(_) => Ok(()),
        }
    }

    /// Bytes written so far, as far as the highest offset reached.
    pub fn size(&self) -> u64 {
        self.size.load(Ordering::Relaxed)
    }

    /// A counter of the bytes written that can be read while the sink is in use.
    pub fn size_counter(&self) -> Arc<AtomicU64> {
        self.size.clone()
    }

    /// The names of the output: the requested one, and the temporary one. A stream has none.
    pub fn names(&self) -> impl Iterator<Item = &Path> {
        let (name, temporary_name) = match &self.place {
            Place::File(temporary) => (Some(self.display_path.as_path()), temporary.name()),
            Place::InPlace(_) | Place::Device(_) => (Some(self.display_path.as_path()), None),
            Place::Stream(_) => (None, None),
        };
        name.into_iter().chain(temporary_name)
    }

    /// Syncs the output and gives it its name, or copies it to its stream. After an error a file does not have its name; failures after that go to the observer.
    pub fn finish(self, observer: &mut dyn Observer) -> Result<(), Error> {
        observer.syncing();
        match self.place {
            Place::File(temporary) => temporary.finish(observer),
            Place::InPlace(file) => file.finish(),
            Place::Device(file) => {
                file.sync_all().map_err(|cause| Error::output(&self.display_path, "cannot sync", cause))
            }
            Place::Stream(spool) => spool.finish(&self.display_path),
        }
    }

    /// Brings a file or device to the medium before it is finished: of several files that belong together, all are there before the first has
    /// its name.
    pub fn sync(&self, observer: &mut dyn Observer) -> Result<(), Error> {
        observer.syncing();
        self.file()?.sync_all().map_err(|cause| self.refused("cannot sync", cause))
    }

    /// As [`OutputFile::finish`] of a file, and undoes it when the result is dropped: a file that was replaced is there again then.
    ///
    /// # Errors
    /// Also for a device and a stream, of which nothing can be undone.
    pub fn finish_revocably(self, observer: &mut dyn Observer) -> Result<Revocable, Error> {
        observer.syncing();
        match self.place {
            Place::File(temporary) => temporary.finish_revocably(observer),
            Place::InPlace(file) => file.finish_revocably(),
            _ => Err(self.refused("cannot replace", std::io::ErrorKind::Unsupported.into())),
        }
    }

    fn refused(&self, action: &'static str, cause: std::io::Error) -> Error {
        Error::output(&self.display_path, action, cause)
    }
}

#[cfg(test)]
mod tests;
