//! Compresses one file or stream into a .lrz or .pln file, and decompresses one.

use std::ops::{Bound, RangeBounds};
#[cfg(feature = "lrz")]
use std::path::Path;

use packline_image::Output;
#[cfg(feature = "pln")]
use packline_pln::{Span, WriteOptions};
use packline_runtime::Observer;
use packline_runtime::escape::Escape;

#[cfg(feature = "lrz")]
use super::codecs::lrz_options;
#[cfg(feature = "pln")]
use super::codecs::pln_codings;
#[cfg(feature = "lrz")]
use super::lrz::{LrzUnpackRequest, lrz_open, lrz_open_file, lrz_open_input, lrz_open_stream, lrz_pack, lrz_unpack};
#[cfg(feature = "pln")]
use super::pln::{PlnUnpackRequest, pln_compress, pln_unpack};
use super::request::StreamOptions;
use crate::container::by_magic::ContentKind;
use crate::container::by_name::Container;
use crate::container::input::Input;
use crate::error::Error;

/// Compresses a file or stream into a .lrz or .pln file. Returns the bytes read and the bytes written.
///
/// # Errors
/// [`Error`], with the name of the file. An output file is removed. [`Error::Request`] for an image, which holds
/// trees.
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
                let what = format!("{}: a .lrz file cannot be encrypted for recipients", input.shown().escaped());
                return Err(Error::Request { what, expected: "a .pln file".to_string() });
            }
            let write = options.codec.as_deref().map_or_else(|| Ok(Default::default()), lrz_options)?;
            let request = options.request(input, target, write);
            lrz_pack(request, observer).map(|written| (written.plain, written.stored))
        }
        Container::SquashFs | Container::Erofs | Container::Tar => Err(Error::Request {
            what: format!("{}: an image or a tar holds a tree, not a stream", input.shown().escaped()),
            expected: "lrz or pln".to_string(),
        }),
        #[cfg(not(all(feature = "lrz", feature = "pln")))]
        container => Err(container.left_out()),
    }
}

/// Decompresses a .lrz or .pln file, or a range of the bytes in a .pln file. Returns the bytes written.
///
/// # Errors
/// [`Error`], with the part and its offset. An output file is removed; a stream gets the data before the damage.
/// [`Error::Request`] for a part of a .lrz file.
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
            what: format!("{}: a .lrz file cannot be read in part", source.shown().escaped()),
            expected: "a .pln file".to_string(),
        }),
        #[cfg(feature = "lrz")]
        Some(ContentKind::Lrz) => {
            let resources = options.resources.clone();
            let opened = match source {
                Input::File(path) => lrz_open(&path, None)?,
                Input::Opened(file) => lrz_open_file(&file, None)?,
                Input::Stream(name, mut stream) => lrz_open_stream(&name, &mut stream, None, &resources)?,
                Input::At(name, input) => lrz_open_input(Path::new(&name), input, None)?,
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
            expected: "a .lrz file".to_string(),
        }),
    }
}

/// Returns the first byte, and the number of bytes; `None` for all following bytes.
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
