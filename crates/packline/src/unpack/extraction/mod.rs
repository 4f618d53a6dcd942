//! Creates the entries of a tar in a directory, through handles that follow no link. Only the links that the tar itself made are followed, and only
//! inside of the directory.

mod directories;
mod links;
mod placing;
mod settings;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use packline_image::{StagingDir, Topic, Warning};
use packline_runtime::{MemoryFault, WorkFault, zeros};
use packline_tree::destination::{Attributes, DestinationFile, Directory, FileId, Refusal, XattrRefusal};
use packline_tree::{Bytes, Entry, Extent, Kind, Meta, Source, Xattr};

use rustix::io::Errno;

use crate::error::Error;
use placing::Staging;
pub(crate) use settings::ExtractionSettings;
pub use settings::TarTreeCounts;

/// Bytes of content read at a time.
const STEP: usize = 256 << 10;
/// Memory for directories and links kept to the end, bytes: a few bytes of a tar can cause any amount.
const KEPT_MOST: usize = 160 << 20;
/// Permissions of a directory that the tar only implies.
const IMPLIED_MODE: u16 = 0o755;
/// Memory in bytes of a directory or a link, not counting its names and attributes.
const KEPT_EACH: usize = 128;

/// A tree being created.
pub(crate) struct Extraction {
    root: Directory,
    /// Where entries are until they are complete; `None` if the root was created for this tree.
    staging: Option<Staging>,
    display_path: PathBuf,
    settings: ExtractionSettings,
    /// The most recent directory, which probably contains the next entry too.
    present: Option<(Bytes, Directory)>,
    /// Attributes of directories, set when everything is in them. The last entry of a path wins.
    directories: BTreeMap<Bytes, (Meta, Vec<Xattr>)>,
    /// Further names of files that did not exist yet.
    links: Vec<(Bytes, Bytes)>,
    /// Devices that were left out. Links to them are left out too.
    left_out: BTreeSet<Bytes>,
    /// Directories without attributes in the tar, and their final permissions: existing ones that have more permissions while files are
    /// written, and implied ones.
    extended: BTreeMap<Bytes, u16>,
    /// The symbolic links that were created, up to a number.
    symlinks: BTreeSet<FileId>,
    /// Memory in bytes of directories, links and skipped devices.
    kept_bytes: usize,
    warned: BTreeSet<Topic>,
    warnings: Vec<String>,
    counts: TarTreeCounts,
    buffer: Vec<u8>,
}

impl Extraction {
    /// Creates entries in the directory that becomes `destination`.
    ///
    /// # Errors
    /// [`Error::Output`] if the directory cannot be opened.
    pub(crate) fn new(
        staging_dir: &StagingDir,
        protected: Option<FileId>,
        destination: PathBuf,
        settings: ExtractionSettings,
    ) -> Result<Extraction, Error> {
        Ok(Extraction {
            root: staging_dir.root()?.protecting(protected),
            staging: staging_dir.staging().zip(staging_dir.reserved()).map(|(directory, reserved)| Staging {
                directory,
                reserved,
                apart: Cell::default(),
            }),
            display_path: destination,
            settings,
            present: None,
            directories: BTreeMap::new(),
            links: Vec::new(),
            left_out: BTreeSet::new(),
            extended: BTreeMap::new(),
            symlinks: BTreeSet::new(),
            kept_bytes: 0,
            warned: BTreeSet::new(),
            warnings: Vec::new(),
            counts: TarTreeCounts::default(),
            buffer: vec![0; STEP],
        })
    }

    /// Creates an entry. It replaces anything of its name, except a directory with entries; a directory keeps a directory of its name.
    ///
    /// # Errors
    /// [`Error::Output`] with the path; the errors of the source; [`Error::Memory`] for too many directories or links.
    pub(crate) fn entry(&mut self, entry: &Entry, source: &mut dyn Source) -> Result<(), Error> {
        self.check_cancelled()?;
        self.refuse_reserved(&entry.path)?;
        if entry.kind == Kind::Dir {
            return self.directory(entry);
        }
        self.counts.entries += 1;
        let path = self.enter_parent(&entry.path)?;
        let moved = (path != entry.path).then(|| Entry { path, ..entry.clone() });
        let entry = moved.as_ref().unwrap_or(entry);
        if self.is_left_out(&entry.kind) {
            return self.leave_out(&entry.path);
        }
        self.left_out.remove(&entry.path);
        match &entry.kind {
            Kind::HardLink(target) => self.link_or_wait(entry, target),
            Kind::File { size } => self.file(entry, *size, source),
            _ => self.node(entry),
        }
    }

    fn is_left_out(&self, kind: &Kind) -> bool {
        match kind {
            Kind::BlockDevice(_) | Kind::CharDevice(_) => !self.settings.devices,
            Kind::HardLink(target) => self.links_to_left_out(target),
            _ => false,
        }
    }

