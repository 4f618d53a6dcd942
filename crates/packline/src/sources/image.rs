//! An image as a source, and an image before a source: its entries come first, with the attributes that they have.

use packline_archives::tar::TarOptions;
use packline_image::{ImageSource, OpenedImage, SourceDemand, SourcePlan};
use packline_runtime::escape::Escape;
use packline_runtime::memory::Demand;
use packline_tree::{Bytes, Entry, Extent, Kind, Source, keep_all};

use super::changes::EntryEdit;
use super::planned::{DEFAULT_META, Listener, OpenSource, Opening, PLAIN, PlannedSource, Share};
use crate::error::Error;

pub(super) struct ImagePlan {
    pub(super) image: OpenedImage,
    pub(super) listener: Listener,
}

impl ImagePlan {
    fn plan(&self, share: &Share) -> SourcePlan {
        SourceDemand::new(&self.image, share.limit).plan(share.threads, share.spare / 4)
    }
}

impl PlannedSource for ImagePlan {
    fn demand(&self, limit: Option<u64>) -> Demand {
        let demand = SourceDemand::new(&self.image, limit);
        Demand { fixed: PLAIN + demand.least(), per_worker: demand.tool(), ..Demand::default() }
    }

    fn memory(&self, share: &Share) -> u64 {
        PLAIN + SourceDemand::new(&self.image, share.limit).memory(&self.plan(share))
    }

    fn shares_workers(&self) -> bool {
        true
    }

    fn each_image(&mut self, work: &mut dyn FnMut(&mut OpenedImage, &mut Listener)) {
        work(&mut self.image, &mut self.listener);
    }

    fn open(self: Box<Self>, share: &Share, opening: &Opening<'_>) -> Result<OpenSource, Error> {
        let plan = self.plan(share);
        let name = self.image.display_path.escaped();
        if let Some(inputs) = opening.inputs {
            let image = self.image.clone();
            inputs.add(name.clone(), move || image.rewritten());
        }
        let mut source = ImageSource::new(self.image, &plan, opening.resources, opening.rule.clone());
        if let Some(listener) = self.listener {
            source = source.reporting_to(listener);
        }
        Ok(OpenSource::new(name, Box::new(source)))
    }
}

/// An image whose entries are packed before those of the source. Changes of the entries of the source do not apply to them.
#[derive(Debug, Clone)]
pub struct AppendTo {
    /// The image. The output may replace it.
    pub image: OpenedImage,
    /// Canonical path of the directory that the root of the image becomes, with the content of the image. Empty for the root itself,
    /// which then has the attributes from the source. The source must not have another entry at the path of an entry of the image.
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
    fn open(self: Box<Self>, share: &Share, opening: &Opening<'_>) -> Result<OpenSource, Error> {
        let in_place = Opening::in_place(TarOptions::default(), opening.resources, keep_all(), DEFAULT_META);
        let whole = Opening { inputs: opening.inputs, ..in_place };
        let opened = Box::new(self.image).open(share, &whole)?;
        let moved = BelowDirectory { source: opened.source, directory: self.directory, edit: self.edit };
        Ok(OpenSource { source: Box::new(moved), ..opened })
    }
}

/// The entries of an image, moved below a directory.
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
    fn next_entry(&mut self) -> Result<Option<Entry>, packline_tree::Error> {
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

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, packline_tree::Error> {
        self.source.read(buffer)
    }

    fn progress(&self) -> (u64, Option<u64>) {
        self.source.progress()
    }
}
