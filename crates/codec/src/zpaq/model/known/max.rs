//! Level 3: as level 2, with longer contexts, words, columns of tables, and two more stages at the end.

use super::Chain;
use crate::zpaq::fault::Fault;
use crate::zpaq::machine::hash;
use crate::zpaq::model::Predictor;
use crate::zpaq::model::component::{Icm, Match, Mix, Mix2, Sse};
use crate::zpaq::model::position::Position;
use crate::zpaq::model::tables::squash;

pub(super) const HEADER: [u8; 196] = [
    5, 9, 0, 0, 22, 1, 160, 3, 5, 8, 13, 1, 8, 16, 2, 8, 18, 3, 8, 19, 4, 8, 19, 5, 8, 20, 6, 4, 22, 24, 3, 17, 8, 19,
    9, 3, 13, 3, 13, 3, 13, 3, 14, 7, 16, 0, 15, 24, 255, 7, 8, 0, 16, 10, 255, 6, 0, 15, 16, 24, 0, 9, 8, 17, 32, 255,
    6, 8, 17, 18, 16, 255, 9, 16, 19, 32, 255, 6, 0, 19, 20, 16, 0, 0, 17, 104, 74, 4, 95, 2, 59, 112, 10, 25, 59, 112,
    10, 25, 59, 112, 10, 25, 59, 112, 10, 25, 59, 112, 10, 25, 59, 10, 59, 112, 10, 25, 59, 112, 10, 25, 69, 183, 32,
    239, 64, 47, 14, 231, 91, 47, 10, 25, 60, 26, 48, 134, 151, 20, 112, 63, 9, 70, 223, 0, 39, 3, 25, 112, 26, 52, 25,
    25, 74, 10, 4, 59, 112, 25, 10, 4, 59, 112, 25, 10, 4, 59, 112, 25, 65, 143, 212, 72, 4, 59, 112, 8, 143, 216, 8,
    68, 175, 60, 60, 25, 69, 207, 9, 112, 25, 25, 25, 25, 25, 112, 56, 0,
];

/// The constant prediction: (160 - 128) * 4.
const CONSTANT: i32 = 128;

/// Distances of the byte above in the tables of the file types for which the model was made.
const ABOVE: [usize; 2] = [215, 431];

// Indexes of predictions: the first of the chain, of the match, of the words, of the sparse contexts, and of the first mixer.
const ORDERS: usize = 1;
const REPEAT: usize = 8;
const WORDS: usize = 9;
const SPARSE: usize = 11;
const MIXED: usize = 15;

pub(in crate::zpaq) struct Max {
    chain: Chain<6>,
    repeat: Match,
    words: Chain<1>,
    sparse: [Icm; 4],
    /// Mixes 15 predictions, in the context of the last byte.
    mix: Mix<16>,
    /// Mixes these predictions and their mix.
    second: Mix<16>,
    both: Mix2,
    last: [LastStage; 2],
    contexts: Contexts,
    /// Inputs of the first mixer. The place of its own output is zero.
    logits: [i32; 16],
    /// Inputs of the second mixer.
    seconds: [i32; 16],
    position: Position,
}

/// The last stage: an SSE, and the weight of its output.
struct LastStage {
    sse: Sse,
    mix: Mix2,
    /// The bits of the current byte that select the weight.
    mask: u32,
}

impl LastStage {
    fn new(bits: u8, mix_bits: u8, mask: u32) -> Self {
        LastStage { sse: Sse::new(bits, 32, 255), mix: Mix2::new(mix_bits, 16), mask }
    }

    #[inline]
    fn predict(&mut self, context: u32, position: &Position, guess: i32) -> i32 {
        let corrected = self.sse.predict(context, position, guess);
        self.mix.predict(position.partial() & self.mask, guess, corrected)
    }

    #[inline]
    fn update(&mut self, bit: u32) {
        self.sse.update(bit);
        self.mix.update(bit);
    }
}

/// Inputs of the components' contexts.
struct Contexts {
    /// Hashes of the last zero to five, and seven bytes.
    orders: [u32; 7],
    /// Hash of the last eight bytes.
    long: u32,
    /// Hashes of the current word, without and with the previous word.
    words: [u32; 2],
    /// Hashes of the second, third and fourth last byte, and of the bytes at the distances in [`ABOVE`].
    sparse: [u32; 4],
    /// The last byte, shifted by nine.
    last: u32,
    past: [u8; 512],
    at: usize,
}

