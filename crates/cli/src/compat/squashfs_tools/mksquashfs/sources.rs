//! Sources on the command line: one directory becomes the root; several, or anything else, are put below a new root by their names.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use packline::Source;
use packline::requests::{Hints, Part};
use packline_tree::actions::{ActionSettings, Actions};
use packline_tree::{Bytes, DirectoryOptions, Meta, MountPoints, Names, Symlinks, scan};

use super::actions;
use super::exclude::Excludes;
use super::named::NamedEntries;
use super::priorities::Priorities;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// Threads that read small files ahead.
pub const READERS: usize = 4;

/// How sources are read.
pub struct Reading {
    pub hard_links: bool,
    pub xattrs: bool,
    pub mount_points: MountPoints,
    pub symlinks: Symlinks,
    pub continue_on_error: bool,
    pub excludes: Excludes,
    /// A single directory is put below a new root too.
    pub keep_as_directory: bool,
    /// Attributes of a new root.
    pub root: Meta,
    /// Of files that are packed in another order than that of their names.
    pub priorities: Option<Priorities>,
    /// Changes of what is read.
    pub actions: Actions,
}

impl Reading {
    /// # Errors
    /// [`Failure::Failed`] for a source that does not exist.
    pub fn source(&self, paths: &[PathBuf], io: &mut Io) -> Result<Source, Failure> {
        let mut kinds = Vec::new();
        for path in paths {
            let found = examine(path, self.symlinks);
            let found = found.map_err(|cause| {
                Failure::failed(format!("{}: cannot open: {cause} (expected a file or a directory)", path.escaped()))
            })?;
            kinds.push(found.is_dir());
        }
        if let ([path], [true], false) = (paths, &kinds[..], self.keep_as_directory) {
            return Ok(Source::Directory { path: path.clone(), options: self.options(b"") });
        }
        let mut parts: Vec<Part> = Vec::new();
        for (path, directory) in paths.iter().zip(kinds) {
            let name = base_name(path)?;
            let to = unused(&name, &parts, io);
            match directory {
                true => {
                    parts.push(Part { directory: path.clone(), options: self.options(&to), from: Bytes::new(), to })
                }
                false => parts.push(self.single(path, name, to)?),
            }
        }
        parts.retain(|part| self.keeps(part));
        Ok(Source::Directories { parts, root: self.root })
    }

    /// Whether all entries are listed before the first is packed.
    pub fn needs_list(&self) -> bool {
        self.priorities.is_some() || !self.actions.is_empty()
    }

    /// The source with its files in their order and its entries changed, how some of them are stored, and the latest time of all.
    ///
    /// # Errors
    /// [`Failure::Failed`] if an entry cannot be listed or examined, or a command of an action cannot be run.
    pub fn list(
        self,
        source: Source,
        output: &Path,
        block_size: u32,
        io: &mut Io,
    ) -> Result<(Source, Option<Hints>, u32), Failure> {
        let none = Priorities::default();
        let mut list = self.priorities.as_ref().unwrap_or(&none).list(source, output, self.symlinks)?;
        list.take_warnings().iter().for_each(|warning| io.warn(warning));
        if !self.actions.is_empty() {
            let reading = |path: &[u8]| self.followed(path, output);
            let settings = ActionSettings { block_size, reading: &reading };
            actions::apply(&self.actions, &mut list, &settings, io)?;
        }
        let latest = list.latest_time().clamp(0, u32::MAX.into()) as u32;
        let (source, hints) = list.into_source(READERS);
        Ok((source, hints, latest))
    }

    /// Entries under all names of their paths. The root is the directory that these are relative to.
    pub fn named(&self, named: NamedEntries) -> Source {
        let mut options = self.options(b"");
        options.only = Some(named.names);
        Source::Directory { path: named.directory, options }
    }

