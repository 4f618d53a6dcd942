//! The interface between the coder and a model.

use crate::zpaq::fault::Fault;

/// Predicts bits. Encoder and decoder each have one and pass it the same bits.
pub(in crate::zpaq) trait Predictor {
    /// The probability that the next bit is a one, 15 bits.
    fn predict(&mut self) -> u32;

    /// Updates with the coded bit. After eight, [`Predictor::finish`] must follow.
    fn update(&mut self, bit: u32);

    /// Ends a byte, and computes contexts for the next.
    ///
    /// # Errors
    /// A fault of a program stored with the data.
    fn finish(&mut self, byte: u8) -> Result<(), Fault>;
}
