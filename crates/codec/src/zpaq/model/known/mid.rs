//! Level 2: contexts of up to five and of seven bytes, a match model, and a mixer.

use super::chain::Chain;
use crate::zpaq::fault::Fault;
use crate::zpaq::machine::hash;
use crate::zpaq::model::Predictor;
use crate::zpaq::model::component::{Match, Mix};
use crate::zpaq::model::position::Position;
use crate::zpaq::model::tables::squash;

pub(super) const HEADER: [u8; 69] = [
    3, 3, 0, 0, 8, 3, 5, 8, 13, 0, 8, 17, 1, 8, 18, 2, 8, 18, 3, 8, 19, 4, 4, 22, 24, 7, 16, 0, 7, 24, 255, 0, 17, 104,
    74, 4, 95, 1, 59, 112, 10, 25, 59, 112, 10, 25, 59, 112, 10, 25, 59, 112, 10, 25, 59, 112, 10, 25, 59, 10, 59, 112,
    25, 69, 207, 8, 112, 56, 0,
];

/// Number of mixed predictions. The mixer has one more place, which stays zero.
const GUESSES: usize = 7;

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
