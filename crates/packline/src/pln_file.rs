//! .pln files: any file or stream compressed, and back.

use std::path::Path;

use packline_cache::Lookup;
use packline_pln::{Info, Reader, Sink, Source, Span, Unpacked, Verified, WriteOptions, Written};
use packline_runtime::escape::Escape;

use crate::archive::stored;
use crate::opened_input::{Bytes, OpenedInput};
use crate::output_stream::OutputStream;
use crate::resumed_sink::ResumedSink;
use crate::{CompressRequest, Error, Input, Observer, Output, Resources, Temporaries};

/// A .pln file to be decompressed.
#[non_exhaustive]
pub struct PlnUnpackRequest {
    /// The .pln file.
    pub source: Input,
    /// Which bytes of its content.
    pub span: Span,
    /// Where they go.
    pub target: Output,
    /// Whether the output gets permissions, time and, where that is allowed, the owner of a source that is a file.
    pub keep_attributes: bool,
    /// Whether an output that is not whole is kept.
    pub keep_broken: bool,
    /// Whether a damaged file is read from a copy that its recovery data repairs, if it has any; the observer is warned then.
    pub repair: bool,
    /// Workers and memory. They change no byte.
    pub resources: Resources,
    /// Registers temporary files for removal on exit.
    pub temporaries: Temporaries,
}

impl PlnUnpackRequest {
    /// Decompresses all of `source`, and keeps its attributes; with all processors, no memory limit.
    pub fn new(source: Input, target: Output) -> PlnUnpackRequest {
        PlnUnpackRequest {
            source,
            span: Span::ALL,
            target,
            keep_attributes: true,
            keep_broken: false,
            repair: true,
            resources: Resources::default(),
            temporaries: Temporaries::default(),
        }
    }
}

/// Writes a .pln file. A file has its name, whole, when this returns `Ok`, and is as it was after an error.
///
/// # Errors
/// [`Error`], with the name of the file and, where there is one, the offset.
pub fn pln_compress(request: CompressRequest<WriteOptions>, observer: &mut dyn Observer) -> Result<Written, Error> {
    let open = |source| OpenedInput::new(source)?.empty_as_stream();
    let cache = request.cache.clone();
    let lookup = Lookup { known: Vec::new(), cache: cache.clone() };
    let compress = |source: Source<'_>,
                    sink: &mut dyn Sink,
                    options: &WriteOptions,
                    resources: &Resources,
                    observer: &mut dyn Observer| {
        packline_pln::compress_with(&lookup, source, sink, options, resources, observer)
    };
    let written = request.run(open, compress, fault, observer)?;
    cache.iter().flat_map(|cache| cache.warnings()).for_each(|warning| observer.warning(&warning));
    Ok(written)
}

/// Decompresses a .pln file, or a span of it, to a file, which has its name when this returns `Ok`, or to a stream. A stream has got
/// what precedes damage, if there is any.
///
/// # Errors
/// [`Error`]; a file is not there then, unless [`PlnUnpackRequest::keep_broken`].
pub fn pln_unpack(request: PlnUnpackRequest, observer: &mut dyn Observer) -> Result<Unpacked, Error> {
    let PlnUnpackRequest { source, span, target, keep_attributes, keep_broken, repair, resources, temporaries } =
        request;
    let mut opened = OpenedInput::new(source)?.require_pln()?;
    opened.refuse_target(&target)?;
    let mut output = OutputStream::open(target, &temporaries)?;
    let mut sink = ResumedSink::new(&mut output);
    let mut read = packline_pln::decompress(opened.source(), span, &mut sink, &resources, observer);
    if repair
        && read.as_ref().is_err_and(packline_pln::Error::is_of_file)
        && let Some(mut repaired) = opened.repaired(&resources, observer)?
    {
        sink.start_again();
        read = packline_pln::decompress(repaired.source(), span, &mut sink, &resources, observer);
    }
    let read = read.map_err(|cause| fault(&opened.display_path, output.display_path(), cause));
    let about = opened.about.as_ref().filter(|_| keep_attributes);
    match read {
        Ok(unpacked) => output.finish(about, observer).map(|()| unpacked),
        Err(error) if keep_broken || output.is_stream() => {
            // The damage is reported, not that the rest cannot be kept.
            let _: Result<(), Error> = output.finish(about, observer);
            Err(error)
        }
        Err(error) => Err(error),
    }
}

/// Verifies a whole .pln file. Faults are passed to `found`, in the order of the file.
///
/// # Errors
/// [`Error`] if it cannot be read, or is of a kind that is not known here.
pub fn pln_verify(
    source: Input,
    resources: &Resources,
    found: &mut dyn FnMut(&packline_pln::Error),
    observer: &mut dyn Observer,
) -> Result<Verified, Error> {
    let mut opened = OpenedInput::new(source)?.require_pln()?;
    let read = packline_pln::verify(opened.source(), found, resources, observer);
    read.map_err(|cause| fault(&opened.display_path, &opened.display_path, cause))
}

/// Statistics of a .pln file from its tables; no record is read. A stream is stored first, since the tables are at its end.
///
/// # Errors
/// [`Error`] if it cannot be read or is not a .pln file.
pub fn pln_info(source: Input, resources: &Resources) -> Result<Info, Error> {
    let OpenedInput { display_path, bytes, .. } = OpenedInput::new(source)?.require_pln()?;
    let input = match bytes {
        Bytes::At(input) => input,
        Bytes::Stream(mut stream) => {
            let refused = |cause| Error::Source { path: display_path.clone(), action: "cannot read", cause };
            packline_recovery::strip(stored(&display_path, &mut stream, resources)?).map_err(refused)?.input
        }
    };
    let info = Reader::open(input).and_then(|reader| reader.info());
    info.map_err(|cause| fault(&display_path, &display_path, cause))
}

/// Opens a .pln file.
pub(crate) fn pln_open(path: &Path) -> Result<Reader, Error> {
    let opened = OpenedInput::new(Input::File(path.to_path_buf()))?.require_pln()?;
    let Bytes::At(input) = opened.bytes else {
        let (what, expected) = ("a stream is not read at any position".into(), "a file".into());
        return Err(Error::Target { path: path.to_path_buf(), what, expected });
    };
    Reader::open(input).map_err(|cause| fault(path, path, cause))
}

/// An error of an input, an output or the work, with the path that it concerns.
pub(crate) fn fault(input: &Path, output: &Path, cause: packline_pln::Error) -> Error {
    use packline_pln::Error as Pln;
    match cause {
        Pln::Input(cause) => Error::Source { path: input.to_path_buf(), action: "cannot read", cause },
        Pln::Output(cause) => Error::Output { path: output.to_path_buf(), action: "cannot write", cause },
        Pln::Memory { allowed, needed, what } => {
            Error::Memory { allowed, needed, what: format!("{what}, in {}", input.escaped()) }
        }
        cause => Error::Stream { path: input.to_path_buf(), cause: Box::new(cause) },
    }
}

#[cfg(test)]
mod tests;
