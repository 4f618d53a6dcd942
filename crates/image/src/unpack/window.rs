//! The files that are planned and not yet written: sorted by where their content is, each content once.
//!
//! A file is 40 bytes here and its name. Files with blocks come first, by offset in the image; then those that are only a
//! tail end, by fragment block; then empty ones. Files with the same content stand side by side.

use packline_squashfs::read::{FileData, InodeRef};

use super::names::{NameRef, Names};

/// No fragment.
pub const NO_FRAGMENT: u32 = u32::MAX;

/// A file to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedFile {
    /// Where its inode is.
    pub inode: InodeRef,
    /// Offset of its first data block, bytes; 0 if it has no blocks.
    pub start: u64,
    /// Size, bytes.
    pub size: u64,
    /// Fragment block of its tail end.
    pub fragment: u32,
    /// Where in that the tail end is, bytes.
    pub offset: u32,
    /// Number of its directory.
    pub directory: u32,
    /// Its name.
    pub name: NameRef,
}

/// Tells a planned file from all others, of other windows too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileKey {
    window: u32,
    name: NameRef,
}

/// What files are sorted by, the kind first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Has data blocks, or holes.
    Blocks,
    /// Is a tail end and nothing else.
    Tail,
    /// Is empty.
    Empty,
}

/// Files, and further names of them.
#[derive(Debug, Default)]
pub struct Window {
    names: Names,
    files: Vec<PlannedFile>,
    /// How many windows came before.
    pub number: u32,
}

impl PlannedFile {
    /// What kind of content it has, for blocks of so many bytes.
    pub fn kind(&self, block_size: u32) -> Kind {
        match self.size {
            0 => Kind::Empty,
            size if size < u64::from(block_size) && self.fragment != NO_FRAGMENT => Kind::Tail,
            _ => Kind::Blocks,
        }
    }

    /// Whether the content seems to be the same: of those with blocks the block lists must be compared too.
    pub fn resembles(&self, other: &PlannedFile) -> bool {
        let place = |file: &PlannedFile| (file.size, file.start, file.fragment, file.offset);
        self.size > 0 && place(self) == place(other)
    }
}

impl Window {
    /// An empty window.
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

    /// What tells a file from all others that are planned.
    pub fn key(&self, file: &PlannedFile) -> FileKey {
        FileKey { window: self.number, name: file.name }
    }

    /// Bytes that it takes.
    pub fn memory(&self) -> usize {
        self.files.capacity() * size_of::<PlannedFile>() + self.names.memory()
    }

    /// Whether nothing is planned.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Puts the files in the order in which they are written.
    pub fn sort(&mut self, block_size: u32) {
        self.files.sort_unstable_by_key(|file| match file.kind(block_size) {
            Kind::Blocks => {
                (Kind::Blocks, file.start, file.size, file.fragment, file.offset, file.directory, file.name.0)
            }
            kind => (kind, u64::from(file.fragment), file.size, file.offset, 0, file.directory, file.name.0),
        });
    }

    /// The files.
    pub fn files(&self) -> &[PlannedFile] {
        &self.files
    }

    /// A file's name.
    pub fn name(&self, file: &PlannedFile) -> &[u8] {
        self.names.get(file.name)
    }

    /// How many files from `first` on resemble it.
    pub fn alike(&self, first: usize) -> usize {
        self.files[first..].iter().take_while(|file| file.resembles(&self.files[first])).count().max(1)
    }
}
