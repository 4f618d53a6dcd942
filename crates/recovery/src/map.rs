//! The parallel map that a pass goes through.

use packline_engine::{Permit, Task};
use packline_runtime::{Resources, of_fault};

use crate::Error;
use crate::memory::Plan;

/// Runs a task for each of `inputs`, and consumes the results in order. The memory of each, `item` bytes, is held from the moment it
/// is submitted until its [`Permit`] is dropped.
///
/// # Errors
/// Those of the task and of `consume`; [`Error::Work`] if threads cannot be started.
pub(crate) fn for_each<I, T: Task<In = (I, Permit), Error = Error>>(
    task: T,
    plan: &Plan,
    item: u64,
    resources: &Resources,
    inputs: impl Iterator<Item = I>,
    consume: &mut dyn FnMut(T::Out) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut map = resources.map(task, plan.map)?;
    let mut consumer = |out| consume(out);
    for input in inputs {
        let permit = map.reserve(item as usize, &mut consumer).map_err(of_fault)?;
        map.submit((input, permit), &mut consumer).map_err(of_fault)?;
    }
    map.drain(&mut consumer).map_err(of_fault)
}
