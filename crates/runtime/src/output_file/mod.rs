//! An output: a file that gets its name only when it is complete, a block device, or a stream.
//!
//! - A new file has no name while it is written (`O_TMPFILE`). Where the file system does not support that, it has a temporary
//!   name in the same directory; if the run is killed, the next run removes the file (`temp_name.rs`). [`OutputFile::finish`]
//!   syncs the file, gives it its name in one step, and syncs the directory. Dropping an unfinished [`OutputFile`] removes it.
//! - A file that replaces another takes over its owner, permissions and extended attributes (`attributes.rs`). A warning names
//!   each file next to it that belongs to the old content (`side_files.rs`).
//! - An existing file without data is written in place, and is emptied again after an error (`in_place.rs`).
//! - A file that no rename can replace is overwritten at the end (`overwrite.rs`).
//! - A block device is written in place. Its first bytes, the place of a superblock, are cleared first, so that no program takes
//!   an incomplete image for a complete one (`device.rs`).
//! - A stream gets its bytes when all of them are in an unnamed file (`spool.rs`).

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
mod write_file;
mod write_thread;

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
pub use unfinished::rename;
pub use write_behind::WriteBehind;
pub use write_file::{check_writable, write_file};
pub use write_thread::WriteThread;

use crate::{Error, FileStamp, Observer, Temporaries};

/// An open output.
#[derive(Debug)]
pub struct OutputFile {
    display_path: PathBuf,
    medium: Medium,
    size: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Medium {
    File(UnfinishedFile),
    InPlace(InPlace),
    Device(File),
    Stream(Spool),
}

impl OutputFile {
    /// Opens the output called `path`. Replaces an existing file only with `force`; a block device counts as existing. If `path`
    /// is a link to a missing file, that file is created. Fails for pipes, sockets, directories and character devices.
    pub fn open(path: &Path, force: bool, temporaries: &Temporaries) -> Result<OutputFile, Error> {
        temporaries.begin();
        let medium = match find_target(path, force)? {
            Target::Device(device) => Medium::Device(device::open(path, &device)?),
            Target::File(target) => {
                let blank = if force { InPlace::open(path, &target, temporaries) } else { None };
                match blank {
                    Some(blank) => Medium::InPlace(blank),
                    None => Medium::File(UnfinishedFile::create(path, target, force, temporaries)?),
                }
            }
        };
        Ok(OutputFile { display_path: path.to_path_buf(), medium, size: Arc::default() })
    }

    /// An output that is written to an unnamed file in `directory`, and copied to `out` when it is complete.
    pub fn spooled(display_path: &Path, out: Box<dyn Write + Send>, directory: &Path) -> Result<OutputFile, Error> {
        let medium = Medium::Stream(Spool::create(display_path, out, directory)?);
        Ok(OutputFile { display_path: display_path.to_path_buf(), medium, size: Arc::default() })
    }

    /// The only sink that writes to this output, with a buffer. Clears the start of a device.
    pub fn sink(&self) -> Result<WriteBehind, Error> {
        self.sink_at(0)
    }

    /// Like [`OutputFile::sink`], for an output that begins at byte `origin`. A file has zeros before `origin`; a device keeps
    /// its bytes there.
    pub fn sink_at(&self, origin: u64) -> Result<WriteBehind, Error> {
        let limit = match &self.medium {
            Medium::Device(file) => Some(device::clear(&self.display_path, file, origin)?),
            _ => None,
        };
        let sink = WriteBehind::new(self.file()?, limit, self.size.clone()).beginning_at(origin);
        Ok(self.guarded(sink))
    }

    /// A sink for the bytes of a file or a stream before the byte at which another sink begins ([`OutputFile::sink_at`]). They do not
    /// count for [`OutputFile::size`].
    ///
    /// # Errors
    /// Fails for a device, which keeps its bytes there.
    pub fn sink_before(&self) -> Result<WriteBehind, Error> {
        if !self.begins_empty() {
            let what = "a block device keeps the bytes before the image";
            return Err(Error::target(&self.display_path, what, "a file"));
        }
        Ok(self.guarded(WriteBehind::new(self.file()?, None, Arc::default())))
    }

    /// The same sink, as the kind of this output needs it.
    fn guarded(&self, sink: WriteBehind) -> WriteBehind {
        match &self.medium {
            Medium::Stream(spool) => sink.in_scratch(spool.directory()),
            Medium::InPlace(file) => sink.in_place(file.list()),
            _ => sink,
        }
    }

    /// The open file, to read written bytes and to set attributes.
    pub fn file(&self) -> Result<File, Error> {
        let file = match &self.medium {
            Medium::File(temporary) => temporary.file(),
            Medium::InPlace(file) => file.file(),
            Medium::Device(file) => file,
            Medium::Stream(spool) => spool.file(),
        };
        file.try_clone().map_err(|cause| self.refused("cannot write", cause))
    }

    /// Whether unwritten bytes are zeros. A device keeps its old content.
    pub fn begins_empty(&self) -> bool {
        !matches!(self.medium, Medium::Device(_))
    }

