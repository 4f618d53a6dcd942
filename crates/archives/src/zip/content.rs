//! The content of an entry: decoded from the archive, and compared with its size and its CRC-32.

use std::fmt;
use std::sync::Arc;

use packline_tree::{Error, SharedContent};

use super::entry::{LOCAL, Location};
use super::{ZipFile, u16_at, u32_at};
use crate::decompress::engines::{Engine, Step, deflate, engine};
use crate::decompress::{Format, Limits};

/// Compressed bytes that are read at once.
const READ: usize = 64 << 10;
const LOCAL_MAGIC: &[u8] = b"PK\x03\x04";
/// The flag of sizes that follow the content, and are not in the local header.
const SIZES_FOLLOW: u16 = 1 << 3;
/// The flag of an lzma content with an end mark.
const LZMA_END_MARK: u16 = 1 << 1;
/// Bytes before an lzma content: version, length of properties, properties.
const LZMA_START: usize = 9;

/// How a content is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Stored,
    Deflate,
    Bzip2,
    Lzma { end_mark: bool },
    Zstd,
    Xz,
}

impl Method {
    /// The methods that are read, for messages.
    pub const KNOWN: &str = "stored, deflate, bzip2, lzma, xz or zstd";

    /// The method of a number. The error describes another one.
    pub fn of(number: u16, flags: u16) -> Result<Method, String> {
        let name = match number {
            0 => return Ok(Method::Stored),
            8 => return Ok(Method::Deflate),
            12 => return Ok(Method::Bzip2),
            14 => return Ok(Method::Lzma { end_mark: flags & LZMA_END_MARK != 0 }),
            93 => return Ok(Method::Zstd),
            95 => return Ok(Method::Xz),
            1 => " (shrink)",
            2..=5 => " (reduce)",
            6 => " (implode)",
            9 => " (deflate64)",
            94 => " (mp3)",
            96 => " (jpeg)",
            97 => " (wavpack)",
            98 => " (ppmd)",
            99 => " (encrypted with AES)",
            _ => "",
        };
        Err(format!("compression method {number}{name}"))
    }

    /// The number in a header.
    fn number(self) -> u16 {
        match self {
            Method::Stored => 0,
            Method::Deflate => 8,
            Method::Bzip2 => 12,
            Method::Lzma { .. } => 14,
            Method::Zstd => 93,
            Method::Xz => 95,
        }
    }

    /// Whether a decoder needs little memory, and so every worker can have one.
    pub fn is_small(self) -> bool {
        matches!(self, Method::Stored | Method::Deflate)
    }

    fn decoder(self, limits: &Limits) -> Result<Option<Box<dyn Engine>>, String> {
        let format = match self {
            Method::Stored => return Ok(None),
            Method::Deflate => return Ok(Some(deflate())),
            Method::Bzip2 => Format::Bzip2,
            Method::Lzma { .. } => Format::Lzma,
            Method::Zstd => Format::Zstd,
            Method::Xz => Format::Xz,
        };
        engine(format, limits).map(Some)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Stored => "stored",
            Method::Deflate => "deflate",
            Method::Bzip2 => "bzip2",
            Method::Lzma { .. } => "lzma",
            Method::Zstd => "zstd",
            Method::Xz => "xz",
        })
    }
}

/// A content before it is read: where it is, and where it must end.
#[derive(Clone)]
pub(super) struct Unread {
    pub file: ZipFile,
    pub location: Location,
    /// Offset of the next local header or of the central directory.
    pub limit: u64,
    pub limits: Limits,
}

/// A content that is read from its start to its end.
pub(super) struct Content {
    from: Unread,
    /// `None` for a stored content.
    decoder: Option<Box<dyn Engine>>,
    /// The next byte of the archive, and the number of bytes of the content from there on.
    next: u64,
    left: u64,
    /// Compressed bytes, and the number of them that were decoded.
    buffer: Vec<u8>,
    done: usize,
    /// Bytes of the content that were not decoded.
    missing: u64,
    crc: crc32fast::Hasher,
    /// Whether the decoder has come to the end of its stream.
    ended: bool,
}

impl Unread {
    fn fault(&self, offset: u64, what: impl Into<String>, expected: impl Into<String>) -> Error {
        self.file.malformed(&self.location.name, offset, what, expected)
    }

