//! Input from a pipe.

use std::io::{ErrorKind, Read};

use packline_runtime::unless_cancelled;

use crate::spool::Spool;
use crate::{Error, Input, Resources};

/// Bytes read at a time.
const STEP: usize = 1 << 20;
/// The input may take one part of the memory in this many.
const SHARE: u64 = 4;

/// Reads the complete input, because .lrz files need random access. It goes to a quarter of the memory, or to an unnamed temporary file.
///
/// # Errors
/// [`Error::Input`], [`Error::Scratch`], [`Error::Work`]; [`Error::Memory`] if there is no directory for the file.
pub fn spooled(from: &mut dyn Read, resources: &Resources) -> Result<impl Input + 'static, Error> {
    let limit = resources.memory.map_or(u64::MAX, |bytes| bytes / SHARE);
    let mut spool = Spool::new(limit, resources.scratch.as_deref());
    let mut piece = vec![0; STEP];
    loop {
        unless_cancelled(&resources.cancel)?;
        match from.read(&mut piece) {
            Ok(0) => return Ok(spool),
            Ok(size) => spool.append(&piece[..size])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::Input(error)),
        }
    }
}
