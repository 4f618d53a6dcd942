//! Positions of the data of an image: block lists, files and fragment blocks.

pub use packline_cache::{Cluster, STORED_BLOCK};

use crate::blocks::too_many_blocks;
use crate::{DataOptions, Error};

/// Position of a tail end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TailPlace {
    /// Index into [`DataLayout::fragments`].
    pub fragment: u32,
    /// Offset in bytes in the uncompressed fragment block.
    pub offset: u32,
}

/// Position of a file's content. Files with the same content may share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLayout {
    /// File size in bytes, holes included.
    pub size: u64,
    /// Bytes of the file that are in sparse (zero) blocks.
    pub sparse: u64,
    /// Absolute offset of the first data block in the image; 0 if no block is stored.
    pub start: u64,
    /// First of the file's blocks in [`DataLayout::sizes`] or [`DataLayout::numbers`].
    pub first_block: u64,
    /// Number of blocks: size / block size, rounded up; of the size without the tail end, if the file has one. A tail end of zeros may be one
    /// block more.
    pub blocks: u32,
    /// The tail end, if it is in a fragment block.
    pub tail: Option<TailPlace>,
}

/// One fragment block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentBlock {
    /// Absolute offset in the image.
    pub start: u64,
    /// Size on disk, with [`STORED_BLOCK`] if it is not compressed.
    pub size_word: u32,
    /// Length of the uncompressed block in bytes.
    pub length: u32,
}

/// Position of a data block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockPlace {
    /// Absolute offset in the image. Of no meaning for a hole.
    pub start: u64,
    /// Size on disk, with [`STORED_BLOCK`] if it is not compressed; 0 for a hole.
    pub size_word: u32,
}

impl BlockPlace {
    pub fn is_hole(&self) -> bool {
        self.size_word == 0
    }

    /// Returns the size on disk in bytes.
    pub fn size(&self) -> u32 {
        self.size_word & !STORED_BLOCK
    }

    pub fn is_compressed(&self) -> bool {
        self.size_word & STORED_BLOCK == 0
    }
}

/// A part of a content that is decoded at once: a cluster, a block that has none, or a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Bytes of content.
    pub length: u32,
    pub place: BlockPlace,
}

/// The places of stored blocks, by number: 12 bytes for each, and 12 for a block with one cluster.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct BlockTable {
    starts: Vec<u64>,
    size_words: Vec<u32>,
    /// For each block the number of clusters up to its end. May be shorter: the last blocks then have no clusters.
    cluster_ends: Vec<u32>,
    clusters: Vec<Cluster>,
}

impl BlockTable {
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Returns the place of a block, if there is one with this number.
    pub fn get(&self, number: u32) -> Option<BlockPlace> {
        let start = *self.starts.get(number as usize)?;
        Some(BlockPlace { start, size_word: *self.size_words.get(number as usize)? })
    }

    /// Returns the clusters of a block. An uncompressed block has none.
    pub fn clusters(&self, number: u32) -> &[Cluster] {
        let end = |number: u32| self.cluster_ends.get(number as usize).map(|end| *end as usize);
        let start = number.checked_sub(1).map_or(Some(0), end);
        start.zip(end(number)).map_or(&[], |(start, end)| &self.clusters[start..end])
    }

    /// Adds a block.
    ///
    /// # Errors
    /// The table has 2^32 clusters.
    pub(crate) fn push(&mut self, place: BlockPlace, clusters: &[Cluster]) -> Result<(), Error> {
        if !clusters.is_empty() {
            let end = |count: usize| u32::try_from(count).map_err(|_| too_many_blocks());
            self.cluster_ends.resize(self.starts.len(), end(self.clusters.len())?);
            self.clusters.extend(clusters);
            self.cluster_ends.push(end(self.clusters.len())?);
        }
        self.starts.push(place.start);
        self.size_words.push(place.size_word);
        Ok(())
    }

    pub(crate) fn memory(&self) -> usize {
        self.starts.capacity() * (size_of::<u64>() + size_of::<u32>())
            + self.cluster_ends.capacity() * size_of::<u32>()
            + self.clusters.capacity() * size_of::<Cluster>()
    }
}

