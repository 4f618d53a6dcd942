//! The model of a block: one of the three that are known, or what its header describes.

use super::fault::Fault;
use super::general::General;
use super::header::Header;
use super::known::{HEADERS, Max, Mid, Min};

/// A model at work.
pub(super) enum Model {
    /// None: data is stored.
    Stored,
    Min(Box<Min>),
    Mid(Box<Mid>),
    Max(Box<Max>),
    General(Box<General>),
}

/// Bytes that a model takes beside what its header speaks of.
const SMALL: u64 = 64 * 1024;

impl Model {
    /// The model of a header, which is these bytes, if it takes at most `limit` bytes. Its program may run `steps` instructions
    /// beyond those for each byte.
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

/// Bytes that the model of a header takes at most.
pub(super) fn memory(header: &Header) -> u64 {
    let components = header.components.len() as u64;
    // Mixers of the known models have places that stay zero, a seventh of their size.
    SMALL + components * 8192 + header.memory() + header.mixing() / 7
}

/// Bytes that the known model of a level takes at most, 1 to 3.
pub(super) fn memory_of_level(level: u32) -> u64 {
    let bytes = HEADERS[(level.clamp(1, 3) - 1) as usize];
    Header::parse(bytes).map_or(u64::MAX, |header| memory(&header))
}
