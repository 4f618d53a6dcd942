//! Cuts the input into chunks.

use std::io::{self, Read};
use std::sync::Arc;

use packline_runtime::{TaskError, unless_cancelled};

use super::view::View;
use super::writer::Writer;
use crate::spool::Spool;
use crate::{Error, Input, Resources};

/// Bytes read at a time.
const PIECE: usize = 1 << 20;

/// Writes a file in chunks of `window` bytes. Returns whether the input changed and was read more than once.
pub(super) fn file(
    writer: &mut Writer<'_>,
    input: &Arc<dyn Input>,
    window: u64,
    resources: &Resources,
) -> Result<bool, Error> {
    let total = input.size();
    writer.begin(Some(total))?;
    let mut read_again = false;
    let mut bytes = Arc::<Vec<u8>>::default();
    let mut start = 0;
    loop {
        let length = (total - start).min(window);
        let is_last = start + length == total;
        if length <= writer.memory().held(window.min(total)) {
            read(input, start, length, &mut bytes, resources)?;
            writer.chunk(&View::memory(&bytes), length, is_last)?;
        } else {
            bytes = Arc::default();
            read_again = true;
            writer.chunk(&View::input(input, start, length), 0, is_last)?;
        }
        start += length;
        if is_last {
            break;
        }
    }
    Ok(read_again && input.changed().map_err(Error::Input)?)
}

/// Reads a chunk into memory.
fn read(
    input: &Arc<dyn Input>,
    start: u64,
    length: u64,
    bytes: &mut Arc<Vec<u8>>,
    resources: &Resources,
) -> Result<(), Error> {
    let length = usize::try_from(length).map_err(|_| Error::internal("a chunk larger than memory".into()))?;
    if bytes.is_empty() {
        *bytes = Arc::new(vec![0; length]);
    }
    let bytes = Arc::get_mut(bytes).ok_or_else(in_use)?;
    bytes.truncate(length);
    let view = View::input(input, start, length as u64);
    for (number, piece) in bytes.chunks_mut(PIECE).enumerate() {
        check(resources)?;
        let at = start + (number * PIECE) as u64;
        input.read_at(at, piece).map_err(|cause| view.failed(cause))?;
    }
    Ok(())
}

/// Cannot happen: the search and the compression of the last chunk have ended, so only this thread refers to it.
pub(super) fn in_use() -> Error {
    Error::internal("the last chunk is still in use".into())
}

/// Writes the data of a pipe in chunks of `window` bytes.
pub(super) fn pipe(
    writer: &mut Writer<'_>,
    stream: &mut (dyn Read + Send),
    window: u64,
    resources: &Resources,
) -> Result<(), Error> {
    let mut chunk = Arc::new(Spool::new(writer.memory().held(window), resources.scratch.as_deref()));
    let mut pipe = Pipe { stream, buffer: vec![0; PIECE], ahead: None };
    pipe.look_ahead()?;
    let mut is_first = true;
    loop {
        let spool = Arc::get_mut(&mut chunk).ok_or_else(in_use)?;
        spool.clear()?;
        pipe.fill(spool, window, resources, &mut |done| writer.reading(done))?;
        let is_last = pipe.ahead.is_none();
        if std::mem::replace(&mut is_first, false) {
            writer.begin(is_last.then_some(spool.size()))?;
        }
        let held = spool.in_memory().map_or(0, |bytes| bytes.len() as u64);
        writer.chunk(&View::spool(&chunk), held, is_last)?;
        if is_last {
            return Ok(());
        }
    }
}

/// A pipe with one byte of lookahead, because the head of a chunk states whether the chunk is the last.
struct Pipe<'a> {
    stream: &'a mut (dyn Read + Send),
    buffer: Vec<u8>,
    ahead: Option<u8>,
}

impl Pipe<'_> {
    /// Moves a chunk of up to `window` bytes into the spool. `progress` gets the number of bytes so far.
    fn fill(
        &mut self,
        spool: &mut Spool,
        window: u64,
        resources: &Resources,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), Error> {
        let Some(first) = self.ahead.take() else { return Ok(()) };
        spool.append(&[first])?;
        while spool.size() < window {
            check(resources)?;
            let wanted = (window - spool.size()).min(PIECE as u64) as usize;
            match read_some(self.stream, &mut self.buffer[..wanted])? {
                0 => return Ok(()),
                size => spool.append(&self.buffer[..size])?,
            }
            progress(spool.size());
        }
        self.look_ahead()
    }

    fn look_ahead(&mut self) -> Result<(), Error> {
        let mut byte = [0];
        self.ahead = (read_some(self.stream, &mut byte)? > 0).then_some(byte[0]);
        Ok(())
    }
}

/// Reads once, and retries after an interruption.
fn read_some(stream: &mut dyn Read, into: &mut [u8]) -> Result<usize, Error> {
    loop {
        match stream.read(into) {
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            read => return read.map_err(Error::Input),
        }
    }
}

fn check(resources: &Resources) -> Result<(), Error> {
    Ok(unless_cancelled(&resources.cancel)?)
}
