//! The model of a block: one of the three known ones, or one interpreted from its header.

pub(super) mod component;
pub(super) mod general;
pub(super) mod known;
mod position;
mod states;
mod tables;

use general::General;
use known::{HEADERS, Max, Mid, Min};

use crate::zpaq::fault::Fault;
use crate::zpaq::header::Header;

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

pub(super) enum Model {
    Stored,
    Min(Box<Min>),
    Mid(Box<Mid>),
    Max(Box<Max>),
    General(Box<General>),
}

/// Memory in bytes of a model without its components.
const SMALL: u64 = 64 * 1024;

impl Model {
    /// The model of the header in `bytes`, if it needs at most `limit` bytes. Its program may run `steps` instructions beyond those earned.
    pub(super) fn of_header(bytes: &[u8], header: &Header, limit: u64, steps: u64) -> Result<Model, Fault> {
        let needed = memory(header);
        if needed > limit {
            return Err(Fault::Memory(needed));
        }
        Ok(match HEADERS.iter().position(|known| *known == bytes) {
            Some(0) => Model::Min(Box::new(Min::new())),
            Some(1) => Model::Mid(Box::new(Mid::new())),
            Some(_) => Model::Max(Box::new(Max::new())),
            None if header.components.is_empty() => Model::Stored,
            None => Model::General(Box::new(General::new(header, steps))),
        })
    }
}

/// Upper bound in bytes of the memory of a header's model.
pub(super) fn memory(header: &Header) -> u64 {
    let components = header.components.len() as u64;
    // The mixers of the known models have places that stay zero, a seventh of their size.
    SMALL + components * 8192 + header.memory() + header.mixing() / 7
}

/// Upper bound in bytes of the memory of the model of a level from 1 to 3.
pub(super) fn memory_of_level(level: u32) -> u64 {
    let bytes = HEADERS[(level.clamp(1, 3) - 1) as usize];
    Header::parse(bytes).map_or(u64::MAX, |header| memory(&header))
}
