//! Changes of a file between listing and the end of reading, and the content that is stored then.
//!
//! A file that grows is stored up to its size at the start. A file that shrinks is read again, a limited number of times; if its
//! size cannot change any more, zeros replace the missing bytes, as in GNU tar. Files of /proc and /sys have other sizes than the
//! system reports, and all readable bytes are stored. Each such file gets a warning.

use std::path::Path;

use packline_runtime::escape::Escape;
use rustix::fs::{FileType, Stat};

use crate::directory::fault::Fault;
use crate::directory::found::{ScannedEntry, UNSIZED_MOST};
use crate::directory::stat::{self, FileId};
use crate::{Meta, Time};

/// Maximum number of times that a shrinking file is read again.
const AGAIN_MOST: u32 = 3;

/// A difference between the listed file and the stored one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// The number of stored bytes and of found bytes.
    Grew(u64, u64),
    /// The number of listed bytes, the number of remaining bytes, and the treatment of the missing bytes.
    Shrank(u64, u64, Rest),
    /// The number of bytes that the system reports, the number of readable bytes, and the treatment of the missing bytes.
    Misreported(u64, u64, Rest),
    /// Another file has replaced it.
    Replaced,
    /// The file was written to, or may have been.
    Modified,
}

/// The treatment of missing bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// They are not stored: the file was read again.
    LeftOut,
    Zeros,
}

impl Change {
    /// The text of the warning.
    pub fn text(self, path: &Path) -> String {
        const CHANGED: &str = "file changed as we read it";
        let path = path.escaped();
        match self {
            Self::Grew(stored, found) => {
                format!("{path}: {CHANGED}: it grew from {stored} to {found} bytes; the first {stored} are stored")
            }
            Self::Shrank(listed, found, rest) => {
                format!("{path}: {CHANGED}: it shrank from {listed} to {found} bytes; {}", rest.text())
            }
            Self::Misreported(0, found, _) if found >= UNSIZED_MOST => {
                format!("{path}: its size is given as 0 bytes, but it has more; the first {found} are stored")
            }
            Self::Misreported(size, found, rest) => {
                let rest = if rest == Rest::Zeros { rest.text() } else { "those are stored" };
                format!("{path}: its size is given as {size} bytes, but it has {found}; {rest}")
            }
            Self::Replaced => format!("{path}: {CHANGED}: another file took its place, which is stored"),
            Self::Modified => format!("{path}: {CHANGED}"),
        }
    }
}

impl Rest {
    fn text(self) -> &'static str {
        match self {
            Self::LeftOut => "it was read again",
            Self::Zeros => "the rest is stored as zeros",
        }
    }
}

/// Compares a file with the listed one while it is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChangeCheck {
    /// Number of bytes of content to read.
    pub size: u64,
    /// The size that the system reports, which differs from `size` in /proc and /sys.
    reported: u64,
    id: Option<FileId>,
    modified: Option<Time>,
    /// Whether `size` can change.
    resizable: bool,
    /// Whether any file under the entry's name is acceptable.
    replaceable: bool,
    /// The first reason for reading it again, and the result of the last reading.
    cause: Option<Change>,
    now: Option<Change>,
    /// The size for the next reading, and the number of repeated readings.
    next: Option<u64>,
    again: u32,
}

impl ChangeCheck {
    pub fn new(found: &ScannedEntry) -> Self {
        let size = found.size().unwrap_or(0);
        Self {
            size,
            reported: if found.measured { 0 } else { size },
            id: found.id,
            modified: found.modified,
            resizable: !found.fixed,
            replaceable: found.is_replaceable(),
            cause: found.measured.then_some(Change::Misreported(0, size, Rest::LeftOut)),
            now: None,
            next: None,
            again: 0,
        }
    }

    /// Compares the open file before it is read. Returns the attributes of another file that has replaced it.
    ///
    /// # Errors
    /// It is not a regular file, or it is another file that must not replace the listed one.
    pub fn begin(&mut self, stat: &Stat) -> Result<Option<Meta>, Fault> {
        let replaced = self.check(stat)?;
        let found = stat::size(stat);
        // A file whose time was not kept in the list is compared with its state before it is read.
        self.modified.get_or_insert(Time::of_stat(stat));
        if replaced.is_some() || self.resizable && found < self.reported {
            let shrank = Change::Shrank(self.reported, found, Rest::LeftOut);
            self.cause = Some(replaced.map_or(shrank, |_| Change::Replaced));
            self.size = found;
            self.reported = found;
        }
        Ok(replaced)
    }

