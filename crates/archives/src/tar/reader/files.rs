//! Regular files, whose content may be sparse.

use std::io::Read;

use packline_tree::{Entry, Error};

use super::TarSource;
use crate::tar::content::Content;
use crate::tar::header::BLOCK;
use crate::tar::member::Member;
use crate::tar::sparse::{self, Map, MapFault, OldLayout, TextMap};

impl<R: Read> TarSource<R> {
    pub(super) fn file(&mut self, mut member: Member<'_>) -> Result<Entry, Error> {
        let stored = member.stored_size()?;
        let sparse = std::mem::take(&mut member.pax.sparse);
        let (size, content) = match (sparse.major, sparse.minor, sparse.size) {
            _ if member.header.kind() == b'S' => self.old_sparse(&member, stored)?,
            // As in GNU tar, the minor number is ignored.
            (Some(1), _, Some(size)) => self.text_sparse(&member, size, stored)?,
            (None | Some(0), _, Some(size)) => {
                let segments = sparse.map.finish(size, stored).map_err(|fault| map_fault(&member, fault))?;
                (size, Content::sparse(size, segments, stored))
            }
            (None | Some(0), _, None) => (stored, Content::plain(stored)),
            (major, minor, size) => return Err(unknown_sparse(&member, major, minor, size)),
        };
        let entry = member.into_entry(Some(size))?;
        self.content = content;
        Ok(entry)
    }

    fn old_sparse(&mut self, member: &Member<'_>, stored: u64) -> Result<(u64, Content), Error> {
        let layout = OldLayout::of(member.header);
        let field = layout.real_size(member.header).and_then(|size| u64::try_from(size).ok());
        let unusable = || member.malformed("unusable size of a sparse file", "octal or base-256, not negative");
        let size = member.pax.real_size.or(field).ok_or_else(unusable)?;
        let mut map = Map::default();
        let mut extensions = 0;
        let mut more = layout.read(member.header, &mut map).map_err(|fault| map_fault(member, fault))?;
        while more {
            let block = self.inner_block(&member.name)?;
            more = sparse::read_extension(&block, &mut map).map_err(|fault| map_fault(member, fault))?;
            extensions += BLOCK as u64;
        }
        let counted = layout.counts_extensions() && stored == map.stored() + extensions;
        let stored = if counted { map.stored() } else { stored };
        let segments = map.finish(size, stored).map_err(|fault| map_fault(member, fault))?;
        Ok((size, Content::sparse(size, segments, stored)))
    }

    /// PAX 1.x: the map is text in whole blocks before the data, and is part of the stored size.
    fn text_sparse(&mut self, member: &Member<'_>, size: u64, stored: u64) -> Result<(u64, Content), Error> {
        let mut text = TextMap::default();
        let mut left = stored;
        loop {
            if left < BLOCK as u64 {
                return Err(member.malformed("the sparse map does not end within the content", "a complete map"));
            }
            left -= BLOCK as u64;
            let block = self.inner_block(&member.name)?;
            if text.feed(&block).map_err(|fault| map_fault(member, fault))? {
                break;
            }
        }
        let segments = text.into_map().finish(size, left).map_err(|fault| map_fault(member, fault))?;
        Ok((size, Content::sparse(size, segments, left)))
    }
}

fn map_fault(member: &Member<'_>, (what, expected): MapFault) -> Error {
    member.malformed(what, expected)
}

fn unknown_sparse(member: &Member<'_>, major: Option<u64>, minor: Option<u64>, size: Option<u64>) -> Error {
    let show = |number: Option<u64>| number.map_or_else(|| "none".to_owned(), |number| number.to_string());
    let what = format!("sparse file of format {}.{}, size {}", show(major), show(minor), show(size));
    member.malformed(what, "format 0.0, 0.1 or 1 with a size")
}
