//! Layers as one source: each layer overlays the layers before it, and hidden entries are removed.
//!
//! The tree equals the result of extracting the layers in order into one file system, as umoci and podman do
//! ([`packline_tree::Namespace::layered`]): a directory merges with a directory, and any other entry replaces. Whiteouts
//! ([`Whiteouts`]) hide entries of lower layers, at any position in their layer. A hard link refers to the inode that its target
//! has at that time, in any layer.
//!
//! All layers are listed first. The entries then come in the order of a [`packline_tree::DirectorySource`] of the merged tree,
//! with the same hard links, so packing either gives the same bytes. Contents are read on demand from the layers, which know the
//! order ([`Source::expect`]). The contents of a layer that can only be read forward are copied when it is listed ([`Contents`]).
//!
//! With an order of contents ([`ContentOrder`]), all entries except files come first, and then the files in that order.

mod arrange;
mod files;
mod marks;
mod merge;
mod order;
mod sketches;
mod xattrs;

pub use marks::is_whiteout_name;

use std::ops::Range;
use std::path::PathBuf;

use packline_engine::Config;
use packline_tree::{
    Bookmark, Contents, CopyReader, Entry, Error, Extent, Held, KeepRule, Kind, Meta, NO_XATTR, NodeId, Replaced,
    Source, UnreadPart, keep_all,
};

use crate::ContentOrder;
use files::ContentLocation;
use merge::{Merge, Merged};
use order::Order;

/// Memory for copied contents in bytes.
const COPIES_MOST: u64 = 16 << 20;

/// The treatment of whiteouts: files `.wh.NAME` and `.wh..wh..opq` of AUFS, and devices 0:0 and the attribute `overlay.opaque` of
/// overlayfs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Whiteouts {
    /// Whiteouts hide entries of lower layers, and are removed.
    #[default]
    Apply,
    /// Whiteouts hide entries of lower layers, and are kept in the form of overlayfs, to hide entries below all layers.
    Keep,
    /// Whiteouts are plain entries.
    Ignore,
}

pub struct Layer {
    /// The name in messages.
    pub name: String,
    pub source: Box<dyn Source>,
}

#[non_exhaustive]
pub struct StackOptions {
    pub whiteouts: Whiteouts,
    /// Attributes of the root and of directories that no layer describes.
    pub defaults: Meta,
    pub root: Meta,
    /// Maximum memory of the tree in bytes. More is an error.
    pub memory: u64,
    /// Directory for contents that can only be read once. Without it, only a few are possible.
    pub scratch: Option<PathBuf>,
    /// Selects the entries of the merged tree to keep. The first kept name is the file, as if the other entries had been removed.
    pub rule: KeepRule,
    pub order: ContentOrder,
    /// Contents smaller than this, in bytes, are ordered by similarity.
    pub block_size: u32,
    /// Workers that compare contents.
    pub engine: Config,
    /// Whether the names of one file are hard links. If not, each name is a separate file.
    pub hard_links: bool,
}

impl StackOptions {
    /// Applies whiteouts, keeps all entries, and does not limit memory.
    pub fn new(defaults: Meta) -> StackOptions {
        StackOptions {
            whiteouts: Whiteouts::Apply,
            defaults,
            root: defaults,
            memory: u64::MAX,
            scratch: None,
            rule: keep_all(),
            order: ContentOrder::default(),
            block_size: 0,
            engine: Config::default(),
            hard_links: true,
        }
    }
}

pub struct StackSource {
    layers: Vec<Layer>,
    options: StackOptions,
    contents: Contents,
    merged: Option<MergedEntries>,
    /// The contents have been arranged.
    arranged: bool,
    file: Current,
    done: u64,
    warnings: Vec<String>,
    problems: Vec<Error>,
}

/// The merged tree, and the number of entries returned so far.
struct MergedEntries {
    merged: Merged,
    order: Order,
    /// Files whose contents come first.
    first: Vec<NodeId>,
    next: usize,
    /// Total bytes of all contents.
    bytes: u64,
}

/// The content of the current entry.
enum Current {
    Nothing,
    /// The file with this number, before its first read.
    Unread(u32),
    InLayer(usize),
    Copy(CopyReader),
}

