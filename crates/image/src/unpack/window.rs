//! Planned files that are not yet written, sorted by the position of their content.
//!
//! A file takes 40 bytes and its name. Files with blocks come first, by offset in the image; then those that are only a tail end, by
//! fragment block; then empty ones. Files with the same content are adjacent.

use packline_squashfs::BlockSize;
use packline_squashfs::read::{FileData, InodeRef};

use super::names::{NameRef, Names};

/// Marks a file without a tail end.
pub const NO_FRAGMENT: u32 = u32::MAX;

/// A file to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedFile {
    pub inode: InodeRef,
    /// Offset of its first data block, bytes; 0 if it has no blocks.
    pub start: u64,
    /// Size, bytes.
    pub size: u64,
    /// Fragment block of its tail end.
    pub fragment: u32,
    /// Offset of its tail end in that, bytes.
    pub offset: u32,
    /// Number of its directory.
    pub directory: u32,
    pub name: NameRef,
}

/// Identifies a planned file among those of all windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileKey {
    window: u32,
    name: NameRef,
}

/// The first sort key of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Has data blocks, or holes.
    Blocks,
    /// Consists of a tail end.
    Tail,
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
    /// Its kind, for this block size.
    pub fn kind(&self, block_size: BlockSize) -> Kind {
        match self.size {
            0 => Kind::Empty,
            size if size < u64::from(block_size) && self.fragment != NO_FRAGMENT => Kind::Tail,
            _ => Kind::Blocks,
        }
    }

    /// Whether the content may be the same: for files with blocks the block lists must be compared too.
    pub fn resembles(&self, other: &PlannedFile) -> bool {
        let place = |file: &PlannedFile| (file.size, file.start, file.fragment, file.offset);
        self.size > 0 && place(self) == place(other)
    }
}

impl Window {
    pub fn new(number: u32) -> Window {
        Window { number, ..Window::default() }
    }

    /// Plans a file; `None` if the window can hold no more names.
    pub fn add(&mut self, inode: InodeRef, file: &FileData, directory: u32, name: &[u8]) -> Option<FileKey> {
        let name = self.names.add(name)?;
        let (fragment, offset) = file.tail.map_or((NO_FRAGMENT, 0), |tail| (tail.fragment, tail.offset));
        let start = if file.blocks > 0 { file.start } else { 0 };
        let planned = PlannedFile { inode, start, size: file.size, fragment, offset, directory, name };
        self.files.push(planned);
        Some(self.key(&planned))
    }

    pub fn key(&self, file: &PlannedFile) -> FileKey {
        FileKey { window: self.number, name: file.name }
    }

    /// Memory, bytes.
    pub fn memory(&self) -> usize {
        self.files.capacity() * size_of::<PlannedFile>() + self.names.memory()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Sorts the files in the order of writing.
    pub fn sort(&mut self, block_size: BlockSize) {
        self.files.sort_unstable_by_key(|file| match file.kind(block_size) {
            Kind::Blocks => {
                (Kind::Blocks, file.start, file.size, file.fragment, file.offset, file.directory, file.name.0)
            }
            kind => (kind, u64::from(file.fragment), file.size, file.offset, 0, file.directory, file.name.0),
        });
    }

    pub fn files(&self) -> &[PlannedFile] {
        &self.files
    }

    pub fn name(&self, file: &PlannedFile) -> &[u8] {
        self.names.get(file.name)
    }

    /// Number of files from `first` on that resemble it.
    pub fn alike(&self, first: usize) -> usize {
        self.files[first..].iter().take_while(|file| file.resembles(&self.files[first])).count().max(1)
    }
}
