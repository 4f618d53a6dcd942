//! The reader of tar streams: a sequence of headers, each with its records.

mod ends;
mod files;
mod unknown;

use std::fmt;
use std::io::{Read, Seek};
use std::ops::Range;
use std::sync::Arc;

use packline_runtime::Input;
use packline_tree::{Bookmark, Bytes, Entry, Error, Extent, SharedContent, Source, Time, UnreadPart};

use super::content::{Content, ContentPart, TarBookmark, padding};
use super::fault::{ErrorPosition, unreadable};
use super::header::{BLOCK, Header, is_zero};
use super::input::Input as TarInput;
use super::member::{Member, choose_name};
use super::pax::{Pax, RecordFault};
use super::{Meter, TarOptions, number};
use crate::absolute::AbsoluteNames;
use crate::pipe::PipeReader;
use unknown::is_known;

/// Maximum bytes of an entry's extended header. Names, targets and attributes that a file system supports need far less.
pub const MAX_EXTENDED: u64 = 16 << 20;
/// Maximum bytes of a global extended header, which is copied into every entry.
pub const MAX_GLOBAL: u64 = 1 << 20;
/// Maximum bytes of a GNU long name. Longer names are not valid paths on any system.
pub const MAX_LONG_NAME: u64 = 1 << 20;

/// A tar as a [`Source`]: v7, ustar, GNU, PAX and star, recognised for each header.
pub struct TarSource<R> {
    input: TarInput<R>,
    name: String,
    meter: Option<Meter>,
    globals: Pax,
    pending: Pending,
    content: Content,
    /// Name and header offset of the current entry, for errors of its content.
    current: (Bytes, u64),
    /// Names of the user and the group of the current entry.
    owner_names: [Bytes; 2],
    /// Offset of the next header, while an earlier content is read again.
    next: Option<u64>,
    /// Whether a header was found.
    begun: bool,
    ended: bool,
    /// Whether two zero blocks ended the archive.
    end_marked: bool,
    /// Whether the input ended where a header could start, without a zero block.
    may_be_cut: bool,
    /// Whether the padding of a content is incomplete, which is reported then.
    unpadded: bool,
    lenient: bool,
    ignore_zeros: bool,
    strict: bool,
    needs_end_mark: bool,
    warnings: Vec<String>,
    /// Number of skipped entries of unknown types.
    unknown: u64,
    /// Number of entries with ACLs, and the name of the first.
    acls: u64,
    first_acl: Bytes,
    absolute: AbsoluteNames,
    /// The tar as workers read it.
    shared: Option<Arc<dyn SharedContent>>,
}

/// A tar that workers read.
struct SharedTar {
    input: Arc<dyn Input>,
    name: String,
}

impl fmt::Debug for SharedTar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedTar").field("name", &self.name).finish_non_exhaustive()
    }
}

impl SharedContent for SharedTar {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        self.input.read_at(offset, buffer).map_err(|cause| unreadable(&self.name, cause))?;
        Ok(buffer.len())
    }
}

/// Headers that apply to the next entry.
#[derive(Default)]
struct Pending {
    pax: Option<Pax>,
    name: Option<Bytes>,
    link: Option<Bytes>,
}

impl Pending {
    fn is_empty(&self) -> bool {
        self.pax.is_none() && self.name.is_none() && self.link.is_none()
    }
}

impl<R: Read + Seek> TarSource<R> {
    /// A tar in a file or another input that can seek, from its current position. Seeks over unread content.
    ///
    /// # Errors
    /// [`Error::Io`] if the input cannot seek (a pipe opened by name). Use [`TarSource::new`] for such inputs.
    pub fn seekable(reader: R, options: TarOptions) -> Result<Self, Error> {
        let input = TarInput::seekable(reader).map_err(|cause| unreadable(&options.input_name, cause))?;
        Ok(Self::over(input, options))
    }
}

impl TarSource<PipeReader> {
    /// A tar that another thread reads ahead. Workers take large contents from the chunks of the pipe.
    pub(super) fn lending(reader: PipeReader, options: TarOptions) -> Self {
        Self::over(TarInput::lending(reader), options)
    }
}

impl<R: Read> TarSource<R> {
    /// A tar that is read sequentially, as from a pipe or a decoder.
    pub fn new(reader: R, options: TarOptions) -> Self {
        Self::over(TarInput::new(reader), options)
    }