impl Contexts {
    fn start() -> Self {
        Contexts { orders: [0; 7], long: 0, words: [0; 2], sparse: [0; 4], last: 0, past: [0; 512], at: 0 }
    }

    /// The byte at this distance; 0 is the last byte.
    #[inline]
    fn back(&self, distance: usize) -> u32 {
        u32::from(self.past[self.at.wrapping_sub(distance) & 511])
    }

    fn add(&mut self, byte: u8) {
        self.at = (self.at + 1) & 511;
        self.past[self.at] = byte;
        let mut context = 0;
        for at in 0..5 {
            context = hash(context, self.back(at));
            self.orders[at + 1] = context;
        }
        self.orders[6] = hash(hash(context, self.back(5)), self.back(6));
        self.long = hash(self.orders[6], self.back(7));
        self.add_letter(byte & !32);
        self.sparse = [1, 2, 3, ABOVE[0]].map(|distance| hash(0, self.back(distance)));
        self.sparse[3] = hash(self.sparse[3], self.back(ABOVE[1]) & 60);
        self.last = u32::from(byte) << 9;
    }

    fn add_letter(&mut self, letter: u8) {
        let [word, before] = &mut self.words;
        if letter.is_ascii_uppercase() {
            *before = hash(*before, u32::from(letter));
            *word = word.wrapping_add(u32::from(letter)).wrapping_mul(20);
        } else {
            if *word != 0 {
                *before = *word;
            }
            *word = 0;
        }
    }
}

impl Max {
    pub(in crate::zpaq) fn new() -> Self {
        let mut logits = [0; 16];
        logits[0] = CONSTANT;
        Max {
            chain: Chain::new(5, [13, 16, 18, 19, 19, 20]),
            repeat: Match::new(22, 24),
            words: Chain::new(17, [19]),
            sparse: [13, 13, 13, 14].map(Icm::new),
            mix: Mix::new(16, 15, 24),
            second: Mix::new(8, 16, 10),
            both: Mix2::new(0, 24),
            last: [LastStage::new(8, 8, 255), LastStage::new(16, 0, 0)],
            contexts: Contexts::start(),
            logits,
            seconds: [0; 16],
            position: Position::start(),
        }
    }

    #[inline]
    fn seek(&mut self) {
        let partial = self.position.partial();
        self.chain.seek(&self.contexts.orders, partial);
        self.words.seek(&self.contexts.words, partial);
        for (icm, &context) in self.sparse.iter_mut().zip(&self.contexts.sparse) {
            let home = icm.rows.home(context, partial);
            icm.rows.seek(&home);
        }
    }

    /// The predictions of the components before the mixers.
    #[inline]
    fn guess(&mut self) {
        let nibble = self.position.nibble();
        self.chain.predict(nibble, &mut self.logits[ORDERS..REPEAT]);
        self.logits[REPEAT] = self.repeat.predict(&self.position);
        self.words.predict(nibble, &mut self.logits[WORDS..SPARSE]);
        for (icm, logit) in self.sparse.iter_mut().zip(&mut self.logits[SPARSE..MIXED]) {
            *logit = icm.predict(nibble);
        }
    }
}

impl Predictor for Max {
    #[inline]
    fn predict(&mut self) -> u32 {
        if self.position.starts_nibble() {
            self.seek();
        }
        self.guess();
        let partial = self.position.partial();
        let mixed = self.mix.predict(self.contexts.last.wrapping_add(partial), &self.logits);
        self.seconds = self.logits;
        self.seconds[MIXED] = mixed;
        let second = self.second.predict(partial, &self.seconds);
        let both = self.both.predict(0, mixed, second);
        let [first, last] = &mut self.last;
        let corrected = first.predict(0, &self.position, both);
        squash(last.predict(self.contexts.last, &self.position, corrected)) as u32
    }

    #[inline]
    fn update(&mut self, bit: u32) {
        let nibble = self.position.nibble();
        self.mix.update(&self.logits, bit);
        self.second.update(&self.seconds, bit);
        self.both.update(bit);
        self.last.iter_mut().for_each(|last| last.update(bit));
        self.chain.update(nibble, bit);
        self.words.update(nibble, bit);
        self.sparse.iter_mut().for_each(|icm| icm.update(nibble, bit));
        self.repeat.update(&self.position, bit);
        self.position.step(bit);
    }

    fn finish(&mut self, byte: u8) -> Result<(), Fault> {
        self.repeat.finish(byte);
        self.contexts.add(byte);
        self.repeat.set_context(self.contexts.long);
        Ok(())
    }
}
