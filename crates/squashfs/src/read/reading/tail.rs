//! A tail end to return, from a fragment block.

use std::rc::Rc;

use packline_engine::Budget;

use super::slot::Slot;
use super::{Chunk, Event};
use crate::TailPlace;
use crate::read::{BlockPlace, Image, ReadError};

pub(super) struct Tail {
    /// Destination of its fragment block.
    pub(super) slot: Rc<Slot>,
    /// Position in the fragment block.
    pub(super) place: TailPlace,
    /// Position of the fragment block.
    pub(super) block: BlockPlace,
    /// Bytes.
    pub(super) length: usize,
}

impl Tail {
    /// Its event, from its decoded fragment block, which must be long enough; `None` if the block was spilled and cannot be read back.
    pub(super) fn event<T>(&self, image: &Image, budget: &Budget) -> Option<Event<T>> {
        let failed = |error| Some(Event::Failed { length: self.length as u64, error });
        let whole = match self.slot.length() {
            Ok(whole) => whole,
            Err(error) => return failed(error),
        };
        let start = self.place.offset as usize;
        let end = start.saturating_add(self.length);
        if end > whole {
            return failed(self.beyond(start, whole));
        }
        let (decoded, range) = self.slot.bytes(start..end, image, budget)?;
        Some(Event::Data(Chunk { decoded, range }))
    }

    fn beyond(&self, start: usize, whole: usize) -> ReadError {
        let what = format!("tail end of {} bytes at {start} of fragment block {}", self.length, self.place.fragment);
        let expected = format!("an end within the {whole} bytes of the block");
        ReadError::corrupt(self.block.offset, what, expected)
    }
}
