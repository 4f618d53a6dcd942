//! The entries of a zip archive as a source.

use packline_runtime::push_tight;
use packline_tree::path::MAX_TARGET;
use packline_tree::{Bookmark, Bytes, Entry, Error, Extent, Source, UnreadPart};

use super::ZipFile;
use super::content::{Content, Unread, deferred, read_whole};
use super::directory::{End, Headers};
use super::entry::{Location, Member, MemberKind};
use crate::absolute::AbsoluteNames;
use crate::decompress::Limits;

/// A zip archive as a [`Source`], in the order of its central directory.
pub struct ZipSource {
    file: ZipFile,
    end: End,
    limits: Limits,
    headers: Headers,
    /// Offsets of all local headers, in ascending order.
    positions: Vec<u64>,
    /// Offset of the current entry's header, if it is a file.
    current: Option<u64>,
    content: Current,
    /// Stored bytes of the entries before the current content.
    passed: u64,
    warnings: Vec<String>,
    is_ended: bool,
}

enum Current {
    Nothing,
    Unread(Box<Unread>),
    Begun(Box<Content>),
}

impl ZipSource {
    /// Checks the central directory.
    pub(super) fn new(file: ZipFile, end: End, limits: Limits) -> Result<ZipSource, Error> {
        let mut absolute = AbsoluteNames::default();
        let positions = positions(&file, &end, &mut absolute)?;
        let warnings = absolute.warning(&file.name).into_iter().collect();
        Ok(ZipSource {
            headers: Headers::new(&end),
            file,
            end,
            limits,
            positions,
            current: None,
            content: Current::Nothing,
            passed: 0,
            warnings,
            is_ended: false,
        })
    }

    /// A content, which ends before the next local header or the central directory.
    fn unread(&self, location: Location) -> Result<Unread, Error> {
        let after = self.positions.partition_point(|position| *position <= location.local);
        let limit = self.positions.get(after).copied().unwrap_or(self.end.start).min(self.end.start);
        let end = location.least_end();
        let unread = Unread { file: self.file.clone(), location, limit, limits: self.limits };
        if end > limit { Err(unread.overlaps()) } else { Ok(unread) }
    }

    fn advance(&mut self) -> Result<Option<Entry>, Error> {
        while let Some((header, at)) = self.headers.next(&self.file)? {
            let member = Member::parse(header, at, &self.file)?;
            let unread = self.unread(member.content.clone())?;
            let mut target = Bytes::new();
            match member.kind {
                MemberKind::File => {
                    self.current = Some(at);
                    self.content = Current::Unread(Box::new(unread));
                }
                MemberKind::Symlink => {
                    self.passed += unread.location.stored;
                    target = self.target(unread, at)?;
                }
                MemberKind::Device => {
                    let fault = "a device, whose numbers are not in the archive";
                    let error = self.file.malformed(&member.content.name, at, fault, "");
                    self.warnings.push(format!("{error}: it is left out"));
                }
                MemberKind::Dir | MemberKind::Fifo | MemberKind::Socket => self.passed += unread.location.stored,
            }
            if let Some(entry) = member.entry(target) {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// The target of a symbolic link, which is its content.
    fn target(&self, unread: Unread, at: u64) -> Result<Bytes, Error> {
        let name = unread.location.name.clone();
        let target = read_whole(unread, MAX_TARGET)?;
        if target.is_empty() || target.contains(&0) {
            let what = "symbolic link to nothing, or to a target with a NUL byte";
            return Err(self.file.malformed(&name, at, what, "a target of 1 to 65535 bytes without NUL"));
        }
        Ok(target)
    }

    fn leave_content(&mut self) {
        self.passed += match &self.content {
            Current::Nothing => 0,
            Current::Unread(unread) => unread.location.stored,
            Current::Begun(content) => content.stored(),
        };
        self.content = Current::Nothing;
        self.current = None;
    }
}

/// Checks all entries, and returns the positions of their local headers in ascending order.
fn positions(file: &ZipFile, end: &End, absolute: &mut AbsoluteNames) -> Result<Vec<u64>, Error> {
    let mut positions = Vec::new();
    let mut headers = Headers::new(end);
    while let Some((header, at)) = headers.next(file)? {
        let member = Member::parse(header, at, file)?;
        absolute.note(&member.raw);
        push_tight(&mut positions, member.content.local);
        if positions.len() as u64 > end.entries_most() {
            break;
        }
    }
    if !end.is_number(positions.len() as u64) {
        let what = "another number of entries in the central directory";
        return Err(file.malformed(&[], end.start, what, end.stated().to_string()));
    }
    positions.sort_unstable();
    match positions.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(file.malformed(&[], pair[0], "two entries with one local header", "one entry")),
        None => Ok(positions),
    }
}

impl Source for ZipSource {
    fn next_entry(&mut self) -> Result<Option<Entry>, Error> {
        self.leave_content();
        if self.is_ended {
            return Ok(None);
        }
        let next = self.advance();
        self.is_ended = !matches!(next, Ok(Some(_)));
        next
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<Extent, Error> {
        if matches!(self.content, Current::Unread(_))
            && let Current::Unread(unread) = std::mem::replace(&mut self.content, Current::Nothing)
        {
            self.content = Current::Begun(Box::new(unread.start()?));
        }
        let Current::Begun(content) = &mut self.content else { return Ok(Extent::End) };
        match content.read(buffer)? {
            0 => Ok(Extent::End),
            count => Ok(Extent::Data(count)),
        }
    }

    fn read_later(&mut self, most: usize) -> Result<Option<UnreadPart>, Error> {
        let Current::Unread(unread) = &self.content else { return Ok(None) };
        let Location { size, method, .. } = unread.location;
        if size == 0 || size > most as u64 || !method.is_small() {
            return Ok(None);
        }
        let Current::Unread(unread) = std::mem::replace(&mut self.content, Current::Nothing) else { return Ok(None) };
        self.passed += unread.location.stored;
        Ok(Some(UnreadPart { content: deferred(*unread), offset: 0, bytes: size as usize }))
    }

    fn bookmark(&mut self) -> Option<Bookmark> {
        self.current.filter(|_| matches!(self.content, Current::Unread(_))).map(Bookmark::Number)
    }

    fn recall(&mut self, bookmark: &Bookmark, path: &[u8]) -> Result<(), Error> {
        let Bookmark::Number(at) = *bookmark else { return Err(Bookmark::foreign(&self.file.name, path)) };
        self.leave_content();
        let mut headers = Headers::at(&self.end, at);
        let Some((header, at)) = headers.next(&self.file)? else {
            return Err(Bookmark::foreign(&self.file.name, path));
        };
        let member = Member::parse(header, at, &self.file)?;
        self.content = Current::Unread(Box::new(self.unread(member.content)?));
        Ok(())
    }

    fn memory(&self) -> usize {
        self.positions.capacity() * size_of::<u64>()
    }

    fn progress(&self) -> (u64, Option<u64>) {
        let total = self.file.input.size();
        let begun = match &self.content {
            Current::Begun(content) => content.consumed(),
            _ => 0,
        };
        let done = if self.is_ended { total } else { self.passed.saturating_add(begun).min(total) };
        (done, Some(total))
    }

    fn format(&self) -> &'static str {
        "zip"
    }

    fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}