    /// Gives the output the times of its source, and also the source's owner and permissions if it replaces no file. A file that
    /// replaces another keeps the attributes of the old file. Does nothing for a device or a stream.
    ///
    /// # Errors
    /// A system call fails. Failing to set the owner, which needs a privilege, is not an error.
    pub fn take_attributes(&mut self, attributes: &FileAttributes) -> Result<(), Error> {
        let taken = match &mut self.medium {
            Medium::File(temporary) => temporary.take_attributes(attributes),
            Medium::InPlace(file) => file.take_times(attributes),
            Medium::Device(_) | Medium::Stream(_) => Ok(()),
        };
        taken.map_err(|cause| self.refused("cannot set attributes", cause))
    }

    /// Limits who can read a new file, before any byte is written, to users who can read a file with these attributes. A file
    /// that replaces another has the attributes of the old file already. Does nothing for a device or a stream.
    ///
    /// # Errors
    /// A system call fails. Failing to set the owner, which needs a privilege, is not an error.
    pub fn limit_access(&mut self, attributes: &FileAttributes) -> Result<(), Error> {
        let limited = match &mut self.medium {
            Medium::File(temporary) => temporary.limit_access(attributes),
            Medium::InPlace(_) | Medium::Device(_) | Medium::Stream(_) => Ok(()),
        };
        limited.map_err(|cause| self.refused("cannot set attributes", cause))
    }

    /// Lets all users who may read a new file also execute it. A file that exists keeps its permissions. Does nothing for a device or a
    /// stream.
    ///
    /// # Errors
    /// A system call fails.
    pub fn make_executable(&mut self) -> Result<(), Error> {
        let made = match &mut self.medium {
            Medium::File(temporary) => temporary.make_executable(),
            Medium::InPlace(_) | Medium::Device(_) | Medium::Stream(_) => Ok(()),
        };
        made.map_err(|cause| self.refused("cannot set permissions", cause))
    }

    /// Suppresses the warning about side files: the new content is the one that they belong to.
    pub fn keeps_side_files(&mut self) {
        if let Medium::File(temporary) = &mut self.medium {
            temporary.keeps_side_files();
        }
    }

    /// Locks the file that this output replaces, against other runs that replace it. The file was read, and `stamp` is its state
    /// before: [`OutputFile::finish`] fails if anything has changed the file since.
    ///
    /// # Errors
    /// [`Error::Target`] if another run has locked it, [`Error::Output`] if it has changed.
    pub fn replaces_input(&mut self, stamp: FileStamp) -> Result<(), Error> {
        match &mut self.medium {
            Medium::File(temporary) => temporary.guard(stamp),
            Medium::InPlace(_) | Medium::Device(_) | Medium::Stream(_) => Ok(()),
        }
    }

    /// The highest offset written so far.
    pub fn size(&self) -> u64 {
        self.size.load(Ordering::Relaxed)
    }

    /// The counter behind [`OutputFile::size`], which can be read while the sink is in use.
    pub fn size_counter(&self) -> Arc<AtomicU64> {
        self.size.clone()
    }

    /// The requested and the temporary name of the output. A stream has no names.
    pub fn names(&self) -> impl Iterator<Item = &Path> {
        let (name, temporary_name) = match &self.medium {
            Medium::File(temporary) => (Some(self.display_path.as_path()), temporary.name()),
            Medium::InPlace(_) | Medium::Device(_) => (Some(self.display_path.as_path()), None),
            Medium::Stream(_) => (None, None),
        };
        name.into_iter().chain(temporary_name)
    }

    /// Syncs the output and gives it its name, or copies it to its stream. After an error a file does not have its name. Failures
    /// after a file has its name go to the observer.
    pub fn finish(self, observer: &mut dyn Observer) -> Result<(), Error> {
        observer.syncing();
        match self.medium {
            Medium::File(temporary) => temporary.finish(observer),
            Medium::InPlace(file) => file.finish(),
            Medium::Device(file) => {
                file.sync_all().map_err(|cause| Error::output(&self.display_path, "cannot sync", cause))
            }
            Medium::Stream(spool) => spool.finish(&self.display_path),
        }
    }

    /// Writes a file or device to the medium before it is finished, so that all files of a set are on the medium before the first
    /// gets its name.
    pub fn sync(&self, observer: &mut dyn Observer) -> Result<(), Error> {
        observer.syncing();
        self.file()?.sync_all().map_err(|cause| self.refused("cannot sync", cause))
    }

    /// Like [`OutputFile::finish`], but undoes it when the result is dropped: the old file gets its name back.
    ///
    /// # Errors
    /// Fails for a device and a stream, which cannot be undone.
    pub fn finish_revocably(self, observer: &mut dyn Observer) -> Result<Revocable, Error> {
        observer.syncing();
        match self.medium {
            Medium::File(temporary) => temporary.finish_revocably(observer),
            Medium::InPlace(file) => file.finish_revocably(),
            _ => Err(self.refused("cannot replace", std::io::ErrorKind::Unsupported.into())),
        }
    }

    fn refused(&self, action: &'static str, cause: std::io::Error) -> Error {
        Error::output(&self.display_path, action, cause)
    }
}

#[cfg(test)]
mod tests;
