//! The contents of a tree's files in sequence, in pieces.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use packline_runtime::TaskError;
use packline_volume::{Chunk, Event, ReadSettings, Reading, Request, SharedCounts, SharedUses};

use super::planner::{SharedPlanner, Which};
use super::side::{Node, Side, refused};
use crate::{Error, OpenedImage};

/// Bytes of a file of the file system that are read at once.
const BUFFER: usize = 128 << 10;

/// The contents of one tree.
pub(super) enum Stream<'p> {
    Image(Box<ImageStream<'p>>),
    Host(Box<HostStream>),
}

/// Contents of an image, decoded ahead.
pub(super) struct ImageStream<'p> {
    image: OpenedImage,
    reading: Reading<'p, bool>,
    chunk: Option<Chunk>,
    held: Held,
}

/// Contents of files of a file system.
pub(super) struct HostStream {
    side: Side,
    path: Vec<u8>,
    file: Option<File>,
    /// Offset of the next read, and the end of the data before the next hole.
    at: u64,
    data_end: u64,
    size: u64,
    buffer: Vec<u8>,
    held: Held,
}

/// Bytes that were read and not yet used.
#[derive(Debug, Clone, Copy, Default)]
struct Held {
    /// Range of bytes of the buffer or the chunk.
    from: usize,
    to: usize,
    /// Number of zeros.
    hole: u64,
}

/// The current piece: bytes, or zeros that are not stored.
pub(super) enum StreamPiece<'b> {
    Bytes(&'b [u8]),
    Hole(u64),
}

impl<'p> Stream<'p> {
    /// Reads the contents that `planner` queues for one of its sides.
    pub(super) fn new(
        side: &Side,
        which: Which,
        planner: &SharedPlanner,
        reading: Option<(ReadSettings, SharedUses)>,
    ) -> Result<Stream<'p>, Error> {
        let (Side::Image(image), Some((settings, uses))) = (side, reading) else {
            return Ok(Stream::Host(Box::new(HostStream::new(side))));
        };
        let planner = planner.clone();
        let requests = std::iter::from_fn(move || {
            let file = planner.borrow_mut().next_file(which)?;
            Some(Ok(Request { tag: file.is_some(), file, weight: 0 }))
        });
        let reading = Reading::new(&image.volume, Box::new(requests), uses, &settings);
        let reading = reading.map_err(|cause| image.fault(cause))?;
        Ok(Stream::Image(Box::new(ImageStream { image: image.clone(), reading, chunk: None, held: Held::default() })))
    }

    /// Returns the number of shared units decoded so far.
    pub(super) fn shared_counts(&self) -> SharedCounts {
        match self {
            Stream::Image(stream) => stream.reading.shared_counts(),
            Stream::Host(_) => SharedCounts::default(),
        }
    }

    /// Goes to the start of the next content, which belongs to `node` at `path`.
    pub(super) fn begin(&mut self, path: &[u8], node: &Node) -> Result<(), Error> {
        match self {
            Stream::Image(stream) => stream.begin(path),
            Stream::Host(stream) => stream.begin(path, node),
        }
    }

    /// Reads the next piece. Some content must be left.
    pub(super) fn fill(&mut self, path: &[u8]) -> Result<(), Error> {
        match self {
            Stream::Image(stream) if stream.held.is_empty() => stream.fill(path),
            Stream::Host(stream) if stream.held.is_empty() => stream.fill(),
            _ => Ok(()),
        }
    }

    /// The current piece.
    pub(super) fn piece(&self) -> StreamPiece<'_> {
        let (held, bytes): (&Held, &[u8]) = match self {
            Stream::Image(stream) => (&stream.held, stream.chunk.as_deref().unwrap_or(&[])),
            Stream::Host(stream) => (&stream.held, &stream.buffer),
        };
        if held.hole > 0 { StreamPiece::Hole(held.hole) } else { StreamPiece::Bytes(&bytes[held.from..held.to]) }
    }

    /// Drops the first `length` bytes of the current piece.
    pub(super) fn consume(&mut self, length: u64) {
        let held = match self {
            Stream::Image(stream) => &mut stream.held,
            Stream::Host(stream) => &mut stream.held,
        };
        if held.hole > 0 {
            held.hole -= length.min(held.hole);
        } else {
            held.from = held.to.min(held.from + length as usize);
        }
    }

    /// Skips `left` bytes, the rest of a content.
    pub(super) fn skip(&mut self, path: &[u8], mut left: u64) -> Result<(), Error> {
        while left > 0 && matches!(self, Stream::Image(_)) {
            self.fill(path)?;
            let length = self.piece().length().min(left);
            self.consume(length);
            left -= length;
        }
        Ok(())
    }
}

