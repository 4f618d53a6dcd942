//! The files of an image, in a directory or in an archive.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use packline_runtime::escape::Escape;
use packline_runtime::memory::{size_at_least, size_at_most};
use packline_tree::Error;

use super::archive::Archive;
use super::digest::Digest;
use super::documents::DOCUMENT_MOST;
use super::{unreadable, wrong};
use crate::Part;

pub(super) enum Blobs {
    Directory(PathBuf),
    Archive(Archive),
}

#[derive(Debug, Clone)]
pub(super) enum Blob {
    /// Opened when it is needed.
    File(PathBuf, u64),
    Part(Part),
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
        let read = blob.open()?.take(DOCUMENT_MOST).read_to_end(&mut bytes);
        read.map_err(|cause| blob.unreadable(name, cause))?;
        Ok(Some(bytes))
    }

    /// A document, whose digest is checked.
    pub fn checked(&self, name: &str, path: &str, digest: &Digest) -> Result<Vec<u8>, Error> {
        let missing = || wrong(name, format!("{path} is missing"), "all documents of the image");
        let bytes = self.document(name, path)?.ok_or_else(missing)?;
        let mut hasher = digest.hasher();
        hasher.update(&bytes);
        let found = hasher.finish();
        if found == *digest {
            Ok(bytes)
        } else {
            Err(wrong(name, format!("{path} has the digest {found}"), digest.to_string()))
        }
    }
}

impl Blob {
    pub fn size(&self) -> u64 {
        match self {
            Blob::File(_, size) => *size,
            Blob::Part(part) => part.size(),
        }
    }

    pub fn open(&self) -> Result<Part, Error> {
        match self {
            Blob::File(path, _) => {
                let part = File::open(path).and_then(Part::whole);
                part.map_err(|cause| Error::Io { path: path.clone(), action: "cannot open", cause })
            }
            Blob::Part(part) => Ok(part.clone()),
        }
    }

    /// An error of reading the file. `name` is for a part of an archive.
    pub fn unreadable(&self, name: &str, cause: io::Error) -> Error {
        match self {
            Blob::File(path, _) => unreadable(path, cause),
            Blob::Part(_) => unreadable(name.as_ref(), cause),
        }
    }
}
