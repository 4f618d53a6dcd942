//! An open file or stream, before its container is known.

use std::fs::File;
use std::io::{self, Read};
#[cfg(feature = "pln")]
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use packline_image::Output;
#[cfg(feature = "pln")]
use packline_recovery::strip;
use packline_runtime::escape::Escape;
use packline_runtime::{FileAttributes, Input, Source};
#[cfg(feature = "pln")]
use packline_runtime::{Observer, Resources};

#[cfg(feature = "pln")]
use super::encrypted::{self, Identities, Share};
use super::output_stream::refuse_target;
#[cfg(feature = "pln")]
use super::tail_stream::TailStream;
#[cfg(feature = "pln")]
use crate::container::by_magic::ContentKind;
use crate::container::opened_file::OpenedFile;
#[cfg(feature = "pln")]
use crate::container::recognise::peeked;
#[cfg(feature = "pln")]
use crate::container::scratch::stored;
use crate::error::Error;
#[cfg(feature = "pln")]
use crate::sidecars::recovery::repaired_copy;

/// An open input.
pub(crate) struct OpenedInput {
    pub(crate) display_path: PathBuf,
    pub(crate) bytes: Bytes,
    /// Attributes of a regular file.
    pub(crate) about: Option<FileAttributes>,
    /// The same bytes with the recovery data at the end, for a file that may have recovery data.
    #[cfg(feature = "pln")]
    pub(crate) protected: Option<Arc<dyn Input>>,
    /// Memory for decryption.
    #[cfg(feature = "pln")]
    pub(crate) share: Share,
    /// The content of an encrypted file that is read at offsets.
    #[cfg(feature = "encryption")]
    pub(crate) plain: Option<Arc<packline_encryption::PlainInput>>,
}

pub(crate) enum Bytes {
    At(Arc<dyn Input>),
    Stream(Box<dyn Read + Send>),
}

impl OpenedInput {
    pub(crate) fn new(source: crate::container::input::Input) -> Result<OpenedInput, Error> {
        match source {
            crate::container::input::Input::File(path) => OpenedInput::file(path),
            crate::container::input::Input::Opened(file) => OpenedInput::opened(file),
            // Without bytes, a file of this name must not be read instead.
            crate::container::input::Input::At(name, input) if input.size() == 0 => {
                Ok(OpenedInput::of(PathBuf::from(name), Bytes::Stream(Box::new(io::empty())), None))
            }
            crate::container::input::Input::At(name, input) => {
                Ok(OpenedInput::of(PathBuf::from(name), Bytes::At(input), None))
            }
            crate::container::input::Input::Stream(name, stream) => {
                Ok(OpenedInput::of(PathBuf::from(name), Bytes::Stream(stream), None))
            }
        }
    }

    fn of(display_path: PathBuf, bytes: Bytes, about: Option<FileAttributes>) -> OpenedInput {
        OpenedInput {
            display_path,
            bytes,
            about,
            #[cfg(feature = "pln")]
            protected: None,
            #[cfg(feature = "pln")]
            share: Share::default(),
            #[cfg(feature = "encryption")]
            plain: None,
        }
    }

    fn file(path: PathBuf) -> Result<OpenedInput, Error> {
        let refused = |cause| Error::Source { path: path.clone(), action: "cannot open", cause };
        let file = File::open(&path).map_err(refused)?;
        let about = file.metadata().map_err(refused)?;
        if about.is_dir() {
            return Err(refused(io::ErrorKind::IsADirectory.into()));
        }
        if !about.is_file() {
            return Ok(OpenedInput::of(path, Bytes::Stream(Box::new(file)), None));
        }
        OpenedInput::opened(OpenedFile::described(path.clone(), file, about).map_err(refused)?)
    }

    /// A block device is read as a stream.
    fn opened(file: OpenedFile) -> Result<OpenedInput, Error> {
        let path = file.path().to_path_buf();
        if file.is_remote() {
            return Ok(OpenedInput::of(path, Bytes::At(Arc::new(file)), None));
        }
        if !file.is_regular() {
            return Ok(OpenedInput::of(path, Bytes::Stream(file.stream()), None));
        }
        let about = file.attributes()?;
        Ok(OpenedInput::of(path, Bytes::At(Arc::new(file)), Some(about)))
    }

    /// Reads a file of size 0 as a stream, since files of the kernel (`/proc`) report that size.
    #[cfg(feature = "pln")]
    pub(crate) fn empty_as_stream(mut self) -> Result<OpenedInput, Error> {
        if matches!(&self.bytes, Bytes::At(input) if input.size() == 0) {
            let file = File::open(&self.display_path);
            let refused = |cause| Error::Source { path: self.display_path.clone(), action: "cannot open", cause };
            self.bytes = Bytes::Stream(Box::new(file.map_err(refused)?));
        }
        Ok(self)
    }

    /// Stores a stream in an unnamed temporary file, to be read at any offset.
    #[cfg(feature = "pln")]
    pub(crate) fn store(&mut self, resources: &Resources) -> Result<(), Error> {
        if let Bytes::Stream(stream) = &mut self.bytes {
            self.bytes = Bytes::At(stored(&self.display_path, stream, resources)?);
        }
        Ok(())
    }

