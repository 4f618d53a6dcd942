//! Writes a directory as a tar, on its own thread, while the tar is compressed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::thread::{self, Builder};

use packline_archives::pipe::{PipeWriter, pipe};
use packline_archives::tar::{TarWriter, Unstorable, end_of_archive, padding};
use packline_engine::CancelToken;
use packline_lrz::{WriteOptions, Written};
use packline_runtime::escape::Escape;
use packline_runtime::{Observer, Resources, threads, zeros};
use packline_tree::{Bytes, DirectoryOptions, DirectorySource, Entry, Extent, Kind, Source};

use super::{PIPE_BYTES, PIPE_CHUNKS, needing_more, pack_stream, source_failed};
use crate::error::Error;
use crate::sources::directory::leave_out;
use crate::streams::output_stream::OutputStream;

/// Bytes of content read at a time.
const STEP: usize = 256 << 10;
/// Memory that the tar takes, bytes: the pipe, a buffer, names.
const TAR_BYTES: u64 = PIPE_BYTES + (2 << 20);

/// A directory to be packed.
pub(super) struct Tar {
    /// The path of the directory.
    pub(super) path: PathBuf,
    /// Which entries and attributes are read.
    pub(super) options: DirectoryOptions,
    /// Prefix of each name.
    pub(super) prefix: Bytes,
    /// Paths of the output, which are left out.
    pub(super) outputs: Vec<PathBuf>,
}

/// Packs a directory.
///
/// # Errors
/// Errors of the directory come before errors of the file.
pub(super) fn pack(
    tar: Tar,
    output: &mut OutputStream,
    options: &WriteOptions,
    resources: &Resources,
    observer: &mut dyn Observer,
) -> Result<Written, Error> {
    let besides = TAR_BYTES + tar.options.ahead_bytes as u64;
    let less = resources.with_less_memory(besides);
    let (writer, mut reader) = pipe(PIPE_CHUNKS);
    let name = tar.path.escaped();
    let cancel = resources.cancel.clone();
    thread::scope(|scope| {
        let spawned = Builder::new().name("tar".into()).spawn_scoped(scope, move || make(&tar, writer, &cancel));
        let making = spawned.map_err(|cause| cannot_start(&name, &cause))?;
        let packed = pack_stream(&name, &mut reader, output, options, &less, observer);
        let written = packed.map_err(|error| needing_more(error, resources, |_| besides));
        drop(reader);
        let made = making.join().unwrap_or_else(|_| Err(internal()));
        match (made, written) {
            (Ok(warnings), Ok(written)) => {
                warnings.iter().for_each(|warning| observer.warning(warning));
                Ok(written)
            }
            // A closed pipe is not a fault of the directory.
            (Err(Error::Output { .. }) | Ok(_), Err(error)) | (Err(error), _) => Err(error),
        }
    })
}

fn cannot_start(name: &str, cause: &io::Error) -> Error {
    Error::Source { path: PathBuf::from(name), action: "cannot read", cause: threads::refused(cause) }
}

fn internal() -> Error {
    let what = "internal error: the thread that reads the directory panicked".to_string();
    Error::Request { what, expected: String::new() }
}

/// Writes the tar; returns a warning for each entry that was left out.
fn make(tar: &Tar, mut out: PipeWriter, cancel: &CancelToken) -> Result<Vec<String>, Error> {
    let writer = TarWriter::new(tar.prefix.clone());
    let mut writing = Writing { writer, header: Vec::new(), length: 0, sockets: BTreeSet::new() };
    let made = writing.all(tar, &mut out, cancel);
    out.finish(made.as_ref().map(drop).map_err(|_| source_failed()));
    made
}

struct Writing {
    writer: TarWriter,
    header: Vec<u8>,
    /// Bytes of the tar so far.
    length: u64,
    /// First names of sockets. A link to a socket has no target in the tar.
    sockets: BTreeSet<Bytes>,
}

impl Writing {
    fn all(&mut self, tar: &Tar, out: &mut PipeWriter, cancel: &CancelToken) -> Result<Vec<String>, Error> {
        let mut options = tar.options.clone();
        tar.outputs.iter().for_each(|output| leave_out(output, &tar.path, &mut options));
        let mut source = DirectorySource::open(&tar.path, options)?;
        let mut warnings = Vec::new();
        let mut buffer = vec![0; STEP];
        while let Some(mut entry) = source.next_entry()? {
            if cancel.is_cancelled() {
                return Err(stopped(io::ErrorKind::Interrupted.into()));
            }
            // A fraction of a second would need an extended header of 1 KiB for each entry.
            entry.meta.mtime = entry.meta.mtime.floor();
            match self.begin(&entry) {
                Ok(()) => self.entry(&entry, &mut source, &mut buffer, out)?,
                Err(Unstorable::Socket) => warnings.push(left_out(tar, &entry)),
                Err(fault) => return Err(unstorable(tar, &entry, &fault)),
            }
        }
        warnings.append(&mut source.take_warnings());
        self.zeros(end_of_archive(self.length) as u64, out)?;
        out.flush().map_err(stopped)?;
        Ok(warnings)
    }

    /// Writes an entry's header. A further name of a socket cannot be stored either.
    fn begin(&mut self, entry: &Entry) -> Result<(), Unstorable> {
        self.header.clear();
        match &entry.kind {
            Kind::HardLink(first) if self.sockets.contains(first) => return Err(Unstorable::Socket),
            Kind::Socket => drop(self.sockets.insert(entry.path.clone())),
            _ => {}
        }
        self.writer.entry(&mut self.header, entry)
    }

    fn entry(
        &mut self,
        entry: &Entry,
        source: &mut DirectorySource,
        buffer: &mut [u8],
        out: &mut PipeWriter,
    ) -> Result<(), Error> {
        self.length += self.header.len() as u64;
        out.write_all(&self.header).map_err(stopped)?;
        let Kind::File { size } = entry.kind else { return Ok(()) };
        loop {
            match source.read(buffer)? {
                Extent::Data(bytes) => self.put(&buffer[..bytes], out)?,
                Extent::Hole(bytes) => self.zeros(bytes, out)?,
                Extent::End => return self.zeros(padding(size) as u64, out),
            }
        }
    }

    fn put(&mut self, bytes: &[u8], out: &mut PipeWriter) -> Result<(), Error> {
        self.length += bytes.len() as u64;
        out.write_all(bytes).map_err(stopped)
    }

    fn zeros(&mut self, count: u64, out: &mut PipeWriter) -> Result<(), Error> {
        zeros(count).try_for_each(|piece| self.put(piece, out))
    }
}

/// The error of a pipe that the reader closed, which reports its own error.
fn stopped(cause: io::Error) -> Error {
    Error::Output { path: PathBuf::from("tar"), action: "cannot continue with", cause }
}

fn left_out(tar: &Tar, entry: &Entry) -> String {
    format!("{}: left out, since a tar cannot hold a socket", display_path(tar, entry).escaped())
}

fn display_path(tar: &Tar, entry: &Entry) -> PathBuf {
    tar.path.join(OsStr::from_bytes(&entry.path))
}

fn unstorable(tar: &Tar, entry: &Entry, fault: &Unstorable) -> Error {
    Error::Source { path: display_path(tar, entry), action: "cannot pack", cause: io::Error::other(fault.to_string()) }
}