    fn over(input: TarInput<R>, options: TarOptions) -> Self {
        Self {
            input,
            name: options.input_name,
            meter: options.meter,
            globals: Pax::default(),
            pending: Pending::default(),
            content: Content::default(),
            current: (Bytes::new(), 0),
            owner_names: Default::default(),
            next: None,
            begun: false,
            ended: false,
            end_marked: false,
            may_be_cut: false,
            unpadded: false,
            lenient: options.lenient,
            ignore_zeros: options.ignore_zeros,
            strict: options.strict,
            needs_end_mark: options.end_mark,
            warnings: Vec::new(),
            unknown: 0,
            acls: 0,
            first_acl: Bytes::new(),
            absolute: AbsoluteNames::default(),
            shared: None,
        }
    }

    /// The same source. Workers read large contents from `input`, whose bytes are those of the reader.
    pub(super) fn sharing(self, input: Arc<dyn Input>) -> Self {
        let name = self.name.clone();
        Self { shared: Some(Arc::new(SharedTar { input, name })), ..self }
    }

    /// The position of the current content, before it is read.
    pub(super) fn position(&self) -> TarBookmark {
        TarBookmark::new(self.current.1, self.input.offset(), &self.content)
    }

    /// The bytes of the tar: all bytes of a file, or those that were read from a stream.
    pub(super) fn length(&self) -> u64 {
        self.input.length().unwrap_or(self.input.offset())
    }

    pub(super) fn malformed(
        &self,
        entry: &[u8],
        offset: u64,
        what: impl Into<String>,
        expected: impl Into<String>,
    ) -> Error {
        ErrorPosition { input: &self.name, entry, offset }.malformed(what, expected)
    }

    fn unreadable(&self, cause: std::io::Error) -> Error {
        unreadable(&self.name, cause)
    }

    /// A block within an entry, where the archive must not end.
    fn inner_block(&mut self, entry: &[u8]) -> Result<[u8; BLOCK], Error> {
        let offset = self.input.offset();
        match self.block()? {
            Some(block) => Ok(block),
            None => Err(self.malformed(entry, offset, "the archive ends within an entry", "a further block")),
        }
    }

    fn skip(&mut self, bytes: u64) -> Result<(), Error> {
        let done = self.input.skip(bytes).map_err(|cause| unreadable(&self.name, cause))?;
        if done < bytes { Err(self.truncated(bytes - done)) } else { Ok(()) }
    }

    fn truncated(&self, missing: u64) -> Error {
        let bytes = if missing == 1 { "byte is" } else { "bytes are" };
        let what = format!("the archive is cut off: {missing} {bytes} missing");
        self.malformed(&self.current.0, self.input.offset(), what, "")
    }

    /// The body of an extended header. Memory grows with the data read, not with the size in the header.
    fn records(&mut self, header: &Header, offset: u64, limit: u64) -> Result<Vec<u8>, Error> {
        let name = header.name();
        let size = self.plain_member(header, offset).stored_size()?;
        if size > limit {
            let what = format!("extended header of {size} bytes");
            return Err(self.malformed(&name, offset, what, format!("at most {limit} bytes")));
        }
        self.current = (name, offset);
        let mut records = Vec::new();
        while (records.len() as u64) < size {
            let done = records.len();
            records.resize((done + (64 << 10)).min(size as usize), 0);
            let count = self.input.read(&mut records[done..]).map_err(|cause| unreadable(&self.name, cause))?;
            if done + count < records.len() {
                return Err(self.truncated(size - (done + count) as u64));
            }
        }
        self.skip(padding(size))?;
        Ok(records)
    }

    /// A header without pending records, which do not apply to a header that describes another header.
    fn plain_member<'a>(&'a self, header: &'a Header, offset: u64) -> Member<'a> {
        Member { header, pax: Pax::default(), name: header.name(), long_link: None, input: &self.name, offset }
    }

    fn extended(&mut self, header: &Header, offset: u64, global: bool) -> Result<(), Error> {
        let limit = if global { MAX_GLOBAL } else { MAX_EXTENDED };
        let records = self.records(header, offset, limit)?;
        let mut pax = match self.pending.pax.take() {
            Some(pax) if !global => pax,
            rest => {
                if global {
                    self.pending.pax = rest;
                }
                self.globals.clone()
            }
        };
        let place = |fault: RecordFault| {
            let at = offset + BLOCK as u64 + fault.at as u64;
            self.malformed(&header.name(), at, fault.what, fault.expected)
        };
        let mended = pax.apply(&records, global, self.lenient).map_err(place)?;
        let mended: Vec<(Error, String)> =
            mended.into_iter().map(|mended| (place(mended.fault), mended.instead)).collect();
        for (fault, instead) in mended {
            self.forgive(fault, &instead)?;
        }
        if !global {
            self.pending.pax = Some(pax);
            return Ok(());
        }
        pax.settle_xattrs();
        let held = pax.xattr_bytes();
        if held > MAX_GLOBAL {
            let what = format!("global attributes of {held} bytes");
            return Err(self.malformed(&header.name(), offset, what, format!("at most {MAX_GLOBAL} bytes")));
        }
        self.globals = pax;
        Ok(())
    }

