//! Decodes a piece of input that consists of complete streams, one after another.

use std::io::{self, Read};

use super::engines::{Engine, engine};
use super::fault::{corrupt, truncated};
use super::{Format, Limits, detect};
use crate::pipe::PipeWriter;
use crate::tar::ZEROS_MOST;

/// Bytes read at a time. The number is fixed and counted from the start of the piece, because the text of an error must not
/// depend on the sizes in which input arrives.
const READ: usize = 64 << 10;
/// Bytes that identify the start of a stream.
const MAGIC: usize = 6;

/// Decodes `reader` into `output`. The first byte of `reader` is byte `base` of the compressed input.
pub(super) fn drive(
    format: Format,
    limits: &Limits,
    reader: &mut dyn Read,
    base: u64,
    output: &mut PipeWriter,
) -> io::Result<()> {
    let mut feed = Feed { reader, buffer: vec![0; READ], start: 0, end: 0, last: false, offset: base };
    while feed.find_stream(format)? {
        let start = feed.offset;
        let mut decoder = engine(format, limits).map_err(|what| corrupt(format, &what, start))?;
        decode(format, decoder.as_mut(), &mut feed, output)?;
    }
    Ok(())
}

/// Returns the first `length` decoded bytes of an input of which `head` is the start, or as many as `head` yields. Starts no thread.
pub fn start_of(head: &[u8], length: usize) -> Vec<u8> {
    let format = detect(head);
    if format == Format::Plain {
        return head[..length.min(head.len())].to_vec();
    }
    let Ok(mut decoder) = engine(format, &Limits::default()) else { return Vec::new() };
    let mut decoded = vec![0; length];
    let mut consumed = 0;
    let mut produced = 0;
    while produced < length {
        // An error after the start is of no interest.
        let Ok(step) = decoder.step(&head[consumed..], &mut decoded[produced..], false) else { break };
        consumed += step.consumed;
        produced += step.produced;
        if step.ended || (step.consumed, step.produced) == (0, 0) {
            break;
        }
    }
    decoded.truncate(produced);
    decoded
}

/// Decodes one stream completely.
fn decode(format: Format, decoder: &mut dyn Engine, feed: &mut Feed<'_>, output: &mut PipeWriter) -> io::Result<()> {
    let start = feed.offset;
    loop {
        feed.refill()?;
        let step = decoder.step(feed.bytes(), output.space(), feed.last);
        let step = step.map_err(|(what, consumed)| {
            let place = if decoder.counts() { feed.offset + consumed as u64 } else { start };
            corrupt(format, &what, place)
        })?;
        feed.consume(step.consumed);
        output.commit(step.produced)?;
        if step.ended {
            return Ok(());
        }
        if step.consumed == 0 && step.produced == 0 {
            if feed.last && feed.bytes().is_empty() {
                return Err(truncated(format, feed.offset));
            }
            if !feed.bytes().is_empty() {
                return Err(corrupt(format, "the decoder makes no progress", feed.offset));
            }
        }
    }
}

/// The input of decoders: a buffer that is refilled when it is empty.
struct Feed<'a> {
    reader: &'a mut dyn Read,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    last: bool,
    offset: u64,
}

impl Feed<'_> {
    fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }

    fn refill(&mut self) -> io::Result<()> {
        if self.start == self.end { self.fill() } else { Ok(()) }
    }

    /// Fills the buffer after its unread bytes, until it is full or the input ends.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < READ && !self.last {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.last = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Skips zeros before the next stream. Returns false at the end of the input.
    fn find_stream(&mut self, format: Format) -> io::Result<bool> {
        let start = self.offset;
        loop {
            if self.offset - start > ZEROS_MOST {
                let what = format!("more than {ZEROS_MOST} bytes of zeros follow the stream");
                return Err(corrupt(format, &what, start));
            }
            if self.bytes().len() < MAGIC {
                self.fill()?;
            }
            let zeros = self.bytes().iter().position(|&byte| byte != 0);
            // An lzma stream may start with a zero, and is the only stream in its file.
            let zeros = if format == Format::Lzma && self.offset == 0 { Some(0) } else { zeros };
            match zeros {
                None if self.bytes().is_empty() => return Ok(false),
                Some(0) if starts(format, self.bytes(), self.offset) => return Ok(true),
                Some(0) => return Err(corrupt(format, "unknown data follows the stream", self.offset)),
                zeros => self.consume(zeros.unwrap_or(self.bytes().len())),
            }
        }
    }
}

fn starts(format: Format, bytes: &[u8], offset: u64) -> bool {
    match format {
        Format::Plain => false,
        Format::Gzip => bytes.starts_with(&[0x1f, 0x8b]),
        Format::Xz => bytes.starts_with(b"\xfd7zXZ\0"),
        Format::Lzip => bytes.starts_with(b"LZIP"),
        Format::Bzip2 => bytes.starts_with(b"BZh"),
        Format::Lz4Legacy | Format::Lzma => offset == 0,
        Format::Zstd => bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) || is_skippable(bytes),
        Format::Lz4 => bytes.starts_with(&[0x04, 0x22, 0x4d, 0x18]) || is_skippable(bytes),
    }
}

fn is_skippable(bytes: &[u8]) -> bool {
    matches!(bytes, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}
