//! Sort files give the order in which the contents of files are packed. A line has a path and a priority.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use packline::Source;
use packline::requests::{List, Part};
use packline_tree::{Bytes, Meta, Symlinks};

use super::sources::examine;
use crate::args::text_list::{Ending, TextList};
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The priorities by device and inode number. The priority of a directory applies to everything below it.
#[derive(Debug, Default)]
pub struct Priorities(BTreeMap<(u64, u64), i32>);

impl Priorities {
    /// Reads a sort file. A path that does not exist is reported and ignored, as in squashfs-tools.
    ///
    /// # Errors
    /// [`Failure::Failed`] if the file cannot be read, a line is malformed, or a path is in several sources.
    pub fn read(file: &Path, sources: &[PathBuf], symlinks: Symlinks, io: &mut Io) -> Result<Priorities, Failure> {
        let list = TextList::read(file, Ending::Line, io)?;
        let mut priorities = Priorities::default();
        let mut finder = Finder { sources, symlinks, style: None };
        for (line, text) in list.items() {
            let text = text.trim_ascii_start();
            if text.is_empty() || text.starts_with(b"#") {
                continue;
            }
            let (path, priority) = parse(text).map_err(|what| list.fault(line, &what))?;
            if path.is_empty() {
                continue;
            }
            let before = finder.style;
            let places = finder.places(Path::new(&path)).map_err(|what| list.fault(line, &what))?;
            if before.is_none() && finder.style == Some(Style::Working) {
                io.eprintln(&format!(
                    "{}: line {line}: '{}' is below the working directory, as in a sort file of mkisofs, and so are the paths after it (expected a path \
                     below a source, or one that begins with /, ./ or ../)",
                    list.name,
                    Path::new(&path).escaped()
                ));
            }
            match places[..] {
                [id] => drop(priorities.0.insert(id, priority)),
                [] => io.eprintln(&format!(
                    "{}: line {line}: there is no '{}', ignoring (expected a path below a source, or one that begins with /, ./ or ../)",
                    list.name,
                    Path::new(&path).escaped()
                )),
                _ => {
                    let what = format!("'{}' is in several sources (expected a path from /, ./ or ../)", Path::new(&path).escaped());
                    return Err(list.fault(line, &what));
                }
            }
        }
        Ok(priorities)
    }

    /// Lists everything in a source, files in the order of their priorities.
    ///
    /// # Errors
    /// [`Failure::Failed`] if an entry cannot be listed or examined, or the source is not a directory.
    pub fn list(&self, source: Source, output: &Path, symlinks: Symlinks) -> Result<List, Failure> {
        let (parts, root) = match source {
            Source::Directory { path: directory, options } => {
                (vec![Part::new(directory, options, Bytes::new())], Meta::default())
            }
            Source::Directories { parts, root } => (parts, root),
            _ => return Err(Failure::failed("the source cannot be listed (expected directories and files)")),
        };
        let mut priority = |place: &Path, above| {
            if self.0.is_empty() {
                return above;
            }
            let id = examine(place, symlinks).ok().map(|found| (found.dev(), found.ino()));
            id.and_then(|id| self.0.get(&id)).copied().unwrap_or(above)
        };
        List::of_parts(parts, root, output, &mut priority).map_err(Failure::failed)
    }
}

/// Returns the path of a line and the priority after it. A backslash in the path makes the next byte literal, even a blank.
fn parse(line: &[u8]) -> Result<(OsString, i32), String> {
    let mut path = Vec::new();
    let mut at = 0;
    while let Some(byte) = line.get(at).copied().filter(|byte| !is_blank(*byte)) {
        at += usize::from(byte == b'\\');
        path.extend(line.get(at));
        at += 1;
    }
    let rest = line.get(at..).unwrap_or_default().trim_ascii();
    let priority = std::str::from_utf8(rest).ok().and_then(|rest| rest.parse::<i32>().ok());
    match priority.filter(|priority| (-32768..=32767).contains(priority)) {
        Some(priority) => Ok((OsString::from_vec(path), priority)),
        None => Err(format!(
            "priority '{}' (expected a path, then a number from -32768 to 32767)",
            OsStr::from_bytes(rest).escaped()
        )),
    }
}

fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// The base of paths that do not begin with `/`, `./` or `../`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Each of the sources.
    Sources,
    /// The working directory, as in mkisofs.
    Working,
}

/// Finds the files that the paths of a sort file lead to. The first path decides the style.
struct Finder<'a> {
    sources: &'a [PathBuf],
    symlinks: Symlinks,
    style: Option<Style>,
}

impl Finder<'_> {
    /// Returns the device and inode numbers of the files that a path leads to: on this machine, or below each of the sources.
    fn places(&mut self, path: &Path) -> Result<Vec<(u64, u64)>, String> {
        let bytes = path.as_os_str().as_bytes();
        let direct = [&b"/"[..], b"./", b"../"].iter().any(|start| bytes.starts_with(start));
        // `DIR/*` is everything below DIR.
        let all = bytes.strip_suffix(b"/*").filter(|path| !path.is_empty()).unwrap_or(bytes);
        let path = Path::new(OsStr::from_bytes(all)).to_path_buf();
        if direct || self.style == Some(Style::Working) {
            return self.examine(&[path]);
        }
        let found = self.examine(&self.sources.iter().map(|source| source.join(&path)).collect::<Vec<_>>())?;
        if !found.is_empty() || self.style.is_some() {
            self.style = Some(Style::Sources);
            return Ok(found);
        }
        let found = self.examine(&[path])?;
        self.style = Some(if found.is_empty() { Style::Sources } else { Style::Working });
        Ok(found)
    }

    fn examine(&self, candidates: &[PathBuf]) -> Result<Vec<(u64, u64)>, String> {
        let mut found = Vec::new();
        for place in candidates {
            match examine(place, self.symlinks) {
                Ok(stat) => found.push((stat.dev(), stat.ino())),
                Err(cause) if matches!(cause.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Err(cause) => {
                    return Err(format!("{}: {cause} (expected a path that can be examined)", place.escaped()));
                }
            }
        }
        Ok(found)
    }
}
