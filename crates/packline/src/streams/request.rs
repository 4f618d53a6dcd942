//! The request to compress a file or stream, and how every container answers it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_cache::BlockCache;
use packline_image::Output;
use packline_runtime::{Observer, Resources, Sink, Source, Temporaries};

#[cfg(feature = "pln")]
use super::encrypted::{Identities, Recipients};
use super::opened_input::OpenedInput;
use super::output_stream::OutputStream;
use crate::container::input::Input;
use crate::error::Error;

/// A file or stream to be compressed, with options `O` of the container.
#[non_exhaustive]
pub struct CompressRequest<O> {
    /// The content.
    pub source: Input,
    /// The destination of the compressed file.
    pub target: Output,
    /// Options that affect its bytes.
    pub options: O,
    /// Whether the output gets permissions, time and, where that is allowed, the owner of a source that is a file.
    pub keep_attributes: bool,
    /// Whether the output, which must be a file, is read back and decompressed before it gets its name, and compared with the hash of the
    /// source. Required before the source is removed. Does not affect the output.
    pub verify: bool,
    /// A cache in which compressed records are looked up and stored; not for .lrz files. It does not affect the output.
    pub cache: Option<Arc<BlockCache>>,
    /// Recovery data at the end of the output, for .pln files. An output stream is stored first, in [`Resources::scratch`].
    #[cfg(feature = "recovery")]
    pub recovery: Option<packline_recovery::Redundancy>,
    /// Recipients of an encrypted file; not for .lrz files. `None` for no encryption.
    #[cfg(feature = "pln")]
    pub recipients: Option<Arc<Recipients>>,
    /// Workers and memory. They do not affect the output.
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

    /// Opens the source by `open` and compresses it by `compress`. `check` decompresses the output and returns whether it equals the source. It is
    /// called on request, and if `is_unsteady` returns that the source may have changed. `fault` adds the input and the output to an error.
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
        let compressed = compress(opened.source(), &mut output, &self.options, &self.resources, observer);
        let written = compressed.map_err(|cause| fault(&opened.display_path, output.display_path(), cause))?;
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

/// The error for an output that differs from the source.
fn not_same(path: PathBuf) -> Error {
    let cause = std::io::Error::other("the data that was read back differs from the source (expected the same hash)");
    Error::Output { path, action: "cannot verify", cause }
}

/// Options of [`compress`](super::convert::compress) and [`decompress`](super::convert::decompress): made by [`StreamOptions::new`] and changed
/// field by field.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StreamOptions {
    /// Codec, `NAME[:key=value,...]`; `None` for the container's default. Applies only to compression.
    pub codec: Option<String>,
    /// Whether an output that is a file gets permissions, time and, where that is allowed, the owner of an input that is one.
    /// Default: yes.
    pub keep_attributes: bool,
    /// Recipients of an encrypted .pln file; `None` for no encryption. .lrz files cannot be encrypted here.
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

    pub(super) fn request<O>(&self, source: Input, target: Output, options: O) -> CompressRequest<O> {
        let mut request = CompressRequest::new(source, target, options);
        request.keep_attributes = self.keep_attributes;
        request.resources = self.resources.clone();
        request
    }
}
