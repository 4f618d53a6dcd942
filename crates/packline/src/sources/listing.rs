//! Lists of entries as sources: from a pack file, or from a directory in the order of a sort file.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use packline_blocks::{Align, FileHints, Override};
use packline_manifests::actions::{ActionEntry, ActionHost, ActionReport, ActionSettings, Actions, FileStorage};
use packline_manifests::{FileFlags, SortFile, list_pack_file, parse_pack_file};
use packline_runtime::FileIdentity;
use packline_runtime::escape::Escape;
use packline_tree::{AHEAD_BYTES, Bytes, DirectoryOptions, Entry, Error, HostFile, Kind, ListSource, Meta};

use super::directories::{Part, link_to_first};
use super::directory::leave_out;
use super::source::Source;

/// Returns the flags of one file.
pub type Hints = Box<dyn FnMut(&Entry) -> FileHints + Send>;

/// A list of entries, with how some of its files are stored.
pub struct List {
    name: String,
    entries: Vec<HostEntry>,
    /// The path of each entry on this machine, for a list of parts.
    places: Vec<Option<PathBuf>>,
    hints: BTreeMap<Bytes, FileHints>,
    /// Warnings about symbolic links that were not followed.
    warnings: Vec<String>,
}

impl List {
    fn new(name: String, entries: Vec<HostEntry>) -> List {
        List { name, entries, places: Vec::new(), hints: BTreeMap::new(), warnings: Vec::new() }
    }

    /// Everything in a directory except `output`, which may be in it.
    ///
    /// # Errors
    /// [`Error::Io`] if an entry cannot be listed or examined.
    pub fn of_directory(path: &Path, mut options: DirectoryOptions, output: &Path) -> Result<List, Error> {
        leave_out(output, path, &mut options);
        let mut warnings = Vec::new();
        let entries = packline_tree::scan(path, options, &mut |warning| warnings.push(warning))?;
        Ok(List { warnings, ..List::new(path.escaped(), entries) })
    }

    /// Lists the parts, except `output`, which may be in one of them, below a new root with the attributes `root` unless a part
    /// is the root itself. Files with a higher priority come first. `priority` returns the priority of an entry from its path on this machine and
    /// the priority of its directory.
    ///
    /// # Errors
    /// [`Error::Io`] if an entry cannot be listed or examined.
    pub fn of_parts(
        parts: Vec<Part>,
        root: Meta,
        output: &Path,
        priority: &mut dyn FnMut(&Path, i32) -> i32,
    ) -> Result<List, Error> {
        let name = parts.iter().map(|part| part.directory.escaped()).collect::<Vec<_>>().join(", ");
        let mut placed = Vec::new();
        let mut warnings = Vec::new();
        if !parts.iter().any(Part::is_root) {
            let root = Entry { path: Bytes::new(), kind: Kind::Dir, meta: root, xattrs: Vec::new() };
            placed.push(Placed { priority: i32::MAX, listed: (root, None), place: None });
        }
        let mut linked = BTreeMap::new();
        for mut part in parts {
            leave_out(output, &part.directory, &mut part.options);
            let warn = &mut |warning| warnings.push(warning);
            let mut reports = Reports { priority: &mut *priority, linked: &mut linked, warn };
            place_part(&part, &mut placed, &mut reports)?;
        }
        placed.sort_by_key(|placed| (matches!(placed.listed.0.kind, Kind::File { .. }), Reverse(placed.priority)));
        let (entries, places) = placed.into_iter().map(|placed| (placed.listed, placed.place)).unzip();
        Ok(List { places, warnings, ..List::new(name, entries) })
    }

    /// The entries of a pack file. Its locations are relative to `base`; `defaults` are the attributes of implied entries, see
    /// [`list_pack_file`].
    ///
    /// # Errors
    /// [`Error::Io`] if the file, or a file of an entry, cannot be read; [`Error::Line`] for a malformed or impossible line.
    pub fn of_pack_file(path: &Path, base: &Path, defaults: Meta) -> Result<List, Error> {
        let refused = |cause| Error::Io { path: path.to_owned(), action: "cannot read", cause };
        let name = path.escaped();
        let text = std::fs::read(path).map_err(refused)?;
        let entries = list_pack_file(&name, &parse_pack_file(&name, &text)?, base, defaults)?;
        Ok(List::new(name, entries))
    }

    /// Fails if an output is one of the files to be packed.
    ///
    /// # Errors
    /// [`crate::error::Error::Target`].
    pub fn refuse_output(&self, output: &Path) -> Result<(), crate::error::Error> {
        let Some(identity) = FileIdentity::of_path(output) else { return Ok(()) };
        let mut files = self.entries.iter().filter_map(|(_, file)| file.as_ref());
        match files.find(|file| FileIdentity::of_path(file.path()) == Some(identity)) {
            Some(file) => Ok(identity.refuse_output(file.path(), output)?),
            None => Ok(()),
        }
    }

    /// Sorts the regular files by a sort file. Returns a warning for each line without a match.
    pub fn sort(&mut self, file: &SortFile) -> Vec<String> {
        let sorted = file.sort(std::mem::take(&mut self.entries));
        self.entries = sorted.entries;
        self.hints = sorted.flags.into_iter().map(|(path, flags)| (path, hint(&flags))).collect();
        let nothing = |path: &[u8]| format!("no match for '{}'", path.escaped());
        let unmatched = sorted.unmatched.into_iter();
        unmatched.map(|rule| format!("{}: line {}: {}", file.input(), rule.line, nothing(&rule.path))).collect()
    }