    fn leave_out(&mut self, path: &Bytes) -> Result<(), Error> {
        self.counts.devices_left_out += 1;
        let note = Warning::device(&self.path(path));
        self.tell(note);
        self.keep(path.len())?;
        self.left_out.insert(path.clone());
        Ok(())
    }

    /// Creates the links that waited for their files, then sets the attributes of directories except the root, children before parents. An
    /// error of one entry goes to `problem`, which returns it if it ends the work.
    ///
    /// # Errors
    /// As [`Extraction::entry`].
    pub(crate) fn finish_entries(&mut self, problem: &mut dyn FnMut(Error) -> Result<(), Error>) -> Result<(), Error> {
        for (path, target) in std::mem::take(&mut self.links) {
            if self.links_to_left_out(&target) {
                self.leave_out(&path)?;
                continue;
            }
            if let Err(refusal) = self.link(&path, &target) {
                problem(self.unlinked(&path, &target, refusal))?;
            }
        }
        let mut directories = std::mem::take(&mut self.directories);
        let extended = std::mem::take(&mut self.extended);
        let root = directories.remove(&b""[..]);
        let paths: BTreeSet<&Bytes> = directories.keys().chain(extended.keys()).collect();
        for &path in paths.iter().rev() {
            if let Err(error) = self.enter(path) {
                problem(error)?;
                continue;
            }
            match (directories.get(path), extended.get(path)) {
                (Some((meta, xattrs)), _) => {
                    self.set_attributes_of_present(path, meta, xattrs).or_else(&mut *problem)?
                }
                (None, Some(&mode)) => self.restore_mode_of_present(mode),
                (None, None) => {}
            }
        }
        self.directories.extend(root.map(|attributes| (Bytes::new(), attributes)));
        Ok(())
    }

    /// Adds warnings of the tar.
    #[cfg(feature = "lrz")]
    pub(crate) fn add_warnings(&mut self, warnings: Vec<String>) {
        self.warnings.extend(warnings);
    }

    /// Sets the attributes of the root, if the tar has them.
    ///
    /// # Errors
    /// As [`Extraction::entry`].
    pub(crate) fn finish(mut self) -> Result<(TarTreeCounts, Vec<String>), Error> {
        let root = self.directories.remove(&b""[..]).filter(|_| self.settings.restore.destination);
        if root.is_none() && self.staging.is_none() {
            let applied = self.root.attributes().set_mode(IMPLIED_MODE);
            applied.map_err(|refusal| self.refused(b"", refusal))?;
        }
        if let Some((meta, xattrs)) = root {
            self.enter(b"")?;
            match self.root.attributes().set_mode(meta.mode & 0o777) {
                // It belongs to another user.
                Err(refusal) if refusal.errno() == Some(Errno::PERM) => {
                    let warning = Warning::destination(&self.display_path, &refusal);
                    self.tell(warning);
                }
                _ => self.set_attributes_of_present(b"", &meta, &xattrs)?,
            }
        }
        Ok((self.counts, std::mem::take(&mut self.warnings)))
    }

    fn restore_mode_of_present(&self, mode: u16) {
        if let Some((_, directory)) = &self.present {
            // The directory is usable with the extended permissions too.
            let _: Result<(), Refusal> = directory.attributes().set_mode(mode);
        }
    }

    fn path(&self, path: &[u8]) -> PathBuf {
        if path.is_empty() { self.display_path.clone() } else { self.display_path.join(OsStr::from_bytes(path)) }
    }

    fn refused(&self, path: &[u8], refusal: Refusal) -> Error {
        Error::Output { path: self.path(path), action: refusal.action(), cause: refusal.cause() }
    }

    fn check_cancelled(&self) -> Result<(), Error> {
        if self.settings.cancel.is_cancelled() {
            return Err(packline_tree::Error::Work(WorkFault::Cancelled).into());
        }
        Ok(())
    }

    fn tell(&mut self, note: Warning) {
        if self.warned.insert(note.topic) {
            self.warnings.push(note.text);
        }
    }

    fn keep(&mut self, bytes: usize) -> Result<(), Error> {
        self.kept_bytes += bytes + KEPT_EACH;
        if self.kept_bytes <= KEPT_MOST {
            return Ok(());
        }
        let what = "the names of all directories and hard links".to_string();
        Err(Error::Memory(MemoryFault { allowed: KEPT_MOST as u64, needed: self.kept_bytes as u64, what }))
    }

    fn set_attributes_of_present(&mut self, path: &[u8], meta: &Meta, xattrs: &[Xattr]) -> Result<(), Error> {
        let Some((name, directory)) = self.present.take() else { return Ok(()) };
        let applied = self.set_attributes(path, meta, xattrs, Some(meta.mode), directory.attributes());
        self.present = Some((name, directory));
        applied
    }

