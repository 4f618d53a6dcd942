//! An existing file without data, which is written in place: no data can be lost, and its other names, its attributes and open
//! descriptors stay with the output.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use super::overwrite;
use super::revocable::Revocable;
use crate::{Error, FileAttributes, Temporaries};

/// A file that is written in place. Dropping it before [`InPlace::finish`] restores the file.
#[derive(Debug)]
pub struct InPlace {
    file: File,
    path: PathBuf,
    display_path: PathBuf,
    list: Temporaries,
    finished: bool,
}

impl InPlace {
    /// Opens the file at `path`, if it has no data, can be written and is not being written by another run.
    pub fn open(display_path: &Path, path: &Path, list: &Temporaries) -> Option<InPlace> {
        let file = overwrite::open(path).ok()?;
        // If two runs write the file at the same time, only one can write in place. The other replaces the file.
        file.try_lock().ok()?;
        let length = file.metadata().ok()?.len();
        if !is_blank(&file).unwrap_or(false) {
            return None;
        }
        list.restoring(path, file.try_clone().ok()?, 0..length);
        let path = path.to_path_buf();
        let display_path = display_path.to_path_buf();
        let opened = InPlace { file, path, display_path, list: list.clone(), finished: false };
        // After an error, the drop of `opened` restores the file.
        opened.file.set_len(0).ok().map(|()| opened)
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    pub fn list(&self) -> &Temporaries {
        &self.list
    }

    /// Gives the file the times of another.
    pub fn take_times(&self, attributes: &FileAttributes) -> io::Result<()> {
        attributes.apply_times(&self.file)
    }

    /// Syncs the file, which keeps its new content.
    pub fn finish(mut self) -> Result<(), Error> {
        self.sync()?;
        self.finished = true;
        self.list.settle(&self.path, |_| Ok(()))
    }

    /// Syncs the file. Dropping the result restores the file without data.
    pub fn finish_revocably(mut self) -> Result<Revocable, Error> {
        self.sync()?;
        self.finished = true;
        Ok(Revocable::in_place(self.path.clone(), self.list.clone()))
    }

    fn sync(&self) -> Result<(), Error> {
        self.file.sync_all().map_err(|cause| Error::output(&self.display_path, "cannot sync", cause))
    }
}

impl Drop for InPlace {
    fn drop(&mut self) {
        if !self.finished {
            self.list.remove(&self.path);
        }
    }
}

/// Whether a file is empty or a single hole. A file system that reports no blocks may still have data, so the position of data is
/// checked too.
fn is_blank(file: &File) -> io::Result<bool> {
    let about = file.metadata()?;
    if about.len() == 0 {
        return Ok(true);
    }
    let no_data = || matches!(seek(file, SeekFrom::Data(0)), Err(Errno::NXIO));
    Ok(about.blocks() == 0 && no_data())
}
