//! Extents of a file with an index of logical clusters.
//!
//! An index says where each extent starts; the extent ends where the next one starts. The distances that lead from a logical cluster to the start
//! of its extent are used for random access only, and are checked, so that random and sequential access find the same extents.

use packline_volume::ReadError;

use super::extent::{Coded, Extent, ExtentKind, Form, Stored};
use super::window::Window;
use super::{MapImage, MapInode};
use crate::format::algorithms::CONTENT_MOST;
use crate::format::cluster::{Cluster, Head, Inside, Start};
use crate::format::compact_index::{CLUSTER_BITS_MOST, CompactIndex, CompactParameters};
use crate::format::map_header::{IndexHeader, Tail};
use crate::format::superblock::incompat;
use crate::format::{compact_index, corrupt, full_index};

/// An index of logical clusters.
#[derive(Debug)]
pub(super) struct Clusters {
    header: IndexHeader,
    /// Size of the file in bytes.
    size: u64,
    /// Number of logical clusters.
    count: u64,
    entries: Entries,
    /// The last extent, if it is after the index or in the packed inode.
    tail: Option<Found>,
}

/// The entries of an index.
#[derive(Debug)]
enum Entries {
    /// Address of the full index.
    Full(u64),
    Compact(CompactIndex),
}

/// The logical cluster in which an extent starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    cluster: u64,
    start: Start,
}

/// An extent as the index has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) end: u64,
    found: Found,
    /// Number of blocks in the first logical cluster after the start. `None` if the extent ends before it.
    blocks: Option<Option<u16>>,
    /// The next extent.
    pub(super) next: Option<Found>,
}

impl Clusters {
    /// `start`: address of the map header.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the index is malformed; errors of reading it.
    pub(super) fn open(
        header: IndexHeader,
        inode: MapInode,
        start: u64,
        block_bits: u8,
        window: &mut Window,
    ) -> Result<Clusters, ReadError> {
        let entries = if inode.compact {
            Entries::Compact(compact(header, inode, start, block_bits)?)
        } else {
            Entries::Full(start + full_index::INDEX_START)
        };
        let count = inode.size.div_ceil(1 << header.cluster_bits);
        let mut clusters = Clusters { header, size: inode.size, count, entries, tail: None };
        if header.tail != Tail::Cluster {
            clusters.tail = Some(clusters.find(window, inode.size - 1)?);
        }
        Ok(clusters)
    }

    /// Returns a bound of the numbers of logical clusters.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the address of a logical cluster's entry.
    fn address(&self, cluster: u64) -> u64 {
        match &self.entries {
            Entries::Full(start) => start.saturating_add(cluster.saturating_mul(full_index::ENTRY_BYTES as u64)),
            Entries::Compact(index) => index.place(cluster).offset,
        }
    }

    /// Returns the features that the image must have.
    pub(super) fn features(&self) -> u32 {
        let IndexHeader { big_first, big_second, tail, .. } = self.header;
        let big = if big_first || big_second { incompat::COMPRESSION_RECORDS } else { 0 };
        let tail = match tail {
            Tail::Cluster => 0,
            Tail::Inline { .. } => incompat::INLINE_CLUSTERS,
            Tail::Fragment { .. } => incompat::FRAGMENTS,
        };
        big | tail
    }

    /// Returns the address of the first byte after the index.
    pub(super) fn end(&self) -> u64 {
        match &self.entries {
            Entries::Full(_) => self.address(self.count),
            Entries::Compact(index) => index.place(self.count - 1).end(),
        }
    }

    fn offset_of(&self, found: Found) -> u64 {
        found.cluster << self.header.cluster_bits | u64::from(found.start.offset)
    }

    /// Reads the entry of a logical cluster.
    fn load(&self, window: &mut Window, cluster: u64) -> Result<Cluster, ReadError> {
        let address = self.address(cluster);
        let loaded = match &self.entries {
            Entries::Full(_) => full_index::decode(window.entry(address)?),
            Entries::Compact(index) => {
                let place = index.place(cluster);
                let decoded = if place.bytes == 8 {
                    index.decode(&window.entry::<8>(address)?, place.number)
                } else {
                    index.decode(&window.entry::<32>(address)?, place.number)
                };
                decoded.ok_or_else(|| {
                    corrupt(
                        address,
                        format!("entries before logical cluster {cluster}"),
                        "a number of blocks for each extent",
                    )
                })?
            }
        };
        self.check(cluster, loaded)
    }

