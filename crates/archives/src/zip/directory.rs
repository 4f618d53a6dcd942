//! The end of a zip archive, and the headers of its central directory.

use packline_tree::Error;

use super::entry::{HEADER, MAGIC};
use super::{MARK, ZipFile, is_start, u16_at, u32_at, u64_at};

/// Bytes of the end record without its comment.
const END: usize = 22;
const END_MAGIC: &[u8] = b"PK\x05\x06";
/// Bytes of the record with the position of the end record of 64 bits. It lies before the end record.
const LOCATOR: usize = 20;
const LOCATOR_MAGIC: &[u8] = b"PK\x06\x07";
/// Bytes of the end record of 64 bits, without extensions.
const END_64: usize = 56;
const END_64_MAGIC: &[u8] = b"PK\x06\x06";
/// Longest comment in bytes.
const COMMENT_MOST: usize = u16::MAX as usize;
/// Bytes of the central directory that are read at once.
const READ: usize = 64 << 10;
/// A number of 16 or 32 bits that stands for one in a larger record.
const LARGER_16: u16 = u16::MAX;
const LARGER_32: u32 = u32::MAX;

/// What the end of an archive says about its central directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// Byte of the input from which all other offsets are counted.
    pub base: u64,
    /// Offset of the central directory.
    pub start: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Stated number of entries.
    entries: u64,
    /// Whether only the lower 16 bits of the number are stored.
    is_short: bool,
}

impl End {
    /// Finds the end record, whose comment ends with the file.
    pub fn find(file: &ZipFile) -> Result<End, Error> {
        let size = file.input.size();
        let length = size.min((END + COMMENT_MOST) as u64) as usize;
        let start = size - length as u64;
        let mut tail = vec![0; length];
        file.read_at(start, &mut tail)?;
        let last = length.saturating_sub(END);
        let fits = |at: &usize| {
            let record = &tail[*at..];
            record.starts_with(END_MAGIC) && at + END + usize::from(u16_at(record, 20)) == length
        };
        let Some(at) = (0..=last).rev().find(fits).filter(|_| length >= END) else {
            let what = "no end record of a zip archive";
            return Err(file.malformed(&[], start, what, "a complete archive, and nothing after it"));
        };
        End::of_record(file, &tail[at..], start + at as u64)
    }

    /// Reads an end record at `at`, and the record of 64 bits where there is one.
    fn of_record(file: &ZipFile, record: &[u8], at: u64) -> Result<End, Error> {
        let disks = [u16_at(record, 4), u16_at(record, 6)];
        let here = u16_at(record, 8);
        let entries = u16_at(record, 10);
        let size = u32_at(record, 12);
        let start = u32_at(record, 16);
        if let Some((end, position)) = End::of_64(file, at)? {
            let end = end.within(file, position.found)?;
            if end.base.checked_add(position.stated) == Some(position.found) {
                return Ok(end);
            }
            let what = format!("the end record of 64 bits, which should be at byte {}", position.stated);
            return Err(file.malformed(&[], position.found, what, "the offset that the central directory has too"));
        }
        if size == LARGER_32 || start == LARGER_32 {
            return Err(file.malformed(&[], at, "no end record of 64 bits before the end record", ""));
        }
        if disks.iter().any(|disk| !matches!(*disk, 0 | LARGER_16)) || here != entries {
            return Err(several_parts(file, at));
        }
        let end = End { base: 0, start: start.into(), size: size.into(), entries: entries.into(), is_short: true };
        end.within(file, at)
    }

    /// The end record of 64 bits and its position, if its locator lies before the end record at `at`.
    fn of_64(file: &ZipFile, at: u64) -> Result<Option<(End, Position)>, Error> {
        let Some(place) = at.checked_sub(LOCATOR as u64) else { return Ok(None) };
        let mut locator = [0; LOCATOR];
        file.read_at(place, &mut locator)?;
        if !locator.starts_with(LOCATOR_MAGIC) {
            return Ok(None);
        }
        let stated = u64_at(&locator, 8);
        if u32_at(&locator, 4) != 0 || u32_at(&locator, 16) > 1 {
            return Err(several_parts(file, place));
        }
        let mut record = [0; END_64];
        let mut found = stated;
        // Bytes before the archive move the record, which then lies right before its locator.
        for at in [stated, place.saturating_sub(END_64 as u64)] {
            if at >= stated && at.checked_add(END_64 as u64).is_some_and(|end| end <= place) {
                file.read_at(at, &mut record)?;
            }
            if record.starts_with(END_64_MAGIC) {
                found = at;
                break;
            }
        }
        if !record.starts_with(END_64_MAGIC) {
            let what = format!("the end record of 64 bits at byte {stated}");
            return Err(file.malformed(&[], place, what, "the record, before its locator"));
        }
        let entries = u64_at(&record, 32);
        if u32_at(&record, 16) != 0 || u32_at(&record, 20) != 0 || u64_at(&record, 24) != entries {
            return Err(several_parts(file, found));
        }
        let end = End { base: 0, start: u64_at(&record, 48), size: u64_at(&record, 40), entries, is_short: false };
        Ok(Some((end, Position { stated, found })))
    }

