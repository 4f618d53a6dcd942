//! Sources that lie over each other: stores and opens their layers.
//!
//! A directory, an image and a tar in a plain file are read where they are. Other tars are stored first, decompressed, in files without
//! names, several at a time; and layers of images of containers are read, so that their digests are known to be right before anything
//! is written.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use packline_engine::{CancelToken, Config, Fault, OrderedMap, Task};
use packline_runtime::escape::Escape;
use packline_runtime::store_stream;
use packline_tree::decompress::{self, Limits};
#[cfg(feature = "oci")]
use packline_tree::oci::OciLayer;
use packline_tree::tar::{TarOptions, TarSource};
use packline_tree::{
    ContentOrder, Keep, KeepRule, Layer, ListedDirectory, Part, Patterns, StackOptions, StackSource, Whiteouts,
    keep_all,
};

use crate::joined::ListedPart;
use crate::source::{BUFFERS_LEAST, Granted, Opened, Opening, Prepared, WINDOW_LEAST, Watch, decompressor, joined};
use crate::{DEFAULT_META, Error, Image, Resources, Source, Stack};

/// Most layers: each has an open file.
const LAYERS_MOST: usize = 1_000;
/// Memory of a tar that is read where it is, bytes: a buffer.
const TAR: u64 = 64 << 10;
/// Minimum memory for the merged tree, bytes.
const TREE_LEAST: u64 = 4 << 20;

/// A stack whose memory need is known.
pub(crate) struct PreparedStack {
    name: String,
    layers: Vec<PreparedLayer>,
    whiteouts: Whiteouts,
    remove: Patterns,
}

enum PreparedLayer {
    InPlace(Prepared),
    First { name: String, tar: Unread, compressed: bool },
}

impl PreparedLayer {
    fn is_directory(&self) -> bool {
        matches!(self, PreparedLayer::InPlace(Prepared::Directory { .. } | Prepared::Directories { .. }))
    }
}

/// A stack whose share of the memory is known.
pub(crate) struct GrantedStack {
    name: String,
    layers: Vec<GrantedLayer>,
    whiteouts: Whiteouts,
    remove: Patterns,
    tree: Tree,
    /// How many layers are stored at a time, and the limits of each.
    storing: (usize, Limits),
}

/// Memory of the merged tree, bytes.
struct Tree {
    granted: u64,
    /// While layers are listed, which is before anything else: more than is granted, if the rest does with less.
    most: u64,
}

enum GrantedLayer {
    InPlace(Granted),
    First { name: String, tar: Unread },
}

/// A tar that has to be read to its end first.
enum Unread {
    File(PathBuf),
    Stream(Box<dyn Read + Send>),
    #[cfg(feature = "oci")]
    Oci(OciLayer),
}

impl Unread {
    /// Whether no bytes at all are an empty tar.
    fn may_be_empty(&self) -> bool {
        match self {
            Unread::File(_) | Unread::Stream(_) => false,
            #[cfg(feature = "oci")]
            Unread::Oci(_) => true,
        }
    }
}

impl PreparedStack {
    /// Examines the layers.
    ///
    /// # Errors
    /// As for [`Prepared::new`], and [`Error::Request`] for what no stack can have.
    pub(crate) fn new(stack: Stack) -> Result<PreparedStack, Error> {
        let name = joined(stack.layers.iter().map(Source::name));
        let given = stack.layers.len();
        let Stack { layers: sources, whiteouts, remove } = stack;
        let mut layers = Vec::new();
        for source in sources {
            prepare(source, &mut layers)?;
        }
        match layers.len() {
            // An image of containers may have none.
            0 if given == 0 => Err(refused("a stack without layers", "one at least")),
            count if count > LAYERS_MOST => Err(refused(format!("{count} layers"), format!("at most {LAYERS_MOST}"))),
            _ => Ok(PreparedStack { name, layers, whiteouts, remove }),
        }
    }

    /// As [`Prepared::each_image`].
    pub(crate) fn each_image(&mut self, work: &mut dyn FnMut(&mut Image, &mut Watch)) {
        for layer in &mut self.layers {
            if let PreparedLayer::InPlace(prepared) = layer {
                prepared.each_image(work);
            }
        }
    }