impl StreamPiece<'_> {
    pub(super) fn length(&self) -> u64 {
        match self {
            StreamPiece::Bytes(bytes) => bytes.len() as u64,
            StreamPiece::Hole(length) => *length,
        }
    }
}

impl Held {
    fn is_empty(&self) -> bool {
        self.hole == 0 && self.from == self.to
    }
}

impl ImageStream<'_> {
    fn next_event(&mut self, path: &[u8]) -> Result<Event<bool>, Error> {
        let event = self.reading.next_event().map_err(|cause| self.image.fault_at(path, cause))?;
        event.ok_or_else(|| self.lost(path))
    }

    /// Returns the error of a reader that returned too little content.
    fn lost(&self, path: &[u8]) -> Error {
        let cause = packline_volume::ReadError::internal("contents ended too early".to_string());
        self.image.fault_at(path, cause)
    }

    fn begin(&mut self, path: &[u8]) -> Result<(), Error> {
        loop {
            match self.next_event(path)? {
                Event::Begin(true) => return Ok(()),
                Event::Begin(false) => {}
                Event::Failed { error, .. } => return Err(self.image.fault_at(path, error)),
                Event::Data(_) | Event::Hole(_) => return Err(self.lost(path)),
            }
        }
    }

    fn fill(&mut self, path: &[u8]) -> Result<(), Error> {
        // The memory of the chunk is freed before more is requested.
        self.chunk = None;
        self.held = match self.next_event(path)? {
            Event::Data(chunk) => {
                let held = Held { from: 0, to: chunk.len(), hole: 0 };
                self.chunk = Some(chunk);
                held
            }
            Event::Hole(hole) => Held { from: 0, to: 0, hole },
            Event::Failed { error, .. } => return Err(self.image.fault_at(path, error)),
            Event::Begin(_) => return Err(self.lost(path)),
        };
        if self.held.is_empty() { Err(self.lost(path)) } else { Ok(()) }
    }
}

impl HostStream {
    fn new(side: &Side) -> HostStream {
        HostStream {
            side: side.clone(),
            path: Vec::new(),
            file: None,
            at: 0,
            data_end: 0,
            size: 0,
            buffer: Vec::new(),
            held: Held::default(),
        }
    }

    fn begin(&mut self, path: &[u8], node: &Node) -> Result<(), Error> {
        let place = self.side.host_path(path);
        let file = open_file(&place, node.size).map_err(|cause| refused(&place, "cannot open", cause))?;
        self.path = path.to_vec();
        self.file = Some(file);
        self.size = node.size;
        self.at = 0;
        self.data_end = 0;
        self.held = Held::default();
        Ok(())
    }

    fn fill(&mut self) -> Result<(), Error> {
        self.read_on().map_err(|cause| refused(&self.side.host_path(&self.path), "cannot read", cause))
    }

    fn read_on(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        if self.at >= self.data_end {
            let data = next_data(file, self.at, self.size)?;
            self.data_end = next_hole(file, data, self.size)?;
            self.held = Held { from: 0, to: 0, hole: data - self.at };
            self.at = data;
            if self.held.hole > 0 {
                return Ok(());
            }
        }
        let length = (self.data_end - self.at).min(BUFFER as u64) as usize;
        self.buffer.resize(BUFFER, 0);
        file.seek(SeekFrom::Start(self.at))?;
        let read = file.read(&mut self.buffer[..length])?;
        if read == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file was truncated while it was read"));
        }
        self.at += read as u64;
        self.held = Held { from: 0, to: read, hole: 0 };
        Ok(())
    }
}

/// Opens a regular file of this size. Does not follow a link, and does not block on a pipe that replaced the file.
pub(super) fn open_file(path: &std::path::Path, size: u64) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits() as i32).open(path)?;
    let found = file.metadata()?;
    if found.is_file() && found.len() == size { Ok(file) } else { Err(io::Error::other("it has changed")) }
}

/// Returns the start of the next data from `at` on; `size` if there is none.
pub(super) fn next_data(file: &File, at: u64, size: u64) -> io::Result<u64> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(at)) {
        Ok(data) => Ok(data.min(size)),
        Err(rustix::io::Errno::NXIO) => Ok(size),
        // The file system does not support holes.
        Err(rustix::io::Errno::INVAL) => Ok(at),
        Err(errno) => Err(errno.into()),
    }
}

/// Returns the start of the next hole from `at` on; `size` if there is none.
pub(super) fn next_hole(file: &File, at: u64, size: u64) -> io::Result<u64> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Hole(at)) {
        Ok(hole) => Ok(hole.min(size)),
        Err(rustix::io::Errno::NXIO | rustix::io::Errno::INVAL) => Ok(size),
        Err(errno) => Err(errno.into()),
    }
}
