//! MATCH: predicts the byte that followed the last occurrence of a context.

use crate::zpaq::model::position::Position;
use crate::zpaq::model::tables::stretch;

/// Maximum counted length of a match in bytes.
const LONGEST: u32 = 255;

/// A match model: an index of contexts, and a ring of recent bytes.
pub(in crate::zpaq) struct Match {
    /// Position of each context's last occurrence.
    index: Vec<u32>,
    ring: Vec<u8>,
    /// The index entry of the context. It is loaded a byte before it is needed, because it is seldom in a cache.
    slot: usize,
    candidate: u32,
    /// Position of the byte that is being coded.
    at: u32,
    /// Distance of the match.
    distance: u32,
    /// Length of the match so far, up to [`LONGEST`]; 0 without a match.
    length: u32,
    /// The predicted byte.
    expected: u32,
    /// The logits of a one, if a zero is predicted and if a one is predicted; zero without a match.
    beliefs: [i32; 2],
}

impl Match {
    /// Memory with an index of `1 << index_bits` contexts and a ring of `1 << ring_bits` bytes.
    pub(in crate::zpaq) fn memory(index_bits: u8, ring_bits: u8) -> u64 {
        (4 << index_bits) + (1 << ring_bits)
    }

    /// An index of `1 << index_bits` contexts and a ring of `1 << ring_bits` bytes.
    pub(in crate::zpaq) fn new(index_bits: u8, ring_bits: u8) -> Self {
        let index = vec![0; 1 << index_bits];
        let ring = vec![0; 1 << ring_bits];
        Match { index, ring, slot: 0, candidate: 0, at: 0, distance: 0, length: 0, expected: 0, beliefs: [0; 2] }
    }

    #[inline]
    fn bit(&self, position: &Position) -> u32 {
        self.expected >> (7 - position.bits()) & 1
    }

    /// The logit of the next bit.
    #[inline]
    pub(in crate::zpaq) fn predict(&self, position: &Position) -> i32 {
        self.beliefs[self.bit(position) as usize]
    }

    /// Updates with the coded bit: a wrong prediction ends the match.
    #[inline]
    pub(in crate::zpaq) fn update(&mut self, position: &Position, bit: u32) {
        if self.bit(position) != bit {
            self.length = 0;
            self.beliefs = [0; 2];
        }
    }

    /// Adds a complete byte. [`Match::set_context`] must follow.
    #[inline]
    pub(in crate::zpaq) fn finish(&mut self, byte: u8) {
        let mask = (self.ring.len() - 1) as u32;
        self.ring[(self.at & mask) as usize] = byte;
        self.at = self.at.wrapping_add(1) & mask;
        if self.length == 0 {
            self.distance = self.at.wrapping_sub(self.candidate);
            self.length = if self.distance & mask == 0 { 0 } else { self.matching() };
        } else {
            self.length += u32::from(self.length < LONGEST);
        }
        self.index[self.slot] = self.at;
        self.expected = u32::from(self.back(self.distance));
        self.beliefs = beliefs(self.length);
    }

    /// Sets the context of the next byte.
    #[inline]
    pub(in crate::zpaq) fn set_context(&mut self, context: u32) {
        self.slot = context as usize & (self.index.len() - 1);
        self.candidate = self.index[self.slot];
    }

    #[inline]
    fn back(&self, distance: u32) -> u8 {
        self.ring[self.at.wrapping_sub(distance) as usize & (self.ring.len() - 1)]
    }

    /// Number of bytes before the current position that equal the bytes before the candidate.
    fn matching(&self) -> u32 {
        let same = |back: &u32| self.back(*back) == self.back(back.wrapping_add(self.distance));
        (1..=LONGEST).take_while(same).count() as u32
    }
}

/// The logits of a one, if a match of `length` bytes predicts a zero and if it predicts a one.
#[inline]
fn beliefs(length: u32) -> [i32; 2] {
    let Some(doubt) = 2048u32.checked_div(length) else {
        return [0; 2];
    };
    [stretch(doubt), stretch(32768 - doubt)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Codes a byte, after which the context is `next`.
    fn code(model: &mut Match, byte: u8, next: u32) {
        let mut position = Position::start();
        for at in (0..8).rev() {
            let bit = u32::from(byte) >> at & 1;
            model.update(&position, bit);
            position.step(bit);
        }
        model.finish(byte);
        model.set_context(next);
    }

    #[test]
    fn predicts_repeats_until_a_miss() {
        let mut model = Match::new(8, 8);
        assert_eq!(model.predict(&Position::start()), 0, "nothing is known yet");
        for byte in [200, 4, 5, 200, 4, 5] {
            code(&mut model, byte, u32::from(byte));
        }
        assert_eq!((model.distance, model.length, model.expected), (3, 3, 200));
        assert!(model.predict(&Position::start()) > 0, "the first bit of 200 is a one");
        code(&mut model, 9, 0);
        assert_eq!(model.length, 0);
    }

    #[test]
    fn matches_zeros_before_the_start() {
        let mut model = Match::new(4, 6);
        code(&mut model, 0, 0);
        code(&mut model, 0, 0);
        assert_eq!(model.length, LONGEST);
    }
}
