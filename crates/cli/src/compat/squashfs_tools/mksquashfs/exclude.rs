//! Exclusions: `-e` and `-ef`, by inode; with `-wildcards` and `-regex`, by the names of a path.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_tree::{PathFilter, Symlinks};

use super::sources::examine;
use crate::compat::squashfs_tools::name_pattern::{Language, NamePattern};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

#[derive(Debug, Clone, Default)]
pub struct Excludes {
    /// The device and inode numbers.
    pub inodes: BTreeSet<(u64, u64)>,
    /// The largest number of names in a path.
    pub max_depth: Option<usize>,
    patterns: Arc<Patterns>,
}

#[derive(Debug, Default)]
struct Patterns {
    /// The patterns that begin at the root.
    anchored: Vec<Pattern>,
    /// The patterns that begin at any directory.
    sticky: Vec<Pattern>,
}

/// One pattern for each name of a path.
type Pattern = Vec<NamePattern>;

impl Excludes {
    /// Parses `items`: the words of `-e` and the lines of the files of `-ef`.
    pub fn new(
        items: &[OsString],
        language: Language,
        sources: &[PathBuf],
        symlinks: Symlinks,
        io: &mut Io,
    ) -> Result<Excludes, Failure> {
        let mut excludes = Excludes::default();
        let mut patterns = Patterns::default();
        for item in items {
            match language {
                Language::Exact => excludes.add_path(Path::new(item), sources, symlinks, io),
                _ => patterns.add(item.as_bytes(), language)?,
            }
        }
        excludes.patterns = Arc::new(patterns);
        Ok(excludes)
    }

    /// Adds a path of this machine, or a path below each of the sources. A path that does not exist below a source is ignored.
    fn add_path(&mut self, path: &Path, sources: &[PathBuf], symlinks: Symlinks, io: &mut Io) {
        let bytes = path.as_os_str().as_bytes();
        let direct = [&b"/"[..], b"./", b"../"].iter().any(|start| bytes.starts_with(start));
        let places =
            if direct { vec![path.to_path_buf()] } else { sources.iter().map(|source| source.join(path)).collect() };
        for place in places {
            match examine(&place, symlinks) {
                Ok(found) => drop(self.inodes.insert((found.dev(), found.ino()))),
                Err(cause) if !direct && matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(cause) => {
                    io.eprintln(&format!("Cannot stat exclude dir/file {}: {cause}, ignoring", place.escaped()))
                }
            }
        }
    }

    /// Returns only the exclusion of entries that are too deep.
    pub fn depth_alone(&self) -> Excludes {
        Excludes { max_depth: self.max_depth, ..Excludes::default() }
    }

    /// Returns the rule for the paths of a directory whose root is at `prefix` in the image.
    pub fn filter(&self, prefix: &[u8]) -> Option<PathFilter> {
        let patterns = self.patterns.clone();
        let max_depth = self.max_depth;
        let prefix = prefix.to_vec();
        if patterns.anchored.is_empty() && patterns.sticky.is_empty() && max_depth.is_none() {
            return None;
        }
        let leaves_out = move |path: &[u8]| {
            let depth = 1 + path.iter().filter(|&&byte| byte == b'/').count();
            max_depth.is_some_and(|most| depth > most) || patterns.leave_out(path)
        };
        Some(PathFilter::new(move |path| {
            if prefix.is_empty() { leaves_out(path) } else { leaves_out(&[&prefix, &b"/"[..], path].concat()) }
        }))
    }
}

impl Patterns {
    fn add(&mut self, item: &[u8], language: Language) -> Result<(), Failure> {
        let (list, path) = match item.strip_prefix(b"... ") {
            Some(path) => (&mut self.sticky, path),
            None => (&mut self.anchored, item),
        };
        let shown = || OsStr::from_bytes(path).escaped();
        if [&b"/"[..], b"./", b"../"].iter().any(|start| path.starts_with(start)) {
            let what = format!("'{}' starts with /, ./ or ../", shown());
            return Err(Failure::usage(format!("{what} (expected a path below the root with -wildcards or -regex)")));
        }
        let names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty());
        let compile = |name: &[u8]| {
            NamePattern::new(name, language)
                .map_err(|fault| format!("'{}': {fault}", OsStr::from_bytes(name).escaped()))
        };
        let pattern: Pattern = names.map(compile).collect::<Result<_, String>>().map_err(Failure::usage)?;
        list.extend((!pattern.is_empty()).then_some(pattern));
        Ok(())
    }

    fn leave_out(&self, path: &[u8]) -> bool {
        let names: Vec<&[u8]> = path.split(|&byte| byte == b'/').collect();
        let whole = |pattern: &Pattern, names: &[&[u8]]| {
            pattern.len() == names.len() && pattern.iter().zip(names).all(|(pattern, name)| pattern.matches(name))
        };
        self.anchored.iter().any(|pattern| whole(pattern, &names))
            || self.sticky.iter().any(|pattern| {
                names.len().checked_sub(pattern.len()).is_some_and(|start| whole(pattern, &names[start..]))
            })
    }
}

/// Returns the lines of an exclude file, without leading blanks, without comments, and without the backslash that may begin a line.
pub fn lines_of(file: &Path) -> Result<Vec<OsString>, Failure> {
    let refused = |cause| Failure::failed(format!("{}: cannot read: {cause}", file.escaped()));
    let text = fs::read(file).map_err(refused)?;
    let line = |line: &[u8]| {
        let line = line.trim_ascii_start();
        let line = if line.starts_with(b"#") { b"" } else { line.strip_prefix(b"\\").unwrap_or(line) };
        (!line.is_empty()).then(|| OsStr::from_bytes(line).to_os_string())
    };
    Ok(text.split(|&byte| byte == b'\n').filter_map(line).collect())
}
