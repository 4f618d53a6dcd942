//! The entries of definitions, after the entries of another source or without one.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;

use packline_tree::XattrReader;
use packline_tree::text::quote;
use packline_tree::{Bookmark, Entry, Error, Extent, Kind, Meta, Source, Time, UnreadPart, Xattr};

use super::content::Content;
use super::definition::Added;
use super::new_entry::NewEntry;
use super::tree::{Existing, Node, ROOT};
use super::{PseudoFile, set};

/// A source with the changes and additions of a [`PseudoFile`].
///
/// The entries of definitions follow the entries of the source, in the order of the definitions. Errors in an entry are reported when the
/// entry is reached.
pub struct PseudoSource<S: Source + ?Sized = dyn Source> {
    source: Option<Box<S>>,
    pseudo: PseudoFile,
    /// The next node, once the source has ended.
    next: usize,
    content: Option<Content>,
    /// Whether the content of a bookmark of the source is being read.
    recalled: bool,
    /// The nodes of files of the host, by device and inode number.
    linked: BTreeMap<(u64, u64), usize>,
    xattrs: XattrReader,
    /// Bytes read so far from the contents of definitions.
    bytes: u64,
}

impl PseudoSource {
    /// Adds definitions to a source. A definition of the root's attributes is skipped, because the source has the root.
    pub fn over(source: Box<dyn Source>, pseudo: PseudoFile) -> PseudoSource {
        PseudoSource::new(Some(source), pseudo)
    }
}

impl PseudoSource<NoSource> {
    /// A tree that consists of definitions only.
    ///
    /// # Errors
    /// [`Error::Input`] if no definition is for the root and missing directories are not created.
    pub fn alone(mut pseudo: PseudoFile) -> Result<PseudoSource<NoSource>, Error> {
        let root = &mut pseudo.nodes[ROOT];
        if root.added.is_none() {
            let attributes = pseudo.default_directory.ok_or_else(|| Error::Input {
                input: "definitions".to_owned(),
                what: "the root is not defined; add '/ d 0755 0 0'".to_owned(),
                expected: String::new(),
            })?;
            root.added = Some(Added::Entry(Kind::Dir, attributes));
        }
        Ok(PseudoSource::new(None, pseudo))
    }
}

impl<S: Source + ?Sized> PseudoSource<S> {
    fn new(source: Option<Box<S>>, pseudo: PseudoFile) -> PseudoSource<S> {
        let linked = BTreeMap::new();
        let xattrs = XattrReader::default();
        PseudoSource { source, pseudo, next: 0, content: None, recalled: false, linked, xattrs, bytes: 0 }
    }

    fn leave_content(&mut self) -> Result<(), Error> {
        self.content.take().map_or(Ok(()), |content| content.skip(&mut self.pseudo.inputs))
    }

    /// The next entry of the source, changed by the definitions for its path.
    fn next_of_source(&mut self) -> Result<Option<Entry>, Error> {
        let Some(source) = self.source.as_mut().filter(|_| self.next == 0) else { return Ok(None) };
        let Some(mut entry) = source.next_entry()? else {
            self.pseudo.nodes[ROOT].existing = Existing::Directory;
            return Ok(None);
        };
        self.change(&mut entry)?;
        Ok(Some(entry))
    }

    fn change(&mut self, entry: &mut Entry) -> Result<(), Error> {
        if let Some(rule) = &self.pseudo.of_source {
            entry.meta = rule(entry.meta, entry.kind == Kind::Dir);
        }
        self.filter(&mut entry.xattrs);
        let existing = if entry.kind == Kind::Dir { Existing::Directory } else { Existing::Other };
        let Some(node) = self.pseudo.nodes.mark_existing(&entry.path, existing) else { return Ok(()) };
        if let Kind::HardLink(target) = &entry.kind {
            return self.refuse_other(node, target);
        }
        let Node { added, xattrs, .. } = &self.pseudo.nodes[node];
        if let Some(Added::Change(attributes)) = added {
            attributes.apply(&mut entry.meta);
        }
        storable(&entry.kind, xattrs).for_each(|xattr| set(&mut entry.xattrs, xattr.clone()));
        Ok(())
    }

    fn filter(&self, xattrs: &mut Vec<Xattr>) {
        if let Some(keeps) = &self.pseudo.kept_xattrs {
            xattrs.retain(|xattr| keeps(&xattr.name));
        }
    }

