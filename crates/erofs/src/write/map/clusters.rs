//! Indexes of logical clusters: compact if the clusters of a file are stored one after another, full otherwise.

use packline_blocks::Error;
use packline_runtime::TaskError;

use super::{Buffered, Content, MapMaker, Piece, Stored, Tail, check_size, joined};
use crate::format::cluster::{Head, IndexEntry, Start};
use crate::format::compact_index::encode::{CompactEncoder, bytes_of};
use crate::format::compact_index::{self, CompactParameters};
use crate::format::full_index;
use crate::format::map_header::{self, HEADER_BYTES, IndexHeader, MapHeader};
use crate::format::superblock::incompat;
use crate::options::{BLOCK, BLOCK_BITS};
use crate::write::contents::Coded;

/// Most blocks of a cluster.
const BLOCKS_MOST: u32 = 256;

/// Most bytes of content: 64 TiB have an index of 128 GiB, as large as all inodes together may be.
const CONTENT_MOST: u64 = 1 << 46;

/// Stored zeros. The format has no holes in files with indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Zeros {
    /// The cluster for holes of at least a block, if there are any.
    pub(crate) cluster: Option<ZeroCluster>,
    /// Offset of a block of zeros.
    pub(crate) plain: u64,
}

/// A cluster of zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ZeroCluster {
    /// Offset in the image.
    pub(crate) start: u64,
    /// Stored bytes, a multiple of a block.
    pub(crate) bytes: u32,
    /// Zeros in the cluster, a multiple of a block, at least two blocks. The cluster has one block.
    pub(crate) content: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClustersPlan {
    pub(super) is_compact: bool,
    /// Whether clusters have more content than an extent, or the file ends in the packed inode.
    pub(super) is_shared: bool,
    /// The first block.
    first: u64,
    /// Number of stored blocks.
    pub(super) blocks: u64,
    /// Bytes of the cluster after the index; 0 without one.
    pub(super) inline: u16,
}

/// An extent.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: u64,
    length: u64,
    head: Head,
    block: u64,
    blocks: u16,
    is_partial: bool,
}

impl ClustersPlan {
    /// Chooses the compact index if possible.
    pub(super) fn new(
        maker: &MapMaker<'_>,
        content: Content,
        pieces: impl Iterator<Item = Piece>,
    ) -> Result<ClustersPlan, Error> {
        if content.size > CONTENT_MOST {
            let what = format!("a file of {} bytes with an index", content.size);
            return Err(Error::Limit { what, expected: "at most 64 TiB before Linux 6.15".into() });
        }
        let inline = content.tail.inline_bytes() as u16;
        let mut plan = ClustersPlan { is_compact: true, is_shared: false, first: 0, blocks: 0, inline };
        let mut covered = 0;
        let mut before = None;
        for span in spans(maker.zeros, pieces) {
            let span = span?;
            check_apart(before, span.start)?;
            before = Some(span.start);
            plan.first = if covered == 0 { span.block } else { plan.first };
            plan.is_compact &= !span.is_partial && span.block == plan.first + plan.blocks;
            let zeros = maker.zeros.and_then(|zeros| zeros.cluster);
            plan.is_shared |= span.is_partial || zeros.is_some_and(|zeros| zeros.start / BLOCK == span.block);
            plan.blocks += u64::from(span.blocks);
            covered = span.start + span.length;
        }
        check_size(content, covered)?;
        if let Some(end) = plan.end_span(content, covered) {
            check_apart(before, covered)?;
            if let Tail::Packed(_) = content.tail {
                plan.is_shared = true;
                // The compact index has no space for the high half of the offset.
                plan.is_compact &= end.block == 0;
            }
        }
        Ok(plan)
    }

    /// Returns the features of [`incompat`] that the map needs.
    pub(super) fn features(self) -> u32 {
        let shared = if self.is_shared { incompat::FRAGMENTS } else { 0 };
        shared | if self.inline > 0 { incompat::INLINE_CLUSTERS } else { 0 }
    }

