//! The entries of an image that a selection names, with all that a listing shows of them.

use packline_squashfs::read::Visit;

use crate::{Error, OpenedImage, SelectedWalk, Selection};

/// Selected entries in the order of their paths, the directories that merely lead to them left out.
///
/// An error concerns one entry; what is beside it follows all the same.
pub struct ImageEntries<'s> {
    image: &'s OpenedImage,
    selection: &'s Selection,
    walk: SelectedWalk<'s>,
    /// Indices of patterns that no entry has matched so far.
    unmatched: Vec<usize>,
}

impl<'s> ImageEntries<'s> {
    /// The entries of `image` that `selection` names.
    pub fn new(image: &'s OpenedImage, selection: &'s Selection) -> ImageEntries<'s> {
        let walk = SelectedWalk::new(&image.image, selection);
        ImageEntries { image, selection, walk, unmatched: (0..selection.include.len()).collect() }
    }

    /// Indices into [`Selection::include`] of the patterns that no entry has matched so far; after the last entry: that
    /// name nothing.
    pub fn unmatched(&self) -> &[usize] {
        &self.unmatched
    }

    fn note(&mut self, path: &[u8]) {
        let include = &self.selection.include;
        self.unmatched.retain(|&pattern| !include[pattern].matches(path));
    }
}

impl Iterator for ImageEntries<'_> {
    type Item = Result<Visit, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.walk.next()? {
                Ok(visit) if self.selection.selects(&visit.path) => {
                    self.note(&visit.path);
                    return Some(Ok(visit));
                }
                Ok(_) => {}
                Err((path, cause)) => return Some(Err(self.image.fault_at(&path, cause))),
            }
        }
    }
}
