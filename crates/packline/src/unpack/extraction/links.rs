//! Hard links of a tar in a directory.

use std::io;

use packline_image::Warning;
use packline_runtime::escape::Escape;
use packline_tree::destination::Refusal;
use packline_tree::{Bytes, Entry};
use rustix::io::Errno;

use super::{Extraction, split};
use crate::error::Error;

impl Extraction {
    /// Creates a further name, now or, if its file does not exist yet, at the end.
    pub(super) fn link_or_wait(&mut self, entry: &Entry, target: &Bytes) -> Result<(), Error> {
        match self.link(&entry.path, target) {
            Err(Refusal::Os(_, Errno::NOENT)) => {
                self.keep(entry.path.len() + target.len())?;
                self.links.push((entry.path.clone(), target.clone()));
                Ok(())
            }
            linked => linked.map_err(|refusal| self.refused(&entry.path, refusal)),
        }
    }

    pub(super) fn link(&mut self, path: &[u8], target: &[u8]) -> Result<(), Refusal> {
        match self.try_link(path, target) {
            Err(Refusal::Os(_, Errno::ACCESS)) => {
                let parent = self.open(split(path).0)?;
                self.stand_in(split(path).0, parent);
                if self.extend_present() {
                    self.try_link(path, target)
                } else {
                    Err(Refusal::Os("cannot link", Errno::ACCESS))
                }
            }
            linked => linked,
        }
    }

    /// Creates a hard link, or a copy if the destination does not support hard links. As other entries, it replaces an earlier one when it is
    /// complete.
    fn try_link(&mut self, path: &[u8], target: &[u8]) -> Result<(), Refusal> {
        let parent = split(path).0;
        if self.present.as_ref().is_none_or(|(present, _)| present != parent) {
            let opened = self.open(parent)?;
            self.stand_in(parent, opened);
        }
        let (from, target) = self.open_parent(target)?;
        let target_name = split(&target).1;
        if path == target.as_slice() {
            // The name must not be removed to be made again.
            return match from.link(target_name, &from, target_name) {
                Err(Refusal::Os(_, Errno::EXIST)) => Ok(()),
                linked => linked,
            };
        }
        let Err(refusal) = self.make_or_replace(path, &|place, name| from.link(target_name, place, name)) else {
            return self.put_in_place(path);
        };
        let mut copied = || self.make_or_replace(path, &|place, name| from.copy_entry(target_name, place, name));
        if !refusal.is_unlinkable() || copied().is_err() {
            return Err(refusal);
        }
        self.put_in_place(path)?;
        self.counts.hard_links_copied += 1;
        let warning = Warning::not_linked(&self.path(path), &refusal);
        self.tell(warning);
        Ok(())
    }

    /// The error of a hard link, which names the target if the target is missing.
    pub(super) fn unlinked(&self, path: &[u8], target: &[u8], refusal: Refusal) -> Error {
        match self.refused(path, refusal) {
            Error::Output { path, cause, .. } if cause.kind() == io::ErrorKind::NotFound => {
                let what = format!("there is no {}", self.path(target).escaped());
                Error::Output { path, action: "cannot link", cause: io::Error::new(io::ErrorKind::NotFound, what) }
            }
            error => error,
        }
    }
}
