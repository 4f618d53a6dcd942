//! Compresses files and streams to .pln files, and decompresses them.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use packline_cache::Lookup;
use packline_image::Output;
use packline_pln::{Info, Reader, Sink, Source, Span, Unpacked, Verified, WriteOptions, Written};
use packline_runtime::escape::Escape;
use packline_runtime::{MemoryFault, Observer, Resources, TaskError, Temporaries, Unobserved};

use super::encrypted::{self, Encryption, Identities, OpenedHead};
use super::opened_input::{Bytes, OpenedInput, repaired_input};
use super::output_stream::{Checksum, OutputStream};
use super::request::CompressRequest;
use super::resumed_sink::ResumedSink;
use super::tail_stream::TailStream;
use crate::container::by_magic::ContentKind;
use crate::container::input::Input;
use crate::container::scratch::stored;
use crate::error::{Error, StreamError};

/// A .pln file to be decompressed.
#[non_exhaustive]
pub struct PlnUnpackRequest {
    /// The .pln file.
    pub source: Input,
    /// Keys that may open it, if it is encrypted.
    pub identities: Option<Arc<Identities>>,
    /// The range of the content to write.
    pub span: Span,
    /// The destination of these bytes.
    pub target: Output,
    /// Whether the output gets permissions, time and, where that is allowed, the owner of a source that is a file.
    pub keep_attributes: bool,
    /// Whether an output file is read again and compared with the content's hash before it gets its name. An output from a repaired copy is
    /// always compared.
    pub check: bool,
    /// Whether an incomplete output is kept. If the source is a file that is decompressed completely, zeros replace the lost data.
    pub keep_broken: bool,
    /// Whether a damaged file is read from a copy that its recovery data repairs. The observer is warned then.
    pub repair: bool,
    /// Workers and memory. They do not affect the output.
    pub resources: Resources,
    /// Registers temporary files for removal on exit.
    pub temporaries: Temporaries,
}

impl PlnUnpackRequest {
    /// Decompresses all of `source`, and keeps its attributes; with all processors, no memory limit.
    pub fn new(source: Input, target: Output) -> PlnUnpackRequest {
        PlnUnpackRequest {
            source,
            identities: None,
            span: Span::ALL,
            target,
            keep_attributes: true,
            check: false,
            keep_broken: false,
            repair: true,
            resources: Resources::default(),
            temporaries: Temporaries::default(),
        }
    }
}

/// Writes a .pln file. When this returns `Ok`, the file is complete and has its name. After an error an existing file is unchanged.
///
/// # Errors
/// [`Error`], with the name of the file and, if known, the offset.
pub fn pln_compress(request: CompressRequest<WriteOptions>, observer: &mut dyn Observer) -> Result<Written, Error> {
    let open = |source| OpenedInput::new(source)?.empty_as_stream();
    let cache = request.cache.clone();
    let lookup = Lookup { known: Vec::new(), cache: cache.clone() };
    let recipients = request.recipients.clone();
    let head = Cell::new(None);
    let compress = |source: Source<'_>,
                    sink: &mut dyn Sink,
                    options: &WriteOptions,
                    resources: &Resources,
                    observer: &mut dyn Observer| {
        let Some(recipients) = &recipients else {
            return packline_pln::compress_with(&lookup, source, sink, options, resources, observer);
        };
        let sealed = encrypted::sealed(recipients, sink, resources, |sink, resources| {
            packline_pln::compress_with(&lookup, source, sink, options, resources, observer)
        });
        sealed.map(|(written, opened)| {
            head.set(Some(opened));
            written
        })
    };
    let check = |file, written: &Written, _: &_, resources: &Resources, observer: &mut dyn Observer| {
        is_whole(file, head.take(), written, resources, observer)
    };
    // Each record is read once.
    let written = request.run(open, compress, |_| false, check, fault, observer)?;
    cache.iter().flat_map(|cache| cache.warnings()).for_each(|warning| observer.warning(&warning));
    Ok(written)
}

