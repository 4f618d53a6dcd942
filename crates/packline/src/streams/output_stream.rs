//! Outputs of compression and decompression: a file that gets its name when it is complete, or a stream.

use std::fs::File;
use std::io::{self, Write};
#[cfg(any(feature = "lrz", feature = "pln"))]
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use packline_image::Output;
#[cfg(feature = "recovery")]
use packline_recovery::{PacketLocation, Redundancy};
#[cfg(feature = "recovery")]
use packline_runtime::Resources;
use packline_runtime::{
    FileAttributes, FileIdentity, FileInput, Input, Observer, OutputFile, Sink, Temporaries, WriteBehind,
};

use crate::error::Error;
#[cfg(feature = "recovery")]
use crate::pack::outputs::open_output;
#[cfg(feature = "recovery")]
use crate::sidecars::recovery::ErrorPaths;
#[cfg(feature = "lrz")]
use md5::{Digest, Md5};

/// Bytes read again at a time.
#[cfg(any(feature = "lrz", feature = "pln"))]
const STEP: usize = 1 << 20;

/// An output that is written from front to back.
pub(crate) struct OutputStream {
    display_path: PathBuf,
    destination: Destination,
}

enum Destination {
    Stream(Box<dyn Write + Send>),
    File { output: Box<OutputFile>, sink: WriteBehind, file: File },
}

/// The checksum of a content, as its archive states it.
#[cfg(any(feature = "lrz", feature = "pln"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checksum {
    #[cfg(feature = "lrz")]
    Md5([u8; 16]),
    #[cfg(feature = "pln")]
    Blake3([u8; 32]),
}

/// Rejects a target that is the input. `about` are the attributes of the input.
///
/// # Errors
/// [`Error::Target`] if both are the same file.
pub(crate) fn refuse_target(about: Option<&FileAttributes>, input: &Path, target: &Output) -> Result<(), Error> {
    match (about.map(FileAttributes::about).and_then(FileIdentity::of), target) {
        (Some(identity), Output::File { path, .. }) => Ok(identity.refuse_output(input, path)?),
        _ => Ok(()),
    }
}

impl OutputStream {
    /// # Errors
    /// Returns the errors of [`OutputFile::open`].
    pub(crate) fn open(target: Output, temporaries: &Temporaries) -> Result<OutputStream, Error> {
        match target {
            Output::Stream(display_path, out) => {
                Ok(OutputStream { display_path, destination: Destination::Stream(out) })
            }
            Output::File { path, force } => {
                let output = OutputFile::open(&path, force, temporaries)?;
                OutputStream::of(path, output)
            }
        }
    }

    fn of(display_path: PathBuf, output: OutputFile) -> Result<OutputStream, Error> {
        let sink = output.sink()?;
        let file = output.file()?;
        Ok(OutputStream { display_path, destination: Destination::File { output: Box::new(output), sink, file } })
    }

    /// Opens an output that [`OutputStream::protect`] completes. A stream gets its bytes at the end.
    ///
    /// # Errors
    /// Returns the errors of [`OutputFile::open`]; [`Error::Target`] for a block device, whose end is not the end of the output.
    #[cfg(feature = "recovery")]
    pub(crate) fn open_for_recovery(
        target: Output,
        resources: &Resources,
        temporaries: &Temporaries,
    ) -> Result<OutputStream, Error> {
        let (Output::File { path, .. } | Output::Stream(path, _)) = &target;
        let path = path.clone();
        let output = open_output(target, resources, temporaries)?;
        if !output.begins_empty() {
            let what = "a block device, whose end is not the end of the output".to_string();
            return Err(Error::Target { path, what, expected: "a file or a pipe".to_string() });
        }
        OutputStream::of(path, output)
    }

    /// Appends recovery data to the written bytes.
    ///
    /// # Errors
    /// Returns the errors of the recovery data; [`Error::Target`] for a stream.
    #[cfg(feature = "recovery")]
    pub(crate) fn protect(
        &mut self,
        redundancy: Redundancy,
        resources: &Resources,
        observer: &mut dyn Observer,
    ) -> Result<(), Error> {
        let names = ErrorPaths::of(&self.display_path);
        let Destination::File { sink, file, .. } = &mut self.destination else {
            let what = "a stream cannot be read again".into();
            let expected = "a file".into();
            return Err(Error::Target { path: self.display_path.clone(), what, expected });
        };
        let written = sink.flush().and_then(|()| FileInput::new(file.try_clone()?));
        let written = written.map_err(packline_recovery::Error::Output).and_then(|input| {
            let input: Arc<dyn Input> = Arc::new(input);
            packline_recovery::protect(&input, redundancy, PacketLocation::Appended, sink, resources, observer)
        });
        written.map(drop).map_err(|cause| names.error(cause))
    }

    /// Flushes a file to the medium, and opens the written bytes to be read back.
    ///
    /// # Errors
    /// [`Error::Output`] if the file cannot be flushed; [`Error::Target`] for a stream or a block device.
    pub(crate) fn read_back(&mut self) -> Result<Arc<dyn Input>, Error> {
        let read = match &mut self.destination {
            Destination::File { sink, file, output } if output.begins_empty() => {
                sink.flush().and_then(|()| sink.end_hole()).and_then(|()| sink.sync()).and_then(|()| {
                    let input = FileInput::new(file.try_clone()?)?;
                    Ok(Arc::new(input))
                })
            }
            _ => {
                let what = "cannot be read back to be verified".into();
                let expected = "a file".into();
                return Err(Error::Target { path: self.display_path.clone(), what, expected });
            }
        };
        read.map(|input| -> Arc<dyn Input> { input }).map_err(|cause| self.refused("cannot read back", cause))
    }