    /// The minimum memory with which it works, bytes, if `limit` bytes are allowed in all.
    pub(crate) fn least(&self, limit: Option<u64>) -> u64 {
        let layers = self.layers.iter().map(|layer| match layer {
            PreparedLayer::InPlace(Prepared::TarFile { .. }) | PreparedLayer::First { .. } => TAR,
            PreparedLayer::InPlace(prepared) => prepared.least(limit),
        });
        let compressed = self.layers.iter().any(|layer| matches!(layer, PreparedLayer::First { compressed: true, .. }));
        let storing = if compressed { WINDOW_LEAST + BUFFERS_LEAST } else { 0 };
        TREE_LEAST + storing + layers.sum::<u64>()
    }

    /// Bytes that each worker takes for it.
    pub(crate) fn tool(&self) -> u64 {
        let in_place = self.layers.iter().map(|layer| match layer {
            PreparedLayer::InPlace(prepared) => prepared.tool(),
            PreparedLayer::First { .. } => 0,
        });
        in_place.sum()
    }

    /// As [`Prepared::granted`]: half of the spare memory is for the tree. All of it may be used to decompress and list layers, which is
    /// before anything else.
    pub(crate) fn granted(self, threads: usize, limit: Option<u64>, spare: u64) -> (GrantedStack, u64) {
        let least = self.least(limit);
        let (PreparedStack { name, layers, whiteouts, remove }, extra) = (self, spare / 2);
        let first = layers.iter().filter(|layer| matches!(layer, PreparedLayer::First { .. })).count();
        let directories = layers.iter().filter(|layer| layer.is_directory());
        let (directories, share) = (directories.count(), spare / 4 / layers.len().max(1) as u64);
        let mut memory = least.saturating_add(if limit.is_some() { extra } else { 0 });
        let mut grant = |layer| match layer {
            PreparedLayer::First { name, tar, .. } => GrantedLayer::First { name, tar },
            PreparedLayer::InPlace(mut prepared) => {
                for options in prepared.directory_options() {
                    options.readers = options.readers.div_ceil(directories);
                    options.ahead_directories /= directories;
                }
                let own = prepared.least(limit);
                let (granted, takes) = prepared.granted(threads, limit, share);
                memory = memory.saturating_add(takes.saturating_sub(own));
                GrantedLayer::InPlace(granted)
            }
        };
        let layers = layers.into_iter().map(&mut grant).collect();
        let most = limit.map_or(u64::MAX, |_| TREE_LEAST + spare);
        let tree = Tree { granted: TREE_LEAST + extra.min(most), most };
        let storing = storing(first, threads, spare);
        (GrantedStack { name, layers, whiteouts, remove, tree, storing }, memory)
    }
}

fn refused(what: impl Into<String>, expected: impl Into<String>) -> Error {
    Error::Request { what: what.into(), expected: expected.into() }
}

fn prepare(source: Source, layers: &mut Vec<PreparedLayer>) -> Result<(), Error> {
    #[cfg(feature = "oci")]
    if let Source::Oci(image) = source {
        for layer in image.layers {
            let compressed = layer.is_compressed()?;
            layers.push(PreparedLayer::First { name: layer.name.clone(), tar: Unread::Oci(layer), compressed });
        }
        return Ok(());
    }
    if let Source::Directories { parts, .. } = source {
        let alone = |part| Prepared::Directories { parts: vec![part], root: DEFAULT_META };
        layers.extend(parts.into_iter().map(|part| PreparedLayer::InPlace(alone(part))));
        return Ok(());
    }
    layers.push(match Prepared::new(source)? {
        Prepared::Directory { path, options } if options.continue_on_error => {
            let what = format!("{}: continuing after errors in a layer", path.escaped());
            return Err(refused(what, "a directory that is packed alone"));
        }
        Prepared::TarFile { path, compressed: true } => {
            PreparedLayer::First { name: path.escaped(), tar: Unread::File(path), compressed: true }
        }
        Prepared::TarStream { name, stream, compressed } => {
            PreparedLayer::First { name, tar: Unread::Stream(stream), compressed }
        }
        prepared => PreparedLayer::InPlace(prepared),
    });
    Ok(())
}

