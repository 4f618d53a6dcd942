//! Submits groups to the workers, and returns them in the order of the delta.

use std::collections::VecDeque;
use std::sync::Arc;

use packline_engine::{Budget, OrderedMap, Permit, Pool};
use packline_runtime::{Resources, of_fault};

use super::chunk::{GroupTask, StoredGroup};
use super::chunk_writer::ChunkWriter;
use super::source::DecodedGroup;
use crate::Error;
use crate::format::group::Group;
use crate::format::part::Part;
use crate::plain::Plain;

/// The groups whose literals are decompressed ahead.
pub(super) struct Groups {
    map: OrderedMap<GroupTask>,
    in_flight: usize,
    ready: VecDeque<DecodedGroup>,
    budget: Budget,
}

impl Groups {
    /// Starts the map, with about `memory` bytes of groups.
    pub(super) fn new(pool: &Pool, plain: &Plain, memory: usize, resources: &Resources) -> Groups {
        let task = GroupTask { old: Arc::clone(&plain.input) };
        let map = resources.map_on(pool, task, usize::MAX);
        Groups { map, in_flight: 0, ready: VecDeque::new(), budget: Budget::new(memory) }
    }

    /// The number of groups that are not used yet.
    pub(super) fn count(&self) -> usize {
        self.in_flight + self.ready.len()
    }

    /// Submits a group and its literals.
    pub(super) fn submit(&mut self, group: Group, literals: Part, chunks: &mut ChunkWriter<'_>) -> Result<(), Error> {
        let permit = self.permit(group.memory() + literals.memory(), chunks)?;
        let Groups { map, in_flight, ready, .. } = self;
        *in_flight += 1;
        map.submit(StoredGroup { group, literals, permit }, &mut collect(ready, in_flight)).map_err(of_fault)
    }

    /// Reserves memory for a group, and waits for chunks that hold earlier groups. If there are no chunks, the memory is reserved even if it
    /// exceeds the budget.
    fn permit(&mut self, bytes: usize, chunks: &mut ChunkWriter<'_>) -> Result<Permit, Error> {
        loop {
            if let Some(permit) = self.budget.try_take(bytes) {
                return Ok(permit);
            }
            if !chunks.advance()? {
                return Ok(self.budget.take(bytes));
            }
        }
    }

    /// Returns the next group; `None` if no group is left.
    pub(super) fn next(&mut self) -> Result<Option<DecodedGroup>, Error> {
        let Groups { map, in_flight, ready, .. } = self;
        while ready.is_empty() && *in_flight > 0 {
            map.advance(&mut collect(ready, in_flight)).map_err(of_fault)?;
        }
        Ok(ready.pop_front())
    }
}

/// Returns a consumer that collects decompressed groups.
fn collect<'c>(
    ready: &'c mut VecDeque<DecodedGroup>,
    in_flight: &'c mut usize,
) -> impl FnMut(DecodedGroup) -> Result<(), Error> {
    |group| {
        *in_flight -= 1;
        ready.push_back(group);
        Ok(())
    }
}