/// Whether a written file, with recovery data at its end or without, has the content that was read.
fn is_whole(
    file: Arc<dyn packline_runtime::Input>,
    head: Option<OpenedHead>,
    written: &Written,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<bool, packline_pln::Error> {
    let stripped = packline_recovery::strip(file).map_err(packline_pln::Error::Input)?.input;
    let input = head.map_or(Ok(Arc::clone(&stripped)), |head| encrypted::unsealed(stripped, head))?;
    let read = packline_pln::verify(Source::At(input), &mut |_| {}, resources, observer)?;
    Ok(read.findings == 0 && read.blake3 == Some(written.blake3))
}

/// Decompresses a .pln file, or a span of it, to a stream or to a file, which has its name when this returns `Ok`. A stream gets the data
/// before the damage, if the file is damaged.
///
/// # Errors
/// [`Error`]. An output file is removed, unless [`PlnUnpackRequest::keep_broken`] is set.
pub fn pln_unpack(request: PlnUnpackRequest, observer: &mut dyn Observer) -> Result<Unpacked, Error> {
    let PlnUnpackRequest { source, identities, span, target, .. } = request;
    let keep_attributes = request.keep_attributes;
    let keep_broken = request.keep_broken;
    let mut check = request.check;
    let identities = identities.as_deref();
    let resources = request.resources;
    let temporaries = request.temporaries;
    let mut opened = OpenedInput::new(source)?;
    let tail = if request.repair { opened.tail()? } else { None };
    let mut opened = opened.require_pln(identities, &resources)?;
    opened.refuse_target(&target)?;
    let mut output = OutputStream::open(target, &temporaries)?;
    let is_stream = output.is_stream();
    let mut sink = ResumedSink::new(&mut output);
    let mut read = decompress(&mut opened, span, &mut sink, &resources, observer);
    if request.repair
        && read.as_ref().is_err_and(encrypted::is_damage)
        && let Some(mut repaired) = opened.repaired(identities, &resources, observer)?
    {
        sink.start_again();
        read = decompress(&mut repaired, span, &mut sink, &resources, observer);
        if read.is_ok() && !sink.is_caught_up() {
            read = Err(packline_pln::Error::internal("more was written than a repaired copy has".into()));
        }
        check |= span == Span::ALL && !is_stream;
    }
    if keep_broken && span == Span::ALL && read.as_ref().is_err_and(encrypted::is_damage) {
        sink.start_again();
        salvage(&opened, identities, &mut sink, &resources, observer)?;
    }
    let tail = tail.filter(|_| read.as_ref().is_err_and(encrypted::is_damage));
    let read = read.map_err(|cause| fault(&opened.display_path, output.display_path(), cause));
    let read = read.and_then(|unpacked| {
        if check {
            output.check(unpacked.bytes, unpacked.blake3.map(Checksum::Blake3))?;
        }
        Ok(unpacked)
    });
    let about = opened.about.as_ref().filter(|_| keep_attributes);
    match read {
        Ok(unpacked) => output.finish(about, observer).map(|()| unpacked),
        Err(error) if keep_broken || is_stream => {
            // The damage is reported, not that the rest cannot be kept.
            let _: Result<(), Error> = output.finish(about, observer);
            Err(naming_recovery(error, tail, &resources))
        }
        Err(error) => Err(naming_recovery(error, tail, &resources)),
    }
}

/// Continues after the damage of a file. Zeros replace the lost data. Reports to the observer how much was lost.
fn salvage(
    opened: &OpenedInput,
    identities: Option<&Identities>,
    sink: &mut dyn Sink,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let Some(mut damaged) = opened.damaged(identities, resources)? else { return Ok(()) };
    let share = damaged.share;
    let read =
        share.with_rest(resources, |rest| packline_pln::salvage(damaged.source(), sink, &mut |_| {}, rest, observer));
    match read {
        Ok(salvaged) => observer.warning(&format!(
            "{}: {} bytes of its content are intact; {} are lost and are zeros in the output; 'packline verify' lists the \
             damage",
            opened.display_path.escaped(),
            salvaged.bytes,
            salvaged.lost,
        )),
        // The damage that was found first is reported.
        Err(cause) if encrypted::is_damage(&cause) => {}
        Err(cause) => return Err(fault(&opened.display_path, &opened.display_path, cause)),
    }
    Ok(())
}

/// The error of a damaged stream. If the stream has recovery data, the error says that it can be repaired as a file: the beginning of a stream is
/// gone.
fn naming_recovery(error: Error, tail: Option<TailStream>, resources: &Resources) -> Error {
    match error {
        Error::Stream { path, cause } if tail.is_some_and(|tail| tail.has_recovery(resources)) => {
            Error::stream(path, StreamError::Repairable(cause))
        }
        error => error,
    }
}

/// Decompresses an open input with the memory that decryption leaves.
fn decompress(
    opened: &mut OpenedInput,
    span: Span,
    sink: &mut dyn Sink,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Unpacked, packline_pln::Error> {
    let share = opened.share;
    let read =
        share.with_rest(resources, |rest| packline_pln::decompress(opened.source(), span, sink, rest, observer))?;
    if span == Span::ALL {
        encrypted::check_padding(opened)?;
    }
    Ok(read)
}

/// A fault that [`pln_verify`] found.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum PlnFinding<'a> {
    /// A fault of the content.
    Content(&'a packline_pln::Error),
    /// A fault of the frame around the content of an encrypted file.
    #[cfg(feature = "encryption")]
    Frame(&'a packline_encryption::Error),
}

impl<'a> From<&'a packline_pln::Error> for PlnFinding<'a> {
    fn from(error: &'a packline_pln::Error) -> PlnFinding<'a> {
        #[cfg(feature = "encryption")]
        if let Some(frame) = encrypted::frame_error(error) {
            return PlnFinding::Frame(frame);
        }
        PlnFinding::Content(error)
    }
}

impl std::fmt::Display for PlnFinding<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PlnFinding::Content(error) => error.fmt(f),
            #[cfg(feature = "encryption")]
            PlnFinding::Frame(error) => error.fmt(f),
        }
    }
}