    /// Compares the file after it was read. `ended` is the offset at which it ended, if that is before its size. Returns the
    /// attributes of another file that has replaced it.
    ///
    /// # Errors
    /// See [`ChangeCheck::begin`].
    pub fn end(&mut self, stat: &Stat, ended: Option<u64>) -> Result<Option<Meta>, Fault> {
        let replaced = self.check(stat)?;
        let found = stat::size(stat);
        let modified = self.modified.is_some_and(|modified| modified != Time::of_stat(stat));
        let (now, next) = match ended {
            _ if replaced.is_some() => (Some(Change::Replaced), Some(found)),
            // It was truncated and written again. Files of /proc report 0 bytes.
            Some(end) if found >= self.reported && found > end && modified => {
                (Some(Change::Shrank(self.reported, end, Rest::Zeros)), Some(found))
            }
            Some(end) if found >= self.reported => {
                (Some(Change::Misreported(self.reported, end, Rest::Zeros)), Some(end))
            }
            _ if found < self.reported => (Some(Change::Shrank(self.reported, found, Rest::Zeros)), Some(found)),
            _ if found > self.reported && self.size == 0 => (Some(Change::Grew(0, found)), Some(found)),
            _ if found > self.reported => (Some(Change::Grew(self.size, found)), None),
            _ => (modified.then_some(Change::Modified), None),
        };
        if !matches!(now, Some(Change::Misreported(..))) {
            self.reported = found;
        }
        // A further reading is compared with this state: a file of /sys, which reports more bytes than it has, changes its time only once.
        self.modified = Some(Time::of_stat(stat));
        self.now = now;
        self.next = next;
        Ok(replaced)
    }

    /// Whether the file must be read again.
    pub fn wants_again(&self) -> bool {
        self.next.is_some() && self.resizable && self.again < AGAIN_MOST
    }

    /// Whether the file must be read again, with its current size.
    pub fn again(&mut self) -> bool {
        let wanted = self.wants_again();
        let Some(size) = self.next.take().filter(|_| wanted) else { return false };
        let now = self.now.take().map(|now| match now {
            Change::Shrank(listed, found, _) => Change::Shrank(listed, found, Rest::LeftOut),
            Change::Misreported(listed, found, _) => Change::Misreported(listed, found, Rest::LeftOut),
            Change::Grew(..) => Change::Modified,
            now => now,
        });
        // The last measured size counts, and a file of /sys whose time the kernel changed meanwhile did not shrink.
        self.cause = match (self.cause, now) {
            (Some(Change::Shrank(..) | Change::Misreported(..)), Some(Change::Misreported(..))) => now,
            (cause, now) => cause.or(now),
        };
        self.size = size;
        self.again += 1;
        true
    }

    /// The difference between the listed file and the stored one.
    pub fn change(&self) -> Option<Change> {
        self.now.filter(|now| *now != Change::Modified).or(self.cause).or(self.now)
    }

    fn check(&mut self, stat: &Stat) -> Result<Option<Meta>, Fault> {
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind != FileType::RegularFile {
            return Err(Fault::Kind(FileType::RegularFile, kind));
        }
        if self.id.is_none_or(|before| before == stat::id(stat)) {
            return Ok(None);
        }
        if !self.replaceable {
            return Err(Fault::Replaced);
        }
        self.id = Some(stat::id(stat));
        self.modified = Some(Time::of_stat(stat));
        Ok(Some(stat::meta(stat)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::found::FileLocation;
    use crate::{Entry, Kind};

    /// The check of a file of this size, and the state of a file that was written `seconds` after the epoch.
    fn listed(size: u64, measured: bool) -> (ChangeCheck, impl Fn(u64, i64) -> Stat) {
        let meta = Meta::default();
        let entry = Entry { path: b"f".to_vec(), kind: Kind::File { size }, meta, xattrs: Vec::new() };
        let found = ScannedEntry { measured, ..ScannedEntry::new(entry, FileLocation::Nowhere) };
        let some_file = tempfile::NamedTempFile::new().unwrap();
        let stat = rustix::fs::fstat(&some_file).unwrap();
        let at = move |size: u64, seconds| {
            let mut stat = stat;
            stat.st_size = size as i64;
            stat.st_mtime = seconds;
            stat
        };
        (ChangeCheck::new(&found), at)
    }

    /// The kernel gives such a file a new time when it makes its inode again.
    #[test]
    fn files_of_false_size_are_stored_up_to_their_end_if_their_time_changes() {
        for (size, measured, reported) in [(500, true, 0), (4096, false, 4096)] {
            let (mut check, at) = listed(size, measured);
            check.begin(&at(reported, 1)).unwrap();
            let mut readings = 0;
            loop {
                readings += 1;
                check.end(&at(reported, 2), (check.size > 10).then_some(10)).unwrap();
                if !check.again() {
                    break;
                }
            }
            assert_eq!((check.size, readings <= 3), (10, true), "{size}");
            assert_eq!(check.change(), Some(Change::Misreported(reported, 10, Rest::LeftOut)), "{size}");
        }
    }

    #[test]
    fn a_file_that_is_written_again_and_again_is_read_again_with_its_size() {
        let (mut check, at) = listed(1000, false);
        check.begin(&at(1000, 1)).unwrap();
        for second in 2..5 {
            check.end(&at(1000, second), Some(10)).unwrap();
            assert!(check.again() && check.size == 1000);
        }
        check.end(&at(1000, 5), Some(10)).unwrap();
        assert!(!check.again());
        assert_eq!(check.change(), Some(Change::Shrank(1000, 10, Rest::Zeros)));
    }
}
