//! Container images as layers: an OCI image layout, as a directory or in a tar, the archives of `docker save` and `podman save`, and
//! images in registries, through a client of the caller ([`RegistryClient`]).
//!
//! <https://github.com/opencontainers/image-spec>, version 1.1.1, and the manifest.json of Docker's image archives, version 1.2.
//! A document has at most 4 MiB, an image at most [`LAYERS_MOST`] layers, and indexes are nested at most 4 deep. The digest and
//! the size of all content are checked; a layer is checked before any part of it is used ([`OciLayer::checked`]).

mod archive;
mod blobs;
mod details;
mod digest;
mod docker;
mod documents;
mod layer;
mod layout;
mod registry;
mod tags;

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_runtime::escape::Escape;
use packline_tree::Error;

use crate::decompress::Limits;
use archive::Archive;
use blobs::Blobs;
pub use details::OciDetails;
pub use digest::Digest;
pub use documents::Platform;
pub use layer::OciLayer;
pub use layout::lacks_platform;
use registry::RegistryImage;
pub use registry::{RegistryClient, RegistryRoot};

/// Maximum number of layers of an image, as in overlayfs.
pub const LAYERS_MOST: usize = 500;

/// The form of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Layout,
    LayoutArchive,
    DockerArchive,
}

/// The location of an image: `oci:DIR[:TAG]`, `oci-archive:FILE[:TAG]`, `docker-archive:FILE[:TAG]`, or a registry. FILE may be `-` for a
/// stream. TAG is a tag, a digest, or `@N` for the image with number N in the list, from 0. The registry may be left out of a tag if
/// only one image remains.
#[derive(Debug, Clone)]
pub struct OciPlace(Place);

#[derive(Debug, Clone)]
enum Place {
    Local(LocalPlace),
    Registry(Arc<RegistryImage>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct LocalPlace {
    form: Form,
    /// The path, with the tag if there is one.
    rest: Vec<u8>,
}

#[non_exhaustive]
pub struct OciOptions {
    /// The platform to choose; an image of a single platform must have it. `None` chooses this machine's platform, and accepts
    /// any image of a single platform.
    pub platform: Option<Platform>,
    /// Directory for a compressed archive or a stream.
    pub scratch: Option<PathBuf>,
    /// Limits of decompression.
    pub limits: Limits,
}

/// An image: its layers, the lowest first.
#[derive(Debug)]
pub struct OciImage {
    /// The name in messages.
    pub name: String,
    pub layers: Vec<OciLayer>,
    /// What its documents say.
    pub details: OciDetails,
}

impl OciOptions {
    /// The default platform, and no directory for an archive.
    pub fn new() -> OciOptions {
        OciOptions { platform: None, scratch: None, limits: Limits::default() }
    }
}

impl Default for OciOptions {
    fn default() -> OciOptions {
        OciOptions::new()
    }
}

impl OciPlace {
    /// `None` if the text does not begin with the name of a form. A registry has none: see [`OciPlace::in_registry`].
    pub fn parse(text: &OsStr) -> Option<OciPlace> {
        LocalPlace::parse(text).map(|place| OciPlace(Place::Local(place)))
    }

    /// An image in a registry. What a client reads of it is kept for the next time that the image is opened.
    pub fn in_registry(root: RegistryRoot, client: impl RegistryClient + 'static) -> OciPlace {
        OciPlace(Place::Registry(Arc::new(RegistryImage::new(root, Box::new(client)))))
    }

    /// Whether it is an archive from a stream.
    pub fn is_stream(&self) -> bool {
        matches!(&self.0, Place::Local(place) if place.is_stream())
    }

    /// The form of the image, as in the text of the location.
    pub fn form_name(&self) -> &'static str {
        match &self.0 {
            Place::Local(place) => match place.form {
                Form::Layout => "oci",
                Form::LayoutArchive => "oci-archive",
                Form::DockerArchive => "docker-archive",
            },
            Place::Registry(_) => "docker",
        }
    }

    /// The path of a directory or a file; `None` for a registry.
    pub fn path(&self) -> Option<PathBuf> {
        match &self.0 {
            Place::Local(place) => Some(place.split().0),
            Place::Registry(_) => None,
        }
    }
}

impl LocalPlace {
    fn parse(text: &OsStr) -> Option<LocalPlace> {
        let forms =
            [("oci:", Form::Layout), ("oci-archive:", Form::LayoutArchive), ("docker-archive:", Form::DockerArchive)];
        forms.into_iter().find_map(|(prefix, form)| {
            let rest = text.as_bytes().strip_prefix(prefix.as_bytes())?.to_vec();
            Some(LocalPlace { form, rest })
        })
    }

    fn is_stream(&self) -> bool {
        self.form != Form::Layout && (self.rest == b"-" || self.rest.starts_with(b"-:"))
    }

