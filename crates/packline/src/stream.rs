//! One file or stream, compressed into a .lrz or .pln file, or decompressed from one.

use std::ops::{Bound, RangeBounds};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_cache::BlockCache;
#[cfg(feature = "pln")]
use packline_pln::{Span, WriteOptions};
use packline_runtime::escape::Escape;
use packline_runtime::{Sink, Source};

#[cfg(feature = "lrz")]
use crate::codecs::lrz_options;
#[cfg(feature = "pln")]
use crate::codecs::pln_codings;
#[cfg(feature = "lrz")]
use crate::lrzip::lrz_open_file;
use crate::opened_input::OpenedInput;
use crate::output_stream::OutputStream;
use crate::{Container, ContentKind, Error, Input, Observer, Output, Resources, Temporaries};
#[cfg(feature = "pln")]
use crate::{Identities, Recipients};
#[cfg(feature = "lrz")]
use crate::{LrzUnpackRequest, lrz_open, lrz_open_stream, lrz_pack, lrz_unpack};
#[cfg(feature = "pln")]
use crate::{PlnUnpackRequest, pln_compress, pln_unpack};

/// A file or stream to be compressed, with options `O` of the container.
#[non_exhaustive]
pub struct CompressRequest<O> {
    /// The content.
    pub source: Input,
    /// Where the compressed file goes.
    pub target: Output,
    /// What decides its bytes besides the source.
    pub options: O,
    /// Whether the output gets permissions, time and, where that is allowed, the owner of a source that is a file.
    pub keep_attributes: bool,
    /// Whether the output, which is a file then, is read back and decompressed before it gets its name, and the hash of that compared with the
    /// one of what was read: required before the source is removed. Changes no byte.
    pub verify: bool,
    /// Where compressed records are looked up and added; not for .lrz files. It changes no byte.
    pub cache: Option<Arc<BlockCache>>,
    /// Recovery data behind the output, for .pln files. An output that is a stream is stored first then, in [`Resources::scratch`].
    #[cfg(feature = "recovery")]
    pub recovery: Option<packline_recovery::Redundancy>,
    /// For whom it is encrypted; not for .lrz files. `None` for no one: then anyone can read it.
    #[cfg(feature = "pln")]
    pub recipients: Option<Arc<Recipients>>,
    /// Workers and memory. They change no byte.
    pub resources: Resources,
    /// Registers temporary files for removal on exit.
    pub temporaries: Temporaries,
}

impl<O> CompressRequest<O> {
    /// Compresses `source` and keeps its attributes; with all processors, no memory limit.
    pub fn new(source: Input, target: Output, options: O) -> CompressRequest<O> {
        let resources = Resources::default();
        let temporaries = Temporaries::default();
        CompressRequest {
            source,
            target,
            options,
            keep_attributes: true,
            verify: false,
            cache: None,
            #[cfg(feature = "recovery")]
            recovery: None,
            #[cfg(feature = "pln")]
            recipients: None,
            resources,
            temporaries,
        }
    }

    /// Opens the source by `open` and compresses it by `compress`. `check` decompresses what was written, and says whether that is what was read:
    /// on request, and if `is_unsteady` says that the output may be of two states of the source. `fault` names the input and the output of an error.
    pub(crate) fn run<W, E>(
        self,
        open: fn(Input) -> Result<OpenedInput, Error>,
        compress: impl FnOnce(Source<'_>, &mut dyn Sink, &O, &Resources, &mut dyn Observer) -> Result<W, E>,
        is_unsteady: fn(&W) -> bool,
        check: impl FnOnce(Arc<dyn packline_runtime::Input>, &W, &O, &Resources, &mut dyn Observer) -> Result<bool, E>,
        fault: fn(&Path, &Path, E) -> Error,
        observer: &mut dyn Observer,
    ) -> Result<W, Error> {
        let mut opened = open(self.source)?;
        opened.refuse_target(&self.target)?;
        #[cfg(feature = "recovery")]
        let mut output = match self.recovery {
            Some(_) => OutputStream::open_for_recovery(self.target, &self.resources, &self.temporaries)?,
            None => OutputStream::open(self.target, &self.temporaries)?,
        };
        #[cfg(not(feature = "recovery"))]
        let mut output = OutputStream::open(self.target, &self.temporaries)?;
        let written = compress(opened.source(), &mut output, &self.options, &self.resources, observer);
        let written = written.map_err(|cause| fault(&opened.display_path, output.display_path(), cause))?;
        #[cfg(feature = "recovery")]
        if let Some(redundancy) = self.recovery {
            output.protect(redundancy, &self.resources, observer)?;
        }
        if let Some(warning) = opened.change()? {
            observer.warning(&warning);
        }
        if self.verify || is_unsteady(&written) {
            let name = output.display_path().to_path_buf();
            let same = check(output.read_back()?, &written, &self.options, &self.resources, observer);
            if !same.map_err(|cause| fault(&name, &name, cause))? {
                return Err(not_same(name));
            }
        }
        output.finish(opened.about.as_ref().filter(|_| self.keep_attributes), observer)?;
        Ok(written)
    }
}

/// The error for an output that is not what was written.
fn not_same(path: PathBuf) -> Error {
    let cause = std::io::Error::other("what is read back is not what was compressed (expected the same hash)");
    Error::Output { path, action: "cannot verify", cause }
}

/// Options of [`compress`] and [`decompress`]: made by [`StreamOptions::new`] and changed field by field.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StreamOptions {
    /// Codec, `NAME[:key=value,...]`; `None` for the container's default. Only where something is compressed.
    pub codec: Option<String>,
    /// Whether an output that is a file gets permissions, time and, where that is allowed, the owner of an input that is one.
    /// Default: yes.
    pub keep_attributes: bool,
    /// For whom a .pln file is encrypted; `None` for no one: then anyone can read it. There is no encryption of .lrz files here.
    #[cfg(feature = "pln")]
    pub recipients: Option<Arc<Recipients>>,
    /// Keys that may open an encrypted .pln file.
    #[cfg(feature = "pln")]
    pub identities: Option<Arc<Identities>>,
    /// Workers and memory. They never change the output.
    pub resources: Resources,
}

