//! Parts of a tar that are skipped and counted: entries of unknown types, and ACLs.

use std::io::Read;

use packline_runtime::escape::Escape;
use packline_tree::Error;

use super::TarSource;
use crate::tar::content::Content;
use crate::tar::header::Header;
use crate::tar::member::{Member, choose_name};

/// Number of entries that are named. Further entries are only counted.
const NAMED_MOST: u64 = 5;

/// Whether entries of this type are read. Other types belong to a single archiver (`A` contains the ACLs of Solaris), which may
/// be newer than this program.
pub(super) fn is_known(kind: u8) -> bool {
    matches!(kind, 0 | b'0'..=b'7' | b'D' | b'M' | b'S')
}

impl<R: Read> TarSource<R> {
    /// Skips an entry with its content and the headers that describe it, or fails if unknown types are errors.
    pub(super) fn skip_unknown(&mut self, header: &Header, offset: u64) -> Result<(), Error> {
        let pending = std::mem::take(&mut self.pending);
        let mut pax = pending.pax.unwrap_or_else(|| self.globals.clone());
        let name = choose_name(header, &mut pax, pending.name);
        self.current = (name.clone(), offset);
        let member = Member { header, pax, name, long_link: None, input: &self.name, offset };
        let size = member.stored_size()?;
        let what = format!("unknown entry type '{}'", header.kind().escape_ascii());
        let fault = member.malformed(what, "a type of POSIX, GNU tar or star");
        if self.strict {
            return Err(fault);
        }
        self.unknown += 1;
        if self.unknown <= NAMED_MOST {
            self.warn(&fault, "the entry is skipped");
        }
        self.content = Content::plain(size);
        self.leave_content()
    }

    /// Counts an entry whose ACL is not read.
    pub(super) fn count_acl(&mut self, name: &[u8]) {
        if self.acls == 0 {
            self.first_acl = name.to_vec();
        }
        self.acls += 1;
    }

    /// Warns about absolute names, about the entries of unknown types that were not named, and about ACLs.
    pub(super) fn report_skipped(&mut self) {
        self.warnings.extend(self.absolute.warning(&self.name));
        if self.acls > 0 {
            let input = &self.name;
            let count = self.acls;
            let first = self.first_acl.escaped();
            let entries = if count == 1 { "entry has an ACL" } else { "entries have ACLs" };
            self.warnings
                .push(format!("{input}: {count} {entries}, which packline does not read (the first is {first})"));
        }
        if self.unknown > NAMED_MOST {
            let input = &self.name;
            let count = self.unknown;
            self.warnings.push(format!("{input}: {count} entries of unknown types are skipped in total"));
        }
    }
}
