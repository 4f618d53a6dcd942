//! A layer: its content, and the check of its digests.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use packline_runtime::{ScratchError, unnamed_temp_file};
use packline_tree::Error;

use super::blobs::Blob;
use super::digest::{Digest, Hasher};
use super::wrong;
use crate::Part;
use crate::decompress::{self, Format, Limits};

/// Bytes that are hashed and stored at a time.
const STEP: usize = 256 << 10;

#[derive(Debug)]
pub struct OciLayer {
    /// The name in messages.
    pub name: String,
    /// The media type in the manifest. A docker archive has none.
    pub media_type: Option<String>,
    blob: Blob,
    /// The digest of the content, if the image has it, and the digest of the tar in the content.
    digest: Option<Digest>,
    diff_id: Digest,
}

/// A content that is hashed while it is read. A decoder shares it, because a decoder may leave bytes unread.
#[derive(Clone)]
struct Hashed(Arc<Mutex<Content>>);

struct Content {
    reader: Box<dyn Read + Send>,
    hasher: Hasher,
    /// Why the content could not be read to its end.
    failure: Option<io::Error>,
}

impl OciLayer {
    pub(super) fn new(name: String, blob: Blob, digest: Option<Digest>, diff_id: Digest) -> OciLayer {
        OciLayer { name, media_type: None, blob, digest, diff_id }
    }

    /// Bytes of the stored content.
    pub fn size(&self) -> u64 {
        self.blob.size()
    }

    /// The digest of the stored content. A docker archive has none.
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// The digest of the tar in the content.
    pub fn diff_id(&self) -> &Digest {
        &self.diff_id
    }

    /// Identifies a layer of a registry by both digests.
    pub(super) fn key(&self) -> String {
        format!("{} {}", self.digest.as_ref().unwrap_or(&self.diff_id), self.diff_id)
    }

    /// The compression of the content, by its first bytes. `None` if it is not compressed.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read.
    pub fn compression(&self) -> Result<Option<Format>, Error> {
        let head = decompress::read_head(&mut self.blob.stream()?).map_err(|cause| self.unreadable(cause))?;
        Ok(Some(decompress::detect(&head)).filter(|format| *format != Format::Plain))
    }

    /// Whether [`OciLayer::checked`] stores the layer in a temporary file: it is compressed, or in a registry.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read.
    pub fn is_compressed(&self) -> Result<bool, Error> {
        Ok(self.blob.part()?.is_none() || self.compression()?.is_some())
    }

    /// Reads the complete layer and checks its digests. Returns the tar: in place or, if it is compressed or in a registry, in an unnamed
    /// file in `scratch`. A layer of a registry is read and stored once. Calls `stop` often, and fails when `stop` returns true.
    ///
    /// # Errors
    /// [`Error::Input`] for a wrong digest, [`Error::Io`] if the layer cannot be read, decompressed or stored.
    pub fn checked(&self, limits: &Limits, scratch: Option<&Path>, stop: &dyn Fn() -> bool) -> Result<Part, Error> {
        if let Blob::Registry(image, ..) = &self.blob {
            let key = self.key();
            if let Some(part) = image.stored().get(&key) {
                return Ok(part.clone());
            }
            let part = self.stored(limits, scratch, stop)?;
            image.stored().insert(key, part.clone());
            return Ok(part);
        }
        match self.blob.part()? {
            Some(part) if !self.is_compressed()? => self.in_place(part, stop),
            _ => self.stored(limits, scratch, stop),
        }
    }

    fn in_place(&self, part: Part, stop: &dyn Fn() -> bool) -> Result<Part, Error> {
        let found = self.hash(&mut part.clone(), self.diff_id.hasher(), &mut io::sink(), stop)?;
        if let Some(digest) = self.digest.as_ref().filter(|digest| **digest != self.diff_id) {
            // The digest has another algorithm, or it is wrong.
            let found = self.hash(&mut part.clone(), digest.hasher(), &mut io::sink(), stop)?;
            self.compare(&found, digest, BLOB)?;
        }
        self.compare(&found, &self.diff_id, DIFF_ID).map(|()| part)
    }