/// How many of `count` layers are decompressed at a time, and with which limits.
fn storing(count: usize, threads: usize, spare: u64) -> (usize, Limits) {
    let fits = usize::try_from(spare / (WINDOW_LEAST + BUFFERS_LEAST)).unwrap_or(usize::MAX).saturating_add(1);
    let at_once = count.min(threads.max(1)).min(fits).max(1);
    let (limits, _) = decompressor(true, threads / at_once, spare / at_once as u64);
    (at_once, limits)
}

impl GrantedStack {
    /// Whether contents are decoded by the workers that compress.
    pub(crate) fn shares_workers(&self) -> bool {
        self.layers.iter().any(|layer| matches!(layer, GrantedLayer::InPlace(granted) if granted.shares_workers()))
    }

    /// Stores what has to be stored, and opens the layers.
    ///
    /// # Errors
    /// [`Error::Tree`] if one cannot be opened, read or stored, or has another digest; that of the lowest.
    pub(crate) fn open(self, opening: &Opening<'_>) -> Result<Opened, Error> {
        let GrantedStack { name, layers, whiteouts, remove, tree, storing } = self;
        let mut tars = Vec::new();
        let in_place = layers.into_iter().map(|layer| match layer {
            GrantedLayer::InPlace(granted) => Some(granted),
            GrantedLayer::First { name, tar } => {
                tars.push(Input { name, tar });
                None
            }
        });
        let in_place: Vec<Option<Granted>> = in_place.collect();
        let mut stored = store(tars, storing, opening.resources)?.into_iter();
        let mut layers = Vec::new();
        for granted in in_place {
            layers.extend(match granted {
                Some(granted) => Some(open_in_place(granted, opening)?),
                None => stored.next().map(|stored| open_stored(stored, opening)).transpose()?.flatten(),
            });
        }
        let mut options = StackOptions::new(opening.defaults);
        (options.whiteouts, options.root, options.memory) = (whiteouts, opening.root, tree.most);
        options.scratch.clone_from(&opening.resources.scratch);
        options.rule = without(opening.rule.clone(), remove);
        (options.order, options.block_size) = (opening.order.clone(), opening.block_size);
        let Resources { engine, workers, cancel, .. } = opening.resources;
        options.engine = engine.sized(*workers, 0, cancel);
        let mut source = StackSource::new(layers, options);
        source.merge_layers()?;
        packline_tree::Source::take_warnings(&mut source).iter().for_each(|message| (opening.warned)(message));
        source.list(&mut |done, total| (opening.compared)(done, total))?;
        let taken = packline_tree::Source::memory(&source) as u64;
        let tree = if tree.most == u64::MAX { None } else { Some((tree.granted, taken)) };
        let replaced = source.replaced();
        Ok(Opened { name, source: Box::new(source), tree, replaced })
    }
}

fn open_in_place(granted: Granted, opening: &Opening<'_>) -> Result<Layer, Error> {
    if let Granted::Directory { path, options } = granted {
        return Ok(Layer { name: path.escaped(), source: Box::new(ListedDirectory::open(&path, options)?) });
    }
    if let Granted::Directories { parts, .. } = granted {
        let [part] = <[_; 1]>::try_from(parts).map_err(|_| refused("a layer of several directories", "one each"))?;
        let name = part.directory.escaped();
        return Ok(Layer { name, source: Box::new(ListedPart::open(part)?) });
    }
    // Of a layer everything is needed, to know what hides what.
    let all = Opening { tar: opening.tar.clone(), rule: keep_all(), order: ContentOrder::default(), ..*opening };
    let Opened { name, source, .. } = granted.open(&all)?;
    Ok(Layer { name, source })
}

/// A rule that leaves out what matches patterns too.
fn without(rule: KeepRule, remove: Patterns) -> KeepRule {
    Rc::new(move |path, directory| {
        let removed = !path.is_empty() && remove.matches(path, directory);
        if removed { Keep::Prune } else { rule(path, directory) }
    })
}

