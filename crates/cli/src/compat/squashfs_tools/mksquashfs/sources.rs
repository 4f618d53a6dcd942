//! Sources on the command line. One directory becomes the root. Several directories, and other files, are put below a new root under
//! their names.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use packline::Source;
use packline::requests::{Hints, Part};
use packline_manifests::actions::{ActionSettings, Actions};
use packline_squashfs::BlockSize;
use packline_tree::{Bytes, DirectoryOptions, Meta, MountPoints, Names, PathFilter, ReadErrors, Symlinks, scan};

use super::actions;
use super::appending::Appending;
use super::exclude::Excludes;
use super::named::NamedEntries;
use super::priorities::Priorities;
use crate::ui::escape::Escape;
use crate::ui::failure::Failure;
use crate::ui::io::Io;

/// The threads that read small files ahead.
pub const READERS: usize = 4;

/// How sources are read.
pub struct Reading {
    pub hard_links: bool,
    pub xattrs: bool,
    pub mount_points: MountPoints,
    pub symlinks: Symlinks,
    pub errors: ReadErrors,
    pub excludes: Excludes,
    /// The image that is appended to; the sources get none of its names.
    pub appending: Option<Appending>,
    /// Whether even a single directory is put below a new root.
    pub keep_as_directory: bool,
    /// The attributes of a new root.
    pub root: Meta,
    /// The priorities of files that are not packed in the order of their names.
    pub priorities: Option<Priorities>,
    /// The changes of the entries that are read.
    pub actions: Actions,
}

