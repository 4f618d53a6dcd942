//! Globs of a pack file: the entries below a directory of the host.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use packline_tree::text::quote;
use packline_tree::{Bytes, DirectoryOptions, Error, Glob, HostFile, Kind, MountPoints, Slash, Time};
use packline_tree::{ScannedEntry, Scanner};

use super::nodes::{Node, Nodes, parent};
use super::{Listing, PackLine};
use crate::pack_file::{GlobPattern, PackGlob};

struct GlobWalk<'a> {
    line: &'a PackLine,
    glob: &'a PackGlob,
    pattern: Option<Pattern>,
    /// For each inode with more than one name, the path of the first name in the image.
    names: BTreeMap<(u64, u64), Bytes>,
}

enum Pattern {
    Name(Glob),
    Path(Glob),
}

impl Listing {
    pub(super) fn add_glob(&mut self, line: &PackLine, glob: &PackGlob, base: &Path) -> Result<(), Error> {
        let place = self.place(line.line);
        let location = glob.location.as_deref().unwrap_or(b".");
        let directory = base.join(OsStr::from_bytes(location));
        if !directory.is_dir() {
            let what = format!("{} is not a directory", quote(directory.as_os_str().as_bytes()));
            return Err(place.error(what, "a directory that can be listed"));
        }
        self.nodes.imply(&line.path).map_err(|fault| fault.at(self.place(line.line), &line.path))?;
        self.walk_glob(&directory, line, glob)
    }

    /// Adds the entries of a directory of the host below the path of the line.
    fn walk_glob(&mut self, directory: &Path, line: &PackLine, glob: &PackGlob) -> Result<(), Error> {
        let mut options = DirectoryOptions::default();
        options.xattrs = false;
        options.hard_links = false;
        options.mount_points = if glob.one_file_system { MountPoints::Skip } else { MountPoints::Enter };
        let mut scan = Scanner::open(directory, options)?;
        scan.next_entering(&mut |_| true)?;
        let mut walk =
            GlobWalk { line, glob, pattern: glob.pattern.as_ref().map(Pattern::new), names: BTreeMap::new() };
        loop {
            // A glob adds only directories that match. Entries in other directories are skipped.
            let mut enters = |relative: &[u8]| {
                let path = below(&line.path, relative);
                glob.recurse && (self.nodes.is_dir(&path) || walk.accepts(&self.nodes, &path, &Kind::Dir))
            };
            let Some(found) = scan.next_entering(&mut enters)? else { return Ok(()) };
            let path = below(&line.path, &found.entry.path);
            if walk.accepts(&self.nodes, &path, &found.entry.kind) {
                let node = walk.node(&path, found, directory, self.defaults.mtime);
                self.add(line.line, &path, node)?;
            }
        }
    }
}

impl GlobWalk<'_> {
    fn accepts(&self, nodes: &Nodes, path: &[u8], kind: &Kind) -> bool {
        let reached = parent(path).is_some_and(|parent| nodes.is_dir(parent));
        let matches = || self.pattern.as_ref().is_none_or(|pattern| pattern.matches(path));
        reached && self.glob.types.contains(kind) && matches()
    }

    fn node(&mut self, path: &[u8], found: ScannedEntry, directory: &Path, mtime: Time) -> Node {
        let mtime = if self.glob.keep_time { found.entry.meta.mtime } else { mtime };
        let meta = self.line.meta(found.entry.meta, mtime);
        if let Some(first) = self.first_name(path, &found) {
            return Node { meta, ..Node::new(Kind::HardLink(first)) };
        }
        let host = found.size().map(|_| HostFile::from(found.host_path(directory)));
        Node { meta, host, ..Node::new(found.entry.kind) }
    }

    /// The path of an earlier name of the same inode in the image.
    fn first_name(&mut self, path: &[u8], found: &ScannedEntry) -> Option<Bytes> {
        let inode = found.shared_file().filter(|_| self.glob.hard_links)?;
        let first = self.names.get(&inode).cloned();
        if first.is_none() {
            self.names.insert(inode, path.to_vec());
        }
        first
    }
}

impl Pattern {
    fn new(pattern: &GlobPattern) -> Pattern {
        match pattern {
            GlobPattern::Name(pattern) => Pattern::Name(Glob::new(pattern, Slash::Plain)),
            GlobPattern::Path(pattern) => Pattern::Path(Glob::new(pattern, Slash::Separates)),
        }
    }

    fn matches(&self, path: &[u8]) -> bool {
        match self {
            Pattern::Name(glob) => glob.matches(memchr::memrchr(b'/', path).map_or(path, |slash| &path[slash + 1..])),
            Pattern::Path(glob) => glob.matches(path),
        }
    }
}

fn below(directory: &[u8], relative: &[u8]) -> Bytes {
    if directory.is_empty() { relative.to_vec() } else { [directory, b"/", relative].concat() }
}
