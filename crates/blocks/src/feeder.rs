//! Cuts contents into blocks and tail ends, in the slabs of the pipeline. Small contents are read into them here, parts of large ones by
//! workers.

use std::ops::Range;
use std::sync::Arc;

use packline_engine::Fault;
use packline_runtime::{Buffers, TaskError, of_fault};
use packline_tree::{Extent, SharedContent, Source, UnreadPart};

use crate::data_writer::DataWriter;
use crate::decision::reserved;
use crate::slab::{FileCut, Item, PieceKind, SharedEnd, Slab, Unread};
use crate::work::BlockPipeline;
use crate::{BlockSize, DataOptions, Error, Fragments};

/// Minimum size of a slab, so that small files share a slab.
const MIN_SLAB: usize = 256 * 1024;
/// Maximum number of pieces of a slab.
const MAX_ITEMS: usize = 2048;

/// Returns the size in bytes of a slab for a block size.
pub(crate) fn slab_size(block_size: BlockSize) -> usize {
    block_size.bytes().max(MIN_SLAB)
}

/// Returns the maximum memory that a slab needs: its bytes, and their results (a tail end is copied into a fragment block, and compressed there).
pub(crate) fn slab_memory(block_size: BlockSize) -> usize {
    3 * slab_size(block_size)
}

#[derive(Debug)]
pub(crate) struct Feeder {
    block_size: BlockSize,
    /// See [`DataOptions::tail_unit`].
    tail_unit: usize,
    /// Longest tail end in bytes that goes into a fragment block.
    longest_tail: usize,
    pool: Arc<Buffers>,
    open: Option<Slab>,
}

/// Progress of a file.
struct Cursor {
    cut: FileCut,
    block_size: BlockSize,
    tail_unit: usize,
    /// Longest tail end that goes into a fragment block, bytes.
    longest_tail: usize,
    /// Bytes not yet cut into pieces.
    left: u64,
    /// Announced zeros that are not yet consumed.
    hole: u64,
    /// Bytes in the slab after the last piece.
    loose: usize,
    /// The content, once a part of it is left to the hash stage.
    shared: Option<Arc<dyn SharedContent>>,
}

impl Feeder {
    pub(crate) fn new(options: &DataOptions, budget: usize) -> Feeder {
        let block_size = options.block_size;
        let longest_tail = options.fragment_size as usize;
        // Twice the usual share of spare buffers: the caller's thread would fill each new slab with zeros.
        let pool = Buffers::new(slab_size(block_size), budget.saturating_mul(2));
        Feeder { block_size, tail_unit: options.tail_unit(), longest_tail, pool, open: None }
    }

    /// Reads a file's content to its end.
    pub(crate) fn feed(
        &mut self,
        cut: FileCut,
        source: &mut dyn Source,
        pipeline: &mut BlockPipeline,
        data: &mut DataWriter<'_>,
    ) -> Result<(), Error> {
        let Feeder { block_size, tail_unit, longest_tail, .. } = *self;
        let mut at =
            Cursor { cut, block_size, tail_unit, longest_tail, left: cut.size, hole: 0, loose: 0, shared: None };
        while at.left > 0 {
            if self.take_holes(&mut at, pipeline, data)? {
                continue;
            }
            let slab = self.ensure_slab(&at, pipeline, data)?;
            if !at.leave_unread(slab, source)? {
                at.fill(slab, source)?;
            }
            at.cut_pieces(slab);
        }
        if let (Some(content), Some(slab)) = (at.shared, &mut self.open) {
            slab.ends.push(SharedEnd { cut, content });
        }
        // A source that is asked for its end checks that the file still has the size of its entry. This call finds files that grew.
        match source.read(&mut [0])? {
            Extent::End => Ok(()),
            other => Err(Error::internal(format!("a source gave {other:?} with 0 bytes left"))),
        }
    }

    /// Submits the open slab, if it has any content.
    pub(crate) fn flush(
        &mut self,
        pipeline: &mut BlockPipeline,
        data: &mut DataWriter<'_>,
    ) -> Result<(), Fault<Error>> {
        match self.open.take() {
            Some(slab) if !slab.items.is_empty() => send(slab, pipeline, data),
            _ => Ok(()),
        }
    }

    /// Consumes complete blocks of an announced hole, for which no bytes are read. Returns whether there were any.
    fn take_holes(
        &mut self,
        at: &mut Cursor,
        pipeline: &mut BlockPipeline,
        data: &mut DataWriter<'_>,
    ) -> Result<bool, Error> {
        if at.hole == 0 || at.loose > 0 || !at.cut.rules.sparse {
            return Ok(false);
        }
        let block = u64::from(self.block_size);
        let bytes = match at.left {
            // As for zeros that are read, each piece is a hole of its own.
            left if at.hole >= left && left < block => at.next_piece().0 as u64,
            left => at.hole.min(left) / block * block,
        };
        if bytes == 0 {
            return Ok(false);
        }
        let slab = self.limit_items(pipeline, data)?;
        at.left -= bytes;
        at.hole -= bytes;
        let range = slab.filled..slab.filled;
        slab.items.push(at.item(PieceKind::Holes(bytes), range));
        Ok(true)
    }

    /// Returns the open slab, into which the next piece fits.
    fn ensure_slab(
        &mut self,
        at: &Cursor,
        pipeline: &mut BlockPipeline,
        data: &mut DataWriter<'_>,
    ) -> Result<&mut Slab, Error> {
        let piece = self.block_size.bytes().min(usize::try_from(at.left).unwrap_or(usize::MAX));
        let full = |slab: &Slab| self.pool.buffer_size() - slab.filled < piece;
        if at.loose == 0 && self.open.as_ref().is_some_and(full) {
            self.flush(pipeline, data).map_err(of_fault)?;
        }
        if at.loose == 0 { self.limit_items(pipeline, data) } else { self.open_slab(pipeline, data) }
    }