    /// Fails if definitions change a hard link differently from its target, because both share an inode that was already returned.
    fn refuse_other(&self, node: usize, target: &[u8]) -> Result<(), Error> {
        let nodes = &self.pseudo.nodes;
        let change = |node: usize| match &nodes[node].added {
            Some(Added::Change(attributes)) => Some(*attributes),
            _ => None,
        };
        let own = change(node);
        let xattrs = &nodes[node].xattrs;
        let first = nodes.find(target);
        let first_is = |same: &dyn Fn(usize) -> bool| first.is_some_and(same);
        if (own.is_none() || first_is(&|first| change(first) == own))
            && (xattrs.is_empty() || first_is(&|first| nodes[first].xattrs == *xattrs))
        {
            return Ok(());
        }
        let what = format!("{} is a hard link to {}", quote(&nodes.path(node)), quote(target));
        Err(self
            .pseudo
            .place(nodes[node].position)
            .error(what, "the same definition for both, or one for the target only"))
    }

    /// The entry of the next node that adds one.
    fn next_of_definitions(&mut self) -> Result<Option<Entry>, Error> {
        while self.next < self.pseudo.nodes.len() {
            let node = self.next;
            self.next += 1;
            if let Some(entry) = self.visit(node)? {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    fn visit(&mut self, node: usize) -> Result<Option<Entry>, Error> {
        let Node { added, existing, children, position, .. } = &self.pseudo.nodes[node];
        let position = *position;
        let is_parent = !children.is_empty();
        match (existing, added) {
            (Existing::Other, _) if is_parent => {
                Err(self.error(node, "is not a directory", "a directory above other definitions"))
            }
            (Existing::Directory | Existing::Other, Some(Added::Change(_)) | None) => Ok(None),
            (Existing::Directory, _) if node == ROOT => Ok(None),
            (Existing::Directory | Existing::Other, Some(_)) => {
                let path = quote(&self.pseudo.nodes.path(node));
                self.pseudo.warn(position, &format!("{path} is skipped: the source has it, and does not exclude it"));
                // Its other names and attributes belong to the definition, which has no entry.
                Ok(None)
            }
            (Existing::No, Some(Added::Change(_))) if !is_parent => {
                let path = quote(&self.pseudo.nodes.path(node));
                self.pseudo.warn(position, &format!("{path} is not in the source: nothing is changed"));
                Ok(None)
            }
            (Existing::No, Some(Added::Change(_))) => Err(self.missing(node)),
            (Existing::No, Some(_)) => self.define(node).map(Some),
            (Existing::No, None) => match self.pseudo.default_directory {
                Some(attributes) => {
                    self.pseudo.nodes[node].added = Some(Added::Entry(Kind::Dir, attributes));
                    self.define(node).map(Some)
                }
                None => Err(self.missing(node)),
            },
        }
    }

    fn missing(&self, node: usize) -> Error {
        self.error(node, "does not exist", "an entry of the source, or a definition that adds it")
    }

    fn error(&self, node: usize, what: &str, expected: &str) -> Error {
        let path = quote(&self.pseudo.nodes.path(node));
        self.pseudo.place(self.pseudo.nodes[node].position).error(format!("{path} {what}"), expected)
    }

    /// The entry that a node defines. It is a hard link if another node has already returned the file.
    fn define(&mut self, node: usize) -> Result<Entry, Error> {
        let defining = match self.pseudo.nodes[node].added {
            Some(Added::OtherName(target)) => target,
            _ => node,
        };
        if let Some(first) = self.pseudo.nodes[defining].first {
            return self.link(node, first);
        }
        let NewEntry { kind, meta, mut xattrs, content, id } = self.new_entry(defining)?;
        self.filter(&mut xattrs);
        if let Some(id) = id
            && let Some(first) = self.linked.insert(id, node)
        {
            self.linked.insert(id, first);
            return self.link(node, first);
        }
        let nodes = &mut self.pseudo.nodes;
        nodes[defining].first = Some(node);
        if kind != Kind::Dir && !nodes[node].children.is_empty() {
            return Err(self.error(node, "is not a directory", "a directory above other definitions"));
        }
        storable(&kind, &nodes[node].xattrs).for_each(|xattr| set(&mut xattrs, xattr.clone()));
        self.content = content;
        Ok(Entry { path: nodes.path(node), kind, meta, xattrs })
    }

    fn new_entry(&mut self, node: usize) -> Result<NewEntry, Error> {
        let Node { added, position, .. } = &self.pseudo.nodes[node];
        let position = *position;
        let time = Time::from_seconds(self.pseudo.time);
        match added.clone() {
            Some(Added::Entry(kind, attributes)) => Ok(NewEntry::new(kind, attributes.meta(time))),
            Some(Added::Command(command, attributes)) => {
                let (file, size) = self.run(node, &command)?;
                let content = Some(Content::whole(file, size, position));
                Ok(NewEntry { content, ..NewEntry::new(Kind::File { size }, attributes.meta(time)) })
            }
            Some(Added::Data { size, offset, attributes }) => {
                let input = &mut self.pseudo.inputs[position.input as usize];
                let content = Some(Content::of_data(input, size, offset, position)?);
                Ok(NewEntry { content, ..NewEntry::new(Kind::File { size }, attributes.meta(time)) })
            }
            Some(Added::Host { path, follow }) => {
                NewEntry::from_host(self.pseudo.place(position), position, &path, follow, &mut self.xattrs)
            }
            Some(Added::Change(_) | Added::OtherName(_)) | None => Err(self.missing(node)),
        }
    }

    /// Another name for the entry that a definition added.
    fn link(&self, node: usize, first: usize) -> Result<Entry, Error> {
        let nodes = &self.pseudo.nodes;
        let target = nodes.path(first);
        if !nodes[node].xattrs.is_empty() && nodes[node].xattrs != nodes[first].xattrs {
            let what = format!("has attributes, but is a hard link to {}", quote(&target));
            return Err(self.error(node, &what, "the same attributes for both, or for the target only"));
        }
        let meta = Meta::new(0, 0, 0, self.pseudo.time);
        Ok(Entry { path: nodes.path(node), kind: Kind::HardLink(target), meta, xattrs: Vec::new() })
    }

    fn run(&mut self, node: usize, command: &[u8]) -> Result<(File, u64), Error> {
        let file = self.pseudo.host.run(command);
        let found = file.and_then(|file| file.metadata().map(|metadata| (file, metadata.len())));
        found.map_err(|cause| {
            let what = format!("the command {}: {cause}", quote(command));
            self.pseudo
                .place(self.pseudo.nodes[node].position)
                .error(what, "a command that prints the content of the file")
        })
    }
}

/// The extended attributes that a kind of entry can have. Only files and directories have attributes in the namespace `user`, see xattr(7).
fn storable<'a>(kind: &Kind, xattrs: &'a [Xattr]) -> impl Iterator<Item = &'a Xattr> {
    let all = matches!(kind, Kind::File { .. } | Kind::Dir);
    xattrs.iter().filter(move |xattr| all || !xattr.name.starts_with(b"user."))
}

/// The type of the source of definitions that stand alone. It has no value.
#[derive(Debug, Clone, Copy)]
pub enum NoSource {}

impl Source for NoSource {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        match *self {}
    }

