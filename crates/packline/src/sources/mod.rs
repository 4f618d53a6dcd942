//! The sources of a pack. A [`Source`] describes one. [`examine`] finds out what it is and returns a [`PlannedSource`], which says how much
//! memory the source needs and opens it within its share of the memory.

mod appended;
mod attribute_overrides;
mod changes;
mod directory;
mod entry_edit;
mod filtered;
mod image;
mod joined;
mod listing;
mod observed;
#[cfg(feature = "oci")]
mod oci;
mod plain_file;
mod recognise;
mod source;
mod stack;
mod store;
mod survey;
mod tar;

use std::path::Path;
use std::sync::Arc;

use packline_archives::tar::TarOptions;
use packline_archives::{ContentOrder, Layer};
use packline_squashfs::read::BlockListener;
use packline_tree::{DirectoryOptions, KeepRule, Meta, Replaced, keep_all};

pub use appended::AppendTo;
pub use attribute_overrides::AttributeOverrides;
pub use changes::{Changes, NewRoot, Unsupported};
pub use entry_edit::EntryEdit;
pub use joined::Part;
pub use listing::{List, hints_of};
pub use source::{Source, Stack};
pub use survey::survey;

pub(crate) use appended::AppendedImage;
pub(crate) use directory::leave_out;
pub(crate) use filtered::{Filtered, filter_memory};
pub(crate) use observed::ObservedSource;
pub(crate) use recognise::{foreign_in, peeked};
#[cfg(feature = "lrz")]
pub(crate) use recognise::{head_of, is_compressed, refuse_container};

use crate::{Error, OpenedImage, Resources};
use directory::{DirectoriesPlan, DirectoryPlan};
use image::ImagePlan;
use packline_runtime::memory::Demand;
use stack::StackPlan;
use tar::TarPlan;

/// Memory of a source that needs no decompressor, bytes.
const PLAIN: u64 = 1 << 20;

/// What the decoded blocks of an image are reported to.
pub(crate) type Listener = Option<Arc<dyn BlockListener>>;

/// A source that was examined: its kind and the memory that it needs are known, and at most its first bytes were read.
pub(crate) trait PlannedSource {
    /// The memory that the source needs if `limit` bytes are allowed for the whole program.
    fn demand(&self, _limit: Option<u64>) -> Demand {
        Demand::fixed(PLAIN)
    }

    /// As [`PlannedSource::demand`], where the source is a layer of a stack.
    fn layer_demand(&self, limit: Option<u64>) -> Demand {
        self.demand(limit)
    }

    /// Bytes that the source takes if it gets this share: what it needs, and a part of what is spare.
    fn memory(&self, share: &Share) -> u64 {
        self.demand(share.limit).fixed
    }

    /// Whether the workers that compress also decode the contents of this source.
    fn shares_workers(&self) -> bool {
        false
    }

    /// Calls `work` for each image that is read, with what the image reports its decoded blocks to.
    fn each_image(&mut self, _work: &mut dyn FnMut(&mut OpenedImage, &mut Listener)) {}

    /// Calls `work` for each directory that is read.
    fn each_directory(&mut self, _work: &mut dyn FnMut(&Path, &mut DirectoryOptions)) {}

    /// Opens the source within its share of the memory. Images and stacks leave out what the rule of `opening` does not keep.
    ///
    /// # Errors
    /// [`Error::Tree`] if the source cannot be opened or read.
    fn open(self: Box<Self>, share: &Share, opening: &Opening<'_>) -> Result<OpenSource, Error>;

    /// Opens the source as a layer of a stack: all of its entries are needed to know what hides what.
    ///
    /// # Errors
    /// As for [`PlannedSource::open`].
    fn open_layer(self: Box<Self>, share: &Share, opening: &Opening<'_>) -> Result<Layer, Error> {
        let order = ContentOrder::default();
        let all = Opening { tar: opening.tar.clone(), rule: keep_all(), order, ..*opening };
        let OpenSource { name, source, .. } = self.open(share, &all)?;
        Ok(Layer { name, source })
    }
}

/// A source's share of the memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    /// Threads that may work for the source.
    pub(crate) threads: usize,
    /// Bytes that are allowed for the whole program.
    pub(crate) limit: Option<u64>,
    /// Bytes that are unused, of which the source may take a part.
    pub(crate) spare: u64,
}

