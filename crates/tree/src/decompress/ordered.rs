//! Output of several decoders in the order of the input: a lane each, read one after the other.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use super::Format;
use super::fault::{abandoned, vanished};

/// Bytes handed over at a time.
pub(super) const CHUNK: usize = 256 << 10;

/// What comes along a lane.
pub(super) enum Message {
    /// Decompressed bytes.
    Data(Vec<u8>),
    /// The decoder of this lane failed.
    Failed(io::Error),
    /// All of this lane was given.
    Done,
}

/// What the splitter announces, in order.
pub(super) enum Item {
    /// The next lane.
    Lane(Receiver<Message>),
    /// There is no further lane.
    End,
}

/// Buffers that were read and can be filled again.
#[derive(Clone, Default)]
pub(super) struct Spares(Arc<Mutex<VecDeque<Vec<u8>>>>);

impl Spares {
    fn take(&self) -> Vec<u8> {
        let spare = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        spare.unwrap_or_else(|| vec![0; CHUNK])
    }

    fn give(&self, mut buffer: Vec<u8>) {
        buffer.resize(CHUNK, 0);
        let mut spares = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if spares.len() < 8 {
            spares.push_back(buffer);
        }
    }
}

/// The decoder's end of a lane.
pub(super) struct LaneWriter {
    sender: SyncSender<Message>,
    spares: Spares,
    buffer: Vec<u8>,
    filled: usize,
}

impl LaneWriter {
    /// A lane that holds at most `chunks` chunks, and its reading end.
    pub fn new(chunks: usize, spares: &Spares) -> (Self, Receiver<Message>) {
        let (sender, receiver) = sync_channel(chunks.max(1));
        (Self { sender, spares: spares.clone(), buffer: Vec::new(), filled: 0 }, receiver)
    }

    /// Room for decompressed bytes; never empty.
    pub fn space(&mut self) -> &mut [u8] {
        if self.buffer.is_empty() {
            self.buffer = self.spares.take();
        }
        &mut self.buffer[self.filled..]
    }

    /// Takes `count` bytes that were put at the start of the space. Fails when nobody reads any more.
    pub fn commit(&mut self, count: usize) -> io::Result<()> {
        self.filled += count;
        if self.filled > 0 && self.filled == self.buffer.len() { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.truncate(self.filled);
        self.filled = 0;
        if buffer.is_empty() { Ok(()) } else { self.send(Message::Data(buffer)) }
    }

    fn send(&self, message: Message) -> io::Result<()> {
        self.sender.send(message).map_err(|_| abandoned())
    }

    /// Ends the lane: what was decoded before an error still comes first.
    pub fn close(mut self, result: io::Result<()>) {
        let flushed = self.flush();
        let last = match result.and(flushed) {
            Ok(()) => Message::Done,
            Err(error) => Message::Failed(error),
        };
        // Only fails when nobody reads, and then nobody wants to know.
        let _ = self.send(last);
    }
}

/// The reader's end: the lanes in order as one stream.
pub(super) struct Ordered {
    format: Format,
    items: Receiver<Item>,
    lane: Option<Receiver<Message>>,
    spares: Spares,
    chunk: Vec<u8>,
    given: usize,
    over: Option<Result<(), (io::ErrorKind, String)>>,
}

impl Ordered {
    /// Reads the lanes that come through `items`.
    pub fn new(format: Format, items: Receiver<Item>, spares: Spares) -> Self {
        Self { format, items, lane: None, spares, chunk: Vec::new(), given: 0, over: None }
    }

    /// Gets the next chunk; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        loop {
            let Some(lane) = &self.lane else {
                match self.items.recv().map_err(|_| vanished(self.format))? {
                    Item::Lane(lane) => self.lane = Some(lane),
                    Item::End => return Ok(false),
                }
                continue;
            };
            match lane.recv().map_err(|_| vanished(self.format))? {
                Message::Data(chunk) => {
                    self.replace(chunk);
                    return Ok(true);
                }
                Message::Failed(error) => return Err(error),
                Message::Done => self.lane = None,
            }
        }
    }

    fn replace(&mut self, chunk: Vec<u8>) {
        self.given = 0;
        let old = std::mem::replace(&mut self.chunk, chunk);
        if old.capacity() >= CHUNK {
            self.spares.give(old);
        }
    }

    /// An end is kept: whoever reads on gets the same answer.
    fn refill(&mut self) -> io::Result<bool> {
        match &self.over {
            Some(Ok(())) => return Ok(false),
            Some(Err((kind, message))) => return Err(io::Error::new(*kind, message.clone())),
            None => {}
        }
        let result = self.advance();
        match &result {
            Ok(true) => {}
            Ok(false) => self.over = Some(Ok(())),
            Err(error) => self.over = Some(Err((error.kind(), error.to_string()))),
        }
        result
    }
}

impl Read for Ordered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || (self.given == self.chunk.len() && !self.refill()?) {
            return Ok(0);
        }
        let rest = &self.chunk[self.given..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        Ok(count)
    }
}
