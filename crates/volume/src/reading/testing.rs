//! Internals of a reading for tests of containers.

use std::sync::Arc;

use packline_engine::Budget;

use super::Reading;
use crate::Scratch;

impl<T> Reading<'_, T> {
    /// The budget of decoded bytes.
    pub fn budget(&self) -> Budget {
        self.plan.budget.clone()
    }

    /// The file of spilled units.
    pub fn scratch(&self) -> &Arc<Scratch> {
        &self.plan.scratch
    }

    /// Jobs submitted so far.
    pub fn jobs(&self) -> u64 {
        self.map.stats().fed
    }
}