/// Verifies a whole .pln file. Faults are passed to `found`, in the order of the file.
///
/// # Errors
/// [`Error`] if the file cannot be read, or is not a .pln file.
pub fn pln_verify(
    source: Input,
    identities: Option<&Identities>,
    resources: &Resources,
    found: &mut dyn FnMut(PlnFinding<'_>),
    observer: &mut dyn Observer,
) -> Result<Verified, Error> {
    let mut opened = OpenedInput::new(source)?.without_recovery()?;
    if opened.content_kind()? == Some(ContentKind::Encrypted) {
        return encrypted::verify(opened, identities, resources, found, observer);
    }
    let mut opened = opened.decrypted(identities, resources)?;
    let share = opened.share;
    let read = share.with_rest(resources, |rest| {
        packline_pln::verify(opened.source(), &mut |error| found(error.into()), rest, observer)
    });
    read.map_err(|cause| fault(&opened.display_path, &opened.display_path, cause))
}

/// Statistics of a .pln file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlnInfo {
    /// The facts in the file's tables; `None` if the file is encrypted and no key was given.
    pub info: Option<Info>,
    /// The encryption of the file; `None` if the file is not encrypted.
    pub encryption: Option<Encryption>,
}

/// Statistics of a .pln file from its tables; no record is read. A stream is stored first, since the tables are at its end. Without
/// `identities` only the head of an encrypted file is read.
///
/// # Errors
/// [`Error`] if the file cannot be read or is not a .pln file, or if none of the keys opens an encrypted file.
pub fn pln_info(source: Input, identities: Option<&Identities>, resources: &Resources) -> Result<PlnInfo, Error> {
    let mut opened = OpenedInput::new(source)?;
    if let Some(other) =
        opened.content_kind()?.filter(|kind| !matches!(kind, ContentKind::Pln | ContentKind::Encrypted))
    {
        return Err(other.instead_of(&opened.display_path, "a .pln file"));
    }
    opened.store(resources)?;
    let mut opened = opened.without_recovery()?;
    let kind = opened.content_kind()?;
    let encryption = match (kind, &opened.bytes) {
        #[cfg(feature = "encryption")]
        (Some(ContentKind::Encrypted), Bytes::At(file)) => Some(encrypted::described(&opened.display_path, file)?),
        _ => None,
    };
    if encryption.is_some() && identities.is_none() {
        return Ok(PlnInfo { info: None, encryption });
    }
    let OpenedInput { display_path, bytes, .. } = opened.decrypted(identities, resources)?;
    let input = match bytes {
        Bytes::At(input) => input,
        // An encrypted file that is damaged.
        Bytes::Stream(mut stream) => stored(&display_path, &mut stream, resources)?,
    };
    let read_info = Reader::open(input).and_then(|reader| reader.info());
    let mut info = read_info.map_err(|cause| fault(&display_path, &display_path, cause))?;
    if let Some(encryption) = &encryption {
        info.physical = encryption.physical;
    }
    Ok(PlnInfo { info: Some(info), encryption })
}