    /// Returns the open slab, or a new one if none is open or the open slab has too many pieces.
    fn limit_items(&mut self, pipeline: &mut BlockPipeline, data: &mut DataWriter<'_>) -> Result<&mut Slab, Error> {
        if self.open.as_ref().is_some_and(|slab| slab.items.len() >= MAX_ITEMS) {
            self.flush(pipeline, data).map_err(of_fault)?;
        }
        self.open_slab(pipeline, data)
    }

    /// Returns the open slab, or a new one if none is open.
    fn open_slab(&mut self, pipeline: &mut BlockPipeline, data: &mut DataWriter<'_>) -> Result<&mut Slab, Error> {
        let slab = match self.open.take() {
            Some(slab) => slab,
            None => {
                let size = self.pool.buffer_size();
                let mut products = pipeline.reserve(3 * size, data).map_err(of_fault)?;
                let buffer = self.pool.take(products.split(size));
                Slab { buffer, filled: 0, items: Vec::new(), unread: Vec::new(), ends: Vec::new(), products }
            }
        };
        Ok(self.open.insert(slab))
    }
}

impl Cursor {
    /// The range after the last piece for bytes that fit into complete pieces.
    fn space(&self, slab: &Slab) -> Range<usize> {
        let free = slab.buffer.bytes().len() - slab.filled;
        let block = self.block_size.bytes();
        let whole = if self.left <= free as u64 { self.left as usize } else { free / block * block };
        slab.filled + self.loose..slab.filled + whole
    }

    /// Leaves the next bytes to the hash stage, if the source can be read there. Returns whether there were any.
    fn leave_unread(&mut self, slab: &mut Slab, source: &mut dyn Source) -> Result<bool, Error> {
        if self.hole > 0 {
            return Ok(false);
        }
        let space = self.space(slab);
        let Some(UnreadPart { content, offset, bytes }) = source.read_later(space.len())? else { return Ok(false) };
        if !(1..=space.len()).contains(&bytes) {
            return Err(Error::internal(format!("a source left {bytes} bytes unread of {}", space.len())));
        }
        self.shared = Some(Arc::clone(&content));
        slab.unread.push(Unread { content, offset, range: space.start..space.start + bytes });
        self.loose += bytes;
        Ok(true)
    }

    /// Reads once after the last piece, at most the bytes that fit into complete pieces.
    fn fill(&mut self, slab: &mut Slab, source: &mut dyn Source) -> Result<(), Error> {
        let block = self.block_size.bytes();
        let space = self.space(slab);
        let space = &mut slab.buffer.bytes_mut()[space];
        if self.hole > 0 {
            let to_boundary = block - self.loose % block;
            let zeros = to_boundary.min(space.len()).min(usize::try_from(self.hole).unwrap_or(usize::MAX));
            space[..zeros].fill(0);
            self.hole -= zeros as u64;
            self.loose += zeros;
            return Ok(());
        }
        match source.read(space)? {
            Extent::Data(bytes) if (1..=space.len()).contains(&bytes) => self.loose += bytes,
            Extent::Hole(bytes) if bytes >= 1 && bytes <= self.left - self.loose as u64 => self.hole = bytes,
            other => {
                let left = self.left - self.loose as u64;
                return Err(Error::internal(format!("a source gave {other:?} with {left} bytes left")));
            }
        }
        Ok(())
    }

    /// Cuts the bytes that were read into pieces.
    fn cut_pieces(&mut self, slab: &mut Slab) {
        while self.left > 0 {
            let (length, piece) = self.next_piece();
            if self.loose < length {
                break;
            }
            self.left -= length as u64;
            self.loose -= length;
            let range = slab.filled..slab.filled + length;
            slab.filled += length;
            slab.items.push(self.item(piece, range));
        }
    }

    /// Returns the length and the kind of the next piece.
    fn next_piece(&self) -> (usize, PieceKind) {
        let block = self.block_size.bytes();
        let left = match usize::try_from(self.left) {
            Ok(left) if left < block => left,
            _ => return (block, PieceKind::Block),
        };
        let tail = left % self.tail_unit;
        match left - tail {
            _ if tail == 0 || tail > self.longest_tail || !self.cut.packs_tail(self.tail_unit) => {
                (left, PieceKind::Block)
            }
            0 => (tail, PieceKind::Tail),
            blocks => (blocks, PieceKind::Block),
        }
    }

    fn item(&self, piece: PieceKind, range: Range<usize>) -> Item {
        Item { file: self.cut.file, piece, range, rules: self.cut.rules, last: self.left == 0 }
    }
}

impl FileCut {
    /// Whether the file's tail end goes into a fragment block.
    fn packs_tail(&self, tail_unit: usize) -> bool {
        match self.tails {
            Fragments::Never => false,
            Fragments::SmallFiles => self.size < tail_unit as u64,
            Fragments::Always => true,
        }
    }
}

/// Submits a slab and returns the memory that its pieces do not need.
fn send(mut slab: Slab, pipeline: &mut BlockPipeline, data: &mut DataWriter<'_>) -> Result<(), Fault<Error>> {
    let needed = slab.items.iter().map(|item| reserved(item.piece, item.range.len())).sum();
    slab.products.shrink_to(needed);
    pipeline.submit(slab, data)
}