    /// The path as the user gave it.
    pub(crate) fn display_path(&self) -> &Path {
        &self.display_path
    }

    /// Whether the output is a stream. A stream keeps the bytes that were written before an error.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.destination, Destination::Stream(_))
    }

    /// The final and the temporary name of a file; none for a stream.
    #[cfg(feature = "lrz")]
    pub(crate) fn names(&self) -> Vec<PathBuf> {
        match &self.destination {
            Destination::Stream(_) => Vec::new(),
            Destination::File { output, .. } => output.names().map(Path::to_path_buf).collect(),
        }
    }

    /// Reads a written file again, from the medium if the system allows it, and compares it with the decompressed data.
    ///
    /// # Errors
    /// [`Error::Output`] if the file cannot be read or differs, or without a checksum; [`Error::Target`] for a stream.
    #[cfg(any(feature = "lrz", feature = "pln"))]
    pub(crate) fn check(&mut self, size: u64, expected: Option<Checksum>) -> Result<(), Error> {
        let Destination::File { sink, file, .. } = &mut self.destination else {
            let what = "a stream cannot be read again".into();
            let expected = "a file".into();
            return Err(Error::Target { path: self.display_path.clone(), what, expected });
        };
        let Some(expected) = expected else {
            let cause = io::Error::other("the archive has no checksum of its content");
            return Err(self.refused("cannot check", cause));
        };
        let written = sink.flush().and_then(|()| sink.end_hole()).and_then(|()| sink.sync());
        let found = written.and_then(|()| expected.of_file(file, size));
        if found.map_err(|cause| self.refused("cannot check", cause))? != expected {
            let cause =
                format!("the data that was read back differs from the written data (expected {})", expected.name());
            return Err(self.refused("cannot check", io::Error::other(cause)));
        }
        Ok(())
    }

    /// Gives a file its name, with the attributes of another file. It does not have its name after an error.
    ///
    /// # Errors
    /// [`Error::Output`] if the file cannot be renamed or synced.
    pub(crate) fn finish(mut self, about: Option<&FileAttributes>, observer: &mut dyn Observer) -> Result<(), Error> {
        self.end().map_err(|cause| self.refused("cannot write", cause))?;
        let Destination::File { mut output, sink, .. } = self.destination else { return Ok(()) };
        drop(sink);
        about.map_or(Ok(()), |about| output.take_attributes(about))?;
        Ok(output.finish(observer)?)
    }

    fn end(&mut self) -> io::Result<()> {
        match &mut self.destination {
            Destination::Stream(out) => out.flush(),
            Destination::File { sink, .. } => sink.flush().and_then(|()| sink.end_hole()),
        }
    }

    fn refused(&self, action: &'static str, cause: io::Error) -> Error {
        Error::Output { path: self.display_path.clone(), action, cause }
    }
}

impl Sink for OutputStream {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.destination {
            Destination::Stream(out) => out.write_all(bytes),
            Destination::File { sink, .. } => sink.append(bytes),
        }
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<bool> {
        match &mut self.destination {
            Destination::Stream(_) => Ok(false),
            Destination::File { sink, .. } => sink.write_at(offset, bytes),
        }
    }

    fn reads_back(&self) -> bool {
        !self.is_stream()
    }

    fn read_at(&mut self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        match &mut self.destination {
            Destination::Stream(_) => Err(io::ErrorKind::Unsupported.into()),
            Destination::File { sink, .. } => sink.read_at(offset, buffer),
        }
    }

    fn skip_zeros(&mut self, count: u64) -> io::Result<bool> {
        match &mut self.destination {
            Destination::Stream(_) => Ok(false),
            Destination::File { sink, .. } => sink.skip_zeros(count),
        }
    }
}

#[cfg(any(feature = "lrz", feature = "pln"))]
impl Checksum {
    /// The name of the checksum in messages.
    fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "lrz")]
            Checksum::Md5(_) => "the MD5 of the archive",
            #[cfg(feature = "pln")]
            Checksum::Blake3(_) => "the BLAKE3 of the archive",
        }
    }

    /// Computes the same checksum of a file that should have `size` bytes.
    fn of_file(self, file: &File, size: u64) -> io::Result<Checksum> {
        let about = file.metadata()?;
        if about.is_file() && about.len() != size {
            return Err(io::Error::other(format!("the file has {} bytes (expected {size})", about.len())));
        }
        match self {
            #[cfg(feature = "lrz")]
            Checksum::Md5(_) => {
                let mut sum = Md5::new();
                read_again(file, size, &mut |bytes| sum.update(bytes))?;
                Ok(Checksum::Md5(sum.finalize().into()))
            }
            #[cfg(feature = "pln")]
            Checksum::Blake3(_) => {
                let mut sum = blake3::Hasher::new();
                read_again(file, size, &mut |bytes| {
                    sum.update(bytes);
                })?;
                Ok(Checksum::Blake3(*sum.finalize().as_bytes()))
            }
        }
    }
}

#[cfg(any(feature = "lrz", feature = "pln"))]
fn read_again(file: &File, size: u64, take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let mut bytes = vec![0; STEP];
    let mut at = 0;
    while at < size {
        let now = (size - at).min(STEP as u64) as usize;
        file.read_exact_at(&mut bytes[..now], at)?;
        take(&bytes[..now]);
        at += now as u64;
    }
    Ok(())
}
