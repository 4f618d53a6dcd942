//! The selected entries of an image, with all attributes of a listing.

use packline_volume::Visit;

use crate::{Error, OpenedImage, SelectedWalk, Selection};

/// Selected entries in the order of their paths, without the directories that only lead to them.
///
/// An error affects one entry; the following entries are still returned.
pub struct ImageEntries<'s> {
    image: &'s OpenedImage,
    walk: SelectedWalk<'s>,
}

impl<'s> ImageEntries<'s> {
    /// Lists the entries of `image` in `selection`.
    pub fn new(image: &'s OpenedImage, selection: &'s Selection) -> ImageEntries<'s> {
        ImageEntries { image, walk: SelectedWalk::new(&image.volume, selection).without_leading() }
    }
}

impl Iterator for ImageEntries<'_> {
    type Item = Result<Visit, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let visited = self.walk.next()?;
        Some(visited.map_err(|(path, cause)| self.image.fault_at(&path, cause)))
    }
}