    /// Warnings about the entries so far.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// Applies actions to a list of parts.
    ///
    /// # Errors
    /// A file cannot be examined, or a command of a test cannot be run.
    pub fn act(
        &mut self,
        actions: &Actions,
        settings: &ActionSettings<'_>,
        host: &mut dyn ActionHost,
        report: &mut dyn FnMut(ActionReport),
    ) -> Result<(), Error> {
        let entries = std::mem::take(&mut self.entries).into_iter().zip(std::mem::take(&mut self.places));
        let entries = entries.map(|((entry, file), place)| ActionEntry { entry, file, place }).collect();
        for (ActionEntry { entry, file, place }, storage) in actions.apply(entries, settings, host, report)? {
            if storage != FileStorage::default() {
                self.hints.insert(entry.path.clone(), hint_of(storage));
            }
            self.entries.push((entry, file));
            self.places.push(place);
        }
        Ok(())
    }

    /// The latest modification time of an entry; 0 without entries.
    pub fn latest_time(&self) -> i64 {
        let inodes = self.entries.iter().filter(|(entry, _)| !matches!(entry.kind, Kind::HardLink(_)));
        inodes.map(|(entry, _)| entry.meta.mtime.seconds()).max().unwrap_or(0)
    }

    /// The list as a source, its files read ahead by `readers` threads, and how single files are stored.
    pub fn into_source(self, readers: usize) -> (Source, Option<Hints>) {
        let bytes = self.entries.iter().map(|(entry, _)| size(entry)).fold(0u64, u64::saturating_add);
        let source = ListSource::new(self.entries, Some(bytes), readers, AHEAD_BYTES);
        let hints = (!self.hints.is_empty()).then(|| of_paths(self.hints));
        (Source::Entries { name: self.name, source: Box::new(source) }, hints)
    }
}

type HostEntry = (Entry, Option<HostFile>);

/// An entry of a part.
struct Placed {
    priority: i32,
    listed: HostEntry,
    place: Option<PathBuf>,
}

/// Callbacks and state while parts are listed.
struct Reports<'a> {
    priority: &'a mut dyn FnMut(&Path, i32) -> i32,
    /// The first paths in the image of files with several names.
    linked: &'a mut BTreeMap<(u64, u64), Bytes>,
    warn: &'a mut dyn FnMut(String),
}

/// Adds the entries of a part, each with its priority. The priority of directories and special files keeps their order.
fn place_part(part: &Part, placed: &mut Vec<Placed>, reports: &mut Reports<'_>) -> Result<(), Error> {
    let Reports { priority, linked, warn } = reports;
    // Priorities of the directories on the way to the current entry, each with the length of its path.
    let mut above: Vec<(Bytes, i32)> = Vec::new();
    for (mut entry, mut file) in packline_tree::scan(&part.directory, part.options.clone(), &mut **warn)? {
        let is_above = |directory: &[u8]| {
            let rest = entry.path.strip_prefix(directory);
            directory.is_empty() || rest.is_some_and(|rest| rest.starts_with(b"/"))
        };
        while above.pop_if(|(directory, _)| !is_above(directory)).is_some() {}
        let place = part.directory.join(OsStr::from_bytes(&entry.path));
        let own = priority(&place, above.last().map_or(0, |(_, priority)| *priority));
        if entry.kind == Kind::Dir {
            above.push((entry.path.clone(), own));
        }
        let Some(path) = part.moved(&entry.path) else { continue };
        entry.path = path;
        if let Kind::HardLink(target) = &mut entry.kind {
            *target = part.moved(target).unwrap_or_default();
        } else if let Some(shared) = file.as_ref().and_then(HostFile::shared_file).filter(|_| part.options.hard_links) {
            link_to_first(&mut entry, shared, linked);
            file = file.filter(|_| matches!(entry.kind, Kind::File { .. }));
        }
        let is_file = matches!(entry.kind, Kind::File { .. });
        let priority = if is_file { own } else { i32::MAX };
        placed.push(Placed { priority, listed: (entry, file), place: Some(place) });
    }
    Ok(())
}

fn size(entry: &Entry) -> u64 {
    match entry.kind {
        Kind::File { size } => size,
        _ => 0,
    }
}

/// Hints for the files whose canonical paths have flags.
pub fn hints_of(flags: BTreeMap<Bytes, FileFlags>) -> Hints {
    of_paths(flags.into_iter().map(|(path, flags)| (path, hint(&flags))).collect())
}

fn of_paths(hints: BTreeMap<Bytes, FileHints>) -> Hints {
    Box::new(move |entry: &Entry| hints.get(&entry.path).copied().unwrap_or_default())
}

fn hint_of(storage: FileStorage) -> FileHints {
    let FileStorage { fragments, tail_ends, compressed, alignment, fragment_set } = storage;
    FileHints {
        fragments: if alignment.is_some() { Override::Off } else { fragments.into() },
        large_tails: tail_ends.into(),
        compress: compressed.into(),
        align: alignment.map_or(Align::Any, Align::Bytes),
        fragment_set,
        ..FileHints::default()
    }
}

fn hint(flags: &FileFlags) -> FileHints {
    let FileFlags { align, no_fragment, no_compress, no_deduplicate, no_sparse } = *flags;
    FileHints {
        fragments: if no_fragment { Override::Off } else { Override::None },
        compress: if no_compress { Override::Off } else { Override::None },
        align: if align { Align::Pad } else { Align::Any },
        no_deduplicate,
        no_sparse,
        ..FileHints::default()
    }
}
