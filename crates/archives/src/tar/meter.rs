//! A count of bytes read, shared by the reader of a compressed file and the progress display.

use std::io::{self, IoSliceMut, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Progress of an input. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    consumed: Arc<AtomicU64>,
    total: Option<u64>,
}

impl Meter {
    /// A meter at zero, of an input of `total` bytes where known.
    pub fn new(total: Option<u64>) -> Self {
        Self { consumed: Arc::default(), total }
    }

    pub fn consumed(&self) -> u64 {
        self.consumed.load(Ordering::Relaxed)
    }

    pub fn total(&self) -> Option<u64> {
        self.total
    }
}

/// A reader that counts into a [`Meter`].
#[derive(Debug)]
pub struct Metered<R> {
    reader: R,
    meter: Meter,
}

impl<R: Read> Metered<R> {
    /// Counts reads from `reader` into `meter`.
    pub fn new(reader: R, meter: Meter) -> Self {
        Self { reader, meter }
    }

    fn count(&self, result: io::Result<usize>) -> io::Result<usize> {
        if let Ok(count) = result {
            self.meter.consumed.fetch_add(count as u64, Ordering::Relaxed);
        }
        result
    }
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.reader.read(buffer);
        self.count(result)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let result = self.reader.read_vectored(buffers);
        self.count(result)
    }
}