    /// Removes recovery data at the end of a file.
    #[cfg(feature = "pln")]
    pub(crate) fn without_recovery(mut self) -> Result<OpenedInput, Error> {
        if let Bytes::At(input) = &self.bytes {
            let refused = |cause| Error::Source { path: self.display_path.clone(), action: "cannot read", cause };
            let stripped = strip(Arc::clone(input)).map_err(refused)?;
            self.protected = Some(Arc::clone(input));
            self.bytes = Bytes::At(stripped.input);
        }
        Ok(self)
    }

    /// Returns the stream of a .pln file once more, to be read to its end.
    #[cfg(feature = "pln")]
    pub(crate) fn tail(&mut self) -> Result<Option<TailStream>, Error> {
        // A stream of another kind may have no end.
        let is_pln = self.content_kind()?.is_some();
        Ok(match &mut self.bytes {
            Bytes::Stream(stream) if is_pln => {
                let tail = TailStream::new(std::mem::replace(stream, Box::new(io::empty())));
                *stream = Box::new(tail.clone());
                Some(tail)
            }
            _ => None,
        })
    }

    /// Returns a repaired copy of a damaged file, in a temporary file, if its recovery data suffices.
    #[cfg(feature = "pln")]
    pub(crate) fn repaired(
        &self,
        identities: Option<&Identities>,
        resources: &Resources,
        observer: &mut dyn Observer,
    ) -> Result<Option<OpenedInput>, Error> {
        let Some(protected) = &self.protected else { return Ok(None) };
        repaired_input(&self.display_path, protected, identities, resources, observer)
    }

    /// Returns an open file once more, with its content up to the damage.
    #[cfg(feature = "pln")]
    pub(crate) fn damaged(
        &self,
        identities: Option<&Identities>,
        resources: &Resources,
    ) -> Result<Option<OpenedInput>, Error> {
        let Some(protected) = &self.protected else { return Ok(None) };
        let whole = OpenedInput::of(self.display_path.clone(), Bytes::At(Arc::clone(protected)), None);
        let mut opened = whole.without_recovery()?;
        match opened.content_kind()? {
            Some(ContentKind::Encrypted) => encrypted::salvaged(opened, identities, resources).map(Some),
            _ => Ok(Some(opened)),
        }
    }

    /// Rejects an input of another container than .pln. Recovery data at the end of a file is removed first. Then an encrypted file is
    /// opened with `identities`.
    #[cfg(feature = "pln")]
    pub(crate) fn require_pln(
        self,
        identities: Option<&Identities>,
        resources: &Resources,
    ) -> Result<OpenedInput, Error> {
        self.without_recovery()?.decrypted(identities, resources)
    }

    /// As [`OpenedInput::require_pln`], for an input without recovery data.
    #[cfg(feature = "pln")]
    pub(crate) fn decrypted(
        mut self,
        identities: Option<&Identities>,
        resources: &Resources,
    ) -> Result<OpenedInput, Error> {
        match self.content_kind()? {
            None | Some(ContentKind::Pln) => Ok(self),
            Some(ContentKind::Encrypted) => encrypted::opened(self, identities, resources),
            Some(other) => Err(other.instead_of(&self.display_path, "a .pln file")),
        }
    }

    /// Recognises the container by the first bytes of the input.
    #[cfg(feature = "pln")]
    pub(crate) fn content_kind(&mut self) -> Result<Option<ContentKind>, Error> {
        Ok(match &mut self.bytes {
            Bytes::At(input) => ContentKind::of_input(input.size(), |head| input.read_at(0, head)),
            Bytes::Stream(stream) => {
                let (head, whole) = peeked(&self.display_path, std::mem::replace(stream, Box::new(io::empty())))?;
                *stream = whole;
                ContentKind::of_head(&head)
            }
        })
    }

    /// Returns a warning if a file that is read at offsets has changed since it was opened.
    pub(crate) fn change(&self) -> Result<Option<String>, Error> {
        let Bytes::At(input) = &self.bytes else { return Ok(None) };
        let refused = |cause| Error::Source { path: self.display_path.clone(), action: "cannot examine", cause };
        if !input.changed().map_err(refused)? {
            return Ok(None);
        }
        let changed = format!("{}: changed while it was read", self.display_path.escaped());
        let size = input.size();
        let has_more = input.read_at(size, &mut [0]).is_ok();
        Ok(Some(if has_more { format!("{changed}: its first {size} bytes are stored") } else { changed }))
    }

    /// Rejects a target that is this file.
    pub(crate) fn refuse_target(&self, target: &Output) -> Result<(), Error> {
        refuse_target(self.about.as_ref(), &self.display_path, target)
    }

    pub(crate) fn source(&mut self) -> Source<'_> {
        match &mut self.bytes {
            Bytes::At(input) => Source::At(input.clone()),
            Bytes::Stream(stream) => Source::Stream(stream),
        }
    }
}

/// As [`OpenedInput::repaired`], for a file with its recovery data.
#[cfg(feature = "pln")]
pub(crate) fn repaired_input(
    path: &Path,
    protected: &Arc<dyn Input>,
    identities: Option<&Identities>,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Option<OpenedInput>, Error> {
    let repaired = repaired_copy(path, protected, resources, observer)?;
    let opened = |input| OpenedInput::of(path.to_path_buf(), Bytes::At(input), None);
    repaired.map(|input| opened(input).decrypted(identities, resources)).transpose()
}
