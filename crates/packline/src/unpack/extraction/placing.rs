//! The names under which entries are created. In a new destination these are their own names. In an existing one, an entry gets its name when it is
//! complete, and replaces the earlier entry of that name then.

use std::cell::Cell;
use std::sync::Arc;

use packline_tree::destination::{Directory, Refusal};
use rustix::io::Errno;

use super::{Extraction, split};
use crate::error::Error;

/// The name of an incomplete entry in the staging directory.
const STAGED: &[u8] = b"entry";
/// The name of an incomplete entry where no file can be moved from the staging directory.
const STAGED_NEAR: &[u8] = b".packline-partial-entry";

/// The staging directory of an existing destination.
pub(super) struct Staging {
    pub(super) directory: Arc<Directory>,
    /// The name of the staging directory, which no entry may have.
    pub(super) reserved: &'static [u8],
    /// Whether no file can be moved from there to the current directory; `None` if that is not known yet.
    pub(super) apart: Cell<Option<bool>>,
}

impl Extraction {
    /// Rejects an entry that would be in the staging directory.
    pub(super) fn refuse_reserved(&self, path: &[u8]) -> Result<(), Error> {
        let first = path.split(|byte| *byte == b'/').next();
        match &self.staging {
            Some(staging) if first == Some(staging.reserved) => {
                let refusal = Refusal::Os("this name is needed while files are written", Errno::BUSY);
                Err(self.refused(path, refusal))
            }
            _ => Ok(()),
        }
    }

    /// Creates an entry in the current directory, or where it is until [`Extraction::settle`]. In a new destination it replaces any entry of
    /// that name.
    pub(super) fn make<T>(
        &mut self,
        path: &[u8],
        make: impl Fn(&Directory, &[u8]) -> Result<T, Refusal>,
    ) -> Result<T, Error> {
        let made = match self.make_or_replace(path, &make) {
            Err(Refusal::Os(_, Errno::ACCESS)) if self.extend_present() => self.make_or_replace(path, &make),
            made => made,
        };
        made.map_err(|refusal| self.refused(path, refusal))
    }

    /// As [`Extraction::make`], with the failed system call.
    pub(super) fn make_or_replace<T>(
        &mut self,
        path: &[u8],
        make: &impl Fn(&Directory, &[u8]) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let (place, name) = self.place(path)?;
        match make(place, name) {
            Err(Refusal::Os(_, Errno::EXIST)) => {}
            made => return made,
        }
        match place.unlink(name) {
            Err(Refusal::Os(_, Errno::ISDIR)) => self.remove_directory(path)?,
            removed => removed?,
        }
        let (place, name) = self.place(path)?;
        make(place, name)
    }

    /// Gives an entry its name.
    pub(super) fn settle(&mut self, path: &[u8]) -> Result<(), Error> {
        self.put_in_place(path).map_err(|refusal| self.refused(path, refusal))
    }

    /// As [`Extraction::settle`], with the failed system call.
    pub(super) fn put_in_place(&mut self, path: &[u8]) -> Result<(), Refusal> {
        if self.staging.is_none() {
            return Ok(());
        }
        let mut settled = self.rename(path);
        // The system looks for the right to write first, so a directory of the same name shows after the permissions are extended.
        if matches!(settled, Err(Refusal::Os(_, Errno::ACCESS))) && self.extend_present() {
            settled = self.rename(path);
        }
        if matches!(settled, Err(Refusal::Os(_, Errno::ISDIR))) {
            settled = self.remove_directory(path).and_then(|()| self.rename(path));
        }
        // Renaming does nothing between two names of one file, and a failed renaming must not leave the temporary name.
        self.give_up(path);
        settled
    }

    fn rename(&self, path: &[u8]) -> Result<(), Refusal> {
        let (place, temporary) = self.place(path)?;
        let (_, directory) = self.present.as_ref().ok_or(Refusal::Replaced)?;
        place.rename(temporary, directory, split(path).1)
    }

    /// Removes an entry that is incomplete.
    pub(super) fn give_up(&self, path: &[u8]) {
        if let Ok((place, name)) = self.place(path) {
            let _: Result<(), Refusal> = place.unlink(name);
        }
    }

    /// Removes an empty directory of the tar, or of the destination, which an entry replaces.
    fn remove_directory(&mut self, path: &[u8]) -> Result<(), Refusal> {
        let (_, directory) = self.present.as_ref().ok_or(Refusal::Replaced)?;
        directory.remove_directory(split(path).1)?;
        self.directories.remove(path);
        self.extended.remove(path);
        Ok(())
    }

    /// The directory in which an entry of the current directory is created, and its name there.
    pub(super) fn place<'p>(&'p self, path: &'p [u8]) -> Result<(&'p Directory, &'p [u8]), Refusal> {
        let (_, present) = self.present.as_ref().ok_or(Refusal::Replaced)?;
        let Some(staging) = &self.staging else { return Ok((present, split(path).1)) };
        let apart = match staging.apart.get() {
            Some(apart) => apart,
            None => !present.shares_mount(&staging.directory)?,
        };
        staging.apart.set(Some(apart));
        Ok(if apart { (present, STAGED_NEAR) } else { (&*staging.directory, STAGED) })
    }
}
