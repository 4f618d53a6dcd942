//! One file or stream, compressed into a .lrz or .pln file, or decompressed from one.

use std::io::{Cursor, Read};
use std::ops::{Bound, RangeBounds};
use std::path::{Path, PathBuf};

use packline_image::ContentKind;
use packline_pln::{Span, WriteOptions};
use packline_runtime::escape::Escape;

use crate::codecs::{lrz_options, pln_codings};
use crate::source::head_of;
use crate::{
    Container, Error, LrzRequest, LrzSource, LrzUnpackRequest, Observer, Output, PlnRequest, PlnUnpackRequest,
    Resources, Temporaries, lrz_open, lrz_open_stream, lrz_pack, lrz_unpack, pln_compress, pln_unpack,
};

/// Where bytes come from, compressed or not.
pub enum Input {
    /// A file. One that is no regular file is read as a stream.
    File(PathBuf),
    /// A stream, with its name in messages.
    Stream(String, Box<dyn Read + Send>),
}

impl Input {
    /// A file.
    pub fn file(path: impl Into<PathBuf>) -> Input {
        Input::File(path.into())
    }

    /// A stream; `name` is for messages.
    pub fn reader(name: impl Into<String>, stream: impl Read + Send + 'static) -> Input {
        Input::Stream(name.into(), Box::new(stream))
    }

    fn shown(&self) -> PathBuf {
        match self {
            Input::File(path) => path.clone(),
            Input::Stream(name, _) => PathBuf::from(name),
        }
    }

    /// The same input, and the container that its first bytes are those of.
    fn recognized(self) -> Result<(Input, Option<ContentKind>), Error> {
        match self {
            Input::File(path) => {
                let found = ContentKind::of_file(&path);
                Ok((Input::File(path), found))
            }
            Input::Stream(name, mut stream) => {
                let head = head_of(Path::new(&name), &mut stream)?;
                let found = ContentKind::of_head(&head);
                Ok((Input::Stream(name, Box::new(Cursor::new(head).chain(stream))), found))
            }
        }
    }
}

/// Options of [`compress`] and [`decompress`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StreamOptions {
    /// Codec, `NAME[:key=value,...]`; `None` for the container's default. Only where something is compressed.
    pub codec: Option<String>,
    /// Whether an output that is a file gets permissions, time and, where that is allowed, the owner of an input that is one.
    /// Default: yes.
    pub keep_attributes: bool,
    /// Workers and memory. They never change the output.
    pub resources: Resources,
}

impl Default for StreamOptions {
    fn default() -> StreamOptions {
        StreamOptions { codec: None, keep_attributes: true, resources: Resources::new(1) }
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
    let StreamOptions { keep_attributes, ref codec, ref resources } = *options;
    let (resources, temporaries) = (resources.clone(), Temporaries::default());
    match container {
        Container::Pln => {
            let mut options = WriteOptions::usual()?;
            if let Some(codec) = codec {
                options.codings = pln_codings(&[codec])?;
            }
            let request = PlnRequest { source: input, target, options, keep_attributes, resources, temporaries };
            pln_compress(request, observer).map(|written| (written.logical, written.physical))
        }
        Container::Lrz => {
            let options = codec.as_deref().map_or_else(|| Ok(Default::default()), lrz_options)?;
            let source = LrzSource::Content(input);
            let request = LrzRequest { source, target, options, keep_attributes, resources, temporaries };
            lrz_pack(request, observer).map(|written| (written.plain, written.stored))
        }
        Container::SquashFs => Err(Error::Request {
            what: format!("{}: a SquashFS image holds a tree, not a stream", input.shown().escaped()),
            expected: "lrz or pln".to_string(),
        }),
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
    let (span, resources) = (span(range), options.resources.clone());
    match found {
        Some(ContentKind::Lrz) if span != Span::ALL => Err(Error::Request {
            what: format!("{}: a part of a .lrz file", source.shown().escaped()),
            expected: "all of it; parts are read of .pln files".to_string(),
        }),
        Some(ContentKind::Lrz) => {
            let opened = match source {
                Input::File(path) => lrz_open(&path, None)?,
                Input::Stream(name, mut stream) => lrz_open_stream(&name, &mut stream, None, &resources)?,
            };
            let request = LrzUnpackRequest { resources, ..LrzUnpackRequest::new(&opened, Some(target)) };
            lrz_unpack(request, observer).map(|unpacked| unpacked.plain)
        }
        _ => {
            let request = PlnUnpackRequest {
                source,
                span,
                target,
                keep_attributes: options.keep_attributes,
                keep_broken: false,
                resources,
                temporaries: Temporaries::default(),
            };
            pln_unpack(request, observer).map(|unpacked| unpacked.bytes)
        }
    }
}

fn span(range: impl RangeBounds<u64>) -> Span {
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
    Span { start, length }
}
