//! A stream that keeps its last bytes. They show whether a damaged file that was not read to its end has recovery data.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use packline_recovery::{FOOTER_BYTES, is_footer};
use packline_runtime::Resources;

/// Bytes read at a time while the rest of the stream is skipped.
const STEP: usize = 64 << 10;

/// A stream with two readers: the decompressor, and then a reader that skips to its end.
#[derive(Clone)]
pub(crate) struct TailStream(Arc<Mutex<Tail>>);

struct Tail {
    stream: Box<dyn Read + Send>,
    last: [u8; FOOTER_BYTES],
}

impl Tail {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        let new = &buffer[read.saturating_sub(FOOTER_BYTES)..read];
        self.last.rotate_left(new.len());
        self.last[FOOTER_BYTES - new.len()..].copy_from_slice(new);
        Ok(read)
    }
}

impl TailStream {
    pub(crate) fn new(stream: Box<dyn Read + Send>) -> TailStream {
        TailStream(Arc::new(Mutex::new(Tail { stream, last: [0; FOOTER_BYTES] })))
    }

    /// Reads the rest of the stream. Returns whether it ends with recovery data; false if it cannot be read.
    pub(crate) fn has_recovery(&self, resources: &Resources) -> bool {
        let mut tail = self.lock();
        let mut buffer = vec![0; STEP];
        while !resources.cancel.is_cancelled() {
            match tail.read(&mut buffer) {
                Ok(0) => return is_footer(&tail.last),
                Err(cause) if cause.kind() != io::ErrorKind::Interrupted => return false,
                _ => {}
            }
        }
        false
    }

    /// Bytes that a thread that panicked has read are consistent.
    fn lock(&self) -> MutexGuard<'_, Tail> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for TailStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.lock().read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_last_bytes_of_reads_of_any_size() {
        let bytes: Vec<u8> = (0..200).collect();
        for step in [1, 7, 31, 32, 33, 64, 200] {
            let mut stream = TailStream::new(Box::new(io::Cursor::new(bytes.clone())));
            let mut buffer = vec![0; step];
            while stream.read(&mut buffer).unwrap() > 0 {}
            assert_eq!(stream.lock().last, bytes[200 - FOOTER_BYTES..]);
            assert!(!stream.has_recovery(&Resources::new(0)));
        }
    }
}
