//! An image before a source: its entries come first, with the attributes that they have.

use packline_archives::tar::TarOptions;
use packline_tree::{Bytes, Entry, Error, Extent, Kind, Source, keep_all};

use super::image::ImagePlan;
use super::{Listener, OpenSource, Opening, PlannedSource, Share};
use crate::{DEFAULT_META, EntryEdit, OpenedImage};
use packline_runtime::memory::Demand;

/// An image whose entries are packed before those of the source. Changes of the entries of the source do not apply to them.
#[derive(Debug, Clone)]
pub struct AppendTo {
    /// The image. The output may replace it.
    pub image: OpenedImage,
    /// Canonical path of the directory that the root of the image becomes, with all that is in the image; empty for the root itself,
    /// which then has the attributes that the source gives it. The source must have no other entry at the path of one of the image's.
    pub directory: Bytes,
    /// A change of the image's entries.
    pub edit: Option<EntryEdit>,
}

/// [`AppendTo`] as a source.
pub(crate) struct AppendedImage {
    image: ImagePlan,
    directory: Bytes,
    edit: Option<EntryEdit>,
}

impl AppendedImage {
    pub(crate) fn new(append_to: AppendTo) -> AppendedImage {
        let AppendTo { image, directory, edit } = append_to;
        AppendedImage { image: ImagePlan { image, listener: None }, directory, edit }
    }
}

impl PlannedSource for AppendedImage {
    fn demand(&self, limit: Option<u64>) -> Demand {
        self.image.demand(limit)
    }

    fn memory(&self, share: &Share) -> u64 {
        self.image.memory(share)
    }

    fn shares_workers(&self) -> bool {
        true
    }

    fn each_image(&mut self, work: &mut dyn FnMut(&mut OpenedImage, &mut Listener)) {
        self.image.each_image(work);
    }

    /// All entries of the image are kept, whatever the rule of `opening` is.
    fn open(self: Box<Self>, share: &Share, opening: &Opening<'_>) -> Result<OpenSource, crate::Error> {
        let whole = Opening::in_place(TarOptions::default(), opening.resources, keep_all(), DEFAULT_META);
        let opened = Box::new(self.image).open(share, &whole)?;
        let moved = BelowDirectory { source: opened.source, directory: self.directory, edit: self.edit };
        Ok(OpenSource { source: Box::new(moved), ..opened })
    }
}

/// The entries of an image below a directory.
struct BelowDirectory {
    source: Box<dyn Source>,
    directory: Bytes,
    edit: Option<EntryEdit>,
}

impl BelowDirectory {
    fn moved(&self, path: Bytes) -> Bytes {
        match (self.directory.is_empty(), path.is_empty()) {
            (true, _) => path,
            (false, true) => self.directory.clone(),
            (false, false) => [&self.directory, &b"/"[..], &path].concat(),
        }
    }
}

impl Source for BelowDirectory {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        let Some(mut entry) = self.source.next_entry()? else { return Ok(None) };
        entry.path = self.moved(entry.path);
        if entry.path.is_empty() {
            return self.next_entry();
        }
        if let Kind::HardLink(target) = &mut entry.kind {
            *target = self.moved(std::mem::take(target));
        }
        if let Some(edit) = &self.edit {
            edit.apply(&mut entry)?;
        }
        Ok(Some(entry))
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        self.source.read(buffer)
    }

    fn progress(&self) -> (u64, Option<u64>) {
        self.source.progress()
    }
}
