//! The three models that lrzip writes, compiled instead of interpreted. Their predictions are those of [`General`](super::general::General)
//! with their headers, but computed faster.

mod max;

use std::array;

use super::Predictor;
use super::component::{Icm, Isse, Match, Mix};
use super::position::Position;
use super::tables::squash;
use crate::zpaq::fault::Fault;
use crate::zpaq::machine::hash;

pub(in crate::zpaq) use max::Max;

/// The headers of the three models, without the size before them.
pub(in crate::zpaq) const HEADERS: [&[u8]; 3] = [&MIN_HEADER, &MID_HEADER, &max::HEADER];

/// An ICM and a chain of ISSEs. Each has a longer context and corrects the component before it.
struct Chain<const REST: usize> {
    first: Icm,
    rest: [Isse; REST],
}

impl<const REST: usize> Chain<REST> {
    /// A chain with tables of `64 << bits` bytes each.
    fn new(first: u8, rest: [u8; REST]) -> Self {
        Chain { first: Icm::new(first), rest: rest.map(Isse::new) }
    }

    /// Looks up the rows of a nibble. All rows are prefetched before the first is used.
    #[inline]
    fn seek(&mut self, contexts: &[u32], partial: u32) {
        let Some((&first, rest)) = contexts.split_first() else {
            return;
        };
        let homes: [_; REST] =
            array::from_fn(|at| self.rest[at].rows.home(rest.get(at).copied().unwrap_or(0), partial));
        let home = self.first.rows.home(first, partial);
        self.first.rows.seek(&home);
        for (isse, home) in self.rest.iter_mut().zip(&homes) {
            isse.rows.seek(home);
        }
    }

    /// The logits of the next bit: the ICM's, then the ISSEs', each from the component before it.
    #[inline]
    fn predict(&mut self, nibble: usize, logits: &mut [i32]) {
        let mut logit = self.first.predict(nibble);
        logits[0] = logit;
        for (isse, place) in self.rest.iter_mut().zip(&mut logits[1..]) {
            logit = isse.predict(nibble, logit);
            *place = logit;
        }
    }

    #[inline]
    fn update(&mut self, nibble: usize, bit: u32) {
        self.first.update(nibble, bit);
        for isse in &mut self.rest {
            isse.update(nibble, bit);
        }
    }
}

const MIN_HEADER: [u8; 26] =
    [1, 2, 0, 0, 2, 3, 16, 8, 19, 0, 0, 96, 4, 28, 59, 10, 59, 112, 25, 10, 59, 10, 59, 112, 56, 0];

/// Level 1: contexts of two and of four bytes.
pub(in crate::zpaq) struct Min {
    chain: Chain<1>,
    contexts: [u32; 2],
    /// The last four bytes, the latest in the lowest bits.
    past: u32,
    logits: [i32; 2],
    position: Position,
}

impl Min {
    pub(in crate::zpaq) fn new() -> Self {
        let contexts = [0; 2];
        let logits = [0; 2];
        Min { chain: Chain::new(16, [19]), contexts, past: 0, logits, position: Position::start() }
    }
}

impl Predictor for Min {
    #[inline]
    fn predict(&mut self) -> u32 {
        if self.position.starts_nibble() {
            self.chain.seek(&self.contexts, self.position.partial());
        }
        self.chain.predict(self.position.nibble(), &mut self.logits);
        squash(self.logits[1]) as u32
    }

    #[inline]
    fn update(&mut self, bit: u32) {
        self.chain.update(self.position.nibble(), bit);
        self.position.step(bit);
    }

    #[inline]
    fn finish(&mut self, byte: u8) -> Result<(), Fault> {
        self.past = self.past << 8 | u32::from(byte);
        let [d, c, b, a] = self.past.to_be_bytes().map(u32::from);
        let two = hash(hash(0, a), b);
        self.contexts = [two, hash(hash(two, c), d)];
        Ok(())
    }
}

