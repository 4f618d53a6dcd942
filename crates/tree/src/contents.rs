//! Contents that are needed later: their positions in a source, and copies of those that occur only once.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use packline_runtime::unnamed_temp_file;

use crate::{Bookmark, Error, Extent, Kind, Source};

/// Bytes of content read at a time.
const STEP: usize = 256 << 10;

/// Position of a content.
#[derive(Debug)]
pub enum Held {
    /// There is none: not a regular file, or an empty one.
    Nothing,
    /// In the source.
    InSource(Bookmark),
    /// In the copies.
    Copied(Copied),
    /// Not available: there was no space.
    Lost,
}

impl Held {
    /// Approximate memory, bytes.
    pub fn memory(&self) -> u64 {
        match self {
            Held::Copied(copy) => (copy.pieces.capacity() * size_of::<Piece>()) as u64,
            Held::InSource(bookmark) => bookmark.memory(),
            Held::Nothing | Held::Lost => 0,
        }
    }
}

/// Position of a copied content.
#[derive(Debug)]
pub struct Copied {
    start: u64,
    pieces: Vec<Piece>,
}

/// A part of a content: a number of bytes.
#[derive(Debug, Clone, Copy)]
enum Piece {
    Data(u64),
    Hole(u64),
}

/// A copy that is being read.
#[derive(Debug)]
pub struct CopyReader {
    at: u64,
    /// Bytes left of the current piece of data.
    data: u64,
    pieces: std::vec::IntoIter<Piece>,
}

impl Copied {
    /// Reads it from its start.
    pub fn start(&self) -> CopyReader {
        CopyReader { at: self.start, data: 0, pieces: self.pieces.clone().into_iter() }
    }

    fn push(&mut self, piece: Piece) {
        match (self.pieces.last_mut(), piece) {
            (Some(Piece::Data(before)), Piece::Data(more)) => *before += more,
            _ => self.pieces.push(piece),
        }
    }
}

/// All copies in sequence: in memory, and moved to a file without a name when that is too small.
pub struct Contents {
    memory: Vec<u8>,
    limit: u64,
    directory: Option<PathBuf>,
    file: Option<Spill>,
    buffer: Vec<u8>,
    /// Why no more contents are copied.
    failed: Option<String>,
}

struct Spill {
    file: File,
    length: u64,
    /// Its size limit, bytes: half of the free space, since others use that too, and most of these contents are never needed.
    most: u64,
}

impl Contents {
    /// `limit`: memory in bytes; `directory`: where a file is created beyond it.
    pub fn new(limit: u64, directory: Option<PathBuf>) -> Contents {
        Contents { memory: Vec::new(), limit, directory, file: None, buffer: Vec::new(), failed: None }
    }

    /// Makes the content of the source's current entry available for later.
    ///
    /// # Errors
    /// Of the source.
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

    /// Why contents are lost.
    pub fn failure(&self) -> &str {
        self.failed.as_deref().unwrap_or_default()
    }

    /// Bytes of copies in memory.
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
                    Ok(()) => copy.push(Piece::Data(count as u64)),
                    Err(cause) => {
                        self.failed = Some(cause.to_string());
                        break Held::Lost;
                    }
                },
                Extent::Hole(count) => copy.push(Piece::Hole(count)),
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
            let directory =
                self.directory.as_deref().ok_or_else(|| no_space("memory, and there is not a directory for a file"))?;
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
    /// Of the file.
    pub fn read(&self, copy: &mut CopyReader, buffer: &mut [u8]) -> io::Result<Extent> {
        while copy.data == 0 {
            match copy.pieces.next() {
                Some(Piece::Data(bytes)) => copy.data = bytes,
                Some(Piece::Hole(bytes)) => return Ok(Extent::Hole(bytes)),
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
            return Err(no_space("half of what is free in the directory for temporary files"));
        }
        self.file.write_all_at(bytes, self.length)?;
        self.length += bytes.len() as u64;
        Ok(())
    }
}

fn no_space(place: &str) -> io::Error {
    io::Error::other(format!("no room for it in {place}"))
}