    /// Compares the local header with the central directory, and begins to read.
    pub fn start(self) -> Result<Content, Error> {
        let Location { method, stored, size, .. } = self.location;
        let next = self.content_start()?;
        self.file.input.will_read(self.file.base.saturating_add(next), stored);
        let decoder =
            method.decoder(&self.limits).map_err(|what| self.fault(next, format!("{method} data: {what}"), ""))?;
        let mut content = Content {
            from: self,
            decoder,
            next,
            left: stored,
            buffer: Vec::new(),
            done: 0,
            missing: size,
            crc: crc32fast::Hasher::new(),
            ended: false,
        };
        if let Method::Lzma { end_mark } = method {
            content.start_lzma(end_mark)?;
        }
        // Some programs store nothing for an empty content, whatever its method is.
        if size == 0 && stored > 0 {
            content.check_end()?;
        }
        Ok(content)
    }

    /// The offset of the first byte of the content.
    fn content_start(&self) -> Result<u64, Error> {
        let Location { name, local, method, flags, crc, stored, size } = &self.location;
        let mut header = vec![0; LOCAL + name.len()];
        // The directory was checked: this much is before the limit.
        self.file.read_at(*local, &mut header)?;
        if !header.starts_with(LOCAL_MAGIC) {
            return Err(self.fault(*local, "no local header of the entry", ""));
        }
        let same = |at: usize, value: u64| matches!(u32_at(&header, at), short if u64::from(short) == value || short == u32::MAX);
        let own = u16_at(&header, 6);
        let differs = if usize::from(u16_at(&header, 26)) != name.len() || header[LOCAL..] != name[..] {
            Some("name")
        } else if u16_at(&header, 8) != method.number() {
            Some("compression method")
        } else if (own ^ flags) & 1 != 0 {
            Some("encryption")
        } else if own & SIZES_FOLLOW != 0 {
            None
        } else if u32_at(&header, 14) != *crc {
            Some("checksum")
        } else if !same(18, *stored) || !same(22, *size) {
            Some("size")
        } else {
            None
        };
        if let Some(what) = differs {
            return Err(self.fault(
                *local,
                format!("another {what} in the local header"),
                "that of the central directory",
            ));
        }
        let start = local + (LOCAL + name.len()) as u64 + u64::from(u16_at(&header, 28));
        if start.checked_add(*stored).is_none_or(|end| end > self.limit) {
            return Err(self.overlaps());
        }
        Ok(start)
    }

    /// The fault of a content that reaches into the next entry.
    pub fn overlaps(&self) -> Error {
        let expected = format!("an end before byte {}, where the next part of the archive is", self.limit);
        self.fault(self.location.local, format!("a content of {} bytes that overlaps", self.location.stored), expected)
    }
}

