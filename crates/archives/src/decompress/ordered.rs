//! The output of several decoders in the order of the input: one pipe for each decoder, read in order.
//!
//! A decoder writes to its pipe while it runs. A few compressed bytes can become any number of bytes, so the output of a piece
//! cannot be a result of bounded size that the engine delivers at the end of a job.

use std::io::{self, Read};
use std::sync::mpsc::Receiver;

use super::Format;
use super::fault::vanished;
use crate::pipe::PipeReader;

/// Reads the pipes in order, as one stream.
pub(super) struct Ordered {
    format: Format,
    /// `None` marks the end.
    pipes: Receiver<Option<PipeReader>>,
    current: Option<PipeReader>,
    over: Option<Result<(), (io::ErrorKind, String)>>,
}

impl Ordered {
    pub fn new(format: Format, pipes: Receiver<Option<PipeReader>>) -> Self {
        Self { format, pipes, current: None, over: None }
    }

    fn read_next(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(pipe) = &mut self.current {
                let count = pipe.read(buffer)?;
                if count > 0 {
                    return Ok(count);
                }
            }
            self.current = self.pipes.recv().map_err(|_| vanished(self.format))?;
            if self.current.is_none() {
                return Ok(0);
            }
        }
    }
}

impl Read for Ordered {
    /// After the end or an error, each further call returns the same result.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.over {
            Some(Err((kind, message))) => return Err(io::Error::new(*kind, message.clone())),
            Some(Ok(())) => return Ok(0),
            None if buffer.is_empty() => return Ok(0),
            None => {}
        }
        let result = self.read_next(buffer);
        match &result {
            Ok(0) => self.over = Some(Ok(())),
            Ok(_) => {}
            Err(error) => self.over = Some(Err((error.kind(), error.to_string()))),
        }
        result
    }
}
