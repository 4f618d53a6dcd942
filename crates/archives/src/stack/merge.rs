//! Merges the entries of layers into one tree.

use std::collections::BTreeMap;

use packline_runtime::memory::{size_at_least, size_at_most};
use packline_tree::{
    Bytes, Content, Contents, Entry, Error, InodeId, Kind, Left, Meta, Namespace, NamespaceError, NodeId, Replaced,
    Source, Tree, Xattr,
};

use super::files::Files;
use super::marks::{Mark, Marks, WHITEOUT, Wrong};
use super::xattrs::{self, XattrSets};
use super::{Layer, StackOptions, Whiteouts};

/// Approximate memory in bytes of a file that may have names in several layers.
const LINKED: usize = 128;

/// The layers added so far.
pub(super) struct Merge<'a> {
    options: &'a StackOptions,
    names: Namespace,
    files: Files,
    xattrs: XattrSets,
    /// Memory of the complete layers in bytes.
    done: usize,
    entries: u64,
    /// Files with several names: the path and the inode of one added name.
    linked: BTreeMap<(u64, u64), (Bytes, InodeId)>,
    /// For each form, whether its attribute marks directories that hide others.
    forms: [bool; 2],
}

/// The merged tree.
pub(super) struct Merged {
    pub tree: Tree,
    /// Indexed by the payload of the tree.
    pub files: Files,
    pub xattrs: XattrSets,
    form: usize,
    pub replaced: Replaced,
}

/// The state of a layer while it is added.
struct Adding<'a> {
    number: u16,
    name: &'a str,
    source: &'a mut dyn Source,
    marks: Marks,
    /// Whiteouts that are kept, unless another entry of the layer replaces them.
    kept: Vec<Entry>,
}