/// How a source is opened.
pub(crate) struct Opening<'a> {
    /// How a tar is read, but for its name.
    pub(crate) tar: TarOptions,
    pub(crate) resources: &'a Resources,
    /// Which entries an image or a stack has. Other sources leave out nothing.
    pub(crate) rule: KeepRule,
    /// Attributes of a root and of directories that a stack does not describe.
    pub(crate) root: Meta,
    pub(crate) defaults: Meta,
    /// The order of the contents of a stack, and the block size, on which the order may depend.
    pub(crate) order: ContentOrder,
    pub(crate) block_size: u32,
    /// Gets how many bytes were compared for the order, and how many there are.
    pub(crate) compared: &'a dyn Fn(u64, u64),
    /// Gets what is wrong with a stack or with the order, before contents are read.
    pub(crate) warned: &'a dyn Fn(&str),
}

impl<'a> Opening<'a> {
    /// With contents in the order of the source, and the attributes of the root for all directories that are not described.
    pub(crate) fn in_place(tar: TarOptions, resources: &'a Resources, rule: KeepRule, root: Meta) -> Opening<'a> {
        Opening {
            tar,
            resources,
            rule,
            root,
            defaults: root,
            order: ContentOrder::default(),
            block_size: 0,
            compared: &|_, _| {},
            warned: &|_: &str| {},
        }
    }
}

/// An open source, or one that is opened when its first entry is read.
pub(crate) struct OpenSource {
    /// The source's name in messages.
    pub(crate) name: String,
    pub(crate) source: Box<dyn packline_tree::Source>,
    /// Memory of the merged tree of a stack, if memory is limited.
    pub(crate) tree: Option<TreeMemory>,
    /// What layers replaced of the layers below them.
    pub(crate) replaced: Replaced,
}

/// Memory of the merged tree of a stack, bytes.
pub(crate) struct TreeMemory {
    pub(crate) granted: u64,
    pub(crate) taken: u64,
}

impl OpenSource {
    fn new(name: String, source: Box<dyn packline_tree::Source>) -> OpenSource {
        OpenSource { name, source, tree: None, replaced: Replaced::default() }
    }
}

/// Examines a source. The first bytes of a tar are read.
///
/// # Errors
/// [`Error::Source`] if the source cannot be opened or read, [`Error::Request`] for a stack that cannot be packed.
pub(crate) fn examine(source: Source) -> Result<Box<dyn PlannedSource>, Error> {
    Ok(match source {
        Source::Directory { path, options } => Box::new(DirectoryPlan { path, options }),
        Source::Directories { parts, root } => Box::new(DirectoriesPlan { parts, root }),
        Source::TarFile { path, opened } => Box::new(TarPlan::of_file(path, opened)?),
        Source::TarStream { name, stream } => Box::new(TarPlan::of_stream(name, stream)?),
        Source::Image(image) => Box::new(ImagePlan { image, listener: None }),
        Source::Stack(stack) => Box::new(StackPlan::new(stack)?),
        #[cfg(feature = "oci")]
        Source::Oci(image) => Box::new(StackPlan::new(Stack::of([Source::Oci(image)]))?),
        Source::Entries { name, source } => Box::new(EntriesPlan { name, source }),
    })
}

/// Entries made by the caller.
struct EntriesPlan {
    name: String,
    source: Box<dyn packline_tree::Source>,
}

impl PlannedSource for EntriesPlan {
    fn open(self: Box<Self>, _share: &Share, _opening: &Opening<'_>) -> Result<OpenSource, Error> {
        Ok(OpenSource::new(self.name, self.source))
    }
}

fn joined(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Cursor;

    use super::*;

    #[test]
    fn with_nothing_to_spare_a_source_takes_its_least() {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join("x");
        fs::write(&file, b"\x1f\x8b\x08\0").unwrap();
        let options = DirectoryOptions::new(2);
        let directory = Source::Directory { path: top.path().to_path_buf(), options };
        let stream = Source::TarStream { name: "s".to_string(), stream: Box::new(Cursor::new(vec![0; 1024])) };
        for source in [directory, Source::tar_file(file), stream] {
            let planned = examine(source).unwrap();
            let share = Share { threads: 1, limit: None, spare: 0 };
            assert_eq!(planned.memory(&share), planned.demand(None).fixed);
        }
    }
}