    fn check(&self, cluster: u64, loaded: Cluster) -> Result<Cluster, ReadError> {
        let fault = |what: String, expected: String| Err(corrupt(self.address(cluster), what, expected));
        let size = 1u64 << self.header.cluster_bits;
        match loaded {
            Cluster::Start(start) if u64::from(start.offset) >= size => {
                fault(format!("extent at {} of logical cluster {cluster}", start.offset), format!("less than {size}"))
            }
            Cluster::Start(start) if cluster == 0 && start.offset > 0 => {
                fault(format!("first extent at {} of the file", start.offset), "0".into())
            }
            Cluster::Inside(_) if cluster == 0 => {
                fault("logical cluster 0 without an extent that starts in it".into(), "an extent at 0".into())
            }
            Cluster::Inside(Inside { blocks: Some(blocks), .. })
                if !self.header.big_first && !self.header.big_second =>
            {
                fault(format!("cluster of {blocks} blocks in a file without big clusters"), "a distance".into())
            }
            _ => Ok(loaded),
        }
    }

    /// Returns the start of the extent with a byte of the file.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the distances do not lead to a start; errors of reading the index.
    pub(super) fn find(&self, window: &mut Window, offset: u64) -> Result<Found, ReadError> {
        if let Some(tail) = self.tail.filter(|tail| self.offset_of(*tail) <= offset) {
            return Ok(tail);
        }
        let mut cluster = offset >> self.header.cluster_bits;
        let mut back = match self.load(window, cluster)? {
            Cluster::Start(start) if self.offset_of(Found { cluster, start }) <= offset => {
                return Ok(Found { cluster, start });
            }
            Cluster::Start(_) => 1,
            Cluster::Inside(inside) => inside.back,
        };
        // Distances are at least 2047 in long extents, so that one for each logical cluster of the largest extent suffices.
        for _ in 0..(CONTENT_MOST >> self.header.cluster_bits) + 2 {
            let before = cluster.checked_sub(back.into()).filter(|_| back > 0);
            let Some(before) = before else {
                let what = format!("distance {back} from logical cluster {cluster}");
                return Err(corrupt(self.address(cluster), what, "the distance to the start of its extent"));
            };
            cluster = before;
            match self.load(window, cluster)? {
                Cluster::Start(start) => return Ok(Found { cluster, start }),
                Cluster::Inside(inside) => back = inside.back,
            }
        }
        let what = format!("no start of the extent before logical cluster {}", offset >> self.header.cluster_bits);
        Err(corrupt(self.address(cluster), what, "an extent of 12 MiB at most"))
    }

    /// Returns the extent that starts in a logical cluster.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if no extent starts there; errors of reading the index.
    pub(super) fn start_in(&self, window: &mut Window, cluster: u64) -> Result<Found, ReadError> {
        let start = match self.load(window, cluster)? {
            Cluster::Start(start) => {
                Some(start).filter(|start| self.offset_of(Found { cluster, start: *start }) < self.size)
            }
            Cluster::Inside(_) => None,
        };
        let fault = || corrupt(self.address(cluster), format!("logical cluster {cluster}"), "the start of an extent");
        Ok(Found { cluster, start: start.ok_or_else(fault)? })
    }

    /// Returns the first extent of the file, which is not empty.
    pub(super) fn first(&self, window: &mut Window) -> Result<Found, ReadError> {
        self.start_in(window, 0)
    }

    /// Determines where an extent ends.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the entries of the extent contradict each other; errors of reading the index.
    pub(super) fn span(&self, window: &mut Window, found: Found) -> Result<Span, ReadError> {
        let start = self.offset_of(found);
        let mut span = Span { start, end: self.size, found, blocks: None, next: None };
        if self.tail == Some(found) {
            return Ok(span);
        }
        for cluster in found.cluster + 1..self.count {
            match self.load(window, cluster)? {
                Cluster::Start(start) => {
                    let next = Found { cluster, start };
                    // The last extent may end with a start at the end of the file.
                    span.end = self.offset_of(next).min(self.size);
                    span.next = Some(next).filter(|_| span.end < self.size);
                    return Ok(span);
                }
                Cluster::Inside(inside) => {
                    self.check_inside(found, cluster, inside)?;
                    span.blocks = span.blocks.or(Some(inside.blocks));
                }
            }
            if (cluster << self.header.cluster_bits) - start > CONTENT_MOST {
                let what =
                    format!("extent at {start} that does not end before {}", cluster << self.header.cluster_bits);
                return Err(corrupt(self.address(found.cluster), what, "12 MiB at most"));
            }
        }
        Ok(span)
    }

