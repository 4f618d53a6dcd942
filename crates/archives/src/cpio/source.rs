//! The reader of cpio archives: headers, names and contents, one after another.

use std::collections::VecDeque;
use std::io::{Read, Seek};

use packline_tree::{Bookmark, Bytes, Entry, Error, Extent, Kind, Source};

use super::TRAILER;
use super::entry::{self, Wrong};
use super::header::{Form, Header, LARGEST, MAGIC, NAME_MOST};
use super::links::{Added, Links, MOST};
use crate::absolute::AbsoluteNames;
use crate::decompress::{self, Format};
use crate::tar::{ErrorPosition, Meter, SequentialInput, ZEROS_MOST, unreadable};

/// Bytes read at a time to skip zeros between archives.
const STEP: usize = 512;

/// Concatenated cpio archives as a [`Source`], not compressed: newc, crc and odc, recognised for each header.
pub struct CpioSource<R> {
    input: SequentialInput<R>,
    name: String,
    meter: Option<Meter>,
    content: Content,
    /// Name and header offset of the current entry, for errors of its content.
    current: (Bytes, u64),
    links: Links,
    /// Entries to return before the next header.
    ready: VecDeque<Entry>,
    /// Offset of the next header, while an earlier content is read again.
    next: Option<u64>,
    absolute: AbsoluteNames,
    warnings: Vec<String>,
    /// Whether no archive began after the last end.
    is_between: bool,
    is_ended: bool,
}

/// The unread rest of a content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Content {
    /// Unread bytes.
    left: u64,
    /// Padding after the content in bytes.
    padding: u64,
    /// The sum of all bytes that the header has; the sum of the bytes that were read.
    sums: Option<(u32, u32)>,
}

/// The position of a content.
#[derive(Debug)]
struct CpioBookmark {
    header: u64,
    start: u64,
    content: Content,
}

impl<R: Read> CpioSource<R> {
    /// Archives that are read from front to back. `meter` counts the bytes of the compressed input; `name` is for messages.
    pub fn new(reader: R, name: impl Into<String>, meter: Option<Meter>) -> CpioSource<R> {
        CpioSource::over(SequentialInput::new(reader), name.into(), meter)
    }

    fn over(input: SequentialInput<R>, name: String, meter: Option<Meter>) -> CpioSource<R> {
        CpioSource {
            input,
            name,
            meter,
            content: Content::default(),
            current: (Bytes::new(), 0),
            links: Links::default(),
            ready: VecDeque::new(),
            next: None,
            absolute: AbsoluteNames::default(),
            warnings: Vec::new(),
            is_between: false,
            is_ended: false,
        }
    }

    fn malformed(&self, offset: u64, what: impl Into<String>, expected: &str) -> Error {
        ErrorPosition { input: &self.name, entry: &[], offset }.malformed(what, expected)
    }

    /// The fault of the current entry.
    fn wrong(&self, (what, expected): Wrong) -> Error {
        ErrorPosition { input: &self.name, entry: &self.current.0, offset: self.current.1 }.malformed(what, expected)
    }

    fn cut_off(&self, missing: u64) -> Error {
        let bytes = if missing == 1 { "byte is" } else { "bytes are" };
        let what = format!("the archive is cut off: {missing} {bytes} missing");
        ErrorPosition { input: &self.name, entry: &self.current.0, offset: self.input.offset() }.malformed(what, "")
    }

    fn skip(&mut self, bytes: u64) -> Result<(), Error> {
        let done = self.input.skip(bytes).map_err(|cause| unreadable(&self.name, cause))?;
        if done < bytes { Err(self.cut_off(bytes - done)) } else { Ok(()) }
    }

    /// Reads bytes that were announced. The caller has limited their number.
    fn bytes(&mut self, size: u64) -> Result<Bytes, Error> {
        let mut bytes = vec![0; size as usize];
        let count = self.input.read(&mut bytes).map_err(|cause| unreadable(&self.name, cause))?;
        if count < bytes.len() { Err(self.cut_off((bytes.len() - count) as u64)) } else { Ok(bytes) }
    }

