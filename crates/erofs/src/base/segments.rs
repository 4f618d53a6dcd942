//! The blocks and segments of an image: what the encoder compressed at once.
//!
//! With encoded extents, each extent is a block. Clusters of whole blocks were cut from segments: a segment starts at a multiple of its size in a
//! file, and where the record says in the packed inode. It ends where the next one starts, or where other content follows.

use std::sync::Arc;

use hashbrown::HashTable;
use packline_cache::{Cluster, STORED_BLOCK};
use packline_runtime::unless_cancelled;
use packline_volume::{BaseError, BaseSettings, Node, ReadError, Walk, spread};

use crate::Options;
use crate::format::algorithms::number_of;
use crate::format::inode::Layout;
use crate::format::superblock::SUPERBLOCK_START;
use crate::options::{BLOCK, Form, INLINE_MOST, Inline};
use crate::read::Image;
use crate::read::data::{DataPlace, node_of};
use crate::read::map::{Coded, Extent, ExtentKind, ExtentReader, Form as ExtentForm, Stored};
use crate::read::record::{PlacedRecord, read_lengths};

/// Memory for a segment in bytes: in a list that grows, in the table of offsets, and as a known block.
const SEGMENT_MEMORY: u64 = (2 * size_of::<Segment>() + 16 + 64) as u64;
/// Memory for a cluster in bytes, in a list that grows.
const CLUSTER_MEMORY: u64 = 2 * size_of::<Cluster>() as u64;

/// A block or segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    /// Offset in the image.
    pub(super) offset: u64,
    /// Bytes in the image.
    pub(super) stored: u32,
    pub(super) is_compressed: bool,
    /// The last of the stored bytes, if they follow an inode.
    pub(super) end: SegmentEnd,
    /// First cluster in the list of all clusters.
    first_cluster: u32,
    cluster_count: u32,
}

/// The last cluster of a segment, after an inode.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SegmentEnd {
    /// Offset in the image.
    pub(super) offset: u64,
    /// Bytes in the image; 0 without an end after an inode.
    pub(super) bytes: u32,
}

/// All blocks and segments of an image. None overlaps another.
#[derive(Debug)]
pub(super) struct Segments {
    list: Vec<Segment>,
    clusters: Vec<Cluster>,
    form: Form,
}

impl Segments {
    /// Reads all indexes. Broken indexes end early.
    pub(super) fn of(
        image: &Image,
        options: &Options,
        found: PlacedRecord,
        settings: &BaseSettings,
    ) -> Result<Segments, BaseError> {
        let mut collector = Collector::new(options, found.record.data_end, settings.memory);
        if let Some(number) = image.superblock().packed {
            let place = image.inodes().fields(node_of(number, SUPERBLOCK_START)?)?.place();
            let cuts = match options.form() {
                Form::Clusters => Cuts::at(&read_lengths(image, found)?),
                Form::Flat | Form::Extents => Cuts::Each,
            };
            collector.add(image, &place, &cuts);
        }
        let cuts = match options.form() {
            Form::Clusters => Cuts::Every(options.segment_size().into()),
            Form::Flat | Form::Extents => Cuts::Each,
        };
        for visit in Walk::new(image, image.root(), Vec::new()) {
            unless_cancelled(&settings.engine.cancel).map_err(ReadError::from)?;
            let visit = visit.map_err(|(_, error)| error)?;
            if let Node::File(file) = &visit.inode.node {
                collector.add(image, &DataPlace::unpack(file.place, file.size), &cuts);
            }
        }
        collector.finish()
    }

    pub(super) fn list(&self) -> &[Segment] {
        &self.list
    }

    /// Returns the clusters of a segment; one for a block.
    pub(super) fn clusters(&self, segment: &Segment) -> &[Cluster] {
        &self.clusters[segment.first_cluster as usize..][..segment.cluster_count as usize]
    }

    /// Whether segments are stored in clusters.
    pub(super) fn has_clusters(&self) -> bool {
        self.form == Form::Clusters
    }

    pub(super) fn memory(&self) -> u64 {
        (self.list.capacity() * size_of::<Segment>() + self.clusters.capacity() * size_of::<Cluster>()) as u64
    }
}

/// Where segments of a content start.
enum Cuts {
    /// Where extents start.
    Each,
    /// At each multiple of this number of bytes.
    Every(u64),
    /// At these offsets, in ascending order.
    At(Vec<u64>),
}

impl Cuts {
    /// Segments of these lengths, one after another.
    fn at(lengths: &[u32]) -> Cuts {
        let start = |end: &mut u64, length: &u32| {
            let start = *end;
            *end += u64::from(*length);
            Some(start)
        };
        let starts = lengths.iter().scan(0, start);
        let end = lengths.iter().map(|length| u64::from(*length)).sum();
        Cuts::At(starts.chain([end]).collect())
    }

    /// Returns the offset after `at` at which the next segment starts. `end`: where the extent with `at` ends.
    fn after(&self, at: u64, end: u64) -> u64 {
        match self {
            Cuts::Each => end,
            Cuts::Every(size) => (at / size + 1) * size,
            Cuts::At(starts) => {
                let next = starts.partition_point(|start| *start <= at);
                starts.get(next).copied().unwrap_or(u64::MAX)
            }
        }
    }

