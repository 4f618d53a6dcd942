//! What codes bits with: a model that guesses the next one and learns it.

use super::fault::Fault;

/// Guesses bits. Encoder and decoder each have one, which see the same bits.
pub(super) trait Predictor {
    /// The probability that the next bit is a one, 15 bits.
    fn predict(&mut self) -> u32;

    /// Learns the bit that was guessed. After eight, [`Predictor::finish`] must follow.
    fn update(&mut self, bit: u32);

    /// Learns that a byte is whole, and computes contexts for the next.
    ///
    /// # Errors
    /// What a program that came with the data did wrong.
    fn finish(&mut self, byte: u8) -> Result<(), Fault>;
}
