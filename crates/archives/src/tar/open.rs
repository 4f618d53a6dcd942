//! Opens a source by name or from a stream: plain tars directly, compressed ones through decoder threads.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use packline_tree::{Error, Source};

use super::fault::unreadable;
use super::{Meter, Metered, TarOptions, TarSource};
use crate::decompress::{self, Format, Limits};

/// Opens the tar at `path`, compressed or not. A plain file is read with seeks over unwanted content; progress counts the bytes of the
/// file. `options` has the name for messages.
///
/// # Errors
/// [`Error::Io`] if it cannot be opened or its first bytes cannot be read; the source reports malformed data later.
pub fn open_file(path: &Path, options: TarOptions, limits: &Limits) -> Result<Box<dyn Source + Send>, Error> {
    let error = |action| move |cause| Error::Io { path: path.to_owned(), action, cause };
    let mut file = File::open(path).map_err(error("cannot open"))?;
    let is_plain_file = file.metadata().map_err(error("cannot read"))?.is_file();
    if !is_plain_file {
        return open_stream(file, options, limits);
    }
    let total = file.metadata().map_err(error("cannot read"))?.len();
    let head = decompress::read_head(&mut file).map_err(error("cannot read"))?;
    file.rewind().map_err(error("cannot read"))?;
    match decompress::detect(&head) {
        Format::Plain => Ok(Box::new(TarSource::seekable(file, options)?)),
        _ => over_stream(file, Meter::new(Some(total)), options, limits),
    }
}

/// A tar from a stream, compressed or not: standard input, a socket, the output of a child. It is read to its end.
///
/// # Errors
/// [`Error::Io`] if its first bytes cannot be read; the source reports malformed data later.
pub fn open_stream(
    input: impl Read + Send + 'static,
    options: TarOptions,
    limits: &Limits,
) -> Result<Box<dyn Source + Send>, Error> {
    let meter = options.meter.clone().unwrap_or_default();
    over_stream(input, meter, options, limits)
}

fn over_stream(
    input: impl Read + Send + 'static,
    meter: Meter,
    mut options: TarOptions,
    limits: &Limits,
) -> Result<Box<dyn Source + Send>, Error> {
    options.meter = Some(meter.clone());
    let reader =
        decompress::open(Metered::new(input, meter), limits).map_err(|cause| unreadable(&options.input_name, cause))?;
    Ok(Box::new(TarSource::new(reader, options)))
}
