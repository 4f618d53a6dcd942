//! Contents of files in a tar, which a source that reports positions describes.

use packline_blocks::Error;
use packline_runtime::TaskError;
use packline_tree::{Extent, Source};

use super::contents::{Content, Contents, Owner, Piece, Stored, Tail};

/// The positions of contents. Takes 20 bytes for each file, and 16 for each further part of a sparse file.
#[derive(Debug, Default)]
pub(super) struct TarContents {
    /// The first piece of each file.
    files: Vec<u32>,
    pieces: Vec<TarPiece>,
    /// Offset in the tar of the end of the last content.
    end: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TarPiece {
    length: u64,
    /// Offset in the tar; `None` for a hole.
    start: Option<u64>,
}

impl TarContents {
    /// Adds a file of `size` bytes, whose positions `source` reports as parts that are not read. Returns the number of the file.
    ///
    /// # Errors
    /// Errors of the source; [`Error::Limit`] if there are too many files.
    pub(super) fn add(&mut self, size: u64, source: &mut dyn Source) -> Result<u32, Error> {
        let first = number(self.pieces.len())?;
        let mut left = size;
        while left > 0 {
            let piece = next_piece(source)?;
            left = left.checked_sub(piece.length).ok_or_else(|| Error::internal("content beyond its end".into()))?;
            self.push(first, piece);
        }
        match source.read(&mut [0])? {
            Extent::End => {}
            other => return Err(Error::internal(format!("a source gave {other:?} with 0 bytes left"))),
        }
        self.files.push(first);
        number(self.files.len() - 1)
    }

    /// Adds a piece to the file whose first piece is `first`.
    fn push(&mut self, first: u32, piece: TarPiece) {
        let end = piece.start.map(|start| start + piece.length);
        self.end = self.end.max(end.unwrap_or(0));
        let is_later = self.pieces.len() > first as usize;
        match self.pieces.last_mut().filter(|_| is_later) {
            Some(before) if before.start.map(|start| start + before.length) == piece.start => {
                before.length += piece.length;
            }
            _ => self.pieces.push(piece),
        }
    }

    /// Returns the offset in the tar of the end of the last content.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the number of bytes of all contents, holes included.
    pub(super) fn content_bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.length).sum()
    }

    /// Returns the number of bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.files.capacity() * size_of::<u32>() + self.pieces.capacity() * size_of::<TarPiece>()
    }

    fn of(&self, number: u32) -> Option<&[TarPiece]> {
        let first = *self.files.get(number as usize)? as usize;
        let end = self.files.get(number as usize + 1).map_or(self.pieces.len(), |next| *next as usize);
        self.pieces.get(first..end)
    }
}

fn next_piece(source: &mut dyn Source) -> Result<TarPiece, Error> {
    if let Some(part) = source.read_later(usize::MAX)? {
        return Ok(TarPiece { length: part.bytes as u64, start: Some(part.offset) });
    }
    match source.read(&mut [0])? {
        Extent::Hole(length) => Ok(TarPiece { length, start: None }),
        other => Err(Error::internal(format!("a source without positions gave {other:?}"))),
    }
}

fn number(count: usize) -> Result<u32, Error> {
    u32::try_from(count)
        .map_err(|_| Error::Limit { what: format!("{count} files or parts"), expected: "2^32 - 1".into() })
}

impl Contents for TarContents {
    fn content(&self, owner: Owner) -> Option<Content> {
        let pieces = match owner {
            Owner::File(number) => self.of(number)?,
            Owner::Packed => &[],
        };
        Some(Content { size: pieces.iter().map(|piece| piece.length).sum(), tail: Tail::None })
    }

    fn pieces(&self, owner: Owner) -> Box<dyn Iterator<Item = Piece> + '_> {
        let pieces = match owner {
            Owner::File(number) => self.of(number).unwrap_or_default(),
            Owner::Packed => &[],
        };
        Box::new(pieces.iter().map(|piece| Piece {
            length: piece.length,
            stored: piece.start.map_or(Stored::Hole, |start| Stored::Plain { start }),
        }))
    }
}