impl Default for StreamOptions {
    fn default() -> StreamOptions {
        StreamOptions {
            codec: None,
            keep_attributes: true,
            #[cfg(feature = "pln")]
            recipients: None,
            #[cfg(feature = "pln")]
            identities: None,
            resources: Resources::default(),
        }
    }
}

impl StreamOptions {
    /// The container's default codec, attributes kept, all processors, no memory limit.
    #[must_use]
    pub fn new() -> StreamOptions {
        StreamOptions::default()
    }

    fn request<O>(&self, source: Input, target: Output, options: O) -> CompressRequest<O> {
        let mut request = CompressRequest::new(source, target, options);
        request.keep_attributes = self.keep_attributes;
        request.resources = self.resources.clone();
        request
    }
}

/// Compresses a file or stream into a .lrz or .pln file. Returns the bytes read and the bytes written.
///
/// # Errors
/// [`Error`], with the name of the file; an output that is a file is not there then. [`Error::Request`] for
/// [`Container::SquashFs`], which holds trees.
pub fn compress(
    input: Input,
    container: Container,
    options: &StreamOptions,
    target: Output,
    observer: &mut dyn Observer,
) -> Result<(u64, u64), Error> {
    match container {
        #[cfg(feature = "pln")]
        Container::Pln => {
            let mut write = WriteOptions::usual()?;
            if let Some(codec) = &options.codec {
                write.codings = pln_codings(&[codec])?;
            }
            let mut request = options.request(input, target, write);
            request.recipients = options.recipients.clone();
            pln_compress(request, observer).map(|written| (written.logical, written.physical))
        }
        #[cfg(feature = "lrz")]
        Container::Lrz => {
            #[cfg(feature = "pln")]
            if options.recipients.is_some() {
                let what = format!("{}: a .lrz file for recipients", input.shown().escaped());
                return Err(Error::Request { what, expected: "pln".to_string() });
            }
            let write = options.codec.as_deref().map_or_else(|| Ok(Default::default()), lrz_options)?;
            let request = options.request(input, target, write);
            lrz_pack(request, observer).map(|written| (written.plain, written.stored))
        }
        Container::SquashFs => Err(Error::Request {
            what: format!("{}: a SquashFS image holds a tree, not a stream", input.shown().escaped()),
            expected: "lrz or pln".to_string(),
        }),
        #[cfg(not(all(feature = "lrz", feature = "pln")))]
        container => Err(container.left_out()),
    }
}

/// Decompresses a .lrz or .pln file, or, of a .pln file, a range of its bytes. Returns the bytes written.
///
/// # Errors
/// [`Error`], with the part and its offset; an output that is a file is not there then, and a stream has got what precedes the
/// damage. [`Error::Request`] for a part of a .lrz file.
pub fn decompress(
    input: Input,
    range: impl RangeBounds<u64>,
    options: &StreamOptions,
    target: Output,
    observer: &mut dyn Observer,
) -> Result<u64, Error> {
    let (source, found) = input.recognized()?;
    let (start, length) = bounds(range);
    match found {
        Some(ContentKind::Lrz) if (start, length) != (0, None) => Err(Error::Request {
            what: format!("{}: a part of a .lrz file", source.shown().escaped()),
            expected: "all of it; parts are read of .pln files".to_string(),
        }),
        #[cfg(feature = "lrz")]
        Some(ContentKind::Lrz) => {
            let resources = options.resources.clone();
            let opened = match source {
                Input::File(path) => lrz_open(&path, None)?,
                Input::Opened(file) => lrz_open_file(&file, None)?,
                Input::Stream(name, mut stream) => lrz_open_stream(&name, &mut stream, None, &resources)?,
            };
            let mut request = LrzUnpackRequest::new(&opened, Some(target));
            request.resources = resources;
            lrz_unpack(request, observer).map(|unpacked| unpacked.plain)
        }
        #[cfg(not(feature = "lrz"))]
        Some(ContentKind::Lrz) => Err(Container::Lrz.left_out()),
        #[cfg(feature = "pln")]
        _ => {
            let mut request = PlnUnpackRequest::new(source, target);
            request.span = Span { start, length };
            request.identities = options.identities.clone();
            request.keep_attributes = options.keep_attributes;
            request.resources = options.resources.clone();
            pln_unpack(request, observer).map(|unpacked| unpacked.bytes)
        }
        #[cfg(not(feature = "pln"))]
        Some(ContentKind::Pln | ContentKind::Encrypted) => Err(Container::Pln.left_out()),
        #[cfg(not(feature = "pln"))]
        _ => Err(Error::Request {
            what: format!("{}: not a .lrz file", source.shown().escaped()),
            expected: "one".to_string(),
        }),
    }
}

/// The first byte, and the number of bytes; `None` for all that follow.
fn bounds(range: impl RangeBounds<u64>) -> (u64, Option<u64>) {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&start) => start.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let length = match range.end_bound() {
        Bound::Included(&end) => Some(end.saturating_add(1).saturating_sub(start)),
        Bound::Excluded(&end) => Some(end.saturating_sub(start)),
        Bound::Unbounded => None,
    };
    (start, length)
}
