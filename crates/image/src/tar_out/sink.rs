//! The output of a tar: collected into large writes, or through a compressor, to a stream or to a file.

use std::io::{self, IoSlice, Write};
use std::path::PathBuf;

use packline_codec::StreamSpec;
use packline_engine::{Fault, Pool};
use packline_runtime::Sink as _;
use packline_runtime::{OutputFile, WriteBehind, zeros};

use super::Output;
use super::compress::{CompressError, Compressor};
use super::plan::Plan;
use crate::{Error, Observer, Resources, Temporaries};

/// Bytes collected before they are written.
pub(super) const BATCH: usize = 256 << 10;
/// Pieces of at least this many bytes are written without a copy, together with the collected bytes.
const STRAIGHT: usize = 32 << 10;

/// The target of the tar.
pub(super) struct Destination {
    display_path: PathBuf,
    output: Option<OutputFile>,
}

impl Destination {
    /// Opens the target. For a stream, returns the stream itself.
    pub(super) fn open(target: Output, temporaries: &Temporaries) -> Result<(Destination, Box<dyn Write>), Error> {
        match target {
            Output::Stream(display_path, out) => Ok((Destination { display_path, output: None }, out)),
            Output::File { path, force } => {
                let output = OutputFile::open(&path, force, temporaries)?;
                let out = Box::new(Sequential(output.sink()?));
                Ok((Destination { display_path: path, output: Some(output) }, out))
            }
        }
    }

    /// Gives a file its name.
    pub(super) fn finish(self, observer: &mut dyn Observer) -> Result<(), Error> {
        self.output.map_or(Ok(()), |output| Ok(output.finish(observer)?))
    }
}

/// A file that is written from its start to its end.
struct Sequential(WriteBehind);

impl Write for Sequential {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes the bytes of a tar.
pub(super) struct Sink {
    display_path: PathBuf,
    inner: Inner,
    /// Bytes added so far.
    taken: u64,
}

enum Inner {
    Plain(Batch),
    Compressed(Box<Compressor>),
}

impl Sink {
    pub(super) fn new(
        destination: &Destination,
        out: Box<dyn Write>,
        compression: Option<StreamSpec>,
        pool: &Pool,
        plan: Plan,
        resources: &Resources,
    ) -> Result<Sink, Error> {
        let display_path = destination.display_path.clone();
        let inner = match compression {
            None => Inner::Plain(Batch { out, held: Vec::with_capacity(BATCH) }),
            Some(spec) => {
                let compressor = Compressor::new(out, spec, pool, plan.compress_window, resources);
                Inner::Compressed(Box::new(compressor.map_err(|cause| refused(&display_path, cause))?))
            }
        };
        Ok(Sink { display_path, inner, taken: 0 })
    }

    /// Returns the number of bytes added so far.
    pub(super) fn taken(&self) -> u64 {
        self.taken
    }

    /// Adds bytes.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.taken += bytes.len() as u64;
        match &mut self.inner {
            Inner::Plain(batch) => batch.put(bytes).map_err(|cause| refused(&self.display_path, cause)),
            Inner::Compressed(compressor) => compressor.put(bytes).map_err(|fault| broken(&self.display_path, fault)),
        }
    }

    /// Adds zeros.
    pub(super) fn zeros(&mut self, count: u64) -> Result<(), Error> {
        zeros(count).try_for_each(|piece| self.put(piece))
    }

    /// Writes the rest; returns the total number of bytes written.
    pub(super) fn finish(self) -> Result<u64, Error> {
        match self.inner {
            Inner::Plain(mut batch) => {
                batch.flush().map(|()| self.taken).map_err(|cause| refused(&self.display_path, cause))
            }
            Inner::Compressed(compressor) => compressor.finish().map_err(|fault| broken(&self.display_path, fault)),
        }
    }
}

fn refused(display_path: &std::path::Path, cause: io::Error) -> Error {
    Error::Output { path: display_path.to_path_buf(), action: "cannot write", cause }
}

fn broken(display_path: &std::path::Path, fault: Fault<CompressError>) -> Error {
    match fault {
        Fault::Work(CompressError::Output(cause)) => refused(display_path, cause),
        Fault::Work(CompressError::Codec(error)) => compression(display_path, &error),
        other => compression(display_path, &other_text(&other)),
    }
}

fn other_text(fault: &Fault<CompressError>) -> String {
    match fault {
        Fault::Panic(message) => format!("internal error: a worker panicked: {message}"),
        Fault::Cancelled => "cancelled".to_string(),
        _ => "internal error: the map has already stopped".to_string(),
    }
}

fn compression(display_path: &std::path::Path, what: &dyn std::fmt::Display) -> Error {
    Error::Output {
        path: display_path.to_path_buf(),
        action: "cannot compress",
        cause: io::Error::other(what.to_string()),
    }
}

/// Collects small pieces, and passes large pieces on.
struct Batch {
    out: Box<dyn Write>,
    held: Vec<u8>,
}

impl Batch {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() >= STRAIGHT || self.held.len() + bytes.len() > BATCH {
            write_both(&mut self.out, &self.held, bytes)?;
            self.held.clear();
        } else {
            self.held.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.held)?;
        self.held.clear();
        self.out.flush()
    }
}

/// Writes both with as few calls as possible.
fn write_both(out: &mut dyn Write, mut first: &[u8], mut second: &[u8]) -> io::Result<()> {
    while !first.is_empty() {
        let written = match out.write_vectored(&[IoSlice::new(first), IoSlice::new(second)]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => written,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            Err(cause) => return Err(cause),
        };
        let of_first = written.min(first.len());
        first = &first[of_first..];
        second = &second[written - of_first..];
    }
    out.write_all(second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Accepts at most this number of bytes at once.
    struct Slow(Rc<RefCell<Vec<u8>>>, usize);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.1);
            self.0.borrow_mut().extend_from_slice(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn pieces_of_any_size_come_out_in_order() {
        let out = Rc::new(RefCell::new(Vec::new()));
        let mut batch = Batch { out: Box::new(Slow(out.clone(), 1000)), held: Vec::new() };
        let mut expected = Vec::new();
        for (index, length) in [1, 512, 40_000, 0, 31_999, 32_000, 200_000, 30_000, 30_000].into_iter().enumerate() {
            let piece = vec![index as u8; length];
            batch.put(&piece).unwrap();
            expected.extend(piece);
        }
        batch.flush().unwrap();
        assert!(*out.borrow() == expected);
    }
}
