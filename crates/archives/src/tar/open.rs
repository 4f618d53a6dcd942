//! Opens a tar by name or from a stream. Plain tars are read directly, compressed tars through decoder threads. A [`Meter`]
//! counts the bytes that are read. A cpio archive in place of the tar is recognised by its first bytes, and read too.

use std::fs::File;
use std::io::{self, IoSliceMut, Read, Seek as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use packline_engine::Tracer;
use packline_runtime::{FileInput, Input, InputStream};
use packline_tree::{Error, Source};

use super::fault::unreadable;
use super::{TarOptions, TarSource};
use crate::Part;
use crate::cpio::{self, CpioSource, Plain};
use crate::decompress::{self, Format, Limits};
use crate::pipe::read_ahead;

/// Opens the tar at `path`, compressed or not. `options` has the name for messages.
///
/// # Errors
/// [`Error::Io`] if it cannot be opened or its first bytes cannot be read. The source reports malformed data later.
pub fn open_file(path: &Path, options: TarOptions, limits: &Limits) -> Result<Box<dyn Source + Send>, Error> {
    let error = |action| move |cause| Error::Io { path: path.to_owned(), action, cause };
    let file = File::open(path).map_err(error("cannot open"))?;
    let about = file.metadata().map_err(error("cannot read"))?;
    if about.is_file() {
        open_input(Arc::new(FileInput::described(file, &about)), options, limits)
    } else {
        open_stream(file, options, limits)
    }
}

/// Opens a tar that is read at offsets, compressed or not. Unwanted content of a plain tar is not read. Progress counts the bytes
/// of the input.
///
/// # Errors
/// [`Error::Io`] if its first bytes cannot be read. The source reports malformed data later.
pub fn open_input(
    input: Arc<dyn Input>,
    options: TarOptions,
    limits: &Limits,
) -> Result<Box<dyn Source + Send>, Error> {
    let head = decompress::read_head(&mut InputStream::new(&*input, 0));
    let head = head.map_err(|cause| unreadable(&options.input_name, cause))?;
    let total = input.size();
    let stream = InputStream::new(Arc::clone(&input), 0);
    match decompress::detect(&head) {
        Format::Plain if !cpio::is_start(&head) => Ok(Box::new(TarSource::seekable(stream, options)?.sharing(input))),
        _ => over_stream(stream, Meter::new(Some(total)), options, limits),
    }
}

/// Opens a tar from a stream, compressed or not: standard input, a socket, the output of a child process. The stream is read to
/// its end.
///
/// # Errors
/// [`Error::Io`] if its first bytes cannot be read. The source reports malformed data later.
pub fn open_stream(
    input: impl Read + Send + 'static,
    options: TarOptions,
    limits: &Limits,
) -> Result<Box<dyn Source + Send>, Error> {
    let meter = options.meter.clone().unwrap_or_default();
    over_stream(input, meter, options, limits)
}

/// Opens a tar from a stream that is not compressed. A thread reads the stream ahead, and workers take large contents from its buffers, of
/// which they hold `shared` at most. The source needs [`ahead_bytes`](crate::pipe::ahead_bytes) of memory.
pub fn open_ahead(
    input: impl Read + Send + 'static,
    mut options: TarOptions,
    shared: usize,
    tracer: Option<Arc<dyn Tracer>>,
) -> Box<dyn Source + Send> {
    let meter = options.meter.get_or_insert_default().clone();
    match read_ahead(Metered::new(input, meter), shared, tracer) {
        Ok(reader) => Box::new(TarSource::lending(reader, options)),
        Err(input) => Box::new(TarSource::new(input, options)),
    }
}

fn over_stream(
    input: impl Read + Send + 'static,
    meter: Meter,
    mut options: TarOptions,
    limits: &Limits,
) -> Result<Box<dyn Source + Send>, Error> {
    options.meter = Some(meter.clone());
    let plain = cpio::plain(Metered::new(input, meter), limits);
    let Plain { reader, is_cpio } = plain.map_err(|cause| unreadable(&options.input_name, cause))?;
    if is_cpio {
        let TarOptions { input_name, meter, .. } = options;
        return Ok(Box::new(CpioSource::new(reader, input_name, meter)));
    }
    Ok(Box::new(TarSource::new(reader, options)))
}

/// Opens a tar or a cpio archive in a file that was stored decompressed. Contents can be read in any order.
///
/// # Errors
/// [`Error::Io`] if its first bytes cannot be read.
pub fn open_stored(mut stored: Part, options: TarOptions) -> Result<Box<dyn Source + Send>, Error> {
    let failed = |cause| unreadable(&options.input_name, cause);
    let head = decompress::read_head(&mut stored).map_err(failed)?;
    stored.rewind().map_err(failed)?;
    if cpio::is_start(&head) {
        return Ok(Box::new(CpioSource::seekable(stored, options.input_name)?));
    }
    Ok(Box::new(TarSource::seekable(stored, options)?))
}

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