    /// The path, and the tag after the first colon that follows an existing path.
    fn split(&self) -> (PathBuf, Option<String>) {
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let exists = |bytes: &[u8]| self.is_stream() || path(bytes).symlink_metadata().is_ok();
        let colons = self.rest.iter().enumerate().filter(|(_, byte)| **byte == b':').map(|(at, _)| at);
        let mut ends = [self.rest.len()].into_iter().filter(|_| self.rest != b"-" && !self.is_stream()).chain(colons);
        match ends.find(|end| exists(&self.rest[..*end])) {
            Some(end) if end < self.rest.len() => {
                (path(&self.rest[..end]), Some(String::from_utf8_lossy(&self.rest[end + 1..]).into_owned()))
            }
            _ => (path(&self.rest), None),
        }
    }
}

impl OciImage {
    /// Opens an image that is not a stream. Does not read the layers; of a registry, reads indexes, the manifest and the config.
    ///
    /// # Errors
    /// [`Error::Io`] for a file that cannot be read; [`Error::Input`] if it is not such an image, or if it cannot be chosen from
    /// several.
    pub fn open(place: &OciPlace, options: &OciOptions) -> Result<OciImage, Error> {
        let place = match &place.0 {
            Place::Local(place) => place,
            Place::Registry(image) => return layout::open_registry(image, options),
        };
        let (path, tag) = place.split();
        let name = path.escaped();
        let about = path.metadata().map_err(|cause| Error::Io { path: path.clone(), action: "cannot open", cause })?;
        if place.form == Form::Layout {
            if !about.is_dir() {
                return Err(wrong(&name, "not a directory", "an OCI image layout; oci-archive:FILE for one in a tar"));
            }
            return layout::open(Blobs::Directory(path), name, tag.as_deref(), options);
        }
        let file = File::open(&path).map_err(|cause| Error::Io { path: path.clone(), action: "cannot open", cause })?;
        open_archive(place.form, Archive::open(file, &name, options)?, name, tag.as_deref(), options)
    }

    /// Opens an image for which [`OciPlace::is_stream`] is true. Stores the complete stream first.
    ///
    /// # Errors
    /// See [`OciImage::open`].
    pub fn open_stream(
        place: &OciPlace,
        name: &str,
        stream: impl Read + Send + 'static,
        options: &OciOptions,
    ) -> Result<OciImage, Error> {
        let Place::Local(place) = &place.0 else { return OciImage::open(place, options) };
        let archive = Archive::store(Box::new(stream), name, options)?;
        open_archive(place.form, archive, name.to_string(), place.split().1.as_deref(), options)
    }
}

fn open_archive(
    form: Form,
    archive: Archive,
    name: String,
    tag: Option<&str>,
    options: &OciOptions,
) -> Result<OciImage, Error> {
    match form {
        Form::DockerArchive => docker::open(Blobs::Archive(archive), name, tag, options),
        Form::Layout | Form::LayoutArchive => layout::open(Blobs::Archive(archive), name, tag, options),
    }
}

/// An error of an image, or of a part of it.
fn wrong(input: &str, what: impl Into<String>, expected: impl Into<String>) -> Error {
    Error::Input { input: input.to_string(), what: what.into(), expected: expected.into() }
}

fn unreadable(path: &Path, cause: std::io::Error) -> Error {
    Error::Io { path: path.to_path_buf(), action: "cannot read", cause }
}

/// The error for an image that must be chosen by its tag or its number. `numbered` is the number of images, if some have no tag.
fn choose(name: &str, what: &str, tags: &[String], numbered: usize) -> Error {
    let named = format!(":TAG with one of {}", tags.join(", "));
    let numbers = format!(":@0 to :@{}", numbered.saturating_sub(1));
    let expected = match (tags.is_empty(), numbered) {
        (true, 0) => "an image in it".to_string(),
        (true, _) => numbers,
        (false, 0) => named,
        (false, _) => format!("{named}, or {numbers}"),
    };
    wrong(name, what, expected)
}

/// The number in a tag of the form `@N`.
fn number(tag: &str) -> Option<usize> {
    tag.strip_prefix('@')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_behind_the_path_of_something() {
        let top = tempfile::tempdir().unwrap();
        let directory = top.path().join("a:b");
        std::fs::create_dir(&directory).unwrap();
        let place = |tail: &str| {
            let text = format!("oci:{}{tail}", directory.display());
            LocalPlace::parse(OsStr::new(&text)).unwrap()
        };
        assert_eq!(place("").split(), (directory.clone(), None));
        assert_eq!(place(":x/y:1").split(), (directory.clone(), Some("x/y:1".to_string())));
        let none = LocalPlace::parse(OsStr::new("docker-archive:none:tag")).unwrap();
        assert_eq!(none.split(), (PathBuf::from("none:tag"), None));
        assert!(OciPlace::parse(OsStr::new("./oci:x")).is_none());
        for (text, stream, tag) in
            [("docker-archive:-", true, None), ("oci-archive:-:t", true, Some("t")), ("oci:-", false, None)]
        {
            let place = LocalPlace::parse(OsStr::new(text)).unwrap();
            assert_eq!((place.is_stream(), place.split()), (stream, ("-".into(), tag.map(str::to_string))), "{text}");
        }
    }
}
