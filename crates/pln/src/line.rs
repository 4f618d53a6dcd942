//! The line that records go down.

use packline_engine::{Caller, Fault, Line, Work};

use crate::memory::Plan;
use crate::{Error, Machine};

/// A line as the machine and the plan have it. There is one stage: nothing is decided between two.
///
/// # Errors
/// [`Error::Internal`] if threads cannot be started.
pub(crate) fn line<W: Work<Error = Error>>(work: W, plan: Plan, machine: &Machine) -> Result<Box<dyn Line<W>>, Error> {
    let config = machine.line.sized(plan.workers, plan.window, &machine.cancel);
    let line = packline_engine::line(work, config, machine.serial);
    line.map_err(|cause| Error::Internal(format!("cannot start the workers: {cause}")))
}

/// What stopped a line.
pub(crate) fn of_fault(fault: Fault<Error>) -> Error {
    match fault {
        Fault::Work(error) => error,
        Fault::Cancelled => Error::Cancelled,
        Fault::Panic(message) => Error::Internal(format!("a worker panicked: {message}")),
        Fault::Stopped => Error::Internal("the line has already stopped".to_owned()),
    }
}

/// What went wrong first: something on a line, or `error`, which is of what feeds it or has stopped it.
pub(crate) fn first<W: Work<Error = Error>>(line: &mut dyn Line<W>, caller: &mut dyn Caller<W>, error: Error) -> Error {
    match line.drain(caller) {
        Ok(()) | Err(Fault::Stopped) => error,
        Err(earlier) => of_fault(earlier),
    }
}