impl<'a> Merge<'a> {
    pub fn new(options: &'a StackOptions) -> Merge<'a> {
        let names = Namespace::new(options.defaults).with_root(options.root).layered();
        let files = Files::default();
        let xattrs = XattrSets::default();
        Merge { options, names, files, xattrs, done: 0, entries: 0, linked: BTreeMap::new(), forms: [false; 2] }
    }

    /// Adds a complete layer over the layers before it.
    pub fn add_layer(&mut self, number: u16, layer: &mut Layer, contents: &mut Contents) -> Result<(), Error> {
        let Layer { name, source } = layer;
        let mut adding = Adding { number, name, source: source.as_mut(), marks: Marks::default(), kept: Vec::new() };
        while let Some(entry) = adding.source.next_entry()? {
            let path = entry.path.clone();
            self.add(entry, &mut adding, contents)?;
            self.check_memory(&path, &adding, contents)?;
        }
        self.keep(&mut adding)?;
        self.names.end_layer().map_err(|error| error.in_input(adding.name))?;
        self.done += adding.source.memory();
        Ok(())
    }

    pub fn finish(self) -> Result<Merged, Error> {
        let Merge { names, files, xattrs, forms, .. } = self;
        let replaced = names.replaced().clone();
        let tree = names.finish().map_err(|error| error.in_input("layers"))?;
        Ok(Merged { tree, files, xattrs, form: usize::from(forms == [false, true]), replaced })
    }

    fn add(&mut self, mut entry: Entry, adding: &mut Adding<'_>, contents: &mut Contents) -> Result<(), Error> {
        self.entries += 1;
        let mark = match self.options.whiteouts {
            Whiteouts::Ignore => Ok(Mark::Entry { opaque: None }),
            _ => adding.marks.read(&mut entry),
        };
        let keep = self.options.whiteouts == Whiteouts::Keep;
        let in_layer = |error: NamespaceError| error.in_input(adding.name);
        match mark.map_err(|wrong| refused(adding.name, &entry, wrong))? {
            Mark::Entry { opaque } => {
                self.add_file(&mut entry, adding, contents)?;
                if let Some(form) = opaque {
                    self.forms[form] = true;
                    self.names.hide_below(&entry.path, false).map_err(|error| error.in_input(adding.name))?;
                }
            }
            Mark::Whiteout(path) => {
                self.names.hide(&path).map_err(in_layer)?;
                if keep {
                    adding.kept.push(whiteout(path, &entry));
                }
            }
            Mark::Opaque(directory) => self.names.hide_below(&directory, keep).map_err(in_layer)?,
            Mark::Internal => {}
        }
        Ok(())
    }

    /// Adds an entry. If it is the same file of this machine as an entry of an earlier layer, adds it as another name of that
    /// file.
    fn add_file(&mut self, entry: &mut Entry, adding: &mut Adding<'_>, contents: &mut Contents) -> Result<(), Error> {
        let shared = adding.source.shared_file().filter(|_| !matches!(entry.kind, Kind::HardLink(_)));
        let Some(file) = shared else { return self.add_entry(entry, adding, contents) };
        if let Some((first, inode)) = self.linked.get(&file)
            && self.names.inode_at(first) == Some(*inode)
        {
            entry.kind = Kind::HardLink(first.clone());
            return self.add_entry(entry, adding, contents);
        }
        self.add_entry(entry, adding, contents)?;
        let inode = self.names.inode_at(&entry.path);
        self.linked.extend(inode.map(|inode| (file, (entry.path.clone(), inode))));
        Ok(())
    }

    fn add_entry(&mut self, entry: &Entry, adding: &mut Adding<'_>, contents: &mut Contents) -> Result<(), Error> {
        let payload = self.files.next();
        if let Kind::File { size } = entry.kind {
            let content = contents.hold(&entry.kind, adding.source)?;
            self.files.add(adding.number, size, content);
        }
        let xattrs = self.xattrs.add(entry.xattrs.clone());
        self.names.add(entry, payload, xattrs).map_err(|error| error.in_input(adding.name))
    }

    /// Adds the whiteouts of a layer that are kept. An entry that replaces one also hides the entries below all layers.
    fn keep(&mut self, adding: &mut Adding<'_>) -> Result<(), Error> {
        for entry in std::mem::take(&mut adding.kept) {
            let in_layer = |error: NamespaceError| error.in_input(adding.name);
            if self.names.hide(&entry.path).map_err(in_layer)? == Left::Nothing {
                self.names.add(&entry, 0, packline_tree::NO_XATTR).map_err(in_layer)?;
            }
        }
        Ok(())
    }

    fn check_memory(&self, path: &[u8], adding: &Adding<'_>, contents: &Contents) -> Result<(), Error> {
        let files = self.files.memory() + contents.memory();
        let layers =
            self.done + adding.source.memory() + adding.marks.memory() + adding.kept.len() * size_of::<Entry>();
        let linked = self.linked.len() * LINKED;
        let memory = (linked + self.names.memory() + files + self.xattrs.memory() + layers) as u64;
        if memory <= self.options.memory {
            return Ok(());
        }
        let what = format!(
            "the tree of {} entries so far needs {} of memory, but only {} is available; raise the memory limit",
            self.entries,
            size_at_least(memory),
            size_at_most(self.options.memory)
        );
        Err(Error::Entry { input: adding.name.to_string(), entry: path.to_vec(), what, expected: String::new() })
    }
}

impl Merged {
    /// The kind of an inode, and the number of its content if it has one.
    pub fn kind(&self, inode: InodeId) -> (Kind, Option<u32>) {
        let kind = match self.tree.content(inode) {
            Content::File(number) => {
                return (Kind::File { size: self.files.size(number) }, Some(number));
            }
            Content::Dir => Kind::Dir,
            Content::Symlink(target) => Kind::Symlink(target.to_vec()),
            Content::BlockDevice(device) => Kind::BlockDevice(device),
            Content::CharDevice(device) => Kind::CharDevice(device),
            Content::Fifo => Kind::Fifo,
            Content::Socket => Kind::Socket,
        };
        (kind, None)
    }

    /// The attributes by which overlayfs knows a directory that hides others, and one with whiteouts. Without the second one, a mount lists the
    /// whiteouts of a directory that only one layer has.
    pub fn marks(&self, node: NodeId) -> impl Iterator<Item = Xattr> {
        let is_whiteout = |child: &NodeId| self.tree.content(self.tree.inode(*child)) == Content::CharDevice(WHITEOUT);
        let opaque = self.tree.is_opaque(node).then(|| xattrs::opaque(self.form));
        let origin = self.tree.children(node).iter().any(is_whiteout).then(|| xattrs::origin(self.form));
        opaque.into_iter().chain(origin)
    }

    pub fn memory(&self) -> usize {
        self.tree.memory() + self.files.memory() + self.xattrs.memory()
    }
}

/// A whiteout in the form of overlayfs, with the owner and the time of the mark.
fn whiteout(path: Vec<u8>, mark: &Entry) -> Entry {
    let kind = Kind::CharDevice(WHITEOUT);
    let mode = if mark.kind == kind { mark.meta.mode } else { 0 };
    Entry { path, kind, meta: Meta { mode, ..mark.meta }, xattrs: Vec::new() }
}

fn refused(input: &str, entry: &Entry, (what, expected): Wrong) -> Error {
    Error::Entry { input: input.to_string(), entry: entry.path.clone(), what, expected }
}
