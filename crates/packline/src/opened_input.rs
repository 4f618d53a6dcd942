//! An open file or stream, before its container is known.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(feature = "pln")]
use packline_image::ContentKind;
#[cfg(feature = "pln")]
use packline_runtime::Input as _;
use packline_runtime::{FileInput, Source};

use crate::output_stream::refuse_target;
#[cfg(feature = "pln")]
use crate::source::peeked;
use crate::{Error, Input, Output};

/// An open input.
pub(crate) struct OpenedInput {
    pub(crate) display_path: PathBuf,
    pub(crate) bytes: Bytes,
    /// Of a regular file.
    pub(crate) about: Option<Metadata>,
}

pub(crate) enum Bytes {
    At(Arc<FileInput>),
    Stream(Box<dyn Read + Send>),
}

impl OpenedInput {
    pub(crate) fn new(source: Input) -> Result<OpenedInput, Error> {
        match source {
            Input::File(path) => OpenedInput::file(path),
            Input::Stream(name, stream) => {
                Ok(OpenedInput { display_path: PathBuf::from(name), bytes: Bytes::Stream(stream), about: None })
            }
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
            return Ok(OpenedInput { display_path: path, bytes: Bytes::Stream(Box::new(file)), about: None });
        }
        let input = FileInput::new(file).map_err(refused)?;
        Ok(OpenedInput { display_path: path, bytes: Bytes::At(Arc::new(input)), about: Some(about) })
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

    /// Refuses an input of another container than .pln.
    #[cfg(feature = "pln")]
    pub(crate) fn require_pln(mut self) -> Result<OpenedInput, Error> {
        let found = match &mut self.bytes {
            Bytes::At(input) => ContentKind::of_input(input.size(), |head| input.read_at(0, head)),
            Bytes::Stream(stream) => {
                let (head, whole) = peeked(&self.display_path, std::mem::replace(stream, Box::new(io::empty())))?;
                *stream = whole;
                ContentKind::of_head(&head)
            }
        };
        match found.filter(|&found| found != ContentKind::Pln) {
            Some(other) => Err(other.instead_of(&self.display_path, "a .pln file")),
            None => Ok(self),
        }
    }

    /// Refuses a target that is this file.
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