    /// The next header. `None` at the end of the input, which must come after the end of an archive.
    fn header(&mut self) -> Result<Option<Header>, Error> {
        if self.is_between {
            self.skip_zeros()?;
        }
        let offset = self.input.offset();
        self.current = (Bytes::new(), offset);
        let found = self.input.peek(LARGEST).map_err(|cause| unreadable(&self.name, cause))?;
        if found.is_empty() && self.is_between {
            return Ok(None);
        }
        let Some(header) = Header::parse(found) else {
            let found = found.to_vec();
            return Err(self.no_header(&found, offset));
        };
        let size = header.form.size();
        self.input.consume(size);
        self.is_between = false;
        Ok(Some(header))
    }

    /// The error for bytes that should be a header.
    fn no_header(&self, found: &[u8], offset: u64) -> Error {
        if found.is_empty() {
            return self.malformed(offset, "the archive ends without TRAILER!!!", "a complete archive");
        }
        if let Some(form) = Form::of(found) {
            let is_cut = found.len() < form.size();
            let cut = || format!("the archive ends {} bytes into a header", found.len());
            let what = if is_cut { cut() } else { "a field of a header is not a number".to_string() };
            return self.malformed(offset, what, "a complete header of a cpio archive");
        }
        let shown = found[..found.len().min(MAGIC)].escape_ascii();
        match decompress::detect(found) {
            Format::Plain if self.is_between => self.malformed(
                offset,
                format!("'{shown}' after the end of an archive"),
                "zeros or another cpio archive",
            ),
            Format::Plain => {
                self.malformed(offset, format!("the header begins with '{shown}'"), "070701, 070702 or 070707")
            }
            format => self.malformed(
                offset,
                format!("a second part that is compressed, with {format}"),
                "at most one compressed part, at the end",
            ),
        }
    }

    fn skip_zeros(&mut self) -> Result<(), Error> {
        let start = self.input.offset();
        loop {
            if self.input.offset() - start > ZEROS_MOST {
                return Err(ErrorPosition { input: &self.name, entry: &[], offset: start }.endless_zeros());
            }
            let found = self.input.peek(STEP).map_err(|cause| unreadable(&self.name, cause))?;
            let zeros = found.iter().position(|byte| *byte != 0);
            let count = zeros.unwrap_or(found.len());
            if count == 0 {
                return Ok(());
            }
            self.input.consume(count);
        }
    }

    /// The name after a header.
    fn name_of(&mut self, header: &Header) -> Result<Bytes, Error> {
        let size = header.name_size;
        if size == 0 || size > NAME_MOST {
            let expected = "1 to 131072 bytes, with a NUL byte at the end";
            return Err(self.wrong((format!("a name of {size} bytes"), expected)));
        }
        let stored = self.bytes(size)?;
        self.skip(header.name_padding())?;
        let name = entry::name(&stored).map_err(|wrong| self.wrong(wrong))?.to_vec();
        self.current.0.clone_from(&name);
        Ok(name)
    }

    /// Skips the rest of a content.
    fn leave_content(&mut self) -> Result<(), Error> {
        let Content { left, padding, .. } = std::mem::take(&mut self.content);
        if let Some(next) = self.next.take() {
            return self.input.go_to(next).map_err(|cause| unreadable(&self.name, cause));
        }
        self.skip(left)?;
        self.skip(padding)
    }

