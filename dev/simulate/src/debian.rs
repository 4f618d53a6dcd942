//! File sizes of a Debian root file system in archive order, without contents.

use crate::random::Random;
use crate::workload::{Block, Item, Workload};

pub const BLOCK: f64 = 131_072.0;
/// Mean number of full blocks of a file that has any.
const RUN: f64 = 6.6;
/// Coefficient of variation of the fragments' sizes in one section.
const FRAGMENT_VARIATION: f64 = 1.2;
/// Sections of equal numbers of items of the tar that `cargo xtask corpus debian-root` makes: full blocks of 128 KiB,
/// fragments, KiB in fragments, and LZ4 1.9.4's time and output for each byte relative to their means. Counted once from the
/// headers of that tar. Large and small files alternate in sections much longer than a window, so that the caller and the
/// workers are the bottleneck in turn.
const SECTIONS: [(usize, usize, usize, f64, f64); 64] = [
    (95, 489, 10353, 1.12, 1.19),
    (331, 252, 10762, 1.09, 1.10),
    (247, 338, 6197, 0.99, 0.98),
    (3, 581, 5733, 0.78, 0.49),
    (3, 581, 3036, 1.22, 0.82),
    (0, 584, 3260, 1.07, 0.72),
    (312, 271, 1892, 1.03, 0.88),
    (423, 162, 2547, 0.98, 0.97),
    (485, 98, 1666, 1.04, 1.22),
    (545, 39, 1720, 1.03, 1.02),
    (582, 2, 128, 0.96, 0.88),
    (300, 285, 4990, 0.98, 0.95),
    (18, 566, 10577, 1.14, 0.96),
    (1, 583, 6003, 1.11, 0.82),
    (12, 572, 8352, 1.03, 0.85),
    (38, 546, 10942, 1.06, 0.76),
    (57, 527, 13575, 0.94, 0.72),
    (16, 568, 9029, 0.93, 0.65),
    (15, 569, 8055, 0.87, 0.62),
    (6, 578, 6777, 1.01, 0.76),
    (186, 398, 5914, 0.67, 0.63),
    (300, 284, 7992, 1.00, 1.05),
    (505, 78, 4536, 0.96, 1.09),
    (340, 245, 7767, 1.02, 0.96),
    (100, 484, 4883, 0.70, 0.79),
    (80, 504, 6214, 1.04, 1.07),
    (11, 573, 3850, 0.99, 0.85),
    (0, 584, 1205, 1.01, 0.84),
    (19, 565, 4472, 0.63, 1.46),
    (18, 566, 3061, 0.56, 1.51),
    (36, 548, 6474, 0.24, 1.70),
    (19, 564, 5149, 0.36, 1.61),
    (241, 342, 12348, 1.31, 1.20),
    (87, 497, 5725, 0.96, 1.19),
    (107, 478, 7051, 0.93, 0.82),
    (1, 583, 4217, 0.98, 1.24),
    (25, 559, 8243, 1.23, 1.00),
    (0, 584, 3799, 1.08, 0.67),
    (26, 558, 9092, 1.22, 0.96),
    (28, 556, 4597, 1.28, 0.90),
    (77, 507, 12952, 1.35, 0.98),
    (77, 507, 12470, 1.28, 0.96),
    (85, 499, 11118, 1.27, 0.97),
    (0, 584, 1881, 0.13, 1.94),
    (2, 582, 4285, 0.10, 1.94),
    (1, 583, 2726, 0.11, 1.94),
    (0, 584, 2222, 0.12, 1.94),
    (0, 584, 2042, 0.11, 1.94),
    (0, 584, 1833, 0.13, 1.94),
    (22, 562, 6104, 1.05, 0.85),
    (48, 535, 9654, 1.14, 0.89),
    (7, 578, 1854, 0.85, 0.68),
    (22, 562, 4212, 0.56, 1.27),
    (0, 584, 579, 0.68, 0.47),
    (0, 584, 706, 0.58, 0.41),
    (0, 584, 731, 0.56, 0.39),
    (51, 533, 6144, 1.22, 0.83),
    (47, 537, 3485, 1.23, 1.03),
    (24, 560, 5332, 1.07, 1.14),
    (2, 582, 4617, 1.03, 0.73),
    (0, 584, 833, 0.50, 0.51),
    (21, 563, 2573, 0.91, 0.74),
    (7, 577, 2039, 0.75, 0.57),
    (11, 572, 2427, 0.84, 0.73),
];

/// Cost of each byte and item, nanoseconds of a thread alone on the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Handling {
    /// The caller, each item: tar headers, tree entry, inode.
    pub item: f64,
    /// The caller, each byte read into a block.
    pub read: f64,
    /// The caller, each byte written.
    pub write: f64,
    /// The caller, each byte of a fragment copied into its block.
    pub pack: f64,
    /// A worker, each byte: search for zeros and hash.
    pub hash: f64,
}

/// A codec's time and output for each byte.
#[derive(Debug, Clone, PartialEq)]
pub struct Compression {
    /// A worker's nanoseconds; 0 for no compression.
    pub service: f64,
    /// Coefficient of variation of the blocks' times.
    pub variation: f64,
    /// Bytes out for each byte in.
    pub ratio: f64,
    /// Whether the time depends on the content: LZ4 skips ahead in incompressible data.
    pub content: bool,
    /// Cache demand, see [`Machine::speed`](crate::machine::Machine::speed).
    pub demand: f64,
}