    /// One entry of a directory.
    fn single(&self, path: &Path, name: Bytes, to: Bytes) -> Result<Part, Failure> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut options = self.options(b"");
        options.filter = None;
        options.only = Some(Names::existing(parent, "", [(1, name.as_slice())]).map_err(Failure::failed)?);
        Ok(Part { directory: parent.to_path_buf(), options, from: name, to })
    }

    /// Whether a source on the command line is not left out itself.
    fn keeps(&self, part: &Part) -> bool {
        let place = part.directory.join(OsStr::from_bytes(&part.from));
        let id = examine(&place, self.symlinks).ok().map(|found| (found.dev(), found.ino()));
        !id.is_some_and(|id| self.excludes.inodes.contains(&id))
            && !self.excludes.filter(b"").is_some_and(|filter| filter.leaves_out(&part.to))
    }

    /// For a directory at `prefix` in the image in which an action follows links: what is below them is not left out, but for the image.
    fn followed(&self, prefix: &[u8], output: &Path) -> DirectoryOptions {
        let mut options = self.options(prefix);
        options.filter = self.excludes.depth_alone().filter(prefix);
        let output = fs::metadata(output).ok();
        options.without_inodes = output.map(|found| (found.dev(), found.ino())).into_iter().collect();
        options
    }

    /// For a directory whose root is at `prefix` in the image.
    fn options(&self, prefix: &[u8]) -> DirectoryOptions {
        let mut options = DirectoryOptions::new(READERS);
        (options.hard_links, options.xattrs) = (self.hard_links, self.xattrs);
        (options.mount_points, options.continue_on_error) = (self.mount_points, self.continue_on_error);
        options.symlinks = self.symlinks;
        (options.without_inodes, options.filter) = (self.excludes.inodes.clone(), self.excludes.filter(prefix));
        options
    }
}

/// The attributes of a file: of a symbolic link or of what it leads to.
pub fn examine(path: &Path, symlinks: Symlinks) -> io::Result<fs::Metadata> {
    if symlinks == Symlinks::Kept { fs::symlink_metadata(path) } else { fs::metadata(path) }
}

/// The latest modification time of all entries of a source.
///
/// # Errors
/// [`Failure::Failed`] if it cannot be read, or read only once.
pub fn latest_time(source: &Source) -> Result<u32, Failure> {
    let of = |directory: &Path, options: &DirectoryOptions| {
        let mut options = options.clone();
        options.xattrs = false;
        let entries = scan(directory, options, &mut |_| {}).map_err(Failure::failed)?;
        let times = entries.iter().map(|(entry, _)| entry.meta.mtime.clamp(0, u32::MAX.into()) as u32);
        Ok(times.max().unwrap_or(0))
    };
    match source {
        Source::Directory { path, options } => of(path, options),
        Source::Directories { parts, .. } => {
            parts.iter().try_fold(0, |latest, part| Ok(of(&part.directory, &part.options)?.max(latest)))
        }
        _ => Err(Failure::usage(
            "the latest time of a tar is not known before it is packed (expected a time in seconds)",
        )),
    }
}

/// The last name of a path, of `.` that of the working directory.
fn base_name(path: &Path) -> Result<Bytes, Failure> {
    let refused = || {
        Failure::failed(format!("{}: no name for it in the image (expected a path that ends in one)", path.escaped()))
    };
    let whole = std::path::absolute(path).map_err(|_| refused())?;
    match whole.components().next_back() {
        Some(Component::Normal(name)) => Ok(name.as_bytes().to_vec()),
        _ => Err(refused()),
    }
}

/// The name, or with a number after it if it is taken.
fn unused(name: &Bytes, parts: &[Part], io: &mut Io) -> Bytes {
    let mut free = name.clone();
    let mut number = 0;
    while parts.iter().any(|part| part.to == free) {
        number += 1;
        let next = [name.as_slice(), format!("_{number}").as_bytes()].concat();
        let shown = |name: &Bytes| OsStr::from_bytes(name).escaped();
        io.eprintln(&format!("Source directory entry {} already used! - trying {}", shown(&free), shown(&next)));
        free = next;
    }
    free
}