    /// Whether a segment starts at an offset.
    fn has(&self, at: u64) -> bool {
        match self {
            Cuts::Each => true,
            Cuts::Every(size) => at.is_multiple_of(*size),
            Cuts::At(starts) => starts.binary_search(&at).is_ok(),
        }
    }
}

/// A segment that is not complete.
struct Open {
    offset: u64,
    stored: u64,
    length: u64,
    /// Offset in the content at which the segment ends at the latest.
    limit: u64,
    end: SegmentEnd,
    first_cluster: usize,
}

/// Collects the segments of all contents.
struct Collector {
    form: Form,
    /// Number of the algorithm.
    algorithm: u8,
    /// Most bytes of content of a cluster, and of a segment.
    most: u64,
    segment_most: u64,
    /// Whether ends of segments may follow inodes.
    has_ends: bool,
    data_end: u64,
    segments: Segments,
    /// Index of each segment, by its offset.
    by_offset: HashTable<u32>,
    open: Option<Open>,
    /// Bytes of memory that all segments so far need. Duplicates count when the memory is full.
    needed: u64,
    /// Number of segments so far.
    met: u64,
    memory: Option<u64>,
}

impl Collector {
    fn new(options: &Options, data_end: u64, memory: Option<u64>) -> Collector {
        let form = options.form();
        Collector {
            form,
            algorithm: options.bare_codec().map_or(0, number_of),
            most: options.cluster_most() as u64,
            segment_most: options.segment_size().into(),
            has_ends: options.inline() == Inline::Ends,
            data_end,
            segments: Segments { list: Vec::new(), clusters: Vec::new(), form },
            by_offset: HashTable::new(),
            open: None,
            needed: 0,
            met: 0,
            memory,
        }
    }

    /// Adds the segments of a content.
    fn add(&mut self, image: &Image, place: &DataPlace, cuts: &Cuts) {
        match place.layout {
            Layout::Plain if self.form == Form::Clusters => self.add_plain(place, place.size, cuts),
            Layout::Inline if self.has_ends => self.add_plain(place, place.size - place.size % BLOCK, cuts),
            _ => {}
        }
        let is_compressed = matches!(place.layout, Layout::CompressedFull | Layout::CompressedCompact);
        let map = if is_compressed && place.size > 0 { image.contents().map(place).ok() } else { None };
        let Some(map) = map else { return };
        let mut reader = ExtentReader::new(&Arc::new(map), 0);
        while let Some(Ok(extent)) = reader.next_extent() {
            self.add_extent(&extent, cuts);
        }
        self.close();
    }

    /// Adds the segments of a content without an index: none of it is compressed. `in_blocks` bytes are in blocks, the others follow the inode. Stops at a
    /// known segment, or at the end of the data.
    fn add_plain(&mut self, place: &DataPlace, in_blocks: u64, cuts: &Cuts) {
        let Some(first) = place.start.checked_mul(BLOCK) else { return };
        let mut start = 0;
        while start < place.size {
            let is_end = start >= in_blocks;
            let offset = if is_end { place.end } else { first.saturating_add(start) };
            if !is_end && offset >= self.data_end || cuts.has(start) && self.is_known(offset) {
                break;
            }
            let part = if is_end { place.size } else { in_blocks };
            let length = (part.min(cuts.after(start, part)) - start).min(self.most);
            let kind = ExtentKind::Stored(Stored { offset, bytes: length as u32, form: ExtentForm::Plain });
            self.add_extent(&Extent { start, length, key: 0, entry: 0, kind }, cuts);
            start += length;
        }
        self.close();
    }

    fn add_extent(&mut self, extent: &Extent, cuts: &Cuts) {
        let end = self.end_of(extent);
        let Some((offset, cluster)) = end.or_else(|| self.cluster_of(extent)) else { return self.close() };
        if self.open.as_ref().is_some_and(|open| open.limit <= extent.start) {
            self.close();
        }
        if self.open.is_none() && cuts.has(extent.start) && !self.is_known(offset) {
            self.met += 1;
            self.needed = self.needed.saturating_add(SEGMENT_MEMORY);
            let first_cluster = self.segments.clusters.len();
            self.open = Some(Open {
                offset,
                stored: 0,
                length: 0,
                limit: cuts.after(extent.start, extent.end()),
                end: SegmentEnd::default(),
                first_cluster,
            });
        }
        let Some(open) = &mut self.open else { return };
        if end.is_none() && open.offset + open.stored != offset || extent.end() > open.limit {
            return self.forget();
        }
        open.stored += u64::from(cluster.size());
        open.length += u64::from(cluster.length);
        let first = open.first_cluster;
        if end.is_some() {
            open.end = SegmentEnd { offset, bytes: cluster.size() };
            self.add_cluster(cluster);
            return self.close();
        }
        self.push(cluster, first);
    }