pub fn tree(handling: &Handling, compression: &Compression) -> Workload {
    let filled = 0.0;
    let mut tree = Tree {
        handling,
        compression,
        random: Random::new(1),
        filled,
        effort: 1.0,
        output: 1.0,
        work: Workload::default(),
    };
    for &(blocks, fragments, kib, effort, output) in &SECTIONS {
        tree.effort = if compression.content { effort } else { 1.0 };
        tree.output = if compression.ratio < 1.0 { output } else { 1.0 };
        tree.section(blocks, fragments, kib as f64 * 1024.0 / fragments as f64);
    }
    tree.work.demands = [0.0, 0.0, compression.demand];
    tree.work
}

struct Tree<'a> {
    handling: &'a Handling,
    compression: &'a Compression,
    random: Random,
    /// Bytes in the open block of fragments.
    filled: f64,
    /// Time and output of this section relative to the mean.
    effort: f64,
    output: f64,
    work: Workload,
}

impl Tree<'_> {
    /// Runs of blocks, with the fragments distributed between them.
    fn section(&mut self, blocks: usize, fragments: usize, size: f64) {
        let mut blocks_left = blocks;
        let mut fragments_left = fragments;
        while blocks_left + fragments_left > 0 {
            let run = ((1.0 - RUN * (1.0 - self.random.unit()).ln()) as usize).min(blocks_left);
            (0..run).for_each(|_| self.full_block());
            blocks_left -= run;
            let keep = fragments * blocks_left / blocks.max(1);
            (keep..fragments_left).for_each(|_| self.fragment(size));
            fragments_left = keep.min(fragments_left);
        }
    }

    fn full_block(&mut self) {
        let block = self.compressed(BLOCK, 0.0);
        self.item(BLOCK, true, 0.0, &[block]);
    }

    fn fragment(&mut self, mean: f64) {
        let bytes = (mean * self.random.spread(FRAGMENT_VARIATION)).clamp(1.0, BLOCK - 1.0).floor();
        let decide = bytes * self.handling.pack;
        if self.filled + bytes <= BLOCK {
            self.filled += bytes;
            return self.item(bytes, false, decide, &[]);
        }
        let full = std::mem::replace(&mut self.filled, bytes);
        // The full block is hashed again for the comparison with later ones.
        let block = self.compressed(full, full * self.handling.hash);
        self.item(bytes, false, decide + full * self.handling.pack, &[block]);
    }

    fn compressed(&mut self, bytes: f64, hash: f64) -> Block {
        let Compression { service, variation, ratio, .. } = *self.compression;
        let time = bytes * service * self.effort * self.random.spread(variation) + hash;
        let bytes_out = bytes * (ratio * self.output).min(1.0);
        let compress = (time > 0.0).then_some(time);
        Block { bytes_in: bytes, bytes_out, compress, commit: bytes_out * self.handling.write }
    }

    fn item(&mut self, bytes: f64, whole: bool, decide: f64, blocks: &[Block]) {
        let Handling { item, read, hash, .. } = *self.handling;
        let item = Item { bytes, read: item + bytes * read, hash: bytes * hash, decide, whole, first: 0, blocks: 0 };
        self.work.add(item, blocks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HANDLING: Handling = Handling { item: 100.0, read: 1.0, write: 2.0, pack: 0.5, hash: 0.25 };

    #[test]
    fn sizes_and_work_add_up() {
        let compression = Compression { service: 10.0, variation: 0.3, ratio: 0.5, content: true, demand: 0.1 };
        let work = tree(&HANDLING, &compression);
        assert_eq!(work.items.len(), 37_374);
        let bytes: f64 = work.items.iter().map(|item| item.bytes).sum();
        let packed: f64 = work.blocks.iter().map(|block| block.bytes_in).sum();
        assert!((1.1e9..1.2e9).contains(&bytes) && bytes > packed && bytes - packed < BLOCK);
        let compressed = work.worker_work() - bytes * 0.25;
        assert!((compressed / packed / 10.0 - 1.0).abs() < 0.05, "{}", compressed / packed);
        let out: f64 = work.blocks.iter().map(|block| block.bytes_out).sum();
        assert!((out / packed / 0.5 - 1.0).abs() < 0.05, "{}", out / packed);
        let written: f64 = work.blocks.iter().map(|block| block.commit).sum();
        assert!((written / out / 2.0 - 1.0).abs() < 1e-9);
        assert_eq!(work.demands, [0.0, 0.0, 0.1]);
    }

    #[test]
    fn compress_jobs_belong_to_their_items() {
        let none = Compression { service: 0.0, variation: 0.0, ratio: 1.0, content: false, demand: 0.0 };
        let work = tree(&HANDLING, &none);
        let mut next = 0;
        for item in &work.items {
            assert_eq!(item.first, next);
            assert!(!item.whole || (item.blocks == 1 && work.blocks[item.first].compress.is_none()));
            next += item.blocks;
        }
        assert_eq!(next, work.blocks.len());
        assert_eq!(tree(&HANDLING, &none), work);
    }
}
