//! Planned files that are not yet written, sorted by the position of their content.
//!
//! A file takes 40 bytes and its name. Files with own units come first, by offset in the image, then files that are only a piece of a shared
//! unit, by unit, then empty files. Files with the same content are adjacent.

use packline_volume::{ContentPlace, FileData, NodeId, SharedPlace, SharedVolume};

use super::names::{NameRef, Names};

/// Marks a file without a piece of a shared unit.
const NO_UNIT: SharedPlace = SharedPlace { unit: u32::MAX, offset: 0 };
/// Marks a file without own units and holes.
const NO_START: u64 = u64::MAX;

/// A file to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedFile {
    pub inode: NodeId,
    /// Offset of its first own unit in bytes; `NO_START` if it is a piece of a shared unit, or empty.
    start: u64,
    /// Size in bytes.
    pub size: u64,
    /// Position of its end in a shared unit.
    tail: SharedPlace,
    /// Number of its directory.
    pub directory: u32,
    pub name: NameRef,
}

/// Identifies a planned file among the files of all windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileKey {
    window: u32,
    name: NameRef,
}

/// The first sort key of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Files with own units or holes.
    Units,
    /// Files that consist of a piece of a shared unit.
    Shared,
    Empty,
}

/// Planned files and their names.
#[derive(Debug, Default)]
pub struct Window {
    names: Names,
    files: Vec<PlannedFile>,
    /// Number of earlier windows.
    pub number: u32,
}

impl PlannedFile {
    pub fn kind(&self) -> Kind {
        match self.size {
            0 => Kind::Empty,
            _ if self.start == NO_START => Kind::Shared,
            _ => Kind::Units,
        }
    }

    /// Returns the position of its end, if the end is in a shared unit.
    pub fn tail(&self) -> Option<SharedPlace> {
        Some(self.tail).filter(|tail| *tail != NO_UNIT)
    }

    /// Whether the content may be the same. For files with own units the pieces must be compared, too.
    pub fn resembles(&self, other: &PlannedFile) -> bool {
        let place = |file: &PlannedFile| (file.size, file.start, file.tail);
        self.size > 0 && place(self) == place(other)
    }
}

impl Window {
    pub fn new(number: u32) -> Window {
        Window { number, ..Window::default() }
    }

    /// Plans a file; returns `None` if the window cannot hold more names.
    pub fn add(
        &mut self,
        volume: &SharedVolume,
        inode: NodeId,
        file: &FileData,
        directory: u32,
        name: &[u8],
    ) -> Option<FileKey> {
        let name = self.names.add(name)?;
        let ContentPlace { start, tail, .. } = volume.content_place(file);
        let start = start.unwrap_or(NO_START);
        let tail = tail.unwrap_or(NO_UNIT);
        let planned = PlannedFile { inode, start, size: file.size, tail, directory, name };
        self.files.push(planned);
        Some(self.key(&planned))
    }

    pub fn key(&self, file: &PlannedFile) -> FileKey {
        FileKey { window: self.number, name: file.name }
    }

    pub fn memory(&self) -> usize {
        self.files.capacity() * size_of::<PlannedFile>() + self.names.memory()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Sorts the files in the order of writing.
    pub fn sort(&mut self) {
        self.files.sort_unstable_by_key(|file| {
            let SharedPlace { unit, offset } = file.tail;
            match file.kind() {
                Kind::Units => (Kind::Units, file.start, file.size, unit, offset, file.directory, file.name.0),
                kind => (kind, u64::from(unit), file.size, offset, 0, file.directory, file.name.0),
            }
        });
    }

    pub fn files(&self) -> &[PlannedFile] {
        &self.files
    }

    pub fn name(&self, file: &PlannedFile) -> &[u8] {
        self.names.get(file.name)
    }

    /// Returns the number of files from `first` on that resemble it.
    pub fn alike(&self, first: usize) -> usize {
        self.files[first..].iter().take_while(|file| file.resembles(&self.files[first])).count().max(1)
    }
}
