//! MIX, MIX2 and AVG: combine predictions.

use crate::zpaq::model::tables::{clamp12, clamp20, miss};

/// The weighted sum of predictions, with 8 fractional bits of the weights removed.
#[inline]
pub(in crate::zpaq) fn dot(weights: &[i32], guesses: &[i32]) -> i32 {
    // Both factors fit into 16 bits, so that the compiler multiplies eight pairs at once.
    let product = |(&weight, &guess): (&i32, &i32)| i32::from((weight >> 8) as i16) * i32::from(guess as i16);
    weights.iter().zip(guesses).map(product).sum()
}

/// Adjusts each weight by its prediction times the error.
#[inline]
pub(in crate::zpaq) fn train(weights: &mut [i32], guesses: &[i32], error: i32) {
    for (weight, &guess) in weights.iter_mut().zip(guesses) {
        *weight = clamp20(*weight + ((error * guess + (1 << 12)) >> 13));
    }
}

/// AVG: two predictions by a fixed weight of the first, in 256ths.
#[inline]
pub(in crate::zpaq) fn blend(first: i32, second: i32, weight: u8) -> i32 {
    let weight = i32::from(weight);
    (first * weight + second * (256 - weight)) >> 8
}

/// MIX for a number of predictions known at compile time. Predictions beyond `inputs` must be zero; their weights then have no effect.
pub(in crate::zpaq) struct Mix<const LANES: usize> {
    weights: Vec<[i32; LANES]>,
    rate: i32,
    at: usize,
    logit: i32,
}

impl<const LANES: usize> Mix<LANES> {
    /// `1 << bits` sets of weights for `inputs` predictions.
    pub(in crate::zpaq) fn new(bits: u8, inputs: i32, rate: u8) -> Self {
        Mix { weights: vec![[65536 / inputs; LANES]; 1 << bits], rate: i32::from(rate), at: 0, logit: 0 }
    }

    /// The logit of the next bit.
    #[inline]
    pub(in crate::zpaq) fn predict(&mut self, context: u32, guesses: &[i32; LANES]) -> i32 {
        self.at = context as usize & (self.weights.len() - 1);
        self.logit = clamp12(dot(&self.weights[self.at], guesses) >> 8);
        self.logit
    }

    #[inline]
    pub(in crate::zpaq) fn update(&mut self, guesses: &[i32; LANES], bit: u32) {
        let error = (miss(bit, self.logit) * self.rate) >> 4;
        train(&mut self.weights[self.at], guesses, error);
    }
}

/// MIX2: two predictions, mixed by an adaptive weight.
pub(in crate::zpaq) struct Mix2 {
    /// The weight of the first, 16 bits.
    weights: Vec<u16>,
    rate: i32,
    at: usize,
    difference: i32,
    logit: i32,
}

impl Mix2 {
    /// Memory with `1 << bits` weights in bytes.
    pub(in crate::zpaq) fn memory(bits: u8) -> u64 {
        2 << bits
    }

    /// `1 << bits` weights.
    pub(in crate::zpaq) fn new(bits: u8, rate: u8) -> Self {
        Mix2 { weights: vec![1 << 15; 1 << bits], rate: i32::from(rate), at: 0, difference: 0, logit: 0 }
    }

    /// The logit of the next bit.
    #[inline]
    pub(in crate::zpaq) fn predict(&mut self, context: u32, first: i32, second: i32) -> i32 {
        self.at = context as usize & (self.weights.len() - 1);
        let weight = i32::from(self.weights[self.at]);
        self.difference = first - second;
        self.logit = (weight * first + (65536 - weight) * second) >> 16;
        self.logit
    }

    #[inline]
    pub(in crate::zpaq) fn update(&mut self, bit: u32) {
        let error = (miss(bit, self.logit) * self.rate) >> 5;
        let weight = i32::from(self.weights[self.at]) + ((error * self.difference + (1 << 12)) >> 13);
        self.weights[self.at] = weight.clamp(0, 65535) as u16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixers_learn_which_input_is_right() {
        let mut mix = Mix::<4>::new(0, 2, 24);
        let mut mix2 = Mix2::new(0, 24);
        let guesses = [200, -200, 0, 0];
        assert_eq!((mix.predict(0, &guesses), mix2.predict(0, 200, -200)), (0, 0));
        for _ in 0..200 {
            mix.predict(0, &guesses);
            mix.update(&guesses, 1);
            mix2.predict(0, 200, -200);
            mix2.update(1);
        }
        assert!(mix.predict(0, &guesses) > 190 && mix2.predict(0, 200, -200) > 190);
    }

    #[test]
    fn weights_stay_in_range() {
        let mut weights = [(1 << 19) - 2, 2 - (1 << 19)];
        train(&mut weights, &[2047, -2048], 522_000);
        assert_eq!(weights, [(1 << 19) - 1, -(1 << 19)]);
        assert_eq!(dot(&weights, &[-2048, -2048]), 2048);
        assert_eq!(blend(100, 200, 64), 175);
    }
}