    fn stored(&self, limits: &Limits, scratch: Option<&Path>, stop: &dyn Fn() -> bool) -> Result<Part, Error> {
        let nowhere = || {
            let what = "it must first be stored in a temporary file";
            wrong(&self.name, what, "a directory for temporary files")
        };
        let directory = scratch.ok_or_else(nowhere)?;
        let refused = |cause| self.unreadable(ScratchError::wrap(directory, cause));
        let mut file = unnamed_temp_file(directory).map_err(refused)?;
        let hasher = self.digest.as_ref().unwrap_or(&self.diff_id).hasher();
        let mut content = Hashed::new(self.blob.stream()?, hasher);
        let plain = decompress::open(content.clone(), limits).map_err(|cause| self.unreadable(cause));
        let mut sink = Scratch { file: &mut file, directory, failed: false };
        let found = plain.and_then(|mut plain| self.hash(&mut plain, self.diff_id.hasher(), &mut sink, stop));
        let is_final = sink.failed || stop();
        let found = match (found, content.take_failure()) {
            (Err(_), Some(cause)) => return Err(self.unreadable(cause)),
            (Err(error), None) if is_final => return Err(error),
            (found, _) => found,
        };
        if let Some(digest) = &self.digest {
            // A decoder may have left bytes unread, and a damaged layer may not be decodable: the error of its digest is clearer.
            self.copy(&mut content, &mut |_| Ok(()), stop)?;
            let compared = self.compare(&content.digest(), digest, BLOB);
            if let Blob::Registry(image, digest, _) = &self.blob {
                image.judge(&digest.to_string(), compared.is_ok());
            }
            compared?;
        }
        self.compare(&found?, &self.diff_id, DIFF_ID)?;
        Part::whole(file).map_err(refused)
    }

    fn compare(&self, found: &Digest, expected: &Digest, what: [&str; 2]) -> Result<(), Error> {
        if found == expected {
            return Ok(());
        }
        let [what, source] = what;
        Err(wrong(&self.name, format!("{what} has the digest {found}"), format!("{expected}, as the {source} says")))
    }

    /// Copies `from` to `to`, and returns the digest of all bytes.
    fn hash(
        &self,
        from: &mut dyn Read,
        mut hasher: Hasher,
        to: &mut dyn Write,
        stop: &dyn Fn() -> bool,
    ) -> Result<Digest, Error> {
        let mut take = |bytes: &[u8]| {
            hasher.update(bytes);
            to.write_all(bytes)
        };
        self.copy(from, &mut take, stop)?;
        Ok(hasher.finish())
    }

    /// Reads `from` to its end, and passes all bytes to `take`.
    fn copy(
        &self,
        from: &mut dyn Read,
        take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let mut buffer = vec![0; STEP];
        loop {
            if stop() {
                return Err(self.unreadable(io::Error::new(io::ErrorKind::Interrupted, "cancelled")));
            }
            match from.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => take(&buffer[..count]).map_err(|cause| self.unreadable(cause))?,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(self.unreadable(cause)),
            }
        }
    }

    fn unreadable(&self, cause: io::Error) -> Error {
        Error::Io { path: (&self.name).into(), action: "cannot read", cause }
    }
}

/// The checked content, and the document that has its digest.
const BLOB: [&str; 2] = ["its content", "manifest"];
const DIFF_ID: [&str; 2] = ["the tar in it", "config"];

/// An unnamed file. Its errors name its directory.
struct Scratch<'a> {
    file: &'a mut std::fs::File,
    directory: &'a Path,
    failed: bool,
}

impl Write for Scratch<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.failed |= written.is_err();
        written.map_err(|cause| ScratchError::wrap(self.directory, cause))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Hashed {
    fn new(reader: Box<dyn Read + Send>, hasher: Hasher) -> Hashed {
        Hashed(Arc::new(Mutex::new(Content { reader, hasher, failure: None })))
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_failure(&self) -> Option<io::Error> {
        self.content().failure.take()
    }

    /// The digest of all bytes that were read.
    fn digest(&self) -> Digest {
        self.content().hasher.clone().finish()
    }
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Content { reader, hasher, failure } = &mut *self.content();
        match reader.read(buffer) {
            Ok(count) => {
                hasher.update(&buffer[..count]);
                Ok(count)
            }
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => Err(cause),
            Err(cause) => {
                // A decoder describes the error in its own words.
                let copy = io::Error::new(cause.kind(), cause.to_string());
                *failure = Some(cause);
                Err(copy)
            }
        }
    }
}