    fn read(&mut self, _buffer: &mut [u8]) -> Result<Extent, Error> {
        match *self {}
    }

    fn progress(&self) -> (u64, Option<u64>) {
        match *self {}
    }
}

impl<S: Source + ?Sized> Source for PseudoSource<S> {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        self.recalled = false;
        self.leave_content()?;
        match self.next_of_source()? {
            Some(entry) => Ok(Some(entry)),
            None => self.next_of_definitions(),
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        let extent = match (&mut self.content, &mut self.source) {
            (Some(content), _) => content.read(&mut self.pseudo.inputs, buffer)?,
            (None, Some(source)) if self.next == 0 || self.recalled => return source.read(buffer),
            _ => Extent::End,
        };
        if let Extent::Data(count) = extent {
            self.bytes += count as u64;
        }
        Ok(extent)
    }

    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, Error> {
        match (&self.content, &mut self.source) {
            (None, Some(source)) if self.next == 0 || self.recalled => source.read_later(most),
            _ => Ok(None),
        }
    }

    fn data_ranges(&mut self, most: usize) -> Result<Option<Vec<Range<u64>>>, Error> {
        match (&self.content, &mut self.source) {
            (None, Some(source)) if self.next == 0 || self.recalled => source.data_ranges(most),
            _ => Ok(None),
        }
    }

    fn read_again(&mut self) -> Option<u64> {
        self.source.as_mut().filter(|_| self.content.is_none() && self.next == 0).and_then(|source| source.read_again())
    }

    fn bookmark(&mut self) -> Option<Bookmark> {
        self.source.as_mut().filter(|_| self.next == 0).and_then(|source| source.bookmark())
    }

    fn recall(&mut self, bookmark: &Bookmark, path: &[u8]) -> Result<(), Error> {
        self.leave_content()?;
        self.recalled = true;
        self.source.as_mut().map_or(Ok(()), |source| source.recall(bookmark, path))
    }

    fn expect(&mut self, order: &mut dyn Iterator<Item = Bookmark>) {
        if let Some(source) = &mut self.source {
            source.expect(order);
        }
    }

    fn progress(&self) -> (u64, Option<u64>) {
        let (done, total) = self.source.as_ref().map_or((0, None), |source| source.progress());
        (done + self.bytes, total.filter(|_| self.bytes == 0))
    }

    fn take_problems(&mut self) -> Vec<Error> {
        self.source.as_mut().map_or_else(Vec::new, |source| source.take_problems())
    }

    fn take_warnings(&mut self) -> Vec<String> {
        let mut warnings = std::mem::take(&mut self.pseudo.warnings);
        warnings.extend(self.source.iter_mut().flat_map(|source| source.take_warnings()));
        warnings
    }
}