    fn advance(&mut self) -> Result<Option<Entry>, Error> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Ok(Some(entry));
            }
            if self.is_ended {
                return Ok(None);
            }
            self.leave_content()?;
            let Some(header) = self.header()? else {
                self.is_ended = true;
                self.warnings.extend(self.absolute.warning(&self.name));
                self.input.finish().map_err(|cause| unreadable(&self.name, cause))?;
                continue;
            };
            let name = self.name_of(&header)?;
            if name == TRAILER {
                self.content = Content { left: header.size, padding: header.content_padding(), sums: None };
                self.ready.extend(self.links.end());
                self.is_between = true;
                continue;
            }
            if let Some(entry) = self.entry(&header, &name)? {
                return Ok(Some(entry));
            }
        }
    }

    /// The entry of a header. `None` if it comes later, with its content.
    fn entry(&mut self, header: &Header, name: &[u8]) -> Result<Option<Entry>, Error> {
        self.absolute.note(name);
        let mut target = Bytes::new();
        self.content = Content { left: header.size, padding: header.content_padding(), sums: None };
        if header.is_symlink() {
            header.check_target_size().map_err(|wrong| self.wrong(wrong))?;
            let stored = self.bytes(header.size)?;
            self.content.left = 0;
            target = entry::target(stored).map_err(|wrong| self.wrong(wrong))?;
        }
        let entry = header.entry(name, target).map_err(|wrong| self.wrong(wrong))?;
        self.links.replace(&entry.path);
        if !matches!(entry.kind, Kind::File { .. }) {
            return Ok(Some(entry));
        }
        self.content.sums = (header.form == Form::Checked).then_some((header.check, 0));
        if header.links < 2 || header.number.inode == 0 {
            return Ok(Some(entry));
        }
        match self.links.add(header, entry) {
            None => Err(self.wrong((
                format!("hard links whose names need more than {} MiB", MOST >> 20),
                "an archive with fewer hard links",
            ))),
            Some(Added::Waits) => Ok(None),
            Some(Added::Link(entry)) => Ok(Some(entry)),
            Some(Added::File(entry, links)) => {
                self.ready.extend(links);
                Ok(Some(entry))
            }
        }
    }

    /// Compares the sum of a content that was read from its start to its end.
    fn check(&self) -> Result<(), Error> {
        match self.content.sums {
            Some((expected, found)) if found != expected && self.content.left == 0 => {
                let what = format!("the bytes of the content add up to {found:#010x}");
                let expected = format!("{expected:#010x}, as the header says");
                Err(ErrorPosition { input: &self.name, entry: &self.current.0, offset: self.current.1 }
                    .malformed(what, expected))
            }
            _ => Ok(()),
        }
    }
}

impl<R: Read + Seek> CpioSource<R> {
    /// Archives in a file or another input that can seek, from its current position. Contents can be read in any order.
    ///
    /// # Errors
    /// [`Error::Io`] if the input cannot seek.
    pub fn seekable(reader: R, name: impl Into<String>) -> Result<CpioSource<R>, Error> {
        let name = name.into();
        let input = SequentialInput::seekable(reader).map_err(|cause| unreadable(&name, cause))?;
        Ok(CpioSource::over(input, name, None))
    }
}

impl<R: Read> Source for CpioSource<R> {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        self.advance().inspect_err(|_| self.is_ended = true)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        if self.content.left == 0 {
            return Ok(Extent::End);
        }
        let wanted = self.content.left.min(buffer.len() as u64) as usize;
        let part = &mut buffer[..wanted];
        let count = self.input.read(part).map_err(|cause| unreadable(&self.name, cause))?;
        if count < wanted {
            return Err(self.cut_off(self.content.left - count as u64));
        }
        self.content.left -= count as u64;
        if let Some((_, sum)) = &mut self.content.sums {
            *sum = part.iter().fold(*sum, |sum, byte| sum.wrapping_add(u32::from(*byte)));
        }
        self.check()?;
        Ok(Extent::Data(count))
    }

    fn bookmark(&mut self) -> Option<Bookmark> {
        let bookmark = CpioBookmark { header: self.current.1, start: self.input.offset(), content: self.content };
        self.input.can_seek().then(|| Bookmark::opaque(bookmark, 0))
    }

    fn recall(&mut self, bookmark: &Bookmark, path: &[u8]) -> Result<(), Error> {
        let bookmark = bookmark.value::<CpioBookmark>().ok_or_else(|| Bookmark::foreign(&self.name, path))?;
        self.leave_content()?;
        self.next = Some(self.input.offset());
        self.input.go_to(bookmark.start).map_err(|cause| unreadable(&self.name, cause))?;
        self.content = bookmark.content;
        self.current = (path.to_vec(), bookmark.header);
        Ok(())
    }

    fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    fn format(&self) -> &'static str {
        "cpio"
    }

    fn memory(&self) -> usize {
        self.links.memory()
    }

    fn progress(&self) -> (u64, Option<u64>) {
        match &self.meter {
            Some(meter) => (meter.consumed(), meter.total()),
            None => (self.next.unwrap_or(self.input.offset()), self.input.length()),
        }
    }
}
