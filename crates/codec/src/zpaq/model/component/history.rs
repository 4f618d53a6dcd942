//! ICM and ISSE: map a context's bit history to a prediction.

use super::rows::Rows;
use crate::zpaq::model::states::{GUESS, next};
use crate::zpaq::model::tables::{clamp12, clamp20, miss, stretch};

/// Indirect context model: history -> probability.
pub(in crate::zpaq) struct Icm {
    /// The histories. The row must be looked up for each nibble.
    pub(in crate::zpaq) rows: Rows,
    /// Probabilities of a one, 23 bits.
    probabilities: [u32; 256],
    /// The logits of the probabilities.
    logits: [i16; 256],
    state: u8,
}

impl Icm {
    /// Memory with a table of `64 << bits` bytes.
    pub(in crate::zpaq) fn memory(bits: u8) -> u64 {
        Rows::memory(bits)
    }

    /// A table of `64 << bits` bytes.
    pub(in crate::zpaq) fn new(bits: u8) -> Self {
        Icm { rows: Rows::new(bits), probabilities: GUESS, logits: GUESS.map(logit), state: 0 }
    }

    /// The logit of the next bit.
    #[inline]
    pub(in crate::zpaq) fn predict(&mut self, nibble: usize) -> i32 {
        self.state = self.rows.state(nibble);
        i32::from(self.logits[usize::from(self.state)])
    }

    #[inline]
    pub(in crate::zpaq) fn update(&mut self, nibble: usize, bit: u32) {
        self.rows.set(nibble, next(self.state, bit));
        let probability = &mut self.probabilities[usize::from(self.state)];
        let error = (bit * 32767) as i32 - (*probability >> 8) as i32;
        *probability = probability.wrapping_add_signed(error >> 2);
        self.logits[usize::from(self.state)] = logit(*probability);
    }
}

/// The logit of a probability of 23 bits.
#[inline]
fn logit(probability: u32) -> i16 {
    stretch(probability >> 8) as i16
}

/// Indirect secondary estimation: history -> correction of another component's prediction.
pub(in crate::zpaq) struct Isse {
    /// The histories. The row must be looked up for each nibble.
    pub(in crate::zpaq) rows: Rows,
    /// For each state, a factor and an offset of the prediction, in 16.16 fixed point.
    weights: Box<[[i32; 2]; 256]>,
    state: u8,
    guess: i32,
    logit: i32,
}

impl Isse {
    /// Memory with a table of `64 << bits` bytes.
    pub(in crate::zpaq) fn memory(bits: u8) -> u64 {
        Rows::memory(bits) + size_of::<[[i32; 2]; 256]>() as u64
    }

    /// A table of `64 << bits` bytes.
    pub(in crate::zpaq) fn new(bits: u8) -> Self {
        let weights = GUESS.map(|guess| [1 << 15, clamp20(stretch(guess >> 8) * 1024)]);
        Isse { rows: Rows::new(bits), weights: Box::new(weights), state: 0, guess: 0, logit: 0 }
    }

    /// The logit of the next bit, from another component's logit.
    #[inline]
    pub(in crate::zpaq) fn predict(&mut self, nibble: usize, guess: i32) -> i32 {
        self.state = self.rows.state(nibble);
        let [factor, offset] = self.weights[usize::from(self.state)];
        self.guess = guess;
        self.logit = clamp12((factor * guess + offset * 64) >> 16);
        self.logit
    }

    #[inline]
    pub(in crate::zpaq) fn update(&mut self, nibble: usize, bit: u32) {
        let error = miss(bit, self.logit);
        let [factor, offset] = &mut self.weights[usize::from(self.state)];
        *factor = clamp20(*factor + ((error * self.guess + (1 << 12)) >> 13));
        *offset = clamp20(*offset + ((error + 16) >> 5));
        self.rows.set(nibble, next(self.state, bit));
    }
}
