//! Sources that overlay each other.
//!
//! A directory, an image and a tar in a plain file are read where they are. Other tars are stored first; and the layers of container images are
//! read first, so that their digests are known to be right before anything is written.

use std::path::Path;
use std::rc::Rc;

use packline_archives::tar::{TarOptions, open_stored as open_stored_tar};
use packline_archives::{Layer, StackOptions, StackSource, Whiteouts};
use packline_image::OpenedImage;
use packline_runtime::escape::Escape;
use packline_runtime::memory::Demand;
use packline_tree::{DirectoryOptions, Keep, KeepRule, Patterns, ReadErrors};

use super::directory::DirectoriesPlan;
use super::examine::examine;
use super::planned::{DEFAULT_META, Listener, OpenSource, Opening, PlannedSource, Share, TreeMemory};
use super::source::{Source, Stack, joined};
use super::store::{StoreShare, StoredTar, UnreadContent, UnreadTar, store};
use super::tar::{DECOMPRESSOR_LEAST, LAYER, TarPlan};
use crate::error::Error;

/// Maximum number of layers: each has an open file.
const LAYERS_MOST: usize = 1_000;
/// Minimum memory in bytes for the merged tree.
const TREE_LEAST: u64 = 4 << 20;

pub(super) struct StackPlan {
    name: String,
    layers: Vec<LayerPlan>,
    whiteouts: Whiteouts,
    remove: Patterns,
    hard_links: bool,
}

enum LayerPlan {
    /// Read where it is.
    InPlace(Box<dyn PlannedSource>),
    /// Stored first.
    Stored(UnreadTar),
}

/// Division of a stack's share of the memory.
struct StackShare {
    /// Each layer that is read where it is.
    layer: Share,
    /// Bytes for the merged tree.
    tree: u64,
    /// Bytes for the merged tree while layers are listed, which is before anything else.
    tree_most: u64,
}

impl StackPlan {
    /// Examines the layers.
    ///
    /// # Errors
    /// As for [`examine`], and [`Error::Request`] for layers that a stack cannot have.
    pub(super) fn new(stack: Stack) -> Result<StackPlan, Error> {
        let name = joined(stack.layers.iter().map(Source::name));
        let given = stack.layers.len();
        let Stack { layers: sources, whiteouts, remove, hard_links } = stack;
        let mut layers = Vec::new();
        for source in sources {
            add_layers(source, &mut layers)?;
        }
        // A container image may have none.
        if given == 0 {
            return Err(refused("a stack without layers", "at least one"));
        }
        if layers.len() > LAYERS_MOST {
            return Err(refused(format!("{} layers", layers.len()), format!("at most {LAYERS_MOST}")));
        }
        let mut plan = StackPlan { name, layers, whiteouts, remove, hard_links };
        plan.divide_readers();
        Ok(plan)
    }

    /// Divides the threads that read directories among all directories.
    fn divide_readers(&mut self) {
        let mut directories = 0;
        self.each_directory(&mut |_, _| directories += 1);
        self.each_directory(&mut |_, options| {
            options.readers = options.readers.div_ceil(directories);
            options.ahead_directories /= directories;
        });
    }

    fn in_place(&self) -> impl Iterator<Item = &dyn PlannedSource> {
        self.layers.iter().filter_map(|layer| match layer {
            LayerPlan::InPlace(source) => Some(source.as_ref()),
            LayerPlan::Stored(_) => None,
        })
    }

    fn stored(&self) -> impl Iterator<Item = &UnreadTar> {
        self.layers.iter().filter_map(|layer| match layer {
            LayerPlan::InPlace(_) => None,
            LayerPlan::Stored(tar) => Some(tar),
        })
    }

    /// Half of the spare memory is for the merged tree. All of it may be used to decompress and list layers, which is before anything else.
    fn divide(&self, share: &Share) -> StackShare {
        let layer = Share { spare: share.spare / 4 / self.layers.len().max(1) as u64, ..*share };
        let tree_most = share.limit.map_or(u64::MAX, |_| TREE_LEAST + share.spare);
        let tree = TREE_LEAST + (share.spare / 2).min(tree_most);
        StackShare { layer, tree, tree_most }
    }
}

/// Adds the layers of a source: one for each layer of a container image and for each of several directories.
fn add_layers(source: Source, layers: &mut Vec<LayerPlan>) -> Result<(), Error> {
    let tar = match source {
        #[cfg(feature = "oci")]
        Source::Oci(image) => {
            for layer in image.layers {
                let compressed = layer.is_compressed()?;
                let name = layer.name.clone();
                let content = UnreadContent::Oci(layer);
                layers.push(LayerPlan::Stored(UnreadTar { name, content, compressed }));
            }
            return Ok(());
        }
        Source::Directories { parts, .. } => {
            for part in parts {
                let alone = DirectoriesPlan { parts: vec![part], root: DEFAULT_META };
                layers.push(LayerPlan::InPlace(Box::new(alone)));
            }
            return Ok(());
        }
        Source::Directory { path, options } if options.errors != ReadErrors::Fail => {
            let what = format!("{}: continuing after errors in a layer", path.escaped());
            return Err(refused(what, "a directory that is packed alone"));
        }
        Source::TarFile { path, opened } => TarPlan::of_file(path, opened)?,
        Source::TarStream { name, stream } => TarPlan::of_stream(name, stream)?,
        source => {
            layers.push(LayerPlan::InPlace(examine(source)?));
            return Ok(());
        }
    };
    layers.push(if tar.can_be_read_again() {
        LayerPlan::InPlace(Box::new(tar))
    } else {
        let TarPlan { name, content, compressed } = tar;
        LayerPlan::Stored(UnreadTar { name, content: UnreadContent::Tar(content), compressed })
    });
    Ok(())
}