    // Everything else.

    fn file(&mut self, entry: &Entry, size: u64, source: &mut dyn Source) -> Result<(), Error> {
        let file = self.make(&entry.path, |directory, name| directory.create(name))?;
        let written = self.content(entry, &file, size, source);
        let applied = written.and_then(|()| {
            self.set_attributes(&entry.path, &entry.meta, &entry.xattrs, Some(entry.meta.mode), file.attributes())
        });
        self.complete(&entry.path, applied)
    }

    /// Gives an entry its name, or removes the entry after an error.
    fn complete(&mut self, path: &[u8], applied: Result<(), Error>) -> Result<(), Error> {
        match applied {
            Ok(()) => self.settle(path),
            Err(error) => {
                self.give_up(path);
                Err(error)
            }
        }
    }

    fn content(
        &mut self,
        entry: &Entry,
        file: &DestinationFile,
        size: u64,
        source: &mut dyn Source,
    ) -> Result<(), Error> {
        let mut at = 0;
        loop {
            let extent = source.read(&mut self.buffer)?;
            let (length, written) = match extent {
                Extent::Data(bytes) => (bytes as u64, file.write_at(&self.buffer[..bytes], at)),
                Extent::Hole(bytes) if self.settings.sparse => (bytes, Ok(())),
                Extent::Hole(bytes) => (bytes, write_zeros(file, at, bytes)),
                Extent::End => break,
            };
            written.map_err(|refusal| self.refused(&entry.path, refusal))?;
            at += length;
            self.check_cancelled()?;
        }
        self.counts.content_bytes += size;
        file.set_size(size).map_err(|refusal| self.refused(&entry.path, refusal))
    }

    fn node(&mut self, entry: &Entry) -> Result<(), Error> {
        let link = if let Kind::Symlink(target) = &entry.kind { Some(target) } else { None };
        let node = self.make(&entry.path, |directory, name| match link {
            Some(target) => directory.symlink(name, target),
            None => directory.special(name, &entry.kind),
        })?;
        if link.is_some() {
            self.note_symlink(&node);
        }
        let mode = link.is_none().then_some(entry.meta.mode);
        let applied = self.set_attributes(&entry.path, &entry.meta, &entry.xattrs, mode, node.attributes());
        self.complete(&entry.path, applied)
    }

    /// Sets the owner first, because that clears other attributes, and times last.
    fn set_attributes(
        &mut self,
        path: &[u8],
        meta: &Meta,
        xattrs: &[Xattr],
        mode: Option<u16>,
        attributes: Attributes<'_>,
    ) -> Result<(), Error> {
        let mut kept_bits = if self.settings.restore.set_id { 0o7777 } else { 0o1777 };
        if self.settings.restore.owners {
            match attributes.set_owner(meta.uid, meta.gid) {
                Err(Refusal::Owner(id)) => {
                    kept_bits = 0o1777;
                    let warning = Warning::owner(&self.path(path), id);
                    self.tell(warning);
                }
                set => set.map_err(|refusal| self.refused(path, refusal))?,
            }
        }
        if self.settings.restore.xattrs {
            self.set_xattrs(path, xattrs, attributes)?;
        }
        if let Some(mode) = mode {
            attributes.set_mode(mode & kept_bits).map_err(|refusal| self.refused(path, refusal))?;
        }
        if self.settings.restore.times {
            attributes.set_time(meta.mtime).map_err(|refusal| self.refused(path, refusal))?;
        }
        Ok(())
    }

    fn set_xattrs(&mut self, path: &[u8], xattrs: &[Xattr], attributes: Attributes<'_>) -> Result<(), Error> {
        for xattr in xattrs {
            match attributes.set_xattr(xattr) {
                Ok(()) => {}
                Err(XattrRefusal::Other(refusal)) => return Err(self.refused(path, refusal)),
                Err(other) => {
                    let note = Warning::xattr(&self.path(path), xattr, other == XattrRefusal::Forbidden);
                    self.tell(note);
                }
            }
        }
        Ok(())
    }
}

impl Drop for Extraction {
    /// After an error, directories get their permissions again.
    fn drop(&mut self) {
        for (path, mode) in std::mem::take(&mut self.extended).into_iter().rev() {
            if self.enter(&path).is_ok() {
                self.restore_mode_of_present(mode);
            }
        }
    }
}

/// The directory that an entry is in, and its name there.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}

fn write_zeros(file: &DestinationFile, start: u64, length: u64) -> Result<(), Refusal> {
    let mut at = start;
    zeros(length).try_for_each(|piece| {
        let written = file.write_at(piece, at);
        at += piece.len() as u64;
        written
    })
}
