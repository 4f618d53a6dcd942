//! Internals of a reading for tests of containers.

use std::sync::Arc;

use packline_engine::{Budget, Permit};

use super::slot::Decoded;
use super::{Chunk, Reading};
use crate::Scratch;

/// Bytes that no reading decoded.
impl From<Vec<u8>> for Chunk {
    fn from(bytes: Vec<u8>) -> Chunk {
        let range = 0..bytes.len();
        Chunk { decoded: Decoded::own(bytes, Permit::detached(0)), range }
    }
}

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
