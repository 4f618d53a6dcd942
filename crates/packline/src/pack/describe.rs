//! The first phase of a pack: checks the request and describes the work.

use std::path::{Path, PathBuf};

use packline_erofs::Place;
use packline_image::{OpenedImage, Output};
use packline_runtime::{FileIdentity, FileStamp, Resources, must_differ};
#[cfg(any(feature = "lrz", feature = "pln"))]
use packline_runtime::{OutputFile, Temporaries};

use super::entries::EntrySetup;
use super::image_options::ImageOptions;
use super::request::ImageRequest;
use super::target::PackTarget;
use crate::error::Error;
use crate::sources::changes::Unsupported;
#[cfg(any(feature = "lrz", feature = "pln"))]
use crate::sources::directory::leave_out;
use crate::sources::source::Source;

/// Whether a pack stores contents, or only lists entries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Contents {
    Packed,
    Listed,
}

/// A described pack. No file is open yet.
pub(super) struct Described {
    pub(super) source: Source,
    pub(super) setup: Setup,
}

/// Values that all phases of a pack use.
pub(super) struct Setup {
    /// The output's name in messages.
    pub(super) display_path: PathBuf,
    /// The options of the image, except how its entries are read and changed.
    pub(super) image: ImageRequest,
    pub(super) entries: EntrySetup,
    pub(super) contents: Contents,
    /// The state, when it was opened, of an image that is read and that the output replaces.
    pub(super) replaced_input: Option<FileStamp>,
    pub(super) resources: Resources,
}

/// Describes the pack of `source` into an image.
///
/// # Errors
/// [`Error::Request`] for an EROFS image to which entries are appended; [`Error::Image`] for options that do not go together;
/// [`Error::Target`] for an output that is the input.
pub(super) fn describe(
    source: Source,
    target: &PackTarget<'_>,
    mut image: ImageRequest,
    resources: Resources,
    contents: Contents,
) -> Result<Described, Error> {
    let display_path = target.display_path().to_path_buf();
    let replaced_input = replaced_input(&source, &image, &display_path);
    if image.append_to.is_some() && !matches!(image.options, ImageOptions::SquashFs(_)) {
        return Err(not_appended());
    }
    check_device(&image)?;
    begin_after_prepended(&mut image)?;
    let valid = image.options.validate();
    valid.map_err(|cause| Error::Image { path: display_path.clone(), cause: Box::new(cause) })?;
    if let PackTarget::Output(Output::File { .. }) = target {
        refuse_input(&source, &display_path, display_path.is_file())?;
    }
    if !image.options.xattrs() {
        // Attributes that are not stored need not be supported.
        image.entries.changes.unsupported = Unsupported::Ignore;
    }
    if contents == Contents::Listed {
        // These options affect only contents.
        image.entries.order = None;
        #[cfg(feature = "verity")]
        {
            image.verity = None;
        }
    }
    let entries = std::mem::take(&mut image.entries);
    let (source, entries) = EntrySetup::new(source, entries, image.options.limits(), image.options.block_size());
    if let Some(prepended) = &image.prepended {
        prepended.watch(&entries.inputs);
    }
    Ok(Described { source, setup: Setup { display_path, image, entries, contents, replaced_input, resources } })
}

/// Rejects an output that is a tar or a zip archive that is read, and, unless the output `may_replace_images`, an image that is read. If packing
/// failed late, little of the input would be left.
pub(super) fn refuse_input(source: &Source, output: &Path, may_replace_images: bool) -> Result<(), Error> {
    match source {
        Source::TarFile { path, .. } | Source::Zip { path, .. } => Ok(must_differ(path, output)?),
        Source::Image(image) if !may_replace_images => Ok(must_differ(&image.display_path, output)?),
        Source::Stack(stack) => {
            stack.layers.iter().try_for_each(|layer| refuse_input(layer, output, may_replace_images))
        }
        _ => Ok(()),
    }
}

/// Prepares a source for an output that is written only after the source was read. Rejects an output that cannot be written, or that is
/// read, before anything is read, and leaves the output out of the directories that are read.
///
/// # Errors
/// [`Error::Exists`] for an output that exists, unless it may be replaced; [`Error::Target`] for one that is read; [`Error::Output`] if no file can be created there.
#[cfg(any(feature = "lrz", feature = "pln"))]
pub(super) fn prepare_late_output(source: &mut Source, output: &Output) -> Result<(), Error> {
    let Output::File { path, force } = output else { return Ok(()) };
    refuse_input(source, path, false)?;
    drop(OutputFile::open(path, *force, &Temporaries::default())?);
    source.for_each_directory(&mut |directory, options| leave_out(path, directory, options));
    Ok(())
}

/// Rejects a device without contents for it, and what contents on a device do not have.
fn check_device(image: &ImageRequest) -> Result<(), Error> {
    let place = image.options.place();
    let refuse =
        |what: &str, expected: &str| Err(Error::Request { what: what.to_string(), expected: expected.to_string() });
    match (place, image.device.is_some()) {
        (Place::Blob, false) => refuse("contents on a device without a device", "a device"),
        (Place::Image | Place::Tar, true) => refuse("a device without contents", "contents on the device"),
        _ if place != Place::Image && image.verify => {
            refuse("verification of contents on a device", "an image with its contents")
        }
        _ => Ok(()),
    }
}

/// Begins the image after the bytes of another file.
fn begin_after_prepended(image: &mut ImageRequest) -> Result<(), Error> {
    let Some(prepended) = &image.prepended else { return Ok(()) };
    if image.offset != 0 {
        let what = "an offset of an image that begins after the bytes of another file".to_string();
        return Err(Error::Request { what, expected: "an offset of 0".to_string() });
    }
    image.offset = prepended.length();
    Ok(())
}

fn not_appended() -> Error {
    Error::Request {
        what: "an EROFS image with the entries of an earlier image before its own".to_string(),
        expected: "a SquashFS image".to_string(),
    }
}

fn replaced_input(source: &Source, request: &ImageRequest, output: &Path) -> Option<FileStamp> {
    let target = FileIdentity::of_path(output)?;
    let is_target = |path: &Path| FileIdentity::of_path(path) == Some(target);
    let mut images: Vec<&OpenedImage> = request.append_to.iter().map(|before| &before.image).collect();
    add_images(source, &mut images);
    let opened = images.into_iter().find(|image| is_target(&image.display_path)).and_then(OpenedImage::stamp);
    // A base is opened later.
    let is_base = request.base.iter().any(|base| is_target(&base.place.path));
    if opened.is_none() && is_base { FileStamp::of_path(output).ok() } else { opened }
}

fn add_images<'s>(source: &'s Source, images: &mut Vec<&'s OpenedImage>) {
    match source {
        Source::Image(image) => images.push(image),
        Source::Stack(stack) => stack.layers.iter().for_each(|layer| add_images(layer, images)),
        _ => {}
    }
}
