//! Groups on their way through the workers, in the order of the delta.

use std::collections::VecDeque;
use std::sync::Arc;

use packline_engine::{Budget, OrderedMap, Permit, Pool};
use packline_runtime::{Resources, of_fault};

use super::piece::{GroupTask, StoredGroup};
use super::pieces::Pieces;
use super::source::DecodedGroup;
use crate::Error;
use crate::format::group::Group;
use crate::format::part::Part;
use crate::plain::Plain;

/// Groups whose literals are decompressed, a few ahead.
pub(super) struct Groups {
    map: OrderedMap<GroupTask>,
    in_flight: usize,
    ready: VecDeque<DecodedGroup>,
    budget: Budget,
}

impl Groups {
    /// With about `memory` bytes of groups.
    pub(super) fn new(pool: &Pool, plain: &Plain, memory: usize, resources: &Resources) -> Groups {
        let task = GroupTask { old: Arc::clone(&plain.input) };
        let map = resources.map_on(pool, task, usize::MAX);
        Groups { map, in_flight: 0, ready: VecDeque::new(), budget: Budget::new(memory) }
    }

    /// Groups that are not used yet.
    pub(super) fn count(&self) -> usize {
        self.in_flight + self.ready.len()
    }

    /// Submits a group and its literals.
    pub(super) fn submit(&mut self, group: Group, literals: Part, pieces: &mut Pieces<'_>) -> Result<(), Error> {
        let permit = self.permit(group.memory() + literals.memory(), pieces)?;
        let Groups { map, in_flight, ready, .. } = self;
        *in_flight += 1;
        map.submit(StoredGroup { group, literals, permit }, &mut collect(ready, in_flight)).map_err(of_fault)
    }

    /// Memory for a group: pieces that use earlier ones return theirs. Without any it is taken whether it fits or not.
    fn permit(&mut self, bytes: usize, pieces: &mut Pieces<'_>) -> Result<Permit, Error> {
        loop {
            if let Some(permit) = self.budget.try_take(bytes) {
                return Ok(permit);
            }
            if !pieces.advance()? {
                return Ok(self.budget.take(bytes));
            }
        }
    }

    /// The next group; `None` if none is left.
    pub(super) fn next(&mut self) -> Result<Option<DecodedGroup>, Error> {
        let Groups { map, in_flight, ready, .. } = self;
        while ready.is_empty() && *in_flight > 0 {
            map.advance(&mut collect(ready, in_flight)).map_err(of_fault)?;
        }
        Ok(ready.pop_front())
    }
}

/// Takes decompressed groups.
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