    fn long_name(&mut self, header: &Header, offset: u64) -> Result<(), Error> {
        let mut name = self.records(header, offset, MAX_LONG_NAME)?;
        if let Some(end) = memchr::memchr(0, &name) {
            name.truncate(end);
        }
        if name.is_empty() {
            return Err(self.malformed(&header.name(), offset, "long name of no bytes", "a name"));
        }
        match header.kind() {
            b'K' => self.pending.link = Some(name),
            _ => self.pending.name = Some(name),
        }
        Ok(())
    }

    /// The entry of this header, with all pending records.
    fn member(&mut self, header: &Header, offset: u64) -> Result<Entry, Error> {
        let pending = std::mem::take(&mut self.pending);
        let mut pax = pending.pax.unwrap_or_else(|| self.globals.clone());
        let mut name = choose_name(header, &mut pax, pending.name);
        self.current = (name.clone(), offset);
        let [user, group] = header.owner_names();
        self.owner_names = [pax.user.take().unwrap_or(user), pax.group.take().unwrap_or(group)];
        self.absolute.note(&name);
        if pax.has_acl {
            self.count_acl(&name);
        }
        if self.lenient {
            self.mend(header, offset, &mut name, &mut pax);
        }
        if pax.volume_offset.unwrap_or(0) > 0 {
            return Err(self.continued(offset));
        }
        let input = self.name.clone();
        let member = Member { header, pax, name, long_link: pending.link, input: &input, offset };
        match header.kind() {
            b'0' | 0 | b'7' if !member.is_old_directory() => self.file(member),
            b'S' => self.file(member),
            b'M' => Err(self.continued(offset)),
            _ => self.without_body(member),
        }
    }

    /// Replaces missing or invalid values by harmless values, with a warning.
    fn mend(&mut self, header: &Header, offset: u64, name: &mut Bytes, pax: &mut Pax) {
        if name.is_empty() && matches!(header.kind(), b'5' | b'D') {
            *name = b"./".to_vec();
            let fault =
                self.malformed(&[], offset, "a directory without a name", "a name, or ./ for the root directory");
            self.warn(&fault, "it is treated as the root");
        }
        let field = header.slice(136, 12);
        if pax.mtime.is_none() && number::field(field).is_none() {
            pax.mtime = Some(Time::default());
            let what = format!("mtime field '{}' is not a number", field.escape_ascii());
            let fault = self.malformed(name, offset, what, "octal digits, or base-256 within 64 bits");
            self.warn(&fault, "the time is set to 0");
        }
    }

    fn warn(&mut self, fault: &Error, instead: &str) {
        self.warnings.push(format!("{fault}: {instead}"));
    }

    /// Warns about a fault that loses no data. In strict mode it is an error.
    fn forgive(&mut self, fault: Error, instead: &str) -> Result<(), Error> {
        if self.strict {
            return Err(fault);
        }
        self.warn(&fault, instead);
        Ok(())
    }

    fn continued(&self, offset: u64) -> Error {
        let what = "the rest of a file from another volume";
        self.malformed(&self.current.0, offset, what, "a complete archive, whose volumes tar has joined")
    }

    /// A type without content in POSIX, or a directory. Some archivers write a size anyway, and a few write content: with hard
    /// links (`pax -o linkdata`), or the names in a directory (GNU's `D`). The next block decides, unless a PAX record has the
    /// size.
    fn without_body(&mut self, member: Member<'_>) -> Result<Entry, Error> {
        let size = member.loose_size();
        let explicit = member.pax.size.is_some();
        let entry = member.into_entry(None)?;
        if size > 0 && (explicit || !self.header_follows()?) {
            self.content = Content::plain(size);
        }
        Ok(entry)
    }

    fn header_follows(&mut self) -> Result<bool, Error> {
        let found = self.input.peek(BLOCK).map_err(|cause| unreadable(&self.name, cause))?;
        let Ok(block) = <&[u8; BLOCK]>::try_from(found) else { return Ok(found.is_empty()) };
        Ok(is_zero(block) || Header::new(block).is_some())
    }

