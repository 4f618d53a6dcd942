//! Estimates from samples whether a block is compressible. The estimate is a pure function of the block's bytes.

use packline_codec::{CodecError, Encoder, Lz4Params, Outcome, Spec};

/// Bytes of a sample.
const SAMPLE: usize = 4 << 10;
/// Distance between two samples, in bytes. A sixteenth of a block is examined.
const STRIDE: usize = 64 << 10;
/// The sum of squares of the bytes' counts, in hundredths of its minimum. Uniformly distributed bytes, such as compressed data, stay below
/// this bound; less uniform bytes are compressible.
const EVEN: u64 = 103;

/// The test, with its encoder.
pub(super) struct Probe {
    lz4: Box<dyn Encoder>,
    buffer: Vec<u8>,
}

impl Probe {
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub(super) fn new() -> Result<Probe, CodecError> {
        Ok(Probe { lz4: Spec::Lz4(Lz4Params::default()).encoder(SAMPLE)?, buffer: vec![0; SAMPLE] })
    }

    /// Whether a block may be compressible: a sample has repeats, or the bytes are not uniformly distributed.
    ///
    /// # Errors
    /// Returns the error of LZ4, which does not occur.
    pub(super) fn promises(&mut self, block: &[u8]) -> Result<bool, CodecError> {
        let mut counts = [0u64; 256];
        for sample in block.chunks(STRIDE).map(|stride| &stride[..stride.len().min(SAMPLE)]) {
            if matches!(self.lz4.compress(sample, &mut self.buffer)?, Outcome::Smaller(_)) {
                return Ok(true);
            }
            sample.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
        }
        Ok(!even(&counts))
    }
}

/// Whether bytes with these counts look random. For few bytes the result is false, because chance alone makes the counts uneven.
fn even(counts: &[u64; 256]) -> bool {
    let total: u64 = counts.iter().sum();
    let squares: u64 = counts.iter().map(|count| count * count).sum();
    // The minimum is total² / 256; the sum for random bytes is larger by about the total.
    squares * 256 * 100 <= total * total * EVEN
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reproducible pseudo-random bytes (xorshift64*).
    fn random(size: usize) -> Vec<u8> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 56) as u8
        };
        (0..size).map(|_| next()).collect()
    }

    fn promises(block: &[u8]) -> bool {
        Probe::new().unwrap().promises(block).unwrap()
    }

    #[test]
    fn random_bytes_are_incompressible() {
        assert!(!promises(&random(1 << 20)));
        assert!(!promises(&random(3 << 20)));
    }

    #[test]
    fn a_little_text_among_random_bytes_is_compressible() {
        let mut bytes = random(2 << 20);
        bytes[STRIDE * 5..STRIDE * 6].fill(b'x');
        assert!(promises(&bytes));
    }

    #[test]
    fn bytes_of_few_values_without_repeats_are_compressible() {
        let sixteen: Vec<u8> = random(1 << 20).iter().map(|byte| byte & 0xf7).collect();
        assert!(promises(&sixteen));
    }

    #[test]
    fn short_blocks_count_as_compressible() {
        assert!(promises(&random(100)));
    }
}
