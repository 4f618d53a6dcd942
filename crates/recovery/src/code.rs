//! The Reed-Solomon code. It works on columns of shards; a column is the same byte range of every shard.
//!
//! The code is the "high rate" of `reed-solomon-simd`, over GF(2^16). The library's encoder holds all shards. [`Encoder`] adds chunks of
//! shards to each other, so that it holds only two chunks; a chunk has at least as many shards as there are recovery shards. A column is
//! encoded in blocks that fit into a cache.

use std::ops::Range;

use reed_solomon_simd::engine::{DefaultEngine, Engine, ShardsRefMut, utils::xor};
use reed_solomon_simd::rate::{HighRateDecoder, RateDecoder};

use packline_runtime::TaskError;

use crate::Error;
use crate::format::shape::UNIT;

/// Bytes of a chunk's block; a second-level cache holds them.
const CACHED: usize = 512 << 10;
/// Upper bound for the bytes of a shard in a block.
const BLOCK_MOST: usize = 1 << 10;
/// Bytes of the library's tables.
pub(crate) const TABLES: u64 = 10 << 20;

type Unit = [u8; UNIT as usize];

/// Fills a buffer with a column of the shard that has this index.
type ReadColumn<'r> = dyn FnMut(usize, &mut [u8]) -> Result<(), Error> + 'r;

/// Calculates columns of recovery shards.
pub(crate) struct Encoder {
    engine: DefaultEngine,
    /// Shards in a chunk.
    chunk: usize,
    recovery: usize,
    /// Units of each shard in a block.
    block: usize,
    sum: Vec<Unit>,
    next: Vec<Unit>,
    row: Vec<u8>,
}

impl Encoder {
    pub(crate) fn new(recovery: usize) -> Encoder {
        let chunk = recovery.next_power_of_two();
        let block = (CACHED / chunk).clamp(UNIT as usize, BLOCK_MOST) / UNIT as usize;
        let engine = DefaultEngine::new();
        let sum = Vec::new();
        let next = Vec::new();
        let row = Vec::new();
        Encoder { engine, chunk, recovery, block, sum, next, row }
    }

    /// Returns the bytes of memory for columns of `width` bytes.
    pub(crate) fn memory(recovery: usize, width: u64) -> u64 {
        2 * recovery.next_power_of_two() as u64 * width + width
    }

    /// Returns the columns of all recovery shards, one after another, calculated from `shards` shards. `read` fills a column of a shard;
    /// `width` is a multiple of [`UNIT`].
    ///
    /// # Errors
    /// Returns the error of `read`.
    pub(crate) fn encode(&mut self, shards: usize, width: usize, read: &mut ReadColumn<'_>) -> Result<Vec<u8>, Error> {
        let units = width / UNIT as usize;
        self.row.resize(width, 0);
        self.sum.resize(self.chunk * units, [0; UNIT as usize]);
        for first in (0..shards).step_by(self.chunk) {
            let rows = self.chunk.min(shards - first);
            let mut buffer = std::mem::take(if first == 0 { &mut self.sum } else { &mut self.next });
            buffer.resize(self.chunk * units, [0; UNIT as usize]);
            for row in 0..rows {
                read(first + row, &mut self.row)?;
                self.put(row, &mut buffer);
            }
            self.transform(&mut buffer, rows, first);
            if first == 0 {
                self.sum = buffer;
            } else {
                xor(&mut self.sum, &buffer);
                self.next = buffer;
            }
        }
        Ok(self.finish(width))
    }

    /// Iterates over the blocks of a chunk of columns of `units` units: the units of each shard, and their range in the chunk.
    fn blocks(&self, units: usize) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<> {
        let chunk = self.chunk;
        let block = self.block;
        (0..units).step_by(block).map(move |start| {
            let end = units.min(start + block);
            (start..end, chunk * start..chunk * end)
        })
    }

