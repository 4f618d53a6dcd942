//! A builder for packs into any container that holds trees, with the options that most callers need.

use std::path::PathBuf;

use packline_blocks::BlockSize;
use packline_image::Output;
use packline_runtime::{Observer, Resources, Unobserved};
use packline_tree::Patterns;

use super::pack;
use super::request::{PackContainer, PackRequest};
use super::summary::PackSummary;
use crate::container::by_name::Container;
use crate::error::Error;
use crate::sources::source::Source;

/// Packs a tree into a SquashFS image, an EROFS image or a .lrz file.
///
/// The output's bytes depend on the source, the container, the codec, the block size and the exclusions, and on nothing else.
pub struct Packer<'o> {
    source: Source,
    container: Option<Container>,
    codec: Option<String>,
    block_size: Option<u32>,
    exclude: Patterns,
    replace: bool,
    resources: Resources,
    observer: Option<&'o mut dyn Observer>,
}

/// Result of a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packed {
    /// Container that was written.
    pub container: Container,
    /// Bytes of file content, holes included; for a .lrz file, bytes of the tar in it.
    pub content_bytes: u64,
    /// Bytes of the output.
    pub output_bytes: u64,
    /// Workers that ran: fewer than requested if the memory limit did not allow more.
    pub workers: usize,
}

impl<'o> Packer<'o> {
    /// A pack of `source` with default options: zstd in blocks of 128 KiB, or LZMA in a .lrz file; with all processors.
    pub fn new(source: Source) -> Packer<'o> {
        Packer {
            source,
            container: None,
            codec: None,
            block_size: None,
            exclude: Patterns::new(),
            replace: false,
            resources: Resources::default(),
            observer: None,
        }
    }

    /// Sets the container. Default: by the ending of the output's name.
    #[must_use]
    pub fn container(self, container: Container) -> Packer<'o> {
        Packer { container: Some(container), ..self }
    }

    /// The codec, `NAME[:key=value,...]`: `zstd:level=19`, `xz:x86`, `none`.
    #[must_use]
    pub fn codec(self, codec: impl Into<String>) -> Packer<'o> {
        Packer { codec: Some(codec.into()), ..self }
    }

    /// Bytes of a block of a SquashFS image, or of the content of a cluster of an EROFS image: a power of two from 4 KiB to 1 MiB.
    #[must_use]
    pub fn block_size(self, bytes: u32) -> Packer<'o> {
        Packer { block_size: Some(bytes), ..self }
    }

    /// Leaves out entries that match a pattern, and everything below them.
    ///
    /// # Errors
    /// [`Error::Pattern`] for a malformed pattern.
    pub fn exclude(mut self, pattern: impl AsRef<[u8]>) -> Result<Packer<'o>, Error> {
        self.exclude.add(pattern.as_ref())?;
        Ok(self)
    }

    /// Whether an existing output is replaced. By default it is an error.
    #[must_use]
    pub fn replace(self, replace: bool) -> Packer<'o> {
        Packer { replace, ..self }
    }

    /// Workers and memory. They never change the output.
    #[must_use]
    pub fn resources(self, resources: Resources) -> Packer<'o> {
        Packer { resources, ..self }
    }

    /// Receives progress and warnings.
    #[must_use]
    pub fn observe(self, observer: &'o mut dyn Observer) -> Packer<'o> {
        Packer { observer: Some(observer), ..self }
    }

    /// Packs the tree. The output file gets its name when it is complete and synced.
    ///
    /// # Errors
    /// [`Error`], with the name of the file or entry and, if known, the offset.
    pub fn write_to(self, output: impl Into<PathBuf>) -> Result<Packed, Error> {
        let output = output.into();
        let mut silent = Unobserved;
        let container = self.container.map_or_else(|| Container::for_tree_at(&output), Ok)?;
        let checked = self.block_size.map(|bytes| BlockSize::new(bytes.into())).transpose();
        let block_size = checked.map_err(|cause| Error::Image { path: output.clone(), cause: Box::new(cause) })?;
        let mut options = PackContainer::parse(container, self.codec.as_deref(), block_size)?;
        let (source, exclude) = with_excludes(self.source, self.exclude);
        match &mut options {
            PackContainer::Image(image) => image.changes.exclude = exclude,
            #[cfg(feature = "lrz")]
            PackContainer::Lrz(_) if !exclude.is_empty() => return Err(super::no_lrz("entries that are left out")),
            #[cfg(feature = "lrz")]
            PackContainer::Lrz(_) => {}
        }
        let mut request = PackRequest::new(source, Output::File { path: output, force: self.replace }, options);
        request.resources = self.resources;
        let (content_bytes, output_bytes, workers) = match pack(request, self.observer.unwrap_or(&mut silent))? {
            PackSummary::Image(summary) => (summary.image.content_bytes, summary.output_bytes, summary.workers),
            #[cfg(feature = "lrz")]
            PackSummary::Lrz(written) => (written.plain, written.stored, written.workers),
        };
        Ok(Packed { container, content_bytes, output_bytes, workers })
    }
}

/// A directory source skips the entries itself. The entries of other sources are filtered.
fn with_excludes(mut source: Source, exclude: Patterns) -> (Source, Patterns) {
    if let Source::Directory { options, .. } = &mut source {
        options.excludes = exclude;
        return (source, Patterns::new());
    }
    (source, exclude)
}