const MID_HEADER: [u8; 69] = [
    3, 3, 0, 0, 8, 3, 5, 8, 13, 0, 8, 17, 1, 8, 18, 2, 8, 18, 3, 8, 19, 4, 4, 22, 24, 7, 16, 0, 7, 24, 255, 0, 17, 104,
    74, 4, 95, 1, 59, 112, 10, 25, 59, 112, 10, 25, 59, 112, 10, 25, 59, 112, 10, 25, 59, 112, 10, 25, 59, 10, 59, 112,
    25, 69, 207, 8, 112, 56, 0,
];

/// Number of mixed predictions. The mixer has one more place, which stays zero.
const GUESSES: usize = 7;

/// Level 2: contexts of up to five and of seven bytes, a match model, and a mixer.
pub(in crate::zpaq) struct Mid {
    chain: Chain<5>,
    repeat: Match,
    mix: Mix<8>,
    /// The contexts of the chain, of the match, and of the mixer.
    contexts: [u32; 8],
    /// The last eight bytes, the latest in the lowest bits.
    past: u64,
    logits: [i32; 8],
    position: Position,
}

impl Mid {
    pub(in crate::zpaq) fn new() -> Self {
        Mid {
            chain: Chain::new(5, [13, 17, 18, 18, 19]),
            repeat: Match::new(22, 24),
            mix: Mix::new(16, GUESSES as i32, 24),
            contexts: [0; 8],
            past: 0,
            logits: [0; 8],
            position: Position::start(),
        }
    }
}

impl Predictor for Mid {
    #[inline]
    fn predict(&mut self) -> u32 {
        let partial = self.position.partial();
        if self.position.starts_nibble() {
            self.chain.seek(&self.contexts[..6], partial);
        }
        self.chain.predict(self.position.nibble(), &mut self.logits[..6]);
        self.logits[6] = self.repeat.predict(&self.position);
        squash(self.mix.predict(self.contexts[7].wrapping_add(partial), &self.logits)) as u32
    }

    #[inline]
    fn update(&mut self, bit: u32) {
        self.mix.update(&self.logits, bit);
        self.chain.update(self.position.nibble(), bit);
        self.repeat.update(&self.position, bit);
        self.position.step(bit);
    }

    #[inline]
    fn finish(&mut self, byte: u8) -> Result<(), Fault> {
        self.repeat.finish(byte);
        self.past = self.past << 8 | u64::from(byte);
        let mut bytes = self.past.to_le_bytes().map(u32::from).into_iter();
        let mut context = 0;
        for place in &mut self.contexts[1..6] {
            context = hash(context, bytes.next().unwrap_or(0));
            *place = context;
        }
        self.contexts[6] = bytes.take(2).fold(context, hash);
        self.repeat.set_context(self.contexts[6]);
        self.contexts[7] = u32::from(byte) << 8;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zpaq::header::Header;
    use crate::zpaq::model::general::General;

    /// Words, numbers, runs, noise and a far repeat: input for each component.
    fn bytes() -> Vec<u8> {
        let mut state = 1u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let mut bytes = Vec::new();
        for at in 0..120u32 {
            bytes.extend_from_slice(format!("Line {at}: The Quick brown fox {};\n", at * at % 97).as_bytes());
        }
        bytes.extend((0..600).map(|_| noise()));
        bytes.extend([0; 700]);
        bytes.extend((0..2000).map(|at| if at % 16 == 0 { (at / 16) as u8 } else { noise() & 3 }));
        bytes.extend_from_within(..1500);
        bytes
    }

    fn agree(mut known: impl Predictor, header: &[u8]) {
        let mut general = General::new(&Header::parse(header).unwrap(), 0);
        for (place, &byte) in bytes().iter().enumerate() {
            for at in (0..8).rev() {
                assert_eq!(known.predict(), general.predict(), "byte {place}, bit {at}");
                let bit = u32::from(byte) >> at & 1;
                known.update(bit);
                general.update(bit);
            }
            known.finish(byte).unwrap();
            general.finish(byte).unwrap();
        }
    }

    #[test]
    fn min_equals_the_general_model() {
        agree(Min::new(), HEADERS[0]);
    }

    #[test]
    fn mid_equals_the_general_model() {
        agree(Mid::new(), HEADERS[1]);
    }

    #[test]
    fn max_equals_the_general_model() {
        agree(Max::new(), HEADERS[2]);
    }
}