/// The data area as written: input for inodes and the fragment table.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DataLayout {
    /// Files in the order in which they were added; the payload of a file in the tree is an index into this.
    pub files: Vec<FileLayout>,
    /// With [`Sharing::Runs`](crate::Sharing::Runs): size words of all data blocks, with [`STORED_BLOCK`]; 0 is a sparse block. The blocks of a
    /// file follow each other in the image.
    pub sizes: Vec<u32>,
    /// With [`Sharing::Blocks`](crate::Sharing::Blocks): for each block of each file 1 + its number in `places`; 0 is a sparse block.
    pub numbers: Vec<u32>,
    /// With [`Sharing::Blocks`](crate::Sharing::Blocks): the stored blocks.
    pub places: BlockTable,
    /// Fragment blocks in table order.
    pub fragments: Vec<FragmentBlock>,
    /// With [`DataOptions::cluster_size`]: the clusters of each fragment block. An uncompressed fragment block has none.
    pub fragment_clusters: Vec<Vec<Cluster>>,
    /// First byte after the data area: where the inode table starts.
    pub end: u64,
}

impl DataLayout {
    /// Returns the parts of the content of one of the files that are decoded at once, in order, without its tail end.
    pub fn extents(&self, file: &FileLayout, options: &DataOptions) -> impl Iterator<Item = Extent> {
        let (block_size, tail) = (u64::from(options.block_size), file.size % options.tail_unit() as u64);
        // A tail end of zeros is a hole of its own.
        let is_cut = file.tail.is_some() || u64::from(file.blocks) > file.size.div_ceil(block_size);
        let body = file.size - if is_cut { tail } else { 0 };
        let lengths = (0..).map(move |index| match body.saturating_sub(index * block_size) {
            0 => tail as u32,
            left => left.min(block_size) as u32,
        });
        let range = file.first_block as usize..file.first_block as usize + file.blocks as usize;
        let numbers = self.numbers.get(range).unwrap_or_default().iter().map(|number| number.checked_sub(1));
        let clusters = numbers.map(move |number| number.map_or(&[][..], |number| self.places.clusters(number)));
        // Without numbers there are no clusters.
        let clusters = clusters.chain(std::iter::repeat(&[][..]));
        self.blocks(file)
            .zip(lengths)
            .zip(clusters)
            .flat_map(|((place, length), clusters)| split(place, length, clusters))
    }

    /// Returns the parts of a fragment block that are decoded at once, in order; none if there is no block with this index.
    pub fn fragment_extents(&self, index: u32) -> impl Iterator<Item = Extent> {
        let clusters = self.fragment_clusters.get(index as usize).map_or(&[][..], Vec::as_slice);
        self.fragments.get(index as usize).into_iter().flat_map(move |block| {
            split(BlockPlace { start: block.start, size_word: block.size_word }, block.length, clusters)
        })
    }

    /// With [`Sharing::Blocks`](crate::Sharing::Blocks), returns the number of a file's last block in [`DataLayout::places`]; `None` for a hole, or
    /// without blocks.
    pub fn last_block(&self, file: &FileLayout) -> Option<u32> {
        let end = file.first_block as usize + file.blocks as usize;
        let number = self.numbers.get(file.first_block as usize..end)?.last()?;
        number.checked_sub(1)
    }

    /// Returns the places of all blocks of one of the files, holes included.
    pub fn blocks(&self, file: &FileLayout) -> impl Iterator<Item = BlockPlace> {
        let range = file.first_block as usize..file.first_block as usize + file.blocks as usize;
        let sizes = self.sizes.get(range.clone()).unwrap_or_default();
        let consecutive = sizes.iter().scan(file.start, |start, &size_word| {
            let place = BlockPlace { start: *start, size_word };
            *start += u64::from(place.size());
            Some(place)
        });
        let numbers = self.numbers.get(range).unwrap_or_default();
        let hole = BlockPlace { start: 0, size_word: 0 };
        let anywhere = numbers.iter().map(move |number| match number.checked_sub(1) {
            Some(number) => self.places.get(number).unwrap_or(hole),
            None => hole,
        });
        consecutive.chain(anywhere)
    }
}

/// Splits a block into its clusters.
pub(crate) fn split(block: BlockPlace, length: u32, clusters: &[Cluster]) -> impl Iterator<Item = Extent> {
    let whole = clusters.is_empty().then_some(Extent { length, place: block });
    let parts = clusters.iter().scan(block.start, |start, cluster| {
        let place = BlockPlace { start: *start, size_word: cluster.size_word };
        *start += u64::from(cluster.size());
        Some(Extent { length: cluster.length, place })
    });
    whole.into_iter().chain(parts)
}