    /// Adds a cluster of the open segment, whose first cluster is `first`. Uncompressed content that is not the end of a segment is in clusters of
    /// the largest size, and indexes have extents of a block for it.
    fn push(&mut self, cluster: Cluster, first: usize) {
        let block = BLOCK as u32;
        let most = self.most as u32;
        if let Some(last) = self.segments.clusters[first..].last_mut()
            && !last.is_compressed()
            && !cluster.is_compressed()
            && last.length.is_multiple_of(block)
            && last.length + cluster.length <= most
        {
            last.length += cluster.length;
            last.size_word += cluster.size();
            return;
        }
        self.add_cluster(cluster);
    }

    fn add_cluster(&mut self, cluster: Cluster) {
        self.needed = self.needed.saturating_add(CLUSTER_MEMORY);
        if !self.is_full() {
            self.segments.clusters.push(cluster);
        }
    }

    /// Returns the offset of an extent after an inode, and the extent as a cluster. `None` if it is not an end that the encoder makes.
    fn end_of(&self, extent: &Extent) -> Option<(u64, Cluster)> {
        let ExtentKind::Stored(Stored { offset, bytes, form }) = extent.kind else { return None };
        let length = u32::try_from(extent.length).ok().filter(|length| u64::from(*length) <= self.most)?;
        let size_word = match form {
            ExtentForm::Plain => length | STORED_BLOCK,
            ExtentForm::Coded(Coded { algorithm, .. }) if algorithm == self.algorithm && bytes <= length => bytes,
            ExtentForm::Coded(_) | ExtentForm::Interlaced => return None,
        };
        let cluster = Cluster { length, size_word };
        let is_short = (1..=INLINE_MOST as u32).contains(&cluster.size());
        (self.has_ends && is_short && offset >= self.data_end).then_some((offset, cluster))
    }

    /// Returns the offset of an extent, and the extent as a cluster. `None` if it is not a cluster that the encoder makes.
    fn cluster_of(&self, extent: &Extent) -> Option<(u64, Cluster)> {
        let ExtentKind::Stored(Stored { offset, bytes, form }) = extent.kind else { return None };
        let length = u32::try_from(extent.length).ok().filter(|length| u64::from(*length) <= self.most)?;
        let unit = if self.form == Form::Clusters { BLOCK as u32 } else { 1 };
        let size_word = match form {
            ExtentForm::Plain => length.next_multiple_of(unit) | STORED_BLOCK,
            ExtentForm::Coded(Coded { algorithm, .. })
                if algorithm == self.algorithm && bytes <= length && bytes.is_multiple_of(unit) =>
            {
                bytes
            }
            ExtentForm::Coded(_) | ExtentForm::Interlaced => return None,
        };
        let cluster = Cluster { length, size_word };
        let end = offset.checked_add(cluster.size().into())?;
        (offset >= BLOCK && end <= self.data_end && cluster.size() > 0).then_some((offset, cluster))
    }

    fn is_known(&self, offset: u64) -> bool {
        let list = &self.segments.list;
        self.by_offset.find(spread(offset), |index| list[*index as usize].offset == offset).is_some()
    }

    /// Completes the open segment.
    fn close(&mut self) {
        let is_full = self.is_full();
        let Some(open) = self.open.take() else { return };
        let Open { offset, stored, length, end, first_cluster, .. } = open;
        let Segments { list, clusters, .. } = &mut self.segments;
        let is_compressed = clusters[first_cluster..].iter().any(Cluster::is_compressed);
        let most = if end.bytes > 0 { self.segment_most - 1 } else { self.segment_most };
        let is_valid = length <= most && (!is_compressed || stored < length);
        let cluster_count = (clusters.len() - first_cluster) as u32;
        let numbers = u32::try_from(list.len()).ok().zip(u32::try_from(first_cluster).ok());
        let Some((index, first)) = numbers.filter(|_| is_valid && !is_full) else {
            clusters.truncate(first_cluster);
            return;
        };
        let stored = stored as u32;
        list.push(Segment { offset, stored, is_compressed, end, first_cluster: first, cluster_count });
        self.by_offset.insert_unique(spread(offset), index, |index| spread(list[*index as usize].offset));
    }

    /// Drops the open segment.
    fn forget(&mut self) {
        if let Some(open) = self.open.take() {
            self.segments.clusters.truncate(open.first_cluster);
        }
    }

    /// Whether there are more segments than fit into memory. They are still counted.
    fn is_full(&self) -> bool {
        self.memory.is_some_and(|most| self.needed > most)
    }

    /// Returns the segments in the order of the image, without those that overlap another, which a sound image does not have.
    fn finish(self) -> Result<Segments, BaseError> {
        if let Some(allowed) = self.memory.filter(|most| self.needed > *most) {
            return Err(BaseError::Memory { blocks: self.met, allowed, needed: self.needed });
        }
        let mut segments = self.segments;
        segments.list.sort_unstable_by_key(|segment| segment.offset);
        let mut before = 0;
        segments.list.retain(|segment| {
            let keep = segment.offset >= before;
            before = if keep { segment.offset + u64::from(segment.stored - segment.end.bytes) } else { before };
            keep
        });
        Ok(segments)
    }
}