impl Reading {
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
            return self.whole(path, io);
        }
        let mut parts: Vec<Part> = Vec::new();
        for (path, directory) in paths.iter().zip(kinds) {
            let name = base_name(path)?;
            let to = self.unused(&name, |name| parts.iter().any(|part| part.to == name), io)?;
            if directory {
                parts.push(part(path, self.options(&to), Bytes::new(), to))
            } else {
                parts.push(self.single(path, name, to)?)
            }
        }
        parts.retain(|part| self.keeps(part));
        Ok(Source::Directories { parts, root: self.root })
    }

    /// Returns a directory that becomes the root.
    fn whole(&self, path: &Path, io: &mut Io) -> Result<Source, Failure> {
        if self.appending.is_none() {
            return Ok(Source::Directory { path: path.to_path_buf(), options: self.options(b"") });
        }
        let mut whole = part(path, self.options(b""), Bytes::new(), Bytes::new());
        whole.renames = self.renames(path, io)?;
        if let Some(filter) = whole.options.filter.take() {
            let renamed = Part { options: DirectoryOptions::default(), ..whole.clone() };
            whole.options.filter = Some(PathFilter::new(move |path| filter.leaves_out(&renamed.renamed(path))));
        }
        Ok(Source::Directories { parts: vec![whole], root: self.root })
    }

    /// Returns new names of a directory's entries whose names exist in the image that is appended to. Other names stay.
    fn renames(&self, path: &Path, io: &mut Io) -> Result<BTreeMap<Bytes, Bytes>, Failure> {
        let refused = |cause| Failure::failed(format!("{}: cannot list: {cause}", path.escaped()));
        let mut taken = BTreeSet::new();
        let mut clashes = BTreeSet::new();
        for entry in fs::read_dir(path).map_err(refused)? {
            let name = entry.map_err(refused)?.file_name().into_encoded_bytes();
            let clash = self.appending.as_ref().map_or(Ok(false), |appending| appending.takes(&name))?;
            if clash { &mut clashes } else { &mut taken }.insert(name);
        }
        let mut renames = BTreeMap::new();
        for name in clashes {
            let free = self.unused(&name, |name| taken.contains(name), io)?;
            taken.insert(free.clone());
            renames.insert(name, free);
        }
        Ok(renames)
    }

    /// Returns the name, or the name with a number if it is taken, in the image that is appended to or otherwise.
    fn unused(&self, name: &Bytes, taken: impl Fn(&[u8]) -> bool, io: &mut Io) -> Result<Bytes, Failure> {
        let mut free = name.clone();
        let mut number = 0;
        while taken(&free) || self.appending.as_ref().map_or(Ok(false), |appending| appending.takes(&free))? {
            number += 1;
            let next = [name.as_slice(), format!("_{number}").as_bytes()].concat();
            let shown = |name: &Bytes| OsStr::from_bytes(name).escaped();
            io.eprintln(&format!("Source directory entry {} already used! - trying {}", shown(&free), shown(&next)));
            free = next;
        }
        Ok(free)
    }

    /// Returns whether all entries are listed before the first is packed.
    pub fn needs_list(&self) -> bool {
        self.priorities.is_some() || !self.actions.is_empty()
    }

    /// Returns the source with its files in order and its entries changed, how some of them are stored, and the latest time of all.
    ///
    /// # Errors
    /// [`Failure::Failed`] if an entry cannot be listed or examined, or a command of an action cannot be run.
    pub fn list(
        self,
        source: Source,
        output: &Path,
        block_size: BlockSize,
        io: &mut Io,
    ) -> Result<(Source, Option<Hints>, u32), Failure> {
        let none = Priorities::default();
        let mut list = self.priorities.as_ref().unwrap_or(&none).list(source, output, self.symlinks)?;
        list.take_warnings().iter().for_each(|warning| io.warn(warning));
        if !self.actions.is_empty() {
            let reading = |path: &[u8]| self.followed(path, output);
            let settings = ActionSettings { block_size: block_size.into(), reading: &reading };
            actions::apply(&self.actions, &mut list, &settings, io)?;
        }
        let latest = list.latest_time().clamp(0, u32::MAX.into()) as u32;
        let (source, hints) = list.into_source(READERS);
        Ok((source, hints, latest))
    }

    /// Returns entries with all names of their paths. The root is the directory that the paths are relative to.
    ///
    /// # Errors
    /// [`Failure::Failed`] if the name exists in the image that is appended to.
    pub fn named(&self, named: NamedEntries) -> Result<Source, Failure> {
        if let Some(appending) = &self.appending {
            appending.refuse("sources", named.names.in_root())?;
        }
        let mut options = self.options(b"");
        options.only = Some(named.names);
        Ok(Source::Directory { path: named.directory, options })
    }

    /// Returns one entry of a directory.
    fn single(&self, path: &Path, name: Bytes, to: Bytes) -> Result<Part, Failure> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut options = self.options(b"");
        options.filter = None;
        options.only = Some(Names::existing(parent, "", [(1, name.as_slice())]).map_err(Failure::failed)?);
        Ok(part(parent, options, name, to))
    }

    /// Returns whether a source on the command line is not excluded itself.
    fn keeps(&self, part: &Part) -> bool {
        let place = part.directory.join(OsStr::from_bytes(&part.from));
        let id = examine(&place, self.symlinks).ok().map(|found| (found.dev(), found.ino()));
        !id.is_some_and(|id| self.excludes.inodes.contains(&id))
            && !self.excludes.filter(b"").is_some_and(|filter| filter.leaves_out(&part.to))
    }

    /// Returns the rule for a directory at `prefix` in the image in which an action follows links: nothing below the links is excluded
    /// except the output.
    fn followed(&self, prefix: &[u8], output: &Path) -> DirectoryOptions {
        let mut options = self.options(prefix);
        options.filter = self.excludes.depth_alone().filter(prefix);
        let output = fs::metadata(output).ok();
        options.without_inodes = output.map(|found| (found.dev(), found.ino())).into_iter().collect();
        options
    }

    /// Returns the options for a directory whose root is at `prefix` in the image.
    fn options(&self, prefix: &[u8]) -> DirectoryOptions {
        let mut options = DirectoryOptions::new(READERS);
        options.hard_links = self.hard_links;
        options.xattrs = self.xattrs;
        options.mount_points = self.mount_points;
        options.errors = self.errors;
        options.symlinks = self.symlinks;
        options.without_inodes = self.excludes.inodes.clone();
        options.filter = self.excludes.filter(prefix);
        options
    }
}

/// Returns the attributes of a file: of a symbolic link, or of the file that the link leads to.
pub fn examine(path: &Path, symlinks: Symlinks) -> io::Result<fs::Metadata> {
    if symlinks == Symlinks::Kept { fs::symlink_metadata(path) } else { fs::metadata(path) }
}

/// Returns the latest modification time of all entries of a source.
///
/// # Errors
/// [`Failure::Failed`] if the source cannot be read, or can be read only once.
pub fn latest_time(source: &Source) -> Result<u32, Failure> {
    let of = |directory: &Path, options: &DirectoryOptions| {
        let mut options = options.clone();
        options.xattrs = false;
        let entries = scan(directory, options, &mut |_| {}).map_err(Failure::failed)?;
        let times = entries.iter().map(|(entry, _)| entry.meta.mtime.seconds().clamp(0, u32::MAX.into()) as u32);
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

fn base_name(path: &Path) -> Result<Bytes, Failure> {
    let expected = "expected a path that ends in one";
    let refused = || Failure::failed(format!("{}: has no name for the image ({expected})", path.escaped()));
    Part::name_of(path).ok_or_else(refused)
}

fn part(directory: &Path, options: DirectoryOptions, from: Bytes, to: Bytes) -> Part {
    Part { from, ..Part::new(directory, options, to) }
}