/// A layer; none if it is one of an image of containers that changes nothing and is stored as no bytes.
fn open_stored(stored: Stored, opening: &Opening<'_>) -> Result<Option<Layer>, Error> {
    let Stored { name, tar, may_be_empty } = stored;
    if may_be_empty && tar.size() == 0 {
        return Ok(None);
    }
    let options = TarOptions { input_name: name.clone(), ..opening.tar.clone() };
    Ok(Some(Layer { name, source: Box::new(TarSource::seekable(tar, options)?) }))
}

/// A tar to store, and its name in messages.
struct Input {
    name: String,
    tar: Unread,
}

/// A tar that was read to its end.
struct Stored {
    name: String,
    tar: Part,
    may_be_empty: bool,
}

/// Stores tars, and checks layers.
struct Store {
    limits: Limits,
    scratch: Option<PathBuf>,
    cancel: CancelToken,
}

impl Task for Store {
    type In = Input;
    type Out = Stored;
    type Error = packline_tree::Error;
    type Tool = ();

    fn tool(&self) {}

    fn run(&self, (): &mut (), input: Input) -> Result<Stored, packline_tree::Error> {
        let Input { name, tar } = input;
        let may_be_empty = tar.may_be_empty();
        let tar = match tar {
            Unread::File(path) => {
                let opened = File::open(&path);
                let file = opened.map_err(|cause| packline_tree::Error::Io { path, action: "cannot open", cause })?;
                self.store(&name, Box::new(file))?
            }
            Unread::Stream(stream) => self.store(&name, stream)?,
            #[cfg(feature = "oci")]
            Unread::Oci(layer) => {
                layer.checked(&self.limits, self.scratch.as_deref(), &|| self.cancel.is_cancelled())?
            }
        };
        Ok(Stored { name, tar, may_be_empty })
    }
}

impl Store {
    fn store(&self, name: &str, stream: Box<dyn Read + Send>) -> Result<Part, packline_tree::Error> {
        let directory = self.scratch.as_deref().ok_or_else(|| packline_tree::Error::Input {
            input: name.to_string(),
            what: "a layer that has to be stored first".to_string(),
            expected: "a directory for temporary files, or a tar in a plain file".to_string(),
        })?;
        let failed = |cause| packline_tree::Error::Io { path: name.into(), action: "cannot read", cause };
        let stream = Stoppable { stream, cancel: self.cancel.clone() };
        let mut plain = decompress::open(stream, &self.limits).map_err(failed)?;
        store_stream(&mut plain, directory).and_then(Part::whole).map_err(failed)
    }
}

/// A stream that fails once the work is cancelled.
struct Stoppable {
    stream: Box<dyn Read + Send>,
    cancel: CancelToken,
}

impl Read for Stoppable {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.cancel.is_cancelled() { Err(std::io::Error::other("cancelled")) } else { self.stream.read(buffer) }
    }
}

/// Stores all tars, in their order.
fn store(tars: Vec<Input>, (at_once, limits): (usize, Limits), resources: &Resources) -> Result<Vec<Stored>, Error> {
    if tars.is_empty() {
        return Ok(Vec::new());
    }
    let workers = if resources.workers == 0 { 0 } else { at_once };
    let task = Store { limits, scratch: resources.scratch.clone(), cancel: resources.cancel.clone() };
    let config = Config { cancel: resources.cancel.clone(), ..Config::new(workers, usize::MAX) };
    let refused = |cause| Error::Source { path: PathBuf::from("layers"), action: "cannot start the workers", cause };
    let mut map = OrderedMap::new(task, config).map_err(refused)?;
    let mut parts = Vec::with_capacity(tars.len());
    let mut keep = |part| {
        parts.push(part);
        Ok(())
    };
    let mut submitted = tars.into_iter().try_for_each(|tar| map.submit(tar, &mut keep));
    submitted = submitted.and_then(|()| map.drain(&mut keep));
    submitted.map_err(of_fault)?;
    Ok(parts)
}

fn of_fault(fault: Fault<packline_tree::Error>) -> Error {
    match fault {
        Fault::Work(error) => Error::Tree(error),
        fault => {
            let cause = std::io::Error::other(format!("{fault:?}"));
            Error::Source { path: Path::new("layers").to_path_buf(), action: "cannot store", cause }
        }
    }
}
