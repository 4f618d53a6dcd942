//! Contents that are needed later: their positions in a source, or copies if the source can only be read once.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use packline_runtime::unnamed_temp_file;

use crate::{Bookmark, Error, Extent, Kind, Source};

/// Bytes of content read at a time.
const STEP: usize = 256 << 10;

/// The position of a content.
#[derive(Debug)]
pub enum Held {
    /// No content: not a regular file, or an empty one.
    Nothing,
    InSource(Bookmark),
    Copied(Copied),
    /// Not available, because there was no space for a copy.
    Lost,
}

impl Held {
    /// Approximate memory in bytes.
    pub fn memory(&self) -> u64 {
        match self {
            Held::Copied(copy) => (copy.pieces.capacity() * size_of::<ContentPart>()) as u64,
            Held::InSource(bookmark) => bookmark.memory(),
            Held::Nothing | Held::Lost => 0,
        }
    }
}

/// The position of a copied content.
#[derive(Debug)]
pub struct Copied {
    start: u64,
    pieces: Vec<ContentPart>,
}

/// A part of a content, with its number of bytes.
#[derive(Debug, Clone, Copy)]
enum ContentPart {
    Data(u64),
    Hole(u64),
}

/// Reads a copy.
#[derive(Debug)]
pub struct CopyReader {
    at: u64,
    /// Bytes left in the current part of data.
    data: u64,
    pieces: std::vec::IntoIter<ContentPart>,
}

impl Copied {
    /// Number of bytes of the content, holes included.
    pub fn size(&self) -> u64 {
        let bytes = |piece: &ContentPart| match piece {
            ContentPart::Data(bytes) | ContentPart::Hole(bytes) => *bytes,
        };
        self.pieces.iter().map(bytes).sum()
    }

    /// Reads the copy from its start.
    pub fn start(&self) -> CopyReader {
        CopyReader { at: self.start, data: 0, pieces: self.pieces.clone().into_iter() }
    }

    fn push(&mut self, piece: ContentPart) {
        match (self.pieces.last_mut(), piece) {
            (Some(ContentPart::Data(before)), ContentPart::Data(more)) => *before += more,
            _ => self.pieces.push(piece),
        }
    }
}

/// All copies in sequence: in memory or, if memory is too small, in an unnamed temporary file.
pub struct Contents {
    memory: Vec<u8>,
    limit: u64,
    directory: Option<PathBuf>,
    file: Option<Spill>,
    buffer: Vec<u8>,
    /// The reason why no further contents are copied.
    failed: Option<String>,
}

struct Spill {
    file: File,
    length: u64,
    /// Maximum size of the file in bytes: half of the free space, because other programs need space too, and most of these
    /// contents are never read.
    most: u64,
}

impl Contents {
    /// `limit` is the memory in bytes. A file is created in `directory` when it is used up.
    pub fn new(limit: u64, directory: Option<PathBuf>) -> Contents {
        Contents { memory: Vec::new(), limit, directory, file: None, buffer: Vec::new(), failed: None }
    }

    /// Keeps the content of the source's current entry for later.
    ///
    /// # Errors
    /// The source returns an error.
    pub fn hold(&mut self, kind: &Kind, source: &mut dyn Source) -> Result<Held, Error> {
        match kind {
            Kind::File { size } if *size > 0 => {}
            _ => return Ok(Held::Nothing),
        }
        match source.bookmark() {
            Some(bookmark) => Ok(Held::InSource(bookmark)),
            None if self.failed.is_some() => Ok(Held::Lost),
            None => self.copy(source),
        }
    }

    /// The reason why contents were lost.
    pub fn failure(&self) -> &str {
        self.failed.as_deref().unwrap_or_default()
    }

    pub fn memory(&self) -> usize {
        self.memory.capacity()
    }

    fn copy(&mut self, source: &mut dyn Source) -> Result<Held, Error> {
        let mut copy = Copied { start: self.length(), pieces: Vec::new() };
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(STEP, 0);
        let held = loop {
            match source.read(&mut buffer)? {
                Extent::Data(count) => match self.append(&buffer[..count]) {
                    Ok(()) => copy.push(ContentPart::Data(count as u64)),
                    Err(cause) => {
                        self.failed = Some(cause.to_string());
                        break Held::Lost;
                    }
                },
                Extent::Hole(count) => copy.push(ContentPart::Hole(count)),
                Extent::End => break Held::Copied(copy),
            }
        };
        self.buffer = buffer;
        Ok(held)
    }

    fn length(&self) -> u64 {
        self.file.as_ref().map_or(self.memory.len() as u64, |spill| spill.length)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.is_none() && self.length() + bytes.len() as u64 <= self.limit {
            self.memory.extend_from_slice(bytes);
            return Ok(());
        }
        if self.file.is_none() {
            let directory = self
                .directory
                .as_deref()
                .ok_or_else(|| no_space("memory, because there is no directory for a temporary file"))?;
            let mut spill = Spill::new(directory)?;
            spill.append(&self.memory)?;
            self.memory = Vec::new();
            self.file = Some(spill);
        }
        self.file.as_mut().map_or(Ok(()), |spill| spill.append(bytes))
    }

    /// Continues reading a copy.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&self, copy: &mut CopyReader, buffer: &mut [u8]) -> io::Result<Extent> {
        while copy.data == 0 {
            match copy.pieces.next() {
                Some(ContentPart::Data(bytes)) => copy.data = bytes,
                Some(ContentPart::Hole(bytes)) => return Ok(Extent::Hole(bytes)),
                None => return Ok(Extent::End),
            }
        }
        let count = copy.data.min(buffer.len() as u64);
        self.read_at(copy.at, &mut buffer[..count as usize])?;
        copy.at += count;
        copy.data -= count;
        Ok(Extent::Data(count as usize))
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        if let Some(spill) = &self.file {
            return spill.file.read_exact_at(into, at);
        }
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        let bytes = self.memory.get(start..).and_then(|rest| rest.get(..into.len()));
        bytes.map(|bytes| into.copy_from_slice(bytes)).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl Spill {
    fn new(directory: &Path) -> io::Result<Spill> {
        let file = unnamed_temp_file(directory)?;
        let free = rustix::fs::fstatvfs(&file)?;
        Ok(Spill { file, length: 0, most: free.f_bavail.saturating_mul(free.f_frsize) / 2 })
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.length + bytes.len() as u64 > self.most {
            return Err(no_space("half of the free space in the directory for temporary files"));
        }
        self.file.write_all_at(bytes, self.length)?;
        self.length += bytes.len() as u64;
        Ok(())
    }
}

fn no_space(place: &str) -> io::Error {
    io::Error::other(format!("no space for it in {place}"))
}