    fn put(&self, row: usize, buffer: &mut [Unit]) {
        let (units, _) = self.row.as_chunks();
        for (part, block) in self.blocks(units.len()) {
            let at = block.start + row * part.len();
            buffer[at..at + part.len()].copy_from_slice(&units[part]);
        }
    }

    /// Turns shards `first..first + rows` into coefficients.
    fn transform(&self, buffer: &mut [Unit], rows: usize, first: usize) {
        let units = buffer.len() / self.chunk;
        for (part, block) in self.blocks(units) {
            let block = &mut buffer[block];
            block[rows * part.len()..].fill([0; UNIT as usize]);
            let mut shards = ShardsRefMut::new(self.chunk, part.len(), block);
            self.engine.ifft(&mut shards, 0, self.chunk, rows, first + self.chunk);
        }
    }

    /// Calculates the recovery shards from the sum of all chunks' coefficients.
    fn finish(&mut self, width: usize) -> Vec<u8> {
        let mut columns = vec![0; self.recovery * width];
        for (part, block) in self.blocks(width / UNIT as usize) {
            let block = &mut self.sum[block];
            let mut shards = ShardsRefMut::new(self.chunk, part.len(), block);
            self.engine.fft(&mut shards, 0, self.chunk, self.recovery, 0);
            for (shard, column) in block.chunks(part.len()).zip(columns.chunks_mut(width)) {
                let bytes = part.start * UNIT as usize..part.end * UNIT as usize;
                column[bytes].copy_from_slice(shard.as_flattened());
            }
        }
        columns
    }
}

/// The shards that a repair uses: exactly as many as there are data shards.
#[derive(Debug, Clone)]
pub(crate) struct Erasures {
    pub(crate) shards: usize,
    pub(crate) recovery: usize,
    /// Indexes of the data shards to calculate.
    pub(crate) lost: Vec<usize>,
    /// Indexes of the recovery shards that are used, as many as there are lost shards.
    pub(crate) used: Vec<usize>,
}

/// Calculates columns of lost shards.
pub(crate) struct Decoder {
    decoder: HighRateDecoder<DefaultEngine>,
    /// Bytes of each shard that are decoded at once.
    block: usize,
}

impl Decoder {
    /// The number of shards in the library's working space.
    fn space(shards: usize, recovery: usize) -> usize {
        (recovery.next_power_of_two() + shards).next_power_of_two()
    }

    /// Returns how many bytes of each shard are decoded at once: a divisor of `width`.
    fn block(width: usize) -> usize {
        [512, 256, 128].into_iter().find(|block| width.is_multiple_of(*block)).unwrap_or(UNIT as usize)
    }

    /// Returns the bytes of memory for columns of `width` bytes.
    pub(crate) fn memory(shards: usize, recovery: usize, width: u64) -> u64 {
        shards as u64 * width + (Decoder::space(shards, recovery) * Decoder::block(width as usize)) as u64
    }

    /// # Errors
    /// Returns an internal error if the library rejects the counts.
    pub(crate) fn new(erasures: &Erasures, width: usize) -> Result<Decoder, Error> {
        let block = Decoder::block(width);
        let engine = DefaultEngine::new();
        let decoder = HighRateDecoder::new(erasures.shards, erasures.recovery, block, engine, None)?;
        Ok(Decoder { decoder, block })
    }

