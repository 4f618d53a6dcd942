//! The files of an image, in a directory, in an archive or in a registry.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use packline_runtime::escape::Escape;
use packline_runtime::memory::{size_at_least, size_at_most};
use packline_tree::Error;

use super::archive::Archive;
use super::digest::Digest;
use super::documents::{DOCUMENT_MOST, Descriptor};
use super::registry::{RegistryImage, is_manifest};
use super::{unreadable, wrong};
use crate::Part;

pub(super) enum Blobs {
    Directory(PathBuf),
    Archive(Archive),
    /// Has no paths: its contents are found by descriptors.
    Registry(Arc<RegistryImage>),
}

#[derive(Debug, Clone)]
pub(super) enum Blob {
    /// Opened when it is needed.
    File(PathBuf, u64),
    Part(Part),
    Registry(Arc<RegistryImage>, Digest, u64),
}

impl Blobs {
    /// The file at a path. `None` if there is none.
    pub fn find(&self, path: &str) -> Result<Option<Blob>, Error> {
        match self {
            Blobs::Directory(top) => {
                let path = top.join(path);
                match path.metadata() {
                    Ok(about) if about.is_file() => Ok(Some(Blob::File(path, about.len()))),
                    Ok(_) => Err(wrong(&path.escaped(), "not a regular file", "one")),
                    Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
                    Err(cause) => Err(unreadable(&path, cause)),
                }
            }
            Blobs::Archive(archive) => Ok(archive.find(path.as_bytes()).map(Blob::Part)),
            Blobs::Registry(_) => Ok(None),
        }
    }

    /// A document. `None` if it does not exist.
    pub fn document(&self, name: &str, path: &str) -> Result<Option<Vec<u8>>, Error> {
        let Some(blob) = self.find(path)? else { return Ok(None) };
        if blob.size() > DOCUMENT_MOST {
            let what = format!("{path} has a size of {}", size_at_least(blob.size()));
            return Err(wrong(name, what, format!("at most {} for a document", size_at_most(DOCUMENT_MOST))));
        }
        let mut bytes = Vec::new();
        let read = blob.stream()?.take(DOCUMENT_MOST).read_to_end(&mut bytes);
        read.map_err(|cause| blob.unreadable(name, cause))?;
        Ok(Some(bytes))
    }

    /// A document, whose digest is checked.
    pub fn checked(&self, name: &str, path: &str, digest: &Digest) -> Result<Vec<u8>, Error> {
        let missing = || wrong(name, format!("{path} is missing"), "all documents of the image");
        let bytes = self.document(name, path)?.ok_or_else(missing)?;
        check(name, path, &bytes, digest).map(|()| bytes)
    }

    /// The document of a descriptor with this digest, which is checked.
    pub fn described(&self, name: &str, descriptor: &Descriptor, digest: &Digest) -> Result<Vec<u8>, Error> {
        let Blobs::Registry(image) = self else { return self.checked(name, &digest.path(), digest) };
        let bytes = image.document(descriptor)?;
        let checked = check(name, "a document", &bytes, digest);
        if !is_manifest(descriptor) {
            image.judge(&descriptor.digest, checked.is_ok());
        }
        checked.map(|()| bytes)
    }

    /// The content with a digest. `None` if the image is known not to have it.
    pub fn content(&self, digest: &Digest, size: u64) -> Result<Option<Blob>, Error> {
        match self {
            Blobs::Registry(image) => Ok(Some(Blob::Registry(Arc::clone(image), digest.clone(), size))),
            _ => self.find(&digest.path()),
        }
    }
}

/// Checks the digest of a document, which is called `path`.
fn check(name: &str, path: &str, bytes: &[u8], digest: &Digest) -> Result<(), Error> {
    let found = digest.of_same_kind(bytes);
    if found == *digest {
        Ok(())
    } else {
        Err(wrong(name, format!("{path} has the digest {found}"), digest.to_string()))
    }
}

impl Blob {
    pub fn size(&self) -> u64 {
        match self {
            Blob::File(_, size) => *size,
            Blob::Part(part) => part.size(),
            Blob::Registry(_, _, size) => *size,
        }
    }

    /// The content at any offset. `None` if it is in a registry.
    pub fn part(&self) -> Result<Option<Part>, Error> {
        match self {
            Blob::File(path, _) => {
                let part = File::open(path).and_then(Part::whole);
                part.map(Some).map_err(|cause| Error::Io { path: path.clone(), action: "cannot open", cause })
            }
            Blob::Part(part) => Ok(Some(part.clone())),
            Blob::Registry(..) => Ok(None),
        }
    }

    /// The content from its start to its end.
    pub fn stream(&self) -> Result<Box<dyn Read + Send>, Error> {
        match (self, self.part()?) {
            (Blob::Registry(image, digest, size), _) => Ok(image.content(&digest.to_string(), *size)),
            (_, Some(part)) => Ok(Box::new(part)),
            (_, None) => Ok(Box::new(io::empty())),
        }
    }

    /// An error of reading the file. `name` is for a part of an archive.
    pub fn unreadable(&self, name: &str, cause: io::Error) -> Error {
        match self {
            Blob::File(path, _) => unreadable(path, cause),
            Blob::Part(_) | Blob::Registry(..) => unreadable(name.as_ref(), cause),
        }
    }
}