    /// Returns the last extent of a file, from byte `start` on, if it is not in blocks. An extent of the packed inode has the high half of its offset there
    /// as its block.
    fn end_span(self, content: Content, start: u64) -> Option<Span> {
        let after = self.first + self.blocks;
        // Readers ignore the block and the number of blocks of an end after the index; both are as mkfs.erofs writes them.
        let (head, block, blocks) = match content.tail {
            Tail::None => return None,
            Tail::Packed(offset) => (Head::First, offset >> 32, 0),
            Tail::Inline(_) => (Head::Plain, after, 1),
            Tail::Coded(_) => (Head::First, after, 1),
        };
        Some(Span { start, length: content.size - start, head, block, blocks, is_partial: false })
    }

    fn parameters(header: u64, size: u64) -> CompactParameters {
        CompactParameters {
            start: header + compact_index::INDEX_START,
            count: size.div_ceil(BLOCK),
            cluster_bits: BLOCK_BITS,
            has_short: true,
            is_big: true,
        }
    }

    pub(super) fn end(self, header: u64, size: u64) -> u64 {
        let inline = u64::from(self.inline);
        if self.is_compact {
            let parameters = ClustersPlan::parameters(header, size);
            return parameters.start + bytes_of(parameters).unwrap_or(0) + inline;
        }
        header + full_index::INDEX_START + size.div_ceil(BLOCK) * full_index::ENTRY_BYTES as u64 + inline
    }

    pub(super) fn write(
        self,
        maker: &MapMaker<'_>,
        header: u64,
        content: Content,
        pieces: impl Iterator<Item = Piece>,
        out: &mut Buffered<'_>,
    ) -> Result<(), Error> {
        out.add(&self.header(maker, content).encode(BLOCK_BITS))?;
        let mut compact = None;
        if self.is_compact {
            compact = CompactEncoder::new(ClustersPlan::parameters(header, content.size), self.first as u32);
        } else {
            out.zeros(full_index::INDEX_START - HEADER_BYTES as u64)?;
        }
        let mut put = |entry: IndexEntry| {
            match &mut compact {
                Some(encoder) => encoder.push(entry, &mut out.bytes),
                None => out.bytes.extend_from_slice(&full_index::encode(entry)),
            }
            out.flush()
        };
        let mut covered = 0;
        for span in spans(maker.zeros, pieces) {
            let span = span?;
            covered = span.start + span.length;
            for_each_entry(span, content.size, &mut put)?;
        }
        self.end_span(content, covered).map_or(Ok(()), |span| for_each_entry(span, content.size, &mut put))
    }

    fn header(self, maker: &MapMaker<'_>, content: Content) -> MapHeader {
        MapHeader::Index(IndexHeader {
            cluster_bits: BLOCK_BITS,
            has_short: self.is_compact,
            big_first: true,
            // The compact index has big clusters of both kinds or of none.
            big_second: self.is_compact,
            is_interlaced: false,
            algorithms: [maker.algorithm, 0],
            tail: match content.tail {
                Tail::None => map_header::Tail::Cluster,
                Tail::Inline(_) | Tail::Coded(_) => map_header::Tail::Inline { stored: self.inline },
                Tail::Packed(offset) => map_header::Tail::Fragment { low: offset as u32 },
            },
        })
    }
}