    /// Checks that the central directory ends at the record at `at`. If it ends before, other bytes precede the archive. But a file that begins as an
    /// archive is one: a comment may contain another end record, whose entries would be others than those that the stated offset leads to.
    fn within(self, file: &ZipFile, at: u64) -> Result<End, Error> {
        let base = self.start.checked_add(self.size).and_then(|end| at.checked_sub(end));
        if self.entries <= self.most()
            && let Some(base) = base
            && (base == 0 || self.is_moved(file, base)?)
        {
            return Ok(End { base, ..self });
        }
        let End { start, size, entries, .. } = self;
        let what = format!("a central directory of {entries} entries in {size} bytes from byte {start}");
        let expected = format!("at least {HEADER} bytes for each entry, up to byte {at}, where its end record begins");
        Err(file.malformed(&[], at, what, expected))
    }

    /// Whether the archive begins at byte `base`, after other bytes.
    fn is_moved(&self, file: &ZipFile, base: u64) -> Result<bool, Error> {
        let mut head = [0; MARK];
        file.read_at(0, &mut head)?;
        let moved = End { base, ..*self };
        Ok(!is_start(&head) && moved.has_entries(file))
    }

    /// Whether an entry is where the central directory should be.
    pub fn has_entries(&self, file: &ZipFile) -> bool {
        let mut magic = [0; MAGIC.len()];
        let input = ZipFile { base: self.base, ..file.clone() };
        self.size >= HEADER as u64 && input.read_at(self.start, &mut magic).is_ok() && magic == *MAGIC
    }

    /// The number of headers that the bytes of the central directory can hold.
    fn most(&self) -> u64 {
        self.size / HEADER as u64
    }

    /// The number of entries at most.
    pub fn entries_most(&self) -> u64 {
        // A stated number of 16 bits may be the lower bits of a larger one.
        if self.is_short && self.most() > u64::from(LARGER_16) { self.most() } else { self.entries }
    }

    /// Whether this is the stated number of entries.
    pub fn is_number(&self, entries: u64) -> bool {
        if self.is_short { entries & u64::from(LARGER_16) == self.entries } else { entries == self.entries }
    }

    /// The stated number of entries.
    pub fn stated(&self) -> u64 {
        self.entries
    }

    /// Offset of the end of the central directory.
    fn end(&self) -> u64 {
        self.start + self.size
    }
}

/// The offset of a record, as another record states it, and as it was found.
struct Position {
    stated: u64,
    found: u64,
}

fn several_parts(file: &ZipFile, at: u64) -> Error {
    file.malformed(&[], at, "an archive of several parts", "an archive in one file")
}

/// Reads the headers of a central directory one after another.
pub(super) struct Headers {
    /// Offset of the next unread byte of the archive, and of the end.
    next: u64,
    end: u64,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were returned.
    done: usize,
}

impl Headers {
    /// All headers.
    pub fn new(end: &End) -> Headers {
        Headers { next: end.start, end: end.end(), buffer: Vec::new(), done: 0 }
    }

    /// The header at an offset, and those after it.
    pub fn at(end: &End, offset: u64) -> Headers {
        Headers { next: offset.clamp(end.start, end.end()), ..Headers::new(end) }
    }

    /// The next header, with its name and its extra fields, and its offset. `None` at the end.
    pub fn next(&mut self, file: &ZipFile) -> Result<Option<(&[u8], u64)>, Error> {
        let at = self.next - (self.buffer.len() - self.done) as u64;
        if at == self.end {
            return Ok(None);
        }
        self.fill(HEADER, file)?;
        let header = &self.buffer[self.done..];
        if header.len() < HEADER || !header.starts_with(MAGIC) {
            return Err(file.malformed(&[], at, "no header of an entry in the central directory", ""));
        }
        let lengths = [28, 30, 32].map(|place| usize::from(u16_at(header, place)));
        let length = HEADER + lengths.iter().sum::<usize>();
        self.fill(length, file)?;
        if self.buffer.len() - self.done < length {
            return Err(file.malformed(&[], at, "the central directory ends within a header", ""));
        }
        let start = self.done;
        self.done += length;
        Ok(Some((&self.buffer[start..start + length], at)))
    }

    /// Reads until the buffer has `length` unread bytes, or up to the end of the directory. A header has at most 192 KiB.
    fn fill(&mut self, length: usize, file: &ZipFile) -> Result<(), Error> {
        let held = self.buffer.len() - self.done;
        if held >= length {
            return Ok(());
        }
        self.buffer.drain(..self.done);
        self.done = 0;
        let more = ((length - held).max(READ) as u64).min(self.end - self.next) as usize;
        self.buffer.resize(held + more, 0);
        file.read_at(self.next, &mut self.buffer[held..])?;
        self.next += more as u64;
        Ok(())
    }
}
