//! .pln files: any file or stream compressed, and back.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_pln::{Info, Reader, Source, Span, Unpacked, Verified, WriteOptions, Written};
use packline_runtime::escape::Escape;
use packline_runtime::{FileInput, Input as _};

use crate::output_stream::{OutputStream, refuse_target};
use crate::source::head_of;
use crate::{ContentKind, Error, Input, Observer, Output, Resources, Temporaries};

/// A .pln file to be written.
pub struct PlnRequest {
    /// The input.
    pub source: Input,
    /// Where the file goes.
    pub target: Output,
    /// What decides its bytes besides the source.
    pub options: WriteOptions,
    /// Whether the output gets permissions, time and, where that is allowed, the owner of a source that is a file.
    pub keep_attributes: bool,
    /// What the resources gives. Nothing of it changes a byte.
    pub resources: Resources,
    /// Where temporary files are listed while they are in being.
    pub temporaries: Temporaries,
}

/// The input.
pub struct PlnUnpackRequest {
    /// The .pln file.
    pub source: Input,
    /// Which bytes of its content.
    pub span: Span,
    /// Where they go.
    pub target: Output,
    /// Whether the output gets permissions, time and, where that is allowed, the owner of a source that is a file.
    pub keep_attributes: bool,
    /// Keep an output that is not whole.
    pub keep_broken: bool,
    /// What the resources gives.
    pub resources: Resources,
    /// Where temporary files are listed while they are in being.
    pub temporaries: Temporaries,
}

/// Writes a .pln file. A file has its name, whole, when this returns `Ok`, and is as it was after an error.
///
/// # Errors
/// [`Error`], with the name of the file and, where there is one, the offset.
pub fn pln_compress(request: PlnRequest, observer: &mut dyn Observer) -> Result<Written, Error> {
    let PlnRequest { source, target, options, keep_attributes, resources, temporaries } = request;
    let mut opened = Opened::new(source)?.unless_sizeless()?;
    opened.refuse_target(&target)?;
    let mut output = OutputStream::open(target, &temporaries)?;
    let written = packline_pln::compress(opened.source(), &mut output, &options, &resources, observer);
    let written = written.map_err(|cause| fault(&opened.display_path, output.display_path(), cause))?;
    output.finish(opened.about.as_ref().filter(|_| keep_attributes), observer)?;
    Ok(written)
}

/// Decompresses a .pln file, or a span of it, to a file, which has its name when this returns `Ok`, or to a stream. A stream has got
/// what stands before damage, if there is any.
///
/// # Errors
/// [`Error`]; a file is not there then, unless [`PlnUnpackRequest::keep_broken`].
pub fn pln_unpack(request: PlnUnpackRequest, observer: &mut dyn Observer) -> Result<Unpacked, Error> {
    let PlnUnpackRequest { source, span, target, keep_attributes, keep_broken, resources, temporaries } = request;
    let mut opened = Opened::new(source)?.unless_other()?;
    opened.refuse_target(&target)?;
    let mut output = OutputStream::open(target, &temporaries)?;
    let read = packline_pln::decompress(opened.source(), span, &mut output, &resources, observer);
    let read = read.map_err(|cause| fault(&opened.display_path, output.display_path(), cause));
    let about = opened.about.as_ref().filter(|_| keep_attributes);
    match read {
        Ok(unpacked) => output.finish(about, observer).map(|()| unpacked),
        Err(error) if keep_broken || output.is_stream() => {
            // Damage that was found says more than that the rest cannot be kept.
            let _: Result<(), Error> = output.finish(about, observer);
            Err(error)
        }
        Err(error) => Err(error),
    }
}

/// Verifies a whole .pln file. Faults are passed to `found`, in the order of the file.
///
/// # Errors
/// [`Error`] if it cannot be read, or is of a kind that is not known here.
pub fn pln_verify(
    source: Input,
    resources: &Resources,
    found: &mut dyn FnMut(&packline_pln::Error),
    observer: &mut dyn Observer,
) -> Result<Verified, Error> {
    let mut opened = Opened::new(source)?.unless_other()?;
    let read = packline_pln::verify(opened.source(), found, resources, observer);
    read.map_err(|cause| fault(&opened.display_path, &opened.display_path, cause))
}