/// Calls `put` with the entries of all logical clusters from the one in which an extent starts up to the one in which it ends, or before it if
/// another one starts there. `size`: that of the file.
fn for_each_entry(span: Span, size: u64, put: &mut dyn FnMut(IndexEntry) -> Result<(), Error>) -> Result<(), Error> {
    let Span { start, length, head, block, blocks, is_partial } = span;
    let end = start + length;
    let first = start / BLOCK;
    put(IndexEntry::start(Start { head, offset: (start % BLOCK) as u32, block, is_partial }))?;
    // A start at the end of the file ends the last extent.
    let has_end = end == size && end % BLOCK != 0 && end / BLOCK != first;
    let next = if end == size && !has_end { end.div_ceil(BLOCK) } else { end / BLOCK };
    for cluster in first + 1..next {
        let blocks = (cluster == first + 1).then_some(blocks);
        put(IndexEntry::inside(cluster - first, next - cluster, blocks))?;
    }
    if has_end {
        put(IndexEntry::start(Start { head: Head::Plain, offset: (end % BLOCK) as u32, block: 0, is_partial: false }))?;
    }
    Ok(())
}

/// Returns the extents of pieces.
fn spans(zeros: Option<Zeros>, pieces: impl Iterator<Item = Piece>) -> impl Iterator<Item = Result<Span, Error>> {
    let mut at = 0;
    joined(pieces).flat_map(move |piece| {
        let start = at;
        at += piece.length;
        PieceSpans { zeros, piece, start, at: start, end: at }
    })
}

/// Checks that no two extents start in one logical cluster: an entry has one start.
fn check_apart(before: Option<u64>, start: u64) -> Result<(), Error> {
    if before.is_none_or(|before| before / BLOCK < start / BLOCK) {
        return Ok(());
    }
    Err(Error::internal(format!("two extents start in one block of content, at {start}")))
}

/// The extents of a piece.
struct PieceSpans {
    zeros: Option<Zeros>,
    piece: Piece,
    /// Offset of the piece in the file.
    start: u64,
    /// Offset of the next extent in the file.
    at: u64,
    end: u64,
}

impl PieceSpans {
    /// Returns the extent from `at` on.
    fn span(&self) -> Result<Span, Error> {
        let left = self.end - self.at;
        match (self.piece.stored, self.zeros) {
            (Stored::Plain { start }, _) => self.plain(start + (self.at - self.start)),
            (Stored::Coded(coded), _) => self.coded(left, coded),
            (Stored::Hole, Some(zeros)) if left < BLOCK => self.plain(zeros.plain),
            (Stored::Hole, Some(Zeros { cluster: Some(zeros), .. })) => {
                let whole = u64::from(zeros.content);
                // The rest has at least a block of content, so that it has more than its cluster has stored.
                let length =
                    if (1..BLOCK).contains(&left.saturating_sub(whole)) { whole - BLOCK } else { left.min(whole) };
                let ZeroCluster { start, bytes, .. } = zeros;
                self.coded(length, Coded { start, bytes, is_partial: length < whole })
            }
            (Stored::Hole, _) => Err(Error::internal("a hole in an image without stored zeros".into())),
        }
    }

    fn plain(&self, at: u64) -> Result<Span, Error> {
        let length = (self.end - self.at).min(BLOCK);
        let coded = Coded { start: at, bytes: BLOCK as u32, is_partial: false };
        Ok(Span { head: Head::Plain, ..self.coded(length, coded)? })
    }

    fn coded(&self, length: u64, coded: Coded) -> Result<Span, Error> {
        let Coded { start, bytes, is_partial } = coded;
        let blocks = bytes / BLOCK as u32;
        let is_whole = start % BLOCK == 0 && u64::from(bytes) % BLOCK == 0 && (1..=BLOCKS_MOST).contains(&blocks);
        if !is_whole || u32::try_from(start / BLOCK).is_err() {
            return Err(Error::internal(format!("a cluster of {bytes} bytes at byte {start}")));
        }
        let block = start / BLOCK;
        Ok(Span { start: self.at, length, head: Head::First, block, blocks: blocks as u16, is_partial })
    }
}

impl Iterator for PieceSpans {
    type Item = Result<Span, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let span = self.span();
        self.at = span.as_ref().map_or(self.end, |span| self.at + span.length);
        Some(span)
    }
}