impl Content {
    /// Reads the next bytes into `buffer`. 0 at the end, which was compared with the checksum.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        let most = self.missing.min(buffer.len() as u64) as usize;
        if most == 0 {
            return Ok(0);
        }
        let count = self.decode(&mut buffer[..most])?;
        if count == 0 {
            let missing = self.missing;
            return Err(self.fault(format!("the content ends {missing} bytes early"), self.expected()));
        }
        self.crc.update(&buffer[..count]);
        self.missing -= count as u64;
        if self.missing == 0 {
            self.check_end()?;
        }
        Ok(count)
    }

    /// Bytes of the content in the archive.
    pub fn stored(&self) -> u64 {
        self.from.location.stored
    }

    /// Bytes of the archive that were read.
    pub fn consumed(&self) -> u64 {
        self.from.location.stored - self.left
    }

    /// Replaces the start of an lzma content by the header of an .lzma file, which the decoder reads.
    fn start_lzma(&mut self, end_mark: bool) -> Result<(), Error> {
        let size = if end_mark { u64::MAX } else { self.missing };
        let mut start = [0; LZMA_START];
        if self.left < LZMA_START as u64 {
            return Err(self.fault("the content ends within its properties", "9 bytes"));
        }
        self.from.file.read_at(self.next, &mut start)?;
        if u16_at(&start, 2) != 5 {
            return Err(self.fault(format!("{} bytes of lzma properties", u16_at(&start, 2)), "5"));
        }
        self.buffer = [&start[4..], &size.to_le_bytes()].concat();
        self.next += LZMA_START as u64;
        self.left -= LZMA_START as u64;
        Ok(())
    }

    fn decode(&mut self, out: &mut [u8]) -> Result<usize, Error> {
        let Some(mut decoder) = self.decoder.take() else { return self.copy(out) };
        let decoded = self.decode_with(decoder.as_mut(), out);
        self.decoder = Some(decoder);
        decoded
    }

    /// Returns 0 at the end of the compressed stream.
    fn decode_with(&mut self, decoder: &mut dyn Engine, out: &mut [u8]) -> Result<usize, Error> {
        loop {
            self.refill()?;
            let is_empty = self.done == self.buffer.len();
            // A zstd content may have several frames.
            if self.ended && (is_empty || self.from.location.method != Method::Zstd) {
                return Ok(0);
            }
            let step = decoder.step(&self.buffer[self.done..], out, self.left == 0);
            let Step { consumed, produced, ended } = step.map_err(|(what, consumed)| {
                self.done += if decoder.counts() { consumed } else { 0 };
                self.fault(format!("{} data: {what}", self.from.location.method), "")
            })?;
            self.done += consumed;
            self.ended = ended;
            if produced > 0 {
                return Ok(produced);
            }
            if consumed == 0 && !ended {
                let what = if is_empty { "the compressed data end early" } else { "the decoder makes no progress" };
                return Err(self.fault(what, self.expected()));
            }
        }
    }

    fn copy(&mut self, out: &mut [u8]) -> Result<usize, Error> {
        let count = self.left.min(out.len() as u64) as usize;
        self.from.file.read_at(self.next, &mut out[..count])?;
        self.next += count as u64;
        self.left -= count as u64;
        Ok(count)
    }

    fn refill(&mut self) -> Result<(), Error> {
        if self.done < self.buffer.len() || self.left == 0 {
            return Ok(());
        }
        let count = self.left.min(READ as u64) as usize;
        self.buffer.resize(count, 0);
        self.from.file.read_at(self.next, &mut self.buffer)?;
        self.done = 0;
        self.next += count as u64;
        self.left -= count as u64;
        Ok(())
    }

    /// Checks that the compressed stream ends with the content, and the checksum.
    fn check_end(&mut self) -> Result<(), Error> {
        if self.decode(&mut [0])? > 0 {
            return Err(self.fault("more content than the size of the entry", self.expected()));
        }
        if self.left > 0 || self.done < self.buffer.len() {
            let rest = self.left + (self.buffer.len() - self.done) as u64;
            return Err(self.fault(format!("{rest} bytes after the end of the content"), "none"));
        }
        let found = self.crc.clone().finalize();
        let Location { crc, local, .. } = self.from.location;
        if found != crc {
            let what = format!("the content has CRC-32 {found:08x}");
            return Err(self.from.fault(local, what, format!("{crc:08x}")));
        }
        Ok(())
    }

    fn expected(&self) -> String {
        format!("{} bytes", self.from.location.size)
    }

    /// A fault at the next byte that is decoded.
    fn fault(&self, what: impl Into<String>, expected: impl Into<String>) -> Error {
        let offset = self.next - (self.buffer.len() - self.done).min(READ) as u64;
        self.from.fault(offset, what, expected)
    }
}

/// A small content that is decoded by the thread that needs it.
pub(super) struct Deferred(pub Unread);

impl fmt::Debug for Deferred {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Deferred").field(&self.0.location).finish()
    }
}

impl SharedContent for Deferred {
    /// Decodes the content up to the end of the part, and all of it as a rule.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        let mut content = self.0.clone().start()?;
        let mut before = offset;
        let mut done = 0;
        while done < buffer.len() {
            // The bytes before the part are overwritten.
            let space = &mut buffer[done..];
            let most = if before > 0 { before.min(space.len() as u64) as usize } else { space.len() };
            match content.read(&mut space[..most])? {
                0 => break,
                count if before > 0 => before -= count as u64,
                count => done += count,
            }
        }
        Ok(done)
    }
}

/// Reads the content of an entry that must have at most `most` bytes.
pub(super) fn read_whole(unread: Unread, most: usize) -> Result<Vec<u8>, Error> {
    let size = unread.location.size;
    if size > most as u64 {
        return Err(unread.fault(unread.location.local, format!("{size} bytes"), format!("at most {most}")));
    }
    let mut content = unread.start()?;
    let mut whole = vec![0; size as usize];
    let mut done = 0;
    while done < whole.len() {
        done += content.read(&mut whole[done..])?;
    }
    Ok(whole)
}

/// Keeps a content for workers.
pub(super) fn deferred(unread: Unread) -> Arc<dyn SharedContent> {
    Arc::new(Deferred(unread))
}
