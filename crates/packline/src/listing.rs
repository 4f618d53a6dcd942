//! Lists of entries as sources: from a pack file, or from a directory in the order of a sort file.

use std::collections::BTreeMap;
use std::path::Path;

use packline_runtime::escape::Escape;
use packline_squashfs::FileHints;
use packline_tree::{
    AHEAD_BYTES, Bytes, DirectoryOptions, Entry, Error, FileFlags, HostFile, Kind, ListSource, Meta, SortFile,
    list_pack_file, parse_pack_file,
};

use crate::source::place_within;
use crate::{FileIdentity, Hints, Source};

/// A list of entries with their flags of a sort file.
pub struct List {
    name: String,
    entries: Vec<(Entry, Option<HostFile>)>,
    flags: BTreeMap<Bytes, FileFlags>,
}

impl List {
    /// Everything in a directory except `output`, which may be in it.
    ///
    /// # Errors
    /// [`Error::Io`] if an entry cannot be listed or examined.
    pub fn of_directory(path: &Path, mut options: DirectoryOptions, output: &Path) -> Result<List, Error> {
        options.without.extend(place_within(path, output));
        let entries = packline_tree::scan(path, options)?;
        Ok(List { name: path.escaped(), entries, flags: BTreeMap::new() })
    }

    /// The entries of a pack file. Its locations are relative to `base`; `defaults` are the attributes of implied entries, see
    /// [`list_pack_file`].
    ///
    /// # Errors
    /// [`Error::Io`] if the file, or a file of an entry, cannot be read; [`Error::Line`] for a malformed or impossible line.
    pub fn of_pack_file(path: &Path, base: &Path, defaults: Meta) -> Result<List, Error> {
        let refused = |cause| Error::Io { path: path.to_owned(), action: "cannot read", cause };
        let (name, text) = (path.escaped(), std::fs::read(path).map_err(refused)?);
        let entries = list_pack_file(&name, &parse_pack_file(&name, &text)?, base, defaults)?;
        Ok(List { name, entries, flags: BTreeMap::new() })
    }

    /// Fails if an output is one of the files to be packed.
    ///
    /// # Errors
    /// [`crate::Error::Target`].
    pub fn refuse_output(&self, output: &Path) -> Result<(), crate::Error> {
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
        (self.entries, self.flags) = (sorted.entries, sorted.flags);
        let nothing = |path: &[u8]| format!("no match for '{}'", path.escaped());
        let unmatched = sorted.unmatched.into_iter();
        unmatched.map(|rule| format!("{}: line {}: {}", file.input(), rule.line, nothing(&rule.path))).collect()
    }

    /// The list as a source, its files read ahead by `readers` threads, and the flags of single files.
    pub fn into_source(self, readers: usize) -> (Source, Option<Hints>) {
        let bytes = self.entries.iter().map(|(entry, _)| size(entry)).fold(0u64, u64::saturating_add);
        let source = ListSource::new(self.entries, Some(bytes), readers, AHEAD_BYTES);
        let hints = (!self.flags.is_empty()).then(|| hints_of(self.flags));
        (Source::Entries { name: self.name, source: Box::new(source) }, hints)
    }
}

fn size(entry: &Entry) -> u64 {
    match entry.kind {
        Kind::File { size } => size,
        _ => 0,
    }
}

/// Hints for the files whose canonical paths have flags.
pub fn hints_of(flags: BTreeMap<Bytes, FileFlags>) -> Hints {
    Box::new(move |entry: &Entry| flags.get(&entry.path).map_or(FileHints::default(), hint))
}

fn hint(flags: &FileFlags) -> FileHints {
    let FileFlags { align, no_fragment, no_compress, no_deduplicate, no_sparse } = *flags;
    FileHints { align, no_fragment, no_compress, no_deduplicate, no_sparse }
}
