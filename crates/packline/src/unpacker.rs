//! The builder of an unpacking: a SquashFS image or the tar in a .lrz file, to a directory or a tar.

use std::path::PathBuf;

use packline_codec::StreamSpec;
use packline_image::{
    ContentKind, ImagePlace, RestoreAttributes, Selection, TarOutRequest, TarScope, UnpackRequest, tar_out,
};

use crate::{
    Error, FileKind, LrzTreeRequest, LrzUnpackRequest, Observer, Output, Resources, Unobserved, lrz_open, lrz_unpack,
    lrz_unpack_tree,
};

/// Unpacks a SquashFS image or the tree in a .lrz file; by the first bytes of the file.
pub struct Unpacker<'o> {
    request: UnpackRequest,
    observer: Option<&'o mut dyn Observer>,
}

/// Result of an unpacking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unpacked {
    /// Bytes of file content, holes included; of the tar, where a .lrz file becomes one.
    pub content_bytes: u64,
    /// Entries that are missing or not whole; 0 unless [`Unpacker::continue_on_error`] was asked for.
    pub errors: u64,
}

impl<'o> Unpacker<'o> {
    /// Unpacks the file at `path`, everything with all attributes; one worker.
    pub fn new(path: impl Into<PathBuf>) -> Unpacker<'o> {
        let request = UnpackRequest::new(ImagePlace::new(path), PathBuf::new());
        Unpacker { request, observer: None }
    }

    /// Which attributes are restored in a directory.
    #[must_use]
    pub fn restore(mut self, attributes: RestoreAttributes) -> Unpacker<'o> {
        self.request.restore = attributes;
        self
    }

    /// Whether errors of single entries are reported to the observer while the rest is unpacked. Not of a .lrz file.
    #[must_use]
    pub fn continue_on_error(mut self, go_on: bool) -> Unpacker<'o> {
        self.request.continue_on_error = go_on;
        self
    }

    /// Which entries are unpacked. A .lrz file is unpacked as a whole.
    #[must_use]
    pub fn select(mut self, selection: Selection) -> Unpacker<'o> {
        self.request.selection = selection;
        self
    }

    /// Whether files in an existing directory, or an existing tar, are replaced.
    #[must_use]
    pub fn replace(mut self, replace: bool) -> Unpacker<'o> {
        self.request.force = replace;
        self
    }

    /// Workers and memory. They never change what is written.
    #[must_use]
    pub fn resources(mut self, resources: Resources) -> Unpacker<'o> {
        self.request.resources = resources;
        self
    }

    /// Receives progress, warnings and, with [`Unpacker::continue_on_error`], errors.
    #[must_use]
    pub fn observe(self, observer: &'o mut dyn Observer) -> Unpacker<'o> {
        Unpacker { observer: Some(observer), ..self }
    }

    /// Unpacks to a directory, which is made, or is empty, unless [`Unpacker::replace`] was asked for.
    ///
    /// # Errors
    /// [`Error`], with the entry and the path. A directory that was made is not there then.
    pub fn to_directory(mut self, destination: impl Into<PathBuf>) -> Result<Unpacked, Error> {
        self.request.destination = destination.into();
        let is_lrz = self.is_lrz()?;
        self.observed(|request, observer| match is_lrz {
            true => lrz_to_directory(request, observer),
            false => {
                let counts = packline_image::unpack(request, observer)?.counts;
                Ok(Unpacked { content_bytes: counts.content_bytes, errors: counts.errors })
            }
        })
    }

    /// Makes a tar, compressed as its name says: .tar, .tar.gz, .tar.xz, .tar.zst or .tar.bz2.
    ///
    /// # Errors
    /// [`Error`], with the entry and the offset. The tar is not there then.
    pub fn to_tar(self, destination: impl Into<PathBuf>) -> Result<Unpacked, Error> {
        let destination = destination.into();
        let is_lrz = self.is_lrz()?;
        self.observed(|request, observer| {
            let compression = FileKind::of_path(&destination).and_then(FileKind::stream).map(StreamSpec::new);
            let target = Output::File { path: destination, force: request.force };
            match is_lrz {
                true if compression.is_some() => Err(whole(&request, "a tar in it that is compressed again")),
                true => lrz_to_tar(request, target, observer),
                false => to_tar(request, target, compression, observer),
            }
        })
    }

    fn is_lrz(&self) -> Result<bool, Error> {
        let request = &self.request;
        let is_lrz = request.image.content_kind() == Some(ContentKind::Lrz);
        if is_lrz && (!request.selection.is_all() || request.continue_on_error) {
            return Err(whole(request, "a part of it"));
        }
        Ok(is_lrz)
    }

    fn observed<T>(self, run: impl FnOnce(UnpackRequest, &mut dyn Observer) -> Result<T, Error>) -> Result<T, Error> {
        match self.observer {
            Some(observer) => run(self.request, observer),
            None => run(self.request, &mut Unobserved),
        }
    }
}

fn to_tar(
    request: UnpackRequest,
    target: Output,
    compression: Option<StreamSpec>,
    observer: &mut dyn Observer,
) -> Result<Unpacked, Error> {
    let request = TarOutRequest {
        compression,
        scope: TarScope::Selected(request.selection),
        continue_on_error: request.continue_on_error,
        resources: request.resources,
        ..TarOutRequest::new(request.image, target)
    };
    let summary = tar_out(request, observer)?;
    Ok(Unpacked { content_bytes: summary.content_bytes, errors: summary.damaged })
}

fn lrz_to_directory(request: UnpackRequest, observer: &mut dyn Observer) -> Result<Unpacked, Error> {
    let opened = lrz_open(&request.image.path, None)?;
    let UnpackRequest { destination, force, restore, devices, sync, resources, temporaries, .. } = request;
    let request =
        LrzTreeRequest { opened: &opened, destination, force, restore, devices, sync, resources, temporaries };
    let counts = lrz_unpack_tree(request, observer)?;
    Ok(Unpacked { content_bytes: counts.content_bytes, errors: 0 })
}

fn lrz_to_tar(request: UnpackRequest, target: Output, observer: &mut dyn Observer) -> Result<Unpacked, Error> {
    let opened = lrz_open(&request.image.path, None)?;
    let request =
        LrzUnpackRequest { tar: true, resources: request.resources, ..LrzUnpackRequest::new(&opened, Some(target)) };
    Ok(Unpacked { content_bytes: lrz_unpack(request, observer)?.plain, errors: 0 })
}

fn whole(request: &UnpackRequest, what: &str) -> Error {
    use packline_runtime::escape::Escape;
    let what = format!("{}: a .lrz file, and {what} is asked for", request.image.path.escaped());
    Error::Request { what, expected: "all of it, as a directory or a plain tar".to_string() }
}
