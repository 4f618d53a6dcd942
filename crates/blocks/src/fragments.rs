//! Fragment blocks: tail ends packed together in input order. A content that was stored before, or is a part of a recent tail end, is not stored
//! again.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use hashbrown::HashTable;
use packline_codec::Anchor;
use packline_engine::Permit;
use packline_runtime::Buffers;

use crate::digest::Digest;
use crate::recent_tails::RecentTails;
use crate::slab::Rules;
use crate::work::FragmentBuffer;
use crate::{Cluster, DataOptions, Error, FragmentBlock, TailPlace};

/// A tail end in a fragment block, by content.
#[derive(Debug)]
struct Tail {
    digest: Digest,
    place: TailPlace,
}

/// A tail end to be placed.
#[derive(Debug)]
pub(crate) struct NewTail<'a> {
    pub(crate) content: &'a [u8],
    pub(crate) digest: Option<Digest>,
    /// Empty if the tail end may not be shared.
    pub(crate) anchors: &'a [Anchor],
}

/// All fragment blocks so far, and the open block of each set.
#[derive(Debug)]
pub(crate) struct Fragments {
    /// Size of a complete fragment block in bytes.
    size: usize,
    /// Zeros complete the content of each block to a multiple of this number of bytes.
    unit: usize,
    pool: Arc<Buffers>,
    open: BTreeMap<u16, FragmentBuffer>,
    table: Vec<FragmentBlock>,
    /// The clusters of each fragment block, if blocks have clusters.
    clusters: Vec<Vec<Cluster>>,
    tails: Vec<Tail>,
    by_digest: HashTable<u32>,
    recent: RecentTails,
    /// Whether fragment blocks are looked up by the digests of their tail ends.
    looked_up: bool,
}

impl Fragments {
    /// `window` bounds the memory of the pipeline in bytes.
    pub(crate) fn new(options: &DataOptions, window: usize) -> Fragments {
        let size = options.fragment_size as usize;
        Fragments {
            size,
            unit: options.cluster_unit(),
            pool: Buffers::new(size, window),
            open: BTreeMap::new(),
            table: Vec::new(),
            clusters: Vec::new(),
            tails: Vec::new(),
            by_digest: HashTable::new(),
            recent: RecentTails::new(size),
            looked_up: options.looks_up,
        }
    }

    /// Returns the position of an equal tail end, or of an equal part of a recent one. Remembers the digest of such a part.
    pub(crate) fn find(&mut self, tail: &NewTail<'_>) -> Result<Option<TailPlace>, Error> {
        let Some(digest) = tail.digest else { return Ok(None) };
        let known = self.by_digest.find(digest.bits(), |&tail| self.tails[tail as usize].digest == digest);
        if let Some(&known) = known {
            return Ok(Some(self.tails[known as usize].place));
        }
        let part = self.recent.find(tail.content, tail.anchors);
        part.map_or(Ok(()), |place| self.remember(digest, place)).map(|()| part)
    }

    /// Adds a tail end to the open fragment block of a set. If the tail end does not fit, the block is closed first and returned. `permit` covers
    /// the raw copy and its compressed form. Later look-ups find the tail end if it may be shared.
    pub(crate) fn place(
        &mut self,
        tail: &NewTail<'_>,
        permit: Permit,
        rules: Rules,
    ) -> Result<(TailPlace, Option<FragmentBuffer>), Error> {
        let set = rules.fragment_set;
        let full = self.open.get(&set).is_some_and(|open| open.length + tail.content.len() > self.size);
        let closed = if full { self.open.remove(&set) } else { None };
        let closed = closed.map(|block| block.completed(self.unit));
        let place = self.append(tail.content, tail.digest, permit, set)?;
        if let Some(digest) = tail.digest.filter(|_| rules.deduplicate) {
            self.remember(digest, place)?;
            self.recent.keep(tail.content, tail.anchors, place);
        }
        Ok((place, closed))
    }

    /// Closes the open fragment blocks, in the order in which they were opened.
    pub(crate) fn close_all(&mut self) -> Vec<FragmentBuffer> {
        let open = std::mem::take(&mut self.open).into_values();
        let mut open: Vec<_> = open.map(|block| block.completed(self.unit)).collect();
        open.sort_by_key(|open| open.index);
        open
    }

    /// Records the position of a fragment block.
    pub(crate) fn committed(&mut self, index: u32, block: FragmentBlock, clusters: Vec<Cluster>) {
        self.table[index as usize] = block;
        if !clusters.is_empty() {
            self.clusters.resize(self.table.len(), Vec::new());
            self.clusters[index as usize] = clusters;
        }
    }

    /// Returns the fragment table and the clusters, and frees the memory that only packing needs.
    pub(crate) fn into_table(self) -> (Vec<FragmentBlock>, Vec<Vec<Cluster>>) {
        (self.table, self.clusters)
    }

    /// Memory in bytes, without the open blocks, which their permits cover.
    pub(crate) fn memory(&self) -> usize {
        self.tails.capacity() * size_of::<Tail>()
            + self.recent.memory()
            + self.by_digest.allocation_size()
            + self.table.capacity() * size_of::<FragmentBlock>()
    }

    fn append(
        &mut self,
        content: &[u8],
        digest: Option<Digest>,
        mut permit: Permit,
        set: u16,
    ) -> Result<TailPlace, Error> {
        let raw = permit.split(content.len());
        let open = match self.open.entry(set) {
            Entry::Occupied(open) => {
                let open = open.into_mut();
                open.raw.add_permit(raw);
                open.permit.merge(permit);
                open
            }
            Entry::Vacant(none) => {
                let index = u32::try_from(self.table.len()).map_err(|_| too_many_tails())?;
                self.table.push(FragmentBlock { start: 0, size_word: 0, length: 0 });
                let parts = self.looked_up.then_some(Digest::EMPTY);
                none.insert(FragmentBuffer { index, raw: self.pool.take(raw), length: 0, parts, permit })
            }
        };
        let place = TailPlace { fragment: open.index, offset: open.length as u32 };
        open.raw.bytes_mut()[open.length..open.length + content.len()].copy_from_slice(content);
        open.length += content.len();
        open.parts = open.parts.zip(digest).map(|(parts, digest)| parts.chain(&digest));
        Ok(place)
    }

    fn remember(&mut self, digest: Digest, place: TailPlace) -> Result<(), Error> {
        let number = u32::try_from(self.tails.len()).map_err(|_| too_many_tails())?;
        self.tails.push(Tail { digest, place });
        let tails = &self.tails;
        self.by_digest.insert_unique(digest.bits(), number, |&tail| tails[tail as usize].digest.bits());
        Ok(())
    }
}

fn too_many_tails() -> Error {
    Error::Limit { what: "the input has too many tail ends".into(), expected: format!("at most {}", u32::MAX) }
}