/// A .pln file that is read at any position.
pub(crate) struct OpenedPln {
    pub(crate) reader: Reader,
    /// The file with its recovery data, if it has any and no repair was tried yet.
    pub(crate) protected: Option<Arc<dyn packline_runtime::Input>>,
    /// Whether `reader` reads a repaired copy.
    pub(crate) repaired: bool,
}

/// Opens a .pln file to be read at any position. A damaged file is repaired by its recovery data. An encrypted file is opened with
/// `identities`.
pub(crate) fn pln_open(
    path: &Path,
    identities: Option<&Identities>,
    resources: &Resources,
) -> Result<OpenedPln, Error> {
    let opened = OpenedInput::new(Input::File(path.to_path_buf()))?;
    if opened.about.is_none() {
        let what = "a stream cannot be read at an arbitrary position".into();
        let expected = "a file".into();
        return Err(Error::Target { path: path.to_path_buf(), what, expected });
    }
    pln_open_input(opened, identities, resources)
}

/// As [`pln_open`], for an input that is read at offsets already.
pub(crate) fn pln_open_input(
    opened: OpenedInput,
    identities: Option<&Identities>,
    resources: &Resources,
) -> Result<OpenedPln, Error> {
    let path = opened.display_path.clone();
    let path = path.as_path();
    let mut opened = opened.require_pln(identities, resources)?;
    match indexed(&mut opened) {
        Ok(reader) => Ok(OpenedPln { reader, protected: opened.protected, repaired: false }),
        Err(cause) => {
            let protected = opened.protected.filter(|_| encrypted::is_damage(&cause));
            let repaired = protected.map(|protected| pln_repaired(path, &protected, identities, resources));
            let repaired = repaired.transpose()?.flatten();
            let opened = |reader| OpenedPln { reader, protected: None, repaired: true };
            repaired.map(opened).ok_or_else(|| fault(path, path, cause))
        }
    }
}

/// Opens a repaired copy of a damaged .pln file. `protected` is the file with its recovery data. Returns `None` if it cannot be repaired.
pub(crate) fn pln_repaired(
    path: &Path,
    protected: &Arc<dyn packline_runtime::Input>,
    identities: Option<&Identities>,
    resources: &Resources,
) -> Result<Option<Reader>, Error> {
    let repaired = repaired_input(path, protected, identities, resources, &mut Unobserved)?;
    let opened = repaired.map(|mut repaired| indexed(&mut repaired));
    opened.transpose().map_err(|cause| fault(path, path, cause))
}

fn indexed(opened: &mut OpenedInput) -> Result<Reader, packline_pln::Error> {
    let failed = packline_pln::Error::Input;
    match &mut opened.bytes {
        Bytes::At(input) => Reader::open(Arc::clone(input)),
        Bytes::Stream(stream) => {
            // An encrypted file that is damaged: its error comes where the damage is.
            std::io::copy(stream, &mut std::io::sink()).map_err(failed)?;
            Err(failed(std::io::ErrorKind::UnexpectedEof.into()))
        }
    }
}

/// An error of an input, an output or the work, with the path that it concerns.
pub(crate) fn fault(input: &Path, output: &Path, cause: packline_pln::Error) -> Error {
    use packline_pln::Error as Pln;
    match cause {
        Pln::Input(cause) => encrypted::error_in(input, cause).unwrap_or_else(|cause| Error::Source {
            path: input.to_path_buf(),
            action: "cannot read",
            cause,
        }),
        Pln::Output(cause) => encrypted::error_in(output, cause).unwrap_or_else(|cause| Error::Output {
            path: output.to_path_buf(),
            action: "cannot write",
            cause,
        }),
        Pln::Memory(MemoryFault { allowed, needed, what }) => {
            Error::Memory(MemoryFault { allowed, needed, what: format!("{what}, in {}", input.escaped()) })
        }
        cause => Error::stream(input, cause),
    }
}

#[cfg(test)]
mod tests;
