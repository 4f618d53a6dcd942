//! Making a line: on workers, or the serial reference.

use std::io;

use crate::{Config, Line, ParallelLine, SerialLine, Work};

/// A line as `config` says, or, if it is to be `serial`, the reference, which has neither threads nor queues and takes of `config`
/// its cancel token and its tally alone.
///
/// # Errors
/// The system refuses to start a thread; none is left running then.
pub fn line<W: Work>(work: W, config: Config, serial: bool) -> io::Result<Box<dyn Line<W>>> {
    Ok(match serial {
        true => Box::new(SerialLine::with_config(work, config)),
        false => Box::new(ParallelLine::new(work, config)?),
    })
}
