//! An image before a source: its entries come first, with the attributes that they have.

use packline_squashfs::{BaseError, Options};
use packline_tree::tar::TarOptions;
use packline_tree::{Bytes, Entry, Error, Extent, Kind, Source, keep_all};

use crate::base::Bases;
use crate::source::{Granted, Opened, Opening, Prepared};
use crate::{DEFAULT_META, EntryEdit, Image, Resources};

/// An image whose entries are packed before those of the source. What changes entries of the source changes none of them.
#[derive(Debug, Clone)]
pub struct AppendTo {
    /// The image. It may be replaced by what is packed.
    pub image: Image,
    /// Canonical path of the directory that its root becomes, with all that is in it; empty for the root itself, which then has the
    /// attributes that the source gives it. The source must have no other entry at the path of one of the image's.
    pub directory: Bytes,
    /// A change of the image's entries.
    pub edit: Option<EntryEdit>,
}

/// A source, and the image before it, whose memory need is known.
pub(crate) struct Inputs {
    source: Prepared,
    before: Option<(Prepared, AppendTo)>,
}

/// A source, and the image before it, whose shares of the memory are known.
pub(crate) struct GrantedInputs {
    source: Granted,
    before: Option<(Granted, AppendTo)>,
}

impl Inputs {
    pub(crate) fn new(source: Prepared, before: Option<AppendTo>) -> Inputs {
        Inputs {
            source,
            before: before.map(|before| (Prepared::Image { image: before.image.clone(), watch: None }, before)),
        }
    }

    /// Adds the images that are read to the bases; of the one before the source blocks of any encoder, since it is kept as it is. The
    /// data of an image that is not a base is compared with its record once it has been read.
    ///
    /// # Errors
    /// Those of [`Bases::add_any`].
    pub(crate) fn add_bases(
        &mut self,
        bases: &mut Bases,
        options: &Options,
        resources: &Resources,
        spare: u64,
    ) -> Result<(), crate::Error> {
        self.source.each_image(&mut |image, watch| {
            *watch = bases.add_source(image, options, resources, spare).ok();
            if watch.is_none() {
                bases.check(image);
            }
        });
        let Some((Prepared::Image { image, watch }, _)) = &mut self.before else { return Ok(()) };
        match bases.add_source(image, options, resources, spare) {
            Ok(base) => {
                *watch = Some(base);
                return Ok(());
            }
            Err(BaseError::Foreign { .. }) => bases.add_any(image, options, resources, spare)?,
            Err(_) => {}
        }
        bases.check(image);
        Ok(())
    }

    fn all(&self) -> impl Iterator<Item = &Prepared> {
        self.before.iter().map(|(before, _)| before).chain([&self.source])
    }

    /// As [`Prepared::least`].
    pub(crate) fn least(&self, limit: Option<u64>) -> u64 {
        self.all().map(|prepared| prepared.least(limit)).sum()
    }

    /// As [`Prepared::tool`].
    pub(crate) fn tool(&self) -> u64 {
        self.all().map(Prepared::tool).sum()
    }

    /// As [`Prepared::granted`]; both get the same share.
    pub(crate) fn granted(self, threads: usize, limit: Option<u64>, spare: u64) -> (GrantedInputs, u64) {
        let share = spare / self.all().count() as u64;
        let (source, mut memory) = self.source.granted(threads, limit, share);
        let before = self.before.map(|(prepared, before)| {
            let (granted, more) = prepared.granted(threads, limit, share);
            memory = memory.saturating_add(more);
            (granted, before)
        });
        (GrantedInputs { source, before }, memory)
    }
}

impl GrantedInputs {
    /// As [`Granted::shares_workers`].
    pub(crate) fn shares_workers(&self) -> bool {
        self.before.is_some() || self.source.shares_workers()
    }

    /// The source, and the image before it as another.
    pub(crate) fn split(self) -> (Granted, Option<GrantedImage>) {
        (self.source, self.before.map(|(granted, before)| GrantedImage { granted, before }))
    }
}

/// An image whose share of the memory is known.
pub(crate) struct GrantedImage {
    granted: Granted,
    before: AppendTo,
}

impl GrantedImage {
    pub(crate) fn open(self, resources: &Resources) -> Result<Box<dyn Source>, crate::Error> {
        let (tar, rule, root) = (TarOptions::default(), keep_all(), DEFAULT_META);
        let Opened { source, .. } = self.granted.open(&Opening::in_place(tar, resources, rule, root))?;
        let AppendTo { directory, edit, .. } = self.before;
        Ok(Box::new(Moved { source, directory, edit }))
    }
}

/// The entries of an image below a directory.
struct Moved {
    source: Box<dyn Source>,
    directory: Bytes,
    edit: Option<EntryEdit>,
}

impl Moved {
    fn moved(&self, path: Bytes) -> Bytes {
        match (self.directory.is_empty(), path.is_empty()) {
            (true, _) => path,
            (false, true) => self.directory.clone(),
            (false, false) => [&self.directory, &b"/"[..], &path].concat(),
        }
    }
}

impl Source for Moved {
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