/// Statistics of a .pln file from its tables; no record is read.
///
/// # Errors
/// [`Error`] if it cannot be read or is no .pln file; a pipe has no tables to begin with.
pub fn pln_info(path: &Path) -> Result<Info, Error> {
    let opened = Opened::new(Input::File(path.to_path_buf()))?.unless_other()?;
    let Bytes::At(input) = opened.bytes else {
        let (what, expected) = ("what is in a stream cannot be listed".into(), "a file".into());
        return Err(Error::Target { path: path.to_path_buf(), what, expected });
    };
    let info = Reader::open(input).and_then(|reader| reader.info());
    info.map_err(|cause| fault(path, path, cause))
}

/// An open source.
struct Opened {
    display_path: PathBuf,
    bytes: Bytes,
    about: Option<std::fs::Metadata>,
}

enum Bytes {
    At(Arc<FileInput>),
    Stream(Box<dyn Read + Send>),
}

impl Opened {
    fn new(source: Input) -> Result<Opened, Error> {
        match source {
            Input::File(path) => Opened::file(path),
            Input::Stream(name, stream) => {
                Ok(Opened { display_path: PathBuf::from(name), bytes: Bytes::Stream(stream), about: None })
            }
        }
    }

    fn file(path: PathBuf) -> Result<Opened, Error> {
        let refused = |cause| Error::Source { path: path.clone(), action: "cannot open", cause };
        let file = File::open(&path).map_err(refused)?;
        let about = file.metadata().map_err(refused)?;
        if about.is_dir() {
            return Err(refused(io::ErrorKind::IsADirectory.into()));
        }
        if !about.is_file() {
            return Ok(Opened { display_path: path, bytes: Bytes::Stream(Box::new(file)), about: None });
        }
        let input = FileInput::new(file).map_err(refused)?;
        Ok(Opened { display_path: path, bytes: Bytes::At(Arc::new(input)), about: Some(about) })
    }

    /// Reads a file of size 0 as a stream, since files of the kernel (`/proc`) report that size.
    fn unless_sizeless(mut self) -> Result<Opened, Error> {
        if matches!(&self.bytes, Bytes::At(input) if input.size() == 0) {
            let file = File::open(&self.display_path);
            let refused = |cause| Error::Source { path: self.display_path.clone(), action: "cannot open", cause };
            self.bytes = Bytes::Stream(Box::new(file.map_err(refused)?));
        }
        Ok(self)
    }

    /// The same, unless it is of another container.
    fn unless_other(mut self) -> Result<Opened, Error> {
        let found = match &mut self.bytes {
            Bytes::At(input) => ContentKind::of_input(input.size(), |head| input.read_at(0, head)),
            Bytes::Stream(stream) => {
                let head = head_of(&self.display_path, stream)?;
                let found = ContentKind::of_head(&head);
                let rest = std::mem::replace(stream, Box::new(io::empty()));
                *stream = Box::new(io::Cursor::new(head).chain(rest));
                found
            }
        };
        match found.filter(|&found| found != ContentKind::Pln) {
            Some(other) => Err(other.instead_of(&self.display_path, "a .pln file")),
            None => Ok(self),
        }
    }

    /// Refuses to take the place of what is read.
    fn refuse_target(&self, target: &Output) -> Result<(), Error> {
        refuse_target(self.about.as_ref(), &self.display_path, target)
    }

    fn source(&mut self) -> Source<'_> {
        match &mut self.bytes {
            Bytes::At(input) => Source::At(input.clone()),
            Bytes::Stream(stream) => Source::Stream(stream),
        }
    }
}

/// What went wrong between an input and an output, by the one that it concerns.
fn fault(input: &Path, output: &Path, cause: packline_pln::Error) -> Error {
    use packline_pln::Error as Pln;
    match cause {
        Pln::Input(cause) => Error::Source { path: input.to_path_buf(), action: "cannot read", cause },
        Pln::Output(cause) => Error::Output { path: output.to_path_buf(), action: "cannot write", cause },
        Pln::Memory { allowed, needed, what } => {
            Error::Memory { allowed, needed, what: format!("{what}, in {}", input.escaped()) }
        }
        cause => Error::Stream { path: input.to_path_buf(), cause: Box::new(cause) },
    }
}

#[cfg(test)]
mod tests;
