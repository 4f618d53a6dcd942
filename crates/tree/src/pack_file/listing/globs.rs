//! Globs of a pack file: the entries below a directory of the host.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::nodes::{Node, parent};
use super::{Listing, PackLine};
use crate::pack_file::lines::quote;
use crate::pack_file::scan::{Found, Scan, ScanOptions};
use crate::pack_file::{GlobPattern, PackGlob};
use crate::{Bytes, Error, Glob, HostFile, Kind, Slash};

/// State of a glob.
struct Taking<'a> {
    line: &'a PackLine,
    glob: &'a PackGlob,
    pattern: Option<Pattern>,
    /// Path in the image of the first name of each inode with several names.
    names: BTreeMap<(u64, u64), Bytes>,
}

enum Pattern {
    Name(Glob),
    Path(Glob),
}

impl Listing {
    /// Adds the entries of a `glob` line.
    pub(super) fn add_glob(&mut self, line: &PackLine, glob: &PackGlob, base: &Path) -> Result<(), Error> {
        let place = self.place(line.line);
        let location = glob.location.as_deref().unwrap_or(b".");
        let directory = base.join(OsStr::from_bytes(location));
        if !directory.is_dir() {
            let what = format!("{} is not a directory", quote(directory.as_os_str().as_bytes()));
            return Err(place.error(what, "a directory that can be listed"));
        }
        self.nodes.imply(&line.path).map_err(|fault| fault.at(self.place(line.line), &line.path))?;
        self.take(&directory, line, glob)
    }

    /// Adds the entries below a directory of the host below the line's path.
    fn take(&mut self, directory: &Path, line: &PackLine, glob: &PackGlob) -> Result<(), Error> {
        let options = ScanOptions { one_file_system: glob.one_file_system, recurse: glob.recurse };
        let mut scan = Scan::new(directory, options)?;
        let mut taking =
            Taking { line, glob, pattern: glob.pattern.as_ref().map(Pattern::new), names: BTreeMap::new() };
        while let Some(found) = scan.next()? {
            let path = below(&line.path, &found.relative);
            // A glob adds only directories that match: entries in others are skipped.
            let reached = parent(&path).is_some_and(|parent| self.nodes.is_dir(parent));
            if reached && taking.takes(&path, &found) {
                let node = taking.node(&path, found, self.defaults.mtime);
                self.add(line.line, &path, node)?;
            } else if found.kind == Kind::Dir && !self.nodes.is_dir(&path) {
                scan.skip();
            }
        }
        Ok(())
    }
}

impl Taking<'_> {
    fn takes(&self, path: &[u8], found: &Found) -> bool {
        self.glob.types.contains(&found.kind) && self.pattern.as_ref().is_none_or(|pattern| pattern.matches(path))
    }

    fn node(&mut self, path: &[u8], found: Found, mtime: i64) -> Node {
        let mtime = if self.glob.keep_time { found.meta.mtime } else { mtime };
        let meta = self.line.meta(found.meta, mtime);
        if let Some(first) = self.first_name(path, &found) {
            return Node { meta, ..Node::new(Kind::HardLink(first)) };
        }
        let host = matches!(found.kind, Kind::File { .. }).then(|| HostFile::from(found.host));
        Node { meta, host, ..Node::new(found.kind) }
    }

    /// The path that an earlier name of the same inode has in the image.
    fn first_name(&mut self, path: &[u8], found: &Found) -> Option<Bytes> {
        let inode = found.shared.filter(|_| self.glob.hard_links)?;
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
