//! A layer: its content, and the check of its digests.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

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

/// A reader that hashes the bytes it reads.
struct Hashed<R> {
    reader: R,
    hasher: Arc<Mutex<Hasher>>,
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

    /// The compression of the content, by its first bytes. `None` if it is not compressed.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read.
    pub fn compression(&self) -> Result<Option<Format>, Error> {
        let head = decompress::read_head(&mut self.blob.open()?).map_err(|cause| self.unreadable(cause))?;
        Ok(Some(decompress::detect(&head)).filter(|format| *format != Format::Plain))
    }

    /// Whether the layer is compressed, so that [`OciLayer::checked`] stores it in a temporary file.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read.
    pub fn is_compressed(&self) -> Result<bool, Error> {
        Ok(self.compression()?.is_some())
    }

    /// Reads the complete layer and checks its digests. Returns the tar: in place or, if it is compressed, in an unnamed file in
    /// `scratch`. Calls `stop` often, and fails when `stop` returns true.
    ///
    /// # Errors
    /// [`Error::Input`] for a wrong digest, [`Error::Io`] if the layer cannot be read, decompressed or stored.
    pub fn checked(&self, limits: &Limits, scratch: Option<&Path>, stop: &dyn Fn() -> bool) -> Result<Part, Error> {
        if !self.is_compressed()? {
            let part = self.blob.open()?;
            let found = self.hash(&mut part.clone(), self.diff_id.hasher(), &mut io::sink(), stop)?;
            if let Some(digest) = self.digest.as_ref().filter(|digest| **digest != self.diff_id) {
                // The digest has another algorithm, or it is wrong.
                self.check_blob(digest, stop)?;
            }
            return self.compare(&found, &self.diff_id, DIFF_ID).map(|()| part);
        }
        self.stored(limits, scratch, stop)
    }

    fn stored(&self, limits: &Limits, scratch: Option<&Path>, stop: &dyn Fn() -> bool) -> Result<Part, Error> {
        let nowhere = || {
            wrong(
                &self.name,
                "it is compressed and must first be stored in a temporary file",
                "a directory for temporary files",
            )
        };
        let directory = scratch.ok_or_else(nowhere)?;
        let refused = |cause| self.unreadable(ScratchError::wrap(directory, cause));
        let mut file = unnamed_temp_file(directory).map_err(refused)?;
        let hasher = Arc::new(Mutex::new(self.digest.as_ref().unwrap_or(&self.diff_id).hasher()));
        let blob = Hashed { reader: self.blob.open()?, hasher: Arc::clone(&hasher) };
        let plain = decompress::open(blob, limits).map_err(|cause| self.unreadable(cause));
        let mut sink = Scratch { file: &mut file, directory };
        let found = plain.and_then(|mut plain| self.hash(&mut plain, self.diff_id.hasher(), &mut sink, stop));
        match (found, &self.digest) {
            (Ok(found), digest) => {
                let blob = hasher.lock().unwrap_or_else(PoisonError::into_inner).clone().finish();
                // A decoder may have left bytes unread.
                digest.iter().filter(|digest| **digest != blob).try_for_each(|digest| self.check_blob(digest, stop))?;
                self.compare(&found, &self.diff_id, DIFF_ID)?;
                Part::whole(file).map_err(refused)
            }
            // A damaged layer may not be decodable, and the error of its digest is clearer.
            (Err(error), Some(digest)) if !stop() => self.check_blob(digest, stop).and(Err(error)),
            (Err(error), _) => Err(error),
        }
    }

    fn check_blob(&self, digest: &Digest, stop: &dyn Fn() -> bool) -> Result<(), Error> {
        let found = self.hash(&mut self.blob.open()?, digest.hasher(), &mut io::sink(), stop)?;
        self.compare(&found, digest, BLOB)
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
        let mut buffer = vec![0; STEP];
        loop {
            if stop() {
                return Err(self.unreadable(io::Error::new(io::ErrorKind::Interrupted, "cancelled")));
            }
            match from.read(&mut buffer) {
                Ok(0) => return Ok(hasher.finish()),
                Ok(count) => {
                    hasher.update(&buffer[..count]);
                    to.write_all(&buffer[..count]).map_err(|cause| self.unreadable(cause))?;
                }
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
}

impl Write for Scratch<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|cause| ScratchError::wrap(self.directory, cause))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.hasher.lock().unwrap_or_else(PoisonError::into_inner).update(&buffer[..count]);
        Ok(count)
    }
}
