//! One logical cluster of a file, as both indexes describe it.

/// Set in the distance of the first cluster after a head: the other bits are the number of blocks.
pub(super) const HAS_BLOCKS: u16 = 1 << 11;

/// How the content of an extent is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Head {
    /// As it is.
    Plain,
    /// Compressed by the first algorithm of the file.
    First,
    /// Compressed by the second algorithm of the file.
    Second,
}

impl Head {
    /// Returns the head of a type; `None` for a cluster without one.
    pub(super) fn of_type(number: u8) -> Option<Head> {
        match number & 3 {
            0 => Some(Head::Plain),
            1 => Some(Head::First),
            2 => None,
            _ => Some(Head::Second),
        }
    }
}

/// Returns the compressed bytes of a cluster without the zeros before them, which are in the first block. `None` if the first block has only zeros.
pub(crate) fn without_padding(stored: &[u8], first_block: usize) -> Option<&[u8]> {
    let zeros = stored.iter().take(first_block).position(|byte| *byte != 0)?;
    stored.get(zeros..)
}

/// Most logical clusters of a distance; longer ways have several distances.
pub(super) const DISTANCE_MOST: u16 = HAS_BLOCKS - 1;

/// A logical cluster, as an index is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    pub(crate) cluster: Cluster,
    /// Distance to the next start, or to the end of the index, at most 2047. Used if no extent starts in the logical cluster.
    pub(crate) next: u16,
}

impl IndexEntry {
    pub(crate) fn start(start: Start) -> IndexEntry {
        IndexEntry { cluster: Cluster::Start(start), next: 0 }
    }

    /// A logical cluster inside of an extent. `back`, `next`: numbers of logical clusters to its start and to the next one.
    pub(crate) fn inside(back: u64, next: u64, blocks: Option<u16>) -> IndexEntry {
        let most = u64::from(DISTANCE_MOST);
        let inside = Inside { back: back.min(most) as u32, blocks };
        IndexEntry { cluster: Cluster::Inside(inside), next: next.min(most) as u16 }
    }
}

/// A logical cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cluster {
    /// An extent starts in it.
    Start(Start),
    /// All of it belongs to an extent that started before.
    Inside(Inside),
}

impl Cluster {
    /// Returns the type in an index.
    pub(super) fn type_number(self) -> u16 {
        match self {
            Cluster::Start(Start { head: Head::Plain, .. }) => 0,
            Cluster::Start(Start { head: Head::First, .. }) => 1,
            Cluster::Inside(_) => 2,
            Cluster::Start(Start { head: Head::Second, .. }) => 3,
        }
    }
}

/// The start of an extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) head: Head,
    /// Offset of the extent in the logical cluster in bytes.
    pub(crate) offset: u32,
    /// Number of the first block.
    pub(crate) block: u64,
    /// Whether the stored cluster may have more content than the extent.
    pub(crate) is_partial: bool,
}

/// A logical cluster in which no extent starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Inside {
    /// Distance to an earlier logical cluster of the extent, at most to the one in which it starts.
    pub(crate) back: u32,
    /// Number of blocks, in the first logical cluster after the start.
    pub(crate) blocks: Option<u16>,
}

impl Inside {
    /// Encodes the distance, or the number of blocks.
    pub(super) fn distance(self) -> u16 {
        self.blocks.map_or(self.back.min(DISTANCE_MOST.into()) as u16, |blocks| HAS_BLOCKS | blocks)
    }

    /// Decodes a distance.
    pub(super) fn of(distance: u16) -> Inside {
        if distance & HAS_BLOCKS == 0 {
            return Inside { back: distance.into(), blocks: None };
        }
        Inside { back: 1, blocks: Some(distance & !HAS_BLOCKS) }
    }
}