    fn check_inside(&self, found: Found, cluster: u64, inside: Inside) -> Result<(), ReadError> {
        let distance = cluster - found.cluster;
        if !(1..=distance).contains(&inside.back.into()) {
            let what = format!("distance {} in logical cluster {cluster}", inside.back);
            return Err(corrupt(self.address(cluster), what, format!("1 to {distance}, the start of its extent")));
        }
        if inside.blocks.is_some() && distance > 1 {
            let what = format!("number of blocks in logical cluster {cluster}");
            return Err(corrupt(self.address(cluster), what, "one in the first logical cluster after a start only"));
        }
        Ok(())
    }

    /// Returns an extent with the position of its content.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] if the extent breaks a rule.
    pub(super) fn extent(&self, span: Span, image: &MapImage) -> Result<Extent, ReadError> {
        let Span { start, end, found, .. } = span;
        let entry = self.address(found.cluster);
        let extent = |kind| Extent { start, length: end - start, key: found.cluster, entry, kind };
        let form = self.form(found.start);
        let stored = match self.header.tail {
            Tail::Fragment { low } if self.tail == Some(found) => {
                let high = if matches!(self.entries, Entries::Full(_)) { found.start.block << 32 } else { 0 };
                return Ok(extent(ExtentKind::Fragment(high | u64::from(low))));
            }
            Tail::Inline { stored } if self.tail == Some(found) => self.inline(stored, form, image)?,
            _ => {
                let blocks = self.blocks(span, entry)?;
                let bytes = u32::from(blocks) << image.block_bits;
                Stored { offset: found.start.block.saturating_mul(1 << image.block_bits), bytes, form }
            }
        };
        extent(ExtentKind::Stored(stored)).check(image)
    }

    fn form(&self, start: Start) -> Form {
        let [first, second] = self.header.algorithms;
        let algorithm = match start.head {
            Head::Plain if self.header.is_interlaced => return Form::Interlaced,
            Head::Plain => return Form::Plain,
            Head::First => first,
            Head::Second => second,
        };
        Form::Coded(Coded { algorithm, is_partial: start.is_partial })
    }

    /// Returns the position of the last extent after the index.
    fn inline(&self, stored: u16, form: Form, image: &MapImage) -> Result<Stored, ReadError> {
        let offset = self.end();
        let block = 1u64 << image.block_bits;
        if offset % block + u64::from(stored) > block {
            let what = format!("cluster of {stored} bytes at {} of its block, after an index", offset % block);
            return Err(corrupt(offset, what, format!("an end at {block} at most")));
        }
        // An interlaced cluster is a complete block.
        let form = if form == Form::Interlaced { Form::Plain } else { form };
        Ok(Stored { offset, bytes: stored.into(), form })
    }

    /// Returns the number of blocks of an extent.
    fn blocks(&self, span: Span, entry: u64) -> Result<u16, ReadError> {
        let is_big = match span.found.start.head {
            Head::First => self.header.big_first,
            Head::Plain | Head::Second => self.header.big_second,
        };
        match span.blocks {
            Some(blocks) if is_big => blocks.filter(|blocks| *blocks > 0).ok_or_else(|| {
                let what = format!("extent at {} without a number of blocks", span.start);
                corrupt(entry, what, "one in the next logical cluster")
            }),
            _ => Ok(1),
        }
    }
}

/// Returns the positions of a compact index.
fn compact(header: IndexHeader, inode: MapInode, start: u64, block_bits: u8) -> Result<CompactIndex, ReadError> {
    if header.big_first != header.big_second {
        return Err(corrupt(start, "big clusters of one kind only with a compact index", "both kinds, or none"));
    }
    let parameters = CompactParameters {
        start: start + compact_index::INDEX_START,
        count: inode.size.div_ceil(1 << block_bits),
        cluster_bits: header.cluster_bits,
        has_short: header.has_short,
        is_big: header.big_first,
    };
    CompactIndex::new(parameters).ok_or_else(|| {
        let what = format!("compact index with logical clusters of 2^{} bytes", header.cluster_bits);
        corrupt(start, what, format!("2^{CLUSTER_BITS_MOST} at most, or 2^12 in short packs"))
    })
}
