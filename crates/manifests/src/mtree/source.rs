//! The entries of a manifest in the order of a directory source: each directory before its entries, names sorted by their bytes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as MapEntry;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;

use packline_tree::text::{TextLine, quote};
use packline_tree::{
    AHEAD_BYTES, Device, Entry, Error, Extent, HostFile, Kind, ListSource, Meta, Source, Time, UnreadPart,
};

use super::Mtree;
use super::host::HostEntry;
use super::keywords::{Keywords, Text, Type};
use super::tree::ROOT;

/// A manifest as a source. Errors in an entry are reported when the entry is reached.
pub struct MtreeSource {
    list: ListSource<Walk>,
}

impl MtreeSource {
    /// `time` is used for entries that have a time neither in the manifest nor on the host. `readers` threads read contents ahead.
    pub fn new(mtree: Mtree, time: i64, readers: usize) -> MtreeSource {
        let walk = Walk { mtree, time, left: vec![ROOT], linked: BTreeMap::new() };
        MtreeSource { list: ListSource::new(walk, None, readers, AHEAD_BYTES) }
    }
}

impl Source for MtreeSource {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        self.list.next_entry()
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        self.list.read(buffer)
    }

    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, Error> {
        self.list.read_later(most)
    }

    fn data_ranges(&mut self, most: usize) -> Result<Option<Vec<Range<u64>>>, Error> {
        self.list.data_ranges(most)
    }

    fn read_again(&mut self) -> Option<u64> {
        self.list.read_again()
    }

    fn progress(&self) -> (u64, Option<u64>) {
        self.list.progress()
    }

    fn take_warnings(&mut self) -> Vec<String> {
        self.list.take_warnings()
    }
}

struct Walk {
    mtree: Mtree,
    time: i64,
    /// Nodes to visit, the next one last.
    left: Vec<usize>,
    /// The first name of each inode with more than one name.
    linked: BTreeMap<Inode, (usize, SharedAttributes)>,
}

/// Identifies an inode with more than one name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Inode {
    /// By file system and inode number on the host.
    Host(u64, u64),
    /// By file system and inode number in the manifest.
    Manifest(Option<Text>, u64),
}

/// Attributes that must also be equal for all names of an inode.
#[derive(Debug, PartialEq, Eq)]
struct SharedAttributes {
    kind: Type,
    meta: Meta,
    device: Option<Device>,
    target: Option<Text>,
}

/// An entry, and the file of the host that has its content.
type WalkEntry = (Entry, Option<HostFile>);

impl Iterator for Walk {
    type Item = Result<WalkEntry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(node) = self.left.pop() {
            self.left.extend(self.mtree.nodes[node].children.values().rev());
            let visited = self.visit(node).transpose();
            if visited.is_some() {
                return visited;
            }
        }
        None
    }
}

impl Walk {
    /// Returns the entry of a node; `None` if no line has its path, or if the entry is left out.
    fn visit(&mut self, node: usize) -> Result<Option<WalkEntry>, Error> {
        let Some(keywords) = self.mtree.nodes[node].keywords.take() else { return Ok(None) };
        let path = self.mtree.nodes.path(node);
        let place = self.mtree.place(node);
        let host = HostEntry::find(place, &self.mtree.base, &path, &keywords)?;
        let keywords = if keywords.unchanged { unchanged(&host, place, *keywords)? } else { *keywords };
        if keywords.optional && host.found.is_none() && matches!(keywords.kind, Some(Type::File) | None) {
            return Ok(None);
        }
        let kind =
            keywords.kind.or_else(|| host.kind()).ok_or_else(|| host.missing(place, "type= where there is no file"))?;
        if kind != Type::Dir && (node == ROOT || !self.mtree.nodes[node].children.is_empty()) {
            let expected = "type=dir for the root, and above other entries";
            return Err(place.error(format!("{} is not a directory", quote(&path)), expected));
        }
        let meta = self.meta(&keywords, kind, &host);
        let own_kind = entry_kind(&keywords, kind, &host, place)?;
        let target = keywords.link.clone().filter(|_| kind == Type::Link);
        let shared = SharedAttributes { kind, meta, device: keywords.device, target };
        let kind = match self.first_name(node, &keywords, &host, shared) {
            Some(first) => Kind::HardLink(self.mtree.nodes.path(first)),
            None => own_kind,
        };
        let has_content = matches!(kind, Kind::File { .. }) && host.found.is_some();
        let file = has_content.then(|| HostFile::from(host.path));
        Ok(Some((Entry { path, kind, meta, xattrs: Vec::new() }, file)))
    }

    fn meta(&self, keywords: &Keywords, kind: Type, host: &HostEntry) -> Meta {
        let found = host.attributes_of(kind);
        let mode = match kind {
            Type::Dir => 0o755,
            Type::Link => 0o777,
            _ => 0o644,
        };
        Meta {
            mode: keywords.mode.unwrap_or_else(|| found.map_or(mode, |found| (found.mode() & 0o7777) as u16)),
            uid: keywords.uid.id().unwrap_or_else(|| found.map_or(0, MetadataExt::uid)),
            gid: keywords.gid.id().unwrap_or_else(|| found.map_or(0, MetadataExt::gid)),
            mtime: keywords.time.or(found.map(Time::of_metadata)).unwrap_or(Time::from_seconds(self.time)),
        }
    }

    /// Returns the first node that is a name of the same inode, if this node is not the first.
    fn first_name(
        &mut self,
        node: usize,
        keywords: &Keywords,
        host: &HostEntry,
        shared: SharedAttributes,
    ) -> Option<usize> {
        if keywords.nlink.is_none_or(|names| names < 2) || shared.kind == Type::Dir {
            return None;
        }
        let inode = match host.attributes_of(shared.kind) {
            Some(found) => Inode::Host(found.dev(), found.ino()),
            None => Inode::Manifest(keywords.file_system.clone(), keywords.inode?),
        };
        match self.linked.entry(inode) {
            MapEntry::Vacant(vacant) => {
                vacant.insert((node, shared));
                None
            }
            MapEntry::Occupied(known) => (known.get().1 == shared).then_some(known.get().0),
        }
    }
}

impl Mtree {
    fn place(&self, node: usize) -> TextLine<'_> {
        TextLine { input: &self.name, line: self.nodes[node].line }
    }
}

/// The keywords of an entry with `nochange`: only its type and content. All other attributes come from its file, which must exist.
fn unchanged(host: &HostEntry, place: TextLine<'_>, keywords: Keywords) -> Result<Keywords, Error> {
    if host.found.is_none() && !keywords.optional {
        return Err(host.missing(place, "a file for 'nochange'"));
    }
    let Keywords { kind, contents, nlink, inode, file_system, optional, .. } = keywords;
    Ok(Keywords { kind, contents, nlink, inode, file_system, optional, ..Keywords::default() })
}

fn entry_kind(keywords: &Keywords, kind: Type, host: &HostEntry, place: TextLine<'_>) -> Result<Kind, Error> {
    let device = || keywords.device.map_or_else(|| host.device(place, kind), Ok);
    Ok(match kind {
        Type::Dir => Kind::Dir,
        Type::Fifo => Kind::Fifo,
        Type::Socket => Kind::Socket,
        Type::Block => Kind::BlockDevice(device()?),
        Type::Char => Kind::CharDevice(device()?),
        Type::Link => Kind::Symlink(match &keywords.link {
            Some(target) => target.to_vec(),
            None => host.target(place)?,
        }),
        Type::File => Kind::File { size: host.size(place, keywords)? },
    })
}
