//! A planned source states how much memory it needs, and is opened within its share of the memory.

use std::path::Path;
use std::sync::Arc;

use packline_archives::tar::TarOptions;
use packline_archives::{ContentOrder, Layer};
use packline_image::OpenedImage;
use packline_runtime::Resources;
use packline_runtime::memory::Demand;
use packline_squashfs::read::BlockListener;
use packline_tree::{DirectoryOptions, KeepRule, Meta, Replaced, keep_all};

use super::inputs::ReadInputs;
use crate::error::Error;

/// Attributes of an implied directory: `rwxr-xr-x`, owned by root, at time 0.
pub const DEFAULT_META: Meta = Meta::new(0o755, 0, 0, 0);
/// Memory in bytes of a source that needs no decompressor.
pub(super) const PLAIN: u64 = 1 << 20;

/// Receives the decoded blocks of an image.
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

    /// Bytes that the source uses with this share: its demand, and a part of the spare memory.
    fn memory(&self, share: &Share) -> u64 {
        self.demand(share.limit).fixed
    }

    /// Whether the workers that compress also decode the contents of this source.
    fn shares_workers(&self) -> bool {
        false
    }

    /// Calls `work` for each image that is read, with the listener for its decoded blocks.
    fn each_image(&mut self, _work: &mut dyn FnMut(&mut OpenedImage, &mut Listener)) {}

    /// Calls `work` for each directory that is read.
    fn each_directory(&mut self, _work: &mut dyn FnMut(&Path, &mut DirectoryOptions)) {}

    /// Opens the source within its share of the memory. Images and stacks leave out what the rule of `opening` does not keep.
    ///
    /// # Errors
    /// [`Error::Tree`] if the source cannot be opened or read.
    fn open(self: Box<Self>, share: &Share, opening: &Opening<'_>) -> Result<OpenSource, Error>;

    /// Opens the source as a layer of a stack. All entries are read, because they decide which entries of lower layers are hidden.
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
    /// Maximum bytes of the process.
    pub(crate) limit: Option<u64>,
    /// Spare bytes, of which the source may use a part.
    pub(crate) spare: u64,
}

/// How a source is opened.
pub(crate) struct Opening<'a> {
    /// How a tar is read, except its name.
    pub(crate) tar: TarOptions,
    pub(crate) resources: &'a Resources,
    /// Which entries of an image or a stack are kept. Other sources keep all entries.
    pub(crate) rule: KeepRule,
    /// Attributes of a root and of directories that a stack does not describe.
    pub(crate) root: Meta,
    pub(crate) defaults: Meta,
    /// The order of the contents of a stack.
    pub(crate) order: ContentOrder,
    /// Contents smaller than a block of this many bytes may be ordered by similarity. `None` if no content is.
    pub(crate) block_size: Option<u32>,
    /// Receives the number of bytes that were compared for the order, and the total.
    pub(crate) compared: &'a dyn Fn(u64, u64),
    /// Receives warnings about a stack or the order, before contents are read.
    pub(crate) warned: &'a dyn Fn(&str),
    /// Receives the tars and images that are read. `None` if nothing compares them at the end.
    pub(crate) inputs: Option<&'a ReadInputs>,
}

impl<'a> Opening<'a> {
    /// Keeps the order of the source, and uses the attributes of the root for all directories that are not described.
    pub(crate) fn in_place(tar: TarOptions, resources: &'a Resources, rule: KeepRule, root: Meta) -> Opening<'a> {
        Opening {
            tar,
            resources,
            rule,
            root,
            defaults: root,
            order: ContentOrder::default(),
            block_size: None,
            compared: &|_, _| {},
            warned: &|_: &str| {},
            inputs: None,
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
    /// Entries of layers that later layers replaced.
    pub(crate) replaced: Replaced,
}

/// Memory in bytes of the merged tree of a stack.
pub(crate) struct TreeMemory {
    pub(crate) granted: u64,
    pub(crate) taken: u64,
}

impl OpenSource {
    pub(super) fn new(name: String, source: Box<dyn packline_tree::Source>) -> OpenSource {
        OpenSource { name, source, tree: None, replaced: Replaced::default() }
    }
}
