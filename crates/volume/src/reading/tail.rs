//! A piece of a shared unit to return.

use std::rc::Rc;

use packline_engine::Budget;

use super::slot::Slot;
use super::{Chunk, Event};
use crate::{SharedPlace, Unit, Volume};

pub(super) struct Tail {
    /// Destination of its unit.
    pub(super) slot: Rc<Slot>,
    pub(super) place: SharedPlace,
    pub(super) unit: Unit,
    /// Number of bytes.
    pub(super) length: usize,
}

impl Tail {
    /// Returns the event, from the decoded unit, which must be long enough. Returns `None` if the unit was spilled and cannot be read back.
    pub(super) fn event<T>(&self, volume: &dyn Volume, budget: &Budget) -> Option<Event<T>> {
        let failed = |error| Some(Event::Failed { length: self.length as u64, error });
        let whole = match self.slot.length() {
            Ok(whole) => whole,
            Err(error) => return failed(error),
        };
        let start = self.place.offset as usize;
        let end = start.saturating_add(self.length);
        if end > whole {
            return failed(volume.shared_fault(self.unit, self.place, self.length, whole));
        }
        let (decoded, range) = self.slot.bytes(start..end, volume, budget)?;
        Some(Event::Data(Chunk { decoded, range }))
    }
}
