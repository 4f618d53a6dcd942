//! Level 1: contexts of two and of four bytes.

use super::chain::Chain;
use crate::zpaq::fault::Fault;
use crate::zpaq::machine::hash;
use crate::zpaq::model::Predictor;
use crate::zpaq::model::position::Position;
use crate::zpaq::model::tables::squash;

pub(super) const HEADER: [u8; 26] =
    [1, 2, 0, 0, 2, 3, 16, 8, 19, 0, 0, 96, 4, 28, 59, 10, 59, 112, 25, 10, 59, 10, 59, 112, 56, 0];

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