    /// Returns the columns of the lost shards, one after another, each of `width` bytes. `known` holds the columns of the data shards that
    /// are not lost, in order, and then those of the used recovery shards.
    ///
    /// # Errors
    /// Returns an internal error if the library rejects the shards.
    pub(crate) fn decode(&mut self, erasures: &Erasures, known: &[u8], width: usize) -> Result<Vec<u8>, Error> {
        let mut columns = vec![0; erasures.lost.len() * width];
        for start in (0..width).step_by(self.block) {
            let bytes = start..start + self.block;
            let mut rows = known.chunks(width);
            let mut lost = erasures.lost.iter().copied().peekable();
            for index in 0..erasures.shards {
                if lost.next_if_eq(&index).is_none() {
                    let row = rows.next().unwrap_or_default();
                    self.decoder.add_original_shard(index, &row[bytes.clone()])?;
                }
            }
            for (&index, row) in erasures.used.iter().zip(rows) {
                self.decoder.add_recovery_shard(index, &row[bytes.clone()])?;
            }
            let found = self.decoder.decode()?;
            for (&index, column) in erasures.lost.iter().zip(columns.chunks_mut(width)) {
                let restored = found.restored_original(index);
                let shard = restored.ok_or_else(|| Error::internal(format!("shard {index} was not decoded")))?;
                column[bytes.clone()].copy_from_slice(shard);
            }
        }
        Ok(columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reed_solomon_simd::engine::Naive;
    use reed_solomon_simd::rate::{HighRateEncoder, RateEncoder};

    fn shards(count: usize, width: usize) -> Vec<Vec<u8>> {
        let byte = |shard: usize, at: usize| ((shard * 7919 + at * 104_729) >> 5) as u8;
        (0..count).map(|shard| (0..width).map(|at| byte(shard, at)).collect()).collect()
    }

    fn encoded(shards: &[Vec<u8>], recovery: usize, width: usize) -> Vec<Vec<u8>> {
        let mut encoder = Encoder::new(recovery);
        let slices = (0..shards[0].len()).step_by(width).map(|start| {
            let columns = encoder.encode(shards.len(), width, &mut |shard, row| {
                row.copy_from_slice(&shards[shard][start..start + width]);
                Ok(())
            });
            columns.unwrap()
        });
        let mut whole = vec![Vec::new(); recovery];
        for columns in slices {
            whole.iter_mut().zip(columns.chunks(width)).for_each(|(shard, column)| shard.extend_from_slice(column));
        }
        whole
    }

    #[test]
    fn recovery_shards_equal_those_of_the_library_for_any_width() {
        for (count, recovery) in [(1, 1), (1, 5), (5, 1), (7, 3), (16, 4), (3, 8), (100, 6), (40, 40)] {
            let shards = shards(count, 2048);
            let engine = Naive::new();
            let mut library = HighRateEncoder::new(count, recovery, 2048, engine, None).unwrap();
            shards.iter().for_each(|shard| library.add_original_shard(shard).unwrap());
            let expected: Vec<Vec<u8>> = library.encode().unwrap().recovery_iter().map(<[u8]>::to_vec).collect();
            for width in [64, 512, 2048] {
                assert!(encoded(&shards, recovery, width) == expected, "{count}+{recovery}, {width}");
            }
        }
    }

    #[test]
    fn repairs_as_many_shards_as_there_are_recovery_shards() {
        for (count, recovery, lost, used) in [
            (1, 1, vec![0], vec![0]),
            (9, 3, vec![0, 4, 8], vec![0, 1, 2]),
            (9, 3, vec![2], vec![1]),
            (4, 4, vec![0, 1, 2, 3], vec![0, 1, 2, 3]),
            (20, 5, vec![3, 19], vec![0, 4]),
        ] {
            let shards = shards(count, 1024);
            let width = 1024;
            let parity = encoded(&shards, recovery, 1024);
            let erasures = Erasures { shards: count, recovery, lost: lost.clone(), used: used.clone() };
            let mut known: Vec<u8> = Vec::new();
            (0..count).filter(|index| !lost.contains(index)).for_each(|index| known.extend_from_slice(&shards[index]));
            used.iter().for_each(|&index| known.extend_from_slice(&parity[index]));
            let mut decoder = Decoder::new(&erasures, width).unwrap();
            for _ in 0..2 {
                let found = decoder.decode(&erasures, &known, width).unwrap();
                let expected: Vec<u8> = lost.iter().flat_map(|&index| shards[index].clone()).collect();
                assert!(found == expected, "{count}+{recovery}");
            }
        }
    }
}