fn refused(what: impl Into<String>, expected: impl Into<String>) -> Error {
    Error::Request { what: what.into(), expected: expected.into() }
}

impl PlannedSource for StackPlan {
    fn demand(&self, limit: Option<u64>) -> Demand {
        let layers: Demand = self.in_place().map(|source| source.layer_demand(limit)).sum();
        let decompressor = if self.stored().any(|tar| tar.compressed) { DECOMPRESSOR_LEAST } else { 0 };
        let stored = self.stored().count() as u64 * LAYER;
        layers + Demand::fixed(TREE_LEAST + decompressor + stored)
    }

    fn memory(&self, share: &Share) -> u64 {
        let layer = self.divide(share).layer;
        let beyond =
            |source: &dyn PlannedSource| source.memory(&layer).saturating_sub(source.demand(share.limit).fixed);
        let tree = if share.limit.is_some() { share.spare / 2 } else { 0 };
        let all = self.in_place().map(beyond).fold(tree, u64::saturating_add);
        self.demand(share.limit).fixed.saturating_add(all)
    }

    fn shares_workers(&self) -> bool {
        self.in_place().any(PlannedSource::shares_workers)
    }

    fn each_image(&mut self, work: &mut dyn FnMut(&mut OpenedImage, &mut Listener)) {
        for layer in &mut self.layers {
            if let LayerPlan::InPlace(source) = layer {
                source.each_image(work);
            }
        }
    }

    fn each_directory(&mut self, work: &mut dyn FnMut(&Path, &mut DirectoryOptions)) {
        for layer in &mut self.layers {
            if let LayerPlan::InPlace(source) = layer {
                source.each_directory(work);
            }
        }
    }

    /// Stores the tars that cannot be read twice, opens the layers, and lists them.
    ///
    /// # Errors
    /// [`Error::Tree`] for the lowest layer that cannot be opened, read or stored, or that has another digest.
    fn open(self: Box<Self>, share: &Share, opening: &Opening<'_>) -> Result<OpenSource, Error> {
        let StackShare { layer, tree, tree_most } = self.divide(share);
        let store_share = StoreShare::new(self.stored().count(), share);
        let StackPlan { name, layers, whiteouts, remove, hard_links } = *self;
        let layers = open_layers(layers, &layer, store_share, opening)?;
        let mut options = StackOptions::new(opening.defaults);
        options.whiteouts = whiteouts;
        options.hard_links = hard_links;
        options.root = opening.root;
        options.memory = tree_most;
        options.scratch.clone_from(&opening.resources.scratch);
        options.rule = without(opening.rule.clone(), remove);
        options.order = opening.order.clone();
        options.block_size = opening.block_size.unwrap_or(0);
        options.engine = opening.resources.config(opening.resources.workers, 0);
        let mut source = StackSource::new(layers, options);
        source.merge_layers()?;
        for message in packline_tree::Source::take_warnings(&mut source) {
            (opening.warned)(&message);
        }
        source.list(&mut |done, total| (opening.compared)(done, total))?;
        let taken = packline_tree::Source::memory(&source) as u64;
        let tree = share.limit.map(|_| TreeMemory { granted: tree, taken });
        let replaced = source.replaced();
        Ok(OpenSource { name, source: Box::new(source), tree, replaced })
    }
}

/// Stores the tars among the layers, then opens all layers in their order.
fn open_layers(
    layers: Vec<LayerPlan>,
    share: &Share,
    store_share: StoreShare,
    opening: &Opening<'_>,
) -> Result<Vec<Layer>, Error> {
    let mut tars = Vec::new();
    let mut in_place = Vec::new();
    for layer in layers {
        match layer {
            LayerPlan::InPlace(source) => in_place.push(Some(source)),
            LayerPlan::Stored(tar) => {
                tars.push(tar);
                in_place.push(None);
            }
        }
    }
    let mut stored = store(tars, store_share, opening.resources)?.into_iter();
    let mut opened = Vec::new();
    for source in in_place {
        if let Some(source) = source {
            opened.push(source.open_layer(share, opening)?);
        } else if let Some(tar) = stored.next() {
            opened.extend(open_stored(tar, opening)?);
        }
    }
    Ok(opened)
}

/// Extends a rule: it also leaves out entries that match patterns.
fn without(rule: KeepRule, remove: Patterns) -> KeepRule {
    Rc::new(move |path, directory| {
        let removed = !path.is_empty() && remove.matches(path, directory);
        if removed { Keep::Prune } else { rule(path, directory) }
    })
}

/// Opens a stored tar; `None` for a layer of a container image that changes nothing and is stored as no bytes.
fn open_stored(stored: StoredTar, opening: &Opening<'_>) -> Result<Option<Layer>, Error> {
    let StoredTar { name, tar, may_be_empty } = stored;
    if may_be_empty && tar.size() == 0 {
        return Ok(None);
    }
    let options = TarOptions { input_name: name.clone(), ..opening.tar.clone() };
    Ok(Some(Layer { name, source: open_stored_tar(tar, options)? }))
}