    fn read_stored(&mut self, buffer: &mut [u8], there: u64) -> Result<Extent, Error> {
        let wanted = there.min(buffer.len() as u64) as usize;
        let count = self.input.read(&mut buffer[..wanted]).map_err(|cause| unreadable(&self.name, cause))?;
        if count < wanted {
            return Err(self.truncated(self.content.stored() - count as u64));
        }
        self.content.take(count as u64);
        Ok(Extent::Data(count))
    }

    /// Skips to the next header. The last content may lack its padding, which has no data.
    fn leave_content(&mut self) -> Result<(), Error> {
        let (stored, padding) = self.content.abandon();
        if let Some(next) = self.next.take() {
            return self.input.go_to(next).map_err(|cause| unreadable(&self.name, cause));
        }
        self.skip(stored)?;
        let done = self.input.skip(padding).map_err(|cause| unreadable(&self.name, cause))?;
        if done < padding {
            self.unpadded = true;
            let what = format!("the archive ends {} bytes before the padding of the content does", padding - done);
            let fault = self.malformed(&self.current.0, self.input.offset(), what, "whole blocks of 512 bytes");
            self.forgive(fault, "the content is complete")?;
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<Option<Entry>, Error> {
        self.leave_content()?;
        while let Some((header, offset)) = self.header()? {
            match header.kind() {
                b'x' | b'X' => self.extended(&header, offset, false)?,
                b'g' => self.extended(&header, offset, true)?,
                b'L' | b'K' => self.long_name(&header, offset)?,
                b'V' => self.volume_label(&header, offset)?,
                kind if !is_known(kind) => self.skip_unknown(&header, offset)?,
                _ => return self.member(&header, offset).map(Some),
            }
        }
        self.end().map(|()| None)
    }

    /// A label names the volume and is not a file.
    fn volume_label(&mut self, header: &Header, offset: u64) -> Result<(), Error> {
        let size = self.plain_member(header, offset).stored_size()?;
        self.current = (header.name(), offset);
        self.skip(size)?;
        self.skip(padding(size))
    }
}

impl<R: Read> Source for TarSource<R> {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        if self.ended {
            return Ok(None);
        }
        self.advance().inspect_err(|_| self.ended = true)
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        match self.content.next() {
            ContentPart::Stored(there) => self.read_stored(buffer, there),
            ContentPart::Hole(bytes) => {
                self.content.skip_hole(bytes);
                Ok(Extent::Hole(bytes))
            }
            ContentPart::End => Ok(Extent::End),
        }
    }

    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, Error> {
        let ContentPart::Stored(there) = self.content.next() else { return Ok(None) };
        let bytes = there.min(most as u64);
        let part = match &self.shared {
            None => self.input.lend(bytes as usize),
            Some(tar) => self.input.pass(bytes).map(|passed| {
                passed.map(|offset| UnreadPart { content: Arc::clone(tar), offset, bytes: bytes as usize })
            }),
        };
        let part = part.map_err(|cause| unreadable(&self.name, cause))?;
        self.content.take(part.as_ref().map_or(0, |part| part.bytes as u64));
        Ok(part)
    }

    fn data_ranges(&mut self, most: usize) -> Result<Option<Vec<Range<u64>>>, Error> {
        Ok(self.content.data_ranges(most))
    }

    fn bookmark(&mut self) -> Option<Bookmark> {
        self.input.can_seek().then(|| self.position().into_bookmark())
    }

    fn recall(&mut self, bookmark: &Bookmark, path: &[u8]) -> Result<(), Error> {
        let bookmark = bookmark.value::<TarBookmark>().ok_or_else(|| Bookmark::foreign(&self.name, path))?;
        self.leave_content()?;
        self.next = Some(self.input.offset());
        self.input.go_to(bookmark.start).map_err(|cause| unreadable(&self.name, cause))?;
        self.content = bookmark.content();
        self.current = (path.to_vec(), bookmark.header);
        Ok(())
    }

    fn progress(&self) -> (u64, Option<u64>) {
        match &self.meter {
            Some(meter) => (meter.consumed(), meter.total()),
            None => (self.next.unwrap_or(self.input.offset()), self.input.length()),
        }
    }

    fn owner_names(&self) -> (&[u8], &[u8]) {
        (&self.owner_names[0], &self.owner_names[1])
    }

    fn format(&self) -> &'static str {
        "tar"
    }

    fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}