impl StackSource {
    /// The lowest layer comes first. No layer is read before [`StackSource::list`], or before the first entry is requested.
    pub fn new(layers: Vec<Layer>, options: StackOptions) -> StackSource {
        let contents = Contents::new(COPIES_MOST.min(options.memory / 8), options.scratch.clone());
        StackSource {
            layers,
            options,
            contents,
            merged: None,
            arranged: false,
            file: Current::Nothing,
            done: 0,
            warnings: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Lists all layers, unless they are listed already, and finds the files that come first. Problems become warnings now
    /// ([`Source::take_warnings`]), before any content is read.
    ///
    /// # Errors
    /// A layer cannot be read, or an entry is not valid in any tree.
    pub fn merge_layers(&mut self) -> Result<(), Error> {
        if self.merged.is_none() {
            let mut listed = self.merge()?;
            let absent = listed.find_first(&self.options.order.first);
            self.warnings.extend(absent);
            self.merged = Some(listed);
        }
        Ok(())
    }

    /// Does the same as [`StackSource::merge_layers`] and arranges the contents. [`Source::memory`] then returns the memory of
    /// the complete tree. If contents are compared, `compared` gets the bytes read so far and the total.
    ///
    /// # Errors
    /// A layer cannot be read, or an entry is not valid in any tree.
    pub fn list(&mut self, compared: &mut dyn FnMut(u64, u64)) -> Result<(), Error> {
        self.merge_layers()?;
        if !std::mem::replace(&mut self.arranged, true) {
            self.arrange(compared)?;
            let files = self.merged.as_ref().map_or_else(Vec::new, MergedEntries::files);
            self.announce(&files);
        }
        Ok(())
    }

    /// The entries of lower layers that layers replaced. Empty before the layers are listed.
    pub fn replaced(&self) -> Replaced {
        self.merged.as_ref().map_or_else(Replaced::default, |listed| listed.merged.replaced.clone())
    }

    fn merge(&mut self) -> Result<MergedEntries, Error> {
        let mut merge = Merge::new(&self.options);
        for (number, layer) in (0..).zip(&mut self.layers) {
            let listed = merge.add_layer(number, layer, &mut self.contents);
            self.warnings.append(&mut layer.source.take_warnings());
            self.problems.append(&mut layer.source.take_problems());
            listed?;
        }
        let merged = merge.finish()?;
        let order = Order::new(&merged.tree, &self.options.rule);
        let bytes = order.bytes(&merged);
        Ok(MergedEntries { merged, order, first: Vec::new(), next: 0, bytes })
    }

    /// Tells each layer the order in which its contents will be read.
    fn announce(&mut self, files: &[u32]) {
        let Some(MergedEntries { merged, .. }) = &self.merged else { return };
        for (number, layer) in (0..).zip(&mut self.layers) {
            let locations = files.iter().filter_map(|file| merged.files.location(*file));
            let mut wanted = locations.filter_map(|location| match location {
                (own, ContentLocation::InLayer(bookmark)) if own == number => Some(bookmark),
                _ => None,
            });
            layer.source.expect(&mut wanted);
        }
    }

    /// Goes to the content of a file.
    fn go_to(&mut self, number: u32, path: &[u8]) -> Result<(), Error> {
        self.file = Current::Nothing;
        let location = self.merged.as_ref().and_then(|listed| listed.merged.files.location(number));
        let (layer, location) = location.ok_or_else(|| Bookmark::foreign("layers", path))?;
        let layer = usize::from(layer);
        self.file = match location {
            ContentLocation::InLayer(bookmark) => {
                self.layers[layer].source.recall(&bookmark, path)?;
                Current::InLayer(layer)
            }
            ContentLocation::Elsewhere(Held::Copied(copy)) => Current::Copy(copy.start()),
            ContentLocation::Elsewhere(Held::Lost) => {
                let input = self.layers[layer].name.clone();
                let entry = path.to_vec();
                let what = format!("the content could not be kept: {}", self.contents.failure());
                return Err(Error::Entry { input, entry, what, expected: String::new() });
            }
            ContentLocation::Nothing | ContentLocation::Elsewhere(_) => Current::Nothing,
        };
        Ok(())
    }

    /// The path of the current entry.
    fn path(&self) -> Vec<u8> {
        let node = self.merged.as_ref().and_then(|listed| Some((listed, listed.next.checked_sub(1)?)));
        node.and_then(|(listed, at)| listed.order.get(at).map(|node| listed.merged.tree.path(node))).unwrap_or_default()
    }
}

impl MergedEntries {
    /// The numbers of all files, in the order of their entries.
    fn files(&self) -> Vec<u32> {
        self.order.files(&self.merged.tree).collect()
    }

    /// The next entry, and the number of its content.
    fn advance(&mut self, options: &StackOptions) -> Option<(Entry, Option<u32>)> {
        let node = self.order.get(self.next)?;
        self.next += 1;
        let tree = &self.merged.tree;
        let inode = tree.inode(node);
        let path = tree.path(node);
        let meta = tree.meta(inode);
        let first = self.order.first(tree, node);
        if first != node && options.hard_links {
            let kind = Kind::HardLink(tree.path(first));
            return Some((Entry { path, kind, meta, xattrs: Vec::new() }, None));
        }
        let (kind, file) = self.merged.kind(inode);
        let mut xattrs = match tree.xattr(inode) {
            NO_XATTR => Vec::new(),
            set => self.merged.xattrs.get(set).to_vec(),
        };
        if options.whiteouts == Whiteouts::Keep {
            xattrs.extend(self.merged.marks(node));
        }
        Some((Entry { path, kind, meta, xattrs }, file))
    }
}

impl Source for StackSource {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        self.file = Current::Nothing;
        self.list(&mut |_, _| {})?;
        let next = self.merged.as_mut().and_then(|listed| listed.advance(&self.options));
        Ok(next.map(|(entry, file)| {
            self.file = file.map_or(Current::Nothing, Current::Unread);
            entry
        }))
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        if let Current::Unread(number) = self.file {
            self.go_to(number, &self.path())?;
        }
        let extent = match &mut self.file {
            Current::InLayer(layer) => self.layers[*layer].source.read(buffer)?,
            Current::Copy(copy) => self.contents.read(copy, buffer).map_err(|cause| Error::Io {
                path: PathBuf::from("layers"),
                action: "cannot read back the copy of content",
                cause,
            })?,
            Current::Nothing | Current::Unread(_) => Extent::End,
        };
        self.done += match extent {
            Extent::Data(bytes) => bytes as u64,
            Extent::Hole(bytes) => bytes,
            Extent::End => 0,
        };
        Ok(extent)
    }

    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, Error> {
        if let Current::Unread(number) = self.file {
            self.go_to(number, &self.path())?;
        }
        let Current::InLayer(layer) = self.file else { return Ok(None) };
        let part = self.layers[layer].source.read_later(most)?;
        self.done += part.as_ref().map_or(0, |part| part.bytes as u64);
        Ok(part)
    }

    fn data_ranges(&mut self, most: usize) -> Result<Option<Vec<Range<u64>>>, Error> {
        if let Current::Unread(number) = self.file {
            self.go_to(number, &self.path())?;
        }
        let Current::InLayer(layer) = self.file else { return Ok(None) };
        self.layers[layer].source.data_ranges(most)
    }

    fn bookmark(&mut self) -> Option<Bookmark> {
        if let Current::Unread(number) = self.file { Some(Bookmark::Number(number.into())) } else { None }
    }

    fn recall(&mut self, bookmark: &Bookmark, path: &[u8]) -> Result<(), Error> {
        match bookmark {
            Bookmark::Number(number) => self.go_to(u32::try_from(*number).unwrap_or(u32::MAX), path),
            Bookmark::Opaque(_) => Err(Bookmark::foreign("layers", path)),
        }
    }

    fn progress(&self) -> (u64, Option<u64>) {
        (self.done, self.merged.as_ref().map(|listed| listed.bytes))
    }

    fn memory(&self) -> usize {
        let merged = self.merged.as_ref().map_or(0, |listed| listed.merged.memory() + listed.order.memory());
        let layers: usize = self.layers.iter().map(|layer| layer.source.memory()).sum();
        merged + layers + self.contents.memory()
    }

    fn take_warnings(&mut self) -> Vec<String> {
        let mut warnings = std::mem::take(&mut self.warnings);
        self.layers.iter_mut().for_each(|layer| warnings.append(&mut layer.source.take_warnings()));
        warnings
    }

    fn take_problems(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.problems)
    }
}
